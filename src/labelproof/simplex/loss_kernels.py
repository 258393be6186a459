# mypy: disallow-untyped-decorators=False, disallow-untyped-defs=False, disallow-untyped-calls=False
"""Compiled Fenchel–Young losses of α-entmax, row by row, and their gradients.

The loss of scores z for a target distribution q is Ω(q) + Ω*(z) − q·z = Σ (p_j − q_j) z_j + Ω(q) − Ω(p) for the
α-entmax p of z and Ω(p) = (Σ p_j^α − 1) / (α (α − 1)). It is computed from z − max z in double precision, over the
supports of p and q alone, where (α − 1)(z_j − max z) = p_j^(α−1) + τ makes Σ p_j z_j a multiple of Σ p_j^α. The
gradient is p − q.

Targets come in one of two forms, the other being empty: a matrix T of rows, or lists of columns and values, those of
row i between ends[i] and ends[i + 1]. Both are multiplied by share[i]; a row of share 0 has no target, and loss 0.
"""

import numpy as np

from labelproof.parallel.team_loops import spread
from labelproof.simplex.long_kernels import scratch, threshold_row
from labelproof.simplex.root_kernels import allocating, gap, kernel, loose, probability, raised, step_2, strict
from labelproof.simplex.row_kernels import DENSE, write_dense
from labelproof.simplex.short_kernels import SHORT, TILE, bounds_of_short, threshold_short

__all__ = ["gradient_rows", "loss_rows"]

_NO_TARGET = -2


@kernel
def loss_rows(  # pragma: no cover - compiled
    X, alpha, T, ends, columns, values, share, losses, roots, support, chances, size, scale, D, team, start, stop
):
    """Write the losses of the rows start to stop of X, and what `gradient_rows` needs.

    That is max x and τ in `roots`, and each support with its probabilities in `support` and `chances` where they fit;
    `size` is their number, or −1 where the row of X must be read again, or −2 for a row without a target. The gradients
    are written to D at once, unless it has no rows.
    """
    given = (X, alpha, T, ends, columns, values, share, losses, roots, support, chances, size, scale, D)
    spread(_loss, given, team, start, stop)


@kernel
def gradient_rows(  # pragma: no cover - compiled
    X, alpha, T, ends, columns, values, share, scale, roots, support, chances, size, D, team, start, stop
):
    """Write scale[i] (p − q) to the rows start to stop of D."""
    given = (X, alpha, T, ends, columns, values, share, scale, roots, support, chances, size, D)
    spread(_gradient, given, team, start, stop)


@allocating
def _loss(  # pragma: no cover - compiled
    X, alpha, T, ends, columns, values, share, losses, roots, support, chances, size, scale, D, start, stop
):
    targets = (T, ends, columns, values, share)
    kept = (roots, support, chances, size)
    _losses(X, alpha, targets, losses, kept, scale, D, scratch(X), start, stop)


@strict
def _losses(X, alpha, targets, losses, kept, scale, D, lists, start, stop):  # pragma: no cover - compiled
    T, ends, columns, values, share = targets
    roots, support, chances, size = kept
    maxima, rest, listed, places = lists
    room = support.shape[1]
    is_short = X.shape[1] <= SHORT
    for i in range(start, stop):
        if is_short and (i - start) % TILE == 0:
            last = min(i + TILE, stop)
            bounds_of_short(X[i:last], alpha, roots[i:last])
        if share[i] == 0.0:
            losses[i] = 0.0
            size[i] = _NO_TARGET
            if D.shape[0] > 0:
                D[i] = 0
            continue
        x, n = X[i], DENSE
        powers, is_written = np.nan, False
        if not is_short:
            top, tau, n = threshold_row(x, alpha, maxima, rest, listed, places)
        elif alpha == 2.0 and np.isfinite(roots[i, 0]):
            top, is_written = roots[i, 0], D.shape[0] > 0
            tau, powers = _short_squares(x, top, roots[i, 1], scale[i], D[i] if is_written else losses[:0])
        else:
            top, tau = threshold_short(x, alpha, roots[i, 0], roots[i, 1])
        roots[i, 0], roots[i, 1] = top, tau
        size[i] = n if n <= room else DENSE
        if n != DENSE:
            powers = _listed_powers(listed, places, n, tau, alpha, support[i], chances[i])
        elif np.isnan(powers) and not np.isnan(top):
            powers = _dense_powers(x, top, tau, alpha)
        product = (powers + tau) / (alpha - 1.0)
        if T.shape[0] > 0:
            target_product, target_powers = _row_terms(x, top, alpha, T[i], share[i])
        else:
            a, b = ends[i], ends[i + 1]
            target_product, target_powers = _place_terms(x, top, alpha, columns[a:b], values[a:b], share[i])
        loss = product - target_product + (target_powers - powers) / (alpha * (alpha - 1.0))
        losses[i] = 0.0 if loss < 0.0 else loss  # rounding; NaN stays
        if is_written:
            _subtract_target(i, targets, scale[i], D[i])
        elif D.shape[0] > 0:
            _gradient_row(i, X, alpha, targets, scale[i], kept, D[i])


