"""Label sets in arrays: what is a sound pair of arrays, and parts of it that are again label sets."""

import numpy as np
import pytest
import scipy.sparse

from labelproof.proof.labels import LabelSets, read_label_set, read_label_sets


def lists(sets):
    return [active.tolist() for active in sets]


GIVEN = [[1, 3], [], [0], [0, 1, 2, 3], [2]]


@pytest.fixture
def sets():
    return read_label_sets(GIVEN, 4)


def test_sets_are_read_by_place_and_in_order(sets):
    assert len(sets) == 5
    assert lists(sets) == GIVEN
    assert sets[3].tolist() == [0, 1, 2, 3]
    assert sets.n_labels == 4


@pytest.mark.parametrize(("start", "stop"), [(0, 5), (1, 4), (2, 2), (3, 5), (0, 0)])
def test_a_slice_holds_the_sets_between(sets, start, stop):
    part = sets.slice(start, stop)
    assert lists(part) == GIVEN[start:stop]
    assert part.is_sound()
    assert part.n_labels == 4


@pytest.mark.parametrize("which", [[], [0], [3, 1, 3], [4, 2]])
def test_sets_are_taken_by_place(sets, which):
    part = sets.take(which)
    assert lists(part) == [GIVEN[i] for i in which]
    assert part.is_sound()
    assert part.indices.dtype == part.indptr.dtype == np.int64


@pytest.mark.parametrize(
    ("indptr", "indices", "sound"),
    [
        ([0, 2, 2, 3], [0, 3, 0], True),
        ([0], [], True),
        ([0, 0, 0], [], True),
        ([0, 1, 2, 3], [3, 2, 0], True),
        ([0, 0, 2], [1, 2], True),
        ([1, 2, 3], [0, 1, 2], False),
        ([0, 2], [0, 1, 2], False),
        ([0, 4], [0, 1, 2], False),
        ([0, 2, 1, 3], [0, 1, 2], False),
        ([0, 2], [1, 1], False),
        ([0, 2], [2, 1], False),
        ([0, 1, 3], [0, 2, 1], False),
        ([0, 2, 3], [1, 0, 2], False),
        ([0, 1], [-1], False),
        ([0, 2], [-1, 2], False),
        ([0, 1], [4], False),
        ([0, 1, 2], [0, 4], False),
    ],
)
def test_arrays_are_sound_if_ends_ascend_and_labels_do_in_each_set(indptr, indices, sound):
    found = LabelSets(4, np.array(indptr), np.array(indices, np.int64)).is_sound()
    assert found is sound


def test_the_same_sets_are_read_from_every_form(sets):
    dense = np.array([[i in active for i in range(4)] for active in GIVEN])
    for form in (
        dense,
        dense.astype(np.int8),
        dense.astype(np.float32),
        scipy.sparse.csc_matrix(dense.astype(int)),
        sets,
    ):
        read = read_label_sets(form, 4)
        assert lists(read) == GIVEN
        assert read.is_sound()
    assert read_label_sets(tuple(GIVEN), 4)[0].tolist() == [1, 3]
    empty = read_label_sets(np.zeros((3, 4)), 4)
    assert lists(empty) == [[], [], []]
    assert lists(read_label_sets([], 4)) == []
    assert lists(read_label_sets(np.zeros((0, 4), np.bool_), 4)) == []


def test_sets_of_another_layer_are_refused(sets):
    with pytest.raises(ValueError, match="labels must be sets of 5 labels to match the weight, got 4"):
        read_label_sets(sets, 5)


def test_reading_a_sparse_matrix_leaves_it_as_it_was():
    matrix = scipy.sparse.csr_matrix((np.array([1, 0, 1]), np.array([3, 0, 1]), np.array([0, 3])), shape=(1, 4))
    assert lists(read_label_sets(matrix, 4)) == [[1, 3]]
    assert (matrix.data.tolist(), matrix.indices.tolist()) == ([1, 0, 1], [3, 0, 1])
    broken = scipy.sparse.csr_matrix((1, 4), dtype=int)
    broken.indptr, broken.indices, broken.data = np.array([0, 1]), np.array([7]), np.array([1])
    with pytest.raises(ValueError, match="indices"):
        read_label_sets(broken, 4)


def test_a_sparse_matrix_that_names_a_label_twice_or_holds_other_numbers_is_refused():
    csr = scipy.sparse.csr_matrix((np.array([1, 0]), np.array([2, 2]), np.array([0, 2])), shape=(1, 4))
    with pytest.raises(ValueError, match="labels must name each label of a set once"):
        read_label_sets(csr, 4)
    with pytest.raises(ValueError, match=r"labels must be 0 or 1, got -1"):
        read_label_sets(scipy.sparse.csr_matrix(np.array([[0, -1, 1, 0]])), 4)
    with pytest.raises(ValueError, match=r"labels must have shape \(n_sets, 4\)"):
        read_label_sets(scipy.sparse.csr_matrix((2, 3), dtype=int), 4)


