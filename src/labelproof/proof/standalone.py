"""Prove the verdicts of a stored result again, with Python's standard library and nothing else.

    python standalone.py RESULT.npz WEIGHTS.npz [BIAS.npy]

Weights may be in an array, or in a sparse matrix as scipy saves it. This file shares no line with the rest of
labelproof; copied away, it runs wherever there is Python 3.10. Every stored float is taken as the rational number that
it is, and all arithmetic is in integers: no proof has a tolerance.

The classifier gives label i the logit z_i(x) = w_i·x + b_i − θ_i, where θ_i is the logit of the label's threshold. It
predicts the label set A at x if z_i > τ for each i in A and z_i < τ for every other label (ties "inactive": z_i ≤ τ):
with τ = 0 for the rule sigmoid, with some τ for topk, and for sparsemax with the τ that has t·Σ_A (z_i − τ) = 1. The
features are within bounds, low ≤ x ≤ high, and some of them together may be within a ball, ‖x − c‖ ≤ R: this is the
domain. What can be proven of A:

*Argmaxable*: by a witness, an x of the domain at which all these inequalities hold.

*Unargmaxable*: by a conflict. If x gave A, then v = (x, s, τ) with s = 1 would satisfy each of these rows:

    label i     ±(w_i·x + (b_i − θ_i)·s − τ) > 0 or ≥ 0      + for i in A; − for the others, ≥ if their ties count
    scale       s > 0
    sum_le      s − t·Σ_A (w_i·x + b_i·s − τ) ≥ 0            sparsemax only
    sum_ge      t·Σ_A (w_i·x + b_i·s − τ) − s ≥ 0            sparsemax only
    low j       x_j − low_j·s ≥ 0                            for each finite bound
    high j      high_j·s − x_j ≥ 0                           for each finite bound

A conflict names some of them, one strict at least, that have numbers λ > 0 with Σ λ_r row_r = 0, and no other
dependence. The inequalities, added up with these λ, read 0 > 0. So no x gives A. More rows than v has numbers, and one,
have many dependences: then λ is the one nearest to (1, …, 1) once each row is over a power of two, the least that
exceeds its numbers.

A conflict may also bring numbers λ > 0 for rows of labels, and of the sum. Added up they read p·x + β·s − 0·τ ≥ 0, and
> 0 with a strict row among them. No x of the domain gives A if p·x + β is below that for all of them, and it is at most

    β + Σ_j max(low_j p_j, high_j p_j) + Σ_balls (p'·c + R‖p'‖),    j in no ball,

where p' is p in the features of the ball, but 0 where p_j < 0 and low_j ≥ 0, since p_j x_j ≤ 0 there. Square roots are
rounded up.

*The radius*, rule sigmoid: the largest ε such that some x, also within ±box, has y_i z_i(x) ≥ ε‖w_i‖ for each label
with w_i ≠ 0, where y_i = 1 in A and −1 elsewhere; 0 if there is none. A centre x proves it from below. Numbers ν ≥ 0
prove it from above, with c = Σ ν_i y_i w_i:

    ε Σ ν_i‖w_i‖  ≤  Σ ν_i y_i z_i(x)  ≤  Σ_j max(c_j low_j, c_j high_j) + Σ ν_i y_i (b_i − θ_i).

Stored bounds must also come from this evidence: be looser by no more than rounding in double precision explains.

Exit code: 0 if every verdict is proven (one that says "undecided" claims nothing), 1 if one is not, 2 for bad input.
"""

import ast
import hashlib
import json
import math
import re
import struct
import sys
import zipfile
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import islice, pairwise
from operator import mul
from typing import Any, NamedTuple

RULES = {
    "sigmoid": "a label is active where its logit exceeds 0, or the logit of its threshold",
    "topk": "the active labels have the largest logits",
    "sparsemax": "the active labels are the support of sparsemax",
}
TIES = {"open": "every inequality is strict", "inactive": "an inactive label may sit on the boundary"}
WEIGHTS, BIASES = ("weight", "W", "coef_", "coef"), ("bias", "b", "intercept_", "intercept")  # names in a user's file
CODES = {"b1": "?", "i1": "b", "i2": "h", "i4": "i", "i8": "q", "u1": "B", "u2": "H", "u4": "I", "u8": "Q"}
CODES |= {"f2": "e", "f4": "f", "f8": "d"}  # of `struct`
MOST_BYTES = 16 * 2**30  # that the arrays of a file may declare


class InputError(Exception):
    """The files are damaged, or do not belong together."""


class ProofError(Exception):
    """A verdict is not proven by its evidence."""


