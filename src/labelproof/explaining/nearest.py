"""Argmaxable label sets that differ from an unargmaxable one in few labels, and proof that none is nearer.

A conflict of a label set refutes every set that decides the labels of the conflict in the same way. So an argmaxable
set differs from the given one in at least one label of each of its conflicts. That bounds the distance from below, and
tells which changes are worth a try.
"""

import math
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from fractions import Fraction
from itertools import accumulate, islice
from operator import and_

import numpy as np
import numpy.typing as npt

from labelproof.explaining.question import Question, remaining
from labelproof.explaining.soft_margin import few_changes
from labelproof.proof.certificates import Argmaxable
from labelproof.proof.margins import UnitWeights, margin
from labelproof.proof.rounding import Witness
from labelproof.search.findings import Finding

__all__ = ["Neighbour", "NeighbourSearch"]

Floats = npt.NDArray[np.float64]
Indices = npt.NDArray[np.int64]
BATCH = 16  # label sets that are decided at once
MOST_CHOICES = 1e6  # more combinations of one change per disjoint conflict are not tried: it would take too long


@dataclass(frozen=True, eq=False)
class Neighbour:
    """An argmaxable label set near the explained one.

    Attributes
    ----------
    label_set
        Its active labels, ascending.
    added, removed
        Labels that it has and the explained set has not, and the other way round.
    is_minimal
        Whether it is proven that no argmaxable label set (in ``Explanation.same_size``: of this size) is nearer.
    certificate
        The witness.
    """

    label_set: tuple[int, ...]
    added: tuple[int, ...]
    removed: tuple[int, ...]
    is_minimal: bool
    certificate: Argmaxable

    @property
    def distance(self) -> int:
        """Number of labels in which the two sets differ."""
        return len(self.added) + len(self.removed)


