"""Bounds of a stretch in floating point never say more than fractions do, and say what an independent checker says."""

import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
import scipy.sparse as sp
from standalone_stretch_cases import claim_of, problem_of

from labelproof.proof import stretch_bounds
from labelproof.proof.examples import read_examples
from labelproof.proof.labels import read_label_sets
from labelproof.proof.regions import exact_offset, make_layer
from labelproof.proof.rounding import float_rows
from labelproof.proof.standalone_stretch import lower_fault, upper_fault
from labelproof.proof.stretch_bounds import (
    StretchBounds,
    are_predicted,
    exact_lower,
    exact_mixture,
    pinned_layer,
    total,
    weighted_sums,
)

RULES = [("sigmoid", "open"), ("sigmoid", "inactive"), ("topk", "open"), ("topk", "inactive")]
every_rule = pytest.mark.parametrize(("rule", "ties"), RULES)


def made(rng, *, n_labels=3, d=2, n=4, small=True, rule="sigmoid", ties="open", with_bias=True):
    """A layer with examples: small whole numbers, which tie often, or any."""

    def draw(*shape):
        return rng.integers(-2, 3, shape).astype(float) if small else rng.normal(size=shape)

    bias = draw(n_labels) / 2 if with_bias else None
    layer = make_layer(draw(n_labels, d), bias=bias, rule=rule, ties=ties)
    return layer, read_examples(draw(n, d), d)


def problem(layer, examples):
    features = examples.take(np.arange(len(examples))).tolist()
    offset = [exact_offset(layer, i) for i in range(layer.n_labels)]
    options = {"centre": examples.centre.tolist(), "rule": layer.rule, "ties": layer.ties}
    return problem_of(layer.weight.tolist(), features, offset=offset, **options)


def some(rng, n, share=0.6):
    return np.flatnonzero(rng.random(n) < share)


def evidence(numbers, weights):
    return np.array(numbers, np.int64), np.array(weights, float)


# In fractions


@every_rule
def test_weighted_labels_prove_in_fractions_what_the_standalone_checker_says(rule, ties):
    rng = np.random.default_rng(0)
    seen = set()
    for number in range(150):
        layer, examples = made(rng, n=3, rule=rule, ties=ties, with_bias=bool(number % 4))
        if number % 3 == 0:
            examples = read_examples(np.repeat(examples.take(np.arange(1)), 3, axis=0), 2)
        active, rows = some(rng, 3, 0.5), some(rng, 3, 0.8)
        theta = rng.integers(0, 4, len(rows)) / 2
        best = exact_lower(layer, examples, active, rows, theta)
        claim = claim_of(active.tolist(), weighted=(rows.tolist(), theta.tolist()))
        assert lower_fault(problem(layer, examples), claim._replace(lower=best)) is None
        if best < math.inf:
            more = best + Fraction(1, 10**30)
            assert lower_fault(problem(layer, examples), claim._replace(lower=more)) is not None
        seen.add((best > 0, best == math.inf))
    assert len(seen) == 3


@every_rule
def test_mixtures_prove_what_the_standalone_checker_says(rule, ties):
    rng = np.random.default_rng(1)
    seen = set()
    for number in range(40):
        layer, examples = made(rng, rule=rule, ties=ties, with_bias=bool(number % 4))
        bounds, alone = StretchBounds(layer, examples), problem(layer, examples)
        mixtures = []
        for _ in range(8):
            which = some(rng, 4)
            mixtures.append((which, rng.integers(0, 4, len(which)) / 4))
        sets = read_label_sets([np.flatnonzero([(k >> i) & 1 for i in range(3)]).tolist() for k in range(8)], 3)
        faults, uppers = bounds.mixture_faults(sets, mixtures), bounds.uppers(sets, mixtures)
        for active, (which, weights), fault, upper in zip(sets, mixtures, faults, uppers.tolist(), strict=True):
            claim = claim_of(active.tolist(), upper=float(weights.sum()), mixture=(which.tolist(), weights.tolist()))
            assert (fault is None) == (upper_fault(alone, claim) is None)
            assert upper == (math.inf if fault else total(weights))
            seen.add(fault is None)
    assert seen == {True, False}


