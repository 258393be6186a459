"""Read what options of the command line say: numbers in files, thresholds, domains, label sets in a word or two.

Weights are read by `labelproof.importers.read_layer`, label sets by `labelproof.data.read_label_file`.
"""

import re
from collections.abc import Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import Any

import numpy.typing as npt

from labelproof.errors import DataFormatError

__all__ = ["existing", "parse_domain", "parse_indices", "parse_names", "read_numbers", "read_thresholds"]

Array = npt.NDArray[Any]


def read_numbers(path: Path) -> Array:
    """Read one array of numbers from a .npy, .npz (of one array), .csv, .tsv or .txt file."""
    from labelproof.importers.tables import read_table

    return read_table(path)


def read_thresholds(text: str) -> float | Array:
    """Read one threshold, or a file of one for each label, which may stand in one row or one column."""
    try:
        return float(text)
    except ValueError:
        array = read_numbers(Path(text))
        return array.ravel() if array.ndim == 2 and 1 in array.shape else array


def parse_domain(text: str | None) -> Any:
    """Read ``nonnegative``, ``unit``, ``ball,RADIUS`` or two bounds for all features, as in ``-1,1`` or ``0,inf``."""
    if text is None or text in ("nonnegative", "unit"):
        return text
    kind, _, radius = text.partition(",")
    try:
        if kind in ("unit", "ball"):
            return kind, float(radius)
        low, high = (float(end) for end in text.split(","))
    except ValueError as error:
        raise ValueError(
            f"--domain must be nonnegative, unit, ball,RADIUS or LOW,HIGH, as in -1,1, got {text!r}"
        ) from error
    return low, high


def parse_indices(text: str) -> list[int]:
    """Read label indices that are separated by commas or spaces.

    >>> parse_indices("3, 17 20")
    [3, 17, 20]
    """
    try:
        return [int(token) for token in re.split(r"[,\s]+", text.strip()) if token]
    except ValueError as error:
        raise ValueError(
            f"--set must be indices of labels, with commas or spaces between (--set-names takes names), got {text!r}"
        ) from error


def parse_names(text: str, names: Sequence[str]) -> list[int]:
    """Read label names that are separated by semicolons.

    >>> parse_names("cat; dog", ["bird", "cat", "dog"])
    [1, 2]
    """
    places = {name: i for i, name in enumerate(names)}
    found = [token.strip() for token in text.split(";") if token.strip()]
    for name in found:
        if name not in places:
            nearest = get_close_matches(name, names, n=1, cutoff=0.0)[0]
            raise ValueError(
                f"--set-names must be names of labels, with semicolons between, got {name!r}; the nearest: {nearest!r}"
            )
    return [places[name] for name in found]


def existing(path: Path) -> Path:
    """Return the path of a file, which must be there."""
    if not path.is_file():
        raise DataFormatError(f"{path}: {'not a file' if path.exists() else 'no such file'}")
    return path
