"""Compiled loop for the reach: the least u with G u ≥ h, by the dual active-set method of Goldfarb and Idnani."""

import numpy as np

from labelproof.foundation.compilation import compiled
from labelproof.search.active_set_kernels import CONFLICT, SOLVED, STOPPED, append_row, drop_row, project, solve_upper

__all__ = ["CONFLICT", "SOLVED", "STOPPED", "least_point"]


@compiled(error_model="numpy")
def least_point(G, h, u, QT, RT, lam, active, q, tolerance, max_steps):  # pragma: no cover - compiled
    """Continue until all unit rows of G hold to the tolerance; return (outcome, q).

    State: u (m,), QT (m, m), RT (m, m), lam, active (m + 1,), q: the tight rows, their orthogonal basis, multipliers.
    """
    count, m = G.shape
    is_active = np.zeros(count, np.bool_)
    for a in range(q):
        is_active[active[a]] = True
    c, r, z = np.zeros(m + 1), np.zeros(m + 1), np.zeros(m)
    candidates = np.empty(48, np.int64)
    n_candidates = 0
    reference = 0.0
    steps = 0
    while steps < max_steps:
        entering = np.int64(-1)
        worst = tolerance
        for k in range(n_candidates):  # rows that were among the worst when all were last looked at
            i = candidates[k]
            if not is_active[i]:
                s = h[i]
                for j in range(m):
                    s -= G[i, j] * u[j]
                if s > worst:
                    worst = s
                    entering = i
        if worst < 0.5 * reference:
            entering = np.int64(-1)
        if entering < 0:
            violations = h - np.dot(G, u)
            worst = tolerance
            for i in range(count):
                if violations[i] > worst and not is_active[i]:
                    worst = violations[i]
                    entering = i
            if entering < 0:
                return SOLVED, q
            reference = worst
            n_candidates = 0
            for i in range(count):
                if violations[i] > 0.5 * worst and not is_active[i] and n_candidates < 48:
                    candidates[n_candidates] = i
                    n_candidates += 1
        g = G[entering]
        multiplier = 0.0
        while True:
            steps += 1
            zz = project(QT, q, g, c, z)
            solve_upper(RT, c, q, r)
            longest = np.inf
            place = np.int64(-1)
            for a in range(q):
                if r[a] > 1e-11 and lam[a] / r[a] < longest:
                    longest = lam[a] / r[a]
                    place = a
            free = zz > 1e-22 and q < m
            if not free and place < 0:
                return CONFLICT, q
            full = np.inf
            if free:
                s = h[entering]
                for j in range(m):
                    s -= g[j] * u[j]
                full = s / zz
            step = min(longest, full)
            if free:
                for j in range(m):
                    u[j] += step * z[j]
            for a in range(q):
                lam[a] -= step * r[a]
            multiplier += step
            if full <= longest:
                append_row(QT, RT, lam, active, q, c, z, zz, entering, multiplier)
                is_active[entering] = True
                q += 1
                break
            is_active[active[place]] = False
            q = drop_row(QT, RT, lam, active, q, place)
            if steps >= max_steps:
                break
    return STOPPED, q
