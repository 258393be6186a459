"""No false proof passes: certificates changed by hand, floats made to mislead the bounds, and exact multipliers."""

from dataclasses import replace
from fractions import Fraction
from math import gcd

import numpy as np
import pytest
from scipy.special import logit

import labelproof as lp
from labelproof.proof.certificates import Unargmaxable
from labelproof.proof.conflicts import conflict_faults
from labelproof.proof.labels import LabelSets, read_label_sets
from labelproof.proof.regions import make_layer
from labelproof.proof.rounding import float_rows
from labelproof.proof.witnesses import witness_faults

TRIANGLE = np.array([[1.0, 0.0], [0.0, 1.0], [-1.0, -1.0]])  # of its eight sets, {} and {0, 1, 2} are unargmaxable
BEYOND = Fraction(2) ** 5000


def with_witness(verification, i, x):
    """Call set i argmaxable, with this witness: Fractions in a tuple, or floats."""
    points, point_of, fractions = list(verification.points), verification.point_of.copy(), dict(verification.fractions)
    if isinstance(x, tuple):
        point_of[i] = -1
        fractions[i] = x
    else:
        points = [np.zeros_like(x)] * len(points) if len(x) != verification.layer.d else points
        point_of[i] = len(points)
        points.append(np.asarray(x, dtype=np.float64))
    status = verification.status.copy()
    status[i] = 1
    return replace(
        verification,
        status=status,
        points=np.array(points).reshape(len(points), -1 if points else verification.layer.d),
        point_of=point_of,
        fractions=fractions,
    )


def with_conflict(verification, i, rows):
    """Call set i unargmaxable, with this conflict."""
    status = verification.status.copy()
    status[i] = 0
    ptr = verification.conflict_ptr
    parts = [verification.conflict_rows[ptr[k] : ptr[k + 1]] for k in range(len(status))]
    parts[i] = np.array(rows, np.int64)
    ends = np.cumsum([len(part) for part in parts])
    return replace(
        verification,
        status=status,
        conflict_ptr=np.concatenate([[0], ends]).astype(np.int64),
        conflict_rows=np.concatenate(parts),
    )


def refuse(verification, message):
    with pytest.raises(lp.CertificateError, match=message):
        verification.check(n_jobs=1)


def above(x):
    return float(np.nextafter(x, np.inf))


def below(x):
    return float(np.nextafter(x, -np.inf))


def triangle(sets=((0,), (0, 1), (), (0, 1, 2)), **options):
    return lp.verify(TRIANGLE, [list(active) for active in sets], **options)


# --- witnesses --------------------------------------------------------------------------------------------


def test_an_untouched_result_passes():
    verification = triangle()
    assert verification.status.tolist() == [1, 1, 0, 0]
    verification.check()
    verification.check(n_jobs=2)


def test_a_point_on_the_boundary_is_no_witness():
    verification = triangle()
    refuse(
        with_witness(verification, 1, np.array([1.0, 0.0])),
        "^label set 1 is not proven: label 1: expected a positive logit, got 0$",
    )
    refuse(with_witness(verification, 0, np.array([1.0, 0.0])), "label 1: expected a negative logit, got 0$")


def test_a_tie_counts_as_inactive_only_where_asked():
    verification = triangle(ties="inactive")
    with_witness(verification, 0, np.array([1.0, 0.0])).check()
    refuse(with_witness(verification, 1, np.array([1.0, 0.0])), "label 1: expected a positive logit, got 0$")


@pytest.mark.parametrize("scale", [2.0**-1000, 1.0, 2.0**1000])
def test_a_witness_moved_over_the_boundary_by_one_unit_in_the_last_place_fails(scale):
    verification = lp.verify(np.array([[3.0, -1.0], [1.0, 1.0]]) / 4 * scale, [[0, 1]])
    x = np.array([0.1, float(3 * Fraction(0.1))])
    x[1] = below(x[1]) if Fraction(x[1]) >= 3 * Fraction(0.1) else x[1]  # the last float at which label 0 is active
    with_witness(verification, 0, x).check()
    refuse(with_witness(verification, 0, np.array([x[0], above(x[1])])), "label 0: expected a positive logit, got -")


@pytest.mark.parametrize("x", [5e-324, 1e-300, 1.0, 1e300, 1.7976931348623157e308])
def test_one_unit_decides_between_two_active_labels_of_a_bias_at_any_size(x):
    verification = lp.verify(np.array([[1.0], [-1.0]]), [[0, 1]], bias=np.array([-below(x), x]))
    if below(x) == 0:  # no float lies inside
        verification = with_witness(verification, 0, (Fraction(x) / 2,))
        verification.check()
    refuse(with_witness(verification, 0, np.array([x])), "label 1: expected a positive logit, got 0$")
    refuse(with_witness(verification, 0, np.array([below(x)])), "label 0: expected a positive logit, got 0$")
    with_witness(verification, 0, ((Fraction(x) + Fraction(below(x))) / 2,)).check()


