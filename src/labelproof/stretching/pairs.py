"""Pairs of labels that no mixture of the examples combines, and labels that are never predicted."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
import numpy.typing as npt

from labelproof.foundation.compilation import announcing_compilation
from labelproof.foundation.progress import progress_bar
from labelproof.foundation.threads import in_threads, usable_cores
from labelproof.foundation.wording import at_least
from labelproof.proof.examples import Examples, read_examples
from labelproof.proof.labels import LabelSets, read_label_sets
from labelproof.proof.pair_bounds import MOST_LOGITS, LogitTable, logit_table
from labelproof.proof.pair_result import PairStretch
from labelproof.proof.regions import OutputLayer, make_layer
from labelproof.proof.stretch_bar import predicted_sets
from labelproof.stretching.pair_kernels import cover_pairs

__all__ = ["DeadLabel", "dead_labels", "find_dead", "measure_pairs", "stretch_pairs"]

Floats = npt.NDArray[np.float64]
Indices = npt.NDArray[np.int64]
MOST_PAIRS = 1_000_000
AT_ONCE = 1000
MARGINS = (1e-5, 1e-3)  # of a label's scale, that logits keep from 0: the second where the first proves nothing
SLACKS = 4.0  # times the rounding error that kept bounds leave, so that they hold again elsewhere


def stretch_pairs(
    weight: Any,
    labels: Any,
    features: Any,
    *,
    bias: Any = None,
    thresholds: Any = None,
    every: bool = False,
    n_jobs: int | None = None,
    progress: bool = False,
) -> PairStretch:
    """Measure the stretch of pairs of labels, both on and all others free, with a proof.

    Parameters
    ----------
    weight, bias, thresholds, features, n_jobs, progress
        As for `stretch`; the rule is sigmoid.
    labels
        Label sets, as for `verify`: the pairs that occur in them are measured.
    every
        Measure every pair of labels, also those that do not occur; up to a million.

    Examples
    --------
    >>> p = stretch_pairs(np.eye(2), [[0, 1], [0, 1], [0]], [[1.0, -1.0], [-1.0, 1.0], [-1.0, -1.0]])
    >>> p.pairs.tolist(), p.counts.tolist(), p.lower.round(2).tolist()
    ([[0, 1]], [2], [1.0])
    """
    layer = make_layer(weight, bias=bias, thresholds=thresholds)
    examples, sets = read_examples(features, layer.d), read_label_sets(labels, layer.n_labels)
    return measure_pairs(layer, sets, examples, every=every, n_jobs=n_jobs, progress=progress)


def measure_pairs(
    layer: OutputLayer,
    sets: LabelSets,
    examples: Examples,
    *,
    every: bool = False,
    n_jobs: int | None = None,
    progress: bool = False,
) -> PairStretch:
    """Measure pairs for a layer that is held already; see `stretch_pairs`."""
    pairs, counts = _occurring(sets)
    if every:
        pairs, counts = _every(layer.n_labels, pairs, counts)
    if len(pairs) > MOST_PAIRS:
        raise ValueError(f"labels must have at most {MOST_PAIRS:,} pairs to measure, got {len(pairs):,}")
    involved, places = np.unique(pairs, return_inverse=True)
    places = places.reshape(pairs.shape)
    table = logit_table(layer, examples, involved, slacks=SLACKS)
    weights, theta, chosen = np.zeros((len(pairs), 2)), np.zeros((len(pairs), 2)), np.zeros((len(pairs), 2), np.int64)
    lower, upper = np.zeros(len(pairs)), np.zeros(len(pairs))

    def work(start: int) -> int:
        some = slice(start, start + AT_ONCE)
        lower[some], upper[some] = _measure(table, places[some], weights[some], chosen[some], theta[some])
        return len(lower[some])

    with announcing_compilation(), progress_bar("measuring pairs", len(pairs), show=progress) as advance:
        for done in in_threads(work, range(0, len(pairs), AT_ONCE), n_jobs or usable_cores()):
            advance(done)
    return PairStretch(layer, examples, pairs, counts, lower, upper, chosen, weights, theta)


def _measure(
    table: LogitTable, pairs: Indices, weights: Floats, examples: Indices, theta: Floats
) -> tuple[Floats, Floats]:
    scale = np.where(table.highest > 0, table.highest, 1.0)
    lower, upper = np.zeros(len(pairs)), np.full(len(pairs), np.inf)
    left = np.arange(len(pairs))
    for margin in MARGINS:
        w, e, t = np.zeros((len(left), 2)), np.zeros((len(left), 2), np.int64), np.zeros((len(left), 2))
        cover_pairs(table.beyond, table.centre, scale, margin, pairs[left], w, e, t)
        low, high = table.lowers(pairs[left], t), table.uppers(pairs[left], e, w)
        better = low > lower[left]
        lower[left[better]], theta[left[better]] = low[better], t[better].astype(np.float32)
        upper[left], weights[left], examples[left] = high, w, e
        left = left[(high == np.inf) & np.isfinite(w).all(axis=1)]
    return lower, upper


def _occurring(sets: LabelSets) -> tuple[Indices, Indices]:
    """Return the pairs of labels that occur, and how often."""
    codes = np.fromiter(_codes(sets), np.int64)
    found, counts = np.unique(codes, return_counts=True)
    return np.column_stack([found // sets.n_labels, found % sets.n_labels]), counts


def _codes(sets: LabelSets) -> Iterator[int]:
    for active in sets:
        for a, b in combinations(active.tolist(), 2):
            yield a * sets.n_labels + b


def _every(n_labels: int, pairs: Indices, counts: Indices) -> tuple[Indices, Indices]:
    if n_labels * (n_labels - 1) // 2 > MOST_PAIRS:
        raise ValueError(f"every= is for up to {MOST_PAIRS:,} pairs of labels, got those of {n_labels:,} labels")
    square = np.zeros((n_labels, n_labels), np.int64)
    square[pairs[:, 0], pairs[:, 1]] = counts
    first, second = np.triu_indices(n_labels, 1)
    return np.column_stack([first, second]).astype(np.int64), square[first, second]


@dataclass(frozen=True)
class DeadLabel:
    """A label that was predicted for none of the inputs.

    Attributes
    ----------
    label, true
        Its number, and how many of the label sets given have it.
    lower
        Proven: this far beyond all mixtures of the inputs the label is still off. 0 if nothing is proven.
    reason
        What is proven, in words; empty if nothing is.
    """

    label: int
    true: int
    lower: float
    reason: str


def dead_labels(
    weight: Any, labels: Any, features: Any, *, bias: Any = None, thresholds: Any = None
) -> list[DeadLabel]:
    """List the labels that are predicted for none of the inputs, those with the most true examples first.

    Parameters
    ----------
    weight, bias, thresholds
        As for `stretch`; the rule is sigmoid.
    labels
        Label sets of the same or other examples, as for `verify`, in which true examples are counted.
    features
        As for `stretch`.

    Examples
    --------
    >>> dead = dead_labels([[1.0], [0.0]], [[0], [0, 1]], [[-1.0], [1.0]], bias=[0.0, -1.0])
    >>> [(one.label, one.true, one.reason) for one in dead]
    [(1, 1, 'off for every input: its weights are all 0')]
    """
    layer = make_layer(weight, bias=bias, thresholds=thresholds)
    examples, sets = read_examples(features, layer.d), read_label_sets(labels, layer.n_labels)
    return find_dead(layer, sets, examples)


def find_dead(
    layer: OutputLayer, sets: LabelSets, examples: Examples, predicted: LabelSets | None = None
) -> list[DeadLabel]:
    """List dead labels of a layer that is held already; ``predicted`` are the sets of the examples and other inputs."""
    theirs = predicted_sets(layer, examples) if predicted is None else predicted
    predictions = np.bincount(theirs.indices, minlength=layer.n_labels)
    true = np.bincount(sets.indices, minlength=layer.n_labels)
    dead = np.flatnonzero(predictions == 0)
    if not len(dead):
        return []
    step = max(1, MOST_LOGITS // len(examples))
    parts = [dead[start : start + step] for start in range(0, len(dead), step)]
    lowers = np.concatenate([logit_table(layer, examples, part).single_lowers() for part in parts])
    without = np.asarray(~layer.weight[dead].any(axis=1))
    found = [
        DeadLabel(label, int(true[label]), low, _reason(low, nothing))
        for label, low, nothing in zip(dead.tolist(), lowers.tolist(), without.tolist(), strict=True)
    ]
    return sorted(found, key=lambda one: (-one.true, one.label))


def _reason(lower: float, without_weights: bool) -> str:
    if without_weights and lower > 0:
        return "off for every input: its weights are all 0"
    if lower > 1:
        return f"off at every mixture of the inputs, up to {at_least(lower)} times as far out"
    return ""
