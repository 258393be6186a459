"""What `explain` says is true: closed forms, an exact oracle, brute force, and names made to mislead a reader."""

import itertools
import json
import math
from fractions import Fraction

import numpy as np
import pytest

import labelproof as lp
from exact_oracle import is_argmaxable
from labelproof.proof.conflicts import conflict_faults
from labelproof.proof.labels import read_label_sets
from labelproof.proof.rounding import float_rows
from labelproof.proof.witnesses import witness_faults

THREE = np.array([[1.0, 0.0], [0.0, 1.0], [-1.0, -1.0]])  # every two labels go together, all three do not
AMPLE = 30.0  # seconds: no search of these tests ends for want of time, however busy the machine
RULES = ("sigmoid", "topk", "sparsemax")
TIES = ("open", "inactive")
DOMAINS = {"free": None, "nonnegative": "nonnegative", "box": (-1.0, 2.0), "mixed": ([-np.inf, 1.0], [0.5, 1.0])}

every_rule = pytest.mark.parametrize("rule", RULES)
both_ties = pytest.mark.parametrize("ties", TIES)
every_domain = pytest.mark.parametrize("domain", DOMAINS.values(), ids=DOMAINS)


def subsets(n_labels):
    return [c for k in range(n_labels + 1) for c in itertools.combinations(range(n_labels), k)]


def gaussian(*shape, seed=0):
    return np.random.default_rng([seed, *shape]).normal(size=shape)


def integer_layer(seed, n_labels=5, d=2):
    """Small integers, with rows that are zero, or equal or opposite to others; every second layer has a bias."""
    rng = np.random.default_rng(seed)
    weight = rng.integers(-2, 3, size=(n_labels, d)).astype(float)
    weight[1] = rng.integers(-1, 2) * weight[0]
    return weight, rng.integers(-1, 2, size=n_labels).astype(float) if seed % 2 else None


def assert_proven(explanation):
    """The conflict or the witness passes the trusted check, and so do the witnesses of all sets named."""
    layer, certificate = explanation._layer, explanation.certificate
    named = [(near.label_set, near.certificate.witness) for near in explanation.nearest + explanation.same_size]
    if isinstance(certificate, lp.Unargmaxable):
        one = read_label_sets([list(explanation.label_set)], layer.n_labels)
        assert conflict_faults(layer, one, [certificate._rows]) == [None]
    else:
        named.append((explanation.label_set, certificate.witness))
    sets = read_label_sets([list(label_set) for label_set, _ in named], layer.n_labels)
    witnesses = [witness for _, witness in named]
    assert witness_faults(layer, float_rows(layer), sets, witnesses) == [None] * len(named)
    for near in explanation.nearest + explanation.same_size:
        before, after = set(explanation.label_set), set(near.label_set)
        assert (set(near.added), set(near.removed)) == (after - before, before - after)
        assert near.distance == len(after ^ before)


# --- closed forms -----------------------------------------------------------------------------------------


def test_three_labels_on_two_features_contradict_each_other_and_any_one_may_go():
    explanation = lp.explain(THREE, [0, 1, 2])
    assert_proven(explanation)
    assert explanation.certificate.conflict == (0, 1, 2)
    assert explanation.certificate.multipliers == (1, 1, 1)
    assert explanation.irreducible
    assert explanation.least_distance == 1
    assert {near.label_set for near in explanation.nearest} == {(0, 1), (0, 2), (1, 2)}
    assert all(near.is_minimal and near.distance == 1 for near in explanation.nearest)


def test_a_label_without_weights_rules_out_every_set_under_open_ties():
    weight = np.array([[1.0, 0], [0, 0], [0, 1]])
    for label_set in ([0], [0, 1], []):
        explanation = lp.explain(weight, label_set)
        assert explanation.certificate.conflict == (1,)
        assert (explanation.least_distance, explanation.nearest) == (None, ())
        assert "its logit is always 0" in str(explanation)
        assert "No input gives any label set at all" in str(explanation)


def test_a_label_without_weights_is_never_on_when_ties_are_inactive():
    explanation = lp.explain(np.array([[1.0, 0], [0, 0], [0, 1]]), [0, 1], ties="inactive")
    assert explanation.certificate.conflict == (1,)
    assert [near.label_set for near in explanation.nearest] == [(0,)]
    assert explanation.nearest[0].is_minimal