def test_a_mixture_without_rounding():
    examples = read_examples(np.array([[1 / 3, 2.0], [-1.0, 1e-30], [7.0, 0.1]]), 2)
    which, weights = np.array([0, 2]), np.array([0.3, 1e10])
    c = [Fraction(float(v)) for v in examples.centre]
    f = [[Fraction(v) for v in row] for row in examples.take(which).tolist()]
    m = [Fraction(0.3), Fraction(1e10)]
    expected = tuple(c[k] + sum(w * (row[k] - c[k]) for w, row in zip(m, f, strict=True)) for k in range(2))
    assert exact_mixture(examples, which, weights) == expected
    assert exact_mixture(examples, which[:0], weights[:0]) == tuple(c)


# From below, in floats


def test_floats_prove_no_more_than_fractions_where_sums_cancel():
    """Labels whose weighted sum nearly vanishes, at the centre, beyond it, or everywhere."""
    rng = np.random.default_rng(2)
    finite = 0
    for number in range(150):
        weight, features = rng.normal(size=(3, 4)), rng.normal(size=(5, 4))
        theta = rng.uniform(0.5, 2, 3)
        weight[2] = -(theta[:2] @ weight[:2]) / theta[2]  # the pulls cancel
        scale = 10.0 ** rng.integers(0, 9)
        features[:, 0] += scale
        if number % 3 == 0:
            weight[2, 1] += 1e-12
        bias = rng.normal(size=3)
        bias[2] = (-theta[:2] @ bias[:2] - rng.choice([0, 1e-15, 1e-9, 1])) / theta[2]
        layer, examples = make_layer(weight, bias=bias), read_examples(features, 4)
        rows = np.arange(3)
        (bound,) = StretchBounds(layer, examples).lowers(read_label_sets([[0, 1, 2]], 3), [(rows, theta)]).tolist()
        assert bound <= exact_lower(layer, examples, rows, rows, theta)
        finite += 0 < bound < math.inf
    assert finite > 5


def test_floats_prove_nearly_what_fractions_do():
    rng = np.random.default_rng(3)
    proven = 0
    for number in range(60):
        layer, examples = made(rng, n_labels=4, d=3, n=6, small=False, with_bias=bool(number % 3))
        if number % 2:
            features = np.where(examples.features < 0, 0, examples.features)
            examples = read_examples(sp.csr_matrix(features), 3)
        active, rows = some(rng, 4, 0.5), some(rng, 4, 0.8)
        theta = rng.uniform(0, 2, len(rows))
        sets = read_label_sets([active.tolist()] * 2, 4)
        nothing = evidence([], [])
        for slacks in (1.0, 9.0):
            bounds = StretchBounds(layer, examples, slacks=slacks).lowers(sets, [nothing, (rows, theta)])
            exact = exact_lower(layer, examples, active, rows, theta)
            assert bounds[0] == 0
            assert bounds[1] <= exact
            assert bounds[1] >= float(exact) * (1 - 1e-9) or exact < 1e-9
            proven += bool(bounds[1])
    assert proven > 20


def test_more_slacks_give_less():
    rng = np.random.default_rng(4)
    layer, examples = made(rng, d=3, small=False)
    sets, weighted = read_label_sets([[0, 1, 2]], 3), [evidence([0, 1, 2], [1.0, 1.0, 1.0])]
    layer = make_layer(layer.weight, bias=[-9.0, -9.0, -9.0])
    few, many = (StretchBounds(layer, examples, slacks=s).lowers(sets, weighted)[0] for s in (1.0, 1e6))
    assert 0 < many < few
    assert many > few * (1 - 1e-6)


def sums(layer, active, rows, theta):
    found = weighted_sums(layer, *(np.array(a) for a in (active, rows, theta)))
    signed = [Fraction(t) * (1 if i in active else -1) for i, t in zip(rows, theta, strict=True)]
    table = [list(map(Fraction, layer.weight[i].tolist())) for i in rows]
    v = [sum(s * w for s, w in zip(signed, column, strict=True)) for column in zip(*table, strict=True)]
    return found, v, sum(s * exact_offset(layer, i) for s, i in zip(signed, rows, strict=True))


