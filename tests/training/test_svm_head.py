"""Linear support vector machines as a head: those of liblinear, from data to a model folder."""

# ruff: noqa: F401, F811 - fixtures are imported, and tests take them by their names

from types import SimpleNamespace

import numpy as np
import pytest
import scipy.sparse
import torch
from sklearn.metrics import f1_score
from sklearn.svm import LinearSVC
from training_data import config, features, one_thread, texts

import labelproof as lp
from labelproof.models import Model, MultiLabelClassifier
from labelproof.training import fit
from labelproof.training.dense_svm import dense_svms
from labelproof.training.svm import COSTS, choose_cost, linear_svms

RNG = np.random.default_rng(0)


def a_problem(n=150, n_features=40, n_labels=7, density=0.2):
    X = scipy.sparse.random_array((n, n_features), density=density, format="csr", rng=RNG)
    Y = (X @ RNG.normal(size=(n_features, n_labels)) + RNG.normal(size=(n, n_labels))) > 0.5
    return X, scipy.sparse.csr_array(Y)


@pytest.mark.parametrize("cost", [0.01, 0.3, 3.0])
@pytest.mark.parametrize("n_features", [5, 40, 400])
def test_weights_are_those_of_liblinear(cost, n_features):
    X, Y = a_problem(n_features=n_features)
    weight, bias = linear_svms(X, Y, cost, tolerance=1e-7)
    for j, y in enumerate(Y.toarray().T):
        theirs = LinearSVC(C=cost, tol=1e-9, max_iter=200_000, random_state=0).fit(X, y)
        np.testing.assert_allclose(weight[j], theirs.coef_[0], atol=2e-5)
        assert bias[j] == pytest.approx(theirs.intercept_[0], abs=2e-5)


@pytest.mark.parametrize("n_labels", [1, 2, 3, 31, 33])
def test_labels_of_a_group_do_not_change_each_other(n_labels):
    X, Y = a_problem(n_labels=40)
    together, biases = linear_svms(X, Y[:, :n_labels], 1.0, tolerance=1e-8)
    for j in range(n_labels):
        alone, bias = linear_svms(X, Y[:, [j]], 1.0, tolerance=1e-8)
        np.testing.assert_allclose(together[j], alone[0], atol=1e-5)
        assert biases[j] == pytest.approx(bias[0], abs=1e-5)


@pytest.mark.parametrize("scale", [1.0, 1e3])
def test_a_rough_solution_is_near_the_best_one(scale):
    X, Y = a_problem(n=600, n_labels=35)
    rough, fine = (linear_svms(X * scale, Y, 1.0, tolerance=tolerance) for tolerance in (1e-2, 1e-8))
    scores = [X * scale @ weight.T.astype(np.float64) + bias for weight, bias in (rough, fine)]
    np.testing.assert_allclose(*scores, atol=0.05)


@pytest.mark.parametrize("cost", [0.01, 1.0, 30.0])
@pytest.mark.parametrize(("n", "n_features"), [(60, 90), (200, 20)])
def test_dense_weights_are_those_of_liblinear(cost, n, n_features):
    X = RNG.normal(size=(n, n_features))
    Y = X @ RNG.normal(size=(n_features, 5)) + RNG.normal(size=(n, 5)) > 0.5
    weight, bias = dense_svms(X, scipy.sparse.csr_array(Y), cost, tolerance=1e-9)
    for j, y in enumerate(Y.T):
        theirs = LinearSVC(C=cost, tol=1e-9, max_iter=200_000, random_state=0).fit(X, y)
        np.testing.assert_allclose(weight[j], theirs.coef_[0], atol=2e-5)
        assert bias[j] == pytest.approx(theirs.intercept_[0], abs=2e-5)


def test_a_head_on_dense_features_is_solved_by_products_of_matrices(config, features, monkeypatch):
    def refuse(*_, **__):
        raise AssertionError("one label at a time")

    monkeypatch.setattr("labelproof.training.svm_blocks._sparse", refuse)
    fitted = fit(config(head={"kind": "svm"}), features, progress=False)
    assert fitted.metrics["validation"]["micro-f1"] > 0.5


