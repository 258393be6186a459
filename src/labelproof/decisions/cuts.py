"""Exact search for the scores at which labels switch on.

With tp true positives at hand, one more false positive never helps a metric, so an optimal cut lies just below the
score of a positive, or above all scores. It is enough to know, for each positive of a label, how many of the label's
scores are at least as large: for n examples and m positives that takes O((n + m) log m) per label, without sorting the
n scores.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from labelproof.decisions import cut_kernels
from labelproof.decisions.inputs import Floats, Labels, by_blocks, row_blocks
from labelproof.foundation.compilation import plain

__all__ = [
    "Doubles",
    "best_f",
    "best_jointly",
    "best_linear",
    "best_of",
    "counts_at_least",
    "curves",
    "cut_values",
    "pooled_curve",
    "thresholds_at",
    "values_at",
]

Doubles = npt.NDArray[np.float64]
Indices = npt.NDArray[np.int64]
BUCKETS = 2**16  # equal parts of the range of values in which a score is looked up before it is searched


@dataclass(frozen=True, eq=False)
class Curves:
    """What each cut counts that lies just below a positive's score.

    Attributes
    ----------
    ptr
        int64 (n_labels + 1,): the places ``ptr[j]:ptr[j + 1]`` belong to label j.
    values
        Scores of the positives, ascending for each label. Of equal values the first stands for the cut, the others
        count fewer true positives.
    predicted
        int64: how many scores of the label are ≥ the value.
    n
        Number of examples.
    """

    ptr: Indices
    values: Floats
    predicted: Indices
    n: int

    @property
    def positives(self) -> Indices:
        """Number of positives of each label, (n_labels,)."""
        return np.diff(self.ptr)

    @property
    def hits(self) -> Indices:
        """True positives of the cut at each place."""
        return np.repeat(self.ptr[1:], self.positives) - np.arange(len(self.values))


def curves(labels: Labels, scores: Floats) -> Curves:
    """Count for each positive of each label how many of the label's scores are at least as large.

    Examples
    --------
    >>> from labelproof.decisions.inputs import read_pair
    >>> found = curves(*read_pair([[1], [0], [1]], [[0.9], [0.5], [0.2]]))
    >>> found.values, found.predicted, found.hits
    (array([0.2, 0.9]), array([3, 1]), array([2, 1]))
    """
    of_label = labels.indices.astype(np.int64)
    ptr = np.concatenate([[0], np.cumsum(np.bincount(of_label, minlength=scores.shape[1]))])
    values = scores[labels.rows, of_label]
    return _counted(ptr, values[np.lexsort((values, of_label))], scores)


def pooled_curve(labels: Labels, scores: Floats) -> Curves:
    """Count the same as if all labels were one label with n_examples · n_labels scores."""
    values = np.sort(scores[labels.rows, labels.indices])
    column = scores.reshape(-1, 1)
    return Curves(np.array([0, len(values)]), values, counts_at_least(column, values)[0], len(column))


def counts_at_least(scores: Floats, values: Floats) -> Indices:
    """Return how many scores of each label are ≥ each of the ascending values, (n_labels, n_values)."""
    if not len(values):
        return np.zeros((scores.shape[1], 0), np.int64)
    low, width = float(values[0]), float(values[-1]) / BUCKETS - float(values[0]) / BUCKETS
    scale = 1 / width if width > 1e-300 else 0.0  # 0: one bucket
    table = np.empty(BUCKETS + 1, np.int64)
    cut_kernels.fill_buckets(values, low, scale, table)

    def count(block: slice) -> Indices:
        counts = np.zeros((scores.shape[1], len(values)), np.int64)
        cut_kernels.count_at_shared(scores[block], values, low, scale, table, counts)
        return counts

    blocks = row_blocks(scores.shape, per_thread=1)  # each block has counts of its own
    between = np.sum(by_blocks(count, blocks), axis=0)
    return np.cumsum(between[:, ::-1], axis=1)[:, ::-1]


def _counted(ptr: Indices, values: Floats, scores: Floats) -> Curves:
    def count(block: slice) -> Indices:
        counts = np.zeros(len(values), np.int64)
        cut_kernels.count_at_least(scores[block], ptr, values, counts)
        return counts

    between = np.sum(by_blocks(count, row_blocks(scores.shape)), axis=0)
    from_place = np.cumsum(between[::-1])[::-1]  # also counts the labels that follow
    after = np.append(from_place, 0)[ptr[1:]]
    return Curves(ptr, values, from_place - np.repeat(after, np.diff(ptr)), len(scores))


def best_f(found: Curves, beta: float = 1.0) -> tuple[Indices, Doubles]:
    """Return for each label the place of the cut that maximises its Fβ (−1: above all scores), and that Fβ."""
    return cut_kernels.best_f_cuts(found.ptr, plain(found.predicted), float(beta) ** 2)


def best_linear(found: Curves, price: float) -> Indices:
    """Return for each label the place of the cut that maximises tp − price · predicted; −1: above all scores."""
    return cut_kernels.best_linear_cuts(found.ptr, plain(found.predicted), float(price))


def best_jointly(found: Curves, beta: float = 1.0) -> tuple[Indices, float]:
    """Return the places of cuts that together maximise the pooled (micro) Fβ, and that Fβ.

    For cuts with the ratio F = (1 + β²) Σ tp / (Σ predicted + β² Σ positives), the maximum F* is where
    max Σ [(1 + β²) tp − F* predicted] = F* β² Σ positives. That maximum falls apart into one for each label; taking the
    F of its solution as the next F* rises to the optimum in finitely many steps (Dinkelbach), since there are finitely
    many cuts.
    """
    beta2 = float(beta) ** 2
    hits, total = found.hits, found.ptr[-1]
    places, best = np.full(len(found.ptr) - 1, -1), 0.0
    while True:
        trial = best_linear(found, best / (1 + beta2))
        at = trial[trial >= 0]
        value = (1 + beta2) * hits[at].sum() / max(found.predicted[at].sum() + beta2 * total, 1)
        if value <= best:
            return places, best
        places, best = trial, float(value)


def best_of(
    found: Curves, value: Callable[[Doubles, Doubles, Doubles, Doubles], Doubles], *, least: tuple[int, int] = (0, 0)
) -> tuple[Indices, Doubles]:
    """Return for each label the place of the cut with the largest value of (tp, fp, fn, tn), and that value.

    The value must not increase with false positives in the place of true negatives. Of equals the highest cut is
    taken, −1 where none is better than the ``least`` that can be predicted: hits and predictions, by default nothing.
    """
    sizes = found.positives
    of_place = np.repeat(sizes, sizes)
    values = value(*_four(found.hits, found.predicted, of_place, found.n))
    best = value(*_four(np.full(len(sizes), least[0]), np.full(len(sizes), least[1]), sizes, found.n)).copy()
    places = np.full(len(sizes), -1)
    for j in np.flatnonzero(sizes):
        part = values[found.ptr[j] : found.ptr[j + 1]][::-1]
        top = int(np.argmax(part))
        if part[top] > best[j]:
            places[j], best[j] = found.ptr[j + 1] - 1 - top, part[top]
    return places, best


def values_at(
    found: Curves, places: Indices, value: Callable[[Doubles, Doubles, Doubles, Doubles], Doubles]
) -> Doubles:
    """Return each label's value of (tp, fp, fn, tn) for the cut at its place, −1 for predicting nothing."""
    hits, predicted = np.zeros((2, len(places)), np.int64)
    some = places >= 0
    hits[some], predicted[some] = found.hits[places[some]], found.predicted[places[some]]
    return value(*_four(hits, predicted, found.positives, found.n))


