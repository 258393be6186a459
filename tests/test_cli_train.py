"""labelproof train and predict as users meet them."""

import gzip
import json
import re
from pathlib import Path

import numpy as np
import pyarrow.parquet
import pytest
import scipy.sparse
from typer.testing import CliRunner

from labelproof.cli import app
from labelproof.data import Dataset, SparseRow, load_dataset, save_dataset
from labelproof.errors import DataFormatError
from labelproof.metrics import f1_score
from labelproof.models import load_model
from labelproof.models.new_inputs import iter_batches

WORDS = ("ant", "bee", "cat", "dog", "eel", "fox", "gnu", "hen")
CONFIG = """\
data: {path: data.csv, validation: 0.2}
encoder: {kind: tfidf, hidden: 24}
head: {kind: dft, k: 3, slack: 4}
trainer: {epochs: 8, lr: 0.02, batch_size: 16, accelerator: cpu}
"""


def run(*words, **options):
    return CliRunner().invoke(app, [str(word) for word in words], **options)


def refused(result, message):
    """Exit code 2, one line on standard error, and nothing on standard output."""
    assert result.exit_code == 2, result.output
    assert result.stdout == ""
    assert result.stderr.startswith("error: ")
    assert result.stderr.count("\n") == 1, result.stderr
    assert message in result.stderr


def write_data(folder):
    rng = np.random.default_rng(0)
    lines = ["text,labels"]
    for _ in range(100):
        words = rng.choice(WORDS, size=rng.integers(1, 4), replace=False)
        lines.append(f"{' '.join(words)},{';'.join(words)}")
    (folder / "data.csv").write_text("\n".join(lines) + "\n")
    (folder / "config.yaml").write_text(CONFIG)


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """A folder with data, a configuration and a finished run, made by the command line."""
    folder = tmp_path_factory.mktemp("train")
    write_data(folder)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        result = run("train", "config.yaml", "-o", "run", "--json")
    assert result.exit_code == 0, result.output
    return folder, json.loads(result.stdout)


@pytest.fixture
def here(trained, monkeypatch):
    monkeypatch.chdir(trained[0])
    return trained[0]


