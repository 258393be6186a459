"""A model's decision rules at the command line: tune them on data, choose one by its metric, take out the scores."""

import json
from pathlib import Path

import numpy as np
import pytest

from labelproof.data import load_dataset
from labelproof.decisions import Threshold, TopK
from labelproof.metrics import by_name
from labelproof.models import load_model
from running_verbs import assert_refused, report, run

WORDS = np.array(["ant", "bee", "cat", "dog", "eel"])


def write_texts(path, n, seed, names=WORDS, split=None):
    rng = np.random.default_rng(seed)
    lines = ["text,labels" + (",split" if split else "")]
    for i in range(n):
        active = rng.random(5) < np.array([0.5, 0.4, 0.3, 0.2, 0.1])
        seen = active ^ (rng.random(5) < 0.1)
        end = f",{split[i % len(split)]}" if split else ""
        lines.append(f"{' '.join(WORDS[seen])} x,{';'.join(np.array(names)[active])}{end}")
    Path(path).write_text("\n".join(lines) + "\n")


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    folder = tmp_path_factory.mktemp("rules")
    write_texts(folder / "data.csv", 150, 0)
    write_texts(folder / "new.csv", 80, 1)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        report("train", "--data", "data.csv", "-o", "run", "--budget", "fast")
    return folder


@pytest.fixture
def here(trained, tmp_path, monkeypatch):
    """A folder with its own copy of the model, and the data."""
    load_model(trained / "run").save(tmp_path / "run" / "model")
    for name in ("data.csv", "new.csv"):
        Path(tmp_path, name).write_text(Path(trained, name).read_text())
    monkeypatch.chdir(tmp_path)
    return tmp_path


BOTH = ("--model", "run", "--data", "new.csv")


def files(folder):
    return {str(path.relative_to(folder)): path.read_bytes() for path in Path(folder).rglob("*") if path.is_file()}


# tune


@pytest.mark.parametrize("metric", ["micro-f1", "macro-f1", "samples-f1"])
def test_tune_writes_the_rule_into_the_model(here, metric):
    before = files("run/model")
    found = report("tune", *BOTH, "--metric", metric)
    model = load_model("run")
    rows = [row for row in found["rows"] if row["name"] != "chosen in inner folds"]
    assert found["rule"] == max(rows, key=lambda row: row["held_out"])["name"]
    assert str(model.rule) == str(model.rules[metric]) == found["now"]["rule"]
    changed = {name for name, content in files("run/model").items() if before.get(name) != content}
    assert changed == {"rule.json", f"rules/{metric}.json", "metrics.json", "README.md"}
    assert [path.name for path in Path("run").iterdir()] == ["model"]  # no drafts


def test_tune_says_what_was_and_what_is(here):
    rule, data = load_model("run").rule, load_dataset("new.csv")
    value = by_name("micro-f1")(data.labels, load_model("run").predict(data.texts))
    shown = run("tune", *BOTH, "--rule", "top k").stdout
    assert f"The model's rule was {rule}: micro-f1 {value:.4f} on these examples." in shown
    assert "It is now TopK(k=" in shown
    card = Path("run/model/README.md").read_text()
    assert "tuned since, for micro-f1 on 80 examples of new.csv" in card


def test_a_promised_rule_stands_beside_those_of_metrics(here):
    words = ("--rule", "promised recall", "--level", 0.7, "--confidence", 0, "--folds", 2)
    assert report("tune", *BOTH, *words)["rule"] == "promised recall"
    model, data = load_model("run"), load_dataset("new.csv")
    assert set(model.rules) == {"micro-f1", "macro-f1", "promised recall"}
    assert model.for_metric("promised recall").rule is model.rules["promised recall"]
    has_labels = np.diff(data.labels.indptr) > 0
    recall = by_name("samples-recall")(data.labels[has_labels], model.predict(data.texts)[has_labels])
    assert recall >= 0.7  # of the examples that it was tuned on, by the rule that was tuned last


def test_the_tuned_rule_is_that_of_the_logits(here):
    report("tune", *BOTH, "--rule", "global threshold")
    model, data = load_model("run"), load_dataset("new.csv")
    expected = Threshold(metric="micro-f1").fit(data.labels, model.logits(data.texts))
    assert model.rule.threshold_ == pytest.approx(expected.threshold_)
    assert model.rule.scores == "logits"


