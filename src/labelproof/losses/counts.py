"""Smooth counts: how many labels are predicted, and rightly so, when each counts by a score between 0 and 1.

With scores s and targets y the four counts of a confusion matrix are linear in two sums, Σ s·y and Σ s. Both have a
gradient in closed form, so metrics of the counts are differentiated on small vectors only.
"""

from typing import Any, NamedTuple

import torch
from torch import Tensor

from labelproof.activations.on_cpu import is_wrapped
from labelproof.losses.by_address import Places, places_of
from labelproof.losses.compiled import applies, room_for_gradient, sparse_arrays, vector
from labelproof.losses.count_kernels import count_examples, count_labels, example_gradient, label_gradient
from labelproof.losses.metric_ratios import Scores
from labelproof.losses.targets import SparseTargets, check_range
from labelproof.parallel.dispatch import share

__all__ = ["Counting", "smooth_counts"]


class Counting(NamedTuple):
    """All that decides on the counts of logits of shape (n_examples, n_labels), but for the logits.

    Parameters
    ----------
    targets
        Dense contiguous tensor of the logits' shape, or sparse targets.
    by_example
        Whether to sum over labels (one count for each example) or over examples (one for each label).
    beta, eta
        Numbers, or tensors of shape () or (n_labels,): a logit z becomes beta · (z + eta).
    scores
        What stands for a prediction: the sigmoid of that, or that itself.
    mask
        Contiguous bool tensor of the logits' shape, False where a label is unknown and counts nowhere.
    weight
        Number, or weights of what is summed over: tensor of shape (n_examples,), or (n_labels,) or () `by_example`.
    """

    targets: Tensor | SparseTargets
    by_example: bool = False
    beta: Tensor | float = 1.0
    eta: Tensor | float = 0.0
    scores: Scores = "sigmoid"
    mask: Tensor | None = None
    weight: Tensor | float = 1.0

    def is_compiled(self, logits: Tensor, *more: Tensor | None) -> bool:
        """Return whether the compiled loops can be used, with more data that has no gradient."""
        return self.scores == "sigmoid" and applies(logits, self.targets, self.weight, self.beta, self.eta, *more)

    def n_counts(self, logits: Tensor) -> int:
        """Return how many labels, or examples, are counted."""
        return logits.shape[0] if self.by_example else logits.shape[1]

    def check_targets(self) -> None:
        """Refuse dense targets that do not lie between 0 and 1."""
        if isinstance(self.targets, Tensor):
            check_range(self.targets)

    def plain(self, logits: Tensor) -> Tensor:
        """Return the counts in plain torch."""
        if self.mask is not None:
            logits = torch.where(self.mask, logits, 0.0)  # times 0, a NaN would stay one
        steep = _steepen(logits, self.beta, self.eta)
        scores = _steps(steep) if self.scores == "sigmoid" else steep
        return _plain_counts(scores, self.targets, self._known(logits), int(self.by_example))

    def places(self, logits: Tensor, slopes: Tensor) -> Places:
        """Return where the compiled loops find the tensors."""
        return places_of(logits, self.targets if isinstance(self.targets, Tensor) else None, self.mask, slopes)

    def vectors(self, n: int, n_labels: int) -> tuple[Any, ...]:
        """Return the places of sparse targets, weights, slopes and shifts, as the compiled loops read them."""
        weight = vector(self.weight, n_labels if self.by_example else n)
        return *sparse_arrays(self.targets), weight, vector(self.beta, n_labels), vector(self.eta, n_labels)

    def write(self, logits: Tensor, counts: Any, slopes: Any) -> None:
        """Write the counts, and the derivative of each weighted score unless slopes has no rows."""
        n, n_labels = logits.shape
        kernel, n_items = (count_examples, n) if self.by_example else (count_labels, n_labels)
        given = self.places(logits, slopes), *self.vectors(n, n_labels), counts
        _share(kernel, *given, n_items=n_items, n_numbers=logits.numel())

    def differentiate(self, logits: Tensor, by_counts: Any, slopes: Tensor) -> None:
        """Make of the slopes the gradient, given the derivatives by hits and by labels predicted, (2, n_counts)."""
        kernel = example_gradient if self.by_example else label_gradient
        given = self.places(logits, slopes), *sparse_arrays(self.targets), *by_counts
        _share(kernel, *given, n_items=len(slopes), n_numbers=slopes.numel())

    def _known(self, logits: Tensor) -> Tensor:
        weight = self.weight if isinstance(self.weight, Tensor) else logits.new_tensor(self.weight)
        if not self.by_example and weight.ndim:
            weight = weight.unsqueeze(1)
        return (weight if self.mask is None else self.mask * weight).expand(logits.shape)


