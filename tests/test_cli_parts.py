"""labelproof verify to a folder: killed at random moments it goes on, and ends with the same files."""

import json
import os
import random
import signal
import subprocess
import sys
import time

import numpy as np
import pytest
import scipy.sparse as sp

import labelproof as lp
from running_verbs import assert_refused, report, run

RNG = np.random.default_rng(6)
WEIGHT = RNG.standard_normal((200, 20))
POINTS = RNG.standard_normal((600, 20))
SETS = POINTS @ WEIGHT.T > 0  # all can be predicted
SETS[::3] ^= RNG.random((200, 200)) < 0.02  # hardly any can
N_PARTS = 30

pytestmark = pytest.mark.xdist_group("parts")  # what they share is made once, not in each worker


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    """Return a folder with weights and label sets, and the result of a run that nothing interrupted."""
    home = tmp_path_factory.mktemp("home")
    np.savez(home / "W.npz", weight=WEIGHT)
    sp.save_npz(home / "Y.npz", sp.csr_array(SETS))
    assert completed(home, home / "whole").returncode == 0
    return home


def content(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def verify(home, output, *words):
    words = ("verify", home / "W.npz", "-l", home / "Y.npz", "-o", output, "--part-size", 20, *words)
    return [sys.executable, "-m", "labelproof", *map(str, words)]


def started(home, output, *words):
    """Start a process that Ctrl-C ends, also where the tests run in the background, whose children ignore it."""
    return subprocess.Popen(  # noqa: S603
        verify(home, output, *words),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )


def completed(home, output):
    return subprocess.run(verify(home, output), capture_output=True, text=True, check=False)  # noqa: S603


def wait_for_parts(process, output, count):
    while process.poll() is None and len(list(output.glob("part-*.npz"))) < count:
        time.sleep(0.002)


def test_a_run_killed_at_random_moments_ends_with_the_same_files(home, tmp_path):
    output, rng = tmp_path / "r", random.Random(1)  # noqa: S311 - for moments, not for secrets
    for _ in range(4):
        process = started(home, output)
        there = len(list(output.glob("part-*.npz"))) if output.exists() else 0
        wait_for_parts(process, output, there + rng.randrange(4))
        time.sleep(rng.random() * 0.05)
        process.send_signal(signal.SIGKILL)
        process.communicate()
        kept = (
            {name: part for name, part in content(output).items() if not name.startswith(".")}
            if output.exists()
            else {}
        )
        assert kept.items() <= content(home / "whole").items()  # no part is torn
    again = completed(home, output)
    assert again.returncode == 0, again.stderr
    assert content(output) == content(home / "whole")


def interrupted(home, tmp_path):
    """Return a folder in which Ctrl-C met a run, and what that said; a run that ended before is tried again."""
    for i in range(20):
        process = started(home, tmp_path / str(i), "--jobs", 1)
        wait_for_parts(process, tmp_path / str(i), 2)
        process.send_signal(signal.SIGINT)
        _, told = process.communicate()
        if process.returncode != 0:
            break
    assert process.returncode == 130, told
    return tmp_path / str(i), told


def test_ctrl_c_says_how_to_go_on(home, tmp_path):
    output, told = interrupted(home, tmp_path)
    assert f"are kept in {output}; run the same command again to continue" in told
    assert "Traceback" not in told
    assert len(list(output.glob("part-*.npz"))) < N_PARTS
    again = completed(home, output)
    assert "Going on: " in again.stderr
    assert content(output) == content(home / "whole")


def test_a_full_disk_is_told_in_one_sentence(home, tmp_path, monkeypatch):
    output, saves = tmp_path / "r", np.savez_compressed

    def save(stream, **arrays):
        if len(list(output.glob("part-*"))) == 3:
            raise OSError(28, os.strerror(28))
        saves(stream, **arrays)

    monkeypatch.setattr(np, "savez_compressed", save)
    full = run(*verify(home, output)[3:])
    assert_refused(full, f"no space left for {output}: 3 parts are kept; run the same command again to continue")


def test_a_run_to_a_folder_says_what_one_to_a_file_says(home, tmp_path):
    in_parts = report(*verify(home, tmp_path / "r")[3:])
    whole = report("verify", home / "W.npz", "-l", home / "Y.npz", "-o", tmp_path / "r.npz")
    for name in ("sets", "argmaxable", "unargmaxable", "undecided", "share_argmaxable", "by_active_labels", "n_labels"):
        assert in_parts[name] == whole[name], name
    assert in_parts["unargmaxable"] > 0 < in_parts["argmaxable"]
    assert in_parts["parts"] == N_PARTS
    for conflict in in_parts["smallest_conflicts"]:
        assert whole["status"][conflict["set"]] == 0
    told = run(*verify(home, tmp_path / "r")[3:])
    assert "Going on: 30 parts are there already." in told.stderr
    assert f"labelproof check {tmp_path / 'r'} --weights" in told.stdout.replace("\n", "")


def test_check_proves_a_folder_and_says_what_is_missing(home, tmp_path):
    proven = report("check", home / "whole", "-w", home / "W.npz")
    assert proven["proven"] is True
    assert proven["sets"] == 600
    run(*verify(home, tmp_path / "r")[3:])
    (tmp_path / "r" / "part-000029.npz").unlink()
    result = run("check", tmp_path / "r", "-w", home / "W.npz")
    assert result.exit_code == 1
    words = " ".join(result.stdout.split())
    assert "Not proven: expected 30 parts, got 29, whose verdicts hold, and no part-000029.npz" in words


def test_check_refuses_a_folder_of_something_else(home, tmp_path):
    assert_refused(run("check", tmp_path, "-w", home / "W.npz"), "expected a folder that labelproof verify wrote")


def test_a_sample_bounds_the_share_of_all(home, tmp_path):
    whole = report("verify", home / "W.npz", "-l", home / "Y.npz")
    some = report(
        "verify", home / "W.npz", "-l", home / "Y.npz", "--sample", 100, "--seed", 5, "-o", tmp_path / "s.npz"
    )
    assert some["sets"] == 100
    assert (some["sample"]["of"], some["sample"]["seed"]) == (600, 5)
    low, high = some["sample"]["share_interval"]
    assert low < whole["share_argmaxable"] < high
    assert lp.load_verification(tmp_path / "s.npz", WEIGHT).sample.seed == 5
    told = run("verify", home / "W.npz", "-l", home / "Y.npz", "--sample", 100, "-o", tmp_path / "s")
    assert "These are 100 of 600 label sets, chosen at random (seed 0)" in " ".join(told.stdout.split())
    assert json.loads((tmp_path / "s" / "run.json").read_text())["sample"] == {"of": 600, "seed": 0}


@pytest.mark.parametrize(
    ("words", "what"),
    [
        (["--sample", 601], "sample must be at most the number of label sets, 600, got 601"),
        (["--sample", 0], "sample must be an integer of at least 1, got 0"),
        (["--engine", "cloud"], "engine must be 'local' or 'ray', got 'cloud'"),
        (["--address", "auto"], "--address goes with --engine ray"),
    ],
    ids=str,
)
def test_wrong_options_are_refused(words, what, home, tmp_path):
    assert_refused(run(*verify(home, tmp_path / "r", *words)[3:]), what)
    assert not (tmp_path / "r").exists()


def test_a_size_of_parts_needs_a_folder(home, tmp_path):
    assert_refused(run(*verify(home, tmp_path / "r.npz")[3:]), "--part-size goes with an --output that is a folder")
