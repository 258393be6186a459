"""Prove the bounds of a stored stretch again, with Python's standard library and nothing else.

    python standalone_stretch.py RESULT.npz WEIGHTS.npz FEATURES.npy [BIAS.npy]

This file shares no line with the rest of labelproof; copied away, it runs wherever there is Python 3.10. Every stored
float is taken as the rational number that it is, and all arithmetic is in integers: no proof has a tolerance.

The classifier gives label i the logit z_i(x) = w_i·x + b_i − θ_i and predicts the label set A at x if z_i > τ for each
i in A and z_i < τ for every other label (ties "inactive": z_i ≤ τ), with τ = 0 for the rule sigmoid and some τ for
topk. With the features f_j of examples and the centre c in the file, which is their mean up to rounding, the stretch of
A is the infimum of Σ λ_j over λ ≥ 0 such that A is predicted at c + Σ λ_j (f_j − c).

*From above*: by such a λ, whose sum is at most the bound.

*From below*: by numbers t_i ≥ 0. With y_i = 1 in A and −1 elsewhere, A at x needs G(x) = Σ t_i y_i z_i(x) ≥ 0, so that
Σ λ_j · max_j (G(f_j) − G(c)) ≥ −G(c). If that maximum is ≤ 0 and G(c) < 0, the stretch is infinite; also if G(c) = 0
and some t_i > 0 is on a strict inequality. For topk Σ t_i y_i = 0 is required.

*Infinite* is also proven by a conflict: rows among these, one strict at least, whose only linear dependence has
positive multipliers, so that their sum reads 0 > 0:

    label i     ±(w_i·x + (b_i − θ_i)·s − τ) > 0 or ≥ 0      + for i in A; − for the others, ≥ if their ties count
    scale       s > 0
    low j       x_j − c_j·s ≥ 0                              for features that are c_j in every example
    high j      c_j·s − x_j ≥ 0                              the same

*The bar*, if there is one, is the (r + 1)-th largest upper bound of the n predictions in the file, r the largest
integer with P(Bin(n, α) ≤ r) ≤ 1/20. Which sets the model predicts for the held-out inputs is not made again here.

Exit code: 0 if every bound is proven, 1 if one is not, 2 for bad input.
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
from itertools import pairwise
from operator import mul
from typing import Any, NamedTuple

WEIGHTS, BIASES = ("weight", "W", "coef_", "coef"), ("bias", "b", "intercept_", "intercept")  # names in a user's file
CODES = {"b1": "?", "i1": "b", "i2": "h", "i4": "i", "i8": "q", "u1": "B", "u2": "H", "u4": "I", "u8": "Q"}
CODES |= {"f2": "e", "f4": "f", "f8": "d"}  # of `struct`
MOST_BYTES = 16 * 2**30  # that the arrays of a file may declare


class InputError(Exception):
    """The files are damaged, or do not belong together."""


class ProofError(Exception):
    """A bound is not proven by its evidence."""


@dataclass(frozen=True)
class Problem:
    """Classifier and examples: each number is an integer over the unit of its kind."""

    rule: str
    ties: str
    weight: list[Sequence[int]]  # (n_labels, d), over w_unit
    offset: list[int]  # over w_unit: b − θ
    w_unit: int
    features: list[Sequence[int]]  # (n_examples, d), over f_unit
    centre: Sequence[int]
    f_unit: int

    def is_strict(self, label: int, active: frozenset[int]) -> bool:
        """Whether the inequality of a label is strict."""
        return self.rule == "topk" or self.ties == "open" or label in active

    def is_constant(self, j: int) -> bool:
        """Whether a feature is the centre's in every example."""
        return all(f[j] == self.centre[j] for f in self.features)


class Claim(NamedTuple):
    """What is said of a label set: bounds, and (numbers, weights) of its mixture, weighted labels and conflict."""

    active: frozenset[int]
    lower: float
    upper: float
    mixture: tuple[Sequence[int], Sequence[float]]
    weighted: tuple[Sequence[int], Sequence[float]]
    conflict: Sequence[int]


def prove(problem: Problem, claims: Sequence[Claim], name: str = "label set") -> None:
    """Prove every claim, or raise a ProofError that names the label set and what is wrong."""
    for i, claim in enumerate(claims):
        if fault := upper_fault(problem, claim) or lower_fault(problem, claim):
            raise ProofError(f"the stretch of {name} {i} is not proven: {fault}")


