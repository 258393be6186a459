"""The errors that bounds of the reach allow for cover those that are made, in fractions, at every scale."""

import math
from fractions import Fraction

import numpy as np
import pytest

from labelproof.proof.examples import read_examples
from labelproof.proof.labels import read_label_sets
from labelproof.proof.reach_bounds import (
    _along,
    _exact_input,
    _is_sound,
    _lower,
    _named,
    _norm,
    _value_error,
    reach_uppers,
    share_bounds,
    spread_fault,
)
from labelproof.proof.regions import make_layer
from labelproof.proof.stretch_bounds import weighted_sums

UNIT = 2.0**-53
ONE = np.array([0]), np.array([1.0])
SCALES = [(1.0, 1.0), (2.0**20, 1.0), (1.0, 2.0**20), (2.0**-20, 2.0**-20), (0.0, 2.0**20), (2.0**30, 2.0**-20)]


def exact_sum(a, b):
    return sum((Fraction(x) * Fraction(y) for x, y in zip(a, b, strict=True)), Fraction(0))


# The input that weighted labels name


@pytest.mark.parametrize(("at", "across"), [*SCALES, (2.0**-560, 2.0**-560)])
def test_the_input_named_is_off_by_no_more_than_it_says(at, across):
    rng = np.random.default_rng(0)
    for _ in range(40):
        layer = make_layer(rng.normal(size=(1, 3)) / (across if across < 2.0**-500 else 1.0))
        mean, spread = rng.normal(size=3) * at, rng.normal(size=(4, 3)) * across
        u, x, error, _ = _named(layer, mean, spread, np.array([0]), *ONE)
        away = [Fraction(a) - b for a, b in zip(x.tolist(), _exact_input(mean, spread, u), strict=True)]
        assert error >= 0
        assert sum(c * c for c in away) <= Fraction(error) ** 2
        assert error <= 1e-12 * (at + across * max(across, 1.0)) * 10 + 1e-140


def test_the_input_named_is_at_the_mean_and_along_the_spread():
    layer, mean = make_layer([[1.0, 0.0]]), np.array([-(2.0**40) / 3, 0.0])
    u, x, error, off = _named(layer, mean, np.eye(2), np.array([0]), *ONE)
    assert (u.tolist(), x.tolist()) == ([1.0, 0.0], [mean[0] + 1.0, 0.0])
    assert error >= UNIT * 2.0**40 / 3  # of the mean, though the way is exact
    assert error >= math.hypot(*off)


def test_errors_allow_for_sums_in_any_order():
    rng = np.random.default_rng(1)
    layer, spread = make_layer(rng.normal(size=(1, 2)) * 1e-9), rng.normal(size=(300, 2)) * 1e9
    way = np.abs(spread @ layer.weight[0]) @ np.abs(spread)
    for mean in (np.zeros(2), way, -way):
        assert _named(layer, mean, spread, np.array([0]), *ONE)[2] > 300 * UNIT * np.linalg.norm(np.abs(mean) + way)
    examples = read_examples(rng.normal(size=(3, 1000)), 1000)
    v = rng.normal(size=1000)
    assert _value_error(examples, v, np.zeros(1000), 0.0, 0.0) > 1000 * UNIT * float(examples.largest @ np.abs(v))


# The bound from below


def test_errors_widen_top_and_bottom_as_many_times_as_there_are_slacks():
    sums = np.array([-2.0, 0.0]), np.array([0.25, 0.5]), -1.0, 0.125
    for slacks in (1.0, 2.0):
        bottom = math.hypot(2 + 1.01 * 0.25 * slacks, 1.01 * 0.5 * slacks)
        found = _lower(np.zeros(2), np.eye(2), sums, slacks)
        assert found == pytest.approx((1 - 0.125 * slacks) / bottom, rel=1e-12)


def test_products_that_underflow_are_allowed_for():
    """Each of forty is 1.5 times the least float, and is rounded to 2."""
    mean, v = np.full(40, 1.5 * 2.0**-1070), np.full(40, -(2.0**-4))
    found = _lower(mean, np.eye(40), (v, np.zeros(40), 0.0, 0.0), 1.0)
    assert Fraction(found) ** 2 * exact_sum(v, v) <= exact_sum(mean, v) ** 2
    along, error = _along(mean[None], v, np.zeros(40))
    assert abs(Fraction(along[0]) - exact_sum(mean, v)) <= Fraction(error[0])
    examples = read_examples(np.vstack([mean, -mean]), 40)
    error = _value_error(examples, v, np.zeros(40), 0.0, 0.0)
    assert abs(Fraction(float(mean @ v)) - exact_sum(mean, v)) <= Fraction(error)


@pytest.mark.parametrize("size", [1.0, 2.0**-500, 2.0**-540, 2.0**-600, 2.0**-1074])
def test_a_norm_is_rounded_up_where_squares_underflow(size):
    for numbers in ([size], [size] * 40):
        assert Fraction(_norm(np.array(numbers))) ** 2 >= len(numbers) * Fraction(size) ** 2


def test_a_label_that_hardly_moves_along_the_spread_is_not_claimed_to_be_farther_than_it_is():
    """Weights of 2**-560, whose squares underflow: label 0 is on from 2**560 on, label 1 from 2**-560 on."""
    layer = make_layer(np.eye(2) * 2.0**-560, bias=[-1.0, 0.0])
    assert _lower(np.zeros(2), np.eye(2), (layer.weight[0], np.zeros(2), -1.0, 0.0), 1.0) <= 2.0**560
    on = np.array([1]), np.array([1.0])
    bound = reach_uppers(make_layer(layer.weight), np.zeros(2), np.eye(2), read_label_sets([[1]], 2), [on])
    assert bound[0] >= 2.0**-560


# The share


