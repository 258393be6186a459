"""Numbers of a layer, exact in float64 and checked, before they become an `ImportedLayer`."""

from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from labelproof.foundation.array_files import MAX_BYTES
from labelproof.importers.layer import ImportedLayer

__all__ = ["exact", "finite_layer", "refuse_size"]

Floats = npt.NDArray[np.float64]


def exact(name: str, values: Any) -> Floats:
    """Return numbers as float64, which must hold them exactly.

    Examples
    --------
    >>> exact("weight", np.array([[0.5, -2.0]], dtype=np.float16))
    array([[ 0.5, -2. ]])
    """
    try:
        array = np.asarray(values)
    except ValueError as error:
        raise ValueError(f"{name} must be an array, got rows of different lengths") from error
    if array.dtype.kind not in "biuf" or array.dtype.itemsize > 8:
        raise ValueError(f"{name} must hold real numbers of at most 64 bits, got dtype {array.dtype}")
    refuse_size(name, array.shape)
    if array.dtype.kind in "iu" and array.size and max(abs(int(array.max())), abs(int(array.min()))) > 2**53:
        raise ValueError(f"{name} must hold integers of at most 2**53, so that float64 holds them exactly")
    return array.astype(np.float64)


def refuse_size(name: str, shape: tuple[int, ...]) -> None:
    """Refuse an array that would take up too much memory as float64, before it is made."""
    size = 8
    for length in shape:
        size *= length
    if size > MAX_BYTES:
        raise ValueError(f"{name} must take up at most {MAX_BYTES} bytes as float64, got shape {shape}")


def finite_layer(layer: ImportedLayer) -> ImportedLayer:
    """Return a layer whose numbers have the shapes of one, and are finite; its bias becomes a vector.

    Raises
    ------
    ValueError
        In one sentence, if they do not.
    """
    weight = layer.weight
    if weight.ndim != 2 or 0 in weight.shape:
        raise ValueError(f"the weight must have shape (n_labels, n_features), got {weight.shape} ({layer.source})")
    bias = None if layer.bias is None else _vector(layer.bias, len(weight))
    _require_finite("weight", weight, layer.source)
    if bias is not None:
        _require_finite("bias", bias, layer.source)
    return replace(layer, weight=np.ascontiguousarray(weight), bias=bias)


def _vector(bias: Floats, n_labels: int) -> Floats:
    flat = bias.ravel() if bias.ndim == 2 and 1 in bias.shape else bias
    if flat.shape != (n_labels,):
        raise ValueError(f"the bias must have shape ({n_labels},) to match the weight's rows, got {bias.shape}")
    return np.ascontiguousarray(flat)


def _require_finite(name: str, values: Floats, source: str) -> None:
    wrong = ~np.isfinite(values)
    if wrong.any():
        place = tuple(int(i) for i in np.argwhere(wrong)[0])
        words = f"label {place[0]}" + (f", feature {place[1]}" if len(place) > 1 else "")
        raise ValueError(f"the {name} must be finite, got {values[place]} at {words} ({source})")
