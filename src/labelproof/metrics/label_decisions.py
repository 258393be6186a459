"""Metrics of the decision on every single label, true negatives included.

Arguments and averages are those of `sets`. Where labels are rare, true negatives make these values high for any
classifier, except Matthews' correlation and the balanced accuracy.
"""

from typing import Any

from labelproof.metrics import formulas
from labelproof.metrics.counts import count
from labelproof.metrics.documentation import documented
from labelproof.metrics.sets import score_sets

__all__ = [
    "accuracy_score",
    "balanced_accuracy_score",
    "hamming_loss",
    "matthews_corrcoef_score",
    "npv_score",
    "specificity_score",
]


@documented
def accuracy_score(
    y_true: Any,
    y_pred: Any,
    *,
    average: str | None,
    zero_division: float = 0.0,
    sample_weight: Any = None,
) -> Any:
    """Share of right decisions: (tp + tn) / (tp + fp + fn + tn).

    scikit-learn's function of this name, given label matrices, is our `exact_match_score`.

    Parameters
    ----------
    {labels}
    {average}
    {zero_division}
    {sample_weight}

    Returns
    -------
    float, or array of shape (n_labels,) when average is None

    Examples
    --------
    >>> round(accuracy_score([[1, 0], [1, 1]], [[1, 1], [0, 1]], average="macro"), 4)
    0.5
    """
    return score_sets(formulas.FORMULAS["accuracy"], y_true, y_pred, average, zero_division, sample_weight)


@documented
def specificity_score(
    y_true: Any,
    y_pred: Any,
    *,
    average: str | None,
    zero_division: float = 0.0,
    sample_weight: Any = None,
) -> Any:
    """Share of the absent labels that are not predicted: tn / (tn + fp).

    Parameters
    ----------
    {labels}
    {average}
    {zero_division}
    {sample_weight}

    Returns
    -------
    float, or array of shape (n_labels,) when average is None

    Examples
    --------
    >>> round(specificity_score([[1, 0], [1, 1]], [[1, 1], [0, 1]], average="macro"), 4)
    0.0
    """
    return score_sets(formulas.FORMULAS["specificity"], y_true, y_pred, average, zero_division, sample_weight)


@documented
def npv_score(
    y_true: Any,
    y_pred: Any,
    *,
    average: str | None,
    zero_division: float = 0.0,
    sample_weight: Any = None,
) -> Any:
    """Negative predictive value, the share of the labels not predicted that are absent: tn / (tn + fn).

    Parameters
    ----------
    {labels}
    {average}
    {zero_division}
    {sample_weight}

    Returns
    -------
    float, or array of shape (n_labels,) when average is None

    Examples
    --------
    >>> round(npv_score([[1, 0], [1, 1]], [[1, 1], [0, 1]], average="macro"), 4)
    0.0
    """
    return score_sets(formulas.FORMULAS["npv"], y_true, y_pred, average, zero_division, sample_weight)


@documented
def matthews_corrcoef_score(
    y_true: Any,
    y_pred: Any,
    *,
    average: str | None,
    zero_division: float = 0.0,
    sample_weight: Any = None,
) -> Any:
    """Matthews' correlation of prediction and truth, from -1 to 1.

    Parameters
    ----------
    {labels}
    {average}
    {zero_division}
    {sample_weight}

    Returns
    -------
    float, or array of shape (n_labels,) when average is None

    Examples
    --------
    >>> round(matthews_corrcoef_score([[1, 0], [1, 1]], [[1, 1], [0, 1]], average="macro"), 4)
    0.0
    """
    return score_sets(formulas.FORMULAS["mcc"], y_true, y_pred, average, zero_division, sample_weight)


@documented
def balanced_accuracy_score(
    y_true: Any,
    y_pred: Any,
    *,
    average: str | None,
    zero_division: float = 0.0,
    sample_weight: Any = None,
) -> Any:
    """Mean of recall and specificity; where only one of them is defined, that one.

    Parameters
    ----------
    {labels}
    {average}
    {zero_division}
    {sample_weight}

    Returns
    -------
    float, or array of shape (n_labels,) when average is None

    Examples
    --------
    >>> round(balanced_accuracy_score([[1, 0], [1, 1]], [[1, 1], [0, 1]], average="macro"), 4)
    0.5
    """
    return score_sets(formulas.FORMULAS["balanced-accuracy"], y_true, y_pred, average, zero_division, sample_weight)


@documented
def hamming_loss(y_true: Any, y_pred: Any, *, sample_weight: Any = None) -> float:
    """Share of wrong decisions over all examples and labels.

    Parameters
    ----------
    {labels}
    {sample_weight}

    Returns
    -------
    float

    Examples
    --------
    >>> hamming_loss([[1, 0], [1, 1]], [[1, 1], [0, 1]])
    0.5
    """
    counts = count(y_true, y_pred, sample_weight=sample_weight)
    return float(formulas.average_counts(formulas.error, counts, average="micro"))
