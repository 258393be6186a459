"""Run a compiled kernel on disjoint ranges of rows in several threads.

Threads are started for each call and end with it, so that a fork, or a call from another thread, finds no pool in an
unknown state. Starting one takes some tens of microseconds, so small matrices stay in the calling thread.
"""

import os
from collections.abc import Callable
from concurrent.futures import Future
from threading import Thread
from typing import Any

__all__ = ["over_rows", "usable_cores"]

WORTH_A_THREAD = 1 << 18  # numbers to read


def over_rows(kernel: Callable[..., None], *args: Any, n_rows: int, n_columns: int, n_threads: int) -> None:
    """Call ``kernel(*args, start, stop)`` for ranges that cover all rows, each in its own thread.

    An error in any thread is raised here after all have ended.
    """
    n = max(1, min(n_threads, n_rows, n_rows * n_columns // WORTH_A_THREAD))
    ends = [n_rows * i // n for i in range(n + 1)]
    others = [_start(kernel, *args, ends[i], ends[i + 1]) for i in range(1, n)]
    kernel(*args, ends[0], ends[1])
    for other in others:
        other.result()


def usable_cores() -> int:
    """Return the number of cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _start(kernel: Callable[..., None], *args: Any) -> Future[None]:
    future: Future[None] = Future()

    def run() -> None:
        try:
            kernel(*args)
            future.set_result(None)
        except BaseException as error:
            future.set_exception(error)

    Thread(target=run, daemon=True).start()
    return future
