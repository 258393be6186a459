"""Single examples, as readers yield them, and how they are gathered into a data set."""

from array import array
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import scipy.sparse

from labelproof.data.dataset import Dataset

__all__ = [
    "MAX_LABELS",
    "Example",
    "GatheredLabels",
    "SparseRow",
    "collect",
    "float32_values",
    "in_natural_order",
    "sparse_features",
]


MAX_LABELS = 2**24
"""The most labels that a file may declare; the largest published sets have about three million."""


class SparseRow(NamedTuple):
    """The features of one example that are not zero.

    Parameters
    ----------
    indices
        int64 (m,): their columns.
    values
        float32 (m,): the numbers there.

    Examples
    --------
    >>> SparseRow(np.array([3, 17]), np.array([0.5, 1.0], dtype=np.float32)).indices
    array([ 3, 17])
    """

    indices: npt.NDArray[np.int64]
    values: npt.NDArray[np.float32]


class Example(NamedTuple):
    """One example of a data set; what a format does not hold is None.

    Parameters
    ----------
    labels
        The names of its labels, possibly none.
    text, text_pair
        Its text, and the second text where they come in pairs.
    features
        Its features: an array (n_features,), or a `SparseRow`.
    image_path
        The file of its image.
    split, group, time
        As in `Dataset`.

    Examples
    --------
    >>> Example(("cat", "dog"), text="a cat and a dog").labels
    ('cat', 'dog')
    """

    labels: tuple[str, ...]
    text: str | None = None
    text_pair: str | None = None
    features: npt.NDArray[np.float32] | SparseRow | None = None
    image_path: str | None = None
    split: str | None = None
    group: str | None = None
    time: str | None = None


_PLURAL = {
    "text": "texts",
    "text_pair": "text_pairs",
    "image_path": "image_paths",
    "split": "split",
    "group": "groups",
    "time": "times",
}


def collect(
    examples: Iterable[Example],
    *,
    label_names: Sequence[str] | None = None,
    n_features: int | None = None,
    feature_names: Sequence[str] | None = None,
) -> Dataset:
    """Gather examples into a data set.

    Parameters
    ----------
    examples
        The examples. All or none of them must have a text, features, an image, a split and so on.
    label_names
        Labels that come first, in this order, whether they occur or not; others follow in their natural order.
    n_features
        Number of features, where sparse rows may not show the last.
    feature_names
        Their names.

    Examples
    --------
    >>> data = collect([Example(("10", "9"), text="a"), Example((), text="b")])
    >>> data.label_names, data.labels.toarray().astype(int).tolist()
    (('9', '10'), [[1, 1], [0, 0]])
    """
    labels, rows = GatheredLabels(label_names or ()), _Rows()
    columns: dict[str, list[str]] = {name: [] for name in _PLURAL}
    for example in examples:
        labels.add(example.labels)
        if example.features is not None:
            rows.add(example.features)
        for name, column in columns.items():
            value = getattr(example, name)
            if value is not None:
                column.append(value)
    n = len(labels.ends) - 1
    for name, column in {**columns, "features": rows.rows}.items():
        if column and len(column) != n:
            raise ValueError(f"examples must all have a {name.replace('_', ' ')} or none, got {len(column)} of {n}")
    matrix, names = labels.matrix()
    return Dataset(
        labels=matrix,
        label_names=tuple(names),
        features=rows.matrix(n_features) if rows.rows else None,
        feature_names=None if feature_names is None else tuple(feature_names),
        **{_PLURAL[name]: tuple(column) for name, column in columns.items() if column},  # type: ignore[arg-type]
    )


def in_natural_order(names: Iterable[str]) -> list[str]:
    """Sort label names, by value if they are all whole numbers.

    >>> in_natural_order({"10", "9"}), in_natural_order({"b", "10", "9"})
    (['9', '10'], ['10', '9', 'b'])
    """
    ordered = sorted(names)
    if all(name.isdecimal() and name.isascii() for name in ordered):
        ordered.sort(key=int)
    return ordered


