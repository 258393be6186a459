"""The stretch by column and row generation on HiGHS, warm-started: what one would write without a solver of one's own.

Examples and labels that improve a bound join in rounds until the gap is half a per cent, as in ours; nothing is proven.
"""

import numpy as np

__all__ = ["Peer"]

FIRST_EXAMPLES, FIRST_LABELS, MORE_EXAMPLES, MORE_LABELS = 40, 30, 15, 25
FAR, GAP, MOST_ROUNDS = 200.0, 0.005, 80


class Peer:
    """A layer and examples, in the forms that the rounds need."""

    def __init__(self, weight: np.ndarray, bias: np.ndarray, features: np.ndarray) -> None:
        self.weight = np.ascontiguousarray(weight, np.float64)
        self.centred = features.astype(np.float64) - features.mean(axis=0, dtype=np.float64)
        self.single = self.centred.astype(np.float32)
        self.centre = self.weight @ features.mean(axis=0, dtype=np.float64) + bias

    def stretch(self, active: np.ndarray) -> tuple[float, float]:
        """Return bounds of a set's stretch, as found in floating point."""
        signs = -np.ones(len(self.weight))
        signs[active] = 1
        needed = -signs * self.centre + 1e-6
        order = np.argsort(-needed)[:FIRST_LABELS].tolist()
        rows = list(dict.fromkeys([*np.asarray(active).tolist(), *order]))
        toward = signs[rows] @ self.weight[rows]
        columns = np.argpartition(-(self.single @ toward.astype(np.float32)), FIRST_EXAMPLES)[:FIRST_EXAMPLES].tolist()
        solver = _new_solver()
        _add_columns(solver, len(columns))
        _add_rows(solver, self._table(rows, columns, signs), needed[rows])
        lower, upper = 0.0, np.inf
        for _ in range(MOST_ROUNDS):
            solver.run()
            found = solver.getSolution()
            amounts = np.maximum(np.array(found.col_value), 0)
            theta = np.maximum(np.array(found.row_dual), 0)
            logits = signs * (self.weight @ (amounts[1:] @ self.centred[columns])) - needed
            if logits.min() > -1e-7 and amounts[0] < 1e-9:
                upper = min(upper, float(amounts[1:].sum()))
            direction = (theta * signs[rows]) @ self.weight[rows]
            gains = self.single @ direction.astype(np.float32)
            if gains.max() > 0:
                lower = max(lower, float(theta @ (needed[rows] - 1e-6) / gains.max()))
            if lower >= upper * (1 - GAP):
                break
            new_rows = [i for i in np.argsort(logits)[:MORE_LABELS].tolist() if logits[i] < -1e-7 and i not in rows]
            best = np.argpartition(-gains, MORE_EXAMPLES)[:MORE_EXAMPLES].tolist()
            new_columns = [j for j in best if gains[j] > 1 + 1e-6 and j not in columns]
            if not new_rows and not new_columns:
                break
            for entries in self._table(rows, new_columns, signs).T:
                solver.addCol(1.0, 0.0, np.inf, len(rows), np.arange(len(rows), dtype=np.int32), entries)
            columns += new_columns
            _add_rows(solver, self._table(new_rows, columns, signs), needed[new_rows])
            rows += new_rows
        return lower, upper

    def _table(self, rows: list[int], columns: list[int], signs: np.ndarray) -> np.ndarray:
        return signs[rows, None] * (self.weight[rows] @ self.centred[columns].T)


def _new_solver():
    import highspy

    solver = highspy.Highs()
    for option, value in {"output_flag": False, "threads": 1, "presolve": "off", "solver": "simplex"}.items():
        solver.setOptionValue(option, value)
    return solver


def _add_columns(solver, count: int) -> None:
    empty = np.array([], np.int32), np.array([], float)
    solver.addCol(FAR, 0.0, np.inf, 0, *empty)
    for _ in range(count):
        solver.addCol(1.0, 0.0, np.inf, 0, *empty)


def _add_rows(solver, table: np.ndarray, needed: np.ndarray) -> None:
    for entries, least in zip(table, needed, strict=True):
        places = np.arange(len(entries) + 1, dtype=np.int32)
        solver.addRow(float(least), np.inf, len(places), places, np.append(1.0, entries))
