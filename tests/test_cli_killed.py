"""Verbs that verify, killed or interrupted between two parts: the same command decides the rest, with equal files."""

import json
import signal
import subprocess
import sys

import numpy as np
import pytest

from labelproof.search import in_parts
from labelproof.search.questions import Question
from running_verbs import assert_refused, run

RNG = np.random.default_rng(9)
WEIGHT = RNG.normal(size=(30, 4))
SETS = RNG.normal(size=(70, 4)) @ WEIGHT.T > 0
SETS[::3] ^= RNG.random((24, 30)) < 0.1
PART = 12
KILLED = f"""
import os, signal
from labelproof.cli import main
from labelproof.search import in_parts

write, left = in_parts.write_part, [2]
in_parts.part_size_of = lambda _: {PART}

def kill_before_the_third(*part):
    if not left[0]:
        os.kill(os.getpid(), signal.SIGKILL)
    left[0] -= 1
    write(*part)

in_parts.write_part = kill_before_the_third
main()
"""
COMMANDS = {
    "audit": "audit w.npz --labels y.npy --features f.npy --explain 0 --pairs 50",
    "audit of a vocabulary": "audit w.npz --vocabulary --explain 0",
    "audit of an index": "audit --index w.npy --qrels q.tsv --widths 3,4 --k 3 --explain 0",
    "verify": "verify w.npz --labels y.npy --radius",
}


@pytest.fixture
def files(tmp_path, monkeypatch):
    np.savez(tmp_path / "w.npz", weight=WEIGHT)
    np.save(tmp_path / "w.npy", WEIGHT)
    np.save(tmp_path / "y.npy", SETS)
    np.save(tmp_path / "f.npy", RNG.normal(size=(40, 4)))
    pairs = [(query, document) for query in range(60) for document in RNG.choice(30, 2, replace=False)]
    (tmp_path / "q.tsv").write_text("".join(f"q{query}\t0\t{document}\t1\n" for query, document in pairs))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(in_parts, "part_size_of", lambda _: PART)
    return tmp_path


@pytest.fixture
def written(monkeypatch):
    """Count the label sets of the parts that are decided."""
    counted, write = [], in_parts.write_part

    def counting(folder, part, answer):
        counted.append(len(answer))
        write(folder, part, answer)

    monkeypatch.setattr(in_parts, "write_part", counting)
    return counted


def words(name, output):
    return [*COMMANDS[name].split(), "-o", f"{output}.npz" if name == "verify" else output]


def content(place):
    """Return the arrays of every file of proofs, and what an audit says without its times."""
    found = {}
    for path in sorted(place.rglob("*.npz")) if place.is_dir() else [place]:
        with np.load(path) as arrays:
            inner = path.relative_to(place).as_posix()
            found |= {(inner, name): arrays[name].tobytes() for name in arrays.files}
    if place.is_dir():
        found["document"] = timeless(json.loads((place / "audit.json").read_text()))
    return found


def timeless(value):
    if isinstance(value, dict):
        return {key: timeless(one) for key, one in value.items() if "seconds" not in key}
    return [timeless(one) for one in value] if isinstance(value, list) else value


@pytest.mark.parametrize("name", COMMANDS)
def test_a_command_that_is_killed_loses_no_finished_verdict(files, written, name):
    undisturbed, disturbed = words(name, "a"), words(name, "b")
    assert run(*undisturbed).exit_code == 0
    in_all = len(written)
    assert in_all > 2
    command = [sys.executable, "-c", KILLED, *disturbed]
    ended = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603
    assert ended.returncode == -signal.SIGKILL, ended.stderr
    output, kept = files / disturbed[-1], files / f".{disturbed[-1]}.parts"
    assert not output.exists()
    assert len(list(kept.rglob("part-*.npz"))) == 2
    assert run(*disturbed).exit_code == 0
    assert len(written) == 2 * in_all - 2
    assert not kept.exists()
    assert content(output) == content(files / undisturbed[-1])


@pytest.mark.parametrize("name", COMMANDS)
def test_a_thread_without_memory_ends_in_one_sentence_and_loses_no_finished_verdict(files, written, monkeypatch, name):
    answer, left, asked = Question.answer, [2], words(name, "d")

    def fail_at_the_third(*block, **how):
        left[0] -= 1
        if left[0] < 0:
            raise MemoryError
        return answer(*block, **how)

    with monkeypatch.context() as patch:
        patch.setattr(Question, "answer", fail_at_the_third)
        assert_refused(run(*asked, "--jobs", 1), "out of memory")
    assert len(written) == len(list((files / f".{asked[-1]}.parts").rglob("part-*.npz"))) == 2
    assert run(*asked).exit_code == 0
    in_all = len(written)
    assert run(*words(name, "e")).exit_code == 0
    assert len(written) == 2 * in_all
    assert content(files / asked[-1]) == content(files / words(name, "e")[-1])


@pytest.mark.parametrize("name", COMMANDS)
def test_ctrl_c_says_how_to_go_on(files, monkeypatch, name):
    write, left = in_parts.write_part, [1]

    def interrupt_at_the_second(*part):
        if not left[0]:
            raise KeyboardInterrupt
        left[0] -= 1
        write(*part)

    asked = words(name, "c")
    with monkeypatch.context() as patch:
        patch.setattr(in_parts, "write_part", interrupt_at_the_second)
        stopped = run(*asked)
    assert stopped.exit_code == 130
    kept = files / f".{asked[-1]}.parts"
    assert f"interrupted: what is done is kept in {kept}; run the same command again to continue" in stopped.stderr
    assert not (files / asked[-1]).exists()
    assert run(*asked).exit_code == 0
    assert not kept.exists()
