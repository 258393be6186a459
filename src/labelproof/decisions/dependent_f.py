"""The label sets with the largest expected Fβ when labels depend on each other: the general F-measure maximiser (GFM).

A set h of k labels has the expectation Σ_{i in h} Σ_s (1 + β²) P_is / (β² s + k), where P_is is the probability that
label i is among exactly s labels of the example. So the best set of k labels has the k largest inner sums, and only
P(y_i = 1, |y| = s | x) is needed, not the distribution over all label sets (Waegeman and others, 2014).
"""

from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse

from labelproof.decisions.inputs import dense
from labelproof.decisions.options import require_number
from labelproof.foundation.arguments import whole_number
from labelproof.metrics.arguments import read_labels

__all__ = ["dependent_f_sets", "neighbour_f_sets"]

Doubles = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]
MOST_CELLS = 2**24  # probabilities that are held at a time


def dependent_f_sets(joint: Any, *, beta: float = 1.0, both_empty: float = 1.0) -> Bools:
    """Return the label set with the largest expected Fβ for each example, the empty set included.

    Parameters
    ----------
    joint
        Probabilities (n_examples, n_labels, n_sizes): ``joint[n, i, s - 1]`` is that of example n having label i and
        exactly s labels. What is missing from Σ_i joint / s to 1 is the probability that it has none.
    beta
        Weight of recall against precision.
    both_empty
        What Fβ is where neither the prediction nor the truth has a label.

    Returns
    -------
    bool array (n_examples, n_labels)

    Examples
    --------
    >>> joint = np.zeros((1, 3, 2))
    >>> joint[0, 0] = [0.7, 0.0]  # label 0 alone, or labels 1 and 2 together
    >>> joint[0, 1] = joint[0, 2] = [0.0, 0.3]
    >>> dependent_f_sets(joint)
    array([[ True, False, False]])
    """
    require_number("beta", beta, low=0, above=True)
    require_number("both_empty", both_empty, low=0, high=1)
    P = np.asarray(joint, np.float64)
    if P.ndim != 3 or 0 in P.shape[1:] or not (np.isfinite(P).all() and (P >= 0).all()):
        raise ValueError(
            f"joint must be probabilities of shape (n_examples, n_labels, n_sizes), got {P.dtype} of shape {P.shape}"
        )
    n, n_labels, n_sizes = P.shape
    sizes, square = np.arange(1, n_sizes + 1), beta**2
    of_size = P.sum(1) / sizes  # (n, S)
    if n and of_size.sum(1).max() > 1 + 1e-6:
        raise ValueError(f"joint must have Σ joint / s of at most 1 for each example, got {of_size.sum(1).max():g}")
    best, chosen = both_empty * np.clip(1 - of_size.sum(1), 0, 1), np.zeros((n, n_labels), np.bool_)
    for k in range(1, n_labels + 1):
        worth = (1 + square) / (square * sizes + k)
        if k > n_sizes and (of_size @ (sizes * worth) <= best).all():  # no larger set can be better
            break
        gains = P @ worth  # (n, L)
        order = np.argpartition(-gains, k - 1, axis=1)[:, :k]
        value = np.take_along_axis(gains, order, 1).sum(1)
        better = np.flatnonzero(value > best)
        chosen[better] = False
        chosen[better[:, None], order[better]] = True
        best[better] = value[better]
    return chosen


def neighbour_f_sets(
    X_train: Any, y_train: Any, X: Any, *, n_neighbours: int = 50, beta: float = 1.0, both_empty: float = 1.0
) -> Bools:
    """Return the same with probabilities from the label sets of the nearest training examples.

    Parameters
    ----------
    X_train, X
        Features, arrays or scipy sparse matrices (n_train, n_features) and (n_examples, n_features). Nearest is what
        has the largest cosine, which is also the weight of its label set.
    y_train
        Bool or 0/1 array, or scipy sparse matrix, (n_train, n_labels).
    n_neighbours
        How many label sets are counted; where there are fewer training examples, all.
    beta, both_empty
        As for `dependent_f_sets`.

    Examples
    --------
    >>> X_train, y_train = [[1.0, 0.0], [1.0, 0.1], [0.0, 1.0]], [[1, 1], [1, 1], [0, 1]]
    >>> neighbour_f_sets(X_train, y_train, [[1.0, 0.0], [0.0, 1.0]], n_neighbours=2)
    array([[ True,  True],
           [False,  True]])
    """
    whole_number("n_neighbours", n_neighbours, minimum=1)
    labels, train, new = read_labels(y_train, "y_train"), _directions(X_train), _directions(X)
    if train.shape[0] != labels.shape[0] or not train.shape[0]:
        raise ValueError(f"X_train must have one row for each of y_train, {labels.shape[0]}, got {train.shape[0]}")
    if new.shape[1] != train.shape[1]:
        raise ValueError(f"X must have {train.shape[1]} features, as X_train, got {new.shape[1]}")
    truth = dense(labels)
    k, n_sizes = min(n_neighbours, len(truth)), max(int(labels.sizes.max()), 1)
    rows = max(1, MOST_CELLS // max(truth.shape[1] * max(n_sizes, k), len(truth)))
    sets = [np.zeros((0, truth.shape[1]), np.bool_)]
    for start in range(0, new.shape[0], rows):
        joint = _joint(new[start : start + rows] @ train.T, truth, labels.sizes, k, n_sizes)
        sets.append(dependent_f_sets(joint, beta=beta, both_empty=both_empty))
    return np.concatenate(sets)


def _joint(likeness: Any, truth: Bools, sizes: npt.NDArray[np.int64], k: int, n_sizes: int) -> Doubles:
    """Return P(y_i = 1, |y| = s) by the label sets of the k nearest, (n, L, S)."""
    likeness = np.asarray(likeness.toarray() if scipy.sparse.issparse(likeness) else likeness)
    near = np.argpartition(-likeness, k - 1, axis=1)[:, :k]
    weight = np.maximum(np.take_along_axis(likeness, near, 1), 1e-6)
    weight = weight / weight.sum(1, keepdims=True)
    joint = np.zeros((len(near), truth.shape[1], n_sizes))
    for s in np.unique(sizes[sizes > 0]):
        joint[:, :, s - 1] = np.einsum("nk,nkl->nl", weight * (sizes[near] == s), truth[near], optimize=True)
    return joint


def _directions(X: Any) -> Any:
    """Return features as rows of length 1, or 0."""
    rows = scipy.sparse.csr_array(X, dtype=np.float64) if scipy.sparse.issparse(X) else np.asarray(X, np.float64)
    if rows.ndim != 2:
        raise ValueError(f"X must have shape (n_examples, n_features), got shape {rows.shape}")
    length = np.sqrt(np.asarray((rows * rows).sum(1))).reshape(-1)
    scale = 1 / np.where(length > 0, length, 1)
    if scipy.sparse.issparse(X):
        return scipy.sparse.csr_array(scipy.sparse.diags_array(scale) @ rows)
    return rows * scale[:, None]
