"""Propensity-scored metrics of extreme multi-label classification, which reward hits on rare labels more.

The model of Jain, Prabhu and Varma (2016): a label that is true for N_l of N training examples is observed with
propensity p_l = 1 / (1 + C (N_l + B)^-A), C = (ln N - 1)(B + 1)^A. Both metrics are normalised as in the Extreme
Classification Repository: the total over all examples, divided by the total of the best possible ranking.
Equal scores count as in `topk`, by the exact mean over their orders.
"""

from typing import Any, SupportsIndex

import numpy as np

from labelproof.metrics.arguments import FloatArray, read_k, read_labels
from labelproof.metrics.batches import Batch
from labelproof.metrics.documentation import documented
from labelproof.metrics.topk import chance_in_top_k, cumulative_discounts, expected_discount

__all__ = [
    "normalised",
    "propensities",
    "propensity_scored_ndcg_at_k",
    "propensity_scored_precision_at_k",
    "sum_psndcg",
    "sum_psp",
]


def propensities(y_train: Any, *, a: float = 0.55, b: float = 1.5) -> FloatArray:
    """Estimate the propensity of every label from the training labels.

    Parameters
    ----------
    y_train
        Bool or 0/1 array, or scipy sparse matrix, of shape (n_examples, n_labels).
    a, b
        The model's A and B, both above 0. The repository uses 0.5 and 0.4 for Wikipedia, 0.6 and 2.6 for Amazon,
        0.55 and 1.5 for all others.

    Returns
    -------
    array of shape (n_labels,)
        Between 0 and 1.

    Examples
    --------
    >>> propensities([[1, 0], [1, 0], [1, 1], [0, 0]]).round(4).tolist()
    [0.7815, 0.7213]
    """
    if not (0 < a < np.inf and 0 < b < np.inf):
        raise ValueError(f"a and b must be finite numbers above 0, got {a!r} and {b!r}")
    train = read_labels(y_train, "y_train")
    n = train.shape[0]
    if n < 3:
        raise ValueError(f"y_train must have at least 3 examples, so that C is positive, got {n}")
    occurrences = np.bincount(train.indices, minlength=train.n_labels)
    c = (np.log(n) - 1) * (b + 1) ** a
    return 1 / (1 + c * np.exp(-a * np.log(occurrences + b)))


@documented
def propensity_scored_precision_at_k(
    y_true: Any, y_score: Any, k: SupportsIndex, *, propensity: Any, normalise: bool = True, sample_weight: Any = None
) -> float:
    """Precision at k with every hit weighed by 1 / propensity (PSP@k).

    Parameters
    ----------
    {y_true}
    {y_score}
    {k}
    propensity
        Array of shape (n_labels,), above 0 and at most 1; see `propensities`.
    normalise
        Whether to divide by the value of the best ranking, as published figures do.
    {sample_weight}

    Returns
    -------
    float

    Examples
    --------
    >>> propensity_scored_precision_at_k([[1, 1]], [[0.9, 0.1]], 1, propensity=[1.0, 0.5])
    0.5
    """
    batch = Batch(y_true, y_score=y_score, sample_weight=sample_weight)
    sums = sum_psp(batch, k, propensity)
    return normalised(sums) if normalise else float(sums[0] / sums[2])


@documented
def propensity_scored_ndcg_at_k(
    y_true: Any, y_score: Any, k: SupportsIndex, *, propensity: Any, normalise: bool = True, sample_weight: Any = None
) -> float:
    """Discounted gain of the top k with every hit weighed by 1 / propensity (PSnDCG@k).

    Without normalising, the repository's formula: Σ 1 / (p_l log2(place + 1)) over Σ_{r ≤ k} 1/log2(r + 1).

    Parameters
    ----------
    {y_true}
    {y_score}
    {k}
    propensity
        Array of shape (n_labels,), above 0 and at most 1; see `propensities`.
    normalise
        Whether to divide by the value of the best ranking, as published figures do.
    {sample_weight}

    Returns
    -------
    float

    Examples
    --------
    >>> round(propensity_scored_ndcg_at_k([[1, 1]], [[0.9, 0.1]], 2, propensity=[1.0, 0.5]), 4)
    0.8597
    """
    batch = Batch(y_true, y_score=y_score, sample_weight=sample_weight)
    sums = sum_psndcg(batch, k, propensity)
    return normalised(sums) if normalise else float(sums[0] / sums[2])


def sum_psp(batch: Batch, k: SupportsIndex, propensity: Any) -> FloatArray:
    """Return the totals of PSP at k: reached, best possible, and the weight that makes the first a mean."""
    k = read_k(k, batch.true.n_labels)
    own = _read_propensity(propensity, batch.true.n_labels)[batch.true.indices]
    gain = batch.weight[batch.true.rows] / own
    best = gain[_place_by_propensity(batch, own) < k].sum()
    return np.array([gain @ chance_in_top_k(batch, k), best, k * batch.weight.sum()])


def sum_psndcg(batch: Batch, k: SupportsIndex, propensity: Any) -> FloatArray:
    """Return the totals of PSnDCG at k: reached, best possible, and the weight that makes the first a mean."""
    k = read_k(k, batch.true.n_labels)
    own = _read_propensity(propensity, batch.true.n_labels)[batch.true.indices]
    gain = batch.weight[batch.true.rows] / own
    sums = cumulative_discounts(k)
    discount = np.append(np.diff(sums), 0.0)[np.minimum(_place_by_propensity(batch, own), k)]
    return np.array([gain @ expected_discount(batch, k), gain @ discount, sums[k] * batch.weight.sum()])


def normalised(sums: FloatArray) -> float:
    """Return what was reached over what was possible; 0 when y_true has no labels."""
    return float(sums[0] / sums[1]) if sums[1] else 0.0


def _read_propensity(propensity: Any, n_labels: int) -> FloatArray:
    values = np.asarray(propensity, np.float64)
    if values.shape != (n_labels,):
        raise ValueError(f"propensity must have shape ({n_labels},), one per label, got {values.shape}")
    wrong = values[~((values > 0) & (values <= 1))]
    if len(wrong):
        raise ValueError(f"propensity must be above 0 and at most 1, got {wrong[0]}")
    return values


def _place_by_propensity(batch: Batch, own: FloatArray) -> Any:
    """Place of each true label among those of its example, from 0, the rarest first."""
    rows = batch.true.rows
    place = np.empty(len(rows), np.int64)
    place[np.lexsort((own, rows))] = np.arange(len(rows)) - batch.true.indptr[rows]
    return place
