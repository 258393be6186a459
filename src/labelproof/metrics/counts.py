"""True and false positives and negatives, per label and per example: all that most set metrics need."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from labelproof.metrics import label_matrix_kernels
from labelproof.metrics.arguments import FloatArray, Labels, read_labels, read_weight, require_same_shape
from labelproof.metrics.documentation import documented

__all__ = ["Counts", "count", "count_both", "count_examples", "read_pair", "without_rounding"]


@dataclass(frozen=True, eq=False)
class Counts:
    """Counts of one label each (or of one example each); with weights, sums of the weights of the examples.

    Parameters
    ----------
    tp, fp, fn, tn
        Float64 arrays of shape (n_labels,): true positives, false positives, false negatives, true negatives. A
        formula also takes arrays with more dimensions, labels on the last axis.

    Examples
    --------
    >>> counts = Counts(*(np.array([value]) for value in (3.0, 1.0, 2.0, 4.0)))
    >>> counts.tp / (counts.tp + counts.fp)  # precision
    array([0.75])
    """

    tp: FloatArray
    fp: FloatArray
    fn: FloatArray
    tn: FloatArray

    def __add__(self, other: "Counts") -> "Counts":
        return Counts(self.tp + other.tp, self.fp + other.fp, self.fn + other.fn, self.tn + other.tn)

    @property
    def arrays(self) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
        """(tp, fp, fn, tn), the order in which every formula takes them."""
        return self.tp, self.fp, self.fn, self.tn


@documented
def count(y_true: Any, y_pred: Any, *, sample_weight: Any = None) -> Counts:
    """Count true and false positives and negatives of every label.

    Parameters
    ----------
    {labels}
    sample_weight
        Weights of the examples, (n_examples,); None counts each once.

    Returns
    -------
    Counts
        Arrays of shape (n_labels,).

    Examples
    --------
    >>> count([[1, 0], [1, 1]], [[1, 1], [0, 1]]).tp.tolist()
    [1.0, 1.0]
    """
    return count_both(*read_pair(y_true, y_pred), sample_weight=sample_weight)[0]


@documented
def count_examples(y_true: Any, y_pred: Any) -> Counts:
    """Count true and false positives and negatives of every example, over its labels.

    Parameters
    ----------
    {labels}

    Returns
    -------
    Counts
        Arrays of shape (n_examples,).

    Examples
    --------
    >>> count_examples([[1, 0], [1, 1]], [[1, 1], [0, 1]]).fp.tolist()
    [1.0, 0.0]
    """
    return count_both(*read_pair(y_true, y_pred))[1]


def count_both(true: Labels, pred: Labels, *, sample_weight: Any = None) -> tuple[Counts, Counts]:
    """Return the weighted counts of the labels and the plain counts of the examples, from one pass."""
    n_examples, n_labels = true.shape
    weight = read_weight(sample_weight, n_examples)
    tp, fp, fn = np.zeros(n_labels), np.zeros(n_labels), np.zeros(n_labels)
    hits = np.zeros(n_examples)
    label_matrix_kernels.add_counts(true.indptr, true.indices, pred.indptr, pred.indices, weight, tp, fp, fn, hits)
    tn = without_rounding(weight.sum() - tp - fp - fn, weight.sum())
    extra, missed = pred.sizes - hits, true.sizes - hits
    return Counts(tp, fp, fn, tn), Counts(hits, extra, missed, n_labels - hits - extra - missed)


def without_rounding(difference: FloatArray, total: npt.ArrayLike) -> FloatArray:
    """Return differences of sums of weights, with 0 for those that are no more than the rounding of the sums.

    Otherwise a rest of 1e-16 would make a ratio of 0/0. Sums of whole weights below 1e12 are not touched.
    """
    return np.where(difference <= 1e-12 * np.asarray(total), 0.0, difference)


def read_pair(y_true: Any, y_pred: Any) -> tuple[Labels, Labels]:
    """Read true and predicted labels, which must have one shape."""
    true, pred = read_labels(y_true, "y_true"), read_labels(y_pred, "y_pred")
    require_same_shape(true.shape, pred.shape, "y_pred")
    return true, pred
