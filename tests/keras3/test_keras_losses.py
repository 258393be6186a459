"""The losses for Keras have the values and gradients of the torch losses, on the backend that Keras runs on."""

import json

import keras
import numpy as np
import pytest
import torch
from backends import COMPILED, value_and_gradient
from keras.src.backend import set_keras_mask

import labelproof as lp
from labelproof import keras3

METRICS = ("f1", "accuracy", "precision", "recall", "specificity", "npv", "jaccard", "balanced-accuracy", "mcc")
WEIGHT = [0.5, 1.0, 2.0, 1.5, 1.0]
TWINS = {
    "sigmoid F1": (keras3.SigmoidF1Loss(beta=2.0, eta=-0.5), lp.SigmoidF1Loss(beta=2.0, eta=-0.5)),
    "sigmoid F1 by label": (
        keras3.SigmoidF1Loss(beta=[1.0, 2, 3, 4, 5], label_weight=WEIGHT),
        lp.SigmoidF1Loss(beta=torch.tensor([1.0, 2, 3, 4, 5]), label_weight=torch.tensor(WEIGHT)),
    ),
    "unbounded F1": (keras3.UnboundedF1Loss(eta=3.0), lp.ConfusionLoss("f1", scores="logits", eta=3.0)),
    "F2": (keras3.ConfusionLoss("fbeta", f_beta=2.0), lp.ConfusionLoss("fbeta", f_beta=2.0)),
    "focal": (keras3.FocalLoss(), lp.FocalLoss()),
    "focal without alpha": (
        keras3.FocalLoss(None, 1.5, grad_through_weights=False, label_weight=WEIGHT),
        lp.FocalLoss(None, 1.5, grad_through_weights=False, label_weight=torch.tensor(WEIGHT)),
    ),
    "asymmetric": (keras3.AsymmetricLoss(), lp.AsymmetricLoss()),
    "asymmetric without clip": (keras3.AsymmetricLoss(2, 0, 0), lp.AsymmetricLoss(2, 0, 0)),
    "sparsemax": (keras3.SparsemaxLoss(), lp.SparsemaxLoss()),
    "sparsemax by label": (
        keras3.SparsemaxLoss(label_weight=WEIGHT),
        lp.SparsemaxLoss(label_weight=torch.tensor(WEIGHT)),
    ),
    "entmax": (keras3.EntmaxLoss(1.3), lp.EntmaxLoss(1.3)),
}


def a_batch(seed=0, shape=(12, 5)):
    """Logits, targets with an empty row and an empty label, and weights of the examples."""
    rng = np.random.default_rng(seed)
    logits = (2 * rng.normal(size=shape)).astype(np.float32)
    targets = (rng.random(shape) < 0.4).astype(np.float32)
    targets[0], targets[..., 1] = 0, 0
    return logits, targets, rng.uniform(0.1, 2, shape[:-1]).astype(np.float32)


def of_torch(loss, logits, targets, **options):
    leaf = torch.tensor(logits, requires_grad=True)
    options = {name: torch.tensor(value) for name, value in options.items()}
    value = loss(leaf, torch.tensor(targets), **options)
    value.backward()
    return value.item(), leaf.grad.numpy()


def assert_same(found, expected):
    np.testing.assert_allclose(found[0], expected[0], rtol=2e-5, atol=1e-6)
    np.testing.assert_allclose(found[1], expected[1], rtol=2e-4, atol=2e-6)


@pytest.mark.parametrize("compiled", COMPILED)
@pytest.mark.parametrize("name", TWINS)
def test_values_and_gradients_are_those_of_torch(name, compiled):
    ours, twin = TWINS[name]
    logits, targets, weight = a_batch()
    assert_same(
        value_and_gradient(lambda z: ours(targets, z), logits, compiled=compiled), of_torch(twin, logits, targets)
    )
    weighted = value_and_gradient(lambda z: ours(targets, z, sample_weight=weight), logits, compiled=compiled)
    assert_same(weighted, of_torch(twin, logits, targets, example_weight=weight))


@pytest.mark.parametrize("empty", ["smooth", "skip"])
@pytest.mark.parametrize("average", ["macro", "micro", "weighted", "samples"])
@pytest.mark.parametrize("metric", METRICS)
def test_every_metric_and_average_is_that_of_torch(metric, average, empty):
    logits, targets, weight = a_batch(1)
    targets[:, 2] = 1
    ours = keras3.ConfusionLoss(metric, average=average, empty=empty, label_weight=WEIGHT)
    twin = lp.ConfusionLoss(metric, average=average, empty=empty, label_weight=torch.tensor(WEIGHT))
    found = value_and_gradient(lambda z: ours(targets, z, sample_weight=weight), logits)
    assert_same(found, of_torch(twin, logits, targets, example_weight=weight))


@pytest.mark.parametrize("name", TWINS)
def test_a_mask_leaves_steps_of_a_sequence_out(name):
    ours, twin = TWINS[name]
    logits, targets, _ = a_batch(2, (4, 3, 5))
    targets[..., 0] = 1  # each step has a label
    mask = np.array([[1, 1, 0], [1, 0, 0], [1, 1, 1], [1, 1, 0]], bool)

    def loss(z):
        z = keras.ops.convert_to_tensor(z)
        set_keras_mask(z, keras.ops.convert_to_tensor(mask))
        return ours(targets, z)

    found = value_and_gradient(loss, logits)
    value, gradient = of_torch(twin, logits[mask], targets[mask])
    assert_same((found[0], found[1][mask]), (value, gradient))
    np.testing.assert_array_equal(found[1][~mask], 0)


