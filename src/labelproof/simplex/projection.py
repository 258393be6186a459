"""Sparsemax and α-entmax of numpy arrays."""

from typing import Any

import numpy as np
import numpy.typing as npt

from labelproof.foundation.threads import usable_cores
from labelproof.parallel.dispatch import share
from labelproof.simplex.entmax_kernels import entmax_rows

__all__ = ["entmax", "sparsemax"]


def sparsemax(scores: npt.ArrayLike, axis: int = -1, *, n_jobs: int | None = None) -> npt.NDArray[Any]:
    """Return the Euclidean projection of the scores onto the probability simplex, which is often sparse.

    Parameters
    ----------
    scores : array-like of shape (..., n_labels, ...)
        A score of −inf gives an exact 0. Along an axis that holds NaN or +inf, or only −inf, the result is NaN, as for
        softmax.
    axis : int
        The axis that sums to 1 in the result.
    n_jobs : int, optional
        Threads; by default the cores that this process may use. Small arrays use one.

    Returns
    -------
    ndarray
        Of the same shape; float32 for float32 and float16 input (computed in double precision where it matters),
        otherwise float64.

    Examples
    --------
    >>> sparsemax([[1.0, 0.8, 0.1], [3.0, 0.0, 0.0]])
    array([[0.6, 0.4, 0. ],
           [1. , 0. , 0. ]])
    """
    return entmax(scores, 2.0, axis, n_jobs=n_jobs)


def entmax(scores: npt.ArrayLike, alpha: float = 1.5, axis: int = -1, *, n_jobs: int | None = None) -> npt.NDArray[Any]:
    """Return α-entmax of the scores: the p of the simplex that maximises p·z + H(p) for Tsallis' entropy of order α.

    The larger α, the sparser the result: α = 2 is `sparsemax`, α → 1 is softmax.

    Parameters
    ----------
    scores : array-like of shape (..., n_labels, ...)
        As in `sparsemax`.
    alpha : float
        Greater than 1.
    axis : int
        The axis that sums to 1 in the result.
    n_jobs : int, optional
        Threads; by default the cores that this process may use. Small arrays use one.

    Returns
    -------
    ndarray
        As in `sparsemax`.

    Examples
    --------
    >>> entmax([0.0, 0.0, -3.0], 1.5)
    array([0.5, 0.5, 0. ])
    """
    z = np.asarray(scores)
    z = z.astype(np.float32 if z.dtype in (np.float16, np.float32) else np.float64, copy=False)
    if not 1 < alpha < np.inf:
        raise ValueError(f"alpha must be a finite number greater than 1, got {alpha}")
    if z.ndim == 0 or not -z.ndim <= axis < z.ndim:
        raise ValueError(f"axis must be one of the {z.ndim} axes of scores, got {axis}")
    if z.shape[axis] == 0:
        raise ValueError(f"scores must have at least one label along axis {axis}, got shape {z.shape}")
    rows = np.ascontiguousarray(np.moveaxis(z, axis, -1))
    out = np.empty_like(rows)
    flat, flat_out = rows.reshape(-1, rows.shape[-1]), out.reshape(-1, rows.shape[-1])
    n = len(flat)
    unlisted, size = np.empty((n, 0), np.int32), np.empty(n, np.int32)
    n_threads = n_jobs or usable_cores()
    args = flat, float(alpha), flat_out, unlisted, size
    share(entmax_rows(flat.shape[1]), *args, n_items=n, n_numbers=flat.size, n_threads=n_threads)
    return np.moveaxis(out, -1, axis)
