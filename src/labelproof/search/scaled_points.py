"""A point at which all rows are positive, where every bound is 0: the active-set method, taken up where it was left.

Nothing returned here is trusted.
"""

import numpy as np
import numpy.typing as npt

from labelproof.search.least_norm import Nearest
from labelproof.search.time_limits import steps_before, stop_after

__all__ = ["ScaledPoints"]

Floats = npt.NDArray[np.float64]
Indices = npt.NDArray[np.int64]
ROOM = 100  # for rows, at first


class ScaledPoints:
    """The active-set method on some columns; rows may be added between two calls of `solve`."""

    def __init__(self, columns: Indices, low: Floats, high: Floats) -> None:
        self.columns, self.low, self.high = columns, low, high
        m = len(low)
        floors, ceilings = np.flatnonzero(low == 0), np.flatnonzero(high == 0)
        self.n_bounds = len(floors) + len(ceilings)
        self.rows = np.zeros((self.n_bounds + ROOM, m))  # the bounds, then what is added
        self.rows[np.arange(len(floors)), floors] = 1.0
        self.rows[np.arange(len(floors), self.n_bounds), ceilings] = -1.0
        self.targets, self.sizes, self.n_rows = np.ones(self.n_bounds + ROOM), np.empty(ROOM), 0
        self.targets[: self.n_bounds] = 0.0
        self.v, self.QT, self.L = np.zeros(m), np.zeros((m, m)), np.zeros((m, m))
        self.lam, self.active, self.multipliers, self.q = np.zeros(m + 1), np.zeros(m + 1, np.int64), np.zeros(m + 1), 0

    def add(self, block: Floats, offset: Floats, steep: float, labels: Indices, signs: Floats, norms: Floats) -> None:
        """Add rows of labels, given their numbers (n, n_columns) in the columns; see `column_kernels.append_rows`."""
        from labelproof.search.column_kernels import append_rows

        missing = self.n_rows + len(labels) - len(self.sizes)
        if missing > 0:
            more = max(missing, len(self.sizes))
            self.rows = np.concatenate([self.rows, np.zeros((more, self.rows.shape[1]))])
            self.targets, self.sizes = np.append(self.targets, np.ones(more)), np.append(self.sizes, np.empty(more))
        first = self.n_bounds + self.n_rows
        append_rows(block, offset, steep, labels, signs, norms, self.rows, first, self.sizes[self.n_rows :])
        self.n_rows += len(labels)

    def solve(self, deadline: float) -> Nearest:
        """Find a point at which all rows are positive, or the multipliers of a conflict."""
        from labelproof.search.active_set_kernels import SOLVED, STOPPED, dual_active_set

        m, start = len(self.v), self.n_bounds
        targets = self.targets[: start + self.n_rows]
        outcome, left, entering = STOPPED, 50 * m + 2000, -1
        while outcome == STOPPED and left > 0:
            stop_after(deadline)
            state = self.v, self.QT, self.L, self.lam, self.active, self.q
            few = steps_before(deadline, m, most=left)
            outcome, self.q, done, entering = dual_active_set(
                self.rows, targets, 0, *state, 0.5, 1e-9, few, self.multipliers
            )
            left -= done
        if outcome == SOLVED:
            return Nearest(self.v.clip(self.low, self.high), np.zeros(self.n_rows), 0.0)
        found = np.zeros(len(targets) + 1)
        found[self.active[: self.q]] = self.multipliers[: self.q]
        found[entering] = 1.0
        return Nearest(self.v, (found[start:-1] / self.sizes[: self.n_rows]).clip(min=0.0), np.inf)
