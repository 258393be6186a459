"""Formats of numbers: svmlight, the XMC repository's files, npz and npy."""

import json

import numpy as np
import pytest
import scipy.sparse

from labelproof.data import Limits, iter_examples, load_dataset
from labelproof.errors import DataFormatError

X = np.array([[0.5, 0, 0, 2], [0, 0, 0, 0], [0, 1, 0, 0]])
Y = np.array([[1, 0, 1], [0, 0, 0], [0, 1, 0]])


def write(path, text):
    path.write_text(text, encoding="utf-8")
    return path


# svmlight

SVM = "0,2 0:0.5 3:2 # a comment\n\n# a line of comment\n 2:0\n1 1:1\n"


def test_an_svmlight_file_with_an_example_without_labels(tmp_path):
    data = load_dataset(write(tmp_path / "a.svm", SVM))
    assert data.features.toarray().tolist() == X.tolist()
    assert data.label_sets() == [("0", "2"), (), ("1",)]


def test_tabs_and_other_ways_to_write_a_number_in_svmlight(tmp_path):
    data = load_dataset(write(tmp_path / "a.svm", "1,02\t1:5\n01.0,2. 1:6\n-1,1.5 0:1\n"))
    assert data.label_sets() == [("1", "2"), ("1", "2"), ("-1", "1.5")]
    assert data.features.toarray().tolist() == [[0, 5], [0, 6], [1, 0]]


def test_features_keep_their_numbers_in_every_file(tmp_path):
    train, test = write(tmp_path / "a.svm", "1 1:5 3:6\n"), write(tmp_path / "b.svm", "1 0:4\n")
    data = load_dataset({"train": train, "test": test})
    assert data.features.toarray().tolist() == [[0, 5, 0, 6], [4, 0, 0, 0]]


def test_svmlight_agrees_with_scikit_learn(tmp_path):
    sklearn = pytest.importorskip("sklearn.datasets")
    rng = np.random.default_rng(0)
    features = scipy.sparse.random_array((40, 30), density=0.2, rng=rng, format="csr")
    labels = rng.random((40, 9)) < 0.3
    sklearn.dump_svmlight_file(features, labels, str(tmp_path / "a.svm"), multilabel=True)
    data = load_dataset(tmp_path / "a.svm")
    theirs, sets = sklearn.load_svmlight_file(
        str(tmp_path / "a.svm"), multilabel=True, zero_based=True, dtype=np.float32
    )
    np.testing.assert_array_equal(data.features.toarray(), theirs.toarray())
    assert [tuple(str(int(label)) for label in labels) for labels in sets] == data.label_sets()


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "a.svm: expected examples, got an empty file"),
        ("1 1:2\n1 x:3\n", "a.svm, line 2: expected features as NUMBER:VALUE, got 'x:3'"),
        ("1 1:2 3\n", "line 1: expected features as NUMBER:VALUE, got '3'"),
        ("1 1:2 3: 4:5:6\n", "line 1: expected features as NUMBER:VALUE, got '3:'"),
        ("1 1 2:3:4\n", "line 1: expected features as NUMBER:VALUE, got '1'"),
        ("a,b 1:2\n", "line 1: expected labels as numbers separated by commas, got 'a'"),
        ("1 -1:2\n", "line 1: expected features numbered from 0 to 2147483647, got -1"),
        ("1 1:1e39\n", "line 1: expected features within ±3.4e38, got 1e+39"),
        ("1 2:2 2:3\n", "line 1: expected each feature once"),
    ],
)
def test_bad_svmlight_is_refused(tmp_path, content, message):
    with pytest.raises(DataFormatError) as caught:
        load_dataset(write(tmp_path / "a.svm", content))
    assert message in str(caught.value)


# XMC

ONE_FILE = "3 4 3\n0,2 0:0.5 3:2\n 2:0\n1 1:1\n"


@pytest.mark.parametrize("space", [" ", ""])
def test_one_xmc_file(tmp_path, space):
    data = load_dataset(write(tmp_path / "train.txt", ONE_FILE.replace(" 2:0", f"{space}2:0")))
    assert data.features.toarray().tolist() == X.tolist()
    assert data.labels.toarray().astype(int).tolist() == Y.tolist()


def test_two_xmc_files_and_the_folder_that_holds_them(tmp_path):
    for part in ("trn", "tst"):
        write(tmp_path / f"{part}_X_Xf.txt", "3 4\n0:0.5 3:2\n\n1:1\n")
        write(tmp_path / f"{part}_X_Y.txt", "3 3\n0:1 2:1\n\n1:1\n")
    data = load_dataset((tmp_path / "trn_X_Xf.txt", tmp_path / "trn_X_Y.txt"))
    assert data.features.toarray().tolist() == X.tolist()
    assert data.labels.toarray().astype(int).tolist() == Y.tolist()
    assert load_dataset(tmp_path).split.tolist() == ["train"] * 3 + ["test"] * 3
    streamed = list(iter_examples((tmp_path / "trn_X_Xf.txt", tmp_path / "trn_X_Y.txt")))
    assert streamed[0].labels == ("0", "2")
    write(tmp_path / "trn_X_Y.txt", "3 3\n0:1 2:0\n\n1:1\n")
    assert load_dataset((tmp_path / "trn_X_Xf.txt", tmp_path / "trn_X_Y.txt")).label_sets() == [("0",), (), ("1",)]


