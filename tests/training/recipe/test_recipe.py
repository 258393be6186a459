"""The recipe from end to end: better than a plain machine, resumable, verifiable, from the command line."""

import csv
import json
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.multiclass import OneVsRestClassifier
from sklearn.svm import LinearSVC
from typer.testing import CliRunner

import labelproof as lp
from labelproof.cli import app
from labelproof.data import Dataset, topic_data
from labelproof.metrics import f1_score
from labelproof.models import Model
from labelproof.training import TrainConfig, fit
from labelproof.training.recipe import deciding, fitting, searching
from labelproof.training.recipe.deciding import chosen_rule, decided_out_of_fold, rule_for
from labelproof.training.recipe.fitting import fit_recipe

AUTO = TrainConfig.from_dict({"head": {"kind": "auto", "budget": 0}})  # a plain grid
ALL = TrainConfig.from_dict({"head": {"kind": "auto", "budget": "1h"}})

pytestmark = pytest.mark.xdist_group("recipe")  # what they share is made once, not in each worker


@pytest.fixture(scope="module")
def texts():
    made = topic_data(400, 12, 300, cardinality=2.0, n_words=30.0, seed=0)
    rows = np.asarray(made.features.toarray() if scipy.sparse.issparse(made.features) else made.features, int)
    words = np.array([f"word{j}" for j in range(rows.shape[1])])
    return Dataset(made.labels, made.label_names, texts=[" ".join(np.repeat(words, row)) for row in rows])


@pytest.fixture(scope="module")
def numbers():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(240, 5))
    Y = np.column_stack([X[:, 0] ** 2 > 1, X[:, 1] > 0.5, X[:, 0] * X[:, 1] > 0.5, X[:, 2] > 2.5])
    X[rng.random(X.shape) < 0.02] = np.nan
    split = np.array(["train"] * 160 + ["valid"] * 20 + ["test"] * 60)
    return Dataset(scipy.sparse.csr_array(Y), ("far", "up", "same", "rare"), features=X, split=split)


@pytest.fixture(scope="module")
def fitted(numbers):
    return fit(ALL, numbers, progress=False)


def test_texts_get_at_least_what_a_plain_machine_gives(texts):
    training, test = texts.select(slice(0, 300)), texts.select(slice(300, 400))
    found = fit_recipe(training, budget=0.0)
    model = Model(found.encoder, found.head, training.label_names, found.rules["micro-f1"])
    vectors = TfidfVectorizer(sublinear_tf=True).fit(training.texts)
    plain = OneVsRestClassifier(LinearSVC()).fit(
        vectors.transform(training.texts), training.labels.toarray().astype(int)
    )
    ours = f1_score(test.labels, model.predict(list(test.texts)), average="micro")
    theirs = f1_score(test.labels, plain.predict(vectors.transform(test.texts)), average="micro")
    assert ours > theirs


def test_curved_boundaries_are_found(fitted):
    tried = {row["member"].split(":")[0] for row in fitted.tried}
    (scaling,) = {name.split(", ")[0] for name in tried if "kernel" in name}
    kernels = {f"{scaling}, {width} kernel" for width in ("smooth", "sharp")}
    assert tried == {"standardised", "quantiles", *kernels, "trees", "blend"}
    assert any("network" in row["member"] for row in fitted.tried)
    assert fitted.metrics["test"]["micro-f1"] > 0.7
    assert fitted.metrics["sizes"] == {"training": 180, "test": 60}  # the validation part is trained on too


def test_every_metric_has_its_rule(fitted, numbers):
    assert set(fitted.rules) == {"micro-f1", "macro-f1"}
    assert type(rule_for("samples-f1")).__name__ == "Threshold"
    model = Model.of(fitted)
    assert model.for_metric("macro-f1").rule is fitted.rules["macro-f1"]
    with pytest.raises(ValueError, match=r"a rule for \(micro-f1, macro-f1\), got 'samples-f1'"):
        model.for_metric("samples-f1")


def test_a_saved_model_predicts_and_is_verified_within_its_domain(fitted, numbers, tmp_path):
    Model.of(fitted).save(tmp_path / "model")
    model = lp.load_model(tmp_path / "model")
    test = numbers.part("test")
    np.testing.assert_array_equal(model.predict(test.features), Model.of(fitted).predict(test.features))
    assert model.for_metric("macro-f1").evaluate(test)["macro-f1"] > 0.3
    audit = lp.audit(model, test.labels)
    kind, blocks = audit.layer.domain
    assert (kind, sum(n for n, _ in blocks)) == ("blocks", audit.layer.weight.shape[1])
    assert model.domain == audit.layer.domain
    assert "The features are those of the model's views" in audit.document["layer"]["domain_reason"]


