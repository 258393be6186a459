"""Does a witness prove that its label set can be predicted?

Trusted code: the answer rests on the weights, the rule and the witness alone. The logits of the witness are computed in
floating point with the error bounds of `rounding`, and exactly, in integers, for every label whose sign these leave
open.
"""

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from labelproof.proof.domains import Ball
from labelproof.proof.labels import LabelSets
from labelproof.proof.regions import OutputLayer, exact_offset, integers
from labelproof.proof.rounding import (
    TINY,
    UNIT,
    WIDE,
    FloatRows,
    Logits,
    Witness,
    bounded_logits,
    relative_error,
    scaled_point,
    scaled_points,
)

__all__ = ["witness_faults"]

Floats = npt.NDArray[np.float64]
Indices = npt.NDArray[np.int64]
LOGITS_AT_ONCE = 2**18
MOST_SINGLE = 2**24  # numbers of a layer that are worth a copy in single precision


def witness_faults(
    layer: OutputLayer, floats: FloatRows, sets: LabelSets, witnesses: Sequence[Witness]
) -> list[str | None]:
    """Return, for each label set, None if its witness proves it argmaxable, else what is wrong with it."""
    faults: list[str | None] = [None] * len(witnesses)
    left = np.flatnonzero(~_are_sure(layer, floats, sets, witnesses)).tolist()
    found = _faults(layer, floats, sets.take(left), [witnesses[i] for i in left])
    for i, fault in zip(left, found, strict=True):
        faults[i] = fault
    return faults


def _are_sure(
    layer: OutputLayer, floats: FloatRows, sets: LabelSets, witnesses: Sequence[Witness]
) -> npt.NDArray[np.bool_]:
    """Return which witnesses are proven by float logits that all exceed one bound on their errors, many at a time.

    Single precision, which takes half the time, is enough for most.
    """
    sure = np.zeros(len(witnesses), np.bool_)
    if layer.rule != "sigmoid" or layer.balls or layer.sparse is not None or layer.d > WIDE or len(floats.inexact):
        return sure
    if not all(isinstance(x, np.ndarray) and x.shape == (layer.d,) for x in witnesses):
        return sure
    step = 1 + LOGITS_AT_ONCE // layer.n_labels
    for start in range(0, len(witnesses), step):
        some = sets.slice(start, min(start + step, len(witnesses)))
        x = np.array(witnesses[start : start + step], np.float64)
        v, is_exact = scaled_points(layer, x)
        holds = np.zeros(len(x), np.bool_)
        if floats.rows.size <= MOST_SINGLE:
            holds = _hold_surely(floats.single, floats, v, some)
        left = np.flatnonzero(~holds)
        if len(left):
            holds[left] = _hold_surely(floats.rows, floats, v[left], some.take(left.tolist()))
        sure[start : start + step] = is_exact & _are_within(layer, x) & holds
    return sure


def _hold_surely(rows: npt.NDArray[Any], floats: FloatRows, v: Floats, sets: LabelSets) -> npt.NDArray[np.bool_]:
    """Return for which points all logits have the signs of their label set, computed in the precision of the rows.

    A logit is off by at most 1.01 (m + 8) u ‖row‖ ‖v‖ and what underflows (`bounded_logits`); here with the largest
    ‖row‖. Of single precision u is 2⁻²⁴, also of the rounding of rows and points, and a number below 2⁻¹²⁶ may be lost.
    """
    z = v.astype(rows.dtype) @ rows.T
    z[np.repeat(np.arange(len(sets)), np.diff(sets.indptr)), sets.indices] *= -1  # now all are to be negative
    units, tiny = (2.0**29, 2.0**-120) if rows.dtype == np.float32 else (1.0, TINY)
    m = v.shape[1]
    bound = units * relative_error(m) * np.linalg.norm(v, axis=1) * floats.norms.max() + m * tiny
    return np.asarray(z.max(axis=1) < -bound)


