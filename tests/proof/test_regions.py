"""The exact system of a layer: common denominators, offsets without rounding, and every row by its definition."""

from dataclasses import replace
from fractions import Fraction
from math import lcm

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import logit

from labelproof.proof import regions
from labelproof.proof.labels import read_label_sets
from labelproof.proof.regions import exact_offset, exact_row, integers, make_layer, require_subnormals
from labelproof.proof.rounding import float_rows
from labelproof.proof.witnesses import witness_faults

few = settings(derandomize=True, database=None, deadline=None, max_examples=60)
floats = st.floats(allow_nan=False, allow_infinity=False)
fractions = st.fractions(max_denominator=50)


# --- common denominators ----------------------------------------------------------------------------------


@few
@given(st.lists(fractions | st.floats(-8, 8) | st.just(Fraction(1, 8)), max_size=5))
def test_integers_over_their_denominator_are_the_numbers(numbers):
    whole, denominator = integers(numbers)
    assert denominator == lcm(*(number.as_integer_ratio()[1] for number in numbers))
    assert [Fraction(n, denominator) for n in whole] == [Fraction(number) for number in numbers]


@pytest.mark.parametrize(
    ("numbers", "expected"),
    [
        ([Fraction(1, 3), Fraction(1, 4)], ([4, 3], 12)),  # the largest denominator is a power of two, not all are
        ([Fraction(1, 4), Fraction(1, 3)], ([3, 4], 12)),
        ([Fraction(1, 2), Fraction(1, 6)], ([3, 1], 6)),  # the largest is a multiple of all
        ([Fraction(1, 6), Fraction(1, 10)], ([5, 3], 30)),
        ([Fraction(1, 6), Fraction(1, 8)], ([4, 3], 24)),  # all are even
        ([0.5, 0.125, 3.0], ([4, 1, 24], 8)),
        ([2.0**-1074, 1.0], ([1, 2**1074], 2**1074)),
        ([], ([], 1)),
    ],
)
def test_the_denominator_is_the_least_common_one(numbers, expected):
    assert integers(numbers) == expected


def test_a_witness_of_thirds_and_quarters_is_judged_by_its_true_logit():
    layer = make_layer(np.array([[-3.0, 3.5]]))
    x = (Fraction(1, 3), Fraction(1, 4))  # the logit is −1 + 7/8
    active, inactive = witness_faults(layer, float_rows(layer), read_label_sets([[0], []], 1), [x, x])
    assert active == "label 0: expected a positive logit, got -0.125"
    assert inactive is None


# --- offsets ----------------------------------------------------------------------------------------------


@few
@given(st.lists(st.tuples(st.floats(-1e300, 1e300), st.floats(-1e300, 1e300)), min_size=1, max_size=4))
def test_a_bias_minus_a_threshold_is_held_exactly(pairs):
    bias, theta = (np.array(column) for column in zip(*pairs, strict=True))
    layer = make_layer(np.ones((len(pairs), 1)), bias=bias, theta=theta)
    for i, (b, t) in enumerate(pairs):
        assert exact_offset(layer, i) == Fraction(b) - Fraction(t)
        assert layer.offset[i] == b - t


def test_either_part_of_an_offset_may_be_left_out():
    plain = make_layer(np.eye(2))
    assert (plain.offset, plain.offset_error, plain.theta) == (None, None, None)
    assert exact_offset(plain, 1) == 0
    biased = make_layer(np.eye(2), bias=[1.0, 2.0])
    assert [exact_offset(biased, i) for i in range(2)] == [1, 2]
    cut = make_layer(np.eye(2), thresholds=[0.25, 0.5])
    assert [exact_offset(cut, i) for i in range(2)] == [-Fraction(float(logit(0.25))), 0]
    assert cut.theta.tolist() == [float(logit(0.25)), 0.0]
    same = make_layer(np.eye(2), theta=cut.theta)
    assert exact_offset(same, 0) == exact_offset(cut, 0)


@pytest.mark.parametrize("part", ["bias", "theta"])
def test_numbers_for_each_label_must_be_as_many_as_labels(part):
    for wrong in ([1.0], [1.0, 2.0, 3.0], [[1.0, 2.0]], 1.0):
        with pytest.raises(ValueError, match=rf"{part} must have shape \(2,\) to match the weight's rows"):
            make_layer(np.eye(2), **{part: wrong})
    with pytest.raises(ValueError, match=f"{part} must be finite"):
        make_layer(np.eye(2), **{part: [1.0, np.nan]})


# --- the layer --------------------------------------------------------------------------------------------


