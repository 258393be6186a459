"""Rigorous bounds on the Chebyshev radius: from below by a centre, from above by multipliers.

The radius is the largest ε such that some x within the bounds has y_i (w_i·x + offset_i) ≥ ε‖w_i‖ for every label i
with w_i ≠ 0. A centre x gives a lower bound. Multipliers ν ≥ 0 give an upper one: for such x and ε, and with
c = Σ ν_i y_i w_i,

    ε Σ ν_i‖w_i‖ ≤ Σ ν_i y_i (w_i·x + offset_i) ≤ Σ_j max(c_j low_j, c_j high_j) + Σ ν_i y_i offset_i.

Trusted code, like `proofs`: all sums carry a bound on their rounding error, rounded outwards. The rows are those of
`proofs.float_rows`, each over a power of two, to which ν refers.
"""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from labelproof.verification.proofs import UNIT, FloatRows, Point, bounded_logits, scaled_point
from labelproof.verification.regions import OutputLayer

__all__ = ["Brackets", "bounds_of_box"]

Floats = npt.NDArray[np.float64]
Indices = npt.NDArray[np.int64]


def bounds_of_box(layer: OutputLayer, box: float) -> tuple[Floats, Floats]:
    """Return the lowest and the highest features: the domain within ±box."""
    low, high = np.full(layer.d, -box), np.full(layer.d, box)
    if layer.low is not None:
        low = np.maximum(low, layer.low)
    if layer.high is not None:
        high = np.minimum(high, layer.high)
    return low, high


class Brackets:
    """The bounds for one layer and box, kept wider by a number of times the possible rounding error.

    Bounds of several ``slacks`` hold again, with one, when another processor sums in another order.
    """

    def __init__(self, layer: OutputLayer, floats: FloatRows, box: float, *, slacks: float = 1.0) -> None:
        self.layer, self.floats, self.box, self.slacks = layer, floats, box, slacks
        self.low, self.high = bounds_of_box(layer, box)
        norms = np.linalg.norm(floats.rows[:, : layer.d], axis=1)
        spread = 1.01 * (layer.d + 4) * UNIT
        usable = norms > 2.0**-400  # below, squares may have underflowed: bounds that say nothing
        self.is_inexact = np.zeros(layer.n_labels, dtype=np.bool_)
        self.is_inexact[floats.inexact] = True
        self.without_weights = ~floats.rows[:, : layer.d].any(axis=1)
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
        return float(np.ldexp(value * (1 - 8 * UNIT * np.sign(value)), point.exponent))

    def upper(self, active: Indices, rows: Indices, nu: Floats) -> float:
        """Return an upper bound of the radius, from multipliers of some labels; inf if they prove none."""
        d, floats = self.layer.d, self.floats
        if (self.low > self.high).any():
            return 0.0  # no input is left
        if not len(rows) or not (np.isfinite(nu) & (nu >= 0)).all() or self.is_inexact[rows].any():
            return np.inf
        wanted = set(active.tolist())
        signs = np.array([1.0 if row in wanted else -1.0 for row in rows.tolist()])
        system = signs[:, None] * floats.rows[rows]
        sums = nu @ system  # the d features' c, then the parts of the offset
        slack = 1.01 * (len(rows) + 8) * UNIT * (nu @ np.abs(system)) + len(rows) * 2.0**-1000
        terms = np.append(np.maximum(sums[:d] * self.low, sums[:d] * self.high), sums[d:])
        reach = np.append(np.maximum(np.abs(self.low), np.abs(self.high)), np.ones(len(sums) - d))
        errors = 1.01 * (slack * reach).sum() + 1.01 * (d + 8) * UNIT * np.abs(terms).sum()
        total = terms.sum() + self.slacks * errors
        norms = self.least_norms if total >= 0 else self.most_norms
        weight = nu @ norms[rows] * (1 - 1.01 * (len(rows) + 4) * UNIT * np.sign(total))
        if not weight > 0 or not np.isfinite(total):
            return np.inf
        return float(total / weight * (1 + 8 * UNIT * np.sign(total)))
