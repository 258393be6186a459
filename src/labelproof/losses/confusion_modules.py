"""The losses of `confusion` as torch modules, which keep what they learn and what they remember of earlier batches."""

from typing import TYPE_CHECKING, Any, Literal, Unpack

import torch
from torch import Tensor, nn

from labelproof.foundation.arguments import check_choice
from labelproof.losses.averaging import Aim
from labelproof.losses.confusion import CountWays, confusion_counts, loss_and_memory
from labelproof.losses.metric_ratios import SCORES, Average, Scores
from labelproof.losses.one_pass import remembered
from labelproof.losses.options import F1ModuleOptions, spelled_out_as
from labelproof.losses.pooling import pool
from labelproof.losses.reduction import Reduction, check_positive
from labelproof.losses.smooth_metrics import Empty

if TYPE_CHECKING:
    from torch.distributed import ProcessGroup

__all__ = ["ConfusionLoss", "SigmoidF1Loss", "UnboundedF1Loss"]


class ConfusionLoss(nn.Module):
    """1 - metric of the smooth confusion matrix of a batch, with scores s = sigmoid(beta · (logit + eta)).

    Parameters
    ----------
    metric
        "f1", "fbeta" (with ``f_beta``), "accuracy", "precision", "recall", "specificity", "npv", "jaccard",
        "balanced-accuracy" or "mcc".
    beta, eta
        Slope and shift of the sigmoid: numbers, or tensors of shape (n_labels,). beta must be positive.
    learn
        Which of "beta" and "eta" are parameters to be learned. beta is learned as its logarithm, so it stays positive.
    average
        As in scikit-learn: "macro" is the mean of the labels' metrics, "weighted" weighs them by the number of
        positives, "micro" pools the counts of all labels, "samples" is the mean of the examples' metrics.
    f_beta
        How many times as much recall counts as precision, for ``metric="fbeta"``.
    scores
        What is counted: the "sigmoid" s, or beta · (logit + eta) itself with "logits".
    empty
        What to do with a label (or an example, for "samples") without a positive in the batch, for which F1 is 0
        whatever is predicted, so that its false positives would cost nothing. "smooth" counts ``smoothing`` more
        hits for it; "skip" leaves it out of the mean; "memory" adds its counts of earlier batches, and leaves it out
        as long as those have no positive. Where a label has a positive, none of them changes anything. For metrics
        that need a negative, such as specificity, labels without a negative are treated in the same way.
    smoothing
        The number of hits that "smooth" adds.
    decay
        By what the memory is multiplied with each batch.
    label_weight
        Tensor of shape (n_labels,): weights of the labels in the mean, or in the pooled counts for micro and samples.
    reduction
        "mean"; "sum", the same without its divisor; "none" for the loss of each label or example, not weighted, where
        one that is left out has the loss 0. For micro all three are the one loss.
    process_group
        Processes that share a batch, such as ``torch.distributed.group.WORLD``. Their counts are added up, so that
        the loss, and the gradient after it is averaged over the processes, are those of the whole batch.

    Notes
    -----
    Counts of the whole batch under gradient accumulation, with the model's randomness the same in both passes::

        with torch.no_grad():
            counts = sum(loss.counts(model(x), y) for x, y in parts)
        for x, y in parts:
            loss(model(x), y, counts=counts).backward()  # the gradients add up to that of the whole batch
        loss.remember(counts)  # for empty="memory"

    Examples
    --------
    >>> loss = ConfusionLoss("jaccard", average="micro")
    >>> loss(torch.zeros(2, 2), [[0], [1]])  # 1 - 1 / (2 + 2 - 1)
    tensor(0.6667)
    """

    memory: Tensor | None  # read and set in _buffers, which in a small batch takes less time than to go through torch

    def __init__(
        self,
        metric: str = "f1",
        *,
        beta: float | Tensor = 1.0,
        eta: float | Tensor = 0.0,
        learn: tuple[Literal["beta", "eta"], ...] = (),
        average: Average = "macro",
        f_beta: float = 1.0,
        scores: Scores = "sigmoid",
        empty: Empty = "smooth",
        smoothing: float = 1.0,
        decay: float = 0.99,
        label_weight: Tensor | None = None,
        reduction: Reduction = "mean",
        process_group: "ProcessGroup | None" = None,
    ) -> None:
        super().__init__()
        self.aim = Aim(metric, f_beta, average, empty, smoothing, reduction)
        check_choice("scores", scores, SCORES)
        check_positive("beta", beta)
        if not 0 <= decay <= 1:
            raise ValueError(f"decay must lie between 0 and 1, got {decay}")
        for name in learn:
            check_choice("learn", name, ("beta", "eta"))
        self.scores, self.decay, self.process_group = scores, decay, process_group
        self.log_beta = nn.Parameter(torch.as_tensor(beta).float().log()) if "beta" in learn else None
        self.fixed_beta = 1.0 if "beta" in learn else _constant(beta)
        self.eta = nn.Parameter(torch.as_tensor(eta).float()) if "eta" in learn else _constant(eta)
        self.label_weight = None if label_weight is None else nn.Buffer(label_weight)
        self.register_buffer("memory", None)

    @property
    def beta(self) -> float | Tensor:
        """The slope of the sigmoid."""
        return self.fixed_beta if self.log_beta is None else self.log_beta.exp()

    def forward(
        self,
        logits: Tensor,
        targets: Any,
        *,
        mask: Tensor | None = None,
        example_weight: Tensor | None = None,
        counts: Tensor | None = None,
    ) -> Tensor:
        """Return the loss of a batch, or of a part of a batch whose counts are given.

        Parameters
        ----------
        logits, targets, mask, example_weight
            As for `confusion_loss`.
        counts
            Counts of the whole batch, of which this is a part.
        """
        ways, memory = self._ways(mask, example_weight), self._buffers["memory"]
        loss, after = loss_and_memory(logits, targets, self.aim, ways, memory, self.decay, counts, self.process_group)
        if after is not None and counts is None and self.training:
            self._buffers["memory"] = after
        return loss

    def counts(
        self, logits: Tensor, targets: Any, *, mask: Tensor | None = None, example_weight: Tensor | None = None
    ) -> Tensor:
        """Return the counts of a part of a batch, over all processes of the group; counts of parts add up."""
        if self.aim.by_example:
            raise ValueError("counts are not defined for average='samples', whose losses of examples add up")
        local = confusion_counts(logits, targets, **self._ways(mask, example_weight)._asdict())
        return pool(local, None, self.process_group)

    def remember(self, counts: Tensor) -> None:
        """Add the counts of a batch to the memory, when there is one and the module is in training.

        The memory takes the precision of the batch.
        """
        if self.aim.empty == "memory" and self.training:
            self._buffers["memory"] = remembered(counts, self._buffers["memory"], self.decay)

    def extra_repr(self) -> str:
        """Say what the module computes."""
        aim = self.aim
        return f"metric={aim.metric!r}, average={aim.average!r}, empty={aim.empty!r}, reduction={aim.reduction!r}"

    def _ways(self, mask: Tensor | None, example_weight: Tensor | None) -> CountWays:
        beta = self.fixed_beta
        if self.log_beta is not None:
            check_positive("beta", beta := self.beta)  # which learning may have made infinitely small, or no number
        return CountWays(beta, self.eta, self.scores, self.aim.average, mask, example_weight, self.label_weight)

    def _load_from_state_dict(self, state_dict: dict[str, Any], prefix: str, *rest: Any) -> None:
        """Make room for a memory that was saved before it is loaded."""
        saved = state_dict.get(f"{prefix}memory")
        if saved is not None:
            self.memory = torch.empty_like(saved)
        super()._load_from_state_dict(state_dict, prefix, *rest)


