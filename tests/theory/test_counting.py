import math
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from labelproof.theory.counting import (
    count_alternating,
    count_argmaxable,
    count_k_active,
    log10_argmaxable_fraction,
    log10_int,
)

SIZES = st.integers(1, 60)


@pytest.mark.parametrize(
    ("d", "expected", "digits"),
    [
        (25, -252.64, 2),
        (50, -217.03, 2),
        (100, -161.87, 2),
        (200, -85.48, 2),
        (400, -9.964, 3),
        (550, -3e-4, 4),
    ],
)
def test_the_argmaxable_fraction_of_1000_labels(d, expected, digits):
    assert round(log10_argmaxable_fraction(1000, d), digits) == expected


def test_half_of_the_label_sets_are_argmaxable_when_d_is_half_of_n():
    assert count_argmaxable(1000, 500) == 2**999
    assert log10_argmaxable_fraction(1000, 500) == math.log10(0.5)


@pytest.mark.parametrize(
    ("n_labels", "d", "expected"),
    [
        *((8921, d, e) for d, e in [(25, 71.3), (50, 131.0), (100, 235.2), (200, 412.9), (400, 706.4)]),
        (20000, 50, 148.2),
        (20000, 200, 483.2),
    ],
)
def test_the_number_of_argmaxable_sets_of_the_papers_layers(n_labels, d, expected):
    assert round(log10_int(count_argmaxable(n_labels, d)), 1) == expected


@pytest.mark.parametrize(
    ("n_labels", "k", "expected"),
    [(8921, 80, 197.0), (20000, 50, 150.5), (8933, 50, 133.0)],
)
def test_the_number_of_k_active_sets_of_the_papers_data_sets(n_labels, k, expected):
    assert round(log10_int(count_k_active(n_labels, k)), 1) == expected


def test_small_counts():
    assert count_argmaxable(3, 2) == 6
    assert count_argmaxable(3, 2, bias=True) == 7
    assert count_argmaxable(4, 2) == 8
    assert count_k_active(4, 9) == 16


def test_covers_count_is_the_number_of_necklace_partitions():
    necklaces = np.arange(2**20, dtype=np.uint32)  # the bits are 20 beads of two colours
    cuts = np.bitwise_count((necklaces ^ (necklaces >> 1)) & (2**19 - 1))  # (2^20,)
    assert count_argmaxable(20, 17) == np.count_nonzero(cuts <= 16) == 1_048_194


@given(SIZES, SIZES, st.booleans())
def test_counts_agree_with_their_definition(n, d, bias):
    sums = sum(math.comb(n, i) for i in range(d + 1)), 2 * sum(math.comb(n - 1, i) for i in range(d))
    assert count_argmaxable(n, d, bias=bias) == (sums[0] if bias else sums[1])
    assert count_k_active(n, d) == sums[0]


@given(SIZES, SIZES)
def test_a_bias_is_a_feature_that_is_always_positive(n, d):
    assert 2 * count_argmaxable(n, d, bias=True) == count_argmaxable(n + 1, d + 1)


@given(SIZES, SIZES)
def test_alternating_sets_are_as_many_as_argmaxable_ones_of_one_feature_more(n, k):
    assert count_alternating(n, k) == count_argmaxable(n, k + 1)


def test_sets_with_exactly_j_changes_are_twice_a_binomial():
    counts = [count_alternating(12, j) for j in range(12)]
    assert counts[0] == 2
    assert counts[-1] == 2**12
    assert [b - a for a, b in pairwise(counts)] == [2 * math.comb(11, j) for j in range(1, 12)]


@given(st.integers(1, 200), st.integers(1, 220), st.booleans())
def test_the_log_fraction_is_monotone_and_agrees_with_the_count(n, d, bias):
    log = log10_argmaxable_fraction(n, d, bias=bias)
    share = Fraction(count_argmaxable(n, d, bias=bias), 2**n)
    assert log <= log10_argmaxable_fraction(n, d + 1, bias=bias) <= 0
    assert (log == 0) == (share == 1)
    exact = math.log1p(-float(1 - share)) / math.log(10) if share > 0.9 else math.log10(share)
    assert log == pytest.approx(exact, rel=1e-14, abs=0)


def test_a_fraction_just_below_one_is_not_rounded_to_one():
    log = log10_argmaxable_fraction(100, 99)  # all sets but 2
    assert log == pytest.approx(-(2.0**-99) / math.log(10), rel=1e-15, abs=0)
    assert log10_argmaxable_fraction(1000, 999) < 0
    assert str(log10_argmaxable_fraction(2000, 1999)) == "0.0"  # 2^-1999 is below the smallest float
    assert str(log10_argmaxable_fraction(5, 7)) == "0.0"


def test_large_counts_are_exact():
    assert count_argmaxable(20000, 10000) == 2**19999
    assert count_argmaxable(20000, 20000) == 2**20000
    assert log10_argmaxable_fraction(20000, 9000) < -40


def test_log10_of_an_integer_above_every_float():
    assert log10_int(10**5000) == 5000.0
    assert log10_int(1) == 0.0


def test_numpy_integers_are_integers():
    assert count_argmaxable(np.int32(4), np.uint8(2)) == 8
    assert log10_argmaxable_fraction(np.int8(100), np.int8(50)) == math.log10(0.5)
    assert type(count_k_active(np.int64(70), np.int64(70))) is int


@pytest.mark.parametrize("value", [0, -1, 2.0, True, np.True_, "3", None, np.float64(2), np.array([1, 2])])
def test_arguments_that_are_no_positive_integer_are_refused(value):
    calls = {
        "n_labels": [
            lambda: count_argmaxable(value, 2),
            lambda: log10_argmaxable_fraction(value, 2),
            lambda: count_k_active(value, 2),
            lambda: count_alternating(value, 2),
        ],
        "d": [lambda: count_argmaxable(3, value), lambda: log10_argmaxable_fraction(3, value, bias=True)],
        "value": [lambda: log10_int(value)],
    }
    for name, functions in calls.items():
        for function in functions:
            with pytest.raises(ValueError, match=f"^{name} must be an integer of at least 1, got "):
                function()


@pytest.mark.parametrize("function", [count_k_active, count_alternating])
def test_k_may_be_zero_but_not_negative(function):
    assert function(5, 0) in (1, 2)
    with pytest.raises(ValueError, match="k must be an integer of at least 0, got -1"):
        function(5, -1)
