"""Sums of chosen rows of a matrix, forwards and backwards by gathering: the product with a matrix of 0 and 1."""

from typing import Any

import torch
from torch import Tensor
from torch.nn import functional as F  # noqa: N812 - its usual name

__all__ = ["sum_rows"]


def sum_rows(values: Tensor, bags: tuple[Tensor, Tensor], back: tuple[Tensor, Tensor]) -> Tensor:
    """Return for each bag the sum of its rows of ``values``.

    Parameters
    ----------
    values : Tensor (n_rows, width)
        What to add up.
    bags : (indices, starts)
        The rows of all bags, one bag after the other, and where each starts.
    back : (indices, starts)
        The same from the side of the rows: in which bags each of them is. The gradient gathers along these.

    Returns
    -------
    Tensor (n_bags, width)
    """
    if torch.compiler.is_compiling():
        return F.embedding_bag(bags[0], values, bags[1], mode="sum")
    summed: Tensor = _SumRows.apply(values, *bags, *back)  # type: ignore[no-untyped-call]
    return summed


class _SumRows(torch.autograd.Function):
    """Linear in the values, so that its derivative of any order is the same thing with the sides swapped."""

    @staticmethod
    def forward(
        ctx: Any, values: Tensor, indices: Tensor, starts: Tensor, back_indices: Tensor, back_starts: Tensor
    ) -> Tensor:
        ctx.bags, ctx.back = (indices, starts), (back_indices, back_starts)
        return F.embedding_bag(indices, values, starts, mode="sum")

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, None, None, None, None]:
        return sum_rows(gradient.contiguous(), ctx.back, ctx.bags), None, None, None, None
