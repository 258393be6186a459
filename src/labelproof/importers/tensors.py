"""Named tensors of a file, whose shapes are known before any of them is read."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from labelproof.importers.exact_numbers import refuse_size

__all__ = ["StoredTensor", "Tensors", "shown"]

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class StoredTensor:
    """One tensor of a file.

    Attributes
    ----------
    shape, dtype
        Of the numbers as stored.
    file
        Name of the file that holds it.
    load
        Reads it, exactly, as float64 of that shape; raises ValueError where float64 does not hold its numbers.
    """

    shape: tuple[int, ...]
    dtype: str
    file: str
    load: Callable[[], Floats]

    def read(self) -> Floats:
        """Return the numbers, unless they are too many."""
        refuse_size("a tensor", self.shape)
        return self.load()


Tensors = Mapping[str, StoredTensor]


def shown(tensors: Tensors, keys: list[str], most: int = 8) -> str:
    """Return keys with their shapes, for a message.

    Examples
    --------
    >>> shown({"fc.weight": StoredTensor((3, 2), "float32", "f", lambda: np.zeros((3, 2)))}, ["fc.weight"])
    'fc.weight (3×2)'
    """
    words = [f"{key} ({'×'.join(map(str, tensors[key].shape))})" for key in keys[:most]]
    return ", ".join(words) + (f" and {len(keys) - most} more" if len(keys) > most else "")
