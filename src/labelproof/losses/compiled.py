"""When the compiled loops stand in for plain torch, and what they take."""

from typing import Any

import numpy as np
import torch
from torch import Tensor

from labelproof.activations.on_cpu import is_wrapped
from labelproof.losses.targets import SparseTargets

__all__ = ["applies", "target_arrays"]


def applies(logits: Tensor, *data: Tensor | SparseTargets) -> bool:
    """Return whether the loops can be used: float32 logits on the CPU that torch.compile and torch.func leave alone.

    Targets and weights must be data: their gradients are left to plain torch.
    """
    if torch.compiler.is_compiling() or logits.device.type != "cpu" or logits.dtype != torch.float32:
        return False
    tensors = [part for part in data if isinstance(part, Tensor)]
    return not any(map(is_wrapped, [logits, *tensors])) and not any(part.requires_grad for part in tensors)


def target_arrays(targets: Tensor | SparseTargets) -> tuple[Any, Any, Any]:
    """Return (rows, row ends, columns): dense rows and no columns, or columns and no rows."""
    if isinstance(targets, SparseTargets):
        return np.empty((0, targets.n_labels), np.float32), targets.indptr.numpy(), targets.columns.numpy()
    nothing = np.empty(0, np.int64)
    return targets.contiguous().numpy(), nothing, nothing
