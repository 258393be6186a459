"""Distances between a predicted distribution over the labels and the true one, per example.

The true distribution of an example is its row of y_true over the row's sum: uniform over the labels of a 0/1 row, or
given proportions. An example whose row is zero has none, and is left out of the mean. Logarithms are natural.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse
from scipy.special import rel_entr

from labelproof.metrics.arguments import FloatArray
from labelproof.metrics.batches import Batch
from labelproof.metrics.documentation import documented
from labelproof.metrics.formulas import mean_of_defined, ratio

__all__ = [
    "example_js",
    "example_kl",
    "example_mse",
    "jensen_shannon_divergence",
    "kullback_leibler_divergence",
    "mean_squared_distribution_error",
]

_BLOCK = 1 << 20  # entries of a block of rows, so that temporary arrays stay small
_SUM_TOLERANCE = 1e-3  # float16 rows of a softmax miss 1 by less


@documented
def jensen_shannon_divergence(y_true: Any, y_prob: Any, *, sample_weight: Any = None) -> float:
    """Mean over examples of ½ KL(q‖m) + ½ KL(p‖m), m = (p + q) / 2: between 0 and ln 2.

    Parameters
    ----------
    {true_distributions}
    {distributions}
    {sample_weight}

    Returns
    -------
    float

    Examples
    --------
    >>> round(jensen_shannon_divergence([[1, 1, 0]], [[0.5, 0.0, 0.5]]), 4)
    0.3466
    """
    return _mean(example_js, y_true, y_prob, sample_weight)


@documented
def kullback_leibler_divergence(y_true: Any, y_prob: Any, *, sample_weight: Any = None) -> float:
    """Mean over examples of Σ q ln(q / p), infinite where some true label has the probability 0.

    Parameters
    ----------
    {true_distributions}
    {distributions}
    {sample_weight}

    Returns
    -------
    float

    Examples
    --------
    >>> round(kullback_leibler_divergence([[1, 1, 0]], [[0.25, 0.25, 0.5]]), 4)
    0.6931
    """
    return _mean(example_kl, y_true, y_prob, sample_weight)


@documented
def mean_squared_distribution_error(y_true: Any, y_prob: Any, *, sample_weight: Any = None) -> float:
    """Mean over examples and labels of (p - q)².

    Parameters
    ----------
    {true_distributions}
    {distributions}
    {sample_weight}

    Returns
    -------
    float

    Examples
    --------
    >>> mean_squared_distribution_error([[1, 1]], [[1.0, 0.0]])
    0.25
    """
    return _mean(example_mse, y_true, y_prob, sample_weight)


def example_js(batch: Batch) -> FloatArray:
    """Jensen–Shannon divergence of each example."""
    return _by_blocks(batch, lambda q, p: (rel_entr(q, (p + q) / 2) + rel_entr(p, (p + q) / 2)).sum(1) / 2)


def example_kl(batch: Batch) -> FloatArray:
    """Kullback–Leibler divergence of each example."""
    return _by_blocks(batch, lambda q, p: rel_entr(q, p).sum(1))


def example_mse(batch: Batch) -> FloatArray:
    """Mean squared difference of each example."""
    return _by_blocks(batch, lambda q, p: np.square(p - q).mean(1))


def _by_blocks(batch: Batch, distance: Callable[[FloatArray, FloatArray], FloatArray]) -> FloatArray:
    """Apply a distance to blocks of true and predicted distributions; NaN where there is no true one."""
    n, n_labels = batch.shape
    predicted = batch.probability
    values = np.full(n, np.nan)
    rows = max(1, _BLOCK // max(1, n_labels))
    for start in range(0, n, rows):
        block = slice(start, min(start + rows, n))
        p = predicted[block].astype(np.float64)
        _require_distributions(p, start)
        q = _true_distributions(batch.y_true[block])
        values[block] = np.where(np.isnan(q[:, 0]), np.nan, distance(np.nan_to_num(q), p))
    return values


def _true_distributions(rows: Any) -> FloatArray:
    dense = np.asarray(rows.toarray() if scipy.sparse.issparse(rows) else rows, np.float64)
    if not np.all((dense >= 0) & (dense < np.inf)):
        wrong = dense[~((dense >= 0) & (dense < np.inf))][0]
        raise ValueError(f"y_true must be finite and not negative, got {wrong}")
    return ratio(dense, dense.sum(1, keepdims=True))


def _require_distributions(p: FloatArray, start: int) -> None:
    sums = p.sum(1)
    wrong = np.flatnonzero(np.abs(sums - 1) > _SUM_TOLERANCE)
    if len(wrong):
        raise ValueError(
            f"y_prob must be distributions over the labels, each row with the sum 1, "
            f"got {sums[wrong[0]]:.6g} for example {start + wrong[0]}"
        )


def _mean(values: Callable[[Batch], FloatArray], y_true: Any, y_prob: Any, sample_weight: Any) -> float:
    batch = Batch(y_true, y_score=y_prob, sample_weight=sample_weight)
    return float(mean_of_defined(values(batch), batch.weight, zero_division=np.nan))
