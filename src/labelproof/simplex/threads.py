"""Run a compiled kernel on disjoint ranges of rows in several threads."""

import os
from collections.abc import Callable, Sequence
from functools import cache, partial
from queue import SimpleQueue
from threading import Thread
from typing import Any

__all__ = ["over_rows", "run_together", "usable_cores"]

WORTH_A_THREAD = 1 << 18  # numbers to read: some 200 µs of work, against 20 to 50 to hand it over
ROW = 64  # numbers that take as long as what is done once for each row

Job = Callable[[], object]
Task = tuple[Job, "SimpleQueue[BaseException | None]"]


def over_rows(kernel: Callable[..., None], *args: Any, n_rows: int, n_columns: int, n_threads: int) -> None:
    """Call ``kernel(*args, start, stop)`` for ranges that cover all rows, each in its own thread if that pays."""
    n = min(n_threads, n_rows, n_rows * (n_columns + ROW) // WORTH_A_THREAD)
    if n <= 1:
        kernel(*args, 0, n_rows)
        return
    ends = [n_rows * i // n for i in range(n + 1)]
    run_together([partial(kernel, *args, ends[i], ends[i + 1]) for i in range(n)])


def run_together(jobs: Sequence[Job]) -> None:
    """Call the first job here and each other one in another thread.

    An error in any of them is raised here after all have ended.
    """
    done: SimpleQueue[BaseException | None] = SimpleQueue()
    tasks = _tasks(os.getpid())
    for job in jobs[1:]:
        tasks.put((job, done))
    try:
        jobs[0]()
    finally:
        errors = [done.get() for _ in jobs[1:]]
    for error in errors:
        if error is not None:
            raise error


def usable_cores() -> int:
    """Return the number of cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


@cache
def _tasks(_process: int) -> "SimpleQueue[Task]":
    """Return where the threads of this process take their tasks from: a fork has none of its parent's threads."""
    tasks: SimpleQueue[Task] = SimpleQueue()
    for i in range(usable_cores()):
        Thread(target=_serve, args=(tasks,), name=f"labelproof-rows-{i}", daemon=True).start()
    return tasks


def _serve(tasks: "SimpleQueue[Task]") -> None:
    while True:
        job, done = tasks.get()
        try:
            job()
        except BaseException as error:
            done.put(error)
        else:
            done.put(None)
        del job, done  # keep no array alive while there is nothing to do
