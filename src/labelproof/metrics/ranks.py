"""Where the true labels stand among the scores: all that ranking metrics need, from one pass over the scores.

Scores are compared as they are, so that no sigmoid can saturate, and ties are counted exactly: a metric gets the
number of scores above a true label and the number equal to it, and says itself what it makes of ties.
"""

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from labelproof.metrics import label_matrix_kernels
from labelproof.metrics.arguments import FloatArray, Labels

__all__ = ["Axis", "Ranks", "rank_true_labels", "sum_groups"]

Axis = Literal["examples", "labels", "all"]


@dataclass(frozen=True, eq=False)
class Ranks:
    """The standing of every true entry of y_true within its group; entries in the order of ``Labels.indices``.

    Parameters
    ----------
    group
        The group of each entry: its example, its label, or 0 for all.
    n_groups
        Number of groups.
    size, n_true
        Weight of all entries and of the true entries of each group, (n_groups,).
    above, tied
        Weight of the entries of the group with a higher score, and with the same score (itself included).
    true_above, true_tied
        The same among the true entries of the group.
    weight
        Weight of the entry itself.
    """

    group: npt.NDArray[np.int64]
    n_groups: int
    size: FloatArray
    n_true: FloatArray
    above: FloatArray
    tied: FloatArray
    true_above: FloatArray
    true_tied: FloatArray
    weight: FloatArray

    def sum(self, values: npt.ArrayLike) -> FloatArray:
        """Add the values of the entries of each group, (n_groups,)."""
        return sum_groups(self.group, values, self.n_groups)


def rank_true_labels(true: Labels, scores: npt.NDArray[Any], weight: FloatArray, *, axis: Axis) -> Ranks:
    """Rank the true entries among the labels of their example, among the examples of their label, or among all.

    Parameters
    ----------
    true
        The true labels.
    scores
        Float32 or float64 array of shape (n_examples, n_labels), without NaN.
    weight
        Weights of the examples, (n_examples,); not used within an example, where every label counts once.
    axis
        "examples", "labels" or "all".

    Examples
    --------
    >>> true = Labels(np.array([0, 2]), np.array([0, 2], np.int32), n_labels=3)
    >>> ranks = rank_true_labels(true, np.array([[0.3, 0.9, 0.3]]), np.ones(1), axis="examples")
    >>> ranks.above.tolist(), ranks.tied.tolist(), ranks.true_tied.tolist()
    ([1.0, 1.0], [2.0, 2.0], [2.0, 2.0])
    """
    n, n_labels = true.shape
    weight = np.ones(n) if axis == "examples" else weight
    row_group = np.arange(n) if axis == "examples" else np.zeros(n, np.int64)
    label_group = np.arange(n_labels) if axis == "labels" else np.zeros(n_labels, np.int64)
    rows = true.rows
    group, own, values = row_group[rows] + label_group[true.indices], weight[rows], scores[rows, true.indices]
    size = _sizes(n, n_labels, weight, axis)
    ends = np.concatenate([[0], np.cumsum(np.bincount(group, minlength=len(size)))]).astype(np.int64)
    order = np.lexsort((values, group))
    back = np.empty_like(order)
    back[order] = np.arange(len(order))
    higher, same = _place(scores, weight, row_group, label_group, ends, values[order])
    above, tied = _sum_from_above(ends, values[order], higher, same)
    true_above, true_tied = _sum_from_above(ends, values[order], np.zeros(len(own)), own[order])
    return Ranks(
        group=group,
        n_groups=len(size),
        size=size,
        n_true=sum_groups(group, own, len(size)),
        above=above[back],
        tied=tied[back],
        true_above=true_above[back],
        true_tied=true_tied[back],
        weight=own,
    )


def sum_groups(group: npt.NDArray[np.int64], values: npt.ArrayLike, n_groups: int) -> FloatArray:
    """Add up the values of each group, (n_groups,)."""
    return np.asarray(np.bincount(group, values, minlength=n_groups), np.float64)


def _place(
    scores: npt.NDArray[Any],
    weight: FloatArray,
    row_group: npt.NDArray[np.int64],
    label_group: npt.NDArray[np.int64],
    ends: npt.NDArray[np.int64],
    values: npt.NDArray[Any],
) -> tuple[FloatArray, FloatArray]:
    """Weight of the scores equal to each of the sorted values, and of those between it and the next."""
    higher, same = np.zeros(len(values)), np.zeros(len(values))
    scale, guide = np.zeros(len(ends) - 1), np.zeros(len(values), np.int64)
    label_matrix_kernels.build_guide(ends, values, scale, guide)
    label_matrix_kernels.add_ranks(scores, weight, row_group, label_group, ends, values, scale, guide, higher, same)
    return higher, same


def _sum_from_above(
    ends: npt.NDArray[np.int64], values: npt.NDArray[Any], higher: FloatArray, same: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Weight above and equal to each of the values, which ascend within their groups."""
    above, tied = np.zeros(len(values)), np.zeros(len(values))
    label_matrix_kernels.sum_from_above(ends, values, higher, same, above, tied)
    return above, tied


def _sizes(n: int, n_labels: int, weight: FloatArray, axis: Axis) -> FloatArray:
    """Weight of all entries of each group."""
    if axis == "examples":
        return np.full(n, float(n_labels))
    return np.full(n_labels, weight.sum()) if axis == "labels" else np.array([weight.sum() * n_labels])
