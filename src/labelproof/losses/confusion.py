"""Metrics of a confusion matrix as losses: 1 - metric, of smooth counts s = sigmoid(beta · (logit + eta)).

The counts of a batch are taken once (`counts`), pooled over the parts of a large batch (`pooling`), turned into a
metric of each label or example (`smooth_metrics`), and averaged as scikit-learn does.
"""

from typing import TYPE_CHECKING, Any, Literal

import torch
from torch import Tensor

from labelproof.losses.counts import Scores, smooth_counts
from labelproof.losses.pooling import pool
from labelproof.losses.reduction import (
    REDUCTIONS,
    Reduction,
    check_choice,
    check_positive,
    read_example_weight,
    read_label_vector,
    read_mask,
)
from labelproof.losses.smooth_metrics import Empty, losses_of_counts, read_metric
from labelproof.losses.targets import as_rows, promote, read_targets

if TYPE_CHECKING:
    from torch.distributed import ProcessGroup

__all__ = [
    "AVERAGES",
    "Average",
    "average_loss",
    "confusion_counts",
    "confusion_loss",
    "sigmoid_f1_loss",
    "unbounded_f1_loss",
]

Average = Literal["macro", "micro", "weighted", "samples"]
AVERAGES = ("macro", "micro", "weighted", "samples")


def confusion_loss(
    logits: Tensor,
    targets: Any,
    metric: str = "f1",
    *,
    beta: float | Tensor = 1.0,
    eta: float | Tensor = 0.0,
    f_beta: float = 1.0,
    scores: Scores = "sigmoid",
    average: Average = "macro",
    empty: Empty = "smooth",
    smoothing: float = 1.0,
    memory: Tensor | None = None,
    mask: Tensor | None = None,
    example_weight: Tensor | None = None,
    label_weight: Tensor | None = None,
    reduction: Reduction = "mean",
    counts: Tensor | None = None,
    process_group: "ProcessGroup | None" = None,
) -> Tensor:
    """Return 1 - metric of smooth counts; the functional twin of `ConfusionLoss`, which explains the options.

    Parameters
    ----------
    logits
        Tensor of shape (..., n_labels).
    targets
        Dense tensor of the same shape, index lists, or a sparse matrix; see `read_targets`.
    metric
        "f1", "fbeta" (with ``f_beta``), "accuracy", "precision", "recall", "specificity", "npv", "jaccard",
        "balanced-accuracy" or "mcc".
    beta, eta
        Slope and shift of the sigmoid: numbers, or tensors of shape () or (n_labels,). beta must be positive.
    memory
        With ``empty="memory"``: earlier counts as `confusion_counts` returns them, used for labels without a positive.
    mask
        Bool tensor of the logits' shape, False where a label is unknown.
    example_weight, label_weight
        Weights of shape (...,) and (n_labels,).
    counts
        Counts of the whole batch of which this is a part; see `confusion_counts`.
    process_group
        Processes that share the batch; counts are added up over them.

    Returns
    -------
    Tensor
        A scalar; with ``reduction="none"`` shape (n_labels,) for macro and weighted, (...,) for samples.

    Examples
    --------
    >>> logits, targets = torch.tensor([[9.0, -9.0], [-9.0, 9.0]]), [[0], [0, 1]]
    >>> f"{confusion_loss(logits, targets, 'recall', average='micro'):.3f}"
    '0.333'
    """
    if average == "samples" and counts is not None:
        raise ValueError("counts must be None for average='samples', whose losses of examples add up, got a tensor")
    local = confusion_counts(
        logits,
        targets,
        beta=beta,
        eta=eta,
        scores=scores,
        average=average,
        mask=mask,
        example_weight=example_weight,
        label_weight=label_weight,
    )
    return average_loss(
        local if average == "samples" else pool(local, counts, process_group),
        metric,
        f_beta=f_beta,
        average=average,
        empty=empty,
        smoothing=smoothing,
        memory=memory,
        weight=example_weight if average == "samples" else label_weight,
        reduction=reduction,
        process_group=process_group,
    )


def sigmoid_f1_loss(
    logits: Tensor,
    targets: Any,
    *,
    beta: float | Tensor = 1.0,
    eta: float | Tensor = 0.0,
    average: Average = "macro",
    empty: Empty = "smooth",
    smoothing: float = 1.0,
    memory: Tensor | None = None,
    mask: Tensor | None = None,
    example_weight: Tensor | None = None,
    label_weight: Tensor | None = None,
    reduction: Reduction = "mean",
    counts: Tensor | None = None,
    process_group: "ProcessGroup | None" = None,
) -> Tensor:
    """Return 1 - F1 of smooth counts; `confusion_loss` with the metric "f1", where the options are explained.

    Examples
    --------
    >>> sigmoid_f1_loss(torch.zeros(2, 1), torch.tensor([[1.0], [0.0]]))  # 1 - 2·½ / (1 + 1)
    tensor(0.5000)
    """
    return confusion_loss(
        logits,
        targets,
        beta=beta,
        eta=eta,
        average=average,
        empty=empty,
        smoothing=smoothing,
        memory=memory,
        mask=mask,
        example_weight=example_weight,
        label_weight=label_weight,
        reduction=reduction,
        counts=counts,
        process_group=process_group,
    )


