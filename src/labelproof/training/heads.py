"""The head that a configuration means, for an encoder's width and the labels of the training data."""

import math
import warnings
from typing import Any, Literal

import numpy as np
import torch
from torch import Tensor, nn

from labelproof.heads import BottleneckHead, CodeHead, DFTHead, GaussianHead, HarmonicHead, choose
from labelproof.heads.choosing import widest
from labelproof.heads.order import spread_order
from labelproof.heads.start import start_at
from labelproof.theory.codes import Code
from labelproof.training.config import HeadConfig

__all__ = ["Head", "LinearHead", "build_head", "resolve_head"]

SLACK = 50
BOTTLENECK = 100
COLUMNS_PER_STAGE = 5  # a transform of length n costs about as much as a product with 5·log2(n) columns


class LinearHead(nn.Module):
    """One linear layer on the encoder's output, after a ReLU if asked: the layer that most models end in.

    Parameters
    ----------
    in_features
        Width of the encoder's output.
    n_labels
        Number of labels.
    relu
        Cut the encoder's output at 0. Features are then nonnegative, which `labelproof.verify` must be told.
    bias
        Whether every label has a bias.
    start
        Expected number of active labels k: every label begins near the probability k/n. It needs the bias.

    Examples
    --------
    >>> import torch
    >>> LinearHead(8, 100, start=3)(torch.zeros(1, 8)).sigmoid()[0, 0].item()
    0.029999997466802597
    """

    def __init__(
        self, in_features: int, n_labels: int, *, relu: bool = False, bias: bool = True, start: float | None = None
    ) -> None:
        super().__init__()
        self.in_features, self.n_labels, self.relu = in_features, n_labels, relu
        self.output = nn.Linear(in_features, n_labels, bias=bias)
        if start is not None:
            start_at(self.output, start)

    @property
    def weight(self) -> Tensor:
        """The matrix to verify, (n_labels, in_features)."""
        return self.output.weight

    @property
    def bias(self) -> Tensor | None:
        """The bias to verify, (n_labels,), or None."""
        return self.output.bias

    def forward(self, input: Tensor) -> Tensor:  # noqa: A002 - torch's name
        """Return the logits (..., n_labels) of an encoder's output (..., in_features)."""
        return self.output(input.relu() if self.relu else input)


Head = BottleneckHead | CodeHead | DFTHead | GaussianHead | HarmonicHead | LinearHead


