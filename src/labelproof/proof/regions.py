"""What a classifier's output layer and its decision rule ask of the input, as an exact homogeneous linear system.

A label set can be predicted iff some vector v = (x, s, τ) satisfies one inequality for each *row*:

======================  =========================================  ==========================================
row                     inequality                                 present
======================  =========================================  ==========================================
label i                 ±(w_i·x + offset_i·s − τ) > 0 (or ≥ 0)     always; + if active, − if not
scale                   s > 0                                      with an offset, box or ball; for sparsemax
sum_le, sum_ge          t·Σ_active(z_i − τ) ≤ s and ≥ s            sparsemax
low j, high j           x_j ≥ low_j·s and x_j ≤ high_j·s           for each finite bound of the domain
======================  =========================================  ==========================================

A ball, ‖x − c·s‖ ≤ R·s over some features, is no row: `weighted_conflicts` and `witnesses` take it into account.
τ is present for the rules topk and sparsemax. With a scale the input is x/s, without one the system is a cone
in x. All numbers are the stored floats taken as rationals: the offset b_i − θ_i is held as an unevaluated sum of
two floats.
This module is trusted code: every proof rests on the rows that it defines.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import scipy.sparse
from scipy.special import logit

from labelproof.proof.domains import Ball, Domain, read_domain
from labelproof.proof.exact_arrays import finite_array
from labelproof.proof.sparse_weights import SparseWeight, largest_of_rows, sha256_of

__all__ = [
    "Domain",
    "OutputLayer",
    "Rule",
    "Ties",
    "exact_offset",
    "exact_row",
    "integers",
    "make_layer",
    "require_subnormals",
]

Rule = Literal["sigmoid", "topk", "sparsemax"]
Ties = Literal["open", "inactive"]
Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class OutputLayer:
    """Weights, offset, decision rule and feature domain of a classifier, in exact numbers.

    Attributes
    ----------
    weight
        float64 (n_labels, d), or a `SparseWeight`, of which the indices that proofs use give the same dense blocks.
    offset, offset_error
        float64 (n_labels,) or None; ``offset + offset_error`` is exactly bias − logit(threshold).
    low, high
        float64 (d,) or None: bounds of the features, ±inf where there is none.
    temperature
        The t of the support of sparsemax(t·z).
    theta
        float64 (n_labels,) or None: logits of the thresholds, rounded once, which the offset contains.
    balls
        Parts of the features that are within a ball each, besides their bounds.
    """

    weight: Floats
    offset: Floats | None
    offset_error: Floats | None
    rule: Rule
    ties: Ties
    low: Floats | None
    high: Floats | None
    temperature: float = 1.0
    theta: Floats | None = None
    balls: tuple[Ball, ...] = ()

    @property
    def n_labels(self) -> int:
        """Number of labels."""
        return self.weight.shape[0]

    @property
    def d(self) -> int:
        """Number of features."""
        return self.weight.shape[1]

    @cached_property
    def weight_sha256(self) -> str:
        """Hash of the weights."""
        return sha256_of(self.weight)

    @cached_property
    def largest_weights(self) -> Floats:
        """Largest absolute weight of each label, float64 (n_labels,)."""
        return largest_of_rows(self.stored)

    @property
    def sparse(self) -> SparseWeight | None:
        """The weight if it is a sparse one."""
        stored: Any = self.weight
        return stored if isinstance(stored, SparseWeight) else None

    @property
    def stored(self) -> Any:
        """The weight as an array, or as scipy's CSR array if it is a sparse one."""
        return self.weight if self.sparse is None else self.sparse.rows

    def dense(self) -> "OutputLayer":
        """Return the same layer with its weight in an array."""
        return self if self.sparse is None else replace(self, weight=np.asarray(self.sparse))

    @property
    def has_scale(self) -> bool:
        """Whether the system has the coordinate s."""
        return self.rule == "sparsemax" or not self.is_cone

    @cached_property
    def is_cone(self) -> bool:
        """Whether logits and domain are homogeneous in x: no offset, no ball, and no bound other than 0."""
        bounds = [b for b in (self.low, self.high) if b is not None]
        return (
            self.offset is None and not self.balls and not any(bool(np.any(np.isfinite(b) & (b != 0))) for b in bounds)
        )

    @property
    def has_threshold(self) -> bool:
        """Whether the system has the coordinate τ."""
        return self.rule != "sigmoid"

    @property
    def width(self) -> int:
        """Number of coordinates of v."""
        return self.d + self.has_scale + self.has_threshold

    # Rows are numbered: labels, then scale, sum_le, sum_ge, then the lower and the upper bounds.
    @property
    def scale_row(self) -> int:
        """Number of the row s > 0."""
        return self.n_labels

    @property
    def n_rows(self) -> int:
        """Number of row numbers, used or not."""
        return self.n_labels + 3 + 2 * self.d

    def low_row(self, j: int) -> int:
        """Return the number of the row x_j ≥ low_j·s."""
        return self.n_labels + 3 + j

    def high_row(self, j: int) -> int:
        """Return the number of the row x_j ≤ high_j·s."""
        return self.n_labels + 3 + self.d + j

    def extra_rows(self) -> list[int]:
        """Return the numbers of all rows that are no label."""
        rows = [self.scale_row] if self.has_scale else []
        if self.rule == "sparsemax":
            rows += [self.n_labels + 1, self.n_labels + 2]
        if self.low is not None:
            rows += [self.low_row(int(j)) for j in np.flatnonzero(np.isfinite(self.low))]
        if self.high is not None:
            rows += [self.high_row(int(j)) for j in np.flatnonzero(np.isfinite(self.high))]
        return rows

    def row_name(self, row: int) -> str:
        """Return the name of a row that is no label, as certificates show it."""
        kind = row - self.n_labels
        if kind < 3:
            return ("scale", "sum_le", "sum_ge")[kind]
        return f"low[{kind - 3}]" if kind - 3 < self.d else f"high[{kind - 3 - self.d}]"

    def is_strict(self, row: int, active: npt.NDArray[np.int64]) -> bool:
        """Return whether a row's inequality is strict for this label set."""
        if row >= self.n_labels:
            return row == self.scale_row
        return self.ties == "open" or row in active