def test_sums_of_labels_are_off_by_no_more_than_they_say():
    rng = np.random.default_rng(5)
    for scale in (1.0, 2.0**-540, 2.0**-1070, 1e100):
        for _ in range(20):
            weight = rng.normal(size=(6, 2)) * scale
            theta = (rng.uniform(0, 2, 6) * min(scale, 1.0)).tolist()
            bias, thresholds = rng.normal(size=6) * scale, rng.uniform(0.1, 0.9, 6)
            layer = make_layer(weight, bias=bias, thresholds=thresholds)
            (v, v_error, constant, error), exact, offset = sums(layer, [0, 2], list(range(6)), theta)
            for found, off, true in zip(v.tolist(), v_error.tolist(), exact, strict=True):
                assert abs(Fraction(found) - true) <= Fraction(off)
            assert abs(Fraction(constant) - offset) <= Fraction(error)
            if scale == 1.0:
                assert (v_error < 1e-13).all()
                assert error < 1e-13
    plain = make_layer(np.eye(2))
    (_, _, constant, error), _, _ = sums(plain, [0], [0, 1], [1.0, 2.0])
    assert (constant, error) == (0.0, 0.0)


def lower(v, v_error, constant, error, highest, *, centre=(0.0,), largest=(1.0,), slacks=1.0):
    d = len(v)
    examples = read_examples(np.array([largest, [-c for c in largest]], float), d, centre=np.array(centre, float))
    bounds = StretchBounds(make_layer(np.ones((1, d))), examples, slacks=slacks)
    with np.errstate(all="ignore"):
        return bounds._lower(np.array(v, float), np.array(v_error, float), constant, error, highest)


def test_every_error_takes_from_a_lower_bound():
    assert lower([1.0], [0.0], -3.0, 0.0, 2.0) == pytest.approx(1.5)
    assert lower([1.0], [0.0], -3.0, 0.0, 2.0) < 1.5
    assert lower([1.0], [0.0], -3.0, 1.0, 2.0) == pytest.approx(1.0)
    assert lower([1.0], [0.0], -3.0, 1.0, 2.0, slacks=2.0) == pytest.approx(0.5)
    assert lower([1.0], [0.5], -3.0, 0.0, 2.0) == pytest.approx(3 / 2.505)
    assert lower([1.0], [0.5], -3.0, 0.0, 2.0, largest=(3.0,)) == pytest.approx(3 / (2 + 1.01 * 1.5))
    found = lower([1.0], [0.25], -5.0, 0.0, 4.0, centre=(2.0,))  # 3 less 1.01/2, over 2 more 1.01·(½ + ¼)
    assert found == pytest.approx((3 - 0.505) / (2 + 1.01 * 0.75))
    assert lower([1.0], [0.25], -5.0, 0.0, 4.0, centre=(2.0,), slacks=2.0) == pytest.approx(1.99 / (2 + 2.02 * 0.75))
    assert lower([1.0], [0.0], -3.0, 3.0, 2.0) == 0.0
    assert lower([1.0], [0.0], 3.0, 0.0, 2.0) == 0.0
    assert lower([1.0], [0.0], -3.0, 0.0, -2.0) == math.inf
    assert lower([1.0], [0.0], -3.0, 0.0, 0.0) < math.inf  # there is an error of 2**-1073 at least


def test_a_lower_bound_is_rounded_down_to_the_last_bit():
    rng = np.random.default_rng(6)
    for _ in range(200):
        constant, highest = -float(rng.uniform(1, 2)), float(rng.uniform(1, 2))
        found = lower([0.0], [0.0], constant, 0.0, highest)
        true = -Fraction(constant) / Fraction(highest)
        assert found <= true * (1 - Fraction(6, 2**53))
        assert found >= true * (1 - Fraction(1, 2**46))
    assert lower([0.0], [0.0], -1e300, 0.0, 1e-300) < math.inf
    assert lower([0.0], [0.0], -(2.0**-1060), 0.0, 2.0**10) <= 2.0**-1070


@pytest.mark.parametrize("highest", [np.nan, np.inf, -np.inf])
def test_numbers_that_are_none_prove_nothing(highest):
    assert lower([1.0], [0.0], -3.0, 0.0, highest) == 0.0
    assert lower([1.0], [0.0], -np.inf, 0.0, 1.0) == 0.0
    assert lower([np.nan], [0.0], -3.0, 0.0, 1.0) == 0.0
    assert lower([np.inf], [0.0], -3.0, 0.0, 1.0, centre=(1.0,)) == 0.0


def test_weights_that_overflow_prove_nothing():
    layer, examples = make_layer(np.array([[1e308], [1e308]]), bias=[-1.0, -1.0]), read_examples([[1.0], [-1.0]], 1)
    sets = read_label_sets([[0, 1]], 2)
    (bound,) = StretchBounds(layer, examples).lowers(sets, [evidence([0, 1], [1.0, 1.0])])
    assert bound == 0
    layer = make_layer(np.array([[1e307], [1e307]]), bias=[-1e307, -1e307])
    (bound,) = StretchBounds(layer, examples).lowers(sets, [evidence([0, 1], [1.0, 1.0])])
    assert bound == pytest.approx(1.0)


