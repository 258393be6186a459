"""Conflicts that bring multipliers prove exactly what the support function of the domain says, and nothing more."""

from fractions import Fraction

import numpy as np
import pytest

from labelproof.proof import weighted_conflicts
from labelproof.proof.labels import read_label_sets
from labelproof.proof.regions import make_layer
from labelproof.proof.rounding import float_rows
from labelproof.proof.weighted_conflicts import _root_above, weighted_conflict_fault
from labelproof.proof.witnesses import witness_faults

FORM = "expected a conflict of different labels or sums in ascending order"
FRACTIONS = "positive fractions as multipliers, got others"
TAU = "expected multipliers with which the threshold cancels, got others"
UNBOUNDED = "expected multipliers whose sum is bounded above on the domain, got others"
NOT_NEGATIVE = "expected multipliers whose sum is negative on the domain, got others"


@pytest.fixture(params=[False, True], ids=["floats first", "exactly"])
def exactly(request, monkeypatch):
    """Whether floats are left out."""
    if request.param:
        monkeypatch.setattr(weighted_conflicts, "_is_surely_negative", lambda *_: False)


def fault(weight, active, rows, multipliers=None, **options):
    layer = make_layer(np.array(weight, float), **options)
    weights = [Fraction(m) for m in multipliers or [1] * len(rows)]
    return weighted_conflict_fault(layer, np.array(active, np.int64), np.array(rows, np.int64), weights)


# What the domain adds


def test_one_label_within_a_ball(exactly):
    """3 x + 4 y reaches 5 in the unit ball, so a bias below −5 switches the label off for good."""
    assert fault([[3, 4]], [0], [0], bias=[-5.5], domain=("ball", 1.0)) is None
    assert fault([[3, 4]], [0], [0], bias=[-5.0], domain=("ball", 1.0)) is None  # strict, so that 0 will do
    assert fault([[3, 4]], [0], [0], bias=[np.nextafter(-5, 0)], domain=("ball", 1.0)) == NOT_NEGATIVE
    assert fault([[3, 4]], [], [0], bias=[5.0], domain=("ball", 1.0)) is None
    assert fault([[3, 4]], [], [0], bias=[5.0], domain=("ball", 1.0), ties="inactive") == NOT_NEGATIVE
    assert fault([[3, 4]], [], [0], bias=[5.5], domain=("ball", 1.0), ties="inactive") is None
    assert fault([[3, 4]], [0], [0], bias=[-10.0], domain=("ball", 2.0)) is None
    assert fault([[3, 4]], [0], [0], bias=[-9.5], domain=("ball", 2.0)) == NOT_NEGATIVE


def test_a_centre_moves_the_ball(exactly):
    """At (1, 2) the logit is 11, and 5 more or less around it."""
    for bias, expected in [(-16.0, None), (-15.5, NOT_NEGATIVE)]:
        assert fault([[3, 4]], [0], [0], bias=[bias], domain=("ball", 1.0, [1.0, 2.0])) == expected
    for bias, expected in [(-6.0, None), (-6.5, NOT_NEGATIVE)]:
        assert fault([[3, 4]], [], [0], bias=[bias], domain=("ball", 1.0, [1.0, 2.0])) == expected


def test_weights_below_zero_add_nothing_to_nonnegative_features_of_a_ball(exactly):
    for bias, expected in [(-3.0, None), (-2.5, NOT_NEGATIVE)]:
        assert fault([[3, -4]], [0], [0], bias=[bias], domain="unit") == expected
    assert fault([[-3, -4]], [0], [0], domain="unit") is None  # never above 0
    assert fault([[-3, -4]], [], [0], domain="unit", ties="inactive") == NOT_NEGATIVE
    assert fault([[3, -4]], [0], [0], bias=[-3.0], domain=("ball", 1.0)) == NOT_NEGATIVE


