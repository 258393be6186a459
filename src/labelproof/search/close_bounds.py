"""Decide label sets of layers with features whose bounds are close together, such as those that hardly vary in data.

Two bounds a millionth apart are nearly a contradiction, through which every search must squeeze: hundreds of times as
long as without them. So such features are first held in the middle of their bounds, where they are but constants. An
input found there is one within the bounds as well, and a conflict found there is mostly one between the bounds, which
is asked of the proof. What is left is decided as it is, in units in which close bounds around 0 are about 1 apart.
These are powers of two, so that nothing is rounded. The search in columns leaves features out at 0 and has no such
trouble, so it takes its layers as they are.
"""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from labelproof.proof.conflicts import conflict_faults
from labelproof.proof.labels import LabelSets
from labelproof.proof.regions import OutputLayer
from labelproof.proof.rounding import Witness
from labelproof.search.engine import decide
from labelproof.search.few_features import searches_in_columns
from labelproof.search.findings import Finding

__all__ = ["decide_close_bounds_first"]

Indices = npt.NDArray[np.int64]
CLOSE = 1e-3  # of the largest weight, that a feature's bounds times its own weights are apart


def decide_close_bounds_first(
    layer: OutputLayer,
    sets: LabelSets,
    *,
    n_jobs: int | None = None,
    time_limit: float | None = None,
    advance: Callable[[int], None] = lambda _: None,
) -> list[Finding]:
    """Return proven evidence for every label set, as `decide` does."""
    which = _close_columns(layer)
    if not len(which):
        return decide(layer, sets, n_jobs=n_jobs, time_limit=time_limit, advance=advance, many_rows=True)
    found = decide(_held(layer, which), sets, n_jobs=n_jobs, time_limit=time_limit)
    _keep_conflicts(layer, sets, found)
    left = [i for i, one in enumerate(found) if one.point is None and one.conflict is None]
    advance(len(sets) - len(left))
    powers = _powers(layer, which)
    rest = decide(_in_units(layer, powers), sets.take(left), n_jobs=n_jobs, time_limit=time_limit, advance=advance)
    for i, one in zip(left, rest, strict=True):
        x = None if one.witness is None else _from_units(one.witness, powers)
        if (one.witness is not None and x is None) or one.multipliers is not None:  # those are of other units
            found[i] = decide(layer, sets.take([i]), n_jobs=n_jobs, time_limit=time_limit)[0]
        else:
            found[i] = one if x is None else replace(one, point=x)
    return found


def _keep_conflicts(layer: OutputLayer, sets: LabelSets, found: list[Finding]) -> None:
    """Forget the conflicts of held features that floats do not prove between the bounds."""
    conflicts = {i: one.conflict for i, one in enumerate(found) if one.conflict is not None}
    faults = conflict_faults(layer, sets.take(list(conflicts)), list(conflicts.values()), lambda _: False)
    for i, fault in zip(conflicts, faults, strict=True):
        if fault is not None or found[i].multipliers is not None:  # those are of held features
            found[i] = Finding(reason="the conflict is one of held features only")


def _close_columns(layer: OutputLayer) -> Indices:
    """Return the features whose bounds are close together, but not the same."""
    if layer.low is None or layer.high is None or layer.sparse is not None or searches_in_columns(layer):
        return np.empty(0, np.int64)
    with np.errstate(over="ignore"):
        width = layer.high - layer.low
        some = np.flatnonzero((width > 0) & np.isfinite(width))
        if not len(some):
            return some
        pull = np.abs(layer.weight[:, some]).max(axis=0) * width[some]
        return some[pull <= CLOSE * np.abs(layer.weight).max()]


def _held(layer: OutputLayer, which: Indices) -> OutputLayer:
    assert layer.low is not None and layer.high is not None  # noqa: S101, PT018 - they have close bounds
    low, high = layer.low.copy(), layer.high.copy()
    middle = np.clip(low[which] + 0.5 * (high[which] - low[which]), low[which], high[which])
    low[which] = high[which] = middle
    return replace(layer, low=low, high=high)


def _powers(layer: OutputLayer, which: Indices) -> Indices:
    """Return p for each feature, 0 for most: x = 2**p · t has bounds of about 1 on t, and nothing underflows."""
    assert layer.low is not None and layer.high is not None  # noqa: S101, PT018 - they have close bounds
    powers = np.zeros(layer.d, np.int64)
    largest = np.maximum(np.abs(layer.low[which]), np.abs(layer.high[which]))
    powers[which] = np.minimum(np.frexp(largest)[1], 0)
    weight = layer.weight[:, which]
    kept = (np.ldexp(np.ldexp(weight, powers[which]), -powers[which]) == weight).all(axis=0)
    powers[which[~kept]] = 0
    return powers


def _in_units(layer: OutputLayer, powers: Indices) -> OutputLayer:
    assert layer.low is not None and layer.high is not None  # noqa: S101, PT018 - they have close bounds
    weight = np.ldexp(layer.weight, powers)
    return replace(layer, weight=weight, low=np.ldexp(layer.low, -powers), high=np.ldexp(layer.high, -powers))


def _from_units(x: Witness, powers: Indices) -> Witness | None:
    """Return the same input in the layer's own units, or None where floats are too coarse there."""
    if isinstance(x, tuple):
        return tuple(c / 2**-p for c, p in zip(x, powers.tolist(), strict=True))
    found = np.ldexp(x, powers)
    return found if np.array_equal(np.ldexp(found, -powers), x) else None
