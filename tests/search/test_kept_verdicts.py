"""Verdicts that are kept part by part: the same call goes on from there, and takes nothing of another question."""

import numpy as np
import pytest

import labelproof as lp
from labelproof.errors import DataFormatError
from labelproof.search import in_parts

RNG = np.random.default_rng(8)
WEIGHT, BIAS = RNG.normal(size=(9, 4)), RNG.normal(size=9)
SETS = (RNG.normal(size=(50, 5)) @ np.column_stack([WEIGHT, BIAS]).T > 0) ^ (RNG.random((50, 9)) < 0.1)
PART = 20
ARRAYS = ("status", "points", "point_of", "conflict_ptr", "conflict_rows")


@pytest.fixture
def decided(monkeypatch):
    """Make small parts, and count the label sets that are decided."""
    counted, answers = [], in_parts.answers

    def counting(question, blocks, *rest, **options):
        for answer in answers(question, blocks, *rest, **options):
            counted.append(len(answer))
            yield answer

    monkeypatch.setattr(in_parts, "part_size_of", lambda _: PART)
    monkeypatch.setattr(in_parts, "answers", counting)
    return counted


def asked(**change):
    return {"weight": WEIGHT, "labels": SETS, "bias": BIAS, "time_limit": 60.0, **change}


def assert_same(one, other):
    for name in ARRAYS:
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name))


def test_parts_that_are_kept_are_not_decided_again(tmp_path, decided):
    whole = lp.verify(**asked(), keep=tmp_path / "a" / "kept")
    assert decided == [20, 20, 10]
    (part,) = tmp_path.rglob("part-000001.npz")
    part.unlink()
    again = lp.verify(**asked(), keep=tmp_path / "a" / "kept")
    assert decided == [20, 20, 10, 20]
    assert_same(again, whole)
    again.check()
    np.testing.assert_array_equal(again.status, lp.verify(**asked()).status)
    assert 0 < whole.status.sum() < len(SETS)


def test_radii_and_the_sample_are_those_of_a_call_that_keeps_nothing(tmp_path, decided):
    found, kept = (lp.verify(**asked(), radius=True, sample=30, seed=3, keep=keep) for keep in (None, tmp_path))
    assert decided == [20, 10]
    assert kept.sample == found.sample
    np.testing.assert_array_equal(kept.label_sets.indices, found.label_sets.indices)
    np.testing.assert_allclose(kept.radius, found.radius, rtol=1e-6)
    kept.check()


@pytest.mark.parametrize(
    "change",
    [
        {"weight": 2 * WEIGHT},
        {"labels": ~SETS},
        {"bias": None},
        {"bias": BIAS + 0.25},
        {"thresholds": 0.3},
        {"ties": "inactive"},
        {"rule": "topk"},
        {"domain": "nonnegative"},
        {"domain": (-1, 1)},
        {"domain": ("ball", 2.0)},
        {"domain": ("ball", 3.0)},
        {"domain": ("ball", 2.0, np.ones(4))},
        {"radius": True},
        {"radius": True, "box": 10.0},
        {"eps": 1e-6},
        {"time_limit": 30.0},
    ],
    ids=str,
)
def test_parts_of_another_question_are_not_taken(tmp_path, decided, change):
    for other in ({}, {"domain": ("ball", 2.5)}, {"radius": True, "box": 20.0}):
        lp.verify(**asked(**other), keep=tmp_path)
    before = len(decided)
    found = lp.verify(**asked(**change), keep=tmp_path)
    assert len(decided) == before + 3
    found.check()


def test_a_damaged_part_is_named(tmp_path, decided):
    lp.verify(**asked(), keep=tmp_path)
    (part,) = tmp_path.rglob("part-000002.npz")
    part.write_bytes(part.read_bytes()[:-40])
    with pytest.raises(DataFormatError, match=r"part-000002\.npz: .*: delete it, and the same call will compute it"):
        lp.verify(**asked(), keep=tmp_path)
    part.unlink()
    lp.verify(**asked(), keep=tmp_path).check()
    assert decided == [20, 20, 10, 10]


def test_no_label_sets_keep_nothing(tmp_path):
    assert len(lp.verify(WEIGHT, [], keep=tmp_path / "kept")) == 0
    assert not (tmp_path / "kept").exists()


def test_only_proofs_can_be_kept(tmp_path):
    with pytest.raises(ValueError, match="keep must come with certify=True"):
        lp.verify(WEIGHT, SETS, certify=False, keep=tmp_path)
