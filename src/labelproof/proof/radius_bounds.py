"""Rigorous bounds on the Chebyshev radius: from below by a centre, from above by multipliers.

The radius is the largest ε such that some x within the bounds has y_i (w_i·x + offset_i) ≥ ε‖w_i‖ for every label i
with w_i ≠ 0. A centre x gives a lower bound. Multipliers ν ≥ 0 give an upper one: for such x and ε, and with
c = Σ ν_i y_i w_i,

    ε Σ ν_i‖w_i‖ ≤ Σ ν_i y_i (w_i·x + offset_i) ≤ Σ_j max(c_j low_j, c_j high_j) + Σ ν_i y_i offset_i.

Trusted code: all sums carry a bound on their rounding error, rounded outwards. The rows are those of
`rounding.float_rows`, each over a power of two, to which ν refers.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from labelproof.proof.regions import OutputLayer
from labelproof.proof.rounding import TINY, UNIT, FloatRows, Point, bounded_logits, relative_error, scaled_point

__all__ = ["LEAST_BOX", "MOST_BOX", "Radii", "RadiusBounds", "bounds_of_box"]

Floats = npt.NDArray[np.float64]
Indices = npt.NDArray[np.int64]
LEAST_BOX, MOST_BOX = 1e-150, 1e150  # beyond, products of a few bounds and weights leave the range of floats


def bounds_of_box(layer: OutputLayer, box: float) -> tuple[Floats, Floats]:
    """Return the lowest and the highest features: the domain within ±box."""
    low, high = np.full(layer.d, -box), np.full(layer.d, box)
    if layer.low is not None:
        low = np.maximum(low, layer.low)
    if layer.high is not None:
        high = np.minimum(high, layer.high)
    return low, high


class RadiusBounds:
    """The bounds for one layer and box, kept wider by a number of times the possible rounding error.

    Bounds of several ``slacks`` hold again, with one, when another processor sums in another order.
    """

    def __init__(self, layer: OutputLayer, floats: FloatRows, box: float, *, slacks: float = 1.0) -> None:
        self.layer, self.floats, self.box, self.slacks = layer, floats, box, slacks
        self.low, self.high = bounds_of_box(layer, box)
        norms = np.linalg.norm(floats.rows[:, : layer.d], axis=1)
        spread = relative_error(layer.d)
        usable = norms > 2.0**-400  # below, squares may have underflowed: bounds that say nothing
        self.is_inexact = np.zeros(layer.n_labels, dtype=np.bool_)
        self.is_inexact[floats.inexact] = True
        self.without_weights = ~layer.weight.any(axis=1)
        self.least_norms = np.where(usable, norms * (1 - spread), 0.0)
        self.most_norms = np.where(usable, norms * (1 + spread), 1.0)
        with np.errstate(divide="ignore"):
            self.least_inverse, self.most_inverse = 1 / self.most_norms, 1 / self.least_norms

    def lower(self, active: Indices, x: Floats) -> float:
        """Return a lower bound of the radius, from the centre x; -inf if x proves none."""
        return self.lower_of_many([active], x[None])[0]

    def lower_of_many(self, sets: Sequence[Indices], centers: Floats) -> list[float]:
        """Return a lower bound for each label set, from its centre, by one product for all."""
        inside = np.all((centers >= self.low) & (centers <= self.high), axis=1)
        points = [scaled_point(self.layer, x if ok else self.low * 0) for x, ok in zip(centers, inside, strict=True)]
        products = np.array([point.v for point in points]) @ self.floats.rows.T
        found = zip(sets, points, products, inside.tolist(), strict=True)
        return [self._lower(active, point, z) if ok else -np.inf for active, point, z, ok in found]

    def _lower(self, active: Indices, point: Point, z: Floats) -> float:
        logits = bounded_logits(self.floats, point, z)
        certain = -logits.z
        certain[active] *= -1
        certain -= self.slacks * logits.slack
        with np.errstate(all="ignore"):
            each = certain * np.where(certain >= 0, self.least_inverse, self.most_inverse)
        each[self.without_weights] = np.inf  # such a label says nothing of x
        value = float(each.min())
        if np.isinf(value):
            return value
        with np.errstate(over="ignore"):
            return float(np.nextafter(np.ldexp(value * (1 - 8 * UNIT * np.sign(value)), point.exponent), -np.inf))

    def upper(self, active: Indices, rows: Indices, nu: Floats) -> float:
        """Return an upper bound of the radius, from multipliers of some labels; inf if they prove none."""
        d, floats = self.layer.d, self.floats
        if (self.low > self.high).any():
            return 0.0  # no input is left
        if not len(rows) or not (np.isfinite(nu) & (nu >= 0)).all() or self.is_inexact[rows].any():
            return np.inf
        nu = np.ldexp(nu, -int(np.frexp(nu.max())[1]))  # any multipliers prove a bound; these are at most 1
        wanted = set(active.tolist())
        signs = np.array([1.0 if row in wanted else -1.0 for row in rows.tolist()])
        system = signs[:, None] * floats.rows[rows]
        sums = nu @ system  # the d features' c, then the parts of the offset
        slack = relative_error(len(rows)) * (nu @ np.abs(system)) + len(rows) * 2.0**-1000
        terms = np.append(np.maximum(sums[:d] * self.low, sums[:d] * self.high), sums[d:])
        reach = np.append(np.maximum(np.abs(self.low), np.abs(self.high)), np.ones(len(sums) - d))
        errors = 1.01 * (slack * reach).sum() + relative_error(d) * np.abs(terms).sum() + len(terms) * TINY
        total = terms.sum() + self.slacks * errors
        norms = self.least_norms if total >= 0 else self.most_norms
        weight = nu @ norms[rows] * (1 - relative_error(len(rows)) * np.sign(total))
        weight -= len(rows) * TINY * np.sign(total)
        if not weight > 0 or not np.isfinite(total):
            return np.inf
        return float(np.nextafter(total / weight * (1 + 8 * UNIT * np.sign(total)), np.inf))


@dataclass(frozen=True, eq=False)
class Radii:
    """Bounds of the radius of some label sets, with their evidence.

    Attributes
    ----------
    box
        The features are within ±box.
    sets
        Which label sets: those that are argmaxable.
    lower, upper
        float64 (n,): the radius lies between them. Both are 0 where no ball fits into the box.
    centers
        float64 (n, d): the centre that proves the lower bound.
    ptr, rows, multipliers
        Labels and multipliers that prove the upper bound, ``rows[ptr[i]:ptr[i + 1]]`` for the i-th of ``sets``.
    """

    box: float
    sets: Indices
    lower: Floats
    upper: Floats
    centers: Floats
    ptr: Indices
    rows: Indices
    multipliers: Floats

    def frame_fault(self, layer: OutputLayer) -> str | None:
        """Return what is wrong with the arrays that hold the evidence, or None."""
        n, n_labels, d = len(self.sets), layer.n_labels, layer.d
        if layer.rule != "sigmoid":
            return f"expected no radii with rule={layer.rule!r}, got some"
        if layer.balls:
            return "expected no radii with features in a ball, got some"
        if not LEAST_BOX <= self.box <= MOST_BOX:
            return f"expected a box from {LEAST_BOX} to {MOST_BOX}, got {self.box}"
        if self.lower.shape != (n,) or self.upper.shape != (n,) or self.centers.shape != (n, d):
            return f"expected bounds and centres of {n} radii, got {self.lower.shape} and {self.centers.shape}"
        ends, rows = self.ptr, self.rows
        if ends.ndim != 1 or rows.ndim != 1:
            return f"expected ends and labels with one axis, got shapes {ends.shape} and {rows.shape}"
        if len(ends) != n + 1 or ends[0] != 0 or ends[-1] != len(rows) or (np.diff(ends) < 0).any():
            return f"expected ends of multipliers that ascend from 0 to {len(rows)}, got others"
        if self.multipliers.shape != rows.shape or not ((rows >= 0) & (rows < n_labels)).all():
            return f"expected a multiplier for each of some labels below {n_labels}, got others"
        return None

    def fault(self, tight: RadiusBounds, loose: RadiusBounds, active: Indices, i: int) -> str | None:
        """Return what is wrong with the bounds of the i-th set, or None if they are proven.

        ``loose`` has more slacks than the bounds were made with: what lies beyond it does not come from the evidence.
        """
        part = slice(self.ptr[i], self.ptr[i + 1])
        rows, multipliers, center = self.rows[part], self.multipliers[part], self.centers[i]
        least, far = (max(b.lower(active, center), 0.0) for b in (tight, loose))
        if not far * (1 - 1e-9) <= self.lower[i] <= least:
            return f"expected a radius of at most {least} from its centre, got {self.lower[i]}"
        most, far = (max(b.upper(active, rows, multipliers), 0.0) for b in (tight, loose))
        if not most <= self.upper[i] <= far * (1 + 1e-9):
            return f"expected an upper bound of at least {most} from its multipliers, got {self.upper[i]}"
        return None
