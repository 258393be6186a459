"""The front door of the verifier: check the arguments, decide, pack the evidence."""

from dataclasses import replace
from functools import partial
from numbers import Integral, Real
from typing import Any, Literal, Protocol

import numpy as np
import scipy.sparse

from labelproof.foundation.progress import progress_bar
from labelproof.proof.labels import LabelSets, read_label_sets
from labelproof.proof.radius_bounds import LEAST_BOX, MOST_BOX
from labelproof.proof.regions import Domain, OutputLayer, Rule, Ties, make_layer
from labelproof.proof.result import Verification
from labelproof.proof.sparse_weights import SparseWeight
from labelproof.search.few_features import has_features_to_spare, searches_in_columns
from labelproof.search.findings import pack
from labelproof.search.narrow_bounds import decide_narrow_first
from labelproof.search.radius import as_floats, measure_radii
from labelproof.search.whitened import decide_by_candidates_first

__all__ = ["DecisionRule", "verify"]


class DecisionRule(Protocol):
    """What `verify` needs of a fitted decision rule: the system of inequalities that its label sets satisfy."""

    @property
    def geometry(self) -> Any:
        """A `labelproof.decisions.Geometry`, or None if no system describes the rule."""


def verify(
    weight: Any,
    labels: Any,
    *,
    bias: Any = None,
    thresholds: Any = None,
    rule: Rule | DecisionRule = "sigmoid",
    ties: Ties = "open",
    domain: Domain = None,
    radius: bool = False,
    box: float = 1e4,
    eps: float = 1e-8,
    certify: bool = True,
    n_jobs: int | None = None,
    engine: Literal["local"] = "local",
    time_limit: float | None = None,
    progress: bool = False,
) -> Verification:
    """Decide for each label set whether the classifier can ever predict it, with a proof.

    Parameters
    ----------
    weight
        Output layer of shape (n_labels, d), of at most 64 bits a number, as an array or a scipy sparse matrix. The
        stored numbers are taken as exact. A sparse matrix stays sparse on bounded domains with thousands of features;
        elsewhere, and for radii, a dense copy is made.
    labels
        Label sets: bool or 0/1 array (n_sets, n_labels), scipy sparse matrix of that shape, or a list of lists of
        active label indices.
    bias
        Shape (n_labels,), or None.
    thresholds
        Probabilities at which the labels switch on, one number or shape (n_labels,); with rule="sigmoid" only.
        Default ½.
    rule
        "sigmoid": a label is active iff its logit is positive (or over its threshold). "topk": the active labels
        have the largest logits. "sparsemax": the active labels are the support of sparsemax. Or a fitted rule of
        `labelproof.decisions` whose ``geometry`` is one of these, with its own thresholds or temperature.
    ties
        "open": all inequalities are strict, so a set that occurs only on a boundary does not count. "inactive": an
        inactive label may sit on the boundary, which is what ``logits > 0`` computes.
    domain
        Which features the layer can get: None (all), "nonnegative" (after a ReLU), (low, high), each a number or of
        shape (d,), ±inf allowed; "unit" or ("unit", radius), nonnegative ones of norm ≤ 1 or radius (rows of TF-IDF);
        ("ball", radius) or ("ball", radius, centre); or ("blocks", [(n_features, domain), ...]), a domain for each of
        several parts. A region that only touches a ball may stay undecided.
    radius
        Also measure the Chebyshev radius of each argmaxable set's region, as in the paper's linear programme: the
        largest ε such that some x has every label at a distance ≥ ε from its boundary, |x_j| ≤ ``box``, within the
        domain. For rule="sigmoid" only. ``v.radius`` and ``v.radius_upper`` are proven bounds.
    box
        Bound on the features for the radius; without a bias the radius is proportional to it.
    eps
        What ``v.eps_argmaxable`` compares the radius with. No verdict depends on box or eps.
    certify
        Keep the evidence. With False every verdict is still proven when it is found, but only the status is kept.
    n_jobs
        Threads; default: the cores that this process may use.
    engine
        Where to run; "local" is the only one.
    time_limit
        Seconds for one label set, after which it is undecided; None for no limit.
    progress
        Show a progress bar on standard error.

    Returns
    -------
    Verification
        ``status`` (1 argmaxable, 0 unargmaxable, -1 undecided), and a certificate for each label set by index.

    Examples
    --------
    Three labels on two features: of the eight label sets two cannot be predicted, whatever the input.

    >>> import numpy as np
    >>> weight = np.array([[1.0, 0.0], [0.0, 1.0], [-1.0, -1.0]])
    >>> v = verify(weight, [[], [0], [0, 1], [0, 1, 2]])
    >>> v.status
    array([0, 1, 1, 0], dtype=int8)
    >>> v[3].conflict, v[3].multipliers
    ((0, 1, 2), (1, 1, 1))
    >>> v.check()
    """
    if engine != "local":
        raise ValueError(f"engine must be 'local', got {engine!r}")
    if n_jobs is not None and not (isinstance(n_jobs, Integral) and n_jobs >= 1):
        raise ValueError(f"n_jobs must be a positive number of threads, got {n_jobs}")
    if time_limit is not None and not (isinstance(time_limit, Real) and time_limit >= 0):
        raise ValueError(f"time_limit must be a number of seconds, got {time_limit}")
    if radius and not certify:
        raise ValueError("radius must come with certify=True, since the bounds are part of the evidence")
    if not (isinstance(box, Real) and LEAST_BOX <= box <= MOST_BOX):
        raise ValueError(f"box must be a positive number, from {LEAST_BOX} to {MOST_BOX}, got {box}")
    if not (isinstance(eps, Real) and 0 <= eps < float("inf")):
        raise ValueError(f"eps must be a number ≥ 0, got {eps}")
    kept = SparseWeight(weight) if scipy.sparse.issparse(weight) else weight
    layer = _layer(kept, rule, bias=bias, thresholds=thresholds, ties=ties, domain=domain)
    if radius or not (searches_in_columns(layer) or has_features_to_spare(layer)):
        layer = layer.dense()
    if radius and layer.rule != "sigmoid":
        raise ValueError(f"radius goes with rule='sigmoid' only, got rule={layer.rule!r}")
    if radius and layer.balls:
        raise ValueError("radius goes with domains of bounds only, got features in a ball")
    sets = read_label_sets(labels, layer.n_labels)
    _require_size(sets, rule)
    with progress_bar("verifying", len(sets), show=progress) as advance:
        how = {"n_jobs": n_jobs, "advance": advance}
        search = partial(decide_narrow_first, layer, time_limit=time_limit, **how)
        evidence = decide_by_candidates_first(layer, sets, search, **how)
    v = replace(pack(layer, sets, evidence, keep=certify), eps=float(eps))
    if not radius:
        return v
    points = {i: as_floats(e.witness) for i, e in enumerate(evidence) if e.witness is not None}
    with progress_bar("measuring radii", len(points), show=progress) as advance:
        return replace(v, radii=measure_radii(layer, sets, points, float(box), n_jobs, advance))


