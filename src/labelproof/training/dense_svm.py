"""Linear support vector machines on dense features, all labels at a time: Newton's method by products of matrices.

For each label the weights w, the last one the bias, minimise ½‖w‖² + C Σ max(0, 1 − y_i w·x_i)². That is smooth, and
where no example crosses its margin it is quadratic; so a few Newton steps, each by conjugate gradients, end at the
optimum. Labels share the features: every product is one of matrices, for all labels that have not converged. Where C is
large, conjugate gradients need many products, but few examples of a label are inside its margin: then its step is
by Cholesky's decomposition of the matrix of these alone.
"""

from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.linalg
import scipy.sparse

__all__ = ["dense_svms", "labels_at_once"]

Floats = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]
MOST_STEPS, MOST_PRODUCTS = 200, 60  # of Newton's method, and of conjugate gradients in each
FEW_PRODUCTS = 12  # of conjugate gradients, after which decomposing is tried
MOST_ROUNDS = 30  # of the search on a line
WORTH = 240  # products with an example that decomposing may cost, in place of conjugate gradients
MOST_NUMBERS = 2**24  # examples × labels at a time


def dense_svms(
    features: Floats, labels: Any, cost: float, *, tolerance: float = 1e-4, start: Floats | None = None
) -> tuple[Floats, Floats]:
    """Return weights (n_labels, n_features) and biases (n_labels,).

    Parameters
    ----------
    features
        Array (n_examples, n_features).
    labels
        CSR array (n_examples, n_labels) of bool.
    cost
        C, positive.
    tolerance
        A label has converged when its gradient is this share of the first one, times its share of the rarer class.
    start
        (n_labels, n_features + 1): where to begin, such as the solution for another C.

    Examples
    --------
    >>> weight, bias = dense_svms(np.array([[-1.0], [1.0]]), scipy.sparse.csr_array([[False], [True]]), 1.0)
    >>> weight.round(3), np.abs(bias).round(3)  # ½w² + 2(1 - w)² is least at 4/5
    (array([[0.8]]), array([0.]))
    """
    n, n_labels = labels.shape
    X = np.column_stack([features, np.ones(n)])
    W = np.zeros((n_labels, X.shape[1])) if start is None else start.copy()
    columns = scipy.sparse.csc_array(labels)
    size = labels_at_once(n)
    for first in range(0, n_labels, size):
        block = slice(first, min(first + size, n_labels))
        Y = np.where(columns[:, block].toarray(), 1.0, -1.0)
        W[block] = _solve(X, Y, cost, tolerance, W[block])
    return W[:, :-1], W[:, -1]


