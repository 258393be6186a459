"""Layers with many more features than labels: decide on a few features, with the others at 0.

The *restricted* layer has the columns of those few features alone. An input that is 0 but for them is an input, so a
witness of the restricted layer is one of the layer itself. A conflict of it is one of the layer unless some feature
that was left out could break it; then the features that break it most join in, and the search goes on. Nothing returned
here is trusted: it is proven for the whole layer.
"""

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction

import numpy as np
import numpy.typing as npt
from scipy.linalg import qr, solve_triangular

from labelproof.proof.labels import LabelSets
from labelproof.proof.regions import OutputLayer
from labelproof.proof.rounding import Witness
from labelproof.proof.sparse_weights import row_blocks
from labelproof.search.findings import Finding
from labelproof.search.time_limits import now, out_of_time, time_left

__all__ = ["as_searched", "first_features", "has_features_to_spare", "search_few_features", "searches_in_columns"]

Floats = npt.NDArray[np.float64]
Indices = npt.NDArray[np.int64]
WIDE = 2048  # features from which the square matrices of the search are a burden
PER_LABEL = 4  # features of each sign that a label brings along at first
NEW_FEATURES = 128  # that break conflicts and join in a round
MOST_ROUNDS = 30
MOST_ROWS = 2500  # of a conflict that are worth an attempt at a proof
SECONDS_OF_A_DEPENDENCE = 3e-10  # of one row and one feature; n² times as many of n rows
SECONDS_OF_A_NUMBER = 3e-8  # of a restricted layer and of the square matrices of its search, to make them ready
TINY = 1e-12  # sums that cancel to this share are taken for 0


def has_features_to_spare(layer: OutputLayer) -> bool:
    """Return whether it is worth a try to decide with most features at 0."""
    if layer.d <= max(WIDE, 4 * layer.n_labels) or layer.rule == "sparsemax":
        return False
    return bool((layer.low is None or (layer.low <= 0).all()) and (layer.high is None or (layer.high >= 0).all()))


def searches_in_columns(layer: OutputLayer) -> bool:
    """Return whether label sets are decided with few columns each: on balls, and of many features that have bounds.

    Sparse weights make this the way for all widths at which a search in rows would be a burden.
    """
    if layer.low is None and layer.high is None:
        return bool(layer.balls)
    return bool(layer.balls) or has_features_to_spare(layer) or (layer.sparse is not None and layer.d > WIDE)


def as_searched(layer: OutputLayer) -> OutputLayer:
    """Return a layer with sparse weights in an array, unless it is searched with few columns at a time."""
    return layer if searches_in_columns(layer) or has_features_to_spare(layer) else layer.dense()


def search_few_features(
    layer: OutputLayer,
    kept: Indices,
    sets: LabelSets,
    decide: Callable[[OutputLayer, LabelSets, float | None], list[Finding]],
    time_limit: float | None = None,
) -> list[Finding]:
    """Return unproven evidence for every label set of a layer.

    Parameters
    ----------
    kept
        Features to begin with, such as `first_features`.
    decide
        Gives evidence for restricted layers, in at most so many seconds for one label set.
    time_limit
        Seconds for one label set; each round has what the others left.
    """
    start = now()
    answers = [Finding(reason="the search ended without a result")] * len(sets)
    left = list(range(len(sets)))
    seconds = time_left(time_limit, start, len(sets))
    for _ in range(MOST_ROUNDS):
        start, n_asked = now(), len(left)
        ready = SECONDS_OF_A_NUMBER * (layer.n_labels + len(kept)) * len(kept)
        if seconds is not None and seconds * n_asked < ready:
            seconds = 0.0  # there is no time to make the restricted layer ready
            break
        found = decide(_restricted(layer, kept), sets.take(left), seconds)
        harm = np.zeros(layer.d)
        for i, evidence in zip(left, found, strict=True):
            if _is_too_late(time_left(seconds, start, n_asked), evidence, len(kept)):
                answers[i] = Finding(reason=out_of_time(time_limit))
                continue
            answers[i], against = _lifted(layer, kept, sets[i], evidence)
            harm = np.maximum(harm, against)
        left = [i for i in left if answers[i].reason]
        new = np.argsort(-harm, kind="stable")[:NEW_FEATURES]
        seconds = time_left(seconds, start, n_asked)
        if not left or not harm.any() or seconds == 0:
            break
        kept = np.union1d(kept, new[harm[new] > 0])
    if seconds == 0:
        for i in left:
            answers[i] = Finding(reason=out_of_time(time_limit))
    return answers


def _is_too_late(seconds: float | None, found: Finding, n_features: int) -> bool:
    """Return whether the dependence of a conflict's rows takes longer than there is time."""
    if seconds is None or found.conflict is None:
        return False
    return seconds < SECONDS_OF_A_DEPENDENCE * len(found.conflict) ** 2 * n_features


