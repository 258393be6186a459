"""A data set: what is classified (texts, features or images), its labels, and which part each example belongs to."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse

from labelproof.foundation.arguments import check_choice

__all__ = ["Dataset", "UnknownLabelError", "label_matrix"]

MOST_NARROW = 2**31 - 1
_PER_EXAMPLE = ("texts", "text_pairs", "features", "image_paths", "split", "groups", "times")


class UnknownLabelError(ValueError):
    """An example has a label that is not among those that it may have."""

    def __init__(self, label: str, example: int) -> None:
        self.label = label
        super().__init__(f"label_names must hold every label of the examples, got {label!r} in example {example}")


@dataclass(frozen=True, eq=False)
class Dataset:
    """Examples with their labels; its methods return new data sets and change nothing.

    Parameters
    ----------
    labels
        scipy CSR array of bool, (n_examples, n_labels). Examples without labels are rows without entries.
    label_names
        A different name for every label.
    texts
        One text for every example.
    text_pairs
        The second text of every example, where they come in pairs.
    features
        Array or CSR array (n_examples, n_features); NaN is a missing value.
    feature_names
        A name for every feature.
    image_paths
        The file of every example's image.
    split
        The part that every example belongs to, such as ``train`` or ``test``.
    groups
        What must not be torn apart by a split, such as the patient.
    times
        Dates or years; text in the form 2025-08-01 has the order of time.
    dropped
        Labels that were left out, with the number of examples that had them.
    separator
        At what the labels of a table were split, where that was guessed.

    Examples
    --------
    >>> Y = scipy.sparse.csr_array([[1, 0], [1, 1], [0, 0]])
    >>> data = Dataset(Y, ("bird", "cat"), texts=("a robin", "a cat eyes a robin", "a stone"))
    >>> len(data), data.n_labels, data.label_sets()
    (3, 2, [('bird',), ('bird', 'cat'), ()])
    >>> data.select([1, 2]).texts
    ('a cat eyes a robin', 'a stone')
    """

    labels: Any
    label_names: tuple[str, ...]
    texts: tuple[str, ...] | None = None
    text_pairs: tuple[str, ...] | None = None
    features: Any = None
    feature_names: tuple[str, ...] | None = None
    image_paths: tuple[str, ...] | None = None
    split: npt.NDArray[np.str_] | None = None
    groups: npt.NDArray[Any] | None = None
    times: npt.NDArray[Any] | None = None
    dropped: Mapping[str, int] = field(default_factory=dict)
    separator: str | None = None

    def __post_init__(self) -> None:
        labels = label_matrix(self.labels)
        n, n_labels = labels.shape
        object.__setattr__(self, "labels", labels)
        object.__setattr__(self, "label_names", tuple(self.label_names))
        if len(self.label_names) != n_labels:
            raise ValueError(f"label_names must hold {n_labels} names to match labels, got {len(self.label_names)}")
        if len(set(self.label_names)) != n_labels:
            raise ValueError(f"label_names must differ, got {_first_repeated(self.label_names)!r} more than once")
        for name in _PER_EXAMPLE:
            values = getattr(self, name)
            if values is None:
                continue
            if name in ("texts", "text_pairs", "image_paths"):
                values = tuple(values)
            else:
                values = _read_features(values) if name == "features" else np.atleast_1d(values)
            object.__setattr__(self, name, values)
            given = len(values) if isinstance(values, tuple) else values.shape[0]
            if given != n:
                raise ValueError(f"{name} must hold {n} examples to match labels, got {given}")
        if self.feature_names is not None:
            object.__setattr__(self, "feature_names", tuple(self.feature_names))
            if len(self.feature_names) != self.n_features:
                raise ValueError(f"feature_names must hold {self.n_features} names, got {len(self.feature_names)}")

    def __len__(self) -> int:
        return int(self.labels.shape[0])

    def __repr__(self) -> str:
        what = [name for name in ("texts", "features", "image_paths") if getattr(self, name) is not None]
        return f"Dataset({len(self)} examples, {self.n_labels} labels, {' and '.join(what) or 'labels only'})"

    @property
    def n_labels(self) -> int:
        """Number of labels."""
        return int(self.labels.shape[1])

    @property
    def n_features(self) -> int:
        """Number of features, 0 where there are none."""
        return 0 if self.features is None else int(self.features.shape[1])

    @property
    def parts(self) -> tuple[str, ...]:
        """The names in `split`, in the order in which they first occur."""
        return () if self.split is None else tuple(dict.fromkeys(self.split.tolist()))

    def label_sets(self) -> list[tuple[str, ...]]:
        """Return the names of every example's labels."""
        names, ends = np.array([*self.label_names, ""], dtype=object)[:-1], self.labels.indptr
        return [tuple(names[self.labels.indices[a:b]]) for a, b in pairwise(ends)]

    def select(self, rows: Any) -> "Dataset":
        """Return the examples of these rows, in this order: indices, a slice, or a mask of bool."""
        rows = np.arange(len(self))[rows]
        changes: dict[str, Any] = {"labels": self.labels[rows]}
        for name in _PER_EXAMPLE:
            values = getattr(self, name)
            if values is not None:
                changes[name] = tuple(values[i] for i in rows) if isinstance(values, tuple) else values[rows]
        return replace(self, **changes)

    def part(self, name: str) -> "Dataset":
        """Return the examples of one part of the split."""
        if self.split is None or name not in self.parts:
            have = ", ".join(self.parts) or "no parts"
            raise ValueError(f"name must be a part of the split ({have}), got {name!r}")
        return self.select(self.split == name)

    def with_labels(self, labels: Any, label_names: Sequence[str] | None = None) -> "Dataset":
        """Return the same examples with other labels."""
        return replace(self, labels=labels, label_names=tuple(self.label_names if label_names is None else label_names))

    def with_split(self, split: Sequence[str] | npt.NDArray[np.str_] | None) -> "Dataset":
        """Return the same examples with another division into parts."""
        return replace(self, split=None if split is None else np.asarray(split))

    def restrict_to(self, label_names: Sequence[str], *, unknown: str = "error") -> "Dataset":
        """Return the data set over exactly these labels, in this order, which the examples need not have.

        Parameters
        ----------
        label_names
            The labels, such as those of a trained model.
        unknown
            What happens to a label of an example that is not among them: ``error`` names the label, ``drop`` leaves it
            out and counts it in `dropped`. Examples that lose their last label are kept.

        Examples
        --------
        >>> data = Dataset(scipy.sparse.csr_array([[1, 1], [0, 1]]), ("bird", "cat"))
        >>> data.restrict_to(["dog", "cat"], unknown="drop").dropped
        {'bird': 1}
        """
        check_choice("unknown", unknown, ("error", "drop"))
        places = {name: place for place, name in enumerate(self.label_names)}
        counts = self.label_counts()
        kept = set(label_names)
        lost = {name: int(counts[i]) for i, name in enumerate(self.label_names) if name not in kept and counts[i]}
        if lost and unknown == "error":
            name = next(iter(lost))
            row = int(self.labels[:, [places[name]]].nonzero()[0][0])
            raise UnknownLabelError(name, row)
        selector = _selector([places.get(name, -1) for name in label_names], self.n_labels)
        dropped = {**self.dropped, **{name: self.dropped.get(name, 0) + count for name, count in lost.items()}}
        return replace(self, labels=self.labels @ selector, label_names=tuple(label_names), dropped=dropped)

    def drop_rare_labels(self, b: int, *, part: str = "train") -> "Dataset":
        """Return the data set over the labels that at least `b` training examples have.

        The training part alone fixes the vocabulary; without a split all examples count.

        Examples
        --------
        >>> Y = scipy.sparse.csr_array([[1, 0, 0], [1, 1, 0], [0, 1, 1]])
        >>> data = Dataset(Y, ("bird", "cat", "dog"), split=np.array(["train", "train", "test"]))
        >>> data.drop_rare_labels(1).label_names, data.drop_rare_labels(2).dropped
        (('bird', 'cat'), {'cat': 2, 'dog': 1})
        """
        if b < 1:
            raise ValueError(f"b must be at least 1, got {b}")
        bare = Dataset(self.labels, self.label_names, split=self.split)  # nothing else is copied to be counted
        counts = (bare if self.split is None else bare.part(part)).label_counts()
        names = [name for name, count in zip(self.label_names, counts, strict=True) if count >= b]
        return self.restrict_to(names, unknown="drop")

    def label_counts(self) -> npt.NDArray[np.int64]:
        """Return how many examples have each label, (n_labels,)."""
        return np.bincount(self.labels.indices, minlength=self.n_labels).astype(np.int64)


