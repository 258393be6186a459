"""Bounds of the reach against exact rational arithmetic, where rounding matters too, and what proves nothing."""

from fractions import Fraction

import numpy as np
import pytest

from labelproof.proof.examples import read_examples
from labelproof.proof.labels import read_label_sets
from labelproof.proof.reach_bounds import AT_ONCE, reach_lowers, share_bounds
from labelproof.proof.regions import exact_offset, make_layer

NOTHING = np.empty(0, np.int64), np.empty(0)


def exact_square(layer, mean, spread, active, rows, theta):
    """Return the square of −G(mean) / |spread · v| as a fraction, 0 where G(mean) ≥ 0, and v."""
    signs = [Fraction(t) * (1 if i in active else -1) for i, t in zip(rows.tolist(), theta.tolist(), strict=True)]
    weight = [[Fraction(w) for w in layer.weight[i].tolist()] for i in rows.tolist()]
    v = [sum((s * row[j] for s, row in zip(signs, weight, strict=True)), Fraction(0)) for j in range(layer.d)]
    constant = sum((s * exact_offset(layer, i) for s, i in zip(signs, rows.tolist(), strict=True)), Fraction(0))
    needed = -(sum((Fraction(m) * x for m, x in zip(mean.tolist(), v, strict=True)), Fraction(0)) + constant)
    along = [sum((Fraction(a) * x for a, x in zip(row, v, strict=True)), Fraction(0)) for row in spread.tolist()]
    return (needed / 1) ** 2 / sum(a * a for a in along) if needed > 0 else Fraction(0)


@pytest.mark.parametrize("seed", range(12))
def test_a_bound_is_below_the_exact_value_and_close_to_it(seed):
    rng = np.random.default_rng(seed)
    d, n = 5, 7
    size = 10.0 ** rng.integers(-3, 4)
    bias = rng.normal(size=n) * size if seed % 3 else None
    layer = make_layer(rng.normal(size=(n, d)), bias=bias, thresholds=rng.uniform(0.2, 0.8, n) if seed % 2 else None)
    mean, spread = rng.normal(size=d) * size, rng.normal(size=(4, d))
    active = np.sort(rng.choice(n, 3, replace=False))
    rows = np.sort(rng.choice(n, 3, replace=False))
    theta = rng.random(3)
    bound = reach_lowers(layer, mean, spread, read_label_sets([active], n), [(rows, theta)])[0]
    exact = exact_square(layer, mean, spread, active, rows, theta)
    assert Fraction(bound) ** 2 <= exact
    assert bound == pytest.approx(float(exact) ** 0.5, rel=1e-9, abs=1e-9)


@pytest.mark.parametrize("seed", range(40))
def test_rounding_never_makes_a_bound_too_large(seed):
    """Sums that cancel nearly: at the mean, in the weighted labels, in the offsets, and along the spread."""
    rng = np.random.default_rng(100 + seed)
    d = 6
    row = rng.normal(size=d)
    weight = np.array([row, -row * (1 + 2.0**-50) + rng.normal(size=d) * 1e-15, rng.normal(size=d)])
    mean = rng.normal(size=d) * 1e8
    bias = -(weight @ mean) * (1 + rng.normal(size=3) * 1e-16) - rng.random(3) * 1e-9
    layer = make_layer(weight, bias=bias)
    spread = rng.normal(size=(3, d))
    spread[:, 0] += 1e8
    sets = read_label_sets([[0, 1], [0], [0, 1, 2]], 3)
    weighted = [(np.arange(3), np.array([1.0, 1.0 - rng.random() * 2.0**-40, rng.random() * 1e-9]))] * 3
    bounds = reach_lowers(layer, mean, spread, sets, weighted)
    for active, (rows, theta), bound in zip(sets, weighted, bounds, strict=True):
        assert Fraction(bound) ** 2 <= exact_square(layer, mean, spread, active, rows, theta)


