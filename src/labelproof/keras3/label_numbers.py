"""One number for each label, among the options of a loss, and targets of the shape of the logits."""

from typing import Any

import numpy as np
from keras import ops

__all__ = ["LabelNumbers", "as_option", "check_shapes", "like"]

LabelNumbers = float | list[float]
"""One number for all labels, or one for each."""


def as_option(name: str, value: Any, *, positive: bool = False) -> LabelNumbers:
    """Return a number, or one for each label, in the form that a configuration keeps.

    Examples
    --------
    >>> as_option("beta", np.array([1.0, 2.0])), as_option("eta", 0)
    ([1.0, 2.0], 0.0)
    """
    numbers = np.asarray(value, np.float64)
    if numbers.ndim > 1 or not np.isfinite(numbers).all():
        raise ValueError(f"{name} must be a number, or one finite number for each label, got shape {numbers.shape}")
    if positive and not (numbers > 0).all():
        raise ValueError(f"{name} must be positive, got {float(numbers.min()):g}")
    as_python: LabelNumbers = numbers.tolist()
    return as_python


def like(numbers: LabelNumbers, logits: Any) -> Any:
    """Return such numbers as a tensor of shape () or (n_labels,), in the type of the logits."""
    tensor = ops.convert_to_tensor(numbers, dtype=logits.dtype)
    if len(tensor.shape) and tensor.shape[0] != logits.shape[-1]:
        raise ValueError(f"expected a number for each of {logits.shape[-1]} labels, got {tensor.shape[0]}")
    return tensor


def check_shapes(y_true: Any, y_pred: Any) -> None:
    """Refuse targets that have not the shape (..., n_labels) of the logits, as far as it is known."""
    ours, theirs = tuple(y_true.shape), tuple(y_pred.shape)
    same = len(ours) == len(theirs) and all(a == b or None in (a, b) for a, b in zip(ours, theirs, strict=True))
    if not same or not theirs:
        raise ValueError(f"y_true must have the shape (..., n_labels) of y_pred {theirs}, got {ours}")