def label_matrix(labels: Any) -> Any:
    """Return labels as a CSR array of bool with sorted entries, all of them true.

    >>> label_matrix([[0, 1], [1, 1]]).indices.tolist()
    [1, 0, 1]
    """
    matrix = scipy.sparse.csr_array(labels)
    if matrix.ndim != 2:
        raise ValueError(f"labels must have shape (n_examples, n_labels), got {matrix.shape}")
    if matrix.dtype != np.bool_:
        wrong = matrix.data[(matrix.data != 0) & (matrix.data != 1)]
        if wrong.size:
            raise ValueError(f"labels must be 0 or 1, got {wrong[0]}")
        matrix = matrix.astype(np.bool_)
    if not (matrix.has_canonical_format and matrix.data.all()):
        matrix = matrix.copy()
        matrix.sum_duplicates()
        matrix.eliminate_zeros()
    return _with_narrow_indices(matrix)


def _read_features(features: Any) -> Any:
    """Return features as an array of numbers, or a CSR array with sorted entries, each of them once."""
    is_sparse = scipy.sparse.issparse(features)
    matrix: Any = scipy.sparse.csr_array(features) if is_sparse else np.asarray(features)
    if matrix.ndim != 2 or matrix.dtype.kind not in "biuf":
        raise ValueError(
            f"features must be numbers of shape (n_examples, n_features), got {matrix.dtype} of shape {matrix.shape}"
        )
    if is_sparse and not matrix.has_canonical_format:
        matrix = matrix.copy()
        matrix.sum_duplicates()
    return _with_narrow_indices(matrix) if is_sparse else matrix


def _with_narrow_indices(matrix: Any) -> Any:
    """Return a CSR array with indices of 32 bits wherever they fit: others, such as liblinear, take no wider ones."""
    if matrix.indices.dtype == matrix.indptr.dtype == np.int32 or max(matrix.nnz, *matrix.shape) > MOST_NARROW:
        return matrix
    narrow = matrix.indices.astype(np.int32), matrix.indptr.astype(np.int32)
    return scipy.sparse.csr_array((matrix.data, *narrow), shape=matrix.shape)


def _selector(places: list[int], n_labels: int) -> Any:
    """Return the matrix (n_labels, n_chosen) whose product picks these columns, an empty one for -1."""
    chosen = np.array(places, dtype=np.int64)
    columns = np.flatnonzero(chosen >= 0)
    entries = (np.ones(len(columns), np.bool_), (chosen[columns], columns))
    return scipy.sparse.csr_array(entries, shape=(n_labels, len(places)))


def _first_repeated(names: Sequence[str]) -> str:
    seen: set[str] = set()
    return next(name for name in names if name in seen or seen.add(name))  # type: ignore[func-returns-value]
