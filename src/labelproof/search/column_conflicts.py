"""Do multipliers of a few labels show that a label set can never be predicted on a domain of bounds and balls?

With p = Σ κ_i w_i over *all* columns and β = Σ κ_i offset_i, they do if β + h(p) < 0 for the domain's support function
h (`proof.weighted_conflicts`), or ≤ 0 where inputs may be multiplied. If p rises along columns without a bound, or the
sum is not negative, the columns with the largest p_j speak against it. What is found is computed again in fractions, in
which the sums that must be 0 are 0. Nothing returned here is trusted.
"""

from fractions import Fraction
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from labelproof.proof.regions import OutputLayer, exact_offset
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
    sizes: Floats  # of these multipliers, > 0, of the table's scaled rows
    mu: float  # multiplier of sparsemax's sum, of either sign


class ConflictJudge:
    """A layer and its domain, made ready to judge claims; where it ``is_scaled``, inputs may be multiplied."""

    def __init__(self, layer: OutputLayer, table: Table, bounds: tuple[Floats, Floats], *, is_scaled: bool) -> None:
        self.layer, self.table, self.is_scaled = layer, table, is_scaled
        self.low, self.high = bounds
        outside = np.full(layer.d, True)  # of all balls
        for ball in layer.balls:
            outside[ball.start : ball.stop] = False
        self.up, self.down = outside & (self.high == np.inf), outside & (self.low == -np.inf)
        self.outside = np.flatnonzero(outside)
        self.ends = [np.where(np.isfinite(end), end, 0.0)[self.outside] for end in bounds]

    def judge(self, claim: Claim) -> Finding | Floats:
        """Return the conflict, or how much each column speaks against it."""
        layer, (labels, weight) = self.layer, self._shares(claim)
        if not len(labels):
            return np.zeros(layer.d)
        pulls, sizes = self.table.pulls(weight, labels)
        most = np.maximum(sizes, sizes.max() if layer.balls else 0.0)
        tight = (np.abs(pulls) <= TINY * most) & (sizes > 0)
        rising = np.where(self.up, pulls, 0.0).clip(min=0.0) + np.where(self.down, -pulls, 0.0).clip(min=0.0)
        rising[tight] = 0.0
        if rising.any():
            return rising
        harm = np.where(self.low == 0, pulls, 0.0).clip(min=0.0)
        offsets = np.zeros(len(labels)) if layer.offset is None else layer.offset[labels]
        beta, size = weight @ offsets, np.abs(weight) @ np.abs(offsets)
        if layer.rule == "sparsemax":
            beta -= self._sum_multiplier(claim)
            size += abs(self._sum_multiplier(claim))
        equal = bool(self.is_scaled and abs(beta) <= TINY * size)
        if not (beta + self._support(pulls) < 0 or equal):
            return harm
        found = self._exact(claim, np.flatnonzero(tight & (self.up | self.down)), equal)
        return harm if found is None else found

    def _shares(self, claim: Claim) -> tuple[Indices, Floats]:
        """Return labels, some twice, and their parts in the sum: of the rows, and of sparsemax's sum."""
        labels, weight = claim.rows, np.where(np.isin(claim.rows, claim.active), claim.sizes, -claim.sizes)
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

    def _exact(self, claim: Claim, tight: Indices, equal: bool) -> Finding | None:
        """Return the conflict in fractions."""
        layer, rows = self.layer, claim.rows
        guess = claim.sizes * np.ldexp(1.0, -self.table.exponents[rows])
        wanted = set(claim.active.tolist())
        signs = [1 if i in wanted else -1 for i in rows.tolist()]
        equations = [
            [sign * Fraction(number) for sign, number in zip(signs, column, strict=True)]
            for column in layer.weight[rows][:, tight].T.tolist()
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
                total = sum(map(Fraction, layer.weight[claim.active][:, int(tight[place])].tolist()))
                equation.append(sign * t * total)
            equations[-1].append(sign * t * len(wanted))
        order = np.argsort(rows)
        guess = guess / guess.max(initial=1e-300)
        weights = exact_weights(guess, equations)
        if weights is None:
            return None
        return Finding(conflict=rows[order], multipliers=tuple(weights[k] for k in order.tolist()))
