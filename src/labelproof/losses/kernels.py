"""Compiled loops over float32 logits: sums of losses that act on each logit alone, with their gradients.

Each loop reads the logits once and writes at most the gradient, so nothing else of their size is stored. Targets come
as dense rows, or as the columns of each row's ones (``Y`` is then empty), of which at most one row is ever written out.
What a loop keeps for itself lies in one array, at fixed distances: of several arrays the compiler would have to ask
whether they overlap, and for more than a few it gives up and takes one number at a time.
"""

import numpy as np

from labelproof.foundation.compilation import compiled_part
from labelproof.losses.by_address import matrices
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

__all__ = ["pointwise_rows", "whole_power"]

_F = np.float32
_P, _Q, _TAIL, _LOSS, _RATE = (part * TILE for part in range(5))  # where what is kept for a tile
_FAR = _F(104)  # a logit beyond it has a probability that rounds to 0 or 1


@kernel
def pointwise_rows(
    places, ends, columns, rates, positive, negative, weight, sums, team, start, stop
):  # pragma: no cover - compiled
    """Write weight_i times the sum of the losses of row i into sums, and its gradient into row i of G.

    `pointwise.Curve.rates` says what rates are. G has no place where no gradient is wanted, and the mask none where all
    labels are known. A row with a dense target that is not between 0 and 1 has the sum NaN.
    """
    Z, Y, known, G = matrices(places)
    given = Z, Y, ends, columns, known, rates, positive, negative, weight, sums, G
    spread(_pointwise, given, team, start, stop)


@loop
def _pointwise(
    Z, Y, ends, columns, known, rates, positive, negative, weight, sums, G, start, stop
):  # pragma: no cover - compiled
    scale, shift, clip = _F(rates[0]), _F(rates[1]), _F(rates[4])
    slope_pos, slope_neg = _F(rates[2] * rates[5]), _F(rates[3] * rates[5])
    n_labels, masked = Z.shape[1], known.shape[0] > 0
    row, work = np.zeros(0 if Y.shape[0] > 0 else n_labels, np.float32), np.empty(5 * TILE, np.float32)
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
            _sigmoids(z, work)
            _as_negatives(z, clip, rates[3], slope_neg, work)
            _mix_with_positives(z, y[a:b], scale, shift, rates[2], slope_pos, positive[a:b], negative[a:b], work)
            if masked:
                _forget_unknown(known[i, a:b], work)
            sum_of_row += total(work[_LOSS : _LOSS + b - a])
            if G.shape[0] > 0:
                g, w = G[i, a:b], weight[i]
                for j in range(b - a):
                    g[j] = w * work[_RATE + j]
        sums[i] = weight[i] * sum_of_row
        clear_row(i, Y, ends, columns, row)


@loop
def _forget_unknown(known, work):  # pragma: no cover - compiled
    for j in range(known.shape[0]):
        work[_LOSS + j] = work[_LOSS + j] if known[j] != 0 else ZERO
        work[_RATE + j] = work[_RATE + j] if known[j] != 0 else ZERO


@loop
def _sigmoids(z, work):  # pragma: no cover - compiled
    """Write p = sigmoid(z), q = sigmoid(-z) and log(1 + exp(-|z|)), which makes both -log(p) and -log(q)."""
    for j in range(z.shape[0]):
        e = exp_of_negative(-abs(z[j]))
        large = ONE / (ONE + e)
        small = e * large
        work[_P + j] = small if z[j] < ZERO else large
        work[_Q + j] = large if z[j] < ZERO else small
        work[_TAIL + j] = _F(2) * artanh(e / (_F(2) + e))


@loop
def _as_negatives(z, clip, power, slope, work):  # pragma: no cover - compiled
    """Write p'^power · -log(1 - p') and its slope; `slope` is the power, or 0 if the factor counts as a constant.

    In a slope -log(1 - p) is multiplied by 1 - p, which is 0 where the logit is far off: it may be limited there, and
    has to be where it is infinite.
    """
    one, two, four = power & 1, power & 2, power & 4
    if clip > ZERO:
        for j in range(z.shape[0]):
            p, q = work[_P + j], work[_Q + j]
            over, under = p - clip if p > clip else ONE, min(q + clip, ONE)
            cost, factor = -log_of_normal(under), whole_power(over, one, two, four)
            rate = p * q * (over + slope * under * cost) / (over * under)
            work[_LOSS + j] = factor * cost if p > clip else ZERO
            work[_RATE + j] = factor * rate if p > clip else ZERO
    else:
        for j in range(z.shape[0]):
            p, q = work[_P + j], work[_Q + j]
            above, factor = max(z[j], ZERO), whole_power(p, one, two, four)
            limited = work[_TAIL + j] + min(above, _FAR)
            work[_LOSS + j] = factor * (work[_TAIL + j] + above)
            work[_RATE + j] = factor * (p + slope * q * limited)


@loop
def _mix_with_positives(z, y, scale, shift, power, slope, positive, negative, work):  # pragma: no cover - compiled
    """Replace losses and slopes of negatives by those for the targets; an infinite loss of weight 0 is none."""
    one, two, four = power & 1, power & 2, power & 4
    for j in range(z.shape[0]):
        p, q = work[_P + j], work[_Q + j]
        below, factor = max(-z[j], ZERO), whole_power(q, one, two, four)
        limited = work[_TAIL + j] + min(below, _FAR)
        target = scale * y[j] + shift
        a, b = positive[j] * target, negative[j] * (ONE - target)
        cost = limited if a == ZERO else work[_TAIL + j] + below
        of_negative = ZERO if b == ZERO else b * work[_LOSS + j]
        work[_LOSS + j] = of_negative + a * factor * cost
        work[_RATE + j] = b * work[_RATE + j] - a * factor * (q + slope * p * limited)


@compiled_part(inline="always")
def whole_power(x, one, two, four):  # pragma: no cover - compiled
    """Return x to the power of a whole number from 0 to 7, given by its binary digits."""
    x2 = x * x
    power = x if one else ONE
    power = power * x2 if two else power
    return power * (x2 * x2) if four else power