def _four(hits: Indices, predicted: Indices, positives: Indices, n: int) -> tuple[Doubles, Doubles, Doubles, Doubles]:
    """Return tp, fp, fn, tn."""
    tp, chosen, m = (count.astype(np.float64) for count in (hits, predicted, positives))
    return tp, chosen - tp, m - tp, n - m - chosen + tp


def cut_values(found: Curves, places: Indices, *, highest: float = np.inf) -> Doubles:
    """Return the lowest score that each label's cut lets pass: a positive's, or ``highest`` where the place is −1."""
    values = np.full(len(places), highest)
    values[places >= 0] = found.values[places[places >= 0]]
    return values


def thresholds_at(scores: Floats, lowest: Doubles) -> Doubles:
    """Return finite thresholds t with score > t iff score ≥ lowest, half way to the next lower score of the label.

    Where no score is lower, t is the next smaller float; where lowest is ∞, t is the label's largest score.
    """

    def below(block: slice) -> Doubles:
        largest = np.full(scores.shape[1], -np.inf)
        cut_kernels.largest_below(scores[block], lowest, largest)
        return largest

    lower = np.max(by_blocks(below, row_blocks(scores.shape)), axis=0)
    with np.errstate(over="ignore", invalid="ignore"):
        middle = lower / 2 + lowest / 2
    thresholds = np.where((lower <= middle) & (middle < lowest), middle, lower)
    return np.where(np.isneginf(lower), np.nextafter(lowest, -np.inf), thresholds)
