"""Conflicts of one label set, of as few labels as can be found in the time."""

import time
from collections.abc import Iterator
from itertools import chain, islice

import numpy as np
import numpy.typing as npt

from labelproof.explaining.question import Question, remaining
from labelproof.proof.certificates import Unargmaxable
from labelproof.proof.margins import UnitWeights

__all__ = ["shares", "small_conflicts"]

Indices = npt.NDArray[np.int64]
MOST_SHARES = 300  # exact multipliers of more rows take seconds
MOST_TRIES = 20


def small_conflicts(question: Question, rows: Indices, deadline: float) -> tuple[list[Indices], bool]:
    """Return proven conflicts, the one with the fewest labels first, and whether that one is proven irreducible.

    ``rows`` is the conflict that is known already, in the numbering of `regions`.
    """
    if question.has_sum(rows):
        return [rows], False
    known = [rows, *_of_one_or_two(question, rows, deadline)]
    if len(question.labels_of(known[-1])) > 2:
        known += _among_fewer_labels(question, rows, deadline)
    known.sort(key=lambda one: (len(question.labels_of(one)), len(one), -int(np.isin(one, question.active).sum())))
    reduced, irreducible = _without_needless_labels(question, known[0], deadline)
    return [reduced, *known], irreducible


def shares(certificate: Unargmaxable) -> list[float]:
    """Return how hard each label pulls: multiplier times norm of the weights, as shares; empty if it takes too long."""
    labels = list(certificate.conflict)
    if not labels or len(labels) + len(certificate.extra) > MOST_SHARES:
        return []
    weights, largest = UnitWeights(certificate._layer), max(certificate.multipliers)
    exponents = weights.exponents[labels]
    norms = np.ldexp(weights.norms[labels], exponents - exponents.max())
    pulls = norms * [m / largest for m in certificate.multipliers]
    return (pulls / (pulls.sum() or 1.0)).tolist()


def _without_needless_labels(question: Question, rows: Indices, deadline: float) -> tuple[Indices, bool]:
    """Leave out, one after the other, labels without which a conflict remains; return whether none is left for sure."""
    if not question.plain.layer.extra_rows():
        return rows, True  # see `Explanation.irreducible`
    needed: set[int] = set()
    sure = True
    while doubtful := sorted(set(question.labels_of(rows).tolist()) - needed):
        if time.perf_counter() > deadline:
            return rows, False
        labels = question.labels_of(rows)
        evidence = question.decide_among(labels[labels != doubtful[0]], remaining(deadline))
        if evidence.conflict is not None:
            rows = evidence.conflict
        else:
            needed.add(doubtful[0])
            sure &= evidence.witness is not None
    return rows, sure


def _of_one_or_two(question: Question, rows: Indices, deadline: float) -> list[Indices]:
    """Return a conflict of one label, or else of two parallel ones, if there is one among the likely ones."""
    empty = np.flatnonzero(~question.layer.weight.any(axis=1))
    single = dict.fromkeys(np.concatenate([empty, question.active, question.labels_of(rows)]).tolist())
    groups = chain(islice(([i] for i in single), MOST_TRIES), islice(_opposite_pairs(question), MOST_TRIES))
    while time.perf_counter() < deadline and (labels := next(groups, None)):
        conflict = question.decide_among(np.array(labels), remaining(deadline)).conflict
        if conflict is not None:
            return [conflict]
    return []


def _opposite_pairs(question: Question) -> Iterator[list[int]]:
    """Yield pairs of labels, active ones first, that ask for opposite directions."""
    layer, signs = question.plain.layer, question.signs
    size = np.abs(layer.weight).max(axis=1, keepdims=True)
    if layer.has_threshold:
        size[:] = 1.0  # there the whole of two rows must agree, not their directions
    rows = signs[:, None] * layer.weight / np.where(size == 0, 1.0, size) + 0.0  # without negative zeros
    places: dict[bytes, list[int]] = {}
    for i, row in enumerate(rows):
        places.setdefault(row.tobytes(), []).append(i)
    for i in np.argsort(-signs, kind="stable").tolist():
        yield from (sorted([i, j]) for j in places.get((0.0 - rows[i]).tobytes(), []) if i != j)


def _among_fewer_labels(question: Question, rows: Indices, deadline: float) -> list[Indices]:
    """Return conflicts of the active labels alone, then of ever fewer labels: less one of the last conflict, at random.

    In general position all have equally many labels, so the search gives up when none gets smaller.
    """
    everyone, rng = np.arange(question.layer.n_labels), np.random.default_rng(0)
    found: list[Indices] = []
    smallest, idle, left = rows, 0, question.active
    while idle < MOST_TRIES and time.perf_counter() < deadline:
        conflict = question.decide_among(left, remaining(deadline)).conflict
        idle += 1
        if conflict is None:
            conflict, left = smallest, everyone
        else:
            found.append(conflict)
        if len(question.labels_of(conflict)) < len(question.labels_of(smallest)):
            smallest, idle = conflict, 0
        left = np.setdiff1d(left, rng.choice(question.labels_of(conflict)))
    return found
