"""Decide one label set at a time on a domain of bounds and balls, with the few columns and rows that matter to it.

The point nearest to the middle of the domain at which the labels have some margin (`least_norm`) is a witness if it is
within the domain and every other label agrees; labels that do not join the rows. Otherwise its multipliers may prove
that there is none: p = Σ κ_i w_i over *all* columns, with the domain's support function (`proof.weighted_conflicts`).
If they do not, the columns with the largest p_j join, or the margin asked for is made smaller. Where all bounds are 0
or infinite the offset is one more column, and inputs are its multiples. Nothing returned here is trusted.
"""

from dataclasses import dataclass, replace
from fractions import Fraction
from math import inf

import numpy as np
import numpy.typing as npt

from labelproof.foundation.compilation import plain
from labelproof.proof.regions import OutputLayer
from labelproof.proof.rounding import FloatRows
from labelproof.search.column_conflicts import Claim, ConflictJudge
from labelproof.search.findings import FewNumbers, Finding
from labelproof.search.least_norm import Box, Nearest, nearest_point
from labelproof.search.scaled_points import ScaledPoints
from labelproof.search.tables import table_of
from labelproof.search.time_limits import stop_after

__all__ = ["ColumnSearch"]

Floats = npt.NDArray[np.float64]
Indices = npt.NDArray[np.int64]
NONE: Floats = np.empty(0)
FEW = 600  # columns that are all taken at once
PER_LABEL = {True: 3, False: 24}  # columns that an active label brings along, where all bounds are 0 and elsewhere
NEW_ROWS = 40
MOST_ROUNDS = 120
MARGINS = (1e-3, 1e-6, 1e-9, 1e-12)
STEEP = 10.0  # the threshold's column is so many times a feature's
DIVERGES = 1e7  # multipliers that large belong to a conflict
CLEAN = (1e-2, 1e-4, 1e-7)  # shares of the largest multiplier below which rows are left out of a conflict, in turn
LEAST_SHARE = 0.02  # of the least margin of the rows, that other labels have, where inputs may be multiplied
LEAST_WEIGHT = 2.0**-36  # multipliers below this share of the largest are left out


@dataclass(eq=False)
class _Problem:
    """One label set: the rows and columns that take part so far."""

    active: Indices
    signs: Floats  # (n_labels,)
    rows: Indices
    columns: Indices
    lam: Floats  # one for each row, then one for the equality of sparsemax
    theta: Floats  # (n_parts,): how hard it is to leave the middle, for each ball and for the rest
    level: int = 0
    threshold: float = 0.0  # where the threshold would be without rows, over STEEP
    state: ScaledPoints | None = None  # of the search among multiples of inputs
    deadline: float = inf


