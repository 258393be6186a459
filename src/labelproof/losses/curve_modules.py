"""The losses of `curves` as torch modules."""

from typing import Any, Unpack

import torch
from torch import Tensor, nn

from labelproof.foundation.arguments import whole_number
from labelproof.losses.curves import HillCurve, PolynomialCurve, SelfPacedCurve
from labelproof.losses.options import ModuleWeights, spelled_out_as
from labelproof.losses.pointwise_modules import PointwiseLoss

__all__ = ["AsymmetricPolynomialLoss", "HillLoss", "SPLCLoss"]


class HillLoss(PointwiseLoss):
    """Hill loss of logits; see `hill_loss` for the options.

    Examples
    --------
    >>> HillLoss()(torch.zeros(1, 1), [[]])
    tensor(0.2500)
    """

    @spelled_out_as(PointwiseLoss.__init__, ModuleWeights)
    def __init__(
        self, lam: float = 1.5, margin: float = 1.0, gamma: float = 2.0, **options: Unpack[ModuleWeights]
    ) -> None:
        super().__init__(HillCurve(gamma, margin=margin, lam=lam), **options)


class SPLCLoss(PointwiseLoss):
    """Loss with self-paced correction; see `splc_loss` for the other options.

    Parameters
    ----------
    warm_up
        Batches in training, at least 0, before the first is corrected. The paper corrects from the second epoch on:
        give the number of batches of one epoch.

    Examples
    --------
    >>> loss, sure = SPLCLoss(warm_up=1), torch.tensor([[4.0]])
    >>> loss(sure, [[]]) > loss(sure, [[]])
    tensor(True)
    """

    @spelled_out_as(PointwiseLoss.__init__, ModuleWeights)
    def __init__(
        self,
        tau: float = 0.6,
        margin: float = 1.0,
        gamma: float = 2.0,
        *,
        warm_up: int = 0,
        **options: Unpack[ModuleWeights],
    ) -> None:
        super().__init__(SelfPacedCurve(gamma, gamma, margin=margin, tau=tau), **options)
        self.warm_up = whole_number("warm_up", warm_up, minimum=0)
        self.corrected = self.curve
        self.uncorrected = SelfPacedCurve(gamma, gamma, margin=margin, tau=1.0)
        self.batches = nn.Buffer(torch.zeros((), dtype=torch.int64))

    def forward(
        self, logits: Tensor, targets: Any, *, mask: Tensor | None = None, example_weight: Tensor | None = None
    ) -> Tensor:
        """Return the loss of a batch, and count it in training.

        Parameters
        ----------
        logits, targets, mask, example_weight
            As for `pointwise_loss`.
        """
        if self.warm_up:
            self.curve = self.corrected if int(self.batches) >= self.warm_up else self.uncorrected
            if self.training:
                self.batches.add_(1)
        return super().forward(logits, targets, mask=mask, example_weight=example_weight)


class AsymmetricPolynomialLoss(PointwiseLoss):
    """Asymmetric polynomial loss of logits; see `asymmetric_polynomial_loss` for the options.

    Examples
    --------
    >>> AsymmetricPolynomialLoss()(torch.zeros(1, 1), [[0]])
    tensor(0.5056)
    """

    @spelled_out_as(PointwiseLoss.__init__, ModuleWeights)
    def __init__(
        self,
        gamma_neg: float = 4.0,
        gamma_pos: float = 0.0,
        clip: float = 0.05,
        *,
        alpha_1: float = 0.0,
        alpha_2: float = 1.75,
        beta_1: float = 1.0,
        grad_through_weights: bool = True,
        **options: Unpack[ModuleWeights],
    ) -> None:
        curve = PolynomialCurve(
            gamma_pos,
            gamma_neg,
            clip,
            through=grad_through_weights,
            alpha_1=alpha_1,
            alpha_2=alpha_2,
            beta_1=beta_1,
        )
        super().__init__(curve, **options)
