"""Metrics of a confusion matrix as smooth functions of its counts, and as losses where labels lack a positive."""

from dataclasses import dataclass
from difflib import get_close_matches
from typing import Literal, NamedTuple

import torch
from torch import Tensor

from labelproof.losses.reduction import check_positive

__all__ = ["EMPTY", "METRICS", "Counts", "Empty", "Metric", "losses_of_counts", "read_metric"]

Empty = Literal["skip", "smooth", "memory"]
EMPTY = ("skip", "smooth", "memory")
Factors = tuple[float, float, float, float]  # of hits, predicted, positives and total


class Counts(NamedTuple):
    """Σ s·y, Σ s, Σ y and Σ 1 for scores s and targets y: hits, labels predicted, labels positive, and all labels."""

    hits: Tensor
    predicted: Tensor
    positives: Tensor
    total: Tensor


@dataclass(frozen=True)
class Metric:
    """A metric, and whether it is undefined, or deaf to what is predicted, without a positive or a negative.

    It is the mean of ratios of two sums of counts, each given by the counts' factors; without a ratio, it is Matthews'
    correlation.
    """

    ratios: tuple[tuple[Factors, Factors], ...] = ()
    needs_positives: bool = True
    needs_negatives: bool = False

    def formula(self, counts: Counts) -> Tensor:
        """Return the metric of counts."""
        if not self.ratios:
            return _correlation(counts)
        values = [_ratio(_weighted(above, counts), _weighted(below, counts)) for above, below in self.ratios]
        return values[0] if len(values) == 1 else torch.stack(values).mean(0)


def read_metric(name: str, f_beta: float = 1.0) -> Metric:
    """Return the metric of this name; F-beta weighs recall f_beta times as much as precision.

    Examples
    --------
    >>> read_metric("jaccard").formula(Counts(*torch.tensor([2.0, 3.0, 4.0, 9.0])))
    tensor(0.4000)
    """
    if name == "fbeta":
        check_positive("f_beta", f_beta)
        square = f_beta**2
        return Metric(_over((1 + square, 0, 0, 0), (0, 1, square, 0)))
    if name not in METRICS:
        known = [*METRICS, "fbeta"]
        near = get_close_matches(str(name), known, n=2, cutoff=0.5)
        hint = f"; did you mean {' or '.join(map(repr, near))}?" if near else ""
        raise ValueError(f"metric must be one of {', '.join(map(repr, known))}, got {name!r}{hint}")
    return METRICS[name]


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
    losses = torch.where(left_out, 0.0, 1 - metric.formula(Counts(*counts.unbind())))
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


def _over(above: Factors, below: Factors) -> tuple[tuple[Factors, Factors], ...]:
    return ((above, below),)


_REJECTED = (1, -1, -1, 1)  # labels that are rightly not predicted: total - positives - (predicted - hits)
_RECALL = _over((1, 0, 0, 0), (0, 0, 1, 0))
_SPECIFICITY = _over(_REJECTED, (0, 0, -1, 1))

METRICS = {
    "f1": Metric(_over((2, 0, 0, 0), (0, 1, 1, 0))),
    "accuracy": Metric(_over((2, -1, -1, 1), (0, 0, 0, 1)), needs_positives=False),
    "precision": Metric(_over((1, 0, 0, 0), (0, 1, 0, 0))),
    "recall": Metric(_RECALL),
    "specificity": Metric(_SPECIFICITY, needs_positives=False, needs_negatives=True),
    "npv": Metric(_over(_REJECTED, (0, -1, 0, 1)), needs_positives=False, needs_negatives=True),
    "jaccard": Metric(_over((1, 0, 0, 0), (-1, 1, 1, 0))),
    "balanced-accuracy": Metric(_RECALL + _SPECIFICITY, needs_negatives=True),
    "mcc": Metric(needs_negatives=True),
}
