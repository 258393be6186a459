"""Does a conflict prove that its label set can never be predicted?

Trusted code: the answer rests on the weights, the rule and the conflict alone. A *conflict* is a list of rows of
`regions` whose only linear dependence has positive multipliers: no v satisfies all of them, for the weighted sum of the
rows would be 0 > 0. The dependence is established by a float solve with a rigorous error bound, or by an exact one.
More rows than there are columns and one have many dependences, of which `many_rows` judges one.
"""

from collections.abc import Callable, Sequence
from fractions import Fraction
from operator import lt

import flint
import numpy as np
import numpy.typing as npt
from scipy.linalg.lapack import dpotrf, dpotrs

from labelproof.proof.labels import LabelSets
from labelproof.proof.many_rows import is_surely_positive, nearest_dependence
from labelproof.proof.regions import OutputLayer, exact_row, integers
from labelproof.proof.rounding import FloatRows, relative_error, row_exponents, times_power_of_two

__all__ = ["conflict_faults", "exact_multipliers"]

Floats = npt.NDArray[np.float64]
Indices = npt.NDArray[np.int64]
PANEL = 64  # columns of a triangle that are multiplied at a time, without the zeros beside it
ROWS_A_COLUMN = 4  # that a conflict may have
NUMBERS_AT_ONCE = 2**15  # that are scaled together: they stay in the processor's cache


def conflict_faults(
    layer: OutputLayer,
    sets: LabelSets,
    conflicts: Sequence[Indices],
    may_solve: Callable[[int], bool] = lambda _: True,
    floats: FloatRows | None = None,
) -> list[str | None]:
    """Return, for each label set, None if its conflict proves it unargmaxable, else what is wrong with it.

    Sets that claim the same of the same rows are judged once. Where floats do not tell, ``may_solve`` is asked whether
    there is time for an exact solve with so many rows; without it nothing is proven. The `float_rows` of the layer save
    time where they are known.
    """
    if len({rows.tobytes() for rows in conflicts}) == len(conflicts):
        return _faults(layer, sets, conflicts, may_solve, floats)
    claims = _claims(layer, sets, conflicts)
    first = {claim: i for i, claim in reversed(list(enumerate(claims)))}
    which = list(first.values())
    faults = _faults(layer, sets.take(which), [conflicts[i] for i in which], may_solve, floats)
    judged = dict(zip(first, faults, strict=True))
    return [judged[claim] for claim in claims]


def _claims(layer: OutputLayer, sets: LabelSets, conflicts: Sequence[Indices]) -> list[tuple[bytes, bytes, bytes]]:
    """Return what each conflict depends on: its rows, which of them are active, and for sums all that are."""
    claims, is_active = [], np.zeros(layer.n_labels, np.bool_)
    for active, rows in zip(sets, conflicts, strict=True):
        is_active[active] = True
        signs = is_active[np.clip(rows, 0, layer.n_labels - 1).astype(np.int64)]
        is_active[active] = False
        has_sum = layer.rule == "sparsemax" and bool((rows > layer.scale_row).any())
        claims.append((rows.tobytes(), signs.tobytes(), active.tobytes() if has_sum else b""))
    return claims


def _faults(
    layer: OutputLayer,
    sets: LabelSets,
    conflicts: Sequence[Indices],
    may_solve: Callable[[int], bool],
    floats: FloatRows | None,
) -> list[str | None]:
    faults = [_form_fault(layer, active, rows) for active, rows in zip(sets, conflicts, strict=True)]
    by_size: dict[int, list[int]] = {}
    for i, rows in enumerate(conflicts):
        if faults[i] is None:
            by_size.setdefault(len(rows), []).append(i)
    proven: set[int] = set()
    for size, which in by_size.items():
        at_once = 1 + 50_000 // size**2  # keeps the matrices of a stack in the processor's cache
        for start in range(0, len(which), at_once):
            some = which[start : start + at_once]
            systems = _float_systems(layer, sets.take(some), np.array([conflicts[i] for i in some]), floats)
            if size > layer.width + 1:
                exact = zip(some, systems, strict=True) if _has_exact_offsets(layer) else ()
                proven |= {i for i, system in exact if is_surely_positive(system)}
                continue
            fit = [(i, system) for i, system in zip(some, systems, strict=True) if system.shape[1] == size - 1]
            if fit:
                certain = _positive_dependence(np.stack([system for _, system in fit]))
                proven |= {i for (i, _), ok in zip(fit, certain, strict=True) if ok}
    for i, rows in enumerate(conflicts):
        if faults[i] is not None or i in proven:
            continue
        if not may_solve(len(rows)):
            faults[i] = "expected rows whose dependence floats can tell, got others, and no time for an exact solve"
        elif exact_multipliers(layer, sets[i], rows) is None:
            kind = "one linear dependence" if len(rows) <= layer.width + 1 else "a nearest dependence"
            faults[i] = f"expected rows with {kind}, of positive multipliers, got none"
    return faults


