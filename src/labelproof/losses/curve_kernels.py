# mypy: disallow-untyped-decorators=False, disallow-untyped-defs=False, disallow-untyped-calls=False
"""Compiled loops over float32 logits for the losses of `curves`: Hill, self-paced correction, asymmetric polynomial.

Arrays are those of `kernels`. Each tile is taken once as positives and once as negatives, and the two are mixed by the
targets. There are two short cuts: without a positive target the tile is not taken as positives, and for self-paced
correction of targets that are 0 or 1 each logit is taken once. A logit that is far off has a probability of exactly 0
or 1, by which its limited loss is multiplied in slopes.
"""

import numpy as np

from labelproof.foundation.compilation import compiled_part
from labelproof.losses.by_address import matrices
from labelproof.losses.kernels import whole_power
from labelproof.losses.sigmoids import (
    ONE,
    TILE,
    ZERO,
    artanh,
    clear_row,
    exp_of_negative,
    fill_unknown,
    kernel,
    log_of_normal,
    loop,
    target_row,
    total,
)
from labelproof.losses.target_kernels import count_out_of_range
from labelproof.parallel.team_loops import spread

__all__ = ["HILL", "POLYNOMIAL", "SELF_PACED", "curve_rows"]

HILL, SELF_PACED, POLYNOMIAL = 0, 1, 2
_F = np.float32
_NEGATIVE, _FALL, _POSITIVE, _RISE = (part * TILE for part in range(4))  # losses and slopes as negatives, as positives
_FAR = _F(104)  # a logit beyond it has a probability that rounds to 0 or 1


@kernel
def curve_rows(
    places, ends, columns, rates, positive, negative, weight, sums, team, start, stop
):  # pragma: no cover - compiled
    """Write weight_i times the sum of the losses of row i into sums, and its gradient into row i of G.

    rates are (kind, both exponents, 1 where factors are differentiated, three numbers): margin, λ and 0 for HILL;
    margin, the logit of τ and 0 for SELF_PACED; for POLYNOMIAL the clip and what is added to the coefficients of 1 − p
    and (1 − p)², and of p' as the last. A row with a dense target that is not between 0 and 1 has the sum NaN.
    """
    Z, Y, known, G = matrices(places)
    given = Z, Y, ends, columns, known, rates, positive, negative, weight, sums, G
    spread(_curve, given, team, start, stop)


@loop
def _curve(
    Z, Y, ends, columns, known, rates, positive, negative, weight, sums, G, start, stop
):  # pragma: no cover - compiled
    n_labels, masked = Z.shape[1], known.shape[0] > 0
    corrects = int(rates[0]) == SELF_PACED
    is_paced = corrects and rates[1] == rates[2]
    row, work = np.zeros(0 if Y.shape[0] > 0 else n_labels, np.float32), np.empty(4 * TILE, np.float32)
    filled = np.empty(TILE, np.float32)
    for i in range(start, stop):
        y = target_row(i, Y, ends, columns, row)
        sum_of_row = 0.0
        for a in range(0, n_labels, TILE):
            b = min(a + TILE, n_labels)
            z = Z[i, a:b]
            if Y.shape[0] > 0 and count_out_of_range(y[a:b]) > 0:
                sum_of_row = np.nan
            if masked:
                fill_unknown(z, known[i, a:b], ZERO, filled)
                z = filled[: b - a]
            if is_paced and (Y.shape[0] == 0 or _are_zeros_and_ones(y[a:b])):
                _self_paced(z, y[a:b], rates, positive[a:b], negative[a:b], work)
            else:
                has_positive = total(y[a:b]) > ZERO
                if has_positive or corrects:
                    _positives(z, rates, work)
                _negatives(z, rates, work)
                if has_positive:
                    _mix(y[a:b], positive[a:b], negative[a:b], work)
                else:
                    _weigh(negative[a:b], work)
            if masked:
                _forget(known[i, a:b], work)
            sum_of_row += total(work[_NEGATIVE : _NEGATIVE + b - a])
            if G.shape[0] > 0:
                g, w = G[i, a:b], weight[i]
                for j in range(b - a):
                    g[j] = w * work[_FALL + j]
        sums[i] = weight[i] * sum_of_row
        clear_row(i, Y, ends, columns, row)


