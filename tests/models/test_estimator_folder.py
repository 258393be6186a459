"""MultiLabelClassifier on disk: the folder of the command line, and the same model as the command trains."""

# ruff: noqa: F401 - fixtures are imported, and tests take them by their names

import json
import pickle
import re
from copy import deepcopy
from pathlib import Path

import joblib
import numpy as np
import pytest
import scipy.sparse
import skops.io
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from small_models import one_thread

import labelproof as lp
from labelproof.data import Dataset, save_dataset
from labelproof.errors import ModelFormatError
from labelproof.models import Model, load_model
from running_verbs import report, run

RNG = np.random.default_rng(0)
X = RNG.normal(size=(90, 6)).astype(np.float32)
Y = (X[:, :3] + 0.3 * RNG.normal(size=(90, 3)) > 0.4).astype(int)
TEXTS = [" ".join(np.array(["ant", "bee", "cat"])[row > 0]) or "nothing" for row in Y]


def classifier(**options):
    return lp.MultiLabelClassifier(**{"budget": "fast", "random_state": 0} | options)


@pytest.fixture(scope="module")
def fitted():
    return classifier().fit(X, Y)


def same(one, other, inputs=X):
    assert np.array_equal(one.predict(inputs), other.predict(inputs))
    assert np.allclose(one.decision_function(inputs), other.decision_function(inputs), atol=1e-6)


def test_an_estimator_is_the_same_after_its_folder(fitted, tmp_path):
    fitted.save(tmp_path / "model")
    found = lp.MultiLabelClassifier.load(tmp_path / "model")
    same(fitted, found)
    assert found.get_params() == fitted.get_params()
    assert found.n_features_in_ == 6
    assert found.rules_.keys() == {"micro-f1", "macro-f1"}
    with pytest.raises(ValueError, match="X has 5 features, but MultiLabelClassifier is expecting 6"):
        found.predict(X[:, :5])


def test_nothing_in_the_folder_is_pickled(fitted, tmp_path):
    fitted.save(tmp_path / "model")
    assert {path.suffix for path in (tmp_path / "model").rglob("*") if path.is_file()} <= {
        ".json",
        ".md",
        ".safetensors",
        ".npz",
    }


def test_texts_sparse_labels_and_names_of_columns_are_kept(tmp_path):
    pandas = pytest.importorskip("pandas")
    named = classifier().fit(TEXTS, pandas.DataFrame(Y, columns=["a", "b", "c"]))
    named.save(tmp_path / "a")
    assert lp.MultiLabelClassifier.load(tmp_path / "a").label_names_ == ("a", "b", "c")
    assert load_model(tmp_path / "a").predict_names(["ant"])[0].labels == ("a",)
    classifier().fit(TEXTS, scipy.sparse.csr_array(Y)).save(tmp_path / "b")
    assert scipy.sparse.issparse(lp.MultiLabelClassifier.load(tmp_path / "b").predict(TEXTS))


@pytest.mark.parametrize("classes", [["no", "yes"], [3, 5, 7]])
def test_classes_come_back_as_they_were(tmp_path, classes):
    y = np.array(classes)[(X[:, 0] > 0).astype(int) + (len(classes) > 2) * (X[:, 1] > 0)]
    one = classifier(head="linear", epochs=2).fit(X, y)
    one.save(tmp_path / "model")
    found = lp.MultiLabelClassifier.load(tmp_path / "model")
    assert found.classes_.tolist() == classes
    same(one, found)


def test_the_estimator_reads_the_folder_of_the_command_and_is_the_same_model(tmp_path):
    save_dataset(Dataset(Y, ("a", "b", "c"), features=X), tmp_path / "data.npz")
    report("train", "--data", tmp_path / "data.npz", "-o", tmp_path / "run", "--budget", "fast", "--seed", 3)
    ours = classifier(random_state=3).fit(X, Y)
    same(ours, lp.MultiLabelClassifier.load(tmp_path / "run"))
    assert lp.MultiLabelClassifier.load(tmp_path / "run").label_names_ == ("a", "b", "c")


def test_the_defaults_of_the_estimator_are_those_of_the_command(tmp_path):
    save_dataset(Dataset(Y, ("0", "1", "2"), features=X), tmp_path / "data.npz")
    report("train", "--data", tmp_path / "data.npz", "-o", tmp_path / "run", "--budget", "fast")
    command = load_model(tmp_path / "run").config.to_dict()
    ours = Model.of(classifier().fit(X, Y)).config.to_dict()
    assert ours["head"] == command["head"]
    assert ours["trainer"]["seed"] == command["trainer"]["seed"]
    assert lp.MultiLabelClassifier().get_params()["budget"] is None
    assert lp.MultiLabelClassifier().get_params()["head"] == "auto"


