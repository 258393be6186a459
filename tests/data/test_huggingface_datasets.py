"""Objects of the `datasets` library as it is: tables, streams, several parts, and class names in every form."""

import numpy as np
import pytest

import labelproof as lp
from labelproof.data import iter_examples
from labelproof.errors import DataFormatError

datasets = pytest.importorskip("datasets", reason="the package datasets is not installed")

TEXTS = ["a robin", "a cat eyes a robin", "a stone"]
NAMES = ["bird", "cat", "dog"]


def table(labels, feature):
    features = datasets.Features({"text": datasets.Value("string"), "labels": feature})
    return datasets.Dataset.from_dict({"text": TEXTS, "labels": labels}, features=features)


def lists_of_classes():
    return table([[0], [0, 1], []], datasets.List(datasets.ClassLabel(names=NAMES)))


def test_lists_of_classes_get_the_names_of_all_classes():
    data = lp.load_dataset(lists_of_classes())
    assert data.texts == tuple(TEXTS)
    assert data.label_names == tuple(NAMES)
    assert np.array_equal(data.labels.toarray(), [[1, 0, 0], [1, 1, 0], [0, 0, 0]])


def test_lists_of_names_need_no_classes():
    data = lp.load_dataset(table([["bird"], ["bird", "cat"], []], datasets.List(datasets.Value("string"))))
    assert data.label_names == ("bird", "cat")


def test_one_class_is_a_set_of_one():
    data = lp.load_dataset(table([0, 1, -1], datasets.ClassLabel(names=NAMES)))
    assert np.array_equal(data.labels.toarray(), [[1, 0, 0], [0, 1, 0], [0, 0, 0]])


def test_parts_are_those_of_the_dictionary():
    data = lp.load_dataset(datasets.DatasetDict({"train": lists_of_classes(), "test": lists_of_classes()}))
    assert data.parts == ("train", "test")
    assert len(data) == 6
    assert data.label_names == tuple(NAMES)


def test_a_stream_is_read_like_a_table():
    stream = lists_of_classes().to_iterable_dataset()
    assert [example.labels for example in iter_examples(stream)] == [("bird",), ("bird", "cat"), ()]
    assert lp.load_dataset(stream).label_names == tuple(NAMES)


def test_columns_of_zeros_and_ones_are_labels():
    rows = {"comment": TEXTS, "rude": [0, 1, 0], "mad": [0, 0, 0], "kind": [1, 1, 0]}
    data = lp.load_dataset(datasets.Dataset.from_dict(rows), text="comment", labels=["rude", "mad", "kind"])
    assert data.label_names == ("rude", "mad", "kind")
    assert np.array_equal(data.labels.toarray(), [[0, 0, 1], [1, 0, 1], [0, 0, 0]])


def test_a_missing_column_is_named():
    with pytest.raises(DataFormatError, match="comment"):
        lp.load_dataset(lists_of_classes(), text="comment")
