"""Calibration and distribution metrics: closed forms and independent implementations."""

import numpy as np
import pytest
import sklearn.metrics as sk
from metric_oracle import awkward
from scipy.spatial.distance import jensenshannon
from scipy.stats import entropy

from labelproof import metrics

Y_TRUE, _, Y_PROB, _ = awkward(2)
WEIGHT = np.random.default_rng(3).random(len(Y_TRUE))


def calibration_error(y, p, n_bins, weight):
    total = 0.0
    for b in range(n_bins):
        inside = (p >= b / n_bins) & ((p < (b + 1) / n_bins) | (b == n_bins - 1))
        total += abs((weight * (p - y))[inside].sum())
    return total / weight.sum()


@pytest.mark.parametrize("weight", [np.ones(len(Y_TRUE)), WEIGHT])
@pytest.mark.parametrize("n_bins", [1, 4, 8])
def test_the_calibration_error_follows_its_definition(n_bins, weight):
    p = np.round(Y_PROB * 16) / 16  # so that no probability lies within rounding of an edge
    each = [calibration_error(Y_TRUE[:, j], p[:, j], n_bins, weight) for j in range(Y_TRUE.shape[1])]
    pooled = calibration_error(Y_TRUE.ravel(), p.ravel(), n_bins, np.repeat(weight, Y_TRUE.shape[1]))
    options = {"n_bins": n_bins, "sample_weight": weight}
    np.testing.assert_allclose(metrics.expected_calibration_error(Y_TRUE, p, average=None, **options), each)
    assert metrics.expected_calibration_error(Y_TRUE, p, **options) == pytest.approx(pooled)
    macro = metrics.expected_calibration_error(Y_TRUE, p, average="macro", **options)
    assert macro == pytest.approx(np.mean(each))
    assert pooled <= macro + 1e-12


def test_frequencies_as_probabilities_are_calibrated():
    p = np.broadcast_to(Y_TRUE.mean(0), Y_TRUE.shape)
    assert metrics.expected_calibration_error(Y_TRUE, p, average="macro") == pytest.approx(0, abs=1e-15)


def test_the_brier_loss_agrees_with_scikit_learn():
    seen = [j for j in range(Y_TRUE.shape[1]) if Y_TRUE[:, j].any()]
    ours = metrics.brier_loss(Y_TRUE, Y_PROB, average=None, sample_weight=WEIGHT)
    theirs = [sk.brier_score_loss(Y_TRUE[:, j], Y_PROB[:, j], sample_weight=WEIGHT) for j in seen]
    np.testing.assert_allclose(ours[seen], theirs)
    assert metrics.brier_loss(Y_TRUE, Y_PROB) == pytest.approx(np.mean((Y_PROB - Y_TRUE) ** 2))
    assert metrics.brier_loss(Y_TRUE, Y_TRUE) == 0.0


def test_distances_of_distributions_agree_with_scipy():
    rng = np.random.default_rng(0)
    q, p = rng.dirichlet(np.ones(6), 9), rng.dirichlet(np.ones(6), 9)
    assert metrics.jensen_shannon_divergence(q, p) == pytest.approx(np.mean(jensenshannon(q, p, axis=1) ** 2))
    assert metrics.kullback_leibler_divergence(q, p) == pytest.approx(np.mean(entropy(q, p, axis=1)))
    assert metrics.mean_squared_distribution_error(q, p) == pytest.approx(np.mean((q - p) ** 2))
    for value in (metrics.jensen_shannon_divergence, metrics.kullback_leibler_divergence):
        assert value(3 * q, p) == pytest.approx(value(q, p))  # rows of y_true are normalised
        assert value(q, q) == pytest.approx(0, abs=1e-15)


def test_disjoint_distributions_are_ln_2_apart_and_infinitely_in_the_other_sense():
    assert metrics.jensen_shannon_divergence([[1, 0]], [[0.0, 1.0]]) == pytest.approx(np.log(2))
    assert metrics.kullback_leibler_divergence([[1, 0]], [[0.0, 1.0]]) == np.inf


def test_an_infinite_distance_stays_infinite_beside_examples_that_do_not_count():
    y_true, p = [[1, 0], [0, 0], [1, 0]], [[0.0, 1.0], [0.5, 0.5], [0.5, 0.5]]
    assert metrics.kullback_leibler_divergence(y_true, p) == np.inf
    without = metrics.kullback_leibler_divergence(y_true, p, sample_weight=[0, 1, 1])
    assert without == pytest.approx(np.log(2))
    assert metrics.by_name("distribution-kl")(y_true, p, sample_weight=[0, 1, 1]) == pytest.approx(np.log(2))


def test_an_example_without_labels_has_no_distribution():
    p = np.array([[0.5, 0.5], [0.9, 0.1]])
    both = metrics.jensen_shannon_divergence([[1, 0], [0, 0]], p)
    assert both == pytest.approx(metrics.jensen_shannon_divergence([[1, 0]], p[:1]), rel=1e-14)
    assert np.isnan(metrics.jensen_shannon_divergence([[0, 0]], p[:1]))


def test_blocks_of_rows_give_what_one_block_gives(monkeypatch):
    rng = np.random.default_rng(0)
    q, p = rng.dirichlet(np.ones(6), 9), rng.dirichlet(np.ones(6), 9)
    whole = metrics.jensen_shannon_divergence(q, p)
    monkeypatch.setattr("labelproof.metrics.distributions._BLOCK", 12)
    assert metrics.jensen_shannon_divergence(q, p) == pytest.approx(whole, rel=1e-14)
