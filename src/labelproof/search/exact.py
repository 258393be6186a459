"""Turn a guess of the search into evidence in exact numbers: a rational witness, or a conflict.

`settle` runs the active-set method once more in rational arithmetic, started from the rows that the float search
ended with. It always ends with one of the two, and mostly after a step or two. What it returns still has to pass
`proof`.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from math import isqrt

import flint
import numpy as np
import numpy.typing as npt

from labelproof.proof.labels import LabelSets
from labelproof.proof.regions import OutputLayer, exact_row, integers
from labelproof.search.active_set import Split, minimise
from labelproof.search.systems import SearchSystem
from labelproof.search.time_limits import stop_after

__all__ = ["float_witnesses", "point_witness", "settle"]

Floats = npt.NDArray[np.float64]
Indices = npt.NDArray[np.int64]
SECONDS_OF_A_SOLUTION = 3e-8  # at least, for one equation; for n of them n³ as many, and none can be interrupted


def float_witnesses(layer: OutputLayer, system: SearchSystem, sets: LabelSets, points: Floats) -> Floats:
    """Return the inputs (n, d) that points (n, width) of the search stand for."""
    d, exponents = layer.d, system.column_exponents
    with np.errstate(all="ignore"):  # what overflows is no witness, and `proof` says so
        if layer.is_cone:
            sizes = np.frexp(points[:, :d])[1] - exponents[:d]
            largest = np.where(points[:, :d] != 0, sizes, -(2**20)).max(axis=1)
            v = np.ldexp(points, -exponents - np.where(largest > -(2**20), largest, 0)[:, None])
            x = v[:, :d]
            if layer.rule == "sparsemax":
                leads = [(layer.weight[active] @ one).mean() for active, one in zip(sets, x, strict=True)]
                lead = np.array(leads) - v[:, -1]  # of the active logits over τ
                x = x / (layer.temperature * np.diff(sets.indptr) * lead)[:, None]
        else:
            x = np.ldexp(points[:, :d] / points[:, d : d + 1], exponents[d] - exponents[:d])
    if layer.low is not None:
        x = np.maximum(x, layer.low)
    if layer.high is not None:
        x = np.minimum(x, layer.high)
    return np.asarray(x)


def point_witness(
    layer: OutputLayer, system: SearchSystem, active: Indices, point: Sequence[Fraction]
) -> tuple[Fraction, ...]:
    """Return the input x that a rational point of the search stands for."""
    exponents = system.column_exponents.tolist()
    v = [a / Fraction(2) ** e for a, e in zip(point, exponents, strict=True)]
    x = v[: layer.d]
    if not layer.is_cone:
        return tuple(a / v[layer.d] for a in x)
    if layer.rule != "sparsemax":
        return tuple(x)
    logits = [
        sum((Fraction(w) * a for w, a in zip(layer.weight[i].tolist(), x, strict=True)), Fraction(0)) for i in active
    ]
    lead = sum(logits) - len(logits) * v[-1]  # of the active logits over τ, summed
    return tuple(a / (Fraction(layer.temperature) * lead) for a in x)


def settle(
    layer: OutputLayer, system: SearchSystem, active: Indices, start: Indices, deadline: float
) -> tuple[Fraction, ...] | Indices:
    """Decide one label set in exact arithmetic; return a witness, or the rows of a conflict.

    Parameters
    ----------
    start
        Row numbers that the search found tight, or in conflict; any will do, good ones save steps.
    deadline
        Value of `time_limits.now` after which to raise OutOfTimeError.
    """
    state = _State(layer, system, active, deadline)
    state.warm_start(start)
    conflict = minimise(state)
    return state.witness() if conflict is None else state.conflict(*conflict)


@dataclass(eq=False)
class _State:
    """State of `active_set` in rationals: active rows, their multipliers, and the exact point that they determine."""

    layer: OutputLayer
    system: SearchSystem
    active: Indices
    deadline: float
    rows: list[int] = field(default_factory=list)  # numbers of the active rows
    multipliers: list[flint.fmpq] = field(default_factory=list)
    v: list[flint.fmpq] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._cache: dict[int, tuple[list[int], int]] = {}
        self.v = [flint.fmpq(0)] * self.system.width
        self._signs = np.ones(len(self.system.rows))
        self._signs[: self.layer.n_labels] = -1.0
        self._signs[self.active] = 1.0
        self.equalities = self._equalities()

    def _equalities(self) -> list[int]:
        """Return the row numbers that stand for equalities: either of the two inequalities, times a free sign."""
        rows = [self.layer.low_row(int(j)) for j in self.system.fixed_features]
        if self.layer.rule == "sparsemax" and not self.layer.is_cone:
            rows.append(self.layer.n_labels + 2)
        return rows

    def row(self, number: int) -> tuple[list[int], int]:
        """Return a row as integers in the search's coordinates, and the value that it should reach."""
        if number not in self._cache:
            exact = exact_row(self.layer, number, self.active)
            if self.layer.is_cone and self.layer.has_scale:
                del exact[self.layer.d]  # the search leaves s out
            exponents = self.system.column_exponents.tolist()
            scaled = [c / Fraction(2) ** e if e >= 0 else c * 2**-e for c, e in zip(exact, exponents, strict=True)]
            whole, _ = integers(scaled)
            strict = number not in self.equalities and self.layer.is_strict(number, self.active)
            self._cache[number] = whole, max(1, isqrt(sum(c * c for c in whole))) if strict else 0
        return self._cache[number]

    def warm_start(self, start: Indices) -> None:
        """Activate the equalities, then those rows of the start that can be tight together at a minimum."""
        chosen = self._independent([*self.equalities, *(int(r) for r in start if int(r) not in self.equalities)])
        while chosen:
            stop_after(self.deadline, cost=SECONDS_OF_A_SOLUTION * len(chosen) ** 3)
            multipliers = self._solve(chosen, [[self.row(r)[1]] for r in chosen])
            good = [m > 0 or r in self.equalities for r, (m,) in zip(chosen, multipliers, strict=True)]
            if all(good):
                self._set(chosen, [m for (m,) in multipliers])
                return
            chosen = [r for r, ok in zip(chosen, good, strict=True) if ok]

    def _independent(self, numbers: list[int]) -> list[int]:
        """Return a maximal list of independent rows, the first ones preferred."""
        if not numbers:
            return []
        stop_after(self.deadline, cost=SECONDS_OF_A_SOLUTION * len(numbers) ** 3)
        columns = flint.fmpz_mat([self.row(r)[0] for r in numbers]).transpose()
        reduced, _, rank = columns.rref()
        pivots: list[int] = []
        for i in range(rank):
            j = pivots[-1] + 1 if pivots else 0
            while reduced[i, j] == 0:
                j += 1
            pivots.append(j)
        return [numbers[j] for j in pivots]

    def _solve(self, numbers: Sequence[int], right: list[list[int]]) -> list[list[flint.fmpq]]:
        """Solve (N Nᵀ) s = right for the Gram matrix of the given rows."""
        N = flint.fmpz_mat([self.row(r)[0] for r in numbers])
        return (N * N.transpose()).solve(flint.fmpz_mat(right)).tolist()

    def _set(self, rows: list[int], multipliers: list[flint.fmpq]) -> None:
        self.rows, self.multipliers = rows, multipliers
        self.v = [flint.fmpq(0)] * self.system.width
        for r, m in zip(rows, multipliers, strict=True):
            stop_after(self.deadline)
            self.v = [a + m * b for a, b in zip(self.v, self.row(r)[0], strict=True)]

    def violated_rows(self) -> Iterator[int]:
        """Yield the numbers of rows that the point does not satisfy."""
        while (row := self._violated_row()) is not None:
            yield row

    def _violated_row(self) -> int | None:
        """Return the number of a row that the point does not satisfy, the worst one if that can be told."""
        stop_after(self.deadline)
        v = _as_floats(self.v)
        products = self._signs * (self.system.rows @ v)
        products[self.system.weak_zeros] = np.inf
        zeros = self.system.weak_zeros[np.isin(self.system.weak_zeros, self.active)]
        products[zeros] = -1.0
        worst = int(np.argmin(products))
        slack = 8 * (len(v) + 8) * 2.0**-53 * np.linalg.norm(v)
        if products[worst] < -slack:
            return int(self.system.numbers[worst])
        open_places = np.flatnonzero(products <= slack)
        values = [(self._value(int(self.system.numbers[p])), int(self.system.numbers[p])) for p in open_places]
        wrong = [
            (value, r) for value, r in values if value < 0 or (value == 0 and self.layer.is_strict(r, self.active))
        ]
        return min(wrong)[1] if wrong else None

    def _value(self, number: int) -> flint.fmpq:
        stop_after(self.deadline)
        return sum((a * b for a, b in zip(self.v, self.row(number)[0], strict=True)), flint.fmpq(0))

    def split(self, number: int) -> Split:
        stop_after(self.deadline, cost=SECONDS_OF_A_SOLUTION * len(self.rows) ** 3)
        g = self.row(number)[0]
        r = self._coordinates(g)
        z = [flint.fmpq(a) for a in g]
        for row, s in zip(self.rows, r, strict=True):
            stop_after(self.deadline)
            z = [a - s * b for a, b in zip(z, self.row(row)[0], strict=True)]
        zz = sum((a * a for a in z), flint.fmpq(0))
        return Split(r, z if zz != 0 else None, zz)

    def is_positive(self, number: flint.fmpq) -> bool:
        return bool(number > 0)

    def ratio(self, number: flint.fmpq, positive: flint.fmpq) -> flint.fmpq:
        return number / positive

    def may_leave(self, place: int) -> bool:
        return self.rows[place] not in self.equalities

    def lack(self, number: int) -> flint.fmpq:
        return self.row(number)[1] - self._value(number)

    def move(self, step: flint.fmpq, split: Split) -> None:
        if split.rest is not None:
            self.v = [a + step * b for a, b in zip(self.v, split.rest, strict=True)]
        self.multipliers = [m - step * s for m, s in zip(self.multipliers, split.coordinates, strict=True)]

    def take(self, number: int, split: Split, multiplier: flint.fmpq) -> None:  # noqa: ARG002 - rows are all it keeps
        self.rows.append(number)
        self.multipliers.append(multiplier)

    def leave(self, place: int) -> None:
        del self.rows[place], self.multipliers[place]

    def _coordinates(self, g: list[int]) -> list[flint.fmpq]:
        """Return the coefficients of g's projection onto the active rows."""
        if not self.rows:
            return []
        N = flint.fmpz_mat([self.row(r)[0] for r in self.rows])
        products = N * flint.fmpz_mat([[a] for a in g])
        return [s for (s,) in (N * N.transpose()).solve(products).tolist()]

    def conflict(self, number: int, r: Sequence[flint.fmpq]) -> Indices:
        """Return the rows that contradict each other: one, and the active ones that its coordinates r name."""
        rows = [number]
        for row, s in zip(self.rows, r, strict=True):
            if s != 0:
                rows.append(self._opposite(row) if s > 0 else row)
        return np.array(rows, np.int64)

    def _opposite(self, number: int) -> int:
        """Return the other inequality of an equality."""
        if number == self.layer.n_labels + 2:
            return self.layer.n_labels + 1
        return number + self.layer.d

    def witness(self) -> tuple[Fraction, ...]:
        """Return the input that the point stands for."""
        v = [Fraction(int(a.p), int(a.q)) for a in self.v]
        return point_witness(self.layer, self.system, self.active, v)


def _as_floats(v: Sequence[flint.fmpq]) -> Floats:
    """Return v in floats, times a power of two that makes the largest entry about 1."""
    ratios = [(int(a.p), int(a.q)) for a in v]
    exponent = max((p.bit_length() - q.bit_length() for p, q in ratios if p), default=0)
    return np.array([float(Fraction(p, q) / Fraction(2) ** exponent) for p, q in ratios])
