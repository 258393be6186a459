"""Counts, shares and numbers as people read them."""

import math

__all__ = ["number", "plural", "share", "times"]

SUPERSCRIPTS = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


def plural(count: int, noun: str) -> str:
    """Write a number of things.

    Examples
    --------
    >>> plural(1, "label set"), plural(2000, "label set")
    ('1 label set', '2,000 label sets')
    """
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def share(part: int, whole: int) -> str:
    """Write a share; only all of it is 100 %, and only nothing is 0 %.

    Examples
    --------
    >>> share(2, 3), share(9999, 10000), share(1, 10000), share(5, 5), share(0, 0)
    ('66.7 %', '> 99.9 %', '< 0.1 %', '100 %', '–')
    """
    if not whole:
        return "–"
    if part in (0, whole):
        return "100 %" if part else "0 %"
    rounded = f"{100 * part / whole:.1f}"
    return {"100.0": "> 99.9 %", "0.0": "< 0.1 %"}.get(rounded, f"{rounded} %")


def number(value: float | None) -> str:
    """Write a measured number with three digits that count.

    Examples
    --------
    >>> number(0.012345), number(1234.5), number(3.2e-9), number(0.5), number(None)
    ('0.0123', '1,230', '3.20·10⁻⁹', '0.500', '–')
    """
    if value is None or not math.isfinite(value):
        return "–"
    if value == 0:
        return "0"
    mantissa, exponent = f"{value:.2e}".split("e")
    power = int(exponent)
    if not -4 <= power < 6:
        return f"{mantissa}·10{str(power).translate(SUPERSCRIPTS)}"
    return f"{float(f'{value:.2e}'):,.{max(0, 2 - power)}f}"


def times(value: float | None) -> str:
    """Write a proven stretch with three digits that count, rounded down; None is infinite.

    Examples
    --------
    >>> times(1.6399), times(12.345), times(0.9056), times(0.0), times(None)
    ('1.63', '12.3', '0.905', '0', '∞')
    """
    if value is None:
        return "∞"
    if value <= 0:
        return "0"
    digits = min(9, max(0, 2 - math.floor(math.log10(value))))
    return f"{math.floor(value * 10**digits + 1e-9) / 10**digits:,.{digits}f}"
