"""The stretch is what its definition says: oracles, closed forms, invariances, and bad input."""

import numpy as np
import pytest
import scipy.sparse as sp
from stretch_oracle import exact_is_within, made_case, weak_value

import labelproof as lp

every_rule = pytest.mark.parametrize("rule", ["sigmoid", "topk"])
both_ties = pytest.mark.parametrize("ties", ["open", "inactive"])


def few_labels(seed=0, n=60, n_labels=12, d=5):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n_labels, d)), rng.normal(size=n_labels), rng.normal(size=(n, d))


@every_rule
@pytest.mark.parametrize("seed", range(12))
def test_the_bounds_enclose_the_value_of_the_whole_programme(rule, seed):
    weight, bias, features, sets = made_case(seed)
    s = lp.stretch(weight, sets, features, bias=bias, rule=rule, n_jobs=1)
    s.check(n_jobs=1)
    for i, active in enumerate(sets):
        value = weak_value(weight, bias, features, s.examples.centre, active, rule=rule)
        assert s.lower[i] <= value * (1 + 1e-7) + 1e-9
        assert s.upper[i] >= value * (1 - 1e-7) - 1e-9
        assert s.lower[i] >= s.upper[i] * 0.995


@every_rule
@both_ties
@pytest.mark.parametrize("seed", range(8))
def test_both_bounds_are_true_in_fractions_where_labels_tie(rule, ties, seed):
    weight, bias, features, sets = made_case(seed, whole=True)
    s = lp.stretch(weight, sets, features, bias=bias, rule=rule, ties=ties, n_jobs=1)
    s.check(n_jobs=1)
    s.check(exact=True, n_jobs=1)
    for i, active in enumerate(sets):
        question = (weight, bias, features, s.examples.centre, active)
        if s.upper[i] < np.inf:
            assert exact_is_within(*question, s.upper[i], rule=rule, ties=ties)
        if s.lower[i] == np.inf:
            assert not exact_is_within(*question, np.inf, rule=rule, ties=ties)
        elif s.lower[i] > 0:
            assert not exact_is_within(*question, s.lower[i] * (1 - 1e-9), rule=rule, ties=ties)


def test_a_set_that_only_the_weak_programme_allows_is_infinitely_far():
    s = lp.stretch([[1.0], [-1.0]], [[0, 1]], [[-1.0], [1.0]], bias=[-1.0, 1.0])
    assert s.lower[0] == s.upper[0] == np.inf
    assert s[0].conflict == (0, 1)
    s.check()


def test_a_set_that_needs_what_no_example_varies_is_infinitely_far():
    features = np.column_stack([np.linspace(-1, 1, 9), np.full(9, 0.3)])
    s = lp.stretch([[1.0, 0.0], [0.0, 1.0]], [[0], [0, 1]], features, bias=[0.0, -0.5])
    assert s.upper[0] < np.inf
    assert s.lower[1] == np.inf
    assert lp.verify([[1.0, 0.0], [0.0, 1.0]], [[0, 1]], bias=[0.0, -0.5]).status[0] == 1
    s.check()


def test_a_set_predicted_at_the_mean_has_no_stretch():
    s = lp.stretch([[1.0]], [[0]], [[-1.0], [2.0]])
    assert s.lower[0] == s.upper[0] == 0
    assert s[0].mixture == {}


def test_the_stretch_is_how_many_times_as_far_as_the_examples():
    s = lp.stretch([[1.0], [-1.0]], [[0], []], [[-1.0], [1.0]], bias=[-1.5, 0.5])
    np.testing.assert_allclose(s.upper, [1.5, 0.5], rtol=1e-3)
    assert list(s[0].mixture) == [1]
    assert list(s[0].weighted) == [0]


def test_inflating_the_examples_divides_the_stretch():
    weight, bias, features = few_labels()
    sets = [[0, 3], [1], [2, 5, 7]]
    centre = features.mean(axis=0)
    once = lp.stretch(weight, sets, features, bias=bias, n_jobs=1)
    twice = lp.stretch(weight, sets, centre + 2 * (features - centre), bias=bias, n_jobs=1)
    np.testing.assert_allclose(once.upper, 2 * twice.upper, rtol=0.02)


