"""Compiled active-set method in twice the digits of a float, for layers whose rows nearly depend on each other.

A number is the unevaluated sum of two floats, some 32 decimal digits; the operations on it are those of Dekker and
Knuth. The method is that of `active_set_kernels`, without equalities. The rows themselves are floats, and exact.
Nothing computed here is trusted.
"""

from typing import Any

import numpy as np
import numpy.typing as npt

from labelproof.foundation.compilation import compiled, compiled_part

__all__ = ["CONFLICT", "SOLVED", "STOPPED", "doubled_active_set", "doubled_products"]

Floats = npt.NDArray[np.float64]
SOLVED, CONFLICT, STOPPED = 1, 0, -1
_SPLITTER = 134217729.0  # 2**27 + 1
_ZERO = 1e-50  # what is left of a unit row, squared, below which it depends on the active ones
_NO_SHARE = 1e-25  # of the largest coordinate, below which one is taken for 0


@compiled_part(_nrt=False, error_model="numpy")
def _plus(ah, al, bh, bl):  # pragma: no cover - compiled
    """Return a + b."""
    s = ah + bh
    t = s - ah
    e = (ah - (s - t)) + (bh - t) + (al + bl)
    h = s + e
    return h, e - (h - s)


@compiled_part(_nrt=False, error_model="numpy")
def _times(ah, al, bh, bl):  # pragma: no cover - compiled
    """Return a · b."""
    p = ah * bh
    t = _SPLITTER * ah
    a1 = t - (t - ah)
    a2 = ah - a1
    t = _SPLITTER * bh
    b1 = t - (t - bh)
    b2 = bh - b1
    e = (((a1 * b1 - p) + a1 * b2) + a2 * b1) + a2 * b2 + (ah * bl + al * bh)
    h = p + e
    return h, e - (h - p)


@compiled_part(_nrt=False, error_model="numpy")
def _over(ah, al, bh, bl):  # pragma: no cover - compiled
    """Return a / b."""
    first = ah / bh
    ph, pl = _times(bh, bl, first, 0.0)
    rh, rl = _plus(ah, al, -ph, -pl)
    second = rh / bh
    ph, pl = _times(bh, bl, second, 0.0)
    rh, rl = _plus(rh, rl, -ph, -pl)
    h, e = _plus(first, second, rh / bh, 0.0)
    return h, e


@compiled_part(_nrt=False, error_model="numpy")
def _root(ah, al):  # pragma: no cover - compiled
    """Return √a for a > 0."""
    x = np.sqrt(ah)
    ph, pl = _times(x, 0.0, x, 0.0)
    return _plus(x, 0.0, _plus(ah, al, -ph, -pl)[0] / (2.0 * x), 0.0)


@compiled_part(_nrt=False, error_model="numpy")
def _dot(x, y, n):  # pragma: no cover - compiled
    """Return the product of two vectors (2, ≥ n), in two sums that do not wait for each other."""
    h0, l0, h1, l1 = 0.0, 0.0, 0.0, 0.0
    j = 0
    while j + 2 <= n:
        ph, pl = _times(x[0, j], x[1, j], y[0, j], y[1, j])
        rh, rl = _times(x[0, j + 1], x[1, j + 1], y[0, j + 1], y[1, j + 1])
        h0, l0 = _plus(h0, l0, ph, pl)
        h1, l1 = _plus(h1, l1, rh, rl)
        j += 2
    if j < n:
        ph, pl = _times(x[0, j], x[1, j], y[0, j], y[1, j])
        h0, l0 = _plus(h0, l0, ph, pl)
    return _plus(h0, l0, h1, l1)


@compiled_part(_nrt=False, error_model="numpy")
def _dot_floats(g, v):  # pragma: no cover - compiled
    """Return the product of floats (m,) and a vector (2, m)."""
    h0, l0, h1, l1 = 0.0, 0.0, 0.0, 0.0
    n, j = g.shape[0], 0
    while j + 2 <= n:
        ph, pl = _times(g[j], 0.0, v[0, j], v[1, j])
        rh, rl = _times(g[j + 1], 0.0, v[0, j + 1], v[1, j + 1])
        h0, l0 = _plus(h0, l0, ph, pl)
        h1, l1 = _plus(h1, l1, rh, rl)
        j += 2
    if j < n:
        ph, pl = _times(g[j], 0.0, v[0, j], v[1, j])
        h0, l0 = _plus(h0, l0, ph, pl)
    return _plus(h0, l0, h1, l1)


