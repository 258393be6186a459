"""The k/n start: every label begins at the probability k/n, which is where its training would take it first."""

import torch
from torch import nn

from labelproof.theory.fixed_columns import start_logit

__all__ = ["start_at", "start_logit"]


@torch.no_grad()
def start_at(layer: nn.Linear, k: float) -> None:
    """Set the bias of a linear output layer so that every label begins near the probability k/n.

    Parameters
    ----------
    layer : torch.nn.Linear
        The output layer, with a bias; its weights are left as they are.
    k : float
        Expected number of active labels.

    Examples
    --------
    >>> layer = nn.Linear(8, 100)
    >>> start_at(layer, 5)
    >>> layer.bias.sigmoid()[0].item()
    0.05000000074505806
    """
    if not isinstance(layer, nn.Linear) or layer.bias is None:
        raise ValueError(f"layer must be a torch.nn.Linear with a bias, got {layer}")
    layer.bias.fill_(start_logit(k, layer.out_features))