def test_the_edge_of_an_example_is_known_to_its_rounding():
    """Features of a million that cancel: the largest product has an error, and so has the one at the centre."""
    rng = np.random.default_rng(7)
    for _ in range(100):
        weight = rng.normal(size=(1, 6))
        large = rng.normal(size=(5, 6)) * 1e12
        weight -= weight @ np.linalg.pinv(large) @ large
        features = large + rng.choice([0, 1e-3], (5, 1))
        for centre in (None, large[0] / 3):
            examples = read_examples(features, 6, centre=centre)
            layer = make_layer(weight, bias=[-(10.0 ** rng.integers(-8, 2))])
            bound = StretchBounds(layer, examples).lowers(read_label_sets([[0]], 1), [evidence([0], [1.0])])[0]
            assert bound <= exact_lower(layer, examples, np.array([0]), np.array([0]), np.array([1.0]))


# From above, in floats


def test_a_point_is_off_by_no_more_than_it_says():
    rng = np.random.default_rng(8)
    for scale in (1.0, 1e8, 2.0**-530, 2.0**-1070, 1e150):
        for _ in range(20):
            features = rng.normal(size=(4, 3)) * scale + rng.choice([0, scale * 100])
            examples = read_examples(features, 3)
            which = some(rng, 4)
            weights = rng.uniform(0, 3, len(which)) * rng.choice([1.0, 2.0**-530, 1e6])
            with np.errstate(all="ignore"):
                x, error = StretchBounds(make_layer(np.ones((1, 3))), examples)._point(which, weights)
            true = exact_mixture(examples, which, weights)
            square = sum((Fraction(a) - b) ** 2 for a, b in zip(x.tolist(), true, strict=True))
            assert error == math.inf or square <= Fraction(error) ** 2
            if scale <= 1e8:
                assert error <= 1e-12 * scale * 1e6 * 100 + 2.0**-480
    examples = read_examples(np.array([[1e200, 1.0], [-1e200, 2.0]]), 2)
    bounds = StretchBounds(make_layer(np.ones((1, 2))), examples)
    for weights in ([1e200], [1e308], [1.0]):
        with np.errstate(all="ignore"):
            x, error = bounds._point(np.array([0]), np.array(weights))
        assert error == math.inf
        np.testing.assert_array_equal(x, examples.centre)


def test_mixtures_at_the_edge_are_decided_in_fractions():
    """Weights within some units of those at which the logit is 0."""
    rng = np.random.default_rng(9)
    seen = set()
    for rule in ("sigmoid", "topk"):
        for _ in range(25):
            weight, features = rng.normal(size=(2, 3)), rng.normal(size=(4, 3)) + 2
            bias = np.array([-4.0, 0.0]) if rule == "topk" else np.array([-4.0, -100.0])
            layer, examples = make_layer(weight, bias=bias, rule=rule), read_examples(features, 3)
            z, at = features @ weight.T + bias, weight @ examples.centre + bias
            ahead, start = (z[:, 0] - z[:, 1], at[0] - at[1]) if rule == "topk" else (z[:, 0], at[0])
            j = int(np.argmax(ahead))
            if not (ahead[j] > start + 0.1 and start < 0):
                continue
            edge = -start / (ahead[j] - start)
            for units in (-50, -3, -1, 0, 1, 3, 50, 2**20):
                mixture = evidence([j], [edge * (1 + units * 2.0**-52)])
                claim = claim_of([0], upper=9e9, mixture=([j], mixture[1].tolist()))
                (fault,) = StretchBounds(layer, examples).mixture_faults(read_label_sets([[0]], 2), [mixture])
                truth = upper_fault(problem(layer, examples), claim) is None
                assert (fault is None) == truth
                certain = StretchBounds(layer, examples)._certain(read_label_sets([[0]], 2), [mixture], [0])
                assert truth or not certain[0]
                if abs(units) == 2**20:
                    assert certain[0] == truth
                wide = StretchBounds(layer, examples, slacks=1e12)._certain(read_label_sets([[0]], 2), [mixture], [0])
                assert not wide[0]
                seen.add((rule, truth))
    assert len(seen) == 4


