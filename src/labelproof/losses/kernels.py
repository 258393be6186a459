"""Compiled loops over float32 logits: smooth counts, and sums of losses that act on each logit alone, with gradients.

Each loop reads the logits once and writes at most the gradient, so nothing else of their size is stored. Targets come
as dense rows, or as the columns of each row's ones (``Y`` is then empty), of which at most one row is ever written out.
exp and log are our own: the compiler can work on eight of them at once. Both are right to about 2e-7 of their value.
What a loop keeps for itself lies in one array, at fixed distances: of several arrays the compiler would have to ask
whether they overlap, and for more than a few it gives up and takes one number at a time.
"""

import numpy as np

from labelproof.foundation.compilation import compiled, compiled_part
from labelproof.parallel.team_loops import spread

__all__ = ["count_gradient", "count_sums", "pointwise_rows"]

_F = np.float32
_ONE, _ZERO = _F(1), _F(0)
_LOG2_E = _F(1.4426950408889634)
_LN2_HIGH, _LN2_LOW = _F(0.693359375), _F(-2.12194440e-4)  # their sum is ln 2; the first has few digits
_SMALLEST = _F(-87)  # exp of it is still a normal number
_MANTISSA, _HALF_BITS = np.int32(0x007FFFFF), np.int32(0x3F000000)
_TILE = 512  # logits of a row that are worked on at once: all that belongs to them stays near the processor
_COLUMNS = 4096  # labels that are counted at once
_ROWS = 256  # sums over more rows than this are not left to float32
_kernel = compiled(error_model="numpy", fastmath={"contract"})
_loop = compiled_part(error_model="numpy", fastmath={"contract"})


@compiled_part(inline="always")
def _exp(x):  # pragma: no cover - compiled
    """Return exp(x) for x ≤ 0, which never falls below exp(-87); NaN stays NaN."""
    x = _SMALLEST if x < _SMALLEST else x
    n = np.floor(x * _LOG2_E + _F(0.5))
    r = x - n * _LN2_HIGH
    r = r - n * _LN2_LOW
    p = _F(1.9875691e-4)
    p = p * r + _F(1.3981999e-3)
    p = p * r + _F(8.3334519e-3)
    p = p * r + _F(4.1665796e-2)
    p = p * r + _F(1.6666665e-1)
    p = p * r + _F(0.5)
    p = p * r * r + r + _ONE
    return p * np.int32(np.int32(n + _F(127)) << np.int32(23)).view(np.float32)


@compiled_part(inline="always")
def _artanh(s):  # pragma: no cover - compiled
    """Return artanh(s) for |s| ≤ ⅓."""
    a = s * s
    p = _F(0.14012245)
    p = p * a + _F(0.13999567)
    p = p * a + _F(0.2001085)
    p = p * a + _F(0.33333207)
    return s + s * a * p


@compiled_part(inline="always")
def _log(x):  # pragma: no cover - compiled
    """Return log(x) for a normal x > 0."""
    bits = _F(x).view(np.int32)
    m = np.int32((bits & _MANTISSA) | _HALF_BITS).view(np.float32)  # from ½ to 1
    n = _F(np.int32(bits >> np.int32(23)) - np.int32(126))
    small = m < _F(0.70710678)
    n = n - _ONE if small else n
    m = m + m if small else m
    return n * _LN2_HIGH + (n * _LN2_LOW + _F(2) * _artanh((m - _ONE) / (m + _ONE)))


@compiled_part(inline="always")
def _sigmoid_and_slope(z):  # pragma: no cover - compiled
    """Return the sigmoid and its derivative, which keeps its digits at both ends."""
    e = _exp(-abs(z))
    t = _ONE / (_ONE + e)
    return e * t if z < _ZERO else t, e * t * t


@_kernel
def count_sums(Z, Y, ends, columns, weight, beta, eta, sums, slopes, team, start, stop):  # pragma: no cover - compiled
    """Write Σ_i w_i s_ij y_ij, Σ_i w_i s_ij and Σ_i w_i y_ij of the columns start to stop to the rows of sums.

    The scores are s_ij = sigmoid(beta_j (z_ij + eta_j)); w_i times their derivatives go to slopes, unless that has no
    rows.
    """
    spread(_count_columns, (Z, Y, ends, columns, weight, beta, eta, sums, slopes), team, start, stop)


@_kernel
def count_gradient(Y, ends, columns, by_hits, by_predicted, G, team, start, stop):  # pragma: no cover - compiled
    """Make of the slopes in rows start to stop of G the ∂/∂z of Σ_j (by_hits_j hits_j + by_predicted_j predicted_j)."""
    spread(_count_gradient, (Y, ends, columns, by_hits, by_predicted, G), team, start, stop)


