"""A small version of each campaign of `make stress`, and that each notices what is wrong."""

import re
import subprocess
import sys
from pathlib import Path

import faults
import geometry
import guided
import numpy as np
import pytest
import soak
from load import campaign as load
from rows import Row, table

HERE = Path(__file__).parent


def assert_all_passed(rows, least):
    assert sum(row.tried for row in rows) >= least
    assert not [fault for row in rows for fault in row.faults]


def test_commands_that_fail_at_some_moment_leave_nothing_torn_and_go_on():
    """In a process of its own, since processes are forked from it."""
    command = [sys.executable, str(HERE / "run.py"), "--size", "0.01", "faults"]
    ended = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603
    assert ended.returncode == 0, ended.stdout + ended.stderr
    found = [re.fullmatch(r"faults: (.+?) +(\d+) +(\d+) +(\d+) .*", line) for line in ended.stdout.splitlines()]
    assert {row[1]: row.groups()[1:] for row in found if row} == dict.fromkeys(
        [
            "data convert",
            "data convert, names",
            "verify to a folder",
            "verify to a file",
            "stretch",
            "audit weights",
            "report",
        ],
        ("2", "2", "0"),
    )


def test_misleading_layers_are_judged_with_proof():
    assert_all_passed(geometry.campaign(2), 4 * len(geometry.FAMILIES))


def test_a_false_verdict_on_a_misleading_layer_is_lost():
    made = geometry.Arrangement(np.eye(2), [[0], [1]], [True, False])
    assert geometry.judge(made) == ["proven", "said 1, but it is False"]


def test_an_error_on_a_misleading_layer_is_lost():
    assert geometry.judge(geometry.Arrangement(np.full((2, 2), np.nan), [[0]], [None]))[0].startswith("ValueError")


def test_verifying_in_a_loop_stays_the_same_and_takes_no_more_memory():
    assert_all_passed([soak.soak(0, 12)], 12)


def test_results_do_not_depend_on_the_number_of_threads():
    assert_all_passed([soak.threads((1, 2, 4))], 3)


def test_a_result_that_changes_and_memory_that_grows_are_lost(monkeypatch):
    rounds = []

    def changing(*_):
        rounds.append(0)
        return b"other" if len(rounds) == soak.FIRST_ROUNDS + 3 else b"same"

    monkeypatch.setattr(soak, "outcome", changing)
    monkeypatch.setattr(soak, "resident", lambda: len(rounds) * soak.MOST_GROWTH)  # a whole test run frees memory too
    row = soak.soak(0, 6)
    assert row.faults[0] == "another result than in the first round"
    assert row.faults[1].startswith("memory grew by ")


def test_memory_in_use_is_seen():
    before = soak.resident()
    kept = np.ones(2**25)
    assert soak.resident() - before > kept.nbytes / 2


def test_an_explorer_answers_many_clients_at_once():
    answers, _ = load(20, 2, 0)
    assert_all_passed([answers], 20)


def test_a_reader_is_fuzzed_along_the_lines_that_run():
    pytest.importorskip("atheris")
    row = guided._one("rule.json", 100)
    assert_all_passed([row], 100)
    assert int(row.note.split()[0]) > 50  # branches, of compiled loops none


def test_what_is_left_must_be_as_before_or_as_after(tmp_path):
    job = faults.Job("a", lambda: None, (), "out", may_lack=("out/report",), may_go=("out/old",))
    before, after = {"out/a": "1", "out/old": "0"}, {"out/a": "2", "out/report": "3"}
    run = faults.Undisturbed(tmp_path, before, after, 1, 1.0, 1)
    fault = faults._fault_of_rest
    (tmp_path / "out").mkdir()
    states = [before, {"out/a": "1"}, {"out/a": "2"}, after, {}, {"out/a": "1", "out/report": "3"}, {"out/old": "0"}]
    said = []
    for state in states:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(faults, "state_of", lambda _, state=state: state)
            said.append(bool(fault(job, run, tmp_path)))
    assert said == [False, False, False, False, True, True, True]


@pytest.mark.parametrize(
    ("left", "is_fine"), [({}, True), ({"out/a": "1"}, True), ({"out/a": "torn"}, False), ({"out/c": "1"}, False)]
)
def test_of_results_in_parts_each_must_be_as_after(monkeypatch, tmp_path, left, is_fine):
    job = faults.Job("a", lambda: None, (), "out", in_parts=True)
    run = faults.Undisturbed(tmp_path, {}, {"out/a": "1", "out/b": "2"}, 1, 1.0, 1)
    monkeypatch.setattr(faults, "state_of", lambda _: left)
    assert (faults._fault_of_rest(job, run, tmp_path) == "") == is_fine


@pytest.mark.parametrize(
    ("way", "code", "said", "is_fine"),
    [
        ("kill", -9, "", True),
        ("kill", 1, "Traceback", False),
        ("interrupt", 130, "\ninterrupted: go on", True),
        ("interrupt", 1, "Traceback", False),
        ("full disk", 2, "error: a cannot be written", True),
        ("full disk", 1, "Traceback\nerror: a", False),
        ("out of memory", 2, "error: out of memory", True),
        ("out of memory", -11, "", False),
    ],
)
def test_a_command_must_end_as_it_was_ended(way, code, said, is_fine):
    assert (faults._fault_of_end(way, code, said) == "") == is_fine


def test_torn_files_are_told_apart(tmp_path):
    np.savez(tmp_path / "a.npz", a=np.ones(1000))
    (tmp_path / "b.npz").write_bytes((tmp_path / "a.npz").read_bytes()[:-50])
    (tmp_path / "c.json").write_text('{"a": 1, "seconds": 2}')
    (tmp_path / "d.json").write_text('{"a": 1, "sec')
    (tmp_path / ".hidden.part").write_text("x")
    state = faults.state_of(tmp_path)
    named = {name.rpartition("/")[2]: value for name, value in state.items()}
    assert named.pop("a.npz") != "torn"
    assert named == {"b.npz": "torn", "c.json": '{"a": 1}', "d.json": "torn"}


def test_the_table_counts_what_was_lost():
    row = Row("a")
    row.add("", 0.5, 2**20)
    row.add("no", 0.25)
    assert table([row]).splitlines()[1].split() == ["a", "2", "1", "1", "0.50", "s", "1", "MB"]
    assert table([Row("b", 1, 1)]).splitlines()[1].split() == ["b", "1", "1", "0", "–", "0", "MB"]
