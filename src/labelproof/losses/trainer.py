"""Any of the losses as the ``compute_loss_func`` of a transformers ``Trainer``."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

__all__ = ["TrainerLoss"]


class TrainerLoss:
    """A loss in the form in which transformers' Trainer calls one.

    Parameters
    ----------
    loss
        A loss that is called with logits and targets, and with a mask where labels are unknown.
    unknown
        The value in ``labels`` that marks an unknown label.

    Notes
    -----
    The Trainer adds up the losses of the parts of a batch (``gradient_accumulation_steps``) and says how many labels
    the whole batch has. Each part's mean is weighted by its share of them, which is exact for losses that are means
    over labels; a confusion loss becomes the weighted mean of the parts' losses.

    Examples
    --------
    >>> from types import SimpleNamespace
    >>> outputs = SimpleNamespace(logits=torch.zeros(2, 3))
    >>> bce = torch.nn.functional.binary_cross_entropy_with_logits
    >>> TrainerLoss(bce)(outputs, torch.ones(2, 3), num_items_in_batch=12)  # half of a batch
    tensor(0.3466)
    """

    def __init__(self, loss: Callable[..., Tensor], *, unknown: float = -100) -> None:
        self.loss = loss
        self.unknown = unknown

    def __call__(self, outputs: Any, labels: Tensor, num_items_in_batch: Tensor | int | None = None) -> Tensor:
        """Return the loss of a model's outputs.

        Parameters
        ----------
        outputs
            The model's outputs, with ``logits`` of shape (n_examples, n_labels) as an attribute or an entry.
        labels
            Tensor of the same shape.
        num_items_in_batch
            Number of known labels in the whole batch, of which this is a part.
        """
        logits = outputs["logits"] if isinstance(outputs, dict) else outputs.logits
        mask = labels != self.unknown
        known = mask.sum()
        if known == labels.numel():
            value = self.loss(logits, labels)
        else:
            value = self.loss(logits, torch.where(mask, labels, 0), mask=mask)
        return value if num_items_in_batch is None else value * (known / num_items_in_batch)
