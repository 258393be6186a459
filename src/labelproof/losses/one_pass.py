"""A confusion loss with its gradient from one pass over the logits, where the batch is not shared with anyone."""

from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from labelproof.losses.averaging import Aim, average_loss
from labelproof.losses.by_address import place_of
from labelproof.losses.compiled import room_for_gradient, vector
from labelproof.losses.counts import Counting
from labelproof.losses.metric_kernels import average_of_counts, few_examples, few_labels

__all__ = ["SMALL", "ConfusionTask", "pooled", "remembered"]

SMALL = 1 << 15  # logits that one thread counts and differentiates in a single call
Keeping = tuple[int, int, float]  # for the compiled loops: where the memory is, where it will be, and its decay


class ConfusionTask(NamedTuple):
    """The loss of a batch, but for the logits; for `compiled.sum_of`.

    Parameters
    ----------
    memory, decay
        Earlier counts, and by what they are multiplied when those of the batch are added.
    weight
        Weights of the losses, or of the labels' counts where those are pooled; None for 1.
    after
        An empty list; with a memory it gets what `remembered` returns.
    """

    counting: Counting
    aim: Aim
    memory: Tensor | None
    decay: float
    weight: Tensor | None
    after: list[Tensor]

    def plain(self, logits: Tensor) -> Tensor:
        """Return the loss in plain torch."""
        counts = self.counting.plain(logits)
        if self.aim.average == "micro":
            counts = pooled(counts, self.weight)
        return average_loss(counts, self.aim, memory=self.memory, weight=self.weight)

    def compiled(self, logits: Tensor, wants_gradient: bool) -> tuple[Tensor, Tensor]:
        """Return the loss and its gradient, which is empty if none is wanted."""
        z, before, after = logits.contiguous(), None, None
        gradient, (n, n_labels) = room_for_gradient(z, wants_gradient), z.shape
        if self.aim.empty == "memory":
            before = None if self.memory is None else self.memory.float().contiguous()
            after = torch.empty(4) if self.aim.average == "micro" else torch.empty(4, n_labels)
            self.after[:] = [after]
        keeping = 0 if before is None else place_of(before), 0 if after is None else place_of(after), self.decay
        compute = self._at_once if n * n_labels < SMALL else self._in_steps
        return torch.from_numpy(np.array(compute(z, gradient, keeping), np.float32)), gradient

    def _at_once(self, z: Tensor, gradient: Tensor, keeping: Keeping) -> float:
        counting, (n, n_labels) = self.counting, z.shape
        kernel, m = (few_examples, n) if counting.by_example else (few_labels, n_labels)
        given = counting.places(z, gradient), *counting.vectors(n, n_labels)
        loss, is_right = kernel(*given, self._weight(m), self.aim.ratios, self.aim.how, keeping)
        if not is_right:
            counting.check_targets()
        return loss

    def _in_steps(self, z: Tensor, gradient: Tensor, keeping: Keeping) -> float:
        counting, m = self.counting, self.counting.n_counts(z)
        counting.check_targets()
        counts, by_counts = np.empty((4, m), np.float32), np.empty((2, m), np.float32)
        counting.write(z, counts, gradient)
        loss = average_of_counts(counts, self._weight(m), self.aim.ratios, self.aim.how, keeping, by_counts)
        if len(gradient):
            counting.differentiate(z, by_counts, gradient)
        return loss

    def _weight(self, m: int) -> Any:
        return vector(1.0 if self.weight is None else self.weight, m)


def remembered(counts: Tensor, memory: Tensor | None, decay: float) -> Tensor:
    """Return counts plus decay times earlier ones, in the precision of the former and without a gradient."""
    counts = counts.detach()
    return counts if memory is None else torch.add(counts, memory.to(counts.dtype), alpha=decay)


def pooled(counts: Tensor, weight: Tensor | None) -> Tensor:
    """Return the counts of all labels together, (4,)."""
    return (counts if weight is None else counts * weight).sum(1)