class SigmoidF1Loss(ConfusionLoss):
    """1 - F1 of smooth counts: tp = Σ s·y, fp = Σ s·(1-y), fn = Σ (1-s)·y with s = sigmoid(beta · (logit + eta)).

    `ConfusionLoss` with the metric "f1"; see there for the options.

    Examples
    --------
    >>> SigmoidF1Loss(beta=2.0)(torch.tensor([[1.0], [-1.0]]), torch.tensor([[1.0], [0.0]]))  # 1 - 2s / (s + 1-s + 1)
    tensor(0.1192)
    """

    @spelled_out_as(ConfusionLoss.__init__, F1ModuleOptions)
    def __init__(
        self,
        beta: float | Tensor = 1.0,
        eta: float | Tensor = 0.0,
        *,
        learn: tuple[Literal["beta", "eta"], ...] = (),
        **options: Unpack[F1ModuleOptions],
    ) -> None:
        super().__init__("f1", beta=beta, eta=eta, learn=learn, **options)


class UnboundedF1Loss(ConfusionLoss):
    """1 - F1 of counts of the scores as they are: raw logits, or plain sigmoids with ``scores="sigmoid"``.

    Of logits the loss has no bounds, and its denominator can change its sign: it is there to reproduce the definition
    (equation 4 of the sigmoidF1 paper). Of sigmoids it is `SigmoidF1Loss` with its defaults. See `ConfusionLoss` for
    the other options.

    Examples
    --------
    >>> UnboundedF1Loss()(torch.tensor([[3.0], [0.0]]), torch.tensor([[1.0], [0.0]]))  # 1 - 6 / 4
    tensor(-0.5000)
    """

    @spelled_out_as(ConfusionLoss.__init__, F1ModuleOptions)
    def __init__(self, scores: Scores = "logits", **options: Unpack[F1ModuleOptions]) -> None:
        super().__init__("f1", scores=scores, **options)


def _constant(value: float | Tensor) -> float | Tensor:
    """Return a number as it is, and a tensor as a buffer, which moves with the module and is saved with it."""
    return nn.Buffer(value) if isinstance(value, Tensor) else value
