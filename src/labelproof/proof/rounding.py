"""Products of rows and points in floating point, each with a rigorous bound on its rounding error.

Trusted code. The bounds hold for any order of summation, with or without fused multiply-add, and assume that numpy's
BLAS sums ordinary products (no Strassen-like scheme). They are rounded up by factors of 1.01, far more than the
rounding in their own evaluation.
"""

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse

from labelproof.proof.regions import OutputLayer
from labelproof.proof.sparse_weights import largest_of_rows

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
    "scaled_points",
    "times_power_of_two",
]

Floats = npt.NDArray[np.float64]
Indices = npt.NDArray[np.int64]
Witness = Floats | tuple[Fraction, ...]
UNIT = 2.0**-53  # rounding to nearest changes a number by at most this share of it
COARSE = 1e-9  # share of the products at which a bound by norms is not good enough
WIDE = 2048  # columns from which most of a witness may be 0
NUMBERS_AT_ONCE = 2**15  # that are scaled together: they stay in the processor's cache
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

    rows: Floats  # (n_labels, d) or (n_labels, d + 2); of a sparse layer a scipy.sparse.csc_array
    norms: Floats  # (n_labels,)
    inexact: Indices
    exponent: int
    exponents: Indices  # (n_labels,): each row is the stored one over 2**exponents

    @cached_property
    def single(self) -> npt.NDArray[np.float32]:
        """The rows, rounded to single precision."""
        return self.rows.astype(np.float32)


