"""What a scikit-learn user gives as y, and gets back in the same form: label sets, or one class for each example."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import column_or_1d

from labelproof.decisions import Rule

__all__ = ["Classes", "LabelSets", "as_array", "label_names", "read_targets"]

Floats = npt.NDArray[Any]


@dataclass(frozen=True)
class LabelSets:
    """A matrix of 0 and 1, (n_examples, n_labels).

    Parameters
    ----------
    n_labels
        Its number of columns.
    sparse
        Whether it came as a sparse matrix, as which predictions then go.
    """

    n_labels: int
    sparse: bool

    @property
    def classes(self) -> npt.NDArray[np.int64]:
        """The numbers of the labels."""
        return np.arange(self.n_labels)

    def labels(self, y: Any) -> Any:
        """Return a CSR array of bool (n_examples, n_labels)."""
        if np.ndim(y) != 2 and not scipy.sparse.issparse(y):
            raise ValueError(f"y must have shape (n_examples, {self.n_labels}), got {np.shape(y)}")
        if y.shape[1] != self.n_labels:
            raise ValueError(f"y must have {self.n_labels} labels, got {y.shape[1]}")
        matrix = scipy.sparse.csr_array(y)
        wrong = matrix.data[(matrix.data != 0) & (matrix.data != 1)]
        if wrong.size:
            raise ValueError(f"y must hold 0 and 1 for label sets, got {wrong[0]!r}: Unknown label type")
        return matrix.astype(np.bool_)

    def predict(self, logits: Floats, rule: Rule) -> Any:
        """Return the label sets that a rule decides on, in the form in which y came."""
        return rule.decide(logits, sparse=self.sparse).astype(np.int64)

    def scores(self, logits: Floats) -> Floats:
        """Return the logits as they are."""
        return logits

    def probabilities(self, p: Floats) -> Floats:
        """Return the probabilities as they are."""
        return p


@dataclass(frozen=True, eq=False)
class Classes:
    """One class for each example, (n_examples,): two classes are one label, more of them one label each.

    Parameters
    ----------
    classes
        All classes, sorted.
    """

    classes: npt.NDArray[Any]

    def __post_init__(self) -> None:
        if len(self.classes) < 2:
            raise ValueError(f"y must have at least two classes, got {len(self.classes)} class")

    @property
    def is_binary(self) -> bool:
        """Whether there are two classes."""
        return len(self.classes) == 2

    def labels(self, y: Any) -> Any:
        """Return a CSR array of bool (n_examples, n_labels)."""
        y = column_or_1d(y)
        numbers = np.searchsorted(self.classes, y)
        known = self.classes[np.minimum(numbers, len(self.classes) - 1)] == y
        if not known.all():
            raise ValueError(f"y must hold the classes {self.classes.tolist()}, got {y[~known][0]!r}")
        if self.is_binary:
            return scipy.sparse.csr_array(numbers[:, None] == 1)
        ends = np.arange(len(y) + 1)
        return scipy.sparse.csr_array((np.ones(len(y), np.bool_), numbers, ends), (len(y), len(self.classes)))

    def predict(self, logits: Floats, _rule: Rule) -> npt.NDArray[Any]:
        """Return the class with the largest logit; of two, the second if its logit is positive."""
        numbers = (logits[:, 0] > 0).astype(np.int64) if self.is_binary else logits.argmax(axis=1)
        return self.classes[numbers]

    def scores(self, logits: Floats) -> Floats:
        """Return (n_examples,) for two classes, else (n_examples, n_classes)."""
        return logits[:, 0] if self.is_binary else logits

    def probabilities(self, p: Floats) -> Floats:
        """Return (n_examples, n_classes), each row adding up to 1."""
        p = np.column_stack([1 - p, p]) if self.is_binary else p
        return p / np.maximum(p.sum(axis=1, keepdims=True), np.finfo(p.dtype).tiny)


def as_array(y: Any) -> Any:
    """Return y, as an array where it was a list; label sets given as lists of names or numbers are refused.

    Examples
    --------
    >>> as_array([[0, 1], [1, 1]]).shape
    (2, 2)
    """
    if not isinstance(y, (list, tuple)):
        return y
    sequences = [row for row in y if isinstance(row, (list, tuple, set, frozenset))]
    is_ragged = len({len(row) for row in sequences}) > 1
    if sequences and (is_ragged or any(isinstance(row, (set, frozenset)) or _has_name(row) for row in sequences)):
        raise ValueError(
            "y must be an array of 0 and 1 of shape (n_examples, n_labels), got lists of labels such as "
            f"{sequences[0]!r}: sklearn.preprocessing.MultiLabelBinarizer().fit_transform(y) makes one of them"
        )
    return np.asarray(y)


def _has_name(row: Sequence[Any]) -> bool:
    return any(isinstance(value, str) for value in row)


def read_targets(y: Any, *, classes: Any = None) -> LabelSets | Classes:
    """Say what y is, from its shape: a matrix with more than one column holds label sets.

    Parameters
    ----------
    y
        Array or sparse matrix.
    classes
        All classes of a 1-D y; by default those in y.

    Examples
    --------
    >>> read_targets(np.array([[0, 1], [1, 1]])), read_targets(np.array(["cat", "dog"])).classes.tolist()
    (LabelSets(n_labels=2, sparse=False), ['cat', 'dog'])
    """
    if scipy.sparse.issparse(y) or (np.ndim(y) == 2 and np.shape(y)[1] > 1):
        return LabelSets(int(y.shape[1]), scipy.sparse.issparse(y))
    check_classification_targets(y)
    return Classes(np.unique(column_or_1d(y, warn=True) if classes is None else np.asarray(classes)))


def label_names(scheme: LabelSets | Classes, columns: Any) -> tuple[str, ...]:
    """Return the names of the columns, else the numbers of labels, or the classes."""
    if isinstance(scheme, Classes):
        return tuple(map(str, scheme.classes[1:] if scheme.is_binary else scheme.classes))
    given = () if columns is None else tuple(map(str, columns))
    return given if len(set(given)) == scheme.n_labels else tuple(map(str, range(scheme.n_labels)))
