"""Rigorous bounds on the stretch of a label set: from above by a mixture of examples, from below by weighted labels.

With the features f_1 … f_n of examples, their centre c and z_i(x) = w_i·x + offset_i,

    stretch(S) = inf Σ λ_j   over all λ ≥ 0 such that S is predicted at c + Σ λ_j (f_j − c).

*Above*: such a λ. *Below*: multipliers θ ≥ 0 of labels; with y_i = 1 in S and −1 elsewhere, S at x needs

    G(x) = Σ θ_i y_i z_i(x) ≥ 0,   and so   Σ λ_j ≥ −G(c) / max_j (G(f_j) − G(c))   if G(c) < 0;

it is infinite if that maximum is ≤ 0, also with G(c) = 0 if a θ_i > 0 is on a strict inequality. Under the rule topk
z_i is compared with a τ that is free, so Σ θ_i y_i = 0 must hold exactly. *Infinite* is also what a conflict proves in
the sense of `conflicts`: rows of labels that no x satisfies whose features agree with the examples' where these are all
the same.

Trusted code: all sums carry a bound on their rounding error, rounded outwards; `exact_lower` and `exact_mixture` have
no such error.
"""

import math
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from labelproof.proof.conflicts import conflict_faults
from labelproof.proof.examples import Examples
from labelproof.proof.labels import LabelSets
from labelproof.proof.regions import OutputLayer, exact_offset, integers
from labelproof.proof.rounding import (
    TINY,
    UNIT,
    FloatRows,
    bounded_logits,
    float_rows,
    relative_error,
    scaled_point,
)
from labelproof.proof.witnesses import witness_faults

__all__ = [
    "Mixture",
    "StretchBounds",
    "Weighted",
    "are_predicted",
    "exact_lower",
    "exact_mixture",
    "pinned_layer",
    "weighted_sums",
]

Floats = npt.NDArray[np.float64]
Indices = npt.NDArray[np.int64]
Mixture = tuple[Indices, Floats]  # examples, ascending, and their λ
Weighted = tuple[Indices, Floats]  # labels, ascending, and their θ
SETS_AT_ONCE = 2**22  # numbers of the matrices of one product


