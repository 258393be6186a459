"""Guess, in floating point, whether some v satisfies every row of the system: a witness, or a conflict.

Nothing returned here is trusted: `labelproof.proof` turns a guess into a proof, or says that it could not.

The search treats weak rows as strict ones, so that its witnesses keep clear of all boundaries, and works in scaled
coordinates: columns by powers of two, rows to unit norm. Neither changes which systems have a solution.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from labelproof.proof.labels import LabelSets
from labelproof.proof.regions import OutputLayer
from labelproof.proof.rounding import times_power_of_two
from labelproof.proof.sparse_weights import largest_of_rows
from labelproof.search.dependences import LEAST_WIDTH, RowSample
from labelproof.search.time_limits import STEPS_A_SECOND, OutOfTimeError, deadline_after, steps_before, stop_after

__all__ = ["Guesses", "SearchSystem", "extra_columns", "hot_rows", "is_wide", "search", "search_one", "search_system"]

Floats = npt.NDArray[np.float64]
Indices = npt.NDArray[np.int64]
NUMBERS_AT_ONCE = 2**15  # of rows that are scaled together
SECONDS_A_CUBE = 3e-10  # to look for a conflict by products of matrices; for width m, m³ as many
MISSES = 3  # label sets of a block without such a conflict, after which others have to be in the majority


@dataclass(frozen=True, eq=False)
class SearchSystem:
    """The rows of a layer in the coordinates of the search.

    Attributes
    ----------
    rows
        float64 (n_rows, width): unit rows; labels first, as for an active label, then the rows that are no label.
    rows_t32
        float32 (width, n_rows): the same for fast scoring.
    numbers
        The number in `regions` of each row.
    norms, row_exponents
        Each row was divided by its norm, and by 2**row_exponent.
    column_exponents
        v in the coordinates of `regions` is the search's v times 2**-column_exponents.
    fixed
        float64 (n_fixed, width): equalities of features whose bounds coincide; ``fixed_features`` names them.
    is_smooth
        Whether neighbouring labels have nearly parallel rows, as in a DFT layer.
    weak_zeros
        Labels that hold at every v when they are inactive: zero rows under ties="inactive".
    """

    rows: Floats
    rows_t32: npt.NDArray[np.float32]
    numbers: Indices
    norms: Floats
    row_exponents: npt.NDArray[np.int64]
    column_exponents: npt.NDArray[np.int64]
    fixed: Floats
    fixed_features: Indices
    weak_zeros: Indices
    is_smooth: bool

    @property
    def width(self) -> int:
        """Number of coordinates."""
        return self.rows.shape[1]

    @cached_property
    def sample(self) -> RowSample:
        """Some of the rows, for conflicts of wide layers."""
        return RowSample(self.rows, self.norms > 0)


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


def search_system(layer: OutputLayer) -> SearchSystem:
    """Scale the rows of a layer for the search, some at a time: so they stay in the processor's cache."""
    n, extra = layer.n_labels, extra_columns(layer)
    width = layer.d + extra.shape[1]
    step = max(16, NUMBERS_AT_ONCE // width)
    parts = [slice(start, min(start + step, n)) for start in range(0, n, step)]
    row_exponents = _exponents(np.maximum(largest_of_rows(layer.weight), largest_of_rows(extra)))

    def scaled(part: slice, columns: Indices | int = 0) -> Floats:
        """Return rows over powers of two of both kinds at once: in two steps, subnormal ones would be rounded."""
        rows = np.concatenate([layer.weight[part], extra[part]], axis=1)
        return times_power_of_two(rows, -row_exponents[part, None] - columns)

    column_exponents = _exponents(np.max([np.abs(scaled(part)).max(axis=0) for part in parts], axis=0))
    bounds, numbers, fixed, fixed_features = _bound_rows(layer, width, column_exponents)
    rows, norms = np.empty((n + len(bounds), width)), np.empty(n + len(bounds))
    rows_t32 = np.empty((width, n + len(bounds)), np.float32)
    for part in parts:
        rows[part], norms[part] = _unit_rows(scaled(part, column_exponents))
        rows_t32[:, part] = rows[part].T
    rows[n:], norms[n:] = _unit_rows(bounds)
    rows_t32[:, n:] = rows[n:].T
    weak = layer.ties == "inactive" and layer.rule == "sigmoid"
    return SearchSystem(
        rows,
        rows_t32,
        np.concatenate([np.arange(n), numbers]),
        norms,
        np.concatenate([row_exponents, np.zeros(len(bounds), np.int64)]),
        column_exponents,
        _unit_rows(fixed)[0],
        fixed_features,
        np.flatnonzero(norms[:n] == 0) if weak else np.empty(0, np.int64),
        n > 4 * width and float(np.median(np.einsum("ij,ij->i", rows[: n - 1], rows[1:n]))) > 0.99,
    )


def extra_columns(layer: OutputLayer) -> Floats:
    """Return the columns of label rows for scale and threshold, as far as there are any."""
    n, columns = layer.n_labels, [np.empty((layer.n_labels, 0))]
    if not layer.is_cone:  # on a cone, scaling x meets sparsemax's sum
        columns.append((np.zeros(n) if layer.offset is None else layer.offset)[:, None])
    if layer.has_threshold:
        columns.append(np.full((n, 1), -1.0))
    return np.concatenate(columns, axis=1)


def _exponents(largest: Floats) -> npt.NDArray[np.int64]:
    """Return e for each number such that it is below 2**e, and at least half of that."""
    return np.where(largest > 0, np.frexp(largest)[1], 0).astype(np.int64)


def _unit_rows(rows: Floats) -> tuple[Floats, Floats]:
    """Return the rows over their norms, and the norms; zero rows stay zero."""
    exponents = _exponents(largest_of_rows(rows))
    scaled = times_power_of_two(rows, -exponents[:, None])
    norms = np.linalg.norm(scaled, axis=1)
    unit = scaled / np.where(norms == 0, 1.0, norms)[:, None]
    return np.ascontiguousarray(unit), np.ldexp(norms, exponents)


def _bound_rows(
    layer: OutputLayer, width: int, column_exponents: npt.NDArray[np.int64]
) -> tuple[Floats, Indices, Floats, Indices]:
    """Return the rows for scale and domain with their numbers, and the equalities of fixed features."""
    d = layer.d
    rows, numbers, fixed, features = [], [], [], []
    if not layer.is_cone:
        rows.append(_unit(width, d))
        numbers.append(layer.scale_row)
    low = np.full(d, -np.inf) if layer.low is None else layer.low
    high = np.full(d, np.inf) if layer.high is None else layer.high
    for j in range(d):
        feature = _unit(width, j)
        floor, ceiling = feature.copy(), -feature
        if not layer.is_cone:
            with np.errstate(over="ignore"):
                shift = int(column_exponents[j] - column_exponents[d])
                floor[d], ceiling[d] = np.clip(np.ldexp([-low[j], high[j]], shift), -1e300, 1e300)
        if low[j] == high[j]:
            fixed.append(floor)
            features.append(j)
            continue
        if np.isfinite(low[j]):
            rows.append(floor)
            numbers.append(layer.low_row(j))
        if np.isfinite(high[j]):
            rows.append(ceiling)
            numbers.append(layer.high_row(j))
    stacked = (np.array(r).reshape(-1, width) for r in (rows, fixed))
    return next(stacked), np.array(numbers, np.int64), next(stacked), np.array(features, np.int64)


def _unit(width: int, j: int) -> Floats:
    unit = np.zeros(width)
    unit[j] = 1.0
    return unit


def hot_rows(tight: npt.NDArray[np.int64], most: int = 300) -> Indices:
    """Return the rows that were tight or in conflict most often, as places in `SearchSystem.rows`."""
    order = np.argsort(-tight, kind="stable")[:most]
    return order[tight[order] > 0]


def search(
    layer: OutputLayer, system: SearchSystem, sets: LabelSets, hot: Indices, time_limit: float | None = None
) -> Guesses:
    """Search for a point or a conflict for every label set of a block.

    Parameters
    ----------
    hot
        Places of rows that belong to every working set from the start.
    time_limit
        Seconds for one label set, kept roughly: by a count of steps.
    """
    limit = np.inf if time_limit is None else time_limit
    if system.is_smooth:
        guesses = _search_each(layer, system, sets, limit)
    elif is_wide(layer, system, limit):
        guesses = _search_wide(layer, system, sets, hot, limit)
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
    most_active = int(np.diff(sets.indptr).max(initial=0))
    outcome, points, places, counts, tight, multipliers = search_block(
        system.rows,
        system.rows_t32,
        layer.n_labels,
        sets.indptr,
        sets.indices,
        hot,
        system.weak_zeros,
        equalities,
        min(len(sets), int(np.clip(1600 // m, 4, 32))),
        equalities.shape[1] + min(len(system.rows), len(hot) + most_active + 1000 + 6 * m),
        max(100, m // 2),
        0.3,
        0.02,
        -1e-3,
        max_steps,
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


def _search_wide(layer: OutputLayer, system: SearchSystem, sets: LabelSets, hot: Indices, time_limit: float) -> Guesses:
    """Search for conflicts in a sample of the rows, as long as there are any, and then as `_search_block` does."""
    n = len(sets)
    known: dict[int, Indices] = {}
    for i, active in enumerate(sets):
        places = system.sample.conflict(layer.n_labels, active)
        if places is not None:
            known[i] = places
        elif i + 1 > MISSES + 2 * len(known):
            break
    left = [i for i in range(n) if i not in known]
    rest = _search_block(layer, system, sets.take(left), hot, time_limit)
    outcome, points, rows = np.zeros(n, np.int64), np.zeros((n, system.width)), [np.empty(0, np.int64)] * n
    outcome[left], points[left] = rest.outcome, rest.points
    for i, places in known.items():
        rows[i] = system.numbers[places]
        rest.tight[places] += 1
    for i, numbers in zip(left, rest.rows, strict=True):
        rows[i] = numbers
    return Guesses(outcome, points, rows, rest.tight)


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
    v, QT, R = np.zeros(m), np.zeros((m, m)), np.zeros((m, m))
    lam, active, multipliers, q = np.zeros(m + 1), np.zeros(m + 1, np.int64), np.zeros(m + 1), 0
    while True:
        G = np.concatenate([equalities, signs[places, None] * system.rows[places]])
        targets = np.append(np.zeros(n_equal), wanted[places])
        steps, outcome = 0, STOPPED
        while outcome == STOPPED and steps < 100 * m + 2000:
            stop_after(deadline)
            few = steps_before(deadline, m, most=100 * m + 2000)
            outcome, q, done, entering = dual_active_set(
                G, targets, n_equal, v, QT, R, lam, active, q, 1.0, 1e-9, few, multipliers
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
        sums[i] = _unit_rows(sums[i])[0]
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
