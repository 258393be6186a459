"""Multi-label svmlight files: ``3,17 1:0.5 8:1 # comment``, the labels first, then the features that are not zero.

A value ``?`` or ``nan`` is a missing one.
"""

import math
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from labelproof.data.dataset import Dataset
from labelproof.data.examples import Example, GatheredLabels, SparseRow, float32_values, sparse_features
from labelproof.data.pair_blocks import in_blocks, read_pairs
from labelproof.data.textfile import LIMITS, Limits, at, read_lines
from labelproof.errors import DataFormatError

__all__ = ["MAX_FEATURES", "iter_svmlight", "parse_features", "parse_labels", "read_svmlight"]

MAX_FEATURES = 2**31
_NUMBER = re.compile(r"-?[0-9]{1,30}(?:\.[0-9]{0,30})?")


def iter_svmlight(path: Path, limits: Limits = LIMITS) -> Iterator[Example]:
    """Yield the examples of a file; features keep their numbers, so that files of one data set agree."""
    for number, line in _rows(path, limits):
        yield _example_at(path, number, line)


def read_svmlight(path: Path, limits: Limits = LIMITS) -> Dataset:
    """Read a file, many rows at a time."""
    labels, blocks = GatheredLabels(), []
    for rows in in_blocks(_rows(path, limits)):
        block = _read_block([line for _, line in rows]) or _one_by_one(path, rows)
        for names in block.labels:
            labels.add(names)
        blocks.append(block)
    matrix, label_names = labels.matrix()
    indices, values, sizes = (np.concatenate([block[part] for block in blocks]) for part in (1, 2, 3))
    return Dataset(matrix, tuple(label_names), features=sparse_features(indices, values, sizes))


class _Block(NamedTuple):
    """The labels of each row, and the features of all, one after the other, with the number of each row's."""

    labels: list[tuple[str, ...]]
    indices: npt.NDArray[np.int64]
    values: npt.NDArray[np.float32]
    sizes: npt.NDArray[np.int64]


def _read_block(lines: list[str]) -> _Block | None:
    """Read rows together; None where anything is wrong with one."""
    cut = [_cut(line) for line in lines]
    found = read_pairs([_with_single_blanks(rest) for _, rest in cut], ":", " ", most=MAX_FEATURES)
    if found is None:
        return None
    try:
        return _Block([parse_labels(head) for head, _ in cut], found[0], float32_values(found[1]), found[2])
    except ValueError:
        return None


def _with_single_blanks(text: str) -> str:
    text = " ".join(text.split())
    return text.replace("?", "nan") if "?" in text else text


def _one_by_one(path: Path, rows: list[tuple[int, str]]) -> _Block:
    examples = [_example_at(path, number, line) for number, line in rows]
    features: list[Any] = [example.features for example in examples]
    indices, values = (np.concatenate([row[part] for row in features]) for part in (0, 1))
    sizes = np.array([len(row.indices) for row in features])
    return _Block([example.labels for example in examples], indices, values, sizes)


def _rows(path: Path, limits: Limits) -> Iterator[tuple[int, str]]:
    """Yield the number and the text of every line that is not empty, without its comment."""
    empty = True
    for number, raw in read_lines(path, limits):
        line = raw.partition("#")[0].rstrip()
        if line:
            empty = False
            yield number, line
    if empty:
        raise DataFormatError(f"{path.name}: expected examples, got an empty file")


def _example_at(path: Path, number: int, line: str) -> Example:
    try:
        return _example(line)
    except ValueError as error:
        raise DataFormatError(f"{at(path, number)}: {error}") from error


def parse_features(text: str) -> SparseRow:
    """Read pairs of a feature's number and its value.

    >>> parse_features("1:0.5 8:1").indices.tolist()
    [1, 8]
    """
    tokens = [token.split(":") for token in text.split()]
    try:
        indices = [int(index) for index, _ in tokens]
        values = [math.nan if value == "?" else float(value) for _, value in tokens]
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


def _cut(line: str) -> tuple[str, str]:
    """Return the labels and the features of a row."""
    first, *rest = line.split(maxsplit=1)
    return ("", line) if ":" in first else (first, "".join(rest))


def _example(line: str) -> Example:
    labels, features = _cut(line)
    return Example(parse_labels(labels), features=parse_features(features))


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
        int(index), float("nan" if value == "?" else value)
    except ValueError:
        return False
    return True
