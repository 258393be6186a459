"""Conflicts of inactive labels settle many label sets at once, and say nothing else than a search of each would."""

import numpy as np
import pytest

import labelproof as lp
from labelproof.proof import conflicts
from labelproof.proof.conflicts import conflict_faults
from labelproof.proof.labels import read_label_sets
from labelproof.proof.regions import make_layer
from labelproof.search import engine
from labelproof.search.shared_conflicts import settle_together
from labelproof.search.systems import search_system

RNG = np.random.default_rng(0)
GAUSSIAN = RNG.normal(size=(300, 6))


def some_sets(n_labels, k, count=60):
    rng = np.random.default_rng(k)
    return [sorted(rng.choice(n_labels, k, replace=False).tolist()) for _ in range(count)]


def settled(layer, sets):
    return settle_together(layer, search_system(layer), read_label_sets(sets, layer.n_labels), None)


@pytest.mark.parametrize("k", [1, 4])
def test_a_few_conflicts_settle_every_small_set_of_a_layer_that_cannot_predict_the_empty_one(k):
    sets = some_sets(300, k)
    found = settled(make_layer(GAUSSIAN), sets)
    assert len(found) >= len(sets) - 1
    assert len({rows.tobytes() for rows in found.values()}) <= k + 1
    assert all(not set(rows.tolist()) & set(sets[i]) for i, rows in found.items())


@pytest.mark.parametrize("bias", [None, np.full(300, 0.1), RNG.normal(size=300)])
def test_verdicts_are_those_of_a_search_for_each_set(bias, monkeypatch):
    sets = some_sets(300, 3, 30) + [np.flatnonzero(GAUSSIAN @ x > 0).tolist() for x in RNG.normal(size=(5, 6))]
    together = lp.verify(GAUSSIAN, sets, bias=bias)
    together.check()
    monkeypatch.setattr(engine, "settle_together", lambda *_: {})
    np.testing.assert_array_equal(together.status, lp.verify(GAUSSIAN, sets, bias=bias).status)


@pytest.mark.parametrize("options", [{"ties": "inactive"}, {"rule": "topk"}, {"rule": "sparsemax"}, {"domain": (0, 0)}])
def test_nothing_is_settled_where_the_empty_set_tells_nothing(options):
    assert settled(make_layer(GAUSSIAN, **options), some_sets(300, 2)) == {}


def test_nothing_is_settled_where_the_empty_set_can_be_predicted():
    assert settled(make_layer(np.abs(GAUSSIAN)), some_sets(300, 2)) == {}


def test_few_sets_are_left_to_the_search():
    assert settled(make_layer(GAUSSIAN), some_sets(300, 2, 7)) == {}


@pytest.mark.parametrize("time_limit", [None, 60.0])
def test_nothing_is_searched_where_all_is_settled(time_limit):
    layer, sets = make_layer(GAUSSIAN), some_sets(300, 1)
    kept = sorted(settled(layer, sets))
    found = engine.decide(layer, read_label_sets([sets[i] for i in kept], 300), time_limit=time_limit)
    assert all(one.conflict is not None for one in found)


def test_conflicts_that_claim_the_same_are_judged_once(monkeypatch):
    layer = make_layer(np.array([[1.0], [-1.0], [2.0], [-3.0]]))
    judged = []
    judge = conflicts._faults
    monkeypatch.setattr(conflicts, "_faults", lambda *given: judged.append(len(given[1])) or judge(*given))
    sets = read_label_sets([[2], [3], [0], [0, 1], [2, 3]], 4)
    faults = conflict_faults(layer, sets, [np.array([0, 1])] * 5)
    assert judged == [3]  # both inactive, one of them active, both active
    assert [fault is None for fault in faults] == [True, True, False, True, True]


def test_the_sign_of_the_last_label_is_part_of_a_claim():
    layer = make_layer(np.array([[1.0], [-1.0]]))
    faults = conflict_faults(layer, read_label_sets([[], [1], [0, 1]], 2), [np.array([0, 1])] * 3)
    assert [fault is None for fault in faults] == [True, False, True]


def test_the_sum_of_a_sparsemax_is_judged_for_each_label_set():
    weight = np.array([[1.0], [-1.0], [0.0]])
    layer = make_layer(weight, rule="sparsemax")
    sets = read_label_sets([[], [0]], 3)
    rows = np.array([layer.scale_row, layer.n_labels + 2])
    assert [fault is None for fault in conflict_faults(layer, sets, [rows, rows])] == [True, False]