def test_an_interrupted_run_goes_on_after_what_was_finished(numbers, tmp_path, monkeypatch):
    done = []
    original = searching.svm_candidate

    def stop_at_the_third(*args):
        if len(done) == 2:
            raise KeyboardInterrupt
        done.append(args[-1])
        return original(*args)

    monkeypatch.setattr(searching, "svm_candidate", stop_at_the_third)
    with pytest.raises(KeyboardInterrupt):
        fit(AUTO, numbers, out=tmp_path / "run", progress=False)
    monkeypatch.setattr(
        searching, "svm_candidate", lambda *given, **how: done.append(given[-1]) or original(*given, **how)
    )
    resumed = fit(AUTO, numbers, out=tmp_path / "run", resume=True, progress=False)
    assert len(done) == len(set(done))
    whole = fit(AUTO, numbers, progress=False)
    np.testing.assert_array_equal(resumed.head.weight.detach(), whole.head.weight.detach())


def test_a_run_is_not_overwritten_and_other_data_are_not_mixed_in(numbers, tmp_path):
    fit(AUTO, numbers, out=tmp_path / "run", progress=False)
    with pytest.raises(ValueError, match="holds a run already"):
        fit(AUTO, numbers, out=tmp_path / "run", progress=False)
    other = numbers.with_labels(scipy.sparse.csr_array(~numbers.labels.toarray()))
    resumed = fit(AUTO, other, out=tmp_path / "run", resume=True, progress=False)
    fresh = fit(AUTO, other, progress=False)
    np.testing.assert_array_equal(resumed.head.weight.detach(), fresh.head.weight.detach())


def test_a_run_may_go_on_with_another_budget(numbers, tmp_path):
    fit(AUTO, numbers, out=tmp_path / "run", progress=False)
    more = TrainConfig.from_dict({"head": {"kind": "auto", "budget": 0.01}})
    assert fit(more, numbers, out=tmp_path / "run", resume=True, progress=False).head is not None


def test_what_there_is_no_time_for_is_named(texts):
    found = fit_recipe(texts.select(slice(0, 120)), budget=0.0)
    assert any(name.startswith("words and letters") for name in found.skipped)


def test_letters_of_few_texts_are_few_inputs_of_a_network(texts):
    found = fit_recipe(texts.select(slice(0, 120)), budget=100.0)
    assert any(row["member"].startswith("words and letters: network") for row in found.table)


def test_of_many_labels_costs_are_chosen_on_some(numbers, monkeypatch):
    monkeypatch.setattr(searching, "MANY_LABELS", 3)
    monkeypatch.setattr(searching, "SOME_LABELS", 2)
    said = []
    found = fit_recipe(numbers.part("train").with_split(None), budget=0.0, say=said.append)
    assert [row["member"].split(":")[0] for row in found.table] == ["standardised", "blend"]
    assert "is best for 2 of 4 labels" in said[0]
    assert found.head.weight.shape[0] == 4


def test_costs_that_were_tried_on_some_labels_are_not_tried_again(numbers, tmp_path, monkeypatch):
    monkeypatch.setattr(searching, "MANY_LABELS", 3)
    monkeypatch.setattr(searching, "SOME_LABELS", 2)
    original, done = searching.svm_candidate, []

    def stop_at_all_labels(folds, plan, parts, cost, **how):
        if folds.labels.shape[1] > 2:
            raise KeyboardInterrupt
        done.append(cost)
        return original(folds, plan, parts, cost, **how)

    monkeypatch.setattr(searching, "svm_candidate", stop_at_all_labels)
    with pytest.raises(KeyboardInterrupt):
        fit(AUTO, numbers, out=tmp_path / "run", progress=False)
    tried = len(done)
    monkeypatch.setattr(searching, "svm_candidate", lambda *args: done.append(args[-1]) or original(*args))
    fit(AUTO, numbers, out=tmp_path / "run", resume=True, progress=False)
    assert tried >= 3
    assert len(done) == tried + 1  # the best of them, with all labels


