"""Conflicts of wide layers are found by products of matrices, and are what the proof asks for."""

from dataclasses import replace

import numpy as np
import pytest

import labelproof as lp
from labelproof.proof.conflicts import conflict_faults
from labelproof.proof.labels import read_label_sets
from labelproof.proof.regions import make_layer
from labelproof.proof.standalone import main as check_alone
from labelproof.search import dependences, engine, propose
from labelproof.search.dependences import ManyRows
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
    monkeypatch.setattr(ManyRows, "dependent", lambda *_: asked.append(1))
    sets = [np.flatnonzero(GAUSSIAN @ x > 0).tolist() for x in RNG.normal(size=(7, 30))]
    assert lp.verify(GAUSSIAN, sets).status.all()
    assert len(asked) == propose.MISSES + 1


@pytest.mark.parametrize("time_limit", [1e-9, 60.0])
def test_a_short_time_limit_leaves_no_time_for_them(time_limit, wide):
    layer = make_layer(GAUSSIAN)
    assert propose.is_wide(layer, search_system(layer), time_limit) == (time_limit > 1)


# --- conflicts that keep all rows of a dependence -----------------------------------------------------------


@pytest.mark.parametrize("options", [{}, {"bias": np.full(400, -0.5)}, {"rule": "topk"}, {"domain": "nonnegative"}])
@pytest.mark.parametrize("active", SETS[3:])
def test_many_rows_are_a_proof_without_an_exact_solution(active, options):
    weight = GAUSSIAN * 2.0 ** RNG.integers(-3, 4, size=(400, 1))
    layer = make_layer(weight, **options)
    system = search_system(layer)
    places = system.many_rows.dependent(400, np.array(active))
    rows = np.sort(system.numbers[places])
    assert len(rows) > layer.width + 1
    assert conflict_faults(layer, read_label_sets([active], 400), [rows], lambda _: False) == [None]


def test_many_rows_are_dependent_only_where_there_are_more_than_columns_and_one():
    system = search_system(make_layer(GAUSSIAN))
    can = np.flatnonzero(GAUSSIAN @ RNG.normal(size=30) > 0)
    assert system.many_rows.dependent(400, can) is None
    opposed = np.concatenate([np.eye(4), -np.ones((1, 4))])
    assert search_system(make_layer(opposed)).many_rows.dependent(5, np.arange(5)) is None


def test_verify_finds_conflicts_of_many_rows_that_both_checkers_prove(wide, tmp_path, monkeypatch):
    monkeypatch.setattr(dependences, "MANY_ROWS_A_COLUMN", 4)
    weight = np.round(8 * GAUSSIAN[:, :6])
    v = lp.verify(weight, SETS[3:])
    assert v.status.tolist() == [0, 0]
    assert (np.diff(v.conflict_ptr) > 7).all()
    v.check()
    v.save(tmp_path / "result.npz")
    np.save(tmp_path / "weight.npy", weight)
    lp.load_verification(tmp_path / "result.npz", weight).check()
    assert check_alone([str(tmp_path / "result.npz"), str(tmp_path / "weight.npy")]) == 0
    for certificate, active in zip(v, SETS[3:], strict=True):
        signs = np.where(np.isin(certificate.conflict, active), 1, -1)
        exact = [[int(c) * int(s) for c in weight[i]] for i, s in zip(certificate.conflict, signs, strict=True)]
        assert min(certificate.multipliers) > 0
        for column in zip(*exact, strict=True):
            assert sum(m * c for m, c in zip(certificate.multipliers, column, strict=True)) == 0


def test_a_row_too_few_or_of_another_sign_is_refused_by_both_checkers(wide, tmp_path):
    weight = np.round(8 * GAUSSIAN[:, :3])
    v = lp.verify(weight, SETS[4:])
    (certificate,) = v
    drop = max(range(len(certificate.conflict)), key=lambda k: certificate.multipliers[k])
    fewer = [certificate.conflict[:4], np.delete(certificate.conflict, [drop, drop - 1, drop - 2])]
    forged = [replace(v, conflict_ptr=np.array([0, len(rows)]), conflict_rows=np.array(rows)) for rows in fewer]
    others = read_label_sets([np.setdiff1d(SETS[4], certificate.conflict[::2]).tolist()], 400)
    forged.append(replace(v, label_sets=others))
    np.save(tmp_path / "weight.npy", weight)
    refused = 0
    for one in forged:
        one.save(tmp_path / "forged.npz")
        try:
            one.check()
        except lp.CertificateError:
            refused += 1
            expected = 1
        else:
            expected = 0
        assert check_alone([str(tmp_path / "forged.npz"), str(tmp_path / "weight.npy")]) == expected
    assert refused >= 2


def test_where_many_rows_are_not_proven_few_are(wide, monkeypatch):
    monkeypatch.setattr(ManyRows, "dependent", lambda self, *_: self.places)
    v = lp.verify(GAUSSIAN, SETS[3:])
    assert v.status.tolist() == [0, 0]
    assert np.diff(v.conflict_ptr).tolist() == [31, 31]
    v.check()
    monkeypatch.setattr(dependences.RowSample, "conflict", lambda *_: None)
    assert lp.verify(GAUSSIAN, SETS[3:]).status.tolist() == [0, 0]


def test_offsets_that_are_no_floats_and_other_callers_get_conflicts_of_few_rows(wide):
    bias, cut = 0.1 * np.arange(400) / 400, {"thresholds": 0.3}
    assert (np.diff(lp.verify(GAUSSIAN, SETS[3:], bias=bias).conflict_ptr) > 32).all()
    v = lp.verify(GAUSSIAN, SETS[3:], bias=bias, **cut)
    assert make_layer(GAUSSIAN, bias=bias, **cut).offset_error.any()
    assert (np.diff(v.conflict_ptr) <= 32).all()
    layer, sets = make_layer(GAUSSIAN), read_label_sets(SETS[3:], 400)
    assert [len(found.conflict) for found in engine.decide(layer, sets)] == [31, 31]
    assert lp.explain(GAUSSIAN, SETS[3]).irreducible
