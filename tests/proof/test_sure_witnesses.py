"""Many witnesses are judged at once by one bound on the errors of their logits; none may pass that is no witness."""

from fractions import Fraction

import numpy as np
import pytest
import scipy.sparse

from labelproof.proof import witnesses
from labelproof.proof.labels import read_label_sets
from labelproof.proof.regions import make_layer
from labelproof.proof.rounding import WIDE, float_rows, relative_error, scaled_points
from labelproof.proof.sparse_weights import SparseWeight
from labelproof.proof.witnesses import _are_sure, _hold_surely, witness_faults


def sure(layer, points, sets):
    return _are_sure(layer, float_rows(layer), read_label_sets(sets, layer.n_labels), list(points)).tolist()


def predicted(weight, bias, x):
    logits = []
    for row, offset in zip(weight, bias, strict=True):
        logits.append(sum((Fraction(a) * Fraction(b) for a, b in zip(row, x, strict=True)), Fraction(offset)))
    return {i for i, z in enumerate(logits) if z > 0}, 0 in logits


@pytest.mark.parametrize("at_once", [1, 8, 2**19])
@pytest.mark.parametrize("with_bias", [False, True])
def test_a_witness_is_sure_only_of_the_set_that_its_exact_logits_give(with_bias, at_once, monkeypatch):
    monkeypatch.setattr(witnesses, "LOGITS_AT_ONCE", at_once)
    rng = np.random.default_rng([with_bias, at_once])
    weight, bias = rng.integers(-3, 4, size=(6, 3)) / 8, rng.integers(-1, 2, size=6) / 8 * with_bias
    layer = make_layer(weight, bias=bias if with_bias else None)
    points = rng.integers(-4, 5, size=(200, 3)) * 2.0 ** rng.integers(-30, 30, size=(200, 1))
    truths = [predicted(weight.tolist(), bias.tolist(), x.tolist()) for x in points]
    assert sure(layer, points, [sorted(found) for found, _ in truths]) == [not ties for _, ties in truths]
    for label in range(6):  # one sign wrong in every set
        others = [sorted(found ^ {label}) for found, _ in truths]
        assert not any(sure(layer, points, others))


def test_the_bound_is_that_of_the_longest_row():
    layer = make_layer(np.array([[1.0, 1.0], [1.0, -1.0], [0.0, 1.0]]))
    rows = float_rows(layer)
    for step, expected in ((20, False), (60, True)):  # logits of a few units in the last place of the products
        x = np.array([1.0, 1.0 - step * 2.0**-53])
        z = (x[0] - x[1]) * float(rows.rows[1, 0]) / 2
        bound = relative_error(2) * float(np.linalg.norm(x / 2)) * rows.norms.max()
        assert (z > bound) == expected
        assert sure(layer, [x], [[0, 1, 2]]) == [expected]
        assert witness_faults(layer, rows, read_label_sets([[0, 1, 2]], 3), [x]) == [None]


def test_the_bound_grows_with_the_length_of_the_point():
    d = 256
    layer = make_layer(np.where(np.arange(d) % 2, -1.0, 1.0)[None])
    rows = float_rows(layer)
    unit, length = relative_error(d) * rows.norms.max(), np.sqrt(d) / 2  # of a point of ones, which is scaled by ½
    for share, expected in ((0.5, False), (1.5, True)):
        logit = share * unit * length * 2 / float(np.abs(rows.rows[0, 0]))
        assert logit > 3 * unit
        x = np.ones(d)
        x[0] += np.round(logit * 2.0**52) / 2.0**52
        assert sure(layer, [x], [[0]]) == [expected]


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_a_witness_that_is_not_finite_is_not_sure_and_harms_no_other(value):
    layer = make_layer(-np.eye(2))
    assert sure(layer, np.array([[1.0, 1.0], [value, 1.0], [2.0, 1.0]]), [[], [], []]) == [True, False, True]
    constant = make_layer(np.zeros((2, 2)), bias=[-1.0, -1.0])
    assert sure(constant, np.array([[1.0, 1.0], [value, 1.0], [1e308, 5e-324]]), [[], [], []]) == [True, False, False]


@pytest.mark.parametrize("x", [(1e308, 5e-324), (1.0, 2.0**-1074), (2.0**1023, 2.0**-52)])
def test_a_witness_that_scaling_would_round_is_not_sure(x):
    layer = make_layer(np.eye(2))
    assert sure(layer, [np.array(x)], [[0, 1]]) == [False]
    assert scaled_points(layer, np.array([x, (1.0, 1.0)]))[1].tolist() == [False, True]


@pytest.mark.parametrize("size", [2.0**-1074, 2.0**-1030, 1e-300, 1.0, 1e300, 2.0**1023, np.finfo(float).max])
def test_witnesses_of_any_size_are_scaled_exactly(size):
    for layer in (make_layer(np.eye(2)), make_layer(np.eye(2), bias=[1.0, 1.0])):
        if layer.offset is not None and size < 2.0**-1000:
            continue  # beside 1, half of the number is needed
        v, is_exact = scaled_points(layer, np.array([[size, -size], [0.0, 0.0]]))
        assert is_exact.all()
        assert np.abs(v).max() < 1
        power = Fraction(v[0, 0]) / Fraction(size)
        assert [Fraction(c) for c in v[0, :2]] == [Fraction(size) * power, -Fraction(size) * power]
        assert power.numerator == 1 or power.denominator == 1
        assert [Fraction(c) for c in v[0, 2:]] == [power] * len(v[0, 2:])
        assert (v[1, :2] == 0).all()


