"""What is made of the counts of a batch: a metric of each label or example, and the mean of those."""

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor

from labelproof.foundation.arguments import check_choice
from labelproof.losses.metric_ratios import AVERAGES, Average, Metric, read_metric
from labelproof.losses.pooling import pool
from labelproof.losses.reduction import REDUCTIONS, Reduction, check_positive
from labelproof.losses.smooth_metrics import EMPTY, Empty, losses_of_counts

if TYPE_CHECKING:
    from torch.distributed import ProcessGroup

__all__ = ["Aim", "average_loss"]


@dataclass(frozen=True)
class Aim:
    """What a confusion loss aims at; `ConfusionLoss` explains each of these options."""

    metric: str = "f1"
    f_beta: float = 1.0
    average: Average = "macro"
    empty: Empty = "smooth"
    smoothing: float = 1.0
    reduction: Reduction = "mean"

    def __post_init__(self) -> None:
        read_metric(self.metric, self.f_beta)
        check_choice("average", self.average, AVERAGES)
        check_choice("empty", self.empty, EMPTY)
        check_positive("smoothing", self.smoothing)
        check_choice("reduction", self.reduction, REDUCTIONS)
        if self.average == "samples" and self.empty == "memory":
            raise ValueError("empty must be 'skip' or 'smooth' for average='samples', got 'memory'")

    @property
    def by_example(self) -> bool:
        """Whether each example has a metric, not each label."""
        return self.average == "samples"

    def read_metric(self) -> Metric:
        """Return the metric of this name."""
        return read_metric(self.metric, self.f_beta)

    @cached_property
    def ratios(self) -> Any:
        """The factors of the metric's ratios, (n_ratios, 2, 4), for the compiled loops."""
        return np.array(self.read_metric().ratios, np.float64).reshape(-1, 2, 4)

    @cached_property
    def how(self) -> tuple[bool, bool, bool, float, bool, bool]:
        """How the compiled loops are to average: pooled, by support, as a sum, hits to add, and what is needed."""
        smoothing, metric = float(self.smoothing) if self.empty == "smooth" else 0.0, self.read_metric()
        kind = self.average == "micro", self.average == "weighted", self.reduction == "sum"
        return *kind, smoothing, metric.needs_positives, metric.needs_negatives


def average_loss(
    counts: Tensor,
    aim: Aim,
    *,
    memory: Tensor | None = None,
    weight: Tensor | None = None,
    process_group: "ProcessGroup | None" = None,
) -> Tensor:
    """Return the loss that belongs to the counts of a whole batch.

    Parameters
    ----------
    counts
        Counts as `confusion_counts` returns them for this average.
    aim
        Metric, average and reduction.
    memory, process_group
        As for `confusion_loss`.
    weight
        Weights of the losses in the mean: of labels for macro and weighted, of examples for samples.

    Examples
    --------
    >>> average_loss(torch.tensor([3.0, 4.0, 5.0, 9.0]), Aim("precision", average="micro"))
    tensor(0.2500)
    """
    losses, kept, support = losses_of_counts(
        counts, aim.read_metric(), empty=aim.empty, smoothing=aim.smoothing, memory=memory
    )
    if aim.average == "micro" or aim.reduction == "none":
        return losses
    share = kept * support if aim.average == "weighted" else kept
    share = share if weight is None else share * weight.to(share)
    above = losses.sum() if share is kept else (share * losses).sum()  # what is left out has the loss 0
    below = share.sum()
    if aim.reduction == "sum":
        return above
    if aim.by_example and process_group is not None:
        above, below = pool(torch.stack([above, below]), None, process_group)
    return above / torch.where(below == 0, 1.0, below)
