"""Decide exactly, and independently of the library, whether an output layer allows a label set.

The system of the definition is written down as it stands, in the rational numbers that the floats are: no
homogenising, no tolerance. `simplex` decides it, and before it answers it substitutes: a point into every
row, or multipliers into the sum of the rows. `fourier_motzkin` decides the same systems, only slower.

A row (a, c, strict) says a·u + c > 0 if strict, and a·u + c ≥ 0 if not; u is x, then τ if there is one.
"""

import math
from fractions import Fraction

import numpy as np

__all__ = ["feasible_point", "fourier_motzkin", "is_argmaxable", "logit", "simplex", "within_balls"]


def is_argmaxable(
    weight,
    active,
    *,
    bias=None,
    thresholds=None,
    cuts=None,
    rule="sigmoid",
    ties="open",
    domain=None,
    t=1,
    only=None,
    decide=None,
):
    """Whether some x (and τ) in the domain gives the labels in `active`, and no others.

    `cuts` are the scores at which labels with thresholds switch on, `logit` of each unless told otherwise: whoever
    rounds them otherwise asks another question. `only` leaves out the rows of all other labels, to ask whether these
    labels alone are a conflict; `decide` is `simplex` unless told otherwise.
    """
    assert rule in {"sigmoid", "topk", "sparsemax"}
    assert ties in {"open", "inactive"}
    W = [[Fraction(entry) for entry in row] for row in np.asarray(weight).tolist()]
    n_labels, d, active = len(W), len(W[0]), {int(i) for i in active}
    b = [Fraction(0)] * n_labels if bias is None else [Fraction(entry) for entry in np.asarray(bias).tolist()]
    if thresholds is not None:
        cuts = [logit(p) for p in thresholds] if cuts is None else np.asarray(cuts).tolist()
        b = [entry - Fraction(cut) for entry, cut in zip(b, cuts, strict=True)]
    if rule != "sigmoid":  # compare with τ instead of 0
        W = [[*row, Fraction(-1)] for row in W]

    rows = []
    for i in range(n_labels) if only is None else only:
        if i in active:
            rows.append((W[i], b[i], True))
        else:
            rows.append(([-entry for entry in W[i]], -b[i], ties == "open"))
    if rule == "sparsemax":  # Σ (z_i - τ) over the active labels is 1/t
        total = [sum(W[i][j] for i in active) for j in range(d + 1)]
        excess = sum(b[i] for i in active) - 1 / Fraction(t)
        rows += [(total, excess, False), ([-entry for entry in total], -excess, False)]
    box, balls = _parts(domain, d)
    rows += _domain_rows(box, d, len(W[0]))
    if balls:
        return within_balls(rows, balls)
    return (decide or simplex)(rows)


def _parts(domain, d):
    """Return a domain as one box, and balls (first feature, end, radius, centre)."""
    if isinstance(domain, tuple) and isinstance(domain[0], str) and domain[0] == "blocks":
        low, high, balls, start = [], [], [], 0
        for width, part in domain[1]:
            box, inner = _parts(part, width)
            ends = (-math.inf, math.inf) if box is None else (0, math.inf) if isinstance(box, str) else box
            for side, end in zip((low, high), ends, strict=True):
                side += np.broadcast_to(np.asarray(end, dtype=object), (width,)).tolist()
            balls += [(start + a, start + b, radius, centre) for a, b, radius, centre in inner]
            start += width
        return (low, high), balls
    if domain == "unit" if isinstance(domain, str) else False:
        domain = ("unit", 1.0)
    if isinstance(domain, tuple) and isinstance(domain[0], str):
        kind, radius, *centre = domain
        middle = np.broadcast_to(np.asarray(centre[0] if centre else 0.0, dtype=object), (d,)).tolist()
        ball = (0, d, Fraction(radius), [Fraction(c) for c in middle])
        return ("nonnegative" if kind == "unit" else None), [ball]
    return domain, []