def test_a_value_is_off_by_no_more_than_it_says():
    rng = np.random.default_rng(2)
    for scale in (1.0, 2.0**20, 2.0**-20):
        for sign in (1.0, -1.0):
            v, features = rng.normal(size=3), rng.normal(size=(20, 3)) * scale
            constant = sign * scale * 2.0**20
            features[:, 0] -= (constant + features @ v) / v[0]  # so that all values are rounding
            examples = read_examples(features, 3)
            error = Fraction(_value_error(examples, v, np.zeros(3), constant, 0.0))
            for row, value in zip(features.tolist(), (features @ v + constant).tolist(), strict=True):
                assert abs(Fraction(value) - exact_sum(row, v.tolist()) - Fraction(constant)) <= error
    examples = read_examples([[1.0, 0.0], [-2.0, 0.0]], 2)
    assert _value_error(examples, np.zeros(2), np.zeros(2), 0.0, 0.5) == pytest.approx(0.505)
    assert _value_error(examples, np.zeros(2), np.array([0.5, 0.0]), 0.0, 0.0) == pytest.approx(1.01)


def test_a_share_holds_where_rounding_hides_how_values_vary():
    """Values that differ by less than the error of each: their variance is lost, but not forgotten."""
    rng = np.random.default_rng(3)
    for _ in range(100):
        weight = rng.uniform(0.5, 1, 2)
        features = rng.uniform(1, 2, (3, 2)) * 1e8
        features[:, 1] = -(features[:, 0] * weight[0] + 2e-5) / weight[1]
        values = [exact_sum(row, weight.tolist()) for row in features.tolist()]
        mean = sum(values) / 3
        variance = sum((value - mean) ** 2 for value in values) / 3
        sets = read_label_sets([[0]], 1)
        (share,) = share_bounds(make_layer(weight[None]), read_examples(features, 2), sets, [ONE])
        assert Fraction(share) >= variance / (variance + mean**2)


def test_shares_are_widened_as_many_times_as_there_are_slacks():
    sets, layer = read_label_sets([[0]], 1), make_layer([[1.0, -1.0]], bias=[-1.0])
    plain = read_examples([[0.5, 0.0], [-0.5, 0.0]], 2)
    one, many = (share_bounds(layer, plain, sets, [ONE], slacks=slacks)[0] for slacks in (1.0, 1001.0))
    assert many - one == pytest.approx(1e-6, rel=1e-3)
    large = read_examples([[2.0**27 + 0.5, 2.0**27], [2.0**27 - 0.5, 2.0**27]], 2)
    one, many = (share_bounds(layer, large, sets, [ONE], slacks=slacks)[0] for slacks in (1.0, 1001.0))
    assert many - one > 1e-4


@pytest.mark.parametrize("power", [-1030, -1000, -560, -540, -530, -520, 0, 500, 900])
def test_a_share_does_not_depend_on_the_size_of_weights_whose_squares_underflow(power):
    layer = make_layer([[2.0**power]])
    for features, share in [([-3.0, 1.0], 0.8), ([-1.125, -0.875], 1 / 65), ([-1 - 2.0**-10, -1 + 2.0**-10], 2.0**-20)]:
        examples = read_examples(np.array(features)[:, None], 1)
        (found,) = share_bounds(layer, examples, read_label_sets([[0]], 1), [ONE])
        assert found == pytest.approx(share, rel=1e-5, abs=2e-9)
        assert found >= share / (1 + 2.0**-20)


def test_a_share_is_scaled_by_the_size_of_values_not_by_the_largest_one():
    """The largest value is as far below 0 as each may be off: their sum would be 0, which has no scale."""
    layer, active = make_layer([[2.0**-540]]), np.array([0])
    error = _value_error(read_examples([[-1.0], [0.0]], 1), *weighted_sums(layer, active, *ONE))
    examples = read_examples(np.array([[-1.0], [-np.ldexp(error, 540)]]), 1)
    (found,) = share_bounds(layer, examples, read_label_sets([[0]], 1), [ONE])
    assert found == pytest.approx(0.5, rel=1e-6)


def test_a_share_is_at_most_one():
    layer, examples = make_layer([[1.0]], bias=[-1e-6]), read_examples([[1.0], [-1.0]], 1)
    assert share_bounds(layer, examples, read_label_sets([[0]], 1), [ONE]).tolist() == [1.0]


# What is refused


@pytest.mark.parametrize(
    ("rows", "theta", "sound"),
    [
        ([0, 1], [0.0, 2.0], True),
        ([], [], True),
        ([-1], [1.0], False),
        ([2], [1.0], False),
        ([0], [1.0, 1.0], False),
        ([0], [-0.5], False),
        ([0], [np.nan], False),
        ([0], [np.inf], False),
        ([0, 1], [1.0, -1.0], False),
        ([0, 1], [1.0, np.inf], False),
    ],
)
def test_weighted_labels_are_labels_with_multipliers_that_are_not_negative(rows, theta, sound):
    assert _is_sound(make_layer(np.eye(2)), np.array(rows, np.int64), np.array(theta)) is sound


def test_a_spread_may_leave_out_no_direction_in_which_features_vary():
    rng = np.random.default_rng(4)
    for scale in (1.0, 1e-7):
        features = rng.normal(size=(10, 2)) * [1.0, 0.2] * scale
        features -= features.mean(axis=0)
        length, directions = np.linalg.svd(features, full_matrices=False)[1:]
        spread = directions * length[:, None] / 3
        assert spread_fault(read_examples(features, 2), spread) is None
        fault = spread_fault(read_examples(features, 2), spread[:1])
        assert fault == "expected a spread of all directions in which the features vary, got fewer"
    assert spread_fault(read_examples(np.ones((3, 2)), 2), np.empty((0, 2))) is None
