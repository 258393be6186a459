"""Every verdict is true: closed forms, an exact oracle, invariances, and inputs made to mislead a float."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

import labelproof as lp
from exact_oracle import fourier_motzkin, is_argmaxable, logit

RULES = ("sigmoid", "topk", "sparsemax")
TIES = ("open", "inactive")
DOMAINS = ("free", "nonnegative", "box", "mixed")

few = settings(derandomize=True, database=None, deadline=None, max_examples=25)
every_rule = pytest.mark.parametrize("rule", RULES)
both_ties = pytest.mark.parametrize("ties", TIES)


def all_sets(n_labels):
    """Every label set, one per row."""
    return np.array(list(itertools.product([False, True], repeat=n_labels)))  # (2^L, L)


def truth(weight, **options):
    """Status of every label set, by the oracle."""
    return [int(is_argmaxable(weight, np.flatnonzero(y), **options)) for y in all_sets(len(weight))]


def statuses(weight, **options):
    """Status of every label set, by the library; all verdicts pass their own check."""
    verification = lp.verify(weight, all_sets(len(weight)), **options)
    verification.check()
    return verification.status.tolist()


def gaussian(*shape, seed=0):
    return np.random.default_rng([seed, *shape]).normal(size=shape)


def small(low=-2, high=2):
    return st.integers(low, high).map(float)


@st.composite
def integer_weights(draw, max_labels=5, max_features=3):
    """Rows in {-2..2}, of which many are zero, or equal, opposite or dependent on those above them."""
    d = draw(st.integers(1, max_features))
    rows = []
    for _ in range(draw(st.integers(1, max_labels))):
        kind = draw(st.sampled_from(["fresh", "fresh", "fresh", "zero", "copy", "opposite", "sum"]))
        if kind == "zero":
            rows.append(np.zeros(d))
        elif kind == "fresh" or not rows:
            rows.append(np.array(draw(st.lists(small(), min_size=d, max_size=d))))
        else:
            one, other = draw(st.sampled_from(rows)), draw(st.sampled_from(rows))
            rows.append({"copy": one, "opposite": -one, "sum": one + other}[kind])
    return np.array(rows)


@st.composite
def domains(draw, kind, d):
    """Draw a free, a nonnegative or a boxed domain; a mixed box has infinite, fixed and proper sides."""
    if kind == "free":
        return None
    if kind == "nonnegative":
        return "nonnegative"
    if kind == "box":
        low = draw(small(-2, 1))
        return low, low + draw(small(0, 2))
    sides = [draw(st.sampled_from(["fixed", "below", "above", "free", "proper"])) for _ in range(d)]
    low = np.array(draw(st.lists(small(), min_size=d, max_size=d)))
    high = low + [0.0 if side == "fixed" else 1.0 for side in sides]
    low[[side in {"below", "free"} for side in sides]] = -np.inf
    high[[side in {"above", "free"} for side in sides]] = np.inf
    return low, high


@st.composite
def output_layers(draw, kind="free", max_labels=5, max_features=3):
    """Draw (weight, {bias, domain})."""
    weight = draw(integer_weights(max_labels, max_features))
    bias = draw(st.none() | st.lists(small(), min_size=len(weight), max_size=len(weight)).map(np.array))
    return weight, {"bias": bias, "domain": draw(domains(kind, weight.shape[1]))}


# --- the oracle itself ------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", DOMAINS)
@both_ties
@every_rule
@settings(few, max_examples=10)
@given(data=st.data(), t=st.sampled_from([0.5, 1, 3]))
def test_the_oracle_gives_the_same_answer_by_simplex_and_by_elimination(rule, ties, kind, data, t):
    weight, options = data.draw(output_layers(kind, max_labels=4, max_features=2))
    options |= {"rule": rule, "ties": ties, "t": t}
    assert truth(weight, **options) == truth(weight, **options, decide=fourier_motzkin)


def threshold_of_sparsemax(z):
    """Return the τ at which the scores above it exceed it by 1 in total."""
    z = sorted(z, reverse=True)
    k = max(k for k in range(1, len(z) + 1) if 1 + k * z[k - 1] > sum(z[:k]))
    return (sum(z[:k]) - 1) / Fraction(k)


def sets_at(z, rule, ties):
    """Every label set that the rule can output for the scores z, straight from its definition."""
    n_labels = len(z)
    if rule == "topk":
        return {frozenset(i for i in range(n_labels) if z[i] > tau) for tau in [*z, min(z) - 1]}
    tau = 0 if rule == "sigmoid" else threshold_of_sparsemax(z)
    active = [i for i in range(n_labels) if z[i] > tau]
    return set() if ties == "open" and tau in z else {frozenset(active)}


def crossings(weight, bias, rule):
    """The x at which the output of a layer with one feature may change."""
    lines = [(Fraction(w), Fraction(b)) for w, b in zip(weight[:, 0].tolist(), bias.tolist(), strict=True)]
    levels = {
        "sigmoid": lambda: [(0, 0)],
        "topk": lambda: lines,
        "sparsemax": lambda: [
            (sum(w for w, _ in group) / len(group), (sum(b for _, b in group) - 1) / len(group))
            for size in range(1, len(lines) + 1)
            for group in itertools.combinations(lines, size)
        ],
    }[rule]()
    return {(c - b) / (w - a) for (w, b), (a, c) in itertools.product(lines, levels) if w != a}


def swept(weight, bias, rule, ties, low, high):
    """Status of every label set of a layer with one feature: try each crossing, and a point in each gap."""
    points = crossings(weight, bias, rule) | {Fraction(end) for end in (low, high) if math.isfinite(end)}
    points = sorted(points) or [Fraction(0)]
    points = [points[0] - 1, *points, *((p + q) / 2 for p, q in itertools.pairwise(points)), points[-1] + 1]
    found = set()
    for x in points:
        if low <= x <= high:
            z = [Fraction(w) * x + Fraction(b) for w, b in zip(weight[:, 0], bias, strict=True)]
            found |= sets_at(z, rule, ties)
    return [int(frozenset(np.flatnonzero(y)) in found) for y in all_sets(len(weight))]


@pytest.mark.parametrize("interval", [(-math.inf, math.inf), (0.0, math.inf), (-1.0, 1.0), (1.0, 1.0)])
@both_ties
@every_rule
@settings(few, max_examples=10)
@given(layer=output_layers(max_labels=4, max_features=1))
def test_with_one_feature_the_sets_are_those_met_on_a_walk_along_the_line(rule, ties, interval, layer):
    weight, options = layer
    bias = np.zeros(len(weight)) if options["bias"] is None else options["bias"]
    expected = swept(weight, bias, rule, ties, *interval)
    options |= {"rule": rule, "ties": ties, "domain": interval}
    assert truth(weight, **options) == expected
    assert statuses(weight, **options) == expected


# --- closed forms -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(("n_labels", "d"), [(1, 1), (3, 2), (4, 2), (5, 5), (6, 9), (8, 3), (9, 1), (10, 4)])
def test_without_a_bias_covers_number_of_sets_is_argmaxable(n_labels, d):
    weight = gaussian(n_labels, d)
    status = statuses(weight)
    assert sum(status) == 2 * sum(math.comb(n_labels - 1, i) for i in range(d))
    assert status == truth(weight)


@pytest.mark.parametrize(("n_labels", "d"), [(1, 1), (3, 2), (5, 5), (6, 8), (8, 3), (9, 1), (10, 3)])
def test_with_a_bias_as_many_sets_are_argmaxable_as_the_hyperplanes_have_regions(n_labels, d):
    weight, bias = gaussian(n_labels, d), gaussian(n_labels)
    status = statuses(weight, bias=bias)
    assert sum(status) == sum(math.comb(n_labels, i) for i in range(d + 1))
    assert status == truth(weight, bias=bias)


@pytest.mark.parametrize(("n_labels", "d"), [(2, 1), (6, 2), (9, 3)])
def test_a_free_threshold_counts_as_one_more_feature(n_labels, d):
    weight, bias = gaussian(n_labels, d), gaussian(n_labels)
    without = statuses(weight, rule="topk")
    assert sum(without) == 2 * sum(math.comb(n_labels - 1, i) for i in range(d + 1))
    assert without == truth(weight, rule="topk")
    assert sum(statuses(weight, bias=bias, rule="topk")) == sum(math.comb(n_labels, i) for i in range(d + 2))


@pytest.mark.parametrize("domain", [None, "nonnegative"])
def test_without_a_bias_a_cone_gives_sparsemax_the_sets_of_topk_but_the_empty_one(domain):
    weight = gaussian(7, 2)
    topk, support = (statuses(weight, rule=rule, domain=domain) for rule in ("topk", "sparsemax"))
    assert topk[0] == 1
    assert support == [0, *topk[1:]]


@pytest.mark.parametrize(("n_labels", "d"), [(10, 5), (9, 2), (7, 4)])
def test_a_vandermonde_matrix_allows_exactly_the_sets_with_few_sign_changes(n_labels, d):
    weight = np.vander(np.arange(1.0, n_labels + 1), d, increasing=True)
    changes = np.count_nonzero(np.diff(all_sets(n_labels), axis=1), axis=1)
    status = np.array(statuses(weight))
    assert status.tolist() == (changes < d).astype(int).tolist()
    for j in range(d):
        assert status[changes == j].sum() == 2 * math.comb(n_labels - 1, j)


def test_in_general_position_a_set_is_argmaxable_on_the_rows_or_on_their_complement():
    block = np.random.default_rng(3).integers(-1000, 1001, size=(5, 3)).astype(float)
    weight, complement = np.vstack([np.eye(3), block]), np.vstack([-block.T, np.eye(5)])
    assert not (weight.T @ complement).any()
    assert np.add(statuses(weight), statuses(complement)).tolist() == [1] * 256


def test_the_octahedron_has_twelve_sets_that_neither_it_nor_its_complement_allows():
    corners = np.array([[x, y, z, 1.0] for e in np.eye(3) for x, y, z in (e, -e)])
    complement = np.array([[1, 0], [1, 0], [-1, 1], [-1, 1], [0, -1], [0, -1]], dtype=float)
    assert not (corners.T @ complement).any()
    own, other = statuses(corners), statuses(complement)
    assert (sum(own), sum(other), np.add(own, other).tolist().count(0)) == (46, 6, 12)


def test_with_more_features_than_labels_independent_rows_allow_every_set():
    weight = np.array([[1.0, 2, 0, 0, 1, 0], [0, 1, 2, 0, 0, 1], [0, 0, 1, 2, 1, 0]])
    for rule, ties in itertools.product(("sigmoid", "topk"), TIES):
        assert statuses(weight, rule=rule, ties=ties) == [1] * 8


def test_a_class_inside_the_hull_of_the_others_is_never_the_top_one():
    weight = np.array([[1.0, 1], [1, -1], [-1, 1], [-1, -1], [0.25, 0.5]])
    singles = np.eye(5, dtype=bool)
    assert lp.verify(weight, singles, rule="topk").status.tolist() == [1, 1, 1, 1, 0]
    assert lp.verify(weight, singles, rule="topk", bias=-(weight**2).sum(1) / 2).status.tolist() == [1] * 5


def test_distinct_rows_of_one_norm_can_each_be_the_top_one():
    grid = itertools.product(np.arange(-5.0, 6.0), repeat=2)
    weight = np.array([(x, y) for x, y in grid if x * x + y * y == 25])
    assert len(weight) == 12
    for rule in ("topk", "sparsemax"):
        assert lp.verify(weight, np.eye(12, dtype=bool), rule=rule).status.tolist() == [1] * 12


# --- against the oracle, with degenerate rows ---------------------------------------------------------------


@pytest.mark.parametrize("kind", DOMAINS)
@both_ties
@every_rule
@few
@given(data=st.data())
def test_every_set_of_a_small_integer_layer_gets_the_true_status(rule, ties, kind, data):
    weight, options = data.draw(output_layers(kind))
    options |= {"rule": rule, "ties": ties}
    assert statuses(weight, **options) == truth(weight, **options)


@pytest.mark.parametrize("kind", DOMAINS)
@both_ties
@every_rule
@settings(few, max_examples=8)
@given(data=st.data())
def test_every_witness_and_every_conflict_is_one_by_the_oracle_too(rule, ties, kind, data):
    weight, options = data.draw(output_layers(kind, max_labels=4))
    options |= {"rule": rule, "ties": ties}
    sets = all_sets(len(weight))
    verification = lp.verify(weight, sets, **options)
    for i, status in enumerate(verification.status):
        active = np.flatnonzero(sets[i])
        if status == 0:
            conflict = [int(label) for label in verification[i].conflict]
            assert not is_argmaxable(weight, active, only=conflict, **options)
        else:
            assert_witness(weight, active, verification[i].witness, **options)


def assert_witness(weight, active, witness, *, bias, domain, rule, ties):
    x = [Fraction(entry) for entry in np.asarray(witness).tolist()]
    low, high = ends(domain, len(x))
    assert all(a <= entry <= b for a, entry, b in zip(low, x, high, strict=True))
    if rule == "sparsemax" and bias is None and all(end in {-math.inf, 0, math.inf} for end in low + high):
        rule = "topk"  # the domain is a cone: a multiple of x meets the equality
    assert is_argmaxable(weight, active, bias=bias, rule=rule, ties=ties, domain=(x, x))


def ends(domain, d):
    """Two lists, the lower and the upper end of every feature."""
    if domain is None:
        return [-math.inf] * d, [math.inf] * d
    low, high = (0.0, math.inf) if isinstance(domain, str) else domain
    return np.broadcast_to(low, d).tolist(), np.broadcast_to(high, d).tolist()


@few
@given(integer_weights(max_labels=6))
def test_the_multipliers_of_a_conflict_cancel_its_rows(weight):
    sets = all_sets(len(weight))
    verification = lp.verify(weight, sets)
    for i in np.flatnonzero(verification.status == 0):
        conflict, multipliers = list(verification[i].conflict), list(verification[i].multipliers)
        assert all(type(multiplier) is int and multiplier >= 0 for multiplier in multipliers)
        assert any(multipliers)
        signed = weight[conflict] * np.where(sets[i, conflict], 1, -1)[:, None]
        for column in signed.T.astype(int).tolist():
            assert sum(m * entry for m, entry in zip(multipliers, column, strict=True)) == 0


@both_ties
@every_rule
def test_gaussian_layers_in_a_box_get_the_true_status(rule, ties):
    weight, bias = gaussian(6, 3), gaussian(6)
    mixed = np.array([-np.inf, 0.1, -1.0]), np.array([0.5, 0.1, np.inf])
    for domain in ["nonnegative", (-0.3, 1.7), mixed]:
        for options in [{"bias": bias}, {"bias": None}]:
            options |= {"rule": rule, "ties": ties, "domain": domain}
            assert statuses(weight, **options) == truth(weight, **options)


# --- thresholds -------------------------------------------------------------------------------------------


def test_thresholds_of_one_half_change_nothing():
    weight = np.array([[1.0, 0], [0, 1], [1, 1], [0, 0], [-1, -1]])
    for ties, bias in itertools.product(TIES, [None, np.array([0.0, -1, 0, 0, 1])]):
        options = {"bias": bias, "ties": ties}
        assert statuses(weight, thresholds=np.full(5, 0.5), **options) == truth(weight, **options)


@both_ties
def test_tuned_thresholds_shift_the_bias_by_their_logit(ties):
    weight, thresholds = gaussian(7, 2), np.array([0.05, 0.1, 0.3, 0.5, 0.6, 0.95, 1e-9])
    status = statuses(weight, thresholds=thresholds, ties=ties)
    assert status == truth(weight, thresholds=thresholds, ties=ties)
    assert status == statuses(weight, bias=np.array([-logit(p) for p in thresholds]), ties=ties)
    bias = gaussian(7)
    for domain in (None, "nonnegative", (-1.0, 2.0)):
        options = {"bias": bias, "thresholds": thresholds, "ties": ties, "domain": domain}
        assert statuses(weight, **options) == truth(weight, **options)


def test_a_constant_label_is_active_at_a_low_threshold_and_inactive_at_a_high_one():
    weight = np.zeros((2, 1))
    for ties in TIES:
        assert statuses(weight, thresholds=np.array([0.25, 0.75]), ties=ties) == [0, 0, 1, 0]


# --- traps ------------------------------------------------------------------------------------------------


def test_a_difference_of_weights_that_no_float_holds_does_not_hide_a_witness():
    weight, bias = np.array([[1.0], [-(2.0**-60)], [2.0]]), np.array([0.0, 1.0, -1.0])
    verification = lp.verify(weight, [[0]], bias=bias, rule="topk")
    assert verification.status.tolist() == [1]
    witness = verification[0].witness
    assert isinstance(witness, tuple)
    assert isinstance(witness[0], Fraction)
    assert 1 / (1 + Fraction(1, 2**60)) < witness[0] < 1
    verification.check()
    assert statuses(weight, bias=bias, rule="topk") == truth(weight, bias=bias, rule="topk")


def test_a_box_between_neighbouring_floats_still_has_an_inside():
    tiny = 5e-324
    weight, bias = np.array([[1.0], [-1.0]]), np.array([0.0, tiny])
    verification = lp.verify(weight, [[0, 1]], bias=bias, domain=(0.0, tiny))
    assert verification.status.tolist() == [1]
    assert 0 < verification[0].witness[0] < Fraction(tiny)
    verification.check()


def test_a_label_whose_score_is_always_zero_is_inactive_or_forbids_everything():
    weight = np.array([[1.0, 0], [0, 0], [0, 1]])
    assert statuses(weight) == [0] * 8
    assert statuses(weight, ties="inactive") == [1, 1, 0, 0, 1, 1, 0, 0]


def test_a_layer_of_zeros_predicts_nothing_unless_the_threshold_may_move():
    weight = np.zeros((3, 2))
    assert statuses(weight) == [0] * 8
    assert statuses(weight, ties="inactive") == [1] + [0] * 7
    for ties in TIES:
        assert statuses(weight, rule="topk", ties=ties) == [1] + [0] * 6 + [1]
        assert statuses(weight, rule="sparsemax", ties=ties) == [0] * 7 + [1]


@both_ties
@pytest.mark.parametrize("bias", [None, np.array([3.0, -1.0, 0.0, 3.0])])
@pytest.mark.parametrize("domain", [None, "nonnegative", (-1.0, 1.0), (2.0, 2.0)])
def test_topk_always_allows_the_empty_and_the_full_set(ties, bias, domain):
    weight = np.array([[1.0, 2], [0, 0], [1, 2], [-3, 1]])
    options = {"bias": bias, "rule": "topk", "ties": ties, "domain": domain}
    verification = lp.verify(weight, [[], [0, 1, 2, 3]], **options)
    assert verification.status.tolist() == [1, 1]
    verification.check()


@both_ties
@pytest.mark.parametrize("bias", [None, np.array([3.0, -1.0])])
@pytest.mark.parametrize("domain", [None, "nonnegative", (-1.0, 1.0), (2.0, 2.0)])
def test_the_empty_set_is_no_support_of_sparsemax(ties, bias, domain):
    options = {"bias": bias, "rule": "sparsemax", "ties": ties, "domain": domain}
    verification = lp.verify(np.array([[1.0, 2], [0, 1]]), [[]], **options)
    assert verification.status.tolist() == [0]
    verification.check()


def test_the_empty_and_the_full_set_of_a_sigmoid_need_a_halfspace():
    square = np.array([[1.0, 0], [0, 1], [-1, 0], [0, -1]])
    verification = lp.verify(square, [[], [0, 1, 2, 3]])
    assert verification.status.tolist() == [0, 0]
    verification.check()
    assert lp.verify(square, [[], [0, 1, 2, 3]], ties="inactive").status.tolist() == [1, 0]
    assert lp.verify(square, [[], [0, 1, 2, 3]], bias=np.full(4, 1.0)).status.tolist() == [0, 1]


@both_ties
@every_rule
def test_one_label_gets_the_true_status(rule, ties):
    biases = [None, *np.array([[-1.0], [0.0], [1.0]])]
    domains = [None, "nonnegative", (0.0, 0.0), (-1.0, 0.5), (0.5, 0.5)]
    for w, bias, domain in itertools.product((0.0, 1.0, -2.0), biases, domains):
        options = {"bias": bias, "rule": rule, "ties": ties, "domain": domain}
        assert statuses(np.array([[w]]), **options) == truth(np.array([[w]]), **options)


@both_ties
@every_rule
def test_a_domain_of_one_point_allows_the_set_of_that_point_alone(rule, ties):
    weight, bias = np.array([[1.0, 2], [0, 1], [2, -1], [1, -1]]), np.array([0.0, -1, 1, 0])
    point = np.ones(2)
    expected = sets_at([Fraction(z) for z in weight @ point + bias], rule, ties)
    status = statuses(weight, bias=bias, rule=rule, ties=ties, domain=(point, point))
    assert status == [int(frozenset(np.flatnonzero(y)) in expected) for y in all_sets(4)]


@few
@given(integer_weights(max_labels=5), st.data())
def test_the_scale_of_a_row_does_not_change_the_verdict(weight, data):
    size = {"min_size": len(weight), "max_size": len(weight)}
    exponents = np.array(data.draw(st.lists(st.integers(-500, 500), **size)))
    bias = np.array(data.draw(st.lists(small(), **size)))
    scaled = np.ldexp(weight, exponents[:, None])
    for ties in TIES:
        assert statuses(scaled, ties=ties) == truth(weight, ties=ties)
        status = statuses(scaled, bias=np.ldexp(bias, exponents), ties=ties)
        assert status == truth(weight, bias=bias, ties=ties)


@every_rule
@settings(few, max_examples=10)
@given(layer=output_layers(max_labels=4), data=st.data())
def test_the_scale_of_a_feature_does_not_change_the_verdict_on_a_cone(rule, layer, data):
    weight, options = layer
    d = weight.shape[1]
    scaled = np.ldexp(weight, data.draw(st.lists(st.integers(-500, 500), min_size=d, max_size=d)))
    for ties, domain in itertools.product(TIES, (None, "nonnegative")):
        options |= {"rule": rule, "ties": ties, "domain": domain}
        assert statuses(scaled, **options) == truth(weight, **options)


@every_rule
@settings(few, max_examples=10)
@given(layer=output_layers(max_labels=4, max_features=2), data=st.data())
def test_rows_of_very_different_scale_get_the_true_status(rule, layer, data):
    weight, options = layer
    size = {"min_size": len(weight), "max_size": len(weight)}
    exponents = data.draw(st.lists(st.sampled_from([-500, -60, -53, -1, 0, 1, 53, 60, 500]), **size))
    weight = np.ldexp(weight, np.array(exponents)[:, None])
    for domain in (None, (-1.0, 1.0)):
        options |= {"rule": rule, "domain": domain}
        assert statuses(weight, **options) == truth(weight, **options)


@every_rule
def test_subnormal_weights_are_numbers_like_all_others(rule):
    weight = np.array([[1.0, 2], [2, 1], [-1, 1], [3, 3], [1, 2]])
    subnormal = np.ldexp(weight, -1074)
    for ties, domain in itertools.product(TIES, (None, "nonnegative")):
        options = {"rule": rule, "ties": ties, "domain": domain}
        assert statuses(subnormal, **options) == truth(weight, **options)
    bias = np.array([1.0, 0, 5e-324, 0, -1e-300])
    for options in [{"bias": bias}, {"bias": bias, "domain": (-1.0, 1.0)}, {"domain": (-1.0, 1.0)}]:
        options |= {"rule": rule}
        assert statuses(subnormal, **options) == truth(subnormal, **options)


@both_ties
@every_rule
def test_rows_that_differ_in_the_last_bit_are_different_rows(rule, ties):
    row = gaussian(3)
    above, below = np.nextafter(row, np.inf), np.nextafter(row, -np.inf)
    weight = np.array([row, above, row, below, -row, gaussian(3, seed=1)])
    weight[2, 0] = np.nextafter(row[0], 9.0)
    for options in [{}, {"bias": np.array([0.0, 0, 2.0**-52, 0, 0, 1])}, {"domain": (-1.0, 1.0)}]:
        options |= {"rule": rule, "ties": ties}
        assert statuses(weight, **options) == truth(weight, **options)


def test_a_dependence_that_holds_only_after_rounding_is_none():
    assert Fraction(0.1 + 0.2) != Fraction(0.1) + Fraction(0.2)
    rounded, exact = ([[a, 1.0, 0.0], [b, 0.0, 1.0], [a + b, 1.0, 1.0]] for a, b in [(0.1, 0.2), (0.25, 0.5)])
    assert lp.verify(np.array(rounded), [[0, 1]]).status.tolist() == [1]
    assert lp.verify(np.array(exact), [[0, 1]]).status.tolist() == [0]


# --- invariances ------------------------------------------------------------------------------------------


@every_rule
@few
@given(layer=output_layers("mixed"))
def test_what_is_argmaxable_with_open_ties_is_so_with_inactive_ones(rule, layer):
    weight, options = layer
    open_, inactive = (np.array(statuses(weight, rule=rule, ties=ties, **options)) for ties in TIES)
    assert (open_ <= inactive).all()
    if rule == "topk":  # the threshold can move off a tie
        assert (open_ == inactive).all()


@both_ties
@every_rule
@settings(few, max_examples=10)
@given(layer=output_layers())
def test_what_is_argmaxable_on_a_domain_is_so_on_a_larger_one(rule, ties, layer):
    growing = [(1.0, 1.0), (0.5, 1.0), (0.0, 2.0), "nonnegative", None]
    weight, options = layer
    options |= {"rule": rule, "ties": ties}
    chain = [statuses(weight, **(options | {"domain": domain})) for domain in growing]
    assert (np.diff(chain, axis=0) >= 0).all()


@pytest.mark.parametrize("kind", DOMAINS)
@both_ties
@every_rule
@settings(few, max_examples=8)
@given(data=st.data())
def test_a_bias_of_zeros_is_no_bias(rule, ties, kind, data):
    weight, options = data.draw(output_layers(kind))
    options |= {"rule": rule, "ties": ties}
    none, zeros = (statuses(weight, **(options | {"bias": b})) for b in (None, np.zeros(len(weight))))
    assert none == zeros


@both_ties
@every_rule
@settings(few, max_examples=10)
@given(layer=output_layers("mixed"), random=st.randoms(use_true_random=False))
def test_the_order_of_the_labels_does_not_matter(rule, ties, layer, random):
    weight, options = layer
    options |= {"rule": rule, "ties": ties}
    order = random.sample(range(len(weight)), len(weight))
    sets = all_sets(len(weight))
    shuffled = options | {"bias": None if options["bias"] is None else options["bias"][order]}
    before = lp.verify(weight, sets, **options)
    after = lp.verify(weight[order], sets[:, order], **shuffled)
    assert before.status.tolist() == after.status.tolist()


@both_ties
@every_rule
@settings(few, max_examples=10)
@given(layer=output_layers(max_features=3))
def test_a_change_of_coordinates_does_not_matter_on_the_free_domain(rule, ties, layer):
    weight, options = layer
    d = weight.shape[1]
    turned = weight[:, ::-1] @ (np.eye(d) + np.triu(np.full((d, d), 3.0), 1)) * -1
    options |= {"rule": rule, "ties": ties}
    assert statuses(weight, **options) == statuses(turned, **options)


@both_ties
@every_rule
@settings(few, max_examples=10)
@given(layer=output_layers("box"), step=small())
def test_moving_the_box_and_the_bias_together_does_not_matter(rule, ties, layer, step):
    weight, options = layer
    low, high = options["domain"]
    bias = np.zeros(len(weight)) if options["bias"] is None else options["bias"]
    options |= {"rule": rule, "ties": ties}
    moved = options | {"bias": bias - step * weight.sum(1), "domain": (low + step, high + step)}
    assert statuses(weight, **options) == statuses(weight, **moved)


@both_ties
@pytest.mark.parametrize("rule", ["topk", "sparsemax"])
@settings(few, max_examples=10)
@given(layer=output_layers("mixed"))
def test_adding_one_row_to_all_rows_does_not_matter_where_scores_are_only_compared(rule, ties, layer):
    weight, options = layer
    options |= {"rule": rule, "ties": ties}
    shifted = weight + np.arange(1.0, weight.shape[1] + 1)
    assert statuses(weight, **options) == statuses(shifted, **options)


@pytest.mark.parametrize("rule", ["sigmoid", "topk"])
@few
@given(weight=integer_weights(max_labels=6))
def test_without_a_bias_a_set_and_its_complement_are_argmaxable_together(rule, weight):
    status = statuses(weight, rule=rule)
    assert status == status[::-1]


@every_rule
def test_dense_sparse_and_listed_label_sets_are_the_same_sets(rule):
    weight, sets = gaussian(6, 2), all_sets(6)
    lists = [np.flatnonzero(y).tolist() for y in sets]
    dense = lp.verify(weight, sets, rule=rule).status
    assert dense.dtype == np.int8
    for labels in (sets.astype(int), sets * 1.0, sparse.csr_array(sets), sparse.csr_array(sets * 1.0), lists):
        assert lp.verify(weight, labels, rule=rule).status.tolist() == dense.tolist()


@every_rule
def test_float32_weights_are_the_float64_numbers_they_stand_for(rule):
    weight, bias = gaussian(7, 2).astype(np.float32), gaussian(7).astype(np.float32)
    for options in [{}, {"bias": bias}]:
        wide = {name: value.astype(np.float64) for name, value in options.items()}
        status = statuses(weight, rule=rule, **options)
        assert status == statuses(weight.astype(np.float64), rule=rule, **wide)
        assert status == truth(weight, rule=rule, **options)


def test_the_number_of_jobs_and_the_layout_of_the_weights_do_not_matter():
    weight = gaussian(8, 3)
    expected = truth(weight)
    assert statuses(weight, n_jobs=2) == expected
    assert statuses(np.asfortranarray(weight)) == expected
    assert statuses(np.repeat(weight, 2, axis=1)[:, ::2]) == expected
