"""Share the items of a compiled loop between threads."""

from collections.abc import Callable
from functools import partial
from typing import Any

from labelproof.foundation.threads import run_together
from labelproof.parallel.openmp import addresses
from labelproof.parallel.team_loops import ALONE, TEAMS

__all__ = ["share"]

# Numbers to compute from which another thread pays: OpenMP's are already running, ours have to be woken up.
FOR_A_TEAM, FOR_A_SLEEPER = 1 << 15, 1 << 18


def share(kernel: Callable[..., None], *args: Any, n_items: int, n_numbers: int, n_threads: int) -> None:
    """Call ``kernel(*args, team, start, stop)`` for ranges that cover all items, in several threads if that pays.

    Parameters
    ----------
    kernel
        Compiled code that lets go of the interpreter's lock; see `team_loops`.
    n_items
        Rows, or columns: whatever the kernel counts from start to stop.
    n_numbers
        How many numbers the kernel reads for all of them.
    n_threads
        Threads to use. An OpenMP team always gets all of them, though some may find no share: libgomp ends and starts
        threads whenever the size of a team changes.
    """
    if n_threads <= 1 or n_numbers < 2 * FOR_A_TEAM:
        kernel(*args, ALONE, 0, n_items)
        return
    places = addresses() if TEAMS else ()
    n_shares = min(n_threads, n_items, n_numbers // (FOR_A_TEAM if places else FOR_A_SLEEPER))
    if n_shares <= 1:
        kernel(*args, ALONE, 0, n_items)
    elif places:
        kernel(*args, (*places, n_threads, n_shares), 0, n_items)
    else:
        ends = [n_items * i // n_shares for i in range(n_shares + 1)]
        run_together([partial(kernel, *args, ALONE, ends[i], ends[i + 1]) for i in range(n_shares)])
