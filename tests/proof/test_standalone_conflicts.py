"""The standalone checker takes a conflict exactly where the rows of the docstring have one positive dependence."""

import math
from fractions import Fraction
from itertools import combinations
from operator import mul

import pytest
from standalone_cases import TRIANGLE, layer_of

from labelproof.proof.standalone import conflict_fault, only_dependence, system_row, whole_row

THIRD = Fraction(1, 3)
NOT_ASCENDING, NOT_STRICT = "not an ascending list", "no strict inequality"
NO_ROW, NOT_ONE, NONE = "does not have", "not one linear dependence", "have no linear dependence"
NO_NEAREST = "no nearest dependence"


def rows_of(layer, active):
    """Every row of the docstring's table, in fractions, by its number; without those that are not there."""
    d, n, t = len(layer.low), len(layer.weight), layer.temperature
    tau = Fraction(layer.rule != "sigmoid")
    labels = [
        [*(Fraction(c, layer.unit) for c in w), Fraction(o, layer.unit), -tau]
        for w, o in zip(layer.weight, layer.offset, strict=True)
    ]
    rows = {i: [c if i in active else -c for c in row] for i, row in enumerate(labels)}
    unit = [[Fraction(i == j) for j in range(d + 2)] for i in range(d + 2)]
    if layer.rule == "sparsemax" or layer.has_offset or any([*layer.low, *layer.high]):
        rows[n] = unit[d]
    if layer.rule == "sparsemax":
        total = [t * sum((labels[i][j] for i in active), Fraction(0)) - unit[d][j] for j in range(d + 2)]
        rows |= {n + 1: [-c for c in total], n + 2: total}
    for j in range(d):
        if layer.low[j] is not None:
            rows[n + 3 + j] = [a - layer.low[j] * s for a, s in zip(unit[j], unit[d], strict=True)]
        if layer.high[j] is not None:
            rows[n + 3 + d + j] = [layer.high[j] * s - a for a, s in zip(unit[j], unit[d], strict=True)]
    return rows


def null_space(rows):
    """A basis of all λ with Σ λ_r rows_r = 0, by Gauss and Jordan."""
    lines, pivots = [list(column) for column in zip(*rows, strict=True)], []
    for j in range(len(rows)):
        k = len(pivots)
        place = next((i for i in range(k, len(lines)) if lines[i][j]), None)
        if place is None:
            continue
        lines[k], lines[place] = lines[place], lines[k]
        lines[k] = [c / lines[k][j] for c in lines[k]]
        for i, line in enumerate(lines):
            if i != k and line[j]:
                lines[i] = [a - line[j] * b for a, b in zip(line, lines[k], strict=True)]
        pivots.append(j)
    free = [j for j in range(len(rows)) if j not in pivots]
    return [[-lines[pivots.index(j)][f] if j in pivots else Fraction(j == f) for j in range(len(rows))] for f in free]


def fault_expected(layer, active, numbers):
    n = len(layer.weight)
    if not any(r == n or r in active or (r < n and layer.ties == "open") for r in numbers):
        return NOT_STRICT
    rows = rows_of(layer, active)
    if not set(numbers) <= set(rows):
        return NO_ROW
    if len(numbers) > len(layer.low) + (n in rows) + (layer.rule != "sigmoid") + 1:
        return fault_of_many([whole_row(layer, r, active) for r in numbers])
    basis = null_space([rows[r] for r in numbers])
    if len(basis) != 1:
        return (NOT_ONE, NONE)
    return None if all(c > 0 for c in basis[0]) or all(c < 0 for c in basis[0]) else NOT_ONE


def fault_of_many(rows):
    """Whether the 1 − X z that cancels the rows of X is positive."""
    X = [[Fraction(c, 2 ** max(map(abs, row)).bit_length()) for c in row] for row in rows]
    columns = [column for column in zip(*X, strict=True) if any(column)]
    products = [[sum(map(mul, a, b)) for b in columns] for a in (*columns, [1] * len(X))]
    basis = null_space(products)  # Σ z_j (column_j · columns) = 1 · columns, for one z only
    if len(basis) != 1 or not basis[0][-1]:
        return NO_NEAREST
    z = [-c / basis[0][-1] for c in basis[0][:-1]]
    nearest = [1 - sum(c[i] * factor for c, factor in zip(columns, z, strict=True)) for i in range(len(X))]
    return None if min(nearest) > 0 else NO_NEAREST


LAYERS = {
    "plain": {"weight": TRIANGLE},
    "plain, one feature": {"weight": [[1], [-THIRD]]},
    "bias": {"weight": [[1], [-1], [THIRD]], "offset": [-1, Fraction(1, 2), 0]},
    "bias of zeros": {"weight": [[1], [-1]], "offset": [0, 0]},
    "rows of zeros": {"weight": [[0], [0], [2]], "offset": [Fraction(-1, 2), 3, 0]},
    "zeros alone": {"weight": [[0], [0]]},
    "nonnegative": {"weight": [[1, 1], [-1, 2]], "low": [0, 0]},
    "box": {"weight": [[1], [-2]], "low": [-THIRD], "high": [Fraction(3, 4)]},
    "box of two": {"weight": [[1, 1]], "low": [1, None], "high": [None, -2]},
    "bound above by zero": {"weight": [[1, 0], [0, 1]], "high": [0, 0]},
}


