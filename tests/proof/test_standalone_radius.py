"""The standalone checker takes bounds of a radius that their evidence proves, and that rounding explains."""

import math
from fractions import Fraction

import pytest
from standalone_cases import layer_of

from labelproof.proof.standalone import _radius_from_above, radius_fault

HALF, THIRD = Fraction(1, 2), Fraction(1, 3)
BELOW, ABOVE = "its centre does not give the lower bound", "its multipliers do not give the upper bound"


def at_least(number):
    """The smallest float that is not below a rational number."""
    near = float(number)
    return near if near >= number else above(near)


def at_most(number):
    return -at_least(-number)


def below(number):
    return math.nextafter(number, -math.inf)


def above(number):
    return math.nextafter(number, math.inf)


def is_proven_from_below(layer, active, box, lower, x):
    """Whether the lower bound is taken; the upper one proves nothing."""
    found = radius_fault(layer, frozenset(active), Fraction(box), lower, math.inf, x, (), ())
    assert found is None or BELOW in found
    return found is None


# From above


@pytest.mark.parametrize("active", [set(), {0}, {1}, {0, 1, 2}])
def test_multipliers_prove_the_quotient_of_the_docstring(active):
    weight, offset = [[3, 4], [Fraction(3, 4), -1], [0, 0]], [THIRD, -2, 1]
    layer = layer_of(weight, offset)
    low, high = [Fraction(-2), THIRD], [HALF, Fraction(5)]
    for labels, stored in [((0,), (1.0,)), ((0, 1), (0.25, 3.0)), ((1, 0, 2), (1.0, 0.0, 0.5)), ((1, 1), (1.0, 2.0))]:
        # the largest number of a label, 4, 2 or 1, is below 2**3, 2**2 or 2**1
        nu = [Fraction(m) / {0: 8, 1: 4, 2: 2}[i] for i, m in zip(labels, stored, strict=True)]
        y = [1 if i in active else -1 for i in labels]
        c = [sum(m * s * weight[i][j] for i, m, s in zip(labels, nu, y, strict=True)) for j in range(2)]
        most = sum(max(c[j] * low[j], c[j] * high[j]) for j in range(2))
        most += sum(m * s * offset[i] for i, m, s in zip(labels, nu, y, strict=True))
        length = sum(m * (5, Fraction(5, 4), 0)[i] for i, m in zip(labels, nu, strict=True))
        assert _radius_from_above(layer, frozenset(active), low, high, labels, stored) == most / length


@pytest.mark.parametrize(
    ("labels", "stored"),
    [
        ((), ()),
        ((0,), (0.0,)),
        ((1,), (1.0,)),
        ((0,), (-0.5,)),
        ((0, 0), (-0.5, 1.0)),
        ((0,), (math.nan,)),
        ((0,), (math.inf,)),
        ((0, 0), (1.0, math.inf)),
    ],
)
def test_multipliers_that_prove_nothing_give_infinity(labels, stored):
    layer = layer_of([[3, 4], [0, 0]])
    bounds = [Fraction(1)] * 2
    assert _radius_from_above(layer, frozenset([0]), bounds, bounds, labels, stored) == math.inf
    assert radius_fault(layer, frozenset([0]), Fraction(1), 0.0, math.inf, (0.0, 0.0), labels, stored) is None
    assert ABOVE in radius_fault(layer, frozenset([0]), Fraction(1), 0.0, 1e300, (0.0, 0.0), labels, stored)


def test_an_upper_bound_within_a_rounding_of_the_truth_is_not_proven():
    # ‖w‖² = 2**126 + 1, so that √ rounded down is 2**63, and the radius is barely below 1
    layer = layer_of([[2.0**63, 1.0]], low=[None, 0], high=[None, 0])
    evidence = (0.0, 0.0), (0,), (1.0,)
    assert radius_fault(layer, frozenset([0]), Fraction(1), 0.0, 1.0, *evidence) is None
    assert ABOVE in radius_fault(layer, frozenset([0]), Fraction(1), 0.0, below(1), *evidence)


# From below


