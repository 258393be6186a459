"""Run a compiled kernel on disjoint ranges of rows in several threads."""

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from typing import Any

__all__ = ["over_rows", "shared_pool", "usable_cores"]

WORTH_A_THREAD = 1 << 16  # numbers to read: some 60 µs of work, against 20 to hand it over


def over_rows(kernel: Callable[..., None], *args: Any, n_rows: int, n_columns: int, n_threads: int) -> None:
    """Call ``kernel(*args, start, stop)`` for ranges that cover all rows, each in its own thread.

    An error in any thread is raised here after all have ended.
    """
    n = max(1, min(n_threads, n_rows, n_rows * n_columns // WORTH_A_THREAD))
    ends = [n_rows * i // n for i in range(n + 1)]
    others = [shared_pool().submit(kernel, *args, ends[i], ends[i + 1]) for i in range(1, n)]
    try:
        kernel(*args, ends[0], ends[1])
    finally:
        for other in others:
            other.result()


def shared_pool() -> ThreadPoolExecutor:
    """Return the threads that all kernels of this process share."""
    return _pool(os.getpid())


@cache
def _pool(_process: int) -> ThreadPoolExecutor:
    """Return the threads of this process: a fork has none of its parent's."""
    return ThreadPoolExecutor(usable_cores(), thread_name_prefix="labelproof-rows")


def usable_cores() -> int:
    """Return the number of cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
