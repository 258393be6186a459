"""Bounds of the Chebyshev radius against exact numbers: rational norms, sums that cancel, and each allowance."""

from fractions import Fraction

import numpy as np
import pytest

from labelproof.proof.radius_bounds import LEAST_BOX, MOST_BOX, Radii, RadiusBounds, bounds_of_box
from labelproof.proof.regions import make_layer
from labelproof.proof.rounding import UNIT, bounded_logits, float_rows, relative_error, scaled_point

TRIPLES = np.array([[3.0, 4.0], [5.0, -12.0], [-8.0, 15.0], [-7.0, -24.0], [1.0, 0.0], [0.0, -1.0]])
NORMS = [5, 13, 17, 25, 1, 1]


def rational_layer(seed, **options):
    """Rows whose norms are rational: a layer, and the exact norms of its scaled rows."""
    rng = np.random.default_rng(seed)
    chosen = rng.integers(len(TRIPLES), size=6)
    factors = rng.integers(1, 2**40, size=6).astype(np.float64) * 2.0 ** rng.integers(-60, 20, size=6)
    bias = rng.normal(size=6) * factors if options.pop("bias", False) else None
    layer = make_layer(TRIPLES[chosen] * factors[:, None], bias=bias, **options)
    floats = float_rows(layer)
    scale = [
        Fraction(row[0] or row[1]) / Fraction(w[0] or w[1]) for row, w in zip(floats.rows, layer.weight, strict=True)
    ]
    norms = [NORMS[k] * Fraction(f) * s for k, f, s in zip(chosen.tolist(), factors.tolist(), scale, strict=True)]
    return layer, floats, norms


def signs(active, n):
    return [1 if i in active else -1 for i in range(n)]


def exact_lower(floats, norms, active, x):
    """Return the smallest signed logit over a norm at x, in Fractions."""
    point = [Fraction(c) for c in x] + [Fraction(1)] * (floats.rows.shape[1] - len(x))
    logits = [sum(Fraction(a) * c for a, c in zip(row, point, strict=True)) for row in floats.rows.tolist()]
    return min(sign * z / norm for sign, z, norm in zip(signs(active, len(norms)), logits, norms, strict=True))


def exact_upper(bounds, norms, active, rows, nu):
    """Return what multipliers prove, in Fractions."""
    d, every = bounds.layer.d, signs(active, len(norms))
    weighted = [
        (every[r] * Fraction(v), bounds.floats.rows[r].tolist()) for r, v in zip(rows, nu.tolist(), strict=True)
    ]
    sums = [sum(v * Fraction(row[j]) for v, row in weighted) for j in range(bounds.floats.rows.shape[1])]
    box = zip(bounds.low.tolist(), bounds.high.tolist(), strict=True)
    most = sum(max(c * Fraction(low), c * Fraction(high)) for c, (low, high) in zip(sums[:d], box, strict=True))
    return (most + sum(sums[d:])) / sum(abs(v) * norms[r] for (v, _), r in zip(weighted, rows, strict=True))


@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize("seed", range(12))
def test_the_lower_bound_is_at_most_the_exact_value_of_its_centre_and_close_to_it(seed, bias):
    layer, floats, norms = rational_layer(seed, bias=bias)
    bounds = RadiusBounds(layer, floats, 16.0)
    rng = np.random.default_rng([seed, 1])
    for x in rng.uniform(-16, 16, size=(8, 2)):
        for active in (
            np.flatnonzero(layer.weight @ x + (0 if layer.offset is None else layer.offset) > 0),
            np.array([1, 2]),
        ):
            found, truth = bounds.lower(active, x), exact_lower(floats, norms, active, x)
            assert Fraction(found) < truth
            scale = max(abs(truth), Fraction(float(np.abs(x).max())), Fraction(1))
            assert truth - Fraction(found) <= scale * 400 * Fraction(UNIT) * (8 if bias else 1)


@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize("seed", range(12))
def test_the_upper_bound_is_at_least_what_its_multipliers_prove_exactly_and_close_to_it(seed, bias):
    layer, floats, norms = rational_layer(seed, bias=bias, domain=(np.array([-3.0, -np.inf]), np.array([np.inf, 0.3])))
    bounds = RadiusBounds(layer, floats, 16.0)
    rng = np.random.default_rng([seed, 2])
    for _ in range(8):
        rows = np.sort(rng.choice(6, size=rng.integers(1, 5), replace=False))
        nu, active = rng.uniform(0, 3, size=len(rows)), np.flatnonzero(rng.random(6) < 0.5)
        found, truth = bounds.upper(active, rows, nu), exact_upper(bounds, norms, active, rows.tolist(), nu)
        assert Fraction(found) > truth
        assert Fraction(found) - truth <= (abs(truth) + 16) * 10**4 * Fraction(UNIT)


