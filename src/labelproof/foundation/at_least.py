"""Proven lower bounds in words: never more than what is proven."""

import math

__all__ = ["at_least"]


def at_least(value: float) -> str:
    """Write a proven lower bound with two decimals, rounded down.

    Examples
    --------
    >>> at_least(1.9999997), at_least(1.16), at_least(0.005)
    ('1.99', '1.16', '0.00')
    """
    near = f"{value:.2f}"
    return near if float(near) <= value else f"{math.floor(value * 100) / 100:.2f}"
