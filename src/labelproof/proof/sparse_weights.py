"""Weights that are mostly 0, held as they come: the numbers that are stored, by rows, and dense blocks on demand.

Trusted code: every proof about a sparse layer reads its numbers here. What is not stored is exactly 0.
"""

import hashlib
from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse

from labelproof.proof.exact_arrays import finite_array

__all__ = ["SparseWeight", "largest_of_rows", "row_blocks", "sha256_of"]

Floats = npt.NDArray[np.float64]
NUMBERS_AT_ONCE = 4_000_000  # of a block of rows


class SparseWeight:
    """A matrix (n_labels, d) that answers the indices which proofs ask of an array, each with a dense block.

    These are ``w[row]``, ``w[rows]`` for an array of rows of any shape or a slice, ``w[row, columns]`` and
    ``w[:, columns]``; `numpy.asarray` makes a dense copy of it all. Any other index is an error.

    Parameters
    ----------
    matrix
        scipy sparse matrix of real numbers of at most 64 bits; it is left as it was.

    Examples
    --------
    >>> weight = SparseWeight(scipy.sparse.csr_array([[0.0, 2.0], [0.0, 0.0]]))
    >>> weight.shape, weight[0], weight[:, np.array([1])]
    ((2, 2), array([0., 2.]), array([[2.],
           [0.]]))
    """

    ndim = 2

    def __init__(self, matrix: Any) -> None:
        if matrix.ndim != 2 or 0 in matrix.shape:
            raise ValueError(f"weight must have shape (n_labels, d) with n_labels, d ≥ 1, got {matrix.shape}")
        rows = scipy.sparse.csr_array(matrix, copy=True)
        try:
            rows.check_format(full_check=True)
        except ValueError as error:
            raise ValueError(f"weight must be a sound sparse matrix, got one with a fault: {error}") from None
        rows.sum_duplicates()  # which also sorts the columns of each row
        if rows.nnz != matrix.nnz:
            raise ValueError("weight must hold each entry once, got a sparse matrix with duplicate entries")
        try:
            rows.data = finite_array("weight", rows.data)
        except ValueError as error:
            raise _with_its_place(rows, error) from None
        self.rows = rows
        self.shape: tuple[int, int] = rows.shape

    @property
    def size(self) -> int:
        """Number of entries, stored or not."""
        return self.shape[0] * self.shape[1]

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, key: Any) -> Floats:
        if isinstance(key, slice):
            return np.asarray(self.rows[key].toarray())
        if isinstance(key, tuple):
            row, columns = key
            return self[row][columns] if isinstance(row, int) else self._columns(row, columns)
        places = np.asarray(key)
        if places.dtype.kind not in "iu":
            raise TypeError(f"a sparse weight takes the numbers of rows, got {key!r}")
        return np.asarray(self.rows[places.ravel()].toarray()).reshape(*places.shape, self.shape[1])

    def _columns(self, rows: Any, columns: npt.NDArray[np.int64]) -> Floats:
        if not (isinstance(rows, slice) and rows == slice(None)):
            raise TypeError(f"a sparse weight takes columns of one row or of all, got rows {rows!r}")
        return np.asarray(self.rows[:, columns].toarray())

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> npt.NDArray[Any]:
        return np.asarray(self.rows.toarray(), dtype)


def row_blocks(weight: Floats | SparseWeight) -> Iterator[Floats]:
    """Yield all rows in order, as dense blocks of some 32 MB."""
    step = max(1, NUMBERS_AT_ONCE // weight.shape[1])
    for start in range(0, weight.shape[0], step):
        yield weight[start : start + step]


def sha256_of(weight: Floats | SparseWeight) -> str:
    """Hash the shape and the numbers, whatever float type they came in, sparse or not; −0 counts as 0."""
    digest = hashlib.sha256(f"{weight.shape[0]} {weight.shape[1]} ".encode())
    for block in row_blocks(weight):
        digest.update(np.ascontiguousarray(block + 0.0, "<f8").data)
    return digest.hexdigest()


def largest_of_rows(rows: Any) -> Floats:
    """Return the largest absolute value of each row of an array, or of a sparse one."""
    if not scipy.sparse.issparse(rows):
        return np.asarray(np.maximum(rows.max(axis=1, initial=0.0), -rows.min(axis=1, initial=0.0)))
    return np.asarray(abs(rows).max(axis=1).toarray()).ravel()


def _with_its_place(rows: scipy.sparse.csr_array, error: ValueError) -> ValueError:
    """Return the error with the row and the column of the first number that is not finite, if that is what it is."""
    if rows.dtype.kind != "f" or np.isfinite(rows.data).all():
        return error
    place = int(np.flatnonzero(~np.isfinite(rows.data))[0])
    row = int(np.searchsorted(rows.indptr, place, side="right")) - 1
    where = (row, int(rows.indices[place]))
    return ValueError(f"weight must be finite, got {float(rows.data[place])} at index {where}")
