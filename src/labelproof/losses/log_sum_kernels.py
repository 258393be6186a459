# mypy: disallow-untyped-decorators=False, disallow-untyped-defs=False, disallow-untyped-calls=False
"""Compiled loops over float32 logits of `zlpr` and `two_way`, which compare the labels of an example.

Arrays are those of `kernels`. A row of logits stays near the processor, so that its maximum, its sum and its gradient
cost one journey to memory. What belongs to positives, of which there are few, is computed one by one in double
precision.
"""

import numpy as np

from labelproof.losses.by_address import matrices
from labelproof.losses.sigmoids import ONE, TILE, ZERO, clear_row, exp_of_negative, kernel, loop, target_row, total
from labelproof.losses.target_kernels import count_out_of_range
from labelproof.parallel.team_loops import spread

__all__ = ["list_ones", "places_of_positives", "scale_slopes", "two_way_sums", "value_range", "zlpr_rows"]

_F = np.float32
_LANES = 32  # maxima that are taken side by side
_ROWS = 256  # sums over more rows than this are not left to float32
_LOWEST = _F(-np.inf)


@kernel
def zlpr_rows(places, ends, columns, of_label, weight, sums, faults, team, start, stop):  # pragma: no cover - compiled
    """Write weight_i times the loss of row i into sums, and its gradient into row i of G; see `zlpr_loss`."""
    Z, Y, known, G = matrices(places)
    spread(_zlpr, (Z, Y, ends, columns, known, of_label, weight, sums, G, faults), team, start, stop)


@loop
def _zlpr(Z, Y, ends, columns, known, of_label, weight, sums, G, faults, start, stop):  # pragma: no cover - compiled
    n_labels, masked = Z.shape[1], known.shape[0] > 0
    row, z, u = np.zeros(0 if Y.shape[0] > 0 else n_labels, _F), np.empty(n_labels, _F), np.empty(n_labels, _F)
    e, lanes = np.empty(n_labels, _F), np.empty(_LANES, _F)
    for i in range(start, stop):
        y = target_row(i, Y, ends, columns, row)
        if Y.shape[0] > 0 and count_out_of_range(y) > 0:
            faults[0] = 1
        _prepare(Z[i], y, known[i] if masked else known[:0].reshape(-1), of_label, z, u)
        top = _largest(z, u, lanes)
        below = _exponentials(z, u, top, e) + np.exp(-np.float64(top))
        loss = top + np.log(below)
        if top == np.inf:
            loss, below = np.inf, _ends(z, u, e)
        if G.shape[0] > 0:
            g, scale = G[i], _F(weight[i] / below)
            for j in range(n_labels):
                g[j] = scale * e[j]
        listed = columns[ends[i] : ends[i + 1]] if Y.shape[0] == 0 else places_of_positives(y)
        sums[i] = weight[i] * (loss + _positives(i, z, y, listed, known, of_label, weight[i], G))
        clear_row(i, Y, ends, columns, row)


@loop
def _prepare(given, y, known, of_label, z, u):  # pragma: no cover - compiled
    """Write the logits, 0 where a label is unknown, and their weights as negatives."""
    if known.shape[0] > 0:
        for j in range(z.shape[0]):
            z[j] = given[j] if known[j] != 0 else ZERO
            u[j] = of_label[j] * (ONE - y[j]) if known[j] != 0 else ZERO
    else:
        for j in range(z.shape[0]):
            z[j] = given[j]
            u[j] = of_label[j] * (ONE - y[j])


@loop
def _largest(z, u, lanes):  # pragma: no cover - compiled
    """Return the largest number of positive weight, at least 0; NaN is none."""
    lanes[:] = ZERO
    whole = z.shape[0] - z.shape[0] % _LANES
    for a in range(0, whole, _LANES):
        for k in range(_LANES):
            v = z[a + k] if u[a + k] > ZERO else ZERO
            lanes[k] = v if v > lanes[k] else lanes[k]
    top = ZERO
    for k in range(_LANES):
        top = max(top, lanes[k])
    for j in range(whole, z.shape[0]):
        top = max(top, z[j] if u[j] > ZERO and z[j] > top else top)
    return top


