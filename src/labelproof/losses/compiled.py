"""When the compiled loops stand in for plain torch, and what they take."""

from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from labelproof.activations.on_cpu import is_wrapped
from labelproof.losses.targets import SparseTargets

__all__ = ["applies", "target_arrays", "vector"]

Array = npt.NDArray[np.float32]

_NO_ROWS, _NO_PLACES = np.empty((0, 0), np.float32), np.empty(0, np.int64)


def applies(logits: Tensor, *data: Tensor | SparseTargets | float | None) -> bool:
    """Return whether the loops can be used: float32 logits on the CPU that torch.compile and torch.func leave alone.

    Targets and weights must be data: their gradients are left to plain torch.
    """
    if torch.compiler.is_compiling() or logits.device.type != "cpu" or logits.dtype != torch.float32:
        return False
    if is_wrapped(logits):
        return False
    return not any(isinstance(part, Tensor) and (part.requires_grad or is_wrapped(part)) for part in data)


def target_arrays(targets: Tensor | SparseTargets) -> tuple[Any, Any, Any]:
    """Return (rows, row ends, columns): dense rows and no columns, or columns and no rows."""
    if isinstance(targets, SparseTargets):
        return _NO_ROWS, targets.indptr.numpy(), targets.columns.numpy()
    return targets.contiguous().numpy(), _NO_PLACES, _NO_PLACES


def vector(value: Tensor | float, n: int) -> Array:
    """Return a number, or a tensor of shape () or (n,), as n numbers that are only to be read."""
    if isinstance(value, Tensor):
        return value.expand(n).contiguous().numpy()
    return _constant(value, n)


@lru_cache(32)
def _constant(value: float, n: int) -> Array:
    return np.full(n, value, np.float32)