def test_weights_of_labels_that_prove_nothing_give_no_bound():
    layer, mean, spread = make_layer(np.eye(2), bias=[-1.0, -1.0]), np.zeros(2), np.eye(2)
    bad = [
        NOTHING,  # no label
        (np.array([0]), np.array([-1.0])),  # a negative multiplier would turn the inequality round
        (np.array([0]), np.array([np.nan])),
        (np.array([0]), np.array([np.inf])),
        (np.array([5]), np.array([1.0])),  # no such label
        (np.array([-1]), np.array([1.0])),
        (np.array([0, 1]), np.array([1.0])),  # a multiplier is missing
        (np.array([1]), np.array([1.0])),  # label 1 is off at the mean, as the set wants it
    ]
    sets = read_label_sets([[0]] * len(bad), 2)
    assert reach_lowers(layer, mean, spread, sets, bad).tolist() == [0.0] * len(bad)
    examples = read_examples(np.array([[1.0, 0.0], [-1.0, 0.0]]), 2)
    assert share_bounds(layer, examples, sets, bad).tolist() == [1.0] * len(bad)
    good = [(np.array([0]), np.array([2.0]))]
    bound = reach_lowers(layer, mean, spread, read_label_sets([[0]], 2), good)[0]
    assert bound <= 1
    assert bound == pytest.approx(1)


def test_numbers_that_overflow_prove_nothing():
    layer = make_layer(np.full((1, 2), 1e200), bias=[-1e200])
    sets, weighted = read_label_sets([[0]], 1), [(np.array([0]), np.array([1e200]))]
    assert reach_lowers(layer, np.zeros(2), np.eye(2), sets, weighted).tolist() == [0.0]
    assert share_bounds(layer, read_examples(np.eye(2), 2), sets, weighted).tolist() == [1.0]


def test_the_share_is_that_of_the_examples_own_mean_and_variance():
    examples = np.array([[2.0], [-1.0], [-1.0], [-1.0], [-1.0]])  # mean −0.4, variance 1.44
    layer = make_layer([[1.0]], bias=[-0.6])
    sets = read_label_sets([[0]], 1)
    share = share_bounds(layer, read_examples(examples, 1), sets, [(np.array([0]), np.array([1.0]))])[0]
    assert share == pytest.approx(1.44 / (1.44 + 1.0), abs=1e-6)
    assert share > 1.44 / 2.44
    assert share >= 1 / 5  # the part that is predicted as the set


def test_many_sets_are_bounded_as_each_by_itself():
    rng = np.random.default_rng(3)
    layer, examples = make_layer(rng.normal(size=(4, 3)), bias=np.full(4, -1.0)), rng.normal(size=(30, 3))
    sets = read_label_sets([[int(i)] for i in rng.integers(0, 4, AT_ONCE + 20)], 4)
    weighted = [(active, np.array([rng.random()])) for active in sets]
    weighted[3] = NOTHING
    every = share_bounds(layer, read_examples(examples, 3), sets, weighted)
    for i in (0, 3, AT_ONCE - 1, AT_ONCE, AT_ONCE + 19):
        alone = share_bounds(layer, read_examples(examples, 3), sets.take([i]), [weighted[i]])
        assert every[i] == pytest.approx(alone[0], rel=1e-9)


def test_rounding_never_makes_a_share_too_small():
    """Values of G that are all rounding: nothing is known of their sign, so nothing is said of the share."""
    rng = np.random.default_rng(5)
    examples = rng.normal(size=(50, 3)) * [1e-9, 1.0, 1.0] + [0.0, 1e8, 1e8]
    layer = make_layer([[1.0, 1e8, -1e8]], bias=[-1.0])
    sets, weighted = read_label_sets([[0]], 1), [(np.array([0]), np.array([1.0]))]
    constant = np.tile(examples[:1], (50, 1))
    constant[:, 1] = constant[:, 2]  # the sum cancels, exactly in theory
    assert share_bounds(layer, read_examples(constant, 3), sets, weighted)[0] == 1.0
