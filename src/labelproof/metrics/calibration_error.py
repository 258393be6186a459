"""Whether probabilities can be taken at their word: expected calibration error and Brier loss."""

from typing import Any, SupportsIndex

import numpy as np

from labelproof.foundation.arguments import whole_number
from labelproof.metrics.arguments import FloatArray
from labelproof.metrics.batches import N_BINS, Batch
from labelproof.metrics.documentation import documented
from labelproof.metrics.formulas import mean_of_defined, ratio, read_average

__all__ = [
    "average_calibration_error",
    "brier_loss",
    "expected_calibration_error",
    "mean_squared_error",
]


@documented
def expected_calibration_error(
    y_true: Any,
    y_prob: Any,
    *,
    average: str | None = "micro",
    n_bins: SupportsIndex = N_BINS,
    sample_weight: Any = None,
) -> Any:
    """Mean distance between probability and frequency over bins of equal width (ECE).

    Each bin [i/m, (i+1)/m), the last one with its end, brings |mean probability - share of true entries| with the
    weight of the entries in it.

    Parameters
    ----------
    {y_true}
    y_prob
        Probabilities, of the same shape.
    average
        "micro" pools the entries of all labels; None has bins for every label, "macro" and "weighted" (by the number
        of true examples) average those. Pooling lets labels cancel out: the pooled error is never above "macro".
    n_bins
        Number of bins m, at least 1.
    {sample_weight}

    Returns
    -------
    float, or array of shape (n_labels,) when average is None

    Examples
    --------
    >>> y_true, y_prob = [[1, 0], [1, 0]], [[0.75, 0.75], [0.75, 0.75]]
    >>> expected_calibration_error(y_true, y_prob), expected_calibration_error(y_true, y_prob, average=None).tolist()
    (0.25, [0.25, 0.75])
    """
    read_average(average, samples=False)
    batch = Batch(y_true, y_score=y_prob, sample_weight=sample_weight)
    return average_calibration_error(batch.reliability(whole_number("n_bins", n_bins, minimum=1)), average)


@documented
def brier_loss(y_true: Any, y_prob: Any, *, average: str | None = "macro", sample_weight: Any = None) -> Any:
    """Mean squared difference of probability and truth.

    Parameters
    ----------
    {y_true}
    y_prob
        Probabilities, of the same shape.
    average
        "macro" and "micro" are both the mean over all entries; "weighted" weighs labels by their number of true
        examples; None gives every label.
    {sample_weight}

    Returns
    -------
    float, or array of shape (n_labels,) when average is None

    Examples
    --------
    >>> brier_loss([[1, 0], [0, 0]], [[0.5, 0.5], [0.5, 0.5]])
    0.25
    """
    read_average(average, samples=False)
    return mean_squared_error(Batch(y_true, y_score=y_prob, sample_weight=sample_weight).reliability(1), average)


def average_calibration_error(sums: FloatArray, average: str | None) -> Any:
    """Return the calibration error from `Batch.reliability`."""
    if average == "micro":
        sums = sums.sum(0, keepdims=True)
    values = ratio(np.abs(sums[..., 1] - sums[..., 2]).sum(-1), sums[..., 0].sum(-1))
    return _average(values, sums, average)


def mean_squared_error(sums: FloatArray, average: str | None) -> Any:
    """Return the Brier loss from `Batch.reliability`."""
    return _average(ratio(sums[..., 3].sum(-1), sums[..., 0].sum(-1)), sums, average)


def _average(values: FloatArray, sums: FloatArray, average: str | None) -> Any:
    if average is None:
        return values
    weight = sums[..., 2].sum(-1) if average == "weighted" else np.ones(len(values))
    return float(mean_of_defined(values, weight, zero_division=np.nan))
