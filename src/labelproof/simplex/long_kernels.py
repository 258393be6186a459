# mypy: disallow-untyped-decorators=False, disallow-untyped-defs=False, disallow-untyped-calls=False
"""Compiled α-entmax of long rows, of which little more than the support is read twice.

The maxima of strided groups of eight are found at the speed of memory, and their root is a lower bound of the row's;
only groups whose maximum exceeds that bound are read again.
"""

import numpy as np

from labelproof.parallel.team_loops import spread
from labelproof.simplex.root_kernels import (
    SLACK,
    allocating,
    inlined,
    kernel,
    larger,
    loose,
    newton_in_kind,
    probability,
    root,
    strict,
    sums,
)
from labelproof.simplex.row_kernels import DENSE, own_share, write_dense
from labelproof.simplex.short_kernels import SHORT

__all__ = ["entmax_long_rows", "scratch", "threshold_row"]

_LANES = 16  # neighbours that are compared at once
_GROUP = 8  # coordinates behind one maximum, _LANES apart
_BLOCK = _LANES * _GROUP


@kernel
def entmax_long_rows(X, alpha, P, support, size, team, start, stop):  # pragma: no cover - compiled
    """Write α-entmax of rows of more than SHORT numbers; the arguments are those of `entmax_rows`."""
    room = long_room(X.shape[1])
    maxima, rest = np.empty((team[4], X.shape[1] // _GROUP + _BLOCK), X.dtype), np.empty((team[4], _BLOCK), X.dtype)
    values, places = np.empty((team[4], room), np.float64), np.empty((team[4], room), np.int32)
    given = (X, alpha, P, support, size, (maxima, rest, values, places), (start, stop))
    spread(_entmax_long, given, team, start, stop)


@inlined
def threshold_row(x, alpha, maxima, rest, values, places):  # pragma: no cover - compiled
    """Return max x, τ and the size n of the support of one long row.

    The first n of `places` are the support and of `values` its (α − 1)(x_j − max x). The size is −1 where the support
    is not listed, because much of the row is above every cheap bound.
    """
    n_maxima = _group_maxima(x, rest, maxima)
    top = _largest(maxima[:n_maxima])
    if not np.isfinite(top):
        return np.nan, np.nan, DENSE
    bound = _bound(maxima[:n_maxima], top, alpha)
    n = _collect(x, rest, maxima, top, bound, alpha, values, places)
    if n == DENSE:
        return top, _solve_dense(x, top, alpha, bound), DENSE
    tau, n = _solve_listed(values, places, n, alpha, bound)
    return top, tau, n


@inlined
def long_room(n_columns):  # pragma: no cover - compiled
    """Return how many places and values of a long row are listed, and one block more."""
    return max(n_columns // 4, SHORT) + _BLOCK


@allocating
def scratch(X):  # pragma: no cover - compiled
    """Return arrays for the maxima, the rest, the values and the places of `threshold_row`."""
    K = X.shape[1]
    room = long_room(K)
    maxima, rest = np.empty(K // _GROUP + _BLOCK, X.dtype), np.empty(_BLOCK, X.dtype)
    return maxima, rest, np.empty(room, np.float64), np.empty(room, np.int32)


@strict
def _entmax_long(X, alpha, P, support, size, scratch, whole, start, stop):  # pragma: no cover - compiled
    share = own_share(start, whole, scratch[0].shape[0])
    maxima, rest, values, places = scratch[0][share], scratch[1][share], scratch[2][share], scratch[3][share]
    for i in range(start, stop):
        p = P[i]
        top, tau, n = threshold_row(X[i], alpha, maxima, rest, values, places)
        if np.isnan(top):
            p[:] = np.nan
        elif n == DENSE:
            write_dense(X[i], top, tau, alpha, 1.0, p)
        else:
            p[:] = 0
            _powers(values, n, tau, alpha)
            for j in range(n):
                p[places[j]] = values[j]
        if n > support.shape[1]:
            n = DENSE
        for j in range(n):
            support[i, j] = places[j]
        size[i] = n


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
    return max(-1.0, tau - SLACK)


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
            return DENSE
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