@loop
def _exponentials(z, u, top, e):  # pragma: no cover - compiled
    """Write u · exp(z − top), and return the sum; where u is 0 z may be larger than top."""
    result = 0.0
    for a in range(0, z.shape[0], TILE):
        b = min(a + TILE, z.shape[0])
        for j in range(a, b):
            x = z[j] - top
            e[j] = u[j] * exp_of_negative(ZERO if x > ZERO else x)
        result += total(e[a:b])
    return result


@loop
def _ends(z, u, e):  # pragma: no cover - compiled
    """Write 1 where a logit of positive weight is ∞ and 0 elsewhere; return how many are."""
    count = 0.0
    for j in range(z.shape[0]):
        e[j] = ONE if z[j] == np.inf and u[j] > ZERO else ZERO
        count += e[j]
    return count


@loop
def places_of_positives(y):  # pragma: no cover - compiled
    """Return where targets are positive."""
    count = 0
    for j in range(y.shape[0]):
        count += y[j] > ZERO
    places, found = np.empty(count, np.int64), 0
    if count == 0:
        return places
    for j in range(y.shape[0]):
        if y[j] > ZERO:
            places[found] = j
            found += 1
    return places


@loop
def _positives(i, z, y, listed, known, of_label, weight, G):  # pragma: no cover - compiled
    """Return log(1 + Σ w y exp(−z)), and add weight times its gradient to row i of G."""
    top, masked, n_endless = 0.0, known.shape[0] > 0, 0
    for j in listed:
        if (not masked or known[i, j] != 0) and of_label[j] > ZERO:
            n_endless += z[j] == -np.inf
            top = max(top, -np.float64(z[j])) if z[j] != -np.inf else top
    below = np.exp(-top)
    for j in listed:
        if not masked or known[i, j] != 0:
            below += of_label[j] * y[j] * np.exp(-np.float64(z[j]) - top) if z[j] != -np.inf else 0.0
    if G.shape[0] > 0:
        for j in listed:
            if not masked or known[i, j] != 0:
                part = of_label[j] * y[j] * np.exp(-np.float64(z[j]) - top) / below if z[j] != -np.inf else 0.0
                if n_endless > 0:
                    part = 1 / n_endless if z[j] == -np.inf and of_label[j] > ZERO else 0.0
                G[i, j] -= _F(weight * part)
    return top + np.log(below) if n_endless == 0 else np.inf


@kernel
def value_range(Z, known, lows, highs, team, start, stop):  # pragma: no cover - compiled
    """Write the least and the largest known logit of each row; NaN is none."""
    spread(_value_range, (Z, known, lows, highs), team, start, stop)


@loop
def _value_range(Z, known, lows, highs, start, stop):  # pragma: no cover - compiled
    low, high = np.empty(_LANES, _F), np.empty(_LANES, _F)
    for i in range(start, stop):
        low[:], high[:] = _F(np.inf), _LOWEST
        if known.shape[0] == 0:
            _range_of_all(Z[i], low, high)
        else:
            _range_of_known(Z[i], known[i], low, high)
        lows[i], highs[i] = low.min(), high.max()


@loop
def _range_of_all(z, low, high):  # pragma: no cover - compiled
    whole = z.shape[0] - z.shape[0] % _LANES
    for a in range(0, whole, _LANES):
        for k in range(_LANES):
            v = z[a + k]
            low[k] = v if v < low[k] else low[k]
            high[k] = v if v > high[k] else high[k]
    for j in range(whole, z.shape[0]):
        low[0], high[0] = z[j] if z[j] < low[0] else low[0], z[j] if z[j] > high[0] else high[0]


@loop
def _range_of_known(z, known, low, high):  # pragma: no cover - compiled
    whole = z.shape[0] - z.shape[0] % _LANES
    for a in range(0, whole, _LANES):
        for k in range(_LANES):
            v = z[a + k]
            is_known = known[a + k] != 0
            low[k] = v if is_known & (v < low[k]) else low[k]
            high[k] = v if is_known & (v > high[k]) else high[k]
    for j in range(whole, z.shape[0]):
        if known[j] != 0:
            low[0], high[0] = z[j] if z[j] < low[0] else low[0], z[j] if z[j] > high[0] else high[0]