def test_topk_needs_the_least_active_logit_over_the_largest_inactive_one():
    verification = lp.verify(np.eye(3), [[0, 1]], rule="topk")
    with_witness(verification, 0, np.array([1.0, above(1.0), below(1.0)])).check()
    refuse(
        with_witness(verification, 0, np.array([1.0, 2.0, 1.0])), "label 0: expected a logit above label 2's 1, got 1$"
    )
    refuse(
        with_witness(verification, 0, np.array([3.0, 1.0, above(1.0)])),
        "label 1: expected a logit above label 2's 1, got 1$",
    )


@pytest.mark.parametrize("ties", ["open", "inactive"])
def test_sparsemax_needs_the_inactive_logits_below_its_threshold(ties):
    verification = lp.verify(np.eye(2), [[0], [0, 1]], rule="sparsemax", ties=ties)
    with_witness(verification, 0, np.array([1.0, below(0.0)])).check()
    with_witness(verification, 1, np.array([1.0, above(0.0)])).check()
    message = "label 1: expected a logit below the threshold 0, got "
    refuse(with_witness(verification, 0, np.array([1.0, above(0.0)])), message)
    message = "label 1: expected a logit above the threshold "
    refuse(with_witness(verification, 1, np.array([1.0, below(0.0)])), message)
    on_the_threshold = with_witness(verification, 0, np.array([1.0, 0.0]))
    if ties == "inactive":
        on_the_threshold.check()
    else:
        refuse(on_the_threshold, "label 1: expected a logit below the threshold 0, got 0$")


@pytest.mark.parametrize("temperature", [0.5, 1.0, 3.0, 1e300, 5e-324])
def test_the_temperature_of_sparsemax_sets_how_far_apart_active_logits_may_be(temperature):
    layer = make_layer(np.eye(2), rule="sparsemax", temperature=temperature)
    lead = 1 / Fraction(temperature)  # of label 0 over label 1 where that leaves the support
    sets = read_label_sets([[0], [0, 1], [1], []], 2)
    for x, expected in [(lead * 2, 0), (lead, None), (lead / 2, 1), (-lead / 2, 1), (-lead * 2, 2)]:
        faults = witness_faults(layer, float_rows(layer), sets, [(x, Fraction(0))] * 4)
        assert [fault is None for fault in faults] == [k == expected for k in range(4)]


def test_the_empty_set_has_no_witness_under_sparsemax():
    verification = lp.verify(np.eye(2), [[]], rule="sparsemax")
    refuse(with_witness(verification, 0, np.array([1.0, 2.0])), "expected a non-empty support, got the empty set")


@pytest.mark.parametrize("rule", ["sigmoid", "topk", "sparsemax"])
def test_witnesses_swapped_between_sets_fail(rule):
    verification = triangle([(0,), (1,), (0, 1)], rule=rule)
    assert verification.status.tolist() == [1, 1, 1]
    refuse(replace(verification, point_of=verification.point_of[[1, 0, 2]]), "^label set 0 is not proven: label ")
    refuse(replace(verification, point_of=verification.point_of[[0, 2, 1]]), "^label set 1 is not proven: label ")


@pytest.mark.parametrize("x", [(), (Fraction(1),), (Fraction(1),) * 3])
def test_a_witness_of_another_length_fails(x):
    refuse(with_witness(triangle([(0, 1)]), 0, x), f"expected a witness of 2 features, got {len(x)}$")


@pytest.mark.parametrize("x", [np.ones(1), np.ones(3)])
def test_witnesses_of_another_length_fail(x):
    refuse(with_witness(triangle([(0, 1)]), 0, x), r"expected witnesses of shape \(…, 2\), got ")


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_a_witness_that_is_not_finite_fails(value):
    verification = triangle([(0, 1)])
    for x in [[value, 1.0], [1.0, value], [value, value]]:
        refuse(with_witness(verification, 0, np.array(x)), "expected a finite witness, got NaN or infinity")


def test_a_witness_outside_the_nonnegative_domain_fails():
    verification = lp.verify(np.array([[-1.0, 1.0]]), [[0]], domain="nonnegative")
    with_witness(verification, 0, np.array([-0.0, 1.0])).check()
    refuse(
        with_witness(verification, 0, np.array([-5e-324, 1.0])),
        "feature 0: expected a value ≥ 0.0, got -4.94066e-324$",
    )
    refuse(with_witness(verification, 0, (-1 / BEYOND, Fraction(1))), "feature 0: expected a value ≥ 0.0, got ")


