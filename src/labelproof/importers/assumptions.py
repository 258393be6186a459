"""How an imported layer is read: by its own rule, thresholds and domain, unless others are asked for."""

from dataclasses import dataclass
from typing import Any

from labelproof.importers.layer import ImportedLayer
from labelproof.proof.regions import Ties

__all__ = ["AS_FOUND", "Assumptions", "Reading", "assume"]

AS_FOUND = "as found"
"""The rule, thresholds or domain that the model itself tells of."""


@dataclass(frozen=True, eq=False)
class Reading:
    """How label sets are to be read from logits, in the form of `labelproof.verify`; by default as the model tells."""

    rule: Any = AS_FOUND
    thresholds: Any = AS_FOUND
    ties: Ties = "inactive"
    domain: Any = AS_FOUND

    @property
    def is_domain_found(self) -> bool:
        """Whether the features are those that the model tells of, which real inputs may narrow down."""
        return _is_as_found(self.domain)

    def options(self) -> dict[str, Any]:
        """Return the keywords of `labelproof.verify` and its like; what is as found only a reader of models takes."""
        return {"rule": self.rule, "thresholds": self.thresholds, "ties": self.ties, "domain": self.domain}


@dataclass(frozen=True, eq=False)
class Assumptions:
    """Rule, thresholds and domain in the form of `labelproof.verify`, and why the domain is what it is.

    ``size`` is the number of labels of every output, where the rule fixes it.
    """

    rule: Any
    thresholds: Any
    domain: Any
    domain_reason: str
    size: int | None = None


def assume(layer: ImportedLayer, reading: Reading) -> Assumptions:
    """Return what is assumed of a layer; the model's own thresholds go with its own rule."""
    rule, thresholds, domain = reading.rule, reading.thresholds, reading.domain
    if not _is_as_found(rule):
        chosen = rule, None if _is_as_found(thresholds) else thresholds
    else:
        chosen = (layer.rule, layer.thresholds) if _is_as_found(thresholds) else ("sigmoid", thresholds)
    size = getattr(getattr(chosen[0], "geometry", None), "size", None)
    if _is_as_found(rule) and _is_as_found(thresholds):
        size = layer.size or size
    if _is_as_found(domain):
        return Assumptions(*chosen, layer.domain, layer.domain_reason, size)
    return Assumptions(*chosen, domain, "These inputs were asked for.", size)


def _is_as_found(value: Any) -> bool:
    return isinstance(value, str) and value == AS_FOUND