@loop
def _forget(known, work):  # pragma: no cover - compiled
    """Leave neither loss nor slope of unknown labels."""
    for j in range(known.shape[0]):
        work[_NEGATIVE + j] = work[_NEGATIVE + j] if known[j] != 0 else ZERO
        work[_FALL + j] = work[_FALL + j] if known[j] != 0 else ZERO


@loop
def _positives(z, rates, work):  # pragma: no cover - compiled
    power, slope = int(rates[1]), _F(rates[1]) * _F(rates[3])
    if int(rates[0]) == POLYNOMIAL:
        _polynomial_positives(z, power, slope, _F(rates[5]), _F(rates[6]), work)
    else:
        _with_margin(z, _F(rates[4]), power, slope, work)


@loop
def _negatives(z, rates, work):  # pragma: no cover - compiled
    """Write losses and slopes of negatives; self-paced correction needs those of positives before."""
    kind, power, slope = int(rates[0]), int(rates[2]), _F(rates[2]) * _F(rates[3])
    if kind == HILL:
        _hill_negatives(z, _F(rates[5]), work)
    elif kind == SELF_PACED:
        _polynomial_negatives(z, power, slope, ZERO, work)
        _correct(z, _F(rates[5]), work)
    elif rates[4] > 0:
        _polynomial_clipped(z, _F(rates[4]), power, slope, _F(rates[7]), work)
    else:
        _polynomial_negatives(z, power, slope, _F(rates[7]), work)


@loop
def _are_zeros_and_ones(y):  # pragma: no cover - compiled
    others = np.int32(0)
    for j in range(y.shape[0]):
        others += np.int32(y[j] != ZERO) * np.int32(y[j] != ONE)
    return others == 0


@loop
def _self_paced(z, y, rates, positive, negative, work):  # pragma: no cover - compiled
    """Write the losses and slopes of 0/1 targets: a positive costs what a negative with the logit margin − z does."""
    power, margin, cut = int(rates[2]), _F(rates[4]), _F(rates[5])
    one, two, four, slope = power & 1, power & 2, power & 4, _F(power) * _F(rates[3])
    for j in range(z.shape[0]):
        as_positive = (y[j] > ZERO) | (z[j] > cut)
        x = margin - z[j] if as_positive else z[j]
        p, q, tail = _sigmoid_parts(x)
        above, factor = max(x, ZERO), whole_power(p, one, two, four)
        weight = positive[j] if y[j] > ZERO else negative[j]
        cost, rate = factor * (tail + above), weight * factor * (p + slope * q * (tail + min(above, _FAR)))
        work[_NEGATIVE + j] = ZERO if (weight == ZERO) & (cost == np.inf) else weight * cost
        work[_FALL + j] = -rate if as_positive else rate


@loop
def _mix(y, positive, negative, work):  # pragma: no cover - compiled
    """Write the losses and slopes for the targets over those of negatives; an infinite loss of weight 0 is none."""
    for j in range(y.shape[0]):
        a, b = positive[j] * y[j], negative[j] * (ONE - y[j])
        of_negative = ZERO if b == ZERO else b * work[_NEGATIVE + j]
        of_positive = ZERO if a == ZERO and work[_POSITIVE + j] == np.inf else a * work[_POSITIVE + j]
        work[_NEGATIVE + j] = of_negative + of_positive
        work[_FALL + j] = b * work[_FALL + j] + a * work[_RISE + j]


@loop
def _weigh(negative, work):  # pragma: no cover - compiled
    """Do the same for targets that are all 0."""
    for j in range(negative.shape[0]):
        b, loss = negative[j], work[_NEGATIVE + j]
        work[_NEGATIVE + j] = ZERO if b == ZERO and loss == np.inf else b * loss
        work[_FALL + j] *= b


