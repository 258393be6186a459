"""The search once more in twice the digits of a float, for label sets whose region is too thin for floats.

A pure DFT layer at full load is such a case: rows of neighbouring labels nearly depend on each other, and its logits
cancel to 1e-20 of their terms. With an orthogonal factorisation 32 digits are mostly enough, and far faster than
hundreds of bits. Nothing returned is trusted.
"""

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np
import numpy.typing as npt

from labelproof.proof.regions import OutputLayer
from labelproof.search.systems import SearchSystem, extra_columns
from labelproof.search.time_limits import steps_before, stop_after

__all__ = ["DoubledRows", "search_doubled"]

Floats = npt.NDArray[np.float64]
Indices = npt.NDArray[np.int64]
FLOOR = 0.1  # share of its target that a row must reach
SLOWER = 5  # as slow as the search in floats with so many times the features
MOST_ROUNDS = 200
MOST_NUMBERS = 20_000_000  # of rows that are worth it


@dataclass(frozen=True, eq=False)
class DoubledRows:
    """The rows of the search as floats that are exact but for positive factors, made when they are first asked for."""

    layer: OutputLayer
    system: SearchSystem

    @cached_property
    def rows(self) -> Floats | None:
        """Labels first, then bounds of one coordinate by 0; None where floats do not hold them, or there are others."""
        layer, system, n = self.layer, self.system, self.layer.n_labels
        if system.rows.size > MOST_NUMBERS:
            return None
        bounds = system.rows[n:]
        is_exact = layer.offset_error is None or not layer.offset_error.any()
        if not is_exact or (np.count_nonzero(bounds, axis=1) > 1).any() or len(system.fixed):
            return None
        if len(system.weak_zeros) or (layer.rule == "sparsemax" and not layer.is_cone):
            return None
        rows = np.concatenate([layer.weight, extra_columns(layer)], axis=1)
        exponents = (-np.frexp(system.norms[:n])[1] - system.row_exponents[:n])[:, None] - system.column_exponents
        with np.errstate(over="ignore", under="ignore"):
            scaled = np.ldexp(rows, exponents)
            is_exact = np.array_equal(np.ldexp(scaled, -exponents), rows)
        return np.concatenate([scaled, bounds]) if is_exact else None


def search_doubled(
    doubled: DoubledRows, active: Indices, start: Indices, deadline: float
) -> tuple[int, list[Fraction], Indices]:
    """Search for one label set; weak rows are taken as strict ones.

    Parameters
    ----------
    doubled
        The rows; without them there is no outcome.
    active
        The labels of the set.
    start
        Row numbers for the working set to begin with, besides these.
    deadline
        Value of `time_limits.now` after which to raise OutOfTimeError.

    Returns
    -------
    outcome, point, numbers
        1 with a point in the search's coordinates and the rows that are tight there, 0 with those of a conflict, or -1.
    """
    from labelproof.search.doubled_kernels import CONFLICT, SOLVED, STOPPED, doubled_active_set, doubled_products

    rows, system = doubled.rows, doubled.system
    if rows is None:
        return -1, [], start
    n, m = rows.shape
    norms = np.linalg.norm(rows, axis=1)
    norms[norms == 0] = 1.0
    signs = np.where(np.arange(n) < doubled.layer.n_labels, -1.0, 1.0)
    signs[active] = 1.0
    inside = np.isin(system.numbers, start)
    inside[active] = True
    places = np.flatnonzero(inside)
    v, QT, R = np.zeros((2, m)), np.zeros((m, 2, m)), np.zeros((m, 2, m))
    state = v, QT, R, np.zeros((2, m + 1)), np.zeros(m + 1, np.int64), np.zeros(m + 1)
    products, q, left = np.empty(n), 0, 50 * m + 2000
    for _ in range(MOST_ROUNDS):
        G = signs[places, None] * rows[places]
        outcome = STOPPED
        while outcome == STOPPED and left > 0:
            stop_after(deadline)
            few = steps_before(deadline, SLOWER * m, most=left)
            outcome, q, done, entering = doubled_active_set(G, norms[places], state, q, FLOOR, few)
            left -= done
        if outcome == CONFLICT:
            clash = state[4][:q][np.abs(state[5][:q]) > 0]
            return 0, [], system.numbers[places[np.append(clash, entering)]]
        if outcome != SOLVED:
            break
        doubled_products(rows, v, products)
        scores = signs * products / norms
        worst = float(scores.min())
        if worst > 0:
            return 1, [Fraction(h) + Fraction(low) for h, low in v.T.tolist()], system.numbers[places[state[4][:q]]]
        scores[inside] = np.inf
        new = np.argsort(scores)[: max(60, m // 2)]
        new = new[scores[new] <= 1 - 0.3 * (1 - worst)]
        if not len(new):
            break
        inside[new] = True
        places = np.concatenate([places, new])
    return -1, [], system.numbers[places[state[4][:q]]]
