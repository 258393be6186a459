"""Metrics of a confusion matrix as losses: 1 - metric, of smooth counts s = sigmoid(beta · (logit + eta)).

The counts of a batch are taken once (`counts`), pooled over the parts of a large batch (`pooling`), turned into a
metric of each label or example (`smooth_metrics`), and averaged as scikit-learn does (`averaging`).
"""

from typing import TYPE_CHECKING, Any, NamedTuple, Unpack

from torch import Tensor

from labelproof.foundation.arguments import check_choice
from labelproof.losses.averaging import Aim, average_loss
from labelproof.losses.compiled import sum_of
from labelproof.losses.counts import Counting, smooth_counts
from labelproof.losses.metric_ratios import AVERAGES, SCORES, Average, Scores
from labelproof.losses.one_pass import ConfusionTask, pooled, remembered
from labelproof.losses.options import CountOptions, F1Options, spelled_out_as
from labelproof.losses.pooling import pool
from labelproof.losses.reduction import (
    Reduction,
    check_positive,
    read_example_weight,
    read_label_vector,
    read_mask,
)
from labelproof.losses.smooth_metrics import Empty
from labelproof.losses.targets import as_rows, promote, read_targets

if TYPE_CHECKING:
    from torch.distributed import ProcessGroup

__all__ = [
    "CountWays",
    "confusion_counts",
    "confusion_loss",
    "loss_and_memory",
    "sigmoid_f1_loss",
    "unbounded_f1_loss",
]


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
    """Return 1 - metric of smooth counts; the functional twin of `ConfusionLoss`, which explains the other options.

    Parameters
    ----------
    logits
        Tensor of shape (..., n_labels).
    targets
        Dense tensor of the same shape, index lists, or a sparse matrix; see `read_targets`.
    memory
        With ``empty="memory"``: earlier counts as `confusion_counts` returns them, used for labels without a positive.
    mask
        Bool tensor of the logits' shape, False where a label is unknown.
    example_weight
        Weights of shape (...,).
    counts
        Counts of the whole batch of which this is a part; see `confusion_counts`.

    Returns
    -------
    Tensor
        A scalar; with ``reduction="none"`` shape (n_labels,) for macro and weighted, (...,) for samples.

    Examples
    --------
    >>> import torch
    >>> logits, targets = torch.tensor([[9.0, -9.0], [-9.0, 9.0]]), [[0], [0, 1]]
    >>> f"{confusion_loss(logits, targets, 'recall', average='micro'):.3f}"
    '0.333'
    """
    aim = Aim(metric, f_beta, average, empty, smoothing, reduction)
    ways = CountWays(beta, eta, scores, average, mask, example_weight, label_weight)
    ways.check()
    return loss_and_memory(logits, targets, aim, ways, memory, 0.0, counts, process_group)[0]


@spelled_out_as(confusion_loss, F1Options)
def sigmoid_f1_loss(
    logits: Tensor,
    targets: Any,
    *,
    beta: float | Tensor = 1.0,
    eta: float | Tensor = 0.0,
    **options: Unpack[F1Options],
) -> Tensor:
    """Return 1 - F1 of smooth counts; `confusion_loss` with the metric "f1", where the options are explained.

    Examples
    --------
    >>> import torch
    >>> sigmoid_f1_loss(torch.zeros(2, 1), torch.tensor([[1.0], [0.0]]))  # 1 - 2·½ / (1 + 1)
    tensor(0.5000)
    """
    return confusion_loss(logits, targets, beta=beta, eta=eta, **options)


@spelled_out_as(confusion_loss, F1Options)
def unbounded_f1_loss(
    logits: Tensor, targets: Any, *, scores: Scores = "logits", **options: Unpack[F1Options]
) -> Tensor:
    """Return 1 - F1 of counts of the scores as they are: raw logits, which have no bounds, or plain sigmoids.

    The other options are those of `confusion_loss`.

    Examples
    --------
    >>> import torch
    >>> unbounded_f1_loss(torch.tensor([[3.0], [0.0]]), torch.tensor([[1.0], [0.0]]))  # 1 - 6 / 4
    tensor(-0.5000)
    """
    return confusion_loss(logits, targets, scores=scores, **options)