def unbounded_f1_loss(
    logits: Tensor,
    targets: Any,
    *,
    scores: Scores = "sigmoid",
    average: Average = "macro",
    empty: Empty = "smooth",
    smoothing: float = 1.0,
    memory: Tensor | None = None,
    mask: Tensor | None = None,
    example_weight: Tensor | None = None,
    label_weight: Tensor | None = None,
    reduction: Reduction = "mean",
    counts: Tensor | None = None,
    process_group: "ProcessGroup | None" = None,
) -> Tensor:
    """Return 1 - F1 of counts of the scores as they are: plain sigmoids, or raw logits, which have no bounds.

    The other options are those of `confusion_loss`.

    Examples
    --------
    >>> unbounded_f1_loss(torch.tensor([[3.0], [0.0]]), torch.tensor([[1.0], [0.0]]), scores="logits")  # 1 - 6 / 4
    tensor(-0.5000)
    """
    return confusion_loss(
        logits,
        targets,
        scores=scores,
        average=average,
        empty=empty,
        smoothing=smoothing,
        memory=memory,
        mask=mask,
        example_weight=example_weight,
        label_weight=label_weight,
        reduction=reduction,
        counts=counts,
        process_group=process_group,
    )


def confusion_counts(
    logits: Tensor,
    targets: Any,
    *,
    beta: float | Tensor = 1.0,
    eta: float | Tensor = 0.0,
    scores: Scores = "sigmoid",
    average: Average = "macro",
    mask: Tensor | None = None,
    example_weight: Tensor | None = None,
    label_weight: Tensor | None = None,
) -> Tensor:
    """Return the counts of a batch, or of a part of one: Σ s·y, Σ s, Σ y and Σ 1. Counts of parts add up.

    Parameters
    ----------
    logits, targets, beta, eta, scores, average, mask, example_weight, label_weight
        As for `confusion_loss`.

    Returns
    -------
    Tensor
        Shape (4, n_labels) for macro and weighted, (4,) for micro, (4, ...) for samples.

    Examples
    --------
    >>> confusion_counts(torch.zeros(2, 3), [[0], [0, 1]], average="micro")
    tensor([1.5000, 3.0000, 3.0000, 6.0000])
    """
    check_choice("average", average, AVERAGES)
    check_choice("scores", scores, ("sigmoid", "logits"))
    logits = promote(logits)
    read = read_targets(logits, targets)
    known = read_mask(mask, logits)
    of_example = None if average == "samples" else read_example_weight(example_weight, logits)
    of_label = None if label_weight is None else read_label_vector("label_weight", label_weight, logits)
    check_positive("beta", beta)
    slope, shift = (_label_vector(*named, logits) for named in (("beta", beta), ("eta", eta)))
    rows = as_rows(read) if isinstance(read, Tensor) else read
    options: Any = {"beta": slope, "eta": shift, "scores": scores, "mask": known}
    if average == "samples":
        counts = smooth_counts(as_rows(logits), rows, dim=1, label_weight=of_label, **options)
        return counts.reshape(4, *logits.shape[:-1])
    counts = smooth_counts(as_rows(logits), rows, dim=0, example_weight=of_example, **options)
    if average != "micro":
        return counts
    return (counts if of_label is None else counts * of_label).sum(1)


def average_loss(
    counts: Tensor,
    metric: str = "f1",
    *,
    f_beta: float = 1.0,
    average: Average = "macro",
    empty: Empty = "smooth",
    smoothing: float = 1.0,
    memory: Tensor | None = None,
    weight: Tensor | None = None,
    reduction: Reduction = "mean",
    process_group: "ProcessGroup | None" = None,
) -> Tensor:
    """Return the loss that belongs to the counts of a whole batch.

    Parameters
    ----------
    counts
        Counts as `confusion_counts` returns them for this average.
    weight
        Weights of the losses in the mean: of labels for macro and weighted, of examples for samples.
    metric, f_beta, average, empty, smoothing, memory, reduction, process_group
        As for `confusion_loss`.

    Examples
    --------
    >>> average_loss(torch.tensor([3.0, 4.0, 5.0, 9.0]), "precision", average="micro")
    tensor(0.2500)
    """
    check_choice("reduction", reduction, REDUCTIONS)
    if average == "samples" and empty == "memory":
        raise ValueError("empty must be 'skip' or 'smooth' for average='samples', got 'memory'")
    chosen = read_metric(metric, f_beta)
    losses, kept, support = losses_of_counts(counts, chosen, empty=empty, smoothing=smoothing, memory=memory)
    if average == "micro" or reduction == "none":
        return losses
    share = kept * support if average == "weighted" else kept
    share = share if weight is None else share * weight.to(share)
    above = losses.sum() if share is kept else (share * losses).sum()  # what is left out has the loss 0
    below = share.sum()
    if reduction == "sum":
        return above
    if average == "samples" and process_group is not None:
        above, below = pool(torch.stack([above, below]), None, process_group)
    return above / torch.where(below == 0, 1.0, below)


def _label_vector(name: str, value: Tensor | float, logits: Tensor) -> Tensor | float:
    """Return a number as it is, and a tensor like the logits."""
    return read_label_vector(name, value, logits) if isinstance(value, Tensor) else value
