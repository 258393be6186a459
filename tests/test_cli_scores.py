"""The verbs that read scores, as users meet them: tune a rule, evaluate it, and one sentence for all that is wrong."""

import json
import sys
from pathlib import Path

import numpy as np
import pyarrow
import pyarrow.parquet
import pytest
import scipy.sparse

from labelproof.decisions import RiskControlled, Threshold, load_rule
from labelproof.metrics import by_name
from running_verbs import assert_refused, report, run

RNG = np.random.default_rng(0)
TRUTH = RNG.random((60, 5)) < np.array([0.5, 0.4, 0.3, 0.2, 0.1])
SCORES = TRUTH + 0.8 * RNG.standard_normal((60, 5))


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder with scores S.npy and labels Y.npy, in which the commands run."""
    monkeypatch.chdir(tmp_path)
    np.save("S.npy", SCORES)
    np.save("Y.npy", TRUTH)
    return tmp_path


BOTH = ("--scores", "S.npy", "--labels", "Y.npy")


# tune


def test_tune_writes_the_rule_with_the_best_held_out_value(folder):
    found = report("tune", *BOTH, "--metric", "micro-f1", "-o", "rule.json")
    rows = [row for row in found["rows"] if row["name"] != "chosen in inner folds"]
    assert found["rule"] == max(rows, key=lambda row: row["held_out"])["name"]
    rule = load_rule("rule.json")
    assert rule.decide(SCORES).shape == SCORES.shape
    assert sorted(path.name for path in folder.iterdir()) == ["S.npy", "Y.npy", "rule.json"]


def test_tune_fits_the_rule_that_was_asked_for(folder):
    result = run("tune", *BOTH, "-o", "rule.json", "--rule", "global threshold", "--folds", 3, "--plot", "rules.png")
    assert result.exit_code == 0, result.output
    assert "Fitted 'global threshold' to all examples" in result.stdout
    assert "held-out" in result.stdout
    assert load_rule("rule.json").threshold_ == Threshold().fit(TRUTH, SCORES).threshold_
    assert Path("rules.png").stat().st_size > 1000


@pytest.mark.parametrize(("words", "confidence"), [((), 0.95), (("--confidence", 0), None)])
def test_tune_fits_a_rule_that_promises_recall(folder, words, confidence):
    words = (*words, "--rule", "promised recall", "--level", 0.8, "--folds", 2)
    assert report("tune", *BOTH, "-o", "rule.json", *words)["rule"] == "promised recall"
    expected = RiskControlled("recall", 0.8, confidence).fit(TRUTH, SCORES)
    assert str(load_rule("rule.json")) == str(expected)


def test_tune_refuses_a_promise_that_so_few_examples_cannot_keep(folder):
    words = ("--rule", "promised precision", "--level", 0.99, "--folds", 2)
    assert_refused(run("tune", *BOTH, "-o", "rule.json", *words), "y_true must have at least 299 examples to promise")
    assert not Path("rule.json").exists()


def test_rules_that_need_to_know_the_scores_are_compared_where_they_are_told(folder):
    names = {
        row["name"] for row in report("tune", *BOTH, "-o", "r.json", "--score-kind", "logits", "--folds", 2)["rows"]
    }
    assert "expected F1" in names


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--rule", "best"), "--rule must be one of 'global threshold', 'per-label thresholds'"),
        (("--metric", "micro-f"), "expected the name of a metric, got 'micro-f'"),
        (("--metric", "macro-auroc"), "metric must be one of label sets, such as 'micro-f1', got 'macro-auroc'"),
        (("--folds", "1"), "cv must be an integer of at least 2, got 1"),
        (("--folds", "40"), "y_true must have at least 80 examples for 40 folds, got 60"),
        (("--score-kind", "odds"), "scores must be 'logits' or 'probabilities', got 'odds'"),
        (("--score-kind", "probabilities"), "y_score must be probabilities between 0 and 1"),
        (("--plot", "nowhere/rules.png"), "--plot must be a file in a folder that exists"),
    ],
)
def test_tune_refuses_what_makes_no_sense_and_writes_nothing(folder, words, message):
    assert_refused(run("tune", *BOTH, "-o", "rule.json", *words), message)
    assert not Path("rule.json").exists()


def test_tune_does_not_write_over_its_inputs(folder):
    before = Path("S.npy").read_bytes()
    assert_refused(run("tune", *BOTH, "-o", "S.npy"), "--output must not be one of the inputs, got S.npy")
    assert_refused(run("tune", *BOTH, "-o", "nowhere/r.json"), "--output must be a file in a folder that exists")
    assert_refused(run("tune", *BOTH), "--output")
    assert Path("S.npy").read_bytes() == before


# evaluate


def test_evaluate_prints_the_metrics_of_a_rule(folder):
    Threshold(metric="micro-f1").fit(TRUTH, SCORES).save("rule.json")
    found = report("evaluate", *BOTH, "--rule", "rule.json")
    predicted = load_rule("rule.json").decide(SCORES)
    assert found["metrics"]["micro-f1"] == pytest.approx(by_name("micro-f1")(TRUTH, predicted))
    assert found["metrics"]["macro-auroc"] == pytest.approx(by_name("macro-auroc")(TRUTH, SCORES))
    assert (found["examples"], found["labels"], found["passed"]) == (60, 5, True)
    shown = run("evaluate", *BOTH, "--rule", "rule.json")
    assert shown.exit_code == 0
    assert "micro-f1" in shown.stdout
    assert "60 examples × 5 labels" in shown.stdout


def test_a_threshold_takes_the_place_of_a_rule(folder):
    found = report("evaluate", *BOTH, "--threshold", 0.5)
    assert found["metrics"]["micro-f1"] == pytest.approx(by_name("micro-f1")(TRUTH, SCORES > 0.5))


def test_without_a_rule_only_scores_are_evaluated(folder):
    found = report("evaluate", *BOTH)
    assert "micro-f1" not in found["metrics"]
    assert "precision@1" in found["metrics"]
    assert "no decision rule" in run("evaluate", *BOTH).stdout


def test_a_metric_below_what_was_required_exits_with_1(folder):
    assert run("evaluate", *BOTH, "--threshold", 0.5, "--fail-under", 0.1).exit_code == 0
    result = run("evaluate", *BOTH, "--threshold", 0.5, "--fail-under", 0.99, "--metric", "samples-f0.5")
    assert result.exit_code == 1
    assert "Not passed: samples-f0.5 is 0." in result.stdout
    assert run("evaluate", *BOTH, "--threshold", 0.5, "--fail-under", 0.9, "--metric", "hamming-loss").exit_code == 0
    failed = run("evaluate", *BOTH, "--metric", "precision@1", "--fail-under", 1.01, "--json")
    assert failed.exit_code == 1
    assert json.loads(failed.stdout)["passed"] is False


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--rule", "rule.json"), "rule.json: no such file"),
        (("--rule", "S.npy"), "S.npy: expected a labelproof decision rule in JSON"),
        (("--rule", "S.npy", "--threshold", "0.5"), "one of --rule and --threshold may be given, got both"),
        (("--fail-under", "0.5"), "--fail-under with micro-f1 needs --rule or --threshold, got neither"),
        (("--threshold", "nan"), "threshold must be a finite number, got nan"),
        (("--metric", "f"), "expected the name of a metric, got 'f'"),
    ],
)
def test_evaluate_refuses_what_makes_no_sense(folder, words, message):
    assert_refused(run("evaluate", *BOTH, *words), message)


# Files


def write_scores(name):
    path = Path(name)
    if path.suffix == ".npz":
        np.savez(path, scores=SCORES, other=np.zeros(2))
    elif path.suffix == ".parquet":
        table = pyarrow.table({f"label {j}": SCORES[:, j] for j in range(5)})
        pyarrow.parquet.write_table(table, path)
    else:
        separator = "," if path.suffix == ".csv" else "\t"
        head = "a,b,c,d,e".replace(",", separator) if "named" in name else ""
        np.savetxt(path, SCORES, fmt="%.17g", delimiter=separator, header=head, comments="")
        if not head:
            path.write_text(path.read_text().lstrip("\n"))


def write_labels(name):
    path = Path(name)
    if name == "sparse.npz":
        scipy.sparse.save_npz(path, scipy.sparse.csr_matrix(TRUTH))
    elif path.suffix == ".npz":
        np.savez(path, Y=TRUTH)
    elif path.suffix == ".parquet":
        pyarrow.parquet.write_table(pyarrow.table({f"label {j}": TRUTH[:, j] for j in range(5)}), path)
    elif path.suffix == ".csv":
        np.savetxt(path, TRUTH, fmt="%d", delimiter=",", header="a,b,c,d,e", comments="")
    else:
        path.write_text("".join(" ".join(map(str, np.flatnonzero(row))) + "\n" for row in TRUTH))


@pytest.mark.parametrize("name", ["S.npz", "S.csv", "named.csv", "S.tsv", "S.parquet"])
def test_scores_come_from_every_kind_of_file(folder, name):
    write_scores(name)
    expected = report("evaluate", *BOTH, "--threshold", 0.5)["metrics"]
    assert report("evaluate", "--scores", name, "--labels", "Y.npy", "--threshold", 0.5)["metrics"] == expected


@pytest.mark.parametrize("name", ["Y.npz", "sparse.npz", "Y.csv", "Y.txt", "Y.parquet"])
def test_labels_come_from_every_kind_of_file(folder, name):
    write_labels(name)
    expected = report("evaluate", *BOTH, "--threshold", 0.5)["metrics"]
    assert report("evaluate", "--scores", "S.npy", "--labels", name, "--threshold", 0.5)["metrics"] == expected


def test_wrong_files_are_refused_by_name(folder):
    np.save("short.npy", SCORES[:10])
    np.save("flat.npy", SCORES[0])
    np.save("nan.npy", np.where(SCORES > 1, np.nan, SCORES))
    np.save("text.npy", SCORES.astype(str))
    np.save("two.npy", TRUTH * 2)
    np.savez("many.npz", a=SCORES, b=SCORES)
    Path("words.csv").write_text("a,b\n1,x\n")
    Path("head.csv").write_text("a,b\n")
    Path("latin.csv").write_bytes(b"\xff1,2\n")
    Path("broken.parquet").write_bytes(b"PAR1 no")
    Path("far.txt").write_text("7\n" * 60)
    pyarrow.parquet.write_table(pyarrow.table({"a": ["x", "y"]}), "words.parquet")
    for scores, labels, message in (
        ("short.npy", "Y.npy", "Y.npy: expected labels of shape (10, 5), as short.npy, got (60, 5)"),
        ("flat.npy", "Y.npy", "flat.npy: expected numbers of shape (examples, labels)"),
        ("nan.npy", "Y.npy", "y_score must not be NaN"),
        ("text.npy", "Y.npy", "text.npy: expected"),
        ("S.npy", "two.npy", "two.npy: labels must be 0 or 1, got 2"),
        ("many.npz", "Y.npy", "many.npz: expected an array 'scores', got a, b"),
        ("words.csv", "Y.npy", "words.csv: expected rows of numbers"),
        ("head.csv", "Y.npy", "head.csv: expected rows of numbers, got none"),
        ("latin.csv", "Y.npy", "latin.csv: expected text in UTF-8, got byte 0xff"),
        ("broken.parquet", "Y.npy", "broken.parquet: expected a Parquet file of numbers"),
        ("words.parquet", "Y.npy", "words.parquet: expected numbers in column 'a'"),
        ("absent.parquet", "Y.npy", "absent.parquet: no such file"),
        ("S.npy", "far.txt", "far.txt, line 1: expected label indices from 0 to 4"),
    ):
        assert_refused(run("evaluate", "--scores", scores, "--labels", labels), message)


def test_without_pyarrow_parquet_says_what_is_missing(folder, monkeypatch):
    write_scores("S.parquet")
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    result = run("evaluate", "--scores", "S.parquet", "--labels", "Y.npy")
    assert_refused(result, "reading S.parquet needs the package pyarrow: pip install 'labelproof[parquet]'")


@pytest.mark.parametrize("verb", ["tune", "evaluate"])
def test_help_has_an_example(verb):
    result = run(verb, "--help")
    assert result.exit_code == 0
    assert f"Example: labelproof {verb} --scores S.npy --labels Y.npz" in " ".join(result.stdout.split())
