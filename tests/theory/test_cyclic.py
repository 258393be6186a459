import decimal
import itertools
import math
import tracemalloc
from fractions import Fraction

import numpy as np
import pytest
from flint import ctx, fmpz_mat
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy import sparse

from labelproof.theory import cyclic, dft
from labelproof.theory.cyclic import (
    alternations,
    argmaxable_by_alternation,
    circular_alternations,
    in_general_position,
    minor_signs,
)
from labelproof.theory.dft import dft_matrix, dft_witness, gale_matrix, vandermonde_matrix

LABELS = hnp.arrays(bool, hnp.array_shapes(min_dims=2, max_dims=2, max_side=9))


def dot(a, b):
    return sum(p * q for p, q in zip(a, b, strict=True))


def cells(rows, d):
    """Exact oracle: {sign vector: point} of all cells that the hyperplanes row·x = 0 cut R^d into.

    The last hyperplane splits just those cells of the others that it meets, which are the cells of its own
    arrangement, one dimension down; any other cell lies on the side on which its point lies.
    """
    if not rows:
        return {(): [Fraction(0)] * d}
    *others, last = rows
    if not any(last):
        return {}
    p = next(j for j, value in enumerate(last) if value)
    normal = [value / last[p] for value in last]
    projected = [[v - row[p] * w for v, w in zip(row, normal, strict=True)] for row in others]
    split = cells([row[:p] + row[p + 1 :] for row in projected], d - 1)
    found = {}
    for signs, x in cells(others, d).items():
        if signs not in split:
            found[(*signs, dot(last, x) > 0)] = x
            continue
        u = split[signs]
        u = [*u[:p], -dot(normal[:p] + normal[p + 1 :], u), *u[p:]]  # on the hyperplane
        step = min((abs(dot(row, u)) / (2 * abs(dot(row, last)) + 1) for row in others), default=Fraction(1))
        for side in (1, -1):
            found[(*signs, side > 0)] = [a + side * step * b for a, b in zip(u, last, strict=True)]
    return found


def argmaxable_sets(W):
    rows = [[Fraction(value) for value in row] for row in np.asarray(W).tolist()]
    found = cells(rows, len(rows[0]))
    for signs, x in found.items():
        assert all(dot(row, x) != 0 and (dot(row, x) > 0) == s for row, s in zip(rows, signs, strict=True))
    return set(found)


def all_sets(n):
    return np.array(list(itertools.product([False, True], repeat=n)))


def complement(W):
    """Integer basis of the space orthogonal to the columns of an integer W."""
    basis, nullity = fmpz_mat(np.asarray(W).T.tolist()).nullspace()
    return np.array([[int(basis[i, j]) for j in range(nullity)] for i in range(len(W))])


# --- alternations -----------------------------------------------------------------------------------


def test_the_papers_examples_of_alternations():
    assert alternations(np.array([[1, 1, 0, 0, 0]])).tolist() == [1]
    assert alternations(np.array([[1, 1, 0, 1, 0]])).tolist() == [3]


@given(LABELS)
def test_alternations_are_the_changes_that_a_loop_counts(labels):
    expected = [sum(a != b for a, b in itertools.pairwise(row)) for row in labels.tolist()]
    around = [count + (row[0] != row[-1]) for count, row in zip(expected, labels.tolist(), strict=True)]
    assert alternations(labels).tolist() == expected
    assert circular_alternations(labels).tolist() == around


@given(LABELS, st.randoms())
def test_alternations_do_not_depend_on_the_form_of_the_labels(labels, random):
    n_labels = labels.shape[1]
    lists = [np.flatnonzero(row).tolist() for row in labels]
    for active in lists:
        random.shuffle(active)
    expected = alternations(labels)
    assert expected.dtype == np.int64
    dense, floats = labels.astype(np.int8), labels.astype(float)
    for form in (dense, floats, sparse.csr_matrix(labels), sparse.coo_array(labels)):
        assert alternations(form).tolist() == expected.tolist()
        assert alternations(form, n_labels=n_labels).tolist() == expected.tolist()
    for active in (lists, tuple(map(tuple, lists)), [np.array(a, dtype=np.int32) for a in lists]):
        counts = alternations(active, n_labels=n_labels)
        assert counts.dtype == np.int64
        assert counts.tolist() == expected.tolist()


