"""Float products with bounds: the scaled rows, the scaled points and the slack of a logit, against exact numbers."""

from fractions import Fraction

import numpy as np
import pytest
import scipy.sparse
from hypothesis import given, settings
from hypothesis import strategies as st

from labelproof.proof import rounding
from labelproof.proof.regions import make_layer
from labelproof.proof.rounding import (
    TINY,
    UNIT,
    _binary_exponent,
    bounded_logits,
    float_rows,
    relative_error,
    row_exponents,
    scaled_point,
    times_power_of_two,
)
from labelproof.proof.sparse_weights import SparseWeight

few = settings(derandomize=True, database=None, deadline=None, max_examples=60)
floats = st.floats(allow_nan=False, allow_infinity=False)
BEYOND = Fraction(2) ** 3000


def two_to(power):
    return Fraction(2) ** int(power)


def squares(row):
    return sum(Fraction(c) ** 2 for c in row.tolist())


# --- constants --------------------------------------------------------------------------------------------


def test_a_unit_is_the_most_that_rounding_to_nearest_changes():
    assert Fraction(UNIT) == Fraction(1, 2**53)
    assert 1 + 2 * UNIT > 1 == 1 + UNIT


def test_the_least_change_of_a_product_by_underflow_is_below_tiny():
    smallest = 5e-324
    assert rounding.TINY == TINY == 2 * smallest


@pytest.mark.parametrize("terms", [1, 2, 7, 100, 12345, 2**24])
def test_the_relative_error_covers_the_theorem_with_eight_operations_to_spare(terms):
    operations = (terms + 8) * Fraction(1, 2**53)
    gamma = operations / (1 - operations)  # of that many operations in any order
    assert gamma < Fraction(relative_error(terms)) < gamma * Fraction(102, 100)


# --- rows -------------------------------------------------------------------------------------------------


@few
@given(st.lists(st.lists(floats, min_size=3, max_size=3), min_size=1, max_size=4), st.sampled_from(["sigmoid", "topk"]))
def test_scaled_rows_are_the_rows_over_a_power_of_two_and_no_longer_than_their_norms_say(weight, rule):
    layer = make_layer(np.array(weight), rule=rule)
    found = float_rows(layer)
    exponents = row_exponents(layer.weight)
    exponents = exponents if rule == "sigmoid" else np.full(len(weight), exponents.max())
    assert found.exponent == exponents.max()
    for i, (row, scaled) in enumerate(zip(layer.weight, found.rows, strict=True)):
        same = all(Fraction(a) == Fraction(b) * two_to(exponents[i]) for a, b in zip(row, scaled, strict=True))
        assert same == (i not in found.inexact)
        assert squares(scaled) <= Fraction(found.norms[i]) ** 2
    assert found.norms.max() <= 1


@pytest.mark.parametrize("width", [1, 2, 3, 4, 5, 9, 17, 64, 65])
@pytest.mark.parametrize("size", [1.0, 1.5, 2.0**-1074, 1.7976931348623157e308])
def test_no_row_is_longer_than_one_nor_shorter_than_need_be_after_scaling(width, size):
    exponent = int(row_exponents(np.full((1, width), size))[0])
    norm_squared = width * Fraction(size) ** 2 / two_to(2 * exponent)
    assert Fraction(1, 64) <= norm_squared <= Fraction(1, 4)
    mixed = np.zeros((1, width))
    mixed[0, -1] = -size
    assert row_exponents(mixed)[0] == exponent


def test_offset_and_its_error_are_columns_of_the_rows():
    layer = make_layer(np.array([[1.0], [2.0]]), bias=[1.0, 0.0], thresholds=[0.3, 0.4])
    found = float_rows(layer)
    for i in range(2):
        expected = [layer.weight[i, 0], layer.offset[i], layer.offset_error[i]]
        scale = two_to(row_exponents(np.array([expected]))[0])
        assert [Fraction(c) * scale for c in found.rows[i]] == expected


def test_norms_are_wider_than_the_rounding_of_a_sum_of_their_width():
    found = float_rows(make_layer(np.ones((1, 64))))
    norm = 8 * Fraction(found.rows[0, 0])
    assert 1 + 70 * Fraction(UNIT) < Fraction(found.norms[0]) / norm < 1 + 80 * Fraction(UNIT)


@pytest.mark.parametrize("power", [-1070, -600, -540, -538, -520])
def test_norms_whose_squares_underflow_are_not_lost(power):
    layer = make_layer(np.array([[1.0, 1.0], [2.0**power, 2.0**power]]), rule="topk")
    found = float_rows(layer)
    assert squares(found.rows[1]) < Fraction(found.norms[1]) ** 2
    assert found.norms[1] < 2.0**-400


