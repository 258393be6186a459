"""How an imported layer is read: by its own rule, thresholds and domain, unless others are asked for."""

from dataclasses import dataclass
from typing import Any

from labelproof.importers import ImportedLayer

__all__ = ["AS_FOUND", "Assumptions", "assume"]

AS_FOUND = "as found"
"""The rule, thresholds or domain that the model itself tells of."""


@dataclass(frozen=True, eq=False)
class Assumptions:
    """Rule, thresholds and domain in the form of `labelproof.verify`, and why the domain is what it is."""

    rule: Any
    thresholds: Any
    domain: Any
    domain_reason: str


def assume(
    layer: ImportedLayer, *, rule: Any = AS_FOUND, thresholds: Any = AS_FOUND, domain: Any = AS_FOUND
) -> Assumptions:
    """Return what is assumed of a layer; the model's own thresholds go with its own rule."""
    if not _is_as_found(rule):
        chosen = rule, None if _is_as_found(thresholds) else thresholds
    else:
        chosen = (layer.rule, layer.thresholds) if _is_as_found(thresholds) else ("sigmoid", thresholds)
    if _is_as_found(domain):
        return Assumptions(*chosen, layer.domain, layer.domain_reason)
    return Assumptions(*chosen, domain, "These inputs were asked for.")


def _is_as_found(value: Any) -> bool:
    return isinstance(value, str) and value == AS_FOUND