class SparseRows(Sequence[list[int]]):
    """Rows of d numbers that are 0 but for those of ``entries``, by columns; a row is made when it is asked for."""

    def __init__(self, d: int, entries: Sequence[dict[int, Any]]) -> None:
        self.d, self.entries = d, entries

    def __len__(self) -> int:
        return len(self.entries)

    def __getitem__(self, i: Any) -> Any:
        row = [0] * self.d
        for j, number in self.entries[i].items():
            row[j] = number
        return row


@dataclass(frozen=True)
class Layer:
    """The classifier. Weights and offsets are integers over ``unit``; bounds are fractions, or None for infinity."""

    rule: str
    ties: str
    temperature: Fraction
    low: list[Fraction | None]  # (d,)
    high: list[Fraction | None]
    weight: Sequence[Sequence[int]]  # (n_labels, d)
    offset: list[int]  # (n_labels,): b − θ
    unit: int
    has_offset: bool
    exponents: list[int]  # (n_labels,): no number of the label reaches 2**exponent; ν is for its row over that
    is_usual: bool  # whether all numbers are so far from 2**±1074 that double precision has its usual rounding errors

    balls: Sequence[tuple[int, int, Fraction, Sequence[Fraction]]] = ()  # first feature, end, radius, centre

    @cached_property
    def has_scale(self) -> bool:
        """Return whether anything depends on s: offsets, bounds other than 0, or a sum."""
        return self.rule == "sparsemax" or self.has_offset or any([*self.balls, *self.low, *self.high])

    def coefficients(self, i: int) -> list[int]:
        """Return z_i − τ over (x, s, τ), times ``unit``."""
        return [*self.weight[i], self.offset[i], 0 if self.rule == "sigmoid" else -self.unit]

    def logits(self, x: list[int], q: int) -> list[int]:
        """Return each z_i at the point x/q, times unit·q."""
        places = [j for j, c in enumerate(x) if c]
        some = [x[j] for j in places]
        rows = zip(self.weight, self.offset, strict=True)
        return [sum(map(mul, map(w.__getitem__, places), some)) + o * q for w, o in rows]

    @cached_property
    def norms(self) -> list[int]:
        """Return each ‖w_i‖, times unit·2**64, rounded down."""
        return [math.isqrt(sum(map(mul, w, w)) << 128) for w in self.weight]


class Claim(NamedTuple):
    """What is said of a label set: 1 argmaxable, by a witness; 0 unargmaxable, by a conflict; -1 undecided."""

    active: frozenset[int]
    status: int
    evidence: Sequence[Any]
    radius: tuple[Any, ...] | None  # box, lower bound, upper bound, centre, labels, their ν
    weights: Sequence[Fraction] | None = None  # λ of a conflict that brings them


def prove(layer: Layer, claims: Sequence[Claim]) -> None:
    """Prove every claim, or raise a ProofError that names the label set and what is wrong."""
    for i, (active, status, evidence, radius, weights) in enumerate(claims):
        fault = None
        if status == 0 and weights is not None:
            fault = weighted_fault(layer, active, evidence, weights)
        elif status >= 0:
            fault = (conflict_fault, witness_fault)[status](layer, active, evidence)
        if fault:
            raise ProofError(f"label set {i} is not proven: {fault}")
        if radius is not None and (fault := radius_fault(layer, active, *radius)):
            raise ProofError(f"the radius of label set {i} is not proven: {fault}")


def witness_fault(layer: Layer, active: frozenset[int], x: Sequence[float | Fraction]) -> str | None:
    """Return None if the classifier predicts this label set at x, else what is wrong."""
    if any(isinstance(c, float) and not math.isfinite(c) for c in x):
        return "its witness is not finite"
    for j, (c, low, high) in enumerate(zip(x, layer.low, layer.high, strict=True)):
        if (low is not None and c < low) or (high is not None and c > high):
            return f"feature {j} of its witness is outside the domain"
    for start, stop, reach, centre in layer.balls:
        steps = [Fraction(c) - m for c, m in zip(x[start:stop], centre, strict=True)]
        if sum(step * step for step in steps) > reach * reach:
            return f"its witness is outside the ball of features {start} to {stop - 1}"
    numerators, q = _integers(x)
    z = layer.logits(numerators, q)
    if layer.rule == "topk" and len(active) in (0, len(z)):  # τ above, or below, all logits
        return None
    excess = z  # z_i − τ, times a positive number
    if layer.rule == "sparsemax":  # τ = (Σ_A z_i − 1/t) / |A|
        t, over = layer.temperature.as_integer_ratio()
        total = sum(z[i] for i in active)
        excess = [t * (len(active) * value - total) + over * layer.unit * q for value in z]
    elif layer.rule == "topk":  # τ between the least active and the largest other logit
        between = min(z[i] for i in active) + max(value for i, value in enumerate(z) if i not in active)
        excess = [2 * value - between for value in z]
    for i, value in enumerate(excess):
        if i in active and not value > 0:
            return f"label {i} is not active at its witness"
        if i not in active and not (value < 0 or (value == 0 and layer.ties == "inactive")):
            return f"label {i} is not inactive at its witness"
    return None


