"""What a data set promises: its parts stay together, its labels have names, nothing is changed in place."""

import numpy as np
import pytest
import scipy.sparse

from labelproof.data import Dataset, Example, SparseRow, collect, join_parts

Y = np.array([[1, 0, 0], [1, 1, 0], [0, 0, 0], [0, 1, 1]])
NAMES = ("bird", "cat", "dog")


def animals(**changes):
    given = {
        "labels": scipy.sparse.csr_array(Y),
        "label_names": NAMES,
        "texts": ("a", "b", "c", "d"),
        "features": np.arange(8.0).reshape(4, 2),
        "split": np.array(["train", "train", "test", "test"]),
        "groups": np.array(["g", "h", "g", "i"]),
    }
    return Dataset(**{**given, **changes})


def test_an_example_without_labels_is_kept():
    data = animals()
    assert len(data) == 4
    assert data.label_sets()[2] == ()


def test_selected_rows_keep_what_belongs_together():
    chosen = animals().select([3, 0])
    assert chosen.texts == ("d", "a")
    assert chosen.labels.toarray().tolist() == Y[[3, 0]].tolist()
    assert chosen.features.tolist() == [[6, 7], [0, 1]]
    assert chosen.groups.tolist() == ["i", "g"]


def test_rows_may_be_a_mask_or_a_slice():
    data = animals()
    assert data.select(data.split == "test").texts == data.select(slice(2, None)).texts == data.part("test").texts


def test_a_part_that_is_not_there_is_named():
    with pytest.raises(ValueError, match=r"a part of the split \(train, test\), got 'valid'"):
        animals().part("valid")


def test_labels_are_those_of_the_names_given_in_their_order():
    data = animals().restrict_to(["dog", "fish", "cat", "bird"])
    assert data.labels.toarray().tolist() == [[0, 0, 0, 1], [0, 0, 1, 1], [0, 0, 0, 0], [1, 0, 1, 0]]
    assert dict(data.dropped) == {}


def test_an_unknown_label_is_an_error_that_names_it_or_is_counted():
    with pytest.raises(ValueError, match="got 'bird' in example 0"):
        animals().restrict_to(["cat", "dog"])
    data = animals().restrict_to(["cat", "dog"], unknown="drop")
    assert data.dropped == {"bird": 2}
    assert len(data) == 4
    with pytest.raises(ValueError, match="'error' or 'drop', got 'ignore'"):
        animals().restrict_to(["cat"], unknown="ignore")


def test_dropped_labels_add_up():
    data = animals().restrict_to(["cat", "dog"], unknown="drop").restrict_to(["cat"], unknown="drop")
    assert data.dropped == {"bird": 2, "dog": 1}


def test_the_training_part_alone_fixes_the_vocabulary():
    assert animals().drop_rare_labels(1).label_names == ("bird", "cat")
    assert animals().drop_rare_labels(2).label_names == ("bird",)
    assert animals(split=None).drop_rare_labels(2).label_names == ("bird", "cat")
    with pytest.raises(ValueError, match="b must be at least 1, got 0"):
        animals().drop_rare_labels(0)


def test_methods_change_nothing_in_place():
    data = animals()
    data.drop_rare_labels(2)
    data.with_labels(np.zeros((4, 1)), ["x"])
    assert data.with_split(["a"] * 4).parts == ("a",)
    assert data.labels.toarray().tolist() == Y.tolist()
    assert data.parts == ("train", "test")


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"labels": -Y}, "labels must be 0 or 1, got -1"),
        ({"label_names": ("a", "b")}, "label_names must hold 3 names to match labels, got 2"),
        ({"label_names": ("a", "b", "a")}, "label_names must differ, got 'a' more than once"),
        ({"texts": ("a",)}, "texts must hold 4 examples to match labels, got 1"),
        ({"features": np.zeros((3, 2))}, "features must hold 4 examples to match labels, got 3"),
        ({"features": np.zeros(4)}, r"features must be numbers of shape .*, got float64 of shape \(4,\)"),
        ({"features": np.array([["a"]] * 4)}, r"features must be numbers of shape .*, got <U1 of shape \(4, 1\)"),
        ({"split": "train"}, "split must hold 4 examples to match labels, got 1"),
        ({"split": np.array(["train"])}, "split must hold 4 examples to match labels, got 1"),
        ({"feature_names": ("a",)}, "feature_names must hold 2 names, got 1"),
        ({"labels": Y[0]}, "labels must have shape"),
    ],
)
def test_what_does_not_fit_is_refused(changes, message):
    with pytest.raises(ValueError, match=message):
        animals(**changes)


