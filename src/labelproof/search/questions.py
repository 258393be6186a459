"""What is asked about label sets: a layer and options, checked once; and the answer for some of the sets."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from numbers import Real
from typing import Any, Protocol

import numpy as np
import scipy.sparse

from labelproof.foundation.progress import progress_bar
from labelproof.proof.labels import LabelSets, read_label_sets
from labelproof.proof.radius_bounds import LEAST_BOX, MOST_BOX
from labelproof.proof.regions import Domain, OutputLayer, Rule, Ties, make_layer
from labelproof.proof.result import Verification
from labelproof.proof.samples import Sample, choose_sets
from labelproof.proof.sparse_weights import SparseWeight
from labelproof.search.close_bounds import decide_close_bounds_first
from labelproof.search.few_features import as_searched
from labelproof.search.findings import pack
from labelproof.search.radius import as_floats, measure_radii
from labelproof.search.whitened import Candidates, decide_by_candidates_first

__all__ = ["DecisionRule", "Question", "ask", "layer_with_rule"]


class DecisionRule(Protocol):
    """What `verify` needs of a fitted decision rule: the system of inequalities that its label sets satisfy."""

    @property
    def geometry(self) -> Any:
        """A `labelproof.decisions.Geometry`, or None if no system describes the rule."""


@dataclass(frozen=True, eq=False)
class Question:
    """What is asked about every label set; ``box`` is None where no radius is. The rest is as for `verify`."""

    layer: OutputLayer
    box: float | None
    eps: float
    certify: bool
    time_limit: float | None
    size: int | None = None  # of the label sets, where the rule gives only such
    rule_name: str = ""
    candidates: Candidates | None = None  # where these are for many blocks

    def read(self, labels: Any, sample: int | None, seed: int) -> tuple[LabelSets, Sample | None]:
        """Read label sets, all or a random sample, and refuse those that the rule never gives for their size."""
        sets = read_label_sets(labels, self.layer.n_labels)
        other = [] if self.size is None else np.flatnonzero(np.diff(sets.indptr) != self.size).tolist()
        if other:
            got = f"{len(sets[other[0]])} in set {other[0]}"
            raise ValueError(f"labels must have the {self.size} labels that {self.rule_name} gives, got {got}")
        if sample is None:
            return sets, None
        return sets.take(choose_sets(len(sets), sample, seed).tolist()), Sample(len(sets), int(seed))

    def answer(
        self,
        sets: LabelSets,
        *,
        n_jobs: int | None = None,
        advance: Callable[[int], None] = lambda _: None,
        progress: bool = False,
    ) -> Verification:
        """Decide some label sets, with proofs; ``progress`` shows a bar while radii are measured."""
        how: dict[str, Any] = {"n_jobs": n_jobs, "advance": advance}
        search = partial(decide_close_bounds_first, self.layer, time_limit=self.time_limit, **how)
        evidence = decide_by_candidates_first(self.layer, sets, search, candidates=self.candidates, **how)
        v = replace(pack(self.layer, sets, evidence, keep=self.certify), eps=self.eps)
        if self.box is None:
            return v
        points = {i: as_floats(e.witness) for i, e in enumerate(evidence) if e.witness is not None}
        with progress_bar("measuring radii", len(points), show=progress) as step:
            return replace(v, radii=measure_radii(self.layer, sets, points, self.box, n_jobs, step))


def ask(
    weight: Any,
    *,
    bias: Any,
    thresholds: Any,
    rule: Rule | DecisionRule,
    ties: Ties,
    domain: Domain,
    radius: bool,
    box: float,
    eps: float,
    certify: bool,
    time_limit: float | None,
) -> Question:
    """Check the arguments of `verify` and hold the classifier exactly."""
    if time_limit is not None and not (isinstance(time_limit, Real) and time_limit >= 0):
        raise ValueError(f"time_limit must be a number of seconds, got {time_limit}")
    if radius and not certify:
        raise ValueError("radius must come with certify=True, since the bounds are part of the evidence")
    if not (isinstance(box, Real) and LEAST_BOX <= box <= MOST_BOX):
        raise ValueError(f"box must be a positive number, from {LEAST_BOX} to {MOST_BOX}, got {box}")
    if not (isinstance(eps, Real) and 0 <= eps < float("inf")):
        raise ValueError(f"eps must be a number ≥ 0, got {eps}")
    kept = SparseWeight(weight) if scipy.sparse.issparse(weight) else weight
    layer = layer_with_rule(kept, rule, bias=bias, thresholds=thresholds, ties=ties, domain=domain)
    layer = layer.dense() if radius else as_searched(layer)
    if radius and layer.rule != "sigmoid":
        raise ValueError(f"radius goes with rule='sigmoid' only, got rule={layer.rule!r}")
    if radius and layer.balls:
        raise ValueError("radius goes with domains of bounds only, got features in a ball")
    size = getattr(getattr(rule, "geometry", None), "size", None)
    return Question(layer, float(box) if radius else None, float(eps), certify, time_limit, size, type(rule).__name__)


def layer_with_rule(weight: Any, rule: Rule | DecisionRule, *, thresholds: Any, **options: Any) -> OutputLayer:
    """Hold the classifier exactly, with the cuts or the temperature of a decision rule; see `make_layer`."""
    if isinstance(rule, str) or not hasattr(rule, "geometry"):
        return make_layer(weight, rule=rule, thresholds=thresholds, **options)  # type: ignore[arg-type] # it says which
    geometry = rule.geometry
    if geometry is None:
        raise ValueError(f"rule must have label sets that linear inequalities describe, got {type(rule).__name__}")
    if thresholds is not None:
        raise ValueError(f"thresholds must be left to the rule, got both thresholds and {type(rule).__name__}")
    cuts = geometry.logit_cuts(np.shape(weight)[0]) if geometry.rule == "sigmoid" else None
    return make_layer(weight, rule=geometry.rule, theta=cuts, temperature=geometry.temperature or 1.0, **options)
