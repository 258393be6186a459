"""The losses that compare the labels of an example, `zlpr`, `two_way` and `soft_top_k`, as torch modules."""

from typing import Any, Literal

from torch import Tensor, nn

from labelproof.foundation.arguments import check_choice
from labelproof.losses.reduction import REDUCTIONS, Reduction, check_positive
from labelproof.losses.soft_top_k import check_top_k, soft_top_k_loss
from labelproof.losses.two_way import two_way_loss
from labelproof.losses.zlpr import zlpr_loss

__all__ = ["SoftTopKLoss", "TwoWayLoss", "ZLPRLoss"]


class ZLPRLoss(nn.Module):
    """ZLPR loss of logits; see `zlpr_loss` for the options.

    Examples
    --------
    >>> import torch
    >>> ZLPRLoss()(torch.zeros(1, 4), [[0]])
    tensor(2.0794)
    """

    def __init__(self, *, label_weight: Tensor | None = None, reduction: Reduction = "mean") -> None:
        super().__init__()
        check_choice("reduction", reduction, REDUCTIONS)
        self.label_weight = None if label_weight is None else nn.Buffer(label_weight)
        self.reduction: Reduction = reduction

    def forward(
        self, logits: Tensor, targets: Any, *, mask: Tensor | None = None, example_weight: Tensor | None = None
    ) -> Tensor:
        """Return the loss of a batch, with arguments as for `zlpr_loss`."""
        return zlpr_loss(
            logits,
            targets,
            label_weight=self.label_weight,
            example_weight=example_weight,
            mask=mask,
            reduction=self.reduction,
        )


class TwoWayLoss(nn.Module):
    """Two-way loss of logits; see `two_way_loss` for the options.

    Examples
    --------
    >>> import torch
    >>> TwoWayLoss()(torch.zeros(2, 2), torch.eye(2))
    tensor(1.3863)
    """

    def __init__(
        self,
        t_pos: float = 4.0,
        t_neg: float = 1.0,
        *,
        label_weight: Tensor | None = None,
        reduction: Reduction = "mean",
    ) -> None:
        super().__init__()
        check_choice("reduction", reduction, REDUCTIONS)
        check_positive("t_pos", t_pos)
        check_positive("t_neg", t_neg)
        self.t_pos, self.t_neg = t_pos, t_neg
        self.label_weight = None if label_weight is None else nn.Buffer(label_weight)
        self.reduction: Reduction = reduction

    def forward(
        self, logits: Tensor, targets: Any, *, mask: Tensor | None = None, example_weight: Tensor | None = None
    ) -> Tensor:
        """Return the loss of a batch, with arguments as for `two_way_loss`."""
        return two_way_loss(
            logits,
            targets,
            t_pos=self.t_pos,
            t_neg=self.t_neg,
            label_weight=self.label_weight,
            example_weight=example_weight,
            mask=mask,
            reduction=self.reduction,
        )


class SoftTopKLoss(nn.Module):
    """Recall or precision at k of a smooth choice of k labels, as a loss; see `soft_top_k_loss` for the options.

    Examples
    --------
    >>> import torch
    >>> SoftTopKLoss(2)(torch.zeros(1, 4), [[0]])
    tensor(0.5000)
    """

    def __init__(
        self,
        k: int = 5,
        metric: Literal["recall", "precision"] = "recall",
        temperature: float = 1.0,
        *,
        label_weight: Tensor | None = None,
        reduction: Reduction = "mean",
    ) -> None:
        super().__init__()
        check_top_k(k, metric, temperature, reduction)
        self.k, self.metric, self.temperature = k, metric, temperature
        self.label_weight = None if label_weight is None else nn.Buffer(label_weight)
        self.reduction: Reduction = reduction

    def forward(
        self, logits: Tensor, targets: Any, *, mask: Tensor | None = None, example_weight: Tensor | None = None
    ) -> Tensor:
        """Return the loss of a batch, with arguments as for `soft_top_k_loss`."""
        return soft_top_k_loss(
            logits,
            targets,
            k=self.k,
            metric=self.metric,
            temperature=self.temperature,
            label_weight=self.label_weight,
            example_weight=example_weight,
            mask=mask,
            reduction=self.reduction,
        )
