"""What encoders prepare their inputs into: rows of numbers in few numpy arrays, quick to gather into a batch."""

from array import array
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

__all__ = ["DenseRows", "Prepared", "RaggedRows", "ragged"]

Rows = npt.NDArray[np.int64]


class Prepared(Protocol):
    """Prepared inputs: their number is known; what else they have is the encoder's own affair.

    Examples
    --------
    >>> import numpy as np
    >>> from labelproof import encoders
    >>> texts = ["a cat", "a dog"]
    >>> len(encoders.build("tfidf", texts, hidden=4).prepare(texts))
    2
    """

    def __len__(self) -> int:
        """Return the number of examples."""
        ...


@dataclass(frozen=True, eq=False)
class DenseRows:
    """Rows of equal length.

    Parameters
    ----------
    values
        float32 array (n_examples, width).

    Examples
    --------
    >>> DenseRows(np.eye(3, dtype=np.float32)).batch(np.array([2]))
    tensor([[0., 0., 1.]])
    """

    values: npt.NDArray[np.float32]

    def __len__(self) -> int:
        return len(self.values)

    def batch(self, rows: Rows) -> Tensor:
        """Return these rows, (n, width)."""
        return torch.from_numpy(self.values[rows])


@dataclass(frozen=True, eq=False)
class RaggedRows:
    """Rows of different lengths, one after the other, as in a CSR matrix.

    Parameters
    ----------
    indptr
        int64 array (n_examples + 1,): row i is from indptr[i] to indptr[i + 1].
    ids
        int32 array of token numbers or columns.
    values
        float32 array, one for each id, or None where ids are all there is.

    Examples
    --------
    >>> rows = RaggedRows(np.array([0, 2, 2, 3]), np.array([7, 8, 9], np.int32))
    >>> rows.bags(np.array([2, 1, 0]))
    (tensor([9, 7, 8]), tensor([0, 1, 1]))
    >>> rows.padded(np.array([0, 2]), padding=0)
    (tensor([[7, 8],
            [9, 0]]), tensor([2, 1]))
    """

    indptr: npt.NDArray[np.int64]
    ids: npt.NDArray[np.int32]
    values: npt.NDArray[np.float32] | None = None

    def __len__(self) -> int:
        return len(self.indptr) - 1

    def bags(self, rows: Rows) -> tuple[Tensor, ...]:
        """Return ids, where each row begins among them, and the values if there are any."""
        places, lengths = self._places(rows)
        batch: tuple[Tensor, ...] = (_long(self.ids[places]), _long(np.cumsum(lengths) - lengths))
        return batch if self.values is None else (*batch, torch.from_numpy(self.values[places]))

    def padded(self, rows: Rows, *, padding: int, least: int = 1) -> tuple[Tensor, Tensor]:
        """Return ids (n, longest row but at least so many) filled up with padding, and the lengths (n,)."""
        places, lengths = self._places(rows)
        width = max(int(lengths.max(initial=0)), least)
        ids = np.full((len(rows), width), padding, np.int64)
        ids[np.arange(width) < lengths[:, None]] = self.ids[places]
        return torch.from_numpy(ids), _long(lengths)

    def _places(self, rows: Rows) -> tuple[Rows, Rows]:
        starts = self.indptr[rows]
        lengths = self.indptr[np.asarray(rows) + 1] - starts
        before = np.cumsum(lengths) - lengths
        return np.repeat(starts - before, lengths) + np.arange(lengths.sum()), lengths


def ragged(rows: Iterable[Iterable[int]]) -> RaggedRows:
    """Return lists of ids as ragged rows; a generator of them is used up one by one.

    Examples
    --------
    >>> ragged([[7, 8], [], [9]]).indptr.tolist()
    [0, 2, 2, 3]
    """
    indptr, ids = array("q", [0]), array("i")
    for row in rows:
        ids.extend(row)
        indptr.append(len(ids))
    return RaggedRows(np.frombuffer(indptr, np.int64), np.frombuffer(ids, np.int32))


def _long(array: npt.NDArray[Any]) -> Tensor:
    return torch.from_numpy(array.astype(np.int64, copy=False))