def _form_fault(layer: OutputLayer, active: Indices, rows: Indices) -> str | None:
    numbers = rows.tolist()
    most = ROWS_A_COLUMN * (layer.d + 3)
    if not 1 <= len(numbers) <= most:
        return f"expected a conflict of 1 to {most} rows, got {len(numbers)}"
    n, ascending = layer.n_labels, all(map(lt, numbers, numbers[1:]))
    extra = {number for number in numbers if number >= n} if numbers[-1] >= n else set()
    if not ascending or numbers[0] < 0 or (extra and not extra <= set(layer.extra_rows())):
        return f"expected a conflict of different rows of the system in ascending order, got {numbers}"
    if not any(layer.is_strict(row, active) for row in numbers):
        return "expected a conflict with a strict inequality, got only weak ones"
    return None


def _float_systems(
    layer: OutputLayer, sets: LabelSets, conflicts: Indices, floats: FloatRows | None = None
) -> list[Floats]:
    """Return the rows of conflicts of one size, each times a power of two, as floats within a unit of the exact ones.

    They are NaN where that cannot be. Columns that are zero in all rows are left out: they ask nothing of multipliers.
    """
    width = layer.width
    signs = np.where(_are_active(sets, conflicts), 1.0, -1.0)
    if floats is not None and _has_all(floats, layer, conflicts):
        rows = floats.rows.take(conflicts, axis=0)[..., :width]
        rows *= signs[..., None]
    else:
        rows = np.empty((*conflicts.shape, width))
        flat, step = rows.reshape(-1, width), max(16, NUMBERS_AT_ONCE // width)
        for start in range(0, len(flat), step):
            part = slice(start, start + step)
            flat[part] = _scaled_rows(layer, conflicts.reshape(-1)[part], signs.reshape(-1, 1)[part])
    if (rows[:, 0] != 0).all():
        return list(rows)  # one row tells
    used = (rows != 0).any(axis=1)
    systems = zip(rows, used, used.all(axis=1).tolist(), strict=True)
    return [system if all_used else system[:, columns] for system, columns, all_used in systems]


def _are_active(sets: LabelSets, rows: Indices) -> npt.NDArray[np.bool_]:
    """Return which rows (n_sets, size) are those of labels that are active in their label set, if they are labels'."""
    which, n = np.arange(len(sets)), sets.n_labels
    known = np.repeat(which, np.diff(sets.indptr)) * n + sets.indices  # ascending: each label set has n numbers
    asked = which[:, None] * n + np.minimum(rows, n - 1)
    return np.append(known, -1)[np.searchsorted(known, asked)] == asked


def _has_all(floats: FloatRows, layer: OutputLayer, conflicts: Indices) -> bool:
    """Return whether all rows of these conflicts are labels' that `float_rows` has scaled one by one, exactly."""
    is_exact = layer.rule == "sigmoid" and layer.sparse is None and not len(floats.inexact)
    return is_exact and bool((conflicts < layer.n_labels).all())


def _scaled_rows(layer: OutputLayer, numbers: Indices, signs: Floats) -> Floats:
    """Return rows of the system, labels with signs, each times a power of two; NaN for numbers that this rounds."""
    d, n = layer.d, layer.n_labels
    labels = np.minimum(numbers, n - 1)
    rows = np.zeros((len(numbers), layer.width))
    rows[:, :d] = layer.weight[labels]
    if layer.offset is not None:
        rows[:, d] = layer.offset[labels]
    if layer.has_threshold:
        rows[:, -1] = -1.0
    rows *= signs
    for place in np.flatnonzero(numbers >= n).tolist():
        rows[place] = _extra_row(layer, int(numbers[place]) - n)
    exponents = row_exponents(rows)[:, None]
    scaled = times_power_of_two(rows, -exponents)
    np.copyto(scaled, np.nan, where=times_power_of_two(scaled, exponents) != rows)
    return scaled


def _has_exact_offsets(layer: OutputLayer) -> bool:
    """Return whether floats hold every b − θ, so that rounding cannot change the power of two that scales a row."""
    return layer.offset_error is None or not layer.offset_error.any()


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

    The multipliers, normalised to some sum, solve K λ = e with K = [rowsᵀ; c 1ᵀ] and e the last unit vector.
    """
    count, size, _ = stack.shape
    ones = np.full((count, size, 1), 2.0 ** -(size.bit_length() // 2))  # about as long as the other rows of K
    K = np.concatenate([stack, ones], axis=2).transpose(0, 2, 1)
    usable = np.isfinite(K.sum(axis=(1, 2)))  # of numbers up to 1
    K[~usable] = np.eye(size)
    certain = usable & _surely_positive(K)
    left = np.flatnonzero(usable & ~certain)
    if len(left):
        guess, error, alpha = _bounded_multipliers(K[left])
        certain[left] = (alpha < 0.5) & (guess > error).all(axis=1)
    return certain


def _surely_positive(K: Floats) -> npt.NDArray[np.bool_]:
    """Return where λ = K⁻¹ e > 0 can be told at half the cost of an inverse: ‖λ − λ̃‖ ≤ ‖e − K λ̃‖/σ for any λ̃."""
    size = K.shape[1]
    e = np.eye(size)[:, -1:]
    unit = relative_error(size)  # of a product of this size, and of the stored entries
    with np.errstate(all="ignore"):
        square, L = _least_square(K)
        guess = _solutions(K, L, e)
        residual = np.abs(e - K @ guess) + unit * (np.abs(K) @ np.abs(guess) + e)  # far above what underflow can do
        away = 1.01 * np.linalg.norm(residual, axis=(1, 2))
        return away < np.sqrt(square) * guess.min(axis=(1, 2))  # NaN where the bound is negative


def _least_square(K: Floats) -> tuple[Floats, Floats]:
    """Return a lower bound of σ², the square of the least singular value, for each matrix of a stack; and L.

    For any L and s, σ² ≥ s − ‖K Kᵀ − s I − L Lᵀ‖; so K is regular where that is positive. The difference is symmetric,
    so what is below its diagonal counts twice. Each of its numbers is a sum of products, whose rounding is a share of
    their absolute values; over all of them that is at most a share of the sum of all squares in K and in L. All this
    holds for every K whose entries are within a unit of the stored ones.
    """
    size = K.shape[1]
    unit = 2 * relative_error(size)  # of twice as many products
    shifted = K @ K.transpose(0, 2, 1)
    total = shifted.trace(axis1=1, axis2=2)
    s = 4 * unit * total
    np.einsum("kii->ki", shifted)[:] -= s[:, None]
    L = _factor(shifted)
    square = np.zeros(len(K))
    for start in range(0, size, PANEL):
        stop = start + PANEL
        rest = shifted[:, start:, start:stop] - L[:, start:, :stop] @ L[:, start:stop, :stop].transpose(0, 2, 1)
        square += _squares(rest) + _squares(rest[:, PANEL:])
    return s - 1.01 * (np.sqrt(square) + unit * (total + _squares(L))), L


def _squares(matrices: Floats) -> Floats:
    """Return the sum of the squares in each matrix of a stack."""
    return np.einsum("kij,kij->k", matrices, matrices)


def _solutions(K: Floats, L: Floats, e: Floats) -> Floats:
    """Return a guess of K⁻¹ e for each matrix of a stack, given L Lᵀ ≈ K Kᵀ."""
    guess = np.zeros((len(K), *e.shape))
    for _ in range(2):
        rest = e - K @ guess
        guess += K.transpose(0, 2, 1) @ [dpotrs(factor.T, one, lower=0)[0] for factor, one in zip(L, rest, strict=True)]
    return guess


def _bounded_multipliers(K: Floats) -> tuple[Floats, Floats, Floats]:
    """Return λ̃ ≈ K⁻¹ e for each matrix of a stack, a bound on |λ − λ̃| that holds where α < 1, and α.

    With R ≈ K⁻¹ and α ≥ ‖I − R K‖, α < 1, K is regular and |λ − λ̃| ≤ c + α/(1 − α)·max(c) for c ≥ |R (e − K λ̃)|.
    All this holds for every K whose entries are within a unit of the stored ones.
    """
    size = K.shape[1]
    e = np.eye(size)[:, -1:]
    unit = relative_error(size)  # of a product of this size, and of the stored entries
    with np.errstate(all="ignore"):
        R = _inverse(K)
        row_sums = np.abs(K).sum(axis=2, keepdims=True)
        spread = np.abs(np.eye(size) - R @ K).sum(axis=2) + unit * (np.abs(R) @ row_sums)[..., 0]
        alpha = 1.01 * spread.max(axis=1)
        guess = R @ e
        guess = guess + R @ (e - K @ guess)
        residual = np.abs(e - K @ guess) + unit * (np.abs(K) @ np.abs(guess) + e) + 1e-300  # where products underflow
        c = 1.01 * (np.abs(R) @ residual)[..., 0]
        error = c + 1.01 * (alpha / (1 - alpha) * c.max(axis=1))[:, None]
    return guess[..., 0], 1.01 * error, alpha


def _inverse(K: Floats) -> Floats:
    """Invert each matrix of a stack; singular ones give NaN."""
    try:
        return np.asarray(np.linalg.inv(K), np.float64)
    except np.linalg.LinAlgError:
        if len(K) == 1:
            return np.full_like(K, np.nan)
        half = len(K) // 2
        return np.concatenate([_inverse(K[:half]), _inverse(K[half:])])


def _factor(K: Floats) -> Floats:
    """Return a lower triangle L with L Lᵀ ≈ K for each matrix of a stack; those that are not positive give NaN."""
    L = np.empty_like(K)
    for one, factor in zip(K, L, strict=True):
        upper, failed = dpotrf(one.T)
        factor[:] = np.nan if failed else upper.T
    return L


def exact_multipliers(layer: OutputLayer, active: Indices, rows: Indices) -> list[Fraction] | None:
    """Return the positive multipliers of a conflict's rows, up to scale, or None if there are none."""
    scaled = [integers(exact_row(layer, row, active)) for row in rows.tolist()]
    if len(rows) > layer.width + 1:
        dependence = nearest_dependence([row for row, _ in scaled])
    else:
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
