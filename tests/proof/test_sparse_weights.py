"""A sparse weight hands out the blocks that an array would, and is refused where its numbers are not certain."""

import numpy as np
import pytest
import scipy.sparse

from labelproof.proof.labels import read_label_sets
from labelproof.proof.margins import UnitWeights
from labelproof.proof.regions import exact_row, make_layer
from labelproof.proof.rounding import bounded_logits, float_rows, scaled_point
from labelproof.proof.sparse_weights import SparseWeight, largest_of_rows, row_blocks, sha256_of
from labelproof.proof.witnesses import witness_faults

DENSE = np.array([[0.0, -2.0, 0.5, 0.0], [0.0, 0.0, 0.0, 0.0], [1e300, 0.0, -5e-324, 3.0]])


def sparse(matrix=DENSE, kind=scipy.sparse.csr_array):
    return SparseWeight(kind(matrix))


@pytest.mark.parametrize("kind", [scipy.sparse.csr_array, scipy.sparse.csc_matrix, scipy.sparse.coo_array])
def test_every_index_gives_the_block_of_the_array(kind):
    weight = sparse(kind=kind)
    columns = np.array([3, 0])
    assert (weight.shape, weight.ndim, weight.size, len(weight)) == (DENSE.shape, 2, 12, 3)
    for key in (2, np.int64(1), [2, 0, 2], np.array([[0, 1], [2, 2]]), slice(1, 3), np.array([], np.int64)):
        assert np.array_equal(weight[key], DENSE[key])
    assert np.array_equal(weight[2, columns], DENSE[2, columns])
    assert np.array_equal(weight[:, columns], DENSE[:, columns])
    assert np.array_equal(np.asarray(weight), DENSE)
    assert np.asarray(weight, object).dtype == object


@pytest.mark.parametrize("key", [DENSE[0] > 0, (slice(0, 2), np.array([0])), (np.array([0, 1]), np.array([0])), 0.5])
def test_other_indices_are_refused(key):
    with pytest.raises(TypeError, match="a sparse weight takes"):
        sparse()[key]


def test_negative_rows_and_rows_beyond_the_last_are_as_in_an_array():
    assert np.array_equal(sparse()[-1], DENSE[-1])
    with pytest.raises(IndexError):
        sparse()[3]


def test_the_matrix_given_is_left_alone_and_later_changes_do_not_matter():
    given = scipy.sparse.csr_array((np.array([1.0, 2.0]), np.array([1, 0]), np.array([0, 2])), (1, 2))
    weight = SparseWeight(given)
    assert given.indices.tolist() == [1, 0]
    given.data[:] = 7
    given.indices[:] = 0
    assert np.asarray(weight).tolist() == [[2.0, 1.0]]


@pytest.mark.parametrize(
    ("data", "columns", "told"),
    [
        ([1.0, np.inf], [0, 2], r"weight must be finite, got inf at index \(1, 2\)"),
        ([np.nan, 1.0], [3, 2], r"weight must be finite, got nan at index \(0, 3\)"),
        ([np.inf, np.nan], [1, 2], r"weight must be finite, got inf at index \(0, 1\)"),
        ([1j, 1.0], [0, 1], "weight must hold real numbers of at most 64 bits"),
        ([1j, np.inf], [0, 1], "weight must hold real numbers of at most 64 bits"),
        (np.ones(2, np.longdouble), [0, 1], "weight must hold real numbers of at most 64 bits"),
        ([2**53 + 1, 1], [0, 1], r"weight must hold integers of at most 2\*\*53"),
    ],
)
def test_numbers_that_are_not_finite_or_not_exact_are_refused(data, columns, told):
    matrix = scipy.sparse.csr_array((np.array(data), np.array(columns), np.array([0, 1, 2])), (2, 4))
    with pytest.raises(ValueError, match=told):
        SparseWeight(matrix)