@pytest.mark.parametrize(("other", "label_set"), [(1.0, [0]), (3.0, [0, 2]), (-2.0, [0, 1]), (-1.0, [2])])
def test_parallel_rows_that_are_asked_for_opposite_sides_are_the_conflict(other, label_set):
    weight = np.vstack([[1.0, 2, 3, 0], gaussian(12, 4)])
    weight[1] = other * weight[0]
    explanation = lp.explain(weight, label_set)
    assert_proven(explanation)
    assert explanation.certificate.conflict == (0, 1)
    assert explanation.irreducible


def test_a_label_that_a_nonnegative_domain_keeps_off_is_the_conflict_by_itself():
    weight = np.array([[-1.0, -2, -3], [2, 4, 6], [1, -1, 0], [3, -1, 0]])
    explanation = lp.explain(weight, [0, 1], domain="nonnegative", label_names=["a", "b", "c", "d"])
    assert explanation.certificate.conflict == (0,)
    assert explanation.irreducible
    assert "No input with features ≥ 0 can switch on a: its logit is never positive." in str(explanation)


def test_a_bias_that_a_box_cannot_overcome_is_named_as_the_reason():
    explanation = lp.explain(np.eye(2), [0], bias=[-5.0, 0.0], domain=(-1, 1))
    assert explanation.certificate.conflict == (0,)
    assert str(explanation).splitlines()[1].startswith("Given its biases, no input within the bounds of feature 0 can")


def test_a_small_conflict_is_found_among_labels_of_few_features():
    weight = gaussian(40, 9)
    weight[[7, 8, 9]] = 0
    weight[7, 3], weight[8, 5], weight[9, [3, 5]] = 2.0, 1.0, [-1.0, -4.0]
    explanation = lp.explain(weight, [1, 7, 8, 9, 20], n_nearest=0, time_limit=AMPLE)
    assert_proven(explanation)
    assert explanation.certificate.conflict == (7, 8, 9)


def test_a_small_conflict_is_found_among_dependent_rows():
    weight = np.round(gaussian(40, 6), 2)
    weight[5], weight[6] = [1.0, 2, -1, 3, 1, -2], [2.0, -1, 1, 1, -3, 1]
    weight[7] = -weight[5] - weight[6]
    explanation = lp.explain(weight, [1, 5, 6, 7, 20], n_nearest=0, time_limit=AMPLE)
    assert_proven(explanation)
    assert explanation.certificate.conflict == (5, 6, 7)


def test_a_topk_set_has_neighbours_of_its_own_size_two_changes_away():
    inner = np.array([[1.0, 1], [1, -1], [-1, 1], [-1, -1], [0.25, 0.5]])  # the last is inside the hull of the others
    explanation = lp.explain(inner, [4], rule="topk")
    assert_proven(explanation)
    assert explanation.least_distance == 1
    assert explanation.same_size
    assert all(len(near.label_set) == 1 and near.distance == 2 and near.is_minimal for near in explanation.same_size)
    assert "rank label 4 above label" in str(explanation)
    assert lp.explain(inner, [4], rule="sparsemax").same_size == ()


def test_an_empty_support_is_explained_without_labels():
    explanation = lp.explain(THREE, [], rule="sparsemax")
    assert_proven(explanation)
    assert explanation.certificate.conflict == ()
    assert "The support of sparsemax is never empty." in str(explanation)
    assert explanation.least_distance == 1
    json.dumps(explanation.to_dict(), allow_nan=False)


def test_the_sum_of_a_support_is_named_when_it_is_the_reason():
    inner = np.array([[1.0, 1], [1, -1], [-1, 1], [-1, -1], [0.25, 0.5]])
    options = {"rule": "sparsemax", "bias": [5.0, 0, 0, 0, 0], "domain": (-0.5, 0.5)}
    explanation = lp.explain(inner, [0, 1], **options)
    assert_proven(explanation)
    assert not explanation.irreducible
    assert "its scores' sum contradicts the places of" in str(explanation)


def test_conflicts_without_a_label_in_common_each_need_a_change():
    rows = gaussian(8, 10)
    weight = np.repeat(rows, 2, axis=0)
    explanation = lp.explain(weight, [0, 2, 4, 6, 8, 10], time_limit=AMPLE)  # the copies 1, 3, .. should be off
    assert_proven(explanation)
    assert explanation.least_distance == 6
    assert [(near.distance, near.is_minimal) for near in explanation.nearest] == [(6, True)] * 3


def test_without_time_for_all_levels_a_near_set_is_still_found():
    weight = gaussian(60, 5)
    explanation = lp.explain(weight, [0, 1], n_nearest=1, time_limit=0.3)
    assert_proven(explanation)
    assert explanation.least_distance > 1
    assert explanation.least_distance <= explanation.nearest[0].distance < 40


# --- against the oracle and brute force -------------------------------------------------------------------


