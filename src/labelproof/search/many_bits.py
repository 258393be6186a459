"""The search once more in hundreds of bits, for label sets whose region is too thin for floats.

A pure DFT layer at full load is such a case: its logits cancel to 1e-20 of their terms. The method is `active_set`; the
inverse Gram matrix of the active rows is kept explicitly, which costs twice the digits, and digits are cheap here.
Nothing returned is trusted.
"""

from collections.abc import Iterator
from fractions import Fraction

import flint
import numpy as np
import numpy.typing as npt

from labelproof.foundation.flint_precision import working_bits
from labelproof.proof.regions import OutputLayer, exact_row
from labelproof.search.active_set import Split, minimise
from labelproof.search.systems import SearchSystem
from labelproof.search.time_limits import stop_after

__all__ = ["ExtendedRows", "search_extended"]

Indices = npt.NDArray[np.int64]
_CANDIDATES = 48
ROWS_AT_ONCE = 256  # in a product, between two looks at the clock
SECONDS_OF_AN_INVERSE = 2e-10  # for each bit and a matrix of one row; n³ as many for n rows, and no interruption


class ExtendedRows:
    """The rows of the search, exact but for positive factors: labels as if active, then the others.

    Built when first used, and kept: it takes about 100 bytes a number.
    """

    def __init__(self, layer: OutputLayer, system: SearchSystem) -> None:
        self.layer, self.system = layer, system
        self._table: list[list[flint.arb]] = []
        self._blocks: list[flint.arb_mat] = []  # the same rows again, some in each

    def build(self, deadline: float) -> None:
        """Convert the rows, unless that is done; what a deadline interrupts is taken up again."""
        system = self.system
        shifts = -np.frexp(system.norms)[1] - system.row_exponents
        for place in range(len(self._table), len(system.numbers)):
            if place % 16 == 0:
                stop_after(deadline)
            self._table.append(self._row(place, shifts[place] - system.column_exponents))
        for start in range(ROWS_AT_ONCE * len(self._blocks), len(self._table), ROWS_AT_ONCE):
            stop_after(deadline)
            self._blocks.append(flint.arb_mat(self._table[start : start + ROWS_AT_ONCE]))

    def _row(self, place: int, exponents: Indices) -> list[flint.arb]:
        """Return one row; the weights of labels are floats even after they are scaled."""
        layer, is_label = self.layer, place < self.layer.n_labels
        row: list[flint.arb] = []
        if is_label:
            row = [flint.arb(w) for w in np.ldexp(layer.weight[place], exponents[: layer.d]).tolist()]
        if len(row) == len(exponents):
            return row
        exact = exact_row(layer, int(self.system.numbers[place]), np.arange(layer.n_labels))
        if layer.is_cone and layer.has_scale:
            del exact[layer.d]
        rest = zip(exact[len(row) :], exponents[len(row) :].tolist(), strict=True)
        return row + [flint.arb(flint.fmpq(c.numerator, c.denominator)) * flint.arb(2) ** e for c, e in rest]

    def some(self, places: list[int], signs: list[int]) -> flint.arb_mat:
        """Return the rows at these places, each times its sign."""
        return flint.arb_mat(
            [self._table[p] if s > 0 else [-a for a in self._table[p]] for p, s in zip(places, signs, strict=True)]
        )

    def products(self, v: flint.arb_mat, deadline: float) -> list[flint.arb]:
        """Return the product of every row with v, without signs."""
        found: list[flint.arb] = []
        for block in self._blocks:
            stop_after(deadline)
            found += (block * v).entries()
        return found


def search_extended(
    rows: ExtendedRows, bits: int, active: Indices, start: Indices, deadline: float
) -> tuple[int, list[Fraction], Indices]:
    """Search for one label set in ``bits`` bits; weak rows are taken as strict ones, equalities are not known.

    Returns the outcome (1 a point, 0 a conflict, -1 neither), the point in the search's coordinates, and the row
    numbers that are tight at the point or in conflict.
    """
    with working_bits(bits):
        rows.build(deadline)
        return _Search(rows, active, start, bits, deadline).run()


