"""Top k, predicted counts, the support of sparsemax, and macro averages with k labels an example."""

import numpy as np
import pytest
from every_decision import all_selections, candidate_cuts

from labelproof.decisions import BatchMacroTopK, LabelCount, MacroTopK, SoftmaxThreshold, SparsemaxSupport, TopK
from labelproof.decisions.budgeted import expected_utility
from labelproof.decisions.support import depths
from labelproof.metrics import by_name
from labelproof.simplex import sparsemax

UTILITIES = ("macro-f1", "macro-f2", "macro-f0.5", "macro-recall", "macro-precision", "coverage")


# TopK


@pytest.mark.parametrize("levels", [None, 3])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_top_k_is_a_stable_sort(levels, dtype):
    scores = np.random.default_rng(0).standard_normal((50, 13)).astype(dtype)
    if levels:
        scores = np.round(scores)
    for k in (1, 2, 5, 13):
        expected = np.zeros(scores.shape, bool)
        np.put_along_axis(expected, np.argsort(-scores, axis=1, kind="stable")[:, :k], True, axis=1)
        np.testing.assert_array_equal(TopK(k).decide(scores), expected)
        np.testing.assert_array_equal(TopK(k).decide(scores, sparse=True).toarray(), expected)


def test_top_k_knows_its_size():
    assert (TopK(3).geometry.rule, TopK(3).geometry.size, TopK(3).geometry.exact) == ("topk", 3, True)


# LabelCount


def counted_problem(n=400, n_labels=12, seed=0):
    rng = np.random.default_rng(seed)
    y_true = rng.random((n, n_labels)) < rng.uniform(0.05, 0.6, (n, 1))
    return y_true, 4 * y_true + rng.standard_normal((n, n_labels))


def test_the_number_of_labels_is_learned_from_the_scores():
    y_true, y_score = counted_problem()
    rule = LabelCount().fit(y_true[:200], y_score[:200])
    errors = rule.counts(y_score[200:]) - y_true[200:].sum(axis=1)
    assert np.abs(errors).mean() < 0.6  # the spread of the counts themselves is 2.2
    predicted = rule.decide(y_score[200:])
    np.testing.assert_array_equal(predicted.sum(axis=1), rule.counts(y_score[200:]))


def test_a_constant_number_of_labels_is_predicted_exactly():
    scores = np.random.default_rng(1).standard_normal((30, 6))
    y_true = TopK(2).decide(np.random.default_rng(2).standard_normal((30, 6)))
    np.testing.assert_array_equal(LabelCount().fit(y_true, scores).decide(scores), TopK(2).decide(scores))


def test_counts_stay_in_the_range_that_was_seen():
    y_true, y_score = counted_problem()
    rule = LabelCount().fit(y_true, y_score)
    assert rule.counts(1e6 * y_score).max() <= y_true.sum(axis=1).max()
    assert rule.counts(1e6 * y_score).min() >= y_true.sum(axis=1).min()


def test_the_ridge_regression_is_scikit_learns_with_the_best_penalty():
    from sklearn.linear_model import Ridge, RidgeCV
    from sklearn.preprocessing import StandardScaler

    y_true, y_score = counted_problem(n=60)
    rule = LabelCount(n_features=5).fit(y_true, y_score)
    features = np.column_stack([np.sort(y_score, axis=1)[:, ::-1][:, :5], y_score.mean(axis=1)])
    scaled = StandardScaler().fit_transform(features)
    best = RidgeCV(alphas=60 * np.logspace(-6, 3, 19)).fit(scaled, y_true.sum(axis=1)).alpha_
    peer = Ridge(alpha=best).fit(scaled, y_true.sum(axis=1))
    np.testing.assert_allclose(features @ rule.weights_ + rule.intercept_, peer.predict(scaled), rtol=1e-9)


# SoftmaxThreshold


def test_the_softmax_threshold_is_the_best_of_all_and_does_not_move_with_the_logits():
    rng = np.random.default_rng(5)
    value = by_name("micro-f1")
    y_true = rng.random((15, 5)) < 0.4
    z = y_true + rng.standard_normal((15, 5))
    p = np.exp(z) / np.exp(z).sum(axis=1, keepdims=True)
    rule = SoftmaxThreshold().fit(y_true, z)
    best = max(value(y_true, p >= cut) for cut in np.unique(p))
    assert value(y_true, rule.decide(z)) == pytest.approx(best, abs=1e-14)
    np.testing.assert_array_equal(rule.decide(z + 700), rule.decide(z))
    np.testing.assert_array_equal(SoftmaxThreshold(0.25).decide(z), p > 0.25)
    assert rule.geometry is None


# SparsemaxSupport


@pytest.mark.parametrize("t", [0.1, 1.0, 3.5, 40.0])
def test_the_support_is_that_of_sparsemax(t):
    z = np.random.default_rng(0).standard_normal((200, 11))
    np.testing.assert_array_equal(SparsemaxSupport(t).decide(z), sparsemax(t * z) > 0)


def test_the_depth_is_the_sum_of_what_lies_above():
    z = np.round(np.random.default_rng(1).standard_normal((20, 6)), 1)
    expected = np.maximum(z[:, :, None] - z[:, None, :], 0).sum(axis=1)
    np.testing.assert_allclose(depths(z), expected, atol=1e-12)


@pytest.mark.parametrize("metric", ["micro-f1", "macro-f1", "hamming-loss"])
def test_the_temperature_is_the_best_of_all(metric):
    rng = np.random.default_rng(2)
    value = by_name(metric)
    sign = 1 if value.greater_is_better else -1
    for _ in range(4):
        y_true = rng.random((15, 5)) < 0.4
        z = y_true + rng.standard_normal((15, 5))
        rule = SparsemaxSupport(metric=metric).fit(y_true, z)
        ours = sign * value(y_true, rule.decide(z))
        cuts = np.unique(depths(z))
        between = np.append((cuts[1:] + cuts[:-1]) / 2, cuts[-1] + 1)
        assert ours == pytest.approx(max(sign * value(y_true, depths(z) < cut) for cut in between), abs=1e-14)