def test_every_number_of_threads_gives_bounds_of_the_same_stretch():
    weight, bias, features = few_labels(1)
    sets = np.random.default_rng(2).random((70, 12)) < 0.3
    one, two = (lp.stretch(weight, sets, features, bias=bias, n_jobs=jobs) for jobs in (1, 2))
    np.testing.assert_array_equal(one.lower, two.lower)
    np.testing.assert_array_equal(one.upper, two.upper)


def test_sparse_and_dense_features_give_the_same_stretch():
    weight, bias, features = few_labels(3)
    features[features < 0] = 0
    sets = [[0, 3], [1], [2, 5, 7], []]
    dense = lp.stretch(weight, sets, features, bias=bias, n_jobs=1)
    sparse = lp.stretch(weight, sets, sp.csr_matrix(features), bias=bias, n_jobs=1)
    sparse.check(n_jobs=1)
    np.testing.assert_allclose(sparse.upper, dense.upper, rtol=0.006)


def test_a_pool_of_part_of_the_examples_gives_bounds_for_all_of_them(monkeypatch):
    from labelproof.stretching import pool

    weight, bias, features = few_labels(4, n=3000)
    sets = np.random.default_rng(5).random((20, 12)) < 0.3
    whole = lp.stretch(weight, sets, features, bias=bias, n_jobs=1)
    monkeypatch.setattr(pool, "MOST_LOGITS", 12 * 300)
    part = lp.stretch(weight, sets, features.astype(np.float32), bias=bias, n_jobs=1)
    part.check(n_jobs=1)
    np.testing.assert_allclose(part.upper, whole.upper, rtol=0.01)
    assert (part.lower >= part.upper * 0.995).all()


def test_features_may_be_mapped_from_a_file(tmp_path):
    weight, bias, features = few_labels(6)
    np.save(tmp_path / "f.npy", features)
    mapped = np.load(tmp_path / "f.npy", mmap_mode="r")
    s = lp.stretch(weight, [[0, 3]], mapped, bias=bias, n_jobs=1)
    assert isinstance(s.examples.features, np.memmap)
    assert s.upper[0] == lp.stretch(weight, [[0, 3]], features, bias=bias, n_jobs=1).upper[0]


def test_thresholds_move_the_stretch_as_a_bias_does():
    weight, bias, features = few_labels(8)
    p = np.full(12, 0.3)
    by_threshold = lp.stretch(weight, [[0, 1]], features, bias=bias, thresholds=p, n_jobs=1)
    by_bias = lp.stretch(weight, [[0, 1]], features, bias=bias - np.log(0.3 / 0.7), n_jobs=1)
    np.testing.assert_allclose(by_threshold.upper, by_bias.upper, rtol=1e-9)
    by_threshold.check(n_jobs=1)


def test_the_empty_and_the_full_set_are_always_there_under_topk():
    weight, bias, features = few_labels(9)
    s = lp.stretch(weight, [[], list(range(12))], features, bias=bias, rule="topk", n_jobs=1)
    assert s.upper.tolist() == [0, 0]


@pytest.mark.parametrize(
    ("features", "message"),
    [
        (np.ones((4, 3)), r"features must have shape \(n_examples, 2\) to match the weight, got \(4, 3\)"),
        (np.empty((0, 2)), r"features must have shape .* got \(0, 2\)"),
        (np.array([[1.0, np.nan], [0.0, 1.0]]), "features must be finite, got nan in row 0, column 1"),
        (sp.csr_matrix([[1.0, 0.0], [0.0, np.inf]]), "features must be finite, got inf in row 1, column 1"),
        (np.array([["a", "b"]]), "features must hold floats of at most 64 bits"),
        ([[1.0], [1.0, 2.0]], "features must be an array, got rows of different lengths"),
        (np.array([[-1.0, -1.0], [-2.0, -3.0]]), "none of which switches on any label"),
    ],
)
def test_features_that_cannot_be_the_layers_are_refused(features, message):
    with pytest.raises(ValueError, match=message):
        lp.stretch(np.eye(2), [[0]], features)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"rule": "sparsemax"}, "rule must be 'sigmoid' or 'topk'"),
        ({"tolerance": 0.0}, "tolerance must be a number between 0 and 1, got 0.0"),
        ({"n_jobs": 0}, "n_jobs must be a positive number of threads, got 0"),
    ],
)
def test_options_that_mean_nothing_are_refused(options, message):
    with pytest.raises(ValueError, match=message):
        lp.stretch(np.eye(2), [[0]], np.eye(2), **options)