@pytest.mark.parametrize("ties", ["open", "inactive"])
@pytest.mark.parametrize("rule", ["sigmoid", "topk", "sparsemax"])
@pytest.mark.parametrize("name", LAYERS)
def test_a_list_of_rows_is_a_conflict_if_they_have_one_dependence_and_it_is_positive(name, rule, ties):
    layer = layer_of(**LAYERS[name], rule=rule, ties=ties, temperature=Fraction(2, 3))
    n, d = len(layer.weight), len(layer.low)
    for active in ({0}, set(range(n)), set()):
        for size in range(1, d + 4):
            for numbers in combinations(range(n + 3 + 2 * d), size):
                expected = fault_expected(layer, active, numbers)
                found = conflict_fault(layer, frozenset(active), numbers)
                if isinstance(expected, tuple):
                    assert any(text in found for text in expected)
                elif expected is None:
                    assert found is None, (active, numbers)
                else:
                    assert expected in found, (active, numbers)


@pytest.mark.parametrize("rule", ["sigmoid", "topk", "sparsemax"])
@pytest.mark.parametrize("name", LAYERS)
def test_every_row_is_that_of_the_docstring_in_coprime_integers(name, rule):
    layer = layer_of(**LAYERS[name], rule=rule, temperature=Fraction(2, 3))
    n, d = len(layer.weight), len(layer.low)
    for active in ({0}, set(range(n)), set()):
        expected = rows_of(layer, active)
        for number in range(n + 3 + 2 * d):
            row = system_row(layer, number, frozenset(active))
            if number not in expected:
                assert row == []
                continue
            assert all(isinstance(c, int) for c in row)
            assert math.gcd(*row) == any(row)
            ratios = {Fraction(b) / a for a, b in zip(expected[number], row, strict=True) if a}
            assert len(ratios) == any(row)
            assert all(ratio > 0 for ratio in ratios)
            assert [bool(c) for c in row] == [bool(c) for c in expected[number]]


@pytest.mark.parametrize("numbers", [[], [1, 0], [0, 0], [0, 2, 1], list(range(21)), [2, 1, 0]])
def test_rows_that_do_not_ascend_or_are_too_many_are_none(numbers):
    layer = layer_of(TRIANGLE, [1, 1, 1])
    fault = conflict_fault(layer, frozenset([0]), numbers)
    assert fault == "its conflict is not an ascending list of 1 to 20 rows"


def test_as_many_rows_as_unknowns_and_one_more_can_conflict():
    # x > 1, y > 0, τ-free: three labels with an offset and the scale; and one row of zeros by itself
    layer = layer_of([[1, 0], [0, 1], [-1, -1]], [-1, 0, 0])
    assert conflict_fault(layer, frozenset([0, 1, 2]), [0, 1, 2, 3]) is None
    topk = layer_of([[1, 0], [0, 1], [-1, -1], [0, 0]], [0, 0, 0, 1], rule="topk")
    assert conflict_fault(topk, frozenset([0, 1, 2]), [0, 1, 2, 3, 4]) is None
    assert conflict_fault(layer_of([[0, 0]]), frozenset([0]), [0]) is None


# The elimination


def test_the_dependence_of_rows_is_found_without_rounding():
    for rows, expected in [
        ([[2], [3]], [-3, 2]),
        ([[2], [-3]], [3, 2]),
        ([[-2, 0], [3, 0]], [3, 2]),
        ([[0, -2], [0, 3]], [3, 2]),
        ([[1, 0], [0, 1], [-1, -1]], [1, 1, 1]),
        ([[0, 3, 5], [7, 0, 2], [-7, -6, -12]], [2, 1, 1]),
        ([[2, 3, 5], [7, 11, 13], [17, 19, 23], [-26, -33, -41]], [1, 1, 1, 1]),
        ([[2, 3, 5], [7, 11, 13], [17, 19, 23], [29, 31, 37]], None),
        ([[5]], [1]),
    ]:
        found = only_dependence(rows)
        assert found[-1] > 0
        assert all(isinstance(m, int) for m in found)
        if expected is None:
            expected = null_space([[Fraction(c) for c in row] for row in rows])[0]
        assert [Fraction(m, found[-1]) for m in found] == [Fraction(m) / expected[-1] for m in expected]


def test_the_elimination_stays_in_minors_of_the_table():
    rows = [[2, 3, 5], [7, 11, 13], [17, 19, 23], [29, 31, 37]]
    determinant = 2 * (11 * 23 - 13 * 19) - 3 * (7 * 23 - 13 * 17) + 5 * (7 * 19 - 11 * 17)
    assert only_dependence(rows)[-1] == determinant**2


@pytest.mark.parametrize(
    "rows", [[[1, 0], [2, 0], [0, 1]], [[0], [0]], [[0, 0], [1, 1]], [[1, 2], [2, 4], [3, 6]], [[1], [2], [3]]]
)
def test_rows_all_but_one_of_which_depend_have_no_single_dependence(rows):
    assert only_dependence(rows) is None


def test_rows_that_are_independent_are_no_conflict():
    layer = layer_of([[1, 0], [1, 1], [2, 3]])
    assert NONE in conflict_fault(layer, frozenset([0]), [0, 1])
    assert NONE in conflict_fault(layer_of([[1, 0]]), frozenset([0]), [0])
    assert NOT_ONE in conflict_fault(layer, frozenset([0, 1, 2]), [0, 1, 2])