def test_a_lower_bound_beyond_the_truth_by_less_than_the_norm_is_rounded_is_not_proven():
    layer = layer_of([[2.0**63, 1.0]])
    assert not is_proven_from_below(layer, {0}, 1, 1.0, (1.0, 0.0))
    assert is_proven_from_below(layer, {0}, 1, below(1), (1.0, 0.0))


def test_a_lower_bound_is_proven_up_to_the_64th_digit_of_the_norm():
    layer = layer_of([[1]], [1])
    assert is_proven_from_below(layer, {0}, 1, 1.0, (2.0**-64,))
    assert not is_proven_from_below(layer, {0}, 1, 1.0, (2.0**-65,))
    assert not is_proven_from_below(layer, {0}, 1, above(1), (2.0**-64,))


def test_the_nearest_hyperplane_on_either_side_gives_the_lower_bound():
    layer = layer_of([[3, 4], [1, 0], [0, 0]], [0, -10, -7])
    # distances at (1, 1): 7/5 to the first, 9 to the second, which is inactive; the third has no hyperplane
    for value, proven in ((1.4 * (1 - 1e-10), True), (1.5, False), (1.3, False), (0.0, False), (math.nan, False)):
        assert is_proven_from_below(layer, {0}, 2, value, (1.0, 1.0)) == proven
    for active in ({0, 1}, {1}, set()):
        for value, proven in ((0.0, True), (-1e-14, False), (-2.0, False), (1e-14, False), (1.4 * (1 - 1e-10), False)):
            assert is_proven_from_below(layer, active, 2, value, (1.0, 1.0)) == proven


def test_labels_without_weights_bound_no_radius():
    layer = layer_of([[0, 0], [0, 0]], [1, 2])
    assert is_proven_from_below(layer, {0}, 1, math.inf, (0.0, 0.0))
    assert not is_proven_from_below(layer, {0}, 1, 1e300, (0.0, 0.0))


@pytest.mark.parametrize(
    ("x", "is_inside"),
    [
        ((2.0, 1.0), True),
        ((-2.0, -1.0), True),
        ((2.5, 0.0), False),
        ((-2.5, 0.0), False),
        ((0.0, 1.5), False),
        ((0.0, -1.5), False),
        ((math.nan, 0.0), False),
        ((math.inf, 0.0), False),
        ((0.0, -math.inf), False),
    ],
)
def test_a_centre_outside_the_box_or_the_domain_proves_nothing(x, is_inside):
    layer = layer_of([[0, 1]], [100], low=[-9, -1], high=[None, 1])
    lower = at_most(Fraction(100 + int(x[1])) * (1 - Fraction(1, 10**10))) if is_inside else 0.0
    assert is_proven_from_below(layer, {0}, 2, lower, x)
    assert not is_proven_from_below(layer, {0}, 2, 50.0, x)


# The box


def test_the_box_and_the_domain_hold_together():
    for low, high, most in ((None, None, 2), ([-1], None, 2), (None, [1], 1), ([-3], [3], 2), ([-5], [0.5], HALF)):
        layer = layer_of([[1]], low=low, high=high)
        for upper, proven in ((float(most), True), (below(most), False), (most * (1 + 1e-8), False)):
            found = radius_fault(layer, frozenset([0]), Fraction(2), 0.0, upper, (-2.5,), (0,), (1.0,))
            assert (found is None) == proven
    for low, high, most in ((None, None, 2), ([-1], None, 1), (None, [1], 2), ([-3], [3], 2), ([-0.5], [5], HALF)):
        layer = layer_of([[1]], low=low, high=high)
        for upper, proven in ((float(most), True), (below(most), False), (most * (1 + 1e-8), False)):
            found = radius_fault(layer, frozenset(), Fraction(2), 0.0, upper, (-2.5,), (0,), (1.0,))
            assert (found is None) == proven


@pytest.mark.parametrize(("low", "high"), [([None, 3], None), (None, [None, -3])])
def test_a_box_that_leaves_no_input_has_the_radius_zero(low, high):
    layer = layer_of([[1, 1]], low=low, high=high)
    for lower, upper in ((0.0, 0.0), (1.0, 1.0), (0.0, 1.0), (1.0, 0.0), (-1.0, -1.0)):
        found = radius_fault(layer, frozenset([0]), Fraction(2), lower, upper, (0.0, 3.0), (), ())
        assert found == (None if lower == upper == 0 else "expected 0, since the box leaves no input")


