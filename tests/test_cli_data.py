"""labelproof data: what is printed, what is written, and one sentence for all that is wrong."""

import json
import sys
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from labelproof.cli import app
from labelproof.data import load_dataset

CSV = "comment,tags\na robin,bird\na hunt,bird;cat\na stone,\nanother hunt,cat;bird\n"


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("a.csv").write_text(CSV)
    return tmp_path


def run(*words):
    return CliRunner().invoke(app, ["data", *(str(word) for word in words)])


COLUMNS = ("--text", "comment", "--labels", "tags")


@pytest.mark.parametrize("verb", ["stats", "convert"])
def test_both_verbs_have_help_with_an_example_and_json(verb):
    result = run(verb, "--help")
    assert result.exit_code == 0
    assert f"Example: labelproof data {verb}" in result.stdout
    assert "--json" in result.stdout


def test_the_figures_in_words_and_in_json(folder):
    result = run("stats", "a.csv", *COLUMNS)
    assert result.exit_code == 0, result.output
    assert "distinct label sets" in result.stdout
    assert "1 (25.0 %)" in result.stdout
    figures = json.loads(run("stats", "a.csv", *COLUMNS, "--json").stdout)
    assert (figures["n_examples"], figures["n_labels"], figures["cardinality"], figures["k"]) == (4, 2, 1.25, 2)
    assert (figures["n_distinct"], figures["n_empty"]) == (3, 1)
    assert figures["alternations"] == {"median": 0, "percentile_90": 0, "most": 1}


def test_a_picture_of_the_labels(folder):
    pytest.importorskip("matplotlib")
    result = run("stats", "a.csv", *COLUMNS, "--picture", "a.png")
    assert "drawn in a.png" in result.stdout
    assert Path("a.png").read_bytes().startswith(b"\x89PNG")


def test_conversion_keeps_the_label_sets(folder):
    result = run("convert", "a.csv", "b.jsonl.gz", *COLUMNS)
    assert result.exit_code == 0, result.output
    assert result.stdout == "4 examples with 2 labels written to b.jsonl.gz\n"
    assert load_dataset("b.jsonl.gz").label_sets() == [("bird",), ("bird", "cat"), (), ("bird", "cat")]


def test_conversion_drops_rare_labels_and_divides_anew(folder):
    answer = run("convert", "a.csv", "b.npz", *COLUMNS, "--drop-rare", 3, "--stratify", "train=1", "--json")
    assert json.loads(answer.stdout) == {"n_examples": 4, "n_labels": 1, "files": ["b.npz"]}
    run("convert", "a.csv", "c.npz", *COLUMNS, "--stratify", "train=0.5,test=0.5", "--part", "train")
    assert len(load_dataset("c.npz")) == 2
    run("convert", "a.csv", "d.npz", *COLUMNS, "--stratify", "train=0.5,test=0.5")
    assert [line.split() for line in run("stats", "d.npz").stdout.splitlines()[2:4]] == [["train", "2"], ["test", "2"]]


def test_numbers_go_to_svmlight_with_the_names_beside(folder):
    np.savez("x.npz", X=np.eye(2), Y=np.eye(2), label_names=np.array(["b", "a"]))
    result = run("convert", "x.npz", "x.svm")
    assert result.stdout == "2 examples with 2 labels written to x.svm and x.labels.txt\n"
    assert Path("x.svm").read_text() == "0 0:1.0\n1 1:1.0\n"
    assert Path("x.labels.txt").read_text() == "b\na\n"


def test_a_package_that_is_not_there_is_named(folder, monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    Path("a.parquet").touch()
    for words, message in (
        (
            ("stats", "a.csv", *COLUMNS, "--picture", "a.png"),
            "error: a plot needs the package matplotlib: pip install 'labelproof[plots]'",
        ),
        (
            ("convert", "a.csv", "b.parquet", *COLUMNS),
            "error: writing a Parquet file needs the package pyarrow: pip install 'labelproof[parquet]'",
        ),
        (
            ("stats", "a.parquet"),
            "error: reading a.parquet needs the package pyarrow: pip install 'labelproof[parquet]'",
        ),
    ):
        result = run(*words)
        assert (result.exit_code, result.stderr) == (2, f"{message}\n")
    assert not list(folder.glob("*b.parquet*"))


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("stats", "nothing.csv"), "nothing.csv: no such file or folder"),
        (("stats", "a.csv"), "a.csv: expected a column 'labels'"),
        (("stats", "a.csv", *COLUMNS, "--part", "test"), "--part must be a part of a.csv, got 'test': it has none"),
        (("convert", "a.csv", "b.doc", *COLUMNS), "got 'b.doc'"),
        (("convert", "a.csv", "b.svm", *COLUMNS), "data must have features to be written as svmlight"),
        (
            ("convert", "a.csv", "b.npz", *COLUMNS, "--stratify", "train"),
            "--stratify must look like train=0.8,test=0.2",
        ),
        (
            ("convert", "a.csv", "b.npz", *COLUMNS, "--stratify", "a=0.5,a=0.5"),
            "--stratify must name every part, and each once, got 'a=0.5,a=0.5'",
        ),
        (("convert", "a.csv", "b.npz", *COLUMNS, "--stratify", "=1"), "--stratify must name every part"),
        (("convert", "a.csv", "no/b.npz", *COLUMNS), "OUT must be a file in a folder that exists, got no/b.npz"),
        (("stats", "empty.npz"), "PATH must hold examples, got none in empty.npz"),
        (("stats", "bare.npz"), "PATH must hold labels, got none in bare.npz"),
        (
            ("convert", "a.csv", "b.npz", *COLUMNS, "--stratify", "a=1", "--seed", "-1"),
            "Invalid value for '--seed'",
        ),
        ((), "Missing command (see --help)"),
    ],
)
def test_what_is_wrong_is_one_sentence(folder, monkeypatch, words, message):
    monkeypatch.delenv("LABELPROOF_DATA", raising=False)
    np.savez("empty.npz", Y=np.zeros((0, 2)))
    np.savez("bare.npz", Y=np.zeros((2, 0)))
    result = run(*words)
    assert result.exit_code == 2, result.output
    assert result.stdout == ""
    assert result.stderr.count("\n") == 1
    assert message in result.stderr
    assert not list(folder.glob("b.*"))