def test_a_witness_outside_the_box_by_one_unit_fails():
    low, high = np.array([-np.inf, 0.1]), np.array([0.3, np.inf])
    verification = lp.verify(np.array([[0.0, 1.0]]), [[0]], domain=(low, high))
    with_witness(verification, 0, np.array([0.3, 0.1])).check()
    with_witness(verification, 0, np.array([-1e308, 1e308])).check()
    with_witness(verification, 0, (-BEYOND, BEYOND)).check()
    refuse(with_witness(verification, 0, np.array([above(0.3), 1.0])), "feature 0: expected a value ≤ 0.3, got 0.3$")
    refuse(with_witness(verification, 0, np.array([0.0, below(0.1)])), "feature 1: expected a value ≥ 0.1, got 0.1$")
    beyond = Fraction(0.3) + 1 / BEYOND
    refuse(with_witness(verification, 0, (beyond, Fraction(1))), "feature 0: expected a value ≤ 0.3, got 0.3$")


def test_a_witness_that_no_float_holds_is_judged_exactly():
    verification = lp.verify(np.array([[1.0], [-1.0]]), [[0, 1]], bias=np.array([0.0, 5e-324]))
    for x in [1 / BEYOND, Fraction(5e-324) - 1 / BEYOND]:
        with_witness(verification, 0, (x,)).check()
    refuse(with_witness(verification, 0, (Fraction(0),)), "label 0: expected a positive logit, got 0$")
    refuse(with_witness(verification, 0, (Fraction(5e-324),)), "label 1: expected a positive logit, got 0$")
    refuse(with_witness(verification, 0, (-1 / BEYOND,)), "label 0: expected a positive logit, got ")
    refuse(with_witness(verification, 0, (BEYOND,)), "label 1: expected a positive logit, got a number below -1e308")


# --- conflicts --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([], "expected a conflict of 1 to 20 rows, got 0"),
        ([0, 1], "expected rows with one linear dependence, of positive multipliers, got none"),
        ([0], "expected rows with one linear dependence, of positive multipliers, got none"),
        ([0, 1, 1], r"expected a conflict of different rows of the system in ascending order, got \[0, 1, 1\]"),
        ([0, 1, 99], r"expected a conflict of different rows of the system in ascending order, got \[0, 1, 99\]"),
        ([-1, 0, 1], r"expected a conflict of different rows of the system in ascending order, got \[-1, 0, 1\]"),
        ([-4, -3, -2], r"expected a conflict of different rows of the system in ascending order, got \[-4, -3, -2\]"),
        ([0, 1, 3], "expected rows with one linear dependence, of positive multipliers, got none"),
        ([1, 2, 3], "expected rows with one linear dependence, of positive multipliers, got none"),
    ],
    ids=["empty", "dropped", "two-dropped", "twice", "beyond", "negative", "all-negative", "other", "another"],
)
def test_a_conflict_of_other_rows_fails(rows, message):
    verification = lp.verify(np.vstack([TRIANGLE, [[2.0, -1.0]]]), [[0, 1], [0, 1, 2]])
    assert verification.status.tolist() == [1, 0]
    with_conflict(verification, 1, [0, 1, 2]).check()
    with_conflict(verification, 1, [0, 2, 3]).check()
    with_conflict(verification, 1, [0, 1, 2, 3]).check()  # more than needed, and as good
    refuse(with_conflict(verification, 1, rows), f"^label set 1 is not proven: {message}$")


def test_the_conflict_of_one_set_proves_nothing_about_another():
    verification = lp.verify(np.vstack([TRIANGLE, -TRIANGLE[:1]]), [[0, 1, 2], [0, 3], [0, 1]])
    assert verification.status.tolist() == [0, 0, 1]
    first, second = verification[0].conflict, verification[1].conflict
    assert (first, second) == ((0, 1, 2), (0, 3))
    message = "expected rows with one linear dependence, of positive multipliers, got none"
    refuse(with_conflict(verification, 2, first), f"label set 2 is not proven: {message}")
    refuse(with_conflict(verification, 2, second), f"label set 2 is not proven: {message}")
    refuse(with_conflict(with_conflict(verification, 0, second), 1, first), f"label set 0 is not proven: {message}")


@pytest.mark.parametrize("ties", ["open", "inactive"])
def test_a_conflict_of_weak_inequalities_proves_nothing(ties):
    verification = lp.verify(np.array([[1.0], [-1.0]]), [[]], ties=ties)
    if ties == "open":
        assert verification[0].conflict == (0, 1)
    else:
        assert verification.status.tolist() == [1]
        message = "expected a conflict with a strict inequality, got only weak ones"
        refuse(with_conflict(verification, 0, [0, 1]), message)


