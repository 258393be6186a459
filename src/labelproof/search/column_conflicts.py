"""Do multipliers of a few labels show that a label set can never be predicted on a domain of bounds and balls?

With p = Σ κ_i w_i over *all* columns and β = Σ κ_i offset_i, they do if β + h(p) < 0 for the domain's support function
h (`proof.weighted_conflicts`), or if both are 0, as for two labels with the same weights. If p rises along columns
without a bound, or the sum is not negative, the columns with the largest p_j speak against it. What is found is
computed again in fractions, in which the sums that must be 0 are 0. Nothing returned here is trusted.
"""

from fractions import Fraction
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.linalg import qr

from labelproof.proof.regions import OutputLayer, exact_offset
from labelproof.proof.weighted_conflicts import weighted_conflict_fault
from labelproof.search.exact_weights import exact_weights
from labelproof.search.findings import Finding
from labelproof.search.tables import Table

__all__ = ["Claim", "ConflictJudge"]

Floats = npt.NDArray[np.float64]
Indices = npt.NDArray[np.int64]
TINY = 1e-10  # sums that cancel to this share are taken for 0


class Claim(NamedTuple):
    """Multipliers that may exclude a label set."""

    active: Indices
    rows: Indices  # labels with a multiplier
    signs: Floats  # of these labels: 1 if they are active, else -1
    sizes: Floats  # of their multipliers, > 0, of the table's scaled rows
    mu: float  # multiplier of sparsemax's sum, of either sign


