"""Threads of our own: how many there are, work spread over them, and what BLAS may use meanwhile."""

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager
from functools import cache
from importlib import import_module
from queue import SimpleQueue
from threading import Thread
from typing import TypeVar

from threadpoolctl import ThreadpoolController

__all__ = ["in_threads", "one_blas_thread", "run_together", "usable_cores"]

T = TypeVar("T")
R = TypeVar("R")
Job = Callable[[], object]
Task = tuple[Job, "SimpleQueue[BaseException | None]"]


def usable_cores() -> int:
    """Return the number of cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def in_threads(work: Callable[[T], R], items: Iterable[T], n_jobs: int | None = None) -> Iterator[R]:
    """Yield work(item) for every item, in order, from n_jobs threads (default: the cores this process may use).

    They keep BLAS to one thread each.
    """
    with one_blas_thread(), ThreadPoolExecutor(n_jobs or usable_cores()) as pool:
        yield from pool.map(work, items)


def one_blas_thread() -> AbstractContextManager[object]:
    """Keep BLAS to one thread, since our own threads share the cores; also the BLAS that compiled code calls."""
    return _blas().limit(limits=1, user_api="blas")


@cache
def _blas() -> ThreadpoolController:
    import_module("scipy.linalg.cython_blas")  # the controller knows only libraries that are loaded
    return ThreadpoolController()


def run_together(jobs: Sequence[Job]) -> None:
    """Call the first job here and each other one in a thread that waits for it: for work of a millisecond or less.

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