@pytest.mark.parametrize(
    ("features", "labels", "message"),
    [
        ("0:1", "0:0.5", "y.txt, line 2: expected labels with the value 0 or 1, got 0.5"),
        ("0:1", "3:1", "y.txt, line 2: expected whole numbers below 3 as labels, got 3"),
        ("0:1", "0", "y.txt, line 2: expected features as NUMBER:VALUE, got '0'"),
        ("4:1", "0:1", "x.txt, line 2: expected features below 4, got 4"),
    ],
)
def test_the_file_of_a_bad_row_is_named(tmp_path, features, labels, message):
    paths = write(tmp_path / "x.txt", f"1 4\n{features}\n"), write(tmp_path / "y.txt", f"1 3\n{labels}\n")
    with pytest.raises(DataFormatError) as caught:
        load_dataset(paths)
    assert message in str(caught.value)


def test_xmc_texts_with_the_titles_of_labels(tmp_path):
    rows = [{"uid": "u", "title": "T", "content": "C", "target_ind": [2, 0]}, {"title": "only", "target_ind": []}]
    path = write(tmp_path / "trn.json", "".join(json.dumps(row) + "\n" for row in rows))
    assert load_dataset(path).label_names == ("0", "2")
    labels = [{"uid": "l0", "title": "cat"}, {"uid": "l1", "title": "same"}, {"uid": "l2", "title": "same"}]
    labels.append({"uid": "l3", "title": None})
    write(tmp_path / "lbl.json", "".join(json.dumps(row) + "\n" for row in labels))
    data = load_dataset(path)
    assert data.label_names == ("cat", "l1", "l2", "l3")
    assert data.label_sets() == [("cat", "l2"), ()]
    assert {*next(iter_examples(path)).labels} == {"cat", "l2"}
    assert data.texts == ("T\n\nC", "only")
    write(tmp_path / "lbl.json", json.dumps(labels[0]))
    with pytest.raises(DataFormatError, match=r"trn\.json, line 1: expected label numbers below 1, got 2"):
        load_dataset(path)
    write(tmp_path / "lbl.json", "".join(json.dumps({**row, "uid": "l"}) + "\n" for row in labels))
    with pytest.raises(DataFormatError, match=r"lbl\.json: expected different uids where titles repeat, got 'l' twice"):
        load_dataset(path)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("3 4 3\n0 1:1\n", "a.txt: expected 3 rows, as the header says, got 1"),
        ("1 4 3\n0 1:1\n1 1:1\n", "a.txt, line 3: expected 1 rows, as the header says, got more"),
        ("1 4 3\n3 1:1\n", "a.txt, line 2: expected whole numbers below 3 as labels, got 3"),
        ("1 4 3\n-1 1:1\n", "a.txt, line 2: expected whole numbers below 3 as labels, got -1"),
        ("1 4 3\n0 4:1\n", "a.txt, line 2: expected features below 4, got 4"),
        ("1 4 3\nx 1:1\n", "a.txt, line 2: expected labels as numbers separated by commas, got 'x'"),
        ("1 4 99999999999\n0 1:1\n", "a.txt, line 1: expected at most 16777216 labels, got 99999999999"),
        ("1 4\n", "a.txt, line 1: expected a header of 3 whole numbers, got '1 4'"),
    ],
)
def test_bad_xmc_is_refused(tmp_path, content, message):
    with pytest.raises(DataFormatError) as caught:
        load_dataset(write(tmp_path / "a.txt", content), format="xmc")
    assert message in str(caught.value)


def test_two_xmc_files_of_different_lengths_are_refused(tmp_path):
    features, labels = write(tmp_path / "x.txt", "1 4\n0:1\n"), write(tmp_path / "y.txt", "2 3\n0:1\n1:1\n")
    with pytest.raises(DataFormatError, match=r"y\.txt, line 1: expected 1 rows to match x\.txt, got 2"):
        load_dataset((features, labels))


def test_xmc_texts_without_targets_are_refused(tmp_path):
    path = write(tmp_path / "trn.json", '{"title": "a", "target_ind": [0]}\n{"title": "a", "target_ind": ["x"]}\n')
    with pytest.raises(DataFormatError, match=r"trn\.json, line 2: expected 'target_ind', a list of label numbers"):
        load_dataset(path)
    with pytest.raises(DataFormatError, match="got an empty file"):
        load_dataset(write(tmp_path / "tst.json", ""), format="xmc-json")


# npz and npy


def test_arrays_under_their_usual_names(tmp_path):
    np.savez(tmp_path / "a.npz", X=X, Y=Y, label_names=np.array(["bird", "cat", "dog"]))
    data = load_dataset(tmp_path / "a.npz")
    assert data.features.tolist() == X.tolist()
    assert data.label_sets() == [("bird", "dog"), (), ("cat",)]