@compiled_part(_nrt=False, error_model="numpy")
def _add_multiple(y, sh, sl, x):  # pragma: no cover - compiled
    """Add s · x to y, both (2, m)."""
    for j in range(y.shape[1]):
        ph, pl = _times(sh, sl, x[0, j], x[1, j])
        y[0, j], y[1, j] = _plus(y[0, j], y[1, j], ph, pl)


@compiled_part(_nrt=False, error_model="numpy")
def _rotate(x, y, ch, cl, sh, sl):  # pragma: no cover - compiled
    """Rotate two vectors (2, m) in their plane."""
    for j in range(x.shape[1]):
        ah, al = _times(ch, cl, x[0, j], x[1, j])
        bh, bl = _times(sh, sl, y[0, j], y[1, j])
        eh, el = _times(ch, cl, y[0, j], y[1, j])
        fh, fl = _times(sh, sl, x[0, j], x[1, j])
        x[0, j], x[1, j] = _plus(ah, al, bh, bl)
        y[0, j], y[1, j] = _plus(eh, el, -fh, -fl)


@compiled_part(_nrt=False, error_model="numpy")
def _project(QT, q, g, c, z):  # pragma: no cover - compiled
    """Split the floats g into QTᵀ c + z with z orthogonal to the q rows of QT (m, 2, m); return ‖z‖²."""
    m = g.shape[0]
    for j in range(m):
        z[0, j], z[1, j] = g[j], 0.0
    for a in range(q):
        c[0, a], c[1, a] = 0.0, 0.0
    for _ in range(2):  # once more for the digits that cancel
        for a in range(q):
            h, low = _dot(QT[a], z, m)
            _add_multiple(z, -h, -low, QT[a])
            c[0, a], c[1, a] = _plus(c[0, a], c[1, a], h, low)
    return _dot(z, z, m)


@compiled_part(_nrt=False, error_model="numpy")
def _coordinates(R, c, q, r):  # pragma: no cover - compiled
    """Solve R r = c for the leading q×q triangle of R, of which R[b] (2, m) is column b; c is used up."""
    for b in range(q - 1, -1, -1):
        r[0, b], r[1, b] = _over(c[0, b], c[1, b], R[b, 0, b], R[b, 1, b])
        if b:
            _add_multiple(c[:, :b], -r[0, b], -r[1, b], R[b, :, :b])


@compiled_part(_nrt=False, error_model="numpy")
def _drop(QT, R, lam, active, q, place):  # pragma: no cover - compiled
    """Remove the active row at this place, restoring the triangle by rotations."""
    for b in range(place, q - 1):
        lam[0, b], lam[1, b] = lam[0, b + 1], lam[1, b + 1]
        active[b] = active[b + 1]
        for j in range(b + 2):
            R[b, 0, j], R[b, 1, j] = R[b + 1, 0, j], R[b + 1, 1, j]
    for b in range(place, q - 1):
        xh, xl, yh, yl = R[b, 0, b], R[b, 1, b], R[b, 0, b + 1], R[b, 1, b + 1]
        ah, al = _times(xh, xl, xh, xl)
        bh, bl = _times(yh, yl, yh, yl)
        ah, al = _plus(ah, al, bh, bl)
        if ah == 0.0:
            continue
        h, low = _root(ah, al)
        ch, cl = _over(xh, xl, h, low)
        sh, sl = _over(yh, yl, h, low)
        for k in range(b, q - 1):  # rows b and b + 1 of the triangle
            ah, al = _times(ch, cl, R[k, 0, b], R[k, 1, b])
            bh, bl = _times(sh, sl, R[k, 0, b + 1], R[k, 1, b + 1])
            eh, el = _times(ch, cl, R[k, 0, b + 1], R[k, 1, b + 1])
            fh, fl = _times(sh, sl, R[k, 0, b], R[k, 1, b])
            R[k, 0, b], R[k, 1, b] = _plus(ah, al, bh, bl)
            R[k, 0, b + 1], R[k, 1, b + 1] = _plus(eh, el, -fh, -fl)
        _rotate(QT[b], QT[b + 1], ch, cl, sh, sl)


@compiled(_nrt=False, error_model="numpy")
def doubled_products(rows, v, out):  # pragma: no cover - compiled
    """Write the products of rows of floats (n, m) with a vector (2, m), rounded to floats."""
    for i in range(rows.shape[0]):
        out[i] = _dot_floats(rows[i], v)[0]