@pytest.fixture
def empty(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_data(tmp_path)
    return tmp_path


# train


@pytest.mark.parametrize("verb", ["train", "predict"])
def test_the_verbs_have_help_with_an_example_and_json(verb):
    result = run(verb, "--help")
    assert result.exit_code == 0
    assert f"Example: labelproof {verb}" in result.stdout
    assert "--json" in result.stdout


def test_the_template_is_printed():
    result = run("train", "--template")
    assert result.exit_code == 0
    assert result.stdout.startswith("# What `labelproof train` reads.")


def test_training_reports_and_writes_a_run(trained):
    folder, report = trained
    assert sum(report["examples"].values()) == 100
    assert 15 <= report["examples"]["validation"] <= 25  # 20 asked for; a share of every label weighs more
    assert report["n_labels"] == 8
    assert report["epochs"] <= 8
    assert report["head"] == {"kind": "dft", "k": 3, "slack": 4, "scale": 1.0}
    assert report["metrics"]["validation"]["micro-f1"] > 0.7
    names = sorted(path.name for path in (folder / "run").iterdir())
    assert names == ["config.yaml", "history.csv", "last.ckpt", "learning_curve.png", "model"]


def test_training_prints_a_table_and_the_next_step(empty):
    result = run("train", "config.yaml", "trainer.epochs=1", "head.kind=linear", "-o", "run")
    assert result.exit_code == 0, result.output
    assert re.search(r"8 labels; examples: \d\d for training, \d\d for validation", result.stdout)
    assert "1 epoch in" in result.stdout
    assert "labelproof predict run/model INPUT" in result.stdout
    assert load_model("run").config.head.kind == "linear"


def test_a_run_is_not_overwritten_but_resumed(here):
    refused(run("train", "config.yaml", "-o", "run"), "run holds a run already: resume it")
    before = load_model("run").logits(["ant bee"])
    assert run("train", "config.yaml", "-o", "run", "--resume").exit_code == 0
    assert (load_model("run").logits(["ant bee"]) == before).all()


def test_a_typo_is_refused_with_file_line_and_the_nearest_name(empty):
    Path("config.yaml").write_text("trainer:\n  epochs: 1\n  sead: 3\n")
    refused(
        run("train", "config.yaml", "-o", "run"), "config.yaml, line 3: trainer.sead is unknown: did you mean seed?"
    )
    assert not Path("run").exists()


def test_wrong_use_is_refused(empty):
    refused(run("train"), "labelproof train --template prints one")
    refused(run("train", "config.yaml"), "expected --output with the folder of the run")
    refused(run("train", "config.yaml", "data.path=null", "-o", "run"), "data.path must say where the data are")
    refused(run("train", "config.yaml", "trainer.epochs", "-o", "run"), "must have the form section.key=value")
    refused(run("train", "none.yaml", "-o", "run"), "none.yaml")
    refused(run("train", "config.yaml", "data.path=none.csv", "-o", "run"), "none.csv")


def test_bad_data_are_refused_with_file_and_line(empty):
    refused(run("train", "config.yaml", "data.text=body", "-o", "run"), "data.csv: expected a column 'body'")
    Path("data.csv").write_text("")
    refused(run("train", "config.yaml", "-o", "run"), "data.csv")
    Path("cut.csv.gz").write_bytes(gzip.compress(b"text,labels\nant,ant\n" * 999)[:-20])
    refused(run("train", "config.yaml", "data.path=cut.csv.gz", "-o", "run"), "cut.csv.gz")
    assert not Path("run").exists()


# predict


def lines_of(path):
    return [json.loads(line) for line in Path(path).read_text().splitlines()]


def test_predictions_come_as_json_lines_in_order(here, tmp_path):
    Path(tmp_path, "new.csv").write_text('id,text\n1,"ant, bee"\n2,cat\n3,dog eel fox\n')
    result = run("predict", "run", tmp_path / "new.csv", "-o", tmp_path / "out.jsonl", "--top", 2, "--json")
    assert result.exit_code == 0, result.output
    assert json.loads(result.stdout)["examples"] == 3
    lines = lines_of(tmp_path / "out.jsonl")
    expected = load_model("run").predict_names(["ant, bee", "cat", "dog eel fox"], top=2)
    assert [tuple(line["labels"]) for line in lines] == [p.labels for p in expected]
    assert [list(line["top"]) for line in lines] == [[name for name, _ in p.top] for p in expected]
    assert all(0 <= p <= 1 for line in lines for p in line["top"].values())


def test_small_batches_give_the_same_predictions(here, tmp_path):
    for size in (1, 256):
        assert run("predict", "run", "data.csv", "-o", tmp_path / f"{size}", "--batch-size", size).exit_code == 0
    assert [x["labels"] for x in lines_of(tmp_path / "1")] == [x["labels"] for x in lines_of(tmp_path / "256")]


def test_every_form_of_texts_is_read(here, tmp_path):
    texts = ["ant bee", "cat"]
    Path(tmp_path, "a.txt").write_text("\n".join(texts) + "\n")
    Path(tmp_path, "a.jsonl").write_text("\n".join(json.dumps({"text": text}) for text in texts))
    Path(tmp_path, "a.tsv").write_text("body\tn\n" + "\n".join(f"{text}\t1" for text in texts) + "\n")
    with gzip.open(tmp_path / "a.jsonl.gz", "wt") as stream:
        stream.write("\n".join(json.dumps({"text": text}) for text in texts))
    answers = [
        run("predict", "run/model", tmp_path / "a.txt"),
        run("predict", "run/model", tmp_path / "a.jsonl"),
        run("predict", "run/model", tmp_path / "a.jsonl.gz"),
        run("predict", "run/model", tmp_path / "a.tsv", "--column", "body"),
        run("predict", "run/model", "-", input="ant bee\ncat\n"),
    ]
    assert len({answer.stdout for answer in answers}) == 1
    assert answers[0].stdout.count("\n") == 2


def test_an_empty_input_has_an_empty_answer(here):
    assert run("predict", "run", "-", input="").stdout == ""


def test_every_form_of_features_is_read(empty):
    rng = np.random.default_rng(0)
    X = np.where(rng.random((40, 16)) < 0.3, rng.random((40, 16)), 0).astype(np.float32)
    Y = X[:, :5] > 0
    np.savez("data.npz", X=X, Y=Y)
    head = "head.kind=bottleneck"
    result = run(
        "train", "config.yaml", "data.path=data.npz", "encoder.kind=features", head, "trainer.epochs=1", "-o", "r"
    )
    assert result.exit_code == 0, result.output
    np.save("X.npy", X)
    scipy.sparse.save_npz("sparse.npz", scipy.sparse.csr_array(X))
    Path("X.jsonl").write_text("\n".join(json.dumps({"features": row.tolist()}) for row in X))
    header = ",".join(f"f{i}" for i in range(16))
    rows = [",".join(map(repr, row.tolist())) + ",0;1" for row in X]
    Path("X.csv").write_text(f"{header},labels\n" + "\n".join(rows) + "\n")
    sparse = [{"indices": np.flatnonzero(row).tolist(), "values": row[row != 0].tolist()} for row in X]
    Path("sparse.jsonl").write_text("\n".join(json.dumps({"features": row}) for row in sparse))
    save_dataset(Dataset(Y, tuple("abcde"), features=scipy.sparse.csr_array(X)), "own.npz")
    files = ("X.npy", "data.npz", "sparse.npz", "own.npz", "X.jsonl", "sparse.jsonl", "X.csv")
    answers = [run("predict", "r", name, "--top", 0) for name in files]
    assert [answer.exit_code for answer in answers] == [0] * 7, [answer.output for answer in answers]
    assert len({answer.stdout for answer in answers}) == 1
    refused(run("predict", "r", "data.csv"), "data.csv, example 1: expected features, got none")
    np.save("narrow.npy", X[:, :3])
    refused(run("predict", "r", "narrow.npy"), "narrow.npy: expected 16 features, got 3")
    scipy.sparse.save_npz("wide.npz", scipy.sparse.csr_array((2, 30)))
    refused(run("predict", "r", "wide.npz"), "wide.npz: expected 16 features, got 30")
    np.save("flat.npy", X[0])
    refused(run("predict", "r", "flat.npy"), "flat.npy: expected a matrix of features, got 1 axes")


def test_bad_input_is_refused_and_leaves_no_file(here, tmp_path):
    out = tmp_path / "out.jsonl"
    Path(tmp_path, "a.csv").write_text("body\nant\n")
    refused(run("predict", "run", tmp_path / "a.csv", "-o", out), "a.csv: expected a column 'text', got body")
    refused(run("predict", "run", tmp_path / "a.csv", "-c", "text", "-o", out), "expected a column 'text'")
    Path(tmp_path, "a.jsonl").write_text('{"text": "ant"}\n{"text": [3]}\n')
    refused(run("predict", "run", tmp_path / "a.jsonl", "-o", out), "a.jsonl, line 2: expected text in column 'text'")
    Path(tmp_path, "cut.npz").write_bytes(b"PK")
    refused(run("predict", "run", tmp_path / "cut.npz", "-o", out), "cut.npz")
    Path(tmp_path, "cut.jsonl.gz").write_bytes(gzip.compress(b'{"text": "ant"}\n' * 9999)[:-20])
    refused(run("predict", "run", tmp_path / "cut.jsonl.gz", "-o", out), "cut.jsonl.gz")
    refused(run("predict", "run", tmp_path / "none.txt", "-o", out), "none.txt")
    assert not [path for path in tmp_path.iterdir() if "out" in path.name]


def test_features_are_no_texts(here, tmp_path):
    Path(tmp_path, "a.svm").write_text("0 1:0.5\n")
    refused(run("predict", "run", tmp_path / "a.svm"), "a.svm, example 1: expected text, got none")


@pytest.fixture(scope="module")
def on_features(tmp_path_factory):
    """A folder with a model on the columns height, width and depth of a table, whose labels are in the column tags."""
    folder = tmp_path_factory.mktemp("features")
    rng = np.random.default_rng(0)
    lines = [f"{a},{i % 2},{b},{c},{'x' if a > 0.5 else 'y;z'}" for i, (a, b, c) in enumerate(rng.random((60, 3)))]
    (folder / "data.csv").write_text("height,patient,width,depth,tags\n" + "\n".join(lines) + "\n")
    (folder / "config.yaml").write_text(
        "data: {path: data.csv, labels: tags, group: patient, validation: 0.3}\nhead: {kind: linear}\n"
        "decision: {kind: fixed}\ntrainer: {epochs: 3, lr: 0.1, accelerator: cpu}\n"
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        assert run("train", "config.yaml", "-o", "run").exit_code == 0
    return folder


def test_columns_of_features_may_come_in_any_order_and_beside_others(on_features, monkeypatch):
    monkeypatch.chdir(on_features)
    assert load_model("run").config.data.features == ("height", "width", "depth")
    Path("a.csv").write_text("height,width,depth\n0.9,0.1,0.3\n")
    Path("b.csv").write_text("id,depth,height,tags,width\nq,0.3,0.9,x,0.1\n")
    Path("c.jsonl").write_text('{"width": 0.1, "depth": 0.3, "height": 0.9}\n')
    answers = [run("predict", "run", name).stdout for name in ("a.csv", "b.csv", "c.jsonl")]
    assert len(set(answers)) == 1
    assert answers[0].startswith('{"labels": ')
    Path("short.csv").write_text("height,width\n0.9,0.1\n")
    refused(run("predict", "run", "short.csv"), "short.csv: expected a column 'depth', got height, width")


def test_a_run_on_a_table_is_resumed(on_features, monkeypatch):
    monkeypatch.chdir(on_features)
    assert run("train", "config.yaml", "-o", "run", "--resume").exit_code == 0


@pytest.mark.parametrize(("cell", "got"), [("nan", "nan"), ("", "nan"), ("1e30000", "inf")])
def test_a_feature_that_is_no_number_is_named_by_its_example(on_features, monkeypatch, cell, got):
    monkeypatch.chdir(on_features)
    Path("bad.csv").write_text(f"height,width,depth\n1,2,3\n1,{cell},3\n")
    message = run("predict", "run", "bad.csv", "--batch-size", 1)
    assert message.exit_code == 2
    assert message.stderr.startswith("error: bad.csv, ")
    assert got in message.stderr


def test_the_columns_of_training_are_those_of_prediction_and_evaluation(empty):
    words = [line.split(",") for line in Path("data.csv").read_text().splitlines()[1:]]
    rows = [f"zebra,{text},,{labels.replace(';', ' / ')}" for text, labels in words]
    Path("data.csv").write_text("text,body,title,tags\n" + "\n".join(rows) + "\n")
    options = ("data.text=[title,body]", "data.labels=tags", "data.separator=/", "trainer.epochs=1")
    assert run("train", "config.yaml", *options, "-o", "run").exit_code == 0
    model = load_model("run")
    texts = [f"\n\n{text}" for text, _ in words]
    assert run("predict", "run", "data.csv", "-o", "out").exit_code == 0
    assert [tuple(line["labels"]) for line in lines_of("out")] == [p.labels for p in model.predict_names(texts)]
    assert run("predict", "run", "data.csv", "-c", "body", "-o", "body").exit_code == 0
    assert lines_of("body") == lines_of("out")  # an empty title adds nothing
    found = json.loads(run("evaluate", "--model", "run", "--data", "data.csv", "--json").stdout)
    data = load_dataset("data.csv", text=["title", "body"], labels="tags", separator="/")
    assert found["metrics"]["micro-f1"] == pytest.approx(model.evaluate(data)["micro-f1"])


def test_inputs_without_labels_are_read_from_every_table(here, tmp_path):
    texts = ["ant bee", "", "cat"]
    pyarrow.parquet.write_table(pyarrow.table({"text": [*texts[:1], None, *texts[2:]]}), tmp_path / "a.parquet")
    Path(tmp_path, "a.json").write_text(json.dumps([{"text": text} for text in texts]))
    Path(tmp_path, "a.ndjson").write_text("\n".join(json.dumps({"text": text or None}) for text in texts))
    Path(tmp_path, "a.csv").write_text("text,labels\n" + "\n".join(f"{text},[" for text in texts) + "\n")
    save_dataset(Dataset(np.zeros((3, 1)), ("x",), texts=texts), tmp_path / "a.npz")
    files = ("a.parquet", "a.json", "a.ndjson", "a.csv", "a.npz")
    answers = [run("predict", "run", tmp_path / name) for name in files]
    assert [answer.exit_code for answer in answers] == [0] * 5, [answer.output for answer in answers]
    assert len({answer.stdout for answer in answers}) == 1
    refused(
        run("predict", "run", tmp_path / "a.parquet", "-c", "body"), "a.parquet: expected a column 'body', got text"
    )


def test_both_texts_of_a_pair_are_read(here, tmp_path):
    Path(tmp_path, "a.csv").write_text("text,text_pair\nant,bee\n")
    expected = next(iter(load_model("run").predict_names(["ant bee"], top=5)))
    (line,) = map(json.loads, run("predict", "run", tmp_path / "a.csv").stdout.splitlines())
    assert tuple(line["labels"]) == expected.labels


def test_a_carriage_return_does_not_end_a_line_of_standard_input(here):
    assert run("predict", "run", "-", input="ant\rbee\r\ncat\n").stdout.count("\n") == 2


def test_predictions_do_not_overwrite_their_input(here, tmp_path):
    path = Path(tmp_path, "a.jsonl")
    path.write_text('{"text": "ant"}\n')
    refused(run("predict", "run", path, "-o", path), "--output must not be one of the inputs")
    assert path.read_text() == '{"text": "ant"}\n'
    refused(
        run("predict", "run", path, "-o", tmp_path / "no" / "out"), "--output must be a file in a folder that exists"
    )


def test_label_names_of_any_characters_are_predicted(empty):
    lines = [{"text": "ant", "labels": ["\ud800", "naïve"]}, {"text": "bee", "labels": ["🦊"]}] * 20
    Path("data.jsonl").write_text("\n".join(map(json.dumps, lines)))
    fixed = ("data.path=data.jsonl", "decision.kind=top-k", "decision.k=3", "trainer.epochs=1")
    assert run("train", "config.yaml", *fixed, "head.kind=linear", "-o", "run").exit_code == 0
    assert run("predict", "run", "data.jsonl", "-o", "out").exit_code == 0
    assert {name for line in lines_of("out") for name in line["labels"]} == {"\ud800", "naïve", "🦊"}
    ascii_only = CliRunner(charset="ascii").invoke(app, ["predict", "run", "data.jsonl"])
    assert ascii_only.exit_code == 0, ascii_only.output
    assert [json.loads(line) for line in ascii_only.stdout.splitlines()] == lines_of("out")


def test_sparse_rows_become_batches_of_the_width_of_the_model():
    rows = [SparseRow(np.array([0, 3]), np.array([1.0, 2.0])), SparseRow(np.array([], int), np.array([]))]
    (batch,) = iter_batches(rows, 9, n_features=5)
    assert batch.toarray().tolist() == [[1, 0, 0, 2, 0], [0, 0, 0, 0, 0]]
    with pytest.raises(DataFormatError, match="expected features from 0 to 2, got 3"):
        list(iter_batches(rows, 9, n_features=3))


def test_what_is_no_model_is_refused(here, tmp_path):
    refused(run("predict", tmp_path, "data.csv"), "expected the folder of a model, got no config.json in it")


def test_a_summary_needs_a_place_for_the_predictions(here):
    refused(run("predict", "run", "data.csv", "--json"), "needs --output")


def test_a_model_is_evaluated_on_examples(trained, monkeypatch):
    folder, _ = trained
    monkeypatch.chdir(folder)
    shown = run("evaluate", "--model", "run/model", "--data", "data.csv")
    assert shown.exit_code == 0, shown.output
    assert "data.csv: 100 examples × 8 labels" in shown.stdout
    found = json.loads(run("evaluate", "--model", "run/model", "--data", "data.csv", "--json").stdout)
    model = load_model("run/model")
    data = load_dataset("data.csv").restrict_to(model.label_names)
    expected = f1_score(data.labels, model.predict(data.texts), average="micro")
    assert found["metrics"]["micro-f1"] == pytest.approx(expected)
    assert run("evaluate", "--model", "run/model", "--data", "data.csv", "--fail-under", "1.1").exit_code == 1


def test_the_test_part_alone_is_evaluated(here, tmp_path):
    rows = Path("data.csv").read_text().splitlines()
    named = [f"{row},{'test' if i % 4 == 0 else 'train'}" for i, row in enumerate(rows[1:])]
    Path(tmp_path, "parts.csv").write_text("\n".join([f"{rows[0]},split", *named]) + "\n")
    Path(tmp_path, "test.csv").write_text("\n".join(rows[:1] + rows[1::4]) + "\n")
    parts, test = (
        json.loads(run("evaluate", "--model", "run", "--data", tmp_path / name, "--json").stdout)
        for name in ("parts.csv", "test.csv")
    )
    assert parts == test
    assert parts["examples"] == 25
    assert "parts.csv, part test: 25" in run("evaluate", "--model", "run", "--data", tmp_path / "parts.csv").stdout


def test_a_label_that_the_model_does_not_know_is_named_with_the_file(here, tmp_path):
    Path(tmp_path, "a.csv").write_text("text,labels\nant,ant;zebra\n")
    refused(
        run("evaluate", "--model", "run", "--data", tmp_path / "a.csv"),
        "a.csv: examples must have no labels but those of the model, got 'zebra' (--drop-unknown leaves out labels",
    )
    shown = run("evaluate", "--model", "run", "--data", tmp_path / "a.csv", "--drop-unknown")
    assert "a.csv, 1 unknown label left out: 1 example × 8 labels" in shown.stdout
    Path(tmp_path, "b.csv").write_text("text,labels\nant,ant\n")
    found = [
        json.loads(run("evaluate", "--model", "run", "--data", tmp_path / name, *more, "--json").stdout)
        for name, more in (("a.csv", ["--drop-unknown"]), ("b.csv", []))
    ]
    assert found[0] == found[1]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--model", "run/model"), "either --scores and --labels, or --model and --data must be given"),
        (("--scores", "s.npy", "--labels", "y.npy", "--drop-unknown"), "--drop-unknown goes with --model"),
        ((), "either --scores and --labels, or --model and --data must be given"),
        (("--model", "run/model", "--data", "data.csv", "--threshold", "0.5"), "a model has its own rule"),
        (("--model", "run/model", "--data", "data.csv", "--metric", "ndcg@7", "--fail-under", "0.5"), "got ndcg@7"),
    ],
)
def test_a_model_evaluated_in_the_wrong_way_is_refused(trained, monkeypatch, words, message):
    monkeypatch.chdir(trained[0])
    refused(run("evaluate", *words), message)
