"""The layers that several encoders end with."""

import math

import torch
from torch import Tensor, nn
from torch.nn.functional import embedding_bag

__all__ = ["ACTIVATIONS", "Bag", "Top", "dense_rows", "lecun_scale"]

ACTIVATIONS: dict[str, type[nn.Module]] = {"none": nn.Identity, "relu": nn.ReLU, "tanh": nn.Tanh}


class Bag(nn.Module):
    """An affine map of rows that may be sparse: a sum of the embeddings of a row's entries, times their values.

    Parameters
    ----------
    n_inputs : int
        Number of columns of the rows.
    width : int
        Number of outputs.
    scale : float
        Standard deviation of the weights at the start; the bias starts at zero.

    Examples
    --------
    >>> bag = Bag(3, 2, scale=1.0)
    >>> sparse = bag(torch.tensor([0, 2, 1]), torch.tensor([0, 2]), torch.tensor([1.0, 5.0, 2.0]))
    >>> torch.allclose(sparse, bag(torch.tensor([[1.0, 0.0, 5.0], [0.0, 2.0, 0.0]])))
    True
    """

    def __init__(self, n_inputs: int, width: int, *, scale: float) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.empty(n_inputs, width).normal_(std=scale))
        self.bias = nn.Parameter(torch.zeros(width))

    def forward(self, *batch: Tensor) -> Tensor:
        """Return the outputs (n, width) of dense rows (n, n_inputs), or of ids, offsets and values."""
        if len(batch) == 1:
            return batch[0].to(self.weight.dtype) @ self.weight + self.bias
        ids, offsets, values = batch
        weights = values.to(self.weight.dtype)
        return embedding_bag(ids, self.weight, offsets, mode="sum", per_sample_weights=weights) + self.bias


class Top(nn.Module):
    """What may follow a given vector: a linear layer, an activation, dropout.

    Parameters
    ----------
    in_features : int
        Width of the vector.
    hidden : int or None
        Width of the linear layer; None leaves it out.
    activation : str
        One of `ACTIVATIONS`.
    dropout : float
        Share of the outputs that training sets to zero.

    Examples
    --------
    >>> Top(8, None, "relu", 0.1)(torch.randn(2, 8)).shape, Top(8, 4, "relu", 0.1).width
    (torch.Size([2, 8]), 4)
    """

    def __init__(self, in_features: int, hidden: int | None, activation: str, dropout: float) -> None:
        super().__init__()
        self.width = in_features if hidden is None else hidden
        self.linear = nn.Identity() if hidden is None else nn.Linear(in_features, hidden)
        self.activation = ACTIVATIONS[activation]()
        self.dropout = nn.Dropout(dropout)

    def forward(self, input: Tensor) -> Tensor:  # noqa: A002 - torch's name
        """Return the outputs (n, width) of vectors (n, in_features)."""
        return self.dropout(self.activation(self.linear(input)))


def lecun_scale(n_inputs: int) -> float:
    """Return the standard deviation of weights that keeps the variance of this many inputs of variance 1."""
    return 1 / math.sqrt(max(n_inputs, 1))


def dense_rows(n_columns: int, ids: Tensor, offsets: Tensor, values: Tensor) -> Tensor:
    """Return sparse rows, given as what a `Bag` takes, as a matrix (n, n_columns).

    Examples
    --------
    >>> dense_rows(3, torch.tensor([0, 2, 1]), torch.tensor([0, 2]), torch.tensor([1.0, 5.0, 2.0]))
    tensor([[1., 0., 5.],
            [0., 2., 0.]])
    """
    ends = torch.cat([offsets[1:], offsets.new_tensor([len(ids)])])
    rows = torch.repeat_interleave(torch.arange(len(offsets), device=ids.device), ends - offsets, output_size=len(ids))
    return values.new_zeros(len(offsets), n_columns).index_put_((rows, ids), values, accumulate=True)
