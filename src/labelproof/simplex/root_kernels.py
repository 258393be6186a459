# mypy: disallow-untyped-decorators=False, disallow-untyped-defs=False, disallow-untyped-calls=False
"""Compiled search for the τ of α-entmax: Σ u_j^r = 1 for u_j = max(s (x_j − max x) − τ, 0), s = α − 1, r = 1/s."""

import numpy as np
from numba import njit

__all__ = ["gap", "loose", "newton_2", "newton_in_kind", "probability", "raised", "root", "strict", "sums"]

strict = njit(cache=True, nogil=True, error_model="numpy", fastmath=False)  # False, or a caller's setting is inherited
loose = njit(  # sums in any order, and only where NaN has been excluded
    cache=True, nogil=True, error_model="numpy", fastmath={"reassoc", "contract", "arcp", "nsz", "nnan"}
)
_SLACK = 1e-5  # more than the error of a bound computed in single precision


@strict
def root(x, top, scale, alpha, bound):  # pragma: no cover - compiled
    """Return τ with Σ max(scale (x_j − top) − τ, 0)^r = 1, from a lower bound of it, in double precision."""
    if alpha == 2.0 or alpha == 1.5:
        return _newton(x, top, scale, bound, alpha, 100, 1e-14)
    low, high = -1.0, -((1.0 / x.shape[0]) ** (alpha - 1.0))
    tau = min(bound, high)
    for _ in range(200):
        total, slope = sums(x, top, scale, tau, alpha)
        if total >= 1.0:
            low = tau
        else:
            high = tau
        new = tau + (total - total ** (2.0 - alpha)) / slope
        if abs(new - tau) <= 1e-13 * abs(tau):
            return new
        tau = new if low < new < high else 0.5 * (low + high)
    return tau


@strict
def newton_in_kind(x, top, tau, alpha, steps):  # pragma: no cover - compiled
    """Return a lower bound of τ from Newton steps in the precision of x, whose error is subtracted."""
    kind = x.dtype.type
    return np.float64(_newton(x, kind(top), kind(alpha - 1.0), kind(tau), alpha, steps, 1e-6)) - _SLACK


@loose
def _newton(x, top, scale, tau, alpha, steps, tolerance):  # pragma: no cover - compiled
    """Take Newton's steps up from τ in its own precision, until they end: for α = 2 or 1.5."""
    if alpha == 2.0:
        return newton_2(x, top, tau, steps)
    zero = 0 * tau
    for _ in range(steps):
        total, slope = zero, zero
        for j in range(x.shape[0]):
            u = gap(x[j], top, scale, tau)
            u = u if u > zero else zero
            total += u * u
            slope += u
        step = (total - np.sqrt(total)) / slope
        tau += step
        if abs(step) <= -tolerance * tau:
            break
    return tau


@loose
def newton_2(x, top, tau, steps):  # pragma: no cover - compiled
    """Take Newton's steps for α = 2, until the support stays the same."""
    zero, one = 0 * tau, 0 * tau + 1
    last = one * x.shape[0] + one
    for _ in range(steps):
        total, count = zero, zero
        for j in range(x.shape[0]):
            u = gap(x[j], top, one, tau)
            total += u if u > zero else zero
            count += one if u > zero else zero
        tau += (total - one) / count
        if count == last:
            break
        last = count
    return tau


@loose
def sums(x, top, scale, tau, alpha):  # pragma: no cover - compiled
    """Return Σ u^r and Σ u^(r−1) over the positive u = scale (x − top) − τ."""
    power = 1.0 / (alpha - 1.0) - 1.0
    total, slope = 0.0, 0.0
    for j in range(x.shape[0]):
        u = gap(x[j], top, scale, tau)
        if u > 0.0:
            v = u**power
            slope += v
            total += v * u
    return total, slope


@strict
def gap(x, top, scale, tau):  # pragma: no cover - compiled
    """Return scale (x − top) − τ, in this order: fast-math would subtract top + τ, which loses digits."""
    return scale * (x - top) - tau


@loose
def probability(u, alpha):  # pragma: no cover - compiled
    """Return u^(1/(α−1)), and 0 for u ≤ 0."""
    return raised(u, 1.0 / (alpha - 1.0)) if u > 0.0 else 0.0


@loose
def raised(u, power):  # pragma: no cover - compiled
    """Return u^power for u > 0, at once for the powers that α = 2 and α = 1.5 need."""
    if power == 0.0:
        return 1.0
    if power == 0.5:
        return np.sqrt(np.float64(u))
    if power == 1.0:
        return np.float64(u)
    if power == 1.5:
        return u * np.sqrt(np.float64(u))
    if power == 2.0:
        return np.float64(u) * u
    return np.float64(u) ** power