def upper_fault(problem: Problem, claim: Claim) -> str | None:
    """Return None if the mixture proves the upper bound, else what is wrong."""
    if claim.upper == math.inf:
        return None
    numbers, weights = claim.mixture
    if not all(0 <= w < math.inf for w in weights) or any(a >= b for a, b in pairwise(numbers)):
        return "its mixture is not an ascending list of examples with weights ≥ 0"
    amounts, unit = _integers(weights)
    if Fraction(sum(amounts), unit) > claim.upper:
        return f"its mixture's weights exceed the upper bound {claim.upper}"
    amounts.append(unit - sum(amounts))
    points = [*(problem.features[j] for j in numbers), problem.centre]
    x = [sum(map(mul, amounts, column)) for column in zip(*points, strict=True)]  # over unit·f_unit
    s = unit * problem.f_unit
    z = [sum(map(mul, w, x)) + o * s for w, o in zip(problem.weight, problem.offset, strict=True)]
    on, off = [z[i] for i in claim.active], [v for i, v in enumerate(z) if i not in claim.active]
    most = 0 if problem.ties == "inactive" else -1
    holds = min(on, default=1) > 0 and max(off, default=most) <= most
    if problem.rule == "topk":
        holds = not on or not off or min(on) > max(off)
    return None if holds else "it is not predicted at its mixture"


def lower_fault(problem: Problem, claim: Claim) -> str | None:
    """Return None if weighted labels, or a conflict, prove the lower bound, else what is wrong."""
    if claim.lower == 0 or (claim.lower == math.inf and claim.conflict and not conflict_fault(problem, claim)):
        return None
    labels, stored = claim.weighted
    if not all(0 <= t < math.inf for t in stored) or any(a >= b for a, b in pairwise(labels)):
        return "its weighted labels are not an ascending list with multipliers ≥ 0"
    t, _ = _integers(stored)
    signed = [m if i in claim.active else -m for i, m in zip(labels, t, strict=True)]
    if problem.rule == "topk" and sum(signed) != 0:
        return "its multipliers do not cancel between active and inactive labels"
    v = [sum(map(mul, signed, column)) for column in zip(*(problem.weight[i] for i in labels), strict=True)]
    constant = sum(m * problem.offset[i] for i, m in zip(labels, signed, strict=True)) * problem.f_unit
    at_centre = sum(map(mul, v, problem.centre))
    needed, gained = -(at_centre + constant), max(sum(map(mul, v, f)) for f in problem.features) - at_centre
    is_strict = any(m and problem.is_strict(i, claim.active) for i, m in zip(labels, t, strict=True))
    is_infinite = gained <= 0 and (needed > 0 or (needed == 0 and is_strict))
    is_finite = needed > 0 and claim.lower < math.inf and Fraction(claim.lower) * gained <= needed
    return None if is_infinite or is_finite else f"its evidence does not give the lower bound {claim.lower}"


def conflict_fault(problem: Problem, claim: Claim) -> str | None:
    """Return None if the rows of a conflict contradict each other, else what is wrong."""
    found = [_row(problem, number, claim.active) for number in claim.conflict]
    rows = [row for row, _ in found]
    if any(a >= b for a, b in pairwise(claim.conflict)) or not any(strict for _, strict in found) or [] in rows:
        return "its conflict is not an ascending list of rows of its system, one of them strict"
    multipliers = only_dependence(rows)
    if multipliers is None or not all(m > 0 for m in multipliers):
        return "its conflict's rows have not one linear dependence, of positive multipliers"
    return None


def _row(problem: Problem, number: int, active: frozenset[int]) -> tuple[list[int], bool]:
    """Return a row over (x, s, τ) times a positive number, or [], and whether it is strict."""
    d, kind = len(problem.centre), number - len(problem.weight)
    if kind < 0:
        sign = 1 if number in active else -1
        tau = -problem.w_unit if problem.rule == "topk" else 0
        row = [sign * c for c in (*problem.weight[number], problem.offset[number], tau)]
        return row, problem.is_strict(number, active)
    row = [0] * (d + 2)
    if kind == 0:
        row[d] = 1
        return row, True
    j = (kind - 3) % d
    if kind < 3 or kind >= 3 + 2 * d or not problem.is_constant(j):
        return [], False
    row[j], row[d] = problem.f_unit, -problem.centre[j]
    return (row if kind - 3 < d else [-c for c in row]), False


