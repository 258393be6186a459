"""The rows of a conflict in floats are those in exact numbers, and what is no row of the system is refused."""

from dataclasses import replace
from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest
import scipy.sparse

from labelproof.proof import conflicts
from labelproof.proof.conflicts import (
    _are_active,
    _extra_row,
    _float_systems,
    _only_dependence,
    conflict_faults,
    exact_multipliers,
)
from labelproof.proof.labels import read_label_sets
from labelproof.proof.regions import exact_row, make_layer
from labelproof.proof.rounding import float_rows
from labelproof.proof.sparse_weights import SparseWeight

UNIT = Fraction(1, 2**53)
BOX = (np.array([-0.5, -np.inf, 0.0, -np.inf]), np.array([9.0, 0.25, np.inf, 8.0]))
LAYERS = {
    "plain": {},
    "bias": {"bias": [0.1, -0.2, 0.0, 4.0]},
    "thresholds": {"bias": [0.1, -0.2, 0.0, 4.0], "thresholds": [0.3, 0.4, 0.6, 0.7]},
    "nonnegative": {"domain": "nonnegative"},
    "below zero": {"domain": (-np.inf, 0.0)},
    "box": {"domain": BOX},
    "box with bias": {"domain": BOX, "bias": [0.1, -0.2, 0.0, 4.0]},
    "topk": {"rule": "topk"},
    "topk with bias": {"rule": "topk", "bias": [0.1, -0.2, 0.0, 4.0]},
    "topk in a box": {"rule": "topk", "domain": BOX},
    "sparsemax": {"rule": "sparsemax"},
    "sparsemax in a box": {"rule": "sparsemax", "domain": BOX, "bias": [0.1, -0.2, 0.0, 4.0]},
}
WEIGHT = np.array([[1.0, -2.0, 0.0, 0.0], [0.1, 0.2, 0.3, 9.0], [1e-9, 3e9, 0.0, 0.0], [-5.0, 0.0, 7.0, 0.3]])


def is_the_row(found, wanted):
    """Whether floats are the exact row times a power of two, each within a unit."""
    (factor,) = {2.0 ** round(np.log2(abs(f / float(w)))) for f, w in zip(found, wanted, strict=True) if w}
    return all(
        abs(Fraction(f) - Fraction(factor) * w) <= UNIT * abs(Fraction(f)) for f, w in zip(found, wanted, strict=True)
    )


@pytest.mark.parametrize("given", [False, True])
@pytest.mark.parametrize("name", LAYERS)
def test_float_rows_are_the_exact_rows_over_a_power_of_two(name, given):
    layer = make_layer(WEIGHT, **LAYERS[name])
    floats = float_rows(layer) if given else None
    rows = [*range(4), *layer.extra_rows()]
    for size in (1, 2):
        chosen = np.array(list(combinations(rows, size)))
        sets = read_label_sets([[[0, 2], [], [1, 2, 3]][i % 3] for i in range(len(chosen))], 4)
        for numbers, active, system in zip(chosen, sets, _float_systems(layer, sets, chosen, floats), strict=True):
            exact = [exact_row(layer, row, active) for row in numbers.tolist()]
            kept = [column for column in zip(*exact, strict=True) if any(column)]
            for k, row in enumerate(numbers.tolist()):
                if row in (layer.n_labels + 1, layer.n_labels + 2):
                    assert np.isnan(system[k]).any()  # the sum of logits is no float
                elif not np.isin(numbers, (layer.n_labels + 1, layer.n_labels + 2)).any():
                    assert system.shape == (size, len(kept))
                    assert is_the_row(system[k].tolist(), [column[k] for column in kept])
                    assert np.abs(system[k]).max() <= 1


def test_a_row_that_underflows_beside_its_own_entries_is_left_to_exact_numbers():
    layer = make_layer(np.array([[1e300, 1e-300], [1.0, 1.0], [-1.0, -1.0]]))
    (system,) = _float_systems(layer, read_label_sets([[0, 1]], 3), np.array([[0, 1, 2]]))
    assert np.isnan(system[0]).tolist() == [False, True]
    assert not np.isnan(system[1:]).any()


def test_active_labels_are_told_from_others_and_from_those_of_other_label_sets():
    sets = read_label_sets([[], [5], [0, 2, 5], [1], [0]], 6)
    rows = np.array([[0, 1, 2, 5, 9], [0, 1, 2, 5, 6], [0, 1, 2, 3, 4], [0, 1, 2, 3, 4], [0, 1, 2, 3, 4]])
    found = _are_active(sets, rows)
    for active, numbers, some in zip(sets, rows.tolist(), found.tolist(), strict=True):
        assert some[:3] == [number in active for number in numbers[:3]]  # the others may be no labels
    assert found[1, 3]
    assert _are_active(read_label_sets([[0]], 2), np.array([[0, 1]])).tolist() == [[True, False]]
    assert _are_active(read_label_sets([[]], 2), np.array([[0, 1]])).tolist() == [[False, False]]
    few = read_label_sets([[5], [0]], 6)  # numbers of one label set are none of the next
    assert _are_active(few, np.array([[0, 1, 2], [0, 1, 2]])).tolist() == [[False] * 3, [True, False, False]]


