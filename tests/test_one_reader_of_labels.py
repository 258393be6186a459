"""Every verb reads the same label sets out of every form that they come in, by name where there are names."""

import json
from pathlib import Path

import numpy as np
import pyarrow
import pyarrow.parquet
import pytest
import scipy.sparse

import labelproof as lp
import labelproof.explorer
from labelproof.data import Dataset, read_label_file, save_dataset
from labelproof.errors import DataFormatError
from running_verbs import assert_refused, report, run

WEIGHT = np.array([[1.0, 0.0], [0.0, 1.0], [-1.0, -1.0]])
NAMES = ("cat", "dog", "fish")
SETS = [[0], [], [0, 1], [0, 1, 2]]
MATRIX = np.array([[1, 0, 0], [0, 0, 0], [1, 1, 0], [1, 1, 1]])
OPEN = lp.verify(WEIGHT, SETS).status.tolist()
TURNED = [2, 0, 1]  # columns in another order than the model's
TEXTS = ("a", "b", "c", "d")


def named(active):
    return [NAMES[i] for i in active]


def lines(rows):
    return "".join(f"{row}\n" for row in rows)


def csv_of(matrix, header=None, separator=","):
    return lines([*([separator.join(header)] if header else []), *(separator.join(map(str, row)) for row in matrix)])


def data_set(**parts):
    return Dataset(MATRIX[:, TURNED], [NAMES[i] for i in TURNED], **parts)


def write_verification():
    lp.verify(WEIGHT, SETS).save("Y.npz", label_names=NAMES)


def write_parquet(columns):
    pyarrow.parquet.write_table(pyarrow.table(columns), "Y.parquet")


