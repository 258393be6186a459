"""Some argmaxable label set near an unargmaxable one, in a few milliseconds: seldom the nearest, but there is one.

`NeighbourSearch` finds the nearest sets, and proves that none is nearer, when they differ in one to three labels. For
others it may find none in the time that a person waits; then this guess is better than nothing.
"""

import time

import numpy as np
import numpy.typing as npt

from labelproof.explaining.question import Question, remaining
from labelproof.proof.rounding import Witness

__all__ = ["some_near_set"]

Floats = npt.NDArray[np.float64]
Changes = frozenset[int]
ROUNDS = 12
STEPS = 15  # steps of gradient descent per round
AT_ONCE = 32  # label sets decided together


def some_near_set(question: Question, deadline: float) -> dict[Changes, Witness]:
    """Return the changes to an argmaxable label set and its witness, or nothing; rules sigmoid and topk only."""
    if question.layer.rule == "sparsemax":
        return {}
    changes = _few_violations(question, deadline)
    witness = question.decide([_changed(question, changes)], remaining(deadline))[0].witness if changes else None
    if witness is None:
        return {}
    while time.perf_counter() < deadline:
        fewer = [changes - {i} for i in sorted(changes)][:AT_ONCE]
        evidence = question.decide([_changed(question, one) for one in fewer], remaining(deadline))
        better = [(one, e.witness) for one, e in zip(fewer, evidence, strict=True) if e.witness is not None]
        if not better:
            break
        changes, witness = _fewest(question, changes, better, deadline)
    return {changes: witness}


def _fewest(
    question: Question, changes: Changes, better: list[tuple[Changes, Witness]], deadline: float
) -> tuple[Changes, Witness]:
    """Take back several of the changes that can be taken back one by one, as many at once as can be."""
    needless = [next(iter(changes - one)) for one, _ in better]
    together = [changes - frozenset(needless[:k]) for k in (2, 4, 8, 16, 32) if k <= len(needless)]
    evidence = question.decide([_changed(question, one) for one in together], remaining(deadline))
    better += [(one, e.witness) for one, e in zip(together, evidence, strict=True) if e.witness is not None]
    return min(better, key=lambda pair: len(pair[0]))


def _changed(question: Question, changes: Changes) -> set[int]:
    return set(question.active.tolist()) ^ changes


def _few_violations(question: Question, deadline: float) -> Changes:
    """Return the labels that some point gives otherwise than asked for.

    Projected gradient descent on Σ cost_i max(0, 1 − row_i·v)², from v = 0; after each round the worst violated rows
    no longer cost anything, so that the others can be satisfied.
    """
    layer, weights = question.layer, question.unit_weights
    norms = np.where(weights.norms > 0, weights.norms, 1.0)
    columns = [weights.rows]
    if layer.offset is not None:
        columns.append(np.ldexp(layer.offset, -weights.exponents)[:, None])
    if layer.has_threshold:
        columns.append(-np.ldexp(np.ones((layer.n_labels, 1)), -weights.exponents[:, None]))
    rows = np.hstack(columns) * (question.signs / norms)[:, None]  # (L, width)
    if not np.isfinite(rows).all():
        return frozenset()
    costs, v, best = np.ones(layer.n_labels), np.zeros(rows.shape[1]), frozenset[int]()
    step = 1.0 / _largest_eigenvalue(rows)
    for _ in range(ROUNDS):
        v = _descend(rows, costs, v, step, question)
        values = rows @ v
        found = frozenset(np.flatnonzero(values <= 0).tolist())
        if not best or len(found) < len(best):
            best = found
        paid = np.flatnonzero((values <= 0) & (costs > 0))
        if not len(paid) or time.perf_counter() > deadline:
            break
        costs[paid[np.argsort(values[paid], kind="stable")[: 1 + len(paid) // 4]]] = 0.0
    return best


def _largest_eigenvalue(rows: Floats) -> float:
    """Return about the largest eigenvalue of rowsᵀ rows, by the power method, and a little more."""
    v = np.ones(rows.shape[1])
    for _ in range(10):
        v = rows.T @ (rows @ (v / (float(np.linalg.norm(v)) or 1.0)))
    return 1.2 * float(np.linalg.norm(v)) + 1e-300


def _descend(rows: Floats, costs: Floats, v: Floats, step: float, question: Question) -> Floats:
    """Take accelerated gradient steps, each projected to the domain."""
    layer, before = question.layer, v
    for k in range(STEPS):
        ahead = v + k / (k + 3) * (v - before)
        slack = np.maximum(0.0, 1.0 - rows @ ahead) * costs
        before, v = v, ahead + step * (rows.T @ slack)
        if layer.offset is not None:
            v[layer.d] = max(v[layer.d], 1e-6)
        scale = v[layer.d] if layer.offset is not None else 1.0
        low = -np.inf if layer.low is None else layer.low * scale
        high = np.inf if layer.high is None else layer.high * scale
        v[: layer.d] = np.clip(v[: layer.d], low, high)
    return v
