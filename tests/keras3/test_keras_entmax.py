"""Sparsemax and entmax for Keras are those of torch, on the backend that Keras runs on."""

import keras
import numpy as np
import pytest
import torch
from backends import COMPILED, value_and_gradient

import labelproof as lp
from labelproof import keras3, simplex


@pytest.mark.parametrize("compiled", COMPILED)
@pytest.mark.parametrize("alpha", [1.2, 1.5, 2.0])
def test_values_and_gradients_are_those_of_torch(alpha, compiled):
    rng = np.random.default_rng(0)
    scores = (3 * rng.normal(size=(6, 40))).astype(np.float32)
    scores[0] += 1e4  # a shift changes nothing but digits
    scores[1, 3] = -np.inf
    direction = rng.normal(size=scores.shape).astype(np.float32)
    leaf = torch.tensor(scores, requires_grad=True)
    expected = lp.entmax(leaf, alpha)
    (expected * torch.tensor(direction)).sum().backward()
    _, gradient = value_and_gradient(
        lambda z: keras.ops.sum(keras3.entmax(z, alpha) * keras.ops.convert_to_tensor(direction)),
        scores,
        compiled=compiled,
    )
    found = keras.ops.convert_to_numpy(keras3.entmax(scores, alpha))
    np.testing.assert_allclose(found, expected.detach().numpy(), atol=2e-6)
    np.testing.assert_allclose(gradient, leaf.grad.numpy(), atol=2e-5)


def test_sparsemax_is_the_projection_along_any_axis():
    scores = np.random.default_rng(1).normal(size=(7, 3)).astype(np.float32)
    found = keras.ops.convert_to_numpy(keras3.sparsemax(scores, axis=0))
    np.testing.assert_allclose(found, simplex.sparsemax(scores.T.astype(np.float64)).T, atol=1e-6)
    assert (found == 0).any()
    np.testing.assert_allclose(found.sum(0), 1, atol=1e-6)


def test_a_row_without_a_finite_maximum_is_not_a_number():
    scores = np.array([[-np.inf, -np.inf], [np.inf, 0], [0, np.nan], [1, 0]], np.float32)
    found = keras.ops.convert_to_numpy(keras3.sparsemax(scores))
    assert np.isnan(found[:3]).all()
    np.testing.assert_array_equal(found[3], [1, 0])


@pytest.mark.parametrize("layer", [keras3.Sparsemax(), keras3.Entmax(1.5), keras3.Entmax(2.0, axis=1)])
def test_a_layer_is_saved_and_read_again(layer, tmp_path):
    inputs = keras.Input((4,))
    model = keras.Model(inputs, layer(keras.layers.Dense(5)(inputs)))
    model.save(tmp_path / "m.keras")
    again = keras.saving.load_model(tmp_path / "m.keras")
    x = np.random.default_rng(0).normal(size=(3, 4)).astype(np.float32)
    np.testing.assert_array_equal(again.predict(x, verbose=0), model.predict(x, verbose=0))
    np.testing.assert_allclose(model.predict(x, verbose=0).sum(1), 1, atol=1e-6)


def test_a_function_serves_as_an_activation(tmp_path):
    model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(5, activation=keras3.sparsemax)])
    model.save(tmp_path / "m.keras")
    x = np.ones((2, 4), np.float32)
    again = keras.saving.load_model(tmp_path / "m.keras")
    np.testing.assert_array_equal(again.predict(x, verbose=0), model.predict(x, verbose=0))


def test_a_mask_leaves_labels_out():
    scores, mask = np.array([[3.0, 2.9, 0.0]], np.float32), np.array([[False, True, True]])
    np.testing.assert_allclose(keras.ops.convert_to_numpy(keras3.Sparsemax()(scores, mask=mask)), [[0, 1, 0]])


def test_half_precision_is_rounded_once():
    found = keras3.sparsemax(keras.ops.cast(np.array([1.0, 0.75, 0.0]), "bfloat16"))
    assert keras.backend.standardize_dtype(found.dtype) == "bfloat16"
    np.testing.assert_array_equal(keras.ops.convert_to_numpy(keras.ops.cast(found, "float32")), [0.625, 0.375, 0])


def test_whole_numbers_are_refused():
    with pytest.raises(ValueError, match="x must hold floating-point numbers, got int"):
        keras3.sparsemax(np.array([1, 2]))
