"""α-entmax by the compiled kernels, which list each row's support for the backward pass."""

from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch._C._functorch import is_functorch_wrapped_tensor, is_legacy_batchedtensor

from labelproof.activations.on_any_device import jacobian_product
from labelproof.parallel.dispatch import share
from labelproof.simplex.entmax_kernels import entmax_rows, jacobian_rows
from labelproof.simplex.short_kernels import SHORT

__all__ = ["LISTED", "KernelEntmax", "is_wrapped"]

LISTED = 512  # most indices kept per row; a row with a larger support is read again in the backward pass


class KernelEntmax(torch.autograd.Function):
    """α-entmax along the last dimension of a CPU tensor of float32 or float64."""

    @staticmethod
    def forward(ctx: Any, scores: Tensor, alpha: float) -> Tensor:
        """Return the probabilities, and keep each row's support as a list of indices."""
        k = scores.shape[-1]
        scores = scores.detach().contiguous()
        rows, p = scores.numpy().reshape(-1, k), torch.empty_like(scores)
        n, room = len(rows), min(k // 16, LISTED) if k > SHORT else 0
        support, size = np.empty((n, room), np.int32), np.empty(n, np.int32)
        args = rows, alpha, p.numpy().reshape(-1, k), support, size
        share(entmax_rows(rows.shape[1]), *args, n_items=n, n_numbers=rows.size, n_threads=torch.get_num_threads())
        ctx.save_for_backward(p)
        ctx.save_for_forward(p)
        ctx.alpha, ctx.support, ctx.size = alpha, support, size
        return p

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, None]:
        """Return the product with the Jacobian, in torch operations where it is itself differentiated or mapped."""
        (p,) = ctx.saved_tensors
        if torch.is_grad_enabled() or is_wrapped(gradient):
            return jacobian_product(p, gradient, ctx.alpha), None
        k = p.shape[-1]
        rows = gradient.contiguous().numpy().reshape(-1, k)
        out = torch.empty_like(p)
        args = rows, p.numpy().reshape(-1, k), ctx.alpha, ctx.support, ctx.size, out.numpy().reshape(-1, k)
        share(jacobian_rows, *args, n_items=len(rows), n_numbers=rows.size, n_threads=torch.get_num_threads())
        return out, None

    @staticmethod
    def jvp(ctx: Any, tangent: Tensor, _alpha: None) -> Tensor:
        """Return the product with the Jacobian, which is symmetric."""
        (p,) = ctx.saved_tensors
        return jacobian_product(p, tangent, ctx.alpha)


def is_wrapped(tensor: Tensor) -> bool:
    """Return whether a transform of torch.func, or a batched gradient, hides the numbers."""
    return is_functorch_wrapped_tensor(tensor) or is_legacy_batchedtensor(tensor)
