"""Logits and targets as the Fenchel–Young losses read them: rows, each with the distribution q = w·y / Σ w·y."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from torch import Tensor

from labelproof.losses.reduction import read_label_vector, read_mask
from labelproof.losses.targets import as_rows, is_class_indices, promote, read_class_indices, read_targets

__all__ = ["Batch", "Matrix", "Places", "read_batch"]


@dataclass(frozen=True, eq=False)
class Matrix:
    """Targets y as a matrix."""

    y: Tensor  # (n, L)

    def weighted(self, label_weight: Tensor | None, known: Tensor | None) -> "Matrix":
        """Return the targets times weights of the labels, and 0 where a label is unknown."""
        y = self.y if label_weight is None else self.y * label_weight
        return Matrix(y if known is None else y * known)

    def total(self) -> Tensor:
        """Return Σ_j y_ij for each row i."""
        return self.y.sum(-1)

    def product(self, scores: Tensor) -> Tensor:
        """Return Σ_j y_ij s_ij for each row i; scores without a target may be infinite."""
        return (self.y * torch.where(self.y > 0, scores, 0)).sum(-1)

    def sum_of(self, function: Callable[[Tensor], Tensor], factor: Tensor) -> Tensor:
        """Return Σ_j function(factor_i y_ij) for a function that is 0 at 0."""
        return function(self.y * factor[:, None]).sum(-1)

    def arrays(self) -> tuple[Any, Any, Any, Any]:
        """Return the matrix, the ends, the columns and the values as the kernels take them."""
        nothing = np.empty(0, np.int64)
        return self.y.contiguous().numpy(), nothing, nothing, np.empty(0, self.y.numpy().dtype)


@dataclass(frozen=True, eq=False)
class Places:
    """Targets y as values at places: those of row i stand between ends[i] and ends[i + 1]."""

    ends: Tensor
    rows: Tensor
    columns: Tensor
    values: Tensor
    are_classes: bool = False  # one place in each row, with the value 1, or 0 for none
    is_complete: bool = False  # no place has the value 0

    def weighted(self, label_weight: Tensor | None, known: Tensor | None) -> "Places":
        """Return the targets times weights of the labels, and 0 where a label is unknown."""
        values = self.values if label_weight is None else self.values * label_weight[self.columns]
        return replace(self, values=values if known is None else values * known[self.rows, self.columns])

    def total(self) -> Tensor:
        """Return Σ_j y_ij for each row i."""
        return self._by_row(self.values)

    def product(self, scores: Tensor) -> Tensor:
        """Return Σ_j y_ij s_ij for each row i; scores without a target may be infinite."""
        return self._by_row(self.values * torch.where(self.values > 0, scores[self.rows, self.columns], 0))

    def sum_of(self, function: Callable[[Tensor], Tensor], factor: Tensor) -> Tensor:
        """Return Σ_j function(factor_i y_ij) for a function that is 0 at 0."""
        return self._by_row(function(self.values * factor[self.rows]))

    def arrays(self) -> tuple[Any, Any, Any, Any]:
        """Return the matrix, the ends, the columns and the values as the kernels take them."""
        return np.empty((0, 0), self.values.numpy().dtype), self.ends.numpy(), self.columns.numpy(), self.values.numpy()

    def _by_row(self, values: Tensor) -> Tensor:
        return values.new_zeros(len(self.ends) - 1).index_add(0, self.rows, values)


@dataclass(frozen=True, eq=False)
class Batch:
    """Logits as rows, −inf where a label is unknown, and their targets."""

    logits: Tensor  # (n, L)
    targets: Matrix | Places
    mass: Tensor  # (n,): Σ w·y
    inverse: Tensor  # (n,): 1 / Σ w·y, by which the targets are multiplied, or 0
    share: Tensor  # (n,): Σ w·y / Σ y, or 0
    total: Tensor  # (n,): Σ y
    is_complete: bool = False  # whether it is known that every row has a label

    @property
    def labelled(self) -> Tensor:
        """Whether a row has a label, (n,)."""
        return self.total > 0

    def n_labelled(self) -> Tensor | int:
        """Return the number of rows that have a label, but at least 1."""
        return max(len(self.total), 1) if self.is_complete else self.labelled.sum().clamp(min=1)


def read_batch(
    logits: Tensor, targets: Any, label_weight: Tensor | None, mask: Tensor | None, ignore_index: int
) -> Batch:
    """Read logits and targets in any form that `sparsemax_loss` takes."""
    z = promote(logits)
    known = read_mask(mask, z)
    y = _read_classes(z, targets, ignore_index) if is_class_indices(z, targets) else _read_labels(z, targets)
    rows = as_rows(z)
    if known is not None:
        rows, y = torch.where(known, rows, -torch.inf), y.weighted(None, known)
    if label_weight is None and isinstance(y, Places) and y.are_classes:
        ones = y.values
        return Batch(rows, y, ones, ones, ones, ones, y.is_complete and known is None)
    total = mass = y.total()
    if label_weight is not None:
        y = y.weighted(_read_weight(label_weight, z), None)
        mass = y.total()
    return Batch(rows, y, mass, _inverse(mass), mass * _inverse(total), total)


def _inverse(total: Tensor) -> Tensor:
    return torch.where(total > 0, 1 / total, 0)


def _read_classes(logits: Tensor, targets: Any, ignore_index: int) -> Places:
    indices, ignored = read_class_indices(logits, targets, ignore_index=ignore_index)
    columns = indices.reshape(-1)
    ends, complete = torch.arange(len(columns) + 1, device=logits.device), ignored is None
    values = logits.new_ones(len(columns)) if ignored is None else (~ignored).reshape(-1).to(logits.dtype)
    return Places(ends, ends[:-1], columns, values, are_classes=True, is_complete=complete)


def _read_labels(logits: Tensor, targets: Any) -> Matrix | Places:
    y = read_targets(logits, targets)
    if isinstance(y, Tensor):
        return Matrix(as_rows(y.detach()))
    return Places(y.indptr, y.rows, y.columns, logits.new_ones(len(y.columns)))


def _read_weight(label_weight: Tensor, logits: Tensor) -> Tensor:
    weight = read_label_vector("label_weight", label_weight, logits).detach().expand(logits.shape[-1])
    if not torch.compiler.is_compiling() and not bool((weight >= 0).all()):
        raise ValueError(f"label_weight must not be negative, got {float(weight.min()):g}")
    return weight