def test_no_small_step_lowers_the_objective():
    X, Y = a_problem()
    weight, bias = (part.astype(np.float64) for part in linear_svms(X, Y, 2.0, tolerance=1e-8))
    signs = np.where(Y.toarray(), 1.0, -1.0)

    def objective(w, b):
        return (w**2).sum() / 2 + (b**2).sum() / 2 + 2 * (np.maximum(1 - signs * (X @ w.T + b), 0) ** 2).sum()

    least = objective(weight, bias)
    for _ in range(20):
        step, shift = 1e-3 * RNG.normal(size=weight.shape), 1e-3 * RNG.normal(size=bias.shape)
        assert objective(weight + step, bias + shift) > least


def test_the_solution_does_not_depend_on_the_number_of_threads():
    X, Y = a_problem(n=2000, n_labels=80)
    found = []
    for threads in (1, 2, 3):
        torch.set_num_threads(threads)
        found.append(linear_svms(X, Y, 1.0))
    for weight, bias in found[1:]:
        np.testing.assert_array_equal(weight, found[0][0])
        np.testing.assert_array_equal(bias, found[0][1])


@pytest.mark.parametrize("active", [False, True])
def test_a_label_that_never_changes_is_always_predicted_so(active):
    X, _ = a_problem()
    weight, bias = linear_svms(X, scipy.sparse.csr_array(np.full((150, 1), active)), 1.0)
    assert ((X @ weight[0] + bias[0] > 0) == active).all()


def test_texts_are_learned_and_the_model_is_saved(config, texts, tmp_path):
    sections = {"encoder": {"kind": "tfidf", "hidden": None}, "head": {"kind": "svm"}}
    fitted = fit(config(**sections), texts, out=tmp_path / "run", progress=False)
    assert fitted.config.head.C in COSTS
    assert [sorted(row) for row in fitted.history] == [["epoch", "seconds", "train loss"]]
    assert not (tmp_path / "run" / "learning_curve.png").exists()
    model = Model.of(fitted)
    assert f1_score(texts.labels, model.predict(texts.texts), average="micro") > 0.97
    model.save(tmp_path / "model")
    again = lp.load_model(tmp_path / "model")
    np.testing.assert_array_equal(again.logits(texts.texts), model.logits(texts.texts))
    assert "Loss: squared hinge" in (tmp_path / "model" / "README.md").read_text()


def test_held_out_examples_choose_a_small_c_where_labels_are_noisy():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(2100, 60))
    Y = (X @ rng.normal(size=(60, 8)) > 0) ^ (rng.random((2100, 8)) < 0.2)
    features, labels = scipy.sparse.csr_array(X), scipy.sparse.csr_array(Y)
    held_out = SimpleNamespace(labels=labels[100:])
    assert choose_cost(features[:100], labels[:100], features[100:], held_out) < 0.3


def test_c_is_one_of_those_tried_or_the_one_given(config, features):
    assert fit(config(head={"kind": "svm"}), features, progress=False).config.head.C in COSTS
    without = config(head={"kind": "svm"}, data={"validation": 0.0}, decision={"kind": "fixed"})
    assert fit(without, features, progress=False).config.head.C == 1
    assert fit(config(head={"kind": "svm", "C": 7}), features, progress=False).config.head.C == 7


def test_an_encoder_that_is_to_be_trained_is_refused(config, features):
    trained = config(encoder={"kind": "features", "hidden": 4}, head={"kind": "svm"})
    with pytest.raises(
        ValueError, match=r"head 'svm' is solved for features as they are: the encoder must train nothing"
    ):
        fit(trained, features, progress=False)


def test_the_estimator_has_it_but_not_in_parts(features):
    X, Y = features.features, features.labels.toarray()
    estimator = MultiLabelClassifier(head="svm", random_state=0).fit(X, Y)
    assert f1_score(Y, estimator.predict(X), average="micro") > 0.85
    with pytest.raises(AttributeError, match="has no attribute 'partial_fit'"):
        estimator.partial_fit(X, Y)
