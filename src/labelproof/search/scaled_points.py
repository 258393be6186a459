"""A point at which all rows are positive, where every bound is 0: the active-set method, taken up where it was left.

Nothing returned here is trusted.
"""

import numpy as np
import numpy.typing as npt

from labelproof.search.least_norm import Nearest
from labelproof.search.time_limits import steps_before, stop_after

__all__ = ["ScaledPoints"]

Floats = npt.NDArray[np.float64]


class ScaledPoints:
    """The active-set method on some columns; rows may be added between two calls of `solve`."""

    def __init__(self, columns: npt.NDArray[np.int64], low: Floats, high: Floats) -> None:
        self.columns, self.low, self.high = columns, low, high
        m = len(low)
        self.rows = np.concatenate([np.eye(m)[low == 0], -np.eye(m)[high == 0]])  # the bounds, then what is added
        self.n_bounds = len(self.rows)
        self.sizes = np.empty(0)
        self.v, self.QT, self.R = np.zeros(m), np.zeros((m, m)), np.zeros((m, m))
        self.lam, self.active, self.multipliers, self.q = np.zeros(m + 1), np.zeros(m + 1, np.int64), np.zeros(m + 1), 0

    @property
    def n_rows(self) -> int:
        """Number of rows, without the bounds."""
        return len(self.sizes)

    def add(self, rows: Floats) -> None:
        """Add rows (n, m), which carry their signs."""
        sizes = np.linalg.norm(rows, axis=1)
        sizes[sizes < 1e-300] = 1.0
        self.rows = np.concatenate([self.rows, rows / sizes[:, None]])
        self.sizes = np.concatenate([self.sizes, sizes])

    def solve(self, deadline: float) -> Nearest:
        """Find a point at which all rows are positive, or the multipliers of a conflict."""
        from labelproof.search.active_set_kernels import SOLVED, STOPPED, dual_active_set

        m, start = len(self.v), self.n_bounds
        targets = np.append(np.zeros(start), np.ones(self.n_rows))
        outcome, left, entering = STOPPED, 50 * m + 2000, -1
        while outcome == STOPPED and left > 0:
            stop_after(deadline)
            state = self.v, self.QT, self.R, self.lam, self.active, self.q
            few = steps_before(deadline, m, most=left)
            outcome, self.q, done, entering = dual_active_set(
                self.rows, targets, 0, *state, 0.5, 1e-9, few, self.multipliers
            )
            left -= done
        if outcome == SOLVED:
            return Nearest(np.clip(self.v, self.low, self.high), np.zeros(self.n_rows), 0.0)
        found = np.zeros(len(targets) + 1)
        found[self.active[: self.q]] = self.multipliers[: self.q]
        found[entering] = 1.0
        return Nearest(self.v, (found[start:-1] / self.sizes).clip(min=0.0), np.inf)
