"""Compiled loops over float32 logits: smooth counts, and sums of losses that act on each logit alone, with gradients.

Each loop reads the logits once and writes at most the gradient, so nothing else of their size is stored. Targets come
as dense rows, or as the columns of each row's ones (``Y`` is then empty), of which at most one row is ever written out.
exp and log are our own: the compiler can work on eight of them at once. Both are right to about 2e-7 of their value.
"""

import numpy as np
from numba import njit

__all__ = ["count_gradient", "count_sums", "pointwise_gradient", "pointwise_sums"]

_F = np.float32
_ONE, _ZERO = _F(1), _F(0)
_LOG2_E = _F(1.4426950408889634)
_LN2_HIGH, _LN2_LOW = _F(0.693359375), _F(-2.12194440e-4)  # their sum is ln 2; the first has few digits
_SMALLEST = _F(-87)  # exp of it is still a normal number
_MANTISSA, _HALF_BITS = np.int32(0x007FFFFF), np.int32(0x3F000000)
_loop = njit(cache=True, nogil=True, error_model="numpy", fastmath={"contract"})


@njit(inline="always")
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


@njit(inline="always")
def _artanh(s):  # pragma: no cover - compiled
    """Return artanh(s) for |s| ≤ ⅓."""
    a = s * s
    p = _F(0.14012245)
    p = p * a + _F(0.13999567)
    p = p * a + _F(0.2001085)
    p = p * a + _F(0.33333207)
    return s + s * a * p


@njit(inline="always")
def _log1p(x):  # pragma: no cover - compiled
    """Return log(1 + x) for 0 ≤ x ≤ 1."""
    return _F(2) * _artanh(x / (_F(2) + x))


@njit(inline="always")
def _log(x):  # pragma: no cover - compiled
    """Return log(x) for a normal x > 0."""
    bits = _F(x).view(np.int32)
    m = np.int32((bits & _MANTISSA) | _HALF_BITS).view(np.float32)  # from ½ to 1
    n = _F(np.int32(bits >> np.int32(23)) - np.int32(126))
    small = m < _F(0.70710678)
    n = n - _ONE if small else n
    m = m + m if small else m
    return n * _LN2_HIGH + (n * _LN2_LOW + _F(2) * _artanh((m - _ONE) / (m + _ONE)))


@njit(inline="always")
def _sigmoid(z):  # pragma: no cover - compiled
    e = _exp(-abs(z))
    t = _ONE / (_ONE + e)
    return e * t if z < _ZERO else t


@njit(inline="always")
def _slope(z):  # pragma: no cover - compiled
    """Return the derivative of the sigmoid, which keeps its digits at both ends."""
    e = _exp(-abs(z))
    t = _ONE / (_ONE + e)
    return e * t * t


@_loop
def count_sums(start, stop, Z, Y, ends, columns, weight, sums):  # pragma: no cover - compiled
    """Add Σ_i w_i s_ij y_ij, Σ_i w_i s_ij and Σ_i w_i y_ij over rows start to stop to the rows of sums."""
    hits, predicted, positives = sums[0], sums[1], sums[2]
    for i in range(start, stop):
        z, w = Z[i], weight[i]
        if Y.shape[0] > 0:
            y = Y[i]
            for j in range(z.shape[0]):
                s = w * _sigmoid(z[j])
                predicted[j] += s
                hits[j] += s * y[j]
                positives[j] += w * y[j]
        else:
            for j in range(z.shape[0]):
                predicted[j] += w * _sigmoid(z[j])
            for p in range(ends[i], ends[i + 1]):
                hits[columns[p]] += w * _sigmoid(z[columns[p]])
                positives[columns[p]] += w


@_loop
def count_gradient(start, stop, Z, Y, ends, columns, weight, by_hits, by_predicted, G):  # pragma: no cover - compiled
    """Write ∂/∂z of Σ_j (by_hits_j hits_j + by_predicted_j predicted_j) into rows start to stop of G."""
    for i in range(start, stop):
        z, w, g = Z[i], weight[i], G[i]
        if Y.shape[0] > 0:
            y = Y[i]
            for j in range(z.shape[0]):
                g[j] = w * _slope(z[j]) * (by_hits[j] * y[j] + by_predicted[j])
        else:
            for j in range(z.shape[0]):
                g[j] = w * _slope(z[j]) * by_predicted[j]
            for p in range(ends[i], ends[i + 1]):
                j = columns[p]
                g[j] = w * _slope(z[j]) * (by_hits[j] + by_predicted[j])


@njit(inline="always")
def _target_row(i, Y, ends, columns, row):  # pragma: no cover - compiled
    """Return row i of dense targets, or write the ones of sparse targets into a row of zeros and return that."""
    if Y.shape[0] > 0:
        return Y[i]
    for p in range(ends[i], ends[i + 1]):
        row[columns[p]] = _ONE
    return row


@njit(inline="always")
def _clear(i, Y, ends, columns, row):  # pragma: no cover - compiled
    if Y.shape[0] == 0:
        for p in range(ends[i], ends[i + 1]):
            row[columns[p]] = _ZERO


