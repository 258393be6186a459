"""How numbers and names are written, wherever people read them."""

import math
from collections.abc import Sequence

__all__ = ["at_least", "separator"]


def at_least(value: float) -> str:
    """Write a proven lower bound with two decimals, rounded down: never more than what is proven.

    Examples
    --------
    >>> at_least(1.9999997), at_least(1.16), at_least(0.005)
    ('1.99', '1.16', '0.00')
    """
    near = f"{value:.2f}"
    return near if float(near) <= value else f"{math.floor(value * 100) / 100:.2f}"


def separator(names: Sequence[str]) -> str:
    """Return what stands between names: a comma, or a semicolon where names have commas themselves.

    Examples
    --------
    >>> names = ["Infant, Newborn", "Heart"]
    >>> separator(names).join(names)
    'Infant, Newborn; Heart'
    """
    return "; " if any("," in name for name in names) else ", "