def test_weights_in_any_form_of_keras_mean_the_same():
    logits, targets, weight = a_batch(3, (4, 3, 5))
    loss = keras3.SigmoidF1Loss()
    expected = float(loss(targets, logits, sample_weight=weight))
    assert float(loss(targets, logits, sample_weight=weight[..., None])) == pytest.approx(expected)
    of_rows = np.array([1.0, 0.5, 2.0, 0.0], np.float32)
    expected = float(loss(targets, logits, sample_weight=np.repeat(of_rows[:, None], 3, 1)))
    assert float(loss(targets, logits, sample_weight=of_rows)) == pytest.approx(expected)
    with pytest.raises(ValueError, match=r"sample_weight must have shape \(4, 3\), got \(4, 3, 5\)"):
        loss(targets, logits, sample_weight=np.ones((4, 3, 5)))


@pytest.mark.parametrize("average", ["macro", "weighted", "samples", "micro"])
def test_reductions_are_those_of_torch(average):
    logits, targets, _ = a_batch(4)
    for ours, theirs in (("sum", "sum"), (None, "none"), ("mean", "mean")):
        found = keras3.ConfusionLoss("f1", average=average, empty="skip", reduction=ours)(targets, logits)
        twin = lp.ConfusionLoss("f1", average=average, empty="skip", reduction=theirs)
        expected = twin(torch.tensor(logits), torch.tensor(targets)).numpy()
        np.testing.assert_allclose(keras.ops.convert_to_numpy(found), expected, rtol=1e-5, atol=1e-6)


def test_a_sure_mistake_has_a_gradient():
    logits, targets = np.array([[40.0, -40.0]]), np.array([[0.0, 1.0]])
    _, gradient = value_and_gradient(lambda z: keras3.SigmoidF1Loss(empty="skip")(targets, z), logits)
    assert gradient[0, 1] < 0


@pytest.mark.parametrize("name", TWINS)
def test_a_loss_survives_its_configuration(name):
    ours, _ = TWINS[name]
    logits, targets, weight = a_batch()
    config = json.loads(json.dumps(keras.losses.serialize(ours)))
    again = keras.losses.deserialize(config)
    assert type(again) is type(ours)
    assert again.get_config() == ours.get_config()
    assert float(again(targets, logits, weight)) == float(ours(targets, logits, weight))


@pytest.mark.parametrize("name", ["sigmoid F1", "unbounded F1", "focal", "asymmetric", "sparsemax", "entmax"])
def test_a_model_is_fitted_saved_and_read_again(name, tmp_path):
    rng = np.random.default_rng(0)
    x = rng.normal(size=(64, 6)).astype(np.float32)
    y = (x @ rng.normal(size=(6, 5)) > 0).astype(np.float32)
    keras.utils.set_random_seed(1)
    model = keras.Sequential([keras.Input((6,)), keras.layers.Dense(8, activation="relu"), keras.layers.Dense(5)])
    model.compile(keras.optimizers.Adam(0.01), TWINS[name][0], jit_compile="auto")
    told = model.fit(x, y, sample_weight=np.ones(64), batch_size=16, epochs=6, verbose=0).history["loss"]
    if name != "unbounded F1":  # which has no bounds
        assert told[-1] < told[0]
    model.save(tmp_path / "m.keras")
    again = keras.saving.load_model(tmp_path / "m.keras")
    assert again.loss.get_config() == model.loss.get_config()
    np.testing.assert_array_equal(again.predict(x, verbose=0), model.predict(x, verbose=0))
    assert again.evaluate(x, y, verbose=0) == pytest.approx(model.evaluate(x, y, verbose=0))


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: keras3.ConfusionLoss("f2"), "metric must be one of 'f1', .*'fbeta', got 'f2'; did you mean 'f1'"),
        (lambda: keras3.ConfusionLoss(average="mean"), "average must be one of 'macro', .*, got 'mean'"),
        (lambda: keras3.ConfusionLoss(empty="memory"), "empty must be 'smooth' or 'skip', got 'memory'"),
        (lambda: keras3.ConfusionLoss(scores="raw"), "scores must be 'sigmoid' or 'logits', got 'raw'"),
        (lambda: keras3.ConfusionLoss("fbeta", f_beta=0), "f_beta must be positive, got 0"),
        (lambda: keras3.ConfusionLoss(smoothing=0), "smoothing must be positive, got 0"),
        (lambda: keras3.SigmoidF1Loss(beta=[1, -1]), "beta must be positive, got -1"),
        (lambda: keras3.SigmoidF1Loss(eta=float("nan")), "eta must be a number, or one finite number for each label"),
        (lambda: keras3.FocalLoss(gamma=-1), "gamma must be at least 0, got -1"),
        (lambda: keras3.AsymmetricLoss(clip=1), "clip must be at least 0 and less than 1, got 1"),
        (lambda: keras3.EntmaxLoss(3.0), "alpha must be above 1 and at most 2, got 3.0"),
        (lambda: keras3.FocalLoss()(np.ones((2, 3)), np.ones((2, 4))), r"y_true must have the shape .* got \(2, 3\)"),
        (lambda: keras3.SigmoidF1Loss()(np.ones(2), np.ones((2, 4))), r"y_true must have the shape .* got \(2,\)"),
        (
            lambda: keras3.FocalLoss(label_weight=[1, 2])(np.ones((2, 4)), np.ones((2, 4))),
            "expected a number for each of 4 labels, got 2",
        ),
    ],
)
def test_what_is_wrong_is_said(make, message):
    with pytest.raises(ValueError, match=message):
        make()