def test_bounds_add_their_ends(exactly):
    domain = (np.array([-2.0, 0.0]), np.array([1.0, 3.0]))
    for active, bias, expected in [
        ([0], -5.0, None),
        ([0], -4.5, NOT_NEGATIVE),
        ([], 4.0, None),
        ([], 3.5, NOT_NEGATIVE),
    ]:
        assert fault([[2, 1]], active, [0], bias=[bias], domain=domain) == expected
    for active, bias, expected in [([0], -7.0, None), ([0], -6.5, NOT_NEGATIVE)]:
        assert fault([[-2, 1]], active, [0], bias=[bias], domain=domain) == expected


def test_sums_that_grow_without_end_prove_nothing(exactly):
    assert fault([[1, 0], [-1, 0]], [0, 1], [0, 1]) is None
    assert fault([[1, 0], [-1, 1e-300]], [0, 1], [0, 1]) == UNBOUNDED
    assert fault([[1, 0], [-1, -1e-300]], [0, 1], [0, 1]) == UNBOUNDED
    assert fault([[1, 0], [-1, -1e-300]], [0, 1], [0, 1], domain="nonnegative") is None
    assert fault([[1, 0], [-1, 1e-300]], [0, 1], [0, 1], domain="nonnegative") == UNBOUNDED
    assert fault([[1, 0], [-1, 1e-300]], [0, 1], [0, 1], domain=(-np.inf, 0.0)) is None
    assert fault([[1, 0], [-1, -1e-300]], [0, 1], [0, 1], domain=(-np.inf, 0.0)) == UNBOUNDED
    assert fault([[1, 0]], [0], [0], bias=[-1.0], domain=(2.0, np.inf)) == UNBOUNDED
    for bias, expected in [(2.0, None), (2.5, NOT_NEGATIVE)]:
        assert fault([[-1, 0]], [0], [0], bias=[bias], domain=(2.0, np.inf)) == expected
        assert fault([[1, 0]], [0], [0], bias=[bias], domain=(-np.inf, -2.0)) == expected


def test_blocks_add_up(exactly):
    domain = ("blocks", [(2, "unit"), (2, ("ball", 2.0)), (1, (0.0, 4.0))])
    for bias, expected in [(-19.0, None), (-18.5, NOT_NEGATIVE)]:
        assert fault([[3, 4, 0, 5, 1]], [0], [0], bias=[bias], domain=domain) == expected


def test_multipliers_count(exactly):
    weight, bias = [[1, 0], [0, 1]], [-0.5, -1.0]
    assert fault(weight, [0, 1], [0, 1], [3, 4], bias=bias, domain=("ball", 1.0)) is None
    assert fault(weight, [0, 1], [0, 1], [4, 3], bias=bias, domain=("ball", 1.0)) is None  # 5 − 2 − 3
    assert fault(weight, [0, 1], [0, 1], [12, 5], bias=bias, domain=("ball", 1.0)) == NOT_NEGATIVE  # 13 − 6 − 5
    assert fault(weight, [0, 1], [0, 1], ["3/7", "4/7"], bias=bias, domain=("ball", 1.0)) is None


# Rules


def test_topk_needs_multipliers_with_which_the_threshold_cancels(exactly):
    weight, bias = [[3, 4], [0, 0]], [0.0, 5.5]
    assert fault(weight, [0], [0, 1], bias=bias, rule="topk", domain="unit") is None
    assert fault(weight, [0], [0, 1], [1, 2], bias=bias, rule="topk", domain="unit") == TAU
    assert fault(weight, [0], [0], bias=bias, rule="topk", domain="unit") == TAU
    assert fault(weight, [0], [0, 1], bias=[0.0, 4.5], rule="topk", domain="unit") == NOT_NEGATIVE


