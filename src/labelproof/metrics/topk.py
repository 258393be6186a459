"""Metrics of the k labels with the highest scores.

Ties at the border of the top k are resolved by the mean: every value is the exact expectation over a uniformly random
order of equal scores, drawn for each example on its own. Without ties that is the plain definition.

An example without true labels has no recall, RP or nDCG: its value is ``zero_division``, 0 by default as in
scikit-learn's nDCG, or NaN, which leaves the example out of the mean.
"""

from collections.abc import Callable
from typing import Any, SupportsIndex

import numpy as np

from labelproof.metrics.arguments import FloatArray, read_k
from labelproof.metrics.batches import Batch
from labelproof.metrics.documentation import documented
from labelproof.metrics.formulas import mean_of_defined, ratio, read_zero_division

__all__ = [
    "chance_in_top_k",
    "coverage_at_k",
    "coverage_value",
    "cumulative_discounts",
    "example_f1",
    "example_f1_at_k",
    "example_ndcg",
    "example_precision",
    "example_r_precision",
    "example_recall",
    "expected_discount",
    "f1_at_k",
    "ndcg_at_k",
    "precision_at_k",
    "r_precision_at_k",
    "recall_at_k",
    "sum_coverage",
]


@documented
def precision_at_k(y_true: Any, y_score: Any, k: SupportsIndex, *, sample_weight: Any = None) -> float:
    """Share of the top k labels that are true, mean over examples.

    Parameters
    ----------
    {y_true}
    {y_score}
    {k}
    {sample_weight}

    Returns
    -------
    float

    Examples
    --------
    >>> precision_at_k([[1, 0, 0, 1]], [[0.9, 0.8, 0.1, 0.1]], 3)  # the third place is label 2 or 3, at random
    0.5
    """
    return _mean(example_precision, y_true, y_score, k, sample_weight, 0.0)


@documented
def recall_at_k(
    y_true: Any, y_score: Any, k: SupportsIndex, *, zero_division: float = 0.0, sample_weight: Any = None
) -> float:
    """Share of the true labels that are among the top k, mean over examples.

    Parameters
    ----------
    {y_true}
    {y_score}
    {k}
    {zero_division_of_example}
    {sample_weight}

    Returns
    -------
    float

    Examples
    --------
    >>> recall_at_k([[1, 0, 0, 1]], [[0.9, 0.8, 0.1, 0.2]], 2)
    0.5
    """
    return _mean(example_recall, y_true, y_score, k, sample_weight, zero_division)


@documented
def f1_at_k(
    y_true: Any, y_score: Any, k: SupportsIndex, *, zero_division: float = 0.0, sample_weight: Any = None
) -> float:
    """Harmonic mean of mean precision at k and mean recall at k, the F1@k of the sigmoid-bottleneck paper.

    For the mean of the examples' F1 see `example_f1_at_k`.

    Parameters
    ----------
    {y_true}
    {y_score}
    {k}
    zero_division
        The recall of an example without true labels; NaN leaves it out of the mean.
    {sample_weight}

    Returns
    -------
    float

    Examples
    --------
    >>> f1_at_k([[1, 0, 0], [1, 1, 1]], [[0.9, 0.8, 0.1], [0.9, 0.8, 0.1]], 1)
    0.8
    """
    precision = precision_at_k(y_true, y_score, k, sample_weight=sample_weight)
    recall = recall_at_k(y_true, y_score, k, zero_division=zero_division, sample_weight=sample_weight)
    return 2 * precision * recall / (precision + recall) if precision + recall else 0.0


@documented
def example_f1_at_k(y_true: Any, y_score: Any, k: SupportsIndex, *, sample_weight: Any = None) -> float:
    """F1 of the top k labels of each example, 2 hits / (k + number of true labels), mean over examples.

    Parameters
    ----------
    {y_true}
    {y_score}
    {k}
    {sample_weight}

    Returns
    -------
    float

    Examples
    --------
    >>> example_f1_at_k([[1, 0, 0], [1, 1, 1]], [[0.9, 0.8, 0.1], [0.9, 0.8, 0.1]], 1)
    0.75
    """
    return _mean(example_f1, y_true, y_score, k, sample_weight, 0.0)


@documented
def r_precision_at_k(
    y_true: Any, y_score: Any, k: SupportsIndex, *, zero_division: float = 0.0, sample_weight: Any = None
) -> float:
    """Hits among the top k over the most that are possible, min(k, number of true labels), mean over examples (RP@k).

    Parameters
    ----------
    {y_true}
    {y_score}
    {k}
    {zero_division_of_example}
    {sample_weight}

    Returns
    -------
    float

    Examples
    --------
    >>> r_precision_at_k([[1, 0, 0, 0]], [[0.9, 0.8, 0.1, 0.2]], 3)
    1.0
    """
    return _mean(example_r_precision, y_true, y_score, k, sample_weight, zero_division)