def test_a_layer_has_the_plain_rule_unless_told_otherwise():
    layer = make_layer([[1, 2]])
    assert (layer.rule, layer.ties, layer.temperature, layer.low, layer.high) == ("sigmoid", "open", 1.0, None, None)
    assert replace(layer, weight=layer.weight).temperature == 1.0
    bare = regions.OutputLayer(layer.weight, None, None, "sigmoid", "open", None, None)
    assert (bare.temperature, bare.theta) == (1.0, None)


@pytest.mark.parametrize("temperature", [0.0, -1.0, np.inf, np.nan])
def test_a_temperature_that_is_not_positive_is_refused(temperature):
    with pytest.raises(ValueError, match="temperature must be a positive number, got"):
        make_layer(np.eye(2), rule="sparsemax", temperature=temperature)


def test_the_largest_integer_that_is_taken_is_the_last_that_floats_hold_with_all_below():
    assert make_layer(np.array([[2**53, -(2**53)]])).weight.tolist() == [[2.0**53, -(2.0**53)]]
    for wrong in (2**53 + 1, -(2**53) - 1):
        with pytest.raises(ValueError, match=r"weight must hold integers of at most 2\*\*53"):
            make_layer(np.array([[1, wrong]]))


def test_numbers_of_eight_bytes_are_taken_and_longer_ones_refused():
    assert make_layer(np.ones((1, 2), np.int8)).weight.dtype == np.float64
    with pytest.raises(ValueError, match="weight must hold real numbers of at most 64 bits"):
        make_layer(np.ones((1, 2), np.longdouble))
    with pytest.raises(ValueError, match="weight must hold real numbers of at most 64 bits"):
        make_layer(np.ones((1, 2), np.complex64))


def test_bounds_are_one_number_or_one_for_each_feature():
    layer = make_layer(np.eye(2), domain=(-1.0, [2.0, np.inf]))
    assert (layer.low.tolist(), layer.high.tolist()) == ([-1.0, -1.0], [2.0, np.inf])
    point = make_layer(np.eye(2), domain=[0.0, 0.0])
    assert (point.low.tolist(), point.high.tolist()) == ([0.0, 0.0], [0.0, 0.0])
    positive = make_layer(np.eye(2), domain="nonnegative")
    assert (positive.low.tolist(), positive.high) == ([0.0, 0.0], None)


@pytest.mark.parametrize(
    ("options", "cone", "scale", "threshold"),
    [
        ({}, True, False, False),
        ({"domain": "nonnegative"}, True, False, False),
        ({"domain": (-np.inf, 0.0)}, True, False, False),
        ({"domain": (0.0, 1.0)}, False, True, False),
        ({"domain": (np.array([-1.0, 0.0]), np.inf)}, False, True, False),
        ({"bias": np.zeros(2)}, False, True, False),
        ({"rule": "topk"}, True, False, True),
        ({"rule": "topk", "bias": np.ones(2)}, False, True, True),
        ({"rule": "sparsemax"}, True, True, True),
    ],
)
def test_a_scale_comes_with_what_is_not_homogeneous_and_a_threshold_with_what_is_compared(
    options, cone, scale, threshold
):
    layer = make_layer(np.eye(2), **options)
    assert (layer.is_cone, layer.has_scale, layer.has_threshold) == (cone, scale, threshold)
    assert layer.width == 2 + scale + threshold
    assert (layer.n_labels, layer.d, layer.scale_row, layer.n_rows) == (2, 2, 2, 9)


def test_rows_are_numbered_labels_scale_sums_lower_and_upper_bounds():
    low, high = np.array([-np.inf, 0.0, 1.0]), np.array([2.0, np.inf, 2.0])
    layer = make_layer(np.ones((4, 3)), rule="sparsemax", domain=(low, high))
    assert layer.extra_rows() == [4, 5, 6, 8, 9, 10, 12]
    names = {4: "scale", 5: "sum_le", 6: "sum_ge", 7: "low[0]", 8: "low[1]", 9: "low[2]", 10: "high[0]", 12: "high[2]"}
    assert {row: layer.row_name(row) for row in names} == names
    assert [layer.low_row(j) for j in range(3)] == [7, 8, 9]
    assert [layer.high_row(j) for j in range(3)] == [10, 11, 12]
    assert layer.n_rows == 13
    assert make_layer(np.ones((4, 3))).extra_rows() == []
    assert make_layer(np.ones((4, 3)), domain="nonnegative").extra_rows() == [7, 8, 9]


