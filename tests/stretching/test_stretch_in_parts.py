"""Stretches are measured in parts, and those that are done are kept: a killed run goes on from there."""

import signal
import subprocess
import sys

import numpy as np
import pytest

import labelproof as lp
from labelproof.proof.stretch_store import ARRAYS
from labelproof.stretching import measuring_in_parts, pool
from running_verbs import run

RNG = np.random.default_rng(5)
WEIGHT, BIAS = RNG.normal(size=(7, 3)), RNG.normal(size=7) - 0.5
FEATURES = RNG.normal(size=(90, 3))
SETS = np.unpackbits(np.arange(60, dtype=np.uint8)[:, None], axis=1)[:, 1:].astype(bool)  # 60 sets of 7 labels
PART = 20
KILLED = f"""
import os, signal
from labelproof.cli import main
from labelproof.stretching import measuring_in_parts, pool

save, left, measuring_in_parts.PART = measuring_in_parts.save_stretch, [2], {PART}

def kill_before_the_third(part, path):
    if not left[0]:
        os.kill(os.getpid(), signal.SIGKILL)
    left[0] -= 1
    save(part, path)

measuring_in_parts.save_stretch = kill_before_the_third
main()
"""


@pytest.fixture(autouse=True)
def _small_parts(monkeypatch):
    monkeypatch.setattr(measuring_in_parts, "PART", PART)


@pytest.fixture
def measured(monkeypatch):
    """Count the parts that are measured."""
    counted, find = [], measuring_in_parts.find_evidence

    def counting(asked, block, *rest):
        counted.append(len(block))
        return find(asked, block, *rest)

    monkeypatch.setattr(measuring_in_parts, "find_evidence", counting)
    return counted


def stretch(**how):
    return lp.stretch(WEIGHT, SETS, FEATURES, bias=BIAS, **how)


def assert_same(one, other):
    for name in ARRAYS:
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name))


@pytest.fixture
def files(tmp_path):
    np.savez(tmp_path / "w.npz", weight=WEIGHT, bias=BIAS)
    np.save(tmp_path / "f.npy", FEATURES)
    np.save(tmp_path / "y.npy", SETS)
    return tmp_path


def words(files, verb, output):
    named = ("--labels", files / "y.npy", "--features", files / "f.npy", "-o", output, "--ties", "open")
    return [verb, *map(str, (files / "w.npz", *named)), *(["--explain", "0"] if verb == "audit" else [])]


@pytest.mark.parametrize("logits", [7 * 45, pool.MOST_LOGITS])
def test_every_number_of_threads_gives_the_same_bits(monkeypatch, logits):
    monkeypatch.setattr(pool, "MOST_LOGITS", logits)  # a pool of some examples, then one of all
    monkeypatch.setattr(pool, "LEAST_POOL", 45)
    monkeypatch.setattr(pool, "AT_ONCE", 20)
    one, two, three = (stretch(n_jobs=n) for n in (1, 2, 3))
    assert_same(one, two)
    assert_same(one, three)


def test_parts_that_are_kept_are_not_measured_again(tmp_path, measured):
    whole = stretch()
    assert measured == [PART] * 3
    first = stretch(keep=tmp_path / "kept")
    assert len(measured) == 6
    next((tmp_path / "kept").iterdir()).unlink()
    again = stretch(keep=tmp_path / "kept")
    assert len(measured) == 7
    assert_same(first, whole)
    assert_same(again, whole)
    again.check()


@pytest.mark.parametrize(
    "change",
    [
        {"bias": BIAS + 0.25},
        {"bias": None},
        {"thresholds": 0.3},
        {"ties": "inactive"},
        {"tolerance": 0.01},
        {"weight": 2 * WEIGHT},
        {"features": FEATURES[:-1]},
        {"labels": ~SETS},
    ],
)
def test_parts_of_another_question_are_not_taken(tmp_path, measured, change):
    asked = {"weight": WEIGHT, "labels": SETS, "features": FEATURES, "bias": BIAS}
    lp.stretch(**asked, keep=tmp_path)
    before = len(measured)
    assert_same(lp.stretch(**{**asked, **change}, keep=tmp_path), lp.stretch(**{**asked, **change}))
    assert len(measured) == before + 6


def test_a_damaged_part_is_measured_again(tmp_path, measured):
    whole = stretch(keep=tmp_path)
    one, two, three = sorted(tmp_path.iterdir())
    one.write_bytes(one.read_bytes()[:-40])
    two.write_bytes(three.read_bytes())
    assert_same(stretch(keep=tmp_path), whole)
    assert len(measured) == 5


def test_a_command_that_is_killed_loses_no_part_that_is_done(files, measured):
    output, kept = files / "s.npz", files / ".s.npz.parts"
    command = [sys.executable, "-c", KILLED, *words(files, "stretch", output)]
    ended = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603
    assert ended.returncode == -signal.SIGKILL, ended.stderr
    assert not output.exists()
    assert len(list(kept.glob("*.npz"))) == 2
    assert run(*words(files, "stretch", output)).exit_code == 0
    assert measured == [PART]
    assert not kept.exists()
    assert_same(lp.load_stretch(output, WEIGHT, FEATURES, bias=BIAS), stretch())


@pytest.mark.parametrize("verb", ["stretch", "audit"])
def test_ctrl_c_says_how_to_go_on_and_the_same_command_does(files, measured, monkeypatch, verb):
    output, find = files / "out", measuring_in_parts.find_evidence

    def stop_at_the_second(asked, block, *rest):
        if measured:
            raise KeyboardInterrupt
        return find(asked, block, *rest)

    with monkeypatch.context() as patch:
        patch.setattr(measuring_in_parts, "find_evidence", stop_at_the_second)
        stopped = run(*words(files, verb, output))
    assert stopped.exit_code == 130
    assert f"interrupted: what is done is kept in {files / '.out.parts'}; run the same command again" in stopped.stderr
    assert not output.exists()
    assert run(*words(files, verb, output)).exit_code == 0
    assert measured == [PART] * 3
    assert not (files / ".out.parts").exists()
    saved = output / "stretch.npz" if verb == "audit" else output
    assert_same(lp.load_stretch(saved, WEIGHT, FEATURES, bias=BIAS), stretch())