@documented
def ndcg_at_k(
    y_true: Any, y_score: Any, k: SupportsIndex, *, zero_division: float = 0.0, sample_weight: Any = None
) -> float:
    """Normalised discounted cumulative gain: Σ 1/log2(place + 1) of the hits in the top k over the most possible.

    Parameters
    ----------
    {y_true}
    {y_score}
    {k}
    {zero_division_of_example}
    {sample_weight}

    Returns
    -------
    float

    Examples
    --------
    >>> round(ndcg_at_k([[0, 1, 0, 0]], [[0.9, 0.8, 0.1, 0.2]], 3), 4)
    0.6309
    """
    return _mean(example_ndcg, y_true, y_score, k, sample_weight, zero_division)


@documented
def coverage_at_k(y_true: Any, y_score: Any, k: SupportsIndex, *, sample_weight: Any = None) -> float:
    """Share of the labels that occur in y_true which are a hit in the top k of at least one example.

    Parameters
    ----------
    {y_true}
    {y_score}
    {k}
    sample_weight
        Weights of the examples, (n_examples,): an example of weight 2 counts as two, one of weight 0 as none.

    Returns
    -------
    float
        0 when y_true has no labels at all.

    Examples
    --------
    >>> coverage_at_k([[1, 0, 0], [0, 1, 0]], [[0.9, 0.8, 0.1], [0.9, 0.8, 0.1]], 1)
    0.5
    """
    batch = Batch(y_true, y_score=y_score, sample_weight=sample_weight)
    return coverage_value(sum_coverage(batch, k))


def example_precision(batch: Batch, k: SupportsIndex) -> FloatArray:
    """Precision at k of each example, (n_examples,)."""
    k = read_k(k, batch.true.n_labels)
    return _hits(batch, k) / k


def example_recall(batch: Batch, k: SupportsIndex) -> FloatArray:
    """Recall at k of each example, NaN where it has no true labels."""
    return ratio(_hits(batch, read_k(k, batch.true.n_labels)), batch.true.sizes)


def example_f1(batch: Batch, k: SupportsIndex) -> FloatArray:
    """F1 at k of each example."""
    k = read_k(k, batch.true.n_labels)
    return 2 * _hits(batch, k) / (k + batch.true.sizes)


def example_r_precision(batch: Batch, k: SupportsIndex) -> FloatArray:
    """RP at k of each example, NaN where it has no true labels."""
    k = read_k(k, batch.true.n_labels)
    return ratio(_hits(batch, k), np.minimum(batch.true.sizes, k))


def example_ndcg(batch: Batch, k: SupportsIndex) -> FloatArray:
    """Return nDCG at k of each example, NaN where it has no true labels."""
    k = read_k(k, batch.true.n_labels)
    ideal = cumulative_discounts(k)[np.minimum(batch.true.sizes, k)]
    return ratio(batch.ranks("examples").sum(expected_discount(batch, k)), ideal)


def sum_coverage(batch: Batch, k: SupportsIndex) -> FloatArray:
    """For each label Σ log(1 - chance of a hit) over its examples, and its weight in y_true: (2, n_labels)."""
    chance = chance_in_top_k(batch, read_k(k, batch.true.n_labels))
    weight = batch.weight[batch.true.rows]
    hit = (chance > 0) & (weight > 0)
    with np.errstate(divide="ignore"):
        missed = weight[hit] * np.log1p(-chance[hit])
    labels, n_labels = batch.true.indices, batch.true.n_labels
    return np.stack([np.bincount(labels[hit], missed, n_labels), np.bincount(labels, weight, n_labels)])


def coverage_value(sums: FloatArray) -> float:
    """Coverage from the sums over all examples."""
    occurs = sums[1] > 0
    return float(np.mean(-np.expm1(sums[0][occurs]))) if occurs.any() else 0.0


def chance_in_top_k(batch: Batch, k: int) -> FloatArray:
    """Chance that a true entry is among the top k of its example, equal scores in random order."""
    ranks = batch.ranks("examples")
    return np.clip((k - ranks.above) / ranks.tied, 0.0, 1.0)


def cumulative_discounts(k: int) -> FloatArray:
    """Σ_{r ≤ m} 1/log2(r + 1) for m = 0, ..., k."""
    return np.concatenate([[0.0], np.cumsum(1 / np.log2(np.arange(2, k + 2)))])


def expected_discount(batch: Batch, k: int) -> FloatArray:
    """Discount of a true entry, 0 beyond place k: the mean over the places that its tie occupies."""
    ranks, sums = batch.ranks("examples"), cumulative_discounts(k)
    first, last = (np.minimum(x, k).astype(np.int64) for x in (ranks.above, ranks.above + ranks.tied))
    return (sums[last] - sums[first]) / ranks.tied


def _hits(batch: Batch, k: int) -> FloatArray:
    return batch.ranks("examples").sum(chance_in_top_k(batch, k))


def _mean(
    values: Callable[[Batch, SupportsIndex], FloatArray],
    y_true: Any,
    y_score: Any,
    k: SupportsIndex,
    sample_weight: Any,
    zero_division: float,
) -> float:
    zero = read_zero_division(zero_division)
    batch = Batch(y_true, y_score=y_score, sample_weight=sample_weight)
    value = values(batch, k)
    value = np.where(np.isnan(value), zero, value)
    return float(mean_of_defined(value, batch.weight, zero_division=np.nan))