def test_no_label_sets_have_no_alternations():
    assert alternations([], n_labels=3).shape == (0,)
    assert alternations(np.zeros((0, 3), dtype=bool)).shape == (0,)
    assert alternations(sparse.csr_array((0, 3))).shape == (0,)


def csr(data, indices, indptr=(0, 3), n_labels=6):
    return sparse.csr_array((data, indices, indptr), shape=(len(indptr) - 1, n_labels))


def test_a_sparse_matrix_may_have_zeros_and_any_order_and_is_not_changed():
    messy = csr(np.array([True, False, True]), [4, 1, 0])
    messy.has_canonical_format = True  # a stale flag
    assert alternations(messy).tolist() == [3]  # +---+-
    assert messy.indices.tolist() == [4, 1, 0]
    assert alternations(csr([1, 0, 1], [1, 2, 3])).tolist() == [4]


def test_alternations_of_a_large_sparse_matrix_take_memory_for_its_entries_only():
    rng = np.random.default_rng(0)
    indices = rng.integers(0, 1000, (100_000, 20)) + np.arange(0, 20_000, 1000)  # ascending in each set
    large = csr(np.ones(indices.size, dtype=bool), indices.ravel(), range(0, indices.size + 1, 20), 20_000)
    tracemalloc.start()
    counts = alternations(large)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 64 * indices.size  # 100 times as many bytes, if there were one for every label of every set
    assert counts[:50].tolist() == alternations(large[:50].toarray()).tolist()


@pytest.mark.parametrize(
    ("labels", "n_labels", "message"),
    [
        (np.array([0, 1]), None, r"labels must have shape \(n_sets, 2\) .*, got \(2,\)"),
        (np.eye(3), 4, r"labels must have shape \(n_sets, 4\) .*, got \(3, 3\)"),
        (np.eye(3), 3.0, "n_labels must be an integer of at least 1, got 3.0"),
        (np.array([[1, -1]]), None, "labels must be 0 or 1, got -1"),
        (np.array([[1, np.nan]]), None, "labels must be 0 or 1, got nan"),
        (np.array([["a"]]), None, "labels must be bool or 0/1, got an array of dtype <U1"),
        (csr([1, 1, 1], [0, 1, 2]), 5, r"labels must have shape \(n_sets, 5\) .*, got \(1, 6\)"),
        (csr([1, 2, 1], [0, 1, 2]), None, "labels must be 0 or 1, got 2"),
        (csr([1, 1, 1], [0, 3, 3]), None, "got a sparse matrix with duplicate entries"),
        (csr([1, 1, 1], [0, 1, 6]), None, "must be < 6"),
        ({0: [1]}, 3, r"labels must have shape \(n_sets, 3\)"),
        ([[0, 1]], None, "n_labels must be given when labels is a list of active label indices, got None"),
        ([[0, 1]], 0, "n_labels must be an integer of at least 1, got 0"),
        ([0, 1], 3, r"labels\[0\] must be a list of label indices .* got 0"),
        ([[0.0, 1.0]], 3, r"labels\[0\] must be a list of label indices .* got \[0\.0, 1\.0\]"),
        ([[True, False]], 3, r"labels\[0\] must be a list of label indices .* got \[True, False\]"),
        ([[[0, 1]]], 3, r"labels\[0\] must be a list of label indices .* got \[\[0, 1\]\]"),
        ([[0], [1, 3]], 3, r"labels\[1\] must hold indices from 0 to 2, got 3"),
        ([[0], [-1]], 3, r"labels\[1\] must hold indices from 0 to 2, got -1"),
        ([[0, 2], [2, 0, 2]], 3, r"labels\[1\] must name each label once, got 2 more than once"),
    ],
)
def test_labels_of_no_known_form_are_refused(labels, n_labels, message):
    with pytest.raises(ValueError, match=message):
        alternations(labels, n_labels=n_labels)


# --- the alternation rule ---------------------------------------------------------------------------


def test_the_alternation_rule_on_all_1024_sets_of_a_vandermonde_matrix():
    W, labels = vandermonde_matrix(10, 5), all_sets(10)
    assert minor_signs(W) == 1
    ruled = {tuple(row) for row in labels[argmaxable_by_alternation(labels, 5)].tolist()}
    assert argmaxable_sets(W) == ruled
    assert len(ruled) == 512
    changes = np.bincount(alternations(np.array(list(ruled))))
    assert changes.tolist() == [2 * math.comb(9, j) for j in range(5)]