def test_the_error_of_the_point_counts_in_the_logits(monkeypatch):
    """With an error of 1/8 in the point, a logit of 1/10 at a weight of norm 1 is open."""
    layer, examples = make_layer(np.array([[0.6, 0.8]])), read_examples(np.eye(2), 2)
    bounds = StretchBounds(layer, examples)
    for z, error, expected in [(0.1, 0.125, False), (0.15, 0.125, True), (1.5, 1.25, True), (1.2, 1.25, False)]:
        monkeypatch.setattr(bounds, "_point", lambda *_, z=z, error=error: (np.array([0.6 * z, 0.8 * z]), error))
        assert bounds._certain(read_label_sets([[0]], 1), [evidence([], [])], [0]) == [expected]
        wider = StretchBounds(layer, examples, slacks=2.0)
        monkeypatch.setattr(wider, "_point", lambda *_, z=z, error=error: (np.array([0.6 * z, 0.8 * z]), error / 2))
        assert wider._certain(read_label_sets([[0]], 1), [evidence([], [])], [0]) == [expected]


@pytest.mark.parametrize("numbers", [[0.1] * 10, [1.0, 2.0**-60], [2.0**-60, 1.0, 2.0**-53], [5e-324], [0.0], []])
def test_the_sum_of_weights_is_rounded_up(numbers):
    exact = sum(map(Fraction, numbers), Fraction(0))
    found = total(np.array(numbers))
    assert Fraction(found) >= exact
    assert (found == 0) == (exact == 0)
    assert Fraction(np.nextafter(np.nextafter(found, -1), -1)) <= exact


def test_weights_that_are_too_large_for_a_sum_prove_nothing():
    for numbers in ([1e308, 1e308], [np.inf, -np.inf], [np.inf]):
        assert total(np.array(numbers)) == math.inf
    layer, examples = make_layer(np.array([[1.0]])), read_examples([[1.0], [-1.0]], 1)
    bounds, sets = StretchBounds(layer, examples), read_label_sets([[0]], 1)
    large = evidence([0, 1], [1e308, 1e308])
    assert bounds.mixture_faults(sets, [large]) == ["label 0: expected a positive logit, got 0"]
    top = StretchBounds(make_layer(np.ones((4, 1)), rule="topk"), examples)
    assert top.lowers(read_label_sets([[0, 1]], 4), [evidence([0, 1, 2, 3], [1e308] * 4)]).tolist() == [0.0]


# Form


@pytest.mark.parametrize(
    ("rows", "theta"),
    [
        ([0, 1], [1.0]),
        ([1, 0], [1.0, 1.0]),
        ([0, 0], [1.0, 1.0]),
        ([-1, 0], [1.0, 1.0]),
        ([0, 3], [1.0, 1.0]),
        ([0, 1], [1.0, -1.0]),
        ([0, 1], [1.0, np.inf]),
        ([0, 1], [np.nan, 1.0]),
        ([0, 1], [0.0, 0.0]),
        ([], []),
    ],
)
def test_weighted_labels_in_the_wrong_form_prove_nothing(rows, theta):
    layer, examples = make_layer(np.zeros((3, 1)), bias=[-1.0] * 3), read_examples([[1.0], [-1.0]], 1)
    active, weighted = np.arange(3), evidence(rows, theta)
    assert StretchBounds(layer, examples).lowers(read_label_sets([[0, 1, 2]], 3), [weighted]).tolist() == [0.0]
    assert exact_lower(layer, examples, active, *weighted) == 0
    for good in (evidence([0, 1], [1.0, 1.0]), evidence([2], [1.0]), evidence([0, 1], [0.0, 1.0])):
        assert exact_lower(layer, examples, active, *good) == math.inf
        assert StretchBounds(layer, examples).lowers(read_label_sets([[0, 1, 2]], 3), [good])[0] > 1e15


@pytest.mark.parametrize(
    ("which", "weights", "message"),
    [
        ([0, 1], [1.0], "some of 3 examples in ascending order"),
        ([1, 0], [1.0, 1.0], "some of 3 examples in ascending order"),
        ([0, 0], [1.0, 1.0], "some of 3 examples in ascending order"),
        ([-1, 0], [1.0, 1.0], "some of 3 examples in ascending order"),
        ([0, 3], [1.0, 1.0], "some of 3 examples in ascending order"),
        ([0, 1], [1.0, -1e-300], "expected weights ≥ 0"),
        ([0, 1], [1.0, np.inf], "expected weights ≥ 0"),
        ([0, 1], [np.nan, 1.0], "expected weights ≥ 0"),
    ],
)
def test_mixtures_in_the_wrong_form_prove_nothing(which, weights, message):
    layer, examples = make_layer(np.zeros((1, 1)), bias=[1.0]), read_examples([[1.0], [-1.0], [0.0]], 1)
    good = evidence([0, 2], [1.0, 0.0])
    sets = read_label_sets([[0], [0]], 1)
    bad, none = StretchBounds(layer, examples).mixture_faults(sets, [evidence(which, weights), good])
    assert message in bad
    assert none is None


