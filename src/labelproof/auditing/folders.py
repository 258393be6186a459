"""The folder of an audit: written beside its place, and there complete or as it was before."""

import os
from collections.abc import Callable
from fnmatch import fnmatchcase
from pathlib import Path

import numpy as np
import numpy.typing as npt

from labelproof.foundation.writing import recover
from labelproof.foundation.writing import write_folder as replace_folder

__all__ = ["as_stored", "write_folder"]

OURS = (
    "audit.json",
    "proofs-*.npz",
    "layer*.npz",
    "stretch.npz",
    "pairs.npz",
    "reach.npz",
    "features.np[yz]",
    "calibration.np[yz]",
    "features.json",
    "report.html",
)


def write_folder(folder: str | os.PathLike[str], write: Callable[[Path], None]) -> None:
    """Let a function write the files of an audit, and put them into a folder in one step.

    Parameters
    ----------
    folder
        A new one, an empty one, or one with an earlier audit, whose files are replaced.
    write
        Writes all files into the folder that it is given.
    """
    target = Path(folder)
    recover(target)
    if target.exists() and not (target.is_dir() and (_is_audit(target) or not any(target.iterdir()))):
        raise ValueError(f"folder must be new, empty or hold an earlier audit, got {target}")
    replace_folder(target, write, may_replace=_is_audit, what="an audit", replaced=_is_ours)


def _is_audit(folder: Path) -> bool:
    return (folder / "audit.json").is_file()


def _is_ours(name: str) -> bool:
    return any(fnmatchcase(name, pattern) for pattern in OURS)


def as_stored(weight: npt.NDArray[np.float64]) -> npt.NDArray[np.floating]:
    """Return weights in half the space where float32 holds them exactly.

    Examples
    --------
    >>> as_stored(np.array([[0.5]])).dtype, as_stored(np.array([[0.1]])).dtype
    (dtype('float32'), dtype('float64'))
    """
    with np.errstate(over="ignore"):
        half = weight.astype(np.float32)
    return half if np.array_equal(half, weight) else weight
