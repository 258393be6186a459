"""Arrays that a user gives, as float64 numbers that are exactly those given, or one sentence that says why not."""

import hashlib
from typing import Any

import numpy as np
import numpy.typing as npt

__all__ = ["finite_array", "real_array", "sha256_of"]

Floats = npt.NDArray[np.float64]


def real_array(name: str, values: Any) -> Floats:
    """Return a new float64 array of numbers that it holds exactly; infinities and NaN are let through."""
    try:
        array = np.asarray(values)
    except ValueError as error:
        raise ValueError(f"{name} must be an array, got rows of different lengths") from error
    if array.dtype.kind not in "biuf" or array.dtype.itemsize > 8:
        raise ValueError(f"{name} must hold real numbers of at most 64 bits, got dtype {array.dtype}")
    if array.dtype.kind in "iu" and np.max(np.abs(array.astype(object)), initial=0) > 2**53:
        raise ValueError(f"{name} must hold integers of at most 2**53, so that float64 holds them exactly")
    return array.astype(np.float64)


def finite_array(name: str, values: Any) -> Floats:
    """Return the same of numbers that must be finite."""
    exact = real_array(name, values)
    if not np.isfinite(exact).all():
        where = tuple(int(k) for k in np.argwhere(~np.isfinite(exact))[0])
        raise ValueError(f"{name} must be finite, got {exact[where]} at index {where}")
    return exact


def sha256_of(weight: Floats) -> str:
    """Hash the shape and the numbers, whatever float type they came in; −0 counts as 0."""
    digest = hashlib.sha256(f"{weight.shape[0]} {weight.shape[1]} ".encode())
    digest.update(np.ascontiguousarray(weight + 0.0, "<f8").data)
    return digest.hexdigest()