def test_multipliers_cancel_to_the_last_bit_under_topk():
    layer, examples = (
        make_layer(np.zeros((3, 1)), bias=[-1.0, 0.0, 0.0], rule="topk"),
        read_examples([[1.0], [-1.0]], 1),
    )
    for theta, is_good in [([1.0, 0.25, 0.75], True), ([1.0, 0.25, np.nextafter(0.75, 1)], False), ([1, 1, 1], False)]:
        found = exact_lower(layer, examples, np.array([0]), np.arange(3), np.array(theta, float))
        assert found == (math.inf if is_good else 0)


def test_a_stretch_has_no_sparsemax_and_no_domain():
    examples = read_examples(np.eye(2), 2)
    with pytest.raises(ValueError, match="rule must be 'sigmoid' or 'topk' for a stretch"):
        StretchBounds(make_layer(np.eye(2), rule="sparsemax"), examples)
    for domain in ("nonnegative", (-np.inf, 1.0), ("ball", 1.0), "unit"):
        with pytest.raises(ValueError, match="a stretch is measured without a domain"):
            StretchBounds(make_layer(np.eye(2), domain=domain), examples)
    with pytest.raises(ValueError, match="a stretch is measured without a domain"):
        StretchBounds(replace(make_layer(np.eye(2)), high=np.ones(2)), examples)


def test_features_that_never_vary_are_held():
    layer = make_layer(np.eye(3))
    varied = read_examples(np.array([[1.0, 2.0, 0.0], [0.0, 1.0, 0.5]]), 3)
    assert pinned_layer(layer, varied) is layer
    held = pinned_layer(layer, read_examples(np.array([[1.0, 0.5, 0.0], [0.0, 0.5, -0.0]]), 3))
    assert held.low.tolist() == [-np.inf, 0.5, 0.0]
    assert held.high.tolist() == [np.inf, 0.5, 0.0]
    bounds = StretchBounds(layer, read_examples(np.array([[1.0, -0.5, 0.0], [0.0, -0.5, 0.0]]), 3))
    sets = read_label_sets([[1], [0]], 3)
    rows = np.array([1, 3, 3 + 3 + 3 + 1])  # x_1 > 0, s > 0, −s/2 − x_1 ≥ 0
    good, bad = bounds.conflict_faults(sets, [rows, rows])
    assert good is None
    assert bad is not None


@pytest.mark.parametrize("at_once", [1, 2, 6, 7, 100])
def test_many_sets_are_bounded_some_at_a_time(monkeypatch, at_once):
    rng = np.random.default_rng(10)
    layer, examples = made(rng, n_labels=3, d=2, small=False)
    sets = read_label_sets([[0], [1], [], [0, 1, 2], [2]], 3)
    weighted = [evidence([0, 1, 2], rng.uniform(0, 1, 3)) for _ in range(5)]
    mixtures = [evidence([0, 1], rng.uniform(0, 5, 2)) for _ in range(5)]
    bounds = StretchBounds(layer, examples)
    expected = bounds.lowers(sets, weighted), bounds.uppers(sets, mixtures), bounds.mixture_faults(sets, mixtures)
    weighted[3] = evidence([0], [-1.0])
    monkeypatch.setattr(stretch_bounds, "SETS_AT_ONCE", at_once)
    np.testing.assert_allclose(bounds.lowers(sets, weighted), np.where(np.arange(5) == 3, 0, expected[0]), rtol=1e-12)
    np.testing.assert_array_equal(bounds.uppers(sets, mixtures), expected[1])
    assert [f is None for f in bounds.mixture_faults(sets, mixtures)] == [f is None for f in expected[2]]


# Underflow


