"""Ranking metrics against scikit-learn, literal definitions, and all orders of tied scores."""

import itertools

import metric_oracle as oracle
import numpy as np
import pytest
import sklearn.metrics as sk
from hypothesis import given, settings
from hypothesis import strategies as st

from labelproof import metrics

Y_TRUE, Y_SCORE, _, _ = oracle.awkward()
WEIGHT = np.random.default_rng(3).random(len(Y_TRUE))
SEEN = np.flatnonzero(Y_TRUE.any(0) & ~Y_TRUE.all(0))
TWO_SIDED = Y_TRUE.any(1) & ~Y_TRUE.all(1)


# --- over all cut-offs ------------------------------------------------------------------------------------


@pytest.mark.parametrize("weight", [None, WEIGHT])
@pytest.mark.parametrize("average", ["micro", "macro", "weighted", None])
@pytest.mark.parametrize("name", ["average_precision_score", "roc_auc_score"])
def test_curves_agree_with_scikit_learn_on_tied_scores(name, average, weight):
    arguments = Y_TRUE[:, SEEN], Y_SCORE[:, SEEN]
    ours = getattr(metrics, name)(*arguments, average=average, sample_weight=weight)
    theirs = getattr(sk, name)(*arguments, average=average, sample_weight=weight)
    np.testing.assert_allclose(ours, theirs, rtol=1e-12)


@pytest.mark.parametrize("name", ["average_precision_score", "roc_auc_score"])
def test_curves_over_examples_agree_with_scikit_learn(name):
    arguments = Y_TRUE[TWO_SIDED], Y_SCORE[TWO_SIDED]
    ours = getattr(metrics, name)(*arguments, average="samples")
    assert ours == pytest.approx(getattr(sk, name)(*arguments, average="samples"), rel=1e-12)


@pytest.mark.parametrize("weight", [None, WEIGHT])
def test_label_rankings_agree_with_scikit_learn_on_tied_scores(weight):
    pairs = {
        metrics.label_ranking_average_precision_score: sk.label_ranking_average_precision_score,
        metrics.label_ranking_loss: sk.label_ranking_loss,
        metrics.coverage_error: sk.coverage_error,
    }
    for ours, theirs in pairs.items():
        expected = theirs(Y_TRUE, Y_SCORE, sample_weight=weight)
        assert ours(Y_TRUE, Y_SCORE, sample_weight=weight) == pytest.approx(expected, rel=1e-12)


def test_a_label_without_true_examples_is_left_out_of_the_mean_unless_told():
    assert not Y_TRUE[:, 2].any()
    per_label = metrics.average_precision_score(Y_TRUE, Y_SCORE, average=None)
    assert np.flatnonzero(np.isnan(per_label)).tolist() == [2]
    assert metrics.average_precision_score(Y_TRUE, Y_SCORE) == pytest.approx(np.nanmean(per_label))
    as_zero = metrics.average_precision_score(Y_TRUE, Y_SCORE, zero_division=0.0)
    assert as_zero == pytest.approx(np.nan_to_num(per_label).mean())
    assert np.isnan(metrics.roc_auc_score(np.zeros((3, 2)), np.zeros((3, 2))))


@settings(deadline=None)  # the first call loads compiled code
@given(st.lists(st.tuples(st.booleans(), st.integers(0, 4)), min_size=1, max_size=9))
def test_average_precision_and_its_interpolations_follow_their_definitions(pairs):
    y, score = [truth for truth, _ in pairs], [s for _, s in pairs]
    if not any(y):
        return
    column = np.array(y)[:, None], np.array(score, float)[:, None]
    assert metrics.average_precision_score(*column) == pytest.approx(oracle.average_precision(y, score))
    for points in (None, 11, 101):
        ours = metrics.interpolated_average_precision_score(*column, points=points)
        assert ours == pytest.approx(oracle.interpolated_average_precision(y, score, points)), points


