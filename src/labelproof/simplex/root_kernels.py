# mypy: disallow-untyped-decorators=False, disallow-untyped-defs=False, disallow-untyped-calls=False
"""Compiled search for the τ of α-entmax: Σ u_j^r = 1 for u_j = max(s (x_j − max x) − τ, 0), s = α − 1, r = 1/s."""

from typing import Any

import numpy as np
from numba.extending import intrinsic

from labelproof.foundation.compilation import compiled, compiled_part

__all__ = [
    "SLACK",
    "allocating",
    "gap",
    "inlined",
    "kernel",
    "larger",
    "loose",
    "newton_in_kind",
    "probability",
    "raised",
    "root",
    "step_2",
    "step_15",
    "strict",
    "sums",
]

# Without _nrt no references are counted: rows are views that end with a call, and counting took a quarter of the time.
# fastmath is False, not left out, or a caller's setting would be inherited.
strict = compiled_part(error_model="numpy", fastmath=False, _nrt=False)
loose = compiled_part(  # sums in any order, and only where NaN has been excluded
    error_model="numpy", fastmath={"reassoc", "contract", "arcp", "nsz", "nnan"}, _nrt=False
)
allocating = compiled_part(error_model="numpy", fastmath=False)
inlined = compiled_part(inline="always")  # into strict code alone, whose options it takes; one level less to compile
kernel = compiled(error_model="numpy", fastmath=False)
SLACK = 1e-5  # more than the error of a bound computed in single precision


@strict
def root(x, top, scale, alpha, bound):  # pragma: no cover - compiled
    """Return τ with Σ max(scale (x_j − top) − τ, 0)^r = 1, from a lower bound of it, in double precision."""
    if alpha == 2.0 or alpha == 1.5:
        return _newton(
            x, top, scale, bound, alpha, np.int64(100), 1e-9, np.float64
        )  # the next step would be its square
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
def newton_in_kind(x, top, alpha, tau, steps):  # pragma: no cover - compiled
    """Return a lower bound of τ from Newton steps in the precision of x, whose error is subtracted.

    The steps may start on either side: the sums are convex in τ, so that the first step ends below the root.
    """
    kind = x.dtype.type
    tau = _newton(x, kind(top), kind(alpha - 1.0), kind(tau), alpha, steps, 1e-6, kind)
    return max(-1.0, np.float64(tau) - SLACK)


@strict
def _newton(x, top, scale, tau, alpha, steps, tolerance, kind):  # pragma: no cover - compiled
    """Take Newton's steps in the precision `kind` until they end: for α = 2 or 1.5."""
    last = -1
    for _ in range(steps):
        if alpha == 2.0:
            tau, count = step_2(x, top, tau, kind)
            if count == last:
                break  # the support is the same
            last = count
        else:
            old = tau
            tau = step_15(x, top, scale, tau, kind)
            if abs(tau - old) <= -tolerance * tau:
                break
    return tau


@loose
def step_2(x, top, tau, kind):  # pragma: no cover - compiled
    """Take one step for α = 2; return τ and the size of the support that it is right for."""
    zero, one = kind(0), kind(1)  # a plain 0 would turn all to double precision
    total, count = zero, zero
    for j in range(x.shape[0]):
        u = gap(x[j], top, one, tau)
        total += u if u > zero else zero
        count += one if u > zero else zero
    return tau + (total - one) / count, count


@loose
def step_15(x, top, scale, tau, kind):  # pragma: no cover - compiled
    """Take one step for α = 1.5."""
    zero = kind(0)
    total, slope = zero, zero
    for j in range(x.shape[0]):
        u = gap(x[j], top, scale, tau)
        u = u if u > zero else zero
        total += u * u
        slope += u
    return tau + (total - np.sqrt(total)) / slope


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


def _larger(_context, a, b):
    """Return the larger of two numbers that are not NaN.

    The flags on the choice, which numba leaves out, are what lets the compiler take many at once.
    """

    def code(_context, builder, _signature, arguments):
        flags = ("nnan", "nsz")
        return builder.select(builder.fcmp_ordered(">", *arguments, flags=flags), *arguments, flags=flags)

    return a(a, b), code


larger: Any = intrinsic(_larger)


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
