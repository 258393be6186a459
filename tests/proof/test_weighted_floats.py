"""Floats decide a weighted conflict only where exact numbers would too, and decide the ordinary ones."""

from dataclasses import replace
from fractions import Fraction
from itertools import product

import numpy as np
import pytest

import labelproof as lp
from labelproof.proof import weighted_conflicts
from labelproof.proof.domains import Ball
from labelproof.proof.regions import make_layer
from labelproof.proof.weighted_conflicts import (
    _ball_support,
    _ball_terms,
    _combination,
    _exact_pulls,
    _is_surely_negative,
    _is_usual,
    _support,
    weighted_conflict_fault,
)

NOT_NEGATIVE = "expected multipliers whose sum is negative on the domain, got others"
UNBOUNDED = "expected multipliers whose sum is bounded above on the domain, got others"


def surely(weight, shares, constant=0, **options):
    layer = make_layer(np.array(weight, float), **options)
    return _is_surely_negative(layer, {i: Fraction(s) for i, s in enumerate(shares)}, Fraction(constant))


def exactly(weight, shares, constant=0, **options):
    """β + h(p) with roots rounded up, or None where it is infinite."""
    layer = make_layer(np.array(weight, float), **options)
    pulls, unit = _exact_pulls(layer, {i: Fraction(s) for i, s in enumerate(shares)}, np.arange(layer.d))
    support = _support(layer, pulls)
    return None if support is None else Fraction(constant) + support / unit


# A share that floats take for 0


def test_a_tiny_share_of_a_huge_offset_is_not_forgotten():
    """Label 0 off needs x_0 ≤ 0, label 1 on needs x_1 > 2**1000: no contradiction, though 2**-1200 is 0 in floats."""
    layer = make_layer(np.eye(2), bias=[0.0, -(2.0**1000)], domain="nonnegative", ties="inactive")
    shares = [Fraction(1), Fraction(1, 2**1200)]
    assert weighted_conflict_fault(layer, np.array([1]), np.array([0, 1]), shares) == UNBOUNDED
    v = lp.verify(np.eye(2), [[1]], bias=[0.0, -(2.0**1000)], domain="nonnegative", ties="inactive")
    assert v.status.tolist() == [1]
    v.check()


def test_shares_that_differ_too_much_are_left_to_exact_numbers():
    for share, is_usual in [(1, True), (Fraction(2) ** -399, True), (Fraction(2) ** -400, False), (0.5**1070, False)]:
        assert surely([[-1, 0], [0, -1]], [1, share], -1, domain="nonnegative") == is_usual
        assert surely([[-1, 0], [0, -1]], [share, 1], -1, domain="nonnegative") == is_usual
    assert not surely([[-1, 0], [0, -1]], [1, Fraction(2) ** -1200], -1, domain="nonnegative")


# What floats decide


def test_ordinary_sums_are_decided_by_floats():
    assert surely([[-1, -2]], [1], -1, domain="nonnegative")
    assert surely([[1]], [-1], -1, domain="nonnegative")
    assert surely([[1], [-1]], [1, 1], -1)  # no domain at all
    assert surely([[3, 4]], [1], -5.001, domain=("ball", 1.0))
    assert not surely([[3, 4]], [1], -4.999, domain=("ball", 1.0))
    assert not surely([[-1, -2]], [1], 0, domain="nonnegative")
    layer = make_layer(np.eye(2))
    assert not _is_surely_negative(layer, {}, Fraction(-1))


@pytest.mark.parametrize("power", [-3000, -40, 0, 40, 3000])
def test_the_scale_of_all_shares_does_not_count(power):
    scale = Fraction(2) ** power
    for a, b in [(1, 1), (Fraction(1, 3), 1), (3, Fraction(7, 5)), (Fraction(2) ** -390, 1)]:
        for shares in ([a * scale, b * scale], [-a * scale, -b * scale]):
            sign = -1 if shares[0] > 0 else 1
            weight = [[sign, 0], [0, sign]]
            assert surely(weight, shares, -(2**20) * scale, domain="nonnegative")
            assert surely(weight, shares, -scale / 2**20, domain="nonnegative")
    assert surely([[1, 0], [0, -1]], [-scale, Fraction(2) ** -390 * scale], -(2**20) * scale, domain="nonnegative")


