"""Verdicts on balls, blocks and wide layers are true, proven, kept in files and proven again by the other checker."""

import itertools
import warnings
from fractions import Fraction

import numpy as np
import pytest

import labelproof as lp
from exact_oracle import is_argmaxable
from labelproof.proof import standalone
from labelproof.proof.labels import read_label_sets
from labelproof.proof.regions import make_layer
from labelproof.proof.rounding import float_rows
from labelproof.search import column_engine, engine, few_features
from labelproof.search.column_engine import _shrunk
from labelproof.search.exact_weights import exact_weights
from labelproof.search.findings import FewNumbers, Finding, pack

DOMAINS = {
    "unit": "unit",
    "small": ("unit", 0.4),
    "ball": ("ball", 0.8),
    "moved": ("ball", 0.75, [1.0, -0.5, 0.25]),
    "blocks": ("blocks", [(1, "unit"), (1, ("ball", 0.5)), (1, (-1.0, 1.0))]),
    "half open": ("blocks", [(2, ("ball", 0.5)), (1, "nonnegative")]),
}


@pytest.mark.parametrize("name", DOMAINS)
@pytest.mark.parametrize("rule", ["sigmoid", "topk", "sparsemax"])
@pytest.mark.parametrize("ties", ["open", "inactive"])
def test_both_verdicts_on_round_domains_agree_with_cutting_planes(name, rule, ties, tmp_path, monkeypatch):
    if ties == "open":
        monkeypatch.setattr(column_engine, "MOST_WITHOUT_BALLS", 0)  # by columns at once, as wide layers
    rng = np.random.default_rng([len(name), len(rule), len(ties)])
    known = 0
    for _ in range(3):
        weight, bias = rng.normal(size=(4, 3)), 0.6 * rng.normal(size=4)
        sets = [np.flatnonzero(rng.random(4) < 0.5).tolist() for _ in range(5)]
        options = {"bias": bias, "rule": rule, "ties": ties, "domain": DOMAINS[name]}
        v = lp.verify(weight, sets, n_jobs=1, **options)
        v.check(n_jobs=1)
        for active, status in zip(sets, v.status.tolist(), strict=True):
            truth = is_argmaxable(weight, active, **options)
            known += truth is not None and status >= 0
            assert status < 0 or truth is None or bool(status) == truth
        v.save(tmp_path / "result.npz")
        np.savez(tmp_path / "weights.npz", weight=weight, bias=bias)
        again = lp.load_verification(tmp_path / "result.npz", weight, bias=bias)
        again.check(n_jobs=1)
        assert again.multipliers == v.multipliers
        layer, claims = standalone.read(str(tmp_path / "result.npz"), str(tmp_path / "weights.npz"))
        standalone.prove(layer, claims)
    assert known >= 5


def test_a_conflict_of_the_domain_says_so_and_has_whole_multipliers():
    v = lp.verify([[3.0, 4.0], [0.0, 1.0]], [[0]], bias=[-6.0, 0.0], domain=("ball", 1.0))
    certificate = v[0]
    assert (certificate.conflict, certificate.extra) == ((0,), ("domain",))
    assert (certificate.multipliers, certificate.extra_multipliers) == ((1,), (1,))


def test_without_a_bias_a_ball_around_zero_changes_nothing():
    rng = np.random.default_rng(3)
    weight = rng.normal(size=(6, 3))
    sets = rng.random((20, 6)) < 0.5
    free = lp.verify(weight, sets, n_jobs=1)
    ball = lp.verify(weight, sets, n_jobs=1, domain=("ball", 1e-3))
    ball.check()
    assert ball.status.tolist() == free.status.tolist()
    assert {0, 1} <= set(free.status.tolist())
    unit = lp.verify(weight, sets, n_jobs=1, domain="unit")
    unit.check()
    assert unit.status.tolist() == lp.verify(weight, sets, n_jobs=1, domain="nonnegative").status.tolist()


def test_a_forged_multiplier_or_radius_is_found_out():
    v = lp.verify([[3.0, 4.0], [0.0, 1.0]], [[0, 1], [1]], bias=[-5.1, -0.5], domain=("ball", 1.0))
    assert v.status.tolist() == [0, 1]
    v.multipliers[0] = tuple(-m for m in v.multipliers[0])
    with pytest.raises(lp.CertificateError, match="label set 0 is not proven: expected 1 positive fractions"):
        v.check()
    v.multipliers[0] = [1]
    with pytest.raises(lp.CertificateError, match="expected a tuple of multipliers, got list"):
        v.check()
    del v.multipliers[0]
    with pytest.raises(lp.CertificateError, match="expected rows with one linear dependence"):
        v.check()


