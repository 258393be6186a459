"""The floating-point types in which heads compute, by name: torch and Keras call them alike."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

__all__ = ["Precision", "precision_of"]

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Precision:
    """A floating-point type: the distance from 1 to the next number, the least normal number, and the largest."""

    name: str
    eps: float
    tiny: float
    max: float

    @property
    def of_fixed_part(self) -> "Precision":
        """The type in which products with fixed columns are computed: never below float32."""
        return _PRECISIONS["float64" if self.name == "float64" else "float32"]

    def rounded(self, x: Floats) -> Floats:
        """Return numbers of this type that are near the given ones, as float64.

        >>> precision_of("bfloat16").rounded(np.array([1.001, 2.0]))
        array([1., 2.])
        """
        if self.name != "bfloat16":
            return x.astype(self.name).astype(np.float64)
        bits = x.astype(np.float32).view(np.uint32).astype(np.uint64)  # the upper half of a float32
        return ((bits + 0x8000) & 0xFFFF0000).astype(np.uint32).view(np.float32).astype(np.float64)


def precision_of(dtype: Any) -> Precision:
    """Return the precision of a torch dtype, or of a name such as "float32".

    >>> precision_of("float16").max
    65504.0
    """
    name = str(dtype).removeprefix("torch.")
    if name not in _PRECISIONS:
        raise ValueError(f"dtype must be one of {', '.join(_PRECISIONS)}, got {name}")
    return _PRECISIONS[name]


def _of_numpy(name: str) -> Precision:
    info = np.finfo(name)
    return Precision(name, float(info.eps), float(info.tiny), float(info.max))


_PRECISIONS = {name: _of_numpy(name) for name in ("float64", "float32", "float16")}
_PRECISIONS["bfloat16"] = Precision("bfloat16", 2.0**-7, 2.0**-126, 2.0**128 * (1 - 2.0**-8))
