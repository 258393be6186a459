"""LabelMetric against the metrics that it wraps."""

# ruff: noqa: F401 - fixtures are imported, and tests take them by their names

import pickle

import numpy as np
import pytest
import torch
from training_data import one_thread

from labelproof.decisions import TopK
from labelproof.metrics import by_name
from labelproof.training import LabelMetric

rng = np.random.default_rng(0)
LOGITS = rng.normal(size=(30, 7)).astype(np.float32)
TRUTH = rng.random((30, 7)) < 0.3


def filled(name, **options):
    metric = LabelMetric(name, n_labels=7, scores="logits", **options)
    for part in (slice(0, 4), slice(4, 25), slice(25, 30)):
        metric.update(torch.from_numpy(LOGITS[part]), torch.from_numpy(TRUTH[part]))
    return metric


@pytest.mark.parametrize("name", ["micro-f1", "macro-f1", "samples-f1", "exact-match", "hamming-loss"])
def test_set_metrics_are_those_of_all_batches_at_half(name):
    assert np.isclose(float(filled(name).compute()), by_name(name)(TRUTH, LOGITS > 0))


@pytest.mark.parametrize("name", ["precision@3", "ndcg@5", "lrap", "ranking-loss", "f1@3"])
def test_ranking_metrics_are_those_of_all_batches(name):
    assert np.isclose(float(filled(name).compute()), by_name(name)(TRUTH, LOGITS))


def test_probability_metrics_take_the_sigmoid_of_logits():
    expected = by_name("macro-ece")(TRUTH, 1 / (1 + np.exp(-LOGITS.astype(np.float64))))
    assert np.isclose(float(filled("macro-ece").compute()), expected)


def test_a_rule_decides_on_the_scores():
    expected = by_name("micro-f1")(TRUTH, TopK(2).decide(LOGITS))
    assert np.isclose(float(filled("micro-f1", rule=TopK(2)).compute()), expected)


def test_probabilities_are_cut_at_one_half():
    metric = LabelMetric("micro-f1", n_labels=7, scores="probabilities")
    metric.update(torch.from_numpy(LOGITS).sigmoid(), torch.from_numpy(TRUTH))
    assert np.isclose(float(metric.compute()), by_name("micro-f1")(TRUTH, LOGITS > 0))


def test_average_precision_needs_edges():
    with pytest.raises(ValueError, match="edges must be given to compute macro-average-precision from batches"):
        LabelMetric("macro-average-precision", n_labels=7, scores="logits")
    value = float(filled("macro-average-precision", edges=np.linspace(-4, 4, 4001)).compute())
    assert np.isclose(value, by_name("macro-average-precision")(TRUTH, LOGITS), atol=0.01)


def test_propensities_must_be_given():
    with pytest.raises(ValueError, match="propensity must be given to compute psp@3"):
        LabelMetric("psp@3", n_labels=7, scores="logits")


def test_the_kind_of_scores_is_never_guessed():
    with pytest.raises(ValueError, match="scores must be 'logits' or 'probabilities', got 'auto'"):
        LabelMetric("micro-f1", n_labels=7, scores="auto")


def test_it_can_be_reset_pickled_and_merged():
    metric = filled("micro-f1")
    assert pickle.loads(pickle.dumps(metric)).compute() == metric.compute()  # noqa: S301 - our own
    metric.reset()
    assert float(metric.sums.sum()) == 0
    one, two = (
        LabelMetric("micro-f1", n_labels=7, scores="logits"),
        LabelMetric("micro-f1", n_labels=7, scores="logits"),
    )
    one.update(torch.from_numpy(LOGITS[:9]), torch.from_numpy(TRUTH[:9]))
    two.update(torch.from_numpy(LOGITS[9:]), torch.from_numpy(TRUTH[9:]))
    one.merge_state(two)
    assert one.compute() == filled("micro-f1").compute()


def test_it_says_which_direction_is_better():
    assert filled("micro-f1").higher_is_better
    assert not filled("hamming-loss").higher_is_better


def test_scores_of_double_precision_are_not_rounded():
    metric = LabelMetric("precision@1", n_labels=2, scores="probabilities")
    close = torch.tensor([[1 - 1e-10, 1 - 1e-12]], dtype=torch.float64)  # both are 1 in single precision
    metric.update(close, torch.tensor([[0, 1]]))
    assert float(metric.compute()) == 1.0