class ConflictJudge:
    """A layer and its domain, made ready to judge claims."""

    def __init__(self, layer: OutputLayer, table: Table, bounds: tuple[Floats, Floats]) -> None:
        self.layer, self.table = layer, table
        self.low, self.high = bounds
        outside = np.full(layer.d, True)  # of all balls
        for ball in layer.balls:
            outside[ball.start : ball.stop] = False
        self.up, self.down = outside & (self.high == np.inf), outside & (self.low == -np.inf)
        self.is_open, self.outside = bool((self.up | self.down).any()), np.flatnonzero(outside)
        self.from_zero, self.moves = self.low == 0, (self.low != 0) | (self.high != 0)
        self.ends = [np.where(np.isfinite(end), end, 0.0)[self.outside] for end in bounds]

    def judge(self, claim: Claim) -> Finding | Floats:
        """Return the conflict, or how much each column speaks against it."""
        layer, (labels, weight) = self.layer, self._shares(claim)
        if not len(labels):
            return np.zeros(layer.d)
        pulls, sizes = self.table.pulls(weight, labels)
        most = np.maximum(sizes, sizes.max() if layer.balls else 0.0)
        tight = (np.abs(pulls) <= TINY * most) & (sizes > 0)
        if self.is_open:
            rising = np.where(self.up, pulls, 0.0).clip(min=0.0) + np.where(self.down, -pulls, 0.0).clip(min=0.0)
            rising[tight] = 0.0
            if rising.any():
                return rising
        harm = np.where(self.from_zero, pulls, 0.0).clip(min=0.0)
        offsets = np.zeros(len(labels)) if layer.offset is None else layer.offset[labels]
        beta, size = weight @ offsets, np.abs(weight) @ np.abs(offsets)
        if layer.rule == "sparsemax":
            beta -= self._sum_multiplier(claim)
            size += abs(self._sum_multiplier(claim))
        is_zero = bool(abs(beta) <= TINY * size) and layer.rule != "sparsemax"
        equal = is_zero and self._support(pulls * ~tight) == 0
        if not (beta + self._support(pulls) < 0 or equal):
            return harm
        needed = tight & (self.moves if equal else self.up | self.down)
        found = self._exact(claim, np.flatnonzero(needed), equal)
        return harm if found is None else found

    def _shares(self, claim: Claim) -> tuple[Indices, Floats]:
        """Return labels, some twice, and their parts in the sum: of the rows, and of sparsemax's sum."""
        labels, weight = claim.rows, claim.signs * claim.sizes
        if claim.mu:
            n = len(claim.active)
            labels, weight = np.append(labels, claim.active), np.append(weight, np.full(n, claim.mu / max(n, 1)))
        return labels, weight * np.ldexp(1.0, -self.table.exponents[labels])

    def _sum_multiplier(self, claim: Claim) -> float:
        """Return the multiplier of the row of the sum, which is Σ t·(z_i − τ) − 1, with its sign."""
        exponent = self.table.exponents[claim.active[:1]]
        return claim.mu / max(len(claim.active), 1) * 2.0 ** -float(exponent[0]) / self.layer.temperature

    def _support(self, pulls: Floats) -> float:
        total = 0.0
        for ball in self.layer.balls:
            part = slice(ball.start, ball.stop)
            kept = np.where((self.low[part] >= 0) & (pulls[part] < 0), 0.0, pulls[part])
            total += float(kept @ ball.centre + ball.radius * np.linalg.norm(kept))
        p, (low, high) = pulls[self.outside], self.ends
        return total + float(np.maximum(low * p, high * p).sum())

    def _exact(self, claim: Claim, zeros: Indices, equal: bool) -> Finding | None:
        """Return the conflict in fractions, for which p is 0 in some columns, and β where it must be equal to 0."""
        few = self._independent(claim, zeros)
        if len(few) < len(zeros):
            found = self._solved(claim, few, equal)
            if found is not None and self._is_proof(claim, found):
                return found
        return self._solved(claim, zeros, equal)

    def _independent(self, claim: Claim, columns: Indices) -> Indices:
        """Return columns on which the others depend, but for rounding: most of thousands say the same."""
        if len(columns) <= len(claim.rows) or not len(claim.rows):  # sparsemax's sum may have the only multiplier
            return columns
        block = self.table.block(claim.rows, columns) * claim.sizes[:, None]
        lengths = np.linalg.norm(block, axis=0)
        R, order = qr(block / np.where(lengths > 0, lengths, 1.0), mode="r", pivoting=True)
        sizes = np.abs(R.diagonal())
        return columns[np.sort(order[: np.count_nonzero(sizes > 1e-9 * sizes[0])])]

    def _is_proof(self, claim: Claim, found: Finding) -> bool:
        assert found.conflict is not None and found.multipliers is not None  # noqa: S101, PT018 - see `_solved`
        return weighted_conflict_fault(self.layer, claim.active, found.conflict, found.multipliers) is None

    def _solved(self, claim: Claim, zeros: Indices, equal: bool) -> Finding | None:
        layer, rows = self.layer, claim.rows
        guess = claim.sizes * np.ldexp(1.0, -self.table.exponents[rows])
        signs = claim.signs.astype(int).tolist()
        equations = [
            [sign * Fraction(number) for sign, number in zip(signs, column, strict=True)]
            for column in layer.weight[rows][:, zeros].T.tolist()
        ]
        if equal and layer.offset is not None:
            equations.append([sign * exact_offset(layer, i) for i, sign in zip(rows.tolist(), signs, strict=True)])
        if layer.has_threshold:
            equations.append([Fraction(sign) for sign in signs])
        if layer.rule == "sparsemax" and claim.mu:
            row = layer.n_labels + (2 if claim.mu > 0 else 1)
            rows, guess = np.append(rows, row), np.append(guess, abs(self._sum_multiplier(claim)))
            sign, t = (1 if claim.mu > 0 else -1), Fraction(layer.temperature)
            for place, equation in enumerate(equations[:-1]):
                total = sum(map(Fraction, layer.weight[claim.active][:, int(zeros[place])].tolist()))
                equation.append(sign * t * total)
            equations[-1].append(sign * t * len(claim.active))
        if not np.isfinite(guess).all():  # rows of subnormal numbers, which other searches know
            return None
        order = np.argsort(rows)
        guess = guess / guess.max(initial=1e-300)
        weights = exact_weights(guess, equations)
        if weights is None:
            return None
        return Finding(conflict=rows[order], multipliers=tuple(weights[k] for k in order.tolist()))
