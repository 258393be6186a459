"""How numbers and names are written, wherever people read them."""

import math
from collections.abc import Sequence

__all__ = ["at_least", "percent", "plural", "separator", "some_of"]


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


def plural(count: int, noun: str) -> str:
    """Write a number of things.

    Examples
    --------
    >>> plural(1, "label set"), plural(2000, "label set")
    ('1 label set', '2,000 label sets')
    """
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def percent(part: int, whole: int) -> str:
    """Write a share; only all of it is 100 %, only nothing is 0 %, and of nothing there is none.

    Examples
    --------
    >>> percent(2, 3), percent(9999, 10000), percent(1, 10000), percent(5, 5), percent(0, 0)
    ('66.7 %', '>99.9 %', '<0.1 %', '100 %', '–')
    """
    if not whole:
        return "–"
    if part in (0, whole):
        return "100 %" if part else "0 %"
    rounded = f"{100 * part / whole:.1f}"
    return {"100.0": ">99.9 %", "0.0": "<0.1 %"}.get(rounded, f"{rounded} %")


def some_of(names: Sequence[str], most: int) -> str:
    """Write the first of some names, and how many more there are.

    Examples
    --------
    >>> some_of(["cat", "dog", "bird"], 2), some_of(["cat", "dog"], 2), some_of([], 2)
    ('cat, dog and 1 more', 'cat, dog', '')
    """
    shown = names[:most]
    more = f" and {len(names) - most:,} more" if len(names) > most else ""
    return separator(shown).join(shown) + more
