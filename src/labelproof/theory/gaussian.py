"""Columns of independent normal numbers: every set of at most k labels can be predicted, for nearly all seeds.

Let A be (n, m) of standard normal numbers. The hulls of the rows of an active and an inactive side have distance ‖Aᵀz‖
for some z that sums to 0, is positive on at most k labels and has a positive part of sum 1, hence ‖z‖ ≥ k^-½. Gordon's
inequality bounds ‖Aᵀz‖/‖z‖ for all such z at once: it is at least E‖g_m‖ - ω - τ with probability 1 - exp(-τ²/2), where
E‖g_m‖ ≥ m/√(m + 1) and ω is the mean of the largest g·z over unit z of this kind, g of n standard normal numbers. Since
z sums to 0, any t may be added to g: g·z ≤ √(Σ_S (g_i + t)₊² + Σ_{not S} (-g_j - t)₊²). With S the k largest, whose sum
of an increasing f is at most k f(u) + Σ_i (f(g_i) - f(u))₊ for every u, the mean of the square has a closed form, whose
root bounds ω. No sampling is involved.
"""

import math

from flint import arb

from labelproof.foundation.arguments import whole_number
from labelproof.foundation.flint_precision import working_bits

__all__ = ["columns_needed", "gaussian_distance", "spare_columns", "width_bound"]

SPARE = 1.1


def width_bound(n_labels: int, k: int) -> float:
    """Return a proven upper bound of ω for n labels, at most k of them active.

    Examples
    --------
    >>> round(width_bound(2689, 25), 1)
    22.4
    """
    n_labels, k = _checked(n_labels, k)
    best, t, u, step = _square(n_labels, k, 1.0, 2.0), 1.0, 2.0, 0.5
    while step > 1e-4:  # downhill in t and u: every point gives a bound, this only makes it small
        trials = [(t + a * step, u + b * step) for a in (-1, 0, 1) for b in (-1, 0, 1)]
        value, point = min((_square(n_labels, k, *trial), trial) for trial in trials if sum(trial) > 0)
        if value < best:
            best, (t, u) = value, point
        else:
            step /= 2
    with working_bits(128):
        return float(_square_of(n_labels, k, arb(t), arb(u)).sqrt().upper()) * (1 + 1e-15)


def gaussian_distance(n_labels: int, k: int, columns: int, failure: float) -> float:
    """Return how far apart the hulls of active and inactive rows are at least, for all sets of at most k labels.

    This is for standard normal numbers, and fails for a share of at most ``failure`` of all seeds; it may be negative,
    which proves nothing.

    Examples
    --------
    >>> gaussian_distance(2689, 25, 1000, 1e-6) > 0 > gaussian_distance(2689, 25, 500, 1e-6)
    True
    """
    columns = whole_number("columns", columns, minimum=1)
    if not 0 < failure < 1:
        raise ValueError(f"failure must be a probability between 0 and 1, got {failure}")
    tau = math.sqrt(-2 * math.log(failure)) * (1 + 1e-12)
    return (columns / math.sqrt(columns + 1) * (1 - 1e-12) - width_bound(n_labels, k) - tau) / math.sqrt(k)


def columns_needed(n_labels: int, k: int, failure: float = 1e-6) -> int:
    """Return the fewest columns for which the hulls are proven to be apart.

    >>> columns_needed(2689, 25), columns_needed(8921, 80)
    (764, 2068)
    """
    width = width_bound(n_labels, k) + math.sqrt(-2 * math.log(failure))
    columns = math.ceil(width**2)
    while gaussian_distance(n_labels, k, columns, failure) <= 0:
        columns += 1
    return columns


def spare_columns(n_labels: int, k: int, failure: float = 1e-6) -> int:
    """Return a tenth more columns than are needed, whose margin is 0: what a head has by default.

    >>> spare_columns(2689, 25)
    841
    """
    return math.ceil(SPARE * columns_needed(n_labels, k, failure))


def _checked(n_labels: int, k: int) -> tuple[int, int]:
    k = whole_number("k", k, minimum=1)
    return whole_number("n_labels", n_labels, minimum=k + 1), k


def _square(n: int, k: int, t: float, u: float) -> float:
    """Return the bound of ω² at t and u in floating point."""
    density, tail = _normal(u)
    density_t, tail_t = _normal(t)
    above = (1 + t * t) * tail + (u + 2 * t) * density - (u + t) ** 2 * tail
    below = (1 + t * t) * tail_t - t * density_t
    return k * (u + t) ** 2 + n * (above + below)


def _normal(x: float) -> tuple[float, float]:
    """Return the density of a standard normal number at x, and the probability that it is larger."""
    return math.exp(-x * x / 2) / math.sqrt(2 * math.pi), math.erfc(x / math.sqrt(2)) / 2


def _square_of(n: int, k: int, t: arb, u: arb) -> arb:
    """Return the same enclosed in interval arithmetic."""

    def normal(x: arb) -> tuple[arb, arb]:
        return (-x * x / 2).exp() / (2 * arb.pi()).sqrt(), (x / arb(2).sqrt()).erfc() / 2

    (density, tail), (density_t, tail_t) = normal(u), normal(t)
    above = (1 + t * t) * tail + (u + 2 * t) * density - (u + t) ** 2 * tail
    below = (1 + t * t) * tail_t - t * density_t
    return k * (u + t) ** 2 + n * (above + below)
