"""A metric as sums over examples and a function of the sums, so that one definition serves arrays and streams."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from labelproof.metrics.arguments import FloatArray
from labelproof.metrics.batches import Batch
from labelproof.metrics.counts import Counts

__all__ = ["Metric", "from_counts", "mean_over_examples"]

Kind = Literal["set", "ranking", "probability"]


@dataclass(frozen=True)
class Metric:
    """A metric, by what it adds up over examples and by what it makes of the sums.

    Parameters
    ----------
    name
        Its name, from which `by_name` makes it again.
    kind
        What it reads besides y_true: "set" predicted labels, "ranking" scores of any scale, "probability" scores
        from 0 to 1.
    greater_is_better
        False for a loss or an error.
    statistics
        Batch → array of sums over its examples.
    finish
        Those sums → the value.
    of_counts
        For set metrics that depend on the counts of labels alone: (tp, fp, fn, tn), arrays of shape
        (..., n_labels), to values of shape (...). None for all others.
    additive
        Whether the sums of two batches add up to those of both together, so that a stream gives the exact value.
        Where not (average precision over labels, AUROC), `statistics` must see all examples at once.

    Examples
    --------
    >>> from labelproof.metrics import by_name
    >>> metric = by_name("micro-f1")
    >>> metric.kind, metric.greater_is_better, metric([[1, 0]], [[1, 1]])
    ('set', True, 0.6666666666666666)
    """

    name: str
    kind: Kind
    greater_is_better: bool
    statistics: Callable[[Batch], FloatArray]
    finish: Callable[[FloatArray], float]
    of_counts: Callable[[FloatArray, FloatArray, FloatArray, FloatArray], FloatArray] | None = None
    additive: bool = True

    def __call__(self, y_true: Any, y_pred_or_score: Any, *, sample_weight: Any = None) -> float:
        """Evaluate the metric on all examples at once; arrays or sparse matrices of shape (n_examples, n_labels)."""
        part = "y_pred" if self.kind == "set" else "y_score"
        batch = Batch(y_true, **{part: y_pred_or_score}, sample_weight=sample_weight)
        return self.evaluate(batch)

    def evaluate(self, batch: Batch) -> float:
        """Evaluate the metric on a batch, which shares what it has computed with other metrics."""
        return float(self.finish(self.statistics(batch)))


def from_counts(name: str, value: Callable[[Counts], FloatArray], *, greater_is_better: bool = True) -> Metric:
    """Return the set metric with this value of the labels' counts."""

    def of_counts(tp: FloatArray, fp: FloatArray, fn: FloatArray, tn: FloatArray) -> FloatArray:
        return value(Counts(*(np.asarray(x, np.float64) for x in (tp, fp, fn, tn))))

    def finish(sums: FloatArray) -> float:
        return float(of_counts(*sums))

    return Metric(name, "set", greater_is_better, _label_counts, finish, of_counts)


def mean_over_examples(
    name: str,
    kind: Kind,
    values: Callable[[Batch], FloatArray],
    *,
    greater_is_better: bool = True,
    undefined: float = np.nan,
) -> Metric:
    """Return the weighted mean of one value per example; NaN among them counts as `undefined`, or is left out."""

    def statistics(batch: Batch) -> FloatArray:
        value = values(batch)
        value = np.where(np.isnan(value), undefined, value)
        defined = ~np.isnan(value) & (batch.weight > 0)
        return np.array([batch.weight[defined] @ value[defined], batch.weight[defined].sum()])

    return Metric(name, kind, greater_is_better, statistics, _quotient)


def _label_counts(batch: Batch) -> FloatArray:
    return np.stack(batch.counts[0].arrays)  # (4, L)


def _quotient(sums: FloatArray) -> float:
    return float(sums[0] / sums[1]) if sums[1] else float("nan")