def first_features(layer: OutputLayer) -> Indices:
    """Return the features with the largest and the smallest weights of each label."""
    kept = []
    for rows in row_blocks(layer.weight):
        order = np.argpartition(rows, (PER_LABEL, layer.d - PER_LABEL - 1), axis=1)
        kept.append(np.unique(np.concatenate([order[:, :PER_LABEL], order[:, -PER_LABEL:]], axis=None)))
    return np.unique(np.concatenate(kept)).astype(np.int64)


def _restricted(layer: OutputLayer, kept: Indices) -> OutputLayer:
    return replace(
        layer,
        weight=np.ascontiguousarray(layer.weight[:, kept]),
        low=None if layer.low is None else layer.low[kept],
        high=None if layer.high is None else layer.high[kept],
    )


def _lifted(layer: OutputLayer, kept: Indices, active: Indices, found: Finding) -> tuple[Finding, Floats]:
    """Return what evidence of the restricted layer means for the whole one, and what speaks against it by feature."""
    none = np.zeros(layer.d)
    if found.witness is not None:
        return Finding(point=_padded(found.witness, kept, layer.d)), none
    if found.conflict is None:
        return found, none
    pulls = _pulls(layer, kept, active, found.conflict)
    pulls[kept] = 0.0  # the restricted layer's own rows balance these
    goes_up = np.full(layer.d, True) if layer.high is None else layer.high > 0
    goes_down = np.full(layer.d, True) if layer.low is None else layer.low < 0
    harm = np.where(goes_up, pulls, 0.0).clip(min=0.0) + np.where(goes_down, -pulls, 0.0).clip(min=0.0)
    if harm.any():
        return Finding(reason="features that were left out break the conflict"), harm / harm.max()
    bounds = np.where(pulls < 0, layer.low_row(0), layer.high_row(0)) + np.arange(layer.d)
    rows = np.sort(np.concatenate([_whole_rows(layer, kept, found.conflict), bounds[pulls != 0]]))
    if len(rows) > MOST_ROWS:
        return Finding(reason=f"a conflict of {len(rows):,} rows was found, too many to prove"), none
    return Finding(conflict=rows), none


def _pulls(layer: OutputLayer, kept: Indices, active: Indices, conflict: Indices) -> Floats:
    """Return Σ λ_i ±w_i over the labels of a restricted layer's conflict, by feature; rounding errors are set to 0."""
    restricted = _restricted(layer, kept)
    rows = np.array([_signed_row(restricted, row, active) for row in conflict.tolist()])
    scales = np.abs(rows).max(axis=1)
    scales[scales == 0] = 1.0
    multipliers = _dependence(rows / scales[:, None]) / scales
    is_label = conflict < layer.n_labels
    labels = conflict[is_label]
    signed = layer.weight[labels] * np.where(np.isin(labels, active), 1.0, -1.0)[:, None]
    pulls = multipliers[is_label] @ signed
    return np.where(np.abs(pulls) > TINY * (multipliers[is_label] @ np.abs(signed)), pulls, 0.0)


def _dependence(rows: Floats) -> Floats:
    """Return the sizes of the multipliers of the only dependence of some rows; of one of them if there are more."""
    triangle, order = qr(rows.T, mode="r", pivoting=True)
    sizes = np.abs(np.diag(triangle))
    n = min(int((sizes > 1e-14 * sizes.max(initial=0.0)).sum()), len(rows) - 1)
    multipliers = np.zeros(len(rows))
    multipliers[order[n]] = 1.0
    if n:
        multipliers[order[:n]] = np.abs(solve_triangular(triangle[:n, :n], triangle[:n, n]))
    return multipliers


def _signed_row(layer: OutputLayer, row: int, active: Indices) -> Floats:
    """Return a row of the system in floats."""
    coefficients = np.zeros(layer.width)
    kind = row - layer.n_labels
    if kind < 0:
        coefficients[: layer.d] = layer.weight[row]
        if layer.has_scale and layer.offset is not None:
            coefficients[layer.d] = layer.offset[row]
        if layer.has_threshold:
            coefficients[-1] = -1.0
        return coefficients if row in active else -coefficients
    if kind == 0:
        coefficients[layer.d] = 1.0
        return coefficients
    j, bounds, sign = ((kind - 3) % layer.d, *((layer.low, 1.0) if kind - 3 < layer.d else (layer.high, -1.0)))
    coefficients[j] = sign
    if layer.has_scale and bounds is not None:
        coefficients[layer.d] = -sign * bounds[j]
    return coefficients


def _padded(x: Witness, kept: Indices, d: int) -> Witness:
    if isinstance(x, tuple):
        whole = [Fraction(0)] * d
        for j, value in zip(kept.tolist(), x, strict=True):
            whole[j] = value
        return tuple(whole)
    padded = np.zeros(d)
    padded[kept] = x
    return padded


def _whole_rows(layer: OutputLayer, kept: Indices, rows: Indices) -> Indices:
    """Translate row numbers of the restricted layer into those of the whole one."""
    n, m = layer.n_labels, len(kept)
    feature = kept[np.maximum(rows - n - 3, 0) % m]
    bounds = np.where(rows - n - 3 < m, layer.low_row(0), layer.high_row(0)) + feature
    return np.where(rows < n + 3, rows, bounds)
