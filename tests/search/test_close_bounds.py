"""Features with bounds that are close together: verdicts of the plain search, and proofs for the bounds as given."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

import labelproof as lp
from labelproof.proof.labels import read_label_sets
from labelproof.proof.regions import make_layer
from labelproof.search import close_bounds
from labelproof.search.close_bounds import decide_close_bounds_first
from labelproof.search.engine import decide
from labelproof.search.findings import Finding, pack


def made(seed, *, middle=0.0, width=1e-6, d=5, n_labels=14):
    rng = np.random.default_rng(seed)
    weight, bias = rng.normal(size=(n_labels, d)), rng.normal(size=n_labels) - 0.5
    low, high = np.full(d, -np.inf), np.full(d, np.inf)
    low[:2], high[:2] = middle - width * rng.random(2), middle + width * rng.random(2)
    low[2], high[2] = -1.0, 1.0
    points = rng.normal(size=(10, d))
    points[:, :2] = middle
    active = [np.flatnonzero(z > 0).tolist() for z in points @ weight.T + bias]
    active += [np.flatnonzero(rng.random(n_labels) < 0.3).tolist() for _ in range(15)]
    return weight, bias, (low, high), active


@pytest.mark.parametrize("middle", [0.0, 3.0, -1e-9])
@pytest.mark.parametrize("ties", ["open", "inactive"])
@pytest.mark.parametrize("seed", range(4))
def test_verdicts_are_those_of_the_plain_search_and_proven(seed, ties, middle):
    weight, bias, domain, active = made(seed, middle=middle)
    v = lp.verify(weight, active, bias=bias, domain=domain, ties=ties, n_jobs=1)
    v.check()
    layer = make_layer(weight, bias=bias, domain=domain, ties=ties)
    plain = pack(layer, read_label_sets(active, len(weight)), decide(layer, read_label_sets(active, len(weight))))
    np.testing.assert_array_equal(v.status, plain.status)
    assert (v.status == 1).any()
    assert (v.status == 0).any()


def test_a_set_that_needs_all_the_room_between_the_bounds_is_still_found():
    """Only within the last millionth of a millionth is the label on: the middle says no, the bounds say yes."""
    low, high = np.array([-1e-6, -1.0]), np.array([1e-6, 1.0])
    weight, bias = np.array([[1.0, 0.0], [0.0, 1.0], [0.0, 9.0]]), np.array([-1e-6 * (1 - 1e-6), 0.0, 0.0])
    v = lp.verify(weight, [[0], [0, 1, 2], []], bias=bias, domain=(low, high), ties="inactive", n_jobs=1)
    assert v.status.tolist() == [1, 1, 1]
    v.check()
    none = lp.verify(weight, [[0, 1, 2]], bias=bias - 1e-6, domain=(low, high), n_jobs=1)
    assert none.status.tolist() == [0]
    none.check()


def watch(monkeypatch):
    """Return a list that takes in how many label sets every search is asked about."""
    asked = []

    def watched(layer, sets, **options):
        asked.append(len(sets))
        return decide(layer, sets, **options)

    monkeypatch.setattr(close_bounds, "decide", watched)
    return asked


def test_conflicts_of_held_features_are_proven_between_the_bounds_without_another_search(monkeypatch):
    """An encoder's feature of 1e-33: in its own units the conflicts were proven in fractions, thirty times as slow."""
    weight, bias, _, active = made(0, d=6, n_labels=30)
    low, high = np.full(6, -np.inf), np.full(6, np.inf)
    low[:2], high[:2] = 1e-33, 1.1e-33
    asked = watch(monkeypatch)
    v = lp.verify(weight, active, bias=bias, domain=(low, high), ties="inactive", n_jobs=1)
    assert (v.status == 0).sum() > 5
    assert asked == [len(active), 0]
    v.check()


def test_conflicts_of_the_middle_alone_are_not_kept(monkeypatch):
    weight, bias = np.array([[1.0, 0.0], [0.0, 1.0]]), np.array([-0.5e-6, 0.0])
    asked = watch(monkeypatch)
    v = lp.verify(weight, [[0], [1]], bias=bias, domain=([-1e-6, -1.0], [1e-6, 1.0]), n_jobs=1)
    assert v.status.tolist() == [1, 1]
    assert asked == [2, 1]
    v.check()


def test_inputs_in_other_units_are_the_same_inputs():
    powers = np.array([-20, 0, 3])
    for x in (np.array([1.5, 2.0, 0.25]), tuple(Fraction(c) for c in (1.5, 2.0, 0.25))):
        assert [Fraction(c) for c in close_bounds._from_units(x, powers)] == [Fraction(3, 2**21), 2, 2]


def test_units_in_which_a_weight_would_underflow_are_not_taken():
    layer = make_layer([[5e-324, 1.0, 1.0]], domain=([-1e-6, -1e-6, -9.0], [1e-6, 1e-6, 9.0]))
    which = close_bounds._close_columns(layer)
    assert which.tolist() == [0, 1]
    assert close_bounds._powers(layer, which).tolist() == [0, -19, 0]


@pytest.mark.parametrize(
    ("domain", "expected"),
    [
        (None, []),
        ("nonnegative", []),
        (([0.0, -1.0], [0.0, 1.0]), []),  # a constant is none of those
        (([-1e-9, -1.0], [1e-9, 1.0]), [0]),
        (([-1e-9, -np.inf], [1e-9, np.inf]), [0]),
        ("unit", []),
    ],
)
def test_only_bounds_that_are_close_together_count(domain, expected):
    layer = make_layer(np.eye(2), bias=[0.1, 0.1], domain=domain)
    assert close_bounds._close_columns(layer).tolist() == expected


def test_conflicts_that_bring_multipliers_are_found_again_in_the_units_as_given(monkeypatch):
    weight, bias, domain, active = made(0)
    layer, sets = make_layer(weight, bias=bias, domain=domain), read_label_sets(active, len(weight))
    given = []

    def watched(one, some, **options):
        found = decide(one, some, **options)
        if one is layer:
            given.append(len(some))
            return found
        return [replace(f, multipliers=(Fraction(1),)) if f.witness is None else f for f in found]

    monkeypatch.setattr(close_bounds, "decide", watched)
    found = decide_close_bounds_first(layer, sets)
    assert given == [1] * sum(one.witness is None for one in found)
    assert all(one.multipliers is None for one in found)
    pack(layer, sets, found).check()


def test_every_set_is_counted_once():
    weight, bias, domain, active = made(1)
    layer, sets, done = make_layer(weight, bias=bias, domain=domain), read_label_sets(active, len(weight)), []
    assert all(isinstance(one, Finding) for one in decide_close_bounds_first(layer, sets, advance=done.append))
    assert sum(done) == len(sets)


def test_wide_layers_that_are_searched_in_columns_are_taken_as_they_are():
    """Features held in the middle of their bounds cannot be left out at 0: thousands of them would all take part."""
    weight = np.random.default_rng(0).normal(size=(3, 2500)) * np.where(np.arange(2500) < 2400, 1e-6, 1.0)
    wide = make_layer(weight, domain=(0.0, 1.0))
    assert len(close_bounds._close_columns(wide)) == 0
    assert len(close_bounds._close_columns(make_layer(weight, domain=(0.1, 1.0)))) == 2400
