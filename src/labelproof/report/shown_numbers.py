"""Measured numbers and proven bounds as people read them."""

import math

__all__ = ["SUPERSCRIPTS", "number", "times"]

SUPERSCRIPTS = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


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
