"""The Chebyshev radius: known polygons, an independent solver, and bounds that cannot be forged."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from scipy.optimize import linprog

import labelproof as lp
from labelproof.proof.radius_bounds import RadiusBounds
from labelproof.proof.regions import make_layer
from labelproof.proof.rounding import float_rows
from labelproof.search.radius import _Problem, _Programme


def by_linprog(weight, active, box, bias=None, low=None, high=None):
    """Maximise ε by scipy: y_i (w_i·x + b_i) ≥ ε‖w_i‖ for every label with weights."""
    n, d = weight.shape
    signs = -np.ones(n)
    signs[active] = 1.0
    bias = np.zeros(n) if bias is None else bias
    norms = np.linalg.norm(weight, axis=1)
    some = norms > 0
    rows = np.column_stack([-signs[:, None] * weight, norms])[some]
    low = np.maximum(-box, -np.inf if low is None else low) * np.ones(d)
    high = np.minimum(box, np.inf if high is None else high) * np.ones(d)
    bounds = [*zip(low, high, strict=True), (None, None)]
    answer = linprog(np.append(np.zeros(d), -1.0), rows, (signs * bias)[some], bounds=bounds, method="highs")
    return max(-answer.fun, 0.0)


def assert_bracket(v, i, truth):
    assert v.radius[i] <= truth * (1 + 1e-7) + 1e-12
    assert v.radius_upper[i] >= truth * (1 - 1e-7) - 1e-12
    assert v.radius_upper[i] - v.radius[i] <= 1e-6 * v.radius_upper[i] + 1e-12


def test_the_inradius_of_a_square_and_of_a_triangle():
    square = np.array([[1.0, 0.0], [-1.0, 0.0], [0.0, 1.0], [0.0, -1.0]])
    v = lp.verify(square, [[0, 1, 2, 3]], bias=[3.0, 3.0, 3.0, 3.0], radius=True)
    assert_bracket(v, 0, 3.0)
    triangle = np.array([[1.0, 0.0], [0.0, 1.0], [-3.0, -4.0]])  # x, y ≥ 0 and 3x + 4y ≤ 12: legs 4 and 3, inradius 1
    v = lp.verify(triangle, [[0, 1, 2]], bias=[0.0, 0.0, 12.0], radius=True)
    assert_bracket(v, 0, 1.0)
    assert v.radii.centers[0] == pytest.approx([1.0, 1.0], rel=1e-6)
    v.check()


def test_orthonormal_rows_leave_the_whole_box():
    v = lp.verify(np.eye(5), [[0, 2], []], radius=True, box=10.0)
    for i in (0, 1):
        assert_bracket(v, i, 10.0)


@pytest.mark.parametrize("with_bias", [False, True])
@pytest.mark.parametrize("domain", [None, "nonnegative", (-2.0, 0.5)])
def test_the_bracket_holds_the_value_of_another_solver(with_bias, domain):
    rng = np.random.default_rng(3)
    for n, d in ((4, 3), (12, 4), (30, 8)):
        weight = rng.standard_normal((n, d)) * rng.uniform(0.1, 10, (n, 1))
        bias = rng.standard_normal(n) if with_bias else None
        sets = rng.random((30, n)) < 0.3
        v = lp.verify(weight, sets, bias=bias, domain=domain, radius=True, box=100.0)
        low, high = {None: (None, None), "nonnegative": (0.0, None)}.get(domain, domain)
        for i in np.flatnonzero(v.status == 1):
            assert_bracket(v, i, by_linprog(weight, np.flatnonzero(sets[i]), 100.0, bias, low, high))
        assert np.isnan(v.radius[v.status == 0]).all()
        v.check()


def test_thresholds_shift_the_boundaries():
    v = lp.verify(np.array([[1.0], [-1.0]]), [[0, 1]], bias=[0.0, 8.0], thresholds=[0.5, 0.5], radius=True)
    assert_bracket(v, 0, 4.0)
    higher = lp.verify(np.array([[1.0], [-1.0]]), [[0, 1]], bias=[0.0, 8.0], thresholds=[0.9, 0.5], radius=True)
    assert_bracket(higher, 0, 4.0 - np.log(9.0) / 2)


def test_without_a_bias_the_radius_is_proportional_to_the_box_and_blind_to_the_size_of_rows():
    rng = np.random.default_rng(4)
    weight = rng.standard_normal((20, 5))
    sets = rng.standard_normal((40, 5)) @ weight.T > 0
    one = lp.verify(weight, sets, radius=True, box=1.0)
    ten = lp.verify(weight * 2.0 ** rng.integers(-300, 300, (20, 1)), sets, radius=True, box=10.0)
    assert (one.status == 1).all()
    assert ten.radius == pytest.approx(10 * one.radius, rel=1e-6, nan_ok=True)


def test_the_status_depends_on_neither_box_nor_eps_but_eps_argmaxable_does():
    weight, bias = np.array([[1.0], [-1.0]]), [-5.0, 5.5]  # 5 < x < 5.5
    v = lp.verify(weight, [[0, 1]], bias=bias, radius=True, box=1.0, eps=0.1)
    assert (v.status[0], v.radius[0], v.eps_argmaxable[0]) == (1, 0.0, False)
    v.check()
    for eps, expected in ((0.2, True), (0.3, False)):
        v = lp.verify(weight, [[0, 1]], bias=bias, radius=True, eps=eps)
        assert_bracket(v, 0, 0.25)
        assert v.eps_argmaxable.tolist() == [expected]
        assert v[0].radius == v.radius[0]


def test_a_region_of_boundaries_alone_has_no_radius():
    v = lp.verify(np.array([[1.0], [-1.0]]), [[]], ties="inactive", radius=True)
    assert (v.status[0], v.radius[0]) == (1, 0.0)
    zero = lp.verify(np.array([[0.0, 0.0], [1.0, 0.0]]), [[1]], ties="inactive", radius=True, box=2.0)
    assert_bracket(zero, 0, 2.0)
    zero.check()


def test_a_box_without_inputs_and_labels_without_weights_are_told_apart():
    apart = lp.verify(np.eye(1), [[0]], domain=(5.0, 9.0), radius=True, box=2.0)
    assert (apart.status[0], apart.radius[0], apart.radius_upper[0]) == (1, 0.0, 0.0)
    apart.check()
    constant = lp.verify(np.zeros((2, 1)), [[0, 1]], bias=[1.0, 2.0], radius=True)
    assert (constant.status[0], constant.radius[0], constant.radius_upper[0]) == (1, np.inf, np.inf)
    constant.check()


def test_without_radius_there_is_none():
    v = lp.verify(np.eye(2), [[0]])
    assert np.isnan(v.radius).all()
    assert np.isnan(v[0].radius)
    assert not v.eps_argmaxable.any()
    assert lp.verify(np.eye(2), [], radius=True).radius.shape == (0,)


def forged(**changes):
    rng = np.random.default_rng(5)
    v = lp.verify(rng.standard_normal((12, 4)), [[0]], radius=True)
    assert v.status.tolist() == [1]
    v.check()
    return replace(
        v, radii=replace(v.radii, **{name: change(getattr(v.radii, name)) for name, change in changes.items()})
    )


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"lower": lambda a: a * 1.001}, "expected a radius of at most"),
        ({"lower": lambda a: a * 0}, "expected a radius of at most"),
        ({"upper": lambda a: a * 0.999}, "expected an upper bound of at least"),
        ({"upper": lambda a: a * 1.1}, "expected an upper bound of at least"),
        ({"centers": lambda a: a * 0.9}, "expected a radius of at most"),
        ({"centers": lambda a: a * 2}, "expected a radius of at most 0.0 from its centre"),
        ({"centers": lambda a: a * np.nan}, "expected a radius of at most"),
        ({"multipliers": lambda a: a[::-1].copy()}, "expected an upper bound of at least"),
        ({"multipliers": lambda a: -a}, "expected an upper bound of at least inf"),
        ({"multipliers": lambda a: a[:-1]}, "expected a multiplier for each"),
        ({"rows": lambda a: a + 99}, "expected a multiplier for each of some labels below 12"),
        ({"ptr": lambda a: a[:1]}, "expected ends of multipliers"),
        ({"sets": lambda a: a + 1}, "expected a radius for each argmaxable label set"),
        ({"box": lambda a: a / 2}, "expected a radius of at most"),
        ({"box": lambda a: -a}, "expected a box from"),
        ({"lower": lambda a: a[:0]}, "expected bounds and centres of 1 radii"),
        ({"ptr": lambda a: a[None]}, "expected ends and labels with one axis"),
        ({"rows": lambda a: a[None], "multipliers": lambda a: a[None]}, "expected ends and labels with one axis"),
    ],
)
def test_a_forged_bracket_is_refused(changes, message):
    with pytest.raises(lp.CertificateError, match=message):
        forged(**changes).check()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"rule": "topk"}, "radius goes with rule='sigmoid' only, got rule='topk'"),
        ({"rule": "sparsemax"}, "radius goes with rule='sigmoid' only"),
        ({"box": 0.0}, r"box must be a positive number, from 1e-150 to 1e\+150, got 0.0"),
        ({"box": np.nan}, "box must be a positive number, .* got nan"),
        ({"box": np.inf}, "box must be a positive number, .* got inf"),
        ({"box": "1"}, "box must be a positive number, .* got 1"),
        ({"box": 1e151}, r"box must be a positive number, .* got 1e\+151"),
        ({"box": Fraction(1, 10**400)}, "box must be a positive number"),
        ({"eps": -1.0}, "eps must be a number ≥ 0, got -1.0"),
        ({"eps": np.nan}, "eps must be a number ≥ 0, got nan"),
        ({"certify": False}, "radius must come with certify=True"),
    ],
)
def test_wrong_use_of_the_radius_is_refused(options, message):
    with pytest.raises(ValueError, match=message):
        lp.verify(np.eye(2), [[0]], radius=True, **options)


def test_a_programme_that_breaks_down_leaves_bounds_that_hold(monkeypatch):
    def break_down(*_):
        raise np.linalg.LinAlgError("Matrix is singular to machine precision.")

    W = np.random.default_rng(0).normal(size=(12, 4))
    sound = lp.verify(W, [[0, 1]], radius=True)
    monkeypatch.setattr("labelproof.search.radius_kernels.solve_working_set", break_down)
    broken = lp.verify(W, [[0, 1]], radius=True)
    assert broken.radius[0] <= sound.radius_upper[0]
    assert sound.radius[0] <= broken.radius_upper[0]
    broken.check()


def test_weights_that_underflow_beside_a_large_bias_still_count():
    v = lp.verify(np.array([[1e-300], [1.0]]), [[0, 1]], bias=[-1e30, 0.0], radius=True)
    assert v.status[0] == 1
    assert v.radius[0] == 0.0  # label 0 needs x > 1e330, far outside the box
    v.check()


@pytest.mark.parametrize("factor", [1e-30, 1e-200, 1e-300, 1e300])
def test_multipliers_of_any_size_prove_no_less_than_the_truth(factor):
    v = lp.verify(np.array([[1.0, 1.0], [3.0, -1.0]]), [[0, 1]], radius=True, box=1e-100)
    active, rows, multipliers = v.label_sets[0], v.radii.rows, v.radii.multipliers
    bound = RadiusBounds(v.layer, float_rows(v.layer), v.radii.box).upper(active, rows, multipliers * factor)
    assert bound >= v.radius[0]


def test_tiny_norms_give_no_upper_bound_below_the_truth():
    v = lp.verify(np.array([[1e-118]]), [[0]], bias=[1.0], radius=True)  # the radius is about 1e118
    brackets, label = RadiusBounds(v.layer, float_rows(v.layer), v.radii.box), np.array([0])
    for exponent in range(-1070, 0, 10):
        assert brackets.upper(label, label, np.array([2.0**exponent])) >= v.radius[0]


def test_the_smallest_floats_round_outwards():
    v = lp.verify(np.ones((1, 3)), [[0]], domain=(0.0, 5e-324), radius=True)
    assert v.radius[0] <= 5e-324  # the truth is √3 of it


def test_radii_belong_to_the_sigmoid_rule():
    v = forged()
    with pytest.raises(lp.CertificateError, match="expected no radii with rule='topk', got some"):
        replace(v, layer=replace(v.layer, rule="topk")).check()


def test_a_witness_place_beyond_the_points_is_refused_even_beside_fractions():
    v = lp.verify(np.eye(2), [[0]])
    with pytest.raises(lp.CertificateError, match="expected a witness, got none"):
        replace(v, point_of=np.array([7]), fractions={0: (Fraction(1), Fraction(-1))}).check()


def test_a_bias_and_cuts_that_overflow_together_are_refused():
    with pytest.raises(ValueError, match="bias minus the logits of thresholds must be finite"):
        make_layer(np.eye(1), bias=[1.7e308], theta=[-1.7e308])


def test_a_programme_that_lost_its_way_asks_for_no_more_rows():
    weight = np.random.default_rng(0).normal(size=(40, 3))
    v = lp.verify(weight, [[0]], radius=True)
    problem = _Problem(RadiusBounds(v.layer, float_rows(v.layer), v.radii.box))
    programme = _Programme(problem, v.label_sets[0], np.zeros(40, np.float32))
    programme.v[-1] = np.nan
    assert not programme.extend(np.zeros(40, np.float32))
