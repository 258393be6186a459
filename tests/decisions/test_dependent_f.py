"""GFM finds the label set with the largest expected F, whatever the labels' dependence."""

from itertools import product

import numpy as np
import pytest
import scipy.sparse

from labelproof.decisions import dependent_f_sets, neighbour_f_sets
from labelproof.decisions.expected_f import best_sizes


def f_beta(y, h, beta, both_empty):
    if not (y.any() or h.any()):
        return both_empty
    return (1 + beta**2) * (y & h).sum() / (beta**2 * y.sum() + h.sum())


def joint_of(chances, sets):
    """Return P(y_i = 1, |y| = s) of a distribution over all label sets."""
    joint = np.zeros((1, sets.shape[1], sets.shape[1]))
    for chance, y in zip(chances, sets, strict=True):
        if y.any():
            joint[0, y, y.sum() - 1] += chance
    return joint


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize(("beta", "both_empty"), [(1.0, 1.0), (2.0, 0.0), (0.5, 1.0)])
def test_no_other_set_has_a_larger_expectation(seed, beta, both_empty):
    rng = np.random.default_rng(seed)
    sets = np.array(list(product([False, True], repeat=5)))
    chances = rng.dirichlet(np.full(len(sets), 0.1))
    found = dependent_f_sets(joint_of(chances, sets), beta=beta, both_empty=both_empty)[0]
    values = [sum(c * f_beta(y, h, beta, both_empty) for c, y in zip(chances, sets, strict=True)) for h in sets]
    mine = values[int(np.flatnonzero((sets == found).all(1))[0])]
    assert mine == pytest.approx(max(values))


def test_independent_labels_have_the_sets_of_expected_f():
    rng = np.random.default_rng(0)
    sets = np.array(list(product([False, True], repeat=5)))
    for _ in range(20):
        p = np.sort(rng.random(5))[::-1]
        chances = np.prod(np.where(sets, p, 1 - p), axis=1)
        found = dependent_f_sets(joint_of(chances, sets))[0]
        assert found.sum() == best_sizes(p[None], 1.0)[0][0]


def test_more_labels_than_sizes_are_left_as_soon_as_none_can_be_better():
    joint = np.zeros((2, 500, 2))
    joint[0, 3, 0], joint[1, [7, 8], 1] = 1.0, 0.9
    found = dependent_f_sets(joint)
    assert [np.flatnonzero(row).tolist() for row in found] == [[3], [7, 8]]
    assert dependent_f_sets(np.zeros((0, 3, 2))).shape == (0, 3)


@pytest.mark.parametrize("form", [np.asarray, scipy.sparse.csr_array])
def test_neighbours_vote_with_their_whole_label_sets(form, monkeypatch):
    rng = np.random.default_rng(1)
    X, y = rng.random((60, 4)), rng.random((60, 5)) < 0.4
    X[0] = 0  # without a direction
    found = neighbour_f_sets(form(X), scipy.sparse.csr_array(y), form(X[:9]), n_neighbours=1)
    np.testing.assert_array_equal(found[1:], y[1:9])
    whole = neighbour_f_sets(form(X), y, form(X[:9]), n_neighbours=7)
    monkeypatch.setattr("labelproof.decisions.dependent_f.MOST_CELLS", 1)
    np.testing.assert_array_equal(neighbour_f_sets(form(X), y, form(X[:9]), n_neighbours=7), whole)
    assert neighbour_f_sets(form(X), y, form(X[:9]), n_neighbours=100).shape == (9, 5)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda: dependent_f_sets(np.zeros((2, 3))),
            r"joint must be probabilities of shape .*got float64 of shape \(2, 3\)",
        ),
        (lambda: dependent_f_sets(np.full((1, 2, 2), -0.1)), "joint must be probabilities"),
        (lambda: dependent_f_sets(np.full((1, 2, 2), np.nan)), "joint must be probabilities"),
        (lambda: dependent_f_sets(np.ones((1, 2, 2))), "joint must have Σ joint / s of at most 1 .* got 3"),
        (lambda: dependent_f_sets(np.zeros((1, 2, 2)), beta=0), "beta must be a finite number above 0, got 0"),
        (lambda: dependent_f_sets(np.zeros((1, 2, 2)), both_empty=2), "both_empty must be a finite number from 0 to 1"),
        (lambda: neighbour_f_sets([[1.0]], [[1]], [[1.0]], n_neighbours=0), "n_neighbours must be an integer"),
        (
            lambda: neighbour_f_sets([[1.0]], [[1], [0]], [[1.0]]),
            "X_train must have one row for each of y_train, 2, got 1",
        ),
        (lambda: neighbour_f_sets([[1.0]], [[1]], [[1.0, 2.0]]), "X must have 1 features, as X_train, got 2"),
        (lambda: neighbour_f_sets([1.0], [[1]], [[1.0]]), r"X must have shape \(n_examples, n_features\), got shape"),
    ],
)
def test_arguments_that_make_no_sense_are_refused(call, message):
    with pytest.raises(ValueError, match=message):
        call()