def exact_row(layer: OutputLayer, row: int, active: npt.NDArray[np.int64]) -> list[Fraction]:
    """Return a row's exact coefficients over v = (x, s, τ); the row's inequality is coefficients·v ≥ 0 or > 0."""
    d, kind = layer.d, row - layer.n_labels
    if kind < 0:
        sign = 1 if row in active else -1
        return [sign * c for c in _label_coefficients(layer, row)]
    coefficients = [Fraction(0)] * layer.width
    if kind == 0:
        coefficients[d] = Fraction(1)
    elif kind in (1, 2):
        for i in active:
            coefficients = [a + b for a, b in zip(coefficients, _label_coefficients(layer, int(i)), strict=True)]
        coefficients = [Fraction(layer.temperature) * c for c in coefficients]
        coefficients[d] -= 1
        if kind == 1:
            coefficients = [-c for c in coefficients]
    else:
        j = (kind - 3) % d
        sign, bounds = (1, layer.low) if kind - 3 < d else (-1, layer.high)
        if bounds is None or not np.isfinite(bounds[j]):
            raise ValueError(f"row {layer.row_name(row)} must be a finite bound of the domain, got none")
        coefficients[j] = Fraction(sign)
        if layer.has_scale:
            coefficients[d] = -sign * Fraction(float(bounds[j]))
    return coefficients


def _label_coefficients(layer: OutputLayer, i: int) -> list[Fraction]:
    coefficients = [Fraction(w) for w in layer.weight[i].tolist()]
    if layer.has_scale:
        coefficients.append(exact_offset(layer, i))
    if layer.has_threshold:
        coefficients.append(Fraction(-1))
    return coefficients


def exact_offset(layer: OutputLayer, i: int) -> Fraction:
    """Return bias − logit(threshold) of label i."""
    if layer.offset is None or layer.offset_error is None:
        return Fraction(0)
    return Fraction(float(layer.offset[i])) + Fraction(float(layer.offset_error[i]))


