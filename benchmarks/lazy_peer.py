"""The fair peer: HiGHS with lazily added rows and a warm start, which is what a good engineer writes in an hour.

    max t   s.t.   y_i a_i·x ≥ t for the labels i added so far,   |x_j| ≤ 1,   a_i = w_i/‖w_i‖

It starts from the active labels, adds the labels that are worst at its point, and goes on from its basis. Its verdict
holds within a tolerance; `certify` makes a proof of it in FLINT's integers, as one would without our bounds.
"""

from dataclasses import dataclass

import flint
import highspy
import numpy as np

__all__ = ["Answer", "LazyHighs"]

TOLERANCE = 1e-9


@dataclass(frozen=True)
class Answer:
    """A bare verdict, and what it rests on: a point, or the labels with a multiplier."""

    can: bool
    x: np.ndarray
    rows: np.ndarray


class LazyHighs:
    """HiGHS on one layer without a bias, on one thread."""

    def __init__(self, weight: np.ndarray) -> None:
        self.weight = np.asarray(weight, np.float64)
        self.unit = self.weight / np.linalg.norm(self.weight, axis=1)[:, None]
        self.n_labels, self.d = self.weight.shape
        self.at_once = max(60, self.d // 2)
        self.whole: flint.fmpz_mat | None = None

    def decide(self, active: np.ndarray) -> Answer:
        """Return the verdict on one label set, given by its active labels."""
        y = np.full(self.n_labels, -1.0)
        y[active] = 1.0
        solver, inside = self._solver(), np.zeros(self.n_labels, bool)
        added = np.empty(0, np.int64)
        new = np.asarray(active, np.int64) if len(active) else np.arange(min(self.at_once, self.n_labels))
        while len(new):
            self._add(solver, y, new)
            inside[new] = True
            added = np.append(added, new)
            solver.run()
            found = solver.getSolution()
            v = np.array(found.col_value)
            if v[-1] <= TOLERANCE:
                return Answer(False, v[:-1], added[np.abs(np.array(found.row_dual)) > TOLERANCE])
            margins = y * (self.unit @ v[:-1])
            margins[inside] = np.inf
            wrong = np.flatnonzero(margins <= 0)
            new = wrong[np.argsort(margins[wrong])[: self.at_once]]
        return Answer(True, v[:-1], added)

    def _solver(self) -> highspy.Highs:
        solver = highspy.Highs()
        options = {"output_flag": False, "presolve": "off", "threads": 1, "parallel": "off", "solver": "simplex"}
        for option, value in options.items():
            solver.setOptionValue(option, value)
        solver.addVars(self.d, np.full(self.d, -1.0), np.ones(self.d))
        solver.addVar(-1.0, 10.0)
        solver.changeColCost(self.d, -1.0)
        return solver

    def _add(self, solver: highspy.Highs, y: np.ndarray, rows: np.ndarray) -> None:
        count, width = len(rows), self.d + 1
        values = np.column_stack([y[rows, None] * self.unit[rows], np.full(count, -1.0)])
        starts, columns = np.arange(count, dtype=np.int32) * width, np.tile(np.arange(width, dtype=np.int32), count)
        ends = np.zeros(count), np.full(count, highspy.kHighsInf)
        solver.addRows(count, *ends, count * width, starts, columns, values.ravel())

    def certify(self, active: np.ndarray, answer: Answer) -> bool:
        """Prove a verdict in integers: all logits of a point, or one dependence of positive multipliers."""
        wanted = set(np.asarray(active).tolist())
        if answer.can:
            if self.whole is None:
                self.whole = flint.fmpz_mat(_integers(self.weight))
            logits = self.whole * flint.fmpz_mat(_integers(answer.x[:, None]))
            return all((logits[i, 0] > 0) == (i in wanted) and logits[i, 0] != 0 for i in range(self.n_labels))
        signs = np.array([1 if i in wanted else -1 for i in answer.rows.tolist()], object)
        columns = flint.fmpz_mat((np.array(_integers(self.weight[answer.rows]), object) * signs[:, None]).T.tolist())
        null_space, nullity = columns.nullspace()
        found = [null_space[i, 0] for i in range(columns.ncols())]
        return nullity == 1 and (min(found) > 0 or max(found) < 0)


def _integers(numbers: np.ndarray) -> list[list[int]]:
    """Return floats as integers, all times the same power of two."""
    exponents = np.frexp(numbers[numbers != 0])[1]
    shift = 53 - int(exponents.min(initial=0))
    return [
        [int(mantissa * 2**53) << (e + shift - 53) if mantissa else 0 for mantissa, e in row] for row in _parts(numbers)
    ]


def _parts(numbers: np.ndarray) -> list[list[tuple[float, int]]]:
    mantissas, exponents = np.frexp(numbers)
    return [list(zip(*row, strict=True)) for row in zip(mantissas.tolist(), exponents.tolist(), strict=True)]
