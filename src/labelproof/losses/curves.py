"""Pointwise losses for missing labels and for many negatives: Hill, self-paced correction, asymmetric polynomial.

With p = sigmoid(z), p_m = sigmoid(z − margin) and p' = max(p − clip, 0) they are

    Hill         positive (1 − p_m)^γ · −log p_m              negative (λ − p) · p²
    SPLC         positive (1 − p_m)^γ · −log p_m              negative p^γ · −log(1 − p), as a positive where p > τ
    polynomial   positive (1 − p)^γ₊ · Σ_m α_m (1 − p)^m      negative p'^γ₋ · Σ_m β_m p'^m

where α_m and β_m are 1/m, as in the series of −log, but for α₁, α₂ and β₁, which are options.
"""

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Unpack

import torch
from torch import Tensor

from labelproof.losses.curve_kernels import HILL, POLYNOMIAL, SELF_PACED, curve_rows
from labelproof.losses.options import PointwiseOptions, spelled_out_as
from labelproof.losses.pointwise import Curve, pointwise_loss

__all__ = [
    "HillCurve",
    "PolynomialCurve",
    "SelfPacedCurve",
    "asymmetric_polynomial_loss",
    "hill_loss",
    "splc_loss",
]


@dataclass(frozen=True)
class _MarginCurve(Curve):
    """A curve with a margin, whose positives have the focal loss of z − margin."""

    margin: float = 1.0

    def __post_init__(self) -> None:
        super().__post_init__()
        if not (self.margin >= 0 and math.isfinite(self.margin)):
            raise ValueError(f"margin must be at least 0 and finite, got {self.margin}")

    @property
    def kernel(self) -> Any:
        """The compiled loop over rows that takes `rates`."""
        return curve_rows

    def _positives(self, logits: Tensor) -> Tensor:
        return Curve(self.gamma_pos).parts(logits - self.margin)[0]


@dataclass(frozen=True)
class HillCurve(_MarginCurve):
    """What `hill_loss` looks like; ``gamma_neg`` and ``clip`` are not used."""

    lam: float = 1.5

    def __post_init__(self) -> None:
        super().__post_init__()
        if not (self.lam >= 1 and math.isfinite(self.lam)):
            raise ValueError(f"lam must be at least 1 and finite, got {self.lam}")

    @cached_property
    def rates(self) -> tuple[float, ...]:
        """What `curve_rows` takes."""
        return _floats(HILL, self.gamma_pos, 0, 1, self.margin, self.lam, 0, 0)

    def parts(self, logits: Tensor) -> tuple[Tensor, Tensor]:
        """Return the losses of logits as positives and as negatives.

        (3/2 − p) p² and (3/2 − q) q² add up to ½ for q = 1 − p; of the two the one with the smaller base keeps its
        digits.
        """
        p, q = torch.sigmoid(logits), torch.sigmoid(-logits)
        falls = torch.where(logits > 0, 0.5 - (1.5 - q) * q.square(), (1.5 - p) * p.square())
        return self._positives(logits), falls + (self.lam - 1.5) * p.square()


@dataclass(frozen=True)
class SelfPacedCurve(_MarginCurve):
    """What `splc_loss` looks like; ``clip`` is not used."""

    tau: float = 0.6

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 0 < self.tau <= 1:
            raise ValueError(f"tau must be above 0 and at most 1, got {self.tau}")

    @property
    def cut(self) -> float:
        """The logit above which a negative is taken as a positive."""
        return math.inf if self.tau == 1 else math.log(self.tau / (1 - self.tau))

    @cached_property
    def rates(self) -> tuple[float, ...]:
        """What `curve_rows` takes."""
        return _floats(SELF_PACED, self.gamma_pos, self.gamma_neg, 1, self.margin, self.cut, 0, 0)

    def parts(self, logits: Tensor) -> tuple[Tensor, Tensor]:
        """Return the losses of logits as positives and as negatives."""
        positive = self._positives(logits)
        return positive, torch.where(logits > self.cut, positive, Curve(0, self.gamma_neg).parts(logits)[1])


