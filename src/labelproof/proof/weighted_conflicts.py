"""Does a conflict that brings its multipliers prove that its label set can never be predicted within the domain?

Trusted code: the answer rests on the weights, the rule, the domain and the conflict alone. A *weighted conflict* names
labels (and for sparsemax one of the rows of the sum) with a multiplier λ_r > 0 each. If some x of the domain gave the
label set, then the rows of `regions`, added up with these multipliers, would read

    0 ≤ Σ λ_r row_r·(x, 1, τ) = p·x + β − τ Σ κ_i,    p = Σ κ_i w_i,  β = Σ κ_i offset_i (+ what the sum adds),

and 0 < with a strict row; κ_i = ±λ_i, + for active labels, and t·λ more or less for each active one by the sum. It
contradicts that if Σ κ_i = 0 (where there is a τ) and β + h(p) < 0, or ≤ 0 with a strict row, where h(p) ≥ p·x for
every x of the domain. Features add up to h as follows:

    bounds   Σ_j max(low_j p_j, high_j p_j), infinite if that is
    ball     p'·c + R‖p'‖ with p'_j = 0 where p_j < 0 and low_j ≥ 0 (there p_j x_j ≤ 0), else p'_j = p_j

The float bound below decides most; the rest is computed in integers, and square roots are rounded up.
"""

from collections.abc import Sequence
from fractions import Fraction
from math import isqrt
from operator import mul
from typing import Any

import numpy as np
import numpy.typing as npt

from labelproof.proof.domains import Ball
from labelproof.proof.regions import OutputLayer, exact_offset, integers
from labelproof.proof.rounding import TINY, relative_error

__all__ = ["weighted_conflict_fault"]

Floats = npt.NDArray[np.float64]
Indices = npt.NDArray[np.int64]


def weighted_conflict_fault(
    layer: OutputLayer, active: Indices, rows: Indices, multipliers: Sequence[Fraction]
) -> str | None:
    """Return None if the rows with these multipliers prove that no x of the domain gives the label set."""
    fault = _form_fault(layer, rows, multipliers)
    if fault is not None:
        return fault
    shares, constant = _combination(layer, active, rows, multipliers)
    if layer.has_threshold and sum(shares.values()) != 0:
        return "expected multipliers with which the threshold cancels, got others"
    if _is_surely_negative(layer, shares, constant):
        return None
    pulls, denominator = _exact_pulls(layer, shares, np.arange(layer.d))
    support = _support(layer, pulls)
    if support is None:
        return "expected multipliers whose sum is bounded above on the domain, got others"
    most = constant * denominator + support
    if most < 0 or (most == 0 and any(layer.is_strict(row, active) for row in rows.tolist())):
        return None
    return "expected multipliers whose sum is negative on the domain, got others"


def _form_fault(layer: OutputLayer, rows: Indices, multipliers: Sequence[Any]) -> str | None:
    sums = {layer.n_labels + 1, layer.n_labels + 2} if layer.rule == "sparsemax" else set()
    if not len(rows) or (np.diff(rows) <= 0).any() or not set(rows.tolist()) <= {*range(layer.n_labels), *sums}:
        return f"expected a conflict of different labels or sums in ascending order, got {rows.tolist()}"
    if len(multipliers) != len(rows) or not all(isinstance(m, Fraction) and m > 0 for m in multipliers):
        return f"expected {len(rows)} positive fractions as multipliers, got others"
    return None


def _combination(
    layer: OutputLayer, active: Indices, rows: Indices, multipliers: Sequence[Fraction]
) -> tuple[dict[int, Fraction], Fraction]:
    """Return κ_i of each label with a part in the sum of the rows, and β."""
    wanted = set(active.tolist())
    shares, constant = dict.fromkeys(wanted, Fraction(0)), Fraction(0)
    for row, m in zip(rows.tolist(), multipliers, strict=True):
        if row < layer.n_labels:
            shares[row] = m if row in wanted else -m  # labels come before the sums
            continue
        sign = 1 if row == layer.n_labels + 2 else -1  # sum_ge, sum_le
        constant -= sign * m
        for i in wanted:
            shares[i] += sign * m * Fraction(layer.temperature)
    shares = {i: share for i, share in shares.items() if share}
    return shares, constant + sum(share * exact_offset(layer, i) for i, share in shares.items())


def _exact_pulls(layer: OutputLayer, shares: dict[int, Fraction], columns: Indices) -> tuple[list[int], int]:
    """Return p in some columns, as integers over a positive denominator."""
    rows = [integers(layer.weight[i, columns].tolist()) for i in shares]
    factors, denominator = integers([share / q for share, (_, q) in zip(shares.values(), rows, strict=True)])
    table = zip(*(numerators for numerators, _ in rows), strict=True)
    return [sum(map(mul, factors, column)) for column in table] or [0] * len(columns), denominator