def test_a_conflict_of_the_domain_alone_proves_nothing():
    verification = lp.verify(np.array([[1.0]]), [[0]], domain=(2.0, 2.0))
    low, high = verification.layer.low_row(0), verification.layer.high_row(0)
    refuse(with_conflict(verification, 0, [low, high]), "expected a conflict with a strict inequality, got only weak")
    refuse(with_conflict(verification, 0, [1, low, high]), "expected rows with one linear dependence")


def test_a_constant_zero_label_is_a_conflict_only_if_its_inequality_is_strict():
    weight = np.array([[0.0, 0.0], [1.0, 0.0]])
    assert lp.verify(weight, [[]])[0].conflict == (0,)
    verification = lp.verify(weight, [[1], [0]], ties="inactive")
    assert verification.status.tolist() == [1, 0]
    refuse(with_conflict(verification, 0, [0]), "expected a conflict with a strict inequality, got only weak ones")
    refuse(with_conflict(verification, 1, [1]), "expected a conflict with a strict inequality, got only weak ones")
    refuse(with_conflict(verification, 0, [1]), "expected rows with one linear dependence")


@pytest.mark.parametrize(
    "weight",
    [
        [[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]],  # 1, 1, -1
        [[1.0, 0.0], [2.0, 0.0], [0.0, 1.0]],  # 2, -1, 0
        [[1.0, 0.0], [-1.0, 0.0], [0.0, 1.0]],  # 1, 1, 0: a conflict, and a row that has no part in it
        [[1.0, 0.0], [0.0, 1.0], [0.0, -1.0]],  # 0, 1, 1
        [[1.0, 1.0], [2.0, 2.0], [-3.0, -3.0]],  # two dependences
        [[0.0, 0.0], [0.0, 0.0], [1.0, 0.0]],  # two dependences
        [[1.0, 0.0], [0.0, 1.0], [-1.0, -5e-324]],  # a conflict: 1, 5e-324, 1
    ],
    ids=["mixed", "mixed-and-zero", "last-zero", "first-zero", "one-line", "zeros", "tiny"],
)
def test_only_one_dependence_of_positive_multipliers_is_a_conflict(weight):
    weight = np.array(weight)
    verification = lp.verify(weight, [[0, 1, 2]])
    forged = with_conflict(verification, 0, [0, 1, 2])
    if weight[2, 1] == -5e-324:
        forged.check()
    else:
        refuse(forged, "expected rows with one linear dependence, of positive multipliers, got none")


def test_rows_that_the_layer_does_not_have_prove_nothing():
    n = len(TRIANGLE)
    scale, sum_le, sum_ge, low, high = n, n + 1, n + 2, n + 3, n + 5
    message = "expected a conflict of different rows of the system in ascending order, got"
    for rule, missing in [("sigmoid", [scale, sum_le, sum_ge, low, high]), ("sparsemax", [low, high])]:
        verification = triangle([(0,)], rule=rule)
        for row in missing:
            refuse(with_conflict(verification, 0, [0, row]), message)
    verification = triangle([(0,)], domain="nonnegative")
    for row in (scale, sum_le, sum_ge, high):
        refuse(with_conflict(verification, 0, [0, row]), message)
    refuse(with_conflict(verification, 0, [0, low]), "expected rows with one linear dependence")
    verification = triangle([(0,)], domain=(np.array([-np.inf, 0.0]), np.array([1.0, np.inf])))
    for row in (low, high + 1):
        refuse(with_conflict(verification, 0, [0, row]), message)
    for row in (scale, low + 1, high):
        refuse(with_conflict(verification, 0, [0, row]), "expected rows with one linear dependence")


def test_the_sum_of_sparsemax_counts_in_the_right_direction():
    verification = lp.verify(np.eye(2), [[]], rule="sparsemax")
    scale, sum_le, sum_ge = 2, 3, 4
    assert verification[0].extra == ("scale", "sum_ge")
    for rows in ([scale, sum_le], [scale, sum_le, sum_ge], [scale], [0, scale, sum_ge]):
        refuse(with_conflict(verification, 0, rows), "expected rows with one linear dependence")
    refuse(with_conflict(verification, 0, [sum_le, sum_ge]), "expected a conflict with a strict inequality")


# --- the frame of a result --------------------------------------------------------------------------------


def test_a_flipped_status_has_no_evidence():
    verification = triangle()
    assert verification.status.tolist() == [1, 1, 0, 0]
    refuse(
        replace(verification, status=np.array([0, 1, 0, 0], np.int8)),
        "label set 0 is not proven: expected a conflict of 1 to 20 rows, got 0",
    )