@strict
def _gradient(  # pragma: no cover - compiled
    X, alpha, T, ends, columns, values, share, scale, roots, support, chances, size, D, start, stop
):
    targets = (T, ends, columns, values, share)
    kept = (roots, support, chances, size)
    for i in range(start, stop):
        _gradient_row(i, X, alpha, targets, scale[i], kept, D[i])


@strict
def _gradient_row(i, X, alpha, targets, c, kept, d):  # pragma: no cover - compiled
    """Write c (p − q) of row i to d."""
    roots, support, chances, size = kept
    n = size[i]
    if n == DENSE and np.isnan(roots[i, 0]):
        d[:] = np.nan
    elif n == DENSE:
        write_dense(X[i], roots[i, 0], roots[i, 1], alpha, c, d)
    else:
        d[:] = 0
        for a in range(n):
            d[support[i, a]] = c * chances[i, a]
    if n != _NO_TARGET:
        _subtract_target(i, targets, c, d)


@strict
def _subtract_target(i, targets, c, d):  # pragma: no cover - compiled
    """Subtract c q of row i from d."""
    T, ends, columns, values, share = targets
    c *= share[i]
    if T.shape[0] > 0:
        t = T[i]
        for j in range(d.shape[0]):
            d[j] -= c * t[j]
    else:
        for a in range(ends[i], ends[i + 1]):
            d[columns[a]] -= c * values[a]


@strict
def _listed_powers(listed, places, n, tau, alpha, support, chances):  # pragma: no cover - compiled
    """Return Σ p^α = Σ p u over a listed support, and copy it with its p where it fits."""
    total = powers = 0.0
    fits = n <= support.shape[0]
    for a in range(n):
        u = listed[a] - tau
        p = probability(u, alpha)
        total += p
        powers += p * u
        if fits:
            support[a] = places[a]
            chances[a] = p
    for a in range(n if fits else 0):
        chances[a] /= total
    return powers / total


@strict
def _short_squares(x, top, tau, c, d):  # pragma: no cover - compiled
    """Return τ and Σ p² of a short row for α = 2, and write c p to d unless that is empty.

    Newton's steps end when the next pass sees the same support.
    """
    tau, count = step_2(x, top, tau, np.float64)
    squares, seen = _squares(x, top, tau, c, d)
    while seen != count:
        tau, count = step_2(x, top, tau, np.float64)
        squares, seen = _squares(x, top, tau, c, d)
    return tau, squares


@loose
def _squares(x, top, tau, c, d):  # pragma: no cover - compiled
    """Return Σ u² over the positive u = x − top − τ, and how many they are; write c u to d unless that is empty."""
    squares, count = 0.0, 0.0
    if d.shape[0] > 0:
        for j in range(x.shape[0]):
            u = gap(x[j], top, 1.0, tau)
            u = u if u > 0.0 else 0.0
            squares += u * u
            count += 1.0 if u > 0.0 else 0.0
            d[j] = c * u
        return squares, count
    for j in range(x.shape[0]):
        u = gap(x[j], top, 1.0, tau)
        squares += u * u if u > 0.0 else 0.0
        count += 1.0 if u > 0.0 else 0.0
    return squares, count


@loose
def _dense_powers(x, top, tau, alpha):  # pragma: no cover - compiled
    """Return the same for a whole row."""
    powers = 0.0
    if alpha == 2.0:
        for j in range(x.shape[0]):
            u = gap(x[j], top, 1.0, tau)
            powers += u * u if u > 0.0 else 0.0
    elif alpha == 1.5:
        for j in range(x.shape[0]):
            u = gap(x[j], top, 0.5, tau)
            powers += u * u * u if u > 0.0 else 0.0
    else:
        for j in range(x.shape[0]):
            u = gap(x[j], top, alpha - 1.0, tau)
            powers += probability(u, alpha) * u if u > 0.0 else 0.0
    return powers


@strict
def _row_terms(x, top, alpha, t, share):  # pragma: no cover - compiled
    """Return Σ q (x − top) and Σ q^α for a dense row of targets."""
    product = powers = 0.0
    for j in range(x.shape[0]):
        if t[j] > 0.0:
            q = share * t[j]
            product += q * (x[j] - top)
            powers += raised(q, alpha)
    return product, powers


@strict
def _place_terms(x, top, alpha, columns, values, share):  # pragma: no cover - compiled
    """Return the same for listed targets."""
    product = powers = 0.0
    for a in range(columns.shape[0]):
        if values[a] > 0.0:
            q = share * values[a]
            product += q * (x[columns[a]] - top)
            powers += raised(q, alpha)
    return product, powers
