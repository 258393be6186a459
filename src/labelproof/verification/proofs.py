"""Decide whether a certificate proves its verdict, from the weights, the rule and the certificate alone.

This module and `regions` are the trusted code: nothing here relies on how a certificate was found.

Two kinds of evidence are checked. A *witness* is an input x; its logits are computed in floating point with a
rigorous error bound, and exactly, in integers, for every label whose sign the bound leaves open. A *conflict* is a
list of rows of `regions` whose only linear dependence has positive multipliers: no v satisfies all of them, for the
weighted sum of the rows would be 0 > 0. The dependence is established by a float solve with a rigorous error bound,
or by an exact one.

The bounds hold for any order of summation, with or without fused multiply-add, and assume that numpy's BLAS sums
ordinary products (no Strassen-like scheme). They are rounded up by factors of 1.01, far more than the rounding in
their own evaluation.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import flint
import numpy as np
import numpy.typing as npt

from labelproof.verification.labels import LabelSets
from labelproof.verification.regions import OutputLayer, exact_offset, exact_row, integers

__all__ = [
    "UNIT",
    "FloatRows",
    "Point",
    "Witness",
    "bounded_logits",
    "conflict_faults",
    "exact_multipliers",
    "float_rows",
    "scaled_point",
    "times_power_of_two",
    "witness_faults",
]

Floats = npt.NDArray[np.float64]
Indices = npt.NDArray[np.int64]
Witness = Floats | tuple[Fraction, ...]
UNIT = 2.0**-53  # rounding to nearest changes a number by at most this share of it
TINY = 2.0**-1073  # more than what underflow can change one product


@dataclass(frozen=True, eq=False)
class FloatRows:
    """Label rows (w, offset, offset_error) scaled by powers of two, ready for products with bounded error.

    ``rows`` has norms ≤ ``norms`` ≤ 1. Under the sigmoid rule each row has its own scale, since only signs matter;
    under the others all rows share the scale ``2**exponent``. Rows in ``inexact`` lost bits by underflow.
    """

    rows: Floats  # (n_labels, d) or (n_labels, d + 2)
    norms: Floats  # (n_labels,)
    inexact: Indices
    exponent: int


def float_rows(layer: OutputLayer) -> FloatRows:
    """Scale the label rows of a layer for `witness_faults`."""
    rows = layer.weight
    if layer.offset is not None and layer.offset_error is not None:
        rows = np.column_stack([rows, layer.offset, layer.offset_error])
    exponents = _exponents(rows)
    if layer.rule != "sigmoid":
        exponents[:] = exponents.max()
    scaled = times_power_of_two(rows, -exponents[:, None])
    inexact = np.flatnonzero((times_power_of_two(scaled, exponents[:, None]) != rows).any(axis=1))
    norms = np.linalg.norm(scaled, axis=1) * (1 + 1.01 * (rows.shape[1] + 4) * UNIT) + rows.shape[1] * 2.0**-500
    return FloatRows(scaled, norms, inexact, int(exponents.max()))


def times_power_of_two(numbers: Floats, exponents: npt.NDArray[np.int64]) -> Floats:
    """Return numbers · 2**exponents, rounded only where the result is subnormal; faster than `numpy.ldexp`."""
    if exponents.size and np.abs(exponents).max() < 1000:
        return numbers * np.ldexp(1.0, exponents)
    return np.ldexp(numbers, exponents)


def _exponents(rows: Floats) -> npt.NDArray[np.int64]:
    """Return e for each row such that the row times 2**-e has a norm of at most 1."""
    largest = np.frexp(np.abs(rows).max(axis=1))[1].astype(np.int64)  # entries < 2**largest
    spread = int(np.ceil(np.log2(rows.shape[1]) / 2)) + 1  # norm ≤ largest entry · √width
    return largest + spread


def witness_faults(
    layer: OutputLayer, floats: FloatRows, sets: LabelSets, witnesses: Sequence[Witness]
) -> list[str | None]:
    """Return, for each label set, None if its witness proves it argmaxable, else what is wrong with it."""
    faults = [_domain_fault(layer, x) for x in witnesses]
    sound = [i for i, fault in enumerate(faults) if fault is None]
    if not sound:
        return faults
    points = [scaled_point(layer, witnesses[i]) for i in sound]
    logits = np.array([point.v for point in points]) @ floats.rows.T  # (n_sets, n_labels)
    check = {"sigmoid": _sigmoid_fault, "topk": _topk_fault, "sparsemax": _sparsemax_fault}[layer.rule]
    for i, point, z in zip(sound, points, logits, strict=True):
        faults[i] = check(layer, sets[i], witnesses[i], bounded_logits(floats, point, z))
    return faults


def _domain_fault(layer: OutputLayer, x: Witness) -> str | None:
    if len(x) != layer.d:
        return f"expected a witness of {layer.d} features, got {len(x)}"
    values: npt.NDArray[Any] = np.array(x, dtype=object) if isinstance(x, tuple) else x
    if not isinstance(x, tuple) and not np.isfinite(x).all():
        return "expected a finite witness, got NaN or infinity"
    for bounds, sign, word in ((layer.low, 1, "≥"), (layer.high, -1, "≤")):
        if bounds is None:
            continue
        outside = np.flatnonzero(sign * values < sign * bounds)
        if len(outside):
            j = int(outside[0])
            return f"feature {j}: expected a value {word} {bounds[j]}, got {_show(Fraction(values[j]))}"
    return None


@dataclass(frozen=True, eq=False)
class Point:
    """The vector v = (x, 1, 1), or x without an offset, times 2**-exponent, each entry within a unit."""

    v: Floats
    exponent: int
    within_a_unit: bool


def scaled_point(layer: OutputLayer, x: Witness) -> Point:
    """Scale a witness for `bounded_logits`."""
    largest = max((abs(c) for c in x), default=0) if isinstance(x, tuple) else float(np.abs(x).max())
    exponent = _binary_exponent(largest if layer.offset is None else max(largest, 1))
    if isinstance(x, tuple):
        v = np.array([float(c / Fraction(2) ** exponent) for c in x])
        within_a_unit = True  # or within TINY, where it underflows
    else:
        v = np.ldexp(x, -exponent)
        within_a_unit = bool((np.ldexp(v, exponent) == x).all())
    if layer.offset is not None:
        v = np.append(v, [np.ldexp(1.0, -exponent)] * 2)
        within_a_unit = within_a_unit and exponent < 1000
    return Point(v, exponent, within_a_unit)


def _binary_exponent(number: Fraction | float) -> int:
    """Return e with number ≤ 2**e, close to the least."""
    p, q = number.as_integer_ratio()
    return p.bit_length() - q.bit_length() + 1 if p else 0


@dataclass(frozen=True, eq=False)
class Logits:
    """The logits times 2**-exponent (sigmoid: times a power of two for each label), each off by at most its slack."""

    z: Floats
    slack: Floats
    exponent: int


def bounded_logits(floats: FloatRows, point: Point, z: Floats) -> Logits:
    """Attach to the product z of the rows with a point a bound on its error."""
    width = len(point.v)
    relative = 1.01 * (width + 8) * UNIT * float(np.linalg.norm(point.v))
    slack = relative * floats.norms + width * TINY
    if not point.within_a_unit:
        slack[:] = np.inf
    slack[floats.inexact] = np.inf
    return Logits(z, slack, point.exponent + floats.exponent)


def _sigmoid_fault(layer: OutputLayer, active: Indices, x: Witness, logits: Logits) -> str | None:
    margins = -logits.z
    margins[active] *= -1
    open_rows = np.flatnonzero(~(margins > logits.slack))
    wanted = set(active.tolist())
    for i, logit in zip(open_rows.tolist(), _exact_logits(layer, open_rows, x), strict=True):
        if i in wanted and not logit > 0:
            return f"label {i}: expected a positive logit, got {_show(logit)}"
        if i not in wanted and not (logit < 0 or (layer.ties == "inactive" and logit == 0)):
            return f"label {i}: expected a negative logit, got {_show(logit)}"
    return None


def _topk_fault(layer: OutputLayer, active: Indices, x: Witness, logits: Logits) -> str | None:
    inactive = np.setdiff1d(np.arange(layer.n_labels), active, assume_unique=True)
    if not len(active) or not len(inactive):
        return None  # any τ below, or above, all logits will do
    least, most = (logits.z - logits.slack)[active], (logits.z + logits.slack)[inactive]
    low_actives, high_inactives = active[~(least > most.max())], inactive[~(most < least.min())]
    if not len(low_actives) or not len(high_inactives):
        return None
    actives = zip(_exact_logits(layer, low_actives, x), low_actives.tolist(), strict=True)
    inactives = zip(_exact_logits(layer, high_inactives, x), high_inactives.tolist(), strict=True)
    (low, i), (high, j) = min(actives), max(inactives)
    if low > high:
        return None
    return f"label {i}: expected a logit above label {j}'s {_show(high)}, got {_show(low)}"


def _sparsemax_fault(layer: OutputLayer, active: Indices, x: Witness, logits: Logits) -> str | None:
    if not len(active):
        return "expected a non-empty support, got the empty set"
    actives = _exact_logits(layer, active, x)
    tau = (sum(actives, Fraction(0)) - 1 / Fraction(layer.temperature)) / len(active)
    for i, logit in zip(active.tolist(), actives, strict=True):
        if not logit > tau:
            return f"label {i}: expected a logit above the threshold {_show(tau)}, got {_show(logit)}"
    scaled = tau / Fraction(2) ** logits.exponent  # the logits of this scale are far below 2**100
    cut = float(min(max(scaled, Fraction(-(2**100))), Fraction(2**100)))
    certain = logits.z + logits.slack < cut - 4 * UNIT * abs(cut) - TINY
    certain[active] = True
    open_rows = np.flatnonzero(~certain)
    for i, logit in zip(open_rows.tolist(), _exact_logits(layer, open_rows, x), strict=True):
        if not (logit < tau or (layer.ties == "inactive" and logit == tau)):
            return f"label {i}: expected a logit below the threshold {_show(tau)}, got {_show(logit)}"
    return None


def _exact_logits(layer: OutputLayer, labels: Indices, x: Witness) -> list[Fraction]:
    if not len(labels):
        return []
    numerators, x_denominator = integers(x if isinstance(x, tuple) else x.tolist())
    logits = []
    for i in labels.tolist():
        row, row_denominator = integers(layer.weight[i].tolist())
        product = sum(a * b for a, b in zip(row, numerators, strict=True))
        logits.append(Fraction(product, row_denominator * x_denominator) + exact_offset(layer, i))
    return logits


def _show(number: Fraction) -> str:
    if number.denominator == 1 and abs(number) < 2**53:
        return str(number)
    try:
        shown = float(number)
    except OverflowError:
        return "a number beyond 1e308" if number > 0 else "a number below -1e308"
    if shown == 0:
        return "a number below 1e-323" if number > 0 else "a number above -1e-323"
    return f"{shown:.6g}"


def conflict_faults(layer: OutputLayer, sets: LabelSets, conflicts: Sequence[Indices]) -> list[str | None]:
    """Return, for each label set, None if its conflict proves it unargmaxable, else what is wrong with it."""
    faults = [_form_fault(layer, active, rows) for active, rows in zip(sets, conflicts, strict=True)]
    by_size: dict[int, list[int]] = {}
    for i, rows in enumerate(conflicts):
        if faults[i] is None:
            by_size.setdefault(len(rows), []).append(i)
    proven: set[int] = set()
    for size, which in by_size.items():
        at_once = 1 + 2_000_000 // size**2  # keeps the matrices of a stack to some 16 MB
        for start in range(0, len(which), at_once):
            some = which[start : start + at_once]
            systems = _float_systems(layer, sets.take(some), np.array([conflicts[i] for i in some]))
            fit = [(i, system) for i, system in zip(some, systems, strict=True) if system.shape[1] == size - 1]
            if fit:
                certain = _positive_dependence(np.stack([system for _, system in fit]))
                proven |= {i for (i, _), ok in zip(fit, certain, strict=True) if ok}
    for i, rows in enumerate(conflicts):
        if faults[i] is None and i not in proven and exact_multipliers(layer, sets[i], rows) is None:
            faults[i] = "expected rows with one linear dependence, of positive multipliers, got none"
    return faults


def _form_fault(layer: OutputLayer, active: Indices, rows: Indices) -> str | None:
    numbers = rows.tolist()
    if not 1 <= len(numbers) <= layer.width + 1:
        return f"expected a conflict of 1 to {layer.width + 1} rows, got {len(numbers)}"
    extra = set(rows[(rows < 0) | (rows >= layer.n_labels)].tolist())
    if (np.diff(rows) <= 0).any() or (extra and not extra <= set(layer.extra_rows())):
        return f"expected a conflict of different rows of the system in ascending order, got {numbers}"
    if not any(layer.is_strict(row, active) for row in numbers):
        return "expected a conflict with a strict inequality, got only weak ones"
    return None


def _float_systems(layer: OutputLayer, sets: LabelSets, conflicts: Indices) -> list[Floats]:
    """Return the rows of conflicts of one size, each times a power of two, as floats within a unit of the exact ones.

    They are NaN where that cannot be. Columns that are zero in all rows are left out: they ask nothing of multipliers.
    """
    d, n = layer.d, layer.n_labels
    floats = np.zeros((*conflicts.shape, layer.width))
    labels = np.minimum(conflicts, n - 1)
    floats[..., :d] = layer.weight[labels]
    if layer.offset is not None:
        floats[..., d] = layer.offset[labels]
    if layer.has_threshold:
        floats[..., -1] = -1.0
    is_active = np.zeros(n, dtype=np.bool_)
    for system, rows, active in zip(floats, labels, sets, strict=True):
        is_active[active] = True
        system *= np.where(is_active[rows], 1.0, -1.0)[:, None]
        is_active[active] = False
    for i, place in np.argwhere(conflicts >= n).tolist():
        floats[i, place] = _extra_row(layer, int(conflicts[i, place]) - n)
    flat = floats.reshape(-1, layer.width)
    exponents = _exponents(flat)[:, None]
    scaled = times_power_of_two(flat, -exponents)
    exact = times_power_of_two(scaled, exponents) == flat
    systems = np.where(exact, scaled, np.nan).reshape(floats.shape)
    return [system[:, raw.any(axis=0)] for system, raw in zip(systems, floats, strict=True)]


def _extra_row(layer: OutputLayer, kind: int) -> Floats:
    """Return a row that is no label, by its number after the labels; NaN where it is no row of floats."""
    d, row = layer.d, np.zeros(layer.width)
    if kind < 3:
        row[d] = 1.0 if kind == 0 else np.nan  # the sum of logits is no float
        return row
    sign, bounds = (1.0, layer.low) if kind - 3 < d else (-1.0, layer.high)
    j = (kind - 3) % d
    row[j] = sign
    if layer.has_scale and bounds is not None:
        row[d] = -sign * bounds[j]
    return row


def _positive_dependence(stack: Floats) -> npt.NDArray[np.bool_]:
    """Return where the rows of a (width + 1, width) matrix have one dependence, of positive multipliers, for certain.

    The multipliers, normalised to the sum 1, solve K λ = e with K = [rowsᵀ; 1ᵀ] and e the last unit vector. With
    R ≈ K⁻¹ and α ≥ ‖I − R K‖, α < 1, K is regular and |λ − λ̃| ≤ c + α/(1 − α)·max(c) for c ≥ |R (e − K λ̃)|.
    """
    count, size, _ = stack.shape
    K = np.concatenate([stack.transpose(0, 2, 1), np.ones((count, 1, size))], axis=1)
    usable = np.isfinite(K).all(axis=(1, 2))
    K[~usable] = np.eye(size)
    with np.errstate(all="ignore"):
        R = _inverse(K)
        unit = 1.01 * (size + 8) * UNIT  # rounding of a product of this size, and of the stored entries
        E = np.eye(size) - R @ K
        row_sums = np.abs(K).sum(axis=2)[..., None]
        spread = np.abs(E).sum(axis=2) + unit * (np.abs(R) @ row_sums)[..., 0] + 1e-300
        alpha = 1.01 * spread.max(axis=1)[:, None]
        guess = R[:, :, -1:]
        e = np.zeros((size, 1))
        e[-1] = 1.0
        guess = guess + R @ (e - K @ guess)
        residual = np.abs(e - K @ guess) + unit * (np.abs(K) @ np.abs(guess) + e) + 1e-300
        c = 1.01 * (np.abs(R) @ residual)[..., 0]
        error = c + 1.01 * alpha / (1 - alpha) * c.max(axis=1, keepdims=True)
        positive = (guess[..., 0] - 1.01 * error > 0).all(axis=1)
    return usable & (alpha[:, 0] < 0.5) & positive


def _inverse(K: Floats) -> Floats:
    """Invert each matrix of a stack; singular ones give NaN."""
    try:
        return np.linalg.inv(K).astype(np.float64, copy=False)
    except np.linalg.LinAlgError:
        if len(K) == 1:
            return np.full_like(K, np.nan)
        half = len(K) // 2
        return np.concatenate([_inverse(K[:half]), _inverse(K[half:])])


def exact_multipliers(layer: OutputLayer, active: Indices, rows: Indices) -> list[Fraction] | None:
    """Return the positive multipliers, unique up to scale, of a conflict's rows, or None if there are none."""
    scaled = [integers(exact_row(layer, row, active)) for row in rows.tolist()]
    columns = flint.fmpz_mat([list(column) for column in zip(*(row for row, _ in scaled), strict=True)])
    dependence = _only_dependence(columns)
    if dependence is None or not (min(dependence) > 0 or max(dependence) < 0):
        return None
    return [abs(value) * denominator for value, (_, denominator) in zip(dependence, scaled, strict=True)]


def _only_dependence(columns: flint.fmpz_mat) -> list[Fraction] | None:
    """Return the vector that spans the null space, or None if that has not exactly one dimension."""
    height, width = columns.nrows(), columns.ncols()
    if width == height + 1:
        table = columns.tolist()
        head = flint.fmpz_mat([row[:-1] for row in table])
        last = flint.fmpz_mat([[-row[-1]] for row in table])
        try:
            solution = head.solve(last)
        except ZeroDivisionError:
            return None  # either a second dependence, or one in which the last row has no part
        return [_fraction(solution[i, 0]) for i in range(height)] + [Fraction(1)]
    null_space, nullity = columns.nullspace()
    if nullity != 1:
        return None
    return [Fraction(int(null_space[i, 0])) for i in range(width)]


def _fraction(number: flint.fmpq) -> Fraction:
    return Fraction(int(number.p), int(number.q))