def test_a_box_that_touches_the_domain_leaves_an_input():
    layer = layer_of([[1]], low=[2])
    assert is_proven_from_below(layer, {0}, 2, below(2), (2.0,))
    assert not is_proven_from_below(layer, {0}, 2, 0.0, (2.0,))


# How loose a bound may be


def allowed(d, box, shift, least, most):
    """The loosest bounds that rounding in double precision explains."""
    reach, unit = (math.isqrt(d) + 1) * Fraction(box) + 2, Fraction(2 * d + 32, 2**49)
    return (
        least * Fraction(1 - 1e-9) - unit * reach * (1 + shift),
        most * Fraction(1 + 1e-9) + unit * (reach + shift),
    )


@pytest.mark.parametrize("d", [1, 3, 5])
@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize("box", [3, HALF])
def test_bounds_may_be_looser_than_their_evidence_by_rounding_and_no_more(d, sign, box):
    # the second label is farther, has the larger offset for its weights, and the third has none
    weight = [[2] + [0] * (d - 1), [HALF] + [0] * (d - 1), [0] * d]
    offset, active = [sign * HALF, sign * 6, 1000], frozenset([0, 1] if sign > 0 else [])
    layer = layer_of(weight, offset)
    x = (sign * float(box) / 2, *[0.0] * (d - 1))
    exact, most = Fraction(box) / 2 + Fraction(1, 4), Fraction(box) + Fraction(1, 4)
    least = exact * Fraction(2**65, 2**65 + 1)
    lowest, highest = allowed(d, box, shift=12, least=least, most=most)
    evidence = x, (0,), (1.0,)
    for lower, proven in ((at_least(lowest), True), (below(at_least(lowest)), False), (at_most(least), True)):
        found = radius_fault(layer, active, Fraction(box), lower, float(most), *evidence)
        assert found == (None if proven else f"{BELOW} {lower}")
    for upper, proven in ((at_most(highest), True), (above(at_most(highest)), False), (at_least(most), True)):
        found = radius_fault(layer, active, Fraction(box), at_least(lowest), upper, *evidence)
        assert found == (None if proven else f"{ABOVE} {upper}")
    assert BELOW in radius_fault(layer, active, Fraction(box), at_least(exact), float(most), *evidence)
    assert ABOVE in radius_fault(layer, active, Fraction(box), at_least(lowest), below(most), *evidence)


def test_numbers_far_from_one_may_have_any_loose_bounds_that_are_proven():
    layer = layer_of([[1]], is_usual=False)
    for lower, upper, fault in (
        (0.0, 2.0, None),
        (0.5, math.inf, None),
        (1.5, 1e9, BELOW),
        (-0.5, 2.0, BELOW),
        (0.0, 1.9, ABOVE),
        (0.0, math.nan, ABOVE),
    ):
        found = radius_fault(layer, frozenset([0]), Fraction(2), lower, upper, (1.0,), (0,), (1.0,))
        assert found is None if fault is None else fault in found


def test_a_bound_from_above_that_is_negative_gives_zero():
    layer = layer_of([[1], [-1]], [-1, -1])
    evidence = (0.0,), (0, 1), (1.0, 1.0)  # x ≥ 1 and x ≤ -1: the quotient is -1
    for upper, proven in ((0.0, True), (-0.5, False), (-1.0, False), (1e-12, False), (1.0, False)):
        found = radius_fault(layer, frozenset([0, 1]), Fraction(2), 0.0, upper, *evidence)
        assert (found is None) == proven


def test_the_upper_bound_is_tight_also_for_a_label_set_without_the_label():
    layer = layer_of([[1.0, 0.0], [0.0, 1.0]])
    evidence = (2.0, -2.0), (0, 1), (1.0, 1.0)
    assert radius_fault(layer, frozenset([0]), Fraction(2), below(2), 2.0, *evidence) is None
    assert ABOVE in radius_fault(layer, frozenset([0]), Fraction(2), below(2), 2.1, *evidence)