@_kernel
def pointwise_rows(
    Z, Y, ends, columns, rates, positive, negative, weight, sums, G, faults, team, start, stop
):  # pragma: no cover - compiled
    """Write weight_i times the sum of the losses of row i into sums, and its gradient into row i of G.

    `pointwise.Curve.rates` says what rates are. G has the shape (0, n_labels) where no gradient is wanted. The first of
    `faults` becomes 1 if a dense target is not between 0 and 1.
    """
    spread(_pointwise, (Z, Y, ends, columns, rates, positive, negative, weight, sums, G, faults), team, start, stop)


_HITS, _PREDICTED, _POSITIVES, _BETA, _ETA = (part * _COLUMNS for part in range(5))  # where what is kept for labels


@_loop
def _count_columns(Z, Y, ends, columns, weight, beta, eta, sums, slopes, start, stop):  # pragma: no cover - compiled
    work, unwanted = np.empty(5 * _COLUMNS, np.float32), np.empty(_COLUMNS, np.float32)
    sums[:, start:stop] = 0
    for a in range(start, stop, _COLUMNS):
        b = min(a + _COLUMNS, stop)
        for j in range(b - a):  # an assignment of slices would take as long to compile as all of this
            work[_BETA + j] = beta[a + j]
            work[_ETA + j] = eta[a + j]
        for first in range(0, Z.shape[0], _ROWS):
            work[:_BETA] = 0
            for i in range(first, min(first + _ROWS, Z.shape[0])):
                z, w = Z[i, a:b], weight[i]
                out = slopes[i, a:b] if slopes.shape[0] > 0 else unwanted[: b - a]
                if Y.shape[0] > 0:
                    _count_dense(z, Y[i, a:b], w, work, out)
                else:
                    _count_all(z, w, work, out)
                    _count_listed(z, columns[ends[i] : ends[i + 1]], a, w, work)
            for part in range(3):
                for j in range(b - a):
                    sums[part, a + j] += work[part * _COLUMNS + j]


@_loop
def _count_dense(z, y, w, work, slopes):  # pragma: no cover - compiled
    for j in range(z.shape[0]):
        x = work[_BETA + j] * (z[j] + work[_ETA + j])
        s, slope = _sigmoid_and_slope(x)
        work[_HITS + j] += w * s * y[j]
        work[_PREDICTED + j] += w * s
        work[_POSITIVES + j] += w * y[j]
        slopes[j] = w * work[_BETA + j] * slope


@_loop
def _count_all(z, w, work, slopes):  # pragma: no cover - compiled
    for j in range(z.shape[0]):
        x = work[_BETA + j] * (z[j] + work[_ETA + j])
        s, slope = _sigmoid_and_slope(x)
        work[_PREDICTED + j] += w * s
        slopes[j] = w * work[_BETA + j] * slope


@_loop
def _count_listed(z, listed, first, w, work):  # pragma: no cover - compiled
    for column in listed:
        j = column - first
        if 0 <= j < z.shape[0]:
            s, _ = _sigmoid_and_slope(work[_BETA + j] * (z[j] + work[_ETA + j]))
            work[_HITS + j] += w * s
            work[_POSITIVES + j] += w


@_loop
def _count_gradient(Y, ends, columns, by_hits, by_predicted, G, start, stop):  # pragma: no cover - compiled
    for i in range(start, stop):
        g = G[i]
        if Y.shape[0] > 0:
            y = Y[i]
            for j in range(g.shape[0]):
                g[j] *= by_hits[j] * y[j] + by_predicted[j]
            continue
        listed = columns[ends[i] : ends[i + 1]]
        of_hits = np.empty(listed.shape[0], np.float32)
        for p in range(listed.shape[0]):
            of_hits[p] = by_hits[listed[p]] * g[listed[p]]
        for j in range(g.shape[0]):
            g[j] *= by_predicted[j]
        for p in range(listed.shape[0]):
            g[listed[p]] += of_hits[p]


@_loop
def _pointwise(
    Z, Y, ends, columns, rates, positive, negative, weight, sums, G, faults, start, stop
):  # pragma: no cover - compiled
    scale, shift, clip = _F(rates[0]), _F(rates[1]), _F(rates[4])
    slope_pos, slope_neg = _F(rates[2] * rates[5]), _F(rates[3] * rates[5])
    n_labels = Z.shape[1]
    row, work = np.zeros(0 if Y.shape[0] > 0 else n_labels, np.float32), np.empty(5 * _TILE, np.float32)
    for i in range(start, stop):
        y = _target_row(i, Y, ends, columns, row)
        total = 0.0
        for a in range(0, n_labels, _TILE):
            b = min(a + _TILE, n_labels)
            z = Z[i, a:b]
            if Y.shape[0] > 0 and _out_of_range(y[a:b]) > 0:
                faults[0] = 1
            _sigmoids(z, work)
            _as_negatives(z, clip, rates[3], slope_neg, work)
            _mix_with_positives(z, y[a:b], scale, shift, rates[2], slope_pos, positive[a:b], negative[a:b], work)
            total += _total(work[_LOSS : _LOSS + b - a])
            if G.shape[0] > 0:
                g, w = G[i, a:b], weight[i]
                for j in range(b - a):
                    g[j] = w * work[_RATE + j]
        sums[i] = weight[i] * total
        _clear(i, Y, ends, columns, row)