@every_domain
@both_ties
@every_rule
def test_every_word_about_small_integer_layers_is_true(rule, ties, domain):
    for seed in range(2):
        weight, bias = integer_layer(seed)
        options = {"bias": bias, "rule": rule, "ties": ties, "domain": domain}
        possible = {s for s in subsets(5) if is_argmaxable(weight, s, **options)}
        impossible = [s for s in subsets(5) if s not in possible]
        for label_set in np.random.default_rng(seed).permutation(np.array(impossible, dtype=object))[:2]:
            explanation = lp.explain(weight, label_set, **options, time_limit=AMPLE)
            assert_proven(explanation)
            assert_conflict_is_irreducible(explanation, weight, options)
            assert_nearest_are_the_nearest(explanation, possible)
            json.dumps(explanation.to_dict(), allow_nan=False)


def assert_conflict_is_irreducible(explanation, weight, options):
    """By the oracle; under sparsemax, as documented, without the sum of the support."""
    conflict, active = explanation.certificate.conflict, explanation.label_set
    plain = options | {"rule": "sigmoid" if options["rule"] == "sigmoid" else "topk"}
    has_sum = {"sum_le", "sum_ge"} & set(explanation.certificate.extra)
    assert not is_argmaxable(weight, active, only=conflict, **(options if has_sum else plain))
    assert explanation.irreducible == (not has_sum)
    for label in conflict if explanation.irreducible else ():
        assert is_argmaxable(weight, active, only=[i for i in conflict if i != label], **plain)


def assert_nearest_are_the_nearest(explanation, possible):
    distances = {s: len(set(s) ^ set(explanation.label_set)) for s in possible}
    least = min(distances.values(), default=None)
    assert explanation.least_distance == least
    assert len(explanation.nearest) >= min(3, sum(d == least for d in distances.values()))
    for near in explanation.nearest:
        assert near.distance == distances[near.label_set]
        assert near.is_minimal == (near.distance == least)
    changes = [set(near.label_set) ^ set(explanation.label_set) for near in explanation.nearest]
    assert not any(a < b for a in changes for b in changes)
    same = [d for s, d in distances.items() if len(s) == len(explanation.label_set)]
    for near in explanation.same_size:
        assert len(near.label_set) == len(explanation.label_set)
        assert near.distance == distances[near.label_set]
        assert not near.is_minimal or near.distance == min(same)