@pytest.mark.parametrize("seed", range(20))
def test_sums_that_cancel_in_floats_still_count_with_the_box(seed):
    layer, floats, norms = rational_layer([seed, 7])
    bounds = RadiusBounds(layer, floats, 1e12)
    rows, active = np.arange(3), np.array([0])
    system = np.array([signs(active, 6)]).T[rows] * floats.rows[rows]
    dependence = np.linalg.svd(system.T)[2][-1]
    active = np.flatnonzero(np.array(signs(active, 6)[:3]) * np.sign(dependence) > 0)
    nu = np.abs(dependence)
    found, truth = bounds.upper(active, rows, nu), exact_upper(bounds, norms, active, rows.tolist(), nu)
    assert truth <= Fraction(found) <= Fraction(1e12) * 10**3 * Fraction(UNIT)


def test_the_box_is_cut_by_the_domain():
    layer = make_layer(np.eye(3), domain=(np.array([-1.0, -np.inf, 5.0]), np.array([np.inf, 0.25, 9.0])))
    low, high = bounds_of_box(layer, 2.0)
    assert (low.tolist(), high.tolist()) == ([-1.0, -2.0, 5.0], [2.0, 0.25, 2.0])
    low, high = bounds_of_box(make_layer(np.eye(2)), 2.0)
    assert (low.tolist(), high.tolist()) == ([-2.0, -2.0], [2.0, 2.0])
    low, high = bounds_of_box(make_layer(np.eye(2), domain="nonnegative"), 2.0)
    assert (low.tolist(), high.tolist()) == ([0.0, 0.0], [2.0, 2.0])


@pytest.mark.parametrize("seed", range(5))
def test_norms_are_between_their_bounds_and_so_are_their_inverses(seed):
    layer, floats, norms = rational_layer(seed, bias=True)
    bounds = RadiusBounds(layer, floats, 1.0)
    for least, norm, most in zip(bounds.least_norms, norms, bounds.most_norms, strict=True):
        assert Fraction(least) <= norm * (1 - 5 * Fraction(UNIT)) < norm * (1 + 5 * Fraction(UNIT)) <= Fraction(most)
        assert Fraction(most) - Fraction(least) <= 30 * norm * Fraction(UNIT)
    assert (bounds.least_inverse * bounds.most_norms).tolist() == pytest.approx([1.0] * 6, abs=1e-15)
    assert (bounds.most_inverse * bounds.least_norms).tolist() == pytest.approx([1.0] * 6, abs=1e-15)


def test_a_row_without_a_norm_in_floats_has_bounds_that_say_nothing():
    layer = make_layer(np.array([[2.0**-700], [2.0**-300], [0.0]]), bias=[1.0, 1.0, 1.0])
    bounds = RadiusBounds(layer, float_rows(layer), 1.0)
    assert (bounds.least_norms[0], bounds.most_norms[0]) == (0.0, 1.0)
    assert 0 < bounds.least_norms[1] < bounds.most_norms[1] < 2.0**-299
    assert bounds.without_weights.tolist() == [False, False, True]
    assert bounds.upper(np.arange(3), np.array([0]), np.ones(1)) == np.inf


@pytest.mark.parametrize("power", range(-545, -380, 3))
def test_norms_are_between_their_bounds_where_their_squares_begin_to_underflow(power):
    layer = make_layer(np.array([[3 * 2.0**power]]), bias=[1.0])
    floats = float_rows(layer)
    bounds = RadiusBounds(layer, floats, 1.0)
    assert bounds.least_norms[0] <= floats.rows[0, 0] <= bounds.most_norms[0]


# --- each allowance, made large enough to be seen ---------------------------------------------------------


