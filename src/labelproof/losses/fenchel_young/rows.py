"""The Fenchel–Young loss of each row: by the compiled kernels on the CPU, in plain torch elsewhere."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from labelproof.activations import entmax
from labelproof.activations.on_cpu import LISTED, is_wrapped
from labelproof.losses.compiled import sum_of
from labelproof.losses.fenchel_young.batch import Batch
from labelproof.parallel.dispatch import share
from labelproof.simplex.loss_kernels import gradient_rows, loss_rows
from labelproof.simplex.short_kernels import SHORT

__all__ = ["cross_entropies", "losses_of_rows", "weighted_sum"]


def losses_of_rows(batch: Batch, alpha: float) -> Tensor:
    """Return the loss of each row, of shape (n,); 0 without a label."""
    if not _has_kernels(batch.logits, alpha):
        return _plain_losses(batch.logits, batch, alpha)
    losses: Tensor = _KernelLosses.apply(batch.logits, batch, alpha)  # type: ignore[no-untyped-call]
    return losses


def weighted_sum(batch: Batch, alpha: float, weight: Tensor) -> Tensor:
    """Return Σ_i weight_i loss_i for weights of shape (n,)."""
    if not _has_kernels(batch.logits, alpha) or weight.requires_grad or is_wrapped(weight):
        return torch.dot(losses_of_rows(batch, alpha), weight)
    return sum_of(_Task(batch, alpha, weight), batch.logits)


def _has_kernels(logits: Tensor, alpha: float) -> bool:
    return alpha != 1 and logits.device.type == "cpu" and not torch.compiler.is_compiling() and not is_wrapped(logits)


def cross_entropies(logits: Tensor, batch: Batch) -> Tensor:
    """Return log Σ exp z − q·z for each row, in plain torch."""
    z = _shifted(logits, batch)
    return z.exp().sum(-1).log() - batch.targets.product(z) * batch.inverse


def _plain_losses(logits: Tensor, batch: Batch, alpha: float) -> Tensor:
    """Return the loss of each row in plain torch, which can be differentiated twice, mapped and compiled."""
    if alpha == 1:
        return cross_entropies(logits, batch) + batch.targets.sum_of(_xlogx, batch.inverse)
    z = _shifted(logits, batch)
    p = entmax(z, alpha)
    support = p != 0  # NaN is in it; elsewhere z may be −inf, and a power of 0 has no second derivative
    product = (p * torch.where(support, z, 0)).sum(-1) - batch.targets.product(z) * batch.inverse
    powers = batch.targets.sum_of(lambda q: q.pow(alpha), batch.inverse)
    powers = powers - torch.where(support, torch.where(support, p, 1).pow(alpha), 0).sum(-1)
    return product + powers / (alpha * (alpha - 1))


class _KernelLosses(torch.autograd.Function):
    """The loss of each row by the compiled kernels, which keep the supports for the gradient."""

    @staticmethod
    def forward(ctx: Any, logits: Tensor, batch: Batch, alpha: float) -> Tensor:
        ctx.save_for_backward(logits)
        ctx.batch, ctx.alpha = batch, alpha
        losses, ctx.kept, _ = _kernel_losses(logits, batch, alpha)
        return losses

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, None, None]:
        (logits,) = ctx.saved_tensors
        if torch.is_grad_enabled() or is_wrapped(gradient):  # the gradient itself is to be differentiated or mapped
            with torch.enable_grad():
                losses = _plain_losses(logits, ctx.batch, ctx.alpha)
            return *torch.autograd.grad(losses, logits, gradient, create_graph=True), None, None
        return _kernel_gradient(logits, ctx.batch, ctx.alpha, ctx.kept, gradient), None, None


@dataclass(frozen=True, eq=False)
class _Task:
    """Σ_i weight_i loss_i, but for the logits."""

    batch: Batch
    alpha: float
    weight: Tensor  # (n,)

    def plain(self, logits: Tensor) -> Tensor:
        """Return the sum in plain torch."""
        return torch.dot(_plain_losses(logits, self.batch, self.alpha), self.weight)

    def compiled(self, logits: Tensor, wants_gradient: bool) -> tuple[Tensor, Tensor | None]:
        """Return the sum and its gradient, which is empty if none is wanted, from one pass."""
        scale = self.weight if wants_gradient else None
        losses, _, gradient = _kernel_losses(logits, self.batch, self.alpha, scale)
        return torch.dot(losses, self.weight), gradient


def _kernel_losses(
    logits: Tensor, batch: Batch, alpha: float, scale: Tensor | None = None
) -> tuple[Tensor, tuple[Any, ...], Tensor]:
    """Return the losses, what the kernels keep for the gradient, and the gradient itself if rows have a scale."""
    z = logits.detach().contiguous()
    n, k = z.shape
    room = min(k // 16, LISTED) if k > SHORT else 0
    rows, losses = z.numpy(), z.new_empty(n)
    support, chances = np.empty((n, room), np.int32), np.empty((n, room), rows.dtype)
    kept = np.empty((n, 2)), support, chances, np.empty(n, np.int32)
    gradient, scales = (z[:0], losses) if scale is None else (torch.empty_like(z), scale.contiguous())
    given = rows, alpha, *batch.targets.arrays(), batch.inverse.numpy(), losses.numpy(), *kept
    outputs = scales.numpy(), gradient.numpy()
    share(loss_rows, *given, *outputs, n_items=n, n_numbers=n * k, n_threads=torch.get_num_threads())
    return losses, kept, gradient


def _kernel_gradient(logits: Tensor, batch: Batch, alpha: float, kept: tuple[Any, ...], scale: Tensor) -> Tensor:
    z = logits.detach().contiguous()
    n, k = z.shape
    out = torch.empty_like(z)
    arrays = batch.inverse.numpy(), scale.contiguous().numpy(), *kept, out.numpy()
    given = z.numpy(), alpha, *batch.targets.arrays(), *arrays
    share(gradient_rows, *given, n_items=n, n_numbers=n * k, n_threads=torch.get_num_threads())
    return out


def _shifted(logits: Tensor, batch: Batch) -> Tensor:
    """Return logits less their maximum, and 0 in rows without a label, which may be −inf throughout."""
    z = torch.where(batch.labelled[:, None], logits, 0)
    return z - z.amax(-1, keepdim=True).detach()


def _xlogx(q: Tensor) -> Tensor:
    return torch.xlogy(q, q)