class ColumnSearch:
    """A layer, made ready to be searched."""

    def __init__(self, layer: OutputLayer, floats: FloatRows) -> None:
        from labelproof.search import column_kernels

        self.kernels, self.layer, d = column_kernels, layer, layer.d
        self.table = table_of(layer, floats)
        self.norms = np.where(floats.norms > 0, floats.norms, 1.0)
        self.unit = 2.0 ** -min(max(floats.exponent, -1000), 1000)  # of the logits where all rows share a scale
        self.low = np.full(d, -np.inf) if layer.low is None else layer.low
        self.high = np.full(d, np.inf) if layer.high is None else layer.high
        self.part = np.full(d, len(layer.balls))  # the ball of each column
        self.centre = np.clip(np.zeros(d), self.low, self.high)
        self.base = self.centre.copy()  # where a column is left out
        self.radii = np.array([ball.radius for ball in layer.balls])
        for k, ball in enumerate(layer.balls):
            self.part[ball.start : ball.stop] = k
            self.centre[ball.start : ball.stop] = ball.centre
        finite = np.concatenate([end[np.isfinite(end)] for end in (self.low, self.high)])
        self.is_scaled = not layer.balls and not finite.any() and layer.rule != "sparsemax"
        self.reach = 1.0 if self.is_scaled else float(np.min([*self.radii, *np.abs(finite[finite != 0]), 1e300]))
        self.offset = None if layer.offset is None else self.table.offset
        self.judge = ConflictJudge(layer, self.table, (self.low, self.high))
        optional = (self.low == 0) & (self.centre == 0)
        self.always = np.arange(d) if d <= FEW else np.flatnonzero(~optional)
        self.best = self._best_columns(optional) if d > FEW else np.empty((layer.n_labels, 0), np.int64)

    def _best_columns(self, optional: npt.NDArray[np.bool_]) -> Indices:
        """Return the columns with the largest weights of each label, of those that may be left out."""
        columns = np.flatnonzero(optional)
        count = min(PER_LABEL[self.is_scaled], len(columns))
        return self.table.largest(columns, count) if count else np.empty((self.layer.n_labels, 0), np.int64)

    def search(self, active: Indices, deadline: float) -> Finding:
        """Return unproven evidence for one label set."""
        with np.errstate(all="ignore"):
            try:
                found = self._search(active, deadline)
            except np.linalg.LinAlgError:
                found = None
        return found or Finding(reason="the search in columns ended without a result")

    def _search(self, active: Indices, deadline: float) -> Finding | None:
        if self.layer.rule == "sparsemax" and not len(active):  # no support sums to 1/t
            return Finding(conflict=np.array([self.layer.n_labels + 2]), multipliers=(Fraction(1),))
        problem = self._start(active)
        problem.deadline = deadline
        for _ in range(MOST_ROUNDS):
            stop_after(deadline)
            near = self._solve(problem)
            if not np.isfinite(near.x).all():
                return None
            margin = self._margin(problem)
            if near.lack <= 0.5 * margin and self._is_inside(problem, near.x):
                if not self._add_rows(problem, near, margin):
                    return Finding(point=self._witness(problem, near.x))
                continue
            found = self._conflict(problem, near)
            if isinstance(found, Finding):
                return found
            added = self._add_columns(problem, found)
            clean = None if added and near.multipliers.max() < DIVERGES else self._clean_conflict(problem, near)
            if clean is not None:
                return clean
            if added or self._change_theta(problem, near):
                continue
            problem.level += 1
            if self.is_scaled or problem.level == len(MARGINS):
                return None
        return None

    def _start(self, active: Indices) -> _Problem:
        signs = np.full(self.layer.n_labels, -1.0)
        signs[active] = 1.0
        columns = np.union1d(self.always, self.best[active].ravel()).astype(np.int64)
        theta = np.ones(len(self.radii) + 1)
        if len(self.radii):
            theta[:-1] = (self.radii.min() / self.radii) ** 2
        return _Problem(active, signs, active, columns, np.zeros(len(active) + 1), theta)

    def _clean_conflict(self, problem: _Problem, near: Nearest) -> Finding | None:
        """Return a conflict of those rows alone whose multipliers are large, if that is one."""
        lam = near.multipliers[: len(problem.rows)]
        for share in CLEAN:
            kept = lam > share * lam.max(initial=0.0)
            if kept.all() or not kept.any():
                continue
            few = np.append(lam[kept], problem.lam[len(lam)])
            rows = replace(problem, rows=problem.rows[kept], lam=few, state=None)
            found = self._conflict(rows, self._solve(rows))
            if isinstance(found, Finding):
                return found
        return None

    def _solve(self, problem: _Problem) -> Nearest:
        """Find the nearest point; the threshold counts for nothing, so its middle moves to where it was found."""
        if self.is_scaled:
            return self._solve_scaled(problem)
        near = self._solve_once(problem)
        if self.layer.has_threshold:
            for _ in range(6):
                before, problem.threshold = problem.threshold, float(near.x[-1])
                if abs(problem.threshold - before) <= 1e-9 * np.abs(near.x).max():
                    break
                near = self._solve_once(problem)
        return near

    def _solve_scaled(self, problem: _Problem) -> Nearest:
        """Find a point at which all rows are positive, or the multipliers of a conflict, among multiples of inputs."""
        columns, state = problem.columns, problem.state
        if state is None or state.columns is not columns:
            ends = [self.low[columns], self.high[columns]]
            if self.offset is not None:
                ends = [np.append(end, value) for end, value in zip(ends, (0.0, np.inf), strict=True)]
            if self.layer.has_threshold:
                ends = [np.append(end, value) for end, value in zip(ends, (-np.inf, np.inf), strict=True)]
            state = problem.state = ScaledPoints(columns, *ends)
        rows = plain(problem.rows[state.n_rows :])
        offset, steep = (NONE if self.offset is None else self.offset), (STEEP if self.layer.has_threshold else 0.0)
        state.add(self.table.block(rows, columns), offset, steep, rows, problem.signs, self.norms)
        return state.solve(problem.deadline)

    def _solve_once(self, problem: _Problem) -> Nearest:
        """Find the nearest point for the rows and columns of a problem, and keep its multipliers as a start."""
        rows, columns, layer = problem.rows, problem.columns, self.layer
        scale = problem.signs[rows] / self.norms[rows]
        G = self.table.block(rows, columns) * scale[:, None]
        offset = np.zeros(len(rows)) if self.offset is None else self.offset[rows] * scale
        theta, box = problem.theta[self.part[columns]], [end[columns] for end in (self.centre, self.low, self.high)]
        t = np.full(len(rows), MARGINS[problem.level] * self.reach) - offset
        if layer.has_threshold:
            G, theta = np.column_stack([G, -STEEP * scale]), np.append(theta, 1.0)
            box = [np.append(end, value) for end, value in zip(box, (problem.threshold, -np.inf, np.inf), strict=True)]
        is_equal = np.zeros(len(rows), np.bool_)
        if layer.rule == "sparsemax":
            row, target = self._sum(problem, columns)
            G, t, is_equal = np.vstack([G, row]), np.append(t, target), np.append(is_equal, True)
        middle, low, high = box
        start, tolerance = problem.lam[: len(t)], 0.1 * self._margin(problem)
        bounds = Box(middle, theta, low, high)
        near = nearest_point(G, t, bounds, start, is_equal, tolerance=tolerance, deadline=problem.deadline)
        problem.lam = np.append(near.multipliers, np.zeros(len(rows) + 1 - len(t)))
        return near

    def _margin(self, problem: _Problem) -> float:
        return 1.0 if self.is_scaled else MARGINS[problem.level] * self.reach

    def _sum(self, problem: _Problem, columns: Indices) -> tuple[Floats, float]:
        """Return sparsemax's sum of the support as one row, and what it must be; the last column is the threshold's."""
        active = problem.active
        row = np.append(self.table.block(active, columns).sum(axis=0), -STEEP * len(active))
        target = self.unit / self.layer.temperature
        if self.offset is not None:
            target -= float(self.offset[active].sum())
        size = max(len(active), 1)
        return row / size, target / size

    def _is_inside(self, problem: _Problem, x: Floats) -> bool:
        if not len(self.radii):
            return True
        away = x[: len(problem.columns)] - self.centre[problem.columns]
        part = self.part[problem.columns]
        norms = np.array([np.linalg.norm(away[part == k]) for k in range(len(self.radii))])
        return bool((norms <= self.radii * (1 - 1e-13)).all())

    def _add_rows(self, problem: _Problem, near: Nearest, margin: float) -> bool:
        """Add the labels that are furthest on the wrong side; return whether there are any."""
        m, rest = len(problem.columns), near.x[len(problem.columns) :]
        z = self.table.logits(near.x[:m], problem.columns)
        scale, shift = float(rest[0]) if self.is_scaled and self.offset is not None else 1.0, 0.0
        if self.layer.has_threshold:
            shift = STEEP * float(rest[-1])
        least, share = 0.25 * margin, 0.0
        if self.is_scaled:  # a margin of 0, as at the point 0, is one of weak rows only
            least, share = 0.0 if self.layer.ties == "inactive" else 5e-324, LEAST_SHARE
        new, sides = np.empty(NEW_ROWS, np.int64), (problem.signs, self.norms, plain(problem.rows))
        count = self.kernels.worst_labels(z, self.table.offset, scale, shift, *sides, least, share, new)
        if not count:
            return False
        new = new[:count]
        problem.rows = np.concatenate([problem.rows, new])
        problem.lam = np.concatenate([problem.lam[:-1], np.zeros(len(new)), problem.lam[-1:]])
        return True

    def _witness(self, problem: _Problem, v: Floats) -> FewNumbers:
        columns = problem.columns
        few = v[: len(columns)]
        if self.is_scaled and self.offset is not None:
            few = few / max(v[len(columns)], 1e-6 * np.abs(v).max(initial=1e-300))
        return FewNumbers(self.base, columns, few.clip(self.low[columns], self.high[columns]))

    def _conflict(self, problem: _Problem, near: Nearest) -> Finding | Floats:
        """Return the conflict that the multipliers prove, or how much each column speaks against it."""
        rows = problem.rows
        lam = near.multipliers[: len(rows)]
        mu = float(near.multipliers[len(rows)]) if len(near.multipliers) > len(rows) else 0.0
        used = lam > LEAST_WEIGHT * lam.max(initial=0.0)
        rows = rows[used]
        return self.judge.judge(Claim(problem.active, rows, problem.signs[rows], lam[used] / self.norms[rows], mu))

    def _add_columns(self, problem: _Problem, harm: Floats) -> bool:
        harm = harm.copy()
        harm[problem.columns] = 0.0
        count = max(24 if self.is_scaled else 128, len(problem.columns) // 2)
        if count >= len(harm):
            new = np.flatnonzero(harm > 0)
        else:
            new = np.argpartition(-harm, count)[:count]
            new = new[harm[new] > 0]
        problem.columns = np.union1d(problem.columns, new).astype(np.int64)
        problem.lam = problem.lam / max(1.0, float(np.abs(problem.lam).max()))  # or all columns start at their bounds
        return bool(len(new))

    def _change_theta(self, problem: _Problem, near: Nearest) -> bool:
        """Make it harder to leave the middle of a ball that the point is out of, where there is more than one part."""
        parts = len(self.radii) + bool(len(self.judge.outside))
        if not len(self.radii) or parts == 1:
            return False
        part, before = self.part[problem.columns], problem.theta.copy()
        away = near.x[: len(problem.columns)] - self.centre[problem.columns]
        norms = np.array([np.linalg.norm(away[part == k]) for k in range(len(self.radii))])
        ratio = norms / self.radii
        problem.theta[:-1] *= np.clip(ratio, 0.3, 30.0)
        problem.theta[:-1] /= problem.theta[:-1].max()
        problem.theta[-1] = max(problem.theta[-1] * 0.1, 1e-12)
        return bool(np.abs(np.log(problem.theta / before)).max() > 1e-3)