@dataclass(frozen=True)
class PolynomialCurve(Curve):
    """What `asymmetric_polynomial_loss` looks like."""

    alpha_1: float = 0.0
    alpha_2: float = 1.75
    beta_1: float = 1.0

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("alpha_1", "alpha_2", "beta_1"):
            if not (getattr(self, name) >= 0 and math.isfinite(getattr(self, name))):
                raise ValueError(f"{name} must be at least 0 and finite, got {getattr(self, name)}")

    @property
    def kernel(self) -> Any:
        """The compiled loop over rows that takes `rates`."""
        return curve_rows

    @cached_property
    def rates(self) -> tuple[float, ...]:
        """What `curve_rows` takes."""
        exponents = self.gamma_pos, self.gamma_neg, self.through
        return _floats(POLYNOMIAL, *exponents, self.clip, self.alpha_1 - 1, self.alpha_2 - 0.5, self.beta_1 - 1)

    def parts(self, logits: Tensor) -> tuple[Tensor, Tensor]:
        """Return the losses of logits as positives and as negatives: those of the series, and what is added to it."""
        positive, negative = super().parts(logits)
        q, p = torch.sigmoid(-logits), (torch.sigmoid(logits) - self.clip).clamp(min=0)
        more = (self.alpha_1 - 1) * q + (self.alpha_2 - 0.5) * q.square()
        fewer = (self.beta_1 - 1) * p
        return positive + self._power(q, self.gamma_pos) * more, negative + self._power(p, self.gamma_neg) * fewer

    def _power(self, base: Tensor, gamma: float) -> Tensor:
        """Return base^gamma, whose gradient at 0 is the limit."""
        factor = base**gamma if gamma == 0 or gamma >= 1 else torch.where(base > 0, base, 1.0) ** gamma * (base > 0)
        return factor if self.through else factor.detach()


@spelled_out_as(pointwise_loss, PointwiseOptions)
def hill_loss(
    logits: Tensor,
    targets: Any,
    *,
    lam: float = 1.5,
    margin: float = 1.0,
    gamma: float = 2.0,
    **options: Unpack[PointwiseOptions],
) -> Tensor:
    """Return the Hill loss, for negatives of which some are positives that nobody labelled (arXiv 2112.07368).

    Parameters
    ----------
    logits, targets, label_weight, example_weight, mask, reduction
        As for `pointwise_loss`.
    lam
        λ, at least 1. With 3/2 the slope of a negative is 3p²(1 − p)²: largest at p = ½, and vanishing towards 1,
        where a missing label is more likely than a hard negative; below 3/2 it is negative there.
    margin, gamma
        Margin and exponent of the focal loss of positives, both at least 0.

    Examples
    --------
    >>> hill_loss(torch.zeros(1, 1), [[]])  # (3/2 − 1/2) · 1/4
    tensor(0.2500)
    """
    return pointwise_loss(logits, targets, HillCurve(gamma, margin=margin, lam=lam), **options)


@spelled_out_as(pointwise_loss, PointwiseOptions)
def splc_loss(
    logits: Tensor,
    targets: Any,
    *,
    tau: float = 0.6,
    margin: float = 1.0,
    gamma: float = 2.0,
    **options: Unpack[PointwiseOptions],
) -> Tensor:
    """Return the loss with self-paced correction: a negative with p > τ counts as a positive (arXiv 2112.07368).

    Parameters
    ----------
    logits, targets, label_weight, example_weight, mask, reduction
        As for `pointwise_loss`.
    tau
        τ, above 0 and at most 1, which corrects nothing.
    margin, gamma
        Margin of positives and exponent of both parts, at least 0.

    Notes
    -----
    The correction is the paper's formula, with the loss of a positive as it is. The authors' code leaves the margin
    out for corrected negatives, and corrects from the second epoch on; for that see ``SPLCLoss(warm_up=…)``.

    Examples
    --------
    >>> splc_loss(torch.tensor([[4.0]]), [[]]) == splc_loss(torch.tensor([[4.0]]), [[0]])
    tensor(True)
    """
    return pointwise_loss(logits, targets, SelfPacedCurve(gamma, gamma, margin=margin, tau=tau), **options)


@spelled_out_as(pointwise_loss, PointwiseOptions)
def asymmetric_polynomial_loss(
    logits: Tensor,
    targets: Any,
    *,
    gamma_neg: float = 4.0,
    gamma_pos: float = 0.0,
    clip: float = 0.05,
    alpha_1: float = 0.0,
    alpha_2: float = 1.75,
    beta_1: float = 1.0,
    grad_through_weights: bool = True,
    **options: Unpack[PointwiseOptions],
) -> Tensor:
    """Return the asymmetric loss with other leading coefficients of its logarithms' series (APL, arXiv 2304.05361).

    Parameters
    ----------
    logits, targets, label_weight, example_weight, mask, reduction
        As for `pointwise_loss`.
    gamma_neg, gamma_pos, clip, grad_through_weights
        As for `asymmetric_loss`.
    alpha_1, alpha_2
        Coefficients of 1 − p and (1 − p)² in the loss of a positive, at least 0; those of −log p are 1 and ½. The
        defaults are those of the authors' code.
    beta_1
        Coefficient of p' in the loss of a negative, at least 0; that of −log(1 − p') is 1.

    Examples
    --------
    >>> asymmetric_polynomial_loss(torch.zeros(1, 1), [[0]])  # log 2 − ½ + 1.25 · ¼
    tensor(0.5056)
    """
    curve = PolynomialCurve(
        gamma_pos,
        gamma_neg,
        clip,
        through=grad_through_weights,
        alpha_1=alpha_1,
        alpha_2=alpha_2,
        beta_1=beta_1,
    )
    return pointwise_loss(logits, targets, curve, **options)


def _floats(*values: float) -> tuple[float, ...]:
    return tuple(float(value) for value in values)
