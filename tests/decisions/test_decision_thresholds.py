"""Cuts against every cut there is, ties in the scores included."""

import numpy as np
import pytest
import scipy.sparse
from every_decision import best_label_f, best_over_label_cuts, candidate_cuts, f_of
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import f1_score, precision_recall_curve

from labelproof.decisions import PerLabelThreshold, Threshold, ThresholdAveraging
from labelproof.decisions.cuts import curves
from labelproof.decisions.inputs import read_pair
from labelproof.metrics import by_name


def problem(seed, n=40, n_labels=5, levels=None, dtype=np.float64):
    """Labels of falling frequency and scores that know something of them; few levels make ties."""
    rng = np.random.default_rng(seed)
    y_true = rng.random((n, n_labels)) < np.linspace(0.6, 0.05, n_labels)
    y_score = y_true + rng.standard_normal((n, n_labels))
    if levels:
        y_score = np.round(y_score * levels) / levels
    return y_true, y_score.astype(dtype)


@pytest.mark.parametrize("levels", [None, 1, 2])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("beta", [0.5, 1.0, 2.0])
def test_each_label_gets_the_cut_with_the_largest_f(levels, dtype, beta):
    for seed in range(5):
        y_true, y_score = problem(seed, levels=levels, dtype=dtype)
        y_pred = PerLabelThreshold(metric=f"macro-f{beta:g}").fit(y_true, y_score).decide(y_score)
        for j in range(y_true.shape[1]):
            best = best_label_f(y_true[:, j], y_score[:, j], beta)
            assert f_of(y_true[:, j], y_pred[:, j], beta) == pytest.approx(best, abs=1e-14)


@settings(deadline=None, max_examples=60)
@given(st.lists(st.tuples(st.integers(0, 1), st.integers(-2, 2)), min_size=1, max_size=12))
def test_the_cut_of_one_label_is_optimal_with_many_ties(pairs):
    truth, scores = (np.array(x) for x in zip(*pairs, strict=True))
    rule = PerLabelThreshold().fit(truth[:, None], scores[:, None].astype(float))
    assert f_of(truth, rule.decide(scores[:, None])[:, 0]) == pytest.approx(best_label_f(truth, scores))


def test_the_f_of_each_label_is_that_of_scikit_learns_curve():
    y_true, y_score = problem(3, n=400, levels=4)
    y_pred = PerLabelThreshold().fit(y_true, y_score).decide(y_score)
    ours = f1_score(y_true, y_pred, average=None)
    for j in range(y_true.shape[1]):
        precision, recall, _ = precision_recall_curve(y_true[:, j], y_score[:, j])
        assert ours[j] == pytest.approx(np.max(2 * precision * recall / np.maximum(precision + recall, 1e-12)))


@pytest.mark.parametrize("metric", ["micro-f1", "micro-f2", "micro-f0.5", "micro-jaccard", "micro-accuracy"])
@pytest.mark.parametrize("levels", [None, 1])
def test_labels_are_cut_together_for_a_micro_average(metric, levels):
    value = by_name(metric)
    for seed in range(4):
        y_true, y_score = problem(seed, n=9, n_labels=3, levels=levels)
        y_pred = PerLabelThreshold(metric=metric).fit(y_true, y_score).decide(y_score)
        best = best_over_label_cuts(y_true, y_score, value)
        assert value(y_true, y_pred) == pytest.approx(best, abs=1e-14)


def test_the_hamming_loss_is_minimised():
    y_true, y_score = problem(1, n=9, n_labels=3, levels=1)
    loss = by_name("hamming-loss")
    y_pred = PerLabelThreshold(metric="hamming-loss").fit(y_true, y_score).decide(y_score)
    assert loss(y_true, y_pred) == -best_over_label_cuts(y_true, y_score, lambda t, p: -loss(t, p))


@pytest.mark.parametrize("family", ["jaccard", "mcc", "balanced-accuracy", "accuracy", "precision", "recall"])
def test_other_macro_averages_are_cut_exactly_too(family):
    value = by_name(f"macro-{family}")
    for seed in range(3):
        y_true, y_score = problem(seed, n=30, n_labels=4, levels=2)
        y_pred = PerLabelThreshold(metric=f"macro-{family}").fit(y_true, y_score).decide(y_score)
        best = [max(value(t, s > cut) for cut in candidate_cuts(s)) for t, s in columns(y_true, y_score)]
        assert value(y_true, y_pred) == pytest.approx(np.mean(best), abs=1e-14)


