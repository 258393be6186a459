"""Parity with torchmetrics where it is right, and the cases where it is not: sigmoids guessed, saturation, ties."""

import numpy as np
import pytest
import torch
import torchmetrics.functional.classification as theirs
from metric_oracle import awkward
from torchmetrics.functional.retrieval import retrieval_precision

from labelproof import metrics

Y_TRUE, _, _, _ = awkward()
SEEN = np.flatnonzero(Y_TRUE.any(0))
Y_TRUE = Y_TRUE[:, SEEN]
Y_PROB = np.random.default_rng(0).random(Y_TRUE.shape)  # no ties
N = Y_TRUE.shape[1]
TARGET, PREDS = torch.tensor(Y_TRUE.astype(int)), torch.tensor(Y_PROB)


@pytest.mark.parametrize("average", ["micro", "macro", "weighted"])
def test_set_metrics_agree(average):
    pairs = {
        metrics.f1_score: theirs.multilabel_f1_score,
        metrics.precision_score: theirs.multilabel_precision,
        metrics.recall_score: theirs.multilabel_recall,
        metrics.specificity_score: theirs.multilabel_specificity,
        metrics.jaccard_score: theirs.multilabel_jaccard_index,
        metrics.accuracy_score: theirs.multilabel_accuracy,
    }
    for ours, peer in pairs.items():
        value = ours(Y_TRUE, Y_PROB > 0.5, average=average)
        assert value == pytest.approx(float(peer(PREDS, TARGET, num_labels=N, average=average)), abs=1e-6), ours


@pytest.mark.parametrize("average", ["micro", "macro", "weighted"])
def test_curves_agree_on_probabilities_without_ties(average):
    ours = metrics.average_precision_score(Y_TRUE, Y_PROB, average=average)
    peer = theirs.multilabel_average_precision(PREDS, TARGET, num_labels=N, average=average)
    assert ours == pytest.approx(float(peer), abs=1e-6)
    ours = metrics.roc_auc_score(Y_TRUE, Y_PROB, average=average)
    assert ours == pytest.approx(float(theirs.multilabel_auroc(PREDS, TARGET, num_labels=N, average=average)), abs=1e-6)


def test_label_rankings_and_the_rest_agree_without_ties():
    pairs = {
        metrics.label_ranking_average_precision_score: theirs.multilabel_ranking_average_precision,
        metrics.label_ranking_loss: theirs.multilabel_ranking_loss,
        metrics.coverage_error: theirs.multilabel_coverage_error,
    }
    for ours, peer in pairs.items():
        assert ours(Y_TRUE, Y_PROB) == pytest.approx(float(peer(PREDS, TARGET, num_labels=N)), abs=1e-6), ours
    ours = metrics.hamming_loss(Y_TRUE, Y_PROB > 0.5)
    assert ours == pytest.approx(float(theirs.multilabel_hamming_distance(PREDS, TARGET, num_labels=N)), abs=1e-6)
    ours = metrics.exact_match_score(Y_TRUE, Y_PROB > 0.5)
    assert ours == pytest.approx(float(theirs.multilabel_exact_match(PREDS, TARGET, num_labels=N)), abs=1e-6)
    ours = metrics.expected_calibration_error(Y_TRUE, Y_PROB)
    peer = theirs.binary_calibration_error(PREDS.ravel(), TARGET.ravel(), n_bins=15)
    assert ours == pytest.approx(float(peer), abs=1e-6)


# --- where torchmetrics is not right ----------------------------------------------------------------------


def test_one_logit_above_1_makes_torchmetrics_read_the_whole_batch_otherwise():
    target = torch.ones(1, 3, dtype=torch.int)
    for last, recall in ((0.9, 1 / 3), (1.1, 1.0)):
        logits = torch.tensor([[0.1, 0.2, last]])
        guessed = theirs.multilabel_recall(logits, target, num_labels=3, average="micro")
        assert float(guessed) == pytest.approx(recall)
        values = metrics.evaluate(target.numpy(), logits.numpy(), scores="logits")
        assert values["micro-recall"] == 1.0  # what the scores are is said, not guessed


def test_ordered_logits_that_a_sigmoid_makes_equal_keep_their_order_here():
    logits = torch.arange(15.0, 40.0)
    target = (torch.arange(25) >= 12).int()
    assert float(theirs.binary_auroc(logits, target)) == pytest.approx(0.583, abs=1e-3)
    assert float(theirs.binary_average_precision(logits, target)) < 0.6
    assert metrics.roc_auc_score(target.numpy()[:, None], logits.numpy()[:, None]) == 1.0
    assert metrics.average_precision_score(target.numpy()[:, None], logits.numpy()[:, None]) == 1.0


@pytest.mark.parametrize("true_label", [0, 1])
def test_tied_scores_have_a_value_that_does_not_depend_on_the_order_of_the_labels(true_label):
    tied, target = torch.tensor([0.5, 0.5]), torch.zeros(2, dtype=torch.int)
    target[true_label] = 1
    rows = target.numpy()[None], tied.numpy()[None]
    by_index = float(retrieval_precision(tied, target, top_k=1))
    assert by_index == 1.0 - true_label
    assert metrics.precision_at_k(*rows, 1) == 0.5
    by_index = float(theirs.multilabel_ranking_loss(tied[None], target[None], num_labels=2))
    assert by_index == 1.0 - true_label
    assert metrics.label_ranking_loss(*rows) == 1.0  # scikit-learn's convention
    assert metrics.roc_auc_score(*rows, average="samples") == 0.5