def _are_within(layer: OutputLayer, x: Floats) -> npt.NDArray[np.bool_]:
    """Return which inputs (n, d) are within the bounds of the features."""
    within = np.ones(len(x), np.bool_)
    if layer.low is not None:
        within &= (x >= layer.low).all(axis=1)
    if layer.high is not None:
        within &= (x <= layer.high).all(axis=1)
    return within


def _faults(layer: OutputLayer, floats: FloatRows, sets: LabelSets, witnesses: Sequence[Witness]) -> list[str | None]:
    """Do what `witness_faults` does, one by one."""
    faults = [_domain_fault(layer, x) for x in witnesses]
    sound = [i for i, fault in enumerate(faults) if fault is None]
    check = {"sigmoid": _sigmoid_fault, "topk": _topk_fault, "sparsemax": _sparsemax_fault}[layer.rule]
    for some in _together(layer, witnesses, sound):
        points = [scaled_point(layer, witnesses[i]) for i in some]
        logits = _products(floats.rows, [point.v for point in points])
        for i, point, z in zip(some, points, logits, strict=True):
            faults[i] = check(layer, sets[i], witnesses[i], bounded_logits(floats, point, z))
    return faults


def _together(layer: OutputLayer, witnesses: Sequence[Witness], which: list[int]) -> list[list[int]]:
    """Return which witnesses to scale together: all, but wide ones that are mostly 0 one by one, in the same memory."""
    if layer.d <= WIDE or not which:
        return [which] if which else []
    few = (isinstance(x, np.ndarray) and 8 * np.count_nonzero(x != 0) <= len(x) for x in (witnesses[i] for i in which))
    return [[i] for i in which] if all(few) else [which]


def _products(rows: Floats, points: list[Floats]) -> Floats:
    """Return the products of points and rows (n_points, n_rows); of one wide point that is mostly 0, by what is not."""
    if len(points) == 1 and len(points[0]) > WIDE:
        used = np.flatnonzero(points[0] != 0)  # of what is not 0: of floats it takes eight times as long
        if 8 * len(used) <= len(points[0]):
            return np.asarray(points[0][used] @ rows.T[used])[None]
    return np.asarray(np.array(points) @ rows.T)


def _domain_fault(layer: OutputLayer, x: Witness) -> str | None:
    if len(x) != layer.d:
        return f"expected a witness of {layer.d} features, got {len(x)}"
    values: npt.NDArray[Any] = np.array(x, dtype=object) if isinstance(x, tuple) else x
    if not isinstance(x, tuple) and not np.isfinite(x).all():
        return "expected a finite witness, got NaN or infinity"
    for bounds, sign, word in ((layer.low, 1, "≥"), (layer.high, -1, "≤")):
        if bounds is None:
            continue
        outside = np.flatnonzero(values < bounds if sign > 0 else values > bounds)
        if len(outside):
            j = int(outside[0])
            return f"feature {j}: expected a value {word} {bounds[j]}, got {_show(Fraction(values[j]))}"
    for ball in layer.balls:
        part = x[ball.start : ball.stop]
        if not _is_surely_within(part, ball) and _square_of_distance(part, ball.centre) > Fraction(ball.radius) ** 2:
            return f"features {ball.start} to {ball.stop - 1}: expected a point within the ball, got one outside"
    return None


def _is_surely_within(x: Witness, ball: Ball) -> bool:
    """Return whether floats with an error bound show that a point is inside of a ball."""
    if isinstance(x, tuple):
        return False
    with np.errstate(all="ignore"):
        away = x - ball.centre
        square = float(away @ away) * (1 + relative_error(len(away))) + len(away) * TINY
        return square < ball.radius * ball.radius * (1 - 4 * UNIT)


def _square_of_distance(x: Witness, centre: npt.NDArray[np.float64]) -> Fraction:
    away = np.arange(len(centre)) if isinstance(x, tuple) else np.flatnonzero(x != centre)
    (ours, q), (theirs, r) = integers([x[j] for j in away.tolist()]), integers(centre[away].tolist())
    return Fraction(sum((a * r - b * q) ** 2 for a, b in zip(ours, theirs, strict=True)), (q * r) ** 2)