def resolve_head(config: HeadConfig, labels: Any, in_features: int | None = None) -> HeadConfig:
    """Fill in what is to be taken from the training labels, so that the head can be built again without them.

    Parameters
    ----------
    config
        The head's options.
    labels
        CSR array (n_examples, n_labels) of the training data.
    in_features
        Width of the encoder, for the kind "guaranteed".

    Returns
    -------
    HeadConfig
        With k, slack or d. For a head of fixed columns k is the most active labels of an example, as far as 2k + 1
        columns fit into n_labels; with fewer than three labels, where none fit, the head becomes a linear one, which
        can predict every set. "guaranteed" becomes the kind that is chosen.

    Examples
    --------
    >>> import scipy.sparse
    >>> resolve_head(HeadConfig(slack=4), scipy.sparse.csr_array(np.eye(9, dtype=bool))).options
    {'k': 1, 'slack': 4, 'scale': 1.0}
    """
    n_labels = labels.shape[1]
    if config.kind == "bottleneck":
        return config.model_copy(update={"d": min(BOTTLENECK, n_labels) if config.d is None else config.d})
    if config.kind in ("linear", "svm", "auto"):
        return config
    if n_labels < 3:
        return HeadConfig(kind="linear", start=config.start)
    k = max(1, min(_most_active(labels), (n_labels - 1) // 2)) if config.k is None else config.k
    config = config.model_copy(update={"slack": SLACK if config.slack is None else config.slack})
    if config.kind == "guaranteed":
        return _chosen(config, k, labels, in_features)
    if config.kind in ("dft", "harmonic") and 2 * k + 1 > n_labels:
        raise ValueError(f"head.k must be at most (n_labels - 1) / 2 for {n_labels} labels, got {k}")
    return _with_columns(config.model_copy(update={"k": k}), n_labels)


def _most_active(labels: Any) -> int:
    return int(np.diff(labels.indptr).max(initial=1))


def _chosen(config: HeadConfig, k: int, labels: Any, in_features: int | None) -> HeadConfig:
    """Return the configuration of the head with the strongest guarantee; a k that was not given may be lowered."""
    n_labels, slack = labels.shape[1], config.slack or 0
    room = min(one for one in (n_labels + 1, config.columns, in_features and in_features - slack) if one is not None)
    fits = k if config.k is not None else min(k, widest(n_labels, room))
    if 0 < fits < k:
        covered = float((np.diff(labels.indptr) <= fits).mean())
        warnings.warn(
            f"the guarantee is for sets of up to {fits} labels, {covered:.1%} of the training examples, not for up to "
            f"{k}: the encoder is too narrow for more",
            stacklevel=2,
        )
    choice = choose(n_labels, fits or k, config.columns, in_features, slack=slack)
    kind = HeadConfig(kind=choice.kind, k=choice.k, slack=slack, start=config.start or k)
    if choice.code is None:
        return _with_columns(kind.model_copy(update={"columns": choice.columns - 1}), n_labels)
    code = (choice.code.q, choice.code.coefficients, choice.code.length)
    return _with_columns(kind.model_copy(update={"code": code}), n_labels)


def _with_columns(config: HeadConfig, n_labels: int) -> HeadConfig:
    """Fill in what decides the fixed columns, so that a later version that would choose others builds the same."""
    with warnings.catch_warnings(), torch.random.fork_rng(devices=[], enabled=config.kind == "dft"):  # weights stay
        warnings.simplefilter("ignore")  # of an encoder of one feature, which this is not about
        head = _head(config.model_copy(update={"slack": 0}), 1, n_labels, None)
    if isinstance(head, CodeHead):
        code = (head.code.q, head.code.coefficients, head.code.length)
        return config.model_copy(update={"code": code, "columns": None, "scale": head.scale})
    if isinstance(head, GaussianHead):
        return config.model_copy(update={"columns": head.n_fixed - 1, "scale": head.scale})
    return config.model_copy(update={"random": getattr(head, "random", None), "scale": getattr(head, "scale", None)})


def build_head(config: HeadConfig, in_features: int, n_labels: int, labels: Any = None) -> Head:
    """Return the head of a resolved configuration, with weights from torch's generator.

    One that is too large for memory is a ValueError.

    Parameters
    ----------
    config
        As `resolve_head` returns it.
    in_features, n_labels
        Its sizes.
    labels
        CSR array of the training labels, for ``order="spread"``; None where a state dict follows, which has the order.
    """
    if config.kind in ("dft", "harmonic") and config.scale is None:  # a model of the time when 1 was the default
        config = config.model_copy(update={"scale": 1.0})
    try:
        return _head(config, in_features, n_labels, labels)
    except RuntimeError as error:  # what torch raises
        raise ValueError(f"head must fit into memory, got {str(error).splitlines()[0]}") from error


def dft_path(k: int, n_labels: int, nodes: str | None) -> Literal["fft", "dense"]:
    """Return how a DFT head computes: by counting operations, not by timing, so that a seed has one result.

    >>> dft_path(10, 1000, None), dft_path(50, 1000, None)
    ('dense', 'fft')
    """
    few = 2 * k + 1 <= COLUMNS_PER_STAGE * math.log2(n_labels)
    return "dense" if few or nodes == "learned" else "fft"


def _head(config: HeadConfig, in_features: int, n_labels: int, labels: Any) -> Head:
    options = config.options
    if config.kind == "bottleneck":
        return BottleneckHead(in_features, n_labels, options.pop("d"), **options)
    if config.kind in ("svm", "auto"):
        return LinearHead(in_features, n_labels)
    if config.kind == "linear":
        return LinearHead(in_features, n_labels, **options)
    if config.kind in ("code", "gaussian", "harmonic"):
        return _head_with_seed(config.kind, options, in_features, n_labels)
    order = options.pop("order", None)
    places = spread_order(labels, swaps=100) if order == "spread" and labels is not None else None
    k, slack = options.pop("k"), options.pop("slack")
    path = dft_path(k, n_labels, options.get("nodes"))
    return DFTHead(in_features, n_labels, k, slack, order=places, path=path, **options)


def _head_with_seed(kind: str, options: dict[str, Any], in_features: int, n_labels: int) -> Head:
    sizes = in_features, n_labels, options.pop("k"), options.pop("slack")
    if kind == "gaussian":
        return GaussianHead(*sizes, **options)
    if kind == "harmonic":
        return HarmonicHead(*sizes, **options)
    code, columns = options.pop("code", None), options.pop("columns", None)
    return CodeHead(*sizes, code=None if code is None else Code(*code), budget=columns, **options)