def doubled_active_set(
    G: Floats, targets: Floats, state: tuple[npt.NDArray[Any], ...], q: int, floor: float, max_steps: int
) -> tuple[int, int, int, int]:
    """Continue the active-set method on the rows of G until all reach the share ``floor`` of their targets.

    State: v (2, m), QT and R (m, 2, m), lam (2, m + 1), active (m + 1,) and the multipliers (m + 1,) of a conflict. It
    is whole after every call. Returns (outcome, q, steps, entering), as `active_set_kernels.dual_active_set` does.
    """
    n, m = G.shape
    scratch = np.empty(n, np.bool_), np.empty(n), np.empty((2, m + 1)), np.empty((2, m + 1)), np.empty((2, m))
    return _from_python(G, targets, state, q, floor, max_steps, scratch)


@compiled(_nrt=False, error_model="numpy")
def _from_python(G, targets, state, q, floor, max_steps, scratch):  # pragma: no cover - compiled
    v, QT, R, lam, active, multipliers = state
    is_active, lacks, c, r, z = scratch
    n, m = G.shape
    for i in range(n):
        is_active[i] = False
    for a in range(q):
        is_active[active[a]] = True
    steps = 0
    uses = 0
    while steps < max_steps:
        entering = np.int64(-1)
        worst = 0.0
        if uses == 0:  # all rows are looked at now and then, and in between those that lacked most
            for i in range(n):
                lacks[i] = floor * targets[i] - _dot_floats(G[i], v)[0]
                if lacks[i] > worst and not is_active[i]:
                    worst = lacks[i]
                    entering = i
            if entering < 0:
                return SOLVED, q, steps, -1
            reference = worst
        else:
            for i in range(n):
                if lacks[i] > 0.5 * reference and not is_active[i]:
                    s = floor * targets[i] - _dot_floats(G[i], v)[0]
                    if s > worst:
                        worst = s
                        entering = i
            if worst < 0.5 * reference:
                uses = 0
                continue
        uses = (uses + 1) % 10
        gained_h, gained_l = 0.0, 0.0
        while True:  # every turn but the last drops a row
            steps += 1
            zh, zl = _project(QT, q, G[entering], c, z)
            free = zh > _ZERO * targets[entering] * targets[entering] and q < m
            if free:
                for a in range(q):
                    R[q, 0, a], R[q, 1, a] = c[0, a], c[1, a]
            _coordinates(R, c, q, r)
            largest = 0.0
            for a in range(q):
                if abs(r[0, a]) > largest:
                    largest = abs(r[0, a])
            place = np.int64(-1)
            lh, ll = np.inf, 0.0
            for a in range(q):
                if r[0, a] > _NO_SHARE * largest:
                    h, low = _over(lam[0, a], lam[1, a], r[0, a], r[1, a])
                    if h < lh or (h == lh and low < ll):
                        lh, ll, place = h, low, np.int64(a)
            if not free and place < 0:
                for a in range(q):
                    multipliers[a] = -r[0, a]
                return CONFLICT, q, steps, entering
            fh, fl = np.inf, 0.0
            if free:
                ph, pl = _dot_floats(G[entering], v)
                ph, pl = _plus(targets[entering], 0.0, -ph, -pl)
                fh, fl = _over(ph, pl, zh, zl)
            blocked = lh < fh or (lh == fh and ll < fl)
            if not blocked:
                lh, ll = fh, fl
            if free:
                _add_multiple(v, lh, ll, z)
            for a in range(q):
                ph, pl = _times(lh, ll, r[0, a], r[1, a])
                lam[0, a], lam[1, a] = _plus(lam[0, a], lam[1, a], -ph, -pl)
            gained_h, gained_l = _plus(gained_h, gained_l, lh, ll)
            if not blocked:
                nh, nl = _root(zh, zl)
                R[q, 0, q], R[q, 1, q] = nh, nl
                for j in range(m):
                    QT[q, 0, j], QT[q, 1, j] = _over(z[0, j], z[1, j], nh, nl)
                lam[0, q], lam[1, q] = gained_h, gained_l
                active[q] = entering
                is_active[entering] = True
                q += 1
                break
            is_active[active[place]] = False
            _drop(QT, R, lam, active, q, place)
            q -= 1
    return STOPPED, q, steps, -1
