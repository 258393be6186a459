"""Work is shared so that every item is done once, whoever does it."""

import contextlib
import os
import signal
import subprocess
import sys
import threading

import numpy as np
import pytest
import torch
from numba import njit

from labelproof.foundation.threads import run_together
from labelproof.parallel import dispatch, openmp
from labelproof.parallel.dispatch import share
from labelproof.parallel.openmp import addresses
from labelproof.parallel.team_loops import ALONE, spread

LARGE = 1 << 30  # numbers that are worth any thread


@njit(nogil=True)
def _mark(done, add, start, stop):
    for i in range(start, stop):
        done[i] += add


@njit(nogil=True)
def mark(done, add, team, start, stop):
    spread(_mark, (done, add), team, start, stop)


@njit(nogil=True)
def _ask_for_too_much(sizes, out, start, stop):
    for i in range(start, stop):
        out[i] = np.empty(sizes[i]).size


@njit(nogil=True)
def ask_for_too_much(sizes, out, team, start, stop):
    spread(_ask_for_too_much, (sizes, out), team, start, stop)


@pytest.fixture
def without_openmp(monkeypatch):
    monkeypatch.setattr(dispatch, "addresses", lambda: ())


@pytest.mark.parametrize("n_threads", [1, 2, 3, 7])
@pytest.mark.parametrize("n_items", [0, 1, 2, 5, 1000])
def test_every_item_is_done_once(n_items, n_threads):
    done = np.zeros(n_items)
    share(mark, done, 1.0, n_items=n_items, n_numbers=LARGE, n_threads=n_threads)
    np.testing.assert_array_equal(done, 1)


@pytest.mark.parametrize("n_threads", [1, 2, 3, 7])
def test_our_own_threads_do_the_same(n_threads, without_openmp):
    done = np.zeros(1000)
    share(mark, done, 1.0, n_items=1000, n_numbers=LARGE, n_threads=n_threads)
    np.testing.assert_array_equal(done, 1)


def test_a_range_need_not_begin_at_the_first_item():
    done = np.zeros(10)
    mark(done, 2.0, ALONE, 3, 7)
    np.testing.assert_array_equal(done, [0, 0, 0, 2, 2, 2, 2, 0, 0, 0])
    mark(done, 1.0, (*addresses(), 2, 3), 4, 10)
    np.testing.assert_array_equal(done, [0, 0, 0, 2, 3, 3, 3, 1, 1, 1])


def test_a_team_that_is_smaller_than_asked_for_still_does_everything():
    code = """
import numpy as np, torch
from labelproof.simplex import sparsemax
z = np.random.default_rng(0).standard_normal((2000, 1000))
assert (sparsemax(z, n_jobs=8) == sparsemax(z, n_jobs=1)).all()
"""
    limited = {**os.environ, "OMP_THREAD_LIMIT": "1"}
    subprocess.run([sys.executable, "-c", code], env=limited, check=True, timeout=120)  # noqa: S603


def test_several_callers_have_teams_of_their_own():
    results = [np.zeros(10_000) for _ in range(4)]

    def work(done):
        for _ in range(50):
            share(mark, done, 1.0, n_items=len(done), n_numbers=LARGE, n_threads=2)

    callers = [threading.Thread(target=work, args=(done,)) for done in results]
    for caller in callers:
        caller.start()
    for caller in callers:
        caller.join()
    for done in results:
        np.testing.assert_array_equal(done, 50)


@pytest.mark.parametrize("n_threads", [1, 2])
def test_a_thread_without_memory_is_an_error_in_the_caller(n_threads):
    sizes, out = np.array([1, 1 << 50]), np.zeros(2)
    with pytest.raises(MemoryError, match="a thread found no memory"):
        share(ask_for_too_much, sizes, out, n_items=2, n_numbers=LARGE, n_threads=n_threads)


def test_small_work_is_done_by_the_caller_alone():
    teams = []

    def kernel(team, start, stop):
        teams.append((team, start, stop))

    share(kernel, n_items=100, n_numbers=100, n_threads=8)
    assert teams == [(ALONE, 0, 100)]


def test_a_team_gets_all_its_threads_and_no_more_shares_than_pay():
    teams = []
    numbers = 3 * dispatch.FOR_A_TEAM
    share(lambda *given: teams.append(given), n_items=100, n_numbers=numbers, n_threads=8)
    assert teams == [((*addresses(), 8, 3), 0, 100)]


def test_torch_brings_its_openmp():
    assert "OpenMP" in torch.__config__.parallel_info()
    assert len(addresses()) == 3
    assert all(addresses())


def test_a_process_without_openmp_has_no_addresses(monkeypatch):
    monkeypatch.setattr(openmp, "_found", [])
    monkeypatch.setattr(openmp, "_NAMES", ("no_such_function",))
    assert addresses() == ()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")
@pytest.mark.parametrize("n_jobs", [1, 2])
def test_a_forked_process_leaves_the_teams_of_its_parent_alone(n_jobs):
    code = f"""
import os, sys
import numpy as np, torch
from labelproof.simplex import sparsemax
from labelproof.parallel.openmp import addresses
torch.set_num_threads(2)
z = np.random.default_rng(0).standard_normal((2000, 1000))
torch.softmax(torch.from_numpy(z), 1)
before = sparsemax(z, n_jobs={n_jobs})  # one thread looks nothing up
if os.fork() == 0:
    same = not addresses() and (sparsemax(z, n_jobs=2) == before).all()
    os._exit(0 if same else 1)
sys.exit(os.waitstatus_to_exitcode(os.wait()[1]))
"""
    subprocess.run([sys.executable, "-c", code], check=True, timeout=120)  # noqa: S603


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")
@pytest.mark.parametrize("kind", ["float32", "float64", "bool"])
def test_a_loss_ends_in_a_forked_process(kind):
    code = f"""
import os, sys
import torch
from labelproof.losses import SigmoidF1Loss
torch.set_num_threads(2)
z = torch.randn(256, 2000, requires_grad=True)
y = (torch.rand(256, 2000) < 0.1).to(torch.{kind})
loss = SigmoidF1Loss()
loss(z, y).backward()  # on torch's threads, which the child does not have
if os.fork() == 0:
    (2 * loss(z, y)).backward()
    os._exit(0)
sys.exit(os.waitstatus_to_exitcode(os.wait()[1]))
"""
    child = subprocess.Popen([sys.executable, "-c", code], start_new_session=True)  # noqa: S603
    try:
        assert child.wait(timeout=120) == 0
    finally:  # with the child of the child, which would wait for ever
        with contextlib.suppress(ProcessLookupError):
            os.killpg(child.pid, signal.SIGKILL)
        child.wait()


def test_jobs_run_together_and_any_error_comes_after_all_have_ended():
    ended = []

    def fail():
        raise KeyError("first")

    with pytest.raises(KeyError, match="first"):
        run_together([fail, lambda: ended.append(1), lambda: ended.append(2)])
    assert sorted(ended) == [1, 2]


def test_an_error_in_a_thread_is_raised_in_the_caller(without_openmp):
    def kernel(team, start, stop):
        if start:
            raise KeyError("row")

    with pytest.raises(KeyError, match="row"):
        share(kernel, n_items=1000, n_numbers=LARGE, n_threads=2)