def test_where_machines_have_too_many_weights_a_network_stands_alone(numbers, monkeypatch):
    monkeypatch.setattr(searching, "MOST_WEIGHTS", 10)
    monkeypatch.setattr(searching, "has_few_leaves", lambda _: False)
    found = fit_recipe(numbers.part("train").with_split(None), budget=1.0)
    assert [row["member"].split(",")[0] for row in found.table] == ["standardised: network", "blend"]
    assert any("weights)" in name for name in found.skipped)


def test_thresholds_serve_the_metric_that_was_asked_for(numbers):
    found = fit_recipe(numbers.part("train").with_split(None), metric="samples-f1", budget=0.0)
    assert found.rules["samples-f1"].metric == "samples-f1"


def test_out_of_fold_decisions_do_not_know_their_labels(numbers):
    training = numbers.part("train").with_split(None)
    folds = searching.Folds(fitting.material_of(training), training.labels, fitting.fold_numbers(training, seed=0))
    logits = np.random.default_rng(0).normal(size=training.labels.shape).astype(np.float32)
    decided = decided_out_of_fold(rule_for("macro-f1"), logits, training.labels, folds.parts)
    changed = training.labels.toarray()
    changed[folds.numbers == 0] ^= True
    again = decided_out_of_fold(rule_for("macro-f1"), logits, scipy.sparse.csr_array(changed), folds.parts)
    np.testing.assert_array_equal(decided[folds.numbers == 0], again[folds.numbers == 0])


@pytest.mark.parametrize(("own_offsets", "kind"), [(False, "Threshold"), (True, "PerLabelThreshold")])
def test_labels_have_thresholds_of_their_own_where_that_pays(own_offsets, kind):
    rng = np.random.default_rng(0)
    truth = rng.random((300, 200)) < 0.03
    logits = np.where(truth, 2.0, -2.0) + rng.normal(0, 1.5, truth.shape) + own_offsets * rng.normal(0, 4, 200)
    labels, parts = scipy.sparse.csr_array(truth), np.arange(300) % 3
    rule = chosen_rule("macro-f1", logits.astype(np.float32), labels, parts)
    assert type(rule).__name__ == kind
    assert type(chosen_rule("micro-f1", logits.astype(np.float32), labels, parts)).__name__ == "Threshold"


def test_a_rule_that_is_better_in_some_folds_alone_does_not_replace_the_usual_one(monkeypatch):
    values = {5.0: [0.5, 0.5, 0.5], 1.0: [0.6, 0.8, 0.4], 20.0: [0.52, 0.51, 0.53], None: [0.51, 0.52, 0.51]}
    monkeypatch.setattr(deciding, "_values", lambda _, rule, *__: values[getattr(rule, "shrinkage", None)])
    assert chosen_rule("macro-f1", None, None, None).shrinkage == 20.0


def test_one_command_trains_predicts_and_evaluates(texts, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with open("reviews.csv", "w", newline="") as stream:
        writer = csv.writer(stream)
        writer.writerow(["text", "labels"])
        writer.writerows(zip(texts.texts, map(";".join, texts.label_sets()), strict=True))
    run = CliRunner().invoke
    answer = run(app, ["train", "--data", "reviews.csv", "-o", "run", "--budget", "fast", "--test", "0.2"])
    assert answer.exit_code == 0, answer.output
    assert "blend" in answer.stdout
    assert "Left out: words and letters" in answer.stdout
    assert run(app, ["predict", "run/model", "reviews.csv", "-o", "out.jsonl"]).exit_code == 0
    assert all("labels" in json.loads(line) for line in Path("out.jsonl").read_text().splitlines())
    assert run(app, ["evaluate", "--model", "run/model", "--data", "reviews.csv"]).exit_code == 0


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("-o", "run"), "expected --data with the data, or the file of a configuration"),
        (("config.yaml", "--data", "d.csv", "-o", "run"), "which names the data in data.path, got both (config.yaml)"),
        (("--data", "d.csv"), "expected --output with the folder of the run"),
        (("--data", "d.csv", "-o", "run", "--budget", "soon"), "budget must be a time such as 90s"),
        (("--data", "d.csv", "-o", "run", "--metric", "best"), "best"),
    ],
)
def test_wrong_use_is_one_sentence(words, message, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    answer = CliRunner().invoke(app, ["train", *words])
    assert answer.exit_code == 2
    assert answer.stderr.count("\n") == 1
    assert message in answer.stderr
