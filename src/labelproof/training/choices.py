"""The kinds of encoders, losses and decision rules that a configuration can name, and the objects that it then means.

Options are those of the object's own constructor, so that a new option of a loss is one of the configuration too.
"""

import inspect
import math
from collections.abc import Callable, Mapping
from typing import Any

from torch import nn

from labelproof import decisions, encoders, losses
from labelproof.losses import fenchel_young

__all__ = [
    "CUTS",
    "DECISIONS",
    "LOSSES",
    "build_loss",
    "build_rule",
    "check_encoder",
    "decision_options",
    "encoder_options",
    "learns_from_data",
    "loss_options",
]

LOSSES: dict[str, Callable[..., nn.Module]] = {
    "bce": losses.BinaryCrossEntropyLoss,
    "focal": losses.FocalLoss,
    "asl": losses.AsymmetricLoss,
    "apl": losses.AsymmetricPolynomialLoss,
    "hill": losses.HillLoss,
    "splc": losses.SPLCLoss,
    "zlpr": losses.ZLPRLoss,
    "two-way": losses.TwoWayLoss,
    "soft-top-k": losses.SoftTopKLoss,
    "sigmoid-f1": losses.SigmoidF1Loss,
    "unbounded-f1": losses.UnboundedF1Loss,
    "confusion": losses.ConfusionLoss,
    "sparsemax": fenchel_young.SparsemaxLoss,
    "entmax": fenchel_young.EntmaxLoss,
    "pick-all-labels": fenchel_young.PickAllLabelsLoss,
}
DISTRIBUTIONS = ("sparsemax", "entmax", "pick-all-labels")  # losses that spread one unit over the labels
NOT_FOR_TEXT = {"reduction", "process_group", "label_weight", "ignore_index"}  # tensors, or ours to set


def _fixed(threshold: float = 0.5) -> decisions.Rule:
    if not 0 < threshold < 1:
        raise ValueError(f"threshold must be a probability between 0 and 1, got {threshold}")
    return decisions.Threshold(math.log(threshold / (1 - threshold)), scores="logits")


def _global(metric: str = "micro-f1") -> decisions.Rule:
    return decisions.Threshold(metric=metric, scores="logits")


DECISIONS: dict[str, Callable[..., decisions.Rule]] = {
    "fixed": _fixed,
    "global": _global,
    "per-label": decisions.PerLabelThreshold,
    "threshold-averaging": decisions.ThresholdAveraging,
    "top-k": decisions.TopK,
    "label-count": decisions.LabelCount,
    "sparsemax-support": decisions.SparsemaxSupport,
    "softmax-threshold": decisions.SoftmaxThreshold,
    "expected-f": decisions.ExpectedF,
    "macro-top-k": decisions.MacroTopK,
}
CUTS = ("fixed", "global", "per-label", "threshold-averaging")  # rules with thresholds
SHRINKAGE = 5.0
LEARN_NOTHING = ("fixed", "top-k", "expected-f")
GIVEN = {"sparsemax-support": "t", "softmax-threshold": "threshold"}  # rules that learn nothing where this is given


def loss_options(kind: str) -> set[str]:
    """Return the names of a loss's options.

    >>> sorted(loss_options("focal"))
    ['alpha', 'gamma', 'grad_through_weights']
    """
    return _parameters(LOSSES[kind]) - NOT_FOR_TEXT


def decision_options(kind: str) -> set[str]:
    """Return the names of a decision rule's options.

    >>> sorted(decision_options("top-k"))
    ['k']
    """
    return _parameters(DECISIONS[kind]) - {"scores"}


def encoder_options(kind: str) -> set[str]:
    """Return the names of an encoder's options."""
    return _parameters(encoders.KINDS[kind].Options)


def check_encoder(kind: str, options: Mapping[str, Any]) -> None:
    """Refuse options of an encoder whose values make no sense."""
    encoders.KINDS[kind].Options(**options)


def build_loss(kind: str, options: Mapping[str, Any], *, n_labels: int = 2) -> nn.Module:
    """Return the loss of this kind.

    >>> type(build_loss("focal", {"gamma": 1.0})).__name__
    'FocalLoss'
    """
    if kind in DISTRIBUTIONS and n_labels < 2:
        raise ValueError(f"loss {kind!r} compares labels with each other and needs at least two, got {n_labels}")
    return LOSSES[kind](**options)


def build_rule(kind: str, options: Mapping[str, Any], *, cardinality: float = 1.0) -> decisions.Rule:
    """Return the decision rule of this kind, not fitted; it decides on logits.

    Parameters
    ----------
    kind
        One of `DECISIONS`.
    options
        Its options.
    cardinality
        Mean number of labels of a training example: rounded, it is the k of rules that need one and are given none.

    Notes
    -----
    Thresholds of labels with few positives in the validation part are pulled towards the common one, as if that had
    been seen `SHRINKAGE` times: their own are mostly chance.

    Examples
    --------
    >>> build_rule("top-k", {}, cardinality=2.4)
    TopK(k=2)
    """
    maker = DECISIONS[kind]
    defaults = {"k": max(1, round(cardinality)), "beta": 1.0, "shrinkage": SHRINKAGE, "scores": "logits"}
    given = {name: value for name, value in defaults.items() if name in _parameters(maker)}
    rule = maker(**{**given, **options})
    rule.check_options()
    return rule


def learns_from_data(kind: str, options: Mapping[str, Any]) -> bool:
    """Return whether a decision rule learns something from data, which must then not be training data.

    >>> learns_from_data("per-label", {}), learns_from_data("sparsemax-support", {"t": 1.0})
    (True, False)
    """
    return kind not in LEARN_NOTHING and not (kind in GIVEN and options.get(GIVEN[kind]) is not None)


def _parameters(maker: Callable[..., Any]) -> set[str]:
    return set(inspect.signature(maker).parameters)
