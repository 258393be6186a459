"""What predictions miss altogether: labels never predicted, label sets never predicted, errors on rare labels."""

from dataclasses import dataclass
from itertools import pairwise
from typing import Any, SupportsIndex

import numpy as np
import numpy.typing as npt

from labelproof.foundation.arguments import whole_number
from labelproof.metrics import formulas
from labelproof.metrics.arguments import FloatArray, Labels
from labelproof.metrics.batches import Batch
from labelproof.metrics.counts import Counts, count
from labelproof.metrics.documentation import documented

__all__ = [
    "FrequencyGroup",
    "errors_by_frequency",
    "group_errors",
    "label_set_coverage_score",
    "never_predicted_labels",
    "never_predicted_share",
    "set_coverage",
]


@dataclass(frozen=True)
class FrequencyGroup:
    """Errors on the labels of one range of frequencies.

    Parameters
    ----------
    n_labels
        Number of labels in the group.
    lowest, highest
        Range of the frequencies of its labels; NaN for an empty group.
    never_predicted
        How many of its labels are never predicted.
    precision, recall, f1
        Micro averages over the group, 0/0 as 0.
    macro_f1
        Mean of its labels' F1; NaN for an empty group.

    Examples
    --------
    >>> rare = errors_by_frequency([[1, 0], [1, 1]], [[1, 0], [1, 0]], n_groups=2)[0]
    >>> rare.n_labels, rare.never_predicted, rare.f1
    (1, 1, 0.0)
    """

    n_labels: int
    lowest: float
    highest: float
    never_predicted: int
    precision: float
    recall: float
    f1: float
    macro_f1: float


@documented
def never_predicted_labels(y_true: Any, y_pred: Any) -> npt.NDArray[np.int64]:
    """Return the labels that occur in y_true and in no prediction, ascending.

    Parameters
    ----------
    {labels}

    Returns
    -------
    array of int

    Examples
    --------
    >>> never_predicted_labels([[1, 0, 1], [0, 0, 1]], [[1, 0, 0], [1, 0, 0]]).tolist()
    [2]
    """
    counts = count(y_true, y_pred)
    return np.flatnonzero((counts.tp + counts.fn > 0) & (counts.tp + counts.fp == 0))


def never_predicted_share(counts: Counts) -> FloatArray:
    """Share of the labels with true examples that are never predicted, over the last axis; 0 if there are none."""
    occurs = counts.tp + counts.fn > 0
    missed = occurs & (counts.tp + counts.fp == 0)
    return np.nan_to_num(formulas.ratio(missed.sum(-1), occurs.sum(-1)))


@documented
def label_set_coverage_score(y_true: Any, y_pred: Any) -> float:
    """Share of the distinct true label sets that occur among the predictions, of whatever example.

    Parameters
    ----------
    {labels}

    Returns
    -------
    float
        NaN without examples.

    Examples
    --------
    >>> label_set_coverage_score([[1, 0], [1, 1], [1, 1]], [[1, 1], [0, 0], [0, 0]])
    0.5
    """
    batch = Batch(y_true, y_pred)
    return set_coverage(batch.true, batch.pred)


def set_coverage(true: Labels, pred: Labels) -> float:
    """Return the share of the distinct sets of `true` that `pred` has too."""
    wanted = _distinct_sets(true)
    return len(wanted & _distinct_sets(pred)) / len(wanted) if wanted else float("nan")


@documented
def errors_by_frequency(
    y_true: Any, y_pred: Any, *, frequency: Any = None, n_groups: SupportsIndex = 10
) -> list[FrequencyGroup]:
    """Return the errors of the labels in groups (deciles by default) from the rarest to the most frequent.

    A label's group is its place among the labels by frequency, ⌊n_groups · share of the labels below⌋, where labels
    of one frequency share the middle of their places: they stay together, so groups may differ in size.

    Parameters
    ----------
    {labels}
    frequency
        Frequency of every label, (n_labels,), such as its number of training examples; None counts it in y_true.
    n_groups
        Number of groups, at least 1.

    Returns
    -------
    list of FrequencyGroup

    Examples
    --------
    >>> rare, frequent = errors_by_frequency([[1, 0], [1, 1], [1, 0]], [[1, 0], [1, 0], [1, 0]], n_groups=2)
    >>> rare.recall, frequent.recall
    (0.0, 1.0)
    """
    return group_errors(count(y_true, y_pred), frequency, n_groups)


def group_errors(counts: Counts, frequency: Any, n_groups: SupportsIndex) -> list[FrequencyGroup]:
    """Return the errors in groups of labels, given the counts of the labels."""
    n_groups = whole_number("n_groups", n_groups, minimum=1)
    n_labels = len(counts.tp)
    values = np.asarray(counts.tp + counts.fn if frequency is None else frequency)
    if values.shape != (n_labels,) or values.dtype.kind not in "iuf" or not np.all(np.isfinite(values)):
        raise ValueError(f"frequency must be {n_labels} finite numbers, one per label, got shape {values.shape}")
    ascending = np.sort(values)
    middle = (np.searchsorted(ascending, values, "left") + np.searchsorted(ascending, values, "right")) / 2
    group = np.floor(n_groups * middle / max(n_labels, 1)).astype(np.int64)
    return [_errors(counts, values, group == g) for g in range(n_groups)]


def _errors(counts: Counts, frequency: npt.NDArray[Any], chosen: npt.NDArray[np.bool_]) -> FrequencyGroup:
    part = Counts(*(x[chosen] for x in counts.arrays))
    found = frequency[chosen] if chosen.any() else np.array([np.nan])
    families = formulas.FORMULAS["precision"], formulas.FORMULAS["recall"], formulas.fbeta(1.0)
    micro = [float(formulas.average_counts(formula, part, average="micro")) for formula in families]
    f1 = formulas.average_counts(formulas.fbeta(1.0), part, average=None)
    return FrequencyGroup(
        n_labels=int(chosen.sum()),
        lowest=float(found.min()),
        highest=float(found.max()),
        never_predicted=int(((part.tp + part.fp == 0) & (part.tp + part.fn > 0)).sum()),
        precision=micro[0],
        recall=micro[1],
        f1=micro[2],
        macro_f1=float(f1.mean()) if len(f1) else float("nan"),
    )


def _distinct_sets(labels: Labels) -> set[bytes]:
    ends = labels.indptr.tolist()
    flat = np.ascontiguousarray(labels.indices).tobytes()
    width = labels.indices.itemsize
    return {flat[width * a : width * b] for a, b in pairwise(ends)}
