"""The reach against closed forms, an independent solver, and the data's own predictions."""

import numpy as np
import pytest
from scipy.optimize import minimize

from labelproof.auditing import audit
from labelproof.auditing.label_sets import from_lists
from labelproof.importers import ImportedLayer
from labelproof.proof.examples import read_examples
from labelproof.proof.reach_bounds import reach_lowers, share_bounds
from labelproof.proof.regions import make_layer
from labelproof.stretching.reach import find_reach, whiten


def standard_normal(n, d, seed=0):
    """Features with mean 0 and covariance 1, exactly."""
    x = np.random.default_rng(seed).normal(size=(n, d))
    x -= x.mean(axis=0)
    return x @ np.linalg.inv(np.linalg.cholesky(x.T @ x / (n - 1)).T)


def distances(*args, **options):
    return find_reach(*args, **options).distances


def test_one_boundary_is_as_far_as_its_plane():
    layer = make_layer([[2.0, 0.0], [0.0, 1.0]], bias=[-6.0, -4.0])
    whitening = whiten(standard_normal(500, 2))
    sets = from_lists([[], [0], [1], [0, 1]], 2)
    np.testing.assert_allclose(distances(layer, sets, whitening, n_jobs=1), [0, 3, 4, 5], atol=1e-6)


def test_units_and_origin_of_the_features_do_not_matter():
    rng = np.random.default_rng(1)
    weight, bias, mix, shift = (
        rng.normal(size=(30, 5)),
        rng.normal(size=30) - 1,
        rng.normal(size=(5, 5)),
        rng.normal(size=5),
    )
    features = rng.normal(size=(400, 5))
    sets = from_lists([np.flatnonzero(z > 0).tolist() for z in features[:20] @ weight.T + bias], 30)
    first = distances(make_layer(weight, bias=bias), sets, whiten(features))
    inverse = np.linalg.inv(mix)
    moved = make_layer(weight @ inverse.T, bias=bias - weight @ inverse.T @ shift)
    np.testing.assert_allclose(distances(moved, sets, whiten(features @ mix + shift)), first, rtol=1e-5, atol=1e-5)


def test_an_independent_solver_agrees():
    rng = np.random.default_rng(2)
    weight, bias = rng.normal(size=(25, 4)), rng.normal(size=25)
    layer, whitening = make_layer(weight, bias=bias), whiten(standard_normal(300, 4))
    points = 2 * rng.normal(size=(15, 4))
    active = [np.flatnonzero(z > 0).tolist() for z in points @ weight.T + bias]
    reach = distances(layer, from_lists(active, 25), whitening)
    for x, labels, distance in zip(points, active, reach, strict=True):
        signs = np.full(25, -1.0)
        signs[labels] = 1.0
        rule = {"type": "ineq", "fun": lambda u, s=signs: s * (weight @ u + bias)}
        theirs = minimize(lambda u: u @ u, x, constraints=[rule], method="SLSQP", options={"ftol": 1e-14})
        assert distance == pytest.approx(np.sqrt(theirs.fun), abs=1e-4)


def test_what_the_data_predict_is_within_their_distance():
    rng = np.random.default_rng(3)
    features, weight = rng.normal(size=(200, 6)) * [1, 2, 3, 0.1, 1, 1], rng.normal(size=(80, 6))
    whitening = whiten(features)
    active = [np.flatnonzero(z > 0).tolist() for z in features @ weight.T]
    reach = distances(make_layer(weight), from_lists(active, 80), whitening)
    assert (reach <= whitening.distances + 1e-4).all()
    assert (reach > 0).any()


def test_a_set_outside_the_data_s_directions_is_infinitely_far():
    features = np.column_stack([np.linspace(-1, 1, 50), np.zeros(50)])
    layer = make_layer([[1.0, 0.0], [0.0, 1.0]], ties="inactive")
    reach = distances(layer, from_lists([[0], [0, 1]], 2), whiten(features))
    assert reach[0] == pytest.approx(0, abs=2e-6)
    wide = make_layer([[1.0, 0.0], [0.0, 1.0]], bias=[0.0, -1.0])
    assert distances(wide, from_lists([[0, 1]], 2), whiten(features))[0] == np.inf


def test_a_domain_is_left_aside():
    whitening = whiten(standard_normal(300, 2))
    weight, bias = [[1.0, -1.0]], [-2.0]
    free = distances(make_layer(weight, bias=bias), from_lists([[0]], 1), whitening)
    narrow = distances(make_layer(weight, bias=bias, domain="nonnegative"), from_lists([[0]], 1), whitening)
    np.testing.assert_allclose([free[0], narrow[0]], np.sqrt(2), atol=1e-5)


