"""Compiled search for the stretch of one label set: a small linear programme that takes in labels and examples.

    min Σ λ_j   such that   y_i Σ_j λ_j D_ji ≥ r_i for every label i,   λ ≥ 0

D holds the logits of a pool of examples minus those at their centre. The programme starts with a few labels and
examples and is solved by the dual simplex method in a dense table, each round anew; then the most violated labels and
the most improving examples join. One more variable, which satisfies every label at the cost ``far``, keeps it soluble.
Under the rule topk two more, free of cost, stand for τ. Nothing found here is believed.
"""

import numpy as np

from labelproof.foundation.compilation import compiled, compiled_part

__all__ = ["cover", "scratch"]

DONE, NEAR_ENOUGH, FAR, GAVE_UP = 0, 1, 2, 3  # optimal for the pool; within the tolerance; beyond ``far``; no answer
LEAST_PIVOT = 1e-9
ROUNDING = 1e-11
MOST_PIVOTS = 5000
FIRST_EXAMPLES, FIRST_LABELS = 40, 30
MORE_EXAMPLES, MORE_LABELS = 15, 25


@compiled_part(_nrt=False, fastmath=True, error_model="numpy")
def _pivot(T, p, q, m, n):  # pragma: no cover - compiled
    """Exchange the variable of row p with that of column q."""
    inverse = 1.0 / T[p, q]
    for j in range(n + 1):
        T[p, j] *= -inverse
    T[p, q] = inverse
    for i in range(m + 1):
        share = T[i, q]
        if i != p and share != 0.0:
            T[i, q] = 0.0
            for j in range(n + 1):
                T[i, j] += share * T[p, j]


@compiled_part(_nrt=False, error_model="numpy")
def _dual_simplex(T, basic, other, m, n):  # pragma: no cover - compiled
    """Solve the table: row i says that its variable is T[i, n] + Σ_j T[i, j] · (variable of column j).

    Row m is the cost. The costs are ≥ 0 from the start. Returns whether the optimum was found.
    """
    for _ in range(MOST_PIVOTS):
        p, least = -1, -ROUNDING
        for i in range(m):
            if T[i, n] < least:
                p, least = i, T[i, n]
        if p < 0:
            return True
        q, ratio, size = -1, np.inf, 0.0
        for j in range(n):
            a = T[p, j]
            if a > LEAST_PIVOT:
                this = max(T[m, j], 0.0) / a
                if this < ratio - 1e-13 or (this <= ratio + 1e-13 and a > size):
                    q, ratio, size = j, this, a
        if q < 0:
            return False
        _pivot(T, p, q, m, n)
        basic[p], other[q] = other[q], basic[p]
    return False


@compiled_part(_nrt=False, error_model="numpy")
def _take_largest(scores, taken, cut, most, found, values):  # pragma: no cover - compiled
    """Collect the places of the largest scores over ``cut`` that are not taken, descending; return how many."""
    count = 0
    if most <= 0:
        return count
    for i in range(scores.shape[0]):
        score = scores[i]
        if score > cut and not taken[i] and (count < most or score > values[count - 1]):
            place = count if count < most else most - 1
            while place > 0 and values[place - 1] < score:
                values[place], found[place] = values[place - 1], found[place - 1]
                place -= 1
            values[place], found[place] = score, i
            count = min(count + 1, most)
    return count


@compiled_part(_nrt=False, error_model="numpy")
def _fill(T, basic, other, D, y, r, scale, rows, m, columns, n, far, topk):  # pragma: no cover - compiled
    """Write the table of the programme over some rows and columns; return its width."""
    width = n + 1 + (2 if topk else 0)
    for k in range(m):
        i = rows[k]
        sign = y[i] / scale[i]
        for j in range(n):
            T[k, j] = sign * D[columns[j], i]
        T[k, n] = max(r[i] / scale[i], 0.0)
        if topk:
            T[k, n + 1], T[k, n + 2] = -sign, sign
        T[k, width] = -r[i] / scale[i]
        basic[k] = width + k
    for j in range(width):
        T[m, j] = 1.0 + 1e-9 * ((j * 7919) % 101) if j < n else 0.0
        other[j] = j
    T[m, n], T[m, width] = far, 0.0
    return width


@compiled_part(_nrt=False, fastmath=True, error_model="numpy")
def _add_multiple(out, factor, row):  # pragma: no cover - compiled
    for i in range(out.shape[0]):
        out[i] += factor * row[i]