def test_tune_writes_to_a_file_and_leaves_the_model_as_it_was(here):
    before = files("run")
    shown = run("tune", *BOTH, "-o", "rule.json").stdout
    assert "It is unchanged" in shown
    assert files("run") == before
    assert report("evaluate", *BOTH, "--rule", "rule.json")["examples"] == 80


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--model", "run"), "either --scores and --labels, or --model and --data must be given"),
        ((*BOTH, "--rule", "best"), "--rule must be one of 'global threshold'"),
        ((*BOTH, "--metric", "ndcg@5"), "metric must be one of label sets"),
        ((*BOTH, "--score-kind", "logits"), "--score-kind goes with --scores"),
        ((*BOTH, "--part", "valid"), "new.csv: expected the part 'valid', got no parts (--part)"),
        (("--scores", "s.npy", "--labels", "y.npy"), "--output must name a file for the rule, got none"),
        (("--scores", "s.npy", "--labels", "y.npy", "-o", "r", "--part", "valid"), "--part goes with --model"),
    ],
)
def test_a_model_tuned_in_the_wrong_way_is_refused_and_unchanged(here, words, message):
    before = files("run")
    assert_refused(run("tune", *words), message)
    assert files("run") == before


def test_of_a_split_the_validation_part_is_tuned_on(here):
    write_texts("parts.csv", 120, 2, split=("train", "dev", "test"))
    found = run("tune", "--model", "run", "--data", "parts.csv")
    assert "parts.csv, part dev: 40 examples" in found.stdout
    write_texts("two.csv", 120, 2, split=("train", "test"))
    assert_refused(
        run("tune", "--model", "run", "--data", "two.csv"),
        "two.csv: expected a part 'valid' to tune on, got train and test: --part names one",
    )
    assert "two.csv, part test: 60" in run("tune", "--model", "run", "--data", "two.csv", "--part", "test").stdout


def test_training_data_are_remarked_upon(here):
    assert "was trained on data.csv" in run("tune", "--model", "run", "--data", "data.csv").stderr
    assert run("tune", *BOTH).stderr == ""


def test_a_label_that_the_model_does_not_know_is_named(here):
    write_texts("odd.csv", 40, 3, names=("ant", "bee", "cat", "dog", "owl"))
    assert_refused(run("tune", "--model", "run", "--data", "odd.csv"), "got 'owl' (--drop-unknown leaves out")
    assert "1 unknown label left out" in run("tune", "--model", "run", "--data", "odd.csv", "--drop-unknown").stdout


def test_a_write_that_fails_leaves_the_model_as_it_was(here, monkeypatch):
    before = files("run")

    def fail(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("labelproof.models.retuning.model_card", fail)
    assert_refused(run("tune", *BOTH), "cannot be written: No space left on device")
    assert files("run") == before


# predict


def test_scores_are_probabilities_of_all_labels(here):
    result = run("predict", "run", "new.csv", "--scores", "p.npy")
    assert result.exit_code == 0, result.output
    assert "80 examples" in result.stdout
    assert "p.npy (probabilities, calibrated, of 5 labels)" in result.stdout
    scores = np.load("p.npy")
    assert scores.dtype == np.float32
    assert np.allclose(scores, load_model("run").probabilities(list(load_dataset("new.csv").texts)), atol=1e-6)


def test_scores_with_names_are_what_tune_and_evaluate_read(here):
    told = report("predict", "run", "new.csv", "--scores", "z.npz", "--score-kind", "logits", "-o", "lines.jsonl")
    assert told["score_kind"] == "logits"
    with np.load("z.npz") as arrays:
        assert arrays["label_names"].tolist() == list(load_model("run").label_names)
        assert str(arrays["score_kind"]) == "logits"
    assert len(Path("lines.jsonl").read_text().splitlines()) == 80
    rows = report("tune", "--scores", "z.npz", "--labels", "new.csv", "-o", "rule.json")["rows"]
    assert "expected F1" in {row["name"] for row in rows}  # it knows that these are logits
    of_scores = report("evaluate", "--scores", "z.npz", "--labels", "new.csv", "--rule", "rule.json")
    of_model = report("evaluate", *BOTH, "--rule", "rule.json")
    assert of_scores["metrics"]["micro-f1"] == pytest.approx(of_model["metrics"]["micro-f1"])


def test_a_rule_on_probabilities_is_evaluated_on_those_of_the_model(here):
    run("predict", "run", "new.csv", "--scores", "p.npz")
    rule = ("--rule", "per-label thresholds")
    report("tune", "--scores", "p.npz", "--labels", "new.csv", *rule, "-o", "rule.json")
    of_scores = report("evaluate", "--scores", "p.npz", "--labels", "new.csv", "--rule", "rule.json")
    of_model = report("evaluate", *BOTH, "--rule", "rule.json")
    assert of_scores["metrics"]["micro-f1"] == pytest.approx(of_model["metrics"]["micro-f1"])


def test_no_examples_give_no_rows_of_scores(here):
    Path("none.txt").write_text("")
    assert run("predict", "run", "none.txt", "--scores", "p.npy").exit_code == 0
    assert np.load("p.npy").shape == (0, 5)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--scores", "p.csv"), "--scores must be a file .npy or .npz, got p.csv"),
        (("--scores", "no/p.npy"), "--scores must be a file in a folder that exists"),
        (("--scores", "p.npy", "-o", "p.npy"), "--scores must not be the file of --output"),
        (("--scores", "p.npy", "--score-kind", "odds"), "--score-kind must be 'probabilities' or 'logits', got 'odds'"),
        (
            ("--metric", "hamming-loss"),
            "got 'hamming-loss': labelproof tune --model gives it one",
        ),
    ],
)
def test_scores_that_make_no_sense_are_refused(here, words, message):
    assert_refused(run("predict", "run", "new.csv", *words), message)
    assert not list(Path().glob("*p.npy*"))