@pytest.mark.parametrize(
    ("features", "message"),
    [
        (np.zeros((1, 2)), "at least two examples"),
        (np.full((3, 2), np.nan), "finite numbers"),
        (np.ones((5, 2)), "must differ between examples"),
        (np.zeros(4), "at least two examples"),
    ],
)
def test_features_that_have_no_spread_are_refused(features, message):
    with pytest.raises(ValueError, match=message):
        whiten(features)


def test_features_of_another_width_and_other_rules_are_refused():
    whitening = whiten(standard_normal(30, 3))
    with pytest.raises(ValueError, match="features must have 2 columns to match the weight, got 3"):
        distances(make_layer(np.eye(2)), from_lists([[0]], 2), whitening)
    with pytest.raises(ValueError, match="rule='sigmoid' only, got rule='topk'"):
        distances(make_layer(np.eye(3), rule="topk"), from_lists([[0]], 3), whitening)


def test_a_set_that_only_a_boundary_touches_is_infinitely_far():
    flat = np.column_stack([np.linspace(-1, 3, 20), np.zeros(20)])
    layer = make_layer([[1.0, 0.0], [1.0, 1.0]], ties="inactive")  # on the data both logits are x₀
    assert distances(layer, from_lists([[0], [0, 1]], 2), whiten(flat))[0] == np.inf
    constant = make_layer([[0.0, 1.0]], ties="inactive")  # on the data the logit is 0
    assert distances(constant, from_lists([[0], []], 1), whiten(flat)).tolist() == [np.inf, 0.0]


def test_rows_that_are_orthogonal_to_the_data_up_to_rounding_have_no_direction():
    rng = np.random.default_rng(0)
    plane = np.linalg.qr(rng.normal(size=(5, 5)))[0]
    features = rng.normal(size=(50, 3)) @ plane[:3]
    for bias, expected in ((-1.0, np.inf), (1.0, 0.0)):
        layer = make_layer(plane[4:5], bias=[bias], ties="inactive")
        assert distances(layer, from_lists([[0]], 1), whiten(features))[0] == expected


def test_the_reach_is_proven_from_below_and_bounds_the_share_of_inputs():
    rng = np.random.default_rng(5)
    features, weight, bias = rng.normal(size=(400, 8)), rng.normal(size=(30, 8)), rng.normal(-2, 0.5, 30)
    layer, whitening = make_layer(weight, bias=bias, ties="inactive"), whiten(features)
    points = rng.normal(size=(40, 8)) * 1.5
    active = [np.flatnonzero(z > 0).tolist() for z in points @ weight.T + bias]
    sets = from_lists(active, 30)
    found = find_reach(layer, sets, whitening)
    lower = reach_lowers(layer, whitening.mean, whitening.spread, sets, found.weighted)
    assert (lower <= found.distances * (1 + 1e-6) + 1e-6).all()
    np.testing.assert_allclose(lower, found.distances, rtol=1e-3, atol=1e-3)
    shares = share_bounds(layer, read_examples(features, 8), sets, found.weighted)
    predicted = [np.flatnonzero(z > 0).tolist() for z in features @ weight.T + bias]
    for labels, share, distance in zip(active, shares, found.distances, strict=True):
        assert sum(theirs == labels for theirs in predicted) / 400 <= share
        if distance > 0.1:
            assert share <= 1 / (1 + distance**2) + 0.01  # 400/399 of the variance


def test_the_reach_in_an_audit_has_a_bar_of_its_own():
    rng = np.random.default_rng(6)
    weight, bias = rng.normal(size=(12, 6)), np.full(12, -1.5)
    features, held_out = rng.normal(size=(300, 6)), rng.normal(size=(299, 6))
    sets = [np.flatnonzero(z > 0).tolist() for z in features[:30] @ weight.T + bias]
    sets += [sorted(rng.choice(12, 5, replace=False).tolist()) for _ in range(20)]
    layer = ImportedLayer(weight, bias, "float64", "m", "k", "s")
    found = audit(layer, sets, features=features, calibration=held_out, reach=True, n_explained=0)
    facts, data = found.document["reach"], found.document["groups"][0]
    assert facts["bar"]["n"] == 299
    assert facts["bar"]["statement"].startswith("With 95 % confidence, all sets beyond the bar together")
    lower = np.array([np.inf if low is None else low for low in data["reach_lower"]])
    assert facts["beyond_bar"] == (lower > facts["bar"]["value"]).sum()
    own = distances(found.verifications["data"].layer, from_lists(sets[:30], 12), whiten(features))
    assert (own <= whiten(features).distances[:30] + 1e-4).all()
    assert all(0 <= share <= 1 for share in data["reach_share"])
