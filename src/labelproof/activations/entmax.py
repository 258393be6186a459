"""Sparsemax and α-entmax as differentiable functions and modules."""

import math

import torch
from torch import Tensor, nn

from labelproof.activations.on_any_device import MappedEntmax, TorchEntmax
from labelproof.activations.on_cpu import KernelEntmax, is_wrapped

__all__ = ["Entmax", "Sparsemax", "check_alpha", "entmax", "sparsemax"]


def sparsemax(input: Tensor, dim: int = -1) -> Tensor:  # noqa: A002 - torch's name
    """Return the Euclidean projection of the scores onto the probability simplex, which is often sparse.

    Parameters
    ----------
    input : Tensor of shape (..., n_labels, ...)
        Floating point. A score of −inf gives an exact 0 with gradient 0. Along a `dim` that holds NaN or +inf, or only
        −inf, the result and the gradient are NaN, as for softmax.
    dim : int
        The dimension that sums to 1 in the result.

    Returns
    -------
    Tensor
        Of the same shape and dtype; float16 and bfloat16 are computed in float32 and rounded once.

    Examples
    --------
    >>> sparsemax(torch.tensor([[1.0, 0.8, 0.1], [3.0, 0.0, 0.0]]))
    tensor([[0.6000, 0.4000, 0.0000],
            [1.0000, 0.0000, 0.0000]])
    """
    return entmax(input, 2.0, dim)


def entmax(input: Tensor, alpha: float = 1.5, dim: int = -1) -> Tensor:  # noqa: A002 - torch's name
    """Return α-entmax of the scores: the p of the simplex that maximises p·z + H(p) for Tsallis' entropy of order α.

    The larger α, the sparser the result: α = 1 is softmax, α = 2 is `sparsemax`.

    Parameters
    ----------
    input : Tensor of shape (..., n_labels, ...)
        As in `sparsemax`.
    alpha : float
        At least 1. It is a constant: no gradient flows to it.
    dim : int
        The dimension that sums to 1 in the result.

    Returns
    -------
    Tensor
        Of the same shape and dtype.

    Examples
    --------
    >>> entmax(torch.tensor([0.0, 0.0, -3.0]))
    tensor([0.5000, 0.5000, 0.0000])
    """
    _check(input, alpha, dim)
    if alpha == 1:
        return torch.softmax(input, dim)
    last = dim in (-1, input.dim() - 1)
    scores = input.float() if input.dtype in (torch.float16, torch.bfloat16) else input
    scores = scores if last else scores.movedim(dim, -1)
    p: Tensor = _path(scores).apply(scores, float(alpha))  # type: ignore[no-untyped-call]
    return (p if last else p.movedim(-1, dim)).to(input.dtype)


class Sparsemax(nn.Module):
    """`sparsemax` as a module.

    Parameters
    ----------
    dim : int
        The dimension that sums to 1 in the result.

    Examples
    --------
    >>> import torch
    >>> Sparsemax()(torch.tensor([2.0, 1.5, -1.0]))
    tensor([0.7500, 0.2500, 0.0000])
    """

    def __init__(self, dim: int = -1) -> None:
        super().__init__()
        self.dim = dim

    def forward(self, input: Tensor) -> Tensor:  # noqa: A002 - torch's name
        """Return `sparsemax` of the scores."""
        return sparsemax(input, self.dim)

    def extra_repr(self) -> str:
        """Return the arguments, for printing."""
        return f"dim={self.dim}"


class Entmax(nn.Module):
    """`entmax` as a module.

    Parameters
    ----------
    alpha : float
        At least 1.
    dim : int
        The dimension that sums to 1 in the result.

    Examples
    --------
    >>> import torch
    >>> Entmax(alpha=2.0)(torch.tensor([2.0, 1.5, -1.0]))
    tensor([0.7500, 0.2500, 0.0000])
    """

    def __init__(self, alpha: float = 1.5, dim: int = -1) -> None:
        super().__init__()
        check_alpha(alpha)
        self.alpha = alpha
        self.dim = dim

    def forward(self, input: Tensor) -> Tensor:  # noqa: A002 - torch's name
        """Return `entmax` of the scores."""
        return entmax(input, self.alpha, self.dim)

    def extra_repr(self) -> str:
        """Return the arguments, for printing."""
        return f"alpha={self.alpha}, dim={self.dim}"


def check_alpha(alpha: float) -> None:
    """Refuse an α that is no finite number of at least 1."""
    if not (isinstance(alpha, int | float) and 1 <= alpha < math.inf):
        raise ValueError(f"alpha must be a finite number of at least 1, got {alpha!r}")


def _path(scores: Tensor) -> type[torch.autograd.Function]:
    if torch.compiler.is_compiling():
        return TorchEntmax
    if is_wrapped(scores):
        return MappedEntmax
    return KernelEntmax if scores.device.type == "cpu" else TorchEntmax


def _check(scores: Tensor, alpha: float, dim: int) -> None:
    check_alpha(alpha)
    if not scores.dtype.is_floating_point:
        raise ValueError(f"input must be a floating-point tensor, got {scores.dtype}")
    if not -scores.dim() <= dim < scores.dim():
        raise ValueError(f"dim must be one of the {scores.dim()} dimensions of input, got {dim}")
    if scores.shape[dim] == 0:
        raise ValueError(f"input must have at least one score along dim {dim}, got shape {tuple(scores.shape)}")
