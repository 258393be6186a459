"""Prove from nearly orthogonal rows that every set of at most k labels can be predicted, for any stored columns.

Let G_ij = a_i·a_j - s, and x the sum of the rows of the active labels, with s·|S| taken off by a constant column. An
active label scores G_ii plus at most k - 1 other entries of its row, so at least
lo = min_i [G_ii + its k - 1 smallest other entries, each counted where it is negative]; an inactive one at most
hi = max_j [its k largest other entries, each counted where it is positive]. If lo > hi a threshold between them
separates all sets of at most k labels. By Welch's bound this needs about (2k - 1)² columns; for a code it is the
integer check.
"""

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from labelproof.foundation.arguments import whole_number

__all__ = ["check_incoherence"]

BLOCK = 1024  # rows of G at a time
UNIT = 2.0**-53


@dataclass(frozen=True)
class Incoherence:
    """What was found; ``proven`` says whether every set of at most k labels can be predicted.

    Attributes
    ----------
    low, high
        Least score of an active label and largest of an inactive one, rounding errors counted against the claim.
    margin
        Lower bound of the relative margin of every such set; 0 where nothing is proven.
    """

    k: int
    low: float
    high: float
    margin: float

    @property
    def proven(self) -> bool:
        """Whether the scores are apart."""
        return self.low > self.high


def check_incoherence(columns: npt.ArrayLike, k: int, *, constant: float = 1.0, shift: float = 0.0) -> Incoherence:
    """Check whether the sum of the active rows predicts every set of at most k labels.

    Parameters
    ----------
    columns : array_like (n_labels, m)
        The fixed columns as they are stored, without the constant one.
    k : int
        Most active labels.
    constant : float
        The number in the constant column.
    shift : float
        The s that is subtracted from all products.

    Examples
    --------
    >>> check_incoherence(np.eye(4), k=2).proven, check_incoherence(np.ones((4, 1)), k=2).proven
    (True, False)
    """
    a = np.asarray(columns, np.float64)
    k = whole_number("k", k, minimum=1)
    if a.ndim != 2 or not len(a) or not np.isfinite(a).all():
        raise ValueError(f"columns must be a matrix of finite numbers with a row for each label, got {a.shape}")
    if not (math.isfinite(constant) and constant != 0):
        raise ValueError(f"constant must be a number other than 0, got {constant}")
    low, high, largest = math.inf, 0.0, 0.0
    for start in range(0, len(a), BLOCK):
        own, least, most = _rows(a, start, min(k, len(a)), shift)
        low, high = min(low, float((own + least).min())), max(high, float(most.max()))
        largest = max(largest, float((own + most).max()))
    norm = float(np.square(a).sum(1).max()) * (1 + 1e-9)
    error = 1.01 * k * (a.shape[1] + k + 4) * UNIT * (norm + abs(shift))
    low, high = low - error, high + error
    if low <= high:
        return Incoherence(k, low, high, 0.0)
    squared = k * (largest + k * abs(shift) + error) + ((abs(low + high) / 2 + k * abs(shift)) / constant) ** 2
    margin = (low - high) / 2 / math.sqrt((constant**2 + norm) * squared) * (1 - 1e-12)
    return Incoherence(k, low, high, margin)


def _rows(
    a: npt.NDArray[np.float64], start: int, k: int, shift: float
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    """Return for a block of rows of G the diagonal, and the sums of the smallest k - 1 and of the largest k others."""
    g = a[start : start + BLOCK] @ a.T - shift  # (block, n)
    rows = np.arange(len(g))
    own = g[rows, rows + start].copy()
    g[rows, rows + start] = 0.0  # adds to neither
    last = g.shape[1] - 1
    least = np.minimum(np.partition(g, min(k - 1, last), axis=1)[:, : k - 1], 0).sum(1)
    most = np.maximum(np.partition(g, max(last - k, 0), axis=1)[:, max(last - k, 0) :], 0)
    return own, least, np.sort(most, axis=1)[:, ::-1][:, :k].sum(1)