@dataclass(eq=False)
class NeighbourSearch:
    """Search for argmaxable sets that differ from an unargmaxable one in few labels.

    Sets of changed labels are bit masks. A *clause* (C, F) stands for a conflict on the labels C, found after the
    changes F: it refutes all changes D with D & C == F. If a clause refutes D, then any argmaxable set that has all
    the changes D changes a further label of C; so trying those labels, level by level, misses no set. That the sets
    of a level are all refuted mostly follows from clauses of a few of them.

    Attributes
    ----------
    conflicts
        Proven conflicts of the set, the best one first.
    found
        Witnesses by the changes; no changes include all of others.
    least_distance
        Proven so far: every argmaxable set has at least so many changes. None: there is no argmaxable set.
    """

    question: Question
    conflicts: list[Indices]
    n_nearest: int
    deadline: float
    found: dict[int, Witness] = field(default_factory=dict)
    least_distance: int | None = 1
    _clauses: list[tuple[int, int]] = field(default_factory=list)
    _undecided: set[int] = field(default_factory=set)
    _level: int = 1  # how many changes are searched; all sets with fewer have been

    def run(self) -> None:
        """Search level by level, which misses nothing; when that gets slow, make guesses; then go on."""
        for conflict in self.conflicts:
            self._learn(0, conflict)
        if self.n_nearest == 0:
            return
        start = time.perf_counter()
        seconds = self.deadline - start
        disjoint = self._disjoint_conflicts(start + 0.2 * seconds)
        self.least_distance = self._level = len(disjoint)
        if math.prod(disjoint) > MOST_CHOICES:
            self._level = self.question.layer.n_labels + 1
        self._search_levels(start + 0.4 * seconds)
        rng = np.random.default_rng(0)
        for _ in range(0 if self.found or self.least_distance is None else self.n_nearest):
            if changes := _mask(few_changes(self.question, rng, start + 0.8 * seconds)):
                self._shrink(changes)
        self._search_levels(self.deadline)

    def neighbours(self) -> tuple[Neighbour, ...]:
        """Return the nearest sets found, those with the largest margins first among equally near ones."""
        near = self._nearest(self.found)
        return tuple(replace(one, is_minimal=one.distance == self.least_distance) for one in near)

    def neighbours_of_same_size(self) -> tuple[Neighbour, ...]:
        """Return argmaxable sets with as many active labels: those with the largest logits at the witnesses found.

        Such sets have an even distance.
        """
        before = set(self.question.active.tolist())
        order = [np.argsort(-_logits(self.question.unit_weights, x), kind="stable") for x in self.found.values()]
        changes = sorted({_mask(before ^ set(ranked[: len(before)].tolist())) for ranked in order} - {0})
        evidence = self.question.decide(map(self._changed, changes), remaining(self.deadline))
        near = self._nearest({D: e.witness for D, e in zip(changes, evidence, strict=True) if e.witness is not None})
        return tuple(replace(one, is_minimal=one.distance - 2 < (self.least_distance or 1)) for one in near)

    def _nearest(self, found: dict[int, Witness]) -> list[Neighbour]:
        before, near = set(self.question.active.tolist()), []
        for D, x in found.items():
            after = self._changed(D)
            now, added, removed = (tuple(sorted(s)) for s in (after, after - before, before - after))
            near.append(Neighbour(now, added, removed, False, Argmaxable(x, self._margin(D, x))))
        near.sort(key=lambda one: (one.distance, -float(f"{one.certificate.margin:.6g}"), one.label_set))
        return near[: self.n_nearest]

    def _margin(self, D: int, x: Witness) -> float:
        return margin(self.question.unit_weights, np.array(sorted(self._changed(D)), np.int64), x)

    def _changed(self, D: int) -> set[int]:
        return set(self.question.active.tolist()) ^ set(_bits(D))

    def _learn(self, changes: int, rows: Indices) -> None:
        """Take note of a proven conflict of the set with these changes."""
        if self.question.has_sum(rows):  # over all active labels, so that it refutes this set alone
            labels = (1 << self.question.layer.n_labels) - 1
        else:
            labels = _mask(self.question.labels_of(rows).tolist())
        self._clauses.append((labels, changes & labels))

    def _is_refuted(self, D: int) -> bool:
        return any(D & C == F for C, F in self._clauses)

    def _decide(self, changes: list[int]) -> None:
        """Decide sets with these changes, batch by batch until the deadline."""
        for start in range(0, len(changes), BATCH):
            if start and time.perf_counter() > self.deadline:
                return
            batch = changes[start : start + BATCH]
            evidence = self.question.decide(map(self._changed, batch), remaining(self.deadline))
            for D, e in zip(batch, evidence, strict=True):
                self._take_note(D, e)

    def _take_note(self, D: int, evidence: Finding) -> None:
        if evidence.conflict is not None:
            self._learn(D, evidence.conflict)
        elif evidence.witness is None:
            self._undecided.add(D)
        elif not any(D & E == E for E in self.found):
            self.found = {E: x for E, x in self.found.items() if D & E != D} | {D: evidence.witness}

    def _disjoint_conflicts(self, until: float) -> list[int]:
        """Return the sizes of conflicts of which no two share a label: an argmaxable set changes a label of each."""
        left, rows, sizes = np.arange(self.question.layer.n_labels), self.conflicts[0], []
        while True:
            sizes.append(len(self.question.labels_of(rows)))
            left = np.setdiff1d(left, rows)
            if not sizes[-1] or not len(left) or time.perf_counter() > until:
                return sizes
            conflict = self.question.decide_among(left, remaining(until)).conflict
            if conflict is None:
                return sizes
            self._learn(0, conflict)
            rows = conflict

    def _shrink(self, D: int) -> None:
        """Take back changes as long as the set remains argmaxable, several at once if they can be."""
        self._decide([D])
        while D in self.found and time.perf_counter() < self.deadline:
            self._decide([D ^ 1 << i for i in _bits(D) if not self._is_refuted(D ^ 1 << i)])
            margins = {E: self._margin(E, x) for E, x in self.found.items() if E & D == E}
            together = list(accumulate(sorted(margins, key=margins.__getitem__, reverse=True), and_))
            self._decide([together[k] for k in (1, 3, 7, 15, 31, 63) if k < len(together)])
            D = min((E for E in self.found if E & D == E and E != D), key=int.bit_count, default=0)

    def _search_levels(self, until: float) -> None:
        """Search the levels up to the first at which there are argmaxable sets, and one more if they are few."""
        n_labels = self.question.layer.n_labels
        while self._level <= n_labels and not self._undecided:
            nearest = min(map(int.bit_count, self.found), default=n_labels)
            if nearest < self._level - (len(self.found) < self.n_nearest) or not self._search_level(until):
                return
            if not self._n_found():
                self.least_distance = self._level + 1 if self._level < n_labels else None
            self._level += 1

    def _search_level(self, until: float) -> bool:
        """Decide the sets with as many changes as the level says; return whether none was left out."""
        while time.perf_counter() < until and not self._undecided:
            batch = list(islice(self._extensions(0, self._level, 0, until), BATCH))
            if not batch:
                return time.perf_counter() < until
            self._decide(batch)
            if self._level > 1 and self._n_found() >= self.n_nearest:
                return False
        return False

    def _n_found(self) -> int:
        return sum(D.bit_count() <= self._level for D in self.found)

    def _extensions(self, D: int, more: int, never: int, until: float) -> Iterator[int]:
        """Yield D with ``more`` changes, none in ``never``, if no clause refutes that and it includes no set found."""
        if time.perf_counter() > until or any(D & E == E for E in self.found):
            return
        refuting = [C & ~D & ~never for C, F in self._clauses if D & C == F]
        if not more and not refuting:
            yield D
        if not more or not refuting:
            return
        labels = min(refuting, key=int.bit_count)
        if more == 1:
            for C in refuting:
                labels &= C
        for i in _bits(labels):
            yield from self._extensions(D | 1 << i, more - 1, never, until)
            never |= 1 << i


def _logits(weights: UnitWeights, witness: Witness) -> Floats:
    """Return the logits, times a power of two that keeps them within the floats."""
    x = [Fraction(c) for c in witness]
    exponent = max((c.numerator.bit_length() - c.denominator.bit_length() for c in x if c), default=0)
    unit = np.array([float(c / Fraction(2) ** exponent) for c in x])
    offset = np.zeros(weights.layer.n_labels) if weights.layer.offset is None else weights.layer.offset
    largest = max(int(weights.exponents.max()) + exponent, int(np.frexp(np.abs(offset).max())[1]))
    with np.errstate(under="ignore"):
        z: Floats = np.ldexp(weights.rows @ unit, weights.exponents + exponent - largest)
        return z + np.ldexp(offset, -largest)


def _mask(labels: Iterable[int]) -> int:
    mask = 0
    for i in labels:
        mask |= 1 << i
    return mask


def _bits(mask: int) -> Iterator[int]:
    while mask:
        low = mask & -mask
        yield low.bit_length() - 1
        mask ^= low