def test_sparsemax_has_a_sum_that_may_go_either_way(exactly):
    """With one label in the support its logit is τ + 1/t; here the other one's is never that far below."""
    for bias, expected in [(4.5, None), (4.0, None), (3.5, NOT_NEGATIVE)]:
        options = {"bias": [0.0, bias], "rule": "sparsemax", "domain": ("ball", 1.0)}
        # z_0 − τ = 1 (sum_le once against label 0's part), and τ − z_1 > 0: 1·(τ − z_1) + (z_0 − τ − 1) = 5 − bias − 1
        assert (
            fault([[3, 4], [0, 0]], [0], [1, 4], bias=options["bias"], rule="sparsemax", domain=("ball", 1.0))
            == expected
        )
    assert fault([[3, 4], [0, 0]], [0], [1, 3], bias=[0.0, 9.0], rule="sparsemax", domain=("ball", 1.0)) == TAU
    # both active: z_0 + z_1 − 2τ = 1 and z_1 > τ, so z_0 − z_1 < 1; a bias of −7 breaks that
    for bias, expected in [(-7.0, None), (-6.0, None), (-5.5, NOT_NEGATIVE)]:
        given = {"bias": [0.0, bias], "rule": "sparsemax", "domain": ("ball", 1.0)}
        assert fault([[-3, -4], [0, 0]], [0, 1], [1, 3], [2, 1], **given) == expected


# Form


@pytest.mark.parametrize("rows", [[], [1, 0], [0, 0], [-1], [2], [3], [4], [5]])
def test_rows_that_are_no_labels_are_refused(rows):
    assert fault([[-1.0], [-1.0]], [0, 1], rows, domain="unit").startswith(FORM)


def test_only_sums_of_sparsemax_are_rows_besides_labels():
    given = {"rule": "sparsemax", "domain": "unit"}
    for row in (2, 5):
        assert fault([[-1.0], [-1.0]], [0, 1], [row], **given).startswith(FORM)
    for row in (3, 4):
        assert not fault([[-1.0], [-1.0]], [0, 1], [row], **given).startswith(FORM)


@pytest.mark.parametrize("weights", [[], [1, 1], [Fraction(1), Fraction(1)], [Fraction(0)], [Fraction(-1)], [1.0]])
def test_multipliers_must_be_positive_fractions_one_for_each_row(weights):
    layer = make_layer(np.array([[-1.0]]), domain="unit")
    assert FRACTIONS in weighted_conflict_fault(layer, np.array([0]), np.array([0]), weights)
    assert weighted_conflict_fault(layer, np.array([0]), np.array([0]), [Fraction(1)]) is None


@pytest.mark.parametrize("wrong", [Fraction(0), Fraction(-1), 1, 1.0])
def test_one_wrong_multiplier_among_good_ones_is_refused(wrong):
    layer = make_layer(np.array([[-1.0], [-2.0]]), domain="unit")
    for weights in ([Fraction(1), wrong], [wrong, Fraction(1)]):
        assert FRACTIONS in weighted_conflict_fault(layer, np.arange(2), np.arange(2), weights)


def test_roots_are_exact_or_rounded_up():
    for square in (0, 1, 4, 9, 2, 3, 10**40, 10**40 + 1, 2**301):
        root = _root_above(square)
        assert root * root >= square
        assert (root - Fraction(1, 2**128)) ** 2 < square or square == 0
    assert _root_above(10**40) == 10**20


# Against the definition, for random multipliers and domains


def largest(domain, p):
    """sup p·x over a domain, in floats."""
    kind = domain if isinstance(domain, str) else domain[0]
    if kind == "blocks":
        ends = np.cumsum([0] + [n for n, _ in domain[1]])
        return sum(largest(part, p[a:b]) for a, b, (_, part) in zip(ends, ends[1:], domain[1], strict=False))
    if kind == "unit":
        return (1.0 if domain == "unit" else domain[1]) * np.linalg.norm(p[p > 0])
    if kind == "ball":
        return p @ np.broadcast_to(domain[2] if len(domain) > 2 else 0.0, p.shape) + domain[1] * np.linalg.norm(p)
    return np.maximum(domain[0] * p, domain[1] * p).sum()


DOMAINS = ["unit", ("unit", 0.3), ("ball", 2.0), ("ball", 0.5, np.array([1.0, -2.0, 0.5, 3.0])), (-1.5, 0.25)]
DOMAINS += [("blocks", [(1, "unit"), (2, ("ball", 1.0)), (1, (-1.0, 2.0))])]