@pytest.mark.parametrize("bias", [None, gaussian(9)])
def test_in_general_position_a_conflict_has_one_label_more_than_there_are_features(bias):
    weight = gaussian(9, 3)
    possible = {s for s in subsets(9) if is_argmaxable(weight, s, bias=bias)}
    impossible = [s for s in subsets(9) if s not in possible]
    for label_set in impossible[:: len(impossible) // 4]:
        explanation = lp.explain(weight, label_set, bias=bias, time_limit=AMPLE)
        assert_proven(explanation)
        assert len(explanation.certificate.conflict) == 4
        assert "There are 4 of them: with weights in general position no contradiction has fewer." in str(explanation)
        assert_conflict_is_irreducible(explanation, weight, {"bias": bias, "rule": "sigmoid"})
        assert_nearest_are_the_nearest(explanation, possible)


def test_of_a_set_three_changes_away_from_an_argmaxable_one_the_nearest_is_no_farther():
    weight = gaussian(300, 10)
    predicted = set(np.flatnonzero(weight @ gaussian(10) > 0).tolist())
    explanation = lp.explain(weight, sorted(predicted ^ {3, 4, 5}), time_limit=AMPLE)
    assert_proven(explanation)
    assert explanation.nearest[0].is_minimal
    assert explanation.least_distance == explanation.nearest[0].distance <= 3


# --- argmaxable sets --------------------------------------------------------------------------------------


def test_the_most_central_input_and_the_labels_that_bound_the_region_are_found():
    explanation = lp.explain(THREE, [0])
    assert_proven(explanation)
    assert explanation.certificate.margin == pytest.approx(math.sin(math.pi / 8))  # a cone of 45 degrees
    assert {one.label: one.can_flip for one in explanation.boundary} == {1: True, 2: True, 0: False}
    assert "label 0 (on, margin 0.924): never changes alone" in str(explanation)


@both_ties
@every_rule
def test_a_label_can_flip_iff_the_oracle_allows_the_flipped_set(rule, ties):
    for bias, domain in [(None, None), (gaussian(7), None), (gaussian(7), (-1.0, 1.0)), (None, "nonnegative")]:
        options = {"bias": bias, "rule": rule, "ties": ties, "domain": domain}
        weight = gaussian(7, 2)
        verification = lp.verify(weight, [list(s) for s in subsets(7)], **options)
        label_set = subsets(7)[np.flatnonzero(verification.status == 1)[-1]]
        explanation = lp.explain(weight, label_set, **options, time_limit=AMPLE)
        assert_proven(explanation)
        assert explanation.certificate.margin >= verification.margin[subsets(7).index(label_set)] - 1e-12
        assert len(explanation.boundary) == 7
        for one in explanation.boundary:
            assert one.can_flip == is_argmaxable(weight, set(label_set) ^ {one.label}, **options)


def test_on_the_way_to_a_flipped_set_no_other_label_changes():
    weight, bias = gaussian(20, 3), gaussian(20)
    label_set = np.flatnonzero(bias > 0)
    explanation = lp.explain(weight, label_set, bias=bias)
    start = np.array([Fraction(c) for c in explanation.certificate.witness])
    flips = [one.label for one in explanation.boundary if one.can_flip]
    assert len(flips) >= 3
    for label in flips:
        other = lp.verify(weight, [sorted({*label_set.tolist()} ^ {label})], bias=bias)[0]
        end = np.array([Fraction(c) for c in other.witness])
        for step in (Fraction(k, 8) for k in range(9)):
            logits = np.vectorize(Fraction)(weight) @ (start + step * (end - start)) + np.vectorize(Fraction)(bias)
            changed = set(np.flatnonzero(logits > 0)) ^ set(label_set)
            assert changed <= {label}


def test_a_witness_that_is_no_float_is_explained_too():
    weight, bias = np.array([[1.0], [-(2.0**-60)], [2.0]]), np.array([0.0, 1.0, -1.0])
    explanation = lp.explain(weight, [0], bias=bias, rule="topk")
    assert isinstance(explanation.certificate.witness, tuple)
    witness = json.loads(json.dumps(explanation.to_dict(), allow_nan=False))["witness"]
    assert tuple(Fraction(c) for c in witness) == explanation.certificate.witness


def test_an_undecided_set_says_why():
    explanation = lp.explain(gaussian(40, 12), range(20), time_limit=0.0)
    assert isinstance(explanation.certificate, lp.Undecided)
    assert "no proof within the time limit of 0.0 s" in str(explanation)
    assert explanation.to_dict()["verdict"] == "undecided"
    assert (explanation.nearest, explanation.boundary) == ((), ())


# --- words, names and arguments -----------------------------------------------------------------------------


def test_names_may_stand_for_indices():
    names = ["cat", "dog", "fish"]
    explanation = lp.explain(THREE, ["fish", "cat"], label_names=names)
    assert explanation.label_set == (0, 2)
    assert str(explanation).startswith("Some input gives the label set {cat, fish}")
    assert explanation.to_dict()["label_names"] == dict(zip("012", names, strict=True))


def test_names_are_shown_as_text_and_cannot_forge_a_line():
    names = ["[bold]a[/bold]", "b\nSome input gives the label set {b}.", "\x1b[31mc" + 100 * "c"]
    text = str(lp.explain(THREE, [0, 1, 2], label_names=names, n_nearest=0))
    assert "[bold]a[/bold]" in text
    assert r"b\nSome input gives" in text
    assert "\x1b" not in text
    assert 70 * "c" not in text
    assert [line.split()[0] for line in text.splitlines()] == ["No", "No", "For", "If", "There", "Every"]


def test_long_lists_are_cut_and_counted():
    text = str(lp.explain(gaussian(80, 20), range(40), n_nearest=0))
    assert "32 more}" in text
    assert "others" in text
    assert "(15 more) = 0" in text


def test_the_dictionary_has_the_conflict_and_the_near_sets():
    contents = lp.explain(THREE, [0, 1, 2], n_nearest=1).to_dict()
    assert contents["verdict"] == "unargmaxable"
    assert contents["conflict"]["labels"] == [0, 1, 2]
    assert contents["conflict"]["irreducible"] is True
    assert sum(contents["conflict"]["shares"]) == pytest.approx(1)
    assert contents["least_distance"] == 1
    (near,) = contents["nearest"]
    assert near["distance"] == 1
    assert (THREE @ near["witness"] > 0).nonzero()[0].tolist() == near["label_set"]


def test_no_neighbours_are_sought_when_none_are_wanted():
    explanation = lp.explain(THREE, [0, 1, 2], n_nearest=0)
    assert explanation.nearest == ()
    assert "differs in at least 1 label." in str(explanation)


@pytest.mark.parametrize(
    ("label_set", "names", "message"),
    [
        (["cet"], ["cat", "dog", "fish"], "got 'cet'; the nearest is 'cat'"),
        (["cat"], ["cat", "cat", "fish"], r"got 'cat', the name of the labels \[0, 1\]: pass indices"),
        (["cat"], None, "must hold indices when no label_names are given, got 'cat'"),
        ("cat", ["cat", "dog", "fish"], "must be a list of labels, got the one string 'cat'"),
        ([0], ["cat", "dog"], "label_names must hold 3 names to match the weight's rows, got 2"),
        ([0], "cat", "label_names must hold 3 names"),
        ([0], ["cat", "dog", 3], "label_names must hold strings, got 3 at index 2"),
        ([3], None, "label_set must hold indices from 0 to 2, got 3"),
        ([-1], None, "label_set must hold indices from 0 to 2, got -1"),
        ([1, 1], None, "label_set must name each label once .* got 1 more than once"),
        (np.array([True, False, True]), None, "label_set must hold label indices, or names only"),
        ([0, "dog"], ["cat", "dog", "fish"], "label_set must hold label indices, or names only"),
        ([0.5], None, "label_set must hold label indices, or names only"),
        (5, None, "label_set must be a list of labels, got 5"),
    ],
)
def test_a_wrong_label_set_or_name_is_refused(label_set, names, message):
    with pytest.raises(ValueError, match=message):
        lp.explain(THREE, label_set, label_names=names)


def test_wrong_limits_are_refused():
    with pytest.raises(ValueError, match="n_nearest must be a number of label sets, got -1"):
        lp.explain(THREE, [0], n_nearest=-1)
    with pytest.raises(ValueError, match=r"time_limit must be a number of seconds, got -1\.0"):
        lp.explain(THREE, [0], time_limit=-1.0)


def test_weights_beyond_the_range_of_squares_make_no_warnings():
    for scale in (1e300, 1e-300):
        assert lp.explain(scale * THREE, [0, 1, 2]).certificate.conflict == (0, 1, 2)
        assert isinstance(lp.explain(scale * THREE, [0]).certificate, lp.Argmaxable)


def test_subnormal_weights_with_an_ordinary_bias_have_witnesses_beyond_the_floats():
    rng = np.random.default_rng(0)
    weight, bias = rng.integers(-3, 4, (6, 3)) * 1e-310, rng.normal(size=6)
    explanation = lp.explain(weight, [0, 1, 2], bias=bias, rule="topk", time_limit=AMPLE)
    assert not is_argmaxable(weight, [0, 1, 2], bias=bias, rule="topk")
    assert isinstance(explanation.certificate, lp.Unargmaxable)
    assert explanation.same_size
    assert any(max(map(abs, near.certificate.witness)) > 1e308 for near in explanation.same_size)
    for near in explanation.same_size:
        assert len(near.label_set) == 3
        assert is_argmaxable(weight, near.label_set, bias=bias, rule="topk")


@pytest.mark.parametrize("scale", [1e-310, 1e-300, 1.0, 1e300])
def test_the_scale_of_weights_and_bias_does_not_change_the_nearest_sets_of_the_same_size(scale):
    rng = np.random.default_rng(1)
    weight, bias = rng.integers(-3, 4, (7, 2)) * 1.0, rng.integers(-3, 4, 7) * 1.0
    first, scaled = (
        lp.explain(weight * s, [0, 1, 2], bias=bias * s, rule="topk", time_limit=AMPLE)
        for s in (1.0, 2.0 ** round(math.log2(scale)))
    )
    assert [near.label_set for near in scaled.same_size] == [near.label_set for near in first.same_size]


def test_a_contradiction_that_no_ball_is_needed_for_has_neighbours_within_the_ball():
    weight = np.array([[1.0, 0.0], [0.0, 1.0], [-1.0, -1.0]])
    small = lp.explain(weight, [0, 1, 2], domain=("ball", 0.5))
    assert (small.certificate.conflict, small.least_distance, len(small.nearest)) == ((0, 1, 2), 1, 3)
    for one in small.nearest:
        assert np.linalg.norm(one.certificate.witness) <= 0.5
    bias = np.array([-0.45, -0.45, -9.0])
    tight = lp.explain(weight, [0, 1, 2], bias=bias, domain=("ball", 0.5))
    assert tight.nearest == ()  # {0, 1} takes a length of 0.64, and label 2 nine
    assert "No input gives the label set" in str(tight)
    outside = lp.explain(weight, [0, 1], bias=bias, domain=("ball", 0.5))
    assert outside.certificate.extra == ("domain",)