def test_average_precision_of_a_long_tied_list_is_that_of_a_short_search():
    rng = np.random.default_rng(0)  # more than 64 true entries: the kernel uses its guide table
    y = rng.random((2000, 3)) < 0.3
    for score in (
        rng.integers(0, 50, y.shape) + 20.0 * y,
        rng.normal(size=y.shape) * 1e-30 + 1,
        np.where(rng.random(y.shape) < 0.1, -np.inf, rng.normal(size=y.shape)),
        np.where(rng.random(y.shape) < 0.1, 1e300, rng.normal(size=y.shape)),
        np.full(y.shape, 7.0),
    ):
        finite = np.nan_to_num(score, neginf=-1e6)  # scikit-learn refuses infinities
        ours = metrics.average_precision_score(y, score, average=None)
        np.testing.assert_allclose(ours, sk.average_precision_score(y, finite, average=None), rtol=1e-12)
        ours = metrics.roc_auc_score(y, score.astype(np.float64), average="micro")
        assert ours == pytest.approx(sk.roc_auc_score(y, finite, average="micro"), rel=1e-12)


def test_scores_far_beyond_the_range_of_a_sigmoid_keep_their_order():
    y_score = np.arange(15.0, 41.0, dtype=np.float32)[:, None]
    y_true = np.arange(26)[:, None] >= 13
    assert metrics.roc_auc_score(y_true, y_score) == 1.0
    assert metrics.average_precision_score(y_true, 1e30 * y_score) == 1.0


# --- at k -------------------------------------------------------------------------------------------------


def mean_over_orders(y, score, value):
    return np.mean([value(order) for order in oracle.orders_of(score)])


@settings(deadline=None)  # the first call loads compiled code
@given(
    st.lists(st.tuples(st.booleans(), st.integers(0, 2)), min_size=1, max_size=5),
    st.integers(1, 5),
)
def test_values_at_k_are_the_mean_over_all_orders_of_equal_scores(pairs, k):
    y, score = [truth for truth, _ in pairs], [s for _, s in pairs]
    if k > len(y):
        return
    n_true, ideal = max(1, sum(y)), oracle.dcg(range(k), sorted(y, reverse=True), k) or 1.0
    row = np.array([y]), np.array([score], float)
    expected = {
        "precision@": lambda order: oracle.hits(order, y, k) / k,
        "recall@": lambda order: oracle.hits(order, y, k) / n_true,
        "rp@": lambda order: oracle.hits(order, y, k) / min(k, n_true),
        "samples-f1@": lambda order: 2 * oracle.hits(order, y, k) / (k + sum(y)),
        "ndcg@": lambda order: oracle.dcg(order, y, k) / ideal,
    }
    for family, value in expected.items():
        ours = metrics.by_name(f"{family}{k}")(*row)
        assert ours == pytest.approx(mean_over_orders(y, score, value), abs=1e-12), family


def test_coverage_at_k_is_the_mean_over_all_orders_of_every_example():
    y_true = np.array([[1, 1, 0, 0], [1, 0, 1, 0]], bool)
    y_score = np.array([[1, 1, 1, 0], [0, 2, 0, 0]])
    for k in (1, 2, 3):
        values = []
        for orders in itertools.product(*(oracle.orders_of(row) for row in y_score)):
            found = {j for order, y in zip(orders, y_true, strict=True) for j in order[:k] if y[j]}
            values.append(len(found) / 3)  # three labels occur
        assert metrics.coverage_at_k(y_true, y_score, k) == pytest.approx(np.mean(values))


@pytest.mark.parametrize("k", [1, 3, 7])
def test_ndcg_agrees_with_scikit_learn_on_tied_scores(k):
    assert metrics.ndcg_at_k(Y_TRUE, Y_SCORE, k) == pytest.approx(sk.ndcg_score(Y_TRUE, Y_SCORE, k=k), rel=1e-12)