def within_balls(rows, balls, most_cuts=None):
    """Whether some point satisfies every row and is in every ball; None if it is not known.

    Outer polytopes, each cut by a tangent plane where the last point was outside, can refute; a point of one that is in
    the balls, or becomes so when it is moved there, proves.
    """
    rows, n = list(rows), len(rows[0][0])
    for start, stop, radius, centre in balls:
        for j in range(start, stop):
            unit = [Fraction(int(k == j)) for k in range(n)]
            step = centre[j - start]
            rows += [(unit, radius - step, False), ([-entry for entry in unit], radius + step, False)]
    for _ in range(most_cuts or (16 if n <= 5 else 2)):
        point = feasible_point(rows)
        if point is None:
            return False
        moved, cuts = list(point), []
        for start, stop, radius, centre in balls:
            steps = [x - c for x, c in zip(point[start:stop], centre, strict=True)]
            square = sum(step * step for step in steps)
            if square > radius * radius:
                largest = max(abs(step) for step in steps)
                whole = [round(step / largest * 2**24) for step in steps]
                length = Fraction(math.isqrt(sum(w * w for w in whole) << 80) + 1, 2**40)  # rounded up
                normal = [Fraction(0)] * n
                normal[start:stop] = [Fraction(-w) for w in whole]
                shift = sum(w * c for w, c in zip(whole, centre, strict=True))
                cuts.append((normal, radius * length + shift, False))
                moved[start:stop] = [c + w * radius / length for w, c in zip(whole, centre, strict=True)]
        if not cuts or _satisfies([(*_integers(a, c), strict) for a, c, strict in rows], moved):
            return True
        rows += cuts
    return None


def _domain_rows(domain, d, n_unknowns):
    if domain is None:
        return []
    low, high = (0, math.inf) if isinstance(domain, str) else domain
    lows, highs = (np.broadcast_to(np.asarray(end, dtype=object), (d,)).tolist() for end in (low, high))
    rows = []
    for j in range(d):
        unit = [Fraction(int(k == j)) for k in range(n_unknowns)]
        if lows[j] != -math.inf:
            rows.append((unit, -Fraction(lows[j]), False))
        if highs[j] != math.inf:
            rows.append(([-entry for entry in unit], Fraction(highs[j]), False))
    return rows


def logit(p):
    """Return the float64 score at which a sigmoid reaches p."""
    return math.log(p) - math.log1p(-p)


def simplex(rows):
    """Whether some point satisfies every row."""
    return not rows or feasible_point(rows) is not None


