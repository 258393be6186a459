"""What the report says about the audited layer itself."""

import numpy as np
import numpy.typing as npt

from labelproof.auditing.document import LayerFacts
from labelproof.auditing.rank import rank_bounds
from labelproof.importers import ImportedLayer
from labelproof.verification.regions import OutputLayer, exact_offset
from labelproof.verification.store import sha256_of

__all__ = ["constant_labels", "describe_domain", "layer_facts"]


def layer_facts(found: ImportedLayer, layer: OutputLayer, *, domain_reason: str) -> LayerFacts:
    """Describe the layer that was found, and how it is read: its rule, its ties and which inputs it may get."""
    always, never = constant_labels(layer)
    lower, upper = rank_bounds(layer.weight)
    return {
        "model": found.model,
        "kind": found.kind,
        "source": found.source,
        "n_labels": layer.n_labels,
        "n_features": layer.d,
        "dtype": found.dtype,
        "rank": lower if lower == upper else None,
        "rank_at_least": lower,
        "bias": found.bias is not None,
        "before": found.before,
        "domain": describe_domain(layer),
        "domain_reason": domain_reason,
        "rule": layer.rule,
        "ties": layer.ties,
        "thresholds": _describe_thresholds(layer),
        "sha256": sha256_of(layer.weight),
        "always_active": always,
        "never_active": never,
        "notes": list(found.notes),
    }


def constant_labels(layer: OutputLayer) -> tuple[list[int], list[int]]:
    """Return the labels that every input, or that no input, switches on because their weights are all zero."""
    if layer.rule != "sigmoid":
        return [], []
    constant = np.flatnonzero((layer.weight == 0).all(axis=1)).tolist()
    always = [i for i in constant if exact_offset(layer, i) > 0]
    return always, [i for i in constant if i not in set(always)]


def describe_domain(layer: OutputLayer) -> str:
    """Say which inputs the layer may get.

    Examples
    --------
    >>> from labelproof.verification.regions import make_layer
    >>> describe_domain(make_layer([[1.0]], domain=(-1, 1)))
    'inputs within [-1, 1]'
    """
    if layer.low is None and layer.high is None:
        return "every input"
    low, high = _common(layer.low, -np.inf), _common(layer.high, np.inf)
    if low == 0.0 and high == np.inf:
        return "nonnegative inputs"
    if low is None or high is None:
        return "inputs within a box of its own for each feature"
    return f"inputs within [{low:g}, {high:g}]"


def _common(bounds: npt.NDArray[np.float64] | None, default: float) -> float | None:
    """Return the bound that all features share, None if they differ."""
    if bounds is None:
        return default
    return float(bounds[0]) if (bounds == bounds[0]).all() else None


def _describe_thresholds(layer: OutputLayer) -> str:
    if layer.rule != "sigmoid" or layer.theta is None or not layer.theta.any():
        return "½" if layer.rule == "sigmoid" else "none"
    if (layer.theta == layer.theta[0]).all():
        return f"{1 / (1 + np.exp(-layer.theta[0])):.4g}"
    return "one for each label"