@pytest.mark.parametrize("d", [1, 2, 3, 4, 7])
def test_the_alternation_rule_holds_for_gale_matrices_of_odd_and_even_d(d):
    found = np.array(sorted(argmaxable_sets(gale_matrix(7, d))))
    changes = np.bincount(alternations(found), minlength=7)
    assert changes.tolist() == [2 * math.comb(6, j) * (j < d) for j in range(7)]


def test_k_active_sets_are_argmaxable_with_2k_plus_1_features_and_not_with_fewer():
    labels = all_sets(9)
    k_active = labels[labels.sum(axis=1) <= 2]
    assert argmaxable_by_alternation(k_active, 5).all()
    assert not argmaxable_by_alternation(k_active, 4).all()


def test_permuted_nodes_keep_1_active_sets_argmaxable():
    rng = np.random.default_rng(0)
    for _ in range(5):
        found = argmaxable_sets(rng.permutation(dft_matrix(8, 1)))
        assert {tuple(row) for row in np.eye(8, dtype=bool).tolist()} <= found


def test_a_matrix_in_general_position_and_its_complement_share_all_label_sets():
    W = np.random.default_rng(1).integers(-50, 50, (7, 3))
    assert in_general_position(W)
    own, other = argmaxable_sets(W), argmaxable_sets(complement(W))
    assert not own & other
    assert len(own) + len(other) == 2**7


def test_an_octahedron_and_its_complement_leave_label_sets_to_neither():
    W = np.c_[np.ones(6, dtype=int), np.vstack([np.eye(3, dtype=int), -np.eye(3, dtype=int)])]
    assert not in_general_position(W)
    own, other = argmaxable_sets(W), argmaxable_sets(complement(W))
    assert not own & other
    assert (len(own), len(other), 2**6 - len(own) - len(other)) == (46, 6, 12)


@pytest.mark.parametrize("d", [0, 2.0, True])
def test_the_rule_refuses_a_width_that_is_no_positive_integer(d):
    with pytest.raises(ValueError, match="d must be an integer of at least 1, got"):
        argmaxable_by_alternation(np.eye(3), d)


# --- matrices ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("n", [1, 2, 3, 8, 15, 40])
@pytest.mark.parametrize("build", [gale_matrix, vandermonde_matrix])
def test_full_matrices_are_orthogonal(build, n):
    W = build(n, n)
    assert W.dtype == np.float64
    np.testing.assert_allclose(W.T @ W, np.eye(n), atol=1e-13)


@pytest.mark.parametrize(("n", "k"), [(1, 0), (4, 0), (3, 1), (12, 1), (7, 3), (11, 2), (12, 4), (11, 5)])
def test_the_dft_matrix_has_minors_of_one_sign(n, k):
    assert minor_signs(dft_matrix(n, k)) == 1


@pytest.mark.parametrize(("n", "d"), [(2, 2), (9, 2), (9, 4), (8, 8), (10, 6)])
def test_even_gale_and_vandermonde_matrices_have_minors_of_one_sign(n, d):
    assert minor_signs(gale_matrix(n, d)) == 1
    assert minor_signs(vandermonde_matrix(n, d)) == 1


def test_the_dft_matrix_agrees_with_its_definition():
    n, k = 101, 20
    t = 2 * np.pi * np.arange(n)[:, None] / n * np.arange(1, k + 1)  # (n, k)
    W = dft_matrix(n, k)
    np.testing.assert_allclose(W[:, 0], 1 / np.sqrt(n), rtol=1e-15)
    np.testing.assert_allclose(W[:, 1::2], np.sqrt(2 / n) * np.cos(t), atol=1e-13)
    np.testing.assert_allclose(W[:, 2::2], np.sqrt(2 / n) * np.sin(t), atol=1e-13)


def exact_cosine(numerator, denominator):
    """Cosine of 2π numerator / denominator to 55 digits or so, by its series."""
    pi = decimal.Decimal("3.141592653589793238462643383279502884197169399375105820974944592307816406286209")
    square = (2 * pi * (numerator % denominator) / denominator) ** 2
    total = term = decimal.Decimal(1)
    for i in range(1, 60):
        term *= -square / (2 * i * (2 * i - 1))
        total += term
    return total


