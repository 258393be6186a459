"""Which labels change first around the most central input that gives a label set."""

import time
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.optimize import nnls

from labelproof.explaining.question import Question, remaining
from labelproof.proof.certificates import Argmaxable
from labelproof.proof.margins import label_margins, margin
from labelproof.proof.regions import exact_row
from labelproof.proof.witnesses import witness_faults
from labelproof.search.findings import Finding

__all__ = ["Boundary", "closest_labels", "most_central"]

Floats = npt.NDArray[np.float64]
Indices = npt.NDArray[np.int64]
MOST_LABELS = 20


@dataclass(frozen=True)
class Boundary:
    """A label close to its boundary at the witness.

    Attributes
    ----------
    label
        Its index.
    margin
        Its signed logit at the witness, relative to the norms of its weights and of the witness.
    can_flip
        Whether the set with only this label changed is argmaxable too; None if undecided. If so, and the rule is
        sigmoid or topk, then on the straight line from the witness to one of that set (with topk's threshold moving
        along) this label changes and no other: it bounds the region of the set. If not, it never changes alone.
    """

    label: int
    margin: float
    can_flip: bool | None


def most_central(question: Question, certificate: Argmaxable) -> Argmaxable:
    """Return the certificate, or one with a larger margin if the search for the largest finds it."""
    layer, active = question.layer, question.active
    if layer.width > 256 or layer.rule == "sparsemax":
        return certificate
    order = np.argsort(label_margins(question.unit_weights, active, certificate.witness), kind="stable")
    with np.errstate(all="ignore"):  # what overflows is no witness
        x = _central_point(question, order)
    if x is None or witness_faults(layer, question.prepared.floats, question.label_sets([active]), [x]) != [None]:
        return certificate
    return max(certificate, Argmaxable(x, margin(question.unit_weights, active, x)), key=lambda one: one.margin)


def closest_labels(question: Question, certificate: Argmaxable, deadline: float) -> tuple[Boundary, ...]:
    """Return the labels closest to their boundaries at the witness, closest first, and whether each changes alone."""
    margins = label_margins(question.unit_weights, question.active, certificate.witness)
    closest = np.argsort(margins, kind="stable")[:MOST_LABELS].tolist()
    flipped = [set(question.active.tolist()) ^ {i} for i in closest]
    evidence: list[Finding] = []
    while len(evidence) < len(flipped) and time.perf_counter() < deadline:
        evidence += question.decide(flipped[len(evidence) : len(evidence) + 4], remaining(deadline))
    evidence += [Finding()] * (len(flipped) - len(evidence))
    return tuple(Boundary(i, float(margins[i]), _verdict(e)) for i, e in zip(closest, evidence, strict=True))


def _verdict(evidence: Finding) -> bool | None:
    if evidence.witness is None and evidence.conflict is None:
        return None
    return evidence.witness is not None


def _central_point(question: Question, order: Indices) -> Floats | None:
    """Return about the input with the largest margin; None if it is not easily had.

    It is the shortest v = (x, s, τ) with ±(w_i·x + offset_i·s − τ) ≥ ‖w_i‖ for every label, and s ≥ 1, in the domain:
    sought on the labels that come first, to which violated ones are added.
    """
    layer, weights = question.layer, question.unit_weights
    offset = np.zeros(layer.n_labels) if layer.offset is None else layer.offset
    columns = [weights.rows, *([np.ldexp(offset, -weights.exponents)] if layer.has_scale else [])]
    if layer.has_threshold:
        columns.append(-np.ldexp(np.ones(layer.n_labels), -weights.exponents))
    rows = np.column_stack(columns) * (question.signs / weights.norms)[:, None]
    extra = layer.extra_rows()
    others = np.array([exact_row(layer, row, question.active) for row in extra], float).reshape(-1, layer.width)
    order = order[weights.norms[order] > 0]
    chosen = order[: 4 * layer.width + 100]
    for _ in range(10):
        goals = np.append(np.ones(len(chosen)), np.equal(extra, layer.scale_row))
        v = _shortest(np.concatenate([rows[chosen], others]), goals)
        if v is None:
            return None
        values = rows[order] @ v
        if values.min(initial=np.inf) > 1 - 1e-6:
            x = v[: layer.d] / (v[layer.d] if layer.has_scale else 1.0)
            low, high = -np.inf if layer.low is None else layer.low, np.inf if layer.high is None else layer.high
            return np.clip(x, low, high)
        chosen = np.union1d(chosen, order[np.argsort(values, kind="stable")[:200]])
    return None


def _shortest(G: Floats, h: Floats) -> Floats | None:
    """Return the shortest v with G v ≥ h, by non-negative least squares (Lawson and Hanson, chapter 23)."""
    E, f = np.vstack([G.T, h]), np.append(np.zeros(G.shape[1]), 1.0)
    if not np.isfinite(E).all():
        return None
    try:
        u, _ = nnls(E, f)
    except RuntimeError:  # too many steps
        return None
    r = E @ u - f
    return -r[:-1] / r[-1] if r[-1] < -1e-12 else None