def float32_values(values: Sequence[float] | npt.NDArray[np.float64]) -> npt.NDArray[np.float32]:
    """Return features as an array; NaN is a missing value, but what is too large for float32 is refused.

    >>> float32_values([0.5, 2])
    array([0.5, 2. ], dtype=float32)
    """
    with np.errstate(over="ignore"):
        array = np.array(values, np.float64).astype(np.float32)
    if np.isinf(array).any():
        raise ValueError(f"expected features within ±3.4e38, got {values[int(np.isinf(array).argmax())]}")
    return array


def sparse_features(
    indices: npt.NDArray[Any], values: npt.NDArray[np.float32], sizes: Any, n_features: int | None = None
) -> Any:
    """Return features as a CSR array.

    Parameters
    ----------
    indices, values
        Of all rows, one after the other.
    sizes
        How many of them each row has.
    n_features
        Width; by default that of the largest index.
    """
    width = n_features if n_features is not None else int(indices.max(initial=-1)) + 1
    ends = np.concatenate([[0], np.cumsum(sizes)])
    matrix = scipy.sparse.csr_array((values, indices.astype(np.int32), ends), shape=(len(sizes), width))
    matrix.sort_indices()
    return matrix


@dataclass
class GatheredLabels:
    """Label sets as they come, in one pair of arrays; a label's number is its place of first occurrence."""

    fixed: Sequence[str] = ()
    indices: "array[int]" = field(default_factory=lambda: array("i"))
    ends: "array[int]" = field(default_factory=lambda: array("q", [0]))
    numbers: dict[str, int] = field(init=False)

    def __post_init__(self) -> None:
        self.numbers = {name: i for i, name in enumerate(self.fixed)}

    def add(self, names: Iterable[str]) -> None:
        """Add the label set of one example."""
        numbers = self.numbers
        self.indices.extend(sorted({numbers.setdefault(name, len(numbers)) for name in names}))
        self.ends.append(len(self.indices))

    def matrix(self) -> tuple[Any, list[str]]:
        """Return the labels as a CSR array, and their names."""
        wrong = next((name for name in self.numbers if not isinstance(name, str)), None)
        if wrong is not None:
            raise ValueError(f"labels must be given by name, got {wrong!r}")
        names = [*self.fixed, *in_natural_order(list(self.numbers)[len(self.fixed) :])]
        place = np.empty(len(names), np.int32)
        place[[self.numbers[name] for name in names]] = np.arange(len(names), dtype=np.int32)
        indices = place[np.frombuffer(self.indices, np.int32)] if self.indices else np.empty(0, np.int32)
        shape = (len(self.ends) - 1, len(names))
        matrix = scipy.sparse.csr_array((np.ones(len(indices), np.bool_), indices, np.array(self.ends)), shape=shape)
        matrix.sort_indices()
        return matrix, names


@dataclass
class _Rows:
    """Feature rows as they come: all dense or all sparse."""

    rows: list[Any] = field(default_factory=list)

    def add(self, row: npt.NDArray[np.float32] | SparseRow) -> None:
        if self.rows and (type(row) is not type(self.rows[0]) or _width(row) != _width(self.rows[0])):
            first, place = _shape(self.rows[0]), len(self.rows)
            raise ValueError(f"features must have {first} in every example, got {_shape(row)} in example {place}")
        self.rows.append(row)

    def matrix(self, n_features: int | None) -> Any:
        if not isinstance(self.rows[0], SparseRow):
            return np.stack(self.rows)
        indices, values = (np.concatenate([row[part] for row in self.rows]) for part in (0, 1))
        return sparse_features(indices, values, [len(row.indices) for row in self.rows], n_features)


def _width(row: npt.NDArray[np.float32] | SparseRow) -> int | None:
    return None if isinstance(row, SparseRow) else len(row)


def _shape(row: npt.NDArray[np.float32] | SparseRow) -> str:
    return "sparse rows" if isinstance(row, SparseRow) else f"{len(row)} values"