def ideal_rows(n, k):
    """The real-number DFT matrix as decimals, from its definition."""
    one, two = (decimal.Decimal(1) / n).sqrt(), (decimal.Decimal(2) / n).sqrt()
    cosine = [two * exact_cosine(r, 4 * n) for r in range(4 * n)]  # sin u = cos(u - a quarter turn)
    columns = [(4 * j, n * odd) for j in range(1, k + 1) for odd in (0, 1)]
    return [[one, *(cosine[(i * step - shift) % (4 * n)] for step, shift in columns)] for i in range(n)]


@pytest.mark.parametrize(("n", "k"), [(8, 3), (23, 4), (60, 7)])
def test_the_entries_of_the_dft_matrix_are_correctly_rounded(n, k):
    with decimal.localcontext(prec=70):
        ideal = np.array([[float(round(value, 60)) for value in row] for row in ideal_rows(n, k)])
    np.testing.assert_array_equal(dft_matrix(n, k), ideal)


@pytest.mark.parametrize("build", [gale_matrix, vandermonde_matrix])
def test_a_matrix_needs_at_least_as_many_labels_as_columns(build):
    with pytest.raises(ValueError, match="d must be at most n_labels = 3, got 4"):
        build(3, 4)
    with pytest.raises(ValueError, match="d must be an integer of at least 1, got 0"):
        build(3, 0)
    with pytest.raises(ValueError, match=r"n_labels must be an integer of at least 1, got 3\.5"):
        build(3.5, 2)


@pytest.mark.parametrize("function", [dft_matrix, lambda n, k: dft_witness([], n, k)])
def test_the_dft_needs_more_labels_than_twice_its_frequency(function):
    with pytest.raises(ValueError, match=r"k must be at most \(n_labels - 1\) / 2 for n_labels = 6, got 3"):
        function(6, 3)
    with pytest.raises(ValueError, match="k must be an integer of at least 0, got -1"):
        function(6, -1)
    with pytest.raises(ValueError, match="n_labels must be an integer of at least 1, got 0"):
        function(0, 0)


# --- witnesses --------------------------------------------------------------------------------------


def assert_proves(witness, active, rows):
    signs = [1 if i in active else -1 for i in range(len(rows))]
    with decimal.localcontext(prec=70):
        x = [decimal.Decimal(v.numerator) / v.denominator for v in witness.exact]
        lengths = [(dot(row, row) * dot(x, x)).sqrt() for row in rows]
        margins = [s * dot(row, x) / length for s, row, length in zip(signs, rows, lengths, strict=True)]
    assert min(margins) > decimal.Decimal("1e-50")
    assert witness.margin == pytest.approx(float(min(margins)), rel=1e-9)


@pytest.mark.parametrize(("n", "k"), [(1, 0), (5, 0), (7, 3), (8, 2), (9, 1)])
def test_every_set_with_at_most_2k_changes_has_a_witness_and_no_other_set(n, k):
    with decimal.localcontext(prec=70):
        rows = ideal_rows(n, k)
    for labels in all_sets(n):
        active = np.flatnonzero(labels)
        if argmaxable_by_alternation(labels[None], 2 * k + 1)[0]:
            assert_proves(dft_witness(active, n, k), set(active.tolist()), rows)
        else:
            with pytest.raises(ValueError, match=f"at most 2k = {2 * k} sign changes, got"):
                dft_witness(active, n, k)


def test_a_witness_of_53_bits_proves_its_float64_coefficients():
    witness = dft_witness([3, 4, 10], n_labels=20, k=3)
    assert witness.bits == 53
    assert tuple(map(Fraction, witness.coefficients.tolist())) == witness.exact
    assert np.abs(witness.coefficients).max() == 1
    assert witness.coefficients[5:].tolist() == [0, 0]  # four changes need two frequencies only
    assert not witness.coefficients.flags.writeable


def test_neighbouring_roots_need_more_bits():
    active = set(range(0, 16, 2))
    witness = dft_witness(active, n_labels=150, k=8)
    assert witness.bits > 53
    assert max(map(abs, witness.exact)) == 1
    assert witness.coefficients.tolist() == [float(v) for v in witness.exact]
    with decimal.localcontext(prec=70):
        assert_proves(witness, active, ideal_rows(150, 8))


