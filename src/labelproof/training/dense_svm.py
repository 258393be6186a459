"""Linear support vector machines on dense features, all labels at a time: Newton's method by products of matrices.

For each label the weights w, the last one the bias, minimise ½‖w‖² + C Σ max(0, 1 − y_i w·x_i)². That is smooth, and
where no example crosses its margin it is quadratic; so a few Newton steps, each by conjugate gradients, end at the
optimum. Labels share the features: every product is one of matrices, for all labels that have not converged.
"""

from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse

__all__ = ["dense_svms"]

Floats = npt.NDArray[np.float64]
MOST_STEPS, MOST_PRODUCTS = 60, 60  # of Newton's method, and of conjugate gradients in each
MOST_NUMBERS = 2**24  # examples × labels at a time


def dense_svms(
    features: Floats, labels: Any, cost: float, *, tolerance: float = 1e-3, start: Floats | None = None
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
    size = max(1, MOST_NUMBERS // max(n, 1))
    for first in range(0, n_labels, size):
        block = slice(first, min(first + size, n_labels))
        Y = np.where(columns[:, block].toarray(), 1.0, -1.0)
        W[block] = _solve(X, Y, cost, tolerance, W[block])
    return W[:, :-1], W[:, -1]


def _solve(X: Floats, Y: Floats, cost: float, tolerance: float, W: Floats) -> Floats:
    n = len(X)
    positives = (Y > 0).sum(axis=0)
    rarer = np.maximum(np.minimum(positives, n - positives), 1) / max(n, 1)
    first = np.linalg.norm(2 * cost * (Y.T @ X), axis=1)  # the gradient at 0
    goal = tolerance * rarer * np.maximum(first, 1e-300)
    W, left = W.copy(), np.arange(Y.shape[1])
    for _ in range(MOST_STEPS):
        y, w = Y[:, left], W[left]
        z = X @ w.T
        inside = y * z < 1
        gradient = w + 2 * cost * (np.where(inside, z - y, 0.0).T @ X)
        open_ones = np.linalg.norm(gradient, axis=1) > goal[left]
        if not open_ones.any():
            break
        left, y, z, inside, gradient = (
            left[open_ones],
            y[:, open_ones],
            z[:, open_ones],
            inside[:, open_ones],
            gradient[open_ones],
        )
        step = _newton_step(X, inside, gradient, cost)
        W[left] += step * _lengths(X, y, z, W[left], gradient, step, cost)[:, None]
    return W


def _newton_step(X: Floats, inside: npt.NDArray[np.bool_], gradient: Floats, cost: float) -> Floats:
    """Solve (I + 2C Xᵀ D X) s = −gradient for each label, D its examples inside the margin, to a tenth."""
    s = np.zeros_like(gradient)
    r = -gradient
    p = r.copy()
    rr = (r * r).sum(axis=1)
    goal = 0.01 * rr
    for _ in range(MOST_PRODUCTS):
        Hp = p + 2 * cost * (np.where(inside, X @ p.T, 0.0).T @ X)
        alpha = rr / np.maximum((p * Hp).sum(axis=1), 1e-300)
        s += alpha[:, None] * p
        r -= alpha[:, None] * Hp
        new = (r * r).sum(axis=1)
        if (new <= goal).all():
            break
        p = r + (new / np.maximum(rr, 1e-300))[:, None] * p
        rr = new
    return s


def _lengths(X: Floats, y: Floats, z: Floats, w: Floats, gradient: Floats, step: Floats, cost: float) -> Floats:
    """Return how far to go for each label: 1, or half of that until the objective falls enough."""
    dz = X @ step.T

    def values(lengths: Floats) -> Floats:
        hinge = np.maximum(1 - y * (z + lengths * dz), 0.0)
        return 0.5 * ((w + lengths[:, None] * step) ** 2).sum(axis=1) + cost * (hinge**2).sum(axis=0)

    slope = (gradient * step).sum(axis=1)
    lengths = np.ones(len(w))
    before = values(np.zeros(len(w)))
    for _ in range(30):
        poor = values(lengths) > before + 1e-4 * lengths * slope + 1e-12 * np.abs(before)
        if not poor.any():
            break
        lengths[poor] *= 0.5
    return lengths
