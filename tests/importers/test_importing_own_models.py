"""Labelproof's own models, live and saved."""

import subprocess
import sys

import numpy as np
import pytest
import torch

import labelproof as lp
from labelproof.data import Dataset
from labelproof.errors import ModelFormatError
from labelproof.importers import layer_of, read_layer
from labelproof.importers.feature_domains import UNIT
from labelproof.models import Model
from labelproof.training import TrainConfig, fit

RNG = np.random.default_rng(0)
X = RNG.normal(size=(60, 24)).astype(np.float32)
NAMES = tuple("abcdefgh")
Y = X[:, :8] + RNG.normal(size=(60, 8)) > 0.5


def train(head, encoder=None):
    sections = {
        "head": head,
        "encoder": encoder or {"kind": "features"},
        "trainer": {"epochs": 1, "accelerator": "cpu"},
    }
    return Model.of(fit(TrainConfig.from_dict(sections), Dataset(Y, NAMES, features=X), progress=False))


@pytest.mark.parametrize(
    ("head", "encoder", "before", "domain"),
    [
        ({"kind": "dft", "k": 2, "slack": 3}, None, "a linear layer", None),
        ({"kind": "bottleneck", "d": 3}, None, "a linear layer", None),
        ({"kind": "linear"}, None, None, None),
        ({"kind": "linear", "relu": True}, None, "ReLU", "nonnegative"),
        ({"kind": "linear"}, {"kind": "features", "hidden": 5}, "ReLU", "nonnegative"),
    ],
    ids=["dft", "bottleneck", "linear", "relu", "hidden"],
)
def test_the_features_of_a_model_give_its_logits(tmp_path, head, encoder, before, domain):
    model = train(head, encoder)
    model.save(tmp_path / "saved")
    for layer in (layer_of(model), read_layer(tmp_path / "saved")):
        np.testing.assert_array_equal(layer.weight, model.weight.detach().double().numpy())
        bias = 0 if layer.bias is None else layer.bias
        features = layer.features(X)
        np.testing.assert_allclose(features @ layer.weight.T + bias, model.logits(X), rtol=1e-4, atol=1e-4)
        assert (layer.label_names, layer.before, layer.domain) == (NAMES, before, domain)
        assert domain is None or (features >= 0).all()
        assert (layer.kind, layer.dtype) == ("labelproof model", "float32")
        sets = layer.rule.decide(features @ layer.weight.T + bias)
        assert (sets == model.predict(X)).mean() > 0.99
        assert layer.features(X[:0]).shape == (0, layer.n_features)
    assert read_layer(tmp_path / "saved").model == "saved"


@pytest.mark.parametrize(("hidden", "before", "domain"), [(None, "tfidf", ("unit", UNIT)), (6, "ReLU", "nonnegative")])
def test_the_features_of_texts_are_nonnegative_and_as_they_are_of_length_1(hidden, before, domain):
    sections = {
        "encoder": {"kind": "tfidf", "hidden": hidden},
        "head": {"kind": "svm" if hidden is None else "linear"},
        "trainer": {"epochs": 1, "accelerator": "cpu"},
    }
    texts = [" ".join(name * 3 for name, active in zip(NAMES, row, strict=True) if active) or "none" for row in Y]
    model = Model.of(fit(TrainConfig.from_dict(sections), Dataset(Y, NAMES, texts=texts), progress=False))
    layer = layer_of(model)
    features = layer.features(texts)
    assert (layer.before, layer.domain, model.domain) == (before, domain, domain)
    assert (features >= 0).all()
    assert hidden or (np.linalg.norm(features, axis=1) <= domain[1]).all()


def test_the_verifier_takes_an_imported_layer_with_its_rule():
    layer = layer_of(train({"kind": "bottleneck", "d": 2}))
    v = lp.verify(layer.weight, Y[:5], bias=layer.bias, rule=layer.rule, domain=layer.domain, ties="inactive")
    v.check()
    assert len(v.status) == 5


def test_the_folder_of_a_run_is_read(tmp_path):
    train({"kind": "linear"}).save(tmp_path / "run" / "model")
    assert read_layer(tmp_path / "run").label_names == NAMES


def test_a_damaged_model_says_what_is_wrong(tmp_path):
    train({"kind": "linear"}).save(tmp_path / "model")
    (tmp_path / "model" / "labels.json").unlink()
    with pytest.raises(ModelFormatError, match=r"expected the folder of a model, got no labels\.json in it"):
        read_layer(tmp_path / "model")
    with pytest.raises(ModelFormatError, match="weight_key must not be given for such a model"):
        read_layer(tmp_path / "model", weight_key="head.output")


def test_a_fitted_classifier_is_a_layer():
    classifier = lp.MultiLabelClassifier(head="bottleneck", d=3, epochs=1, random_state=0).fit(X, Y)
    layer = layer_of(classifier)
    np.testing.assert_allclose(
        layer.features(X) @ layer.weight.T + (0 if layer.bias is None else layer.bias),
        classifier.decision_function(X), rtol=1e-4, atol=1e-4,
    )  # fmt: skip
    assert (layer.label_names, layer.rule) == (None, classifier.rule_)


def test_a_fitted_classifier_may_end_a_pipeline():
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    model = make_pipeline(StandardScaler(), lp.MultiLabelClassifier(head="linear", hidden=5, epochs=1, random_state=0))
    layer = layer_of(model.fit(X, Y))
    logits = layer.features(X) @ layer.weight.T + layer.bias
    np.testing.assert_allclose(logits, model.decision_function(X), rtol=1e-4, atol=1e-4)
    assert (layer.before, layer.domain, layer.rule) == ("ReLU", "nonnegative", model[-1].rule_)


def test_a_fitted_classifier_of_classes_is_judged_by_the_rule_topk():
    classes = np.array(["ant", "bee", "cat"])[Y[:, :3].argmax(axis=1)]
    layer = layer_of(lp.MultiLabelClassifier(head="linear", epochs=1, random_state=0).fit(X, classes))
    assert (layer.rule, layer.label_names) == ("topk", ("ant", "bee", "cat"))
    assert "largest logit" in layer.notes[0]


def test_a_classifier_that_was_never_fitted_is_refused():
    with pytest.raises(ValueError, match="MultiLabelClassifier instance is not fitted yet"):
        layer_of(lp.MultiLabelClassifier())


def test_a_model_with_weights_that_are_not_finite_is_refused():
    model = train({"kind": "linear"})
    with torch.no_grad():
        model.head.output.weight[3, 4] = float("inf")
    with pytest.raises(ValueError, match="the weight must be finite, got inf at label 3, feature 4"):
        layer_of(model)


def test_importing_the_importers_imports_no_torch():
    heavy = "{'torch', 'sklearn', 'transformers', 'onnx', 'skops'}"
    code = f"import sys, labelproof.importers; print(*sorted({heavy} & set(sys.modules)))"
    answer = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)  # noqa: S603
    assert answer.stdout.strip() == ""
