# mypy: disallow-untyped-decorators=False, disallow-untyped-defs=False, disallow-untyped-calls=False
"""Compiled exp, log and sigmoid of float32, and what the loops of `kernels` and `count_kernels` share beside them.

exp and log are our own: the compiler can work on eight of them at once. Both are right to about 2e-7 of their value.
"""

from typing import Any

import numpy as np

from labelproof.foundation.compilation import compiled, compiled_part

__all__ = [
    "ONE",
    "TILE",
    "ZERO",
    "artanh",
    "clear_row",
    "exp_of_negative",
    "fill_unknown",
    "kernel",
    "log_of_normal",
    "loop",
    "sigmoid_and_slope",
    "target_row",
    "total",
]

_F = np.float32
ONE, ZERO = _F(1), _F(0)
TILE = 512  # logits of a row that are worked on at once: all that belongs to them stays near the processor
_LOG2_E = _F(1.4426950408889634)
_LN2_HIGH, _LN2_LOW = _F(0.693359375), _F(-2.12194440e-4)  # their sum is ln 2; the first has few digits
_SMALLEST = _F(-87)  # exp of it is still a normal number
_VANISHING = _F(-104)  # exp of it rounds to 0
_MANTISSA, _HALF_BITS = np.int32(0x007FFFFF), np.int32(0x3F000000)
_OPTIONS: dict[str, Any] = {"error_model": "numpy", "fastmath": {"contract"}}
kernel, loop = compiled(**_OPTIONS), compiled_part(**_OPTIONS)


@compiled_part(inline="always")
def exp_of_negative(x):  # pragma: no cover - compiled
    """Return exp(x) for x ≤ 0: 0 below -104, and exp(-87) for all between the two; NaN stays NaN."""
    vanishes = x < _VANISHING
    x = _SMALLEST if x < _SMALLEST else x
    n = np.floor(x * _LOG2_E + _F(0.5))
    r = x - n * _LN2_HIGH
    r = r - n * _LN2_LOW
    p = _F(1.9875691e-4)
    p = p * r + _F(1.3981999e-3)
    p = p * r + _F(8.3334519e-3)
    p = p * r + _F(4.1665796e-2)
    p = p * r + _F(1.6666665e-1)
    p = p * r + _F(0.5)
    p = p * r * r + r + ONE
    return ZERO if vanishes else p * np.int32(np.int32(n + _F(127)) << np.int32(23)).view(np.float32)


@compiled_part(inline="always")
def artanh(s):  # pragma: no cover - compiled
    """Return artanh(s) for |s| ≤ ⅓."""
    a = s * s
    p = _F(0.14012245)
    p = p * a + _F(0.13999567)
    p = p * a + _F(0.2001085)
    p = p * a + _F(0.33333207)
    return s + s * a * p


@compiled_part(inline="always")
def log_of_normal(x):  # pragma: no cover - compiled
    """Return log(x) for a normal x > 0."""
    bits = _F(x).view(np.int32)
    m = np.int32((bits & _MANTISSA) | _HALF_BITS).view(np.float32)  # from ½ to 1
    n = _F(np.int32(bits >> np.int32(23)) - np.int32(126))
    small = m < _F(0.70710678)
    n = n - ONE if small else n
    m = m + m if small else m
    return n * _LN2_HIGH + (n * _LN2_LOW + _F(2) * artanh((m - ONE) / (m + ONE)))


@compiled_part(inline="always")
def sigmoid_and_slope(z):  # pragma: no cover - compiled
    """Return the sigmoid and its derivative, which keeps its digits at both ends."""
    e = exp_of_negative(-abs(z))
    t = ONE / (ONE + e)
    return e * t if z < ZERO else t, e * t * t


@loop
def fill_unknown(values, known, filler, out):  # pragma: no cover - compiled
    """Write the values that are known, and the filler in place of the others, whatever they are."""
    for j in range(values.shape[0]):
        out[j] = values[j] if known[j] != 0 else filler


@compiled_part(fastmath={"reassoc", "contract"})
def total(values):  # pragma: no cover - compiled
    """Return the sum of a tile, in any order."""
    result = ZERO
    for j in range(values.shape[0]):
        result += values[j]
    return result


@compiled_part(inline="always")
def target_row(i, Y, ends, columns, row):  # pragma: no cover - compiled
    """Return row i of dense targets, or write the ones of sparse targets into a row of zeros and return that."""
    if Y.shape[0] > 0:
        return Y[i]
    for p in range(ends[i], ends[i + 1]):
        row[columns[p]] = ONE
    return row


@compiled_part(inline="always")
def clear_row(i, Y, ends, columns, row):  # pragma: no cover - compiled
    """Take back what `target_row` wrote."""
    if Y.shape[0] == 0:
        for p in range(ends[i], ends[i + 1]):
            row[columns[p]] = ZERO