def test_products_that_underflow_alike_add_up():
    """Twelve products of half the least float: each is 0 in floats, and together they are six of these."""
    n = 12
    layer = make_layer(np.full((n, 1), 2.0**-540), bias=np.full(n, 2.0**-540))
    rows = list(range(n))
    (v, v_error, constant, error), exact, offset = sums(layer, rows, rows, [2.0**-535] * n)
    assert exact == [offset] == [Fraction(n, 2**1075)]
    assert abs(Fraction(float(v[0])) - exact[0]) <= Fraction(float(v_error[0]))
    assert abs(Fraction(constant) - offset) <= Fraction(error)


def test_a_centre_whose_products_underflow_proves_nothing():
    """G(c) is 0: what the products at the centre lose, the constant takes away."""
    tiny = {"centre": [2.0**-540] * 6, "largest": [1.0] * 6}
    assert lower([2.0**-535] * 6, [0.0] * 6, -(3 * 2.0**-1074), 0.0, 1.0, **tiny) == 0.0
    assert lower([0.0] * 6, [2.0**-535] * 6, -(3 * 2.0**-1074), 0.0, 1.0, **tiny) == 0.0
    assert lower([1.0] * 6, [0.0] * 6, -1.0, 0.0, 1.0, **tiny) == pytest.approx(1.0)
    tiny["largest"] = [2.0**-540] * 6
    assert lower([2.0**-535] * 6, [0.0] * 6, -(3 * 2.0**-1074), 0.0, 0.0, **tiny) == 0.0


def test_a_sum_that_needs_nothing_more_at_the_centre_has_no_lower_bound():
    for constant in (3.0, 0.5, 0.0):
        for highest in (2.0, -0.5, -2.0):
            assert lower([1.0], [0.0], constant, 0.0, highest) == 0.0
    for highest in (-0.5, -(2.0**-51 + 2.0**-102)):  # the second makes the bottom exactly 0
        assert lower([0.0], [0.0], -1.0, 0.0, highest) == math.inf
    assert lower([0.0], [0.0], -(2.0**-1060), 0.0, 2.0**100) == 0.0


def test_products_that_cancel_at_the_centre_prove_nothing():
    """1e16 + 1 − 1e16 is 0 or 1 in floats, by the order; G(c) is 0."""
    for centre in ([1e16, 1.0, -1e16], [1.0, 1e16, -1e16], [1e16, -1e16, 1.0]):
        assert lower([1.0] * 3, [0.0] * 3, -1.0, 0.0, 5.0, centre=centre, largest=[1.0] * 3) == 0.0
    found = lower([1.0, 1.0], [0.25, 0.25], -5.0, 0.0, 4.0, centre=(2.0, -2.0), largest=(1.0, 1.0))
    assert found == pytest.approx((5 - 1.01) / (4 + 1.01 * 1.5))


def test_the_largest_product_may_be_larger_by_its_rounding():
    assert lower([1.0], [0.0], -1.0, 0.0, 0.0, largest=(1e16,)) < 0.2
    assert lower([2.0**-535], [0.0], -(2.0**-1060), 0.0, 0.0, largest=(2.0**-540,)) < math.inf


def test_a_point_is_off_by_what_cancels_in_it():
    """A large centre with small features, features against the centre, and features against each other."""
    rng = np.random.default_rng(11)
    for number in range(60):
        features = rng.normal(size=(4, 3))
        if number % 3 == 2:
            features = np.vstack([features, -features + 1e-7 * rng.normal(size=(4, 3))]) * 1e8
        features = np.abs(features) if number % 3 == 1 else features
        centre = [features.mean(axis=0) + 1e3 * rng.normal(size=3), -features[0], np.zeros(3)][number % 3]
        examples = read_examples(features, 3, centre=centre)
        which = np.arange(len(features)) if number % 3 != 1 else np.array([0])
        weights = np.full(len(which), float(rng.uniform(0.5, 1) * 10.0 ** rng.integers(0, 7)))
        x, error = StretchBounds(make_layer(np.ones((1, 3))), examples)._point(which, weights)
        true = exact_mixture(examples, which, weights)
        square = sum((Fraction(a) - b) ** 2 for a, b in zip(x.tolist(), true, strict=True))
        assert square <= Fraction(error) ** 2


def test_the_rounding_of_the_logits_counts_besides_that_of_the_point(monkeypatch):
    """The logit is −0.4, but three times 1.2 are 6 in floats beside 1e16, and 4 are taken away."""
    layer, examples = make_layer(np.ones((1, 5))), read_examples(np.eye(5), 5)
    bounds, one = StretchBounds(layer, examples), read_label_sets([[0]], 1)
    point = [1e16, 1.2, 1.2, 1.2, -(1e16 + 4)]
    for turn in range(5):
        x = np.array(point[turn:] + point[:turn])
        monkeypatch.setattr(bounds, "_point", lambda *_, x=x: (x, 0.0))
        assert bounds._certain(one, [evidence([], [])], [0]) == [False]
    monkeypatch.setattr(bounds, "_point", lambda *_: (np.ones(5), 0.0))
    assert bounds._certain(one, [evidence([], [])], [0]) == [True]