def _integers(numbers: Iterable[float | Fraction]) -> tuple[list[int], int]:
    """Return integers and one positive denominator such that number = integer / denominator."""
    ratios = [number.as_integer_ratio() for number in numbers]
    denominator = math.lcm(*{q for _, q in ratios})
    return [p * (denominator // q) for p, q in ratios], denominator


def conflict_fault(layer: Layer, active: frozenset[int], numbers: Sequence[int]) -> str | None:
    """Return None if the rows of these numbers contradict each other, else what is wrong."""
    n_labels, most = len(layer.weight), 4 * (len(layer.low) + 3)
    if not 1 <= len(numbers) <= most or any(a >= b for a, b in pairwise(numbers)):
        return f"its conflict is not an ascending list of 1 to {most} rows"
    if not any(r <= n_labels and (layer.ties == "open" or r in {n_labels, *active}) for r in numbers):
        return "its conflict has no strict inequality"
    rows = [system_row(layer, number, active) for number in numbers]
    if [] in rows:
        return "its conflict names a row that the system does not have"
    if len(rows) > len(layer.low) + layer.has_scale + (layer.rule != "sigmoid") + 1:
        rows = [whole_row(layer, number, active) for number in numbers]
        multipliers = nearest_dependence(rows)
        if multipliers is None or not min(multipliers) > 0:
            return "its conflict's rows have no nearest dependence, of positive multipliers"
    else:
        multipliers = only_dependence(rows)
        if multipliers is None or not min(multipliers) > 0:
            return "its conflict's rows have not one linear dependence, of positive multipliers"
    if any(sum(map(mul, multipliers, column)) != 0 for column in zip(*rows, strict=True)):
        return "its conflict's rows have no linear dependence"
    return None


def weighted_fault(
    layer: Layer, active: frozenset[int], numbers: Sequence[int], weights: Sequence[Fraction]
) -> str | None:
    """Return None if the rows of these numbers, added up with these weights, leave no x of the domain; else why not."""
    n_labels, d = len(layer.weight), len(layer.low)
    sums = {n_labels + 1, n_labels + 2} if layer.rule == "sparsemax" else set()
    if not numbers or any(a >= b for a, b in pairwise(numbers)) or not {*numbers} <= {*range(n_labels), *sums}:
        return "its conflict is not an ascending list of labels, or of sums"
    if len(weights) != len(numbers) or not min(weights) > 0:
        return "its conflict has not one positive multiplier for each row"
    over = layer.temperature.denominator  # a row of the sum is times that
    factors, _ = _integers(w / over if r in sums else w for w, r in zip(weights, numbers, strict=True))
    rows = [whole_row(layer, number, active) for number in numbers]
    *p, beta, tau = (sum(map(mul, factors, column)) for column in zip(*rows, strict=True))
    if tau:
        return "its conflict's multipliers leave the threshold in the sum"
    most, left = Fraction(beta), set(range(d))
    for start, stop, reach, centre in layer.balls:
        pairs = zip(p[start:stop], layer.low[start:stop], strict=True)
        kept = [0 if c < 0 and low is not None and low >= 0 else c for c, low in pairs]
        square = sum(map(mul, kept, kept)) << 256
        root = math.isqrt(square)
        most += reach * Fraction(root + (root * root < square), 2**128) + sum(map(mul, kept, centre))
        left -= set(range(start, stop))
    ends = [(p[j], layer.high[j] if p[j] > 0 else layer.low[j]) for j in left if p[j]]
    if any(bound is None for _, bound in ends):
        return "its conflict's sum has no bound on the domain"
    most += sum(c * bound for c, bound in ends)
    strict = any(r < n_labels and (layer.ties == "open" or r in active) for r in numbers)
    return None if most < 0 or (most == 0 and strict) else "its conflict's sum is not negative on the domain"


def system_row(layer: Layer, number: int, active: frozenset[int]) -> list[int]:
    """Return a row times a positive number that makes it coprime integers; [] if there is no such row."""
    row = whole_row(layer, number, active)
    divisor = math.gcd(*row)
    if divisor:
        return [c // divisor for c in row]
    return row if number < len(layer.weight) else []


def whole_row(layer: Layer, number: int, active: frozenset[int]) -> list[int]:
    """Return a row over (x, s, τ) times a positive number, `Layer.unit` for a label; zeros if there is no such row.

    They are numbered: the labels, scale, sum_le, sum_ge, low 0, low 1, …, high 0, high 1, …
    """
    d, kind, row = len(layer.low), number - len(layer.weight), [0] * (len(layer.low) + 2)
    if kind < 0:
        row = [c if number in active else -c for c in layer.coefficients(number)]
    elif kind == 0:
        row[d] = int(layer.has_scale)
    elif kind <= 2 and layer.rule == "sparsemax":
        t, over = layer.temperature.as_integer_ratio()
        row = [t * sum(column) for column in zip(row, *map(layer.coefficients, active), strict=True)]
        row[d] -= over * layer.unit
        row = [c if kind == 2 else -c for c in row]
    elif kind > 2 and (bound := (layer.low + layer.high)[kind - 3]) is not None:
        row[d], row[(kind - 3) % d] = bound.as_integer_ratio()
        row[d if kind - 3 < d else (kind - 3) % d] *= -1
    return row


def only_dependence(rows: list[list[int]]) -> list[int] | None:
    """Return the only candidate for integers λ, not all 0, with Σ λ_r rows_r = 0; None if all rows but one depend.

    Elimination without fractions (Bareiss) in a table with a line for each column of the rows: what it leaves are
    minors of the table, so every division is exact. If the rows are independent, the candidate does not cancel them.
    """
    lines: list[Any] = list(zip(*rows, strict=True))
    eliminated, before = [], 1
    for _ in rows[1:]:
        i = next((i for i, line in enumerate(lines) if line[0]), None)
        if i is None:
            return None
        pivot, *others = lines.pop(i)
        lines = [[(pivot * a - c * b) // before for a, b in zip(line, others, strict=True)] for c, *line in lines]
        eliminated.append((pivot, others))
        before = pivot
    multipliers = [before]
    for pivot, others in reversed(eliminated):
        multipliers = [-sum(map(mul, others, multipliers)) // pivot, *multipliers]
    return [before * m for m in multipliers]  # of which the last is positive


def nearest_dependence(rows: list[list[int]]) -> list[int] | None:
    """Return the integers λ with Σ λ_r rows_r = 0 nearest to (1, …, 1), up to a common positive factor.

    Rows are compared over 2**length, where length is that of their largest number. Over that they form a matrix X;
    λ = 1 − X z with Xᵀ X z = Xᵀ 1. None if its columns, but for those that are 0, depend on each other.
    """
    lengths = [max(map(abs, row)).bit_length() for row in rows]
    shifts = [max(lengths) - length for length in lengths]
    scaled = ([c << shift for c in row] for row, shift in zip(rows, shifts, strict=True))
    columns = [column for column in zip(*scaled, strict=True) if any(column)]
    gram = [[sum(map(mul, a, b)) for b in columns] for a in columns]
    solution = only_dependence([*gram, [-sum(column) for column in columns]])
    if solution is None:
        return None
    *z, q = solution  # of which q is positive
    nearest = [q] * len(rows)
    for factor, column in zip(z, columns, strict=True):
        nearest = [number - factor * c for number, c in zip(nearest, column, strict=True)]
    return [number << shift for number, shift in zip(nearest, shifts, strict=True)]


def radius_fault(
    layer: Layer, active: frozenset[int], box: Fraction, lower: float, upper: float, x: Any, labels: Any, nu: Any
) -> str | None:
    """Return None if both bounds are proven, and as tight as their evidence, else what is wrong."""
    low = [-box if bound is None else max(bound, -box) for bound in layer.low]
    high = [box if bound is None else min(bound, box) for bound in layer.high]
    if any(a > b for a, b in zip(low, high, strict=True)):
        return None if lower == upper == 0 else "expected 0, since the box leaves no input"
    least: Any = 0
    if all(a <= c <= b for a, c, b in zip(low, x, high, strict=True)):
        numerators, q = _integers(x)
        signed = [z if i in active else -z for i, z in enumerate(layer.logits(numerators, q))]
        distances = (Fraction(z << 64, (norm + 1) * q) for z, norm in zip(signed, layer.norms, strict=True) if norm)
        least = max(0, min(distances, default=math.inf))
    most = _radius_from_above(layer, active, low, high, labels, nu)
    loosest_below, loosest_above = 0, math.inf
    if layer.is_usual:
        shift = max((Fraction(abs(o) << 64, n) for o, n in zip(layer.offset, layer.norms, strict=True) if n), default=0)
        reach, unit = (math.isqrt(len(x)) + 1) * box + 2, Fraction(2 * len(x) + 32, 2**49)
        loosest_below = max(0, least * Fraction(1 - 1e-9) - unit * reach * (1 + shift))
        loosest_above = most * Fraction(1 + 1e-9) + unit * (reach + shift)
    if not loosest_below <= lower <= least:
        return f"its centre does not give the lower bound {lower}"
    if not max(0, most) <= upper <= max(0, loosest_above):
        return f"its multipliers do not give the upper bound {upper}"
    return None


def _radius_from_above(layer: Layer, active: frozenset[int], low: Any, high: Any, labels: Any, stored: Any) -> Any:
    """Return the right-hand side of the docstring's inequality over Σ ν_i‖w_i‖, or infinity if ν proves nothing."""
    if not all(0 <= number < math.inf for number in stored):
        return math.inf
    nu, _ = _integers(Fraction(m) / Fraction(2) ** layer.exponents[i] for i, m in zip(labels, stored, strict=True))
    signed = [m if i in active else -m for i, m in zip(labels, nu, strict=True)]
    length = sum(m * layer.norms[i] for i, m in zip(labels, nu, strict=True))
    if length == 0:
        return math.inf
    c = [sum(map(mul, signed, column)) for column in zip(*(layer.weight[i] for i in labels), strict=True)]
    most = sum(max(cj * a, cj * b) for cj, a, b in zip(c, low, high, strict=True))
    return (most + sum(m * layer.offset[i] for i, m in zip(labels, signed, strict=True))) * 2**64 / length


# The rest of the file reads files. An error of any kind in there is bad input.


class Array(NamedTuple):
    """The content of an .npy file; ``flat`` has the numbers row by row, or one text; it is empty for more text."""

    type: str
    shape: tuple[int, ...]
    flat: Sequence[Any]


def read(result: str, weights: str, bias: str | None = None) -> tuple[Layer, list[Claim]]:
    """Read the classifier and what a result claims of it; raise an InputError if they do not belong together."""
    try:
        stored, given = _read_arrays(result), _read_arrays(weights)
        if bias is not None:
            given["bias"], *_ = _read_arrays(bias).values()
        header = _header(stored)
        layer = _layer(header, stored, given)
        return layer, _claims(header, stored, layer)
    except ProofError:
        raise
    except Exception as error:
        told = error if isinstance(error, ValueError | OSError) else repr(error)
        raise InputError(f"{result} with {weights}: damaged, or not what they should be ({told!s:.200})") from error


def _require(condition: object, expected: str) -> None:
    if not condition:
        raise ValueError(f"expected {expected}")


def _read_arrays(path: str) -> dict[str, Array]:
    """Read the arrays of an .npz file, or the one of an .npy file as ``weight``; nothing is unpickled."""
    with open(path, "rb") as stream:
        if stream.read(6) == b"\x93NUMPY":
            stream.seek(0)
            return {"weight": _parse(stream.read())}
        with zipfile.ZipFile(stream) as archive:
            members = {member.filename.removesuffix(".npy"): member for member in archive.infolist()}
            _require(len(members) == len(archive.infolist()), "each array once")
            _require(sum(m.file_size for m in members.values()) <= MOST_BYTES, f"at most {MOST_BYTES} bytes of arrays")
            contents = {name: archive.read(member) for name, member in members.items()}
            _require(
                all(len(contents[name]) == members[name].file_size for name in members), "arrays of declared sizes"
            )
            return {name: _parse(data) for name, data in contents.items()}


def _parse(data: bytes) -> Array:
    """Read the .npy format: 8 bytes of magic and version, the length of a header, the header, the numbers."""
    width = {b"\x93NUMPY\x01\x00": 2, b"\x93NUMPY\x02\x00": 4}[data[:8]]
    start = 8 + width + int.from_bytes(data[8 : 8 + width], "little")
    _require(start <= min(10_000, len(data)), "a short header")
    header = ast.literal_eval(data[8 + width : start].decode("latin1").strip())
    shape, by_column, descr = header.pop("shape"), header.pop("fortran_order"), str(header.pop("descr"))
    _require(re.fullmatch(r"[<>=|]?([biuf]\d|[US]\d+)", descr) and not header, f"numbers or text, got {descr}")
    kind, order = descr.lstrip("<>=|"), ">" if descr[0] == ">" else "<"
    size = int(kind[1:]) * (4 if kind[0] == "U" else 1)
    _require(all(n >= 0 for n in shape) and math.prod(shape) * size == len(data) - start, f"numbers of shape {shape}")
    flat = struct.unpack(f"{order}{math.prod(shape)}{CODES[kind]}", data[start:]) if kind[0] not in "US" else ()
    if kind[0] in "US" and not shape:
        flat = (data[start:].decode({"U<": "utf-32-le", "U>": "utf-32-be"}.get(kind[0] + order, "ascii")).rstrip("\0"),)
    if by_column and len(shape) == 2:
        flat = tuple(number for i in range(shape[0]) for number in flat[i :: shape[0]])
    return Array(kind, shape, flat)


def _take(arrays: dict[str, Array], name: str, kind: str, *shape: int | None) -> Sequence[Any]:
    """Return the numbers of the array of this name, which must have this type and shape; None is any length."""
    got = arrays.get(name, Array("nothing", (), ()))
    fits = len(got.shape) == len(shape) and all(n in (None, m) for n, m in zip(shape, got.shape, strict=True))
    _require(fits and got.type == kind, f"{name} of type {kind} and shape {shape}, got {got.type} {got.shape}")
    return got.flat


def _header(arrays: dict[str, Array]) -> dict[str, Any]:
    header: dict[str, Any] = json.loads(bytes(_take(arrays, "header", "u1", None)).decode())
    names, box, eps, t = (header[name] for name in ("label_names", "box", "eps", "temperature"))
    _require(
        header["format"] == "labelproof verification" and header["version"] in (1, 2), "a result of version 1 or 2"
    )
    _require(header["rule"] in RULES and header["ties"] in TIES, "a known rule and treatment of ties")
    _require(isinstance(t, float) and 0 < t < math.inf, "a positive temperature")
    _require(isinstance(eps, float) and 0 <= eps < math.inf, "a number eps ≥ 0")
    _require(names is None or len(names) == header["n_labels"], "one name for each label")
    _require(box is None or (isinstance(box, float) and 1e-150 <= box <= 1e150), "a box from 1e-150 to 1e150")
    _require(box is None or header["rule"] == "sigmoid", "radii with the rule sigmoid only")
    if header["certified"] is not True:
        raise ProofError("no verdict is proven: the file was made without evidence (certify=False)")
    return header


def _layer(header: dict[str, Any], arrays: dict[str, Array], given: dict[str, Array]) -> Layer:
    """Return the classifier of the given numbers, if it is the one that the result was made for."""
    bias = next((given.pop(name) for name in BIASES if name in given), None)
    n, d = int(header["n_labels"]), int(header["d"])
    _require((n, d) == (header["n_labels"], header["d"]), "numbers of labels and features")
    entries = _entries(given, n, d)
    rows = _matrix(given, n, d) if entries is None else SparseRows(d, entries)
    digest = hashlib.sha256(f"{n} {d} ".encode())
    for row in rows:
        digest.update(struct.pack(f"<{d}d", *(w + 0.0 for w in row)))  # −0 is 0
    _require(bias is None or bias.shape == (n,), f"a bias of {n} numbers")
    _require(digest.hexdigest() == header["weight_sha256"], "the weights that were verified, got others")

    theta = _take(arrays, "theta", "f8", n) if "theta" in arrays else None
    _require(theta is None or header["rule"] == "sigmoid", "thresholds with the rule sigmoid only")
    plain = [0.0] * n if bias is None else _floats(bias)
    exact = [Fraction(b) - Fraction(t) for b, t in zip(plain, theta or [0.0] * n, strict=True)]
    has_offset = bias is not None or theta is not None
    same = {has_offset} == {part in arrays for part in ("offset", "offset_error")}
    _require(same, f"{'no' if has_offset else 'the'} bias, as was verified")
    offset, error = (_take(arrays, a, "f8", n) if has_offset else (0.0,) * n for a in ("offset", "offset_error"))
    same = all(o == float(x) and Fraction(o) + Fraction(e) == x for o, e, x in zip(offset, error, exact, strict=True))
    _require(same, "the bias that was verified, got another")

    low, high = _bounds(arrays, "low", d, -math.inf), _bounds(arrays, "high", d, math.inf)
    _require(all(x is None or y is None or x <= y for x, y in zip(low, high, strict=True)), "low ≤ high")
    kept: Sequence[Sequence[float]] = rows if entries is None else [list(entry.values()) for entry in entries]
    numbers, unit = _integers([*(w for row in kept for w in row), *exact])
    whole = iter(numbers)
    weight: Sequence[Sequence[int]] = [list(islice(whole, d)) for _ in rows] if entries is None else []
    if entries is not None:
        weight = SparseRows(d, [{j: next(whole) for j in entry} for entry in entries])
    return Layer(
        *(header["rule"], header["ties"], Fraction(float(header["temperature"])), low, high),
        *(weight, list(whole), unit, has_offset),
        exponents=[math.frexp(max(map(abs, (*w, o))))[1] for w, o in zip(kept, offset, strict=True)],
        is_usual=all(2.0**-400 < abs(x) < 2.0**400 for row in (*kept, offset, [header["box"]]) for x in row if x),
        balls=_balls(arrays, d),
    )


def _matrix(given: dict[str, Array], n: int, d: int) -> list[list[float]]:
    """Return the rows of the weight that is an array."""
    matrices = [given[name] for name in WEIGHTS if name in given][:1]
    matrices = matrices or [array for array in given.values() if len(array.shape) == 2 and array.flat]
    _require([len(array.shape) for array in matrices] == [2], f"one matrix, best called {', '.join(WEIGHTS)}")
    [matrix] = matrices
    _require(matrix.flat and matrix.shape == (n, d), f"weights of another shape than {matrix.shape}")
    return _rows(_floats(matrix), d)


def _entries(given: dict[str, Array], n: int, d: int) -> list[dict[int, float]] | None:
    """Return each label's numbers by columns if the weight is a sparse matrix, else None.

    Saved by scipy it is in rows or columns (csr, csc) or place by place (coo), and labels are its rows or its columns.
    As the arrays weight_data, weight_indices, weight_indptr and weight_shape it is in rows, which are the labels.
    """
    own = "weight_" if "weight_indptr" in given else ""
    if not own and "format" not in given:
        return None
    form, shape = "csr" if own else given["format"].flat[0], tuple(given[f"{own}shape"].flat)
    values = _floats(given[f"{own}data"])
    if form == "coo":
        places = [given["row"].flat, given["col"].flat]
    else:
        _require(form in ("csr", "csc"), f"a sparse matrix in the form csr, csc or coo, got {form}")
        ends = given[f"{own}indptr"].flat
        whole = ends[0] == 0 and ends[-1] == len(values)
        _require(whole and all(a <= b for a, b in pairwise(ends)), "ascending indptr")
        outer = [i for i, (a, b) in enumerate(pairwise(ends)) for _ in range(a, b)]
        places = [outer, given[f"{own}indices"].flat][:: 1 if form == "csr" else -1]
    turned = not own and n != d and shape == (d, n)
    _require(turned or shape == (n, d), f"weights of another shape than {shape}")
    entries: list[dict[int, float]] = [{} for _ in range(n)]
    for i, j, value in zip(*(reversed(places) if turned else places), values, strict=True):
        _require(0 <= i < n and 0 <= j < d and j not in entries[i], "each entry once, within the matrix")
        entries[i][j] = value
    return entries


def _balls(arrays: dict[str, Array], d: int) -> list[tuple[int, int, Fraction, list[Fraction]]]:
    if not any(name in arrays for name in ("ball_ends", "ball_radius", "ball_centre")):
        return []
    ends, reach = _take(arrays, "ball_ends", "i8", None, 2), _take(arrays, "ball_radius", "f8", None)
    centre = list(map(Fraction, _take(arrays, "ball_centre", "f8", d)))  # no NaN, and no infinity
    _require(len(ends) == 2 * len(reach) and all(0 < r < math.inf for r in reach), "balls of positive radius")
    parts = _rows(ends, 2)
    _require(all(0 <= a < b <= d for a, b in parts), "balls of some features each")
    _require(all(b <= a for (_, b), (a, _) in pairwise(parts)), "balls that do not overlap")
    return [(a, b, Fraction(r), centre[a:b]) for (a, b), r in zip(parts, reach, strict=True)]


def _bounds(arrays: dict[str, Array], side: str, d: int, free: float) -> list[Fraction | None]:
    bounds = _take(arrays, side, "f8", d) if side in arrays else [free] * d
    return [None if bound == free else Fraction(bound) for bound in bounds]  # no NaN, and no other infinity


def _floats(array: Array) -> list[float]:
    _require(all(-(2**53) <= number <= 2**53 for number in array.flat if isinstance(number, int)), "integers ≤ 2**53")
    _require(all(map(math.isfinite, array.flat)), "finite numbers")
    return list(map(float, array.flat))


def _claims(header: dict[str, Any], arrays: dict[str, Array], layer: Layer) -> list[Claim]:
    """Return what a result says, after checks that its arrays fit together."""
    n_labels, d, n = len(layer.weight), len(layer.low), len(_take(arrays, "indptr", "i8", None)) - 1
    sets = _parts(arrays, "indptr", "indices", n, n_labels)
    evidence = _parts(arrays, "conflict_ptr", "conflict_rows", n, n_labels + 3 + 2 * d)
    status, point_of = _take(arrays, "status", "i1", n), _take(arrays, "point_of", "i8", n)
    points = _rows(_take(arrays, "points", "f8", None, d), d)
    fractions = {int(i): list(map(_fraction, x)) for i, x in header["fractions"].items()}
    weights = {int(i): list(map(_fraction, x)) for i, x in header.get("multipliers", {}).items()}
    undecided = {int(i) for i, _ in header["reasons"].items()}
    yes = [i for i in range(n) if status[i] == 1]
    _require(all(a < b for labels in sets for a, b in pairwise(labels)), "ascending labels in each set")
    _require(set(status) <= {-1, 0, 1}, "a status of 1, 0 or -1")
    _require(all(-1 <= p < len(points) for p in point_of), "each witness among the points")
    _require(all(len(x) == d for x in fractions.values()), f"fractions of {d} features")
    _require(all(i in undecided for i in range(n) if status[i] < 0), "a reason for each undecided set")
    for i in yes:
        evidence[i] = points[point_of[i]] if point_of[i] >= 0 else fractions[i]
    radii: dict[int, Any] = {}
    if header["box"] is not None:
        _require(not layer.balls, "no radii with features in a ball")
        m, box = len(yes), [Fraction(header["box"])] * len(yes)
        lower, upper = _take(arrays, "radius_lower", "f8", m), _take(arrays, "radius_upper", "f8", m)
        centres = _rows(_take(arrays, "radius_centers", "f8", m, d), d)
        labels = _parts(arrays, "radius_ptr", "radius_rows", m, n_labels)
        nu = _parts(arrays, "radius_ptr", "radius_multipliers", m)
        _require(yes == list(_take(arrays, "radius_sets", "i8", m)), "a radius for each argmaxable set")
        radii = dict(zip(yes, zip(box, lower, upper, centres, labels, nu, strict=True), strict=True))
    return [Claim(frozenset(sets[i]), status[i], evidence[i], radii.get(i), weights.get(i)) for i in range(n)]


def _parts(arrays: dict[str, Array], pointers: str, name: str, n: int, stop: int | None = None) -> list[Sequence[Any]]:
    """Cut an array into n parts where another one says: floats, or integers from 0 up to ``stop``."""
    ends, flat = _take(arrays, pointers, "i8", n + 1), _take(arrays, name, "f8" if stop is None else "i8", None)
    _require(ends[0] == 0 and ends[-1] == len(flat) and all(a <= b for a, b in pairwise(ends)), f"ascending {pointers}")
    _require(stop is None or all(0 <= number < stop for number in flat), f"{name} from 0 up to {stop}")
    return [flat[a:b] for a, b in pairwise(ends)]


def _rows(flat: Sequence[Any], d: int) -> list[Any]:
    return [flat[i : i + d] for i in range(0, len(flat), d)]


def _fraction(text: str) -> Fraction:
    _require(re.fullmatch(r"-?0x[0-9a-f]+/0x[0-9a-f]+", text), "fractions like 0x1/0x2")
    return Fraction(*(int(part, 16) for part in text.split("/")))


def main(paths: Sequence[str]) -> int:
    """Prove the result in the first file from the weights in the second; say what holds, and return the exit code."""
    if not 2 <= len(paths) <= 3:
        print("usage: python standalone.py RESULT.npz WEIGHTS.npz [BIAS.npy]", file=sys.stderr)
        return 2
    try:
        layer, claims = read(*paths)
        prove(layer, claims)
    except (InputError, ProofError) as error:
        print(f"{'Refused' if isinstance(error, InputError) else 'Not proven'}: {error}.", file=sys.stderr)
        return 2 if isinstance(error, InputError) else 1
    yes, no, undecided = (sum(claim.status == status for claim in claims) for status in (1, 0, -1))
    print(f"Proven: {yes} label sets argmaxable, {no} unargmaxable. Undecided, so not claimed: {undecided}.")
    print(f"Rule {layer.rule}: {RULES[layer.rule]}.\nTies {layer.ties}: {TIES[layer.ties]}.")
    low, high = {*layer.low}, {*layer.high}
    words = "all features" if low == {None} else "nonnegative features" if low == {Fraction(0)} else ""
    words = words if words and high == {None} else "features within the bounds in the file"
    for start, stop, reach, centre in layer.balls:
        words += f", those from {start} to {stop - 1} within {float(reach):.17g} of {'a point' if any(centre) else '0'}"
    print(f"Domain: {words}.")
    return 0


if __name__ == "__main__":
    sys.stderr.reconfigure(errors="replace")  # type: ignore[union-attr] # paths and signs that a console cannot show
    sys.exit(main(sys.argv[1:]))
