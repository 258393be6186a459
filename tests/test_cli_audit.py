"""labelproof audit as users meet it: from saved models and label files to verdicts, a folder and an exit code."""

import json
import sys
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

import labelproof
import labelproof.auditing.request
from labelproof.cli import app

WEIGHT = np.array([[1.0, 0.0], [0.0, 1.0], [-1.0, -1.0]])


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder with weights W.npz, label sets Y.txt, a table data.csv and names.txt, in which the commands run."""
    monkeypatch.chdir(tmp_path)
    np.savez("W.npz", weight=WEIGHT)
    Path("Y.txt").write_text("0\n0 1\n0, 1, 2\n0 1 2\n")
    Path("names.txt").write_text("cat\ndog\nfish\n")
    Path("data.csv").write_text("text,labels\na,cat\nb,dog;cat\nc,fish;dog;cat\n")
    return tmp_path


def run(*words):
    return CliRunner().invoke(app, ["audit", *(str(word) for word in words)])


def answer(*words, code=0):
    result = run(*words, "--json")
    assert result.exit_code == code, result.output
    return json.loads(result.stdout)


def assert_refused(result, message):
    assert result.exit_code == 2, result.output
    assert result.stdout == ""
    assert result.stderr.startswith("error: ")
    assert result.stderr.count("\n") == 1
    assert message in result.stderr


def test_the_terminal_tells_what_cannot_be_predicted_and_why(folder):
    result = run("W.npz", "--labels", "Y.txt", "--label-names", "names.txt")
    assert result.exit_code == 0
    shown = " ".join(result.stdout.split())
    assert "1 of 3 distinct label sets can never be predicted, whatever the input." in shown
    assert "3 labels × 2 features, float64, rank 2" in shown
    assert "on: cat, dog, fish" in shown
    assert "every verdict with a proof" in shown


def test_the_command_for_what_was_not_tested_names_the_paths_that_were_given(folder):
    Path("in here").mkdir()
    for name in ("W.npz", "Y.txt"):
        Path(name).rename(Path("in here", name))
    result = run("in here/W.npz", "--labels", "in here/Y.txt", "-o", "audit")
    command = "labelproof audit {}W.npz{} --labels {}Y.txt{} --features F.npy --calibration C.npy"
    assert command.format("'in here/", "'", "'in here/", "'") in result.stdout
    assert command.format("", "", "", "") in Path("audit/report.html").read_text()  # which may be passed on


def test_labels_by_name_come_from_a_table(folder):
    found = answer("W.npz", "--labels", "data.csv", "--label-names", "names.txt")
    assert found["data"]["examples"] == 3
    assert [group["unargmaxable"] for group in found["groups"]] == [1]
    assert found["passed"] is True


@pytest.mark.parametrize("name", ["Y.csv", "Y.tsv", "Y.npy", "Y.jsonl"])
def test_label_sets_come_in_many_files(folder, name):
    rows = np.array([[1, 0, 0], [1, 1, 1]])
    if name == "Y.npy":
        np.save(name, rows)
    elif name == "Y.jsonl":
        Path(name).write_text("[0]\n[0, 1, 2]\n")
    else:
        np.savetxt(name, rows, fmt="%d", delimiter="," if name == "Y.csv" else "\t")
    found = answer("W.npz", "--labels", name)
    assert [(one["size"], one["argmaxable"]) for one in found["groups"][0]["by_size"]] == [(1, 1), (3, 0)]


def test_a_table_of_0_and_1_may_have_a_header(folder):
    Path("onehot.csv").write_text("id,text,dog,cat,fish\n1,a,0,1,0\n2,b,1,1,1\n")
    named = ["W.npz", "--labels", "onehot.csv", "--label-names", "names.txt"]
    assert [one["size"] for one in answer(*named)["groups"][0]["by_size"]] == [1, 3]
    some = answer(*named, "--label-column", "cat", "--label-column", "dog")
    assert [one["size"] for one in some["groups"][0]["by_size"]] == [1, 2]


def test_sets_are_listed_even_if_none_is_explained(folder):
    result = run("W.npz", "--labels", "Y.txt", "--explain", "0")
    assert "label 0, label 1, label 2" in " ".join(result.stdout.split())


def test_the_folder_has_a_report_and_proofs_that_hold(folder):
    found = answer("W.npz", "--labels", "Y.txt", "-o", "out/audit", "--pairs", 10)
    assert found["saved"] == "out/audit"
    names = {file.name for file in Path("out/audit").iterdir()}
    assert names == {"audit.json", "layer.npz", "proofs-data.npz", "proofs-pairs.npz", "report.html"}
    words = ["check", "out/audit/proofs-data.npz", "--weights", "out/audit/layer.npz"]
    assert CliRunner().invoke(app, words).exit_code == 0
    assert "never be predicted" in Path("out/audit/report.html").read_text()


def test_requirements_set_the_exit_code(folder):
    Path("must.csv").write_text("name,labels\npets,cat;dog\naquarium,cat;dog;fish\n")
    Path("may.jsonl").write_text('{"name": "pets", "labels": ["cat", "dog"]}\n')
    Path("lines.txt").write_text("cat; dog\n")
    named = ["W.npz", "--labels", "Y.txt", "--label-names", "names.txt"]
    result = run(*named, "--require", "must.csv")
    assert result.exit_code == 1
    assert "Not met: aquarium (cat, dog, fish): can never be predicted." in result.stdout
    assert "Requirements NOT met." in result.stdout
    assert answer(*named, "--require", "may.jsonl")["passed"]
    assert answer(*named, "--require", "lines.txt")["passed"]
    assert answer(*named, "--fail-under", 0.6)["passed"]
    assert not answer(*named, "--fail-under", 0.7, code=1)["passed"]


def test_options_reach_the_audit(folder):
    np.save("F.npy", np.random.default_rng(0).normal(size=(20, 2)))
    np.save("b.npy", np.array([0.0, 0.0, 5.0]))
    found = answer("W.npz", "--labels", "Y.txt", "--features", "F.npy", "--predicted", "Y.txt", "--triples", 5)
    assert found["stretch"]["examples"] == 20
    assert answer("W.npz", "--labels", "Y.txt", "--features", "F.npy", "--reach")["reach"]["examples"] == 20
    assert [group["name"] for group in found["groups"]] == ["data", "triples", "predicted"]
    assert answer("W.npz", "--labels", "Y.txt", "--bias", "b.npy")["groups"][0]["unargmaxable"] == 0
    assert answer("W.npz", "--labels", "Y.txt", "--domain", "nonnegative")["layer"]["domain"] == "nonnegative inputs"
    assert answer("W.npz", "--labels", "Y.txt", "--domain", "free")["layer"]["domain"] == "every input"
    assert answer("W.npz", "--labels", "Y.txt", "--rule", "topk")["layer"]["rule"] == "topk"
    assert answer("W.npz", "--labels", "Y.txt", "--thresholds", "0.3")["layer"]["thresholds"] == "0.3"
    assert answer("W.npz", "--labels", "Y.txt", "--serving-dtype", "bfloat16")["serving"]["dtype"] == "bfloat16"


@pytest.mark.parametrize(
    ("words", "seconds"), [([], 60.0), (["--time-limit", "3"], 3.0), (["--time-limit", "inf"], np.inf)]
)
def test_the_time_limit_is_that_of_the_function_unless_another_is_asked_for(folder, monkeypatch, words, seconds):
    caught = []
    verify = labelproof.auditing.request.verify

    def watched(*arguments, **options):
        caught.append(options["time_limit"])
        return verify(*arguments, **options)

    monkeypatch.setattr(labelproof.auditing.request, "verify", watched)
    assert run("W.npz", "--labels", "Y.txt", *words).exit_code == 0
    assert set(caught) == {seconds}
    if not words:
        caught.clear()
        labelproof.audit("W.npz", "Y.txt")
        assert set(caught) == {seconds}


def test_a_share_of_the_command_line_is_a_decimal(folder):
    np.savez("W.npz", weight=np.vstack([np.eye(7), -np.eye(7)]))
    rows = [[j if j != i else j + 7 for j in range(7)] for i in range(7)] + [[i] for i in range(14)] * 6
    Path("Y.txt").write_text("".join(" ".join(map(str, row)) + "\n" for row in (rows + [[0]] * 100)[:100]))
    for share, code in (("0.07", 0), ("0.071", 1)):
        words = ["verify", "W.npz", "-l", "Y.txt", "--fail-under", share]
        assert CliRunner().invoke(app, words).exit_code == code


def test_control_characters_in_names_do_not_reach_the_terminal(folder):
    Path("names.txt").write_text("cat\x1b[31m\ndog\nfish\n")
    result = run("W.npz", "--labels", "Y.txt", "--label-names", "names.txt")
    assert result.exit_code == 0
    assert "\x1b" not in result.stdout


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["nowhere", "--labels", "Y.txt"], "nowhere"),
        (["W.npz", "--labels", "missing.npz"], "missing.npz"),
        (["W.npz", "--labels", "Y.txt", "--require", "bad.csv"], "expected a header with the columns name and labels"),
        (["W.npz", "--labels", "Y.txt", "--require", "empty.csv"], "expected at least one label in 'x'"),
        (["W.npz", "--labels", "Y.txt", "--require", "twice.csv"], "expected a new name of the requirement, got 'x'"),
        (["W.npz", "--labels", "Y.txt", "--require", "bad.jsonl"], "bad.jsonl, line 1: expected JSON"),
        (["W.npz", "--labels", "Y.txt", "--require", "list.jsonl"], "expected an object with a name and a list"),
        (["W.npz", "--labels", "Y.txt", "--reach"], "--reach needs"),
        (["W.npz", "--labels", "Y.txt", "--data", "Y.txt"], "either --data or --labels can be given, got both"),
        (["W.npz"], "Missing option '--data', or '--labels' / '-l'"),
        (["W.npz", "--data", "Y.txt"], "--data needs a model that can be run here, got arrays: use --labels and"),
        (["W.npz", "--labels", "Y.txt", "--calibration", "F.npy"], "--calibration goes with --features or --data"),
        (["W.npz", "--labels", "Y.txt", "--features", "F.npy"], "F.npy: no such file"),
        (["W.npz", "--labels", "Y.txt", "--features", "wide.npy"], "features must have shape (n_examples, 2) to match"),
        (["W.npz", "--labels", "Y.txt", "--features", "nan.npy"], "features must be finite, got nan in row 0"),
        (["W.npz", "--labels", "Y.txt", "--features", "F2.npy", "--calibration", "F2.npy"], "at least 299 inputs"),
        (["W.npz", "--labels", "Y.txt", "-o", "taken"], "--output must be a new or empty folder"),
        (["W.npz", "--labels", "data.csv", "--part", "test", "--label-names", "names.txt"], "expected the part 'test'"),
        (["W.npz", "--labels", "data.csv"], "names need --label-names, in the order of the model's 3 rows), got 'cat'"),
        (["W.npz", "--labels", "other.csv", "--label-names", "names.txt"], "got 'bird'; the nearest is"),
        (["W.npz", "--labels", "nothing.csv", "--label-names", "names.txt"], "--label-column"),
        (
            ["W.npz", "--labels", "Y.txt", "-o", "Y.txt/audit"],
            "--output must be a folder, got Y.txt/audit",
        ),
        (["W.npz", "--labels", "Y.txt", "--require", "header.csv"], "--require must hold at least one label set"),
        (["NaN.npz", "--labels", "Y.txt"], "NaN.npz"),
        (["W.npz", "--labels", "wide.txt"], "7"),
        (
            ["W.npz", "--labels", "Y.txt", "--domain", "north"],
            "domain must be nonnegative, unit, ball,RADIUS or LOW,HIGH",
        ),
    ],
)
def test_bad_input_is_one_sentence(folder, words, message):
    Path("bad.csv").write_text("a,b\n1,2\n")
    Path("empty.csv").write_text("name,labels\nx,;\n")
    Path("twice.csv").write_text("name,labels\nx,0\nx,1\n")
    Path("bad.jsonl").write_text("{\n")
    Path("list.jsonl").write_text("[0]\n")
    Path("wide.txt").write_text("7\n")
    Path("header.csv").write_text("name,labels\n")
    Path("other.csv").write_text("text,labels\na,cat;bird\n")
    Path("nothing.csv").write_text("text,topic\na,cat\n")
    np.save("wide.npy", np.ones((4, 3)))
    np.save("nan.npy", np.full((4, 2), np.nan))
    np.save("F2.npy", np.random.default_rng(0).normal(size=(20, 2)))
    Path("taken").mkdir()
    Path("taken/thesis.txt").write_text("")
    np.savez("NaN.npz", weight=WEIGHT * np.nan)
    before = sorted(path.name for path in folder.rglob("*"))
    assert_refused(run(*words), message)
    assert sorted(path.name for path in folder.rglob("*")) == before


def test_a_report_that_cannot_be_written_is_said_before_the_work(folder, monkeypatch):
    monkeypatch.setitem(sys.modules, "jinja2", None)
    result = run("W.npz", "--labels", "Y.txt", "-o", "out")
    assert_refused(result, "a report needs the package jinja2: pip install 'labelproof[audit]'")
    assert not Path("out").exists()
