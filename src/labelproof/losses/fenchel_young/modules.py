"""The Fenchel–Young losses as torch modules."""

from typing import Any

from torch import Tensor, nn

from labelproof.activations.entmax import check_alpha
from labelproof.foundation.arguments import check_choice
from labelproof.losses.fenchel_young.functional import entmax_loss, pick_all_labels_loss, sparsemax_loss
from labelproof.losses.reduction import REDUCTIONS, Reduction

__all__ = ["EntmaxLoss", "PickAllLabelsLoss", "SparsemaxLoss"]


class _FenchelYoungLoss(nn.Module):
    """What the losses of this family store."""

    def __init__(self, label_weight: Tensor | None, ignore_index: int, reduction: Reduction) -> None:
        super().__init__()
        check_choice("reduction", reduction, REDUCTIONS)
        self.label_weight = None if label_weight is None else nn.Buffer(label_weight)
        self.ignore_index, self.reduction = ignore_index, reduction

    def _options(self, mask: Tensor | None, example_weight: Tensor | None) -> dict[str, Any]:
        return {
            "label_weight": self.label_weight,
            "example_weight": example_weight,
            "mask": mask,
            "ignore_index": self.ignore_index,
            "reduction": self.reduction,
        }


class SparsemaxLoss(_FenchelYoungLoss):
    """Sparsemax loss of logits; see `sparsemax_loss` for the options.

    Examples
    --------
    >>> import torch
    >>> SparsemaxLoss()(torch.tensor([[2.0, 1.0, -1.0]]), torch.tensor([0]))
    tensor(0.)
    """

    def __init__(
        self, reduction: Reduction = "mean", *, label_weight: Tensor | None = None, ignore_index: int = -100
    ) -> None:
        super().__init__(label_weight, ignore_index, reduction)

    def forward(
        self, logits: Tensor, targets: Any, *, mask: Tensor | None = None, example_weight: Tensor | None = None
    ) -> Tensor:
        """Return the loss of logits (..., n_labels) and targets in any form that `sparsemax_loss` takes."""
        return sparsemax_loss(logits, targets, **self._options(mask, example_weight))


class EntmaxLoss(_FenchelYoungLoss):
    """Fenchel–Young loss of α-entmax of logits; see `entmax_loss` for the options.

    Examples
    --------
    >>> import torch
    >>> EntmaxLoss(1.5)(torch.tensor([[2.0, 0.0, -1.0]]), torch.tensor([0]))
    tensor(0.)
    """

    def __init__(
        self,
        alpha: float = 1.5,
        *,
        label_weight: Tensor | None = None,
        ignore_index: int = -100,
        reduction: Reduction = "mean",
    ) -> None:
        super().__init__(label_weight, ignore_index, reduction)
        check_alpha(alpha)
        self.alpha = alpha

    def forward(
        self, logits: Tensor, targets: Any, *, mask: Tensor | None = None, example_weight: Tensor | None = None
    ) -> Tensor:
        """Return the loss of logits (..., n_labels) and targets in any form that `sparsemax_loss` takes."""
        return entmax_loss(logits, targets, self.alpha, **self._options(mask, example_weight))


class PickAllLabelsLoss(_FenchelYoungLoss):
    """Softmax cross entropy of an example's labels; see `pick_all_labels_loss` for the options.

    Examples
    --------
    >>> import torch
    >>> PickAllLabelsLoss(normalized=False)(torch.zeros(1, 4), [[0, 3]])
    tensor(2.7726)
    """

    def __init__(
        self,
        *,
        normalized: bool = True,
        label_weight: Tensor | None = None,
        ignore_index: int = -100,
        reduction: Reduction = "mean",
    ) -> None:
        super().__init__(label_weight, ignore_index, reduction)
        self.normalized = normalized

    def forward(
        self, logits: Tensor, targets: Any, *, mask: Tensor | None = None, example_weight: Tensor | None = None
    ) -> Tensor:
        """Return the loss of logits (..., n_labels) and targets in any form that `sparsemax_loss` takes."""
        return pick_all_labels_loss(logits, targets, normalized=self.normalized, **self._options(mask, example_weight))
