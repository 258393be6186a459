"""Deadlines of the search: values of `now` after which work that is still going on is given up."""

import math
import time

from labelproof.foundation.compilation import seconds_of_compilation

__all__ = ["OutOfTimeError", "deadline_after", "now", "out_of_time", "steps_before", "stop_after", "time_left"]

STEPS_A_SECOND = 1e8  # of the active-set method with one feature, about; with m features, 1/m² as many
SHARE_OF_A_SLICE = 0.1  # of the time that is left, for the steps between two looks at the clock


class OutOfTimeError(Exception):
    """The time limit of a label set has passed."""


def now() -> float:
    """Return the seconds since some moment, without those in which kernels were compiled."""
    return time.perf_counter() - seconds_of_compilation()


def deadline_after(seconds: float | None) -> float:
    """Return the moment that is so many seconds from now; None is for ever."""
    return math.inf if seconds is None else now() + seconds


def time_left(limit: float | None, start: float, n_sets: int) -> float | None:
    """Return what is left of the seconds for one label set after work on so many of them since ``start``."""
    return None if limit is None else max(limit - (now() - start) / n_sets, 0.0)


def out_of_time(limit: float | None) -> str:
    """Return the reason why a label set is undecided."""
    return f"no proof within the time limit of {limit} s"


def steps_before(deadline: float, m: int, *, most: int) -> int:
    """Return how many steps of the active-set method with m features to take before the next look at the clock."""
    return 1 + int(min(most, SHARE_OF_A_SLICE * max(deadline - now(), 0.0) * STEPS_A_SECOND / max(m, 1) ** 2))


def stop_after(deadline: float, *, cost: float = 0.0) -> None:
    """Raise OutOfTimeError if a deadline has passed, or will have when a step of this cost in seconds is done."""
    if now() + cost >= deadline:
        raise OutOfTimeError
