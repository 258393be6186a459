"""The Fenchel–Young losses as functions."""

from typing import Any

import torch
from torch import Tensor

from labelproof.activations.entmax import check_alpha
from labelproof.foundation.arguments import check_choice
from labelproof.losses.fenchel_young.batch import Batch, read_batch
from labelproof.losses.fenchel_young.rows import cross_entropies, losses_of_rows, weighted_sum
from labelproof.losses.reduction import REDUCTIONS, Reduction, read_example_weight
from labelproof.losses.targets import promote

__all__ = ["entmax_loss", "pick_all_labels_loss", "sparsemax_loss"]


def sparsemax_loss(
    logits: Tensor,
    targets: Any,
    *,
    label_weight: Tensor | None = None,
    example_weight: Tensor | None = None,
    mask: Tensor | None = None,
    ignore_index: int = -100,
    reduction: Reduction = "mean",
) -> Tensor:
    """Return the sparsemax loss of logits, whose gradient is sparsemax(z) − q.

    Parameters
    ----------
    logits
        Tensor of shape (..., n_labels). float16 and bfloat16 are computed in float32.
    targets
        Tensor or array of shape (...,): class indices. Of the logits' shape: 0/1 rows, soft labels or distributions.
        Or index lists or a sparse matrix, which are never made dense; see `read_targets`. Each row y becomes
        q = y / Σy; a row without a label has loss 0. No gradient flows to targets.
    label_weight
        Weights w of shape (n_labels,), not negative: q becomes w·y / Σ w·y, and the loss of the row is multiplied by
        Σ w·y / Σ y. For a class index this is its weight times its loss, and for softmax the weighted cross entropy.
    example_weight
        Weights of shape (...,). As in torch, a mean is not divided by them.
    mask
        Bool tensor of the logits' shape, False where a label is unknown: it is left out of p and of q.
    ignore_index
        The class index that stands for no label.
    reduction
        "mean" over the rows that have a label (0 if none has), "sum", or "none" for shape (...,).

    Examples
    --------
    >>> import torch
    >>> logits = torch.tensor([[2.0, 1.0, -1.0], [0.0, 0.0, 0.0]])
    >>> sparsemax_loss(logits, torch.tensor([0, 2]), reduction="none")
    tensor([0.0000, 0.3333])
    >>> sparsemax_loss(logits, [[0, 1], []], reduction="none")  # q = (½, ½, 0), and no label
    tensor([0.2500, 0.0000])
    """
    return entmax_loss(
        logits,
        targets,
        2.0,
        label_weight=label_weight,
        example_weight=example_weight,
        mask=mask,
        ignore_index=ignore_index,
        reduction=reduction,
    )


def entmax_loss(
    logits: Tensor,
    targets: Any,
    alpha: float = 1.5,
    *,
    label_weight: Tensor | None = None,
    example_weight: Tensor | None = None,
    mask: Tensor | None = None,
    ignore_index: int = -100,
    reduction: Reduction = "mean",
) -> Tensor:
    """Return the Fenchel–Young loss of α-entmax, whose gradient is entmax(z, α) − q.

    α = 2 is `sparsemax_loss`; α = 1 is the Kullback–Leibler divergence of softmax(z) from q, which for class indices is
    the cross entropy.

    Parameters
    ----------
    logits, targets, label_weight, example_weight, mask, ignore_index, reduction
        As for `sparsemax_loss`.
    alpha
        At least 1; the larger, the sparser p, and the smaller the lead at which the loss is 0.

    Examples
    --------
    >>> import torch
    >>> entmax_loss(torch.tensor([[2.0, 0.0, 0.0], [0.0, 0.0, 0.0]]), torch.tensor([0, 0]), reduction="none")
    tensor([0.0000, 0.5635])
    """
    check_alpha(alpha)
    batch = read_batch(logits, targets, label_weight, mask, ignore_index)
    weight = _weights(batch.share, batch, logits, example_weight, reduction)
    if reduction == "none":
        return (losses_of_rows(batch, float(alpha)) * weight).reshape(logits.shape[:-1])
    return weighted_sum(batch, float(alpha), weight)


def pick_all_labels_loss(
    logits: Tensor,
    targets: Any,
    *,
    normalized: bool = True,
    label_weight: Tensor | None = None,
    example_weight: Tensor | None = None,
    mask: Tensor | None = None,
    ignore_index: int = -100,
    reduction: Reduction = "mean",
) -> Tensor:
    """Return the softmax cross entropy of an example's labels: −Σ_j y_j log p_j, divided by Σ_j y_j or not.

    The normalised loss is `entmax_loss` for α = 1 plus the entropy of q, which no logit changes.

    Parameters
    ----------
    logits, targets, label_weight, example_weight, mask, ignore_index, reduction
        As for `sparsemax_loss`.
    normalized
        Whether an example's loss is the mean over its labels, or their sum.

    Examples
    --------
    >>> import torch
    >>> pick_all_labels_loss(torch.zeros(1, 4), [[0, 3]])  # log 4
    tensor(1.3863)
    >>> pick_all_labels_loss(torch.zeros(1, 4), [[0, 3]], normalized=False)
    tensor(2.7726)
    """
    batch = read_batch(logits, targets, label_weight, mask, ignore_index)
    share = batch.share if normalized else batch.mass
    weight = _weights(share, batch, logits, example_weight, reduction)
    losses = cross_entropies(batch.logits, batch)
    return (losses * weight).reshape(logits.shape[:-1]) if reduction == "none" else torch.dot(losses, weight)


def _weights(
    share: Tensor, batch: Batch, logits: Tensor, example_weight: Tensor | None, reduction: Reduction
) -> Tensor:
    """Return by what the loss of each row is multiplied."""
    check_choice("reduction", reduction, REDUCTIONS)
    weight = read_example_weight(example_weight, promote(logits))
    weight = share if weight is None else share * weight
    return weight / batch.n_labelled() if reduction == "mean" else weight
