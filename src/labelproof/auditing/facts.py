"""What the report says about the audited layer itself."""

import numpy as np
import numpy.typing as npt

from labelproof.auditing.document import LayerFacts
from labelproof.auditing.rank import rank_bounds
from labelproof.importers import ImportedLayer
from labelproof.proof.regions import OutputLayer, exact_offset
from labelproof.proof.sparse_weights import row_blocks, sha256_of

__all__ = ["constant_labels", "describe_domain", "layer_facts"]

Floats = npt.NDArray[np.float64]


def layer_facts(found: ImportedLayer, layer: OutputLayer, *, domain_reason: str, steady: int = 0) -> LayerFacts:
    """Describe the layer that was found, and how it is read: its rule, its ties and which inputs it may get.

    ``steady`` features are held within their range in real inputs.
    """
    always, never = constant_labels(layer)
    lower, upper = rank_bounds(layer.stored)
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
        "domain": describe_domain(layer, steady=steady),
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
    """Return the labels that every input of the domain switches on, and those that none does, as far as bounds tell.

    Examples
    --------
    >>> from labelproof.proof.regions import make_layer
    >>> constant_labels(make_layer([[1.0, 2.0], [-1.0, 0.0]], bias=[0.5, 0.0], domain="nonnegative"))
    ([0], [1])
    """
    if layer.rule != "sigmoid":
        return [], []
    low = np.full(layer.d, -np.inf) if layer.low is None else layer.low
    high = np.full(layer.d, np.inf) if layer.high is None else layer.high
    least, most = _bounds(layer, low, high), -_bounds(layer, high, low, sign=-1.0)
    always = [i for i in np.flatnonzero(least >= 0).tolist() if least[i] > 0 or exact_offset(layer, i) > 0]
    never = [i for i in np.flatnonzero(most <= 0).tolist() if most[i] < 0 or exact_offset(layer, i) <= 0]
    return always, never


def _bounds(layer: OutputLayer, low: Floats, high: Floats, sign: float = 1.0) -> Floats:
    """Return a lower bound of sign times each logit; 0 where weights add nothing, so that the exact offset decides."""
    offset = np.zeros(layer.n_labels) if layer.offset is None else sign * layer.offset
    found: list[Floats] = []
    for weight in row_blocks(layer.weight):
        start = sum(map(len, found))
        found.append(_bounds_of_rows(weight, offset[start : start + len(weight)], low, high, sign))
    return np.concatenate(found)


def _bounds_of_rows(weight: Floats, offset: Floats, low: Floats, high: Floats, sign: float) -> Floats:
    with np.errstate(invalid="ignore", over="ignore"):
        terms = sign * np.where(weight > 0, weight * low, weight * high)
        terms[weight == 0] = 0.0
        sizes = np.abs(terms).sum(axis=1) + np.abs(offset)
        bounds = terms.sum(axis=1) + offset - (weight.shape[1] + 4) * 2.0**-52 * sizes
    bounds[~(terms != 0).any(axis=1)] = 0.0
    return np.where(np.isnan(bounds), -np.inf, bounds)


def describe_domain(layer: OutputLayer, *, steady: int = 0) -> str:
    """Say which inputs the layer may get; ``steady`` features are held within their range in real ones.

    Examples
    --------
    >>> from labelproof.proof.regions import make_layer
    >>> describe_domain(make_layer([[1.0]], domain=(-1, 1)))
    'inputs within [-1, 1]'
    >>> describe_domain(make_layer([[1.0]], domain="unit"))
    'nonnegative inputs within 1 of 0'
    """
    if steady:
        features = (
            f"{steady} features that hardly vary stay in their"
            if steady > 1
            else "one feature that hardly varies stays in its"
        )
        return f"inputs whose {features} range"
    if layer.balls:
        whole = len(layer.balls) == 1 and layer.balls[0].stop - layer.balls[0].start == layer.d
        centre = "" if not any(ball.centre.any() for ball in layer.balls) else " of a centre"
        signed = "nonnegative inputs" if layer.low is not None and not layer.low.any() else "inputs"
        radius = f"within {layer.balls[0].radius:.6g}{centre or ' of 0'}" if whole else "within balls of some features"
        return f"{signed} {radius}"
    low, high = _common(layer.low, -np.inf), _common(layer.high, np.inf)
    if (low, high) == (-np.inf, np.inf):
        return "every input"
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
