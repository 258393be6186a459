"""A confusion loss with its gradient from one pass over the logits, where the batch is not shared with anyone."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from labelproof.losses.averaging import Aim, average_loss
from labelproof.losses.compiled import room_for_gradient, vector
from labelproof.losses.counts import Counting
from labelproof.losses.metric_kernels import average_of_counts, few_examples, few_labels

__all__ = ["SMALL", "ConfusionTask", "pooled"]

SMALL = 1 << 15  # logits that one thread counts and differentiates in a single call
Array = npt.NDArray[np.float32]
_NO_MEMORY = np.empty((0, 0), np.float32)


@dataclass(frozen=True, eq=False)
class ConfusionTask:
    """The loss of a batch, but for the logits; for `compiled.sum_of`.

    Parameters
    ----------
    weight
        Weights of the losses, or of the labels' counts where those are pooled; None for 1.
    counted
        Empty; afterwards the counts of each label or example.
    """

    counting: Counting
    aim: Aim
    memory: Tensor | None = None
    weight: Tensor | None = None
    counted: list[Array] = field(default_factory=list)

    def plain(self, logits: Tensor) -> Tensor:
        """Return the loss in plain torch."""
        counts = self.counting.plain(logits)
        if self.aim.average == "micro":
            counts = pooled(counts, self.weight)
        return average_loss(counts, self.aim, memory=self.memory, weight=self.weight)

    def compiled(self, logits: Tensor, wants_gradient: bool) -> tuple[Tensor, Tensor]:
        """Return the loss and its gradient, which is empty if none is wanted."""
        counting, n = self.counting, self.counting.n_counts(logits)
        counted, by_counts = np.empty((4, n), np.float32), np.empty((2, n), np.float32)
        arrays, gradient = counting.arrays(logits), room_for_gradient(logits, wants_gradient)
        slopes, weight = gradient.numpy(), vector(1.0 if self.weight is None else self.weight, n)
        rest = self._memory(), weight, self.aim.ratios, self.aim.how, by_counts
        if logits.numel() < SMALL:
            kernel: Any = few_examples if counting.by_example else few_labels
            loss, is_right = kernel(*arrays, slopes, counted, *rest)
            if not is_right:
                counting.check_targets()
        else:
            counting.check_targets()
            counting.count(arrays, counted, slopes)
            loss = average_of_counts(counted, *rest)
            if wants_gradient:
                counting.differentiate(arrays, by_counts, slopes)
        self.counted[:] = [counted]
        return torch.from_numpy(np.array(loss, np.float32)), gradient

    def counts(self) -> Tensor:
        """Return the counts, as `confusion_counts` would, once the loss has been computed."""
        counts = torch.from_numpy(self.counted[0])
        return pooled(counts, self.weight) if self.aim.average == "micro" else counts

    def _memory(self) -> Any:
        if self.memory is None or self.aim.empty != "memory":
            return _NO_MEMORY
        memory = self.memory.numpy()
        if memory.ndim == 2 and memory.dtype == np.float32 and memory.flags.c_contiguous:
            return memory
        return np.ascontiguousarray(memory, np.float32).reshape(4, -1)


def pooled(counts: Tensor, weight: Tensor | None) -> Tensor:
    """Return the counts of all labels together, (4,)."""
    return (counts if weight is None else counts * weight).sum(1)
