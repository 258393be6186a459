"""Checks of arguments that several modules make."""

import operator
from collections.abc import Iterable
from fractions import Fraction
from typing import Any, SupportsIndex

__all__ = ["check_choice", "check_share", "is_share_reached", "whole_number"]


def whole_number(name: str, value: SupportsIndex, *, minimum: int) -> int:
    """Return an argument as an integer; bool and float are none.

    Examples
    --------
    >>> whole_number("k", 2.5, minimum=0)
    Traceback (most recent call last):
    ValueError: k must be an integer of at least 0, got 2.5
    """
    try:
        number = minimum - 1 if isinstance(value, bool) else operator.index(value)
    except TypeError:
        number = minimum - 1
    if number < minimum:
        raise ValueError(f"{name} must be an integer of at least {minimum}, got {value!r}")
    return number


def check_choice(name: str, value: Any, choices: Iterable[str | None]) -> None:
    """Refuse a value that is none of the choices.

    Examples
    --------
    >>> check_choice("average", "mean", ("macro", "micro"))
    Traceback (most recent call last):
    ValueError: average must be 'macro' or 'micro', got 'mean'
    """
    known = list(choices)
    if not isinstance(value, str | None) or value not in known:
        words = [repr(choice) for choice in known]
        expected = " or ".join(words) if len(words) <= 2 else f"one of {', '.join(words)}"
        raise ValueError(f"{name} must be {expected}, got {value!r}")


def check_share(name: str, value: float) -> None:
    """Refuse what is no share, from 0 to 1.

    Examples
    --------
    >>> check_share("fail_under", 99)
    Traceback (most recent call last):
    ValueError: fail_under must be a share from 0 to 1, got 99
    """
    if not 0 <= value <= 1:
        raise ValueError(f"{name} must be a share from 0 to 1, got {value}")


def is_share_reached(part: int, whole: int, least: float) -> bool:
    """Return whether ``part / whole`` is at least a share, taken as the decimal number that a person wrote.

    Examples
    --------
    >>> is_share_reached(7, 100, 0.07), 7 >= 0.07 * 100
    (True, False)
    """
    return part >= Fraction(str(float(least))) * whole
