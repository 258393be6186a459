"""When the compiled loops stand in for plain torch, and what they take."""

from functools import lru_cache
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor
from torch._C import _are_functorch_transforms_active
from torch.compiler import is_compiling

from labelproof.activations.on_cpu import is_wrapped
from labelproof.losses.targets import SparseTargets

__all__ = [
    "Task",
    "applies",
    "mask_array",
    "room_for_gradient",
    "sparse_arrays",
    "sum_of",
    "target_arrays",
    "vector",
]

Array = npt.NDArray[np.float32]

_NO_ROWS, _NO_PLACES, _NO_MASK = np.empty((0, 0), np.float32), np.empty(0, np.int64), np.empty((0, 0), np.uint8)


def applies(logits: Tensor, *data: Tensor | SparseTargets | float | None) -> bool:
    """Return whether the loops can be used: float32 logits on the CPU that torch.compile and torch.func leave alone.

    Targets and weights must be data: their gradients are left to plain torch.
    """
    if is_compiling() or not logits.is_cpu or logits.dtype != torch.float32:
        return False
    if _are_functorch_transforms_active() or is_wrapped(logits) or logits.is_neg():
        return False
    for part in data:  # noqa: SIM110 - a generator takes a while, and small batches are all overhead
        if isinstance(part, Tensor) and part.requires_grad:
            return False
    return True


class Task(Protocol):
    """A sum of losses, but for the logits."""

    def plain(self, logits: Tensor) -> Tensor:
        """Return the sum in plain torch, to be differentiated more than once."""
        ...

    def compiled(self, logits: Tensor, wants_gradient: bool) -> tuple[Tensor, Tensor | None]:
        """Return the sum by the compiled loops, and with it its gradient if one is wanted."""
        ...


def sum_of(task: Task, logits: Tensor) -> Tensor:
    """Return the sum of a task by the compiled loops."""
    wants_gradient = logits.requires_grad and torch.is_grad_enabled()
    total: Tensor = _apply(logits, task, wants_gradient)  # type: ignore[no-untyped-call]
    return total


class _Sum(torch.autograd.Function):
    """The sum of a task, whose gradient is computed with it."""

    @staticmethod
    def forward(ctx: Any, logits: Tensor, task: Task, wants_gradient: bool) -> Tensor:
        ctx.save_for_backward(logits)
        ctx.task = task
        total, ctx.gradient = task.compiled(logits, wants_gradient)
        return total

    @staticmethod
    def backward(ctx: Any, by_sum: Tensor) -> tuple[Tensor, None, None]:
        if torch.is_grad_enabled() or is_wrapped(by_sum):  # the gradient itself is to be differentiated or mapped
            (logits,) = ctx.saved_tensors
            with torch.enable_grad():
                total = ctx.task.plain(logits)
            (gradient,) = torch.autograd.grad(total, logits, by_sum, create_graph=torch.is_grad_enabled())
            return gradient, None, None
        gradient, ctx.gradient = ctx.gradient, None  # hand it over: the caller may write into it
        if gradient is None:
            _, gradient = ctx.task.compiled(*ctx.saved_tensors, True)
        return gradient if by_sum.item() == 1 else gradient.mul_(by_sum), None, None


# _Sum.apply without its question whether torch.func is at work, which `applies` has answered.
_apply = super(torch.autograd.Function, _Sum).apply


def target_arrays(targets: Tensor | SparseTargets) -> tuple[Any, Any, Any]:
    """Return (rows, row ends, columns): dense rows and no columns, or columns and no rows."""
    rows = _NO_ROWS if isinstance(targets, SparseTargets) else targets.contiguous().numpy()
    return rows, *sparse_arrays(targets)


def sparse_arrays(targets: Tensor | SparseTargets) -> tuple[Any, Any]:
    """Return the row ends and columns of sparse targets; both are empty for dense ones."""
    return targets.arrays if isinstance(targets, SparseTargets) else (_NO_PLACES, _NO_PLACES)


def room_for_gradient(logits: Tensor, wanted: bool) -> Tensor:
    """Return a tensor like contiguous logits, or one without rows if no gradient is wanted."""
    return torch.empty_like(logits) if wanted else logits.new_empty(0, logits.shape[1])


def mask_array(mask: Tensor | None) -> Any:
    """Return a mask (n, n_labels) as numbers, 0 where a label is unknown; no rows where there is no mask."""
    return _NO_MASK if mask is None else mask.contiguous().numpy().view(np.uint8)


def vector(value: Tensor | float, n: int) -> Array:
    """Return a number, or a tensor of shape () or (n,), as n numbers that are only to be read."""
    if isinstance(value, Tensor):
        return value.expand(n).contiguous().numpy()
    return _constant(value, n)


@lru_cache(32)
def _constant(value: float, n: int) -> Array:
    return np.full(n, value, np.float32)
