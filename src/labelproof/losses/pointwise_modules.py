"""The losses of `pointwise` as torch modules."""

from typing import Any, Unpack

from torch import Tensor, nn

from labelproof.foundation.arguments import check_choice
from labelproof.losses.options import ModuleWeights, spelled_out_as
from labelproof.losses.pointwise import Curve, pointwise_loss
from labelproof.losses.reduction import REDUCTIONS, Reduction, check_positive

__all__ = ["AsymmetricLoss", "BinaryCrossEntropyLoss", "FocalLoss", "PointwiseLoss"]


class PointwiseLoss(nn.Module):
    """A loss that acts on each logit alone, with the weights of labels and the reduction."""

    def __init__(
        self,
        curve: Curve,
        *,
        pos_weight: Tensor | float | None = None,
        label_weight: Tensor | None = None,
        reduction: Reduction = "mean",
    ) -> None:
        super().__init__()
        check_choice("reduction", reduction, REDUCTIONS)
        if pos_weight is not None:
            check_positive("pos_weight", pos_weight)
        self.curve, self.reduction = curve, reduction
        self.pos_weight = nn.Buffer(pos_weight) if isinstance(pos_weight, Tensor) else pos_weight
        self.label_weight = None if label_weight is None else nn.Buffer(label_weight)

    def forward(
        self, logits: Tensor, targets: Any, *, mask: Tensor | None = None, example_weight: Tensor | None = None
    ) -> Tensor:
        """Return the loss of a batch.

        Parameters
        ----------
        logits, targets, mask, example_weight
            As for `pointwise_loss`.
        """
        return pointwise_loss(
            logits,
            targets,
            self.curve,
            pos_weight=self.pos_weight,
            label_weight=self.label_weight,
            example_weight=example_weight,
            mask=mask,
            reduction=self.reduction,
        )

    def extra_repr(self) -> str:
        """Say what the module computes."""
        return f"{self.curve}, reduction={self.reduction!r}"


class BinaryCrossEntropyLoss(PointwiseLoss):
    """Binary cross entropy of logits; see `binary_cross_entropy_loss` for the options.

    Examples
    --------
    >>> import torch
    >>> BinaryCrossEntropyLoss()(torch.zeros(1, 2), [[0]])
    tensor(0.6931)
    """

    @spelled_out_as(PointwiseLoss.__init__, ModuleWeights)
    def __init__(
        self,
        *,
        pos_weight: Tensor | float | None = None,
        label_smoothing: float = 0.0,
        **options: Unpack[ModuleWeights],
    ) -> None:
        curve = Curve(smoothing=label_smoothing)
        super().__init__(curve, pos_weight=pos_weight, **options)


class FocalLoss(PointwiseLoss):
    """Focal loss of logits; see `focal_loss` for the options.

    Examples
    --------
    >>> import torch
    >>> FocalLoss(alpha=None)(torch.zeros(1, 2), [[0]])
    tensor(0.1733)
    """

    @spelled_out_as(PointwiseLoss.__init__, ModuleWeights)
    def __init__(
        self,
        alpha: float | None = 0.25,
        gamma: float = 2.0,
        *,
        grad_through_weights: bool = True,
        **options: Unpack[ModuleWeights],
    ) -> None:
        curve = Curve(gamma, gamma, through=grad_through_weights, alpha=alpha)
        super().__init__(curve, **options)


class AsymmetricLoss(PointwiseLoss):
    """Asymmetric loss of logits; see `asymmetric_loss` for the options.

    Examples
    --------
    >>> import torch
    >>> AsymmetricLoss(reduction="sum")(torch.tensor([[-3.0, -3.0]]), [[0]])
    tensor(2.9040)
    """

    @spelled_out_as(PointwiseLoss.__init__, ModuleWeights)
    def __init__(
        self,
        gamma_neg: float = 4.0,
        gamma_pos: float = 1.0,
        clip: float = 0.05,
        *,
        grad_through_weights: bool = True,
        **options: Unpack[ModuleWeights],
    ) -> None:
        curve = Curve(gamma_pos, gamma_neg, clip, through=grad_through_weights)
        super().__init__(curve, **options)