def _support(layer: OutputLayer, pulls: list[int]) -> Fraction | None:
    """Return h(p), or a number just above it; None where it is infinite."""
    low = np.full(layer.d, -np.inf) if layer.low is None else layer.low
    high = np.full(layer.d, np.inf) if layer.high is None else layer.high
    total, left = Fraction(0), np.full(layer.d, True)
    for ball in layer.balls:
        total += _ball_support(ball, pulls[ball.start : ball.stop], low[ball.start : ball.stop])
        left[ball.start : ball.stop] = False
    for j in np.flatnonzero(left).tolist():
        if pulls[j]:
            bound = float(high[j] if pulls[j] > 0 else low[j])
            if not np.isfinite(bound):
                return None
            total += pulls[j] * Fraction(bound)
    return total


def _ball_support(ball: Ball, pulls: list[int], low: Floats) -> Fraction:
    kept = [0 if p < 0 and floor >= 0 else p for p, floor in zip(pulls, low.tolist(), strict=True)]
    shift = sum((p * Fraction(c) for p, c in zip(kept, ball.centre.tolist(), strict=True) if p and c), Fraction(0))
    return shift + Fraction(ball.radius) * _root_above(sum(map(mul, kept, kept)))


def _root_above(square: int) -> Fraction:
    """Return the root of an integer, exactly if that is one, else a number just above it."""
    root = isqrt(square << 256)
    return Fraction(root + (root * root != square << 256), 1 << 128)


def _is_surely_negative(layer: OutputLayer, shares: dict[int, Fraction], constant: Fraction) -> bool:
    """Return whether floats with error bounds prove β + h(p) < 0."""
    if not shares:
        return False
    largest = max(abs(share) for share in shares.values())
    unit = Fraction(2) ** (largest.numerator.bit_length() - largest.denominator.bit_length())
    k = np.array([float(share / unit) for share in shares.values()])
    weight = layer.weight[list(shares)]
    beta = constant / unit
    if not (k.all() and _is_usual(k, 400) and _is_usual(weight, 400) and abs(beta) < 2**400):
        return False  # or a share is so small that it was rounded to 0
    pulls = k @ weight
    slack = relative_error(len(k)) * (np.abs(k) @ np.abs(weight))
    terms = [np.array([float(beta)])]
    low = np.full(layer.d, -np.inf) if layer.low is None else layer.low
    high = np.full(layer.d, np.inf) if layer.high is None else layer.high
    left = np.full(layer.d, True)
    for ball in layer.balls:
        part = slice(ball.start, ball.stop)
        if not _is_usual(np.append(ball.centre, ball.radius), 100):
            return False
        terms.append(_ball_terms(ball, pulls[part] - slack[part], pulls[part] + slack[part], low[part] >= 0))
        left[part] = False
    found = _bound_terms(layer, shares, (pulls - slack, pulls + slack), (low, high), np.flatnonzero(left))
    if found is None:
        return False
    flat = np.concatenate([*terms, found])
    return bool(flat.sum() + 1.01 * relative_error(len(flat)) * np.abs(flat).sum() + len(flat) * TINY < 0)


def _is_usual(numbers: Floats, exponent: int) -> bool:
    """Return whether all numbers but 0 are so far from 2**±1074 that products and squares stay within range."""
    sizes = np.abs(numbers[numbers != 0])
    return bool((sizes > 2.0**-exponent).all() and (sizes < 2.0**exponent).all())


def _ball_terms(ball: Ball, least: Floats, most: Floats, is_signed: npt.NDArray[np.bool_]) -> Floats:
    """Return numbers whose sum is at least p'·c + R‖p'‖ for every p between two vectors, but for rounding."""
    least, most = (np.where(is_signed, np.maximum(end, 0.0), end) for end in (least, most))
    sizes = np.maximum(np.abs(least), np.abs(most))
    norm = np.linalg.norm(sizes) * (1 + relative_error(len(sizes))) + len(sizes) * 2.0**-500
    return np.append(np.maximum(ball.centre * least, ball.centre * most), ball.radius * norm)


def _bound_terms(
    layer: OutputLayer,
    shares: dict[int, Fraction],
    pulls: tuple[Floats, Floats],
    bounds: tuple[Floats, Floats],
    columns: Indices,
) -> Floats | None:
    """Return numbers whose sum is at least Σ max(low_j p_j, high_j p_j) over some columns; None if that is not sure.

    Where a bound is infinite the sign of p_j must be certain, and is computed exactly if floats leave it open; then the
    other bound alone counts.
    """
    (least, most), (low, high) = ((ends[0][columns], ends[1][columns]) for ends in (pulls, bounds))
    opens = ((high == np.inf) & (most > 0)) | ((low == -np.inf) & (least < 0))
    exact, _ = _exact_pulls(layer, shares, columns[opens])
    ends = zip(exact, low[opens].tolist(), high[opens].tolist(), strict=True)
    if any((p > 0 and ceiling == np.inf) or (p < 0 and floor == -np.inf) for p, floor, ceiling in ends):
        return None
    low, high = np.where(low == -np.inf, high, low), np.where(high == np.inf, low, high)
    low, high = np.where(np.isfinite(low), low, 0.0), np.where(np.isfinite(high), high, 0.0)
    if not (_is_usual(low, 100) and _is_usual(high, 100)):
        return None
    return np.max([low * least, low * most, high * least, high * most], axis=0)
