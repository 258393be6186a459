"""Given features: checks of dense and sparse matrices, and their mean and spread."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse

from labelproof.encoders.rows import DenseRows, RaggedRows
from labelproof.errors import DataFormatError, ModelFormatError
from labelproof.foundation.array_files import read_arrays

__all__ = ["Standardisation", "matrix_rows", "read_matrix"]

_HEADERS = 2**14  # bytes, more than those of two arrays have
_BLOCK = 4096  # rows that are handled at a time, so that float64 copies stay small


@dataclass(frozen=True, eq=False)
class Standardisation:
    """Mean and scale of every feature; the scale of a constant feature is 1.

    Parameters
    ----------
    mean, scale
        float64 arrays (n_features,).

    Examples
    --------
    >>> Standardisation.learned(np.array([[1.0, 5.0], [3.0, 5.0]]))
    Standardisation(mean=array([2., 5.]), scale=array([1., 1.]))
    """

    mean: npt.NDArray[np.float64]
    scale: npt.NDArray[np.float64]

    @classmethod
    def learned(cls, matrix: Any) -> "Standardisation":
        """Return mean and standard deviation of the columns of a matrix that `read_matrix` returned."""
        n = matrix.shape[0]
        if scipy.sparse.issparse(matrix):
            columns, values = matrix.indices, matrix.data.astype(np.float64)
            mean = np.bincount(columns, values, matrix.shape[1]) / n
            squares = np.bincount(columns, (values - mean[columns]) ** 2, matrix.shape[1])
            squares += (n - np.bincount(columns, minlength=matrix.shape[1])) * mean**2
            constant = matrix.max(axis=0).toarray().ravel() == matrix.min(axis=0).toarray().ravel()
        else:
            mean = matrix.mean(axis=0, dtype=np.float64)
            blocks = (matrix[i : i + _BLOCK] for i in range(0, n, _BLOCK))
            squares = sum((np.square(block - mean).sum(axis=0) for block in blocks), np.zeros(matrix.shape[1]))
            constant = matrix.max(axis=0) == matrix.min(axis=0)
        return cls(mean, np.where(constant, 1.0, np.sqrt(squares / n)))

    def save(self, path: Path) -> None:
        """Write both arrays to an .npz file."""
        np.savez(path, mean=self.mean, scale=self.scale)

    @classmethod
    def load(cls, path: Path, n_features: int) -> "Standardisation":
        """Read what `save` wrote."""
        try:
            arrays = read_arrays(path, most_bytes=16 * n_features + _HEADERS)
        except FileNotFoundError as error:
            raise ModelFormatError(f"{path}: no such file") from error
        except DataFormatError as error:
            raise ModelFormatError(f"{path}: expected arrays mean and scale, got {error}") from error
        if arrays.keys() != {"mean", "scale"}:
            names = ", ".join(sorted(arrays)) or "none"
            raise ModelFormatError(f"{path}: expected arrays mean and scale, got {names}")
        mean, scale = arrays["mean"], arrays["scale"]
        for name, array in (("mean", mean), ("scale", scale)):
            if array.shape != (n_features,) or array.dtype != np.float64 or not np.isfinite(array).all():
                raise ModelFormatError(
                    f"{path}: expected {name} to hold {n_features} finite float64 numbers, "
                    f"got {array.dtype} of shape {array.shape}"
                )
        if not (scale > 0).all():
            raise ModelFormatError(f"{path}: expected every scale to be positive, got {scale.min()}")
        return cls(mean, scale)


def read_matrix(inputs: Any, n_features: int | None = None) -> Any:
    """Return features as a 2-D array, or as a CSR array without duplicates, of numbers that float32 can hold.

    Parameters
    ----------
    inputs
        Array-like or scipy sparse matrix (n_examples, n_features).
    n_features
        Number of columns that is expected, or None for any but zero.
    """
    if scipy.sparse.issparse(inputs):
        matrix = _without_duplicates(scipy.sparse.csr_array(inputs)) if inputs.ndim == 2 else inputs
    else:
        matrix = np.asarray(inputs)
    expected = "n_features" if n_features is None else n_features
    if matrix.ndim != 2 or matrix.shape[1] == 0 or (n_features is not None and matrix.shape[1] != n_features):
        raise ValueError(f"inputs must have shape (n_examples, {expected}), got {matrix.shape}")
    if matrix.dtype.kind not in "biuf":
        raise ValueError(f"inputs must be numbers, got an array of dtype {matrix.dtype}")
    if scipy.sparse.issparse(matrix):
        _require_finite(matrix.data, lambda place: _sparse_place(matrix, place))
    else:
        for start in range(0, len(matrix), _BLOCK):
            block = matrix[start : start + _BLOCK]
            _require_finite(block.ravel(), lambda place, start=start: _dense_place(matrix, start, place))
    return matrix


def matrix_rows(matrix: Any, standardisation: Standardisation | None) -> DenseRows | RaggedRows:
    """Return a matrix as float32 rows; a sparse one is divided by the scale, and not centred."""
    if scipy.sparse.issparse(matrix):
        values = matrix.data if standardisation is None else matrix.data / standardisation.scale[matrix.indices]
        ids = matrix.indices.astype(np.int32, copy=False)
        return RaggedRows(matrix.indptr.astype(np.int64), ids, values.astype(np.float32, copy=False))
    if standardisation is None:
        return DenseRows(np.ascontiguousarray(matrix, np.float32))
    rows = np.empty(matrix.shape, np.float32)
    for start in range(0, len(matrix), _BLOCK):
        block = slice(start, start + _BLOCK)
        rows[block] = (matrix[block] - standardisation.mean) / standardisation.scale
    return DenseRows(rows)


def _without_duplicates(matrix: Any) -> Any:
    if matrix.has_canonical_format:
        return matrix
    own = matrix.copy()  # the user's stays as it is
    own.sum_duplicates()
    return own


def _require_finite(values: npt.NDArray[Any], place_of: Any) -> None:
    if values.dtype.kind != "f":
        return
    with np.errstate(invalid="ignore"):
        wrong = ~(np.abs(values) <= np.finfo(np.float32).max)
    if wrong.any():
        first = int(np.argmax(wrong))
        row, column = place_of(first)
        raise ValueError(
            f"inputs must be finite numbers that float32 can hold, got {values[first]} in row {row}, column {column}"
        )


def _dense_place(matrix: npt.NDArray[Any], start: int, place: int) -> tuple[int, int]:
    row, column = divmod(place, matrix.shape[1])
    return start + row, column


def _sparse_place(matrix: Any, place: int) -> tuple[int, int]:
    row = int(np.searchsorted(matrix.indptr, place, side="right")) - 1
    return row, int(matrix.indices[place])
