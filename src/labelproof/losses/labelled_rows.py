"""Logits and targets as losses read them that compare the labels of an example with each other.

A soft target y weighs its label by y among the positives and by 1 − y among the negatives. An unknown label weighs
nothing in either.
"""

from typing import Any, NamedTuple

import torch
from torch import Tensor

from labelproof.losses.compiled import applies
from labelproof.losses.reduction import read_example_weight, read_label_vector, read_mask
from labelproof.losses.targets import SparseTargets, as_rows, check_range, promote, read_targets

__all__ = ["LabelledRows", "log_sum", "read_rows"]


class LabelledRows(NamedTuple):
    """Everything about a batch of n examples but its logits; the range of dense targets is not checked yet.

    Dense targets and the mask are contiguous.
    """

    targets: Tensor | SparseTargets
    known: Tensor | None  # (n, L)
    of_label: Tensor | float  # (L,) or ()
    of_example: Tensor | None  # (n,)

    def parts(self, logits: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Return logits, 0 where unknown, and what each weighs among positives and among negatives, (n, L) each."""
        if isinstance(self.targets, Tensor):
            check_range(self.targets)
            y = self.targets
        else:
            y = torch.zeros_like(logits).index_put((self.targets.rows, self.targets.columns), logits.new_tensor(1.0))
        if self.known is None:
            return logits, y, 1 - y
        return torch.where(self.known, logits, 0.0), y * self.known, (1 - y) * self.known

    def are_compiled(self, logits: Tensor) -> bool:
        """Return whether the compiled loops can be used."""
        return applies(logits, self.targets, self.of_label, self.of_example, self.known)


def read_rows(
    logits: Tensor,
    targets: Any,
    label_weight: Tensor | None,
    example_weight: Tensor | None,
    mask: Tensor | None,
) -> tuple[Tensor, LabelledRows]:
    """Return the logits as rows (n, n_labels), and all else that a batch is made of."""
    logits = promote(logits)
    read, known = read_targets(logits, targets, unchecked=True), read_mask(mask, logits)
    of_label = 1.0 if label_weight is None else read_label_vector("label_weight", label_weight, logits)
    of_example = read_example_weight(example_weight, logits)
    rows = as_rows(read).contiguous() if isinstance(read, Tensor) else read
    return as_rows(logits), LabelledRows(rows, known, of_label, of_example)


def log_sum(x: Tensor, weight: Tensor, dim: int, *, floor: float = -torch.inf) -> Tensor:
    """Return log(e^floor + Σ weight · e^x) over a dimension; −∞ where all is 0, ∞ where a number of weight is ∞.

    The gradient of an infinite sum is shared by the numbers that are infinite.

    Examples
    --------
    >>> log_sum(torch.zeros(1, 3), torch.tensor([[1.0, 0.0, 1.0]]), 1, floor=0.0).exp()
    tensor([3.])
    """
    x = torch.where(weight == 0, -torch.inf, x)
    endless = x == torch.inf
    finite = torch.where(endless, -torch.inf, x)
    top = finite.detach().amax(dim, keepdim=True).clamp(min=floor)
    top = torch.where(top.isinf(), 0.0, top)
    total = (weight * (finite - top).exp()).sum(dim) + (floor - top.squeeze(dim)).exp()
    some = total != 0
    result = torch.where(some, torch.where(some, total, 1.0).log() + top.squeeze(dim), -torch.inf)
    n_endless = endless.sum(dim)
    return torch.where(n_endless > 0, torch.where(endless, x, 0.0).sum(dim) / n_endless.clamp(min=1), result)