_P, _Q, _TAIL, _LOSS, _RATE = 0, _TILE, 2 * _TILE, 3 * _TILE, 4 * _TILE  # where what is kept for a tile


@_loop
def _out_of_range(y):  # pragma: no cover - compiled
    """Return how many numbers are not between 0 and 1; NaN is one of them."""
    count = np.int32(0)
    for j in range(y.shape[0]):
        count += np.int32(1) - np.int32((y[j] >= _ZERO) & (y[j] <= _ONE))
    return count


@_loop
def _sigmoids(z, work):  # pragma: no cover - compiled
    """Write p = sigmoid(z), q = sigmoid(-z) and log(1 + exp(-|z|)), which makes both -log(p) and -log(q)."""
    for j in range(z.shape[0]):
        e = _exp(-abs(z[j]))
        large = _ONE / (_ONE + e)
        small = e * large
        work[_P + j] = small if z[j] < _ZERO else large
        work[_Q + j] = large if z[j] < _ZERO else small
        work[_TAIL + j] = _F(2) * _artanh(e / (_F(2) + e))


@_loop
def _as_negatives(z, clip, power, slope, work):  # pragma: no cover - compiled
    """Write p'^power · -log(1 - p') and its slope; `slope` is the power, or 0 if the factor counts as a constant."""
    one, two, four = power & 1, power & 2, power & 4
    if clip > _ZERO:
        for j in range(z.shape[0]):
            p, q = work[_P + j], work[_Q + j]
            over, under = p - clip if p > clip else _ONE, min(q + clip, _ONE)
            cost, factor = -_log(under), _power(over, one, two, four)
            rate = p * q * (over + slope * under * cost) / (over * under)
            work[_LOSS + j] = factor * cost if p > clip else _ZERO
            work[_RATE + j] = factor * rate if p > clip else _ZERO
    else:
        for j in range(z.shape[0]):
            p, q = work[_P + j], work[_Q + j]
            cost, factor = work[_TAIL + j] + max(z[j], _ZERO), _power(p, one, two, four)
            work[_LOSS + j] = factor * cost
            work[_RATE + j] = factor * (p + slope * q * cost)


@_loop
def _mix_with_positives(z, y, scale, shift, power, slope, positive, negative, work):  # pragma: no cover - compiled
    """Replace losses and slopes of negatives by those for the targets."""
    one, two, four = power & 1, power & 2, power & 4
    for j in range(z.shape[0]):
        p, q = work[_P + j], work[_Q + j]
        cost, factor = work[_TAIL + j] + max(-z[j], _ZERO), _power(q, one, two, four)
        target = scale * y[j] + shift
        a, b = positive[j] * target, negative[j] * (_ONE - target)
        work[_LOSS + j] = b * work[_LOSS + j] + a * factor * cost
        work[_RATE + j] = b * work[_RATE + j] - a * factor * (q + slope * p * cost)


@compiled_part(fastmath={"reassoc", "contract"})
def _total(values):  # pragma: no cover - compiled
    total = _ZERO
    for j in range(values.shape[0]):
        total += values[j]
    return total


@compiled_part(inline="always")
def _target_row(i, Y, ends, columns, row):  # pragma: no cover - compiled
    """Return row i of dense targets, or write the ones of sparse targets into a row of zeros and return that."""
    if Y.shape[0] > 0:
        return Y[i]
    for p in range(ends[i], ends[i + 1]):
        row[columns[p]] = _ONE
    return row


@compiled_part(inline="always")
def _clear(i, Y, ends, columns, row):  # pragma: no cover - compiled
    if Y.shape[0] == 0:
        for p in range(ends[i], ends[i + 1]):
            row[columns[p]] = _ZERO


@compiled_part(inline="always")
def _power(x, one, two, four):  # pragma: no cover - compiled
    """Return x to the power of a whole number from 0 to 7, given by its binary digits."""
    x2 = x * x
    power = x if one else _ONE
    power = power * x2 if two else power
    return power * (x2 * x2) if four else power