def wide(rng, n, d, mixed=()):
    """Sparse weights of which some labels are below a mix of two others wherever features are nonnegative."""
    weight = np.where(rng.random((n, d)) < 0.2, rng.normal(size=(n, d)), 0.0)
    bias = -np.abs(rng.normal(size=n))
    for i, one, other in mixed:
        weight[i] = 0.5 * weight[one] + 0.5 * weight[other] - 0.01 * rng.random(d)
        bias[i] = 0.5 * bias[one] + 0.5 * bias[other] - 0.01
    return weight, bias


@pytest.mark.parametrize("domain", ["nonnegative", (0.0, 1.0), (-0.5, 2.0), "unit"], ids=str)
@pytest.mark.parametrize("rule", ["sigmoid", "topk"])
def test_wide_layers_are_decided_by_few_columns(domain, rule):
    rng = np.random.default_rng(5)
    weight, bias = wide(rng, 12, 2500, [(10, 0, 1), (11, 2, 3)])
    sets = [[0], [1, 5], [10], [11, 4], [2, 3, 7], [8]]
    v = lp.verify(weight, sets, bias=bias, domain=domain, rule=rule, n_jobs=1)
    v.check()
    found = v.status.tolist()
    if domain == (-0.5, 2.0):  # where a mix is not above its parts
        assert min(found) >= 0
        return
    assert (found[0], found[1], found[2], found[4], found[5]) == (1, 1, 0, 1, 1)
    assert found[3] == 0 or (domain, rule) == ("nonnegative", "topk")
    assert 2 in v.multipliers


@pytest.mark.parametrize("domain", ["nonnegative", (0.0, 1.0), "unit", ("ball", 0.5)], ids=str)
@pytest.mark.parametrize("rule", ["sigmoid", "topk"])
def test_labels_with_the_same_weights_are_told_apart_by_no_input(domain, rule):
    """Their conflict holds with equality in every column, which is no matter of more columns or smaller margins."""
    rng = np.random.default_rng(8)
    weight, bias = wide(rng, 12, 2500)
    weight[11], bias[11] = weight[4], bias[4]
    layer, sets = make_layer(weight, bias=bias, domain=domain, rule=rule), read_label_sets([[4], [11, 2], [4, 11]], 12)
    found = column_engine.decide_by_columns(layer, sets, lambda *_: pytest.fail("left to other searches"), n_jobs=1)
    v = pack(layer, sets, found)
    v.check()
    assert v.status.tolist() == [0, 0, 1]
    assert [v[0].conflict, v[1].conflict] == [(4, 11)] * 2


@pytest.mark.parametrize("seed", range(6))
def test_columns_that_join_when_multipliers_have_grown_without_end_still_count(seed):
    """From such multipliers every column would start at a bound, and Newton's method would not move."""
    weight, bias = wide(np.random.default_rng(seed), 12, 2500, [(10, 0, 1), (11, 2, 3)])
    layer, sets = make_layer(weight, bias=bias, domain=(0.0, 1.0)), read_label_sets([[10], [4, 11]], 12)
    found = column_engine.decide_by_columns(layer, sets, lambda *_: pytest.fail("left to other searches"), n_jobs=1)
    assert pack(layer, sets, found).status.tolist() == [0, 0]


@pytest.mark.parametrize("rule", ["sigmoid", "topk"])
@pytest.mark.parametrize("ties", ["open", "inactive"])
@pytest.mark.parametrize("sign", [-1.0, 0.0, 1.0])
def test_the_empty_set_of_a_wide_layer_without_bias_is_decided(rule, ties, sign):
    """No label is active, so there is no column to begin with."""
    weight = sign * np.abs(np.random.default_rng(10).normal(size=(3, 2500)))
    layer, sets = make_layer(weight, domain="nonnegative", rule=rule, ties=ties), read_label_sets([[]], 3)
    found = column_engine.decide_by_columns(layer, sets, lambda *_: pytest.fail("left to other searches"), n_jobs=1)
    v = pack(layer, sets, found)
    v.check()
    assert v.status[0] == (rule == "topk" or ties == "inactive" or sign < 0)


def test_labels_with_nearly_the_same_weights_are_told_apart():
    """Sums that floats take for 0 are not: the conflict that this suggests is none, and the search goes on."""
    rng = np.random.default_rng(9)
    weight, bias = wide(rng, 12, 2500)
    weight[11], bias[11] = weight[4], bias[4]
    weight[11, np.argmax(weight[4])] *= 1 + 2.0**-40
    for domain in ("nonnegative", "unit"):
        v = lp.verify(weight, [[11], [4]], bias=bias, domain=domain, n_jobs=1)
        v.check()
        assert v.status[0] != 0
        assert v.status[1] != 1