def test_both_f1_at_k_are_what_they_say():
    p, r = metrics.precision_at_k(Y_TRUE, Y_SCORE, 3), metrics.recall_at_k(Y_TRUE, Y_SCORE, 3)
    assert metrics.f1_at_k(Y_TRUE, Y_SCORE, 3) == pytest.approx(2 * p * r / (p + r))
    assert metrics.by_name("f1@3")(Y_TRUE, Y_SCORE) == pytest.approx(2 * p * r / (p + r))
    by_name = metrics.by_name("samples-f1@3")(Y_TRUE, Y_SCORE)
    assert metrics.example_f1_at_k(Y_TRUE, Y_SCORE, 3) == pytest.approx(by_name, rel=1e-12)
    assert metrics.f1_at_k([[1, 0]], [[0.0, 1.0]], 1) == 0.0


def test_nan_leaves_examples_without_labels_out_of_the_mean():
    labelled = Y_TRUE.any(1)
    for value in (metrics.recall_at_k, metrics.ndcg_at_k, metrics.r_precision_at_k):
        left_out = value(Y_TRUE, Y_SCORE, 2, zero_division=np.nan)
        assert left_out == pytest.approx(value(Y_TRUE[labelled], Y_SCORE[labelled], 2))
        assert left_out > value(Y_TRUE, Y_SCORE, 2)


# --- propensities -----------------------------------------------------------------------------------------


def test_propensities_follow_the_papers_model():
    y_train = np.zeros((1000, 3), bool)
    y_train[:10, 0] = y_train[:500, 1] = True
    c = (np.log(1000) - 1) * 2.5**0.55
    expected = [1 / (1 + c * (n + 1.5) ** -0.55) for n in (10, 500, 0)]
    np.testing.assert_allclose(metrics.propensities(y_train), expected, rtol=1e-12)
    c = (np.log(1000) - 1) * 3.6**0.6
    np.testing.assert_allclose(metrics.propensities(y_train, a=0.6, b=2.6)[0], 1 / (1 + c * 12.6**-0.6))


@pytest.mark.parametrize("k", [1, 2, 4])
def test_propensity_scored_values_are_totals_over_the_best_totals(k):
    y_true, y_score, _, _ = oracle.awkward(5, n=6, n_labels=5, levels=2)
    p = np.linspace(0.2, 1, 5)
    reached, best, dcg_reached, dcg_best = 0.0, 0.0, 0.0, 0.0
    for y, score in zip(y_true, y_score, strict=True):
        gain = y / p
        reached += mean_over_orders(y, score, lambda order, gain=gain: gain[order[:k]].sum())
        dcg_reached += mean_over_orders(y, score, lambda order, gain=gain: oracle.dcg(order, gain, k))
        ideal = np.argsort(-gain)
        best += gain[ideal[:k]].sum()
        dcg_best += oracle.dcg(ideal, gain, k)
    arguments = {"y_true": y_true, "y_score": y_score, "k": k, "propensity": p}
    assert metrics.propensity_scored_precision_at_k(**arguments) == pytest.approx(reached / best)
    assert metrics.propensity_scored_ndcg_at_k(**arguments) == pytest.approx(dcg_reached / dcg_best)
    plain = metrics.propensity_scored_precision_at_k(**arguments, normalise=False)
    assert plain == pytest.approx(reached / k / 6)
    plain = metrics.propensity_scored_ndcg_at_k(**arguments, normalise=False)
    assert plain == pytest.approx(dcg_reached / 6 / sum(1 / np.log2(np.arange(k) + 2)))


def test_with_equal_propensities_the_best_ranking_scores_one_and_psp_is_rp_like():
    y_true = np.array([[1, 1, 0], [0, 0, 1]])
    assert metrics.propensity_scored_precision_at_k(y_true, y_true, 2, propensity=[0.5] * 3) == 1.0
    assert metrics.propensity_scored_ndcg_at_k(y_true, y_true, 2, propensity=[0.5] * 3) == 1.0
    assert metrics.propensity_scored_precision_at_k(0 * y_true, y_true, 2, propensity=[0.5] * 3) == 0.0
