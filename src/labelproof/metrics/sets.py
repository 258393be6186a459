"""Metrics of predicted label sets, with scikit-learn's names, argument order and averages.

``average`` means, everywhere: "micro" adds the counts of all labels first; "macro" is the mean over labels;
"weighted" weighs each label by its number of true examples; "samples" is the mean over examples; None returns an
array with every label's value. ``zero_division`` is the value of 0/0: a number from 0 to 1, or NaN, which leaves
such labels (or examples) out of the mean. Unlike scikit-learn, nothing warns, and the average has to be named.
"""

from typing import Any

import numpy as np

from labelproof.foundation.arguments import check_choice
from labelproof.metrics import formulas
from labelproof.metrics.arguments import FloatArray, read_weight
from labelproof.metrics.counts import count, count_both, read_pair
from labelproof.metrics.documentation import documented

__all__ = [
    "exact_match_score",
    "f1_of_mean_precision_and_recall_score",
    "f1_score",
    "fbeta_score",
    "jaccard_score",
    "precision_score",
    "recall_score",
    "score_sets",
    "sigmoidf1_paper_f1_score",
]


@documented
def precision_score(
    y_true: Any,
    y_pred: Any,
    *,
    average: str | None,
    zero_division: float = 0.0,
    sample_weight: Any = None,
) -> Any:
    """Share of the predicted labels that are true: tp / (tp + fp).

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
    >>> round(precision_score([[1, 0], [1, 1]], [[1, 1], [0, 1]], average="macro"), 4)
    0.75
    """
    return score_sets(formulas.FORMULAS["precision"], y_true, y_pred, average, zero_division, sample_weight)


@documented
def recall_score(
    y_true: Any,
    y_pred: Any,
    *,
    average: str | None,
    zero_division: float = 0.0,
    sample_weight: Any = None,
) -> Any:
    """Share of the true labels that are predicted: tp / (tp + fn).

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
    >>> round(recall_score([[1, 0], [1, 1]], [[1, 1], [0, 1]], average="macro"), 4)
    0.75
    """
    return score_sets(formulas.FORMULAS["recall"], y_true, y_pred, average, zero_division, sample_weight)


@documented
def f1_score(
    y_true: Any,
    y_pred: Any,
    *,
    average: str | None,
    zero_division: float = 0.0,
    sample_weight: Any = None,
) -> Any:
    """Harmonic mean of precision and recall: 2 tp / (2 tp + fp + fn).

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
    >>> round(f1_score([[1, 0], [1, 1]], [[1, 1], [0, 1]], average="macro"), 4)
    0.6667
    """
    return score_sets(formulas.fbeta(1.0), y_true, y_pred, average, zero_division, sample_weight)


@documented
def jaccard_score(
    y_true: Any,
    y_pred: Any,
    *,
    average: str | None,
    zero_division: float = 0.0,
    sample_weight: Any = None,
) -> Any:
    """Intersection over union: tp / (tp + fp + fn).

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
    >>> round(jaccard_score([[1, 0], [1, 1]], [[1, 1], [0, 1]], average="macro"), 4)
    0.5
    """
    return score_sets(formulas.FORMULAS["jaccard"], y_true, y_pred, average, zero_division, sample_weight)


@documented
def fbeta_score(
    y_true: Any,
    y_pred: Any,
    *,
    beta: float,
    average: str | None,
    zero_division: float = 0.0,
    sample_weight: Any = None,
) -> Any:
    """F_β, which weighs recall β² times as much as precision: (1 + β²) tp / ((1 + β²) tp + β² fn + fp).

    Parameters
    ----------
    {labels}
    beta
        Above 0.
    {average}
    {zero_division}
    {sample_weight}

    Returns
    -------
    float, or array of shape (n_labels,) when average is None

    Examples
    --------
    >>> round(fbeta_score([[1, 0], [1, 1]], [[1, 1], [0, 1]], beta=2, average="micro"), 4)
    0.6667
    """
    return score_sets(formulas.fbeta(beta), y_true, y_pred, average, zero_division, sample_weight)