def columns(*arrays):
    return zip(*([a[:, j : j + 1] for j in range(a.shape[1])] for a in arrays), strict=True)


@pytest.mark.parametrize(
    "metric", ["micro-f1", "macro-f1", "weighted-f2", "samples-f1", "exact-match", "hamming-loss", "macro-mcc"]
)
@pytest.mark.parametrize("levels", [None, 2])
def test_one_threshold_for_all_labels_is_the_best_there_is(metric, levels):
    value = by_name(metric)
    sign = 1 if value.greater_is_better else -1
    for seed in range(3):
        y_true, y_score = problem(seed, n=20, n_labels=4, levels=levels)
        y_pred = Threshold(metric=metric).fit(y_true, y_score).decide(y_score)
        best = max(sign * value(y_true, y_score > t) for t in candidate_cuts(y_score))
        assert sign * value(y_true, y_pred) == pytest.approx(best, abs=1e-14)


def test_with_many_distinct_scores_quantiles_come_close():
    y_true, y_score = problem(0, n=3000, n_labels=5)
    value = by_name("macro-f1")
    ours = value(y_true, Threshold(metric="macro-f1").fit(y_true, y_score).decide(y_score))
    best = max(value(y_true, y_score > t) for t in np.quantile(y_score, np.linspace(0.3, 0.9, 200)))
    assert ours > best - 1e-3


def test_a_threshold_lies_half_way_to_the_next_lower_score():
    assert Threshold().fit([[1, 0]], [[3.0, 1.0]]).threshold_ == 2.0
    assert PerLabelThreshold().fit([[1], [0]], [[3.0], [1.0]]).thresholds_.tolist() == [2.0]


def test_neighbouring_floats_are_told_apart():
    for dtype in (np.float32, np.float64):
        high = np.nextafter(dtype(1), dtype(2))
        scores = np.array([[high], [1]], dtype)
        for rule in (PerLabelThreshold(), Threshold()):
            assert rule.fit([[1], [0]], scores).decide(scores).tolist() == [[True], [False]]


def test_extreme_scores_do_not_overflow():
    scores = np.array([[1.7e308], [-1.7e308]])
    assert PerLabelThreshold().fit([[1], [0]], scores).thresholds_.tolist() == [0.0]
    assert PerLabelThreshold().fit([[1], [1]], scores).decide(scores).all()


def test_a_label_without_positives_needs_a_higher_score_than_any_seen():
    rule = PerLabelThreshold().fit([[0, 1], [0, 0]], [[1.0, 1.0], [2.0, 0.0]])
    assert rule.thresholds_.tolist() == [2.0, 0.5]
    assert rule.decide([[2.0, 0.0], [2.5, 0.0]])[:, 0].tolist() == [False, True]


def test_a_label_that_is_always_on_is_always_predicted():
    scores = np.array([[1.0], [2.0]])
    assert PerLabelThreshold().fit([[1], [1]], scores).decide(scores).all()


def test_rare_and_weak_labels_fall_back():
    y_true, y_score = [[1, 1], [0, 1], [0, 0], [0, 0]], [[1.0, 4.0], [2.0, 3.0], [3.0, 2.0], [4.0, 1.0]]
    bare = PerLabelThreshold().fit(y_true, y_score)
    shared = Threshold(metric="macro-f1").fit(y_true, y_score).threshold_
    for options in ({"min_positives": 2}, {"min_value": 0.5}):
        highest = PerLabelThreshold(**options).fit(y_true, y_score).thresholds_
        assert highest.tolist() == [4.0, bare.thresholds_[1]]
        fallen = PerLabelThreshold(**options, fallback="global").fit(y_true, y_score).thresholds_
        assert fallen.tolist() == [shared, bare.thresholds_[1]]


def test_shrinkage_goes_from_each_labels_own_threshold_to_the_global_one():
    y_true, y_score = problem(2)
    own = PerLabelThreshold().fit(y_true, y_score).thresholds_
    shared = Threshold(metric="macro-f1").fit(y_true, y_score).threshold_
    m = y_true.sum(axis=0)
    half = PerLabelThreshold(shrinkage=3).fit(y_true, y_score).thresholds_
    np.testing.assert_allclose(half, (m * own + 3 * shared) / (m + 3))
    np.testing.assert_allclose(PerLabelThreshold(shrinkage=1e12).fit(y_true, y_score).thresholds_, shared)


