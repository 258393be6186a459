"""ARFF and svmlight files are read many rows at a time; what comes out, and what is refused, is as row by row."""

import numpy as np
import pytest
import scipy.sparse
from sklearn.svm import LinearSVC

from labelproof.data import iter_examples, load_dataset, save_dataset
from labelproof.data.examples import collect
from labelproof.errors import DataFormatError

ROWS = 1100  # of which two blocks are full and one is not


def header(width, n_labels=3, kind="numeric"):
    labels = "".join(f"@attribute l{i} {{0,1}}\n" for i in range(n_labels))
    return (
        f"@relation 'x: -C {n_labels}'\n{labels}"
        + "".join(f"@attribute f{i} {kind}\n" for i in range(width))
        + "@data\n"
    )


def dense_rows(rng):
    def cell(value):
        return rng.choice(["?", f" {value!r}", f"{value:.3e}", "-0", "1e-310"]) if rng.random() < 0.1 else repr(value)

    for y, x in zip(rng.integers(0, 2, (ROWS, 3)), rng.normal(size=(ROWS, 4)).tolist(), strict=True):
        yield ",".join([*map(str, y), *map(cell, x)])


def sparse_rows(rng):
    for _ in range(ROWS):
        places = rng.permutation(9)[: rng.integers(0, 7)]
        gap = rng.choice([",", ", ", " ,"])
        yield "{" + gap.join(f"{i} {1 if i < 3 else rng.choice(['?', '0.25', '-3e2'])}" for i in places) + "}"


def svm_rows(rng):
    for _ in range(ROWS):
        labels = ",".join(map(str, rng.permutation(5)[: rng.integers(0, 4)]))
        features = " ".join(f"{i}:{rng.choice(['1', '0.25', 'nan', '-3e2'])}" for i in rng.permutation(9)[:5])
        yield f"{labels}{rng.choice([' ', chr(9)])}{features}{rng.choice(['', '  ', ' # 7:x'])}"


def same(one, other):
    assert one.label_names == other.label_names
    assert (one.labels != other.labels).nnz == 0
    X, Z = (data.features.toarray() if scipy.sparse.issparse(data.features) else data.features for data in (one, other))
    np.testing.assert_array_equal(X, Z)
    assert X.dtype == Z.dtype == np.float32


@pytest.mark.parametrize("rows", [dense_rows, sparse_rows])
def test_arff_is_the_same_in_blocks_as_row_by_row(tmp_path, rows):
    path = tmp_path / "a.arff"
    path.write_text(header(4 if rows is dense_rows else 6) + "% so\n\n" + "\n".join(rows(np.random.default_rng(0))))
    data = load_dataset(path)
    width = data.n_features
    same(data, collect(iter_examples(path), label_names=("l0", "l1", "l2"), n_features=width))
    assert len(data) == ROWS
    assert np.isnan(data.features.data).any()  # missing values are let through


def test_svmlight_is_the_same_in_blocks_as_row_by_row(tmp_path):
    path = tmp_path / "a.svm"
    path.write_text("\n".join(svm_rows(np.random.default_rng(0))) + "\n")
    same(load_dataset(path), collect(iter_examples(path)))


def test_labels_between_features_keep_their_places(tmp_path):
    path = tmp_path / "a.arff"
    path.write_text(
        "@relation x\n@attribute a numeric\n@attribute u {0,1}\n@attribute b {0,1}\n@attribute v {0,1}\n@data\n"
        "5,1,0,0\n6,0,1,1\n"
    )
    (tmp_path / "a.xml").write_text('<labels><label name="v"/><label name="u"/></labels>')
    data = load_dataset(path)
    assert data.label_sets() == [("u",), ("v",)]
    assert data.feature_names == ("a", "b")
    assert data.features.tolist() == [[5, 0], [6, 1]]