def test_numbers_at_the_ends_of_the_range_are_left_to_exact_numbers():
    def usual(weight=-1.0, constant=-1, domain=("unit", 1.0)):
        return surely([[weight]], [1], constant, domain=domain)

    edge = 2.0**400
    assert usual(-np.nextafter(edge, 0))
    assert not usual(-edge)
    assert usual(-np.nextafter(1 / edge, 1))
    assert not usual(-1 / edge)
    assert usual(0.0)
    assert usual(constant=-(2**400) + 1)
    assert not usual(constant=-(2**400))
    assert not usual(constant=-(2**401))
    assert not usual(constant=-(2**1100))
    edge = 2.0**100
    for domain in (("unit", edge), ("unit", 1 / edge), ("ball", 1.0, edge), ("ball", 1.0, 1 / edge)):
        assert not surely([[-1.0]], [1], -(2**110), domain=domain)
    for centre in (np.nextafter(edge, 0), np.nextafter(1 / edge, 1), 0.0):
        assert surely([[-1.0]], [1], -(2**110), domain=("ball", 1.0, centre))
        assert surely([[-1.0]], [1], -(2**110), domain=("unit", centre or 1.0))
    for low, high in [(0.0, edge), (-edge, 0.0), (0.0, 1 / edge), (-1 / edge, 0.0), (edge, np.inf), (-np.inf, -edge)]:
        assert not surely([[-np.sign(low + high or high)]], [1], -(2**110), domain=(low, high))
    for bound in (np.nextafter(edge, 0), np.nextafter(1 / edge, 1), 0.0):
        for domain in ((-bound, bound), (bound, np.inf), (-np.inf, -bound)):
            assert surely([[1.0 if domain[0] == -np.inf else -1.0]], [1], -(2**110), domain=domain)


def test_numbers_are_usual_within_a_power_of_two_either_way():
    assert _is_usual(np.array([]), 5)
    assert _is_usual(np.array([0.0, -31.9, 1 / 31.9, 1.0]), 5)
    for wrong in (32.0, -32.0, 1 / 32, -1 / 32, 1e-300, np.inf, np.nan):
        assert not _is_usual(np.array([1.0, wrong, 0.0]), 5)


# What floats must not decide


BITS = Fraction(1, 2**60)  # below what a float next to 1/3 holds
WIDE_DOMAINS = [
    "nonnegative",
    (-np.inf, np.inf),
    (0.0, 2.0**90),
    ("ball", 2.0**90),
    ("unit", 2.0**90),
    ("ball", 2.0**-90, 2.0**90),
    ("blocks", [(1, (0.0, 2.0**90))]),
    None,
]


@pytest.mark.parametrize("domain", WIDE_DOMAINS, ids=str)
def test_shares_are_rounded_and_that_counts(domain):
    """Twice 1/3 and once −2/3 are 0 in floats; with the bits that floats lose the sum is not."""
    assert surely([[2], [1]], [Fraction(1, 3), Fraction(-2, 3)], -1, domain="nonnegative")
    shares = [Fraction(1, 3) + BITS, Fraction(-2, 3)]
    assert not surely([[2], [1]], shares, -1, domain=domain)
    assert (exactly([[2], [1]], shares, -1, domain=domain) or 1) > 0


@pytest.mark.parametrize(
    "domain", [(-np.inf, 0.0), (-(2.0**90), 0.0), None, ("ball", 2.0**90), ("ball", 2.0**-90, -(2.0**90))]
)
def test_and_so_on_the_other_side(domain):
    shares = [Fraction(1, 3) - BITS, Fraction(-2, 3)]
    assert not surely([[2], [1]], shares, -1, domain=domain)


def test_an_open_sign_is_settled_in_integers():
    """Floats leave the sign open where a bound is infinite; exactly it is 0, or the good one."""
    for bits, is_sure in [(0, True), (-BITS, True), (BITS, False)]:
        assert surely([[2], [1]], [Fraction(1, 3) + bits, Fraction(-2, 3)], -1, domain="nonnegative") == is_sure
        assert surely([[2], [1]], [Fraction(1, 3) - bits, Fraction(-2, 3)], -1, domain=(-np.inf, 0.0)) == is_sure
    assert surely([[2, 1], [1, 0]], [Fraction(1, 3), Fraction(-2, 3)], -1, domain=([0, -1], [np.inf, 1]))
    two = [Fraction(1, 3) + BITS, Fraction(-2, 3)]  # of several open columns one is bad
    assert not surely([[0, 2], [0, 1]], two, -1, domain="nonnegative")
    assert not surely([[2, 0], [1, 0]], two, -1, domain="nonnegative")


def test_the_rounding_of_the_last_sum_counts():
    """−1 − 2**-52, then five times 2**-54, then 1: in this order floats lose the five and end below 0."""
    bias = Fraction(-1) - Fraction(1, 2**52)
    weight = [[2.0**-54] * 5 + [1.0]]
    assert exactly(weight, [1], bias, domain=(0.0, 1.0)) == Fraction(1, 2**54)
    assert not surely(weight, [1], bias, domain=(0.0, 1.0))
    assert surely(weight, [1], bias * (1 + Fraction(1, 2**45)), domain=(0.0, 1.0))


