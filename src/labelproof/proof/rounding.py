"""Products of rows and points in floating point, each with a rigorous bound on its rounding error.

Trusted code. The bounds hold for any order of summation, with or without fused multiply-add, and assume that numpy's
BLAS sums ordinary products (no Strassen-like scheme). They are rounded up by factors of 1.01, far more than the
rounding in their own evaluation.
"""

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from labelproof.proof.regions import OutputLayer

__all__ = [
    "TINY",
    "UNIT",
    "FloatRows",
    "Logits",
    "Point",
    "Witness",
    "bounded_logits",
    "float_rows",
    "relative_error",
    "row_exponents",
    "scaled_point",
    "times_power_of_two",
]

Floats = npt.NDArray[np.float64]
Indices = npt.NDArray[np.int64]
Witness = Floats | tuple[Fraction, ...]
UNIT = 2.0**-53  # rounding to nearest changes a number by at most this share of it
COARSE = 1e-9  # share of the products at which a bound by norms is not good enough
WIDE = 2048  # columns from which most of a witness may be 0
TINY = 2.0**-1073  # more than what underflow can change one product


def relative_error(terms: int) -> float:
    """Return a bound on the rounding error of a sum of products, as a share of the sum of their absolute values.

    It has room for eight operations besides, such as the rounding of the factors and of a square root.
    """
    return 1.01 * (terms + 8) * UNIT


@dataclass(frozen=True, eq=False)
class FloatRows:
    """Label rows (w, offset, offset_error) scaled by powers of two, ready for products with bounded error.

    ``rows`` has norms ≤ ``norms`` ≤ 1. Under the sigmoid rule each row has its own scale, since only signs matter;
    under the others all rows share the scale ``2**exponent``. Rows in ``inexact`` lost bits by underflow.
    """

    rows: Floats  # (n_labels, d) or (n_labels, d + 2)
    norms: Floats  # (n_labels,)
    inexact: Indices
    exponent: int


def float_rows(layer: OutputLayer) -> FloatRows:
    """Scale the label rows of a layer for `bounded_logits`."""
    rows = layer.weight
    if layer.offset is not None and layer.offset_error is not None:
        rows = np.column_stack([rows, layer.offset, layer.offset_error])
    exponents = row_exponents(rows)
    if layer.rule != "sigmoid":
        exponents[:] = exponents.max()
    scaled = times_power_of_two(rows, -exponents[:, None])
    inexact = np.flatnonzero((times_power_of_two(scaled, exponents[:, None]) != rows).any(axis=1))
    if rows.shape[1] > WIDE:
        scaled = np.asfortranarray(scaled)  # few columns of it are read at a time
    norms = np.linalg.norm(scaled, axis=1) * (1 + relative_error(rows.shape[1])) + rows.shape[1] * 2.0**-500
    return FloatRows(scaled, norms, inexact, int(exponents.max()))


def times_power_of_two(numbers: Floats, exponents: npt.NDArray[np.int64]) -> Floats:
    """Return numbers · 2**exponents, rounded only where the result is subnormal; faster than `numpy.ldexp`."""
    if exponents.size and np.abs(exponents).max() < 1000:
        return numbers * np.ldexp(1.0, exponents)
    return np.ldexp(numbers, exponents)


def row_exponents(rows: Floats) -> npt.NDArray[np.int64]:
    """Return e for each row such that the row times 2**-e has a norm of at most 1."""
    largest = np.frexp(np.abs(rows).max(axis=1))[1].astype(np.int64)  # entries < 2**largest
    spread = int(np.ceil(np.log2(rows.shape[1]) / 2)) + 1  # norm ≤ largest entry · √width
    return largest + spread


@dataclass(frozen=True, eq=False)
class Point:
    """The vector v = (x, 1, 1), or x without an offset, times 2**-exponent, each entry within a unit."""

    v: Floats
    exponent: int
    within_a_unit: bool


def scaled_point(layer: OutputLayer, x: Witness) -> Point:
    """Scale a witness for `bounded_logits`."""
    largest = max((abs(c) for c in x), default=0) if isinstance(x, tuple) else float(np.abs(x).max())
    exponent = _binary_exponent(largest if layer.offset is None else max(largest, 1))
    if isinstance(x, tuple):
        v = np.array([float(c / Fraction(2) ** exponent) for c in x])
        within_a_unit = True  # or within TINY, where it underflows
    else:
        v = np.ldexp(x, -exponent)
        within_a_unit = bool((np.ldexp(v, exponent) == x).all())
    if layer.offset is not None:
        v = np.append(v, [np.ldexp(1.0, -exponent)] * 2)
        within_a_unit = within_a_unit and exponent < 1000
    return Point(v, exponent, within_a_unit)


def _binary_exponent(number: Fraction | float) -> int:
    """Return e with number ≤ 2**e, close to the least."""
    p, q = number.as_integer_ratio()
    return p.bit_length() - q.bit_length() + 1 if p else 0


@dataclass(frozen=True, eq=False)
class Logits:
    """The logits times 2**-exponent (sigmoid: times a power of two for each label), each off by at most its slack."""

    z: Floats
    slack: Floats
    exponent: int


def bounded_logits(floats: FloatRows, point: Point, z: Floats) -> Logits:
    """Attach to the product z of the rows with a point a bound on its error.

    It is a share of ‖row‖‖v‖, or of |row|·|v| where that is worth another product.
    """
    width = len(point.v)
    slack = relative_error(width) * float(np.linalg.norm(point.v)) * floats.norms + width * TINY
    some = slice(None, None, 1 + len(z) // 256)  # enough of them to tell
    if _middle(slack[some]) > COARSE * _middle(np.abs(z[some])):  # one entry of v is so large that others vanish
        slack = np.minimum(slack, relative_error(width) * (np.abs(floats.rows) @ np.abs(point.v)) + width * TINY)
    if not point.within_a_unit:
        slack[:] = np.inf
    slack[floats.inexact] = np.inf
    return Logits(z, slack, point.exponent + floats.exponent)


def _middle(values: Floats) -> float:
    """Return about the median, in a tenth of the time of `numpy.median`."""
    return float(np.partition(values, len(values) // 2)[len(values) // 2])
