"""Multi-label svmlight files: ``3,17 1:0.5 8:1 # comment``, the labels first, then the features that are not zero."""

import re
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from labelproof.data.examples import Example, SparseRow, float32_values
from labelproof.data.textfile import LIMITS, Limits, at, read_lines
from labelproof.errors import DataFormatError

__all__ = ["iter_svmlight", "parse_features", "parse_labels"]

MAX_FEATURES = 2**31
_NUMBER = re.compile(r"-?[0-9]{1,30}(?:\.[0-9]{0,30})?")


def iter_svmlight(path: Path, limits: Limits = LIMITS) -> Iterator[Example]:
    """Yield the examples of a file; features keep their numbers, so that files of one data set agree."""
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
    tokens = [token.split(":") for token in text.split()]
    try:
        indices, values = [int(index) for index, _ in tokens], [float(value) for _, value in tokens]
    except ValueError as error:
        wrong = next(token for token in text.split() if not _is_feature(token))
        raise ValueError(f"expected features as NUMBER:VALUE, got {wrong[:40]!r}") from error
    if not 0 <= min(indices, default=0) <= max(indices, default=0) < MAX_FEATURES:
        far = next(index for index in indices if not 0 <= index < MAX_FEATURES)
        raise ValueError(f"expected features numbered from 0 to {MAX_FEATURES - 1}, got {far}")
    if len(set(indices)) != len(indices):
        raise ValueError("expected each feature once, got one twice")
    return SparseRow(np.array(indices, np.int64), float32_values(values))


def parse_labels(text: str) -> tuple[str, ...]:
    """Read label numbers between commas; whole ones are written in one way.

    >>> parse_labels("3,07,5.0,-1")
    ('3', '7', '5', '-1')
    """
    return tuple(_label(label.strip()) for label in text.split(",") if label.strip())


def _example(line: str) -> Example:
    first, *rest = line.split(maxsplit=1)
    if ":" in first:  # no labels
        return Example((), features=parse_features(line))
    return Example(parse_labels(first), features=parse_features("".join(rest)))


def _label(text: str) -> str:
    if text.isdecimal() and text.isascii() and text[0] != "0":
        return text
    if not _NUMBER.fullmatch(text):
        raise ValueError(f"expected labels as numbers separated by commas, got {text[:40]!r}")
    whole, _, fraction = text.partition(".")
    return text if fraction.strip("0") else str(int(whole))


def _is_feature(token: str) -> bool:
    index, _, value = token.partition(":")
    try:
        int(index), float(value)
    except ValueError:
        return False
    return True
