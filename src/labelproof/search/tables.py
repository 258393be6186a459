"""The numbers of a layer as the search in columns asks for them: few columns of few rows, and sums of a few of either.

One table for weights in an array, and one for sparse ones, which reads what is stored and makes no dense copy.
"""

from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from labelproof.foundation.compilation import plain
from labelproof.proof.regions import OutputLayer
from labelproof.proof.rounding import FloatRows
from labelproof.proof.sparse_weights import SparseWeight

__all__ = ["Table", "table_of"]

Floats = npt.NDArray[np.float64]
Indices = npt.NDArray[np.int64]
PARTS = ("indptr", "indices", "data")


class Table(Protocol):
    """Scaled rows of `rounding.FloatRows`, each over 2**exponent of the stored one, and the weights as stored."""

    exponents: npt.NDArray[np.int64]  # (n_labels,)
    offset: Floats  # (n_labels,), scaled; 0 where there is none

    def block(self, labels: Indices, columns: Indices) -> Floats:
        """Return scaled numbers (n_labels, n_columns) of some labels in some columns."""

    def logits(self, x: Floats, columns: Indices) -> Floats:
        """Return the scaled products (n_labels,) of all labels with a point that is 0 but for x in some columns."""

    def pulls(self, shares: Floats, labels: Indices) -> tuple[Floats, Floats]:
        """Return Σ share·w over some labels as stored, and the same of the absolute values; (d,) each."""

    def largest(self, columns: Indices, count: int) -> Indices:
        """Return for each label the columns (n_labels, count), out of some ascending ones, of its largest weights."""


def table_of(layer: OutputLayer, floats: FloatRows) -> Table:
    """Return the table of a layer, sparse or not."""
    return _DenseTable(layer, floats) if layer.sparse is None else _SparseTable(layer, layer.sparse, floats)


class _DenseTable:
    def __init__(self, layer: OutputLayer, floats: FloatRows) -> None:
        from labelproof.search import table_kernels

        self.kernels, self.weight, self.exponents = table_kernels, plain(layer.weight), floats.exponents
        self.columns = plain(floats.rows.T)
        self.offset = np.zeros(layer.n_labels) if layer.offset is None else self.columns[layer.d]

    def block(self, labels: Indices, columns: Indices) -> Floats:
        found = np.empty((len(labels), len(columns)))
        self.kernels.pick_dense(self.columns, plain(labels), plain(columns), found)
        return found

    def logits(self, x: Floats, columns: Indices) -> Floats:
        total = np.zeros(len(self.weight))
        self.kernels.add_rows(self.columns, plain(x), plain(columns), total, np.empty(0))
        return total

    def pulls(self, shares: Floats, labels: Indices) -> tuple[Floats, Floats]:
        total, sizes = np.zeros((2, self.weight.shape[1]))
        self.kernels.add_rows(self.weight, plain(shares), plain(labels), total, sizes)
        return total, sizes

    def largest(self, columns: Indices, count: int) -> Indices:
        best = np.empty((len(self.weight), count), np.int64)
        for i, row in enumerate(self.weight):
            best[i] = columns[np.argpartition(-row[columns], count - 1)[:count]]
        return best


class _SparseTable:
    def __init__(self, layer: OutputLayer, weight: SparseWeight, floats: FloatRows) -> None:
        from labelproof.search import table_kernels

        self.kernels, self.weight, self.exponents = table_kernels, weight, floats.exponents
        scaled: Any = floats.rows
        self.rows = tuple(plain(getattr(weight.rows, part)) for part in PARTS)
        self.columns = tuple(plain(getattr(scaled, part)) for part in PARTS)
        self.offset = np.zeros(layer.n_labels)
        if layer.offset is not None:
            self.offset = self.logits(np.ones(1), np.array([layer.d]))

    def block(self, labels: Indices, columns: Indices) -> Floats:
        found = np.zeros((len(labels), len(columns)))
        self.kernels.pick(*self.columns, plain(labels), plain(columns), found)
        return found

    def logits(self, x: Floats, columns: Indices) -> Floats:
        total, sizes = np.zeros((2, len(self.weight)))
        self.kernels.add_up(*self.columns, plain(x), plain(columns), total, sizes)
        return total

    def pulls(self, shares: Floats, labels: Indices) -> tuple[Floats, Floats]:
        total, sizes = np.zeros((2, self.weight.shape[1]))
        self.kernels.add_up(*self.rows, plain(shares), plain(labels), total, sizes)
        return total, sizes

    def largest(self, columns: Indices, count: int) -> Indices:
        """Do as it says with weights over 0; where there are fewer, the first column stands for the others."""
        best = np.full((len(self.weight), count), columns[0])
        indptr, indices, data = self.rows
        may = np.zeros(self.weight.shape[1], np.bool_)
        may[columns] = True
        for i in range(len(best)):
            part = slice(indptr[i], indptr[i + 1])
            found, sizes = indices[part], data[part]
            fit = (sizes > 0) & may[found]
            found, sizes = found[fit], sizes[fit]
            if len(found) > count:
                found = found[np.argpartition(-sizes, count - 1)[:count]]
            best[i, : len(found)] = found
        return best