def test_the_command_predicts_with_the_folder_of_an_estimator(fitted, tmp_path):
    fitted.save(tmp_path / "model")
    np.save(tmp_path / "X.npy", X)
    lines = run("predict", tmp_path / "model", tmp_path / "X.npy", "--top", 0).stdout.splitlines()
    found = np.array([[str(j) in json.loads(line)["labels"] for j in range(3)] for line in lines])
    assert np.array_equal(found, fitted.predict(X).astype(bool))


def test_a_model_is_made_of_an_estimator(fitted):
    model = Model.of(fitted)
    assert np.array_equal(model.predict(X), fitted.predict(X).astype(bool))
    assert model.for_metric("macro-f1").rule is fitted.rules_["macro-f1"]
    with pytest.raises(ValueError, match="trained must be what fit returns, or a MultiLabelClassifier, got str"):
        Model.of("model")


def test_a_tuned_rule_is_saved(fitted, tmp_path):
    tuned = deepcopy(fitted).set_params(metric="macro-f1")
    tuned.tune(X[:40], Y[:40]).save(tmp_path / "model")
    found = load_model(tmp_path / "model")
    assert np.array_equal(found.rule.thresholds_, tuned.rule_.thresholds_)
    assert np.array_equal(found.rules["macro-f1"].thresholds_, tuned.rule_.thresholds_)


def test_pickles_and_joblib_work(fitted, tmp_path):
    same(fitted, pickle.loads(pickle.dumps(fitted)))  # noqa: S301 - our own
    joblib.dump(fitted, tmp_path / "a.joblib")
    same(fitted, joblib.load(tmp_path / "a.joblib"))


def test_skops_is_refused_with_the_way_to_do_it_but_takes_what_is_not_fitted(fitted, tmp_path):
    with pytest.raises(TypeError, match=re.escape("use save(path) and load(path) of its own")):
        skops.io.dump(make_pipeline(StandardScaler(), fitted), tmp_path / "a.skops")
    skops.io.dump(classifier(metric="macro-f1"), tmp_path / "b.skops")
    known = ["labelproof.models.estimator.MultiLabelClassifier"]
    assert skops.io.load(tmp_path / "b.skops", trusted=known).metric == "macro-f1"


def test_what_is_not_fitted_is_not_saved(tmp_path):
    with pytest.raises(ValueError, match="not fitted yet"):
        lp.MultiLabelClassifier().save(tmp_path / "model")
    with pytest.raises(ValueError, match="not fitted yet"):
        Model.of(lp.MultiLabelClassifier())
    assert not (tmp_path / "model").exists()


def test_a_folder_of_something_else_is_left_alone(fitted, tmp_path):
    Path(tmp_path, "thesis.txt").write_text("mine")
    with pytest.raises(ValueError, match="is in the way"):
        fitted.save(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.txt"]


@pytest.mark.parametrize(
    "damage", [{"y": {"form": "classes", "classes": [1, 2, 3, 4], "dtype": "<i8"}}, {"options": None}, {"y": None}]
)
def test_a_damaged_description_is_refused_by_its_name(fitted, tmp_path, damage):
    fitted.save(tmp_path / "model")
    path = tmp_path / "model" / "estimator.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), **damage}))
    with pytest.raises(ModelFormatError, match=re.escape("estimator.json: expected what save writes")):
        lp.MultiLabelClassifier.load(tmp_path / "model")


def test_a_model_that_no_estimator_can_be_is_refused_with_the_way_to_read_it(tmp_path):
    Path(tmp_path, "data.csv").write_text("text,labels\n" + "ant,ant\nbee,bee;ant\n" * 20)
    config = "data: {path: data.csv}\nencoder: {kind: tfidf}\nhead: {kind: linear}\ntrainer: {epochs: 1}\n"
    Path(tmp_path, "config.yaml").write_text(config.replace("data.csv", str(tmp_path / "data.csv")))
    assert run("train", tmp_path / "config.yaml", "-o", tmp_path / "run").exit_code == 0
    with pytest.raises(ModelFormatError, match=re.escape("the encoder 'tfidf': labelproof.load_model reads it")):
        lp.MultiLabelClassifier.load(tmp_path / "run")