def test_no_point_and_no_rows_turn_a_status_over():
    verification = triangle()
    for x in verification.points:
        refuse(with_witness(verification, 2, x), "label set 2 is not proven: label 0: expected a negative logit, got ")
        refuse(with_witness(verification, 3, x), "label set 3 is not proven: label [12]: expected a positive logit")
    refuse(with_conflict(verification, 0, [0, 1, 2]), "label set 0 is not proven: expected rows with one linear dep")


def test_a_conflict_cut_at_the_wrong_place_fails():
    verification = triangle()
    assert verification.conflict_ptr.tolist() == [0, 0, 0, 3, 6]
    for ptr, message in [
        ([0, 0, 0, 2, 6], "label set 2 is not proven: expected rows with one linear dependence"),
        ([0, 0, 0, 6, 3], "expected ends of conflicts that ascend from 0 to 6"),
        ([0, 0, 0, 0, 6], "label set 2 is not proven: expected a conflict of 1 to 20 rows, got 0"),
        ([0, 0, 0, 3, 5], "expected ends of conflicts that ascend from 0 to 6"),
        ([0, 0, 3, 0, 6], "expected ends of conflicts that ascend from 0 to 6"),
        (
            [0, 0, 0, 4, 6],
            "label set 2 is not proven: expected a conflict of different rows of the system in asc",
        ),
    ]:
        refuse(replace(verification, conflict_ptr=np.array(ptr)), message)


def test_the_first_wrong_set_is_named_among_many():
    verification = lp.verify(np.eye(2), [[0], [1], [0, 1], []] * 40)
    for i in (0, 63, 64, 130, 159):
        refuse(with_witness(verification, i, np.zeros(2)), f"^label set {i} is not proven: label 0: ")


def test_a_result_is_checked_against_its_own_layer():
    verification = triangle()
    turned = lp.verify(-TRIANGLE, [[0]]).layer
    refuse(replace(verification, layer=turned), "label set 0 is not proven: label 0: expected a positive logit, got -")
    inactive = replace(verification.layer, ties="inactive")
    refuse(replace(verification, layer=inactive), "label set 2 is not proven: expected a conflict with a strict")
    replace(verification, layer=replace(verification.layer, rule="sigmoid")).check()


def test_a_result_without_evidence_cannot_be_checked():
    with pytest.raises(lp.CertificateError, match="no evidence was kept: verify with certify=True"):
        triangle(certify=False).check()


FORGED_FRAMES = {
    "a status that is none": {"status": np.array([2, 1, 0, 0], np.int8)},
    "fewer statuses than sets": {"status": np.array([1, 1], np.int8)},
    "more statuses than sets": {"status": np.array([1, 1, 0, 0, 1], np.int8)},
    "argmaxable without a witness": {"status": np.array([1, 1, 1, 0], np.int8)},
    "undecided without a reason": {"status": np.array([-1, 1, 0, 0], np.int8)},
    "a witness that is missing": {"point_of": np.array([0, -1, -1, -1])},
    "a witness beyond the points": {"point_of": np.array([0, 9, -1, -1])},
    "too few ends of conflicts": {"conflict_ptr": np.array([0, 0, 0, 3])},
    "an end beyond the rows": {"conflict_ptr": np.array([0, 0, 0, 3, 99])},
    "rows that are no integers": {"conflict_rows": np.array([0.0, 1.0, 2.0, 0.0, 1.0, 2.0])},
    "points of one dimension": {"points": np.ones(2)},
    "points of three dimensions": {"points": np.ones((2, 2, 1))},
    "a set that names a label twice": {
        "label_sets": LabelSets(3, np.array([0, 2, 4, 4, 7]), np.array([0, 0, 0, 1, 0, 1, 2]))
    },
    "a set with a negative label": {
        "label_sets": LabelSets(3, np.array([0, 1, 3, 3, 6]), np.array([-3, 0, 1, 0, 1, 2]))
    },
    "a set with a label too many": {
        "label_sets": LabelSets(3, np.array([0, 1, 3, 3, 6]), np.array([3, 0, 1, 0, 1, 2]))
    },
    "sets of another layer": {"label_sets": LabelSets(4, np.array([0, 1, 3, 3, 6]), np.array([0, 0, 1, 0, 1, 2]))},
}


@pytest.mark.parametrize("name", FORGED_FRAMES)
def test_a_result_with_a_broken_frame_is_refused(name):
    refuse(replace(triangle(), **FORGED_FRAMES[name]), "expected .*, got ")


