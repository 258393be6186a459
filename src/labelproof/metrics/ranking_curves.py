"""Ranking metrics over all cut-offs: average precision, AUROC, and those of label rankings.

A threshold never separates equal scores, so that ties need no convention in average precision (tied examples enter
together); in AUROC a tied pair counts one half. An undefined value (a label without true examples; in AUROC also
one without false ones) is ``zero_division``, by default NaN, which the mean over labels leaves out.
"""

from typing import Any

import numpy as np

from labelproof.metrics import label_matrix_kernels
from labelproof.metrics.arguments import FloatArray
from labelproof.metrics.batches import Batch
from labelproof.metrics.counts import without_rounding
from labelproof.metrics.documentation import documented
from labelproof.metrics.formulas import mean_of_defined, ratio, read_average, read_zero_division
from labelproof.metrics.ranks import Axis, Ranks, sum_groups

__all__ = [
    "average_precision",
    "average_precision_score",
    "axis_of",
    "coverage_error",
    "example_coverage",
    "example_lrap",
    "example_ranking_loss",
    "interpolated_average_precision",
    "interpolated_average_precision_score",
    "label_ranking_average_precision_score",
    "label_ranking_loss",
    "roc_auc",
    "roc_auc_score",
]


@documented
def average_precision_score(
    y_true: Any,
    y_score: Any,
    *,
    average: str | None = "macro",
    zero_division: float = np.nan,
    sample_weight: Any = None,
) -> Any:
    """Average precision as scikit-learn defines it: Σ_n (R_n - R_{n-1}) P_n over the distinct scores, descending.

    Parameters
    ----------
    {y_true}
    {y_score}
    {average_of_entries}
    zero_division
        The value of a label (or example) without true entries; NaN leaves it out of the mean.
    {sample_weight}

    Returns
    -------
    float, or array of shape (n_labels,) when average is None

    Examples
    --------
    >>> average_precision_score([[1, 0], [0, 1], [1, 1]], [[3.0, 1.0], [2.0, 2.0], [1.0, 3.0]], average=None).tolist()
    [0.8333333333333333, 1.0]
    """
    read_average(average)
    zero = read_zero_division(zero_division)
    batch = Batch(y_true, y_score=y_score, sample_weight=sample_weight)
    return _average_groups(average_precision(batch.ranks(axis_of(average))), batch, average, zero)


@documented
def interpolated_average_precision_score(
    y_true: Any,
    y_score: Any,
    *,
    points: int | None = None,
    average: str | None = "macro",
    zero_division: float = np.nan,
    sample_weight: Any = None,
) -> Any:
    """Average precision with interpolated precision, max over all recalls at least as high, as in VOC and COCO.

    Parameters
    ----------
    {y_true}
    {y_score}
    points
        None integrates over all recalls (VOC from 2010, and the sigmoidF1 paper); 11 is the mean over the recalls
        0, 0.1, ..., 1 (VOC 2007); 101 over 0, 0.01, ..., 1 (COCO).
    {average_of_entries}
    zero_division
        The value of a label (or example) without true entries; NaN leaves it out of the mean.
    {sample_weight}

    Returns
    -------
    float, or array of shape (n_labels,) when average is None

    Examples
    --------
    >>> y_true, y_score = [[1], [0], [1], [1]], [[4.0], [3.0], [2.0], [1.0]]
    >>> round(interpolated_average_precision_score(y_true, y_score), 4)  # 0.8056 without interpolation
    0.8333
    """
    read_average(average)
    zero = read_zero_division(zero_division)
    batch = Batch(y_true, y_score=y_score, sample_weight=sample_weight)
    values = interpolated_average_precision(batch.ranks(axis_of(average)), points=points)
    return _average_groups(values, batch, average, zero)


@documented
def roc_auc_score(
    y_true: Any,
    y_score: Any,
    *,
    average: str | None = "macro",
    zero_division: float = np.nan,
    sample_weight: Any = None,
) -> Any:
    """Area under the ROC curve: the chance that a true entry scores above a false one, a tie counting one half.

    Parameters
    ----------
    {y_true}
    {y_score}
    {average_of_entries}
    zero_division
        The value of a label (or example) without true or without false entries; NaN leaves it out of the mean.
    {sample_weight}

    Returns
    -------
    float, or array of shape (n_labels,) when average is None

    Examples
    --------
    >>> roc_auc_score([[1], [0], [1], [0]], [[40.0], [39.0], [38.0], [38.0]])
    0.625
    """
    read_average(average)
    zero = read_zero_division(zero_division)
    batch = Batch(y_true, y_score=y_score, sample_weight=sample_weight)
    return _average_groups(roc_auc(batch.ranks(axis_of(average))), batch, average, zero)


@documented
def label_ranking_average_precision_score(y_true: Any, y_score: Any, *, sample_weight: Any = None) -> float:
    """Mean over the true labels of an example of the precision down to that label, and over examples (LRAP).

    As in scikit-learn, equal scores share the lowest of their places, and an example with no true label or with
    all has the value 1.

    Parameters
    ----------
    {y_true}
    {y_score}
    {sample_weight}

    Returns
    -------
    float

    Examples
    --------
    >>> label_ranking_average_precision_score([[1, 0, 0], [0, 0, 1]], [[0.75, 0.5, 1], [1, 0.2, 0.1]])
    0.41666666666666663
    """
    return _mean_over_examples(example_lrap, y_true, y_score, sample_weight)


