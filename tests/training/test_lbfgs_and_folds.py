"""Linear models by L-BFGS, and decision rules from out-of-fold logits."""

import numpy as np
import pytest
import scipy.sparse
import torch
from sklearn.linear_model import LogisticRegression

from labelproof.data import Dataset
from labelproof.losses import BinaryCrossEntropyLoss, SparsemaxLoss
from labelproof.metrics import by_name
from labelproof.models import Model
from labelproof.simplex import sparsemax
from labelproof.training import ConfigError, TrainConfig, fit, fit_linear
from labelproof.training.cross_fitting import fold_rows

LINEAR = {
    "encoder": {"kind": "features", "standardise": True},
    "head": {"kind": "linear"},
    "decision": {"kind": "global"},
    "trainer": {"optimizer": "lbfgs", "epochs": 200, "weight_decay": 0.01},
}


def problem(n=60, n_labels=3, seed=0):
    rng = np.random.default_rng(seed)
    features = rng.normal(size=(n, 5))
    return features, features[:, :n_labels] + 0.7 * rng.normal(size=(n, n_labels)) > 0.2


def small_data(**changes):
    features, labels = problem()
    return Dataset(labels, ("a", "b", "c"), features=features.astype(np.float32), **changes)


@pytest.mark.parametrize("form", [np.asarray, scipy.sparse.csr_array])
def test_the_logistic_model_is_that_of_scikit_learn(form):
    features, labels = problem()
    found = fit_linear(
        form(features), torch.from_numpy(labels.astype(float)), BinaryCrossEntropyLoss(), 3, decay=0.01, iterations=500
    )
    for label in range(3):
        peer = LogisticRegression(C=1 / (0.01 * labels.size), tol=1e-10, max_iter=1000).fit(features, labels[:, label])
        np.testing.assert_allclose(found.weight[label], peer.coef_[0], atol=2e-3)
        np.testing.assert_allclose(found.bias[label], peer.intercept_[0], atol=2e-3)
    assert list(found.objectives) == sorted(found.objectives, reverse=True)


def test_at_the_sparsemax_model_all_slopes_are_zero():
    features, labels = problem()
    proportions = (labels + 0.1) / (labels + 0.1).sum(axis=1, keepdims=True)
    found = fit_linear(features, torch.from_numpy(proportions), SparsemaxLoss(), 3, decay=0.1, iterations=500)
    residual = (sparsemax(features @ found.weight.T + found.bias) - proportions) / len(features)
    np.testing.assert_allclose(residual.T @ features + 0.1 * found.weight, 0, atol=1e-4)
    np.testing.assert_allclose(residual.sum(axis=0), 0, atol=1e-4)


def test_a_loss_with_something_to_train_is_refused():
    class Scaled(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.scale = torch.nn.Parameter(torch.ones(()))

    with pytest.raises(ValueError, match="must have nothing to train for L-BFGS, got Scaled"):
        fit_linear(np.eye(2), torch.eye(2), Scaled(), 2)


def test_a_configuration_solves_the_same_problem():
    fitted = fit(TrainConfig.from_dict(LINEAR), small_data(), progress=False)
    data = small_data()
    rows = fitted.metrics["sizes"]["training"]
    assert rows == 54
    assert len(fitted.history) < 200
    assert fitted.metrics["validation"]["micro-f1"] > 0.6
    more = {**LINEAR, "trainer": {**LINEAR["trainer"], "weight_decay": 10.0}}
    shrunk = fit(TrainConfig.from_dict(more), data, progress=False)
    assert shrunk.head.weight.detach().norm() < 0.1 * fitted.head.weight.detach().norm()


def test_relu_and_no_bias_are_those_of_the_head():
    config = TrainConfig.from_dict({**LINEAR, "head": {"kind": "linear", "relu": True, "bias": False}})
    fitted = fit(config, small_data(), progress=False)
    assert fitted.head.bias is None
    assert Model.of(fitted).domain == "nonnegative"
    assert fitted.history[-1]["train loss"] < np.log(2)


def test_what_lbfgs_cannot_solve_is_refused():
    with pytest.raises(ConfigError, match=r"lbfgs is for head\.kind linear, got dft"):
        TrainConfig.from_dict({"trainer": {"optimizer": "lbfgs"}})
    hidden = {**LINEAR, "encoder": {"kind": "features", "hidden": 4}}
    with pytest.raises(ValueError, match="the encoder must train nothing"):
        fit(TrainConfig.from_dict(hidden), small_data(), progress=False)


def test_folds_fit_the_rule_out_of_fold_and_the_model_on_all_examples():
    data = small_data(split=np.array(["train"] * 40 + ["valid"] * 8 + ["test"] * 12))
    config = TrainConfig.from_dict({**LINEAR, "data": {"folds": 4}})
    fitted = fit(config, data, progress=False)
    assert fitted.metrics["sizes"] == {"training": 48, "test": 12}
    assert fitted.config.data.folds == 4
    assert fitted.config.decision.kind == "global"
    plain = {**LINEAR, "data": {"validation": 0.0}, "decision": {"kind": "fixed"}}
    training = data.select(np.arange(48)).with_split(None)
    whole = fit(TrainConfig.from_dict(plain), training, progress=False)
    torch.testing.assert_close(fitted.head.weight, whole.head.weight)
    logits = np.zeros((48, 3), np.float32)
    for held in fold_rows(training, 4, seed=0):
        kept = np.setdiff1d(np.arange(48), held)
        part = Model.of(fit(TrainConfig.from_dict(plain), training.select(kept), progress=False))
        logits[held] = part.logits(training.features[held])
    ours = by_name("micro-f1")(training.labels, logits > fitted.rule.threshold_)
    cuts = np.unique(logits)
    best = max(by_name("micro-f1")(training.labels, logits > cut) for cut in np.append(cuts, cuts[0] - 1))
    assert ours == pytest.approx(best, abs=1e-12)
    assert fitted.metrics["validation"]["micro-f1"] == pytest.approx(ours, abs=1e-12)


def test_every_example_is_in_one_fold():
    rows = fold_rows(small_data(), 5, seed=1)
    assert sorted(np.concatenate(rows).tolist()) == list(range(60))
    with pytest.raises(ValueError, match="at most the 60 training examples, got 61"):
        fold_rows(small_data(), 61, seed=0)


def test_the_recipe_makes_its_own_folds():
    with pytest.raises(ConfigError, match="the recipe makes its own folds"):
        TrainConfig.from_dict({"data": {"folds": 3}})
