"""ZLPR: the positives of an example above 0 and its negatives below, by two logarithms of sums (arXiv 2208.02955)."""

from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from labelproof.foundation.arguments import check_choice
from labelproof.losses.by_address import places_of
from labelproof.losses.compiled import room_for_gradient, sparse_arrays, sum_of, vector
from labelproof.losses.labelled_rows import LabelledRows, log_sum, read_rows
from labelproof.losses.log_sum_kernels import zlpr_rows
from labelproof.losses.reduction import REDUCTIONS, Reduction
from labelproof.losses.targets import check_range
from labelproof.parallel.dispatch import share

__all__ = ["zlpr_loss"]


def zlpr_loss(
    logits: Tensor,
    targets: Any,
    *,
    label_weight: Tensor | None = None,
    example_weight: Tensor | None = None,
    mask: Tensor | None = None,
    reduction: Reduction = "mean",
) -> Tensor:
    """Return the ZLPR loss of logits: log(1 + Σ e^z over negatives) + log(1 + Σ e^−z over positives).

    Parameters
    ----------
    logits
        Tensor of shape (..., n_labels).
    targets
        Dense tensor of the same shape, index lists, or a sparse matrix; see `read_targets`. A soft target y weighs its
        label by y in the sum over positives and by 1 − y in that over negatives.
    label_weight
        Weights of shape (n_labels,) of the labels in both sums.
    example_weight
        Weights of shape (...,). As in torch, a mean is not divided by them.
    mask
        Bool tensor of the logits' shape, False where a label is unknown: it is left out of both sums.
    reduction
        "mean" over the examples with a known label, "sum", or "none" for shape (...,).

    Examples
    --------
    >>> zlpr_loss(torch.zeros(1, 4), [[0]])  # log 4 + log 2
    tensor(2.0794)
    """
    check_choice("reduction", reduction, REDUCTIONS)
    rows, batch = read_rows(logits, targets, label_weight, example_weight, mask)
    if reduction != "none" and batch.are_compiled(rows):
        n_known = len(rows) if batch.known is None else int(np.count_nonzero(batch.known.numpy().any(1)))
        return sum_of(_Task(batch, _weight(batch, max(n_known, 1), reduction)), rows)
    counted = max(len(rows), 1) if batch.known is None else batch.known.any(1).sum().clamp(min=1).to(rows.dtype)
    losses = _losses(rows, batch) * _weight(batch, counted, reduction)
    return losses.reshape(logits.shape[:-1]) if reduction == "none" else losses.sum()


class _Task(NamedTuple):
    """Σ_i weight_i loss_i, but for the logits."""

    batch: LabelledRows
    weight: Tensor | float

    def plain(self, logits: Tensor) -> Tensor:
        """Return the sum in plain torch."""
        return (_losses(logits, self.batch) * self.weight).sum()

    def compiled(self, logits: Tensor, wants_gradient: bool) -> tuple[Tensor, Tensor]:
        """Return the sum and its gradient, which is empty if none is wanted."""
        z = logits.contiguous()
        gradient = room_for_gradient(z, wants_gradient)
        n, n_labels = z.shape
        dense = self.batch.targets if isinstance(self.batch.targets, Tensor) else None
        sums, faults = np.empty(n), np.zeros(1, np.int64)
        weights = vector(self.batch.of_label, n_labels), vector(self.weight, n)
        given = places_of(z, dense, self.batch.known, gradient), *sparse_arrays(self.batch.targets), *weights
        options = {"n_items": n, "n_numbers": z.numel(), "n_threads": torch.get_num_threads()}
        share(zlpr_rows, *given, sums, faults, **options)
        if faults[0] and dense is not None:
            check_range(dense)
        return torch.from_numpy(np.asarray(sums.sum(), np.float32)), gradient


def _losses(logits: Tensor, batch: LabelledRows) -> Tensor:
    z, positive, negative = batch.parts(logits)
    w = batch.of_label
    return log_sum(z, w * negative, 1, floor=0.0) + log_sum(-z, w * positive, 1, floor=0.0)


def _weight(batch: LabelledRows, n_known: Tensor | int, reduction: str) -> Tensor | float:
    """Return by what each example's loss is multiplied, given how many examples have a known label."""
    weight: Tensor | float = 1.0 if batch.of_example is None else batch.of_example
    return weight / n_known if reduction == "mean" else weight
