"""Compiled α-entmax of the rows of a matrix, and the product with its Jacobian.

With s = α − 1 and r = 1/s, α-entmax of a row x is p_j = u_j^r for u_j = max(s (x_j − max x) − τ, 0), where τ in [−1, 0)
makes the sum 1; α = 2 (r = 1) is sparsemax. The root τ is found by Newton's method on the norm (Σ u_j^r)^s, which for
α ≤ 2 is convex in τ, so that the iterates rise to the root from any lower bound. Two facts make this fast:

- the root of any subset of the coordinates is a lower bound, and the maxima of strided groups of eight are a subset
  that is found at the speed of memory; only groups whose maximum exceeds that bound are read again;
- what is left is the support and little more: it is finished in double precision and kept for the backward pass.

A row that holds NaN or +inf, or nothing but −inf, gives NaN everywhere.
"""

import numpy as np

from labelproof.simplex.root_kernels import (
    gap,
    loose,
    newton_2,
    newton_in_kind,
    probability,
    raised,
    root,
    strict,
    sums,
)

__all__ = ["entmax_rows", "jacobian_rows", "scratch", "threshold_row", "write_dense"]

_LANES = 16  # neighbours that are compared at once
_GROUP = 8  # coordinates behind one maximum, _LANES apart
_BLOCK = _LANES * _GROUP
_SMALL = 256  # up to this length a row is read as a whole
_SLACK = 1e-5  # more than the error of a bound computed in single precision
_DENSE = -1  # in place of a support's size: the support was not listed


@strict
def entmax_rows(X, alpha, P, support, size, start, stop):  # pragma: no cover - compiled
    """Write α-entmax of the rows start to stop of X to P, and each support to the row of `support` where it fits.

    `size` receives the number of listed indices, or −1 where p > 0 must be read from P.
    """
    K = X.shape[1]
    room = support.shape[1]
    maxima, values, places = scratch(X, K)
    for i in range(start, stop):
        x, p = X[i], P[i]
        if alpha == 2.0 and K <= _SMALL:
            if _holds_nan(x) or not _sparsemax_short(x, p):
                p[:] = np.nan
            size[i] = _DENSE
            continue
        top, tau, n = threshold_row(x, alpha, maxima, values, places)
        if np.isnan(top):
            p[:] = np.nan
        elif n == _DENSE:
            write_dense(x, top, tau, alpha, 1.0, p)
        else:
            p[:] = 0
            _powers(values, n, tau, alpha)
            for j in range(n):
                p[places[j]] = values[j]
        if n > room:
            n = _DENSE
        for j in range(n):
            support[i, j] = places[j]
        size[i] = n


@strict
def jacobian_rows(G, P, alpha, support, size, D, start, stop):  # pragma: no cover - compiled
    """Write w ⊙ (g − w·g / Σw) with w = p^(2−α) on the support, 0 elsewhere, for the rows g of G, to D."""
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


@strict
def threshold_row(x, alpha, maxima, values, places):  # pragma: no cover - compiled
    """Return max x, τ and the size n of the support of one row.

    The first n of `places` are the support and of `values` its (α − 1)(x_j − max x). The size is −1 where the support
    is not listed, because the row is short or much of it is above every cheap bound.
    """
    if x.shape[0] <= _SMALL:
        top = _maximum(x)
        if not np.isfinite(top):
            return np.nan, np.nan, _DENSE
        tau = newton_2(x, top, -1.0, 100) if alpha == 2.0 else root(x, top, alpha - 1.0, alpha, -1.0)
        return top, tau, _DENSE
    n_maxima = _group_maxima(x, maxima)
    top = _largest(maxima[:n_maxima])
    if not np.isfinite(top):
        return np.nan, np.nan, _DENSE
    bound = _bound(maxima[:n_maxima], top, alpha)
    n = _collect(x, maxima, top, bound, alpha, values, places)
    if n == _DENSE:
        return top, _solve_dense(x, top, alpha, bound), _DENSE
    tau, n = _solve_listed(values, places, n, alpha, bound)
    return top, tau, n


@loose
def _sparsemax_short(x, p):  # pragma: no cover - compiled
    """Write sparsemax of a short row, in one function, since calls took a quarter of the time.

    Return whether the maximum is finite; if not, nothing is written.
    """
    top = _largest(x)
    if not -np.inf < top < np.inf:
        return False
    tau = newton_2(x, top, -1.0, 100)
    for j in range(x.shape[0]):
        u = gap(x[j], top, 1.0, tau)
        p[j] = u if u > 0.0 else 0.0
    return True