def only_dependence(rows: list[list[int]]) -> list[Fraction] | None:
    """Return the numbers m, the last of them 1, with Σ m_r rows_r = 0, if there is one dependence; else None."""
    columns = [list(map(Fraction, column)) for column in zip(*rows, strict=True) if any(column)]
    n, solved = len(rows), list[list[Fraction]]()
    for r in range(n - 1):  # Gauss and Jordan: each number but the last in terms of the last
        pivot = next((column for column in columns if column[r]), None)
        if pivot is None:
            return None
        columns.remove(pivot)
        pivot = [c / pivot[r] for c in pivot]
        columns = [[a - column[r] * p for a, p in zip(column, pivot, strict=True)] for column in columns]
        solved = [[a - column[r] * p for a, p in zip(column, pivot, strict=True)] for column in solved]
        solved.append(pivot)
    if any(map(any, columns)):
        return None
    return [-column[n - 1] for column in solved] + [Fraction(1)]


def bar_fault(bar: dict[str, Any], claims: Sequence[Claim]) -> str | None:
    """Return None if the bar is what its predictions give, else what is wrong."""
    n, r = bar["n"], bar["rank"]
    p, q = float(bar["alpha"]).as_integer_ratio()
    if not (0 < p < q and 0 <= r < n == len(claims)):
        return "its numbers do not fit together"
    terms = [math.comb(n, i) * p**i * (q - p) ** (n - i) for i in range(r + 2)]
    if not 20 * sum(terms[:-1]) <= q**n < 20 * sum(terms):
        return f"{r} is not the largest number of predictions that may lie beyond"
    value = sorted((claim.upper for claim in claims), reverse=True)[r]
    return None if bar["value"] == value else f"expected {value}, got {bar['value']}"


