"""Results of `stretch` on disk: label sets, bounds and evidence, as `measured_store` keeps them."""

import os
from typing import Any

import numpy as np
import numpy.typing as npt

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
from labelproof.proof.stretch_bar import Bar
from labelproof.proof.stretch_result import Stretch

__all__ = ["ARRAYS", "FORMAT", "load_stretch", "save_stretch"]

FORMAT = "labelproof stretch"
ARRAYS = {
    "lower": np.float64,
    "upper": np.float64,
    "mixture_ptr": np.int64,
    "mixture_examples": np.int64,
    "mixture_weights": np.float64,
    "weighted_ptr": np.int64,
    "weighted_labels": np.int64,
    "multipliers": np.float64,
    "conflict_ptr": np.int64,
    "conflict_rows": np.int64,
}


def save_stretch(result: Stretch, path: str | os.PathLike[str]) -> None:
    """Write bounds and evidence to one file."""
    bar = result.bar
    arrays = _arrays(result, "") | ({} if bar is None else _arrays(bar.predicted, BAR))
    save_measured(path, FORMAT, result.layer, result.examples, arrays, bar)


def _arrays(result: Stretch, prefix: str) -> dict[str, npt.NDArray[Any]]:
    return sets_arrays(result.label_sets, prefix) | {prefix + name: getattr(result, name) for name in ARRAYS}


def load_stretch(path: str | os.PathLike[str], weight: Any, features: Any, *, bias: Any = None) -> Stretch:
    """Read what `Stretch.save` wrote, for the same weights, bias and features as were measured.

    Parameters
    ----------
    path
        The file.
    weight, bias
        As given to `stretch`, in any float type that holds the same numbers. The file knows rule and thresholds.
    features
        As given to `stretch`; sparse if they were, in any float type that holds the same numbers.

    Returns
    -------
    Stretch
        Its `check` proves every bound from the numbers given here; until then the file is only believed.

    Raises
    ------
    DataFormatError
        If the file is damaged, is no such file, or was made for another classifier or other features.

    Examples
    --------
    >>> import tempfile
    >>> import labelproof as lp
    >>> weight, features = [[1.0, 0.0], [0.0, 1.0]], [[2.0, -1.0], [-1.0, 2.0]]
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     lp.stretch(weight, [[0]], features).save(f"{folder}/stretch.npz")
    ...     again = load_stretch(f"{folder}/stretch.npz", weight, features)
    >>> again.check()
    """
    stored = load_measured(path, FORMAT, weight, features, bias=bias)
    with told_in_one_sentence(stored.name):
        bar = None if stored.bar is None else make_bar_again(stored.bar, _result(stored, BAR, None))
        return _result(stored, "", bar)


def _result(stored: Stored, prefix: str, bar: Bar[Stretch] | None) -> Stretch:
    arrays: dict[str, Any] = take_arrays(stored.arrays, ARRAYS, prefix)
    result = Stretch(stored.layer, stored.label_sets(prefix), stored.examples, **arrays, bar=bar)
    fault = result.frame_fault()
    if fault is not None:
        raise ValueError(fault)
    return result
