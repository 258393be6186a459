"""Deadlines of the search: values of `now` after which work that is still going on is given up."""

import math
import time

__all__ = ["OutOfTimeError", "deadline_after", "now", "stop_after"]


class OutOfTimeError(Exception):
    """The time limit of a label set has passed."""


def now() -> float:
    """Return the seconds since some moment."""
    return time.perf_counter()


def deadline_after(seconds: float | None) -> float:
    """Return the moment that is so many seconds from now; None is for ever."""
    return math.inf if seconds is None else now() + seconds


def stop_after(deadline: float, *, cost: float = 0.0) -> None:
    """Raise OutOfTimeError if a deadline has passed, or will have when a step of this cost in seconds is done."""
    if now() + cost > deadline:
        raise OutOfTimeError
