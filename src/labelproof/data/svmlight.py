"""Multi-label svmlight files: ``3,17 1:0.5 8:1 # comment``, the labels first, then the features that are not zero."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np

from labelproof.data.dataset import Dataset
from labelproof.data.examples import Example, SparseRow, collect, float32_values
from labelproof.data.textfile import LIMITS, Limits, at, read_lines
from labelproof.errors import DataFormatError

__all__ = ["iter_svmlight", "parse_features", "read_svmlight"]

MAX_FEATURES = 2**31


def read_svmlight(path: Path, limits: Limits = LIMITS) -> Dataset:
    """Read a multi-label svmlight file; features keep their numbers, so that files of one data set agree."""
    return collect(iter_svmlight(path, limits))


def iter_svmlight(path: Path, limits: Limits = LIMITS) -> Iterator[Example]:
    """Yield the examples of a multi-label svmlight file."""
    empty = True
    for number, raw in read_lines(path, limits):
        line = raw.partition("#")[0].rstrip()
        if not line:
            continue
        empty = False
        try:
            yield _example(line)
        except ValueError as error:
            raise DataFormatError(f"{at(path, number)}: {error}") from error
    if empty:
        raise DataFormatError(f"{path.name}: expected examples, got an empty file")


def parse_features(text: str) -> SparseRow:
    """Read pairs of a feature's number and its value.

    >>> parse_features("1:0.5 8:1").indices.tolist()
    [1, 8]
    """
    tokens = text.split()
    numbers = text.replace(":", " ").split()
    try:
        if text.count(":") != len(tokens) or len(numbers) != 2 * len(tokens):
            raise ValueError("expected one colon in each")
        indices, values = list(map(int, numbers[::2])), list(map(float, numbers[1::2]))
    except ValueError as error:
        raise ValueError(f"expected features as NUMBER:VALUE, got {_first_wrong(tokens)!r}") from error
    if not 0 <= min(indices, default=0) <= max(indices, default=0) < MAX_FEATURES:
        wrong = next(index for index in indices if not 0 <= index < MAX_FEATURES)
        raise ValueError(f"expected features numbered from 0 to {MAX_FEATURES - 1}, got {wrong}")
    if len(set(indices)) != len(indices):
        raise ValueError("expected each feature once, got one twice")
    return SparseRow(np.array(indices, np.int64), float32_values(values))


def _example(line: str) -> Example:
    first, _, rest = line.partition(" ") if not line[0].isspace() else ("", "", line)
    if ":" in first:  # no labels, and no space before the first feature
        first, rest = "", line
    labels = tuple(label for label in first.split(",") if label)
    for label in labels:
        if not label.removeprefix("-").replace(".", "", 1).isdecimal():
            raise ValueError(f"expected labels as numbers separated by commas, got {label!r}")
    return Example(tuple(label.removesuffix(".0") for label in labels), features=parse_features(rest))


def _first_wrong(tokens: list[str]) -> str:
    for token in tokens:
        index, colon, value = token.partition(":")
        try:
            int(index), float(value)
        except ValueError:
            return token
        if not colon:
            return token
    return " ".join(tokens)[:40]