class _Search:
    """State of `active_set` in many bits; active rows sit in slots, an empty slot is a zero row."""

    def __init__(self, rows: ExtendedRows, active: Indices, start: Indices, bits: int, deadline: float) -> None:
        system, n_labels = rows.system, rows.layer.n_labels
        self.rows, self.bits, self.deadline = rows, bits, deadline
        self.tolerance = flint.arb(2) ** (-bits // 2)
        self.numbers = system.numbers
        self.signs = np.where(np.arange(len(self.numbers)) < n_labels, -1, 1)
        self.signs[active] = 1
        wanted = np.isin(self.numbers, start)
        wanted[active] = True
        self.ids: list[int] = np.flatnonzero(wanted).tolist()
        self.m = system.width
        zero = flint.arb(0)
        self.N = flint.arb_mat(self.m, self.m)  # rows of the slots
        self.M = flint.arb_mat(self.m, self.m)  # inverse Gram matrix of the taken slots
        self.v = flint.arb_mat(self.m, 1)
        self.slots: list[int] = [-1] * self.m  # which row is where
        self.multipliers: list[flint.arb] = [zero] * self.m
        self.worst = 0.0  # product of any row with v
        self.steps_left = 50 * self.m + 200  # rounding can lead it in a circle where rows differ by more than its bits
        self._warm_start([place for place in self.ids if self.numbers[place] in set(start.tolist())][: self.m])

    def _warm_start(self, ids: list[int]) -> None:
        """Activate those of the rows that can be tight together at a minimum."""
        while ids:
            stop_after(self.deadline, cost=SECONDS_OF_AN_INVERSE * self.bits * len(ids) ** 3)
            N = self._some(ids)
            try:
                M = (N * N.transpose()).inv().mid()
            except ZeroDivisionError:
                return
            lam = (M * flint.arb_mat([[1]] * len(ids))).entries()
            if all(value > 0 for value in lam):
                break
            ids = [i for i, value in zip(ids, lam, strict=True) if value > 0]
        else:
            return
        for k, i in enumerate(ids):
            self.slots[k], self.multipliers[k] = i, lam[k].mid()
            for j in range(self.m):
                self.N[k, j] = N[k, j]
            for j in range(len(ids)):
                self.M[k, j] = M[k, j]
        self.v = (N.transpose() * flint.arb_mat([[value] for value in lam])).mid()

    def run(self) -> tuple[int, list[Fraction], Indices]:
        conflict = minimise(self)
        if conflict is not None:
            row, coordinates = conflict
            others = [o for o, s in zip(self.slots, coordinates, strict=True) if o >= 0 and self.is_positive(-s)]
            return 0, self._point(), self._numbers([row, *others])
        return 1 if self.worst > 0 else -1, self._point(), self._numbers([r for r in self.slots if r >= 0])

    def violated_rows(self) -> Iterator[int]:
        """Yield violated rows of the working set, which grows by the worst of all others when it has none."""
        while True:
            stop_after(self.deadline)
            yield from self._violated_working_rows()  # none after the last step, though there may be some
            found = self.rows.products(self.v, self.deadline)
            products = [s * float(p) for s, p in zip(self.signs.tolist(), found, strict=True)]
            self.worst = min(products)
            cut = 1 - 0.3 * (1 - self.worst)
            inside = set(self.ids)
            new = sorted((p, i) for i, p in enumerate(products) if p <= cut and i not in inside)[: max(60, self.m // 2)]
            if self.worst > 0 or not new or self.steps_left <= 0:
                return
            self.ids += [i for _, i in new]

    def _violated_working_rows(self) -> Iterator[int]:
        matrix = self._some(self.ids)
        while self.steps_left > 0:
            values = [float(p) for p in (matrix * self.v).entries()]
            taken = set(self.slots)
            order = sorted((p, i) for p, i in zip(values, self.ids, strict=True) if i not in taken)[:_CANDIDATES]
            if not order or order[0][0] > 0:
                return
            worst = order[0][0]
            candidates = [i for p, i in order if p <= 1 - 0.5 * (1 - worst)]
            few = self._some(candidates)
            for _ in range(10):
                p, i = min((float(p), i) for p, i in zip((few * self.v).entries(), candidates, strict=True))
                if i in self.slots or p > 0.5 * worst:
                    break
                yield i

    def split(self, row: int) -> Split:
        stop_after(self.deadline)
        self.steps_left -= 1
        g = self._some([row])  # (1, m)
        r = (self.M * (self.N * g.transpose())).mid()
        z = (g - r.transpose() * self.N).mid()
        zz = (z * z.transpose())[0, 0].mid()
        return Split(r.entries(), z if self.is_positive(zz) and -1 in self.slots else None, zz)

    def is_positive(self, number: flint.arb) -> bool:
        return bool(number > self.tolerance)

    def ratio(self, number: flint.arb, positive: flint.arb) -> flint.arb:
        return (number / positive).mid()

    def may_leave(self, place: int) -> bool:
        return self.slots[place] >= 0

    def lack(self, row: int) -> flint.arb:
        return 1 - (self._some([row]) * self.v)[0, 0].mid()

    def move(self, step: flint.arb, split: Split) -> None:
        if split.rest is not None:
            self.v = (self.v + split.rest.transpose() * step).mid()
        self.multipliers = [(lam - step * s).mid() for lam, s in zip(self.multipliers, split.coordinates, strict=True)]

    def take(self, row: int, split: Split, multiplier: flint.arb) -> None:
        slot = self.slots.index(-1)
        self.slots[slot] = row
        self.multipliers[slot] = multiplier.mid()
        g = self._some([row])
        for j in range(self.m):
            self.N[slot, j] = g[0, j]
        u = flint.arb_mat([[s] for s in split.coordinates])
        u[slot, 0] = flint.arb(-1)
        self.M = (self.M + u * (u.transpose() * (1 / split.square))).mid()

    def leave(self, slot: int) -> None:
        self.slots[slot] = -1
        self.multipliers[slot] = flint.arb(0)
        column = flint.arb_mat([[self.M[k, slot]] for k in range(self.m)])
        self.M = (self.M - column * (column.transpose() * (1 / self.M[slot, slot]))).mid()
        for k in range(self.m):
            self.N[slot, k] = flint.arb(0)
            self.M[slot, k] = flint.arb(0)
            self.M[k, slot] = flint.arb(0)

    def _some(self, ids: list[int]) -> flint.arb_mat:
        return self.rows.some(ids, self.signs[ids].tolist())

    def _numbers(self, ids: list[int]) -> Indices:
        return self.numbers[np.array(ids, np.int64)]

    def _point(self) -> list[Fraction]:
        parts = [entry.mid().man_exp() for entry in self.v.entries()]
        return [Fraction(int(man)) * Fraction(2) ** int(exp) for man, exp in parts]
