"""A witness is judged by its exact logits, wherever within their slacks the float logits lie."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from labelproof.proof import witnesses
from labelproof.proof.domains import Ball
from labelproof.proof.labels import read_label_sets
from labelproof.proof.regions import make_layer
from labelproof.proof.rounding import WIDE, Logits, float_rows
from labelproof.proof.witnesses import _is_surely_within, _show, _sigmoid_fault, witness_faults


def support(logits, t):
    """Return the support of sparsemax(t·z) and its threshold, from the largest logit down."""
    ordered = sorted(logits, reverse=True)
    size = max(k for k in range(1, len(ordered) + 1) if ordered[k - 1] * k > sum(ordered[:k]) - 1 / t)
    tau = (sum(ordered[:size]) - 1 / t) / size
    return {i for i, z in enumerate(logits) if z > tau}, tau


def proves(rule, ties, logits, active, t):
    """Whether logits lead to the active labels and no others, by the definition of the rule."""
    inactive = [z for i, z in enumerate(logits) if i not in active]
    actives = [z for i, z in enumerate(logits) if i in active]
    if rule == "topk":
        return not actives or not inactive or min(actives) > max(inactive)
    if rule == "sigmoid":
        tau = Fraction(0)
        if not all(z > 0 for z in actives) or any(z > 0 for z in inactive):
            return False
    else:
        found, tau = support(logits, t)
        if found != active:
            return False
    return ties == "inactive" or tau not in inactive


@pytest.mark.parametrize("ties", ["open", "inactive"])
@pytest.mark.parametrize("rule", ["sigmoid", "topk", "sparsemax"])
def test_no_float_logit_within_its_slack_changes_the_verdict(rule, ties):
    rng = np.random.default_rng([len(rule), len(ties)])
    check, seen = getattr(witnesses, f"_{rule}_fault"), set()
    for _ in range(120):
        weight, bias, t = rng.integers(-2, 3, size=(3, 2)), rng.integers(-1, 2, size=3), rng.choice([0.5, 1.0, 4.0])
        layer = make_layer(weight, rule=rule, ties=ties, temperature=float(t), bias=bias)
        x = tuple(Fraction(int(c), int(rng.integers(1, 4))) for c in rng.integers(-2, 3, size=2))
        logits = [
            sum(int(w) * c for w, c in zip(row, x, strict=True)) + int(b) for row, b in zip(weight, bias, strict=True)
        ]
        exponent, slack = int(rng.integers(-3, 4)), rng.choice([0.0, 0.5, 3.0, np.inf], size=3) + 1e-12
        z = np.array([float(value / Fraction(2) ** exponent) for value in logits])
        z += rng.choice([-0.99, 0.0, 0.99], size=3) * np.where(np.isinf(slack), 5.0, slack)
        for active in ({0, 1, 2}, {0}, {0, 2}, set()) if rng.random() < 0.5 else ({1}, {1, 2}, {2}, {0, 1}):
            expected = proves(rule, ties, logits, active, Fraction(t))
            fault = check(layer, np.array(sorted(active), np.int64), x, Logits(z.copy(), slack.copy(), exponent))
            assert (fault is None) == expected
            seen.add(expected)
    assert seen == {True, False}


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_a_float_logit_as_far_off_as_its_slack_hides_no_tie(sign):
    plain = make_layer(np.eye(2))
    x, active, slack = np.zeros(2), np.array([0]), np.full(2, 0.5)
    assert witnesses._sigmoid_fault(plain, active, x, Logits(np.array([0.5, -0.5]), slack, 0)) is not None
    compared = make_layer(np.eye(2), rule="topk")
    z = np.array([1.5, 0.5]) - (sign < 0) * 4
    assert witnesses._topk_fault(compared, active, x + z.mean(), Logits(z, slack, 0)) is not None


@pytest.mark.parametrize(
    "x", [(2.0, 1 + 2.0**-52), (-1.0, -2 + 2.0**-51), (-1e6, -1e5), (-100.0, -100.5), (1e6, 1e6 - 0.5)]
)
def test_a_logit_just_above_the_threshold_of_sparsemax_is_seen(x):
    layer, active, exact = make_layer(np.eye(2), rule="sparsemax"), np.array([0]), np.array(x)
    for slack in (0.0, 1e-9):
        fault = witnesses._sparsemax_fault(layer, active, exact, Logits(exact.copy(), np.full(2, slack), 0))
        assert "label 1: expected a logit below the threshold" in fault


def test_the_first_feature_outside_is_named_and_each_side_is_looked_at():
    layer = make_layer(np.eye(3), domain=(-1.0, 1.0))
    for x, word in (
        (np.array([0.0, 2.0, 3.0]), "feature 1: expected a value ≤ 1.0, got 2"),
        ((0, -3, -2), "feature 1: "),
    ):
        assert word in witnesses._domain_fault(layer, x)
    above_alone = replace(layer, low=None)
    assert "expected a value ≤ 1.0" in witnesses._domain_fault(above_alone, np.array([0.0, 0.0, 2.0]))
    assert witnesses._domain_fault(above_alone, np.array([-9.0, 0.0, 1.0])) is None


def test_labels_far_from_their_boundary_need_no_exact_numbers(monkeypatch):
    asked = []
    monkeypatch.setattr(witnesses, "integers", lambda numbers: asked.append(numbers))
    weight = np.array([[1.0, 0.0], [0.0, 1.0], [-1.0, -1.0]])
    for rule in ("sigmoid", "topk"):
        layer = make_layer(weight, rule=rule)
        sets = read_label_sets([[0, 1]], 3)
        assert witness_faults(layer, float_rows(layer), sets, [np.array([0.5, 0.25])]) == [None]
    assert asked == []


def test_under_sparsemax_only_active_labels_need_exact_numbers(monkeypatch):
    asked = []
    exact = witnesses._exact_logits
    monkeypatch.setattr(witnesses, "_exact_logits", lambda *a: asked.append(a[1].tolist()) or exact(*a))
    layer = make_layer(np.eye(3), rule="sparsemax")
    sets = read_label_sets([[0, 1], [2]], 3)
    points = [np.array([1.0, 0.75, -1.0]), np.array([-(2.0**30), -(2.0**40), 1.0])]
    assert witness_faults(layer, float_rows(layer), sets, points) == [None, None]
    assert asked == [[0, 1], [], [2], []]


def test_a_threshold_beyond_all_floats_is_compared_too():
    layer = make_layer(np.array([[1.0], [2.0]]), rule="sparsemax", temperature=2.0**-1000)
    sets = read_label_sets([[0, 1], [1], [0]], 2)
    found = witness_faults(layer, float_rows(layer), sets, [np.array([1.0])] * 3)
    assert [fault is None for fault in found] == [True, False, False]
    huge = (Fraction(2) ** 1500,)
    found = witness_faults(layer, float_rows(layer), sets, [huge] * 3)
    assert [fault is None for fault in found] == [False, True, False]


def test_sets_with_a_fault_of_their_domain_disturb_no_others():
    layer = make_layer(np.eye(2), domain=(-1.0, 1.0))
    sets = read_label_sets([[0], [0, 1], [1]], 2)
    points = [np.array([2.0, -1.0]), np.array([1.0, 1.0]), np.array([1.0, 1.0])]
    first, second, third = witness_faults(layer, float_rows(layer), sets, points)
    assert first == "feature 0: expected a value ≤ 1.0, got 2"
    assert second is None
    assert third == "label 0: expected a negative logit, got 1"
    assert witness_faults(layer, float_rows(layer), sets.slice(0, 0), []) == []


@pytest.mark.parametrize(
    ("number", "shown"),
    [
        (Fraction(0), "0"),
        (Fraction(-7), "-7"),
        (Fraction(2**53 - 1), "9007199254740991"),
        (Fraction(2**53), "9.0072e+15"),
        (Fraction(-(2**53)), "-9.0072e+15"),
        (Fraction(1, 3), "0.333333"),
        (Fraction(10) ** 400, "a number beyond 1e308"),
        (-(Fraction(10) ** 400), "a number below -1e308"),
        (Fraction(1, 10**400), "a number below 1e-323"),
        (-Fraction(1, 10**400), "a number above -1e-323"),
    ],
)
def test_numbers_are_shown_to_six_digits_or_by_where_they_are(number, shown):
    assert _show(number) == shown


@pytest.mark.parametrize("wide", [1.0, 2.0**-600, 2.0**600])
@pytest.mark.parametrize("centre", [0.0, 0.25])
def test_a_witness_just_outside_of_a_ball_is_refused_and_one_on_it_is_not(wide, centre):
    weight, middle = np.array([[1.0, 1.0, 0.0]]), np.full(3, centre * wide)
    layer = make_layer(weight, domain=("ball", wide, middle))
    sets, along = read_label_sets([[0]], 1), np.array([wide, 0.0, 0.0])
    inside, on, outside = (middle + along * share for share in (0.5, 1.0, 1.0 + 2.0**-50))
    told = "expected a point within the ball, got one outside"
    assert witness_faults(layer, float_rows(layer), sets, [inside]) == [None]
    assert witness_faults(layer, float_rows(layer), sets, [on]) == [None]
    assert told in witness_faults(layer, float_rows(layer), sets, [outside])[0]


def test_a_ball_of_some_features_says_nothing_of_the_next():
    layer = make_layer(np.eye(3), domain=("blocks", [(2, ("ball", 1.0)), (1, (-9.0, 9.0))]))
    assert witness_faults(layer, float_rows(layer), read_label_sets([[0, 1, 2]], 3), [np.array([0.5, 0.5, 5.0])]) == [
        None
    ]


def test_fractions_beyond_all_floats_are_outside_of_a_ball():
    layer = make_layer(np.eye(2), domain=("ball", 1.0))
    (fault,) = witness_faults(layer, float_rows(layer), read_label_sets([[0]], 2), [(Fraction(2) ** 5000, Fraction(0))])
    assert fault == "features 0 to 1: expected a point within the ball, got one outside"


def test_squares_that_underflow_do_not_bring_a_point_into_a_ball():
    ball = Ball(0, 40, 2.0**-536, np.zeros(40))
    assert not _is_surely_within(np.full(40, 0.6 * 2.0**-537), ball)
    assert _is_surely_within(np.full(40, 0.6 * 2.0**-537), replace(ball, radius=2.0**-500))


def test_a_point_is_surely_within_a_ball_with_room_for_the_rounding_of_a_sum():
    x, units = np.eye(100)[0], 2.0**-53
    assert not _is_surely_within(np.ones(1), Ball(0, 1, 1 + 4 * units, np.zeros(1)))
    assert _is_surely_within(np.ones(1), Ball(0, 1, 1 + 8 * units, np.zeros(1)))
    assert not _is_surely_within(x, Ball(0, 100, 1 + 32 * units, np.zeros(100)))
    assert _is_surely_within(x, Ball(0, 100, 1 + 64 * units, np.zeros(100)))


def test_a_logit_within_its_slack_is_computed_exactly():
    layer, logits = make_layer([[1.0]]), Logits(np.array([0.6]), np.array([1.0]), 0)
    fault = _sigmoid_fault(layer, np.array([0]), np.array([-1.0]), logits)
    assert fault == "label 0: expected a positive logit, got -1"


# Wide witnesses, whose zeros are left out


def test_witnesses_that_are_scaled_together_are_judged_each_by_itself():
    """The first is mostly 0, the second is not; in a narrow layer, and in a wide one."""
    for d in (16, WIDE + 1):
        weight = np.zeros((2, d))
        weight[0], weight[1, -1] = 1.0, 1.0
        layer = make_layer(weight)
        few, many = np.zeros(d), np.full(d, -1.0)
        few[0], many[-1] = 1.0, d
        faults = witness_faults(layer, float_rows(layer), read_label_sets([[0], [0, 1]], 2), [few, many])
        assert faults == ["label 1: expected a negative logit, got 0", None]


def test_a_wide_witness_of_zeros_is_judged_by_the_offsets():
    layer = make_layer(np.ones((2, WIDE + 1)), bias=[1.0, -1.0])
    assert witness_faults(layer, float_rows(layer), read_label_sets([[0]], 2), [np.zeros(WIDE + 1)]) == [None]
    layer = make_layer(np.ones((2, WIDE + 1)), ties="inactive")
    assert witness_faults(layer, float_rows(layer), read_label_sets([[]], 2), [np.zeros(WIDE + 1)]) == [None]


def test_a_wide_witness_is_judged_by_all_that_is_not_zero():
    """Sparsemax calls every label certain whose logit is below the threshold of the active ones."""
    d = WIDE + 1
    layer = make_layer(np.vstack([np.full(d, 1.0), np.full(d, 2.0)]), rule="sparsemax")
    x = np.ones(d)
    x[0] = 0.0
    faults = witness_faults(layer, float_rows(layer), read_label_sets([[0], [1]], 2), [x, x])
    assert faults[0].startswith("label 1: expected a logit below the threshold 2047, got 4096")
    assert faults[1] is None
    assert witness_faults(layer, float_rows(layer), read_label_sets([[0]], 2), [x]) == faults[:1]


def test_products_that_underflow_one_by_one_prove_no_sign():
    """Forty products of 1.5 times the least float are each rounded to 2, beside one of −70."""
    x, row = np.array([0.0, 1.0, *[1.5 * 2.0**-534] * 40, 2.0**-534]), np.array([1.0, 0.0, *[2.0**-534] * 41])
    row[-1] *= -70
    layer = make_layer(row[None])
    (fault,) = witness_faults(layer, float_rows(layer), read_label_sets([[0]], 1), [x])
    assert fault.startswith("label 0: expected a positive logit, got")


def test_some_hundred_labels_are_judged():
    layer = make_layer(np.ones((300, 1)))
    assert witness_faults(layer, float_rows(layer), read_label_sets([list(range(300))], 300), [np.ones(1)]) == [None]