TURNED_NAMES = [NAMES[i] for i in TURNED]
BY_PLACE = {  # without names of labels
    "npy": ("Y.npy", lambda: np.save("Y.npy", MATRIX)),
    "npy of bool": ("Y.npy", lambda: np.save("Y.npy", MATRIX > 0)),
    "npz": ("Y.npz", lambda: np.savez("Y.npz", MATRIX)),
    "npz with labels": ("Y.npz", lambda: np.savez("Y.npz", labels=MATRIX, features=np.ones((4, 2)))),
    "npz with Y": ("Y.npz", lambda: np.savez("Y.npz", Y=MATRIX, X=np.ones((4, 2)))),
    "scipy csr": ("Y.npz", lambda: scipy.sparse.save_npz("Y.npz", scipy.sparse.csr_array(MATRIX))),
    "scipy csc": ("Y.npz", lambda: scipy.sparse.save_npz("Y.npz", scipy.sparse.csc_matrix(MATRIX))),
    "scipy coo": ("Y.npz", lambda: scipy.sparse.save_npz("Y.npz", scipy.sparse.coo_array(MATRIX))),
    "npz of lists": ("Y.npz", lambda: np.savez("Y.npz", indptr=[0, 1, 1, 3, 6], indices=[0, 0, 1, 0, 1, 2])),
    "csv": ("Y.csv", lambda: Path("Y.csv").write_text(csv_of(MATRIX))),
    "tsv": ("Y.tsv", lambda: Path("Y.tsv").write_text(csv_of(MATRIX, separator="\t"))),
    "csv with numbered columns": ("Y.csv", lambda: Path("Y.csv").write_text(csv_of(MATRIX, ["0", "1", "2"]))),
    "txt": ("Y.txt", lambda: Path("Y.txt").write_text("0\n\n0 1\n2, 1, 0\n")),
    "jsonl": ("Y.jsonl", lambda: Path("Y.jsonl").write_text(lines(SETS))),
    "jsonl of objects": ("Y.jsonl", lambda: Path("Y.jsonl").write_text(lines(json.dumps({"labels": s}) for s in SETS))),
    "csv with labels": (
        "Y.csv",
        lambda: Path("Y.csv").write_text(lines(["labels", *('"{}"'.format(";".join(map(str, s))) for s in SETS)])),
    ),
    "parquet of 0 and 1": ("Y.parquet", lambda: write_parquet({str(i): MATRIX[:, i] for i in range(3)})),
    "svmlight": ("Y.svm", lambda: Path("Y.svm").write_text("0 1:1\n 0:0\n0,1 1:1\n0,1,2 1:1\n")),
    "XMC": ("Y.txt", lambda: Path("Y.txt").write_text("4 2 3\n0 1:1\n 1:1\n0,1 1:1\n0,1,2 1:1\n")),
}
BY_NAME = {  # with names, and in another order where there is one
    "csv with a header": ("Y.csv", lambda: Path("Y.csv").write_text(csv_of(MATRIX, NAMES))),
    "csv in another order": ("Y.csv", lambda: Path("Y.csv").write_text(csv_of(MATRIX[:, TURNED], TURNED_NAMES))),
    "tsv with a header": (
        "Y.tsv",
        lambda: Path("Y.tsv").write_text(csv_of(MATRIX[:, TURNED], TURNED_NAMES, separator="\t")),
    ),
    "csv among other columns": (
        "Y.csv",
        lambda: Path("Y.csv").write_text(
            csv_of([[i, "some text", *row] for i, row in enumerate(MATRIX[:, TURNED])], ["id", "text", *TURNED_NAMES])
        ),
    ),
    "csv with labels": (
        "Y.csv",
        lambda: Path("Y.csv").write_text(lines(["labels", *('"{}"'.format(";".join(named(s))) for s in SETS)])),
    ),
    "csv with text and labels": (
        "Y.csv",
        lambda: Path("Y.csv").write_text(lines(["text,labels", *(f"some,{'|'.join(named(s))}" for s in SETS)])),
    ),
    "txt": ("Y.txt", lambda: Path("Y.txt").write_text(lines(" ; ".join(named(s)) for s in SETS))),
    "jsonl": ("Y.jsonl", lambda: Path("Y.jsonl").write_text(lines(json.dumps(named(s)) for s in SETS))),
    "jsonl of objects": (
        "Y.jsonl",
        lambda: Path("Y.jsonl").write_text(lines(json.dumps({"text": "a", "labels": named(s)}) for s in SETS)),
    ),
    "jsonl of 0 and 1": (
        "Y.jsonl",
        lambda: Path("Y.jsonl").write_text(
            lines(json.dumps(dict(zip(NAMES, map(int, row), strict=True))) for row in MATRIX)
        ),
    ),
    "parquet": ("Y.parquet", lambda: write_parquet({"labels": [named(s) for s in SETS]})),
    "parquet of 0 and 1": (
        "Y.parquet",
        lambda: write_parquet({NAMES[i]: MATRIX[:, i] for i in TURNED}),
    ),
    "npz with names": (
        "Y.npz",
        lambda: np.savez("Y.npz", labels=MATRIX[:, TURNED], label_names=np.array(TURNED_NAMES)),
    ),
    "converted npz": ("Y.npz", lambda: save_dataset(data_set(texts=TEXTS), "Y.npz")),
    "converted jsonl": ("Y.jsonl.gz", lambda: save_dataset(data_set(texts=TEXTS), "Y.jsonl.gz")),
    "converted parquet": ("Y.parquet", lambda: save_dataset(data_set(texts=TEXTS), "Y.parquet")),
    "a result": ("Y.npz", write_verification),
}
EVERY = [(name, *form, False) for name, form in BY_PLACE.items()]
EVERY += [(name, *form, True) for name, form in BY_NAME.items()]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder with a model M.npz that names its labels, one N.npz that does not, and scores."""
    monkeypatch.chdir(tmp_path)
    np.savez("M.npz", weight=WEIGHT, label_names=np.array(NAMES))
    np.savez("N.npz", weight=WEIGHT)
    scores = np.random.default_rng(0).normal(size=(4, 3))
    Path("S.csv").write_text(csv_of(scores, NAMES))
    np.save("S.npy", scores)
    return tmp_path


def explored(monkeypatch, *words):
    """What `labelproof explore` would serve."""
    caught = {}
    monkeypatch.setattr(labelproof.explorer, "serve", lambda _layer, **options: caught.update(options))
    assert run("explore", *words).exit_code == 0
    return caught


def lists(sets):
    return [active.tolist() for active in sets]


@pytest.mark.parametrize(
    ("name", "file", "write", "has_names"), EVERY, ids=[f"{n}{'+' if h else ''}" for n, _, _, h in EVERY]
)
def test_every_verb_reads_every_form_alike(folder, monkeypatch, name, file, write, has_names):
    write()
    verified = report("verify", "M.npz", "-l", file)
    assert (verified["status"], verified["notes"]) == (OPEN, [])
    assert verified["smallest_conflicts"][0]["off"] == list(NAMES)
    audited = report("audit", "M.npz", "-l", file, "--predicted", file, "--explain", "0")["groups"]
    assert [[one["size"] for one in group["by_size"]] for group in audited] == [[0, 1, 2, 3]] * 2
    seen = explored(monkeypatch, "M.npz", "-l", file)
    assert (lists(seen["label_sets"]), seen["label_names"]) == (SETS, NAMES)
    Path("names.txt").write_text(lines(NAMES))
    known = ["--label-names", "names.txt"] if name == "csv among other columns" else []
    planned = report("plan", "-l", file, *(known if has_names else ["--n-labels", "3"]))
    assert (planned["n_labels"], planned["n_sets"], planned["k"]) == (3, 4, 3)
    Path("truth.txt").write_text("0\n\n0 1\n0 1 2\n")
    expected = report("evaluate", "--scores", "S.csv", "--labels", "truth.txt", "--threshold", "0")["metrics"]
    assert report("evaluate", "--scores", "S.csv", "--labels", file, "--threshold", "0")["metrics"] == expected


def test_scores_and_labels_are_tuned_by_name(folder):
    rng = np.random.default_rng(0)
    truth = rng.random((30, 3)) < 0.5
    Path("S.csv").write_text(csv_of(truth + 0.1 * rng.normal(size=(30, 3)), NAMES))
    Path("Y.csv").write_text(csv_of(truth[:, TURNED].astype(int), TURNED_NAMES))
    assert report("tune", "-s", "S.csv", "-l", "Y.csv", "-o", "rule.json")["rows"][0]["held_out"] > 0.95


@pytest.mark.parametrize("file", ["Y.csv", "Y.npz"])
def test_named_columns_of_a_model_without_names_are_its_labels_in_order(folder, file):
    BY_NAME["csv with a header" if file == "Y.csv" else "converted npz"][1]()
    expected = SETS if file == "Y.csv" else [sorted(TURNED.index(i) for i in active) for active in SETS]
    found = read_label_file(file, n_labels=3)
    assert lists(found.sets) == expected
    assert found.names == (NAMES if file == "Y.csv" else tuple(TURNED_NAMES))
    verified = report("verify", "N.npz", "-l", file)
    assert verified["notes"] == [
        "The model names no labels: the data's columns are taken to be its labels in order, and to name them."
    ]
    assert "fish" in verified["smallest_conflicts"][0]["off"]
    audited = report("audit", "N.npz", "-l", file)
    assert verified["notes"][0] in audited["layer"]["notes"]


def test_parts_and_columns_are_chosen_by_every_verb(folder, monkeypatch):
    Path("Y.csv").write_text("split,tags,cat,dog,fish\ntrain,cat,1,0,0\ntest,cat;dog;fish,1,1,1\ntest,,0,0,0\n")
    words = ["-l", "Y.csv", "--part", "test", "--label-column", "tags"]
    assert report("verify", "M.npz", *words)["status"] == [0, 0]
    assert report("audit", "M.npz", *words)["data"]["examples"] == 2
    assert report("plan", *words)["n_sets"] == 2
    assert lists(explored(monkeypatch, "M.npz", *words)["label_sets"]) == [[0, 1, 2], []]
    one = ["-l", "Y.csv", "--label-column", "dog"]
    assert report("verify", "M.npz", *one)["by_active_labels"] == [
        {"from": 0, "to": 0, "sets": 2, "argmaxable": 0, "unargmaxable": 2, "undecided": 0},
        {"from": 1, "to": 1, "sets": 1, "argmaxable": 1, "unargmaxable": 0, "undecided": 0},
    ]
    assert_refused(
        run("verify", "M.npz", *words[:3], "valid"), "Y.csv: expected the part 'valid' of a split, got train"
    )
    save_dataset(data_set(texts=TEXTS, split=np.array(["train", "test", "test", "test"])), "Y.npz")
    assert report("verify", "M.npz", "-l", "Y.npz", "--part", "test")["status"] == OPEN[1:]
    assert_refused(run("verify", "M.npz", "-l", "Y.npz", "--part", "valid"), "expected the part 'valid'")
    Path("Y.txt").write_text("0\n")
    assert_refused(run("verify", "M.npz", "-l", "Y.txt", "--part", "test"), "part 'test' of a split, got no parts")


def test_a_folder_and_a_known_name_are_data_sets(folder, monkeypatch):
    Path("animals").mkdir()
    Path("animals/train.csv").write_text("text,labels\na,cat\nb,cat;dog;fish\n")
    assert report("verify", "M.npz", "-l", "animals")["status"] == [1, 0]
    monkeypatch.setenv("LABELPROOF_DATA", str(folder))
    Path("elsewhere").mkdir()
    monkeypatch.chdir("elsewhere")
    assert report("verify", "../M.npz", "-l", "animals")["status"] == [1, 0]
    assert_refused(run("verify", "../M.npz", "-l", "plants"), "plants: no such file or folder")


def test_labels_that_are_named_by_numbers(folder):
    Path("Y.jsonl").write_text("[401]\n[2, 402]\n")
    assert lists(read_label_file("Y.jsonl", label_names=["401", "402", "2"]).sets) == [[0], [1, 2]]
    Path("Y.jsonl").write_text("[0]\n[1, 2]\n")
    assert lists(read_label_file("Y.jsonl", label_names=["0", "1", "2"]).sets) == [[0], [1, 2]]
    Path("Y.csv").write_text(csv_of(MATRIX, ["401", "402", "2"]))
    assert lists(read_label_file("Y.csv", label_names=["2", "401", "402"]).sets) == [[1], [], [1, 2], [0, 1, 2]]
    with pytest.raises(DataFormatError, match=r"Y\.jsonl: labels must be unambiguous, got the number 1 in Y\.jsonl"):
        read_label_file("Y.jsonl", label_names=["0", "2", "1"])


REFUSED = [
    ("Y.csv", "cat,dog,cow\n1,1,1\n", "Y.csv: expected columns called as the model's labels, got 'cow' of 0"),
    ("Y.csv", "cow,sow\n1,1\n", "Y.csv: labels must be ones that the model knows, got 'cow'; the nearest is"),
    ("Y.csv", "labels\ncat;cow\n", "Y.csv, line 2: expected a label's name or index, got 'cow'; the nearest is"),
    (
        "Y.csv",
        "text,topic\na,cat\n",
        "Y.csv: expected a column 'labels', columns called as the model's labels, or 0 and",
    ),
    ("Y.csv", "cat,dog,fish\n1,2,0\n", "Y.csv, line 2: expected 0 or 1 in the label column 'dog', got '2'"),
    ("Y.csv", "cat,dog,fish\n1,0\n", "Y.csv, line 2: expected 3 fields, got 2"),
    ("Y.csv", "cat,cat,fish\n1,0,1\n", "Y.csv, line 1: expected different column names, got 'cat' twice"),
    ("Y.csv", "1,0\n0,1\n", "Y.csv: expected 3 columns of 0 and 1, one for each label"),
    ("Y.csv", "1,0,1\n0,1\n", "Y.csv: expected rows of 0 and 1: the number of columns changed"),
    ("Y.csv", "\n", "Y.csv: expected rows of 0 and 1, got an empty file"),
    ("Y.csv", "labels\n0;1;0\n", "Y.csv, line 2: expected the numbers of the labels, got a row of 0 and 1"),
    ("Y.csv", "cat,,4\r29\n", "Y.csv: expected a table (new-line character seen in unquoted field)"),
    ("Y.csv", "cat,dog,fish\n", "Y.csv: expected at least one label set, got none"),
    ("Y.jsonl", "[0, 7]\n", "Y.jsonl, line 1: expected label indices from 0 to 2, since there are 3 labels, got 7"),
    ("Y.jsonl", "[1, 0, 1]\n", "Y.jsonl, line 1: expected the numbers of the labels, got a row of 0 and 1"),
    ("Y.jsonl", '[""]\n', "Y.jsonl, line 1: expected a label's name or index, got ''"),
    ("Y.jsonl", '{"labels": [0.5]}\n', "Y.jsonl, line 1: expected a label's name or index, got '0.5'"),
    (
        "Y.jsonl",
        '{"cat": 1, "dog": 0, "fish": 1}\n{"cat": 1}\n',
        "Y.jsonl, line 2: expected the columns cat, dog, fish",
    ),
    ("Y.jsonl", '{"labels": [0]}\n{"text": "a"}\n', "Y.jsonl, line 2: expected a list, or an object with a list of"),
    ("Y.txt", "0 7\n", "Y.txt, line 1: expected label indices from 0 to 2, since there are 3 labels, got 7"),
    ("Y.arff", "@relation x\n", "Y.arff"),
    ("Y.doc", "", "Y.doc: expected a file name that shows its format"),
]


@pytest.mark.parametrize(("file", "text", "message"), REFUSED)
def test_what_does_not_fit_is_refused_alike(folder, file, text, message):
    Path(file).write_text(text)
    assert_refused(run("verify", "M.npz", "-l", file), message)
    assert_refused(
        run("explore", "M.npz", "-l", file, "--no-browser"), message
    ) if "at least one" not in message else None
    audited = run("audit", "M.npz", "-l", file)
    assert_refused(audited, "at least one label set, got none" if "at least one" in message else message)


def test_names_need_names(folder):
    for write in (BY_NAME["txt"], BY_NAME["jsonl"], BY_NAME["csv with labels"]):
        write[1]()
        for verb in ("verify", "audit"):
            assert_refused(run(verb, "N.npz", "-l", write[0]), "expected label indices (names need --label-names")
    Path("animals").mkdir()
    Path("animals/train.csv").write_text("text,labels\na,cat\n")
    assert_refused(run("verify", "N.npz", "-l", "animals"), "animals: label_names must be given, in the order of the")


def test_a_number_of_names_that_does_not_fit_the_columns_is_refused(folder):
    np.savez("Y.npz", labels=MATRIX, label_names=np.array(NAMES[:2]))
    assert_refused(run("verify", "M.npz", "-l", "Y.npz"), "Y.npz: expected 3 label names, one per column, got 2")


def test_a_column_that_is_not_there_is_refused(folder):
    Path("Y.csv").write_text("tags\ncat\n")
    words = ["-l", "Y.csv", "--label-column", "topics"]
    assert_refused(run("verify", "M.npz", *words), "Y.csv: expected a column 'topics', got tags")


def test_python_audits_a_file_of_labels(folder):
    BY_NAME["csv in another order"][1]()
    found = lp.audit("M.npz", "Y.csv")
    assert sorted(found.document["groups"][0]["labels"]) == sorted(SETS)
    with pytest.raises(DataFormatError, match="no such file"):
        lp.audit("M.npz", "absent.csv")