def test_the_slack_of_a_logit_is_taken_off_as_often_as_asked():
    layer, floats, _ = rational_layer(3)
    x, active = np.array([3.0, -1.0]), np.array([0, 2])
    for slacks in (1e10, 1e13):
        none, many = (RadiusBounds(layer, floats, 16.0, slacks=s) for s in (0.0, slacks))
        one_row = [np.array([i]) for i in range(6)]
        point = scaled_point(layer, x)
        slack = bounded_logits(floats, point, floats.rows @ point.v).slack
        for i, only in enumerate(one_row):
            single = make_layer(layer.weight[only])
            apart, together = (RadiusBounds(single, float_rows(single), 16.0, slacks=s) for s in (0.0, slacks))
            loss = apart.lower(np.arange(0), x) - together.lower(np.arange(0), x)
            expected = slacks * slack[i] * 2.0**point.exponent / none.most_norms[i]
            assert loss == pytest.approx(expected, rel=1e-4)
        assert many.lower(active, x) < none.lower(active, x)


def test_a_bound_has_one_slack_unless_told_otherwise():
    layer, floats, _ = rational_layer(3)
    assert RadiusBounds(layer, floats, 16.0).slacks == 1.0


@pytest.mark.parametrize(("low", "high"), [(-1.0, 7.0), (-7.0, 1.0), (-7.0, -5.0)])
@pytest.mark.parametrize("bias", [False, True])
def test_the_error_of_the_sums_is_added_as_often_as_asked(bias, low, high):
    layer, floats, _ = rational_layer(4, bias=bias, domain=(low, high))
    rows, nu, active = np.array([0, 2, 5]), np.array([1.0, 0.5, 0.25]), np.array([2])
    none, many = (RadiusBounds(layer, floats, 16.0, slacks=s) for s in (0.0, 1e12))
    system = np.abs(floats.rows[rows])
    reach = np.append(np.full(2, 7.0), np.ones(floats.rows.shape[1] - 2))
    of_sums = relative_error(3) * (nu / 2 @ system) @ reach
    signed = np.array([-1.0, 1.0, -1.0])[:, None] * floats.rows[rows]
    c = nu / 2 @ signed
    of_terms = relative_error(2) * (np.abs(np.maximum(low * c[:2], high * c[:2])).sum() + np.abs(c[2:]).sum())
    found = (many.upper(active, rows, nu) - none.upper(active, rows, nu)) * (nu / 2 @ none.least_norms[rows])
    assert found == pytest.approx(1e12 * (1.01 * of_sums + of_terms), rel=1e-3)


@pytest.mark.parametrize(("bias", "expected"), [(8.0, 8.0), (-8.0, -2.0)])
def test_an_upper_bound_is_divided_by_the_norm_that_makes_it_larger(bias, expected):
    layer = make_layer(np.array([[1.0]]), bias=[bias])
    bounds = RadiusBounds(layer, float_rows(layer), 2.0**-20)
    norm = bounds.least_norms[0]
    bounds.least_norms, bounds.most_norms = np.array([norm]), np.array([4 * norm])
    found = bounds.upper(np.array([0]), np.array([0]), np.array([1.0]))
    assert found == pytest.approx(expected, rel=1e-4)


@pytest.mark.parametrize(("x", "expected"), [(8.0, 2.0), (-8.0, -8.0)])
def test_a_lower_bound_is_divided_by_the_norm_that_makes_it_smaller(x, expected):
    layer = make_layer(np.array([[1.0]]))
    bounds = RadiusBounds(layer, float_rows(layer), 16.0)
    bounds.least_inverse = bounds.most_inverse / 4
    assert bounds.lower(np.array([0]), np.array([x])) == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("sign", [1, -1])
def test_without_slacks_a_bound_is_still_moved_outwards_by_the_rounding_of_its_own_steps(sign):
    layer = make_layer(np.array([[1.0]]), bias=[sign * 8.0])
    bounds = RadiusBounds(layer, float_rows(layer), 2.0**-30, slacks=0.0)
    one, label, units = np.array([1.0]), np.array([0]), Fraction(UNIT)
    truth = sign * 8 + Fraction(2) ** -30
    wide = (Fraction(bounds.upper(label, label, one)) / truth - 1) * sign
    expected = 2 * Fraction(relative_error(1)) + 8 * units  # the norm, its sum, and the quotient
    assert abs(wide - expected) <= 3 * units
    x = np.array([2.0**-31])
    truth = sign * 8 + Fraction(2) ** -31
    narrow = (1 - Fraction(bounds.lower(label, x)) / truth) * sign
    assert abs(narrow - Fraction(relative_error(1)) - 8 * units) <= 3 * units


