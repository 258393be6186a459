"""The heads for Keras have the weights, logits and guarantees of the torch heads."""

import keras
import numpy as np
import pytest
import torch

import labelproof as lp
from labelproof import keras3

ORDER = np.random.default_rng(0).permutation(60)
HEADS = {
    "DFT": (keras3.DFTHead(60, 4, 3), lp.DFTHead(40, 60, 4, 3)),
    "DFT as published": (
        keras3.DFTHead(60, 4, 3, nodes="paper", scale=1.0, order=ORDER, start=2.0),
        lp.DFTHead(40, 60, 4, 3, nodes="paper", scale=1.0, order=ORDER, start=2.0),
    ),
    "DFT without slack": (keras3.DFTHead(60, 4, 0), lp.DFTHead(40, 60, 4, 0)),
    "code": (keras3.CodeHead(60, 2, 3), lp.CodeHead(40, 60, 2, 3)),
    "code of a budget": (keras3.CodeHead(60, 2, 0, budget=40), lp.CodeHead(41, 60, 2, 0, budget=40)),
    "bottleneck": (keras3.BottleneckHead(60, 5), lp.BottleneckHead(40, 60, 5)),
    "bottleneck with bias": (keras3.BottleneckHead(60, 5, bias=True, start=3), lp.BottleneckHead(40, 60, 5, bias=True)),
}
SETS = [[3], [0, 59], [7, 8, 30], list(range(20)), [1, 5, 9, 13, 17, 21, 25, 29, 33]]


def parameters_of(twin):
    names = ("projection.weight", "projection.bias", "slack_weight", "output.weight", "output.bias")
    state = twin.state_dict()
    turned = {"projection.weight", "output.weight"}  # Keras keeps kernels (in, out)
    return [state[name].numpy().T if name in turned else state[name].numpy() for name in names if name in state]


def same_heads(name):
    head, twin = HEADS[name]
    if not head.built:
        head.build((None, twin.in_features))
    head.set_weights(parameters_of(twin))
    return head, twin


@pytest.mark.parametrize("name", HEADS)
def test_weights_and_logits_are_those_of_torch(name):
    head, twin = same_heads(name)
    np.testing.assert_array_equal(head.weight, twin.weight.detach().numpy())
    assert (head.bias is None) == (twin.bias is None)
    assert head.in_features == twin.in_features
    x = np.random.default_rng(1).normal(size=(5, twin.in_features)).astype(np.float32)
    expected = twin(torch.tensor(x)).detach().numpy()
    np.testing.assert_allclose(keras.ops.convert_to_numpy(head(x)), expected, atol=1e-5)


@pytest.mark.parametrize("name", [name for name in HEADS if "bottleneck" not in name])
def test_guarantees_and_witnesses_are_those_of_torch(name):
    head, twin = same_heads(name)
    if isinstance(twin, lp.DFTHead):
        twin.path = "dense"
    found, expected = head.guarantee(SETS), twin.guarantee(SETS)
    for fact in ("level", "k", "n_labels", "n_features", "reaches_all_features", "margin", "holds_in_dtype"):
        assert getattr(found, fact) == getattr(expected, fact), fact
    np.testing.assert_array_equal(found.is_safe, expected.is_safe)
    assert "(float32, dense path)" in str(found)
    np.testing.assert_array_equal(head.witness([3, 8]), twin.witness([3, 8]).numpy())
    assert np.flatnonzero(head.weight @ head.witness([3, 8]) > 0).tolist() == [3, 8]


def test_code_words_hold_in_bfloat16():
    head = keras3.CodeHead(60, 2, 0, dtype="bfloat16")
    head.build((None, 40))
    known = head.guarantee()
    assert (known.level, known.holds_in_dtype, known.dtype) == ("exact", True, "bfloat16")
    logits = head.logits(keras.ops.cast(head.witness([3, 8]), "bfloat16"))
    signs = keras.ops.convert_to_numpy(keras.ops.cast(logits, "float32")) > 0
    assert np.flatnonzero(signs).tolist() == [3, 8]


@pytest.mark.parametrize("name", HEADS)
def test_labels_begin_at_their_share(name):
    head = type(HEADS[name][0]).from_config(HEADS[name][0].get_config())
    logits = keras.ops.convert_to_numpy(head(np.zeros((1, 50), np.float32)))
    start = 0.5 if head.start is None else head.start / 60
    np.testing.assert_allclose(1 / (1 + np.exp(-logits)), start, rtol=1e-4)


@pytest.mark.parametrize("name", HEADS)
def test_a_model_with_a_head_is_fitted_saved_read_again_and_verified(name, tmp_path):
    head = type(HEADS[name][0]).from_config(HEADS[name][0].get_config())
    rng = np.random.default_rng(0)
    x = rng.normal(size=(32, 6)).astype(np.float32)
    y = np.eye(60, dtype=np.float32)[rng.integers(60, size=32)]
    model = keras.Sequential([keras.Input((6,)), keras.layers.Dense(50, activation="relu"), head])
    model.compile("adam", keras3.SigmoidF1Loss())
    model.fit(x, y, epochs=1, verbose=0)
    model.save(tmp_path / "m.keras")
    again = keras.saving.load_model(tmp_path / "m.keras")
    np.testing.assert_array_equal(again.predict(x, verbose=0), model.predict(x, verbose=0))
    np.testing.assert_array_equal(again.layers[-1].weight, head.weight)
    found = lp.verify(head.weight, SETS[:2], bias=head.bias)
    assert (found.status == 1).all() or "bottleneck" in name


def test_an_encoder_that_is_too_narrow_is_told():
    with pytest.warns(UserWarning, match="the head has 12 features but the encoder only 6"):
        keras3.DFTHead(60, 4, 3).build((None, 6))


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: keras3.DFTHead(60, 30, 0), r"k must be at most \(n_labels - 1\) / 2 for n_labels = 60, got 30"),
        (lambda: keras3.DFTHead(60, 2, 0, nodes="learned"), "nodes must be 'fast' or 'paper', got 'learned'"),
        (lambda: keras3.DFTHead(60, 2, 0, scale=0), "scale must be a positive number, got 0"),
        (lambda: keras3.DFTHead(3, 1, 0, order=[0, 0, 1]), "order must hold every place from 0 to 2 once"),
        (lambda: keras3.DFTHead(60, 2, -1), "slack must be an integer of at least 0, got -1"),
        (lambda: keras3.DFTHead(60, 2, 0).weight, r"has no weights yet: call it on inputs, or build\(\(None"),
        (lambda: keras3.CodeHead(60, 2, 0).guarantee(), "has no weights yet"),
        (lambda: keras3.CodeHead(60, 3, 0, code=(5, 3, 5)), r"k must be at most 2 for Code\(q=5"),
        (lambda: keras3.CodeHead(60, 2, 0, scale=0.3), "scale must be a power of two, got 0.3"),
        (lambda: keras3.DFTHead(60, 2, 0, start=60), "start must be a number of labels between 0 and n_labels = 60"),
        (lambda: keras3.BottleneckHead(60, 0), "d must be an integer of at least 1, got 0"),
    ],
)
def test_what_is_wrong_is_said(make, message):
    with pytest.raises(ValueError, match=message):
        make()
