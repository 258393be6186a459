"""Layers with many more features than labels: the same verdicts as by the ordinary way, proven, in little memory."""

import tracemalloc
from itertools import product

import numpy as np
import pytest

import labelproof as lp
from labelproof.proof import regions
from labelproof.proof.labels import read_label_sets
from labelproof.search import engine, few_features


def all_sets(n_labels):
    return [np.flatnonzero(signs).tolist() for signs in product((0, 1), repeat=n_labels)]


def layers(seed):
    """Layers of few labels and 40 features, many of them degenerate."""
    rng = np.random.default_rng(seed)
    for kind in range(6):
        n = int(rng.integers(2, 4))
        weight = rng.integers(-3, 4, (n, 40)).astype(float)
        if kind == 1:
            weight = np.repeat(rng.integers(-2, 3, (n, 2)), 20, axis=1).astype(float)  # of rank 2
        if kind == 2:
            weight[1] = weight[0]
        if kind == 3:
            weight = -np.abs(weight)
        if kind == 4:
            weight[0] = 0
        if kind == 5:
            weight[:, 1:] *= 1e-12
        yield weight, rng.normal(size=n)


@pytest.mark.parametrize("domain", [None, "nonnegative", (-1.0, 2.0)])
@pytest.mark.parametrize("rule", ["sigmoid", "topk"])
@pytest.mark.parametrize("ties", ["open", "inactive"])
@pytest.mark.parametrize("with_bias", [False, True])
def test_few_features_give_the_verdicts_of_all(monkeypatch, domain, rule, ties, with_bias):
    for weight, bias in layers(seed=7):
        options = {"bias": bias if with_bias else None, "domain": domain, "rule": rule, "ties": ties, "n_jobs": 1}
        monkeypatch.setattr(few_features, "WIDE", 10**9)
        ordinary = lp.verify(weight, all_sets(len(weight)), **options)
        monkeypatch.setattr(few_features, "WIDE", 8)
        found = lp.verify(weight, all_sets(len(weight)), **options)
        found.check()
        np.testing.assert_array_equal(found.status, ordinary.status)


def test_features_join_in_until_a_conflict_holds_or_breaks(monkeypatch):
    monkeypatch.setattr(few_features, "WIDE", 8)
    monkeypatch.setattr(few_features, "NEW_FEATURES", 1)
    weight = np.zeros((2, 100))
    weight[:, :50] = np.linspace(1, 2, 50)  # the two labels go together ...
    weight[0, 77] = 1e-3  # ... but for one small feature
    assert lp.verify(weight, [[0], [1], [0, 1]], domain="nonnegative", ties="inactive").status.tolist() == [1, 0, 1]


def test_a_conflict_of_too_many_rows_is_undecided(monkeypatch):
    monkeypatch.setattr(few_features, "WIDE", 8)
    monkeypatch.setattr(few_features, "MOST_ROWS", 5)
    weight = -np.random.default_rng(0).uniform(1, 2, (3, 60))
    layer = regions.make_layer(weight, domain="nonnegative")
    (found,) = engine._decide_wide(layer, read_label_sets([[0]], 3), 1, None, lambda _: None)
    assert found.conflict is None
    assert "rows was found, too many to prove" in found.reason
    v = lp.verify(weight, [[0]], domain="nonnegative")  # but its label alone proves it
    v.check()
    assert v.status.tolist() == [0]


def test_a_layer_that_must_not_have_zeros_takes_the_ordinary_way(monkeypatch):
    monkeypatch.setattr(few_features, "WIDE", 8)
    layer = regions.make_layer(np.ones((2, 40)), domain=(1.0, 2.0))
    assert not few_features.has_features_to_spare(layer)
    assert lp.verify(np.ones((2, 40)), [[0, 1], []], domain=(1.0, 2.0)).status.tolist() == [1, 0]


def test_twenty_thousand_features_need_no_square_matrix():
    rng = np.random.default_rng(1)
    weight = rng.normal(size=(30, 20_000)) * (rng.random((30, 20_000)) < 0.05)
    weight[7] = weight[3]
    sets = [[0, 4], [3, 7], [3], [], [1, 2, 5, 9]]
    tracemalloc.start()
    found = lp.verify(weight, sets, bias=np.full(30, -1.0), domain="nonnegative", ties="inactive", n_jobs=1)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert found.status.tolist() == [1, 1, 0, 1, 1]
    assert peak < 500e6  # one matrix of all features by all features has 3.2 GB
    found.check()


def test_explanations_of_very_wide_layers_give_the_verdict(monkeypatch):
    monkeypatch.setattr(few_features, "WIDE", 8)
    weight = np.ones((2, 40))
    explanation = lp.explain(weight, [0])
    assert explanation.certificate.conflict == (0, 1)
    assert explanation.least_distance == 1
    assert lp.explain(weight, [0, 1]).certificate.margin > 0


def test_the_multipliers_of_a_conflict_are_those_of_its_rows_dependence():
    rng = np.random.default_rng(3)
    known = rng.uniform(0.1, 1.0, 30)
    rows = rng.normal(size=(30, 200))
    rows[-1] = -(known[:-1] @ rows[:-1]) / known[-1]
    found = few_features._dependence(rows)
    np.testing.assert_allclose(found / found.max(), known / known.max(), rtol=1e-10)


@pytest.mark.parametrize("rows", [np.zeros((1, 4)), np.zeros((3, 4)), [[1.0, 0.0], [-1.0, 0.0], [-1.0, 0.0]]])
def test_rows_with_several_dependences_give_one_of_them(rows):
    found = few_features._dependence(np.array(rows))
    assert np.abs(found @ np.array(rows)).max() < 1e-12
    assert found.max() > 0