def test_a_label_named_twice_cannot_move_the_threshold_of_sparsemax():
    verification = lp.verify(np.eye(2), [[0]], rule="sparsemax")
    x = np.array([1.0, 0.25])  # its support is {0, 1}; with label 0 counted twice the threshold would be 1/2
    refuse(with_witness(verification, 0, x), "label 1: expected a logit below the threshold 0")
    twice = replace(verification, label_sets=LabelSets(2, np.array([0, 2]), np.array([0, 0])))
    refuse(with_witness(twice, 0, x), "expected label sets of ascending labels below 2")


# --- bounds that no float can fool ------------------------------------------------------------------------


def exact_logits(weight, x, offsets=None):
    x = [Fraction(c) for c in x]
    offsets = [Fraction(0)] * len(weight) if offsets is None else offsets
    return [
        sum((Fraction(w) * c for w, c in zip(row, x, strict=True)), offset)
        for row, offset in zip(weight.tolist(), offsets, strict=True)
    ]


def cancelling_rows(n, d, seed):
    """Rows w and one x such that w·x is far below the rounding error of its sum."""
    rng = np.random.default_rng([seed, n, d])
    weight, x = np.ldexp(rng.normal(size=(n, d)), rng.integers(-20, 20, size=(n, d))), rng.normal(size=d)
    x[-1] = 2.0**-12
    weight[:, -1] = 0.0
    rest = exact_logits(weight, x)
    weight[:, -1] = [float(-z / Fraction(x[-1])) for z in rest]
    return weight, x


@pytest.mark.parametrize(("n", "d"), [(200, 3), (60, 40), (20, 500)])
@pytest.mark.parametrize("power", [-980, 0, 900])
def test_a_sum_whose_float_sign_is_wrong_proves_nothing(n, d, power):
    weight, x = cancelling_rows(n, d, seed=1)
    truth = np.array([float(np.sign(z)) for z in exact_logits(weight, x)])
    floats = np.sign(weight @ x)
    misled = np.flatnonzero(truth * floats < 0)
    assert len(misled) > 0, "the rows were made so that some float sums have the wrong sign"
    weight = np.ldexp(weight, power)
    for i in misled[:5]:
        layer = make_layer(weight[[i]])
        sets = read_label_sets([[0], []], 1)
        active, inactive = witness_faults(layer, float_rows(layer), sets, [x, x])
        assert (active is None) == (truth[i] > 0)
        assert (inactive is None) == (truth[i] < 0)
    layer = make_layer(weight, ties="inactive")
    sets = read_label_sets(np.array([truth > 0, floats > 0]), n)
    right, wrong = witness_faults(layer, float_rows(layer), sets, [x, x])
    assert right is None
    assert wrong is not None


@pytest.mark.parametrize("rule", ["topk", "sparsemax"])
def test_logits_that_are_equal_in_floats_are_compared_exactly(rule):
    rng = np.random.default_rng(5)
    weight = np.repeat(rng.normal(size=(1, 6)), 4, axis=0)
    weight[1, 0], weight[2, 0] = above(weight[0, 0]), below(weight[0, 0])
    x = np.append(2.0**-30, rng.normal(size=5) * 1e3)
    logits = weight @ x
    assert len(set(logits.tolist())) == 1
    layer = make_layer(weight, rule=rule, temperature=2.0**90)
    sets = [[1], [0, 1], [0, 1, 3], [2], [0], [0, 1, 2]]
    faults = witness_faults(layer, float_rows(layer), read_label_sets(sets, 4), [x] * len(sets))
    argmaxable = {"topk": [[1], [0, 1, 3]], "sparsemax": [[1]]}[rule]
    assert [fault is None for fault in faults] == [active in argmaxable for active in sets]


def dependence(rows):
    """Return the multipliers that span the dependences of the rows, by elimination in Fractions; None if not one."""
    table = [list(column) for column in zip(*rows, strict=True)]
    pivots = []
    for j in range(len(rows)):
        place = next((i for i in range(len(pivots), len(table)) if table[i][j] != 0), None)
        if place is None:
            continue
        top = len(pivots)
        table[top], table[place] = table[place], table[top]
        table[top] = [entry / table[top][j] for entry in table[top]]
        for i, row in enumerate(table):
            if i != top and row[j] != 0:
                table[i] = [a - row[j] * b for a, b in zip(row, table[top], strict=True)]
        pivots.append(j)
    free = [j for j in range(len(rows)) if j not in pivots]
    if len(free) != 1:
        return None
    multipliers = [Fraction(0)] * len(rows)
    multipliers[free[0]] = Fraction(1)
    for i, j in enumerate(pivots):
        multipliers[j] = -table[i][free[0]]
    return multipliers


