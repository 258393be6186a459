"""Losses that act on each logit alone: binary cross entropy, focal, and asymmetric, as one family.

With p = sigmoid(z), and p' = max(p - clip, 0) in the negative part, the loss of a logit z with target y is

    y · a · (1 - p)^gamma_pos · -log(p)  +  (1 - y) · b · p'^gamma_neg · -log(1 - p').

Cross entropy has gammas of 0, focal loss one gamma and no clip. A soft target mixes the two parts. All of it is
computed from sigmoid(-z) where z is large, so the gradient of a prediction that is surely wrong does not round to 0.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple, Unpack

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import logsigmoid

from labelproof.foundation.arguments import check_choice
from labelproof.losses.by_address import places_of
from labelproof.losses.compiled import applies, room_for_gradient, sparse_arrays, sum_of, vector
from labelproof.losses.curve_shapes import CurveShape
from labelproof.losses.kernels import pointwise_rows
from labelproof.losses.options import PointwiseOptions, spelled_out_as
from labelproof.losses.reduction import (
    REDUCTIONS,
    Reduction,
    check_positive,
    read_example_weight,
    read_label_vector,
    read_mask,
)
from labelproof.losses.targets import SparseTargets, as_rows, check_range, promote, read_targets
from labelproof.parallel.dispatch import share

__all__ = ["Curve", "asymmetric_loss", "binary_cross_entropy_loss", "focal_loss", "pointwise_loss"]

_FEW = 256  # up to so many rows, Python's sum is faster than numpy's


@dataclass(frozen=True)
class Curve(CurveShape):
    """The same for torch."""

    @property
    def kernel(self) -> Any:
        """The compiled loop over rows that takes `rates`."""
        return pointwise_rows

    @cached_property
    def is_compiled(self) -> bool:
        """Whether the compiled loops know the exponents: whole numbers up to 7."""
        return all(float(gamma).is_integer() and gamma <= 7 for gamma in (self.gamma_pos, self.gamma_neg))

    @cached_property
    def rates(self) -> tuple[float, ...]:
        """Scale and shift of targets, both exponents, the clip, and 1 where factors are differentiated."""
        e = self.smoothing
        return 1.0 - e, e / 2, int(self.gamma_pos), int(self.gamma_neg), float(self.clip), int(self.through)

    def smooth(self, targets: Tensor) -> Tensor:
        """Return the targets moved towards one half."""
        return targets if self.smoothing == 0 else targets * (1 - self.smoothing) + self.smoothing / 2

    def parts(self, logits: Tensor) -> tuple[Tensor, Tensor]:
        """Return the losses of logits as positives and as negatives.

        The factors are those of finite logits: at ±∞ they have their limits, and no gradient that could be 0 · ∞.
        """
        finite = logits
        if self.gamma_pos or self.gamma_neg:
            finite = torch.where(logits.isinf(), logits.sign() / torch.finfo(logits.dtype).eps, logits)
        positive = -self._factor(self.gamma_pos, logsigmoid(-finite)) * logsigmoid(logits)
        if self.clip == 0:
            return positive, -self._factor(self.gamma_neg, logsigmoid(finite)) * logsigmoid(-logits)
        under = torch.sigmoid(-logits) + self.clip  # 1 - p'
        free = under >= 1
        under = torch.where(free, 0.5, under)
        negative = -self._factor(self.gamma_neg, torch.log1p(-under)) * under.log()
        return positive, torch.where(free, 0.0, negative)

    def _factor(self, gamma: float, log_base: Tensor) -> Tensor | float:
        if gamma == 0:
            return 1.0
        factor = (gamma * log_base).exp()
        return factor if self.through else factor.detach()


def pointwise_loss(
    logits: Tensor,
    targets: Any,
    curve: Curve,
    *,
    pos_weight: Tensor | float | None = None,
    label_weight: Tensor | None = None,
    example_weight: Tensor | None = None,
    mask: Tensor | None = None,
    reduction: Reduction = "mean",
) -> Tensor:
    """Return the loss with this curve.

    Parameters
    ----------
    logits
        Tensor of shape (..., n_labels).
    targets
        Dense tensor of the same shape, index lists, or a sparse matrix; see `read_targets`.
    curve
        What the loss of a logit looks like.
    pos_weight
        Weight of the positive part: a number, or a tensor of shape (n_labels,).
    label_weight, example_weight
        Weights of shape (n_labels,) and (...,). As in torch, a mean is not divided by them.
    mask
        Bool tensor of the logits' shape, False where a label is unknown; such a label has no loss and no gradient,
        whatever its logit, and does not count in a mean.
    reduction
        "mean" over all known labels of all examples, "sum", or "none" for the logits' shape.
    """
    check_choice("reduction", reduction, REDUCTIONS)
    logits = promote(logits)
    shape = logits.shape
    read, known = read_targets(logits, targets, unchecked=True), read_mask(mask, logits)
    of_example = read_example_weight(example_weight, logits)
    a, b = _weights_of_parts(logits, curve, label_weight, pos_weight)
    logits, rows = as_rows(logits), as_rows(read).contiguous() if isinstance(read, Tensor) else read
    if reduction != "none" and applies(logits, rows, a, b, of_example, known) and curve.is_compiled:
        n_known = logits.numel() if known is None else int(np.count_nonzero(known.numpy()))
        part = 1 / max(n_known, 1) if reduction == "mean" else 1.0
        weight = part if of_example is None else part * of_example
        return sum_of(_Task(rows, curve, a, b, weight, known), logits)
    if isinstance(rows, Tensor):
        check_range(rows)
    losses = _plain(logits, rows, curve, a, b, known)
    losses = losses if of_example is None else losses * of_example.unsqueeze(1)
    if reduction == "none":
        return losses.reshape(shape)
    if reduction == "sum":
        return losses.sum()
    return losses.sum() / (max(losses.numel(), 1) if known is None else known.sum().clamp(min=1))


@spelled_out_as(pointwise_loss, PointwiseOptions)
def binary_cross_entropy_loss(
    logits: Tensor,
    targets: Any,
    *,
    pos_weight: Tensor | float | None = None,
    label_smoothing: float = 0.0,
    **options: Unpack[PointwiseOptions],
) -> Tensor:
    """Return the binary cross entropy of logits.

    Parameters
    ----------
    logits, targets, pos_weight, label_weight, example_weight, mask, reduction
        As for `pointwise_loss`.
    label_smoothing
        ε in [0, 1): targets become (1 - ε)·y + ε/2.

    Examples
    --------
    >>> binary_cross_entropy_loss(torch.zeros(1, 2), [[0]])
    tensor(0.6931)
    """
    return pointwise_loss(logits, targets, Curve(smoothing=label_smoothing), pos_weight=pos_weight, **options)


@spelled_out_as(pointwise_loss, PointwiseOptions)
def focal_loss(
    logits: Tensor,
    targets: Any,
    *,
    alpha: float | None = 0.25,
    gamma: float = 2.0,
    grad_through_weights: bool = True,
    **options: Unpack[PointwiseOptions],
) -> Tensor:
    """Return the focal loss: y·α·(1-p)^γ·-log(p) + (1-y)·(1-α)·p^γ·-log(1-p).

    Parameters
    ----------
    logits, targets, label_weight, example_weight, mask, reduction
        As for `pointwise_loss`.
    alpha
        Weight of the positive part, from 0 to 1; the negative part has 1 - alpha. None gives both the weight 1.
    gamma
        Exponent that makes sure predictions count little, at least 0.
    grad_through_weights
        Whether the factors (1-p)^γ and p^γ are differentiated, or taken as constants.

    Examples
    --------
    >>> focal_loss(torch.zeros(1, 2), [[0]], alpha=None)  # ¼ of the cross entropy
    tensor(0.1733)
    """
    curve = Curve(gamma, gamma, through=grad_through_weights, alpha=alpha)
    return pointwise_loss(logits, targets, curve, **options)


@spelled_out_as(pointwise_loss, PointwiseOptions)
def asymmetric_loss(
    logits: Tensor,
    targets: Any,
    *,
    gamma_neg: float = 4.0,
    gamma_pos: float = 1.0,
    clip: float = 0.05,
    grad_through_weights: bool = True,
    **options: Unpack[PointwiseOptions],
) -> Tensor:
    """Return the asymmetric loss: y·(1-p)^γ₊·-log(p) + (1-y)·p'^γ₋·-log(1-p') with p' = max(p - clip, 0).

    Parameters
    ----------
    logits, targets, label_weight, example_weight, mask, reduction
        As for `pointwise_loss`.
    gamma_neg, gamma_pos
        Exponents of the factors for negatives and positives, at least 0.
    clip
        Probability, at least 0 and less than 1, below which a negative has no loss.
    grad_through_weights
        Whether the factors (1-p)^γ₊ and p'^γ₋ are differentiated, or taken as constants.

    Examples
    --------
    >>> asymmetric_loss(torch.tensor([[-3.0, -3.0]]), [[0]], reduction="none")  # a sure negative costs nothing
    tensor([[2.9040, 0.0000]])
    """
    curve = Curve(gamma_pos, gamma_neg, clip, through=grad_through_weights)
    return pointwise_loss(logits, targets, curve, **options)


def _weights_of_parts(
    logits: Tensor, curve: Curve, label_weight: Tensor | None, pos_weight: Tensor | float | None
) -> tuple[Tensor | float, Tensor | float]:
    """Return the weights of the positive and of the negative part: numbers, or tensors of shape (n_labels,) or ()."""
    positive, negative = (1.0, 1.0) if curve.alpha is None else (curve.alpha, 1 - curve.alpha)
    if label_weight is None and pos_weight is None:
        return positive, negative
    of_label = read_label_vector("label_weight", 1.0 if label_weight is None else label_weight, logits)
    check_positive("pos_weight", 1.0 if pos_weight is None else pos_weight)
    of_positive = read_label_vector("pos_weight", 1.0 if pos_weight is None else pos_weight, logits)
    return positive * of_label * of_positive, negative * of_label


class _Task(NamedTuple):
    """Σ_i weight_i Σ_j loss_ij, but for the logits."""

    targets: Tensor | SparseTargets
    curve: Curve
    positive: Tensor | float  # (n_labels,) or ()
    negative: Tensor | float
    weight: Tensor | float  # (n,) or ()
    known: Tensor | None  # (n, n_labels)

    def plain(self, logits: Tensor) -> Tensor:
        """Return the sum in plain torch."""
        losses = _plain(logits, self.targets, self.curve, self.positive, self.negative, self.known).sum(1)
        return (losses * self.weight).sum()

    def compiled(self, logits: Tensor, wants_gradient: bool) -> tuple[Tensor, Tensor]:
        """Return the sum and its gradient, which is empty if none is wanted, from one pass."""
        z, dense = logits.contiguous(), self.targets if isinstance(self.targets, Tensor) else None
        n, n_labels = z.shape
        sums, gradient = np.empty(n), room_for_gradient(z, wants_gradient)
        weights = vector(self.positive, n_labels), vector(self.negative, n_labels), vector(self.weight, n)
        places = places_of(z, dense, self.known, gradient)
        given = places, *sparse_arrays(self.targets), self.curve.rates, *weights, sums
        share(self.curve.kernel, *given, n_items=n, n_numbers=z.numel(), n_threads=torch.get_num_threads())
        total = sums.sum() if n > _FEW else sum(sums.tolist())
        if total != total and dense is not None:  # NaN may be due to logits or weights as well
            check_range(dense)
        return torch.from_numpy(np.array(total, np.float32)), gradient


def _plain(
    logits: Tensor,
    targets: Tensor | SparseTargets,
    curve: Curve,
    positive: Tensor | float,
    negative: Tensor | float,
    known: Tensor | None,
) -> Tensor:
    """Return the loss of each logit, in plain torch; of an unknown one nothing is left, whatever it is."""
    if known is not None:
        logits = torch.where(known, logits, 0.0)
    as_positive, as_negative = curve.parts(logits)
    if isinstance(targets, Tensor):
        share = curve.smooth(targets)
        losses = _weighted(positive * share, as_positive) + _weighted(negative * (1 - share), as_negative)
    else:
        rest, one = curve.smooth(logits.new_tensor([0.0, 1.0])).unbind()
        losses = _weighted(negative * (1 - rest), as_negative)
        losses = losses + _weighted(positive * rest, as_positive) if curve.smoothing else losses
        places = (targets.rows, targets.columns)
        a, b = (part[targets.columns] if part.ndim else part for part in (positive * one, negative * (1 - one)))
        losses = losses.index_put(places, _weighted(a, as_positive[places]) + _weighted(b, as_negative[places]))
    return losses if known is None else torch.where(known, losses, 0.0)


def _weighted(weight: Tensor | float, losses: Tensor) -> Tensor:
    """Return weight · losses, where the weight 0 leaves nothing of an infinite loss."""
    weight = torch.as_tensor(weight, dtype=losses.dtype, device=losses.device)
    return torch.where(losses.isinf() & (weight == 0), 0.0, weight * losses)