def test_entries_stored_twice_and_columns_out_of_range_are_refused():
    twice = scipy.sparse.csr_array((np.ones(2), np.array([1, 1]), np.array([0, 2])), (1, 2))
    with pytest.raises(ValueError, match="weight must hold each entry once"):
        SparseWeight(twice)
    broken = scipy.sparse.csr_array((1, 2))
    broken.data, broken.indices, broken.indptr = np.ones(1), np.array([5], np.int32), np.array([0, 1], np.int32)
    with pytest.raises(ValueError, match="weight must be a sound sparse matrix"):
        SparseWeight(broken)
    with pytest.raises(ValueError, match=r"weight must have shape \(n_labels, d\) with n_labels, d ≥ 1, got \(0, 2\)"):
        SparseWeight(scipy.sparse.csr_array((0, 2)))
    with pytest.raises(ValueError, match=r"weight must have shape \(n_labels, d\) with n_labels, d ≥ 1, got \(3,\)"):
        SparseWeight(scipy.sparse.coo_array(np.ones(3)))


def test_blocks_of_rows_and_the_hash_are_those_of_the_array(monkeypatch):
    monkeypatch.setattr("labelproof.proof.sparse_weights.NUMBERS_AT_ONCE", 8)
    assert [block.tolist() for block in row_blocks(sparse())] == [DENSE[:2].tolist(), DENSE[2:].tolist()]
    monkeypatch.setattr("labelproof.proof.sparse_weights.NUMBERS_AT_ONCE", 1)
    assert [len(block) for block in row_blocks(np.ones((5, 2)))] == [1] * 5
    monkeypatch.setattr("labelproof.proof.sparse_weights.NUMBERS_AT_ONCE", 6)
    assert [len(block) for block in row_blocks(np.ones((5, 2)))] == [3, 2]
    assert sha256_of(sparse()) == sha256_of(DENSE) == sha256_of(np.where(DENSE == 0, -0.0, DENSE))
    assert sha256_of(sparse()) != sha256_of(DENSE + 1)
    assert largest_of_rows(sparse().rows).tolist() == largest_of_rows(DENSE).tolist() == [2.0, 0.0, 1e300]


@pytest.mark.parametrize("rule", ["sigmoid", "topk"])
@pytest.mark.parametrize("bias", [None, [0.5, -1e-3, 0.0]])
def test_rows_scaled_for_proofs_are_those_of_the_array(rule, bias):
    options = {"rule": rule, "bias": bias, "domain": "nonnegative"}
    layer, dense = make_layer(sparse(), **options), make_layer(DENSE, **options)
    ours, theirs = float_rows(layer), float_rows(dense)
    assert np.array_equal(ours.rows.toarray(), theirs.rows)
    assert np.array_equal(ours.inexact, theirs.inexact)
    assert np.array_equal(ours.exponents, theirs.exponents)
    assert ours.exponent == theirs.exponent
    assert np.allclose(ours.norms, theirs.norms, rtol=1e-15)
    assert (ours.norms >= np.linalg.norm(theirs.rows, axis=1)).all()
    x = np.array([0.0, 1e-3, 1e5, 2.0])
    for rows in (ours, theirs):
        point = scaled_point(layer, x)
        logits = bounded_logits(rows, point, rows.rows @ point.v)
        assert logits.slack.shape == (3,)
        assert np.isinf(logits.slack[theirs.inexact]).all()
    assert exact_row(layer, 2, np.array([2])) == exact_row(dense, 2, np.array([2]))
    assert np.array_equal(UnitWeights(layer).rows.toarray(), UnitWeights(dense).rows)
    assert np.allclose(UnitWeights(layer).norms, UnitWeights(dense).norms)


def test_a_witness_is_judged_by_what_is_stored():
    rng = np.random.default_rng(0)
    weight = np.where(rng.random((6, 3000)) < 0.1, rng.normal(size=(6, 3000)), 0.0)
    layer = make_layer(SparseWeight(scipy.sparse.csr_array(weight)), domain="nonnegative")
    few, many = np.where(rng.random((2, 3000)) < [[0.01], [0.9]], 1.0, 0.0)
    for x in (few, many):
        right = np.flatnonzero(weight @ x > 0)
        wrong = np.setdiff1d(np.arange(6), right)
        found = witness_faults(layer, float_rows(layer), read_label_sets([right, wrong], 6), [x, x])
        assert found[0] is None
        assert "expected a" in found[1]


def test_make_layer_copies_what_scipy_holds_and_dense_copies_the_rest():
    assert make_layer(scipy.sparse.csr_array(DENSE)).sparse is None
    layer = make_layer(sparse())
    assert np.array_equal(layer.dense().weight, DENSE)
    assert layer.dense().dense().sparse is None
