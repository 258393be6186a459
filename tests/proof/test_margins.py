"""Margins against their definition in plain floats, and at the ends of the range of floats."""

from fractions import Fraction

import numpy as np
import pytest

from labelproof.proof.margins import UnitWeights, label_margins, margin, margins
from labelproof.proof.regions import make_layer


def by_definition(layer, active, x):
    x = np.array([float(c) for c in x])
    z = layer.weight @ x + (0 if layer.offset is None else layer.offset)
    inside = np.isin(np.arange(layer.n_labels), active)
    if layer.rule != "sigmoid":
        z = z - (z[inside].min() + z[~inside].max()) / 2
    return np.where(inside, z, -z) / (np.linalg.norm(layer.weight, axis=1) * np.linalg.norm(x))


@pytest.mark.parametrize("rule", ["sigmoid", "topk", "sparsemax"])
@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize("size", [1e-5, 1.0, 1e5])
def test_margins_are_signed_logits_over_the_norms_of_weights_and_input(rule, bias, size):
    rng = np.random.default_rng(1)
    weight = rng.normal(size=(6, 3)) * 10.0 ** rng.integers(-4, 4, size=(6, 1))
    layer = make_layer(weight, rule=rule, bias=rng.normal(size=6) if bias else None)
    weights = UnitWeights(layer)
    for active in (np.array([0, 3]), np.array([1, 2, 4, 5])):
        x = rng.normal(size=3) * size
        expected = by_definition(layer, active, x)
        for point in (x, tuple(Fraction(c) for c in x)):
            assert label_margins(weights, active, point) == pytest.approx(expected, rel=1e-9)
            assert margin(weights, active, point) == pytest.approx(expected.min(), rel=1e-9)
        halves = (Fraction(1, 3), Fraction(-7, 2), Fraction(0))
        assert label_margins(weights, active, halves) == pytest.approx(by_definition(layer, active, halves), rel=1e-9)


@pytest.mark.parametrize("rule", ["sigmoid", "topk"])
def test_margins_of_many_sets_are_those_of_each(rule):
    rng = np.random.default_rng(2)
    weights = UnitWeights(make_layer(rng.normal(size=(6, 3)), rule=rule, bias=rng.normal(size=6)))
    sets = [np.flatnonzero(rng.random(6) < 0.5) for _ in range(150)]
    points = [x if i % 3 else tuple(map(Fraction, x.tolist())) for i, x in enumerate(rng.normal(size=(150, 3)) * 1e3)]
    one_by_one = [margin(weights, active, x) for active, x in zip(sets, points, strict=True)]
    assert margins(weights, sets, points).tolist() == pytest.approx(one_by_one, rel=1e-9)


@pytest.mark.parametrize("rule", ["topk", "sparsemax"])
def test_without_active_or_without_inactive_labels_nothing_bounds_the_threshold(rule):
    weights = UnitWeights(make_layer(np.eye(3), rule=rule))
    x = np.array([3.0, 2.0, 1.0])
    assert label_margins(weights, np.arange(3), x).tolist() == [np.inf] * 3
    assert label_margins(weights, np.arange(0), x).tolist() == [np.inf] * 3
    assert label_margins(weights, np.array([0, 1]), x) == pytest.approx(np.array([1.5, 0.5, 0.5]) / 14**0.5)


def test_a_label_without_weights_has_an_infinite_margin():
    layer = make_layer(np.array([[0.0, 0.0], [1.0, 0.0]]), bias=[-1.0, 0.0])
    found = label_margins(UnitWeights(layer), np.array([1]), np.array([2.0, 0.0]))
    assert found.tolist() == [np.inf, 1.0]
    found = label_margins(UnitWeights(layer), np.array([0, 1]), np.array([2.0, 0.0]))
    assert found.tolist() == [np.inf, 1.0]


def test_at_the_origin_margins_are_infinite_unless_a_logit_is_zero():
    for x in (np.zeros(2), (Fraction(0), Fraction(0))):
        biased = UnitWeights(make_layer(np.eye(2), bias=[1.0, -1.0]))
        assert margin(biased, np.array([0]), x) == np.inf
        assert margin(biased, np.array([1]), x) == -np.inf
        assert label_margins(UnitWeights(make_layer(np.eye(2))), np.array([0]), x).tolist() == [0.0, 0.0]
    half = UnitWeights(make_layer(np.eye(2), bias=[0.0, -1.0]))
    assert label_margins(half, np.array([0]), np.zeros(2)).tolist() == [0.0, np.inf]


@pytest.mark.parametrize("power", [-5000, -1070, -600, 600, 1000, 5000])
def test_margins_of_points_of_any_size_are_those_of_their_direction(power):
    weights = UnitWeights(make_layer(np.array([[1.0, 1.0], [1e-200, -1e-200], [1e200, 0.0]])))
    expected = np.array([4 / 20**0.5, 2 / 20**0.5, -3 / 10**0.5])
    x = tuple(c * Fraction(2) ** power for c in (Fraction(3), Fraction(1)))
    assert label_margins(weights, np.array([0, 1]), x) == pytest.approx(expected)
    if -1000 < power < 1001:
        assert label_margins(weights, np.array([0, 1]), np.ldexp([3.0, 1.0], power)) == pytest.approx(expected)


@pytest.mark.parametrize("size", [2.0**-1000, 1.0, 2.0**1000])
def test_a_bias_counts_at_any_scale(size):
    layer = make_layer(np.array([[size], [-size]]), bias=[size, 3 * size])
    for x in (np.array([1.0]), (Fraction(1),)):
        assert label_margins(UnitWeights(layer), np.array([0, 1]), x).tolist() == [2.0, 2.0]
    compared = make_layer(np.array([[size], [-size]]), bias=[size, size * 0.5], rule="topk")
    assert label_margins(UnitWeights(compared), np.array([0]), np.array([1.0])).tolist() == [1.25, 1.25]


def test_rows_and_features_far_apart_in_size_have_margins():
    apart = UnitWeights(make_layer(np.array([[1e200], [1e-200]]), rule="topk"))
    assert label_margins(apart, np.array([0]), np.array([1.0])).tolist() == [0.5, np.inf]
    weights = UnitWeights(make_layer(np.eye(2)))
    beyond = Fraction(2) ** 2000
    assert label_margins(weights, np.array([0, 1]), (beyond, Fraction(1))).tolist() == [1.0, 0.0]
    assert label_margins(weights, np.array([0, 1]), (Fraction(0), 1 / beyond)).tolist() == [0.0, 1.0]


def test_weights_are_held_over_the_power_of_two_above_the_largest():
    weights = UnitWeights(make_layer(np.array([[3.0, -5.0], [0.25, 0.0], [-1e300, 2.0]])))
    assert weights.exponents.tolist()[:2] == [3, -1]
    assert weights.rows.tolist()[:2] == [[0.375, -0.625], [0.5, 0.0]]
    assert (np.abs(weights.rows).max(axis=1) >= 0.5).all()
    assert (np.abs(weights.rows).max(axis=1) < 1).all()


@pytest.mark.parametrize("power", [-1000, -700, 700, 1000])
def test_a_margin_does_not_depend_on_the_size_of_an_input_of_negative_numbers(power):
    weights, active, x = UnitWeights(make_layer([[-1.0, 0.5], [2.0, 1.0]])), np.array([0]), np.array([-3.0, -1.0])
    assert margin(weights, active, np.ldexp(x, power)) == margin(weights, active, x)
