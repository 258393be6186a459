"""labelproof demo: the main job in one command, on Debian's packages, on made-up data and on the user's own."""

import io
import json
import sys
from pathlib import Path

import numpy as np
import pytest
from rich.console import Console
from typer.testing import CliRunner

import labelproof as lp
from labelproof import data
from labelproof.cli import app
from labelproof.cli.demo import _frequent, _named
from labelproof.data import save_dataset, topic_data
from labelproof.report import Difference

HEADS = ("narrow", "guaranteed (DFT)", "narrow, DFT start", "wide, DFT start", "guaranteed (code)")


def run(*words):
    return CliRunner().invoke(app, [str(word) for word in words])


def refused(result, message):
    assert result.exit_code == 2, result.output
    assert result.stdout == ""
    assert message in result.stderr.splitlines()[-1]


@pytest.fixture
def small(tmp_path, monkeypatch):
    """An empty folder to work in, and less data than the real demonstration makes."""
    monkeypatch.chdir(tmp_path)

    def fewer(n_examples, n_labels, n_features, *, cardinality, n_words, seed):
        assert (n_examples, n_labels, n_features) == (8000, 1000, 4000)
        return topic_data(300, 30, 200, cardinality=3.0, n_words=n_words, seed=seed)

    monkeypatch.setattr(data, "topic_data", fewer)


def test_the_demo_prints_a_table_and_what_it_says(small):
    done = run("demo", "--made-up", "--epochs", 2)
    assert done.exit_code == 0, done.output
    for words in (*HEADS, "micro-F1", "7 features for 30 labels", "The most frequent ones that", "Is it the guarantee"):
        assert words in " ".join(done.stdout.split())
    assert "Documents that were made up: 30 labels, such as " in done.stderr
    assert " ".join(done.stderr.split()).count("label combinations verified in") == 5
    assert "Scores on the test data" in Path("labelproof-demo/report.html").read_text()


def test_names_from_files_cannot_command_the_terminal():
    examples = topic_data(50, 4, 30, cardinality=1.0)
    examples = examples.with_labels(examples.labels, [f"cat\x1b[2J{i}" for i in range(4)])
    assert _frequent(examples).count("\N{REPLACEMENT CHARACTER}[2J") == 3
    assert "\x1b" not in _frequent(examples)
    out = Console(file=io.StringIO())
    out.print(_named([Difference(("cat\x1b[2J",), 3, (0, 1)), Difference((), 1, (0, 1))]))
    assert out.file.getvalue().split() == [
        *("3", "examples", "cat\N{REPLACEMENT CHARACTER}[2J"),
        *("1", "example", "no", "label", "at", "all"),
    ]


def test_the_demo_leaves_models_and_proofs_that_the_other_verbs_take(small):
    done = run("demo", "--made-up", "-o", "out", "--epochs", 2, "--seed", 1, "-d", 4, "--json")
    assert done.exit_code == 0, done.output
    assert done.stderr == ""
    heads = json.loads(done.stdout)["heads"]
    assert [head["name"] for head in heads] == list(HEADS)
    assert heads[0]["features"] == 4
    checked = run("check", "out/dft/audit/proofs-data.npz", "-w", "out/dft/audit/layer.npz", "--json")
    assert json.loads(checked.stdout)["proven"] is True
    model = lp.load_model("out/dft/model")
    assert model.n_labels == 30
    assert json.loads(Path("out/comparison.json").read_text()) == heads


def test_the_demo_takes_the_users_data(small):
    rng = np.random.default_rng(0)
    words = np.array(["ant", "bee", "cat", "dog", "eel", "fox", "gnu", "hen", "ibis"])
    rows = [rng.choice(words, size=rng.integers(1, 4), replace=False) for _ in range(120)]
    lines = [f"{i % 40},{' '.join(row)},{'/'.join(row)}" for i, row in enumerate(rows)]
    Path("mine.csv").write_text("\n".join(["herd,seen,names", *lines]) + "\n")
    options = ("--text", "seen", "--labels", "names", "--separator", "/", "--group", "herd", "-d", 2, "--epochs", 1)
    done = run("demo", "--data", "mine.csv", *options, "--json")
    assert done.exit_code == 0, done.output
    heads = json.loads(done.stdout)["heads"]
    assert [head["features"] for head in heads] == [2, 9, 2, 9, 12]
    assert lp.load_model("labelproof-demo/dft/model").encoder.kind == "tfidf"


def test_the_parts_of_the_users_data_are_kept(small):
    examples = topic_data(90, 12, 40, cardinality=2.0)
    parts = np.array(["train"] * 60 + ["valid"] * 15 + ["test"] * 15)
    save_dataset(examples.with_split(parts), Path("mine.npz"))
    done = run("demo", "--data", "mine.npz", "--epochs", 1, "--json")
    assert done.exit_code == 0, done.output
    rows = {tuple(row) for row in examples.labels.toarray()[75:]}
    assert {head["sets"] for head in json.loads(done.stdout)["heads"]} == {len(rows)}


def test_the_demo_refuses_before_it_works(small, monkeypatch):
    Path("taken").mkdir()
    Path("taken/letter.txt").write_text("dear")
    refused(run("demo", "-o", "taken"), "taken is in the way: expected a free name, an empty folder or an earlier")
    refused(run("demo", "--data", "nothing.csv"), "nothing.csv: no such file")
    refused(
        run("demo", "--data", "mine.csv", "--made-up"), "--made-up generates data and cannot be combined with --data"
    )
    refused(run("demo", "--made-up", "-d", 30), "d must be from 1 to 29, fewer features than labels, got 30")
    assert not Path("labelproof-demo").exists()


@pytest.mark.parametrize(
    ("verb", "lacking", "extra"),
    [("demo", "lightning", "train,audit"), ("demo", "jinja2", "train,audit"), ("train", "torch", "train")],
)
def test_a_missing_package_is_named_with_what_to_install(small, monkeypatch, verb, lacking, extra):
    monkeypatch.setitem(sys.modules, lacking, None)
    said = f"labelproof {verb} needs the package {lacking}: pip install 'labelproof[{extra}]'"
    refused(run(verb, "--data", "mine.csv", "-o", "out"), said)