def test_only_labels_and_the_scale_have_strict_inequalities():
    active = np.array([1])
    for ties, inactive in (("open", True), ("inactive", False)):
        layer = make_layer(np.eye(2), rule="sparsemax", ties=ties, domain=(0.0, 1.0))
        found = [layer.is_strict(row, active) for row in range(layer.n_rows)]
        assert found == [inactive, True, True] + [False] * 6


@pytest.mark.parametrize("bias", [None, [0.5, -1.0, 3.0]])
@pytest.mark.parametrize("rule", ["sigmoid", "topk", "sparsemax"])
def test_every_row_has_the_coefficients_of_its_definition(rule, bias):
    weight = np.array([[1.0, 2.0], [3.0, -4.0], [0.1, 0.0]])
    layer = make_layer(
        weight, rule=rule, bias=bias, domain=(np.array([-0.5, 0.0]), np.array([np.inf, 7.0])), temperature=0.3
    )
    active = np.array([0, 2])
    tail = [Fraction(-1)] * layer.has_threshold

    def label(i):
        return [Fraction(w) for w in weight[i]] + [Fraction(0 if bias is None else bias[i]), *tail]

    for i in range(3):
        assert exact_row(layer, i, active) == [c if i in active else -c for c in label(i)]
    zero = [Fraction(0)] * (len(tail))
    assert exact_row(layer, 3, active) == [0, 0, 1, *zero]
    if rule == "sparsemax":
        total = [Fraction(0.3) * (a + b) for a, b in zip(label(0), label(2), strict=True)]
        total[2] -= 1
        assert exact_row(layer, 5, active) == total
        assert exact_row(layer, 4, active) == [-c for c in total]
        assert exact_row(layer, 5, np.arange(0)) == [0, 0, -1, 0]
    assert exact_row(layer, 6, active) == [1, 0, Fraction(1, 2), *zero]
    assert exact_row(layer, 7, active) == [0, 1, 0, *zero]
    assert exact_row(layer, 9, active) == [0, -1, 7, *zero]
    with pytest.raises(ValueError, match=r"row high\[0\] must be a finite bound of the domain, got none"):
        exact_row(layer, 8, active)


def test_a_cone_has_bounds_without_a_scale():
    layer = make_layer(np.eye(2), domain="nonnegative")
    assert exact_row(layer, 5, np.arange(0)) == [1, 0]
    with pytest.raises(ValueError, match=r"row high\[1\] must be a finite bound"):
        exact_row(layer, 8, np.arange(0))
    upside_down = make_layer(np.eye(2), domain=(-np.inf, 0.0))
    assert exact_row(upside_down, 8, np.arange(0)) == [0, -1]
    with pytest.raises(ValueError, match=r"row low\[0\] must be a finite bound"):
        exact_row(upside_down, 5, np.arange(0))


def test_each_of_many_bounds_has_its_own_row():
    layer = make_layer(np.ones((1, 5)), domain=(np.arange(5.0), np.arange(5.0) + 10))
    for j in range(5):
        unit = [int(k == j) for k in range(5)]
        assert exact_row(layer, layer.low_row(j), np.arange(0)) == [*unit, -j]
        assert exact_row(layer, layer.high_row(j), np.arange(0)) == [*(-c for c in unit), 10 + j]


def test_the_first_number_that_is_not_finite_is_named():
    with pytest.raises(ValueError, match=r"weight must be finite, got nan at index \(0, 1\)"):
        make_layer(np.array([[1.0, np.nan], [np.inf, 2.0]]))


def test_the_first_threshold_that_is_no_probability_is_named():
    for wrong in (0.0, 1.0, -0.5, 1.5):
        with pytest.raises(ValueError, match=f"strictly between 0 and 1, got {wrong}$"):
            make_layer(np.eye(3), thresholds=[0.5, wrong, 7.0])


def test_one_offset_that_overflows_is_enough_to_refuse():
    with pytest.raises(ValueError, match="bias minus the logits of thresholds must be finite"):
        make_layer(np.eye(2), bias=[1.7e308, 0.0], theta=[-1.7e308, 0.0])


class Flushed(list):
    """Numbers of a processor that takes results below 2**-1022 for 0."""

    def __mul__(self, other):
        products = (a * b for a, b in zip(self, other, strict=True))
        return [p if abs(p) >= 2.0**-1022 else 0.0 for p in products]


def test_subnormal_numbers_are_asked_for(monkeypatch):
    require_subnormals()
    monkeypatch.setattr(regions.np, "array", Flushed)
    with pytest.raises(RuntimeError, match="flushes subnormal numbers to zero"):
        require_subnormals()
