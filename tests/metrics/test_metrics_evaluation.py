"""`evaluate` gives the values of the single metrics, and only those that its arguments allow."""

import tracemalloc

import numpy as np
import pytest
from metric_oracle import awkward
from scipy import sparse

from labelproof import metrics

Y_TRUE, Y_SCORE, Y_PROB, Y_PRED = awkward(4)
WEIGHT = np.random.default_rng(0).random(len(Y_TRUE))


def kinds(values):
    extra = ("label-set-coverage", "f1-of-frequency-decile")
    return {metrics.by_name(name).kind for name in values if not name.startswith(extra)}


def test_every_value_is_that_of_the_metric_of_its_name():
    p = metrics.propensities(Y_TRUE)
    values = metrics.evaluate(
        Y_TRUE, Y_PROB, Y_PRED, scores="probabilities", ks=(1, 2), propensity=p, sample_weight=WEIGHT
    )
    for name, value in values.items():
        assert type(value) is float
        if name.startswith(("label-set", "f1-of-frequency")):
            continue
        metric = metrics.by_name(name, propensity=p)
        y = Y_PRED if metric.kind == "set" else Y_PROB
        assert value == pytest.approx(metric(Y_TRUE, y, sample_weight=WEIGHT), rel=1e-12), name
    wanted = {name for name in metrics.names(betas=(1,), ks=(1, 2)) if not name.startswith(("sigmoidf1", "distrib"))}
    assert wanted <= set(values)


def test_what_the_arguments_do_not_allow_is_left_out():
    assert kinds(metrics.evaluate(Y_TRUE, Y_SCORE)) == {"ranking"}
    assert kinds(metrics.evaluate(Y_TRUE, None, Y_PRED)) == {"set"}
    assert kinds(metrics.evaluate(Y_TRUE, Y_SCORE, scores="logits")) == {"set", "ranking"}
    assert kinds(metrics.evaluate(Y_TRUE, Y_PROB, scores="probabilities")) == {"set", "ranking", "probability"}
    assert not any(name.startswith("ps") for name in metrics.evaluate(Y_TRUE, Y_SCORE))
    assert "precision@5" not in metrics.evaluate(Y_TRUE[:, :4], Y_SCORE[:, :4])
    distributions = (Y_PROB + 0.1) / (Y_PROB + 0.1).sum(1, keepdims=True)
    values = metrics.evaluate(Y_TRUE, distributions, scores="distributions")
    assert values["distribution-jsd"] == pytest.approx(metrics.jensen_shannon_divergence(Y_TRUE, distributions))
    assert "brier-loss" not in values


def test_predictions_are_made_only_of_scores_whose_scale_is_said():
    values = metrics.evaluate(Y_TRUE, Y_SCORE, scores="logits")
    assert values["micro-f1"] == metrics.f1_score(Y_TRUE, Y_SCORE > 0, average="micro")
    values = metrics.evaluate(Y_TRUE, Y_PROB, scores="probabilities")
    assert values["micro-f1"] == metrics.f1_score(Y_TRUE, Y_PROB > 0.5, average="micro")


def test_coverage_and_deciles_are_those_of_their_functions():
    values = metrics.evaluate(Y_TRUE, None, Y_PRED)
    assert values["label-set-coverage"] == metrics.label_set_coverage_score(Y_TRUE, Y_PRED)
    groups = metrics.errors_by_frequency(Y_TRUE, Y_PRED)
    for i, group in enumerate(groups, start=1):
        expected = group.f1 if group.n_labels else np.nan
        np.testing.assert_equal(values[f"f1-of-frequency-decile-{i}"], expected)


def test_sparse_input_is_evaluated_like_dense_input():
    dense = metrics.evaluate(Y_TRUE, Y_SCORE, Y_PRED)
    given = metrics.evaluate(sparse.csr_array(Y_TRUE), sparse.csr_array(Y_SCORE), sparse.csr_array(Y_PRED))
    assert given == pytest.approx(dense, nan_ok=True)


def test_memory_stays_below_half_of_the_scores():
    rng = np.random.default_rng(0)
    y_score = rng.random((600, 3000), dtype=np.float32) - np.float32(0.98)  # 7.2 MB, 2% predicted
    y_true = sparse.random_array(y_score.shape, density=0.003, rng=rng) > 0
    metrics.evaluate(y_true[:5], y_score[:5], scores="logits")  # compiled code is loaded
    tracemalloc.start()
    metrics.evaluate(y_true, y_score, scores="logits")
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < y_score.nbytes / 2


def test_binned_auroc_is_within_half_the_share_of_pairs_in_one_bin():
    rng = np.random.default_rng(0)
    y_true = rng.random((300, 4)) < 0.3
    y_score = rng.normal(size=y_true.shape) + y_true
    edges = np.linspace(-3, 4, 30)
    exact = metrics.roc_auc_score(y_true, y_score, average=None)
    bound = np.zeros(4)
    for j in range(4):
        bins = np.searchsorted(edges, y_score[:, j], side="right")
        true, false = (np.bincount(bins[y_true[:, j] == t], minlength=31) for t in (1, 0))
        bound[j] = (true @ false) / (2 * true.sum() * false.sum())
    stream = metrics.Accumulator(["macro-auroc", "macro-average-precision"], edges=edges)
    for start in range(0, 300, 50):
        stream.update(y_true[start : start + 50], y_score=y_score[start : start + 50])
    values = stream.compute()
    assert abs(values["macro-auroc"] - exact.mean()) <= bound.mean()
    assert values["macro-average-precision"] == pytest.approx(
        metrics.average_precision_score(y_true, y_score), abs=0.03
    )
