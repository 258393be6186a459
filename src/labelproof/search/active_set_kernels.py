"""Compiled search for a point with every row positive, or for rows that contradict each other.

Nothing computed here is trusted: `proof` decides. The problem, for unit rows g_i that already carry their signs, is

    minimise ½‖v‖²  subject to  g_i·v ≥ t_i for every row, e·v = 0 for every equality,

solved by the dual active-set method of Goldfarb and Idnani on a growing working set of rows. The directions of the
active rows G are kept as an orthonormal basis QT, which stays accurate where an inverse of their Gram matrix does not,
with the triangle L of what each is made of: QT = L G. So the coordinates of a vector in the active rows are a product
with L, whose terms do not wait for each other, unlike the unknowns of a triangular system.
The same iteration for exact and for many-bit numbers is in `active_set`; this one stands alone since compiled code
takes no arithmetic from outside, and its factors, rather than the solutions, are what it keeps from step to step.
"""

from typing import Any

import numpy as np
import numpy.typing as npt

from labelproof.foundation.compilation import compiled, compiled_part

__all__ = [
    "CONFLICT",
    "SOLVED",
    "STOPPED",
    "active_set_scratch",
    "append_row",
    "combine",
    "continue_active_set",
    "drop_row",
    "dual_active_set",
    "product",
    "project",
]

Floats = npt.NDArray[np.float64]

SOLVED, CONFLICT, STOPPED = 1, 0, -1
N_CANDIDATES = 48  # rows that are looked at before the whole working set is
_FAST = {"reassoc", "contract", "arcp", "nsz"}


@compiled_part(_nrt=False, error_model="numpy", fastmath=_FAST)
def combine(L, c, q, r):  # pragma: no cover - compiled
    """Write r = c L for the leading q×q triangle of L, four rows at a time; above its diagonal L is 0."""
    for a in range(q):
        r[a] = 0.0
    b = 0
    while b + 4 <= q:
        row0, row1, row2, row3 = L[b], L[b + 1], L[b + 2], L[b + 3]
        c0, c1, c2, c3 = c[b], c[b + 1], c[b + 2], c[b + 3]
        for a in range(b + 4):
            r[a] += c0 * row0[a] + c1 * row1[a] + c2 * row2[a] + c3 * row3[a]
        b += 4
    while b < q:
        for a in range(b + 1):
            r[a] += c[b] * L[b, a]
        b += 1


@compiled_part(_nrt=False, error_model="numpy", fastmath=_FAST)
def _subtract_projection(QT, q, c, z):  # pragma: no cover - compiled
    """Subtract from z its projection onto the q rows of QT, whose coordinates are added to c; return the new ‖z‖².

    Four rows at a time, so that each pass over the vectors does four times the work; the next four are of what is left.
    """
    m = z.shape[0]
    a = 0
    while a + 4 <= q:
        s0, s1, s2, s3 = 0.0, 0.0, 0.0, 0.0
        for j in range(m):
            s0 += QT[a, j] * z[j]
            s1 += QT[a + 1, j] * z[j]
            s2 += QT[a + 2, j] * z[j]
            s3 += QT[a + 3, j] * z[j]
        for j in range(m):
            z[j] -= s0 * QT[a, j] + s1 * QT[a + 1, j] + s2 * QT[a + 2, j] + s3 * QT[a + 3, j]
        c[a] += s0
        c[a + 1] += s1
        c[a + 2] += s2
        c[a + 3] += s3
        a += 4
    while a < q:
        s0 = 0.0
        for j in range(m):
            s0 += QT[a, j] * z[j]
        for j in range(m):
            z[j] -= s0 * QT[a, j]
        c[a] += s0
        a += 1
    zz = 0.0
    for j in range(m):
        zz += z[j] * z[j]
    return zz


@compiled_part(_nrt=False, error_model="numpy", fastmath=_FAST)
def project(QT, q, g, sign, c, z):  # pragma: no cover - compiled
    """Split ±g into QTᵀ c + z with z orthogonal to the q rows of QT; return ‖z‖². Repeated once where digits cancel."""
    for j in range(g.shape[0]):
        z[j] = sign * g[j]
    for a in range(q):
        c[a] = 0.0
    zz = _subtract_projection(QT, q, c, z)
    if zz < 0.01:  # of a unit row: what is left may be off by ten units
        zz = _subtract_projection(QT, q, c, z)
    return zz