def test_quoted_numbers_in_one_block_change_nothing(tmp_path):
    path = tmp_path / "a.arff"
    rows = ["1,0,0,0.5"] * 600
    rows[550] = "'1',0,0,'0.5'"
    path.write_text(header(1) + "\n".join(rows))
    assert load_dataset(path).features.ravel().tolist() == [0.5] * 600


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ("1,0,0", "expected 4 values, got 3"),
        ("1,0,0,1,2", "expected 4 values, got 5"),
        ("1,0,0,x", "expected a number for 'f0', got 'x'"),
        ("1,0,0,?x", "expected a number for 'f0', got '?x'"),
        ("1,0,0,", "expected a number for 'f0', got ''"),
        ("1,0,2,1", "expected 0 or 1 for the label 'l2', got '2'"),
        ("1,0,?,1", "expected 0 or 1 for the label 'l2', got '?'"),
        ("1,0,0,1e39", "expected features within ±3.4e38, got 1e+39"),
        ("1,0,0,inf", "expected features within ±3.4e38, got inf"),
        ("1,0,0,'1", "expected a closing ', got the end of the line"),
    ],
)
@pytest.mark.parametrize("place", [0, 700])
def test_a_bad_dense_row_is_named_by_its_line(tmp_path, row, message, place):
    path = tmp_path / "a.arff"
    rows = ["1,0,0,0.5"] * 1000
    rows[place] = row
    path.write_text(header(1) + "\n".join(rows))
    with pytest.raises(DataFormatError) as caught:
        load_dataset(path)
    assert str(caught.value) == f"a.arff, line {place + 7}: {message}"


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ("{0 1,3 1 2,4}", "expected a number for 'f0', got '1 2'"),
        ("{0 1,3 1", "expected a row that ends in }, got one cut short"),
        ("{0 1,9 1}", "expected an attribute's number from 0 to 4, got '9'"),
        ("{0 1,-1 1}", "expected an attribute's number from 0 to 4, got '-1'"),
        ("{3 1,0 1,3 2}", "expected each attribute once in a sparse row, got 3 twice"),
        ("{3}", "expected a number for 'f0', got ''"),
        ("{0 2}", "expected 0 or 1 for the label 'l0', got '2'"),
        ("{0 ?}", "expected 0 or 1 for the label 'l0', got '?'"),
        ("{3 1e39}", "expected features within ±3.4e38, got 1e+39"),
        ("{3 1,}", "expected an attribute's number from 0 to 4, got ''"),
    ],
)
def test_a_bad_sparse_row_is_named_by_its_line(tmp_path, row, message):
    path = tmp_path / "a.arff"
    path.write_text(header(2) + "\n".join(["{0 1,3 0.5}"] * 600 + [row]))
    with pytest.raises(DataFormatError) as caught:
        load_dataset(path)
    assert str(caught.value) == f"a.arff, line 608: {message}"


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ("1 3:0.5 8", "expected features as NUMBER:VALUE, got '8'"),
        ("1 3 0.5:8:1", "expected features as NUMBER:VALUE, got '3'"),
        ("1 3: 5:1", "expected features as NUMBER:VALUE, got '3:'"),
        ("1 3:1 3:2", "expected each feature once, got one twice"),
        ("1 -3:1", "expected features numbered from 0 to 2147483647, got -3"),
        ("1 99999999999:1", "expected features numbered from 0 to 2147483647, got 99999999999"),
        ("1,a 3:1", "expected labels as numbers separated by commas, got 'a'"),
        ("1 3:1e39", "expected features within ±3.4e38, got 1e+39"),
    ],
)
def test_a_bad_svmlight_row_is_named_by_its_line(tmp_path, row, message):
    path = tmp_path / "a.svm"
    path.write_text("\n".join(["1,2 3:0.5"] * 600 + [row]) + "\n")
    with pytest.raises(DataFormatError) as caught:
        load_dataset(path)
    assert str(caught.value) == f"a.svm, line 601: {message}"


def test_dense_and_sparse_rows_in_one_file_are_refused(tmp_path):
    path = tmp_path / "a.arff"
    path.write_text(header(1) + "1,0,0,2\n{3 1}\n")
    with pytest.raises(DataFormatError, match="features must have 1 values in every example, got sparse rows"):
        load_dataset(path)


def test_indices_are_narrow_wherever_they_come_from(tmp_path):
    """scikit-learn's liblinear refuses indices of 64 bits."""
    wide = scipy.sparse.csr_array(np.eye(6, 4))
    wide.indices, wide.indptr = wide.indices.astype(np.int64), wide.indptr.astype(np.int64)
    labels = scipy.sparse.csr_array(np.eye(6, 2, dtype=bool))
    scipy.sparse.save_npz(tmp_path / "X.npz", wide)
    scipy.sparse.save_npz(tmp_path / "Y.npz", labels)
    pair = load_dataset((tmp_path / "X.npz", tmp_path / "Y.npz"))
    (tmp_path / "train.svm").write_text("1 0:1 3:2\n0 1:1\n")
    (tmp_path / "test.svm").write_text("1 0:1 3:2\n")
    (tmp_path / "a.arff").write_text(header(2) + "{0 1,3 2}\n{4 1}\n")
    (tmp_path / "a.jsonl").write_text('{"features": {"indices": [0, 3], "values": [1, 2]}, "labels": ["a"]}\n' * 2)
    save_dataset(pair, tmp_path / "own.npz")
    parts = load_dataset({"train": tmp_path / "train.svm", "test": tmp_path / "test.svm"})
    others = [load_dataset(tmp_path / name) for name in ("train.svm", "a.arff", "a.jsonl", "own.npz")]
    for data in (pair, parts, parts.part("train"), *others):
        for matrix in (data.features, data.labels):
            assert matrix.indices.dtype == matrix.indptr.dtype == np.int32
    LinearSVC().fit(pair.features, [0, 1] * 3)
