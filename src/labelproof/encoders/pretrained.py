"""Encoders that start from a model in files: frozen, with their output computed once, or trained further."""

from abc import abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn

from labelproof.encoders.encoder import Encoder
from labelproof.encoders.layers import ACTIVATIONS, Top
from labelproof.encoders.options import check_dropout, check_flag, hold_whole_numbers
from labelproof.encoders.rows import DenseRows, Prepared
from labelproof.foundation.arguments import check_choice
from labelproof.foundation.progress import progress_bar

__all__ = ["PretrainedEncoder", "PretrainedOptions", "device_of"]


@dataclass(frozen=True, kw_only=True)
class PretrainedOptions:
    """Options that all pretrained encoders share.

    Parameters
    ----------
    frozen
        Whether the model stays as it is: `prepare` then runs it once for every input, and training costs no more than
        the layers after it.
    hidden
        Width of a linear layer after the model; None leaves it out.
    activation
        ``none``, ``relu`` or ``tanh``, after the model or the linear layer.
    dropout
        Share of the outputs that training sets to zero.
    batch_size
        Number of inputs that `prepare` gives a frozen model at a time.
    """

    frozen: bool = True
    hidden: int | None = None
    activation: str = "none"
    dropout: float = 0.0
    batch_size: int = 32

    def __post_init__(self) -> None:
        check_flag("frozen", self.frozen)
        hold_whole_numbers(self, "hidden", or_none=True)
        hold_whole_numbers(self, "batch_size")
        check_choice("activation", self.activation, ACTIVATIONS)
        check_dropout(self.dropout)


class PretrainedEncoder(Encoder):
    """A given model, then a linear layer, an activation and dropout, of which each may be left out.

    A frozen model computes no gradients and stays in evaluation mode, whatever the mode of the encoder.
    """

    options: PretrainedOptions

    def __init__(self, options: PretrainedOptions, model: nn.Module, dim: int) -> None:
        super().__init__()
        self.options = options
        self.model = model
        if options.frozen:
            self.model.requires_grad_(False)
        self.top = Top(dim, options.hidden, options.activation, options.dropout)
        self.dim = dim
        self.width = self.top.width
        self.train(self.training)

    @abstractmethod
    def read(self, inputs: Any) -> Prepared:
        """Return the inputs in the form that `gather` takes batches from."""

    @abstractmethod
    def gather(self, prepared: Any, rows: npt.NDArray[np.int64]) -> tuple[Tensor, ...]:
        """Return the batch of these rows, as the model takes it."""

    @abstractmethod
    def embed(self, *batch: Tensor) -> Tensor:
        """Return the model's vectors (n, dim) of a batch."""

    def order(self, prepared: Any) -> npt.NDArray[np.int64]:
        """Return the rows in an order that makes good batches."""
        return np.arange(len(prepared))

    def prepare(self, inputs: Any) -> Prepared:
        """Return what `read` gives or, of a frozen model, its vectors (n, dim)."""
        prepared = self.read(inputs)
        return DenseRows(self._vectors(prepared)) if self.options.frozen else prepared

    def collate(self, prepared: Any, rows: npt.NDArray[np.int64]) -> tuple[Tensor, ...]:
        """Return the model's batch or, of a frozen model, its vectors (n, dim)."""
        return (prepared.batch(rows),) if isinstance(prepared, DenseRows) else self.gather(prepared, rows)

    def forward(self, *batch: Tensor) -> Tensor:
        """Return the features (n, width)."""
        if self.options.frozen:
            return self.top(batch[0])
        no_rows = len(batch[-1]) == 0  # which many models do not take
        return self.top(batch[-1].new_empty(0, self.dim, dtype=torch.float32) if no_rows else self.embed(*batch))

    def train(self, mode: bool = True) -> Self:
        """Set the mode of training; a frozen model stays in that of evaluation."""
        super().train(mode)
        if self.options.frozen:
            self.model.eval()
        return self

    def pretrained_parameters(self) -> Iterator[nn.Parameter]:
        """Return the model's own parameters, if training changes them."""
        return (parameter for parameter in self.model.parameters() if parameter.requires_grad)

    @torch.no_grad()
    def _vectors(self, prepared: Prepared) -> npt.NDArray[np.float32]:
        device = device_of(self.model)
        order, size = self.order(prepared), self.options.batch_size
        vectors = np.empty((len(prepared), self.dim), np.float32)
        with progress_bar(f"{self.kind} encoder", len(order), show=self.show_progress) as advance:
            for start in range(0, len(order), size):
                rows = order[start : start + size]
                batch = (tensor.to(device) for tensor in self.gather(prepared, rows))
                vectors[rows] = self.embed(*batch).float().cpu().numpy()
                advance(len(rows))
        return vectors


def device_of(module: nn.Module) -> torch.device:
    """Return where the parameters of a module are, or the CPU where it has none."""
    return next((parameter.device for parameter in module.parameters()), torch.device("cpu"))