@njit(inline="always")
def _power(x, one, two, four):  # pragma: no cover - compiled
    """Return x to the power of a whole number from 0 to 7, given by its binary digits."""
    x2 = x * x
    power = x if one else _ONE
    power = power * x2 if two else power
    return power * (x2 * x2) if four else power


@njit(inline="always")
def _sigmoids(z, e):  # pragma: no cover - compiled
    """Return sigmoid(z) and sigmoid(-z), given e = exp(-|z|)."""
    t = _ONE / (_ONE + e)
    return (e * t, t) if z < _ZERO else (t, e * t)


@njit(inline="always")
def _softplus(z, e):  # pragma: no cover - compiled
    """Return log(1 + exp(z)) = -log(sigmoid(-z)), given e = exp(-|z|)."""
    return _log1p(e) + max(z, _ZERO)


@njit(cache=True, nogil=True, fastmath={"reassoc", "contract"})
def _total(values):  # pragma: no cover - compiled
    total = _ZERO
    for j in range(values.shape[0]):
        total += values[j]
    return total


@_loop
def _exponentials(z, e):  # pragma: no cover - compiled
    for j in range(z.shape[0]):
        e[j] = _exp(-abs(z[j]))


@_loop
def _negative_costs(z, e, clip, costs):  # pragma: no cover - compiled
    """Write -log(1 - p') into costs, p' = max(sigmoid(z) - clip, 0)."""
    if clip > _ZERO:
        for j in range(z.shape[0]):
            _, q = _sigmoids(z[j], e[j])
            costs[j] = -_log(min(q + clip, _ONE))
    else:
        for j in range(z.shape[0]):
            costs[j] = _softplus(z[j], e[j])


@_loop
def pointwise_sums(start, stop, Z, Y, ends, columns, rates, positive, negative, sums):  # pragma: no cover - compiled
    """Write Σ_j of each row's losses into sums; `pointwise.Curve.rates` says what rates are."""
    scale, shift, clip = _F(rates[0]), _F(rates[1]), _F(rates[4])
    pos1, pos2, pos4 = rates[2] & 1, rates[2] & 2, rates[2] & 4
    neg1, neg2, neg4 = rates[3] & 1, rates[3] & 2, rates[3] & 4
    row, e, costs = np.zeros(Z.shape[1], np.float32), np.empty(Z.shape[1], np.float32), np.empty(Z.shape[1], np.float32)
    for i in range(start, stop):
        y, z = _target_row(i, Y, ends, columns, row), Z[i]
        _exponentials(z, e)
        _negative_costs(z, e, clip, costs)
        for j in range(z.shape[0]):
            p, q = _sigmoids(z[j], e[j])
            target = scale * y[j] + shift
            loss_pos = _power(q, pos1, pos2, pos4) * _softplus(-z[j], e[j])
            loss_neg = _power(max(p - clip, _ZERO), neg1, neg2, neg4) * costs[j]
            costs[j] = positive[j] * target * loss_pos + negative[j] * (_ONE - target) * loss_neg
        sums[i] = _total(costs)
        _clear(i, Y, ends, columns, row)


@_loop
def _negative_slopes(z, e, clip, power, slope, costs):  # pragma: no cover - compiled
    """Replace -log(1 - p') in costs by the slope of the negative part; slope is its exponent, or 0 for a constant."""
    one, two, four = power & 1, power & 2, power & 4
    if clip > _ZERO:
        for j in range(z.shape[0]):
            p, q = _sigmoids(z[j], e[j])
            over, under = p - clip if p > clip else _ONE, min(q + clip, _ONE)
            rate = p * q * (over + slope * under * costs[j]) / (over * under)
            costs[j] = _power(over, one, two, four) * rate if p > clip else _ZERO
    else:
        for j in range(z.shape[0]):
            p, q = _sigmoids(z[j], e[j])
            costs[j] = _power(p, one, two, four) * (p + slope * q * costs[j])


@_loop
def pointwise_gradient(
    start, stop, Z, Y, ends, columns, rates, positive, negative, weight, G
):  # pragma: no cover - compiled
    """Write weight_i ∂/∂z of each loss into rows start to stop of G."""
    scale, shift, clip = _F(rates[0]), _F(rates[1]), _F(rates[4])
    pos1, pos2, pos4 = rates[2] & 1, rates[2] & 2, rates[2] & 4
    slope_pos, slope_neg = _F(rates[2] * rates[5]), _F(rates[3] * rates[5])
    row, e, costs = np.zeros(Z.shape[1], np.float32), np.empty(Z.shape[1], np.float32), np.empty(Z.shape[1], np.float32)
    for i in range(start, stop):
        y, w, z, g = _target_row(i, Y, ends, columns, row), weight[i], Z[i], G[i]
        _exponentials(z, e)
        _negative_costs(z, e, clip, costs)
        _negative_slopes(z, e, clip, rates[3], slope_neg, costs)
        for j in range(z.shape[0]):
            p, q = _sigmoids(z[j], e[j])
            target = scale * y[j] + shift
            slope = -_power(q, pos1, pos2, pos4) * (q + slope_pos * p * _softplus(-z[j], e[j]))
            g[j] = w * (positive[j] * target * slope + negative[j] * (_ONE - target) * costs[j])
        _clear(i, Y, ends, columns, row)