def smooth_counts(logits: Tensor, counting: Counting) -> Tensor:
    """Count, for each label or for each example, hits, predicted labels, positive labels, and all labels.

    Parameters
    ----------
    logits
        Tensor of shape (n_examples, n_labels), float32 or float64.
    counting
        Targets, weights, and all else.

    Returns
    -------
    Tensor
        Shape (4, n_labels) or (4, n_examples): Σ s·y, Σ s, Σ y, Σ 1.

    Examples
    --------
    >>> smooth_counts(torch.zeros(2, 3), Counting(torch.tensor([[1.0, 0, 0], [1.0, 0, 1.0]])))
    tensor([[1.0000, 0.0000, 0.5000],
            [1.0000, 1.0000, 1.0000],
            [2.0000, 0.0000, 1.0000],
            [2.0000, 2.0000, 2.0000]])
    """
    if not counting.is_compiled(logits):
        return counting.plain(logits)
    wants_gradient = logits.requires_grad and torch.is_grad_enabled()
    counts: Tensor = _Counts.apply(logits, counting, wants_gradient)  # type: ignore[no-untyped-call]
    return counts


class _Counts(torch.autograd.Function):
    """The counts by the compiled loops, which keep the slopes of the scores for the gradient."""

    @staticmethod
    def forward(ctx: Any, logits: Tensor, counting: Counting, wants_gradient: bool) -> Tensor:
        ctx.save_for_backward(logits)
        ctx.counting = counting
        counts, ctx.slopes = _count(logits, counting, wants_slopes=wants_gradient)
        return counts

    @staticmethod
    def backward(ctx: Any, by_counts: Tensor) -> tuple[Tensor, None, None]:
        (logits,) = ctx.saved_tensors
        counting: Counting = ctx.counting
        if torch.is_grad_enabled() or is_wrapped(by_counts):  # the gradient itself is to be differentiated or mapped
            with torch.enable_grad():
                counts = counting.plain(logits)
            (gradient,) = torch.autograd.grad(counts, logits, by_counts, create_graph=torch.is_grad_enabled())
            return gradient, None, None
        slopes, ctx.slopes = ctx.slopes, None  # they become the gradient
        if slopes is None:
            _, slopes = _count(logits, counting, wants_slopes=True)
        counting.differentiate(logits.contiguous(), by_counts.contiguous().numpy()[:2], slopes)
        return slopes, None, None


def _count(logits: Tensor, counting: Counting, *, wants_slopes: bool) -> tuple[Tensor, Tensor]:
    """Return the counts, and the derivative of each weighted score, or nothing in its place."""
    counts = torch.empty(4, counting.n_counts(logits))
    logits = logits.detach().contiguous()
    slopes = room_for_gradient(logits, wants_slopes)
    counting.write(logits, counts.numpy(), slopes)
    return counts, slopes


def _share(kernel: Any, *args: Any, n_items: int, n_numbers: int) -> None:
    share(kernel, *args, n_items=n_items, n_numbers=n_numbers, n_threads=torch.get_num_threads())


def _steepen(logits: Tensor, beta: float | Tensor, eta: float | Tensor) -> Tensor:
    """Return beta · (logits + eta), without a pass over the logits for what changes nothing."""
    if isinstance(eta, Tensor) or eta != 0:
        logits = logits + eta
    return logits * beta if isinstance(beta, Tensor) or beta != 1 else logits


def _steps(logits: Tensor) -> Tensor:
    """Return sigmoid(logits) whose gradient keeps its digits at both ends, where 1 - sigmoid would round to 0."""
    return torch.where(logits > 0, 1 - torch.sigmoid(-logits), torch.sigmoid(logits))


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
