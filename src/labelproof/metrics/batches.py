"""One batch of examples, with what metrics share computed once: counts, and the ranks of the true labels."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from labelproof.metrics import label_matrix_kernels
from labelproof.metrics.arguments import (
    FloatArray,
    Labels,
    read_labels,
    read_probabilities,
    read_scores,
    read_shape,
    read_weight,
    require_same_shape,
)
from labelproof.metrics.counts import Counts, count_both
from labelproof.metrics.ranks import Axis, Ranks, rank_true_labels

__all__ = ["N_BINS", "Batch"]

N_BINS = 15  # bins of a reliability diagram, unless told


@dataclass(frozen=True, eq=False)
class Batch:
    """What a user passed, read and checked on first use. A part that a metric needs and that is None is an error."""

    y_true: Any
    y_pred: Any = None
    y_score: Any = None
    sample_weight: Any = None

    @cached_property
    def shape(self) -> tuple[int, int]:
        """(n_examples, n_labels)."""
        return read_shape(self.y_true, "y_true")

    @cached_property
    def true(self) -> Labels:
        """The true labels."""
        return read_labels(self.y_true, "y_true")

    @cached_property
    def pred(self) -> Labels:
        """The predicted labels."""
        _require(self.y_pred, "y_pred")
        pred = read_labels(self.y_pred, "y_pred")
        require_same_shape(self.true.shape, pred.shape, "y_pred")
        return pred

    @cached_property
    def score(self) -> npt.NDArray[Any]:
        """The scores, float32 or float64 (n_examples, n_labels)."""
        _require(self.y_score, "y_score")
        score = read_scores(self.y_score)
        require_same_shape(self.shape, score.shape, "y_score")
        return score

    @cached_property
    def probability(self) -> npt.NDArray[Any]:
        """The scores, which must be probabilities."""
        return read_probabilities(self.score)

    @cached_property
    def weight(self) -> FloatArray:
        """Weights of the examples, (n_examples,)."""
        return read_weight(self.sample_weight, self.shape[0])

    @cached_property
    def counts(self) -> tuple[Counts, Counts]:
        """Counts of the labels (weighted) and of the examples (plain)."""
        return count_both(self.true, self.pred, sample_weight=self.weight)

    @cached_property
    def _ranks(self) -> dict[Axis, Ranks]:
        return {}

    def ranks(self, axis: Axis) -> Ranks:
        """Ranks of the true entries within their example, within their label, or among all."""
        if axis not in self._ranks:
            self._ranks[axis] = rank_true_labels(self.true, self.score, self.weight, axis=axis)
        return self._ranks[axis]

    @cached_property
    def _reliability(self) -> dict[int, FloatArray]:
        return {}

    def reliability(self, n_bins: int = N_BINS) -> FloatArray:
        """Add up weight, probability, truth and squared difference by label and bin, (n_labels, n_bins, 4)."""
        if n_bins not in self._reliability:
            sums = np.zeros((self.shape[1], n_bins, 4))
            label_matrix_kernels.add_reliability(
                self.true.indptr, self.true.indices, self.probability, self.weight, sums
            )
            self._reliability[n_bins] = sums
        return self._reliability[n_bins]


def _require(value: Any, name: str) -> None:
    if value is None:
        raise ValueError(f"{name} must be given for this metric, got None")
