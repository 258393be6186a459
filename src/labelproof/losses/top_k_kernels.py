# mypy: disallow-untyped-decorators=False, disallow-untyped-defs=False, disallow-untyped-calls=False
"""Compiled loop over float32 logits for `soft_top_k_loss`; arrays are those of `kernels`.

The centre of an example's choice is found by Newton's method within a bracket, from log Σ e^z − log k, which is never
below it.
"""

import numpy as np

from labelproof.losses.log_sum_kernels import places_of_positives
from labelproof.losses.sigmoids import (
    TILE,
    ZERO,
    clear_row,
    exp_of_negative,
    kernel,
    loop,
    sigmoid_and_slope,
    target_row,
    total,
)
from labelproof.losses.target_kernels import count_out_of_range
from labelproof.parallel.team_loops import spread

__all__ = ["soft_top_k_rows"]

_F = np.float32
_LANES = 32  # bounds that are taken side by side
_FARTHEST = _F(1e30)  # logits beyond it are taken as this
_STEPS, _CLOSE = 120, 1e-6  # of Newton or bisection, until the chosen labels are k but for this share


@kernel
def soft_top_k_rows(
    Z, Y, ends, columns, known, settings, of_label, weight, sums, G, faults, team, start, stop
):  # pragma: no cover - compiled
    """Write weight_i times the loss of row i into sums, and its gradient into row i of G.

    settings are (k, 1 / temperature, 1 for precision and 0 for recall).
    """
    spread(_rows, (Z, Y, ends, columns, known, settings, of_label, weight, sums, G, faults), team, start, stop)


@loop
def _rows(
    Z, Y, ends, columns, known, settings, of_label, weight, sums, G, faults, start, stop
):  # pragma: no cover - compiled
    k, rate, by_k = settings[0], _F(settings[1]), settings[2] > 0
    n_labels, masked = Z.shape[1], known.shape[0] > 0
    row, x, slopes = np.zeros(0 if Y.shape[0] > 0 else n_labels, _F), np.empty(n_labels, _F), np.empty(n_labels, _F)
    work = np.empty(TILE, _F)
    for i in range(start, stop):
        y = target_row(i, Y, ends, columns, row)
        if Y.shape[0] > 0 and count_out_of_range(y) > 0:
            faults[0] = 1
        n_there = n_labels
        if masked:
            n_there = _scale_known(Z[i], known[i], rate, x)
        else:
            _scale(Z[i], rate, x)
        centre, mass = (_F(-np.inf), 0.0) if n_there <= k else _centre(x, k, slopes, work)  # −∞ chooses all
        found, moved, valued, n_true = 0.0, 0.0, 0.0, 0.0
        for j in columns[ends[i] : ends[i + 1]] if Y.shape[0] == 0 else places_of_positives(y):
            if y[j] > ZERO and not (masked and known[i, j] == 0):
                value = np.float64(of_label[j]) * y[j]
                far = np.exp(-np.float64(x[j]) + np.float64(centre)) if n_there > k else 0.0
                found, valued, n_true = found + value / (1 + far), valued + value, n_true + y[j]
                moved += value * slopes[j] if n_there > k else 0.0
        below = k if by_k else valued * (k / max(n_true, k))
        sums[i] = weight[i] * (1 - found / below) if valued > 0 else 0.0
        if G.shape[0] > 0:
            scale = weight[i] * rate / below if valued > 0 and mass > 0 else 0.0
            _gradient(i, y, known, of_label, slopes, _F(scale * moved / mass) if scale > 0 else ZERO, _F(scale), G)
        clear_row(i, Y, ends, columns, row)


@loop
def _scale(z, rate, x):  # pragma: no cover - compiled
    for j in range(z.shape[0]):
        v = rate * z[j]
        v = _FARTHEST if v > _FARTHEST else v
        x[j] = -_FARTHEST if v < -_FARTHEST else v


@loop
def _scale_known(z, known, rate, x):  # pragma: no cover - compiled
    """Write the same, and −∞ for labels that are not there; return how many are."""
    count = 0
    for j in range(z.shape[0]):
        v = rate * z[j]
        v = _FARTHEST if v > _FARTHEST else v
        v = -_FARTHEST if v < -_FARTHEST else v
        x[j] = v if known[j] != 0 else _F(-np.inf)
        count += known[j] != 0
    return count


@loop
def _centre(x, k, slopes, work):  # pragma: no cover - compiled
    """Return c with Σ sigmoid(x − c) = k, and the sum of the slopes there, which are written."""
    low, top = _bounds(x, work)
    room = _F(np.log(x.shape[0]) + 1)
    low, high, mass = low - room, top + room, 0.0
    for a in range(0, x.shape[0], TILE):
        b = min(a + TILE, x.shape[0])
        for j in range(b - a):
            work[j] = exp_of_negative(x[a + j] - top)
        mass += total(work[: b - a])
    centre = min(high, top + _F(np.log(mass) - np.log(k)))
    for _ in range(_STEPS):
        count, slope = _choose(x, centre, slopes, work)
        if abs(count - k) <= _CLOSE * k:
            return centre, slope
        if count > k:
            low = centre
        else:
            high = centre
        step = centre + _F((count - k) / slope) if slope > 0 else low
        middle = low / _F(2) + high / _F(2)
        centre = step if low < step < high else middle
        if not low < centre < high:  # neighbours, or no numbers
            break
    return centre, _choose(x, centre, slopes, work)[1]


@loop
def _bounds(x, work):  # pragma: no cover - compiled
    """Return the least and the largest of the numbers, without −∞; NaN is none."""
    low, high = work[:_LANES], work[_LANES : 2 * _LANES]
    low[:], high[:] = _F(np.inf), _F(-np.inf)
    whole = x.shape[0] - x.shape[0] % _LANES
    for a in range(0, whole, _LANES):
        for k in range(_LANES):
            v = x[a + k]
            low[k] = v if (v < low[k]) & (v >= -_FARTHEST) else low[k]
            high[k] = v if v > high[k] else high[k]
    for j in range(whole, x.shape[0]):
        low[0] = x[j] if low[0] > x[j] >= -_FARTHEST else low[0]
        high[0] = x[j] if x[j] > high[0] else high[0]
    return low.min(), high.max()


@loop
def _choose(x, centre, slopes, work):  # pragma: no cover - compiled
    """Write the derivatives of p = sigmoid(x − centre), and return Σ p and their sum."""
    count, mass = 0.0, 0.0
    for a in range(0, x.shape[0], TILE):
        b = min(a + TILE, x.shape[0])
        _choose_tile(x[a:b], centre, slopes[a:b], work)
        count += total(work[: b - a])
        mass += total(slopes[a:b])
    return count, mass


@loop
def _choose_tile(x, centre, slopes, work):  # pragma: no cover - compiled
    for j in range(x.shape[0]):
        work[j], slopes[j] = sigmoid_and_slope(x[j] - centre)


@loop
def _gradient(i, y, known, of_label, slopes, pull, scale, G):  # pragma: no cover - compiled
    """Write (pull − scale · of_label · y) · slope; nothing where no slope was written."""
    g = G[i]
    if scale == ZERO:
        g[:] = ZERO
        return
    for j in range(g.shape[0]):
        g[j] = (pull - scale * of_label[j] * y[j]) * slopes[j]
    if known.shape[0] > 0:
        for j in range(g.shape[0]):
            g[j] = g[j] if known[i, j] != 0 else ZERO