def test_the_proof_of_a_witness_fails_for_any_other_label_set():
    witness, active = dft_witness([3, 4, 10], n_labels=20, k=3), np.isin(np.arange(20), [3, 4, 10])
    assert float(dft._smallest_margin(witness.exact, active)) == pytest.approx(witness.margin)
    for label in range(20):
        assert dft._smallest_margin(witness.exact, active ^ (np.arange(20) == label)) is None
    assert dft._smallest_margin((Fraction(0),) * 7, active) is None


def test_a_margin_below_the_smallest_float_is_still_proven():
    witness = dft_witness(range(0, 140, 2), n_labels=20_000, k=70)
    assert witness.margin == 0
    assert witness.bits > 1074


def test_a_witness_for_mimic_is_proven_and_restores_the_precision():
    active, before = np.random.default_rng(0).choice(8921, 80, replace=False), ctx.prec
    witness = dft_witness(active, n_labels=8921, k=80)
    assert ctx.prec == before
    assert witness.margin > 0
    assert len(witness.exact) == 161


@pytest.mark.parametrize(
    ("label_set", "message"),
    [
        ([9], "label_set must hold indices from 0 to 8, got 9"),
        ([1, 1], "label_set must name each label once, got 1 more than once"),
        ([1.0], r"label_set must be a list of label indices .* got \[1\.0\]"),
        (np.zeros(9, dtype=bool), "label_set must be a list of label indices .* got array"),
        (4, "label_set must be a list of label indices .* got 4"),
    ],
)
def test_a_label_set_that_is_no_list_of_labels_is_refused(label_set, message):
    with pytest.raises(ValueError, match=message):
        dft_witness(label_set, n_labels=9, k=2)


# --- minors -----------------------------------------------------------------------------------------


def test_minor_signs_of_known_matrices():
    moments = np.vander(np.arange(1, 7), 3, increasing=True)
    assert minor_signs(moments) == 1
    assert minor_signs(moments[::-1]) == -1  # three rows in reverse order are an odd permutation
    assert minor_signs(moments[[1, 0, 2, 3, 4, 5]]) == 0
    assert in_general_position(moments[[1, 0, 2, 3, 4, 5]])
    assert minor_signs(moments[[0, 0, 1, 2]]) == 0
    assert not in_general_position(moments[[0, 0, 1, 2]])
    assert minor_signs([[-3.0]]) == -1
    assert not in_general_position([[1.0], [0.0]])


def test_minors_are_exact_where_floating_point_is_not():
    tiny = 2.0**-60
    assert minor_signs([[1 + 2.0**-52, 1.0], [1.0, 1 - 2.0**-52]]) == -1  # the determinant is -2^-104
    assert minor_signs([[1e300, tiny], [1e300, 2 * tiny]]) == 1
    assert minor_signs([[5e-324, 0.0], [0.0, 1.7e308]]) == 1
    assert not in_general_position([[1e300, 3 * tiny], [2e300, 6 * tiny]])
    assert minor_signs(np.array([[2**62 + 1, 2**62], [2**62, 2**62 - 1]])) == -1
    assert minor_signs(np.array([[1, 2], [1, 3]], dtype=np.float32)) == 1


@pytest.mark.parametrize("function", [minor_signs, in_general_position])
@pytest.mark.parametrize(
    ("W", "message"),
    [
        ([1.0, 2.0], r"W must have shape \(n_labels, d\) with n_labels >= d >= 1, got \(2,\)"),
        (np.ones((2, 3)), r"n_labels >= d >= 1, got \(2, 3\)"),
        (np.ones((2, 0)), r"n_labels >= d >= 1, got \(2, 0\)"),
        ([[1.0, np.inf], [0.0, 1.0]], "W must be finite, got inf"),
        ([[1.0, np.nan], [0.0, 1.0]], "W must be finite, got nan"),
        ([[True, False], [False, True]], "W must hold floats or integers, got dtype bool"),
        ([[1j]], "W must hold floats or integers, got dtype complex128"),
        (np.ones((100, 50)), f"W must have at most {cyclic.MAX_MINORS} maximal minors, got 10089134"),
    ],
)
def test_matrices_without_computable_minors_are_refused(function, W, message):
    with pytest.raises(ValueError, match=message):
        function(W)