def _layer(weight: Any, rule: Rule | DecisionRule, *, thresholds: Any, **options: Any) -> OutputLayer:
    """Hold the classifier exactly, with the cuts or the temperature of a decision rule."""
    if isinstance(rule, str) or not hasattr(rule, "geometry"):
        return make_layer(weight, rule=rule, thresholds=thresholds, **options)  # type: ignore[arg-type] # it says which
    geometry = rule.geometry
    if geometry is None:
        raise ValueError(f"rule must have label sets that linear inequalities describe, got {type(rule).__name__}")
    if thresholds is not None:
        raise ValueError(f"thresholds must be left to the rule, got both thresholds and {type(rule).__name__}")
    cuts = geometry.logit_cuts(np.shape(weight)[0]) if geometry.rule == "sigmoid" else None
    return make_layer(weight, rule=geometry.rule, theta=cuts, temperature=geometry.temperature or 1.0, **options)


def _require_size(sets: LabelSets, rule: Rule | DecisionRule) -> None:
    """Refuse sets that a rule never gives because it gives as many labels to every example."""
    size = getattr(getattr(rule, "geometry", None), "size", None)
    other = [] if size is None else np.flatnonzero(np.diff(sets.indptr) != size).tolist()
    if other:
        first, name = other[0], type(rule).__name__
        raise ValueError(f"labels must have the {size} labels that {name} gives, got {len(sets[first])} in set {first}")
