"""Features are held as they are, dense or sparse, in blocks of any size, and refused where they are none."""

import hashlib
import struct
from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp

from labelproof.proof import examples as module
from labelproof.proof.examples import each_row, read_examples

FEATURES = np.array([[1.0, 0.0, -3.0], [0.0, 0.0, 2.0], [-0.5, 0.0, 0.0], [0.0, 0.0, 7.0], [2.0, 0.0, 0.0]])
both = pytest.mark.parametrize("make", [np.array, sp.csr_matrix, sp.coo_array], ids=["dense", "csr", "coo"])


@both
@pytest.mark.parametrize("numbers", [1, 3, 4, 6, 7, 9, 2**22])
def test_features_are_the_same_in_blocks_of_any_size(make, numbers, monkeypatch):
    monkeypatch.setattr(module, "BLOCK_NUMBERS", numbers)
    examples = read_examples(make(FEATURES), 3)
    assert (len(examples), examples.d) == (5, 3)
    assert examples.is_sparse == sp.issparse(make(FEATURES))
    np.testing.assert_allclose(examples.centre, FEATURES.mean(axis=0))
    assert examples.largest.tolist() == [2.0, 0.0, 7.0]
    assert examples.constant.tolist() == [False, True, False]
    assert examples.terms == (2 if examples.is_sparse else 3)
    taken = examples.take(np.array([3, 0]))
    assert taken.dtype == np.float64
    assert taken.tolist() == FEATURES[[3, 0]].tolist()
    blocks = [block.toarray() if examples.is_sparse else block for block in examples.blocks()]
    assert np.vstack(blocks).tolist() == FEATURES.tolist()
    width = 1 if examples.is_sparse else 3
    assert {len(block) for block in blocks[:-1]} <= {max(1, numbers // width)}
    vectors = np.array([[1.0, -1.0], [5.0, 5.0], [0.5, 1.0]])
    assert examples.largest_products(vectors).tolist() == (FEATURES @ vectors).max(axis=0).tolist()
    assert examples.largest_products(-np.ones((3, 1))).tolist() == [2.0]
    assert examples.centre_fault() is None


def test_a_block_has_four_million_numbers():
    assert module.BLOCK_NUMBERS == 4194304


def test_the_hash_is_of_the_numbers_not_of_their_type():
    packed = struct.pack("<15d", *FEATURES.ravel().tolist())
    expected = hashlib.sha256(b"5 3 " + packed).hexdigest()
    for form in (FEATURES, FEATURES.astype(np.float32), FEATURES.astype(np.float16), np.asfortranarray(FEATURES)):
        assert read_examples(form, 3).sha256 == expected
    assert read_examples(np.where(FEATURES == 0, -0.0, FEATURES), 3).sha256 == expected
    csr = sp.csr_matrix(FEATURES)
    ends, places = csr.indptr.tolist(), csr.indices.tolist()
    packed = struct.pack(f"<{len(ends)}q{len(places)}q{csr.nnz}d", *ends, *places, *csr.data.tolist())
    expected = hashlib.sha256(b"csr 5 3 " + packed).hexdigest()
    zeros = sp.csr_matrix((np.append(csr.data, 0.0), np.append(csr.indices, 1), np.append(csr.indptr[:-1], 7)))
    halves = sp.coo_matrix(
        (np.tile(csr.data / 2, 2), (np.tile(csr.nonzero()[0], 2), np.tile(csr.nonzero()[1], 2))), shape=(5, 3)
    )
    for form in (csr, sp.csc_array(FEATURES), csr.astype(np.float32), zeros, halves):
        assert read_examples(form, 3).sha256 == expected
    assert read_examples(csr * 2, 3).sha256 != expected
    assert read_examples(sp.csr_matrix(FEATURES[::-1]), 3).sha256 != expected
    moved = sp.csr_matrix((csr.data, [0, 1, 2, 0, 2, 0], csr.indptr), shape=(5, 3))
    assert read_examples(moved, 3).sha256 != expected


def test_a_column_is_constant_if_it_is_the_centre_s():
    features = np.full((7, 2), 0.1)
    features[3, 1] = 0.2
    examples = read_examples(features, 2)
    assert examples.constant.tolist() == [True, False]
    assert examples.centre[0] == 0.1  # though seven times 0.1 over 7 may be another float
    assert read_examples(features, 2, centre=np.array([0.1, 0.1])).constant.tolist() == [True, False]
    assert read_examples(features, 2, centre=np.array([np.nextafter(0.1, 1), 0.1])).constant.tolist() == [False, False]
    assert read_examples(sp.csr_matrix([[0.0, 1.0], [0.0, 2.0]]), 2).constant.tolist() == [True, False]
    assert read_examples(sp.csr_matrix([[0.0, 1.0], [1.0, 1.0]]), 2).constant.tolist() == [False, True]
    assert not np.signbit(read_examples(np.array([[-0.0, 1.0]]), 2).centre).any()
    assert not np.signbit(read_examples(np.array([[0.0]]), 1, centre=np.array([-0.0])).centre).any()
    assert read_examples(np.array([[-5.0, 1.0], [2.0, 3.0]]), 2).largest.tolist() == [5.0, 3.0]


@both
def test_a_centre_is_the_mean_to_nine_digits(make):
    examples = read_examples(make(FEATURES), 3)
    for sign in (1, -1):
        for k, largest in ((0, 2.0), (2, 7.0)):
            step = np.zeros(3)
            step[k] = sign * largest * 1e-9
            assert replace(examples, centre=examples.centre + 0.99 * step).centre_fault() is None
            fault = replace(examples, centre=examples.centre + 1.01 * step).centre_fault()
            assert fault.startswith(
                f"expected the mean of the features as centre, {examples.centre[k]} for feature {k}"
            )
    off = replace(examples, centre=np.array([0.5, 1e-300, 9.0])).centre_fault()
    assert off == "expected the mean of the features as centre, 0.0 for feature 1, got 1e-300"
    assert "feature 2" in replace(examples, centre=np.array([0.5, 0.0, np.nan])).centre_fault()


def test_features_whose_mean_overflows_have_none():
    examples = read_examples(np.full((3, 1), 1.5e308) * [[1], [1], [0.5]], 1, centre=np.array([1.25e308]))
    assert "expected the mean" in examples.centre_fault()


@pytest.mark.parametrize(
    ("features", "message"),
    [
        (np.ones(3), r"^x must have shape \(n_examples, 3\) to match the weight, got \(3,\)$"),
        (np.ones((2, 4)), r"^x must have shape \(n_examples, 3\) to match the weight, got \(2, 4\)$"),
        (np.ones((0, 3)), r"^x must have shape \(n_examples, 3\) to match the weight, got \(0, 3\)$"),
        (np.ones((2, 3, 1)), r"^x must have shape"),
        (sp.csr_matrix((0, 3)), r"^x must have shape"),
        (sp.csr_matrix((2, 4)), r"^x must have shape"),
        ([[1.0, 2.0, 3.0], [1.0]], r"^x must be an array, got rows of different lengths$"),
        (
            np.ones((2, 3), np.int64),
            r"^x must hold floats of at most 64 bits \(or integers of at most 32\), got int64$",
        ),
        (np.ones((2, 3), np.uint64), "got uint64$"),
        (np.ones((2, 3), np.longdouble), "got float128$|got longdouble$"),
        (np.ones((2, 3), np.complex64), "got complex64$"),
        (np.array([["a", "b", "c"]]), "got <U1$"),
        (sp.csr_matrix(np.ones((2, 3), np.int64)), "got int64$"),
        (np.array([[0, 0, 0], [0, 0, np.nan]]), "^x must be finite, got nan in row 1, column 2$"),
        (sp.csr_matrix([[0, 0, 0], [0, np.inf, np.nan]]), "^x must be finite, got inf in row 1, column 1$"),
    ],
    ids=str,
)
def test_features_that_are_none_are_refused(features, message):
    with pytest.raises(ValueError, match=message):
        read_examples(features, 3, name="x")


def test_what_is_not_finite_is_found_in_its_block(monkeypatch):
    monkeypatch.setattr(module, "BLOCK_NUMBERS", 4)
    features = np.ones((5, 2))
    features[3, 1] = -np.inf
    for form in (features, sp.csr_matrix(features)):
        with pytest.raises(ValueError, match=r"^features must be finite, got -inf in row 3, column 1$"):
            read_examples(form, 2)
    monkeypatch.setattr(module, "BLOCK_NUMBERS", 6)
    features = np.ones((7, 3))
    features[5, 0] = np.nan
    for form in (features, sp.csr_matrix(features)):
        with pytest.raises(ValueError, match=r"^features must be finite, got nan in row 5, column 0$"):
            read_examples(form, 3)


def test_features_that_are_almost_all_zero_make_one_block():
    features = sp.csr_matrix([[0.0], [0.0], [1.0]])
    assert [block.shape for block in read_examples(features, 1).blocks()] == [(3, 1)]


def test_numbers_of_a_sparse_matrix_at_one_place_are_added():
    twice = sp.csr_matrix(([0.5, 3.0, 0.5], [1, 0, 1], [0, 3, 3]), shape=(2, 2))
    once = read_examples(sp.csr_matrix([[3.0, 1.0], [0.0, 0.0]]), 2)
    assert read_examples(twice, 2).sha256 == once.sha256
    assert read_examples(twice, 2).terms == once.terms == 2


def test_a_mean_of_small_floats_is_taken_in_double_precision():
    features = np.array([[2.0**24], [1.0]], np.float32)
    assert read_examples(features, 1).centre.tolist() == [2.0**23 + 0.5]


def test_rows_are_the_same_if_and_only_if_their_features_are():
    features = np.array([[1.0, 0.0], [0.0, 1.0], [1.0, -0.0], [2.0, 0.0], [1e-20, 0.0], [2e-20, 0.0], [0.0, 1.0]])
    for form in (features, sp.csr_matrix(features)):
        rows = [row.tobytes() for row in each_row(read_examples(form, 2))]
        assert len(rows) == 7
        assert (rows[0], rows[1]) == (rows[2], rows[6])
        assert len(set(rows)) == 5


@pytest.mark.parametrize("dtype", [np.bool_, np.int8, np.uint32, np.int32, np.float16, np.float32, ">f8"])
def test_types_that_doubles_hold_are_taken(dtype):
    features = np.array([[1, 0], [0, 1]], dtype)
    native = features.astype(features.dtype.newbyteorder("="))
    for form in [features] if dtype is np.float16 else [features, sp.csr_matrix(native)]:  # scipy has no float16
        examples = read_examples(form, 2)
        assert examples.centre.tolist() == [0.5, 0.5]
        assert examples.take(np.array([1])).tolist() == [[0.0, 1.0]]


@pytest.mark.parametrize("index", [3, 10**6, -1])
def test_sparse_features_with_places_out_of_range_are_refused(index):
    matrix = sp.csr_matrix(FEATURES)
    matrix.indices[2] = index
    with pytest.raises(ValueError, match=r"^features must be a sparse matrix in order, got one whose "):
        read_examples(matrix, 3)


def test_the_matrix_that_was_given_stays_as_it_was():
    data = np.array([1.0, 0.0, 2.0, 3.0])
    matrix = sp.csr_matrix((data, [1, 0, 0, 0], [0, 2, 4]), shape=(2, 2))
    read_examples(matrix, 2)
    assert matrix.indices.tolist() == [1, 0, 0, 0]
    assert matrix.data.tolist() == [1.0, 0.0, 2.0, 3.0]


def test_mapped_features_are_not_copied(tmp_path):
    np.save(tmp_path / "f.npy", FEATURES)
    mapped = np.load(tmp_path / "f.npy", mmap_mode="r")
    assert isinstance(read_examples(mapped, 3).features, np.memmap)
