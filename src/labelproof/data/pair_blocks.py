"""Rows of numbered values, ``3:0.5 8:1`` or ``{3 0.5,8 1}``, read many at a time.

What a block holds is either as it should be, or the block is read again row by row by code that says what is wrong
where; so nothing here makes an error message.
"""

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt

__all__ = ["in_blocks", "read_pairs"]

ROWS_AT_ONCE = 512
T = TypeVar("T")


class PairBlock(NamedTuple):
    """Numbers and values of several rows, one after the other, and how many each row has."""

    indices: npt.NDArray[np.int64]
    values: npt.NDArray[np.float64]
    sizes: npt.NDArray[np.int64]


def in_blocks(rows: Iterable[T]) -> Iterator[list[T]]:
    """Yield rows in lists of some hundreds."""
    rest = iter(rows)
    while block := list(islice(rest, ROWS_AT_ONCE)):
        yield block


def read_pairs(rows: Sequence[str], within: str, between: str, *, most: int) -> PairBlock | None:
    """Read the pairs of rows; None where one is no pair of a number below ``most`` and a value, or comes twice.

    Parameters
    ----------
    rows
        Their texts, which have no white space but single blanks.
    within, between
        The characters between number and value, and between pairs.
    most
        How many numbers there are.

    Examples
    --------
    >>> read_pairs(["3:0.5 8:1", ""], ":", " ", most=9)[:2]
    (array([3, 8]), array([0.5, 1. ]))
    >>> read_pairs(["3:0.5 3:1"], ":", " ", most=9), read_pairs(["3 0.5:8:1"], ":", " ", most=9)
    (None, None)
    """
    sizes = np.array([row.count(within) for row in rows], np.int64)
    text = between.join(filter(None, rows))
    if not _alternate(text, within, between, int(sizes.sum())):
        return None
    flat = text.replace(within, between).split(between) if text else []
    try:
        indices = np.fromiter(map(int, flat[::2]), np.int64, len(flat) // 2)
        values = np.fromiter(map(float, flat[1::2]), np.float64, len(flat) // 2)
    except (ValueError, OverflowError):
        return None
    if indices.min(initial=0) < 0 or indices.max(initial=-1) >= most:
        return None
    return None if _has_doubles(indices, sizes, most) else PairBlock(indices, values, sizes)


def _alternate(text: str, within: str, between: str, n_pairs: int) -> bool:
    """Return whether the characters that separate stand in turn, so that numbers and values do."""
    if not n_pairs:
        return not text
    if not text.isascii():
        return False
    letters = np.frombuffer(text.encode(), np.uint8)
    marks = letters[(letters == ord(within)) | (letters == ord(between))]
    return len(marks) == 2 * n_pairs - 1 and bool(
        (marks[::2] == ord(within)).all() and (marks[1::2] == ord(between)).all()
    )


def _has_doubles(indices: npt.NDArray[np.int64], sizes: npt.NDArray[np.int64], most: int) -> bool:
    """Return whether a row has a number twice; most files have them in ascending order."""
    keys = np.repeat(np.arange(len(sizes)), sizes) * most + indices
    return not bool((keys[1:] > keys[:-1]).all()) and len(np.unique(keys)) != len(keys)
