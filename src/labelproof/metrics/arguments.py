"""What users pass to a metric, checked once: label matrices, scores and weights of examples."""

from dataclasses import dataclass
from typing import Any, SupportsIndex

import numpy as np
import numpy.typing as npt
import scipy.sparse

from labelproof.foundation.arguments import whole_number
from labelproof.metrics import label_matrix_kernels

__all__ = [
    "FloatArray",
    "Labels",
    "read_k",
    "read_labels",
    "read_probabilities",
    "read_scores",
    "read_shape",
    "read_weight",
    "require_same_shape",
]

FloatArray = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Labels:
    """A 0/1 matrix by its ones: example i has the labels ``indices[indptr[i]:indptr[i + 1]]``, ascending."""

    indptr: npt.NDArray[np.int64]
    indices: npt.NDArray[np.int32]
    n_labels: int

    @property
    def shape(self) -> tuple[int, int]:
        """(n_examples, n_labels)."""
        return len(self.indptr) - 1, self.n_labels

    @property
    def sizes(self) -> npt.NDArray[np.int64]:
        """Number of labels of each example, (n_examples,)."""
        return np.diff(self.indptr)

    @property
    def rows(self) -> npt.NDArray[np.int64]:
        """The example of each entry of ``indices``."""
        return np.repeat(np.arange(len(self.indptr) - 1), self.sizes)


def read_labels(y: Any, name: str) -> Labels:
    """Read a bool or 0/1 array, or a scipy sparse matrix, of shape (n_examples, n_labels).

    Examples
    --------
    >>> read_labels([[0, 1, 1], [0, 0, 0]], "y_true").indices.tolist()
    [1, 2]
    """
    if isinstance(y, Labels):
        return y
    if scipy.sparse.issparse(y):
        return _from_sparse(y, name)
    dense = _as_array(y, name)
    if dense.dtype != np.bool_:
        if dense.dtype.kind not in "iuf":
            raise ValueError(f"{name} must be bool or 0/1, got an array of dtype {dense.dtype}")
        positive = dense == 1
        if np.count_nonzero(dense) != np.count_nonzero(positive):
            raise ValueError(f"{name} must be 0 or 1, got {dense[(dense != 0) & ~positive][0]}")
        dense = positive
    return _from_bool(dense)


def read_shape(y: Any, name: str) -> tuple[int, int]:
    """Return (n_examples, n_labels) of any matrix, without reading its entries."""
    shape = y.shape if hasattr(y, "shape") else np.shape(_as_array(y, name))
    if len(shape) != 2:
        raise ValueError(f"{name} must have shape (n_examples, n_labels), got shape {tuple(shape)}")
    return int(shape[0]), int(shape[1])


def read_scores(y_score: Any, name: str = "y_score") -> npt.NDArray[Any]:
    """Read scores as float32 or float64 of shape (n_examples, n_labels); NaN is refused, infinities are ordered.

    A sparse matrix stands for the dense one that it equals: an entry that is not stored is a score of 0.
    """
    scores = _as_array(y_score.toarray() if scipy.sparse.issparse(y_score) else y_score, name)
    if scores.dtype.kind not in "biuf":
        raise ValueError(f"{name} must be numbers, got an array of dtype {scores.dtype}")
    if scores.dtype not in (np.float32, np.float64):
        scores = scores.astype(np.float32 if scores.dtype == np.float16 else np.float64)
    if scores.size and np.isnan(scores.min()):
        row, column = np.argwhere(np.isnan(scores))[0]
        raise ValueError(f"{name} must not be NaN, got NaN for example {row}, label {column}")
    return np.ascontiguousarray(scores)


def read_probabilities(y_score: Any, name: str = "y_score") -> npt.NDArray[Any]:
    """Read scores that must be probabilities, between 0 and 1."""
    scores = read_scores(y_score, name)
    if scores.size and (scores.min() < 0 or scores.max() > 1):
        wrong = scores.min() if scores.min() < 0 else scores.max()
        raise ValueError(f"{name} must be probabilities between 0 and 1, got {wrong}")
    return scores


def read_weight(sample_weight: Any, n_examples: int) -> FloatArray:
    """Read the weights of examples; None gives every example the weight 1."""
    if sample_weight is None:
        return np.ones(n_examples)
    weight = np.asarray(sample_weight)
    if weight.shape != (n_examples,) or weight.dtype.kind not in "biuf":
        raise ValueError(
            f"sample_weight must be {n_examples} numbers, one per example, got shape {weight.shape} of {weight.dtype}"
        )
    weight = weight.astype(np.float64)
    wrong = weight[~((weight >= 0) & np.isfinite(weight))]
    if wrong.size:
        raise ValueError(f"sample_weight must be finite and not negative, got {wrong[0]}")
    return weight


def read_k(k: SupportsIndex, n_labels: int) -> int:
    """Read the k of a metric at k: a whole number from 1 to n_labels."""
    number = whole_number("k", k, minimum=1)
    if number > n_labels:
        raise ValueError(f"k must be at most the number of labels, {n_labels}, got {number}")
    return number


def require_same_shape(true_shape: tuple[int, ...], other_shape: tuple[int, ...], name: str) -> None:
    """Refuse two matrices of different shapes."""
    if true_shape != other_shape:
        raise ValueError(f"{name} must have the shape of y_true, {true_shape}, got {other_shape}")


def _as_array(y: Any, name: str) -> npt.NDArray[Any]:
    try:
        array = np.asarray(y)
    except ValueError as error:
        raise ValueError(f"{name} must have shape (n_examples, n_labels), got rows of different lengths") from error
    if array.ndim != 2:
        raise ValueError(f"{name} must have shape (n_examples, n_labels), got shape {array.shape}")
    return array


def _from_bool(dense: npt.NDArray[np.bool_]) -> Labels:
    flat = np.require(dense, requirements="C").reshape(-1).view(np.uint8)
    if flat.ctypes.data % 8:  # a slice of rows may begin anywhere; words may not
        flat = flat.copy()
    indptr = np.zeros(len(dense) + 1, np.int64)
    indices = np.empty(np.count_nonzero(dense) + 1, np.int32)
    words = flat[: len(flat) // 8 * 8].view(np.uint64)
    label_matrix_kernels.fill_indices(flat, words, dense.shape[1], indptr, indices)
    return Labels(indptr, indices[:-1], dense.shape[1])


def _from_sparse(y: Any, name: str) -> Labels:
    if y.ndim != 2:
        raise ValueError(f"{name} must have shape (n_examples, n_labels), got shape {y.shape}")
    csr = y.tocsr()
    csr.check_format(full_check=True)  # compiled code trusts the indices
    if not csr.has_canonical_format:
        csr = csr.copy()
        stored = csr.nnz
        csr.sum_duplicates()
        if csr.nnz != stored:
            raise ValueError(f"{name} must store each entry once, got a sparse matrix with duplicate entries")
    if csr.dtype != np.bool_ and np.any(csr.data != 1):
        wrong = csr.data[(csr.data != 0) & (csr.data != 1)]
        if wrong.size:
            raise ValueError(f"{name} must be 0 or 1, got {wrong[0]}")
    if not np.all(csr.data):
        csr = csr.copy()
        csr.eliminate_zeros()
    return Labels(csr.indptr.astype(np.int64), csr.indices.astype(np.int32), csr.shape[1])
