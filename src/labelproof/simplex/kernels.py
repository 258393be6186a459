"""Compiled α-entmax of the rows of a matrix, and the product with its Jacobian.

With s = α − 1 and r = 1/s, α-entmax of a row x is p_j = u_j^r for u_j = max(s (x_j − max x) − τ, 0), where τ in [−1, 0)
makes the sum 1; α = 2 (r = 1) is sparsemax. The root τ is found by Newton's method on the norm (Σ u_j^r)^s, which for
α ≤ 2 is convex in τ, so that the first iterate is a lower bound and the others rise to the root. Three facts make this
fast:

- the root of any subset of the coordinates is a lower bound, and the maxima of strided groups of eight are a subset
  that is found at the speed of memory; only groups whose maximum exceeds that bound are read again;
- what is left is the support and little more: it is finished in double precision and kept for the backward pass;
- short rows are read as a whole, first in their own precision, and several in turn so that none waits for another.

A row that holds NaN or +inf, or nothing but −inf, gives NaN everywhere.
"""

from typing import Any

import numpy as np

from labelproof.parallel.team_loops import spread
from labelproof.simplex.root_kernels import (
    allocating,
    gap,
    inlined,
    kernel,
    larger,
    loose,
    newton_in_kind,
    probability,
    raised,
    root,
    step_2,
    step_15,
    strict,
    sums,
)

__all__ = [
    "SHORT",
    "TILE",
    "bounds_of_short",
    "entmax_long_rows",
    "entmax_rows",
    "entmax_short_rows",
    "jacobian_rows",
    "scratch",
    "threshold_row",
    "threshold_short",
    "write_dense",
]

SHORT = 256  # up to this length a row is read as a whole
TILE = 8  # short rows that are read in turn

_LANES = 16  # neighbours that are compared at once
_GROUP = 8  # coordinates behind one maximum, _LANES apart
_BLOCK = _LANES * _GROUP
_SLACK = 1e-5  # more than the error of a bound computed in single precision
_DENSE = -1  # in place of a support's size: the support was not listed


def entmax_rows(n_columns: int) -> Any:
    """Return the kernel for rows of this length: (X, alpha, P, support, size, team, start, stop).

    It writes α-entmax of the rows start to stop of X to P, and each support to the row of `support` where it fits;
    `size` receives the number of listed indices, or −1 where p > 0 must be read from P.
    """
    return entmax_short_rows if n_columns <= SHORT else entmax_long_rows


@kernel
def entmax_short_rows(X, alpha, P, support, size, team, start, stop):  # noqa: ARG001  # pragma: no cover - compiled
    """Do it for rows of at most SHORT numbers, whose supports are not listed."""
    spread(_entmax_short, (X, alpha, P, size, np.empty((team[4], TILE, 2)), (start, stop)), team, start, stop)


