"""Bounds of the reach against exact rational arithmetic, where rounding matters too, and what proves nothing."""

import math
from fractions import Fraction

import numpy as np
import pytest

from labelproof.proof.examples import read_examples
from labelproof.proof.labels import read_label_sets
from labelproof.proof.reach_bounds import AT_ONCE, reach_lowers, share_bounds
from labelproof.proof.regions import exact_offset, make_layer
from labelproof.proof.rounding import TINY, UNIT, relative_error
from labelproof.proof.stretch_bounds import weighted_sums

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


# Numbers for which every sum is exact, so that bounds are what the formulas of their errors say, term by term


def stated_lower(layer, mean, spread, v, v_error, constant, constant_error):
    d, rounding = layer.d, relative_error(layer.d)
    at_mean = math.fsum(mean * v)
    mean_error = 1.01 * (rounding * math.fsum(abs(mean * v)) + math.fsum(abs(mean) * v_error)) + d * TINY
    top = -(at_mean + constant) - mean_error - constant_error - 4 * UNIT * (abs(at_mean) + abs(constant))
    along = [math.fsum(row * v) for row in spread]
    errors = [1.01 * (rounding * math.fsum(abs(row * v)) + math.fsum(abs(row) * v_error)) + d * TINY for row in spread]
    size = math.sqrt(math.fsum((abs(a) + e) ** 2 for a, e in zip(along, errors, strict=True)))
    bottom = size * (1 + relative_error(len(along))) + len(along) * 2.0**-500
    return float(np.nextafter(top / bottom * (1 - 8 * UNIT), -np.inf))


@pytest.mark.parametrize("seed", range(24))
def test_a_bound_holds_the_stated_errors_and_no_less(seed):
    rng = np.random.default_rng(200 + seed)
    weight = np.ldexp(rng.integers(-3, 4, size=(3, 4)).astype(float), 0)
    weight[0] = [1.0, 1.0, -1.0, 2.0]
    mean = np.ldexp(rng.integers(-3, 4, 4).astype(float), 30) * (seed % 3 > 0)
    spread = rng.integers(-3, 4, size=(2, 4)).astype(float)
    if seed % 2:
        spread = np.array([[2.0**45, -(2.0**45), 0.0, 0.0], [2.0**44, 0.0, 2.0**44, 0.0]])  # both cancel for label 0
    rows = np.array([0]) if seed % 4 < 2 else np.arange(3)
    theta = np.ones(len(rows))
    active = np.array([0, 2])
    signs = np.where(np.isin(rows, active), 1.0, -1.0)
    scale = 2.0**-18 if seed % 3 else 2.0**-12 if seed % 4 else 2.0**-700
    bias = -(weight @ mean) * np.where(np.isin(np.arange(3), active), 1, 1) - scale * rng.integers(3, 9, 3) * [1, -1, 1]
    layer = make_layer(weight, bias=bias)
    v, v_error, constant, constant_error = weighted_sums(layer, active, rows, theta)
    assert (v == signs @ weight[rows]).all()
    for directions in (spread, spread[:1]):  # one direction alone is squared and rooted without an error
        bound = reach_lowers(layer, mean, directions, read_label_sets([active], 3), [(rows, theta)])[0]
        stated = stated_lower(layer, mean, directions, v, v_error, constant, constant_error)
        assert bound == (pytest.approx(stated, rel=4e-16 if len(directions) == 1 else 2e-15) if stated > 0 else 0.0)


def stated_share(layer, examples, v, v_error, constant, constant_error):
    largest, d = abs(examples).max(axis=0), layer.d
    size = math.fsum(largest * abs(v)) + abs(constant)
    rounding = relative_error(d) + 64 * UNIT
    error = 1.01 * (rounding * size + math.fsum(largest * v_error) + constant_error) + d * TINY
    values = examples @ v + constant
    highest, deviation = values.mean() + 2 * error, values.std() + 2 * error
    return deviation**2 / (deviation**2 + highest**2) + 1e-9 if highest < 0 else 1.0


@pytest.mark.parametrize("seed", range(16))
def test_a_share_holds_the_stated_errors_and_no_less(seed):
    rng = np.random.default_rng(300 + seed)
    weight = np.array([[1.0, -1.0, 0.0], [2.0, 1.0, 0.0]])
    large, step = (2.0**34, 2.0**-14) if seed % 2 else (0.0, 2.0**-14 if seed % 4 else 2.0**-400)
    examples = np.column_stack([np.full(4, large), np.full(4, large), np.zeros(4)])
    examples[:, 0] += step * np.array([1.0, -1.0, 1.0, -1.0]) * rng.integers(0, 3)
    rows, active = (np.array([0]) if seed % 3 else np.array([0, 1])), np.array([0])
    theta = np.ones(len(rows))
    bias = np.array([-step * float(rng.integers(2, 8)), 3.0 * large])
    layer = make_layer(weight, bias=bias)
    one = weighted_sums(layer, active, rows, theta)
    share = share_bounds(layer, read_examples(examples, 3), read_label_sets([active], 2), [(rows, theta)])[0]
    assert share == pytest.approx(stated_share(layer, examples, *one), rel=1e-9)
