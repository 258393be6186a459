"""What is written can be read again, and is written complete or not at all."""

import numpy as np
import pytest
import scipy.sparse

from labelproof.data import Dataset, describe, load_dataset, save_dataset, topic_data
from labelproof.data.label_plot import draw_labels

LABELS = np.array([[1, 0, 1], [0, 0, 0], [0, 1, 0]])
NAMES = ("bird", "cat, big", "dog")


def texts():
    split, groups, times = np.array(["train", "train", "test"]), np.array(["1", "1", "2"]), np.array(["2001"] * 3)
    return Dataset(LABELS, NAMES, texts=("a\nb", "", "“ü”"), split=split, groups=groups, times=times)


def pairs():
    return Dataset(LABELS, NAMES, texts=("a", "b", "c"), text_pairs=("d", "e", "f"))


def features(sparse):
    matrix = np.array([[0.1, 0, 2], [0, 0, 0], [0, -1e-7, 0]], np.float32)
    return Dataset(LABELS, NAMES, features=scipy.sparse.csr_array(matrix) if sparse else matrix)


def assert_same(data, other):
    assert data.label_names == other.label_names
    assert data.label_sets() == other.label_sets()
    assert (data.texts, data.text_pairs) == (other.texts, other.text_pairs)
    for field in ("split", "groups", "times"):
        first, second = getattr(data, field), getattr(other, field)
        assert (first is None) == (second is None)
        assert first is None or first.tolist() == second.tolist()
    if data.features is not None:
        dense = [m.toarray() if scipy.sparse.issparse(m) else m for m in (data.features, other.features)]
        np.testing.assert_array_equal(*dense)


@pytest.mark.parametrize("name", ["a.jsonl", "a.jsonl.gz", "a.jsonl.bz2", "a.jsonl.xz", "a.npz", "a.parquet"])
@pytest.mark.parametrize("make", [texts, pairs, lambda: features(sparse=True), lambda: features(sparse=False)])
def test_round_trips(tmp_path, name, make):
    if name.endswith("parquet"):
        pytest.importorskip("pyarrow")
    data = make()
    assert save_dataset(data, tmp_path / name) == [tmp_path / name]
    assert_same(load_dataset(tmp_path / name), data)
    assert [path.name for path in tmp_path.iterdir()] == [name]


@pytest.mark.parametrize(("name", "beside"), [("a.svm", "a.labels.txt"), ("a.txt.gz", "a.labels.txt")])
def test_round_trips_by_number_and_names(tmp_path, name, beside):
    data = features(sparse=True)
    assert save_dataset(data, tmp_path / name) == [tmp_path / name, tmp_path / beside]
    names = (tmp_path / beside).read_text().splitlines()
    assert_same(load_dataset(tmp_path / name, index_names=names), data)


def test_an_example_without_labels_and_features_is_still_one_in_svmlight(tmp_path):
    save_dataset(Dataset(np.zeros((2, 1)), ("a",), features=np.zeros((2, 1))), tmp_path / "a.svm")
    assert len(load_dataset(tmp_path / "a.svm")) == 2


@pytest.mark.parametrize("name", ["Train.svm", "Train.SVM.gz"])
def test_the_file_of_names_is_called_like_the_other(tmp_path, name):
    written = save_dataset(features(sparse=True), tmp_path / name)
    assert [path.name for path in written] == [name, "Train.labels.txt"]


@pytest.mark.parametrize("name", ["a.jsonl", "a.npz", "a.parquet"])
def test_text_that_utf8_cannot_write_is_refused(tmp_path, name):
    if name.endswith("parquet"):
        pytest.importorskip("pyarrow")
    with pytest.raises(ValueError, match=r"data must hold text that can be written in UTF-8, got '\\ud800'"):
        save_dataset(Dataset([[1]], ("a",), texts=("half \ud800",)), tmp_path / name)
    assert not list(tmp_path.iterdir())


def test_names_of_several_lines_are_no_lines(tmp_path):
    for name in ("a\nb", "a\n", "a\u2028b"):
        data = Dataset([[1, 0]], (name, "c"), features=np.ones((1, 1)))
        with pytest.raises(ValueError, match=r"label_names must be of one line each .* svmlight, got 'a"):
            save_dataset(data, tmp_path / "a.svm")


@pytest.mark.parametrize("name", ["a.svm", "a.txt", "a.jsonl"])
def test_features_of_other_types_round_trip(tmp_path, name):
    for matrix in (np.eye(2, dtype=bool), np.array([[0, 3]]), np.array([[0.5, 1e-3]])):
        data = Dataset(np.ones((len(matrix), 1)), ("a",), features=matrix)
        save_dataset(data, tmp_path / name)
        again = load_dataset(tmp_path / name).features
        np.testing.assert_array_equal(again.toarray() if scipy.sparse.issparse(again) else again, np.float32(matrix))


@pytest.mark.parametrize("name", ["a.jsonl.gz", "a.jsonl.bz2", "a.jsonl.xz", "a.svm.gz", "a.npz"])
def test_the_same_data_gives_the_same_bytes(tmp_path, name, monkeypatch):
    save_dataset(features(sparse=True), tmp_path / name)
    first = (tmp_path / name).read_bytes()
    monkeypatch.setattr("time.time", lambda: 2_000_000_000.0)
    save_dataset(features(sparse=True), tmp_path / name)
    assert (tmp_path / name).read_bytes() == first