@pytest.mark.parametrize(
    ("active", "message"),
    [
        ([4], "must hold indices from 0 to 3, got 4"),
        ([0, -1], "must hold indices from 0 to 3, got -1"),
        ([0, 9, 1], "must hold indices from 0 to 3, got 9"),
        ([9, -1], "must hold indices from 0 to 3, got 9"),
        ([0, 2, 2], "must name each label once, got 2 more than once"),
        ([1, 2, 1], "must name each label once, got 1 more than once"),
        ([0.0, 1.0], "must be a list of label indices"),
        ([[0, 1]], "must be a list of label indices"),
        (np.empty((0, 2)), "must be a list of label indices"),
        (3, "must be a list of label indices"),
        ([[1], [1, 2]], "must be a list of label indices"),
        (["0"], "must be a list of label indices"),
    ],
)
def test_one_set_must_be_a_list_of_different_labels(active, message):
    with pytest.raises(ValueError, match=f"^label_set {message}"):
        read_label_set(active, 4)
    with pytest.raises(ValueError, match=f"^mine {message}"):
        read_label_set(active, 4, name="mine")


def test_one_set_is_read_in_ascending_order():
    assert read_label_set([3, 0, 2], 4).tolist() == [0, 2, 3]
    assert read_label_set(np.array([3, 1], np.uint8), 4).dtype == np.int64
    assert read_label_set([], 4).dtype == np.int64
    assert read_label_set((), 4).shape == (0,)


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        (np.zeros((2, 3)), r"labels must have shape \(n_sets, 4\)"),
        (np.zeros(4), r"labels must have shape \(n_sets, 4\)"),
        (np.zeros((1, 4, 1)), r"labels must have shape \(n_sets, 4\)"),
        (np.full((1, 4), 2), "labels must be 0 or 1, got 2"),
        (np.full((1, 4), 0.5), "labels must be 0 or 1, got 0.5"),
        (np.full((1, 4), -1), "labels must be 0 or 1, got -1"),
        (np.full((1, 4), np.nan), "labels must be 0 or 1, got nan"),
        (np.full((1, 4), "0"), "labels must be bool or 0/1, got an array of dtype"),
        (np.full((1, 4), None), "labels must be bool or 0/1, got an array of dtype"),
    ],
)
def test_an_array_must_hold_one_column_for_each_label_and_zeros_and_ones(labels, message):
    with pytest.raises(ValueError, match=message):
        read_label_sets(labels, 4)


@pytest.mark.parametrize(
    ("labels", "expected"),
    [
        ([[0, 2], [], (1,)], [[0, 2], [], [1]]),
        ([[2, 0]], [[0, 2]]),
        ([np.array([2, 0]), [1]], [[0, 2], [1]]),
        ([[np.int32(1), 0]], [[0, 1]]),
        ([], []),
        ([[], []], [[], []]),
        ([range(2)], [[0, 1]]),
    ],
)
def test_lists_are_read_the_same_all_at_once_and_one_by_one(labels, expected):
    found = read_label_sets(labels, 3)
    assert [active.tolist() for active in found] == expected
    assert found.indices.dtype == found.indptr.dtype == np.int64
    assert found.indptr.tolist() == np.cumsum([0, *map(len, expected)]).tolist()


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        ([[0], [3]], r"labels\[1\] must hold indices from 0 to 2, got 3"),
        ([[0], [-1, 1]], r"labels\[1\] must hold indices from 0 to 2, got -1"),
        ([[0], [1, 1]], r"labels\[1\] must name each label once, got 1 more than once"),
        ([[0], [True]], r"labels\[1\] must be a list of label indices"),
        ([[0], [1.0]], r"labels\[1\] must be a list of label indices"),
        ([[0], [[1]]], r"labels\[1\] must be a list of label indices"),
        ([[0], "12"], r"labels\[1\] must be a list of label indices"),
        ([[0], ["1"]], r"labels\[1\] must be a list of label indices"),
        ([[0], [2**70]], r"labels\[1\] must"),
        ([[0], {0, 1}], r"labels\[1\] must be a list of label indices"),
        ([[0], {1: 2}], r"labels\[1\] must be a list of label indices"),
    ],
)
def test_lists_that_are_no_sets_of_labels_are_refused_by_their_place(labels, message):
    with pytest.raises(ValueError, match=message):
        read_label_sets(labels, 3)