def test_the_smallest_floats_are_rounded_outwards():
    layer = make_layer(np.array([[3.0, 4.0]]), domain=(0.0, 5e-324))
    bounds = RadiusBounds(layer, float_rows(layer), 1.0)
    assert bounds.lower(np.array([0]), np.full(2, 5e-324)) <= 5e-324  # the truth is 7/5 of it
    assert bounds.upper(np.array([0]), np.array([0]), np.ones(1)) >= 1e-323


def test_at_the_origin_nothing_but_the_smallest_float_is_lost():
    layer = make_layer(np.eye(1))
    assert RadiusBounds(layer, float_rows(layer), 1.0, slacks=0.0).lower(np.array([0]), np.zeros(1)) == -5e-324


def test_a_product_that_underflows_still_counts_with_a_large_box():
    layer = make_layer(
        np.array([[1.0, 0.0], [1.0, 2.0**-600]]), domain=(np.array([0.0, -np.inf]), np.array([0.0, np.inf]))
    )
    floats = float_rows(layer)
    bounds = RadiusBounds(layer, floats, 1e150)
    nu, label = np.array([0.5, 2.0**-600]), np.array([0, 1])
    truth = exact_upper(bounds, [Fraction(floats.rows[0, 0]), Fraction(floats.rows[1, 0])], label, [0, 1], nu)
    assert 0 < truth <= Fraction(bounds.upper(label, label, nu))


# --- what proves no bound ---------------------------------------------------------------------------------


def test_a_centre_outside_the_box_or_that_is_no_number_proves_nothing():
    layer = make_layer(np.eye(2), domain=(np.array([-1.0, -np.inf]), np.inf))
    bounds = RadiusBounds(layer, float_rows(layer), 2.0)
    active = np.array([0, 1])
    assert bounds.lower(active, np.array([2.0, 2.0])) == pytest.approx(2.0)
    for x in ([np.nextafter(2.0, 3.0), 1.0], [1.0, np.nextafter(2.0, 3.0)], [1.0, -2.1], [-1.1, 1.0], [np.nan, 1.0]):
        assert bounds.lower(active, np.array(x)) == -np.inf
    found = bounds.lower_of_many([active, np.array([0]), active], np.array([[1.0, 2.0], [1.0, -2.0], [3.0, 0.0]]))
    assert found == [pytest.approx(1.0), pytest.approx(1.0), -np.inf]


@pytest.mark.parametrize("nu", [[-1.0, 1.0], [-0.5, 1.0], [np.nan, 1.0], [np.inf, 1.0], [0.0, 0.0]])
def test_multipliers_that_are_negative_no_numbers_or_all_zero_prove_nothing(nu):
    layer = make_layer(np.eye(2))
    bounds = RadiusBounds(layer, float_rows(layer), 2.0)
    active, rows = np.array([0, 1]), np.array([0, 1])
    assert bounds.upper(active, rows, np.array(nu)) == np.inf
    assert bounds.upper(active, np.arange(0), np.ones(0)) == np.inf
    assert bounds.upper(active, rows, np.array([0.0, 1.0])) == pytest.approx(2.0)


def test_a_row_that_lost_bits_proves_no_upper_bound_and_its_logit_no_lower_one():
    layer = make_layer(np.array([[3 * 2.0**-1073], [1.0]]), bias=[2.0**1000, 0.0])
    bounds = RadiusBounds(layer, float_rows(layer), 2.0)
    assert bounds.is_inexact.tolist() == [True, False]
    assert bounds.upper(np.array([0, 1]), np.array([0, 1]), np.ones(2)) == np.inf
    assert bounds.upper(np.array([0, 1]), np.array([1]), np.ones(1)) == pytest.approx(2.0)
    assert bounds.lower(np.array([0, 1]), np.ones(1)) == -np.inf


def test_without_any_input_the_radius_is_nothing():
    layer = make_layer(np.eye(2), domain=(np.array([-1.0, 3.0]), np.inf))
    assert RadiusBounds(layer, float_rows(layer), 2.0).upper(np.array([0]), np.array([0]), np.ones(1)) == 0.0
    at_the_edge = RadiusBounds(layer, float_rows(layer), 3.0)
    assert at_the_edge.upper(np.array([0]), np.array([0]), np.ones(1)) == pytest.approx(3.0)


