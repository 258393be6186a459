"""The stretch of pairs of labels on disk, as `measured_store` keeps it."""

import os
from typing import Any

import numpy as np

from labelproof.foundation.array_files import told_in_one_sentence
from labelproof.proof.measured_store import load_measured, save_measured, take_arrays
from labelproof.proof.pair_result import PairStretch

__all__ = ["FORMAT", "load_pairs", "save_pairs"]

FORMAT = "labelproof pairs"
_NUMBERS = {"counts": np.int64, "lower": np.float64, "upper": np.float64}
_TWO_EACH = {"pairs": np.int64, "examples": np.int64, "weights": np.float64, "multipliers": np.float64}


def save_pairs(result: PairStretch, path: str | os.PathLike[str]) -> None:
    """Write pairs, counts, bounds and evidence to one file."""
    arrays = {name: getattr(result, name) for name in (*_NUMBERS, *_TWO_EACH)}
    save_measured(path, FORMAT, result.layer, result.examples_of, arrays)


def load_pairs(path: str | os.PathLike[str], weight: Any, features: Any, *, bias: Any = None) -> PairStretch:
    """Read what `PairStretch.save` wrote, for the same weights, bias and features; see `load_stretch`."""
    stored = load_measured(path, FORMAT, weight, features, bias=bias)
    with told_in_one_sentence(stored.name):
        arrays: dict[str, Any] = take_arrays(stored.arrays, _NUMBERS) | take_arrays(stored.arrays, _TWO_EACH, axes=2)
        result = PairStretch(stored.layer, stored.examples, **arrays)
        fault = result.frame_fault()
        if fault is not None:
            raise ValueError(fault)
        return result
