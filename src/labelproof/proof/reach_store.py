"""The reach of label sets on disk, as `measured_store` keeps it, with the spread of the features."""

import os
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse

from labelproof.foundation.array_files import told_in_one_sentence
from labelproof.proof.measured_store import (
    BAR,
    Stored,
    load_measured,
    make_bar_again,
    save_measured,
    sets_arrays,
    take_arrays,
)
from labelproof.proof.reach_result import Reach
from labelproof.proof.stretch_bar import Bar

__all__ = ["FORMAT", "load_reach", "save_reach"]

FORMAT = "labelproof reach"
_ARRAYS = {
    "lower": np.float64,
    "upper": np.float64,
    "share": np.float64,
    "weighted_ptr": np.int64,
    "weighted_labels": np.int64,
    "multipliers": np.float64,
}


def save_reach(result: Reach, path: str | os.PathLike[str]) -> None:
    """Write bounds, spread and evidence to one file."""
    bar = result.bar
    arrays = {"spread": result.spread, **_arrays(result, ""), **({} if bar is None else _arrays(bar.predicted, BAR))}
    save_measured(path, FORMAT, result.layer, result.examples, arrays, bar)


def _arrays(result: Reach, prefix: str) -> dict[str, npt.NDArray[Any]]:
    return sets_arrays(result.label_sets, prefix) | {prefix + name: getattr(result, name) for name in _ARRAYS}


def load_reach(path: str | os.PathLike[str], weight: Any, features: Any, *, bias: Any = None) -> Reach:
    """Read what `Reach.save` wrote, for the same weights, bias and features; see `load_stretch`."""
    dense = features.toarray() if scipy.sparse.issparse(features) else features  # a spread is measured of dense ones
    stored = load_measured(path, FORMAT, weight, dense, bias=bias)
    with told_in_one_sentence(stored.name):
        spread = take_arrays(stored.arrays, {"spread": np.float64}, axes=2)["spread"]
        bar = None if stored.bar is None else make_bar_again(stored.bar, _result(stored, spread, BAR, None))
        return _result(stored, spread, "", bar)


def _result(stored: Stored, spread: npt.NDArray[np.float64], prefix: str, bar: Bar[Reach] | None) -> Reach:
    arrays: dict[str, Any] = take_arrays(stored.arrays, _ARRAYS, prefix)
    result = Reach(stored.layer, stored.label_sets(prefix), stored.examples, spread, **arrays, bar=bar)
    fault = result.frame_fault()
    if fault is not None:
        raise ValueError(fault)
    return result
