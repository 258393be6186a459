"""Set metrics as formulas of the four counts, and the ways to average them over labels.

Every formula takes `Counts` of arrays of any one shape and returns an array of it, NaN where it is 0/0.
"""

from collections.abc import Callable
from numbers import Real
from typing import Any, Literal, get_args

import numpy as np
import numpy.typing as npt

from labelproof.foundation.arguments import check_choice
from labelproof.metrics.arguments import FloatArray
from labelproof.metrics.counts import Counts

__all__ = [
    "FORMULAS",
    "Formula",
    "average_counts",
    "f1_of_mean_precision_and_recall",
    "fbeta",
    "mean_of_defined",
    "paper_weighted_f1",
    "ratio",
    "read_average",
    "read_zero_division",
]

Formula = Callable[[Counts], FloatArray]
Average = Literal["micro", "macro", "weighted", "samples"]


def ratio(numerator: npt.NDArray[Any], denominator: npt.NDArray[Any]) -> FloatArray:
    """Divide; NaN where the denominator is 0."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(denominator == 0, np.nan, np.divide(numerator, denominator))


def precision(c: Counts) -> FloatArray:
    """Return tp / (tp + fp)."""
    return ratio(c.tp, c.tp + c.fp)


def recall(c: Counts) -> FloatArray:
    """Return tp / (tp + fn)."""
    return ratio(c.tp, c.tp + c.fn)


def fbeta(beta: float) -> Formula:
    """Return the formula of F_β: (1 + β²) tp / ((1 + β²) tp + β² fn + fp)."""
    if not (isinstance(beta, Real) and 0 < beta < np.inf):
        raise ValueError(f"beta must be a finite number above 0, got {beta!r}")
    b = float(beta) ** 2

    def formula(c: Counts) -> FloatArray:
        return ratio((1 + b) * c.tp, (1 + b) * c.tp + b * c.fn + c.fp)

    return formula


def jaccard(c: Counts) -> FloatArray:
    """Return tp / (tp + fp + fn)."""
    return ratio(c.tp, c.tp + c.fp + c.fn)


def accuracy(c: Counts) -> FloatArray:
    """Return (tp + tn) / all."""
    return ratio(c.tp + c.tn, c.tp + c.fp + c.fn + c.tn)


def error(c: Counts) -> FloatArray:
    """Return (fp + fn) / all: the Hamming loss."""
    return ratio(c.fp + c.fn, c.tp + c.fp + c.fn + c.tn)


def specificity(c: Counts) -> FloatArray:
    """Return tn / (tn + fp)."""
    return ratio(c.tn, c.tn + c.fp)


def npv(c: Counts) -> FloatArray:
    """Return tn / (tn + fn), the negative predictive value."""
    return ratio(c.tn, c.tn + c.fn)


def mcc(c: Counts) -> FloatArray:
    """Matthews' correlation, (tp·tn - fp·fn) / √((tp+fp)(tp+fn)(tn+fp)(tn+fn))."""
    # Two roots, because the product of four counts of a large matrix loses digits that two factors keep.
    return ratio(
        c.tp * c.tn - c.fp * c.fn, np.sqrt((c.tp + c.fp) * (c.tn + c.fn)) * np.sqrt((c.tp + c.fn) * (c.tn + c.fp))
    )


def balanced_accuracy(c: Counts) -> FloatArray:
    """Mean of recall and specificity; where only one of them is defined, that one."""
    both = recall(c), specificity(c)
    defined = sum((~np.isnan(x)).astype(float) for x in both)
    return ratio(np.nan_to_num(both[0]) + np.nan_to_num(both[1]), np.asarray(defined))


FORMULAS: dict[str, Formula] = {
    "precision": precision,
    "recall": recall,
    "jaccard": jaccard,
    "accuracy": accuracy,
    "specificity": specificity,
    "npv": npv,
    "mcc": mcc,
    "balanced-accuracy": balanced_accuracy,
}


