"""labelproof train and predict as users meet them."""

import gzip
import json
import re
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse
from typer.testing import CliRunner

from labelproof.cli import app
from labelproof.data import SparseRow, load_dataset
from labelproof.errors import DataFormatError
from labelproof.metrics import f1_score
from labelproof.models import load_model
from labelproof.models.inputs import iter_batches

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
    assert report["head"] == {"kind": "dft", "k": 3, "slack": 4}
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
    files = ("X.npy", "data.npz", "sparse.npz", "X.jsonl", "X.csv")
    answers = [run("predict", "r", name, "--top", 0) for name in files]
    assert [answer.exit_code for answer in answers] == [0] * 5, [answer.output for answer in answers]
    assert len({answer.stdout for answer in answers}) == 1
    refused(run("predict", "r", "data.csv"), "data.csv, line 2: expected numbers")
    np.save("narrow.npy", X[:, :3])
    refused(run("predict", "r", "narrow.npy"), "16")
    np.save("flat.npy", X[0])
    refused(run("predict", "r", "flat.npy"), "flat.npy: expected a matrix of features, got 1 axes")


def test_bad_input_is_refused_and_leaves_no_file(here, tmp_path):
    out = tmp_path / "out.jsonl"
    Path(tmp_path, "a.csv").write_text("body\nant\n")
    refused(run("predict", "run", tmp_path / "a.csv", "-o", out), "a.csv, line 2: expected a column 'text', got body")
    refused(run("predict", "run", tmp_path / "a.csv", "-c", "text", "-o", out), "expected a column 'text'")
    Path(tmp_path, "a.jsonl").write_text('{"text": "ant"}\n{"text": 3}\n')
    refused(run("predict", "run", tmp_path / "a.jsonl", "-o", out), "a.jsonl, line 2: expected text in 'text', got int")
    Path(tmp_path, "cut.jsonl.gz").write_bytes(gzip.compress(b'{"text": "ant"}\n' * 9999)[:-20])
    refused(run("predict", "run", tmp_path / "cut.jsonl.gz", "-o", out), "cut.jsonl.gz")
    refused(run("predict", "run", tmp_path / "none.txt", "-o", out), "none.txt")
    assert not [path for path in tmp_path.iterdir() if "out" in path.name]


def test_features_are_no_texts(here, tmp_path):
    Path(tmp_path, "a.svm").write_text("0 1:0.5\n")
    refused(run("predict", "run", tmp_path / "a.svm"), "a.svm: expected a text in example 1, got none")


def test_sparse_rows_become_batches_of_the_width_of_the_model():
    rows = [SparseRow(np.array([0, 3]), np.array([1.0, 2.0])), SparseRow(np.array([], int), np.array([]))]
    (batch,) = iter_batches(rows, 9, n_features=5)
    assert batch.toarray().tolist() == [[1, 0, 0, 2, 0], [0, 0, 0, 0, 0]]
    with pytest.raises(DataFormatError, match="expected features from 0 to 2, got 3"):
        list(iter_batches(rows, 9, n_features=3))


def test_what_is_no_model_is_refused(here, tmp_path):
    refused(run("predict", tmp_path, "data.csv"), "config.json: no such file, expected the folder of a model")


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


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--model", "run/model"), "either --scores and --labels, or --model and --data must be given"),
        ((), "either --scores and --labels, or --model and --data must be given"),
        (("--model", "run/model", "--data", "data.csv", "--threshold", "0.5"), "a model has its own rule"),
        (("--model", "run/model", "--data", "data.csv", "--metric", "ndcg@7", "--fail-under", "0.5"), "got ndcg@7"),
    ],
)
def test_a_model_evaluated_in_the_wrong_way_is_refused(trained, monkeypatch, words, message):
    monkeypatch.chdir(trained[0])
    refused(run("evaluate", *words), message)