@compiled_part(_nrt=False, error_model="numpy", fastmath=_FAST)
def append_row(QT, L, lam, active, q, r, z, zz, row, multiplier):  # pragma: no cover - compiled
    """Make a row active, given its split by `project` and what `combine` makes of it."""
    inverse = 1.0 / np.sqrt(zz)
    for a in range(q):
        L[q, a] = -inverse * r[a]
    L[q, q] = inverse
    for j in range(z.shape[0]):
        QT[q, j] = inverse * z[j]
    lam[q] = multiplier
    active[q] = row


@compiled_part(_nrt=False, error_model="numpy", fastmath=_FAST)
def _rotate(one, other, cs, sn):  # pragma: no cover - compiled
    """Rotate two vectors in their plane."""
    for k in range(one.shape[0]):
        u, w = one[k], other[k]
        one[k] = cs * u - sn * w
        other[k] = cs * w + sn * u


@compiled_part(_nrt=False, error_model="numpy", fastmath=_FAST)
def drop_row(QT, L, lam, active, q, place, c, z, zz):  # pragma: no cover - compiled
    """Remove the active row at this place: rotations leave it to the last direction, which goes; return the new q.

    The split c, z of another row by `project` is brought along, and its new ‖z‖² is returned too.
    """
    m = QT.shape[1]
    for a in range(place, q - 1):
        lam[a] = lam[a + 1]
        active[a] = active[a + 1]
    for b in range(place, q - 1):
        x, y = L[b, place], L[b + 1, place]
        h = np.sqrt(x * x + y * y)
        cs, sn = y / h, x / h
        _rotate(L[b, : b + 2], L[b + 1, : b + 2], cs, sn)
        for a in range(place, b + 1):
            L[b, a] = L[b, a + 1]
        L[b, b + 1] = 0.0
        _rotate(QT[b], QT[b + 1], cs, sn)
        u, w = c[b], c[b + 1]
        c[b] = cs * u - sn * w
        c[b + 1] = cs * w + sn * u
    last = c[q - 1]
    for j in range(m):
        z[j] += last * QT[q - 1, j]
    return q - 1, zz + last * last


@compiled_part(_nrt=False, error_model="numpy", fastmath=_FAST)
def _score_rows(A, places, first, v, out):  # pragma: no cover - compiled
    """Write the products of v and these rows of A from the first on, four at a time: each pass over v serves four."""
    count, m = places.shape[0], v.shape[0]
    i = first
    while i + 4 <= count:
        row0, row1, row2, row3 = A[places[i]], A[places[i + 1]], A[places[i + 2]], A[places[i + 3]]
        s0, s1, s2, s3 = 0.0, 0.0, 0.0, 0.0
        for j in range(m):
            s0 += row0[j] * v[j]
            s1 += row1[j] * v[j]
            s2 += row2[j] * v[j]
            s3 += row3[j] * v[j]
        out[i] = s0
        out[i + 1] = s1
        out[i + 2] = s2
        out[i + 3] = s3
        i += 4
    while i < count:
        row0 = A[places[i]]
        s0 = 0.0
        for j in range(m):
            s0 += row0[j] * v[j]
        out[i] = s0
        i += 1


@compiled_part(_nrt=True)
def product(A, B, out):  # pragma: no cover - compiled
    """Write the product of two matrices, or of a matrix and a vector, by BLAS."""
    np.dot(A, B, out)


def dual_active_set(
    G: Floats,
    targets: Floats,
    n_equal: int,
    v: Floats,
    QT: Floats,
    L: Floats,
    lam: Floats,
    active: npt.NDArray[np.int64],
    q: int,
    floor: float,
    tolerance: float,
    max_steps: int,
    multipliers: Floats,
) -> tuple[int, int, int, int]:
    """Continue the active-set method on the rows of G until all reach their share ``floor`` of their targets.

    The first ``n_equal`` rows are equalities, with target 0. State: v (m,), QT (m, m), L (m, m), lam, active (m + 1,),
    q. It is whole after every call, so that a search that was STOPPED can go on; rows may be added in between.
    Returns (outcome, q, steps, entering). After CONFLICT the rows active[:q] and entering contradict each other with
    multipliers[:q] and 1; after SOLVED every row has g·v ≥ floor · target − tolerance, or ≥ target at the optimum.
    Targets may be negative where floor is 1. G may have more rows than there are targets; they do not count.
    """
    scratch = active_set_scratch(*G.shape)
    rows = np.arange(len(targets)), np.ones(len(targets)), targets
    return _from_python(G, *rows, n_equal, v, QT, L, lam, active, q, floor, tolerance, max_steps, multipliers, scratch)


