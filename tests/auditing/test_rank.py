"""The rank is proven: by an exact oracle, and on matrices whose floats only look dependent."""

import numpy as np
import pytest
from flint import fmpq, fmpq_mat
from hypothesis import given
from hypothesis import strategies as st

from labelproof.auditing.rank import WIDEST, rank_bounds


def exact_rank(matrix):
    entries = [[fmpq(*value.as_integer_ratio()) for value in row] for row in matrix.tolist()]
    return fmpq_mat(entries).rank()


@given(st.integers(1, 6), st.integers(1, 6), st.integers(0, 6), st.integers(0, 2**32 - 1))
def test_the_bounds_hold_the_exact_rank(n, d, inner, seed):
    rng = np.random.default_rng(seed)
    matrix = rng.integers(-3, 4, (n, inner)) @ rng.integers(-3, 4, (inner, d)) * 2.0 ** rng.integers(-60, 60)
    lower, upper = rank_bounds(matrix.astype(float))
    assert lower == exact_rank(matrix.astype(float)) <= upper


def test_floats_that_only_look_dependent_are_not():
    rows = np.array([[0.1, 0.3], [0.3, 0.9]])  # no float is 3 · 0.1 as stored
    assert exact_rank(rows) == 2
    assert rank_bounds(rows) == (2, 2)
    assert rank_bounds(np.array([[0.1, 0.2], [0.2, 0.4]])) == (1, 2)


def test_columns_and_rows_of_zeros_bound_the_rank_from_above():
    matrix = np.random.default_rng(0).normal(size=(30, 7))
    matrix[:, 3] = 0
    assert rank_bounds(matrix) == (6, 6)
    assert rank_bounds(np.zeros((4, 3))) == (0, 0)


def test_independent_rows_are_found_where_most_are_copies():
    matrix = np.zeros((2000, 5))
    matrix[:, 0] = 1.0
    matrix[[7, 500, 901, 1999], [1, 2, 3, 4]] = 1.0
    assert rank_bounds(matrix) == (5, 5)


@pytest.mark.parametrize("scale", [2.0**-1060, 2.0**900])
def test_the_smallest_and_largest_floats_are_read_exactly(scale):
    assert rank_bounds(np.array([[1.0, 2.0], [3.0, 4.0]]) * scale) == (2, 2)


def test_of_very_wide_matrices_only_the_upper_bound_is_given():
    assert rank_bounds(np.ones((WIDEST + 1, WIDEST + 1))) == (0, WIDEST + 1)
