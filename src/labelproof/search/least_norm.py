"""The point of a box nearest to a centre at which some rows reach their targets, or multipliers that grow without end.

    minimise ½ Σ_j θ_j (x_j − c_j)²  subject to  G x ≥ t,  low ≤ x ≤ high

by its dual, in as many unknowns as there are rows, however many columns there are: x(λ) = clip(c + Gᵀλ/θ, low, high),
and λ ≥ 0 maximises a smooth concave function whose gradient is t − G x(λ). Newton's method on the rows that are not
held at λ_i = 0, with steps cut back where they overshoot. Nothing returned here is trusted.
"""

from math import inf
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from labelproof.search.time_limits import stop_after

__all__ = ["Nearest", "nearest_point"]

Floats = npt.NDArray[np.float64]
RIDGES = (1e-13, 1e-10, 1e-7, 1e-4, 1e-2)  # of the largest diagonal entry, where rows depend on each other
SHARES = (1.0, 0.5, 0.25, 0.1, 0.03, 0.01)  # of a step


class Nearest(NamedTuple):
    """A point, its multipliers, and by how much the worst row misses its target there."""

    x: Floats
    multipliers: Floats
    lack: float


class Box(NamedTuple):
    """The columns of a problem: where x would be without rows, how hard that is to leave, and the bounds."""

    centre: Floats
    theta: Floats
    low: Floats
    high: Floats


def nearest_point(
    G: Floats,
    t: Floats,
    box: Box,
    start: Floats,
    is_equal: npt.NDArray[np.bool_],
    *,
    tolerance: float,
    steps: int = 60,
    deadline: float = inf,
) -> Nearest:
    """Maximise the dual from a start; rows in ``is_equal`` may have multipliers of either sign.

    Ends when no row lacks more than the tolerance, and none with a multiplier exceeds it, or after so many steps;
    raises OutOfTimeError after the deadline.
    """
    lam = np.where(is_equal, start, np.maximum(start, 0.0))
    now = _point(G, t, box, lam)
    for _ in range(steps):
        residual = t - G @ now.x
        moves = (lam > 0) | (residual > 0) | is_equal
        if np.abs(residual[moves]).max(initial=0.0) <= tolerance:
            break
        inside = (now.raw >= box.low) & (now.raw <= box.high)
        inner = G[moves][:, inside]
        hessian = (inner / box.theta[inside]) @ inner.T
        better = None
        for ridge in RIDGES:
            stop_after(deadline)
            better = _step(G, t, box, lam, is_equal, now.value, residual, moves, hessian, ridge)
            if better is not None:
                break
        if better is None:
            break
        lam, now = better
    return Nearest(now.x, lam, float((t - G @ now.x).max(initial=0.0)))


class _Point(NamedTuple):
    raw: Floats  # before it is cut to the box
    x: Floats
    value: float  # of the dual


def _step(
    G: Floats,
    t: Floats,
    box: Box,
    lam: Floats,
    is_equal: npt.NDArray[np.bool_],
    value: float,
    residual: Floats,
    moves: npt.NDArray[np.bool_],
    hessian: Floats,
    ridge: float,
) -> tuple[Floats, _Point] | None:
    """Return multipliers after a step of Newton's that gains, and their point; None if there is none."""
    regular = hessian.copy()
    regular.flat[:: len(hessian) + 1] += ridge * max(float(hessian.diagonal().max(initial=0.0)), 1e-30)
    step = np.zeros(len(t))
    step[moves] = np.linalg.solve(regular, residual[moves])
    if not np.isfinite(step).all():
        return None
    for share in SHARES:
        trial = lam + share * step
        trial = np.where(is_equal, trial, np.maximum(trial, 0.0))
        point = _point(G, t, box, trial)
        if point.value > value + 1e-4 * residual @ (trial - lam):
            return trial, point
    return None


def _point(G: Floats, t: Floats, box: Box, lam: Floats) -> _Point:
    """Return x(λ) and the dual's value."""
    pulls = lam @ G
    raw = box.centre + pulls / box.theta
    x = np.clip(raw, box.low, box.high)
    away = x - box.centre
    return _Point(raw, x, float(t @ lam - pulls @ x + 0.5 * (box.theta * away) @ away))
