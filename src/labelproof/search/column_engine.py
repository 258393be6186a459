"""Decide label sets by `columns`, prove what it finds, and leave the rest to the search that knows rows only."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from fractions import Fraction
from math import frexp, inf

import numpy as np

from labelproof.foundation.threads import in_threads, one_blas_thread
from labelproof.proof.conflicts import conflict_faults, exact_multipliers
from labelproof.proof.labels import LabelSets
from labelproof.proof.regions import OutputLayer
from labelproof.proof.rounding import FloatRows, Witness, float_rows
from labelproof.proof.weighted_conflicts import weighted_conflict_fault
from labelproof.proof.witnesses import witness_faults
from labelproof.search.columns import ColumnSearch
from labelproof.search.findings import FewNumbers, Finding
from labelproof.search.time_limits import OutOfTimeError, deadline_after, now, out_of_time, time_left

__all__ = ["decide_by_columns", "is_proof", "proven"]

MOST_WITHOUT_BALLS = 600  # features up to which layers with balls are first decided without them
MOST_BOXED = 64  # features up to which the bounds of balls are tried
AT_ONCE = 32  # label sets that a thread takes
NUMBERS_AT_ONCE = 2**16  # of witnesses that are proven together, in memory that stays near the processor
Others = Callable[[OutputLayer, LabelSets, float | None], list[Finding]]


def decide_by_columns(
    layer: OutputLayer,
    sets: LabelSets,
    others: Others,
    *,
    n_jobs: int | None = None,
    time_limit: float | None = None,
    advance: Callable[[int], None] = lambda _: None,
) -> list[Finding]:
    """Return proven evidence for every label set of a layer with bounds, or with balls.

    Parameters
    ----------
    others
        Decides sets of a layer without balls, in at most so many seconds each.
    """
    floats = float_rows(layer)
    search = ColumnSearch(layer, floats)
    start = now()  # what prepares the layer is no label set's time
    without_balls_first = bool(layer.balls) and layer.d <= MOST_WITHOUT_BALLS
    found = [Finding(reason="not decided yet")] * len(sets)
    if without_balls_first:
        found = _by_rows(layer, replace(layer, balls=()), floats, sets, others, time_limit)
    left = [i for i, one in enumerate(found) if one.reason]
    advance(len(sets) - len(left))
    seconds = time_left(time_limit, start, len(sets))
    if left and seconds != 0:
        _fill(found, left, _by_columns(search, floats, sets.take(left), n_jobs, seconds, advance))
    left = [i for i in left if found[i].reason]
    seconds = time_left(time_limit, start, len(sets))
    if left and seconds != 0 and (not without_balls_first or layer.d <= MOST_BOXED):
        wider = _boxed(layer) if layer.balls and layer.d <= MOST_BOXED else replace(layer, balls=())
        _fill(found, left, _by_rows(layer, wider, floats, sets.take(left), others, seconds))
    if time_limit is not None and time_left(time_limit, start, len(sets)) == 0:
        found = [Finding(reason=out_of_time(time_limit)) if one.reason else one for one in found]
    advance(len(left))
    return found


def _fill(found: list[Finding], places: list[int], new: list[Finding]) -> None:
    for i, one in zip(places, new, strict=True):
        found[i] = one


def _by_columns(
    search: ColumnSearch,
    floats: FloatRows,
    sets: LabelSets,
    n_jobs: int | None,
    time_limit: float | None,
    advance: Callable[[int], None],
) -> list[Finding]:
    """Return what the search in columns finds and proves; ``advance`` is told of what it has."""
    found: list[Finding] = []

    def work(first: int) -> list[Finding]:
        block = sets.slice(first, min(first + AT_ONCE, len(sets)))
        return proven(search.layer, floats, block, [_found(search, active, time_limit) for active in block])

    with one_blas_thread():
        for some in in_threads(work, range(0, len(sets), AT_ONCE), n_jobs):
            found += some
            advance(sum(not one.reason for one in some))
    return found


def _found(search: ColumnSearch, active: np.ndarray, time_limit: float | None) -> Finding:
    try:
        return search.search(active, deadline_after(time_limit))
    except OutOfTimeError:
        return Finding(reason=out_of_time(time_limit))


def proven(layer: OutputLayer, floats: FloatRows, sets: LabelSets, found: list[Finding]) -> list[Finding]:
    """Return what was found where that is a proof, and reasons elsewhere."""
    for i, fault in _point_faults(layer, floats, sets, found):
        if fault is not None:
            found[i] = Finding(reason=f"no proof: {fault}")
    for i, one in enumerate(found):
        if one.conflict is not None and not is_proof(layer, floats, sets.slice(i, i + 1), one):
            found[i] = Finding(reason="no proof: the conflict's multipliers are not good enough")
    return found


def _point_faults(
    layer: OutputLayer, floats: FloatRows, sets: LabelSets, found: list[Finding]
) -> Iterator[tuple[int, str | None]]:
    """Yield what is wrong with each witness that was found; few numbers are spread out in the same memory by turns."""
    points = [(i, one.point) for i, one in enumerate(found) if one.point is not None]
    step = max(1, NUMBERS_AT_ONCE // layer.d)
    memory = np.empty((min(step, len(points)), layer.d))
    for first in range(0, len(points), step):
        some = points[first : first + step]
        witnesses = [
            x.write(row) if isinstance(x, FewNumbers) else x for (_, x), row in zip(some, memory, strict=False)
        ]
        which = [i for i, _ in some]
        yield from zip(which, witness_faults(layer, floats, sets.take(which), witnesses), strict=True)


def is_proof(layer: OutputLayer, floats: FloatRows, one: LabelSets, found: Finding) -> bool:
    """Return whether what was found for one label set proves a verdict."""
    x = found.witness
    if x is not None:
        return witness_faults(layer, floats, one, [x]) == [None]
    if found.conflict is None:
        return False
    if found.multipliers is None:
        return conflict_faults(layer, one, [found.conflict]) == [None]
    return weighted_conflict_fault(layer, one[0], found.conflict, found.multipliers) is None


def _by_rows(
    layer: OutputLayer,
    wider: OutputLayer,
    floats: FloatRows,
    sets: LabelSets,
    others: Others,
    seconds: float | None,
) -> list[Finding]:
    """Decide on a larger domain without balls: its conflicts hold within, its witnesses if they are within."""
    found = others(wider, sets, seconds)
    if not layer.balls:
        return found
    shrinks = _shrinks(layer)
    for i, one in enumerate(found):
        if one.conflict is not None and wider.high is not layer.high and (one.conflict >= layer.low_row(0)).any():
            found[i] = one = _weighted(wider, sets[i], one.conflict)
        x = one.witness if shrinks else None
        if x is not None:
            found[i] = one = Finding(point=_shrunk(layer, x))
        if not one.reason and not is_proof(layer, floats, sets.slice(i, i + 1), one):
            found[i] = Finding(reason="no proof: the region comes too close to the edge of the domain's ball")
    return found


def _boxed(layer: OutputLayer) -> OutputLayer:
    """Return the layer on the bounds that its balls imply."""
    low = np.full(layer.d, -inf) if layer.low is None else layer.low.copy()
    high = np.full(layer.d, inf) if layer.high is None else layer.high.copy()
    for ball in layer.balls:
        part = slice(ball.start, ball.stop)
        low[part] = np.maximum(low[part], np.nextafter(ball.centre - ball.radius, -inf))
        high[part] = np.minimum(high[part], np.nextafter(ball.centre + ball.radius, inf))
    return replace(layer, balls=(), low=low, high=high)


def _weighted(layer: OutputLayer, active: np.ndarray, rows: np.ndarray) -> Finding:
    """Return a conflict with bounds as one of its labels and sums, with their multipliers."""
    multipliers = exact_multipliers(layer, active, rows)
    if multipliers is None:
        return Finding(reason="no proof: the conflict's multipliers are not good enough")
    kept = [k for k, row in enumerate(rows.tolist()) if row != layer.scale_row and row < layer.low_row(0)]
    return Finding(conflict=rows[kept], multipliers=tuple(multipliers[k] for k in kept))


def _shrinks(layer: OutputLayer) -> bool:
    """Return whether a part of every input is an input of the same label set."""
    ends = [end for end in (layer.low, layer.high) if end is not None]
    centred = not any(ball.centre.any() for ball in layer.balls)
    return (
        centred
        and layer.offset is None
        and layer.rule != "sparsemax"
        and not any(e[np.isfinite(e)].any() for e in ends)
    )


def _shrunk(layer: OutputLayer, x: Witness) -> Witness:
    """Return a witness over a power of two that brings it into every ball."""
    largest, least = max(abs(Fraction(c)) for c in x), min(ball.radius for ball in layer.balls)
    if not largest:
        return x
    shift = largest.numerator.bit_length() - largest.denominator.bit_length() + layer.d.bit_length() + 2
    shift = max(shift - frexp(least)[1], 0)
    if isinstance(x, tuple):
        return tuple(c / 2**shift for c in x)
    small = np.ldexp(x, -shift)
    exact = shift < inf and bool((np.ldexp(small, shift) == x).all())
    return small if exact else tuple(Fraction(c) / 2**shift for c in x.tolist())