def active_set_scratch(n_rows: int, m: int) -> tuple[npt.NDArray[Any], ...]:
    """Return the arrays that `continue_active_set` works in; what they hold does not matter."""
    vectors = np.empty(m + 1), np.empty(m + 1), np.empty(m)
    return np.empty(n_rows, np.bool_), np.empty(n_rows), np.empty(N_CANDIDATES, np.int64), *vectors


@compiled(_nrt=False, error_model="numpy", fastmath=_FAST)
def _from_python(
    A, places, signs, targets, n_equal, v, QT, L, lam, active, q, floor, tolerance, max_steps, multipliers, scratch
):  # pragma: no cover - compiled
    return continue_active_set(
        A, places, signs, targets, n_equal, v, QT, L, lam, active, q, floor, tolerance, max_steps, multipliers, scratch
    )


@compiled_part(_nrt=False, error_model="numpy", fastmath=_FAST)
def continue_active_set(
    A, places, signs, targets, n_equal, v, QT, L, lam, active, q, floor, tolerance, max_steps, multipliers, scratch
):  # pragma: no cover - compiled
    """Do what `dual_active_set` says, in arrays that the caller has made: numba takes seconds to compile each kind.

    The rows are those of A at these places, with these signs: label sets that share rows share them in the processor's
    cache, too.
    """
    count, m = places.shape[0], v.shape[0]
    is_active, products, candidates, c, r, z = scratch
    for i in range(count):
        is_active[i] = False
    for a in range(q):
        is_active[active[a]] = True
    if q == 0:
        for e in range(n_equal):  # v = 0 meets every equality: they only narrow the directions
            zz = project(QT, q, A[places[e]], signs[e], c, z)
            if zz > 1e-12:
                combine(L, c, q, r)
                append_row(QT, L, lam, active, q, r, z, zz, e, 0.0)
                q += 1
    n_candidates = 0
    uses = 0
    reference = 0.0
    steps = 0
    while steps < max_steps:
        # The row that lacks most: of a few candidates while they last, else of the whole working set.
        entering = np.int64(-1)
        if n_candidates > 0 and uses < 10:
            uses += 1
            worst = tolerance
            for k in range(n_candidates):
                i = candidates[k]
                if not is_active[i]:
                    row = A[places[i]]
                    s = 0.0
                    for j in range(m):
                        s += row[j] * v[j]
                    s = floor * targets[i] - signs[i] * s
                    if s > worst:
                        worst = s
                        entering = i
            if worst < 0.5 * reference:
                entering = np.int64(-1)
        if entering < 0:
            _score_rows(A, places, n_equal, v, products)
            worst = tolerance
            for i in range(n_equal, count):
                products[i] *= signs[i]
                if floor * targets[i] - products[i] > worst and not is_active[i]:
                    worst = floor * targets[i] - products[i]
                    entering = i
            if entering < 0:
                return SOLVED, q, steps, -1
            reference = worst
            cut = 0.5 * (targets[entering] - products[entering])
            n_candidates = 0
            uses = 0
            for i in range(n_equal, count):
                if targets[i] - products[i] >= cut and not is_active[i] and n_candidates < N_CANDIDATES:
                    candidates[n_candidates] = i
                    n_candidates += 1
        g, sign = A[places[entering]], signs[entering]
        multiplier = 0.0
        zz = project(QT, q, g, sign, c, z)
        while True:  # every turn but the last drops a row
            steps += 1
            combine(L, c, q, r)
            longest = np.inf
            place = np.int64(-1)
            for a in range(q):
                if r[a] > 1e-11 and active[a] >= n_equal:
                    ratio = lam[a] / r[a]
                    if ratio < longest:
                        longest = ratio
                        place = a
            free = zz > 1e-24 and q < m
            if not free and place < 0:
                for a in range(q):
                    multipliers[a] = -r[a]
                return CONFLICT, q, steps, entering
            full = np.inf
            if free:
                s = 0.0
                for j in range(m):
                    s += g[j] * v[j]
                full = (targets[entering] - sign * s) / zz
            step = longest if longest < full else full
            if free:
                for j in range(m):
                    v[j] += step * z[j]
            for a in range(q):
                lam[a] -= step * r[a]
            multiplier += step
            if full <= longest:
                append_row(QT, L, lam, active, q, r, z, zz, entering, multiplier)
                is_active[entering] = True
                q += 1
                break
            is_active[active[place]] = False
            q, zz = drop_row(QT, L, lam, active, q, place, c, z, zz)
    return STOPPED, q, steps, -1