def test_rows_are_scaled_alike_however_many_at_a_time(monkeypatch):
    rng = np.random.default_rng(0)
    layer = make_layer(rng.normal(size=(40, 3)), bias=rng.normal(size=40))
    whole = float_rows(layer)
    monkeypatch.setattr(rounding, "NUMBERS_AT_ONCE", 1)
    parts = float_rows(layer)
    np.testing.assert_array_equal(parts.rows, whole.rows)
    np.testing.assert_allclose(parts.norms, whole.norms, rtol=1e-15)
    assert parts.inexact.tolist() == []


@pytest.mark.parametrize("form", [np.asarray, lambda rows: SparseWeight(scipy.sparse.csr_array(rows))])
def test_norms_of_many_small_numbers_beside_a_large_one_are_rounded_up(form):
    """Each of a thousand squares is lost beside the first."""
    floats = float_rows(make_layer(form(np.array([[1.0] + [2.0**-27] * 1000]))))
    exact = (1 + 1000 * Fraction(2) ** -54) / Fraction(4) ** int(floats.exponents[0])
    assert Fraction(floats.norms[0]) ** 2 >= exact


def test_a_row_that_loses_bits_is_inexact_and_its_slack_is_infinite():
    layer = make_layer(np.array([[2.0**1000, 0.0], [3 * 2.0**-1073, 0.0], [0.0, 1.0]]), rule="topk")
    found = float_rows(layer)
    assert found.inexact.tolist() == [1]
    point = scaled_point(layer, np.ones(2))
    assert np.isinf(bounded_logits(found, point, np.zeros(3)).slack).tolist() == [False, True, False]
    assert float_rows(make_layer(layer.weight)).inexact.tolist() == []


@few
@given(st.lists(floats, min_size=2, max_size=2), st.integers(-2100, 2100))
def test_a_power_of_two_is_multiplied_exactly_wherever_the_result_is_normal(numbers, power):
    with np.errstate(over="ignore", under="ignore"):
        found = times_power_of_two(np.array(numbers), np.array([power, -power]))
    for number, result, p in zip(numbers, found.tolist(), (power, -power), strict=True):
        truth = Fraction(number) * two_to(p)
        if 2.0**-1022 <= abs(truth) < 2**1024:
            assert Fraction(result) == truth
    assert times_power_of_two(np.empty((0, 2)), np.empty((0, 1), np.int64)).shape == (0, 2)


@pytest.mark.parametrize("power", [-1074, -1001, -1000, -999, 999, 1000, 1001, 1023])
def test_powers_at_the_ends_of_the_range_are_as_exact_as_the_others(power):
    small = np.array([2.0**-40]) if power > 0 else np.array([2.0**40])
    assert times_power_of_two(small, np.array([power])).tolist() == [float(Fraction(small[0]) * two_to(power))]
    assert times_power_of_two(np.array([2.0**100, 0.0]), np.array([-1080, -1])).tolist() == [2.0**-980, 0.0]
    assert times_power_of_two(np.ones(2), np.array([1, power])).tolist() == [2.0, float(two_to(power))]


# --- points -----------------------------------------------------------------------------------------------


@few
@given(st.fractions() | floats)
def test_the_binary_exponent_is_a_bound_close_to_the_least(number):
    number = abs(number)
    exponent = _binary_exponent(number)
    if number == 0:
        assert exponent == 0
    else:
        assert two_to(exponent - 2) < Fraction(number) <= two_to(exponent)


def assert_scaled(layer, x):
    point = scaled_point(layer, x)
    wanted = [Fraction(c) for c in x] + ([Fraction(1)] * 2 if layer.offset is not None else [])
    assert len(point.v) == len(wanted)
    assert np.abs(point.v).max(initial=0) <= 1
    scaled = [c / two_to(point.exponent) for c in wanted]
    within = all(
        abs(Fraction(v) - c) <= abs(c) * Fraction(UNIT)
        or (isinstance(x, tuple) and abs(Fraction(v) - c) <= Fraction(TINY))
        for v, c in zip(point.v.tolist(), scaled, strict=True)
    )
    assert within or not point.within_a_unit
    return point


@few
@given(st.lists(floats, min_size=2, max_size=2), st.booleans(), st.booleans())
def test_a_scaled_point_is_the_point_within_a_unit_or_says_that_it_is_not(x, with_bias, as_fractions):
    layer = make_layer(np.eye(2), bias=[1.0, 1.0] if with_bias else None)
    assert_scaled(layer, tuple(Fraction(c) for c in x) if as_fractions else np.array(x))


@pytest.mark.parametrize("x", [(BEYOND, 1 / BEYOND), (Fraction(1, 3), Fraction(-5)), (Fraction(0), Fraction(0))])
@pytest.mark.parametrize("bias", [None, [1.0, 1.0]])
def test_a_point_of_fractions_is_scaled_too(x, bias):
    point = assert_scaled(make_layer(np.eye(2), bias=bias), x)
    assert point.within_a_unit == (bias is None or BEYOND not in x)