@compiled_part(inline="always")
def _sigmoid_parts(z):  # pragma: no cover - compiled
    """Return p = sigmoid(z), 1 − p and log(1 + exp(−|z|))."""
    e = exp_of_negative(-abs(z))
    large = ONE / (ONE + e)
    small = e * large
    p = small if z < ZERO else large
    q = large if z < ZERO else small
    return p, q, _F(2) * artanh(e / (_F(2) + e))


@loop
def _with_margin(z, margin, power, slope, work):  # pragma: no cover - compiled
    """Write (1 − p)^power · −log p for p = sigmoid(z − margin), and its slope."""
    one, two, four = power & 1, power & 2, power & 4
    for j in range(z.shape[0]):
        x = z[j] - margin
        p, q, tail = _sigmoid_parts(x)
        below, factor = max(-x, ZERO), whole_power(q, one, two, four)
        work[_POSITIVE + j] = factor * (tail + below)
        work[_RISE + j] = -factor * (q + slope * p * (tail + min(below, _FAR)))


@loop
def _hill_negatives(z, lam, work):  # pragma: no cover - compiled
    for j in range(z.shape[0]):
        e = exp_of_negative(-abs(z[j]))
        large = ONE / (ONE + e)
        small = e * large
        p, q = small if z[j] < ZERO else large, large if z[j] < ZERO else small
        work[_NEGATIVE + j] = (lam - p) * p * p
        work[_FALL + j] = (_F(2) * lam - _F(3) + _F(3) * q) * p * p * q


@loop
def _correct(z, cut, work):  # pragma: no cover - compiled
    """Take negatives above the cut as positives."""
    for j in range(z.shape[0]):
        work[_NEGATIVE + j] = work[_POSITIVE + j] if z[j] > cut else work[_NEGATIVE + j]
        work[_FALL + j] = work[_RISE + j] if z[j] > cut else work[_FALL + j]


@loop
def _polynomial_positives(z, power, slope, first, second, work):  # pragma: no cover - compiled
    """Write q^power · (−log p + first · q + second · q²) for q = 1 − p, and its slope."""
    one, two, four = power & 1, power & 2, power & 4
    for j in range(z.shape[0]):
        p, q, tail = _sigmoid_parts(z[j])
        below, factor = max(-z[j], ZERO), whole_power(q, one, two, four)
        added = q * (first + second * q)
        limited = tail + min(below, _FAR) + added
        work[_POSITIVE + j] = factor * (tail + below + added)
        work[_RISE + j] = -factor * (q + p * q * (first + _F(2) * second * q) + slope * p * limited)


@loop
def _polynomial_negatives(z, power, slope, first, work):  # pragma: no cover - compiled
    """Write p^power · (−log(1 − p) + first · p) and its slope."""
    one, two, four = power & 1, power & 2, power & 4
    for j in range(z.shape[0]):
        p, q, tail = _sigmoid_parts(z[j])
        above, factor = max(z[j], ZERO), whole_power(p, one, two, four)
        limited = tail + min(above, _FAR) + first * p
        work[_NEGATIVE + j] = factor * (tail + above + first * p)
        work[_FALL + j] = factor * (p + first * p * q + slope * q * limited)


@loop
def _polynomial_clipped(z, clip, power, slope, first, work):  # pragma: no cover - compiled
    """Write the same for p' = p − clip in the place of p, and 0 where that is not positive."""
    one, two, four = power & 1, power & 2, power & 4
    for j in range(z.shape[0]):
        e = exp_of_negative(-abs(z[j]))
        large = ONE / (ONE + e)
        small = e * large
        p, q = small if z[j] < ZERO else large, large if z[j] < ZERO else small
        over, under = p - clip if p > clip else ONE, min(q + clip, ONE)
        cost, factor = first * over - log_of_normal(under), whole_power(over, one, two, four)
        rate = p * q * (ONE / under + first + slope * cost / over)
        work[_NEGATIVE + j] = factor * cost if p > clip else ZERO
        work[_FALL + j] = factor * rate if p > clip else ZERO
