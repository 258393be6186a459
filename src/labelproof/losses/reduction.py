"""What every loss shares beside its formula: weights of labels and examples, unknown labels, and reductions."""

from typing import Any, Literal

import torch
from torch import Tensor

__all__ = [
    "REDUCTIONS",
    "Reduction",
    "check_positive",
    "on_device_of",
    "read_example_weight",
    "read_label_vector",
    "read_mask",
]

Reduction = Literal["none", "mean", "sum"]
REDUCTIONS = ("none", "mean", "sum")


def check_positive(name: str, value: Tensor | float) -> None:
    """Refuse a number, or a tensor with a number, that is not positive; torch.compile takes tensors as they are."""
    if isinstance(value, Tensor) and torch.compiler.is_compiling():
        return
    least = float(value.detach().min()) if isinstance(value, Tensor) else value
    if not least > 0:
        raise ValueError(f"{name} must be positive, got {least:g}")


def on_device_of(logits: Tensor, value: Any) -> Tensor:
    """Return a tensor, or what one can be made of, where the logits are."""
    if isinstance(value, Tensor) and value.device == logits.device:
        return value
    return torch.as_tensor(value, device=logits.device)


def read_label_vector(name: str, value: Tensor | float, logits: Tensor) -> Tensor:
    """Return one number for all labels, or one for each, as a tensor of shape () or (n_labels,) like the logits."""
    vector = torch.as_tensor(value, dtype=logits.dtype, device=logits.device)
    if vector.ndim and vector.shape != logits.shape[-1:]:
        raise ValueError(
            f"{name} must be a number or have shape ({logits.shape[-1]},) to match logits {tuple(logits.shape)}, "
            f"got shape {tuple(vector.shape)}"
        )
    return vector


def read_example_weight(value: Tensor | None, logits: Tensor) -> Tensor | None:
    """Return the weights of the examples, one for each row of logits (..., n_labels), as a vector."""
    if value is None:
        return None
    weight = torch.as_tensor(value, dtype=logits.dtype, device=logits.device)
    if weight.shape != logits.shape[:-1]:
        raise ValueError(
            f"example_weight must have shape {tuple(logits.shape[:-1])} to match logits {tuple(logits.shape)}, "
            f"got {tuple(weight.shape)}"
        )
    return weight.reshape(-1)


def read_mask(value: Tensor | None, logits: Tensor) -> Tensor | None:
    """Return the mask of known labels, of the logits' shape, as contiguous rows of bool."""
    if value is None:
        return None
    mask = on_device_of(logits, value)
    if mask.shape != logits.shape or mask.dtype != torch.bool:
        raise ValueError(
            f"mask must be a bool tensor of the logits' shape {tuple(logits.shape)} (True where a label is known), "
            f"got {mask.dtype} of shape {tuple(mask.shape)}"
        )
    return (mask if mask.ndim == 2 else mask.reshape(-1, logits.shape[-1])).contiguous()