def _sigmoid_fault(layer: OutputLayer, active: Indices, x: Witness, logits: Logits) -> str | None:
    margins = -logits.z
    margins[active] *= -1
    open_rows = np.flatnonzero(~(margins > logits.slack))
    wanted = set(active.tolist())
    for i, logit in zip(open_rows.tolist(), _exact_logits(layer, open_rows, x), strict=True):
        if i in wanted and not logit > 0:
            return f"label {i}: expected a positive logit, got {_show(logit)}"
        if i not in wanted and not (logit < 0 or (layer.ties == "inactive" and logit == 0)):
            return f"label {i}: expected a negative logit, got {_show(logit)}"
    return None


def _topk_fault(layer: OutputLayer, active: Indices, x: Witness, logits: Logits) -> str | None:
    inactive = np.setdiff1d(np.arange(layer.n_labels), active, assume_unique=True)
    if not len(active) or not len(inactive):
        return None  # any τ below, or above, all logits will do
    least, most = (logits.z - logits.slack)[active], (logits.z + logits.slack)[inactive]
    low_actives, high_inactives = active[~(least > most.max())], inactive[~(most < least.min())]
    if not len(low_actives) or not len(high_inactives):
        return None
    actives = zip(_exact_logits(layer, low_actives, x), low_actives.tolist(), strict=True)
    inactives = zip(_exact_logits(layer, high_inactives, x), high_inactives.tolist(), strict=True)
    (low, i), (high, j) = min(actives), max(inactives)
    if low > high:
        return None
    return f"label {i}: expected a logit above label {j}'s {_show(high)}, got {_show(low)}"


def _sparsemax_fault(layer: OutputLayer, active: Indices, x: Witness, logits: Logits) -> str | None:
    if not len(active):
        return "expected a non-empty support, got the empty set"
    actives = _exact_logits(layer, active, x)
    tau = (sum(actives, Fraction(0)) - 1 / Fraction(layer.temperature)) / len(active)
    for i, logit in zip(active.tolist(), actives, strict=True):
        if not logit > tau:
            return f"label {i}: expected a logit above the threshold {_show(tau)}, got {_show(logit)}"
    scaled = tau / Fraction(2) ** logits.exponent  # the logits of this scale are far below 2**100
    cut = float(min(max(scaled, Fraction(-(2**100))), Fraction(2**100)))
    certain = logits.z + logits.slack < cut - 4 * UNIT * abs(cut) - TINY
    certain[active] = True
    open_rows = np.flatnonzero(~certain)
    for i, logit in zip(open_rows.tolist(), _exact_logits(layer, open_rows, x), strict=True):
        if not (logit < tau or (layer.ties == "inactive" and logit == tau)):
            return f"label {i}: expected a logit below the threshold {_show(tau)}, got {_show(logit)}"
    return None


def _exact_logits(layer: OutputLayer, labels: Indices, x: Witness) -> list[Fraction]:
    if not len(labels):
        return []
    numerators, x_denominator = integers(x if isinstance(x, tuple) else x.tolist())
    logits = []
    for i in labels.tolist():
        row, row_denominator = integers(layer.weight[i].tolist())
        product = sum(a * b for a, b in zip(row, numerators, strict=True))
        logits.append(Fraction(product, row_denominator * x_denominator) + exact_offset(layer, i))
    return logits


def _show(number: Fraction) -> str:
    if number.denominator == 1 and abs(number) < 2**53:
        return str(number)
    try:
        shown = float(number)
    except OverflowError:
        return "a number beyond 1e308" if number > 0 else "a number below -1e308"
    if shown == 0:
        return "a number below 1e-323" if number > 0 else "a number above -1e-323"
    return f"{shown:.6g}"