@pytest.mark.parametrize("options", [{}, {"bias": np.arange(4.0)}])
def test_rows_that_were_scaled_for_witnesses_are_taken_from_there(options):
    layer = make_layer(WEIGHT, **options)
    sets, rows = read_label_sets([[0, 2], []], 4), np.array([[0, 1, 2], [1, 2, 3]])
    floats = float_rows(layer)
    anew, taken = (np.array(_float_systems(layer, sets, rows, some)) for some in (None, floats))
    ratios = anew[taken != 0] / taken[taken != 0]
    assert len(set(ratios.tolist())) == 1  # `many_rows` asks for the same scale of all rows
    twice = replace(floats, rows=2 * floats.rows)
    np.testing.assert_array_equal(np.array(_float_systems(layer, sets, rows, twice)), 2 * taken)


def test_what_rounding_leaves_of_an_offset_is_no_column_of_a_conflict():
    layer = make_layer(WEIGHT, bias=[1e10, 2e10, 3e10, 4e10], thresholds=[0.3, 0.4, 0.6, 0.7])
    assert layer.offset_error.all()
    sets, rows = read_label_sets([[0]], 4), np.array([[0, 1, 3]])
    anew, taken = (_float_systems(layer, sets, rows, floats)[0] for floats in (None, float_rows(layer)))
    assert anew.shape == taken.shape == (3, 5)


def test_rows_that_were_not_scaled_one_by_one_and_exactly_are_scaled_anew():
    lost = make_layer(np.array([[1e300, 1e-300], [1.0, 1.0], [-1.0, -1.0]]))
    shared = make_layer(WEIGHT, rule="topk")
    sparse = make_layer(SparseWeight(scipy.sparse.csr_array(WEIGHT)))
    bounded = make_layer(WEIGHT, domain=(0.0, 1.0))
    for layer, rows in ((lost, [0, 1, 2]), (shared, [0, 1, 2]), (sparse, [0, 1, 2]), (bounded, [0, 1, 4])):
        sets, numbers = read_label_sets([[0, 1]], layer.n_labels), np.array([rows])
        anew, given = (_float_systems(layer, sets, numbers, floats)[0] for floats in (None, float_rows(layer)))
        np.testing.assert_array_equal(anew, given)


def test_extra_rows_are_unit_vectors_with_the_bound_for_a_scale():
    layer = make_layer(np.eye(2), domain=(np.array([-1.0, 0.0]), np.array([2.0, 3.0])))
    assert [_extra_row(layer, kind).tolist() for kind in (0, 3, 4, 5, 6)] == [
        [0.0, 0.0, 1.0],
        [1.0, 0.0, 1.0],
        [0.0, 1.0, 0.0],
        [-1.0, 0.0, 2.0],
        [0.0, -1.0, 3.0],
    ]
    assert [np.isnan(_extra_row(layer, kind)).tolist() for kind in (1, 2)] == [[False, False, True]] * 2
    cone = make_layer(np.eye(2), domain="nonnegative")
    assert [_extra_row(cone, kind).tolist() for kind in (3, 4)] == [[1.0, 0.0], [0.0, 1.0]]


def test_without_a_bias_the_scale_is_no_part_of_a_label():
    layer = make_layer(np.array([[1.0]]), domain=(-0.5, 9.0))
    low, scale = layer.low_row(0), layer.scale_row
    (fault,) = conflict_faults(layer, read_label_sets([[]], 1), [np.array([0, scale, low])])
    assert fault == "expected rows with one linear dependence, of positive multipliers, got none"  # −0.25 is inside


def faults(weight, active, rows, **options):
    layer = make_layer(np.array(weight), **options)
    return conflict_faults(layer, read_label_sets([active], len(weight)), [np.array(rows)])[0]


@pytest.mark.parametrize("exactly", [False, True])
def test_conflicts_of_all_sizes_are_told_from_others_at_once(exactly, monkeypatch):
    if exactly:
        monkeypatch.setattr(conflicts, "_positive_dependence", lambda stack: np.zeros(len(stack), np.bool_))
    weight = np.array([[1.0, 0.0], [-2.0, 0.0], [0.0, 1.0], [-1.0, -1.0], [0.0, 0.0]])
    layer = make_layer(weight)
    cases = [
        ([0, 1], [0, 1], True),
        ([0, 1], [0, 2], False),
        ([0, 2, 3], [0, 2, 3], True),
        ([0, 2], [0, 2, 3], False),
        ([4], [4], True),
        ([0, 1, 4], [0, 1], True),
        ([0], [0, 1], False),
        ([], [], False),
        ([0, 1, 2], [0, 1, 2], False),  # the third has no part
        ([0, 4], [0, 4], False),
        ([0, 1], [1, 0], False),
    ]
    sets = read_label_sets([active for active, _, _ in cases], 5)
    found = conflict_faults(layer, sets, [np.array(rows, np.int64) for _, rows, _ in cases])
    assert [fault is None for fault in found] == [expected for _, _, expected in cases]


