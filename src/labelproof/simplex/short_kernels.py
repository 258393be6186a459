# mypy: disallow-untyped-decorators=False, disallow-untyped-defs=False, disallow-untyped-calls=False
"""Compiled α-entmax of short rows: read as a whole, and several in turn so that none waits for another."""

import numpy as np

from labelproof.parallel.team_loops import spread
from labelproof.simplex.root_kernels import SLACK, gap, inlined, kernel, larger, loose, root, step_2, step_15, strict
from labelproof.simplex.row_kernels import DENSE, own_share, write_dense

__all__ = ["SHORT", "TILE", "bounds_of_short", "entmax_short_rows", "threshold_short"]

SHORT = 256  # up to this length a row is read as a whole
TILE = 8  # short rows that are read in turn


@kernel
def entmax_short_rows(X, alpha, P, support, size, team, start, stop):  # noqa: ARG001  # pragma: no cover - compiled
    """Write α-entmax of rows of at most SHORT numbers, whose supports are not listed; see `entmax_rows`."""
    spread(_entmax_short, (X, alpha, P, size, np.empty((team[4], TILE, 2)), (start, stop)), team, start, stop)


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
        roots[i, 1] = max(-1.0, roots[i, 1] - SLACK)


@inlined
def threshold_short(x, alpha, top, bound):  # pragma: no cover - compiled
    """Return max x and τ of one short row, or NaN twice, from what `bounds_of_short` wrote."""
    if not np.isfinite(top):
        return np.nan, np.nan
    return top, root(x, top, alpha - 1.0, alpha, bound)


@strict
def _entmax_short(X, alpha, P, size, scratch, whole, start, stop):  # pragma: no cover - compiled
    roots = scratch[own_share(start, whole, scratch.shape[0])]
    for first in range(start, stop, TILE):
        last = min(first + TILE, stop)
        bounds_of_short(X[first:last], alpha, roots)
        for i in range(first, last):
            x, p, top, tau = X[i], P[i], roots[i - first, 0], roots[i - first, 1]
            size[i] = DENSE
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