@pytest.mark.parametrize("x", [[0.0, -(2.0**-600)], [-3.0, -5.0], [7.0, 0.0], [2.0**600, -1.0], [-(2.0**-600), 0.0]])
def test_the_largest_entry_of_a_scaled_point_is_between_a_quarter_and_one(x):
    assert 0.25 <= np.abs(scaled_point(make_layer(np.eye(2)), np.array(x)).v).max() <= 1


def test_a_point_is_not_within_a_unit_where_scaling_loses_bits():
    layer = make_layer(np.eye(2))
    assert scaled_point(layer, np.array([1e308, 5e-324])).within_a_unit is False
    assert scaled_point(layer, np.array([1e308, 1e100])).within_a_unit is True
    assert scaled_point(layer, np.array([0.0, 5e-324])).within_a_unit is True
    with_bias = make_layer(np.eye(2), bias=[1.0, 1.0])
    assert scaled_point(with_bias, np.array([2.0**997, 0.0])).within_a_unit is True
    assert scaled_point(with_bias, np.array([2.0**900, 5e-324])).within_a_unit is False
    assert scaled_point(with_bias, (BEYOND, Fraction(0))).within_a_unit is False
    assert scaled_point(with_bias, np.array([5e-324, 0.0])).v.tolist()[2:] == [0.5, 0.5]


# --- products ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize("rule", ["sigmoid", "topk"])
@pytest.mark.parametrize("d", [1, 2, 6])
def test_the_slack_covers_the_error_of_a_product_of_the_worst_floats(d, rule, bias):
    rng = np.random.default_rng([d, bias])
    weight = rng.normal(size=(40, d)) * 2.0 ** rng.integers(-3, 3, size=(40, d))
    b = rng.normal(size=40) if bias else None
    layer = make_layer(weight, rule=rule, bias=b)
    found = float_rows(layer)
    for x in [rng.normal(size=d), tuple(Fraction(int(c), 7) for c in rng.integers(-9, 9, size=d) * 2 + 1)]:
        point = scaled_point(layer, x)
        logits = bounded_logits(found, point, found.rows @ point.v)
        assert logits.exponent == point.exponent + found.exponent
        for i in range(40):
            truth = sum(Fraction(w) * Fraction(c) for w, c in zip(weight[i].tolist(), list(x), strict=True))
            truth += Fraction(float(b[i])) if bias else 0
            scale = two_to(point.exponent) * two_to(row_exponent(layer, i) if rule == "sigmoid" else found.exponent)
            assert abs(truth / scale - Fraction(logits.z[i])) <= Fraction(logits.slack[i])
        length = float(np.linalg.norm(point.v))
        assert (logits.slack >= relative_error(len(point.v)) * length * found.norms).all()
        assert (logits.slack <= 1.1 * relative_error(len(point.v)) * length * found.norms).all()


def row_exponent(layer, i):
    row = layer.weight[i] if layer.offset is None else [*layer.weight[i], layer.offset[i], layer.offset_error[i]]
    return row_exponents(np.array([row]))[0]


def test_a_point_that_is_not_within_a_unit_proves_no_sign():
    layer = make_layer(np.eye(2))
    point = scaled_point(layer, np.array([1e308, 5e-324]))
    logits = bounded_logits(float_rows(layer), point, np.array([0.5, 0.5]))
    assert logits.slack.tolist() == [np.inf, np.inf]


@pytest.mark.parametrize("rule", ["sigmoid", "topk"])
@pytest.mark.parametrize("bias", [None, 3.0])
def test_beside_one_huge_entry_the_slack_is_that_of_each_product(rule, bias):
    """A column of 1e-33 and an entry of 1e33: a bound by norms would be 1e17 times the logits."""
    rng = np.random.default_rng(4)
    weight, x = rng.normal(size=(40, 6)), rng.normal(size=6)
    weight[:, 2], x[2] = 1e-33 * rng.normal(size=40), 1e33
    layer = make_layer(weight, rule=rule, bias=None if bias is None else np.full(40, bias))
    rows, point = float_rows(layer), scaled_point(layer, x)
    logits = bounded_logits(rows, point, rows.rows @ point.v)
    for i in range(40):
        exact = sum(Fraction(a) * Fraction(b) for a, b in zip(rows.rows[i].tolist(), point.v.tolist(), strict=True))
        size = sum(abs(Fraction(a) * Fraction(b)) for a, b in zip(rows.rows[i].tolist(), point.v.tolist(), strict=True))
        width = len(point.v)
        assert abs(exact - Fraction(logits.z[i])) <= Fraction(logits.slack[i])
        assert Fraction(logits.slack[i]) >= Fraction(relative_error(width)) * size * Fraction(1 - 1e-10)
        assert logits.slack[i] <= 1e-12 * float(size) + width * TINY
    assert (logits.slack > 0).all()