def average_counts(formula: Formula, counts: Counts, *, average: str | None, zero_division: float = 0.0) -> FloatArray:
    """Apply a formula to counts with labels on the last axis, and average over that axis.

    Parameters
    ----------
    formula
        One of `FORMULAS`, or ``fbeta(beta)``.
    counts
        Arrays of shape (..., n_labels).
    average
        "micro" adds the counts first; "macro" is the mean over labels; "weighted" weighs each label by tp + fn, and
        all alike where that is 0 for all; None returns every label's value, shape (..., n_labels).
    zero_division
        The value of 0/0; NaN leaves such labels out of the mean.

    Returns
    -------
    array of shape (...)

    Examples
    --------
    >>> counts = Counts(*np.array([[1.0, 3.0], [0.0, 1.0], [0.0, 2.0], [9.0, 4.0]]))
    >>> float(average_counts(jaccard, counts, average="macro"))
    0.75
    """
    if average == "micro":
        pooled = Counts(*(x.sum(-1) for x in counts.arrays))
        return _fill(formula(pooled), zero_division)
    values = _fill(formula(counts), zero_division)
    if average is None:
        return values
    weight = _support(counts, values) if average == "weighted" else np.ones_like(values)
    return mean_of_defined(values, weight, zero_division=zero_division)


def _support(counts: Counts, values: FloatArray) -> FloatArray:
    """Return tp + fn; 1 for every label where no label with a value has any, as in scikit-learn."""
    support = counts.tp + counts.fn
    weightless = np.where(np.isnan(values), 0.0, support).sum(-1, keepdims=True) == 0
    return np.where(weightless, 1.0, support)


def mean_of_defined(values: FloatArray, weight: FloatArray, *, zero_division: float) -> FloatArray:
    """Weighted mean over the last axis of the values that are not NaN; zero_division where no weight is left."""
    used = ~np.isnan(values) & (weight > 0)  # an infinite value of weight 0 is not used either
    weight = np.where(used, weight, 0.0)
    return _fill(ratio((np.where(used, values, 0.0) * weight).sum(-1), weight.sum(-1)), zero_division)


def f1_of_mean_precision_and_recall(counts: Counts, *, zero_division: float = 0.0) -> FloatArray:
    """Harmonic mean of macro precision and macro recall: never below the mean of the labels' F1."""
    p = average_counts(precision, counts, average="macro", zero_division=zero_division)
    r = average_counts(recall, counts, average="macro", zero_division=zero_division)
    return np.where(p + r == 0, 0.0, ratio(2 * p * r, p + r))


def paper_weighted_f1(counts: Counts, *, zero_division: float = 0.0) -> FloatArray:
    """Equation 11 of the sigmoidF1 paper as printed, 1/C Σ_j p_j F1_j with p_j = tp + fn, which exceeds 1."""
    values = (counts.tp + counts.fn) * _fill(fbeta(1.0)(counts), zero_division)
    return _fill(ratio(values.sum(-1), np.asarray(values.shape[-1])), zero_division)


def read_average(average: str | None, *, samples: bool = True) -> str | None:
    """Refuse an average that is none of "micro", "macro", "weighted", "samples" or None."""
    known = get_args(Average) if samples else get_args(Average)[:3]
    check_choice("average", average, (*known, None))
    return average


def read_zero_division(zero_division: float) -> float:
    """Refuse a value of 0/0 that is not a number from 0 to 1, or NaN."""
    if not (isinstance(zero_division, Real) and (np.isnan(zero_division) or 0 <= zero_division <= 1)):
        raise ValueError(f"zero_division must be a number from 0 to 1, or NaN, got {zero_division!r}")
    return float(zero_division)


def _fill(values: npt.ArrayLike, zero_division: float) -> FloatArray:
    values = np.asarray(values, np.float64)
    return np.where(np.isnan(values), zero_division, values)