def float_rows(layer: OutputLayer) -> FloatRows:
    """Scale the label rows of a layer for `bounded_logits`."""
    if layer.sparse is not None:
        return _sparse_rows(layer, layer.sparse.rows)
    offsets = _offsets(layer)
    width = layer.d + offsets.shape[1]
    exponents = _exponents(layer, np.maximum(layer.largest_weights, largest_of_rows(offsets)), width)
    table = np.empty((layer.n_labels, width), order="F" if width > WIDE else "C")  # few columns are read at a time
    norms, lost = np.empty(layer.n_labels), np.empty(layer.n_labels, np.bool_)
    step = max(16, NUMBERS_AT_ONCE // width)
    for start in range(0, layer.n_labels, step):
        part = slice(start, start + step)
        rows, powers = np.concatenate([layer.weight[part], offsets[part]], axis=1), exponents[part, None]
        scaled = times_power_of_two(rows, -powers)
        lost[part] = (times_power_of_two(scaled, powers) != rows).any(axis=1)
        norms[part], table[part] = np.linalg.norm(scaled, axis=1), scaled
    return FloatRows(table, _norms_above(norms, width), np.flatnonzero(lost), int(exponents.max()), exponents)


def _offsets(layer: OutputLayer) -> Floats:
    """Return the columns (offset, offset_error); none where there is no offset."""
    if layer.offset is None or layer.offset_error is None:
        return np.empty((layer.n_labels, 0))
    return np.column_stack([layer.offset, layer.offset_error])


def _exponents(layer: OutputLayer, largest: Floats, width: int) -> npt.NDArray[np.int64]:
    exponents = _norm_exponents(largest, width)
    if layer.rule != "sigmoid":
        exponents[:] = exponents.max()
    return exponents


def _sparse_rows(layer: OutputLayer, weight: scipy.sparse.csr_array) -> FloatRows:
    """Do what `float_rows` does with the numbers that are stored."""
    rows: Any = scipy.sparse.hstack([weight, scipy.sparse.csr_array(_offsets(layer))], format="csr")
    exponents = _exponents(layer, largest_of_rows(rows), rows.shape[1])
    of = np.repeat(np.arange(layer.n_labels), np.diff(rows.indptr))  # the row of each number
    scaled = times_power_of_two(rows.data, -exponents[of])
    inexact = np.unique(of[times_power_of_two(scaled, exponents[of]) != rows.data])
    norms = np.sqrt(np.bincount(of, scaled**2, layer.n_labels))
    table: Any = scipy.sparse.csr_array((scaled, rows.indices, rows.indptr), rows.shape).tocsc()
    return FloatRows(table, _norms_above(norms, rows.shape[1]), inexact, int(exponents.max()), exponents)


def _norms_above(norms: Floats, width: int) -> Floats:
    """Return upper bounds of norms that were computed in floats."""
    return norms * (1 + relative_error(width)) + width * 2.0**-500


def times_power_of_two(numbers: Floats, exponents: npt.NDArray[np.int64]) -> Floats:
    """Return numbers · 2**exponents, rounded only where the result is subnormal; faster than `numpy.ldexp`."""
    if exponents.size and np.abs(exponents).max() < 1000:
        return numbers * np.ldexp(1.0, exponents)
    return np.ldexp(numbers, exponents)


def row_exponents(rows: Floats) -> npt.NDArray[np.int64]:
    """Return e for each row such that the row times 2**-e has a norm of at most 1."""
    return _norm_exponents(largest_of_rows(rows), rows.shape[1])


def _norm_exponents(largest: Floats, width: int) -> npt.NDArray[np.int64]:
    """Return the same, given the largest absolute value of each row."""
    spread = int(np.ceil(np.log2(width) / 2)) + 1  # norm ≤ largest entry · √width
    return np.frexp(largest)[1].astype(np.int64) + spread  # entries < 2**frexp


@dataclass(frozen=True, eq=False)
class Point:
    """The vector v = (x, 1, 1), or x without an offset, times 2**-exponent, each entry within a unit."""

    v: Floats
    exponent: int
    within_a_unit: bool


def scaled_point(layer: OutputLayer, x: Witness) -> Point:
    """Scale a witness for `bounded_logits`."""
    largest = max((abs(c) for c in x), default=0) if isinstance(x, tuple) else float(max(x.max(), -x.min()))
    exponent = _binary_exponent(largest if layer.offset is None else max(largest, 1))
    v = np.empty(len(x) if layer.offset is None else len(x) + 2)  # one array: new memory takes longer than products
    within_a_unit = True
    if layer.offset is not None:
        v[len(x) :] = np.ldexp(1.0, -exponent)
        within_a_unit = exponent < 1000
    if isinstance(x, tuple):
        v[: len(x)] = [float(c / Fraction(2) ** exponent) for c in x]  # or within TINY, where it underflows
    else:
        v[: len(x)] = times_power_of_two(x, np.array(-exponent))
        used = np.flatnonzero(x != 0)
        back = times_power_of_two(v[used], np.array(exponent))
        within_a_unit = within_a_unit and bool((back == x[used]).all())
    return Point(v, exponent, within_a_unit)


def scaled_points(layer: OutputLayer, points: Floats) -> tuple[Floats, npt.NDArray[np.bool_]]:
    """Scale float witnesses (n, d) for a product with `float_rows`; say which are finite and exact; others become 0."""
    with np.errstate(all="ignore"):
        largest = np.abs(points).max(axis=1)
        exponents = np.frexp(largest if layer.offset is None else np.maximum(largest, 1.0))[1]
        v = np.ldexp(points, -exponents[:, None])
        is_exact = np.isfinite(largest) & (np.ldexp(v, exponents[:, None]) == points).all(axis=1)
    v[~is_exact] = 0.0
    if layer.offset is None:
        return v, is_exact
    return np.concatenate([v, np.ldexp(np.ones((len(v), 2)), -exponents[:, None])], axis=1), is_exact


def _binary_exponent(number: Fraction | float) -> int:
    """Return e with number ≤ 2**e, close to the least."""
    p, q = number.as_integer_ratio()
    return p.bit_length() - q.bit_length() + 1 if p else 0


def _middle(numbers: Floats) -> float:
    """Return the median, or the number after it."""
    return float(np.sort(numbers)[len(numbers) // 2])


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
        slack = np.minimum(slack, relative_error(width) * (abs(floats.rows) @ np.abs(point.v)) + width * TINY)
    if not point.within_a_unit:
        slack[:] = np.inf
    slack[floats.inexact] = np.inf
    return Logits(z, slack, point.exponent + floats.exponent)