@compiled(_nrt=False, error_model="numpy")
def cover(
    D,
    DT,
    y,
    r,
    margin,
    scale,
    first,
    topk,
    far,
    tolerance,
    most_rounds,
    T,
    numbers,
    integers,
    lam,
    theta,
    found,
):  # pragma: no cover - compiled
    """Search one set's stretch.

    Parameters: D (P, L) and its transpose; signs y, right-hand sides r with the margins that they contain, and scales
    of the labels (L,); examples to begin with (places in the pool, perhaps none); whether τ is free; the cost of the
    variable that keeps the programme soluble; the relative gap at which to stop; arrays to work in (see `scratch`).
    Results: λ of the pool (P,) and θ of the labels (L,), the best found, and in ``found`` the bounds that they give.
    Returns how it ended.
    """
    P, L = D.shape
    u, g, values, violation = numbers[0, :L], numbers[1, :P], numbers[2], numbers[3, :L]
    rows, columns, basic, other, new = integers[0], integers[1], integers[2], integers[3], integers[4]
    row_in, column_in = integers[5, :L], integers[6, :P]
    most_rows, most_columns = T.shape[0] - 1, T.shape[1] - 4
    lam[:], theta[:], row_in[:], column_in[:] = 0.0, 0.0, 0, 0
    lower, upper, m, n = 0.0, np.inf, 0, 0
    for i in range(L):
        violation[i] = r[i] / scale[i]
        if y[i] > 0 and m < most_rows:
            rows[m], row_in[i] = i, 1
            m += 1
    if topk and m == most_rows:
        return GAVE_UP
    more = _take_largest(violation, row_in, -np.inf, min(FIRST_LABELS, most_rows - m), new, values)
    for k in range(more):
        rows[m], row_in[new[k]] = new[k], 1
        m += 1
    g[:] = 0.0
    for k in range(m):
        if topk or r[rows[k]] > 0:
            _add_multiple(g, y[rows[k]] / scale[rows[k]], DT[rows[k]])
    for k in range(min(len(first), most_columns)):
        if not column_in[first[k]]:
            columns[n], column_in[first[k]] = first[k], 1
            n += 1
    more = _take_largest(g, column_in, -np.inf, min(FIRST_EXAMPLES, most_columns - n), new, values)
    for k in range(more):
        columns[n], column_in[new[k]] = new[k], 1
        n += 1

    for _ in range(most_rounds):
        width = _fill(T, basic, other, D, y, r, scale, rows, m, columns, n, far, topk)
        if not _dual_simplex(T, basic, other, m, width):
            break
        u[:], g[:] = 0.0, 0.0
        total, tau, artificial = 0.0, 0.0, 0.0
        for k in range(m):
            j, amount = basic[k], T[k, width]
            if j < n and amount > 0.0:
                total += amount
                _add_multiple(u, amount, D[columns[j]])
            elif j == n:
                artificial = amount
            elif j < width:
                tau += amount if j == n + 1 else -amount
        top = 0.0
        for k in range(width):
            i = other[k] - width
            if i >= 0 and T[m, k] > 1e-12:
                i = rows[i]
                amount = T[m, k] / scale[i]
                top += amount * (r[i] - margin[i])
                _add_multiple(g, amount * y[i], DT[i])
        highest, worst = -np.inf, -np.inf
        for j in range(P):
            highest = max(highest, g[j])
        for i in range(L):
            violation[i] = (r[i] - y[i] * (u[i] - tau)) / scale[i]
            worst = max(worst, violation[i] - 0.5 * margin[i] / scale[i])
        if top > 0 and highest > 0 and top / highest > lower:
            lower = top / highest
            theta[:] = 0.0
            for k in range(width):
                if other[k] >= width and T[m, k] > 1e-12:
                    i = rows[other[k] - width]
                    theta[i] = T[m, k] / scale[i]
        if artificial < ROUNDING and worst <= ROUNDING and total < upper:
            upper = total
            lam[:] = 0.0
            for k in range(m):
                if basic[k] < n:
                    lam[columns[basic[k]]] = max(T[k, width], 0.0)
        found[0], found[1] = lower, upper
        if lower >= upper * (1 - tolerance) - 1e-12:
            return NEAR_ENOUGH
        if lower > 0.5 * far:
            return FAR
        new_rows = _take_largest(violation, row_in, ROUNDING, min(MORE_LABELS, most_rows - m), new, values)
        for k in range(new_rows):
            rows[m], row_in[new[k]] = new[k], 1
            m += 1
        new_columns = _take_largest(g, column_in, 1 + 1e-6, min(MORE_EXAMPLES, most_columns - n), new, values)
        for k in range(new_columns):
            columns[n], column_in[new[k]] = new[k], 1
            n += 1
        if new_rows + new_columns == 0:
            return FAR if artificial >= ROUNDING else DONE
    return GAVE_UP


def scratch(n_pool: int, n_labels: int, most: int = 900) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the table and the arrays that `cover` works with."""
    longest = max(n_pool, n_labels, 2 * most + 8)
    T = np.empty((min(most, n_labels) + 1, min(most, n_pool) + 5))
    return T, np.zeros((4, longest)), np.zeros((7, longest), np.int64)