@pytest.mark.parametrize("d", [1, 2, 4, 7])
def test_a_multiplier_lost_in_rounding_proves_nothing(d):
    rng = np.random.default_rng([3, d])
    found = set()
    for _ in range(60):
        weight = rng.normal(size=(d + 1, d))
        multipliers = rng.uniform(0.5, 1.0, size=d)
        multipliers[0] = rng.choice([0.0, 2.0**-53, -(2.0**-53), 2.0**-40, -(2.0**-40), 1.0])
        weight[-1] = -(multipliers @ weight[:-1]) if d > 1 else -multipliers[0] * weight[0, 0]
        exact = dependence([[Fraction(w) for w in row] for row in weight.tolist()])
        positive = exact is not None and (min(exact) > 0 or max(exact) < 0)
        sets = read_label_sets([list(range(d + 1)), []], d + 1)
        faults = conflict_faults(make_layer(weight), sets, [np.arange(d + 1)] * 2)
        assert [fault is None for fault in faults] == [positive, positive]
        found.add(positive)
    assert found == {True, False}


@pytest.mark.parametrize("power", [-1000, -500, 500, 1000])
def test_conflicts_of_rows_of_very_different_scale_are_proven(power):
    weight = np.ldexp(TRIANGLE, np.array([[0], [power], [-power]]))
    layer = make_layer(weight)
    assert conflict_faults(layer, read_label_sets([[0, 1, 2]], 3), [np.arange(3)]) == [None]
    for column in range(2):
        lopsided = TRIANGLE.copy()
        lopsided[:, column] = np.ldexp(lopsided[:, column], power)
        layer = make_layer(lopsided)
        assert conflict_faults(layer, read_label_sets([[0, 1, 2]], 3), [np.arange(3)]) == [None]


def test_the_rounding_error_of_bias_minus_threshold_decides():
    outcomes = set()
    for threshold in (0.1, 0.2, 0.3, 0.4, 0.6, 0.7, 0.8, 0.9):
        total = 1.0 - float(logit(threshold))
        lost = 1 - Fraction(float(logit(threshold))) - Fraction(total)
        if lost == 0:
            continue
        # x + total + lost > 0 and −x − total > 0
        verification = lp.verify(
            np.array([[1.0], [-1.0]]), [[0, 1]], bias=np.array([1.0, -total]), thresholds=np.array([threshold, 0.5])
        )
        assert verification.status[0] == int(lost > 0)
        verification.check()
        outcomes.add(lost > 0)
        if lost > 0:
            refuse(with_conflict(verification, 0, [0, 1, 2]), "expected rows with one linear dependence")
            refuse(with_witness(verification, 0, (-Fraction(total),)), "label 1: expected a positive logit, got 0")
            with_witness(verification, 0, (-Fraction(total) - lost / 2,)).check()
        else:
            assert verification[0].extra == ("scale",)
            refuse(with_witness(verification, 0, (-Fraction(total) - lost / 2,)), "expected a positive logit, got -")
    assert outcomes == {True, False}


# --- multipliers ------------------------------------------------------------------------------------------


def signed_row(name, layer, active, t=1):
    """The coefficients over (x, s, τ) of a label or of a row that is none, from the definition of the rule."""
    d, compares = layer.d, layer.rule != "sigmoid"

    def label(i):
        offset = Fraction(0)
        if layer.offset is not None:
            offset = Fraction(layer.offset[i]) + Fraction(layer.offset_error[i])
        return [*map(Fraction, layer.weight[i].tolist()), offset, Fraction(-int(compares))]

    if not isinstance(name, str):
        return [c if name in active else -c for c in label(name)]
    unit = [Fraction(0)] * (d + 2)
    if name == "scale":
        unit[d] = Fraction(1)
        return unit
    if name.startswith("sum"):
        total = [t * sum((label(i)[j] for i in active), Fraction(0)) for j in range(d + 2)]
        total[d] -= 1
        return total if name == "sum_ge" else [-c for c in total]
    kind, j = name[:-1].split("[")
    sign, bounds = (1, layer.low) if kind == "low" else (-1, layer.high)
    unit[int(j)] = Fraction(sign)
    unit[d] = -sign * Fraction(bounds[int(j)])
    return unit