def feasible_point(rows):
    """Return a point that satisfies every row, or None; checks the point, or the multipliers that refute the rows.

    Row i defines a slack s_i = a_i·u + c_i - ε (no ε if not strict), to be ≥ 0 for an infinitesimal ε.
    A line of the table holds integers with D · basic = line · (nonbasic, 1, ε), and D > 0 last. First the free u become
    basic, by the sparsest rows; then Bland's rule repairs the first negative slack by the first slack that can, until
    none is or none can.
    """
    n, m = len(rows[0][0]), len(rows)  # slacks are numbered 0..m-1, the unknowns m..m+n-1
    rows = [(*_integers(a, c), strict) for a, c, strict in rows]
    table = [[*a, c, -int(strict), 1] for a, c, strict in rows]
    basic, nonbasic = list(range(m)), list(range(m, m + n))

    def exchange(r, j):
        _pivot(table, r, j)
        basic[r], nonbasic[j] = nonbasic[j], basic[r]

    for j in range(n):
        slacks = [r for r in range(m) if basic[r] < m and table[r][j]]
        if slacks:
            exchange(min(slacks, key=lambda r: sum(map(bool, table[r]))), j)

    while negative := [r for r in range(m) if basic[r] < m and table[r][n:-1] < [0, 0]]:
        r = min(negative, key=basic.__getitem__)
        entering = [j for j in range(n) if nonbasic[j] < m and table[r][j] > 0]
        if not entering:
            multipliers = [0] * m
            multipliers[basic[r]] = table[r][-1]
            for j in range(n):
                if nonbasic[j] < m:
                    multipliers[nonbasic[j]] = -table[r][j]
            assert _refutes(rows, multipliers)
            return None
        exchange(r, min(entering, key=nonbasic.__getitem__))

    where = {basic[r]: table[r] for r in range(m)}
    ends = [where[m + j][n:] if m + j in where else (0, 0, 1) for j in range(n)]
    for k in range(16):
        eps = Fraction(1, 2 ** (2**k) // 2)  # 1, 1/2, 1/8, 1/128, ...: one of them is small enough
        point = [(real + eps * infinitesimal) / D for real, infinitesimal, D in ends]
        if _satisfies(rows, point):
            return point
    raise AssertionError("the final table gives no point")


def _integers(a, c):
    """Scale a row by a positive number that makes it integer."""
    scale = math.lcm(*(entry.denominator for entry in a), c.denominator)
    *a, c = (entry.numerator * (scale // entry.denominator) for entry in (*a, c))
    return a, c


def _pivot(table, r, j):
    """Exchange basic variable r and nonbasic variable j, in lines without a common factor."""
    size, sign = abs(table[r][j]), 1 if table[r][j] > 0 else -1
    solved = [-sign * entry for entry in table[r]]  # for what becomes basic
    solved[j], solved[-1] = sign * table[r][-1], size
    table[r] = solved
    for i, line in enumerate(table):
        factor = line[j]
        if i != r and factor:
            new = [size * x + factor * y for x, y in zip(line, solved, strict=True)]
            new[j], new[-1] = factor * solved[j], size * line[-1]
            common = math.gcd(*new)
            table[i] = [entry // common for entry in new]


def _satisfies(rows, point):
    for a, c, strict in rows:
        value = sum(x * y for x, y in zip(a, point, strict=True)) + c
        if value < 0 or (strict and value == 0):
            return False
    return True


def _refutes(rows, multipliers):
    """Whether the weighted sum of the rows reads 0·u + c with c < 0, or c = 0 and a strict row in it."""
    weighted = list(zip(multipliers, rows, strict=True))
    coefficients = [sum(q * a[j] for q, (a, _, _) in weighted) for j in range(len(rows[0][0]))]
    constant = sum(q * c for q, (_, c, _) in weighted)
    has_strict = any(q > 0 and strict for q, (_, _, strict) in weighted)
    contradiction = constant < 0 or (constant == 0 and has_strict)
    return min(multipliers) >= 0 and not any(coefficients) and contradiction


def fourier_motzkin(rows):
    """Whether some point satisfies every row, by eliminating one unknown after the other."""
    system = _tightest(rows)
    for j in range(len(rows[0][0])):
        low, high = ([row for row in system if sign * row[0][j] > 0] for sign in (1, -1))
        pairs = []
        for a, c, strict in low:
            for other, other_c, other_strict in high:
                p, q = -other[j], a[j]  # both positive
                combined = tuple(p * x + q * y for x, y in zip(a, other, strict=True))
                pairs.append((combined, p * c + q * other_c, strict or other_strict))
        system = _tightest([row for row in system if row[0][j] == 0] + pairs)
    return all(c > 0 or (c == 0 and not strict) for _, c, strict in system)


def _tightest(rows):
    """Keep one row for each direction: the one with the smallest constant, and of those a strict one."""
    best = {}
    for a, c, strict in rows:
        scale = max((abs(entry) for entry in a), default=0) or 1
        key = tuple(Fraction(entry, scale) for entry in a)
        best[key] = min(best.get(key, (math.inf, 0)), (Fraction(c, scale), -int(strict)))
    return [(a, c, bool(strict)) for a, (c, strict) in best.items()]