@pytest.mark.parametrize("times", [np.array([9, 10, 11]), np.array(["2001-01-01"] * 3, "datetime64[D]")])
def test_npz_keeps_times_that_are_no_text(tmp_path, times):
    save_dataset(Dataset(LABELS, NAMES, texts=("a", "b", "c"), times=times, groups=times), tmp_path / "a.npz")
    again = load_dataset(tmp_path / "a.npz")
    assert (again.times.dtype, again.groups.dtype) == (times.dtype, times.dtype)
    assert again.times.tolist() == times.tolist()


@pytest.mark.parametrize("data", [Dataset(np.zeros((2, 0)), (), texts=("a", "b")), texts().select([])])
def test_npz_keeps_a_set_without_labels_or_examples(tmp_path, data):
    save_dataset(data, tmp_path / "a.npz")
    assert_same(load_dataset(tmp_path / "a.npz"), data)


def test_npz_keeps_labels_that_do_not_occur(tmp_path):
    data = Dataset(np.zeros((1, 2)), ("z", "a"), texts=("t",), text_pairs=("u",))
    save_dataset(data, tmp_path / "a.npz")
    again = load_dataset(tmp_path / "a.npz")
    assert (again.label_names, again.text_pairs) == (("z", "a"), ("u",))


def test_a_large_parquet_file_is_written_in_pieces(tmp_path, monkeypatch):
    pytest.importorskip("pyarrow")
    monkeypatch.setattr("labelproof.data.writing.BATCH_ROWS", 7)
    data = topic_data(50, 10, 20)
    save_dataset(data, tmp_path / "a.parquet")
    assert load_dataset(tmp_path / "a.parquet").label_sets() == [tuple(sorted(s)) for s in data.label_sets()]


def test_a_missing_value_survives_json(tmp_path):
    matrix = np.array([[np.nan, 1]], np.float32)
    for given in (matrix, scipy.sparse.csr_array(matrix)):
        save_dataset(Dataset([[1]], ("a",), features=given), tmp_path / "a.jsonl")
        assert "NaN" not in (tmp_path / "a.jsonl").read_text()  # which is no JSON
        assert np.isnan(load_dataset(tmp_path / "a.jsonl").features[0, 0])
    with pytest.raises(ValueError, match="JSON"):
        save_dataset(Dataset([[1]], ("a",), features=[[np.inf]]), tmp_path / "a.jsonl")


def test_what_cannot_be_written_leaves_the_old_file(tmp_path):
    (tmp_path / "a.svm").write_text("old")
    with pytest.raises(ValueError, match="data must have features to be written as svmlight"):
        save_dataset(texts(), tmp_path / "a.svm")
    broken = features(sparse=False)
    object.__setattr__(broken, "features", "nothing")
    with pytest.raises(Exception, match=r".+"):
        save_dataset(broken, tmp_path / "a.svm")
    assert (tmp_path / "a.svm").read_text() == "old"
    assert [path.name for path in tmp_path.iterdir()] == ["a.svm"]
    with pytest.raises(ValueError, match=r"path must end in one of \.jsonl, .*, got 'a\.doc'"):
        save_dataset(texts(), tmp_path / "a.doc")
    with pytest.raises(ValueError, match=r"format must be one of jsonl, .*, got 'csv'"):
        save_dataset(texts(), tmp_path / "a.jsonl", format="csv")
    with pytest.raises(ValueError, match=r"path must not end in \.gz, .*, got 'a\.npz\.gz'"):
        save_dataset(texts(), tmp_path / "a.npz.gz")
    with pytest.raises(ValueError, match=r"path must be in a folder that exists, got .*/no/a\.jsonl"):
        save_dataset(texts(), tmp_path / "no" / "a.jsonl")
    assert [path.name for path in tmp_path.iterdir()] == ["a.svm"]


# Statistics and pictures


def test_the_figures_of_a_small_set():
    data = Dataset(np.vstack([LABELS, LABELS[:1]]), NAMES, split=np.array(["train"] * 3 + ["test"]))
    figures = describe(data)
    assert (figures.n_examples, figures.n_labels, figures.cardinality, figures.k) == (4, 3, 1.25, 2)
    assert (figures.n_distinct, figures.n_single, figures.n_empty, figures.n_unused) == (3, 2, 1, 0)
    assert figures.frequency == (1, 1, 2, 2, 2)
    assert figures.parts == {"train": 3, "test": 1}
    assert next(iter(figures.most_frequent.items())) == ("bird", 2)


def test_a_set_without_examples_has_figures():
    figures = describe(Dataset(np.zeros((0, 0)), ()))
    assert (figures.n_examples, figures.k, figures.cardinality, figures.frequency) == (0, 0, 0.0, (0, 0, 0, 0, 0))


@pytest.mark.parametrize("labels", [LABELS, np.zeros((2, 3))])
def test_a_picture_is_drawn(tmp_path, labels):
    pytest.importorskip("matplotlib")
    draw_labels(Dataset(labels, NAMES), tmp_path / "a.png", title=r"animals $\frac$.csv")
    assert (tmp_path / "a.png").read_bytes().startswith(b"\x89PNG")