@pytest.mark.parametrize("domain", ["nonnegative", "unit", (0.0, 1.0)], ids=str)
def test_evidence_of_wide_layers_is_the_same_for_any_number_of_threads(domain):
    rng = np.random.default_rng(11)
    weight, bias = wide(rng, 12, 2500, [(10, 0, 1)])
    sets = [np.flatnonzero(y).tolist() for y in rng.random((80, 12)) < 0.2]
    one, three = (lp.verify(weight, sets, bias=bias, domain=domain, n_jobs=n) for n in (1, 3))
    assert one.status.tolist() == three.status.tolist()
    assert np.array_equal(one.points, three.points)
    assert one.conflict_rows.tolist() == three.conflict_rows.tolist()
    assert one.multipliers == three.multipliers


def test_points_of_few_numbers_are_those_that_were_proven():
    base = np.array([0.5, 0.0, 0.5, 0.0])
    found = [Finding(point=FewNumbers(base, np.array([1, 2]), np.array([3.0, 4.0]))), Finding(point=np.ones(4))]
    assert found[0].witness.tolist() == [0.5, 3.0, 4.0, 0.0]
    assert base.tolist() == [0.5, 0.0, 0.5, 0.0]
    v = pack(make_layer(np.eye(4)), read_label_sets([[0, 1, 2], [0, 1, 2, 3]], 4), found)
    assert v.points.tolist() == [[0.5, 3.0, 4.0, 0.0], [1.0] * 4]


def test_points_on_the_wrong_side_are_no_findings_whatever_memory_they_share(monkeypatch):
    monkeypatch.setattr(column_engine, "NUMBERS_AT_ONCE", 8)  # two points of four
    layer, sets = make_layer(np.eye(4)), read_label_sets([[0], [1], [2], [3], [0]], 4)
    points = [FewNumbers(np.full(4, -1.0), np.array([i]), np.ones(1)) for i in (0, 2, 2, 3, 1)]
    found = column_engine.proven(layer, float_rows(layer), sets, [Finding(point=x) for x in points])
    assert [one.reason for one in found] == [
        "",
        "no proof: label 1: expected a positive logit, got -1",
        "",
        "",
        "no proof: label 0: expected a positive logit, got -1",
    ]


def test_conflicts_of_wide_layers_are_those_of_the_exact_oracle(monkeypatch):
    monkeypatch.setattr(few_features, "WIDE", 8)
    rng = np.random.default_rng(6)
    seen = set()
    for _ in range(25):
        weight = rng.integers(-2, 3, (3, 13)).astype(float)
        weight[2] = weight[0] + weight[1] - (rng.random(13) < 0.2)
        bias = np.append(rng.integers(-2, 2, 2), -2).astype(float)
        for domain in ("nonnegative", (0.0, 2.0)):
            v = lp.verify(weight, [[2], [0, 1], [0]], bias=bias, domain=domain, n_jobs=1)
            v.check()
            truth = [is_argmaxable(weight, s, bias=bias, domain=domain) for s in ([2], [0, 1], [0])]
            assert v.status.tolist() == truth
            seen |= set(v.status.tolist())
    assert seen == {0, 1}


def test_a_time_limit_that_is_over_leaves_sets_undecided():
    rng = np.random.default_rng(7)
    weight, bias = wide(rng, 12, 2500, [(10, 0, 1)])
    v = lp.verify(weight, [[10], [0]], bias=bias, domain="unit", time_limit=0, n_jobs=1)
    v.check()
    assert v.status.tolist() == [-1, -1]
    assert v.reasons[0] == "no proof within the time limit of 0 s"


def test_numbers_beyond_floats_leave_no_warning_and_no_wrong_verdict():
    weight = np.array([[1e300, 1e-300], [-1e300, 1e-310], [1.0, 1.0]])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        v = lp.verify(weight, [[0], [1, 2], [0, 1]], domain=("ball", 1e-3), bias=[0.0, -1e-300, 1e300], n_jobs=1)
    v.check()


def test_a_witness_is_shrunk_by_a_power_of_two():
    layer = engine.prepare(lp.proof.regions.make_layer(np.eye(2), domain=("ball", 0.25))).layer
    assert _shrunk(layer, np.zeros(2)).tolist() == [0, 0]
    small = _shrunk(layer, np.array([3.0, -5.0]))
    assert np.linalg.norm(small) <= 0.25
    assert small[0] / small[1] == -0.6
    assert _shrunk(layer, (Fraction(1, 3), Fraction(1))) == (Fraction(1, 3) / 32, Fraction(1, 32))


