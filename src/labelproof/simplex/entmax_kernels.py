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
from labelproof.simplex.long_kernels import entmax_long_rows
from labelproof.simplex.root_kernels import kernel, loose, raised, strict
from labelproof.simplex.row_kernels import DENSE
from labelproof.simplex.short_kernels import SHORT, entmax_short_rows

__all__ = ["entmax_rows", "jacobian_rows"]


def entmax_rows(n_columns: int) -> Any:
    """Return the kernel for rows of this length: (X, alpha, P, support, size, team, start, stop).

    It writes α-entmax of the rows start to stop of X to P, and each support to the row of `support` where it fits;
    `size` receives the number of listed indices, or −1 where p > 0 must be read from P.
    """
    return entmax_short_rows if n_columns <= SHORT else entmax_long_rows


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
        if n == DENSE:
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
