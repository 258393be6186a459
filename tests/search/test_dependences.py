"""Conflicts of wide layers are found by products of matrices, and are what the proof asks for."""

import numpy as np
import pytest

import labelproof as lp
from labelproof.proof.conflicts import conflict_faults
from labelproof.proof.labels import read_label_sets
from labelproof.proof.regions import make_layer
from labelproof.search import dependences, propose
from labelproof.search.dependences import RowSample
from labelproof.search.systems import search_system

RNG = np.random.default_rng(0)
GAUSSIAN = RNG.normal(size=(400, 30))
SETS = [sorted(RNG.choice(400, k, replace=False).tolist()) for k in (0, 1, 5, 60, 200)]
NONE = np.empty(0, np.int64)


@pytest.fixture
def wide(monkeypatch):
    monkeypatch.setattr(propose, "LEAST_WIDTH", 1)


def sample_of(weight, **options):
    return search_system(make_layer(weight, **options)).sample


@pytest.mark.parametrize("active", SETS)
def test_a_conflict_has_one_row_more_than_columns_and_is_a_proof(active):
    rows = sample_of(GAUSSIAN).conflict(400, np.array(active, np.int64))
    assert len(rows) == 31
    assert conflict_faults(make_layer(GAUSSIAN), read_label_sets([active], 400), [np.sort(rows)]) == [None]


def test_there_is_none_for_sets_that_can_be_predicted():
    for x in RNG.normal(size=(10, 30)):
        assert sample_of(GAUSSIAN).conflict(400, np.flatnonzero(GAUSSIAN @ x > 0)) is None


def test_columns_of_zeros_are_no_columns():
    weight = GAUSSIAN.copy()
    weight[:, [3, 17]] = 0
    rows = sample_of(weight).conflict(400, NONE)
    assert len(rows) == 29
    assert conflict_faults(make_layer(weight), read_label_sets([[]], 400), [np.sort(rows)]) == [None]


def test_rows_of_zeros_take_no_part():
    weight = GAUSSIAN.copy()
    weight[::2] = 0
    assert (sample_of(weight).conflict(400, np.arange(0, 20)) % 2 == 1).all()


def test_rows_are_taken_from_those_asked_for():
    among = np.arange(100, 250)
    assert np.isin(sample_of(GAUSSIAN).conflict(400, NONE, among), among).all()


@pytest.mark.parametrize(
    "weight",
    [
        np.column_stack([GAUSSIAN, GAUSSIAN[:, 0]]),  # the basis is singular
        GAUSSIAN[:20],  # fewer rows than columns
        np.zeros((50, 3)),
    ],
)
def test_layers_without_a_basis_have_no_conflict_here(weight):
    assert sample_of(weight).conflict(len(weight), NONE) is None


def test_a_dependence_that_is_none_has_no_conflict():
    h = np.ones(60)
    assert dependences._pushed_out(GAUSSIAN[:60], h) is None


def test_tiny_multipliers_are_left_to_the_other_search(monkeypatch):
    monkeypatch.setattr(dependences, "LEAST_SHARE", 1.0)
    assert sample_of(GAUSSIAN).conflict(400, NONE) is None


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"bias": RNG.normal(size=400)},
        {"ties": "inactive"},
        {"domain": "nonnegative"},
        {"rule": "topk"},
        {"rule": "sparsemax"},
        {"domain": (0.0, np.r_[np.zeros(2), np.ones(28)])},
    ],
)
def test_verdicts_are_those_of_the_other_search(options, wide, monkeypatch):
    can = [np.flatnonzero(GAUSSIAN @ x > 0).tolist() for x in np.abs(RNG.normal(size=(4, 30)))]
    v = lp.verify(GAUSSIAN, [*SETS[:1], *can, *SETS], **options)
    v.check()
    monkeypatch.setattr(propose, "is_wide", lambda *_: False)
    np.testing.assert_array_equal(v.status, lp.verify(GAUSSIAN, [*SETS[:1], *can, *SETS], **options).status)


def test_conflicts_are_not_sought_where_they_are_rare(wide, monkeypatch):
    asked = []
    monkeypatch.setattr(RowSample, "conflict", lambda *_: asked.append(1))
    sets = [np.flatnonzero(GAUSSIAN @ x > 0).tolist() for x in RNG.normal(size=(7, 30))]
    assert lp.verify(GAUSSIAN, sets).status.all()
    assert len(asked) == propose.MISSES + 1


@pytest.mark.parametrize("time_limit", [1e-9, 60.0])
def test_a_short_time_limit_leaves_no_time_for_them(time_limit, wide):
    layer = make_layer(GAUSSIAN)
    assert propose.is_wide(layer, search_system(layer), time_limit) == (time_limit > 1)
