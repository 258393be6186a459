"""Compiled dual simplex for the Chebyshev radius: maximise ε with every row at least ε away from its boundary.

In the variables v = (x, ε) the rows are (g_i, −1)·v ≥ h_i for labels, with unit g_i that carry their signs, and
low_j ≤ x_j ≤ high_j. A basis is one constraint for each variable; C holds the rows of its inverse, transposed. Nothing
computed here is trusted: `brackets` bounds ε from the point and from the multipliers that are found.
"""

import numpy as np
from numba import njit

__all__ = ["solve_working_set"]

_FAST = {"reassoc", "contract", "arcp", "nsz"}
OPTIMAL, STOPPED = 1, -1


@njit(cache=True, nogil=True)
def _constraint(G, h, low, high, k, g):  # pragma: no cover - compiled
    """Write constraint k into g: a working row, then the lower and the upper bounds; return its right-hand side."""
    count, d = G.shape
    if k < count:
        for j in range(d):
            g[j] = G[k, j]
        g[d] = -1.0
        return h[k]
    for j in range(d + 1):
        g[j] = 0.0
    j = (k - count) % d
    if k - count < d:
        g[j] = 1.0
        return low[j]
    g[j] = -1.0
    return -high[j]


@njit(cache=True, nogil=True)
def _refactor(G, h, low, high, basis, C, v, lam):  # pragma: no cover - compiled
    """Compute C, v and the multipliers from the basis alone."""
    m = len(basis)
    B = np.empty((m, m))
    right = np.empty(m)
    for r in range(m):
        right[r] = _constraint(G, h, low, high, basis[r], B[r])
    inverse = np.linalg.inv(B)
    C[:] = inverse.T
    v[:] = np.dot(inverse, right)
    for r in range(m):
        lam[r] = max(-C[r, m - 1], 0.0)


@njit(cache=True, nogil=True)
def _start(G, h, low, high, basis, C, v, lam):  # pragma: no cover - compiled
    """Set up the basis of the first row and of the corner of the box that suits it best."""
    count, d = G.shape
    C[:] = 0.0
    C[d, d] = -1.0
    basis[d] = 0
    lam[d] = 1.0
    v[d] = -h[0]
    for j in range(d):
        at_top = G[0, j] > 0
        basis[j] = count + j + (d if at_top else 0)
        C[j, j] = -1.0 if at_top else 1.0
        C[j, d] = C[j, j] * G[0, j]
        lam[j] = abs(G[0, j])
        v[j] = high[j] if at_top else low[j]
        v[d] += G[0, j] * v[j]


@njit(cache=True, nogil=True, fastmath=_FAST)
def solve_working_set(G, h, low, high, basis, C, v, lam, start, tolerance, max_steps):  # pragma: no cover - compiled
    """Solve for the given rows; ``start`` says whether basis, C, v and lam are to be set up first.

    A call with more rows than the last goes on from its basis, in which bounds were renumbered by the caller.
    Returns the outcome and the number of steps.
    """
    count, d = G.shape
    m = d + 1
    if start:
        _start(G, h, low, high, basis, C, v, lam)
    in_basis = np.zeros(count + 2 * d, np.bool_)
    for r in range(m):
        in_basis[basis[r]] = True
    n_tries = 8
    tries = np.empty(n_tries, np.int64)
    shortfall = np.empty(n_tries)
    rows = np.empty((n_tries, m))
    coordinates = np.empty((n_tries, m))
    passed = np.empty(m, np.bool_)
    flips = np.empty(m, np.int64)
    often = max(100, m)
    steps = 0
    since = 0
    while steps < max_steps:
        products = np.dot(G, v[:d])
        n_found = 0
        weakest = 0
        for k in range(count + 2 * d):
            if k < count:
                lack = h[k] + v[d] - products[k]
            elif k - count < d:
                lack = low[k - count] - v[k - count]
            else:
                lack = v[k - count - d] - high[k - count - d]
            if lack <= tolerance or in_basis[k]:
                continue
            if n_found < n_tries:
                tries[n_found] = k
                shortfall[n_found] = lack
                n_found += 1
            elif lack > shortfall[weakest]:
                tries[weakest] = k
                shortfall[weakest] = lack
            else:
                continue
            for a in range(n_found):
                if shortfall[a] < shortfall[weakest] or weakest >= n_found:
                    weakest = a
        if n_found == 0:
            return OPTIMAL, steps
        for a in range(n_found):
            _constraint(G, h, low, high, tries[a], rows[a])
        np.dot(rows[:n_found], C.T, coordinates[:n_found])  # of the constraints in the basis
        best = -1.0
        chosen = 0
        for a in range(n_found):  # the steepest of the most violated
            size = 1.0
            for r in range(m):
                size += coordinates[a, r] * coordinates[a, r]
            if shortfall[a] * shortfall[a] > best * size:
                best = shortfall[a] * shortfall[a] / size
                chosen = a
        entering, lacking, best_u = tries[chosen], shortfall[chosen], coordinates[chosen]
        place = -1
        n_flips = 0
        for r in range(m):
            passed[r] = best_u[r] <= 1e-9
        while True:
            longest = np.inf
            place = -1
            for r in range(m):
                if not passed[r]:
                    ratio = lam[r] / best_u[r]
                    if ratio < longest - 1e-13 or (ratio < longest + 1e-13 and best_u[r] > best_u[place]):
                        longest = min(ratio, longest)
                        place = r
            if place < 0 or basis[place] < count:
                break
            j = (basis[place] - count) % d
            left = lacking - best_u[place] * (high[j] - low[j])
            if left <= tolerance:
                break
            lacking = left  # the feature goes to its other bound, and the step on
            passed[place] = True
            flips[n_flips] = place
            n_flips += 1
        if place < 0:
            if since == 0:
                return STOPPED, steps
            _refactor(G, h, low, high, basis, C, v, lam)
            since = 0
            continue
        for f in range(n_flips):
            r = flips[f]
            j = (basis[r] - count) % d
            width = high[j] - low[j]
            for k in range(m):
                v[k] += width * C[r, k]
                C[r, k] = -C[r, k]
            best_u[r] = -best_u[r]
            lam[r] = -lam[r]
            in_basis[basis[r]] = False
            basis[r] += d if basis[r] < count + d else -d
            in_basis[basis[r]] = True
        pivot = best_u[place]
        move = lacking / pivot
        for j in range(m):
            v[j] += move * C[place, j]
            C[place, j] /= pivot
        for r in range(m):
            if r != place:
                s = best_u[r]
                lam[r] -= longest * s
                if lam[r] < 0.0:
                    lam[r] = 0.0
                for j in range(m):
                    C[r, j] -= s * C[place, j]
        lam[place] = longest
        in_basis[basis[place]] = False
        in_basis[entering] = True
        basis[place] = entering
        steps += 1
        since += 1
        if since >= often:
            _refactor(G, h, low, high, basis, C, v, lam)
            since = 0
    return STOPPED, steps
