"""How far from the data a label set is first predicted, in units of the data's own spread.

With the data's mean μ and covariance C = A Aᵀ, an input is x = μ + A u, and |u| is its distance from the mean in
whitened units. The reach of a label set is the least |u| at which the layer gives it: the projection of the origin onto
a polyhedron. It is found by the dual active-set method over the rows that matter, as a floating-point number of about
six digits; the multipliers of the tight rows prove it from both sides (`labelproof.proof.reach_bounds`).
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from labelproof.foundation.progress import progress_bar
from labelproof.foundation.threads import in_threads
from labelproof.proof.examples import Examples
from labelproof.proof.labels import LabelSets
from labelproof.proof.reach_bounds import reach_lowers, reach_uppers, share_bounds
from labelproof.proof.reach_result import Reach
from labelproof.proof.regions import OutputLayer
from labelproof.proof.stretch_bar import Bar, make_bar, predicted_sets
from labelproof.proof.stretch_bounds import Weighted
from labelproof.stretching.measuring import each_once, read_held_out
from labelproof.stretching.packing import flat_parts

__all__ = ["Whitening", "find_reach", "measure_reach", "whiten"]

Floats = npt.NDArray[np.float64]
SLACK = 1e-6  # distance that inequalities keep from their boundaries, weak ones only where it does no harm
SLACKS = 4.0  # times the rounding error that kept bounds leave, so that they hold again elsewhere
TOLERANCE = 1e-9  # by how much a boundary may be missed, in units of 1 + |u|
NO_DIRECTION = 1e-10  # weights whose part in the data's directions is so small have none


@dataclass(frozen=True, eq=False)
class Whitening:
    """Mean and spread of features: x = mean + u · spread, with u of unit covariance on the data.

    Attributes
    ----------
    mean
        float64 (d,).
    spread
        float64 (r, d), r the number of directions in which the data vary.
    distances
        float64 (n,): |u| of each example.
    """

    mean: Floats
    spread: Floats
    distances: Floats


def whiten(features: npt.NDArray[np.floating], *, mean: Floats | None = None) -> Whitening:
    """Return the mean and spread of features (n, d), and the distance of each example from the mean.

    The mean may be given as it was rounded elsewhere.
    """
    features = np.asarray(features, np.float64)
    if features.ndim != 2 or len(features) < 2 or not np.isfinite(features).all():
        raise ValueError(f"features must be finite numbers of at least two examples, (n, d), got {features.shape}")
    mean = features.mean(axis=0) if mean is None else mean
    centred = features - mean
    _, scale, directions = np.linalg.svd(centred / np.sqrt(len(features) - 1), full_matrices=False)
    kept = scale > 1e-6 * float(scale[0])
    if not scale[0] > 0:
        raise ValueError("features must differ between examples, got the same features for all")
    scale, directions = scale[kept, None], directions[kept]
    distances = np.linalg.norm(centred @ (directions / scale).T, axis=1)
    return Whitening(mean, directions * scale, distances)


@dataclass(frozen=True, eq=False)
class Reached:
    """The distance of each set, and the labels with their multipliers that prove it from below."""

    distances: Floats
    weighted: list[Weighted]


def measure_reach(
    layer: OutputLayer,
    sets: LabelSets,
    examples: Examples,
    *,
    calibration: Any = None,
    alpha: float = 0.01,
    n_jobs: int | None = None,
    progress: bool = False,
) -> tuple[Reach, Whitening]:
    """Measure the reach of label sets with proofs, and the bar of held-out inputs where these are given.

    Parameters
    ----------
    layer
        With the rule sigmoid; its domain must be left aside.
    sets
        Label sets.
    examples
        Dense features, whose mean and spread it is measured by.
    calibration, alpha
        As for `stretch`.
    """
    whitening = whiten(examples.features, mean=examples.centre)
    held_out = None if calibration is None else read_held_out(calibration, examples, alpha)
    predicted = None if held_out is None else predicted_sets(layer, held_out)
    distinct, places = each_once(sets, predicted)
    with progress_bar("measuring reach", len(distinct), show=progress) as advance:
        found = _proven(layer, distinct, examples, whitening, n_jobs, advance)
    bar = None
    if held_out is not None and predicted is not None:
        bar = make_bar(_pack(found, predicted, places[len(sets) :], None), held_out, alpha)
    return _pack(found, sets, places[: len(sets)], bar), whitening


def _proven(
    layer: OutputLayer,
    sets: LabelSets,
    examples: Examples,
    whitening: Whitening,
    n_jobs: int | None,
    advance: Callable[[int], None],
) -> Reach:
    """Search every set, and once more without a margin of weak inequalities where nothing was proven from above."""
    of = layer, whitening.mean, whitening.spread
    found = find_reach(layer, sets, whitening, weak=SLACK, n_jobs=n_jobs, advance=advance)
    weighted, upper = found.weighted, reach_uppers(*of, sets, found.weighted, slacks=SLACKS)
    left = np.flatnonzero(~np.isfinite(upper)).tolist()
    again = find_reach(layer, sets.take(left), whitening, n_jobs=n_jobs)
    better = reach_uppers(*of, sets.take(left), again.weighted, slacks=SLACKS)
    for i, other, high in zip(left, again.weighted, better.tolist(), strict=True):
        if high < np.inf:
            weighted[i], upper[i] = other, high
    lower = reach_lowers(*of, sets, weighted, slacks=SLACKS)
    share = share_bounds(layer, examples, sets, weighted, slacks=SLACKS)
    ends, labels = flat_parts([rows for rows, _ in weighted], np.int64)
    multipliers = flat_parts([theta for _, theta in weighted], np.float64)[1]
    return Reach(layer, sets, examples, whitening.spread, lower, upper, share, ends, labels, multipliers)


def _pack(found: Reach, sets: LabelSets, places: list[int], bar: Bar[Reach] | None) -> Reach:
    """Return the reach of sets that stand at some places among those that were measured."""
    every = found.weighted
    weighted = [every[place] for place in places]
    bounds = (found.lower[places], found.upper[places], found.share[places])
    ends, labels = flat_parts([rows for rows, _ in weighted], np.int64)
    multipliers = flat_parts([theta for _, theta in weighted], np.float64)[1]
    return Reach(found.layer, sets, found.examples, found.spread, *bounds, ends, labels, multipliers, bar)


def find_reach(
    layer: OutputLayer,
    sets: LabelSets,
    whitening: Whitening,
    *,
    weak: float = 0.0,
    n_jobs: int | None = None,
    advance: Callable[[int], None] = lambda _: None,
) -> Reached:
    """Find the least distance at which the layer gives each label set.

    Parameters
    ----------
    layer
        With the rule sigmoid; its domain is left aside, as for the stretch.
    sets
        Label sets; it need not be known whether they are argmaxable.
    whitening
        Of features that the layer gets.
    weak
        Distance that weak inequalities keep from their boundaries; strict ones keep 1e-6.
    n_jobs, advance
        Threads, and who is told of each set that is done.

    Returns
    -------
    Reached
        Distances, float64 (n_sets,): infinite for sets that no input in the data's directions gives with a distance of
        1e-6 from the boundaries (in the same units); NaN where no answer was found.
    """
    if layer.rule != "sigmoid":
        raise ValueError(f"features, for the reach, go with rule='sigmoid' only, got rule={layer.rule!r}")
    if len(whitening.mean) != layer.d:
        raise ValueError(f"features must have {layer.d} columns to match the weight, got {len(whitening.mean)}")
    rows, offsets, norms = _rows(layer, whitening)
    distances, weighted = np.empty(len(sets)), []

    def work(i: int) -> tuple[float, Weighted]:
        signs, slacks = np.full(len(rows), -1.0), np.full(len(rows), weak if layer.ties == "inactive" else SLACK)
        signs[sets[i]], slacks[sets[i]] = 1.0, SLACK
        distance, which, pulls = _least_distance(rows, offsets, signs, slacks)
        order = np.argsort(which, kind="stable")
        labels, pulls = which[order], pulls[order]
        return distance, (labels[pulls > 0], pulls[pulls > 0] / norms[labels[pulls > 0]])

    for i, (distance, proof) in enumerate(in_threads(work, range(len(sets)), n_jobs)):
        distances[i] = distance
        weighted.append(proof)
        advance(1)
    return Reached(distances, weighted)


def _rows(layer: OutputLayer, whitening: Whitening) -> tuple[Floats, Floats, Floats]:
    """Return unit rows (n_rows, r), offsets, and the norms that they were divided by.

    A label is active where row·u + offset > 0.
    """
    offset = np.zeros(layer.n_labels) if layer.offset is None else layer.offset
    flat, constant = layer.weight @ whitening.spread.T, offset + layer.weight @ whitening.mean
    size = np.linalg.norm(layer.weight, axis=1)
    norms = np.linalg.norm(flat, axis=1)
    has_direction = norms > NO_DIRECTION * size * float(np.linalg.norm(whitening.spread, axis=1).max())
    norms[~has_direction] = 1.0
    return np.where(has_direction[:, None], flat / norms[:, None], 0.0), constant / norms, norms


def _least_distance(
    rows: Floats, offsets: Floats, signs: Floats, slacks: Floats
) -> tuple[float, npt.NDArray[np.int64], Floats]:
    """Return the least |u| with signs · (rows·u + offsets) ≥ slacks, the tight rows and their multipliers."""
    from labelproof.search.active_set_kernels import CONFLICT, SOLVED, dual_active_set

    m = rows.shape[1]
    u, QT, L = np.zeros(m), np.zeros((m, m)), np.zeros((m, m))
    lam, active, q = np.zeros(m + 1), np.zeros(m + 1, np.int64), 0
    multipliers = np.zeros(m + 1)
    working = np.empty(0, np.int64)
    is_in = np.zeros(len(rows), np.bool_)
    while True:
        values = signs * (rows @ u + offsets) - slacks
        tolerance = TOLERANCE * (1.0 + float(np.linalg.norm(u)))
        violated = np.flatnonzero((values < -tolerance) & ~is_in)
        if not len(violated):
            return float(np.linalg.norm(u)), working[active[:q]], lam[:q].copy()
        new = violated[np.argsort(values[violated], kind="stable")[: max(60, m // 2)]]
        working = np.concatenate([working, new])  # in which tight rows keep their places
        is_in[new] = True
        G, h = rows[working] * signs[working, None], slacks[working] - offsets[working] * signs[working]
        outcome, q, _, entering = dual_active_set(
            G, h, 0, u, QT, L, lam, active, q, 1.0, tolerance, 100 * m + 2000, multipliers
        )
        if outcome == CONFLICT:
            return float("inf"), working[[*active[:q], entering]], np.append(multipliers[:q], 1.0)
        if outcome != SOLVED:
            return float("nan"), working[:0], lam[:0]