def test_a_support_is_never_empty_even_where_nothing_would_be_best():
    z = np.random.default_rng(3).standard_normal((10, 4))
    rule = SparsemaxSupport(metric="hamming-loss").fit(np.zeros((10, 4)), z)
    np.testing.assert_array_equal(rule.decide(z), TopK(1).decide(z))


def test_where_all_labels_are_on_all_are_in_the_support():
    z = np.random.default_rng(4).standard_normal((10, 4))
    assert SparsemaxSupport().fit(np.ones((10, 4)), z).decide(z).all()
    assert SparsemaxSupport().fit(np.ones((2, 3)), np.ones((2, 3))).t_ == 1.0


def test_sparsemax_geometry_has_the_temperature():
    geometry = SparsemaxSupport(2.5).geometry
    assert (geometry.rule, geometry.temperature, geometry.scores) == ("sparsemax", 2.5, "logits")
    assert SparsemaxSupport().geometry is None


# Macro averages with k labels


def rare_problem(seed, n=2000, n_labels=30):
    rng = np.random.default_rng(seed)
    eta = 1 / (1 + np.exp(-(rng.standard_normal((n, n_labels)) * 1.5 - np.linspace(0, 5, n_labels))))
    return rng.random(eta.shape) < eta, eta


@pytest.mark.parametrize("metric", UTILITIES)
def test_no_change_of_one_example_improves_a_batch(metric):
    rng = np.random.default_rng(0)
    eta = rng.beta(0.5, 1.5, (12, 5))
    active = BatchMacroTopK(2, metric, scores="probabilities").decide(eta)
    assert (active.sum(axis=1) == 2).all()
    value = expected_utility(eta, active, metric)
    for i in range(len(eta)):
        for row in all_selections(1, 5, 2):
            changed = active.copy()
            changed[i] = row[0]
            assert expected_utility(eta, changed, metric) <= value + 1e-9


@pytest.mark.parametrize("metric", UTILITIES)
def test_a_batch_is_close_to_the_best_of_all_selections(metric):
    rng = np.random.default_rng(1)
    shares = []
    for _ in range(6):
        eta = rng.beta(0.6, 1.2, (5, 4))
        best = max(expected_utility(eta, active, metric) for active in all_selections(5, 4, 1))
        starts = [BatchMacroTopK(1, metric, scores="probabilities", random_state=s).decide(eta) for s in range(5)]
        ours = max(expected_utility(eta, active, metric) for active in starts)
        assert ours <= best + 1e-12
        shares.append(ours / best)
    assert np.mean(shares) > 0.98
    if metric == "macro-recall":
        assert min(shares) > 1 - 1e-12


@pytest.mark.parametrize("metric", UTILITIES)
def test_ascending_never_falls_below_plain_top_k(metric):
    _, eta = rare_problem(2, n=100, n_labels=60)
    plain = expected_utility(eta, TopK(3).decide(eta), metric)
    ours = expected_utility(eta, BatchMacroTopK(3, metric, scores="probabilities").decide(eta), metric)
    assert ours > plain + 0.01


def test_beta_weighs_recall():
    """F2 of a label with few hits rises with its recall; the mirrored definition would prefer its precision."""
    eta = np.array([[0.5, 0.2], [0.4, 0.3]])
    one, two = np.array([[1, 0], [0, 1]], bool), np.array([[1, 0], [1, 0]], bool)
    by_hand = (5 * 0.5 / (1 + 4 * 0.9) + 5 * 0.3 / (1 + 4 * 0.5)) / 2
    assert expected_utility(eta, one, "macro-f2") == pytest.approx(by_hand)
    assert expected_utility(eta, two, "macro-f2") == pytest.approx(5 * 0.9 / (2 + 4 * 0.9) / 2)


def test_expected_utility_of_certain_labels_is_the_metric():
    rng = np.random.default_rng(3)
    truth, active = rng.random((30, 6)) < 0.4, rng.random((30, 6)) < 0.4
    for metric in ("macro-f1", "macro-f2", "macro-recall", "macro-precision"):
        assert expected_utility(truth.astype(float), active, metric) == pytest.approx(by_name(metric)(truth, active))
    covered = (truth & active).any(axis=0).mean()
    assert expected_utility(truth.astype(float), active, "coverage") == pytest.approx(covered)


@pytest.mark.parametrize("metric", ["macro-f1", "macro-recall", "macro-precision"])
def test_fitted_gains_help_on_new_examples(metric):
    (y_true, eta), (new_true, new_eta) = rare_problem(0), rare_problem(1)
    rule = MacroTopK(3, metric, scores="probabilities").fit(y_true, eta)
    value = by_name(metric)
    active = rule.decide(new_eta)
    assert (active.sum(axis=1) == 3).all()
    assert value(new_true, active) > value(new_true, TopK(3).decide(new_eta)) + 0.01
    assert rule.geometry is None


def test_for_recall_the_gains_are_one_over_the_expected_frequency():
    y_true, eta = rare_problem(0)
    rule = MacroTopK(3, "macro-recall", scores="probabilities").fit(y_true, eta)
    np.testing.assert_allclose(rule.gains_, 1 / np.maximum(eta.sum(axis=0), 0.5))
    assert not rule.offsets_.any()


def test_candidate_cuts_of_the_oracle_are_complete():
    assert candidate_cuts(np.array([1.0, 1.0, 3.0])).tolist() == [0.0, 1.0, 3.0]
