"""The projections against sorting, optimality conditions and the properties that the papers prove."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from labelproof.simplex import entmax, sparsemax

ALPHAS = (1.05, 1.3, 1.5, 2.0, 2.5, 4.0)
rng = np.random.default_rng(0)
rows = arrays(np.float64, st.integers(1, 12), elements=st.floats(-5, 5))


def sorted_sparsemax(z):
    """The definition by sorting, in double precision."""
    ordered = np.sort(z.astype(float), axis=-1)[:, ::-1]
    cumulated = np.cumsum(ordered, axis=-1)
    ranks = np.arange(1, z.shape[1] + 1)
    k = (1 + ranks * ordered > cumulated).sum(axis=-1)
    tau = (cumulated[np.arange(len(z)), k - 1] - 1) / k
    return np.maximum(z - tau[:, None], 0)


@pytest.mark.parametrize("scale", [0.001, 0.01, 1.0, 10.0])
@pytest.mark.parametrize("n_labels", [1, 2, 63, 64, 256, 257, 300, 1000, 5003])
def test_sparsemax_equals_its_definition_by_sorting(n_labels, scale):
    z = scale * rng.standard_normal((7, n_labels))
    np.testing.assert_allclose(sparsemax(z), sorted_sparsemax(z), atol=1e-14)
    single = z.astype(np.float32)
    np.testing.assert_allclose(sparsemax(single), sorted_sparsemax(single), atol=1e-7)


@pytest.mark.parametrize("alpha", ALPHAS)
@pytest.mark.parametrize("scale", [0.01, 1.0, 10.0])
@pytest.mark.parametrize("n_labels", [3, 200, 900])
def test_entmax_meets_its_optimality_conditions(alpha, scale, n_labels):
    """For p in the simplex: p_j^(α−1) − (α−1) z_j is one constant −τ on the support, and z_j ≤ τ off it."""
    z = scale * rng.standard_normal((5, n_labels))
    p = entmax(z, alpha)
    np.testing.assert_allclose(p.sum(axis=-1), 1, atol=1e-12)
    assert p.min() >= 0
    for x, row in zip((alpha - 1) * z, p, strict=True):
        tau = x[row > 0] - row[row > 0] ** (alpha - 1)
        assert np.ptp(tau) < 1e-11
        assert np.all(x[row == 0] <= tau.min() + 1e-11)


@given(rows, st.sampled_from(ALPHAS), st.floats(-100, 100))
def test_a_shift_of_all_scores_changes_nothing(z, alpha, shift):
    np.testing.assert_allclose(entmax(z + shift, alpha), entmax(z, alpha), atol=1e-3 if alpha > 2 else 1e-10)


@given(rows, st.sampled_from(ALPHAS), st.randoms())
def test_a_permutation_of_the_scores_permutes_the_result(z, alpha, random):
    order = random.sample(range(len(z)), len(z))
    np.testing.assert_allclose(entmax(z[order], alpha), entmax(z, alpha)[order], atol=1e-12)


@given(rows)
def test_sparsemax_keeps_the_order_and_never_widens_a_gap(z):
    p = sparsemax(z)
    for a, b in np.ndindex(len(z), len(z)):
        if z[b] >= z[a]:
            assert -1e-15 <= p[b] - p[a] <= z[b] - z[a] + 1e-15


@given(rows, st.sampled_from(ALPHAS))
def test_a_margin_of_one_over_alpha_minus_one_is_a_hard_maximum(z, alpha):
    z[0] = np.max(z[1:], initial=z[0]) + 1 / (alpha - 1) + 1e-9
    np.testing.assert_array_equal(entmax(z, alpha), np.eye(len(z))[0])


@pytest.mark.parametrize("n_labels", [5, 400])
def test_entmax_tends_to_softmax(n_labels):
    z = rng.standard_normal(n_labels)
    softmax = np.exp(z) / np.exp(z).sum()
    np.testing.assert_allclose(entmax(z, 1.0001), softmax, atol=1e-4)


def test_entmax_of_two_scores_has_a_closed_form():
    t = np.linspace(-3, 3, 61)
    first = sparsemax(np.stack([t, np.zeros_like(t)], axis=1))[:, 0]
    np.testing.assert_allclose(first, np.clip((1 + t) / 2, 0, 1), atol=1e-15)
    half = np.clip(t, -2, 2)
    first = entmax(np.stack([t, np.zeros_like(t)], axis=1), 1.5)[:, 0]
    np.testing.assert_allclose(first, (half / 4 + np.sqrt(0.5 - half**2 / 16)) ** 2, atol=1e-15)


@pytest.mark.parametrize("alpha", ALPHAS)
@pytest.mark.parametrize("n_labels", [4, 300, 5000])
def test_minus_infinity_gives_exact_zeros_and_leaves_the_others_alone(alpha, n_labels):
    z = rng.standard_normal((3, n_labels))
    masked = rng.random((3, n_labels)) < 0.5
    masked[:, 0] = False
    p = entmax(np.where(masked, -np.inf, z), alpha)
    assert np.all(p[masked] == 0)
    for row, mask, x in zip(p, masked, z, strict=True):
        np.testing.assert_allclose(row[~mask], entmax(x[~mask], alpha), atol=1e-12)


@pytest.mark.parametrize("alpha", ALPHAS)
@pytest.mark.parametrize("n_labels", [4, 300, 5000])
@pytest.mark.parametrize("fault", [np.nan, np.inf])
def test_a_row_with_nan_or_infinity_is_nan_and_its_neighbours_are_not(alpha, n_labels, fault):
    z = rng.standard_normal((5, n_labels))
    whole = entmax(z, alpha)
    z[1, n_labels // 2] = z[2, 0] = z[2, -1] = fault
    z[3] = -np.inf
    p = entmax(z, alpha)
    assert np.isnan(p[1:4]).all()
    np.testing.assert_array_equal(p[[0, 4]], whole[[0, 4]])


@pytest.mark.parametrize("n_labels", [10, 1000, 100_000])
@pytest.mark.parametrize("scale", [1e-4, 1.0, 30.0])
def test_single_precision_sums_are_right_to_single_precision(n_labels, scale):
    z = (scale * rng.standard_normal((4, n_labels))).astype(np.float32)
    for alpha in (1.5, 2.0):
        p = entmax(z, alpha)
        assert p.dtype == np.float32
        np.testing.assert_allclose(p.sum(axis=-1, dtype=np.float64), 1, atol=2e-7)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_large_offset_costs_no_precision(dtype):
    z = (np.round(rng.standard_normal((3, 2000)) * 64) / 64).astype(dtype)
    moved = (z + dtype(2**16)).astype(dtype)
    np.testing.assert_array_equal(moved - dtype(2**16), z)
    for alpha in (1.3, 1.5, 2.0):
        np.testing.assert_allclose(entmax(moved, alpha), entmax(z, alpha), atol=1e-7 if dtype == np.float32 else 1e-13)


def test_numbers_near_the_largest_do_not_overflow():
    z = np.array([[3e38, -3e38, 3e38, 0.0]], dtype=np.float32)
    for alpha in (1.2, 1.5, 2.0, 3.0):
        np.testing.assert_allclose(entmax(z, alpha), [[0.5, 0, 0.5, 0]], atol=1e-7)


def test_ties_share_equally_even_if_all_are_tied():
    for n_labels in (1, 7, 1000, 20_000):
        np.testing.assert_allclose(sparsemax(np.full(n_labels, 3.0)), 1 / n_labels, rtol=1e-10)
        np.testing.assert_allclose(entmax(np.full(n_labels, 3.0), 3.0), 1 / n_labels, rtol=1e-10)


def test_any_axis_layout_and_integer_or_half_input():
    z = rng.standard_normal((3, 4, 5))
    np.testing.assert_array_equal(sparsemax(z, 1), np.moveaxis(sparsemax(np.moveaxis(z, 1, -1)), -1, 1))
    np.testing.assert_array_equal(sparsemax(z[:, ::2, ::-1]), sparsemax(z[:, ::2, ::-1].copy()))
    np.testing.assert_array_equal(sparsemax([3, 0]), [1.0, 0.0])
    assert sparsemax(z.astype(np.float16)).dtype == np.float32
    assert sparsemax(np.empty((0, 4))).shape == (0, 4)


def test_the_result_does_not_depend_on_the_number_of_threads():
    z = rng.standard_normal((600, 1000))
    np.testing.assert_array_equal(sparsemax(z, n_jobs=1), sparsemax(z, n_jobs=3))


def test_rows_do_not_depend_on_their_neighbours():
    """Short rows are searched side by side, eight at a time."""
    z = rng.standard_normal((21, 50)) * np.logspace(-3, 3, 21)[:, None]
    z[4], z[9, 3] = -np.inf, np.nan
    for dtype in (np.float32, np.float64):
        scores = z.astype(dtype)
        for alpha in ALPHAS:
            alone = np.concatenate([entmax(row[None], alpha) for row in scores])
            together, largest = entmax(scores, alpha), np.nanmax(np.abs(scores), axis=1, keepdims=True)
            np.testing.assert_array_equal(np.isnan(together), np.isnan(alone))
            within = 50 * np.finfo(dtype).eps * np.maximum(1, largest)  # a sum of 50 terms, rounded in any order
            assert np.all(np.isnan(alone) | (np.abs(together - alone) <= within))


def test_single_precision_is_double_precision_rounded_once():
    for n_labels in (30, 64, 255, 1000):
        z = rng.standard_normal((40, n_labels)).astype(np.float32)
        double = sparsemax(z.astype(np.float64)).astype(np.float32)
        np.testing.assert_array_max_ulp(sparsemax(z), double, maxulp=1)  # double ones that differ may round apart


@pytest.mark.parametrize("alpha", [1.0, 0.5, np.inf, np.nan])
def test_alpha_must_exceed_one(alpha):
    with pytest.raises(ValueError, match="alpha must be a finite number greater than 1, got"):
        entmax([1.0], alpha)


def test_the_axis_must_exist_and_hold_a_label():
    with pytest.raises(ValueError, match="axis must be one of the 1 axes of scores, got 1"):
        sparsemax([1.0], 1)
    with pytest.raises(ValueError, match="axis must be one of the 0 axes"):
        sparsemax(1.0)
    with pytest.raises(ValueError, match=r"at least one label along axis -1, got shape \(3, 0\)"):
        sparsemax(np.empty((3, 0)))