@spelled_out_as(confusion_loss, CountOptions)
def confusion_counts(logits: Tensor, targets: Any, **options: Unpack[CountOptions]) -> Tensor:
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
    >>> import torch
    >>> confusion_counts(torch.zeros(2, 3), [[0], [0, 1]], average="micro")
    tensor([1.5000, 3.0000, 3.0000, 6.0000])
    """
    ways = CountWays(**options)
    ways.check()
    logits = promote(logits)
    counting, of_label = _read_counting(logits, targets, ways)
    return _counts(logits, counting, ways.average, of_label)


class CountWays(NamedTuple):
    """What decides on the counts of a batch beside logits and targets; see `confusion_loss`."""

    beta: float | Tensor = 1.0
    eta: float | Tensor = 0.0
    scores: Scores = "sigmoid"
    average: Average = "macro"
    mask: Tensor | None = None
    example_weight: Tensor | None = None
    label_weight: Tensor | None = None

    def check(self) -> None:
        """Refuse options that make no sense; modules have checked theirs."""
        check_choice("average", self.average, AVERAGES)
        check_choice("scores", self.scores, SCORES)
        check_positive("beta", self.beta)


def loss_and_memory(
    logits: Tensor,
    targets: Any,
    aim: Aim,
    ways: CountWays,
    memory: Tensor | None,
    decay: float,
    counts: Tensor | None,
    process_group: "ProcessGroup | None",
) -> tuple[Tensor, Tensor | None]:
    """Return the loss of a batch, and its counts plus decay times the memory if the loss has one."""
    if aim.by_example and counts is not None:
        raise ValueError("counts must be None for average='samples', whose losses of examples add up, got a tensor")
    logits = promote(logits)
    if memory is not None and memory.shape != (shape := (4,) if aim.average == "micro" else (4, logits.shape[-1])):
        raise ValueError(f"memory must have the shape {shape} of the counts of these logits, got {tuple(memory.shape)}")
    counting, of_label = _read_counting(logits, targets, ways)
    weight = read_example_weight(ways.example_weight, logits) if aim.by_example else of_label
    rows, alone = as_rows(logits), counts is None and process_group is None
    if alone and aim.reduction != "none" and counting.is_compiled(rows, weight, memory):
        after: list[Tensor] = []
        loss = sum_of(ConfusionTask(counting, aim, memory, decay, weight, after), rows)
        return loss, after[0] if after else None
    local = _counts(logits, counting, aim.average, of_label)
    whole = local if aim.by_example else pool(local, counts, process_group)
    if aim.by_example and weight is not None:
        weight = weight.reshape(logits.shape[:-1])
    loss = average_loss(whole, aim, memory=memory, weight=weight, process_group=process_group)
    return loss, remembered(whole, memory, decay) if aim.empty == "memory" else None


def _read_counting(logits: Tensor, targets: Any, ways: CountWays) -> tuple[Counting, Tensor | None]:
    """Return how to count, with targets whose range is not checked, and the weights of the labels, or None."""
    beta, eta, scores, average, mask, of_example, of_label = ways
    read, known = read_targets(logits, targets, unchecked=True), read_mask(mask, logits)
    if of_label is not None:
        of_label = read_label_vector("label_weight", of_label, logits)
    slope, shift = _label_vector("beta", beta, logits), _label_vector("eta", eta, logits)
    by_example = average == "samples"
    weight = of_label if by_example else read_example_weight(of_example, logits)
    rows = as_rows(read).contiguous() if isinstance(read, Tensor) else read
    return Counting(rows, by_example, slope, shift, scores, known, 1.0 if weight is None else weight), of_label


def _counts(logits: Tensor, counting: Counting, average: Average, of_label: Tensor | None) -> Tensor:
    counting.check_targets()
    counts = smooth_counts(as_rows(logits), counting)
    if average == "samples":
        return counts.reshape(4, *logits.shape[:-1])
    return pooled(counts, of_label) if average == "micro" else counts


def _label_vector(name: str, value: Tensor | float, logits: Tensor) -> Tensor | float:
    """Return a number as it is, and a tensor like the logits."""
    return read_label_vector(name, value, logits) if isinstance(value, Tensor) else value
