"""The rank of a matrix of floats, proven: a submatrix that is invertible modulo a prime is invertible."""

from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse
from flint import nmod_mat
from scipy.linalg import qr

__all__ = ["rank_bounds"]

Floats = npt.NDArray[np.float64]
PRIME = 2_147_483_629  # below 2**31, so that products of two residues fit into 64 bits
WIDEST = 2048  # elimination on wider matrices takes minutes


def rank_bounds(matrix: Any) -> tuple[int, int]:
    """Return proven bounds of the rank of an array, or of scipy's CSR array, whose floats are taken as exact.

    Rows and columns of zeros bound it from above. From below: floating point proposes independent rows and columns, and
    their rank modulo a prime, which can only be too small, is computed exactly.

    Examples
    --------
    >>> rank_bounds(np.array([[0.1, 0.2, 0.0], [0.3, 0.4, 0.0], [0.4, 0.6, 0.0]]))
    (2, 2)
    """
    counted = matrix != 0
    kept = matrix[counted.sum(axis=1) > 0][:, counted.sum(axis=0) > 0]
    if 0 in kept.shape:
        return 0, 0
    if kept.shape[0] < kept.shape[1]:
        kept = kept.T
    length, width = kept.shape
    if width > WIDEST:
        return 0, width
    some = np.random.default_rng(0).permutation(length)[:width]
    found = _rank_modulo_prime(_dense(kept[some]))  # nearly always enough, and far cheaper than a choice
    if found < width < length:
        kept = _dense(kept)
        found = max(found, _rank_modulo_prime(kept[_independent_rows(kept)]))
    return found, width


def _dense(matrix: Any) -> Floats:
    return np.asarray(matrix.toarray() if scipy.sparse.issparse(matrix) else matrix)


def _rank_modulo_prime(matrix: Floats) -> int:
    return int(nmod_mat(_residues(matrix).tolist(), PRIME).rank())


def _independent_rows(tall: Floats) -> npt.NDArray[np.int64]:
    """Return as many rows as there are columns, chosen to be far from dependent."""
    scale = np.abs(tall).max(axis=1, keepdims=True)
    _, pivots = qr((tall / scale).T, mode="r", pivoting=True, check_finite=False)
    return np.asarray(pivots[: tall.shape[1]], np.int64)


def _residues(matrix: Floats) -> npt.NDArray[np.int64]:
    """Return the floats modulo the prime, each a 53-bit integer times a power of two."""
    fractions, exponents = np.frexp(matrix)
    whole = np.ldexp(fractions, 53).astype(np.int64) % PRIME
    different, places = np.unique(exponents, return_inverse=True)
    powers = np.array([pow(2, int(e) - 53, PRIME) for e in different], np.int64)
    return whole * powers[places].reshape(matrix.shape) % PRIME
