"""The folder of an audit: written beside its place, and there complete or as it was before."""

import os
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import numpy.typing as npt

__all__ = ["as_stored", "write_folder"]

OURS = (
    "proofs-*.npz",
    "layer*.npz",
    "stretch.npz",
    "pairs.npz",
    "reach.npz",
    "features.np[yz]",
    "calibration.np[yz]",
    "features.json",
)


def write_folder(folder: str | os.PathLike[str], write: Callable[[Path], None]) -> None:
    """Let a function write the files of an audit, and move them to a folder.

    Parameters
    ----------
    folder
        A new one, an empty one, or one with an earlier audit, whose files are replaced.
    write
        Writes all files into the folder that it is given.
    """
    target = Path(folder)
    is_ours = target.is_dir() and ((target / "audit.json").is_file() or not any(target.iterdir()))
    if target.exists() and not is_ours:
        raise ValueError(f"folder must be new, empty or hold an earlier audit, got {target}")
    target.parent.mkdir(parents=True, exist_ok=True)
    draft = Path(tempfile.mkdtemp(prefix=f".{target.name}.", dir=target.parent))
    try:
        write(draft)
        target.mkdir(exist_ok=True)
        for pattern in OURS:
            for stale in target.glob(pattern):
                stale.unlink()
        for file in draft.iterdir():
            file.replace(target / file.name)
    finally:
        shutil.rmtree(draft, ignore_errors=True)


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
