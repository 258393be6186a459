"""Average precision and AUROC from histograms of the scores, for streams too long to keep.

The value is the exact one of the scores rounded down to the given edges: scores between two edges count as tied. So
AUROC differs from that of the raw scores by at most half the share of pairs of a true and a false entry in one bin.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from labelproof.metrics.arguments import FloatArray
from labelproof.metrics.batches import Batch
from labelproof.metrics.formulas import mean_of_defined
from labelproof.metrics.metric import Metric
from labelproof.metrics.ranks import Ranks

__all__ = ["binned_curve", "read_edges"]


def binned_curve(name: str, value: Callable[[Ranks], FloatArray], average: str, edges: FloatArray) -> Metric:
    """Return the additive metric with this value of the ranks, "micro", "macro" or "weighted", from histograms."""

    def finish(sums: FloatArray) -> float:
        ranks = _ranks_of_histogram(sums.sum(1, keepdims=True) if average == "micro" else sums)
        weight = ranks.n_true if average == "weighted" else np.ones(ranks.n_groups)
        return float(mean_of_defined(value(ranks), weight, zero_division=np.nan))

    return Metric(name, "ranking", True, lambda batch: histogram(batch, edges), finish)


def histogram(batch: Batch, edges: FloatArray) -> FloatArray:
    """Weight of the false and of the true entries of each label between the edges, (2, n_labels, n_edges + 1)."""
    n_labels, n_bins = batch.shape[1], len(edges) + 1
    place = np.searchsorted(edges, batch.score, side="right") + n_bins * np.arange(n_labels)  # (n, L)
    rows, labels = batch.true.rows, batch.true.indices
    weight = np.broadcast_to(batch.weight[:, None], place.shape)
    everything = np.bincount(place.ravel(), weight.ravel(), n_labels * n_bins)
    true = np.bincount(place[rows, labels], batch.weight[rows], n_labels * n_bins)
    return np.stack([everything - true, true]).reshape(2, n_labels, n_bins)


def _ranks_of_histogram(sums: FloatArray) -> Ranks:
    """Return the ranks of true entries that are tied within each bin; one entry stands for all of a bin."""
    everything, true = sums.sum(0), sums[1]  # (L, bins)
    group, place = np.nonzero(true)

    def above(counts: FloatArray) -> FloatArray:
        return (counts.sum(1, keepdims=True) - np.cumsum(counts, axis=1))[group, place]

    return Ranks(
        group=group,
        n_groups=len(true),
        size=everything.sum(1),
        n_true=true.sum(1),
        above=above(everything),
        tied=everything[group, place],
        true_above=above(true),
        true_tied=true[group, place],
        weight=true[group, place],
    )


def read_edges(edges: Any) -> FloatArray:
    """Read the edges of bins: a strictly ascending list of numbers."""
    values = np.asarray(edges, np.float64)
    if values.ndim != 1 or not len(values) or not np.all(np.diff(values) > 0) or np.isnan(values).any():
        raise ValueError(f"edges must be numbers in strictly ascending order, got {edges!r}")
    return values
