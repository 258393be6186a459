"""Threads of our own: how many there are, work spread over them, and what BLAS may use meanwhile."""

import os
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import AbstractContextManager
from functools import cache
from importlib import import_module
from queue import SimpleQueue
from threading import RLock, Thread
from typing import Any, TypeVar

from threadpoolctl import ThreadpoolController

__all__ = ["as_threads_are_free", "in_threads", "one_blas_thread", "run_together", "usable_cores"]

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

    They keep BLAS to one thread each. A single thread is the caller's own.
    """
    if n_jobs == 1:
        with one_blas_thread():
            yield from map(work, items)
        return
    with one_blas_thread(), ThreadPoolExecutor(n_jobs or usable_cores()) as pool:
        yield from pool.map(work, items)


def as_threads_are_free(
    work: Callable[[T], R], items: Iterable[T], n_jobs: int | None = None, *, stop: Callable[[], object] = lambda: None
) -> Generator[R, None, None]:
    """Yield the same as `in_threads`, but take an item only when a thread is about to be free: few are in memory.

    Where the caller stops, no more is begun; ``stop`` may tell work that has begun to end early.
    """
    n_threads = n_jobs or usable_cores()
    waiting: deque[Future[R]] = deque()
    with one_blas_thread(), ThreadPoolExecutor(n_threads) as pool:
        try:
            for item in items:
                waiting.append(pool.submit(work, item))
                if len(waiting) > n_threads + 1:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()
        finally:
            stop()
            for future in waiting:
                future.cancel()


def one_blas_thread() -> AbstractContextManager[object]:
    """Keep BLAS to one thread, since our own threads share the cores; also the BLAS that compiled code calls.

    Those who ask for it at the same time may end in any order: the last one gives BLAS its threads back.
    """
    return _one_blas_thread(os.getpid())


class _OneBlasThread:
    def __init__(self) -> None:
        import_module("scipy.linalg.cython_blas")  # the controller knows only libraries that are loaded
        self._blas, self._users = ThreadpoolController(), 0
        self._limit: Any = None
        self._lock = RLock()  # a generator that nobody wants any more may end here, in whatever thread

    def __enter__(self) -> None:
        with self._lock:
            self._users += 1
            if self._limit is None:
                self._limit = self._blas.limit(limits=1, user_api="blas")

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self._users -= 1
            if not self._users and self._limit is not None:
                limit, self._limit = self._limit, None
                limit.restore_original_limits()


@cache
def _one_blas_thread(_process: int) -> _OneBlasThread:
    return _OneBlasThread()


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