class StretchBounds:
    """The bounds for one layer and some examples, kept wider by a number of times the possible rounding error.

    Bounds of several ``slacks`` hold again, with one, when another processor sums in another order.
    """

    def __init__(self, layer: OutputLayer, examples: Examples, *, slacks: float = 1.0) -> None:
        if layer.rule == "sparsemax":
            raise ValueError("rule must be 'sigmoid' or 'topk' for a stretch, got 'sparsemax'")
        if layer.low is not None or layer.high is not None or layer.balls:
            raise ValueError("a stretch is measured without a domain: the examples say which features occur, got one")
        self.layer, self.examples, self.slacks = layer, examples, slacks
        self.floats = float_rows(layer)
        self.pinned = pinned_layer(layer, examples)

    # From below

    def lowers(self, sets: LabelSets, weighted: Sequence[Weighted]) -> Floats:
        """Return a lower bound of each set's stretch, from its weighted labels; 0 where they prove none."""
        bounds = np.zeros(len(sets))
        sound = [i for i in range(len(sets)) if _weighted_fault(self.layer, sets[i], weighted[i]) is None]
        step = max(1, SETS_AT_ONCE // self.layer.d)
        for start in range(0, len(sound), step):
            some = sound[start : start + step]
            sums = [weighted_sums(self.layer, sets[i], *weighted[i]) for i in some]
            highest = self.examples.largest_products(np.array([v for v, _, _, _ in sums]).T)
            with np.errstate(all="ignore"):
                bounds[some] = [self._lower(*one, h) for one, h in zip(sums, highest.tolist(), strict=True)]
        return bounds

    def _lower(self, v: Floats, v_error: Floats, constant: float, constant_error: float, highest: float) -> float:
        centre, largest, d = self.examples.centre, self.examples.largest, self.layer.d
        at_centre = float(centre @ v)
        size, rounding = np.abs(v), relative_error(d)
        centre_error = 1.01 * (rounding * float(np.abs(centre) @ size) + float(np.abs(centre) @ v_error)) + d * TINY
        highest_error = (
            1.01 * (relative_error(self.examples.terms) * float(largest @ size) + float(largest @ v_error)) + d * TINY
        )
        sums = 4 * UNIT * (abs(at_centre) + abs(constant) + abs(highest))
        top = -(at_centre + constant) - self.slacks * (centre_error + constant_error + sums)
        bottom = highest - at_centre + self.slacks * (highest_error + centre_error + sums)
        if not (top > 0 and math.isfinite(top) and math.isfinite(bottom)):
            return 0.0
        if bottom <= 0:
            return math.inf
        return max(0.0, float(np.nextafter(top / bottom * (1 - 8 * UNIT), -np.inf)))

    # From above

    def uppers(self, sets: LabelSets, mixtures: Sequence[Mixture]) -> Floats:
        """Return an upper bound of each set's stretch, from its mixture; infinity where that proves none."""
        faults = self.mixture_faults(sets, mixtures)
        return np.array([total(m[1]) if fault is None else np.inf for fault, m in zip(faults, mixtures, strict=True)])

    def mixture_faults(self, sets: LabelSets, mixtures: Sequence[Mixture]) -> list[str | None]:
        """Return, for each set, None if it is predicted at its mixture for certain, else what is wrong."""
        faults = [_mixture_fault(self.examples, mixture) for mixture in mixtures]
        step = max(1, SETS_AT_ONCE // max(self.layer.d, self.layer.n_labels))
        sound = [i for i, fault in enumerate(faults) if fault is None]
        for start in range(0, len(sound), step):
            some = sound[start : start + step]
            for i, certain in zip(some, self._certain(sets, mixtures, some), strict=True):
                if not certain:
                    exact = exact_mixture(self.examples, *mixtures[i])
                    faults[i] = witness_faults(self.layer, self.floats, sets.take([i]), [exact])[0]
        return faults

    def _certain(self, sets: LabelSets, mixtures: Sequence[Mixture], which: list[int]) -> list[bool]:
        """Return for which sets floating point shows that their mixtures are predicted as them."""
        with np.errstate(all="ignore"):
            points, errors = zip(*(self._point(*mixtures[i]) for i in which), strict=True)
        return are_predicted(self.layer, self.floats, sets.take(which), points, errors, slacks=self.slacks)

    def _point(self, which: Indices, weights: Floats) -> tuple[Floats, float]:
        """Return c + Σ λ_j (f_j − c) and a bound on the norm of its error."""
        centre, features = self.examples.centre, self.examples.take(which)
        amount = _sum(weights)
        x = centre + weights @ features - amount * centre
        size = (1 + amount) * np.abs(centre) + weights @ np.abs(features)
        norm = float(np.linalg.norm(size)) + 2.0**-500
        if not (np.isfinite(x).all() and np.isfinite(norm)):
            return centre, np.inf
        return x, 2.02 * relative_error(len(which) + 2) * norm + len(x) * len(which) * 2.0**-500

    # Infinite

    def conflict_faults(self, sets: LabelSets, conflicts: Sequence[Indices]) -> list[str | None]:
        """Return, for each set, None if its conflict proves that its stretch is infinite, else what is wrong."""
        most = self.pinned.width + 1
        faults = conflict_faults(self.pinned, sets, conflicts)
        for i, rows in enumerate(conflicts):
            if len(rows) > most:
                faults[i] = f"expected a conflict of 1 to {most} rows, got {len(rows)}"
        return faults


def are_predicted(
    layer: OutputLayer,
    floats: FloatRows,
    sets: LabelSets,
    points: Sequence[Floats],
    errors: Sequence[float],
    *,
    slacks: float = 1.0,
) -> list[bool]:
    """Return for which sets floating point shows that they are predicted at every x as near to their point as said."""
    scaled = [scaled_point(layer, x) for x in points]
    products = np.array([point.v for point in scaled]) @ floats.rows.T  # (m, n_labels)
    certain = []
    for active, point, z, error in zip(sets, scaled, products, errors, strict=True):
        logits = bounded_logits(floats, point, z)
        off = 1.01 * float(np.ldexp(error, -point.exponent)) + TINY
        slack = slacks * (logits.slack + off * floats.norms)
        certain.append(bool(_is_predicted(layer, active, z, slack)))
    return certain


def weighted_sums(
    layer: OutputLayer, active: Indices, rows: Indices, theta: Floats
) -> tuple[Floats, Floats, float, float]:
    """Return v = Σ θ_i y_i w_i and Σ θ_i y_i offset_i, each followed by a bound on its error."""
    signed = theta * _signs(active, rows)
    weight, rounding = layer.weight[rows], relative_error(len(rows))
    with np.errstate(all="ignore"):
        v = signed @ weight
        v_error = rounding * (theta @ np.abs(weight)) + len(rows) * TINY
    if layer.offset is None or layer.offset_error is None:
        return v, v_error, 0.0, 0.0
    offset, more = layer.offset[rows], layer.offset_error[rows]
    with np.errstate(all="ignore"):
        constant = float(signed @ offset + signed @ more)
        error = 2 * rounding * float(theta @ np.abs(offset) + theta @ np.abs(more)) + 2 * len(rows) * TINY
    return v, v_error, constant, error


def total(weights: Floats) -> float:
    """Return Σ λ_j rounded up."""
    amount = _sum(weights)
    return float(np.nextafter(amount, np.inf)) if amount else 0.0


def _sum(numbers: Floats) -> float:
    """Return the sum, rounded once; infinity where it, or a part of it, is no finite number."""
    try:
        return math.fsum(numbers)
    except (OverflowError, ValueError):
        return math.inf


def pinned_layer(layer: OutputLayer, examples: Examples) -> OutputLayer:
    """Return the layer with features held where they are the same in every example, as in every mixture of them."""
    if not examples.constant.any():
        return layer
    low = np.where(examples.constant, examples.centre, -np.inf)
    return replace(layer, low=low, high=np.where(examples.constant, examples.centre, np.inf))


def exact_mixture(examples: Examples, which: Indices, weights: Floats) -> tuple[Fraction, ...]:
    """Return c + Σ λ_j (f_j − c) without rounding."""
    points = np.vstack([examples.take(which), examples.centre])
    numerators, unit = integers(points.ravel().tolist())
    amounts, of = integers(weights.tolist())
    amounts.append(of - sum(amounts))
    columns = np.array(numerators, dtype=object).reshape(points.shape)
    summed = np.array(amounts, dtype=object) @ columns
    return tuple(Fraction(int(number), unit * of) for number in summed)


def exact_lower(
    layer: OutputLayer, examples: Examples, active: Indices, rows: Indices, theta: Floats
) -> Fraction | float:
    """Return the bound from below that weighted labels prove, without rounding: a fraction, 0 or infinity."""
    if _weighted_fault(layer, active, (rows, theta)) is not None:
        return Fraction(0)
    signed = [Fraction(t) * int(y) for t, y in zip(theta.tolist(), _signs(active, rows).tolist(), strict=True)]
    columns = zip(*(map(Fraction, row) for row in layer.weight[rows].tolist()), strict=True)
    v = [sum((s * w for s, w in zip(signed, column, strict=True)), Fraction(0)) for column in columns]
    numerators, unit = integers(v)
    constant = sum((s * exact_offset(layer, i) for s, i in zip(signed, rows.tolist(), strict=True)), Fraction(0))
    at_centre = _exact_product(numerators, unit, examples.centre.tolist())
    highest = max(_exact_product(numerators, unit, f) for f in _each_example(examples))
    needed, gained = -(at_centre + constant), highest - at_centre
    if needed == 0 and gained <= 0 and _has_strict_row(layer, active, rows[theta > 0]):
        return math.inf  # G is never positive on mixtures, and S needs it to be
    if needed <= 0:
        return Fraction(0)
    return needed / gained if gained > 0 else math.inf


def _has_strict_row(layer: OutputLayer, active: Indices, rows: Indices) -> bool:
    return layer.rule == "topk" or layer.ties == "open" or bool(np.isin(rows, active).any())


def _exact_product(numerators: list[int], unit: int, x: list[float]) -> Fraction:
    others, over = integers(x)
    return Fraction(sum(a * b for a, b in zip(numerators, others, strict=True)), unit * over)


def _each_example(examples: Examples) -> "list[list[float]]":
    return [row for block in examples.blocks() for row in (block.toarray() if examples.is_sparse else block).tolist()]


def _is_predicted(layer: OutputLayer, active: Indices, z: Floats, slack: Floats) -> bool:
    on = np.zeros(len(z), np.bool_)
    on[active] = True
    if layer.rule == "sigmoid":
        return bool((np.where(on, z, -z) > slack).all())
    return not on.any() or bool(on.all()) or bool((z - slack)[on].min() > (z + slack)[~on].max())


def _signs(active: Indices, rows: Indices) -> Floats:
    return np.where(np.isin(rows, active), 1.0, -1.0)


def _weighted_fault(layer: OutputLayer, active: Indices, weighted: Weighted) -> str | None:
    rows, theta = weighted
    if len(rows) != len(theta) or (np.diff(rows) <= 0).any() or ((rows < 0) | (rows >= layer.n_labels)).any():
        return f"expected a multiplier for each of some labels below {layer.n_labels} in ascending order, got others"
    if not (np.isfinite(theta) & (theta >= 0)).all() or not theta.any():
        return "expected multipliers ≥ 0, and one > 0, got others"
    if layer.rule == "topk" and _sum(theta * _signs(active, rows)) != 0:
        return "expected multipliers of active and of inactive labels with equal sums, got others"
    return None


def _mixture_fault(examples: Examples, mixture: Mixture) -> str | None:
    which, weights = mixture
    if len(which) != len(weights) or (np.diff(which) <= 0).any() or ((which < 0) | (which >= len(examples))).any():
        return f"expected a weight for each of some of {len(examples)} examples in ascending order, got others"
    if not (np.isfinite(weights) & (weights >= 0)).all():
        return "expected weights ≥ 0, got others"
    return None