def test_exact_numbers_are_for_open_logits_only(monkeypatch):
    layer, examples = make_layer(np.ones((1, 2))), read_examples(np.eye(2), 2)
    monkeypatch.setattr(stretch_bounds, "exact_mixture", lambda *_: pytest.fail("floats leave this open"))
    assert StretchBounds(layer, examples).mixture_faults(read_label_sets([[0]], 1), [evidence([0], [1.0])]) == [None]


def test_a_logit_of_0_at_a_centre_of_0_is_not_positive():
    for width in (1, 2):
        layer, examples = (
            make_layer(np.ones((1, width))),
            read_examples(np.array([[1.0] * width, [-1.0] * width]), width),
        )
        bounds, sets, nothing = StretchBounds(layer, examples), read_label_sets([[0]], 1), [evidence([], [])]
        assert bounds._certain(sets, nothing, [0]) == [False]
        assert bounds.mixture_faults(sets, nothing) == ["label 0: expected a positive logit, got 0"]


def test_a_logit_of_0_among_tiny_examples_is_not_positive():
    layer, examples = make_layer(np.ones((1, 1))), read_examples(np.array([[2.0**-600], [-(2.0**-600)]]), 1)
    bounds, sets = StretchBounds(layer, examples), read_label_sets([[0]], 1)
    assert bounds._certain(sets, [evidence([0, 1], [0.5, 0.5])], [0]) == [False]


def test_where_nothing_is_missing_at_the_centre_only_a_strict_row_without_gain_is_infinite():
    """G(c) = 0: infinite if G gains nothing anywhere and a label that counts must be strictly positive."""
    examples = read_examples(np.array([[1.0], [-1.0]]), 1)

    def bound(weight, theta, active=(0,), ties="inactive"):
        layer = make_layer(np.array(weight, float)[:, None], ties=ties)
        return exact_lower(layer, examples, np.array(active), np.arange(len(weight)), np.array(theta, float))

    for gain in (2.0**-40, 0.5, 1.0, 2.0):
        assert bound([gain], [1.0]) == 0
    assert bound([0.0], [1.0]) == math.inf
    assert bound([0.0, 0.0], [0.0, 1.0]) == 0  # the strict one has no part
    assert bound([0.0, 0.0], [1.0, 1.0]) == math.inf
    assert bound([0.0, 0.0], [0.0, 1.0], ties="open") == math.inf


def test_the_slack_of_either_side_leaves_a_set_open():
    active = np.array([0])
    for rule, z, slack, expected in [
        ("topk", [1.0, 0.9], [0.2, 0.05], False),
        ("topk", [1.0, 0.9], [0.05, 0.2], False),
        ("topk", [1.0, 0.9], [0.03, 0.03], True),
        ("sigmoid", [1.0, -1.0], [0.5, 0.5], True),
        ("sigmoid", [1.0, -1.0], [1.5, 0.5], False),
        ("sigmoid", [1.0, -1.0], [0.5, 1.5], False),
    ]:
        layer = make_layer(np.eye(2), rule=rule)
        assert stretch_bounds._is_predicted(layer, active, np.array(z), np.array(slack)) == expected


def test_a_set_is_predicted_within_one_slack_unless_told_otherwise():
    layer = make_layer([[1.0]])
    given = layer, float_rows(layer), read_label_sets([[0]], 1), [np.array([1.0])]
    assert are_predicted(*given, [0.9]) == [True]
    assert are_predicted(*given, [1.1]) == [False]
    assert are_predicted(*given, [1.1], slacks=0.5) == [True]


def test_the_error_of_a_mixture_allows_for_a_sum_in_any_order():
    rng = np.random.default_rng(0)
    examples = read_examples(rng.normal(size=(300, 4)), 4)
    which, weights = np.arange(300), rng.uniform(size=300)
    _, error = StretchBounds(make_layer(rng.normal(size=(2, 4))), examples)._point(which, weights)
    size = weights @ np.abs(examples.take(which))
    assert error > 300 * 2.0**-53 * np.linalg.norm(size)