@documented
def exact_match_score(y_true: Any, y_pred: Any, *, sample_weight: Any = None) -> float:
    """Share of the examples whose whole label set is right (subset accuracy).

    Parameters
    ----------
    {labels}
    {sample_weight}

    Returns
    -------
    float

    Examples
    --------
    >>> exact_match_score([[1, 0], [1, 1]], [[1, 1], [1, 1]])
    0.5
    """
    true, pred = read_pair(y_true, y_pred)
    _, examples = count_both(true, pred)
    weight = read_weight(sample_weight, true.shape[0])
    right = (examples.fp + examples.fn == 0).astype(np.float64)
    return float(formulas.mean_of_defined(right, weight, zero_division=np.nan))


@documented
def f1_of_mean_precision_and_recall_score(
    y_true: Any, y_pred: Any, *, zero_division: float = 0.0, sample_weight: Any = None
) -> float:
    """Harmonic mean of macro precision and macro recall: the "macro-F1" of the sparsemax paper.

    It is not scikit-learn's macro F1, the mean of the labels' F1 (``f1_score(..., average="macro")``), which it is
    never below: a model that is precise on half of the labels and complete on the other half has a high value
    here and a low one there.

    Parameters
    ----------
    {labels}
    {zero_division}
    {sample_weight}

    Returns
    -------
    float

    Examples
    --------
    >>> f1_of_mean_precision_and_recall_score([[1, 0], [1, 1]], [[1, 1], [0, 1]])
    0.75
    """
    counts = count(y_true, y_pred, sample_weight=sample_weight)
    zero = formulas.read_zero_division(zero_division)
    return float(formulas.f1_of_mean_precision_and_recall(counts, zero_division=zero))


@documented
def sigmoidf1_paper_f1_score(
    y_true: Any, y_pred: Any, *, paper_average: str, zero_division: float = 0.0, sample_weight: Any = None
) -> float:
    """F1 under the names of the sigmoidF1 paper (appendix A), which are not scikit-learn's.

    Parameters
    ----------
    {labels}
    paper_average
        "macro" pools the counts of all labels (equation 9, scikit-learn's *micro*); "micro" is the mean of the
        labels' F1 (equation 10, scikit-learn's *macro*); "weighted" is equation 11 as printed, with sums of true
        examples for weights and divided by the number of labels, so that it exceeds 1.
    zero_division
        The value of 0/0, from 0 to 1.
    {sample_weight}

    Returns
    -------
    float

    Examples
    --------
    >>> y_true, y_pred = [[1, 0], [1, 1]], [[1, 1], [1, 1]]
    >>> sigmoidf1_paper_f1_score(y_true, y_pred, paper_average="macro") == f1_score(y_true, y_pred, average="micro")
    True
    """
    check_choice("paper_average", paper_average, ("macro", "micro", "weighted"))
    zero = formulas.read_zero_division(zero_division)
    if paper_average == "weighted":
        counts = count(y_true, y_pred, sample_weight=sample_weight)
        return float(formulas.paper_weighted_f1(counts, zero_division=zero))
    average = {"macro": "micro", "micro": "macro"}[paper_average]
    return float(f1_score(y_true, y_pred, average=average, zero_division=zero, sample_weight=sample_weight))


def score_sets(
    formula: formulas.Formula,
    y_true: Any,
    y_pred: Any,
    average: str | None,
    zero_division: float,
    sample_weight: Any,
) -> float | FloatArray:
    """Average a formula over the counts of label sets, as every function of this module does."""
    formulas.read_average(average)
    zero = formulas.read_zero_division(zero_division)
    true, pred = read_pair(y_true, y_pred)
    labels, examples = count_both(true, pred, sample_weight=sample_weight)
    if average == "samples":
        values = formulas.average_counts(formula, examples, average=None, zero_division=zero)
        weight = read_weight(sample_weight, true.shape[0])
        return float(formulas.mean_of_defined(values, weight, zero_division=np.nan))
    result = formulas.average_counts(formula, labels, average=average, zero_division=zero)
    return result if average is None else float(result)