@pytest.mark.parametrize("bounds", [(0.5, 3.0), (0.5, np.inf), (-np.inf, 3.0)])
def test_a_witness_outside_of_the_bounds_is_not_sure(bounds):
    layer = make_layer(np.eye(2), domain=bounds)
    inside = [[0.5, 3.0], [0.49, 1.0], [1.0, 3.01], [0.49, 3.01]]
    expected = [all(bounds[0] <= c <= bounds[1] for c in x) for x in inside]
    assert sure(layer, np.array(inside), [[0, 1]] * 4) == expected


def test_a_logit_of_zero_is_not_sure_under_either_reading_of_ties():
    for ties in ("open", "inactive"):
        assert sure(make_layer(np.eye(2), ties=ties), np.array([[1.0, 0.0], [1.0, -1.0]]), [[0], [0]]) == [False, True]


def test_what_the_bound_does_not_speak_of_is_left_to_the_judgement_one_by_one():
    x = np.array([1.0, -1.0])
    assert sure(make_layer(np.eye(2)), [x], [[0]]) == [True]
    assert sure(make_layer(np.eye(2)), [(Fraction(1), Fraction(-1))], [[0]]) == [False]
    assert sure(make_layer(np.eye(2)), [np.array([1.0, -1.0, 0.0])], [[0]]) == [False]
    assert sure(make_layer(np.eye(2)), [x, (Fraction(1), Fraction(-1))], [[0], [0]]) == [False, False]
    assert sure(make_layer(np.eye(2)), [x, np.array([1.0, -1.0, 0.0])], [[0], [0]]) == [False, False]
    assert sure(make_layer(np.eye(2), rule="topk"), [x], [[0]]) == [False]
    assert sure(make_layer(np.eye(2), domain=("ball", 2.0)), [x], [[0]]) == [False]
    assert sure(make_layer(np.array([[1.0, 2.0**-1074], [0.0, 1.0]])), [x], [[0]]) == [False]  # that row loses bits
    assert sure(make_layer(SparseWeight(scipy.sparse.eye_array(2))), [x], [[0]]) == [False]
    wide = np.zeros((2, WIDE + 1))
    wide[:, :2] = np.eye(2)
    point = np.zeros(WIDE + 1)
    point[:2] = x
    assert sure(make_layer(wide), [point], [[0]]) == [False]
    assert sure(make_layer(wide[:, :-1]), [point[:-1]], [[0]]) == [True]


def holds(rows, layer, x, active):
    v, _ = scaled_points(layer, np.array([x]))
    return bool(_hold_surely(rows, float_rows(layer), v, read_label_sets([active], layer.n_labels))[0])


@pytest.mark.parametrize("d", [2, 256])
def test_the_bound_of_single_precision_is_as_many_times_as_large_as_its_unit(d):
    layer = make_layer(np.where(np.arange(d) % 2, -1.0, 1.0)[None])
    floats = float_rows(layer)
    unit, length = 2.0**29 * relative_error(d) * floats.norms.max(), np.sqrt(d) / 2
    for share, expected in ((0.6, False), (1.5, True)):
        x = np.ones(d)
        x[0] += share * unit * length * 2 / float(np.abs(floats.rows[0, 0]))
        assert holds(floats.single, layer, x, [0]) == expected
        assert holds(floats.rows, layer, x, [0])
        assert sure(layer, [x], [[0]]) == [True]
        assert sure(layer, [x], [[]]) == [False]


def test_signs_that_single_precision_gets_wrong_are_not_believed():
    unit = 2.0**-24
    layer = make_layer(np.array([[1 + 0.9 * unit, -1 - 1.1 * unit, 0.3 * unit]]))
    x, floats = np.ones(3), float_rows(layer)
    assert float(floats.single.sum()) < 0 < float(floats.rows.sum())
    for rows in (floats.single, floats.rows):
        assert not holds(rows, layer, x, [])
    assert not holds(floats.single, layer, x, [0])
    assert holds(floats.rows, layer, x, [0])


def test_witnesses_of_one_block_are_judged_in_the_precision_that_each_needs(monkeypatch):
    layer = make_layer(np.array([[1.0, -1.0], [0.0, 1.0]]))
    points = np.array([[2.0, 1.0], [1 + 2.0**-30, 1.0], [1.0, 2.0], [1 - 2.0**-30, 1.0], [1.0, 1.0]])
    sets = [[0, 1], [0, 1], [1], [1], [1]]
    expected = [True, True, True, True, False]
    asked = []

    def counted(rows, floats, v, some):
        asked.append((rows.dtype.itemsize, len(v)))
        return _hold_surely(rows, floats, v, some)

    monkeypatch.setattr(witnesses, "_hold_surely", counted)
    assert sure(layer, points, sets) == expected
    assert asked == [(4, 5), (8, 3)]
    monkeypatch.setattr(witnesses, "MOST_SINGLE", 3)
    assert sure(layer, points, sets) == expected
    assert asked[2:] == [(8, 5)]
    monkeypatch.setattr(witnesses, "MOST_SINGLE", 4)
    assert sure(layer, points[:1], sets[:1]) == [True]
    assert asked[3:] == [(4, 1)]
