"""Threads of our own, for compiled code that lets go of the interpreter's lock."""

import os
from collections.abc import Callable, Sequence
from functools import cache
from queue import SimpleQueue
from threading import Thread

__all__ = ["run_together", "usable_cores"]

Job = Callable[[], object]
Task = tuple[Job, "SimpleQueue[BaseException | None]"]


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
        Thread(target=_serve, args=(tasks,), name=f"labelproof-{i}", daemon=True).start()
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