def test_a_label_without_weights_says_nothing_of_the_centre():
    layer = make_layer(np.array([[0.0], [1.0]]), bias=[-1.0, 0.0])
    bounds = RadiusBounds(layer, float_rows(layer), 2.0)
    assert bounds.lower(np.array([0, 1]), np.ones(1)) == pytest.approx(1.0)
    only = make_layer(np.zeros((1, 1)), bias=[-1.0])
    assert RadiusBounds(only, float_rows(only), 2.0).lower(np.array([0]), np.ones(1)) == np.inf


# --- the arrays that hold the evidence --------------------------------------------------------------------


def radii(**changes):
    """Two radii of the layer of two orthogonal rows."""
    fields = {
        "box": 2.0,
        "sets": np.array([0, 1]),
        "lower": np.array([1.0, 2.0]),
        "upper": np.array([2.0, 2.0]),
        "centers": np.array([[1.0, 2.0], [2.0, 2.0]]),
        "ptr": np.array([0, 1, 3]),
        "rows": np.array([0, 0, 1]),
        "multipliers": np.array([1.0, 0.5, 0.5]),
    }
    return Radii(**(fields | changes))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"box": np.nextafter(LEAST_BOX, 0)}, "expected a box"),
        ({"box": np.nextafter(MOST_BOX, np.inf)}, "expected a box"),
        ({"box": np.nan}, "expected a box"),
        ({"lower": np.ones(3)}, "expected bounds and centres"),
        ({"upper": np.ones(3)}, "expected bounds and centres"),
        ({"centers": np.ones((3, 2))}, "expected bounds and centres"),
        ({"centers": np.ones((2, 3))}, "expected bounds and centres"),
        ({"ptr": np.array([0, 1, 2, 3])}, "expected ends of multipliers"),
        ({"ptr": np.array([1, 1, 3])}, "expected ends of multipliers"),
        ({"ptr": np.array([0, 1, 2])}, "expected ends of multipliers"),
        ({"ptr": np.array([0, 4, 3])}, "expected ends of multipliers"),
        ({"ptr": np.array([[0, 1, 3]])}, "expected ends and labels"),
        ({"rows": np.array([[0, 0, 1]])}, "expected ends and labels"),
        ({"rows": np.array([0, 0, 2])}, "expected a multiplier for each"),
        ({"rows": np.array([0, -1, 1])}, "expected a multiplier for each"),
        ({"multipliers": np.ones(2)}, "expected a multiplier for each"),
    ],
)
def test_radii_whose_arrays_do_not_fit_are_refused(changes, message):
    assert message in radii(**changes).frame_fault(make_layer(np.eye(2)))


@pytest.mark.parametrize("changes", [{}, {"box": LEAST_BOX}, {"box": MOST_BOX}, {"ptr": np.array([0, 0, 3])}])
def test_radii_whose_arrays_fit_have_no_fault(changes):
    assert radii(**changes).frame_fault(make_layer(np.eye(2))) is None
    assert "expected no radii" in radii(**changes).frame_fault(make_layer(np.eye(2), rule="topk"))


def test_radii_may_be_wider_than_their_evidence_by_its_rounding_and_no_more():
    layer = make_layer(np.eye(2))
    tight, loose = (RadiusBounds(layer, float_rows(layer), 2.0, slacks=slacks) for slacks in (1.0, 9.0))
    active = np.array([0, 1])
    lower, upper = loose.lower(active, np.array([2.0, 2.0])), loose.upper(active, np.array([0, 1]), np.ones(2))
    least, most = tight.lower(active, np.array([2.0, 2.0])), tight.upper(active, np.array([0, 1]), np.ones(2))

    def fault(low, high):
        found = radii(lower=np.array([0.0, low]), upper=np.array([9.0, high]))
        return found.fault(tight, loose, active, 1)

    for low, high in ((lower, upper), (least, most), (lower, most), (lower * (1 - 1e-10), upper * (1 + 1e-10))):
        assert fault(low, high) is None
    for low in (np.nextafter(least, 3), lower / 2, lower * (1 - 1e-8), np.nan):
        assert "expected a radius of at most" in fault(low, upper)
    for high in (np.nextafter(most, 0), upper * 2, upper * (1 + 1e-8), np.nan):
        assert "expected an upper bound of at least" in fault(lower, high)
