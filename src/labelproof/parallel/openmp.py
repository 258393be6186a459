"""The OpenMP of this process, which is torch's wherever torch is built with it.

Its threads stay awake for a while after each operation of torch, so handing work to them takes two microseconds, and
none of our own threads fights with them for a core.
"""

import os
import sys
from ctypes import CDLL, c_void_p, cast

__all__ = ["addresses"]

_NAMES = ("GOMP_parallel", "omp_get_thread_num", "omp_get_num_threads")
_HOME = os.getpid()
_found: list[int] = []


def addresses() -> tuple[int, ...]:
    """Return where GOMP_parallel, omp_get_thread_num and omp_get_num_threads are, or nothing where they cannot be used.

    They are looked up among the symbols that are visible to all of the process, as torch finds them itself. A forked
    process gets nothing: its OpenMP would wait for threads that stayed behind. So would torch's own operations on more
    than a few thousand numbers, which is why torch has one thread in processes that are forked from now on.
    """
    if os.getpid() != _HOME:
        return ()
    if not _found:  # looked up again until torch is loaded
        _found.extend(_look_up())
        if _found and hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=_leave_torch_one_thread)
    return tuple(_found)


def _leave_torch_one_thread() -> None:
    torch = sys.modules.get("torch")
    if torch is not None:
        torch.set_num_threads(1)


def _look_up() -> tuple[int, ...]:
    try:
        process = CDLL(None)
        return tuple(cast(getattr(process, name), c_void_p).value or 0 for name in _NAMES)
    except (AttributeError, OSError, TypeError):  # no such symbol, or a system without a table of all
        return ()