@kernel
def entmax_long_rows(X, alpha, P, support, size, team, start, stop):  # pragma: no cover - compiled
    """Do it for longer rows."""
    room = long_room(X.shape[1])
    maxima, rest = np.empty((team[4], X.shape[1] // _GROUP + _BLOCK), X.dtype), np.empty((team[4], _BLOCK), X.dtype)
    values, places = np.empty((team[4], room), np.float64), np.empty((team[4], room), np.int32)
    given = (X, alpha, P, support, size, (maxima, rest, values, places), (start, stop))
    spread(_entmax_long, given, team, start, stop)


@kernel
def jacobian_rows(G, P, alpha, support, size, D, team, start, stop):  # pragma: no cover - compiled
    """Write w ⊙ (g − w·g / Σw) with w = p^(2−α) on the support, 0 elsewhere, for the rows g of G, to D."""
    spread(_jacobian, (G, P, alpha, support, size, D), team, start, stop)


@strict
def _jacobian(G, P, alpha, support, size, D, start, stop):  # pragma: no cover - compiled
    K = G.shape[1]
    for i in range(start, stop):
        g, p, d, n = G[i], P[i], D[i], size[i]
        if np.isnan(p[0]):
            d[:] = np.nan
            continue
        if n == _DENSE:
            _jacobian_dense(g, p, alpha, d)
            continue
        total = weights = 0.0
        for a in range(n):
            j = support[i, a]
            w = _weight(p[j], alpha)
            total += w * g[j]
            weights += w
        mean = total / weights
        for j in range(K):
            d[j] = 0
        for a in range(n):
            j = support[i, a]
            d[j] = _weight(p[j], alpha) * (g[j] - mean)


@inlined
def threshold_row(x, alpha, maxima, rest, values, places):  # pragma: no cover - compiled
    """Return max x, τ and the size n of the support of one long row.

    The first n of `places` are the support and of `values` its (α − 1)(x_j − max x). The size is −1 where the support
    is not listed, because much of the row is above every cheap bound.
    """
    n_maxima = _group_maxima(x, rest, maxima)
    top = _largest(maxima[:n_maxima])
    if not np.isfinite(top):
        return np.nan, np.nan, _DENSE
    bound = _bound(maxima[:n_maxima], top, alpha)
    n = _collect(x, rest, maxima, top, bound, alpha, values, places)
    if n == _DENSE:
        return top, _solve_dense(x, top, alpha, bound), _DENSE
    tau, n = _solve_listed(values, places, n, alpha, bound)
    return top, tau, n


@inlined
def long_room(n_columns):  # pragma: no cover - compiled
    """Return how many places and values of a long row are listed, and one block more."""
    return max(n_columns // 4, SHORT) + _BLOCK


@inlined
def own_share(first, whole, shares):  # pragma: no cover - compiled
    """Return which of equal shares of the range `whole` begins at `first`, as `spread` divides it."""
    start, stop = whole
    return -((start - first) * shares // (stop - start))


@allocating
def scratch(X):  # pragma: no cover - compiled
    """Return arrays for the maxima, the rest, the values and the places of `threshold_row`."""
    K = X.shape[1]
    room = long_room(K)
    maxima, rest = np.empty(K // _GROUP + _BLOCK, X.dtype), np.empty(_BLOCK, X.dtype)
    return maxima, rest, np.empty(room, np.float64), np.empty(room, np.int32)


@inlined
def bounds_of_short(X, alpha, roots):  # pragma: no cover - compiled
    """Write max x and a lower bound of τ of each row, from two or three steps in its own precision, to roots.

    For α other than 2 and 1.5 the bound is −1; for a row without a root it means nothing.
    """
    kind = X.dtype.type
    for i in range(X.shape[0]):
        roots[i, 0], roots[i, 1] = _top(X[i]), -0.5
    if alpha == 2.0:
        for _ in range(2):
            for i in range(X.shape[0]):
                roots[i, 1], _ = step_2(X[i], kind(roots[i, 0]), kind(roots[i, 1]), kind)
    elif alpha == 1.5:
        for _ in range(3):
            for i in range(X.shape[0]):
                roots[i, 1] = step_15(X[i], kind(roots[i, 0]), kind(0.5), kind(roots[i, 1]), kind)
    else:
        roots[:, 1] = -1.0
    for i in range(X.shape[0]):
        roots[i, 1] = max(-1.0, roots[i, 1] - _SLACK)


@inlined
def threshold_short(x, alpha, top, bound):  # pragma: no cover - compiled
    """Return max x and τ of one short row, or NaN twice, from what `bounds_of_short` wrote."""
    if not np.isfinite(top):
        return np.nan, np.nan
    return top, root(x, top, alpha - 1.0, alpha, bound)


@strict
def _entmax_long(X, alpha, P, support, size, scratch, whole, start, stop):  # pragma: no cover - compiled
    share = own_share(start, whole, scratch[0].shape[0])
    maxima, rest, values, places = scratch[0][share], scratch[1][share], scratch[2][share], scratch[3][share]
    for i in range(start, stop):
        p = P[i]
        top, tau, n = threshold_row(X[i], alpha, maxima, rest, values, places)
        if np.isnan(top):
            p[:] = np.nan
        elif n == _DENSE:
            write_dense(X[i], top, tau, alpha, 1.0, p)
        else:
            p[:] = 0
            _powers(values, n, tau, alpha)
            for j in range(n):
                p[places[j]] = values[j]
        if n > support.shape[1]:
            n = _DENSE
        for j in range(n):
            support[i, j] = places[j]
        size[i] = n


@strict
def _entmax_short(X, alpha, P, size, scratch, whole, start, stop):  # pragma: no cover - compiled
    roots = scratch[own_share(start, whole, scratch.shape[0])]
    for first in range(start, stop, TILE):
        last = min(first + TILE, stop)
        bounds_of_short(X[first:last], alpha, roots)
        for i in range(first, last):
            x, p, top, tau = X[i], P[i], roots[i - first, 0], roots[i - first, 1]
            size[i] = _DENSE
            if not np.isfinite(top):
                p[:] = np.nan
            elif alpha == 2.0:
                tau, count = step_2(x, top, tau, np.float64)
                while _write_sparsemax(x, top, tau, p) != count:  # until both see the same support
                    tau, count = step_2(x, top, tau, np.float64)
            else:
                write_dense(x, top, root(x, top, alpha - 1.0, alpha, tau), alpha, 1.0, p)


@loose
def _write_sparsemax(x, top, tau, p):  # pragma: no cover - compiled
    """Write x − top − τ where it is positive, 0 elsewhere; return how often it is."""
    count = 0
    for j in range(x.shape[0]):
        u = gap(x[j], top, 1.0, tau)
        p[j] = u if u > 0.0 else 0.0
        count += u > 0.0
    return count


@strict
def _top(x):  # pragma: no cover - compiled
    """Return the maximum; NaN counts as +inf, since both make the whole row NaN."""
    faults, top = np.int32(0), x[0]
    for j in range(x.shape[0]):
        top = larger(x[j], top)
        faults += np.int32(x[j] != x[j])
    return np.inf if faults > 0 else np.float64(top)


@strict
def _largest(x):  # pragma: no cover - compiled
    """Return the maximum of numbers that are not NaN."""
    top = x[0]
    for j in range(x.shape[0]):
        top = larger(x[j], top)
    return np.float64(top)


@inlined
def _group_maxima(x, rest, maxima):  # pragma: no cover - compiled
    """Write the maxima of strided groups of eight and return how many; what fills no block is put into `rest`."""
    n_blocks, n_rest = divmod(x.shape[0], _BLOCK)
    for b in range(n_blocks):
        _block_maxima(x[b * _BLOCK : (b + 1) * _BLOCK], maxima[b * _LANES : (b + 1) * _LANES])
    if n_rest:
        for j in range(_BLOCK):
            rest[j] = x[n_blocks * _BLOCK + j] if j < n_rest else -np.inf
        _block_maxima(rest, maxima[n_blocks * _LANES : (n_blocks + 1) * _LANES])
        n_blocks += 1
    return n_blocks * _LANES


@strict
def _block_maxima(block, tops):  # pragma: no cover - compiled
    """Write the maxima of the groups of one block. NaN counts as +inf.

    The eight are written out because only then does the compiler use its vector instructions.
    """
    inf = block.dtype.type(np.inf)
    for j in range(_LANES):
        v0, v1, v2, v3 = block[j], block[_LANES + j], block[2 * _LANES + j], block[3 * _LANES + j]
        v4, v5, v6, v7 = block[4 * _LANES + j], block[5 * _LANES + j], block[6 * _LANES + j], block[7 * _LANES + j]
        fault = (v0 != v0) | (v1 != v1) | (v2 != v2) | (v3 != v3)
        fault |= (v4 != v4) | (v5 != v5) | (v6 != v6) | (v7 != v7)
        v0 = v0 if v0 > v1 else v1
        v2 = v2 if v2 > v3 else v3
        v4 = v4 if v4 > v5 else v5
        v6 = v6 if v6 > v7 else v7
        v0 = v0 if v0 > v2 else v2
        v4 = v4 if v4 > v6 else v6
        v0 = v0 if v0 > v4 else v4
        tops[j] = inf if fault else v0


@inlined
def _bound(maxima, top, alpha):  # pragma: no cover - compiled
    """Return a lower bound of τ: a few Newton steps on the group maxima, less the error of single precision."""
    if alpha > 2.0:
        return -1.0  # the norm is not convex there, and Newton's steps are no bounds
    if alpha == 2.0 or alpha == 1.5:
        return newton_in_kind(maxima, top, alpha, -0.5, np.int64(4))
    tau = -1.0
    for _ in range(4):
        total, slope = sums(maxima, top, alpha - 1.0, tau, alpha)
        tau += (total - total ** (2.0 - alpha)) / slope
    return max(-1.0, tau - _SLACK)


@strict
def _collect(x, rest, maxima, top, bound, alpha, values, places):  # pragma: no cover - compiled
    """List the coordinates above the bound; return how many, or −1 where they are more than the lists hold."""
    scale = alpha - 1.0
    cut = x.dtype.type(top + bound / scale - 1e-9 - 2e-7 * abs(top))  # rounded, but never up
    room = values.shape[0] - _BLOCK
    n = 0
    for first in range(0, x.shape[0], _BLOCK):
        tops = maxima[first // _GROUP : first // _GROUP + _LANES]
        if _largest(tops) <= cut:
            continue
        if n > room:
            return _DENSE
        block = x[first : first + _BLOCK] if first + _BLOCK <= x.shape[0] else rest
        for lane in range(_LANES):
            if tops[lane] > cut:
                for j in range(lane, _BLOCK, _LANES):
                    values[n] = scale * (block[j] - top)
                    places[n] = first + j
                    n += block[j] > cut
    return n


@inlined
def _solve_listed(values, places, n, alpha, bound):  # pragma: no cover - compiled
    """Return τ for n listed values that contain the support, and move the support to the front."""
    tau = root(values[:n], 0.0, 1.0, alpha, bound)
    kept = 0
    for j in range(n):
        values[kept] = values[j]
        places[kept] = places[j]
        kept += values[j] > tau
    return tau, kept


@inlined
def _solve_dense(x, top, alpha, bound):  # pragma: no cover - compiled
    """Return τ of a whole long row: Newton in the row's own precision first, the end in double precision."""
    if alpha == 2.0 or alpha == 1.5:
        bound = max(bound, newton_in_kind(x, top, alpha, bound, np.int64(12)))
    return root(x, top, alpha - 1.0, alpha, bound)


@loose
def _powers(values, n, tau, alpha):  # pragma: no cover - compiled
    """Replace the n listed values of a support by their probabilities."""
    total = 0.0
    for j in range(n):
        values[j] = probability(values[j] - tau, alpha)
        total += values[j]
    for j in range(n):
        values[j] /= total


@loose
def write_dense(x, top, tau, alpha, factor, p):  # pragma: no cover - compiled
    """Write the probabilities of a whole row, times a factor."""
    if alpha == 2.0:
        for j in range(x.shape[0]):
            u = gap(x[j], top, 1.0, tau)
            p[j] = factor * u if u > 0.0 else 0.0
    elif alpha == 1.5:
        for j in range(x.shape[0]):
            u = gap(x[j], top, 0.5, tau)
            p[j] = factor * (u * u) if u > 0.0 else 0.0
    else:
        total = 0.0
        for j in range(x.shape[0]):
            p[j] = probability(gap(x[j], top, alpha - 1.0, tau), alpha)
            total += p[j]
        for j in range(x.shape[0]):
            p[j] *= factor / total


@loose
def _jacobian_dense(g, p, alpha, d):  # pragma: no cover - compiled
    """Write the product of one row with the Jacobian, the support being p > 0."""
    if alpha == 1.5:
        for j in range(g.shape[0]):
            d[j] = np.sqrt(p[j])
    else:
        for j in range(g.shape[0]):
            d[j] = _weight(p[j], alpha)
    total = weights = 0.0
    for j in range(g.shape[0]):
        total += np.float64(d[j]) * g[j]
        weights += d[j]
    mean = total / weights
    for j in range(g.shape[0]):
        d[j] *= g[j] - mean


@loose
def _weight(p, alpha):  # pragma: no cover - compiled
    """Return p^(2−α) on the support and 0 elsewhere."""
    return raised(p, 2.0 - alpha) if p > 0.0 else 0.0