@pytest.mark.parametrize("domain", DOMAINS, ids=str)
@pytest.mark.parametrize("rule", ["sigmoid", "topk", "sparsemax"])
def test_the_verdict_is_that_of_the_support_function(domain, rule):
    rng = np.random.default_rng(0)
    seen = set()
    for _ in range(150):
        weight, bias = rng.normal(size=(3, 4)), 2 * rng.normal(size=3)
        active = np.flatnonzero(rng.random(3) < 0.5)
        layer = make_layer(weight, bias=bias, rule=rule, domain=domain)
        y = np.where(np.isin(np.arange(3), active), 1, -1)
        lam = [Fraction(int(c)) for c in rng.integers(1, 9, 3)]
        rows, mu = [0, 1, 2], Fraction(0)
        if rule == "topk":
            up, down = (sum(m for m, s in zip(lam, y, strict=True) if s == sign) for sign in (1, -1))
            if not up or not down:
                continue
            lam = [m / up if s > 0 else m / down for m, s in zip(lam, y, strict=True)]
        if rule == "sparsemax":
            if not len(active):
                continue
            total = sum(m * int(s) for m, s in zip(lam, y, strict=True))
            if total:
                mu = -total / len(active)  # the sum's multiplier makes the threshold cancel
                rows, lam = [*rows, 4 + (mu > 0)], [*lam, abs(mu)]
        kappa = np.array([float(m * int(s)) for m, s in zip(lam, y, strict=False)]) + float(mu) * (y > 0)
        value = kappa @ bias - float(mu) + largest(domain, kappa @ weight)
        found = weighted_conflict_fault(layer, active, np.array(rows), lam)
        assert found == (None if value < 0 else NOT_NEGATIVE)
        seen.add(found)
    assert seen == {None, NOT_NEGATIVE}


@pytest.mark.parametrize("scale", [2.0**-560, 2.0**-1030, 2.0**500])
def test_numbers_of_any_size_are_taken_as_they_are(scale):
    for bias, expected in [(-5.5, None), (-4.5, NOT_NEGATIVE)]:
        assert fault([[3 * scale, 4 * scale]], [0], [0], bias=[bias * scale], domain=("ball", 1.0)) == expected
        assert fault([[3, 4]], [0], [0], bias=[bias * scale], domain=("ball", scale)) == expected
        assert fault([[3, 4]], [0], [0], [Fraction(scale) ** 2], bias=[bias], domain=("ball", 1.0)) == expected


def test_floats_decide_nothing_that_exact_numbers_do_not():
    """Sums that cancel to the last bit, on either side of the edge."""
    rng = np.random.default_rng(1)
    for _ in range(200):
        weight = rng.normal(size=(2, 3))
        p = [Fraction(a) + Fraction(b) for a, b in weight.T.tolist()]
        square = sum(c * c for c in p)
        root = float(np.sqrt(float(square)))
        bias = -(root * (1 + int(rng.integers(-3, 4)) * 2.0**-53))
        truth = Fraction(bias) < 0 and Fraction(bias) ** 2 >= square  # a strict row
        found = fault(weight, [0, 1], [0, 1], bias=[bias, 0.0], domain=("ball", 1.0))
        assert (found is None) == truth


# Witnesses in balls


def test_a_witness_must_be_within_the_ball_to_the_last_bit():
    layer = make_layer(np.array([[3.0, 4.0]]), domain=("blocks", [(1, None), (1, ("ball", 0.75, 0.25))]))
    floats, one = float_rows(layer), read_label_sets([[0]], 1)
    for x, inside in [(1.0, True), (np.nextafter(1, 2), False), (-0.5, True), (np.nextafter(-0.5, -1), False)]:
        for point in (np.array([9.0, x]), (Fraction(9), Fraction(x))):
            (found,) = witness_faults(layer, floats, one, [point])
            assert (found is None) == inside
            if not inside:
                assert found == "features 1 to 1: expected a point within the ball, got one outside"


def test_the_ball_joins_the_squares_of_all_its_features():
    layer = make_layer(np.array([[1.0, 1.0]]), domain=("ball", 5.0))
    floats, one = float_rows(layer), read_label_sets([[0]], 1)
    assert witness_faults(layer, floats, one, [np.array([3.0, 4.0])]) == [None]
    assert witness_faults(layer, floats, one, [np.array([3.0, np.nextafter(4.0, 5)])]) != [None]
