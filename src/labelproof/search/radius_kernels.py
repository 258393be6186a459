"""Compiled dual simplex for the Chebyshev radius: maximise ε with every row at least ε away from its boundary.

In the variables v = (x, ε) the constraints are low_j ≤ x_j ≤ high_j and (g_i, −1)·v ≥ h_i for labels, with unit g_i
that carry their signs. They are numbered in this order: lower bounds, upper bounds, rows. A basis is one constraint for
each variable. The tableau T holds the coordinates, in terms of the basis, of the d + 1 unit vectors (those of the
bounds, from which all others follow) and of the rows; so a step is one pass over T, which also gives the length of
every edge. Nothing computed here is trusted: `radius_bounds` bounds ε from the point and the multipliers found.
"""

import numpy as np

from labelproof.foundation.compilation import compiled, compiled_part

__all__ = ["coordinates", "first_basis", "solve_working_set"]

_FAST = {"reassoc", "contract", "arcp", "nsz"}
OPTIMAL, STOPPED = 1, -1


@compiled(error_model="numpy")
def first_basis(G, h, low, high):  # pragma: no cover - compiled
    """Return the basis of the first row and the corner of the box that suits it best, with tableau, v, multipliers."""
    d = G.shape[1]
    basis, units, v, lam = np.empty(d + 1, np.int64), np.zeros((d + 1, d + 1)), np.empty(d + 1), np.empty(d + 1)
    units[d, d] = -1.0
    basis[d] = 2 * d
    lam[d] = 1.0
    v[d] = -h[0]
    for j in range(d):
        at_top = G[0, j] > 0
        basis[j] = j + (d if at_top else 0)
        units[j, j] = -1.0 if at_top else 1.0
        units[d, j] = units[j, j] * G[0, j]
        lam[j] = abs(G[0, j])
        v[j] = high[j] if at_top else low[j]
        v[d] += G[0, j] * v[j]
    return basis, units, v, lam


@compiled(error_model="numpy")
def coordinates(G, T):  # pragma: no cover - compiled
    """Return T and below it the coordinates of the rows of G."""
    known, m = T.shape
    taller = np.empty((known + len(G), m))
    for k in range(known):
        for r in range(m):
            taller[k, r] = T[k, r]
    np.dot(G, T[: m - 1], taller[known:])
    for k in range(known, len(taller)):
        for r in range(m):
            taller[k, r] -= T[m - 1, r]
    return taller


@compiled_part(error_model="numpy")
def _refactor(G, h, low, high, basis, T, v, lam):  # pragma: no cover - compiled
    """Compute tableau, v and the multipliers from the basis alone."""
    d = G.shape[1]
    m = d + 1
    B = np.zeros((m, m))
    right = np.empty(m)
    for r in range(m):
        k = basis[r]
        if k < d:
            B[r, k] = 1.0
            right[r] = low[k]
        elif k < 2 * d:
            B[r, k - d] = -1.0
            right[r] = -high[k - d]
        else:
            for j in range(d):
                B[r, j] = G[k - 2 * d, j]
            B[r, d] = -1.0
            right[r] = h[k - 2 * d]
    inverse = np.linalg.inv(B)
    for k in range(m):
        for r in range(m):
            T[k, r] = inverse[k, r]
    taller = coordinates(G, T[:m])
    for k in range(m, len(T)):
        for r in range(m):
            T[k, r] = taller[k, r]
    np.dot(T[:m], right, v)
    for r in range(m):
        lam[r] = max(-T[d, r], 0.0)


@compiled_part(error_model="numpy", fastmath=_FAST)
def _lengths(T, lengths):  # pragma: no cover - compiled
    for k in range(len(T)):
        s = 1.0
        for r in range(T.shape[1]):
            s += T[k, r] * T[k, r]
        lengths[k] = s


@compiled_part(error_model="numpy", fastmath=_FAST)
def _pivot(T, u, place, lengths):  # pragma: no cover - compiled
    """Let the vector with coordinates u take this place in the basis; update all coordinates and edge lengths."""
    inverse = 1.0 / u[place]
    length = 1.0
    for r in range(T.shape[1]):
        length += u[r] * u[r]
    for k in range(len(T)):
        f = T[k, place] * inverse
        product = 0.0
        for r in range(T.shape[1]):
            product += T[k, r] * u[r]
            T[k, r] -= f * u[r]
        T[k, place] = f
        lengths[k] = max(lengths[k] + f * (f * length - 2 * product), 1.0)


