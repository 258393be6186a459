"""Guess which few labels to change so that a label set becomes argmaxable."""

import time

import numpy as np
import numpy.typing as npt
from scipy.optimize import linprog

from labelproof.explaining.question import Question, remaining

__all__ = ["few_changes"]

Floats = npt.NDArray[np.float64]


def few_changes(question: Question, rng: np.random.Generator, deadline: float) -> list[int]:
    """Return the labels that some point gives otherwise than asked for; they are few, at a guess.

    The point minimises Σ cost_i max(0, 1 − row_i·v) over the signed rows of the labels. A quarter of the violated rows,
    the worst, no longer cost anything next time, until no others are violated.
    """
    n, system = question.layer.n_labels, question.plain.system
    rows = np.concatenate([system.rows[:n] * question.signs[:, None], system.rows[n:], system.fixed, -system.fixed])
    targets = np.zeros(len(rows))
    targets[:n] = 1.0
    targets[n : len(system.numbers)] = system.numbers[n:] == question.layer.scale_row
    costs = np.append(rng.uniform(0.8, 1.0, n), np.full(len(rows) - n, np.inf))
    changes: list[int] = []
    while time.perf_counter() < deadline:
        v = _least_violation(rows, targets, costs, remaining(deadline))
        if v is None:
            break
        values = rows[:n] @ v
        changes = np.flatnonzero(values <= 0).tolist()
        violated = np.flatnonzero((values <= 0) & (costs[:n] > 0))
        if not len(violated):
            break
        costs[violated[np.argsort(values[violated], kind="stable")[: 1 + len(violated) // 4]]] = 0.0
    return changes


def _least_violation(rows: Floats, targets: Floats, costs: Floats, time_limit: float) -> Floats | None:
    """Return the v that minimises Σ cost_i max(0, target_i − row_i·v), by the dual; None if that takes too long."""
    answer = linprog(
        -targets,
        A_eq=rows.T,
        b_eq=np.zeros(rows.shape[1]),
        bounds=np.column_stack([np.zeros(len(costs)), costs]),
        method="highs-ds",
        options={"time_limit": time_limit},
    )
    return -np.asarray(answer.eqlin.marginals, np.float64) if answer.status == 0 else None
