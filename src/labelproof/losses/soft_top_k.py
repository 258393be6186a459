"""Recall or precision at k as a loss, of a smooth choice of exactly k labels.

The choice p of an example with logits z maximises p·z + T·H(p) over 0 ≤ p ≤ 1 with Σ p = k, where H is the entropy of
the L coins p. It is p_j = sigmoid((z_j − θ) / T) with the one θ for which Σ p = k, tends to the k largest logits as T
falls, and is differentiable: ∂p_i/∂z_j = s_i (δ_ij − s_j / Σ s) / T for s = p (1 − p). It is the projection of the
limited multi-label layer (arXiv 1906.08707). Since exactly k labels are chosen, a label can only rise at the cost of
others, which a smooth count without such a limit does not ask for.
"""

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import torch
from torch import Tensor

from labelproof.foundation.arguments import check_choice, whole_number
from labelproof.losses.compiled import mask_array, room_for_gradient, sum_of, target_arrays, vector
from labelproof.losses.labelled_rows import LabelledRows, read_rows
from labelproof.losses.reduction import REDUCTIONS, Reduction, check_positive
from labelproof.losses.targets import check_range
from labelproof.losses.top_k_kernels import soft_top_k_rows
from labelproof.parallel.dispatch import share

__all__ = ["check_top_k", "soft_top_k", "soft_top_k_loss"]

METRICS_AT_K = ("recall", "precision")
_BISECTIONS, _STEPS = 20, 2


def soft_top_k(logits: Tensor, k: int, *, temperature: float = 1.0, weight: Tensor | None = None) -> Tensor:
    """Return the smooth choice of k of each example's labels, (n, n_labels), each between 0 and 1.

    Parameters
    ----------
    logits
        Tensor of shape (n, n_labels).
    k
        How many labels are chosen, at least 1; where there are no more, all are.
    temperature
        T, positive; towards 0 the choice is that of the k largest logits.
    weight
        Tensor of that shape, 0 for labels that are not there at all and 1 for the others.

    Examples
    --------
    >>> soft_top_k(torch.tensor([[3.0, 0.0, 0.0]]), 1, temperature=0.1).round(decimals=3)
    tensor([[1., 0., 0.]])
    >>> soft_top_k(torch.zeros(1, 4), 2).sum().round()
    tensor(2.)
    """
    z = logits / temperature
    there = torch.ones_like(z) if weight is None else weight
    all_of_them = there.sum(1, keepdim=True) <= k
    centre = _centre(z.detach(), there, k)
    for _ in range(_STEPS):  # of Newton's method; two are exact up to third derivatives
        p, q = _both_sides(z - centre)
        slope = (p * q * there).sum(1, keepdim=True)
        excess = (p * there).sum(1, keepdim=True) - k
        centre = centre + torch.where(slope > 0, excess / torch.where(slope > 0, slope, 1.0), 0)
    return torch.where(all_of_them, there, _both_sides(z - centre)[0] * there)


def soft_top_k_loss(
    logits: Tensor,
    targets: Any,
    *,
    k: int = 5,
    metric: Literal["recall", "precision"] = "recall",
    temperature: float = 1.0,
    label_weight: Tensor | None = None,
    example_weight: Tensor | None = None,
    mask: Tensor | None = None,
    reduction: Reduction = "mean",
) -> Tensor:
    """Return 1 − recall, or 1 − precision, of a smooth choice of k labels.

    Parameters
    ----------
    logits
        Tensor of shape (..., n_labels).
    targets
        Dense tensor of the same shape, index lists, or a sparse matrix; see `read_targets`.
    k
        How many labels are chosen, at least 1.
    metric
        "recall": Σ p y / min(Σ y, k), the share of what can be found among k labels; "precision": Σ p y / k.
    temperature
        How smooth the choice is, positive; see `soft_top_k`.
    label_weight
        Weights of shape (n_labels,) of the labels that are found, above and below the fraction's line of recall.
    example_weight
        Weights of shape (...,). As in torch, a mean is not divided by them.
    mask
        Bool tensor of the logits' shape, False where a label is unknown: it is not among those to choose from.
    reduction
        "mean" over the examples with a label (0 if none has), "sum", or "none" for shape (...,), where an example
        without labels has the loss 0.

    Examples
    --------
    >>> soft_top_k_loss(torch.zeros(1, 4), [[0]], k=2)  # half of each label is chosen
    tensor(0.5000)
    """
    check_top_k(k, metric, temperature, reduction)
    rows, batch = read_rows(logits, targets, label_weight, example_weight, mask)
    task = _Task(batch, k, metric, float(temperature), reduction)
    if reduction != "none" and batch.are_compiled(rows):
        return sum_of(task, rows)
    return task.plain(rows, logits.shape[:-1])