@compiled_part(error_model="numpy", fastmath=_FAST)
def _slacks(G, h, low, high, v, slacks):  # pragma: no cover - compiled
    """Write by how much each constraint is met."""
    count, d = G.shape
    np.dot(G, v[:d], slacks[2 * d :])
    for j in range(d):
        slacks[j] = v[j] - low[j]
        slacks[d + j] = high[j] - v[j]
    for k in range(count):
        slacks[2 * d + k] -= h[k] + v[d]


@compiled_part(error_model="numpy", fastmath=_FAST)
def _steepest(slacks, lengths, d, tolerance):  # pragma: no cover - compiled
    """Return the violated constraint whose edge ascends most steeply, or -1."""
    entering = np.int64(-1)
    best = 0.0
    for k in range(len(slacks)):
        s = slacks[k]
        if s < -tolerance:
            length = lengths[k] if k < d else lengths[k - d] if k < 2 * d else lengths[k - d + 1]
            if s * s > best * length:
                best = s * s / length
                entering = k
    return entering


@compiled_part(error_model="numpy", fastmath=_FAST)
def _move(slacks, v, T, r, step, d):  # pragma: no cover - compiled
    """Move along the edge of place r of the basis."""
    for j in range(d):
        x = step * T[j, r]
        v[j] += x
        slacks[j] += x
        slacks[d + j] -= x
    v[d] += step * T[d, r]
    for k in range(d + 1, len(T)):
        slacks[k + d - 1] += step * T[k, r]


@compiled(error_model="numpy", fastmath=_FAST)
def solve_working_set(G, h, low, high, basis, T, v, lam, tolerance, max_steps):  # pragma: no cover - compiled
    """Solve for the given rows from a basis with its tableau, point and multipliers, which are updated.

    Returns the outcome and the number of steps.
    """
    d = G.shape[1]
    m = d + 1
    slacks, lengths, u = np.empty(2 * d + len(G)), np.empty(len(T)), np.empty(m)
    passed, flips = np.empty(m, np.bool_), np.empty(m, np.int64)
    often = 4 * m
    steps = since = 0
    _slacks(G, h, low, high, v, slacks)
    _lengths(T, lengths)
    is_fresh = True
    while steps < max_steps:
        entering = _steepest(slacks, lengths, d, tolerance)
        if entering < 0:
            if is_fresh:
                return OPTIMAL, steps
            _slacks(G, h, low, high, v, slacks)
            is_fresh = True
            continue
        is_fresh = False
        sign = -1.0 if d <= entering < 2 * d else 1.0
        of = entering if entering < d else entering - d if entering < 2 * d else entering - d + 1
        for r in range(m):
            u[r] = sign * T[of, r]
            passed[r] = u[r] <= 1e-9
        lacking = -slacks[entering]
        n_flips = 0
        while True:
            longest = np.inf
            place = np.int64(-1)
            for r in range(m):
                if not passed[r]:
                    ratio = lam[r] / u[r]
                    if ratio < longest - 1e-13 or (ratio < longest + 1e-13 and u[r] > u[place]):
                        longest = min(ratio, longest)
                        place = r
            if place < 0 or basis[place] >= 2 * d:
                break
            j = basis[place] % d
            left = lacking - u[place] * (high[j] - low[j])
            if left <= tolerance:
                break
            lacking = left  # the feature goes to its other bound, and the step on
            passed[place] = True
            flips[n_flips] = place
            n_flips += 1
        if place < 0:
            if since == 0:
                return STOPPED, steps
            _refactor(G, h, low, high, basis, T, v, lam)
            _slacks(G, h, low, high, v, slacks)
            _lengths(T, lengths)
            since = 0
            continue
        for f in range(n_flips):
            r = flips[f]
            j = basis[r] % d
            _move(slacks, v, T, r, high[j] - low[j], d)
            for k in range(len(T)):
                T[k, r] = -T[k, r]
            u[r] = -u[r]
            lam[r] = -lam[r]
            basis[r] += d if basis[r] < d else -d
        _move(slacks, v, T, place, lacking / u[place], d)
        for r in range(m):
            lam[r] = max(lam[r] - longest * u[r], 0.0)
        lam[place] = longest
        _pivot(T, u, place, lengths)
        basis[place] = entering
        steps += 1
        since += 1
        if since >= often:
            _refactor(G, h, low, high, basis, T, v, lam)
            _slacks(G, h, low, high, v, slacks)
            _lengths(T, lengths)
            since = 0
    return STOPPED, steps
