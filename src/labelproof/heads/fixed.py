"""Heads of fixed columns beside learnable ones: what they share, whatever the fixed ones are."""

import warnings
from abc import ABC, abstractmethod
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F  # noqa: N812 - its usual name

from labelproof.foundation.arguments import whole_number

__all__ = ["FixedHead", "is_recorded"]


def is_recorded() -> bool:
    """Whether operations are recorded for use elsewhere, by torch.export, the ONNX exporter or torch.jit.trace."""
    return torch.compiler.is_exporting() or torch.jit.is_tracing()  # type: ignore[attr-defined, no-untyped-call]


class FixedHead(nn.Module, ABC):
    """A projection, fixed columns and ``slack`` learnable ones: ``logits = projection(e) @ weight.T``.

    Not used by itself. The first fixed column is a constant. Their part of the logits is computed in float32, or in
    float64 where the parameters are.
    """

    slack_weight: nn.Parameter | None  # (n_labels, slack)

    def __init__(
        self,
        in_features: int,
        n_labels: int,
        n_fixed: int,
        slack: int,
        *,
        device: Any,
        dtype: torch.dtype | None,
    ) -> None:
        super().__init__()
        self.in_features, self.n_labels, self.n_fixed = in_features, n_labels, n_fixed
        self.slack = whole_number("slack", slack, minimum=0)
        self.features = n_fixed + self.slack
        if self.features > self.in_features:
            widest = self.widest_k()
            warnings.warn(
                f"the head has {self.features} features but the encoder only {self.in_features}: "
                "some features cannot be reached, and the guarantee needs all of them; "
                + (f"k = {widest} is the most that this encoder can keep" if widest else "this encoder can keep none"),
                stacklevel=4,
            )
        self.projection = nn.Linear(self.in_features, self.features, device=device, dtype=dtype)
        weight = self.projection.weight
        self.slack_weight = nn.Parameter(weight.new_empty(self.n_labels, self.slack)) if self.slack else None
        if self.slack_weight is not None:
            nn.init.uniform_(self.slack_weight, -(self.features**-0.5), self.features**-0.5)  # as nn.Linear's

    @abstractmethod
    def widest_k(self) -> int:
        """Return the largest k that a head of this kind could guarantee behind this encoder; 0 if none."""

    @abstractmethod
    def _fixed_columns(self) -> Tensor:
        """Return the fixed columns, (n_labels, n_fixed)."""

    def _fixed_logits(self, features: Tensor) -> Tensor:
        """Return the part of the logits that comes from the fixed columns, in their precision."""
        columns = self._fixed_columns()
        return F.linear(features.to(columns.dtype), columns)

    @torch.no_grad()
    def _start(self, logit: float, constant: float) -> None:
        """Let every label begin at this logit, given the number in the constant column."""
        nn.init.zeros_(self.projection.bias)
        self.projection.bias[0] = logit / constant

    @property
    def weight(self) -> Tensor:
        """The matrix to verify, (n_labels, features): the fixed columns, then the learnable ones."""
        columns = self._fixed_columns()
        return columns if self.slack_weight is None else torch.cat([columns, self.slack_weight.to(columns)], dim=1)

    @property
    def bias(self) -> None:
        """None: the constant column has its place."""
        return None

    def logits(self, features: Tensor) -> Tensor:
        """Return the logits (..., n_labels) of features (..., n_fixed + slack)."""
        z = self._fixed_logits(features[..., : self.n_fixed])
        if self.slack_weight is not None:
            z = z + F.linear(features[..., self.n_fixed :], self.slack_weight)
        return z.to(features.dtype)

    def forward(self, input: Tensor) -> Tensor:  # noqa: A002 - torch's name
        """Return the logits (..., n_labels) of an encoder's output (..., in_features)."""
        return self.logits(self.projection(input))
