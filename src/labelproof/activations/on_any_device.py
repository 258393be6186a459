"""α-entmax in torch operations alone, for accelerators and for torch.compile.

The root τ of Σ u_j^r = 1 with u_j = max((α−1)(x_j − max x) − τ, 0) and r = 1/(α−1) is found for all rows at once, in a
fixed number of steps: none depends on the data, so the graph has no breaks.
"""

from typing import Any

import torch
from torch import Tensor

__all__ = ["MappedEntmax", "TorchEntmax", "jacobian_product"]

STEPS = 16  # of Newton's method; no input that we tried took more than 11
HALVINGS = 60


class TorchEntmax(torch.autograd.Function):
    """α-entmax along the last dimension."""

    @staticmethod
    def forward(ctx: Any, scores: Tensor, alpha: float) -> Tensor:
        """Return the probabilities."""
        p = _entmax(scores, alpha)
        ctx.save_for_backward(p)
        ctx.alpha = alpha
        return p

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, None]:
        """Return the product with the Jacobian, in operations that can be differentiated again."""
        (p,) = ctx.saved_tensors
        return jacobian_product(p, gradient, ctx.alpha), None


class MappedEntmax(torch.autograd.Function):
    """The same for the transforms of torch.func, which torch.compile does not take in this form."""

    generate_vmap_rule = True

    @staticmethod
    def forward(scores: Tensor, alpha: float) -> Tensor:
        """Return the probabilities."""
        return _entmax(scores, alpha)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Tensor, float], output: Tensor) -> None:
        """Keep the probabilities."""
        ctx.save_for_backward(output)
        ctx.save_for_forward(output)
        ctx.alpha = inputs[1]

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, None]:
        """Return the product with the Jacobian."""
        (p,) = ctx.saved_tensors
        return jacobian_product(p, gradient, ctx.alpha), None

    @staticmethod
    def jvp(ctx: Any, tangent: Tensor, _alpha: None) -> Tensor:
        """Return the product with the Jacobian, which is symmetric."""
        (p,) = ctx.saved_tensors
        return jacobian_product(p, tangent, ctx.alpha)


def jacobian_product(p: Tensor, gradient: Tensor, alpha: float) -> Tensor:
    """Return w ⊙ (g − w·g / Σw) with w = p^(2−α) on the support and 0 elsewhere; a row of NaN stays NaN.

    The Jacobian is symmetric, so this serves forward and backward differentiation alike.
    """
    support = p > 0
    w = torch.where(support, torch.where(support, p, 1).pow(2 - alpha), 0 * p)
    g = torch.where(support, gradient, 0)
    return w * (g - (w * g).sum(-1, keepdim=True) / w.sum(-1, keepdim=True))


def _entmax(scores: Tensor, alpha: float) -> Tensor:
    x = (alpha - 1) * (scores - scores.amax(-1, keepdim=True))
    tau = _root_by_newton(x, alpha) if alpha <= 2 else _root_by_halving(x, alpha)
    p = (x - tau).clamp(min=0).pow(1 / (alpha - 1))
    return p / p.sum(-1, keepdim=True)


def _root_by_newton(x: Tensor, alpha: float) -> Tensor:
    """Return τ, reached from below on the norm (Σ u^r)^(α−1), which is convex in τ for α ≤ 2."""
    power = 1 / (alpha - 1)
    tau = torch.full_like(x[..., :1], -1)
    for _ in range(STEPS):
        u = (x - tau).clamp(min=0)
        total = u.pow(power).sum(-1, keepdim=True)
        slope = torch.where(u > 0, u.pow(power - 1), 0).sum(-1, keepdim=True)
        tau = tau + (total - total.pow(2 - alpha)) / slope
    return tau


def _root_by_halving(x: Tensor, alpha: float) -> Tensor:
    """Return τ from a bracket that is halved, since for α > 2 the slope has no bound."""
    low = torch.full_like(x[..., :1], -1)
    high = torch.zeros_like(low)
    for _ in range(HALVINGS):
        tau = (low + high) / 2
        enough = (x - tau).clamp(min=0).pow(1 / (alpha - 1)).sum(-1, keepdim=True) >= 1
        low, high = torch.where(enough, tau, low), torch.where(enough, high, tau)
    return low