def _integers(numbers: Iterable[float | Fraction]) -> tuple[list[int], int]:
    """Return integers and one positive denominator such that number = integer / denominator."""
    ratios = [number.as_integer_ratio() for number in numbers]
    denominator = math.lcm(*{q for _, q in ratios})
    return [p * (denominator // q) for p, q in ratios], denominator


# The rest of the file reads files. An error of any kind in there is bad input.


class Array(NamedTuple):
    """The content of an .npy file; ``flat`` has the numbers row by row, and is empty for text."""

    type: str
    shape: tuple[int, ...]
    flat: Sequence[Any]


class Stored(NamedTuple):
    """A result: what it is about, its claims, the claims and the numbers of its bar."""

    problem: Problem
    claims: list[Claim]
    predicted: list[Claim]
    bar: dict[str, Any] | None


def read(result: str, weights: str, features: str, bias: str | None = None) -> Stored:
    """Read classifier, examples and what a result claims of them; raise an InputError if they do not fit together."""
    try:
        stored, given = _read_arrays(result), _read_arrays(weights)
        if bias is not None:
            given["bias"], *_ = _read_arrays(bias).values()
        header = json.loads(bytes(_take(stored, "header", "u1")))
        _require(header["format"] == "labelproof stretch" and header["version"] == 1, "a labelproof stretch, version 1")
        problem = _problem(header, stored, given, _read_arrays(features))
        bar, predicted = header["bar"], []
        if bar is not None:
            predicted = _claims(stored, problem, "bar_")
            _require({type(bar["n"]), type(bar["rank"])} == {int}, "whole numbers n and rank of the bar")
            _require({type(bar["alpha"]), type(bar["value"])} == {float}, "numbers alpha and value of the bar")
            _require(0 < bar["alpha"] < 1, "a share alpha")
        return Stored(problem, _claims(stored, problem, ""), predicted, bar)
    except Exception as error:
        told = error if isinstance(error, ValueError | OSError) else repr(error)
        raise InputError(f"{result}, {weights}, {features}: damaged, or no match ({told!s:.200})") from error


def _require(condition: object, expected: str) -> None:
    if not condition:
        raise ValueError(f"expected {expected}")


def _read_arrays(path: str) -> dict[str, Array]:
    with open(path, "rb") as stream:
        if stream.read(6) == b"\x93NUMPY":
            stream.seek(0)
            return {"weight": _parse(stream.read())}
        with zipfile.ZipFile(stream) as archive:
            members = {member.filename.removesuffix(".npy"): member for member in archive.infolist()}
            _require(len(members) == len(archive.infolist()), "each array once")
            _require(sum(m.file_size for m in members.values()) <= MOST_BYTES, f"at most {MOST_BYTES} bytes of arrays")
            return {name: _parse(archive.read(member)) for name, member in members.items()}


def _parse(data: bytes) -> Array:
    """Read the .npy format: 8 bytes of magic and version, the length of a header, the header, the numbers."""
    width = {b"\x93NUMPY\x01\x00": 2, b"\x93NUMPY\x02\x00": 4}[data[:8]]
    start = 8 + width + int.from_bytes(data[8 : 8 + width], "little")
    header = ast.literal_eval(data[8 + width : start].decode("latin1").strip())
    shape, by_column, descr = header["shape"], header["fortran_order"], str(header["descr"])
    _require(re.fullmatch(r"[<>=|]?([biuf]\d|[US]\d+)", descr), f"numbers or text, got {descr}")
    kind, order = descr.lstrip("<>=|"), ">" if descr[0] == ">" else "<"
    if kind[0] in "US":
        return Array(kind, shape, ())
    flat = struct.unpack(f"{order}{math.prod(shape)}{CODES[kind]}", data[start:])
    if by_column and len(shape) == 2:
        flat = tuple(number for i in range(shape[0]) for number in flat[i :: shape[0]])
    return Array(kind, shape, flat)


def _take(arrays: dict[str, Array], name: str, kind: str) -> Sequence[Any]:
    """Return the numbers of the array of this name, which must have this type and one axis."""
    got = arrays.get(name, Array("nothing", (), ()))
    _require(got.type == kind and len(got.shape) == 1, f"{name} of type {kind} and one axis, got {got.type}")
    return got.flat


def _sha256(text: str, *parts: tuple[str, Sequence[Any]]) -> str:
    packed = (struct.pack(f"<{len(numbers)}{code}", *numbers) for code, numbers in parts)
    return hashlib.sha256(text.encode() + b"".join(packed)).hexdigest()


def _floats(numbers: Sequence[Any]) -> list[float]:
    _require(all(abs(number) <= 2**53 for number in numbers if isinstance(number, int)), "integers of at most 2**53")
    floats = [float(number) + 0.0 for number in numbers]
    _require(all(map(math.isfinite, floats)), "finite numbers")
    return floats


def _problem(
    header: dict[str, Any], stored: dict[str, Array], given: dict[str, Array], features: dict[str, Array]
) -> Problem:
    weight, bias = (next((given[name] for name in names if name in given), None) for names in (WEIGHTS, BIASES))
    n, d = header["n_labels"], header["d"]
    _require(weight is not None and weight.shape == (n, d), f"weights of shape {(n, d)}")
    flat = _floats(weight.flat if weight else ())
    _require(_sha256(f"{n} {d} ", ("d", flat)) == header["weight_sha256"], "the weights that were measured, got others")
    theta = _floats(_take(stored, "theta", "f8")) if "theta" in stored else [0.0] * n
    _require(header["rule"] == "sigmoid" or "theta" not in stored, "thresholds with the rule sigmoid only")
    b = _floats(bias.flat) if bias is not None else [0.0] * n
    has_offset = bias is not None or "theta" in stored
    same = {has_offset} == {part in stored for part in ("offset", "offset_error")}
    _require(same, "a bias if and only if one was measured")
    offset = [Fraction(x) - Fraction(t) for x, t in zip(b, theta, strict=True)]
    if has_offset:
        parts = zip(_take(stored, "offset", "f8"), _take(stored, "offset_error", "f8"), offset, strict=True)
        same = all(o == float(x) and Fraction(o) + Fraction(e) == x for o, e, x in parts)
        _require(same, "the bias that was measured, got another")
    rows = _features(header, features, d)
    centre = _floats(_take(stored, "centre", "f8"))
    _require(len(centre) == d, f"a centre of {d} features")
    for column, c in zip(zip(*rows, strict=True), centre, strict=True):
        _require(abs(math.fsum(column) / len(rows) - c) <= 1e-9 * max(map(abs, column)), "the mean of the features")
    numbers, w_unit = _integers([*flat, *offset])
    points, f_unit = _integers([*centre, *(x for row in rows for x in row)])
    _require(header["rule"] in ("sigmoid", "topk") and header["ties"] in ("open", "inactive"), "a known rule and ties")
    return Problem(
        *(header["rule"], header["ties"], _rows(numbers[: n * d], d), numbers[n * d :], w_unit),
        *(_rows(points[d:], d), points[:d], f_unit),
    )


def _features(header: dict[str, Any], arrays: dict[str, Array], d: int) -> list[Sequence[float]]:
    """Return the features of each example, from one array or from the parts of a CSR matrix."""
    n = header["n_examples"]
    if "indptr" not in arrays:
        array = next(iter(arrays.values()))
        _require(array.shape == (n, d), f"features of shape {(n, d)}")
        flat = _floats(array.flat)
        digest = _sha256(f"{n} {d} ", ("d", flat))
        rows = _rows(flat, d)
    else:
        _require(tuple(arrays["shape"].flat) == (n, d), f"features of shape {(n, d)}")
        data, indices, starts = _floats(arrays["data"].flat), arrays["indices"].flat, arrays["indptr"].flat
        whole = len(starts) == n + 1 and starts[0] == 0 and starts[-1] == len(data) == len(indices)
        whole = whole and all(a <= b for a, b in pairwise(starts)) and all(0 <= k < d for k in indices)
        _require(whole, "a sparse matrix in order")
        rows, kept, ends = [], [], [0]
        for a, b in pairwise(starts):
            entries = sorted((k, x) for k, x in zip(indices[a:b], data[a:b], strict=True) if x)
            _require(len({k for k, _ in entries}) == len(entries), "each place of the sparse matrix once")
            row = [0.0] * d
            for k, x in entries:
                row[k] = x
            rows.append(row)
            kept += entries
            ends.append(len(kept))
        digest = _sha256(f"csr {n} {d} ", ("q", ends), ("q", [k for k, _ in kept]), ("d", [x for _, x in kept]))
    _require(digest == header["features_sha256"], "the features that were measured, got others")
    return rows


def _rows(flat: Sequence[Any], d: int) -> list[Any]:
    return [flat[i : i + d] for i in range(0, len(flat), d)]


def _claims(arrays: dict[str, Array], problem: Problem, prefix: str) -> list[Claim]:
    n_labels, n_examples, d = len(problem.weight), len(problem.features), len(problem.centre)

    def parts(pointers: str, name: str, stop: int | None) -> list[Any]:
        ends, flat = (
            _take(arrays, prefix + pointers, "i8"),
            _take(arrays, prefix + name, "f8" if stop is None else "i8"),
        )
        _require(ends[0] == 0 and ends[-1] == len(flat) and all(a <= b for a, b in pairwise(ends)), "ascending ends")
        _require(stop is None or all(0 <= number < stop for number in flat), f"{name} from 0 up to {stop}")
        return [flat[a:b] for a, b in pairwise(ends)]

    sets = parts("indptr", "indices", n_labels)
    _require(all(a < b for labels in sets for a, b in pairwise(labels)), "ascending labels in each set")
    examples = parts("mixture_ptr", "mixture_examples", n_examples)
    weights = parts("mixture_ptr", "mixture_weights", None)
    labels, multipliers = parts("weighted_ptr", "weighted_labels", n_labels), parts("weighted_ptr", "multipliers", None)
    mixtures, weighted = zip(examples, weights, strict=True), zip(labels, multipliers, strict=True)
    conflicts = parts("conflict_ptr", "conflict_rows", n_labels + 3 + 2 * d)
    lower, upper = _take(arrays, prefix + "lower", "f8"), _take(arrays, prefix + "upper", "f8")
    _require(all(0 <= x <= math.inf for x in (*lower, *upper)), "bounds of at least 0")
    claims = zip(map(frozenset, sets), lower, upper, mixtures, weighted, conflicts, strict=True)
    return [Claim(*claim) for claim in claims]


def main(paths: Sequence[str]) -> int:
    """Prove the result in the first file from the others; say what holds, and return the exit code."""
    if not 3 <= len(paths) <= 4:
        print("usage: python standalone_stretch.py RESULT.npz WEIGHTS.npz FEATURES.npy [BIAS.npy]", file=sys.stderr)
        return 2
    try:
        stored = read(*paths)
        prove(stored.problem, stored.claims)
        prove(stored.problem, stored.predicted, "prediction")
        if stored.bar is not None and (fault := bar_fault(stored.bar, stored.predicted)):
            raise ProofError(f"the bar is not proven: {fault}")
    except (InputError, ProofError) as error:
        print(f"{'Refused' if isinstance(error, InputError) else 'Not proven'}: {error}.", file=sys.stderr)
        return 2 if isinstance(error, InputError) else 1
    problem, infinite = stored.problem, sum(claim.lower == math.inf for claim in stored.claims)
    print(f"Proven: the stretch of {len(stored.claims)} label sets, {infinite} of them infinite.")
    print(f"Rule {problem.rule}, ties {problem.ties}, {len(problem.features)} examples.")
    if stored.bar is not None:
        print(f"Bar: {stored.bar['value']:.6g}, from {stored.bar['n']} predictions, for {stored.bar['alpha']:g}.")
    return 0


if __name__ == "__main__":
    sys.stderr.reconfigure(errors="replace")  # type: ignore[union-attr] # paths and signs that a console cannot show
    sys.exit(main(sys.argv[1:]))
