"""What is said to survive rounding does, in every order of summation; what is lost is said to be."""

import numpy as np
import pytest
import torch

from labelproof import verify
from labelproof.auditing.low_precision import rounded, survives_rounding


def test_bfloat16_is_rounded_as_torch_does():
    values = np.random.default_rng(0).normal(size=10_000) * 10.0 ** np.random.default_rng(1).integers(-20, 20, 10_000)
    theirs = torch.from_numpy(values).float().bfloat16().double().numpy()
    np.testing.assert_array_equal(rounded(values, "bfloat16"), theirs)


@pytest.mark.parametrize("dtype", ["float16", "float32"])
def test_other_types_are_rounded_as_numpy_does(dtype):
    values = np.random.default_rng(0).normal(size=100)
    np.testing.assert_array_equal(rounded(values, dtype), values.astype(dtype).astype(float))


@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize("rule", ["sigmoid", "topk"])
def test_sets_that_survive_float32_do_so_in_any_order_of_summation(rule, bias):
    rng = np.random.default_rng(3)
    weight = rng.normal(size=(40, 8)).astype(np.float32)
    offset = rng.normal(size=40).astype(np.float32) if bias else None
    sets = [np.flatnonzero(z > 0).tolist() for z in rng.normal(size=(60, 8)) @ weight.T]
    v = verify(weight, sets, bias=offset, rule=rule, ties="inactive")
    shown = survives_rounding(v, "float32")
    assert shown.sum() > 30
    for i in np.flatnonzero(shown).tolist():
        x = v[i].witness.copy()
        if not bias:
            x *= 16 / np.abs(x).max()
        for _ in range(5):
            order = rng.permutation(8)
            z = np.zeros(40, np.float32) if offset is None else offset.copy()
            for j in order:
                z = z + weight[:, j] * np.float32(x[j])
            active = np.zeros(40, bool)
            active[sets[i]] = True
            if rule == "sigmoid":
                np.testing.assert_array_equal(z > 0, active)
            else:
                assert not active.any() or active.all() or z[active].min() > z[~active].max()


def test_a_set_that_needs_more_digits_than_bfloat16_has_is_not_shown():
    weight = np.array([[1.0, 0.0], [-1.0, 1e-4], [0.0, 1.0], [0.0, -1.0], [1.0, 1.0]])
    v = verify(weight, [[0, 1, 2, 4]], ties="inactive")  # needs 0 < x₀ < 1e-4 x₁
    assert v.status.tolist() == [1]
    assert survives_rounding(v, "float64").tolist() == [True]
    narrow = verify(np.array([[1.0, -1.0], [-1.0, 1.001]]), [[0, 1]])  # 1 < x₀ / x₁ < 1.001
    assert survives_rounding(narrow, "float32").tolist() == [True]
    assert survives_rounding(narrow, "bfloat16").tolist() == [False]


def test_an_inactive_label_without_weights_survives():
    v = verify(np.array([[1.0], [0.0]]), [[0]], ties="inactive")
    assert survives_rounding(v, "bfloat16").tolist() == [True]


def test_unargmaxable_sets_do_not_survive():
    v = verify(np.array([[1.0], [-1.0]]), [[0, 1]])
    assert survives_rounding(v, "float32").tolist() == [False]


def test_unknown_types_and_sparsemax_are_refused():
    v = verify(np.eye(2), [[0]])
    with pytest.raises(
        ValueError, match="dtype must be one of 'float64', 'float32', 'bfloat16', 'float16', got 'int8'"
    ):
        survives_rounding(v, "int8")
    with pytest.raises(ValueError, match="sigmoid and topk, got rule='sparsemax'"):
        survives_rounding(verify(np.eye(2), [[0]], rule="sparsemax"), "float32")


def test_biases_are_rounded_and_thresholds_are_not():
    options = {"bias": np.array([1.0 + 2.0**-10]), "thresholds": 0.3, "domain": (0.0, 0.0)}
    v = verify(np.array([[1.0]]), [[0]], **options)
    assert survives_rounding(v, "bfloat16").tolist() == [True]  # 1 > logit(0.3)
    close = verify(np.array([[1.0]]), [[0]], bias=np.array([1.0 + 2.0**-10]), thresholds=0.7311, domain=(0.0, 0.0))
    assert close.status.tolist() == [1]  # 1.00098 > logit(0.7311) = 1.0002
    assert survives_rounding(close, "float32").tolist() == [True]
    assert survives_rounding(close, "bfloat16").tolist() == [False]  # which takes the bias for 1


def test_a_bias_that_cancels_against_its_threshold_keeps_its_rounding_error():
    thresholds = 1 / (1 + np.exp(-np.array([5.0, 5.0000001])))
    v = verify([[1.0], [1.0]], [[0]], bias=[5.0, 5.0], thresholds=thresholds, ties="inactive")
    assert v.status.tolist() == [1]
    assert survives_rounding(v, "float32").tolist() == [False]


@pytest.mark.parametrize("dtype", ["bfloat16", "float16", "float32"])
@pytest.mark.parametrize("rule", ["sigmoid", "topk"])
@pytest.mark.parametrize("shift", [0.0, 8.0])
def test_torch_gives_every_set_that_is_said_to_survive(rule, dtype, shift):
    rng = np.random.default_rng(5)
    kind = getattr(torch, dtype)
    weight = torch.from_numpy(rng.normal(size=(30, 6))).to(kind)
    bias = torch.from_numpy(rng.normal(size=30) - shift).to(kind)
    thresholds = None if rule == "topk" else 1 / (1 + np.exp(shift))
    W, b = weight.double().numpy(), bias.double().numpy()
    sets = [np.flatnonzero(z > -shift).tolist() for z in 3 * rng.normal(size=(80, 6)) @ W.T + b]
    v = verify(W, sets, bias=b, rule=rule, thresholds=thresholds, ties="inactive")
    shown = survives_rounding(v, dtype)
    assert shown.any()
    for i in np.flatnonzero(shown).tolist():
        x = torch.from_numpy(np.array(v[i].witness)).to(kind)
        z = torch.nn.functional.linear(x, weight, bias).double().numpy()
        active = np.zeros(30, bool)
        active[sets[i]] = True
        if rule == "sigmoid":
            np.testing.assert_array_equal(z > np.log(thresholds / (1 - thresholds)), active)
        else:
            assert not active.any() or z[active].min() > z[~active].max()


def test_logits_that_underflow_or_overflow_are_not_shown():
    small = verify(np.float16([[1e-6]]), [[0]], domain=(0.0, 0.01))
    assert survives_rounding(small, "float16").tolist() == [False]
    large = verify(np.float32([[3e38, 2.9e38], [3e38, -1e38]]), [[0], [1], [0, 1], []])
    assert survives_rounding(large, "float32").tolist() == [False] * 4


def test_a_box_without_numbers_of_the_type_is_not_shown():
    v = verify([[1.0, -1.0]], [[0]], domain=(np.array([0.1001, 0.1]), np.array([0.1001, 0.1])))
    assert v.status.tolist() == [1]
    assert survives_rounding(v, "bfloat16").tolist() == [False]