def test_sums_near_the_edge_are_decided_as_exact_numbers_decide_them():
    """Random shares, domains of every kind, and constants within some units of the edge."""
    rng = np.random.default_rng(3)
    domains = [(-1.0, 2.0), ("ball", 1.5), ("unit", 0.7), ("ball", 1.0, [3.0, -2.0, 5.0])]
    domains += [("blocks", [(1, (-1.0, 0.5)), (2, "unit")]), ([0.0, -1.0, 2.0], [1.0, -0.5, 2.0])]
    decided = 0
    for number in range(90):
        weight = rng.normal(size=(3, 3)) * 10.0 ** rng.integers(-3, 4, (3, 1))
        shares = [Fraction(int(a), int(b)) for a, b in zip(rng.integers(-9, 9, 3), rng.integers(1, 9, 3), strict=True)]
        shares = [share or Fraction(1, 7) for share in shares]
        domain = domains[number % len(domains)]
        edge = exactly(weight, shares, domain=domain)
        size = max(abs(edge), Fraction(float(np.abs(weight).max())))
        for units in (-(2**30), -1000, -30, -3, -1, 0, 1, 3):
            constant = -edge + units * size / 2**53
            found = surely(weight, shares, constant, domain=domain)
            assert not (found and units >= 0)
            decided += found
            if units == -(2**30):
                assert found
    assert decided >= 90


def test_the_terms_of_a_ball_are_no_less_than_its_support():
    """For every vector at the corners of an interval, with and without signs."""
    rng = np.random.default_rng(4)
    for _ in range(60):
        d = int(rng.integers(1, 5))
        centre, radius = rng.normal(size=d) * rng.integers(0, 2, d), float(rng.uniform(0.1, 3))
        least = rng.normal(size=d)
        most = least + rng.choice([0.0, 0.5, 2.0], d)
        signed = rng.random(d) < 0.5
        terms = _ball_terms(Ball(0, d, radius, centre), least, most, signed)
        assert len(terms) == d + 1
        total = sum(map(Fraction, terms.tolist()))
        for p in product(*zip(least.tolist(), most.tolist(), strict=True)):
            kept = np.array([0.0 if sign and c < 0 else c for c, sign in zip(p, signed, strict=True)])
            value = kept @ centre + radius * np.linalg.norm(kept)
            assert total >= value - 1e-12
        if (least == most).all():
            assert float(total) == pytest.approx(value, rel=1e-12, abs=1e-12)
    tiny = _ball_terms(Ball(0, 2, 1.0, np.zeros(2)), np.full(2, 2.0**-600), np.full(2, 2.0**-600), np.zeros(2, bool))
    assert tiny[-1] >= 2.0**-599.5


def test_the_support_of_a_ball_in_fractions():
    half = np.array([0.5, -2.0])
    assert _ball_support(Ball(0, 2, 2.0, np.zeros(2)), [3, -4], np.full(2, -np.inf)) == 10
    assert _ball_support(Ball(0, 2, 2.0, np.zeros(2)), [3, -4], np.zeros(2)) == 6
    assert _ball_support(Ball(0, 2, 2.0, np.zeros(2)), [3, -4], np.array([0.0, -0.5])) == 10
    assert _ball_support(Ball(0, 2, 2.0, half), [3, -4], np.full(2, -np.inf)) == Fraction(39, 2)
    assert _ball_support(Ball(0, 2, 2.0, half), [3, -4], np.full(2, 5.0)) == Fraction(15, 2)
    assert _ball_support(Ball(0, 2, 2.0, half), [0, 0], np.zeros(2)) == 0


# The combination of the rows


def combination(active, rows, multipliers, **options):
    layer = make_layer(np.array([[1.0], [2.0], [4.0]]), bias=[0.5, 1.0, 2.0], **options)
    return _combination(layer, np.array(active, np.int64), np.array(rows), list(map(Fraction, multipliers)))


def test_the_combination_of_labels():
    assert combination([0, 2], [0, 1], [3, 5]) == ({0: 3, 1: -5}, Fraction(3, 2) - 5)
    assert combination([], [2], [7]) == ({2: -7}, -14)


@pytest.mark.parametrize(("row", "sign"), [(4, -1), (5, 1)])
def test_the_combination_with_a_sum_of_sparsemax(row, sign):
    """The sum is t·Σ (z_i − τ) − 1 = 0 over the active labels, taken with either sign."""
    shares, constant = combination([0, 2], [0, 1, row], [3, 5, 2], rule="sparsemax", temperature=0.25)
    part = Fraction(sign, 2)
    assert shares == {0: 3 + part, 1: -5, 2: part}
    assert constant == (3 + part) / 2 - 5 + 2 * part - 2 * sign
    shares, constant = combination([0], [0, 4], [1, 4], rule="sparsemax", temperature=0.25)
    assert (shares, constant) == ({}, 4)