def test_multipliers_refer_to_the_rows_as_they_are():
    layer = make_layer(np.array([[0.5, 0.0], [0.0, 3.0], [-0.25, -0.75]]))
    found = exact_multipliers(layer, np.arange(3), np.arange(3))
    assert [value / found[2] for value in found] == [Fraction(1, 2), Fraction(1, 4), 1]
    assert all(value > 0 for value in found)
    negated = exact_multipliers(layer, np.arange(0), np.arange(3))
    assert [value / negated[2] for value in negated] == [Fraction(1, 2), Fraction(1, 4), 1]
    assert exact_multipliers(layer, np.array([0]), np.arange(3)) is None
    pair = make_layer(np.array([[0.5, 1.0, 0.0], [-1.0, -2.0, 0.0]]))
    found = exact_multipliers(pair, np.arange(2), np.arange(2))
    assert found[0] == 2 * found[1] > 0
    assert exact_multipliers(pair, np.array([0]), np.arange(2)) is None


@pytest.mark.parametrize(
    ("columns", "expected"),
    [
        ([[1, -1]], [1, 1]),
        ([[2, 3]], [Fraction(-3, 2), 1]),
        ([[0, 3]], None),
        ([[1, -1], [2, -2]], [1, 1]),
        ([[1, 0], [0, 1]], None),
        ([[1, -1, 0], [0, 0, 0]], None),
        ([[0]], [1]),
        ([[5]], None),
    ],
)
def test_one_dependence_is_found_and_others_are_none(columns, expected):
    found = _only_dependence(conflicts.flint.fmpz_mat(columns))
    if expected is None:
        assert found is None
    else:
        assert [value / found[-1] for value in found] == [Fraction(value) / expected[-1] for value in expected]


def test_a_conflict_needs_as_many_rows_as_fit_and_at_least_one():
    weight = [[1.0], [-1.0], [2.0]]
    assert faults(weight, [0, 1], [0, 1]) is None
    assert faults(weight, [0, 1], []) == "expected a conflict of 1 to 16 rows, got 0"
    assert faults(weight, [0, 1, 2], [0, 1, 2]) is None  # with the multipliers nearest to equal ones
    assert faults([[1.0]] * 17, range(17), range(17)) == "expected a conflict of 1 to 16 rows, got 17"
    assert faults([[0.0]], [0], [0]) is None
    for rows in ([0, 0], [1, 0], [-1, 0], [0, 3], [0, 9]):
        assert "expected a conflict of different rows of the system" in faults(weight, [0, 1], rows)
    assert "expected a conflict of different rows" in faults(weight, [0, 1], [1, 3], domain="nonnegative")
    assert faults(weight, [1], [1, 6], domain="nonnegative") is None
    assert faults(weight, [0], [1, 6], domain="nonnegative", ties="inactive") == (
        "expected a conflict with a strict inequality, got only weak ones"
    )


def test_sets_that_share_rows_but_not_their_signs_are_judged_apart():
    layer = make_layer([[1.0], [1.0]])
    for other in ([0, 1], []):
        faults = conflict_faults(layer, read_label_sets([[0], other], 2), [np.array([0, 1])] * 2)
        assert faults[0] is None
        assert "of positive multipliers, got none" in faults[1]


def test_sets_that_share_rows_but_not_the_sum_of_their_logits_are_judged_apart():
    layer = make_layer([[2.0], [1.0], [0.0], [0.0]], rule="sparsemax", domain=(-1.0, 1.0))
    rows = np.array([0, layer.n_labels + 2, layer.low_row(0)])  # z₀ < τ, z₁ ≥ τ + 1 and x ≥ −1
    faults = conflict_faults(layer, read_label_sets([[1], [2]], 4), [rows] * 2)
    assert faults[0] is None
    assert "of positive multipliers, got none" in faults[1]


def test_a_conflict_that_floats_cannot_tell_proves_nothing_without_time_for_an_exact_solve():
    layer, asked = make_layer([[1.0, 1.0], [1.0, 1.0]]), []
    rows = [np.array([0, 1])]
    assert conflict_faults(layer, read_label_sets([[0]], 2), rows) == [None]
    (fault,) = conflict_faults(layer, read_label_sets([[0]], 2), rows, may_solve=asked.append)
    assert "no time for an exact solve" in fault
    assert asked == [2]
