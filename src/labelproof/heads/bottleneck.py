"""The usual output layer with fewer features than labels, for comparison with those that have a guarantee."""

import math
from typing import Any

import torch
from torch import Tensor, nn

from labelproof.foundation.arguments import whole_number
from labelproof.heads.start import start_at, start_logit

__all__ = ["BottleneckHead"]


class BottleneckHead(nn.Module):
    """Project to d features, then a linear layer: ``logits = projection(e) @ weight.T (+ bias)``.

    With d far below n_labels most label combinations cannot be predicted, whatever the input: `labelproof.verify` says
    which.

    Parameters
    ----------
    in_features : int
        Width of the encoder's output.
    n_labels : int
        Number of labels.
    d : int
        Number of features that the labels share.
    bias : bool, default False
        Whether the output layer has a bias; the projection always has.
    start : float, optional
        Expected number of active labels k: every label begins near the probability k/n. Without a bias this takes
        one feature: its column of the weights begins at 1/√n and its projection bias at √n·logit(k/n).
    device, dtype
        Of the parameters.

    Examples
    --------
    >>> head = BottleneckHead(in_features=32, n_labels=100, d=10, start=3)
    >>> head(torch.randn(4, 32)).shape, head.weight.shape
    (torch.Size([4, 100]), torch.Size([100, 10]))
    """

    def __init__(
        self,
        in_features: int,
        n_labels: int,
        d: int,
        *,
        bias: bool = False,
        start: float | None = None,
        device: Any = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__()
        self.in_features = whole_number("in_features", in_features, minimum=1)
        self.n_labels = whole_number("n_labels", n_labels, minimum=1)
        self.d = whole_number("d", d, minimum=1)
        self.projection = nn.Linear(self.in_features, self.d, device=device, dtype=dtype)
        self.output = nn.Linear(self.d, self.n_labels, bias=bias, device=device, dtype=dtype)
        if start is not None:
            self._start(start)

    @torch.no_grad()
    def _start(self, k: float) -> None:
        nn.init.zeros_(self.projection.bias)
        if self.output.bias is not None:
            start_at(self.output, k)
            return
        self.output.weight[:, 0] = 1 / math.sqrt(self.n_labels)
        self.projection.bias[0] = math.sqrt(self.n_labels) * start_logit(k, self.n_labels)

    @property
    def weight(self) -> Tensor:
        """The matrix to verify, (n_labels, d)."""
        return self.output.weight

    @property
    def bias(self) -> Tensor | None:
        """The bias to verify, (n_labels,), or None."""
        return self.output.bias

    def logits(self, features: Tensor) -> Tensor:
        """Return the logits (..., n_labels) of features (..., d)."""
        return self.output(features)

    def forward(self, input: Tensor) -> Tensor:  # noqa: A002 - torch's name
        """Return the logits (..., n_labels) of an encoder's output (..., in_features)."""
        return self.logits(self.projection(input))

    def extra_repr(self) -> str:
        """Describe the head in one line."""
        return f"in_features={self.in_features}, n_labels={self.n_labels}, d={self.d}"
