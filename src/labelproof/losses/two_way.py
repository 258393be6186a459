"""The two-way loss: positives above negatives within each example and, for each label, among the examples of a batch.

For positives P and negatives N of an example or of a label, the loss is

    softplus(T_n · log Σ_N e^(z / T_n) + T_p · log Σ_P e^(−z / T_p)),

a smooth form of the largest negative less the smallest positive (Kobayashi, CVPR 2023).
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from scipy.special import expit
from torch import Tensor
from torch.nn.functional import logsigmoid

from labelproof.foundation.arguments import check_choice
from labelproof.losses.compiled import mask_array, room_for_gradient, sum_of, vector
from labelproof.losses.labelled_rows import LabelledRows, log_sum, read_rows
from labelproof.losses.log_sum_kernels import list_ones, scale_slopes, two_way_sums, value_range
from labelproof.losses.reduction import REDUCTIONS, Reduction, check_positive
from labelproof.losses.sigmoids import TILE
from labelproof.losses.targets import SparseTargets
from labelproof.parallel.dispatch import share

__all__ = ["two_way_loss"]

Doubles = npt.NDArray[np.float64]
_WIDEST = 80.0  # the range of logits over a temperature whose exponentials are all normal in float32


def two_way_loss(
    logits: Tensor,
    targets: Any,
    *,
    t_pos: float = 4.0,
    t_neg: float = 1.0,
    label_weight: Tensor | None = None,
    example_weight: Tensor | None = None,
    mask: Tensor | None = None,
    reduction: Reduction = "mean",
) -> Tensor:
    """Return the two-way loss of logits: the mean over examples plus the mean over labels.

    Parameters
    ----------
    logits
        Tensor of shape (..., n_labels); all but the last dimension are examples.
    targets
        Dense tensor of the same shape, index lists, or a sparse matrix; see `read_targets`. A soft target y weighs its
        label by y in sums over positives and by 1 − y in those over negatives.
    t_pos, t_neg
        Temperatures T_p and T_n, positive: the lower, the closer to the smallest positive and the largest negative.
    label_weight, example_weight
        Weights of shape (n_labels,) and (...,): how many times each counts, in sums and in means.
    mask
        Bool tensor of the logits' shape, False where a label is unknown: it is left out of all sums.
    reduction
        "mean" over the examples that have a positive plus the mean over the labels that do; "sum" without the two
        divisors; "none" for the losses of the examples followed by those of the labels, (n_examples + n_labels,), not
        weighted, 0 where there is no positive or no negative.

    Examples
    --------
    >>> two_way_loss(torch.zeros(2, 2), torch.eye(2))  # log 2 for the examples, log 2 for the labels
    tensor(1.3863)
    """
    check_choice("reduction", reduction, REDUCTIONS)
    check_positive("t_pos", t_pos)
    check_positive("t_neg", t_neg)
    rows, batch = read_rows(logits, targets, label_weight, example_weight, mask)
    task = _Task(batch, float(t_pos), float(t_neg), reduction)
    if reduction != "none" and len(rows) and batch.are_compiled(rows):
        return sum_of(task, rows)
    return task.plain(rows)


@dataclass(frozen=True, eq=False)
class _Task:
    """The loss of a batch, but for the logits."""

    batch: LabelledRows
    t_pos: float
    t_neg: float
    reduction: str

    def plain(self, logits: Tensor) -> Tensor:
        """Return the loss in plain torch."""
        z, positive, negative = self.batch.parts(logits)
        if not len(z):
            return z.new_zeros(z.shape[1]) if self.reduction == "none" else z.sum()
        of_example = z.new_ones(len(z)) if self.batch.of_example is None else self.batch.of_example
        of_label = torch.as_tensor(self.batch.of_label, dtype=z.dtype, device=z.device).expand(z.shape[1])
        examples = self._losses(z, positive * of_label, negative * of_label, 1)
        weight = of_example.unsqueeze(1)
        labels = self._losses(z, positive * weight, negative * weight, 0)
        if self.reduction == "none":
            return torch.cat([examples[0], labels[0]])
        return self._average(*examples, of_example) + self._average(*labels, of_label)

    def _losses(self, z: Tensor, positive: Tensor, negative: Tensor, dim: int) -> tuple[Tensor, Tensor]:
        """Return the losses along a dimension, and where there is a positive."""
        labelled, both = (positive > 0).any(dim), (positive > 0).any(dim) & (negative > 0).any(dim)
        above = self.t_neg * log_sum(z / self.t_neg, negative, dim)
        below = self.t_pos * log_sum(-z / self.t_pos, positive, dim)
        lead = torch.where(both, above, 0.0) + torch.where(both, below, 0.0)
        return torch.where(both, -logsigmoid(-lead), 0.0), labelled

    def _average(self, losses: Tensor, labelled: Tensor, weight: Tensor) -> Tensor:
        above = (losses * weight).sum()
        if self.reduction == "sum":
            return above
        below = (labelled * weight).sum()
        return above / torch.where(below == 0, 1.0, below)

    def compiled(self, logits: Tensor, wants_gradient: bool) -> tuple[Tensor, Tensor]:
        """Return the loss and its gradient; by plain torch where targets are soft or logits far from each other."""
        z = logits.detach().contiguous()
        ones = _ones_of(self.batch.targets)
        lows, highs = np.empty(len(z), np.float32), np.empty(len(z), np.float32)
        known, options = mask_array(self.batch.known), {"n_threads": torch.get_num_threads(), "n_numbers": z.numel()}
        share(value_range, z.numpy(), known, lows, highs, n_items=len(z), **options)
        low, high = float(lows.min()), float(highs.max())
        if ones is None or not 0 <= high - low <= _WIDEST * min(self.t_pos, self.t_neg):
            return self._by_autograd(z, wants_gradient)
        return self._in_one_pass(z, ones, high, room_for_gradient(z, wants_gradient))

    def _by_autograd(self, logits: Tensor, wants_gradient: bool) -> tuple[Tensor, Tensor]:
        with torch.enable_grad():
            z = logits.detach().requires_grad_()
            loss = self.plain(z)
        return loss.detach(), torch.autograd.grad(loss, z)[0] if wants_gradient else logits[:0]

    def _in_one_pass(
        self, logits: Tensor, ones: tuple[Any, Any], top: float, gradient: Tensor
    ) -> tuple[Tensor, Tensor]:
        z, (ends, columns), known = logits.numpy(), ones, mask_array(self.batch.known)
        n, n_labels = z.shape
        of_label = vector(self.batch.of_label, n_labels)
        of_example = vector(1.0 if self.batch.of_example is None else self.batch.of_example, n)
        n_blocks = -(-n_labels // TILE)
        by_block, by_label = np.empty((n_blocks, n)), np.empty(n_labels)
        options = {"n_threads": torch.get_num_threads(), "n_numbers": z.size}
        numbers = np.float32(top), np.float32(1 / self.t_neg), of_label, of_example
        given = z, ends, columns, known, *numbers, by_block, by_label, gradient.numpy()
        share(two_way_sums, *given, n_items=n_blocks, **options)
        rows = np.repeat(np.arange(n), np.diff(ends))
        if len(known):
            kept = known[rows, columns] != 0
            rows, columns = rows[kept], columns[kept]
        lead = np.exp((float(top) - z[rows, columns].astype(np.float64)) / self.t_pos)
        across = _Direction(by_block.sum(0), _sums(rows, of_label[columns] * lead, n), of_example)
        down = _Direction(by_label, _sums(columns, of_example[rows] * lead, n_labels), of_label)
        loss = sum(one.loss(self) for one in (across, down))
        if len(gradient):
            a, b = across.slopes(self), down.slopes(self)
            fine = [part.astype(np.float32) for part in (a[0], b[0])]
            share(scale_slopes, gradient.numpy(), of_label, of_example, *fine, n_items=n, **options)
            gradient.numpy()[rows, columns] = -lead * (
                of_label[columns] * a[1][rows] + of_example[rows] * b[1][columns]
            )
        return torch.from_numpy(np.asarray(loss, np.float32)), gradient


@dataclass(frozen=True, eq=False)
class _Direction:
    """Sums of examples or of labels: Σ e^((z − top) / T_n) of negatives and Σ e^((top − z) / T_p) of positives."""

    above: Doubles
    below: Doubles
    weight: npt.NDArray[Any]

    def loss(self, task: _Task) -> float:
        """Return the weighted mean, or sum, of the losses."""
        with np.errstate(invalid="ignore"):  # of logits that are no numbers, which the loss is to show
            return float((self._shares(task) * np.logaddexp(0, self._lead(task))).sum())

    def slopes(self, task: _Task) -> tuple[Doubles, Doubles]:
        """Return by what the exponentials of negatives and of positives are to be multiplied."""
        slope = self._shares(task) * expit(self._lead(task))
        return slope / np.where(self.above == 0, 1, self.above), slope / np.where(self.below == 0, 1, self.below)

    def _lead(self, task: _Task) -> Doubles:
        with np.errstate(divide="ignore"):
            return task.t_neg * np.log(self.above) + task.t_pos * np.log(self.below)  # the tops cancel

    def _shares(self, task: _Task) -> Doubles:
        """Return the weight of each loss, 0 where there is no positive or no negative."""
        labelled = ~(self.below <= 0)
        total = float((labelled * self.weight).sum()) if task.reduction == "mean" else 1.0
        return labelled * ~(self.above <= 0) * self.weight.astype(np.float64) / (total or 1.0)


def _sums(places: Any, values: Doubles, n: int) -> Doubles:
    return np.bincount(places, values, n).astype(np.float64)


def _ones_of(targets: Tensor | SparseTargets) -> tuple[Any, Any] | None:
    """Return where the ones of 0/1 targets are, as row ends and columns; None if there are other targets."""
    if isinstance(targets, SparseTargets):
        return targets.indptr.numpy(), targets.columns.numpy()
    y, ends = targets.contiguous().numpy(), np.zeros(len(targets) + 1, np.int64)
    columns = np.empty(16 * len(targets), np.int64)
    found = list_ones(y, ends, columns)
    if found > len(columns):
        columns = np.empty(found, np.int64)
        list_ones(y, ends, columns)
    return None if found < 0 else (ends, columns[:found])