@documented
def label_ranking_loss(y_true: Any, y_score: Any, *, sample_weight: Any = None) -> float:
    """Share of the pairs of a true and a false label of an example that are not in order, mean over examples.

    As in scikit-learn, a tied pair counts as out of order (1 minus the AUROC with average="samples" counts it one
    half), and an example with no true label or with all has the value 0.

    Parameters
    ----------
    {y_true}
    {y_score}
    {sample_weight}

    Returns
    -------
    float

    Examples
    --------
    >>> label_ranking_loss([[1, 0, 0], [0, 0, 1]], [[0.75, 0.5, 1], [1, 0.2, 0.1]])
    0.75
    """
    return _mean_over_examples(example_ranking_loss, y_true, y_score, sample_weight)


@documented
def coverage_error(y_true: Any, y_score: Any, *, sample_weight: Any = None) -> float:
    """How far down the ranking one must go to find every true label, mean over examples.

    As in scikit-learn, equal scores share the lowest of their places, and an example with no true label has the
    value 0.

    Parameters
    ----------
    {y_true}
    {y_score}
    {sample_weight}

    Returns
    -------
    float

    Examples
    --------
    >>> coverage_error([[1, 0, 0], [0, 0, 1]], [[0.75, 0.5, 1], [1, 0.2, 0.1]])
    2.5
    """
    return _mean_over_examples(example_coverage, y_true, y_score, sample_weight)


def average_precision(ranks: Ranks) -> FloatArray:
    """Average precision of each group, (n_groups,); NaN without true entries."""
    precision = _precision(ranks)
    return ratio(ranks.sum(ranks.weight * precision), ranks.n_true)


def roc_auc(ranks: Ranks) -> FloatArray:
    """AUROC of each group, (n_groups,); NaN without true or without false entries."""
    n_false = without_rounding(ranks.size - ranks.n_true, ranks.size)
    above, tied = ranks.above - ranks.true_above, ranks.tied - ranks.true_tied  # false entries
    won = n_false[ranks.group] - above - tied / 2
    return ratio(ranks.sum(ranks.weight * won), ranks.n_true * n_false)


def interpolated_average_precision(ranks: Ranks, *, points: int | None) -> FloatArray:
    """Interpolated average precision of each group, (n_groups,); NaN without true entries."""
    if points is not None and (isinstance(points, bool) or not isinstance(points, int) or points < 2):
        raise ValueError(f"points must be None or an integer of at least 2, got {points!r}")
    found = ranks.true_above + ranks.true_tied
    order = np.lexsort((-found, ranks.group))  # each group by descending recall, as the running maximum goes
    group, found, best = ranks.group[order], found[order], _precision(ranks)[order]
    label_matrix_kernels.running_maximum(group, best)
    if points is None:
        steps = ranks.weight[order]  # tied entries share found and best, so each may bring its own weight
        return ratio(sum_groups(group, steps * best, ranks.n_groups), ranks.n_true)
    return _mean_at_points(group, np.nan_to_num(ratio(found, ranks.n_true[group])), best, ranks, points)


def example_lrap(batch: Batch) -> FloatArray:
    """LRAP of each example, (n_examples,)."""
    ranks = batch.ranks("examples")
    trivial = (ranks.n_true == 0) | (ranks.n_true == ranks.size)
    return np.where(trivial, 1.0, average_precision(ranks))


def example_ranking_loss(batch: Batch) -> FloatArray:
    """Ranking loss of each example, (n_examples,)."""
    ranks = batch.ranks("examples")
    wrong = ranks.above + ranks.tied - ranks.true_above - ranks.true_tied
    return np.nan_to_num(ratio(ranks.sum(wrong), ranks.n_true * (ranks.size - ranks.n_true)))


def example_coverage(batch: Batch) -> FloatArray:
    """Depth of the last true label of each example, (n_examples,)."""
    ranks = batch.ranks("examples")
    depth = np.zeros(ranks.n_groups)
    np.maximum.at(depth, ranks.group, ranks.above + ranks.tied)
    return depth


def axis_of(average: str | None) -> Axis:
    """Within what a true entry is ranked for this average."""
    return "examples" if average == "samples" else "all" if average == "micro" else "labels"


def _average_groups(values: FloatArray, batch: Batch, average: str | None, zero_division: float) -> Any:
    """Average the values of groups, NaN where undefined."""
    values = np.where(np.isnan(values), zero_division, values)
    if average is None:
        return values
    if average == "micro":
        return float(values[0])
    if average == "samples":
        weight = batch.weight
    else:
        weight = batch.ranks("labels").n_true if average == "weighted" else np.ones(len(values))
    return float(mean_of_defined(values, weight, zero_division=zero_division))


def _precision(ranks: Ranks) -> FloatArray:
    """Precision down to each true entry; 0 where all weights are 0."""
    return np.nan_to_num(ratio(ranks.true_above + ranks.true_tied, ranks.above + ranks.tied))


def _mean_over_examples(values: Any, y_true: Any, y_score: Any, sample_weight: Any) -> float:
    batch = Batch(y_true, y_score=y_score, sample_weight=sample_weight)
    return float(mean_of_defined(values(batch), batch.weight, zero_division=np.nan))


def _mean_at_points(group: Any, recall: FloatArray, best: FloatArray, ranks: Ranks, points: int) -> FloatArray:
    """Mean of the interpolated precision at evenly spaced recalls; precision beyond the last recall is 0.

    Entries come by descending recall in each group. Each serves the levels up to its recall that the next does not.
    """
    levels = np.floor((recall + 1e-12) * (points - 1)) + 1  # a recall that equals a level but for rounding reaches it
    below = np.append(levels[1:], 0.0)
    below[np.append(group[1:] != group[:-1], True)] = 0.0
    total = sum_groups(group, (levels - below) * best, ranks.n_groups)
    return np.where(ranks.n_true == 0, np.nan, total / points)
