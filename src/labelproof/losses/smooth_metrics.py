"""Metrics of a confusion matrix as smooth functions of its counts, and as losses where labels lack a positive."""

from typing import Literal, NamedTuple

import torch
from torch import Tensor

from labelproof.losses.metric_ratios import Factors, Metric

__all__ = ["EMPTY", "Counts", "Empty", "formula", "losses_of_counts"]

Empty = Literal["skip", "smooth", "memory"]
EMPTY = ("skip", "smooth", "memory")


class Counts(NamedTuple):
    """Σ s·y, Σ s, Σ y and Σ 1 for scores s and targets y: hits, labels predicted, labels positive, and all labels."""

    hits: Tensor
    predicted: Tensor
    positives: Tensor
    total: Tensor


def formula(metric: Metric, counts: Counts) -> Tensor:
    """Return the metric of counts.

    Examples
    --------
    >>> from labelproof.losses.metric_ratios import read_metric
    >>> formula(read_metric("jaccard"), Counts(*torch.tensor([2.0, 3.0, 4.0, 9.0])))
    tensor(0.4000)
    """
    if not metric.ratios:
        return _correlation(counts)
    values = [_ratio(_weighted(above, counts), _weighted(below, counts)) for above, below in metric.ratios]
    return values[0] if len(values) == 1 else torch.stack(values).mean(0)


def losses_of_counts(
    counts: Tensor, metric: Metric, *, empty: Empty = "smooth", smoothing: float = 1.0, memory: Tensor | None = None
) -> tuple[Tensor, Tensor, Tensor]:
    """Return 1 - metric for each column of counts, 1 where it is kept and 0 where it is left out, and its support.

    Parameters
    ----------
    counts
        Tensor of shape (4, ...), as `confusion_counts` returns it.
    metric
        A metric, as `read_metric` returns it.
    empty, smoothing, memory
        As for `confusion_loss`.

    Returns
    -------
    losses, kept, support
        Tensors of shape (...). A column that is left out has the loss 0.
    """
    left_out = counts[3] <= 0
    if empty == "smooth":  # as if a hit, or a label that is rightly not predicted, had been seen as well
        if metric.needs_positives:
            counts = counts + smoothing * _lacks_positives(counts)
        if metric.needs_negatives:
            to_total = counts.new_tensor([0.0, 0.0, 0.0, smoothing]).reshape(4, *[1] * (counts.ndim - 1))
            counts = counts + to_total * _lacks_negatives(counts)
    else:
        if empty == "memory" and memory is not None:
            counts = torch.where(_lacks(counts, metric), counts + memory.to(counts), counts)
        left_out = left_out | _lacks(counts, metric)
    losses = torch.where(left_out, 0.0, 1 - formula(metric, Counts(*counts.unbind())))
    return losses, (~left_out).to(losses.dtype), counts[2].detach()


def _lacks(counts: Tensor, metric: Metric) -> Tensor:
    """Return where there is none of what the metric needs."""
    return (_lacks_positives(counts) & metric.needs_positives) | (_lacks_negatives(counts) & metric.needs_negatives)


def _lacks_positives(counts: Tensor) -> Tensor:
    return counts[2] <= 0


def _lacks_negatives(counts: Tensor) -> Tensor:
    rounding = 4 * torch.finfo(counts.dtype).eps  # of sums of weights, which cancel here
    return counts[3] - counts[2] <= rounding * counts[3]


def _ratio(above: Tensor, below: Tensor) -> Tensor:
    """Return above / below, and 0 with gradient 0 where below is 0."""
    empty = below == 0
    return torch.where(empty, 0.0, above / torch.where(empty, 1.0, below))


def _correlation(c: Counts) -> Tensor:
    """Return Matthews' correlation, from shares of the total so that products of counts cannot overflow."""
    hits, predicted, positives = (_ratio(count, c.total) for count in (c.hits, c.predicted, c.positives))
    spread = predicted * (1 - predicted) * positives * (1 - positives)
    flat = spread <= 0
    return torch.where(flat, 0.0, (hits - predicted * positives) / torch.where(flat, 1.0, spread).sqrt())


def _weighted(factors: Factors, counts: Counts) -> Tensor:
    """Return the sum of counts times their factors, which are not all 0."""
    terms = [count if factor == 1 else factor * count for factor, count in zip(factors, counts, strict=True) if factor]
    return sum(terms[1:], terms[0])