def integers(numbers: Sequence[Fraction | float]) -> tuple[list[int], int]:
    """Return integers and a positive denominator such that number = integer / denominator, exactly.

    Examples
    --------
    >>> integers([0.75, -2.0, 0.0])
    ([3, -8, 0], 4)
    """
    ratios = [number.as_integer_ratio() for number in numbers]
    denominator = _least_common_multiple([q for _, q in ratios])
    return [p * (denominator // q) for p, q in ratios], denominator


def _least_common_multiple(denominators: list[int]) -> int:
    largest = max(denominators, default=1)
    if largest & (largest - 1) == 0 and all(q & (q - 1) == 0 for q in denominators):
        return largest  # powers of two, as for all floats
    return int(np.lcm.reduce(np.array(denominators, dtype=object)))


def make_layer(
    weight: Any,
    *,
    bias: Any = None,
    thresholds: Any = None,
    rule: Rule = "sigmoid",
    ties: Ties = "open",
    domain: Domain = None,
    temperature: float = 1.0,
    theta: Any = None,
) -> OutputLayer:
    """Check the arguments of `verify` that describe the classifier and hold them exactly.

    ``theta``, the logits of thresholds as a layer keeps them, can take the place of thresholds. Of scipy's sparse
    matrices a dense copy is made; a `SparseWeight` is kept.
    """
    require_subnormals()
    exact_weight = _exact_weight(weight)
    if exact_weight.ndim != 2 or 0 in exact_weight.shape:
        raise ValueError(f"weight must have shape (n_labels, d) with n_labels, d ≥ 1, got {exact_weight.shape}")
    n_labels, d = exact_weight.shape
    if not isinstance(rule, str) or rule not in ("sigmoid", "topk", "sparsemax"):
        raise ValueError(f"rule must be 'sigmoid', 'topk' or 'sparsemax', got {rule!r}")
    if ties not in ("open", "inactive"):
        raise ValueError(f"ties must be 'open' or 'inactive', got {ties!r}")
    if rule != "sigmoid" and not (thresholds is None and theta is None):
        raise ValueError(f"thresholds go with rule='sigmoid' only, got rule={rule!r}")
    if not (np.isfinite(temperature) and temperature > 0):
        raise ValueError(f"temperature must be a positive number, got {temperature}")
    if thresholds is not None:
        theta = _logits("thresholds", thresholds, n_labels)
    elif theta is not None:
        theta = _per_label("theta", theta, n_labels)
    offset, offset_error = _offset(bias, theta, n_labels)
    low, high, balls = read_domain(domain, d)
    stored: Any = exact_weight if isinstance(exact_weight, SparseWeight) else np.ascontiguousarray(exact_weight)
    numbers = stored, offset, offset_error
    return OutputLayer(*numbers, rule, ties, low, high, float(temperature), theta, balls)


def _exact_weight(weight: Any) -> Any:
    """Return an array of the same numbers; a `SparseWeight` has been checked, and stays what it is."""
    if isinstance(weight, SparseWeight):
        return weight
    return np.asarray(SparseWeight(weight)) if scipy.sparse.issparse(weight) else finite_array("weight", weight)


def require_subnormals() -> None:
    """Refuse to work where the processor takes numbers below 2**-1022 for 0, since proofs take them as they are."""
    smallest = np.array([2.0**-1022]) * np.array([0.5])
    if smallest[0] == 0:
        raise RuntimeError(
            "this thread flushes subnormal numbers to zero (torch.set_flush_denormal(True)?); switch that off first"
        )


def _per_label(name: str, values: Any, n_labels: int) -> Floats:
    array = finite_array(name, values)
    if array.shape != (n_labels,):
        raise ValueError(f"{name} must have shape ({n_labels},) to match the weight's rows, got {array.shape}")
    return array


def _offset(bias: Any, theta: Floats | None, n_labels: int) -> tuple[Floats | None, Floats | None]:
    if bias is None and theta is None:
        return None, None
    b = np.zeros(n_labels) if bias is None else _per_label("bias", bias, n_labels)
    theta = np.zeros(n_labels) if theta is None else theta
    with np.errstate(over="ignore"):
        total = b - theta  # with the rounding error of the difference, after Knuth
    if not np.isfinite(total).all():
        raise ValueError("bias minus the logits of thresholds must be finite, got an overflow")
    back = total - b
    return total, (b - (total - back)) - (theta + back)


def _logits(name: str, thresholds: Any, n_labels: int) -> Floats:
    t = finite_array(name, thresholds)
    if t.shape not in ((), (n_labels,)):
        raise ValueError(f"{name} must be one number or have shape ({n_labels},), got {t.shape}")
    if not ((t > 0) & (t < 1)).all():
        wrong = t[~((t > 0) & (t < 1))].flat[0]
        raise ValueError(f"{name} must be probabilities strictly between 0 and 1, got {wrong}")
    return np.array(np.broadcast_to(logit(t), (n_labels,)))