@pytest.mark.parametrize("ties", ["open", "inactive"])
@pytest.mark.parametrize(
    "domain", [None, "nonnegative", (-0.25, 0.5), (np.array([0.1, -np.inf]), np.array([0.1, 2.0]))]
)
@pytest.mark.parametrize(
    ("rule", "given"),
    [
        ("sigmoid", []),
        ("sigmoid", ["bias"]),
        ("sigmoid", ["bias", "thresholds"]),
        ("topk", []),
        ("topk", ["bias"]),
        ("sparsemax", []),
        ("sparsemax", ["bias"]),
    ],
)
def test_multipliers_are_positive_integers_that_cancel_the_rows_exactly(rule, given, ties, domain):
    rng = np.random.default_rng(11)
    weight = rng.normal(size=(6, 2)) * 10.0 ** rng.integers(-3, 4, size=(6, 1))
    numbers = {"bias": rng.normal(size=6), "thresholds": rng.uniform(0.1, 0.9, size=6)}
    options = {"rule": rule, "ties": ties, "domain": domain} | {name: numbers[name] for name in given}
    sets = np.array([[i >> k & 1 for k in range(6)] for i in range(0, 64, 3)])
    verification = lp.verify(weight, sets, **options)
    assert (verification.status == 0).any()
    for i in np.flatnonzero(verification.status == 0).tolist():
        certificate = verification[i]
        names = [*certificate.conflict, *certificate.extra]
        multipliers = [*certificate.multipliers, *certificate.extra_multipliers]
        assert len(names) == len(multipliers)
        assert list(certificate.conflict) == sorted(set(certificate.conflict))
        assert all(type(m) is int and m > 0 for m in multipliers)
        assert gcd(*multipliers) == 1
        active = np.flatnonzero(sets[i]).tolist()
        rows = [signed_row(name, verification.layer, active) for name in names]
        for column in zip(*rows, strict=True):
            assert sum(m * c for m, c in zip(multipliers, column, strict=True)) == 0
        assert "scale" in names or any(ties == "open" or label in active for label in certificate.conflict)


def test_multipliers_of_a_forged_conflict_are_refused():
    forged = with_conflict(triangle([(0,), (0, 1, 2)]), 0, [0, 1, 2])[0]
    with pytest.raises(lp.CertificateError, match="expected rows with one linear dependence"):
        _ = forged.multipliers


def test_the_order_of_a_conflicts_rows_does_not_mix_up_its_multipliers():
    verification = lp.verify(np.array([[1.0], [-2.0]]), [[0, 1]], bias=np.array([-1.0, -1.0]))
    certificate = verification[0]
    assert (certificate.conflict, certificate.multipliers) == ((0, 1), (2, 1))
    assert (certificate.extra, certificate.extra_multipliers) == (("scale",), (3,))
    turned = with_conflict(verification, 0, [2, 1, 0])
    try:
        turned.check()
    except lp.CertificateError:
        return  # to refuse another order is as good
    assert dict(zip(turned[0].conflict, turned[0].multipliers, strict=True)) == {0: 2, 1: 1}
    assert turned[0].extra_multipliers == (3,)


# --- numbers at the ends of the range ---------------------------------------------------------------------


def test_a_witness_beyond_the_floats_has_a_certificate():
    verification = lp.verify(np.array([[5e-324]]), [[0]], bias=np.array([-1.0]))
    verification.check()
    certificate = verification[0]
    assert certificate.witness[0] > 2**1074
    assert 0 < certificate.margin <= 1


@pytest.mark.parametrize("size", [1e308, 1e200, 1e-200, 5e-324])
def test_the_margin_does_not_depend_on_the_size_of_the_weights(size):
    sets = [[0], [0, 1]]
    expected = lp.verify(np.array([[1.0, 1.0], [1.0, -1.0]]), sets).margin
    verification = lp.verify(np.array([[1.0, 1.0], [1.0, -1.0]]) * size, sets)
    assert verification.margin == pytest.approx(expected, rel=1e-6)


def test_a_logit_beyond_the_floats_has_a_margin():
    verification = lp.verify(np.array([[1e308, 1e308], [1e308, -1e308]]), [[0, 1]], domain=(1e5, 1e308))
    verification.check()
    assert 0 < verification.margin[0] <= 1


def test_rows_far_apart_in_size_are_decided():
    weight = np.array([[1e200], [1e-200]])
    assert lp.verify(weight, [[0, 1], [0]], time_limit=0.5).status.tolist() == [1, 0]
    assert lp.verify(weight, [[0, 1], [0]], ties="inactive", time_limit=0.5).status.tolist() == [1, 0]


@pytest.mark.parametrize("bias", [[5e-324, 0.0], [1e-305, 1e-310]])
def test_sparsemax_with_a_tiny_bias_is_decided(bias):
    verification = lp.verify(np.array([[1e-310], [1e-312]]), [[0], [1]], bias=bias, rule="sparsemax")
    verification.check()
    assert verification.status.tolist() == [1, 1]


def test_multipliers_that_a_conflict_brings_are_shown_as_integers():
    layer, rows = make_layer(np.eye(2)), np.array([0, 1])
    found = Unargmaxable((0, 1), ("domain",), layer, rows, rows, (Fraction(1, 2), Fraction(3, 4)))
    assert (found.multipliers, found.extra_multipliers) == ((2, 3), (1,))