@strict
def scratch(X, K):  # pragma: no cover - compiled
    """Return arrays for the maxima, values and places of `threshold_row`, for rows of length K."""
    room = max(K // 4, _SMALL) + _BLOCK
    return np.empty(K // _GROUP + _BLOCK, X.dtype), np.empty(room, np.float64), np.empty(room, np.int32)


@strict
def _maximum(x):  # pragma: no cover - compiled
    """Return the maximum; NaN counts as +inf, since both make the whole row NaN."""
    return np.inf if _holds_nan(x) else _largest(x)


@strict
def _holds_nan(x):  # pragma: no cover - compiled
    faults = np.int32(0)
    for j in range(x.shape[0]):
        faults += np.int32(x[j] != x[j])
    return faults > 0


@loose
def _largest(x):  # pragma: no cover - compiled
    top = x[0]
    for j in range(x.shape[0]):
        top = x[j] if x[j] > top else top
    return np.float64(top)


@strict
def _group_maxima(x, maxima):  # pragma: no cover - compiled
    """Write the maxima of strided groups of eight, then the coordinates that fill no block; return how many.

    The eight are written out because only then does the compiler use its vector instructions. NaN counts as +inf.
    """
    n_blocks = x.shape[0] // _BLOCK
    for b in range(n_blocks):
        block = x[b * _BLOCK : (b + 1) * _BLOCK]
        tops = maxima[b * _LANES : (b + 1) * _LANES]
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
            tops[j] = np.inf if fault else v0
    n = n_blocks * _LANES
    for j in range(n_blocks * _BLOCK, x.shape[0]):
        maxima[n] = np.inf if x[j] != x[j] else x[j]
        n += 1
    return n


@strict
def _bound(maxima, top, alpha):  # pragma: no cover - compiled
    """Return a lower bound of τ: a few Newton steps on the group maxima, less the error of single precision."""
    if alpha > 2.0:
        return -1.0  # the norm is not convex there, and Newton's steps are no bounds
    tau = -1.0
    if alpha == 2.0 or alpha == 1.5:
        return max(tau, newton_in_kind(maxima, top, tau, alpha, 4))
    for _ in range(4):
        total, slope = sums(maxima, top, alpha - 1.0, tau, alpha)
        tau += (total - total ** (2.0 - alpha)) / slope
    return max(-1.0, tau - _SLACK)


@strict
def _collect(x, maxima, top, bound, alpha, values, places):  # pragma: no cover - compiled
    """List the coordinates above the bound; return how many, or −1 where they are more than the lists hold."""
    scale = alpha - 1.0
    cut = x.dtype.type(top + bound / scale - 1e-9 - 2e-7 * abs(top))  # rounded, but never up
    room = values.shape[0] - _BLOCK
    n_blocks = x.shape[0] // _BLOCK
    n = 0
    for b in range(n_blocks):
        tops = maxima[b * _LANES : (b + 1) * _LANES]
        if _count_above(tops, cut) == 0:
            continue
        if n > room:
            return _DENSE
        for lane in range(_LANES):
            if tops[lane] > cut:
                for j in range(b * _BLOCK + lane, (b + 1) * _BLOCK, _LANES):
                    values[n] = scale * (x[j] - top)
                    places[n] = j
                    n += x[j] > cut
    if n > room:
        return _DENSE
    for j in range(n_blocks * _BLOCK, x.shape[0]):
        values[n] = scale * (x[j] - top)
        places[n] = j
        n += x[j] > cut
    return n


@loose
def _count_above(x, cut):  # pragma: no cover - compiled
    zero, one = x.dtype.type(0), x.dtype.type(1)
    count = zero
    for j in range(x.shape[0]):
        count += one if x[j] > cut else zero
    return count


@strict
def _solve_listed(values, places, n, alpha, bound):  # pragma: no cover - compiled
    """Return τ for n listed values that contain the support, and move the support to the front."""
    tau = root(values[:n], 0.0, 1.0, alpha, bound)
    kept = 0
    for j in range(n):
        values[kept] = values[j]
        places[kept] = places[j]
        kept += values[j] > tau
    return tau, kept


@strict
def _solve_dense(x, top, alpha, bound):  # pragma: no cover - compiled
    """Return τ of a whole long row: Newton in the row's own precision first, the end in double precision."""
    if alpha == 2.0 or alpha == 1.5:
        bound = max(bound, newton_in_kind(x, top, bound, alpha, 12))
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
