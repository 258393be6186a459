"""Features that are missing go from every file through training to predictions; labels that are missing are refused."""

import json
from pathlib import Path

import numpy as np
import pytest

from labelproof.data import load_dataset
from running_verbs import assert_refused, report, run

RNG = np.random.default_rng(0)
X = RNG.normal(size=(80, 3)).round(3)
Y = (X[:, :2] > 0.2).astype(int)
GAPS = RNG.random((80, 3)) < 0.1


def cell(i, j, mark):
    return mark if GAPS[i, j] else "7" if j == 2 else repr(float(X[i, j]))  # the last column is constant


def write(name, mark):
    if name.endswith(".csv"):
        rows = [
            ",".join([*(cell(i, j, mark) for j in range(3)), ";".join(f"l{j}" for j in range(2) if Y[i, j])])
            for i in range(80)
        ]
        text = "a,b,c,labels\n" + "\n".join(rows)
    elif name.endswith(".arff"):
        head = "@relation 'x: -C 2'\n@attribute l0 {0,1}\n@attribute l1 {0,1}\n"
        head += "".join(f"@attribute {c} numeric\n" for c in "abc")
        text = (
            head
            + "@data\n"
            + "\n".join(",".join([*map(str, Y[i]), *(cell(i, j, mark) for j in range(3))]) for i in range(80))
        )
    else:
        rows = [
            ",".join(str(j) for j in range(2) if Y[i, j]) + " " + " ".join(f"{j}:{cell(i, j, mark)}" for j in range(3))
            for i in range(80)
        ]
        text = "\n".join(rows)
    Path(name).write_text(text + "\n")


@pytest.mark.parametrize(
    ("name", "mark"),
    [("a.csv", ""), ("a.csv", "?"), ("a.csv", "NA"), ("a.arff", "?"), ("a.svm", "nan"), ("a.svm", "?")],
)
def test_missing_features_are_read_trained_on_and_predicted_from(tmp_path, monkeypatch, name, mark):
    monkeypatch.chdir(tmp_path)
    write(name, mark)
    features = load_dataset(name).features
    features = features if isinstance(features, np.ndarray) else features.toarray()
    assert (np.isnan(features) == GAPS).all()
    told = report("data", "stats", name)
    assert (told["n_missing"], told["n_gappy"]) == (GAPS.sum(), 3)
    assert f"{GAPS.sum()} in 3 columns" in run("data", "stats", name).stdout
    result = run("train", "--data", name, "-o", "run", "--budget", "fast")
    assert result.exit_code == 0, result.output
    lines = run("predict", "run", name)
    assert lines.exit_code == 0, lines.output
    found = [json.loads(line)["labels"] for line in lines.stdout.splitlines()]
    assert len(found) == 80
    assert report("evaluate", "--model", "run", "--data", name)["metrics"]["micro-f1"] > 0.5


def test_a_model_that_takes_no_gaps_refuses_them(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write("a.csv", "?")
    Path("config.yaml").write_text("data: {path: a.csv}\nhead: {kind: linear}\ntrainer: {epochs: 1}\n")
    assert_refused(run("train", "config.yaml", "-o", "run"), "inputs must be finite numbers")


def test_a_missing_label_is_refused_with_file_and_line(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("a.arff").write_text("@relation 'x: -C 1'\n@attribute l {0,1}\n@attribute f numeric\n@data\n1,2\n?,2\n")
    assert_refused(run("data", "stats", "a.arff"), "a.arff, line 6: expected 0 or 1 for the label 'l', got '?'")
    Path("a.csv").write_text("f,l,m\n1,1,0\n2,?,1\n")
    words = ("--labels", "l", "--labels", "m", "--features", "f")
    assert_refused(
        run("train", "--data", "a.csv", *words, "-o", "run"), "a.csv, line 3: expected 0 or 1 in the label column 'l'"
    )
    Path("a.svm").write_text("1 2:3\n? 2:3\n")
    assert_refused(run("data", "stats", "a.svm"), "a.svm, line 2: expected labels as numbers")
