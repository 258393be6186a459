"""Features of real examples and their centre, as a proof about them needs them: exact numbers, in blocks.

Trusted code: features may be an array in memory or mapped from a file, or a sparse matrix (CSR); each number is taken
as the rational that it is. Nothing here copies all of them to double precision at once.
"""

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse

__all__ = ["Examples", "each_row", "read_examples"]

Floats = npt.NDArray[np.float64]
Indices = npt.NDArray[np.int64]
BLOCK_NUMBERS = 2**22  # of a block in double precision: 32 MB


@dataclass(frozen=True, eq=False)
class Examples:
    """Features (n, d) of examples, and the point from which a stretch is measured.

    Attributes
    ----------
    features
        Array of at most 64 bits a number, or CSR matrix in canonical form.
    centre
        float64 (d,): the mean of the features, rounded.
    largest
        float64 (d,): the largest |f| of each column.
    constant
        bool (d,): whether a column has the same number in every example, which is the centre's too.
    """

    features: Any
    centre: Floats
    largest: Floats
    constant: npt.NDArray[np.bool_]

    def __len__(self) -> int:
        return int(self.features.shape[0])

    @property
    def d(self) -> int:
        """Number of features."""
        return int(self.features.shape[1])

    @property
    def is_sparse(self) -> bool:
        """Whether the features are a sparse matrix."""
        return bool(scipy.sparse.issparse(self.features))

    @cached_property
    def terms(self) -> int:
        """The most numbers of one example that can differ from 0."""
        return int(np.diff(self.features.indptr).max(initial=0)) if self.is_sparse else self.d

    def take(self, which: Indices) -> Floats:
        """Return the features of some examples, (m, d), in double precision."""
        rows = self.features[which]
        return np.asarray(rows.toarray() if self.is_sparse else rows, np.float64)

    def blocks(self) -> Iterator[Any]:
        """Yield all examples in turn, as blocks of rows in double precision."""
        return _blocks(self.features)

    def largest_products(self, vectors: Floats) -> Floats:
        """Return max_j f_j·v for each column v of ``vectors`` (d, m), as double precision computes it."""
        best = np.full(vectors.shape[1], -np.inf)
        for block in self.blocks():
            np.maximum(best, (block @ vectors).max(axis=0), out=best)
        return best

    @cached_property
    def sha256(self) -> str:
        """Hash of shape and numbers, whatever float type they came in; −0 counts as 0."""
        kind = "csr " if self.is_sparse else ""
        digest = hashlib.sha256(f"{kind}{len(self)} {self.d} ".encode())
        if self.is_sparse:
            digest.update(self.features.indptr.astype("<i8").tobytes())
            digest.update(self.features.indices.astype("<i8").tobytes())
            digest.update(self.features.data.astype("<f8").tobytes())
        else:
            for block in self.blocks():
                digest.update((block + 0.0).astype("<f8").tobytes())
        return digest.hexdigest()

    def centre_fault(self) -> str | None:
        """Return what is wrong if the centre is not the mean of the features, up to rounding, else None."""
        mean = _mean(self.features)
        off = ~(np.abs(mean - self.centre) <= 1e-9 * self.largest)
        if off.any():
            k = int(np.flatnonzero(off)[0])
            return f"expected the mean of the features as centre, {mean[k]} for feature {k}, got {self.centre[k]}"
        return None


def read_examples(features: Any, d: int, *, name: str = "features", centre: Floats | None = None) -> Examples:
    """Check features and hold them with their centre (default: their mean).

    Parameters
    ----------
    features
        Array (n, d), which may be mapped from a file, or scipy sparse matrix of that shape.
    d
        Number of features that the layer reads.
    name
        What errors call them.
    centre
        float64 (d,), as kept in a result.
    """
    matrix = _sparse(features, name) if scipy.sparse.issparse(features) else _dense(features, name)
    if matrix.ndim != 2 or matrix.shape[1] != d or matrix.shape[0] < 1:
        raise ValueError(f"{name} must have shape (n_examples, {d}) to match the weight, got {matrix.shape}")
    low, high = np.full(d, np.inf), np.full(d, -np.inf)
    start = 0
    for block in _blocks(matrix):
        numbers = block.data if scipy.sparse.issparse(block) else block
        if not np.isfinite(numbers).all():
            raise ValueError(f"{name} must be finite, got {_not_finite(block, start)}")
        np.minimum(low, _extreme(block, "min"), out=low)
        np.maximum(high, _extreme(block, "max"), out=high)
        start += block.shape[0]
    mean = np.where(low == high, low, _mean(matrix)) if centre is None else centre
    return Examples(matrix, mean + 0.0, np.maximum(np.abs(low), np.abs(high)), (low == high) & (low == mean))


def each_row(examples: Examples) -> Iterator[Floats]:
    """Yield numbers for each example that are the same for two examples if and only if their features are."""
    for block in examples.blocks():
        for i in range(block.shape[0]):
            if examples.is_sparse:
                part = slice(block.indptr[i], block.indptr[i + 1])
                yield np.concatenate([np.zeros(0), block.indices[part], block.data[part]])
            else:
                yield block[i] + 0.0


def _dense(features: Any, name: str) -> npt.NDArray[Any]:
    try:
        array = np.asanyarray(features)
    except ValueError as error:
        raise ValueError(f"{name} must be an array, got rows of different lengths") from error
    kind, size = array.dtype.kind, array.dtype.itemsize
    if not (kind == "b" or (kind in "iu" and size <= 4) or (kind == "f" and size <= 8)):
        raise ValueError(f"{name} must hold floats of at most 64 bits (or integers of at most 32), got {array.dtype}")
    return array


def _sparse(features: Any, name: str) -> Any:
    _dense(np.empty(0, features.dtype), name)
    matrix = scipy.sparse.csr_matrix(features, dtype=np.float64, copy=True)
    try:
        matrix.check_format(full_check=True)
    except ValueError as error:
        raise ValueError(f"{name} must be a sparse matrix in order, got one whose {error}") from error
    matrix.sum_duplicates()
    matrix.eliminate_zeros()
    return matrix


def _blocks(matrix: Any) -> Iterator[Any]:
    n, d = matrix.shape
    is_sparse = scipy.sparse.issparse(matrix)
    width = max(1, matrix.nnz // max(n, 1)) if is_sparse else d
    step = max(1, BLOCK_NUMBERS // width)
    for start in range(0, n, step):
        block = matrix[start : start + step]
        yield block if is_sparse else np.asarray(block, np.float64)


def _mean(matrix: Any) -> Floats:
    total = np.zeros(matrix.shape[1])
    with np.errstate(over="ignore", invalid="ignore"):  # a mean that is no number is no centre either
        for block in _blocks(matrix):
            total += np.asarray(block.sum(axis=0), np.float64).ravel()
    return total / matrix.shape[0]


def _extreme(block: Any, which: str) -> Floats:
    extreme = getattr(block, which)(axis=0)
    return extreme.toarray().ravel() if scipy.sparse.issparse(extreme) else extreme


def _not_finite(block: Any, start: int) -> str:
    dense = block.toarray() if scipy.sparse.issparse(block) else block
    row, column = (int(k) for k in np.argwhere(~np.isfinite(dense))[0])
    return f"{dense[row, column]} in row {start + row}, column {column}"