def test_bad_input_leaves_no_file_of_scores(here):
    Path("bad.jsonl").write_text('{"text": "ant"}\n{"text": [1]}\n')
    assert_refused(run("predict", "run", "bad.jsonl", "--scores", "p.npz", "--batch-size", 1), "bad.jsonl, line 2")
    assert not list(Path().glob("*p.npz*"))


def test_a_metric_chooses_the_rule_of_predictions(here):
    model = load_model("run")
    texts = list(load_dataset("new.csv").texts)
    for metric in ("micro-f1", "macro-f1"):
        lines = run("predict", "run", "new.csv", "--metric", metric).stdout.splitlines()
        expected = [p.labels for p in model.for_metric(metric).predict_names(texts)]
        assert [tuple(json.loads(line)["labels"]) for line in lines] == expected


# evaluate


def test_a_metric_chooses_the_rule_of_evaluation(here):
    report("tune", *BOTH, "--metric", "macro-f1", "--rule", "top k")
    model, data = load_model("run"), load_dataset("new.csv")
    for metric in ("micro-f1", "macro-f1"):
        found = report("evaluate", *BOTH, "--metric", metric)
        expected = by_name(metric)(data.labels, model.for_metric(metric).predict(data.texts))
        assert found["metrics"][metric] == pytest.approx(expected)
    assert report("evaluate", *BOTH)["rule"] == report("evaluate", *BOTH, "--metric", "macro-f1")["rule"]
    assert report("evaluate", *BOTH, "--metric", "ndcg@5")["rule"] == repr(model.rule)


def test_another_rule_is_a_file_or_a_name(here):
    TopK(2).save("two.json")
    assert report("evaluate", *BOTH, "--rule", "two.json")["rule"] == "TopK(k=2)"
    assert report("evaluate", *BOTH, "--rule", "macro-f1")["rule"] == repr(load_model("run").rules["macro-f1"])
    fixed = report("evaluate", *BOTH, "--rule", "fixed")["metrics"]
    data = load_dataset("new.csv")
    at_half = load_model("run").probabilities(list(data.texts)) > 0.5
    assert fixed["micro-f1"] == pytest.approx(by_name("micro-f1")(data.labels, at_half))


def test_a_rule_that_says_nothing_of_its_scores_is_refused(here):
    data = load_dataset("new.csv")
    Threshold(metric="micro-f1").fit(data.labels, load_model("run").logits(list(data.texts))).save("rule.json")
    assert_refused(run("evaluate", *BOTH, "--rule", "rule.json"), "rule.json: the rule does not say whether it decides")
    assert_refused(
        run("evaluate", *BOTH, "--rule", "none.json"), "or one of macro-f1, micro-f1, fixed, expected-f, got"
    )


def test_columns_that_are_not_those_of_the_training_are_remarked_upon(here):
    Path("other.csv").write_text("text,tags\nant,ant\n")
    message = "other.csv: expected a column 'labels', got text, tags (columns are called as those of the training)"
    for verb in ("evaluate", "tune"):
        assert_refused(run(verb, "--model", "run", "--data", "other.csv"), message)


def test_a_part_that_was_asked_for_is_evaluated(here):
    write_texts("parts.csv", 120, 2, split=("train", "dev", "test"))
    assert "part dev: 40" in run("evaluate", "--model", "run", "--data", "parts.csv", "--part", "dev").stdout
    assert_refused(
        run("evaluate", "--model", "run", "--data", "parts.csv", "--part", "all"), "got train, dev, test (--part)"
    )
