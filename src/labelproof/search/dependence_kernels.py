"""Compiled parts of `dependences`: one look at all rows, and pushing rows out of a dependence."""

import numpy as np

from labelproof.foundation.compilation import compiled, compiled_part
from labelproof.search.active_set_kernels import product

__all__ = ["gram_times", "hinge", "push_out"]

_FAST = {"reassoc", "contract", "arcp", "nsz"}
_LEAST_PIVOT = 1e-9


@compiled(_nrt=False, error_model="numpy", fastmath=_FAST)
def hinge(G, wanted, v, h, gradient):  # pragma: no cover - compiled
    """Write h = max(wanted − G v, 0) and hᵀ G; return Σ h² and how many of h are positive. Each row is read once."""
    total, count = 0.0, 0
    for j in range(G.shape[1]):
        gradient[j] = 0.0
    for i in range(G.shape[0]):
        g = G[i]
        s = wanted[i]
        for j in range(g.shape[0]):
            s -= g[j] * v[j]
        h[i] = 0.0
        if s > 0.0:
            for j in range(g.shape[0]):
                gradient[j] += s * g[j]
            h[i] = s
            total += s * s
            count += 1
    return total, count


@compiled(_nrt=False, error_model="numpy", fastmath=_FAST)
def gram_times(G, used, v, image):  # pragma: no cover - compiled
    """Write Gᵀ G v of some rows, four at a time, so that each pass over the vectors does four times the work."""
    n, width = used.shape[0], v.shape[0]
    for j in range(width):
        image[j] = 0.0
    k = 0
    while k + 4 <= n:
        g0, g1, g2, g3 = G[used[k]], G[used[k + 1]], G[used[k + 2]], G[used[k + 3]]
        s0, s1, s2, s3 = np.float32(0.0), np.float32(0.0), np.float32(0.0), np.float32(0.0)
        for j in range(width):
            s0 += g0[j] * v[j]
            s1 += g1[j] * v[j]
            s2 += g2[j] * v[j]
            s3 += g3[j] * v[j]
        for j in range(width):
            image[j] += s0 * g0[j] + s1 * g1[j] + s2 * g2[j] + s3 * g3[j]
        k += 4
    while k < n:
        g0, s0 = G[used[k]], np.float32(0.0)
        for j in range(width):
            s0 += g0[j] * v[j]
        for j in range(width):
            image[j] += s0 * g0[j]
        k += 1


@compiled_part(_nrt=False, error_model="numpy", fastmath=_FAST)
def _shares_of(row, pivots, slots, count, small, shares):  # pragma: no cover - compiled
    """Write the share of each pivot in a row after the panel, and the row's numbers in the pivots' places."""
    for p in range(count):
        small[p] = row[slots[p]]
    for p in range(shares.shape[0]):
        shares[p] = 0.0
    for p in range(count):
        share = small[p] / pivots[p, slots[p]]
        shares[p] = share
        for r in range(count):
            if slots[r] == slots[p]:
                small[r] = share
            else:
                small[r] -= share * pivots[p, slots[r]]
    for p in range(count):
        row[slots[p]] = small[p]


@compiled(_nrt=False, error_model="numpy", fastmath=_FAST)
def push_out(
    table, others, values, basic, names, pivots, slots, small, shares, products
):  # pragma: no cover - compiled
    """Push all rows but the last out of a dependence with ``values`` of basic rows and ``others`` of the rest.

    Row j of the table holds what its multiplier adds to those of basic rows, negated: values = −othersᵀ table. A row
    that takes the place of a basic one changes all rows after it: those of its panel at once, the others with the
    panel, in one product.
    """
    n, width = table.shape
    panel = pivots.shape[0]
    start = 0
    while start < n - 1:
        stop = min(start + panel, n - 1)
        count = 0
        for j in range(start, stop):
            row = table[j]
            for p in range(count):
                share = row[slots[p]] / pivots[p, slots[p]]
                for c in range(width):
                    row[c] -= share * pivots[p, c]
                row[slots[p]] = share
            down, up, first, second = others[j], np.inf, -1, -1
            for c in range(width):
                if row[c] < -_LEAST_PIVOT and values[c] < -row[c] * down:
                    down = values[c] / -row[c]
                    first = c
                elif row[c] > _LEAST_PIVOT and values[c] < row[c] * up:
                    up = values[c] / row[c]
                    second = c
            t, place = down, first
            if first >= 0 and second >= 0 and row[second] > -row[first]:  # the larger pivot is the more accurate one
                t, place = -up, second
            for c in range(width):
                values[c] += t * row[c]
            if place < 0:
                continue
            values[place] = others[j] - t
            basic[place], names[j] = names[j], basic[place]
            for c in range(width):
                pivots[count, c] = row[c]
            slots[count] = place
            count += 1
        for p in range(count, panel):
            for c in range(width):
                pivots[p, c] = 0.0
        if count > 0:
            for i in range(stop, n):
                _shares_of(table[i], pivots, slots, count, small, shares[i])
            product(shares[stop:], pivots, products[stop:])
            for i in range(stop, n):
                row = table[i]
                for p in range(count):
                    small[p] = row[slots[p]]
                for c in range(width):
                    row[c] -= products[i, c]
                for p in range(count):
                    row[slots[p]] = small[p]
        start = stop
