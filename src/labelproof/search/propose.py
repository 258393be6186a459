"""Guess, in floating point, whether some v satisfies every row of the system: a witness, or a conflict.

Nothing returned here is trusted: `labelproof.proof` turns a guess into a proof, or says that it could not.

The search treats weak rows as strict ones, so that its witnesses keep clear of all boundaries, and works in the
coordinates of `systems`.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from labelproof.proof.labels import LabelSets
from labelproof.proof.regions import OutputLayer
from labelproof.search.dependences import LEAST_WIDTH
from labelproof.search.systems import SearchSystem, unit_rows
from labelproof.search.time_limits import STEPS_A_SECOND, OutOfTimeError, deadline_after, steps_before, stop_after

__all__ = ["Guesses", "hot_rows", "is_wide", "search", "search_one"]

Floats = npt.NDArray[np.float64]
Indices = npt.NDArray[np.int64]
SECONDS_A_CUBE = 3e-10  # to look for a conflict by products of matrices; for width m, m³ as many
MISSES = 3  # label sets of a block without such a conflict, after which others have to be in the majority


@dataclass(frozen=True, eq=False)
class Guesses:
    """What the search found for each label set of a block.

    ``outcome`` is 1 for a point, 0 for a conflict, -1 for neither. ``points`` (n_sets, width) are in the coordinates
    of the search; ``rows[i]`` are row numbers of the conflict, or the rows that are tight at the point.
    """

    outcome: npt.NDArray[np.int64]
    points: Floats
    rows: list[Indices]
    tight: npt.NDArray[np.int64]


def hot_rows(tight: npt.NDArray[np.int64], most: int = 100) -> Indices:
    """Return the rows that were tight or in conflict most often, as places in `SearchSystem.rows`."""
    order = np.argsort(-tight, kind="stable")[:most]
    return order[tight[order] > 0]


def search(
    layer: OutputLayer,
    system: SearchSystem,
    sets: LabelSets,
    hot: Indices,
    time_limit: float | None = None,
    *,
    many_rows: bool = False,
) -> Guesses:
    """Search for a point or a conflict for every label set of a block.

    Parameters
    ----------
    hot
        Places of rows that belong to every working set from the start.
    time_limit
        Seconds for one label set, kept roughly: by a count of steps.
    many_rows
        Whether conflicts may have more rows than they need.
    """
    limit = np.inf if time_limit is None else time_limit
    if system.is_smooth:
        guesses = _search_each(layer, system, sets, limit)
    elif is_wide(layer, system, limit):
        guesses = _search_wide(layer, system, sets, hot, limit, many_rows)
    else:
        guesses = _search_block(layer, system, sets, hot, limit)
    if layer.rule == "sparsemax" and layer.is_cone:  # the search leaves out the sum, which is what an empty set breaks
        for i in np.flatnonzero(np.diff(sets.indptr) == 0).tolist():
            guesses.outcome[i] = 0
            guesses.rows[i] = np.array([layer.scale_row, layer.n_labels + 2])
    return guesses


def _search_block(
    layer: OutputLayer, system: SearchSystem, sets: LabelSets, hot: Indices, time_limit: float
) -> Guesses:
    """Search for all label sets of a block at a time, scoring all rows for a batch of points in float32."""
    from labelproof.search.block_kernels import search_block

    m = system.width
    max_steps = int(min(100 * m + 4000, time_limit * STEPS_A_SECOND / m**2))
    equalities = _equalities(layer, system, sets)
    n_active = np.diff(sets.indptr)
    most_active = int(n_active.max(initial=0))
    points = np.zeros((len(sets), m))
    if not equalities.shape[1]:
        points[2 * n_active <= m] = system.origin  # where most labels are off
    outcome, places, counts, tight, multipliers = search_block(
        system.rows,
        system.scored_parts,
        layer.n_labels,
        sets.indptr,
        sets.indices,
        hot,
        system.weak_zeros,
        equalities,
        min(len(sets), int(np.clip(1600 // m, 4, 32))),
        equalities.shape[1] + min(len(system.rows), len(hot) + most_active + 1000 + 6 * m),
        max(100, m // 2),
        0.05,
        np.where(points.any(axis=1), 0.5, 0.02),  # of what is wanted of rows: far from 0, more costs next to nothing
        -1e-3,
        max_steps,
        points,
    )
    if equalities.shape[1]:
        found = [(places[i, :count], multipliers[i, :count]) for i, count in enumerate(counts.tolist())]
        return Guesses(outcome, points, [_row_numbers(layer, system, *one) for one in found], tight)
    numbers = system.numbers[places]
    return Guesses(outcome, points, [numbers[i, :count] for i, count in enumerate(counts.tolist())], tight)


def is_wide(layer: OutputLayer, system: SearchSystem, time_limit: float) -> bool:
    """Return whether conflicts are worth looking for before all else."""
    has_equalities = len(system.fixed) > 0 or (layer.rule == "sparsemax" and not layer.is_cone)
    return (
        LEAST_WIDTH <= system.width < len(system.rows)
        and not has_equalities
        and time_limit > SECONDS_A_CUBE * system.width**3
    )


def _search_wide(
    layer: OutputLayer, system: SearchSystem, sets: LabelSets, hot: Indices, time_limit: float, many_rows: bool
) -> Guesses:
    """Search for conflicts in a sample of the rows, as long as there are any, and then as `_search_block` does."""
    n = len(sets)
    known: dict[int, Indices] = {}
    for i, active in enumerate(sets):
        find = system.many_rows.dependent if many_rows else system.sample.conflict
        places = find(layer.n_labels, active)
        if places is not None:
            known[i] = places
        elif i + 1 > MISSES + 2 * len(known):
            break
    outcome, points, rows = np.zeros(n, np.int64), np.zeros((n, system.width)), [np.empty(0, np.int64)] * n
    tight = np.zeros(len(system.rows), np.int64)
    left = [i for i in range(n) if i not in known]
    if left:
        rest = _search_block(layer, system, sets.take(left), hot, time_limit)
        outcome[left], points[left], tight = rest.outcome, rest.points, rest.tight
        for i, numbers in zip(left, rest.rows, strict=True):
            rows[i] = numbers
    for i, places in known.items():
        rows[i] = system.numbers[places]
        tight[places] += 1
    return Guesses(outcome, points, rows, tight)


def _search_each(layer: OutputLayer, system: SearchSystem, sets: LabelSets, time_limit: float) -> Guesses:
    """Search where float32 cannot tell neighbouring rows apart: one by one, from the neighbours of active labels."""
    n = layer.n_labels
    guesses = []
    for i, active in enumerate(sets):
        start = np.concatenate([active + 1, active - 1, np.arange(0, n, 16)]) % n
        try:
            guesses.append(search_one(layer, system, sets.slice(i, i + 1), start, deadline_after(time_limit)))
        except OutOfTimeError:
            guesses.append(Guesses(np.array([-1]), np.zeros((1, system.width)), [start[:0]], start[:0]))
    outcome, points = (np.concatenate([getattr(g, name) for g in guesses]) for name in ("outcome", "points"))
    return Guesses(outcome, points, [g.rows[0] for g in guesses], np.zeros(len(system.rows), np.int64))


def search_one(
    layer: OutputLayer,
    system: SearchSystem,
    sets: LabelSets,
    start: Indices,
    deadline: float,
    wanted: Floats | None = None,
) -> Guesses:
    """Search once more for one label set, to the largest margin and with all rows scored in float64.

    Parameters
    ----------
    sets
        The one label set.
    start
        Row numbers for the working set to begin with, besides the active labels.
    deadline
        Value of `time_limits.now` after which to raise OutOfTimeError.
    wanted
        What each row is to reach, 1 for all if it is not given; 0 is for a row that may be 0.
    """
    from labelproof.search.active_set_kernels import CONFLICT, SOLVED, STOPPED, dual_active_set

    wanted = np.ones(len(system.rows)) if wanted is None else wanted
    enough = np.where(wanted > 0, 0.5 * wanted, -1e-9)
    m, equalities = system.width, _equalities(layer, system, sets)[0]
    n_equal = len(equalities)
    signs = np.where(np.arange(len(system.rows)) < layer.n_labels, -1.0, 1.0)
    signs[sets[0]] = 1.0
    inside = np.isin(system.numbers, start)
    inside[sets[0]] = True
    places = np.flatnonzero(inside)
    v, QT, L = np.zeros(m), np.zeros((m, m)), np.zeros((m, m))
    lam, active, multipliers, q = np.zeros(m + 1), np.zeros(m + 1, np.int64), np.zeros(m + 1), 0
    while True:
        G = np.concatenate([equalities, signs[places, None] * system.rows[places]])
        targets = np.append(np.zeros(n_equal), wanted[places])
        steps, outcome = 0, STOPPED
        while outcome == STOPPED and steps < 100 * m + 2000:
            stop_after(deadline)
            few = steps_before(deadline, m, most=100 * m + 2000)
            outcome, q, done, entering = dual_active_set(
                G, targets, n_equal, v, QT, L, lam, active, q, 1.0, 1e-9, few, multipliers
            )
            steps += done
        tight = np.where(active[:q] < n_equal, -1 - active[:q], places[np.maximum(active[:q] - n_equal, 0)])
        if outcome != SOLVED:
            break
        lacks = wanted - signs * (system.rows @ v)
        lacks[inside] = -np.inf
        lacks[system.weak_zeros] = -np.inf
        if (lacks <= wanted - enough).all():
            break
        new = np.argsort(-lacks)[: max(60, m // 2)]
        new = new[lacks[new] > np.minimum(0.3 * lacks.max(), (wanted - enough)[new])]
        inside[new] = True
        places = np.concatenate([places, new])
    if outcome == CONFLICT:
        part = np.abs(multipliers[:q]) > 1e-14 * np.abs(multipliers[:q]).max(initial=1.0)
        tight = np.append(tight[part], places[entering - n_equal])
        weights = np.append(multipliers[:q][part], 1.0)
    else:
        weights = lam[:q]
    numbers = _row_numbers(layer, system, tight, weights)
    return Guesses(np.array([outcome]), v[None], [numbers], np.empty(0, np.int64))


def _equalities(layer: OutputLayer, system: SearchSystem, sets: LabelSets) -> Floats:
    """Return (n_sets, n_equalities, width): the fixed features and, for sparsemax off a cone, the support's sum."""
    fixed = np.broadcast_to(system.fixed, (len(sets), *system.fixed.shape))
    if layer.rule != "sparsemax" or layer.is_cone:
        return np.ascontiguousarray(fixed)
    sums = np.zeros((len(sets), 1, system.width))
    for i, active in enumerate(sets):
        exponents = system.row_exponents[active]
        largest = exponents.max(initial=-int(system.column_exponents[layer.d]))
        rows = system.rows[active] * np.ldexp(system.norms[active], exponents - largest)[:, None]
        sums[i, 0] = rows.sum(axis=0)
        sums[i, 0, layer.d] -= np.ldexp(1 / layer.temperature, -int(system.column_exponents[layer.d] + largest))
        sums[i] = unit_rows(sums[i])[0]
    return np.concatenate([fixed, sums], axis=1)


def _row_numbers(layer: OutputLayer, system: SearchSystem, places: Indices, multipliers: Floats) -> Indices:
    """Translate places into row numbers; an equality becomes the inequality that its multiplier's sign calls for."""
    numbers = system.numbers[np.maximum(places, 0)]
    for k in np.flatnonzero(places < 0).tolist():
        e = -1 - int(places[k])
        positive = multipliers[k] > 0
        if e < len(system.fixed_features):
            j = int(system.fixed_features[e])
            numbers[k] = layer.low_row(j) if positive else layer.high_row(j)
        else:
            numbers[k] = layer.n_labels + (2 if positive else 1)
    return numbers