def test_entries_of_zero_and_duplicates_in_a_sparse_matrix_do_not_count():
    messy = scipy.sparse.csr_array((np.array([1, 1, 0]), np.array([2, 2, 0]), np.array([0, 3])), shape=(1, 3))
    assert Dataset(messy, NAMES).label_sets() == [("dog",)]


def test_features_may_be_a_list_or_any_sparse_matrix():
    assert animals(features=[[1], [2], [3], [4]]).n_features == 1
    matrix = scipy.sparse.coo_array(np.eye(4))
    assert animals(features=matrix).select([2]).features.toarray().tolist() == [[0, 0, 1, 0]]


def test_a_matrix_that_is_given_stays_as_it_is():
    messy = scipy.sparse.csr_array((np.array([1.0, 2, 3]), np.array([1, 0, 1]), np.array([0, 3])), shape=(1, 2))
    assert Dataset([[1]], ("a",), features=messy).features.data.tolist() == [2, 4]
    assert messy.indices.tolist() == [1, 0, 1]


# Gathering examples


def test_labels_come_in_their_natural_order_after_those_that_are_fixed():
    examples = [Example(("10", "9")), Example(("2",))]
    assert collect(examples).label_names == ("2", "9", "10")
    assert collect(examples, label_names=["9", "1"]).label_names == ("9", "1", "2", "10")
    assert collect(examples, label_names=["9", "1"]).label_sets() == [("9", "10"), ("2",)]


def test_a_label_twice_in_one_example_counts_once():
    assert collect([Example(("a", "a"))]).labels.sum() == 1


def test_sparse_rows_become_one_matrix():
    rows = [SparseRow(np.array([4, 1]), np.array([2.0, 3.0], np.float32)), SparseRow(np.array([], int), np.array([]))]
    data = collect([Example((), features=row) for row in rows], n_features=7)
    assert data.features.toarray().tolist() == [[0, 3, 0, 0, 2, 0, 0], [0] * 7]


def test_features_of_different_lengths_are_refused():
    with pytest.raises(ValueError, match="features must have 2 values in every example, got 3 values in example 1"):
        collect([Example((), features=np.zeros(2)), Example((), features=np.zeros(3))])


def test_a_text_that_only_some_examples_have_is_refused():
    with pytest.raises(ValueError, match="examples must all have a text or none, got 1 of 2"):
        collect([Example((), text="a"), Example(())])


# Parts


def test_parts_are_joined_over_all_their_labels():
    train = Dataset(np.array([[1]]), ("cat",), features=scipy.sparse.csr_array([[1.0]]))
    test = Dataset(np.array([[1, 1]]), ("dog", "cat"), features=scipy.sparse.csr_array([[0.0, 2.0]]))
    both = join_parts({"train": train, "test": test})
    assert both.label_sets() == [("cat",), ("cat", "dog")]
    assert both.features.toarray().tolist() == [[1, 0], [0, 2]]
    assert both.parts == ("train", "test")


def test_what_was_dropped_from_the_parts_adds_up():
    part = animals(split=None).restrict_to(["cat", "dog"], unknown="drop")
    assert join_parts({"train": part, "test": part}).dropped == {"bird": 4}


def test_features_keep_their_names_if_one_part_has_none():
    named, plain = (animals(feature_names=names) for names in (("x", "y"), None))
    assert join_parts({"train": plain, "test": named}).feature_names == ("x", "y")


@pytest.mark.parametrize(
    ("first", "second", "message"),
    [
        ({"texts": ("a",)}, {}, "parts must all have texts or none"),
        ({"features": np.zeros((1, 2))}, {"features": np.zeros((1, 3))}, r"same number of features, got \[2, 3\]"),
        ({"features": np.zeros((1, 2))}, {}, "all have dense features"),
        (
            {"features": np.zeros((1, 1)), "feature_names": ("x",)},
            {"features": np.zeros((1, 1)), "feature_names": ("y",)},
            "same features in the same order, got 'x' and 'y'",
        ),
        (
            {"features": scipy.sparse.csr_array((1, 1)), "feature_names": ("x",)},
            {"features": scipy.sparse.csr_array((1, 2)), "feature_names": ("x", "y")},
            "same features in the same order, got 'nothing' and 'y'",
        ),
    ],
)
def test_parts_that_do_not_fit_are_refused(first, second, message):
    one, other = (Dataset(np.array([[1]]), ("cat",), **fields) for fields in (first, second))
    with pytest.raises(ValueError, match=message):
        join_parts({"train": one, "test": other})


def test_no_parts_are_refused():
    with pytest.raises(ValueError, match="at least one"):
        join_parts({})