@kernel
def list_ones(Y, ends, columns):  # pragma: no cover - compiled
    """Write where each row of 0/1 targets has its ones; return how many there are, −1 if there are other values.

    Only counts where there is no room for all.
    """
    for i in range(Y.shape[0]):
        y = Y[i]
        ones, others = np.int32(0), np.int32(0)
        for j in range(y.shape[0]):
            ones += np.int32(y[j] == ONE)
            others += np.int32(y[j] != ONE) * np.int32(y[j] != ZERO)
        if others > 0:
            return -1
        ends[i + 1] = ends[i] + ones
        if ends[i + 1] <= columns.shape[0] and ones > 0:
            p = ends[i]
            for j in range(y.shape[0]):
                if y[j] == ONE:
                    columns[p] = j
                    p += 1
    return ends[Y.shape[0]]


@kernel
def two_way_sums(
    Z, ends, columns, known, top, rate, of_label, of_example, by_row, by_label, E, team, start, stop
):  # pragma: no cover - compiled
    """Write e = exp(rate · (z − top)) of negatives to E, and their sums, for blocks start to stop of TILE labels.

    by_row[block, i] is Σ_j of_label_j e_ij over the block, by_label[j] is Σ_i of_example_i e_ij. E has no rows where
    no gradient is wanted. Positives and unknown labels have e = 0.
    """
    given = Z, ends, columns, known, top, rate, of_label, of_example, by_row, by_label, E
    spread(_two_way, given, team, start, stop)


@loop
def _two_way(
    Z, ends, columns, known, top, rate, of_label, of_example, by_row, by_label, E, start, stop
):  # pragma: no cover - compiled
    scratch, weighted, sums = np.empty(TILE, _F), np.empty(TILE, _F), np.zeros(TILE, _F)
    for block in range(start, stop):
        a, b = block * TILE, min(block * TILE + TILE, Z.shape[1])
        by_label[a:b] = 0
        for i in range(Z.shape[0]):
            e = E[i, a:b] if E.shape[0] > 0 else scratch[: b - a]
            _one_tile(Z[i, a:b], top, rate, e)
            if known.shape[0] > 0:
                k = known[i, a:b]
                for j in range(b - a):
                    e[j] = e[j] if k[j] != 0 else ZERO
            for p in range(ends[i], ends[i + 1]):
                if a <= columns[p] < b:
                    e[columns[p] - a] = ZERO
            _add_tile(e, of_label[a:b], of_example[i], weighted, sums)
            by_row[block, i] = total(weighted[: b - a])
            if i % _ROWS == _ROWS - 1 or i == Z.shape[0] - 1:
                for j in range(b - a):
                    by_label[a + j] += sums[j]
                sums[:] = ZERO


@loop
def _one_tile(z, top, rate, e):  # pragma: no cover - compiled
    for j in range(z.shape[0]):
        x = rate * (z[j] - top)
        e[j] = exp_of_negative(ZERO if x > ZERO else x)


@loop
def _add_tile(e, of_label, of_example, weighted, sums):  # pragma: no cover - compiled
    for j in range(e.shape[0]):
        weighted[j] = of_label[j] * e[j]
        sums[j] += of_example * e[j]


@kernel
def scale_slopes(E, of_label, of_example, by_row, by_label, team, start, stop):  # pragma: no cover - compiled
    """Multiply e_ij by of_label_j · by_row_i + of_example_i · by_label_j, for rows start to stop."""
    spread(_scale, (E, of_label, of_example, by_row, by_label), team, start, stop)


@loop
def _scale(E, of_label, of_example, by_row, by_label, start, stop):  # pragma: no cover - compiled
    for i in range(start, stop):
        e, a, v = E[i], by_row[i], of_example[i]
        for j in range(e.shape[0]):
            e[j] *= of_label[j] * a + v * by_label[j]
