"""Label sets in any form that users have, as sorted lists of active labels in one pair of arrays."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse

__all__ = ["LabelSets", "read_label_set", "read_label_sets"]


@dataclass(frozen=True, eq=False)
class LabelSets:
    """Label sets as index lists: set i has the active labels ``indices[indptr[i]:indptr[i + 1]]``, ascending."""

    n_labels: int
    indptr: npt.NDArray[np.int64]
    indices: npt.NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.indptr) - 1

    def __getitem__(self, i: int) -> npt.NDArray[np.int64]:
        return self.indices[self.indptr[i] : self.indptr[i + 1]]

    def __iter__(self) -> Iterator[npt.NDArray[np.int64]]:
        return (self[i] for i in range(len(self)))

    def slice(self, start: int, stop: int) -> "LabelSets":
        """Return the sets from start up to stop, sharing their indices with this object."""
        lo, hi = self.indptr[start], self.indptr[stop]
        return LabelSets(self.n_labels, self.indptr[start : stop + 1] - lo, self.indices[lo:hi])

    def is_sound(self) -> bool:
        """Return whether the arrays are what they should be: ends that ascend, and labels that do in each set."""
        ends, labels = self.indptr, self.indices
        if ends[0] != 0 or ends[-1] != len(labels) or (np.diff(ends) < 0).any():
            return False
        ascending = np.diff(labels, prepend=-1) > 0
        ascending[ends[:-1][np.diff(ends) > 0]] = True  # a set's first label
        return bool(ascending.all() and (labels >= 0).all() and (labels < self.n_labels).all())

    def take(self, which: Sequence[int]) -> "LabelSets":
        """Return the sets at these places."""
        places = np.array(which, np.int64)
        starts = self.indptr[places]
        lengths = self.indptr[places + 1] - starts
        indptr = _indptr(lengths)
        of = np.arange(indptr[-1]) + np.repeat(starts - indptr[:-1], lengths)
        return LabelSets(self.n_labels, indptr, self.indices[of])


def read_label_sets(labels: Any, n_labels: int) -> LabelSets:
    """Read label sets given as a 0/1 array, a sparse matrix or lists of active label indices.

    Parameters
    ----------
    labels
        Array of bool or 0/1 of shape (n_sets, n_labels); scipy sparse matrix or array of that shape; or a list
        (or tuple) of sequences, which are always read as active label indices.
    n_labels
        Number of labels of the classifier.

    Examples
    --------
    >>> [active.tolist() for active in read_label_sets([[2, 0], []], n_labels=3)]
    [[0, 2], []]
    >>> [active.tolist() for active in read_label_sets(np.array([[1, 0, 1], [0, 0, 0]]), n_labels=3)]
    [[0, 2], []]
    """
    if isinstance(labels, LabelSets):
        if labels.n_labels != n_labels:
            raise ValueError(f"labels must be sets of {n_labels} labels to match the weight, got {labels.n_labels}")
        return labels
    if scipy.sparse.issparse(labels):
        return _from_sparse(labels, n_labels)
    if isinstance(labels, (list, tuple)):
        return _from_lists(labels, n_labels)
    return _from_dense(np.asarray(labels), n_labels)


def read_label_set(active: Any, n_labels: int, *, name: str = "label_set") -> npt.NDArray[np.int64]:
    """Return one list of active label indices in ascending order; errors call it by this name."""
    try:
        indices = np.asarray(active)
    except ValueError as error:
        raise ValueError(f"{name} must be a list of label indices, got {active!r}") from error
    if indices.size == 0 and indices.ndim == 1:
        return np.empty(0, np.int64)
    if indices.ndim != 1 or indices.dtype.kind not in "iu":
        raise ValueError(
            f"{name} must be a list of label indices (0/1 rows go into an array, not a list), got {active!r}"
        )
    if indices.min() < 0 or indices.max() >= n_labels:
        wrong = indices[(indices < 0) | (indices >= n_labels)][0]
        raise ValueError(f"{name} must hold indices from 0 to {n_labels - 1}, got {wrong}")
    ordered = np.sort(indices.astype(np.int64))
    repeated = ordered[1:][ordered[1:] == ordered[:-1]]
    if len(repeated):
        raise ValueError(f"{name} must name each label once, got {repeated[0]} more than once")
    return ordered


def _from_dense(labels: npt.NDArray[Any], n_labels: int) -> LabelSets:
    _require_shape(labels.shape, n_labels)
    if labels.dtype != np.bool_:
        if labels.dtype.kind not in "iuf":
            raise ValueError(f"labels must be bool or 0/1, got an array of dtype {labels.dtype}")
        _require_binary(labels)
    rows, columns = np.nonzero(labels)
    return LabelSets(n_labels, _indptr(np.bincount(rows, minlength=len(labels))), columns.astype(np.int64))


def _from_sparse(labels: Any, n_labels: int) -> LabelSets:
    _require_shape(labels.shape, n_labels)
    csr = labels.tocsr(copy=True)
    csr.check_format(full_check=True)
    stored = csr.nnz
    csr.sum_duplicates()
    if csr.nnz != stored:
        raise ValueError("labels must name each label of a set once, got a sparse matrix with duplicate entries")
    _require_binary(csr.data)
    csr.eliminate_zeros()
    csr.sort_indices()
    return LabelSets(n_labels, csr.indptr.astype(np.int64), csr.indices.astype(np.int64))


def _from_lists(labels: Sequence[Any], n_labels: int) -> LabelSets:
    found = _from_plain_lists(labels, n_labels)
    return _one_by_one(labels, n_labels) if found is None else found


def _from_plain_lists(labels: Sequence[Any], n_labels: int) -> LabelSets | None:
    """Read lists of Python's integers that are sound and ascend, all at once; None if they are anything else."""
    if not {type(active) for active in labels} <= {list, tuple}:
        return None
    flat = [label for active in labels for label in active]
    if not {type(label) for label in flat} <= {int}:
        return None
    try:
        indices = np.array(flat, np.int64)
    except OverflowError:
        return None
    found = LabelSets(n_labels, _indptr(np.array([len(active) for active in labels], np.int64)), indices)
    return found if found.is_sound() else None


def _one_by_one(labels: Sequence[Any], n_labels: int) -> LabelSets:
    sets = [read_label_set(active, n_labels, name=f"labels[{i}]") for i, active in enumerate(labels)]
    return LabelSets(n_labels, _indptr(np.array([len(active) for active in sets], np.int64)), np.concatenate(sets))


def _indptr(counts: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    return np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)


def _require_shape(shape: tuple[int, ...], n_labels: int) -> None:
    if len(shape) != 2 or shape[1] != n_labels:
        raise ValueError(
            f"labels must have shape (n_sets, {n_labels}) to match the weight's {n_labels} rows, got {shape}"
        )


def _require_binary(values: npt.NDArray[Any]) -> None:
    wrong = values[(values != 0) & (values != 1)]
    if wrong.size:
        raise ValueError(f"labels must be 0 or 1, got {wrong.flat[0]} (for ±1 labels pass labels > 0)")