def test_thresholds_follow_a_permutation_of_labels_and_ignore_that_of_examples():
    y_true, y_score = problem(5)
    order, turn = np.random.default_rng(0).permutation(5), np.random.default_rng(1).permutation(40)
    for metric in ("macro-f1", "micro-f1"):
        base = PerLabelThreshold(metric=metric).fit(y_true, y_score).thresholds_
        moved = PerLabelThreshold(metric=metric).fit(y_true[turn][:, order], y_score[turn][:, order]).thresholds_
        np.testing.assert_array_equal(moved, base[order])


def test_a_rising_function_of_the_scores_does_not_change_the_label_sets():
    y_true, y_score = problem(6)
    for rule in (PerLabelThreshold(), PerLabelThreshold(metric="micro-f1"), Threshold(metric="micro-f1")):
        plain = rule.fit(y_true, y_score).decide(y_score)
        np.testing.assert_array_equal(rule.fit(y_true, np.exp(y_score)).decide(np.exp(y_score)), plain)


def test_sparse_labels_and_sparse_decisions_are_the_dense_ones():
    y_true, y_score = problem(7)
    rule = PerLabelThreshold().fit(scipy.sparse.csr_array(y_true), y_score)
    np.testing.assert_array_equal(rule.thresholds_, PerLabelThreshold().fit(y_true, y_score).thresholds_)
    sparse = rule.decide(y_score, sparse=True)
    assert scipy.sparse.issparse(sparse)
    assert sparse.format == "csr"
    np.testing.assert_array_equal(sparse.toarray(), rule.decide(y_score))


def test_a_curve_counts_the_scores_at_each_positive():
    y_true, y_score = problem(8, levels=1)
    found = curves(*read_pair(y_true, y_score))
    for j in range(5):
        values = found.values[found.ptr[j] : found.ptr[j + 1]]
        assert values.tolist() == sorted(y_score[y_true[:, j], j])
        counts = [(y_score[:, j] >= v).sum() for v in values]
        assert found.predicted[found.ptr[j] : found.ptr[j + 1]].tolist() == counts


def test_threshold_averaging_is_the_mean_of_each_examples_own_best_score():
    y_true, y_score = problem(9, n=30, n_labels=8)
    best = []
    for truth, scores in zip(y_true, y_score, strict=True):
        if truth.any():
            values = [(f_of(truth, scores >= s), s) for s in scores]
            best.append(max(values)[1])
    rule = ThresholdAveraging().fit(y_true, y_score)
    assert rule.threshold_ == pytest.approx(np.mean(best), abs=1e-12)


def test_threshold_averaging_of_one_example_decides_it_best():
    scores = np.array([[0.3, 0.1, 0.2, 0.1]])
    rule = ThresholdAveraging().fit([[1, 0, 1, 0]], scores)
    assert rule.decide(scores).tolist() == [[True, False, True, False]]


def test_a_fixed_threshold_needs_no_fit_and_is_strict():
    assert Threshold(0.5).decide([[0.5, 0.6]]).tolist() == [[False, True]]
    assert Threshold(0.1).decide(np.array([[0.1]], np.float32)).tolist() == [[True]]  # float32(0.1) > 0.1


def test_geometry_is_a_sigmoid_with_the_thresholds():
    y_true, y_score = problem(10)
    rule = PerLabelThreshold(scores="logits").fit(y_true, y_score)
    assert (rule.geometry.rule, rule.geometry.scores) == ("sigmoid", "logits")
    np.testing.assert_array_equal(rule.geometry.logit_cuts(5), rule.thresholds_)
    half = Threshold(0.5, scores="probabilities").geometry
    assert half.logit_cuts(3).tolist() == [0.0, 0.0, 0.0]
    assert PerLabelThreshold().geometry is None
    assert Threshold().geometry is None
    assert ThresholdAveraging().geometry is None
    assert ThresholdAveraging().fit(y_true, y_score).geometry.thresholds.shape == ()


def test_cuts_on_logits_need_to_know_what_the_scores_are():
    with pytest.raises(ValueError, match="scores='logits' or scores='probabilities'"):
        Threshold(0.5).geometry.logit_cuts(3)
    with pytest.raises(ValueError, match=r"between 0 and 1, got 1\.5"):
        Threshold(1.5, scores="probabilities").geometry.logit_cuts(3)
    rule = PerLabelThreshold(scores="logits").fit([[1, 0]], [[1.0, 0.0]])
    with pytest.raises(ValueError, match=r"one for each of 3 labels, got shape \(2,\)"):
        rule.geometry.logit_cuts(3)
