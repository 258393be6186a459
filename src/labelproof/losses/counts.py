"""Smooth counts: how many labels are predicted, and rightly so, when each counts by a score between 0 and 1.

With scores s and targets y the four counts of a confusion matrix are linear in two sums, Σ s·y and Σ s. Both have a
gradient in closed form, so metrics of the counts are differentiated on small vectors only.
"""

from typing import Any, Literal

import torch
from torch import Tensor

from labelproof.activations.on_cpu import is_wrapped
from labelproof.losses.compiled import applies, target_arrays, vector
from labelproof.losses.kernels import count_gradient, count_sums
from labelproof.losses.targets import SparseTargets
from labelproof.parallel.dispatch import share

__all__ = ["Scores", "smooth_counts"]

Scores = Literal["sigmoid", "logits"]


def smooth_counts(
    logits: Tensor,
    targets: Tensor | SparseTargets,
    *,
    dim: int = 0,
    beta: Tensor | float = 1.0,
    eta: Tensor | float = 0.0,
    scores: Scores = "sigmoid",
    mask: Tensor | None = None,
    example_weight: Tensor | None = None,
    label_weight: Tensor | None = None,
) -> Tensor:
    """Count, for each label or for each example, hits, predicted labels, positive labels, and all labels.

    Parameters
    ----------
    logits
        Tensor of shape (n_examples, n_labels), float32 or float64.
    targets
        Dense tensor of the same shape, or sparse targets.
    dim
        0 sums over examples (one count for each label), 1 over labels (one for each example).
    beta, eta
        Numbers, or tensors of shape () or (n_labels,): a logit z becomes beta · (z + eta).
    scores
        What stands for a prediction: the sigmoid of that, or that itself.
    mask
        Bool tensor of the logits' shape, False where a label is unknown and counts nowhere.
    example_weight, label_weight
        Tensors of shape (n_examples,) and () or (n_labels,).

    Returns
    -------
    Tensor
        Shape (4, n_labels) or (4, n_examples): Σ s·y, Σ s, Σ y, Σ 1.

    Examples
    --------
    >>> smooth_counts(torch.zeros(2, 3), torch.tensor([[1.0, 0, 0], [1.0, 0, 1.0]]))
    tensor([[1.0000, 0.0000, 0.5000],
            [1.0000, 1.0000, 1.0000],
            [2.0000, 0.0000, 1.0000],
            [2.0000, 2.0000, 2.0000]])
    """
    plain = dim == 1 or scores == "logits" or mask is not None or label_weight is not None
    weight = 1.0 if example_weight is None else example_weight
    if not plain and applies(logits, targets, weight, beta, eta):
        wants_gradient = logits.requires_grad and torch.is_grad_enabled()
        given = logits, targets, weight, beta, eta, wants_gradient
        counts: Tensor = _LabelCounts.apply(*given)  # type: ignore[no-untyped-call]
        return counts
    steep = _steepen(logits, beta, eta)
    known = _known(logits, mask, example_weight, label_weight)
    return _plain_counts(_steps(steep) if scores == "sigmoid" else steep, targets, known, dim)


class _LabelCounts(torch.autograd.Function):
    """The counts for each label, by the compiled loops, which keep the slopes of the scores for the gradient."""

    @staticmethod
    def forward(
        ctx: Any,
        logits: Tensor,
        targets: Tensor | SparseTargets,
        weight: Tensor | float,
        beta: Tensor | float,
        eta: Tensor | float,
        wants_gradient: bool,
    ) -> Tensor:
        ctx.save_for_backward(logits)
        ctx.given = targets, weight, beta, eta
        counts, ctx.slopes = _count(logits, *ctx.given, wants_slopes=wants_gradient)
        return counts

    @staticmethod
    def backward(ctx: Any, by_counts: Tensor) -> tuple[Tensor | None, ...]:
        (logits,) = ctx.saved_tensors
        targets, weight, beta, eta = ctx.given
        if torch.is_grad_enabled() or is_wrapped(by_counts):  # the gradient itself is to be differentiated or mapped
            with torch.enable_grad():
                known = _known(logits, None, weight if isinstance(weight, Tensor) else None, None)
                counts = _plain_counts(_steps(_steepen(logits, beta, eta)), targets, known, 0)
            (gradient,) = torch.autograd.grad(counts, logits, by_counts, create_graph=torch.is_grad_enabled())
            return gradient, None, None, None, None, None
        slopes, ctx.slopes = ctx.slopes, None  # they become the gradient
        if slopes is None:
            _, slopes = _count(logits, *ctx.given, wants_slopes=True)
        arrays = *target_arrays(targets), *by_counts.contiguous().numpy()[:2], slopes.numpy()
        share(count_gradient, *arrays, n_items=len(slopes), n_numbers=slopes.numel(), n_threads=torch.get_num_threads())
        return slopes, None, None, None, None, None


def _count(
    logits: Tensor,
    targets: Tensor | SparseTargets,
    weight: Tensor | float,
    beta: Tensor | float,
    eta: Tensor | float,
    *,
    wants_slopes: bool,
) -> tuple[Tensor, Tensor]:
    """Return the counts, and the derivative of each weighted score, or nothing in its place."""
    z = logits.detach().contiguous()
    n, n_labels = z.shape
    counts, slopes = torch.empty(4, n_labels), torch.empty_like(z) if wants_slopes else z[:0]
    vectors = vector(weight, n), vector(beta, n_labels), vector(eta, n_labels)
    arrays = z.numpy(), *target_arrays(targets), *vectors, counts.numpy(), slopes.numpy()
    share(count_sums, *arrays, n_items=n_labels, n_numbers=z.numel(), n_threads=torch.get_num_threads())
    counts[3] = weight.sum() if isinstance(weight, Tensor) else weight * n
    return counts, slopes


def _steepen(logits: Tensor, beta: float | Tensor, eta: float | Tensor) -> Tensor:
    """Return beta · (logits + eta), without a pass over the logits for what changes nothing."""
    if isinstance(eta, Tensor) or eta != 0:
        logits = logits + eta
    return logits * beta if isinstance(beta, Tensor) or beta != 1 else logits


def _steps(logits: Tensor) -> Tensor:
    """Return sigmoid(logits) whose gradient keeps its digits at both ends, where 1 - sigmoid would round to 0."""
    return torch.where(logits > 0, 1 - torch.sigmoid(-logits), torch.sigmoid(logits))


def _known(logits: Tensor, mask: Tensor | None, examples: Tensor | None, labels: Tensor | None) -> Tensor:
    weight = logits.new_ones(1, 1) if mask is None else mask.to(logits.dtype)
    weight = weight if examples is None else weight * examples.unsqueeze(1)
    return (weight if labels is None else weight * labels).expand(logits.shape)


def _plain_counts(scores: Tensor, targets: Tensor | SparseTargets, known: Tensor, dim: int) -> Tensor:
    scores = scores * known
    return torch.stack([_sum_at(scores, targets, dim), scores.sum(dim), _sum_at(known, targets, dim), known.sum(dim)])


def _sum_at(values: Tensor, targets: Tensor | SparseTargets, dim: int) -> Tensor:
    """Return Σ values·y over a dimension."""
    if isinstance(targets, Tensor):
        return (values * targets).sum(dim)
    groups = targets.columns if dim == 0 else targets.rows
    picked = values[targets.rows, targets.columns]
    return values.new_zeros(values.shape[1 - dim]).index_add(0, groups, picked)