@pytest.mark.parametrize(
    ("guess", "equations", "found"),
    [
        ([1.0, 2.0], [], [Fraction(1, 4), Fraction(1, 2)]),
        ([1.0, 1.0], [[1, -1]], [Fraction(1, 2), Fraction(1, 2)]),
        ([1.0, 0.3333], [[1, -3]], None),
        ([1.0, 1.0], [[1, 1]], "none"),
        ([1.0, 1.0], [[1, 0], [0, 1]], "none"),
        ([1.0, 1.0, 1.0], [[1, -1, 0], [2, -2, 0]], None),
        ([1.0, 0.0], [], "none"),
    ],
)
def test_weights_meet_their_equations_exactly(guess, equations, found):
    rows = [[Fraction(c) for c in row] for row in equations]
    weights = exact_weights(np.array(guess), rows)
    if found == "none":
        assert weights is None
        return
    assert found is None or weights == found
    assert all(w > 0 for w in weights)
    assert all(sum(a * w for a, w in zip(row, weights, strict=True)) == 0 for row in rows)
    assert np.allclose(np.array(weights, float) / float(max(weights)), np.array(guess) / max(guess), atol=1e-3)


@pytest.mark.parametrize("most", [0, 600])
def test_a_bias_far_larger_than_the_ball_is_decided(most, monkeypatch):
    """Newton's method has no footing where numbers are 70 powers of ten apart; the bounds of the ball do."""
    monkeypatch.setattr(column_engine, "MOST_WITHOUT_BALLS", most)
    weight = np.array([[1.0, -2.0, 2.0], [-1.0, 2.0**-52, -1.0], [1.0, -2.0, -1.0]])
    bias = np.array([-1.0e-112, 5.6e73, 2.5e-147])
    for rule, domain in itertools.product(
        ("sigmoid", "topk"), ("unit", ("ball", 1.0), ("ball", 0.5, [1.0, -1.0, 2.0]))
    ):
        sets = [[0], [2], [0, 1], [0, 2]]
        options = {"bias": bias, "rule": rule, "domain": domain}
        v = lp.verify(weight, sets, n_jobs=1, **options)
        v.check(n_jobs=1)
        truth = [is_argmaxable(weight, active, **options) for active in sets]
        assert [truth[i] in (None, bool(v.status[i])) for i in range(4)] == [True] * 4
        assert v.status.tolist()[:2] == [0, 0]


@pytest.mark.parametrize("domain", ["unit", ("ball", 2.0)])
def test_the_empty_set_is_no_support_of_a_sparsemax_in_a_ball(domain, monkeypatch):
    monkeypatch.setattr(column_engine, "MOST_WITHOUT_BALLS", 0)
    weight = np.array([[2.0, 0.0], [0.0, -1.0]])
    v = lp.verify(weight, [[]], bias=np.array([1.0, 5.0]), rule="sparsemax", domain=domain)
    v.check()
    assert (v.status.tolist(), v[0].conflict, v[0].extra) == ([0], (), ("sum_ge", "domain"))


def test_a_sum_of_sparsemax_that_is_alone_against_a_set_is_no_error():
    """Of rank 1 but for rounding, and far smaller than 1: no label has a multiplier, only the sum does."""
    rows = np.array([4.9784122222889134e-60, -3.835229269763849e-93, 4.8939783509988934e-55])
    weight = np.column_stack([rows, [-1.778206999588062e-161, 1.369880843130252e-194, -1.7480486088750485e-156]])
    options = {"bias": np.array([-1e-310, -2e-310, 2e-310]), "rule": "sparsemax", "ties": "inactive"}
    options["domain"] = ("blocks", [(1, "unit"), (1, "nonnegative")])
    found = lp.verify(weight, [[0, 1, 2]], n_jobs=1, **options)
    found.check()
    assert found.status.tolist() == [1]
    assert is_argmaxable(weight, [0, 1, 2], **options)


def test_rows_of_subnormal_numbers_are_decided(monkeypatch):
    monkeypatch.setattr(column_engine, "MOST_WITHOUT_BALLS", 0)  # as wide layers are
    weight, bias = np.array([[-1.0], [0.0], [0.0], [2.0]]) * 1e-310, np.array([-2.0, -1.0, 0.0, 2.0]) * 1e-310
    options = {"bias": bias, "thresholds": [0.5, 0.25, 0.5, 1e-9], "ties": "inactive", "domain": "unit"}
    v = lp.verify(weight, [[0], [3], [0, 1, 2]], n_jobs=1, **options)
    assert v.status.tolist() == [0, 0, 0]  # label 1, with its threshold, is always on
    v.check()