def labels_at_once(n_examples: int) -> int:
    """Return how many labels are solved together."""
    return max(1, MOST_NUMBERS // max(n_examples, 1))


def _solve(X: Floats, Y: Floats, cost: float, tolerance: float, W: Floats) -> Floats:
    n = len(X)
    positives = (Y > 0).sum(axis=0)
    rarer = np.maximum(np.minimum(positives, n - positives), 1) / max(n, 1)
    first = np.linalg.norm(2 * cost * (Y.T @ X), axis=1)  # the gradient at 0
    goal = tolerance * rarer * np.maximum(first, 1e-300)
    W, left, hard = W.copy(), np.arange(Y.shape[1]), np.zeros(Y.shape[1], np.bool_)
    for _ in range(MOST_STEPS):
        y, w = Y[:, left], W[left]
        z = X @ w.T
        inside = y * z < 1
        gradient = w + 2 * cost * (np.where(inside, z - y, 0.0).T @ X)
        open_ones = np.linalg.norm(gradient, axis=1) > goal[left]
        if not open_ones.any():
            break
        left, gradient = left[open_ones], gradient[open_ones]
        y, z, inside = y[:, open_ones], z[:, open_ones], inside[:, open_ones]
        step, hard[left] = _newton_steps(X, inside, gradient, cost, hard[left])
        W[left] += step * _lengths(X, y, z, W[left], gradient, step, cost)[:, None]
    return W


def _newton_steps(X: Floats, inside: Bools, gradient: Floats, cost: float, hard: Bools) -> tuple[Floats, Bools]:
    """Solve (I + 2C Xᵀ D X) s = −gradient for each label, D its examples inside the margin.

    Returns
    -------
    steps, hard
        The second says for which labels a few products were not enough; that will be so in the next step too.
    """
    steps, easy = np.empty_like(gradient), np.flatnonzero(~hard)
    if len(easy):
        found, converged = _conjugate_gradients(X, inside[:, easy], gradient[easy], cost)
        steps[easy] = found
        hard = hard.copy()
        hard[easy] = ~converged
    sizes = inside.sum(axis=0)
    worth = sizes * np.minimum(sizes, X.shape[1]) <= WORTH * len(X)
    for j in np.flatnonzero(hard & worth):
        steps[j] = _decomposed(X[inside[:, j]], gradient[j], cost)
    slow = np.flatnonzero(hard & ~worth)
    if len(slow):
        steps[slow], _ = _conjugate_gradients(X, inside[:, slow], gradient[slow], cost, most=MOST_PRODUCTS)
    return steps, hard


def _decomposed(rows: Floats, gradient: Floats, cost: float) -> Floats:
    """Return the exact step of one label, by the smaller of the matrices of its examples and of its features."""
    if len(rows) >= rows.shape[1]:
        matrix = 2 * cost * (rows.T @ rows)
        matrix.flat[:: len(matrix) + 1] += 1
        return -scipy.linalg.solve(matrix, gradient, assume_a="pos", overwrite_a=True, check_finite=False)
    matrix = 2 * cost * (rows @ rows.T)
    matrix.flat[:: len(matrix) + 1] += 1
    inner = scipy.linalg.solve(matrix, rows @ gradient, assume_a="pos", overwrite_a=True, check_finite=False)
    return 2 * cost * (rows.T @ inner) - gradient


def _conjugate_gradients(
    X: Floats, inside: Bools, gradient: Floats, cost: float, *, most: int = FEW_PRODUCTS
) -> tuple[Floats, Bools]:
    """Return the steps of labels to a tenth, and for which of them so many products were enough."""
    s = np.zeros_like(gradient)
    r = -gradient
    p = r.copy()
    rr = (r * r).sum(axis=1)
    goal = 0.01 * rr
    for _ in range(most):
        Hp = p + 2 * cost * (np.where(inside, X @ p.T, 0.0).T @ X)
        alpha = rr / np.maximum((p * Hp).sum(axis=1), 1e-300)
        s += alpha[:, None] * p
        r -= alpha[:, None] * Hp
        new = (r * r).sum(axis=1)
        if (new <= goal).all():
            break
        p = r + (new / np.maximum(rr, 1e-300))[:, None] * p
        rr = new
    return s, new <= goal


def _lengths(X: Floats, y: Floats, z: Floats, w: Floats, gradient: Floats, step: Floats, cost: float) -> Floats:
    """Return how far to go for each label: to the least value of the objective on its line.

    Its slope on the line rises and is linear in pieces, so that Newton's method, kept between the ends of what is
    known to hold the zero, finds it in a few rounds.
    """
    dz, change = y * (X @ step.T), (step * step).sum(axis=1)
    along, first = (w * step).sum(axis=1), (gradient * step).sum(axis=1)
    margin = 1 - y * z
    low, high, lengths = np.zeros(len(w)), np.full(len(w), np.inf), np.ones(len(w))
    for _ in range(MOST_ROUNDS):
        short = np.maximum(margin - lengths * dz, 0.0)
        slope = along + lengths * change - 2 * cost * (short * dz).sum(axis=0)
        if (np.abs(slope) <= 1e-3 * np.abs(first)).all():
            break
        low, high = np.where(slope < 0, lengths, low), np.where(slope > 0, lengths, high)
        curvature = change + 2 * cost * np.where(short > 0, dz * dz, 0.0).sum(axis=0)
        there = lengths - slope / np.maximum(curvature, 1e-300)
        middle = np.where(np.isfinite(high), (low + high) / 2, 2 * lengths)
        lengths = np.where((there > low) & (there < high), there, middle)
    return lengths