@dataclass(frozen=True, eq=False)
class _Task:
    """The loss of a batch, but for the logits."""

    batch: LabelledRows
    k: int
    metric: str
    temperature: float
    reduction: str

    def plain(self, logits: Tensor, shape: tuple[int, ...] = ()) -> Tensor:
        """Return the loss in plain torch; losses of examples have this shape."""
        batch, k = self.batch, self.k
        z, positive, negative = batch.parts(logits)
        chosen = soft_top_k(z, k, temperature=self.temperature, weight=(positive + negative).detach())
        valued = positive * batch.of_label
        n_true = valued.sum(1)
        most = n_true * (k / positive.sum(1).clamp(min=k))
        below = torch.full_like(n_true, k) if self.metric == "precision" else most
        labelled = n_true > 0
        losses = torch.where(labelled, 1 - (chosen * valued).sum(1) / torch.where(labelled, below, 1.0), 0.0)
        losses = losses if batch.of_example is None else losses * batch.of_example
        if self.reduction == "none":
            return losses.reshape(shape)
        return losses.sum() if self.reduction == "sum" else losses.sum() / labelled.sum().clamp(min=1)

    def compiled(self, logits: Tensor, wants_gradient: bool) -> tuple[Tensor, Tensor]:
        """Return the loss and its gradient, which is empty if none is wanted."""
        batch, z = self.batch, logits.detach().contiguous()
        gradient = room_for_gradient(z, wants_gradient)
        n, n_labels = z.shape
        of_label, of_example = vector(batch.of_label, n_labels), batch.of_example
        weight = np.ones(n, np.float32) if of_example is None else vector(of_example, n)
        if self.reduction == "mean":
            weight = weight / np.float32(max(_n_labelled(batch, of_label), 1))
        sums, faults = np.empty(n), np.zeros(1, np.int64)
        settings = float(self.k), 1 / self.temperature, float(self.metric == "precision")
        given = z.numpy(), *target_arrays(batch.targets), mask_array(batch.known), settings, of_label, weight
        options = {"n_items": n, "n_numbers": 8 * z.numel(), "n_threads": torch.get_num_threads()}
        share(soft_top_k_rows, *given, sums, gradient.numpy(), faults, **options)
        if faults[0] and isinstance(batch.targets, Tensor):
            check_range(batch.targets)
        return torch.from_numpy(np.asarray(sums.sum(), np.float32)), gradient


def check_top_k(k: int, metric: str, temperature: float, reduction: str) -> None:
    """Refuse options that make no sense."""
    whole_number("k", k, minimum=1)
    check_choice("metric", metric, METRICS_AT_K)
    check_positive("temperature", temperature)
    check_choice("reduction", reduction, REDUCTIONS)


def _n_labelled(batch: LabelledRows, of_label: Any) -> int:
    """Return how many examples have a known label of positive weight."""
    if isinstance(batch.targets, Tensor):
        y = batch.targets * torch.from_numpy(of_label)
        return int(((y if batch.known is None else y * batch.known) > 0).any(1).sum())
    rows, columns = batch.targets.rows.numpy(), batch.targets.columns.numpy()
    kept = of_label[columns] > 0
    if batch.known is not None:
        kept &= batch.known.numpy()[rows, columns]
    return len(np.unique(rows[kept]))


def _both_sides(x: Tensor) -> tuple[Tensor, Tensor]:
    """Return sigmoid(x) and sigmoid(−x), with gradients that keep their digits at both ends."""
    q = torch.sigmoid(-x)
    return torch.where(x > 0, 1 - q, torch.sigmoid(x)), q


def _centre(z: Tensor, there: Tensor, k: int) -> Tensor:
    """Return θ/T with Σ sigmoid(z − θ/T) = k, (n, 1), by bisection and Newton's method within the bracket."""
    n_labels = z.shape[1]
    if not z.numel():
        return z.new_zeros(len(z), 1)
    limit = torch.finfo(z.dtype).max / 4
    z = z.clamp(-limit, limit)
    spread = torch.log(z.new_tensor(float(max(n_labels, 2)))) + 1
    known = there > 0
    low = torch.where(known, z, torch.inf).amin(1, keepdim=True) - spread
    high = torch.where(known, z, -torch.inf).amax(1, keepdim=True) + spread
    empty = ~known.any(1, keepdim=True)
    low, high = torch.where(empty, 0.0, low), torch.where(empty, 0.0, high)
    centre = low / 2 + high / 2
    for _ in range(2 * _BISECTIONS):
        p = torch.sigmoid(z - centre) * there
        excess, slope = p.sum(1, keepdim=True) - k, (p * (1 - p)).sum(1, keepdim=True)
        low, high = torch.where(excess > 0, centre, low), torch.where(excess > 0, high, centre)
        step = centre + excess / slope.clamp(min=torch.finfo(z.dtype).tiny)
        inside = (step > low) & (step < high)
        centre = torch.where(inside, step, low / 2 + high / 2)
    return centre
