# mypy: disallow-untyped-decorators=False, disallow-untyped-defs=False, disallow-untyped-calls=False
"""Tensors that compiled loops find by their address: to make numpy arrays of them takes longer than a small batch.

A loss hands `places_of` its tensors to a kernel, which begins with ``Z, Y, known, G = matrices(places)``.
"""

from typing import Any

import numba
import numpy as np
from numba import types
from numba.extending import intrinsic
from torch import Tensor

from labelproof.foundation.compilation import compiled_part

__all__ = ["Places", "floats", "matrices", "place_of", "places_of"]

Places = tuple[int, int, int, int, int, int]


def places_of(logits: Tensor, targets: Tensor | None, mask: Tensor | None, gradient: Tensor) -> Places:
    """Return where logits, dense targets, mask and gradient are, 0 for none, and the shape of all, (n, n_labels).

    The caller keeps the tensors until the kernel has ended. Logits, targets and gradient are float32, the mask is bool.
    """
    n, n_labels = logits.shape
    y, known = 0 if targets is None else place_of(targets), 0 if mask is None else place_of(mask)
    return place_of(logits), y, known, place_of(gradient), n, n_labels


def place_of(tensor: Tensor) -> int:
    """Return the address of a contiguous tensor on the CPU, whose numbers are as they stand there.

    Examples
    --------
    >>> import torch
    >>> place_of(torch.zeros(2, 3).T)
    Traceback (most recent call last):
    ValueError: a tensor that compiled code reads must be contiguous, got strides (1, 3)
    """
    if not tensor.is_contiguous():
        raise ValueError(f"a tensor that compiled code reads must be contiguous, got strides {tensor.stride()}")
    return tensor.data_ptr()


def _to_pointer(_typing, address):
    def code(context, builder, _signature, values):
        return builder.inttoptr(values[0], context.get_value_type(types.voidptr))

    return types.voidptr(address), code


_pointer: Any = intrinsic(_to_pointer)
carray: Any = numba.carray  # type: ignore[attr-defined]


@compiled_part()
def matrices(places):  # pragma: no cover - compiled
    """Return the four tensors of `places_of`; those that are not there have no rows."""
    z, y, known, gradient, n, n_labels = places
    mask = carray(_pointer(known), (n if known != 0 else 0, n_labels), np.uint8)
    return floats(z, n, n_labels), floats(y, n, n_labels), mask, floats(gradient, n, n_labels)


@compiled_part()
def floats(place, n, n_columns):  # pragma: no cover - compiled
    """Return the float32 (n, n_columns) at a place; no rows where the place is 0."""
    return carray(_pointer(place), (n if place != 0 else 0, n_columns), np.float32)