def test_pairs_of_sparse_and_dense_files(tmp_path):
    scipy.sparse.save_npz(tmp_path / "X.trn.npz", scipy.sparse.csr_array(X))
    scipy.sparse.save_npz(tmp_path / "Y.trn.npz", scipy.sparse.csr_array(Y))
    np.save(tmp_path / "Y.npy", Y)
    sparse = load_dataset((tmp_path / "X.trn.npz", tmp_path / "Y.trn.npz"))
    mixed = load_dataset((tmp_path / "X.trn.npz", tmp_path / "Y.npy"))
    assert sparse.features.toarray().tolist() == mixed.features.toarray().tolist() == X.tolist()
    assert sparse.label_sets() == mixed.label_sets() == [("0", "2"), (), ("1",)]
    assert load_dataset(tmp_path / "Y.trn.npz").label_sets() == load_dataset(tmp_path / "Y.npy").label_sets()
    np.savez(tmp_path / "Y.npz", Y)
    assert load_dataset((tmp_path / "X.trn.npz", tmp_path / "Y.npz")).label_sets() == mixed.label_sets()
    assert load_dataset(tmp_path / "Y.npz").label_sets() == mixed.label_sets()


@pytest.mark.parametrize("name", ["Y.npz", "Y.npy"])
def test_a_folder_is_no_matrix(tmp_path, name):
    np.save(tmp_path / "X.npy", X)
    (tmp_path / name).mkdir()
    with pytest.raises(DataFormatError, match=rf"{name}: expected a file, got a folder"):
        load_dataset((tmp_path / "X.npy", tmp_path / name))


def test_bad_arrays_are_refused(tmp_path):
    def refused(message, path="a.npz", **options):
        with pytest.raises(DataFormatError) as caught:
            load_dataset(tmp_path / path, **options)
        assert message in str(caught.value)

    np.savez(tmp_path / "a.npz", X=X, other=Y)
    refused("a.npz: expected an array 'labels' or 'Y', got X, other")
    np.savez(tmp_path / "a.npz", X=X, Y=2 * Y)
    refused("a.npz: labels must be 0 or 1, got 2")
    np.savez(tmp_path / "a.npz", X=X[:1], Y=Y)
    refused("a.npz: features must hold 3 examples to match labels, got 1")
    np.savez(tmp_path / "a.npz", X=X[:, 0], Y=Y)
    refused("a.npz: features must be numbers of shape (n_examples, n_features), got float64 of shape (3,)")
    np.savez(tmp_path / "a.npz", X=np.where(X > 1, np.inf, X), Y=Y)
    refused("a.npz: expected features that are finite, or NaN where one is missing, got inf")
    np.savez(tmp_path / "a.npz", Y=Y, texts=np.array([["a"]] * 3))
    refused("a.npz: expected texts of one dimension, got shape (3, 1)")
    np.savez(tmp_path / "a.npz", Y=Y, texts_bytes=np.frombuffer(b"abc", np.uint8), texts_ends=np.array([2, 1, 3]))
    refused("a.npz: damaged, or not a file of this kind (texts_ends must ascend to 3)")
    np.savez(tmp_path / "a.npz", Y=Y[0])
    refused("a.npz: expected labels of shape (n_examples, n_labels), got (3,)")
    np.savez(tmp_path / "a.npz", Y=np.array([{}], dtype=object))
    refused("a.npz: Y: expected plain numbers, got pickled Python objects, which are not read")
    np.savez_compressed(tmp_path / "a.npz", Y=np.zeros((2000, 1000), np.int8))
    refused("bytes of arrays", limits=Limits(free_bytes=1000))
    scipy.sparse.save_npz(tmp_path / "a.npz", scipy.sparse.csc_array(Y))
    refused("a.npz: expected a sparse matrix in CSR form, got")
    scipy.sparse.save_npz(tmp_path / "a.npz", scipy.sparse.csr_array((1, 2**40)))
    refused("a.npz: expected at most 16777216 labels, got 1099511627776")
    (tmp_path / "a.npz").write_bytes(b"PK nothing")
    refused("a.npz: damaged, or not a file of this kind")
    packed = (tmp_path / "Y.npy", np.save(tmp_path / "Y.npy", Y))[0].read_bytes()
    (tmp_path / "Y.npy").write_bytes(packed[:-5])
    refused("Y.npy: expected 72 bytes for shape (3, 3), got 67", "Y.npy")
    np.savez(tmp_path / "b.npz", a=X, b=Y)
    with pytest.raises(DataFormatError, match=r"b\.npz: expected one matrix, got a, b"):
        load_dataset((tmp_path / "b.npz", tmp_path / "b.npz"))


def test_a_sparse_matrix_that_points_outside_is_refused(tmp_path):
    good = scipy.sparse.csr_array(Y)
    parts = {"indices": good.indices + 7, "indptr": good.indptr, "data": good.data, "shape": good.shape}
    np.savez(tmp_path / "a.npz", format=b"csr", **parts)
    with pytest.raises(DataFormatError, match=r"a\.npz: damaged"):
        load_dataset(tmp_path / "a.npz")