def test_labels_whose_shares_cancel_take_no_part():
    """Σ κ = 0 without any label: what is left is the constant, which a sum of sparsemax alone gives."""
    layer = make_layer(np.array([[1.0]]), rule="sparsemax", domain="unit")
    assert weighted_conflict_fault(layer, np.array([0]), np.array([0, 2]), [Fraction(1)] * 2) == NOT_NEGATIVE


def test_bounds_that_are_open_on_one_side():
    weight = [[1.0], [-1.0]]
    assert exactly(weight, [1, 1]) == 0
    assert exactly(weight, [2, 1]) is None
    assert exactly(weight, [1, 2]) is None
    assert exactly(weight, [2, 1], domain=(-np.inf, 3.0)) == 3
    assert exactly(weight, [1, 2], domain=(-np.inf, 3.0)) is None
    assert exactly(weight, [1, 2], domain=(-3.0, np.inf)) == 3
    assert exactly(weight, [1, 1], domain=(-3.0, np.inf)) == 0
    for share, domain in [(1, "nonnegative"), (-1, (-np.inf, 0.0)), (1, None), (-1, None)]:
        assert exactly([[1.0]], [share], domain=domain) is None
        assert not surely([[1.0]], [share], -1, domain=domain)


def test_without_any_share_only_the_constant_counts():
    """One label active: its own row and the sum downwards cancel, and leave 1 ≥ 0, on whatever domain."""
    for domain in (None, "nonnegative", "unit", (-1.0, 1.0)):
        layer = make_layer(np.array([[1.0, 2.0]]), rule="sparsemax", domain=domain)
        assert weighted_conflict_fault(layer, np.array([0]), np.array([0, 2]), [Fraction(1)] * 2) == NOT_NEGATIVE


def test_ordinary_conflicts_cost_no_exact_numbers(monkeypatch):
    layer = make_layer(np.array([[3.0, 4.0]]), bias=[-5.5], domain=("ball", 1.0))
    monkeypatch.setattr(weighted_conflicts, "_support", lambda *_: pytest.fail("floats leave this open"))
    assert weighted_conflict_fault(layer, np.array([0]), np.array([0]), [Fraction(1)]) is None


def test_weights_below_zero_are_rounded_too():
    shares = [Fraction(1, 3) - BITS, Fraction(-2, 3)]  # the sum of −2 and −1 times these is positive by 2**-59
    assert not surely([[-2], [-1]], shares, -1, domain="nonnegative")
    assert not surely([[-2], [-1]], shares, -1, domain=(0.0, 2.0**90))


def test_small_constants_are_decided_by_floats():
    for power in (60, 200, 390):
        assert surely([[-1.0]], [1], Fraction(-1, 2**power), domain="nonnegative")


def test_only_features_that_are_never_below_zero_lose_their_negative_pulls():
    """A file can keep bounds for the features of a ball besides; −1 ≤ low < 0 is no sign."""
    for low, is_negative in [(0.0, True), (0.5, True), (-0.5, False), (-1.0, False), (-np.inf, False)]:
        layer = replace(make_layer(np.array([[-4.0]]), domain=("ball", 1.0)), low=np.array([low]))
        assert _is_surely_negative(layer, {0: Fraction(1)}, Fraction(-1)) == is_negative
        assert (_support(layer, [-4]) == 0) == is_negative


def test_the_norm_of_a_ball_is_rounded_up():
    rng = np.random.default_rng(5)
    for _ in range(100):
        p, radius = rng.normal(size=3), float(rng.uniform(0.5, 2))
        term = _ball_terms(Ball(0, 3, radius, np.zeros(3)), p, p, np.zeros(3, bool))[-1]
        square = Fraction(radius) ** 2 * sum(Fraction(c) ** 2 for c in p.tolist())
        assert square <= Fraction(float(term)) ** 2 <= square * (1 + Fraction(1, 2**46))


def test_the_finite_end_of_an_open_interval_counts():
    assert surely([[1.0]], [1], 1, domain=(-np.inf, -2.0))
    assert surely([[-1.0]], [1], 1, domain=(2.0, np.inf))
    assert not surely([[1.0]], [1], 3, domain=(-np.inf, -2.0))
    assert not surely([[-1.0]], [1], 3, domain=(2.0, np.inf))
    assert not surely([[1.0]], [1], -1, domain=(-np.inf, 2.0))
    assert not surely([[-1.0]], [1], -1, domain=(-2.0, np.inf))
