"""The standalone checker takes a witness exactly where the definition of the rule predicts the label set."""

import math
from fractions import Fraction
from itertools import combinations, product

import pytest
from standalone_cases import layer_of

from labelproof.proof.standalone import Claim, ProofError, _integers, prove, witness_fault

WEIGHT = [[1, 0], [Fraction(1, 3), 1], [-1, Fraction(-1, 2)]]
OFFSET = [0, Fraction(1, 2), Fraction(1, 4)]
POINTS = [*product([-1, 0, Fraction(1, 3), 2], repeat=2), (Fraction(-1, 2), Fraction(1, 7)), (0.25, -0.5)]


def sets_of(n):
    return [frozenset(active) for k in range(n + 1) for active in combinations(range(n), k)]


def logits_at(weight, offset, x):
    return [
        sum(Fraction(w) * Fraction(c) for w, c in zip(row, x, strict=True)) + o
        for row, o in zip(weight, offset, strict=True)
    ]


def support(z, t):
    """The support of sparsemax(t·z), by its closed form, and its threshold."""
    ordered = sorted((t * value for value in z), reverse=True)
    k = max(k for k in range(1, len(z) + 1) if 1 + k * ordered[k - 1] > sum(ordered[:k]))
    tau = (sum(ordered[:k]) - 1) / Fraction(k)
    return {i for i, value in enumerate(z) if t * value > tau}, tau


def is_predicted(rule, ties, t, z, active):
    others = [z[i] for i in range(len(z)) if i not in active]
    if rule == "sigmoid":
        return all(z[i] > 0 for i in active) and all(v < 0 or (v == 0 and ties == "inactive") for v in others)
    if rule == "topk":
        return not active or not others or min(z[i] for i in active) > max(others)
    found, tau = support(z, t)
    return found == active and (ties == "inactive" or all(t * v != tau for v in others))


@pytest.mark.parametrize("ties", ["open", "inactive"])
@pytest.mark.parametrize(("rule", "t"), [("sigmoid", 1), ("topk", 1), ("sparsemax", 1), ("sparsemax", Fraction(3, 10))])
def test_a_witness_is_one_where_the_rule_predicts_the_set_and_nowhere_else(rule, ties, t):
    seen = {True: 0, False: 0}
    for offset in (None, OFFSET):
        layer = layer_of(WEIGHT, offset, rule=rule, ties=ties, temperature=t)
        for x, active in product(POINTS, sets_of(3)):
            expected = is_predicted(rule, ties, t, logits_at(WEIGHT, offset or [0] * 3, x), active)
            assert (witness_fault(layer, active, x) is None) == expected, (x, active)
            seen[expected] += 1
    assert min(seen.values()) > 20


@pytest.mark.parametrize("ties", ["open", "inactive"])
@pytest.mark.parametrize("t", [Fraction(1, 2), 1, 3])
def test_a_label_on_the_threshold_of_sparsemax_is_a_tie(ties, t):
    # t·z = (1/2, -1/2) has the threshold -1/2, where the second label sits
    layer = layer_of([[1], [-1]], rule="sparsemax", ties=ties, temperature=t)
    x = [Fraction(1, 2) / t]
    fault = witness_fault(layer, frozenset([0]), x)
    assert fault == (None if ties == "inactive" else "label 1 is not inactive at its witness")
    assert witness_fault(layer, frozenset([0, 1]), x) == "label 1 is not active at its witness"


def test_the_first_label_at_fault_is_named():
    layer = layer_of([[1], [1], [-1]])
    assert witness_fault(layer, frozenset([1]), [1]) == "label 0 is not inactive at its witness"
    assert witness_fault(layer, frozenset([0, 1, 2]), [1]) == "label 2 is not active at its witness"


def test_a_witness_lies_within_the_domain_or_on_its_boundary():
    third = Fraction(1, 3)
    layer = layer_of([[1, 1]], low=[None, -third], high=[2, third], rule="topk")
    for x in ([2, third], [2, -third], [-100.0, 0.0], [Fraction(-(10**400)), 0]):
        assert witness_fault(layer, frozenset([0]), x) is None
    for x, j in (([2, 0.34], 1), ([2, -0.34], 1), ([2.5, 0], 0), ([math.nextafter(2.0, 3), 0], 0), ([3, 9], 0)):
        assert witness_fault(layer, frozenset([0]), x) == f"feature {j} of its witness is outside the domain"
        assert "outside the domain" in witness_fault(layer, frozenset(), x)


def test_a_witness_of_integers_beyond_the_floats_is_computed():
    layer = layer_of([[1, -1]])
    assert witness_fault(layer, frozenset([0]), [Fraction(10**400 + 1), Fraction(10**400)]) is None
    assert witness_fault(layer, frozenset([0]), [Fraction(10**400), Fraction(10**400)]) is not None


@pytest.mark.parametrize("wrong", [math.nan, math.inf, -math.inf])
def test_a_witness_that_is_not_finite_is_none(wrong):
    layer = layer_of([[1, 1]], rule="topk")
    for x in ([wrong, 0.0], [0.0, wrong], [wrong, wrong]):
        assert witness_fault(layer, frozenset(), x) == "its witness is not finite"


def test_numbers_become_integers_over_their_least_denominator():
    assert _integers([0.75, Fraction(1, 3), -2.0, Fraction(0)]) == ([9, 4, -24, 0], 12)
    assert _integers([]) == ([], 1)


def test_logits_and_coefficients_are_those_of_the_docstring():
    for rule, last in (("sigmoid", 0), ("topk", -6), ("sparsemax", -6)):
        layer = layer_of([[Fraction(1, 2), 2], [0, Fraction(1, 3)]], [Fraction(1, 6), -1], rule=rule)
        assert layer.unit == 6
        assert layer.coefficients(0) == [3, 12, 1, last]
        assert layer.coefficients(1) == [0, 2, -6, last]
        assert layer.logits([5, 7], 4) == [3 * 5 + 12 * 7 + 1 * 4, 2 * 7 - 6 * 4]


def test_norms_are_rounded_down_at_the_64th_binary_digit():
    assert layer_of([[3, 4], [0, 0], [1, 1]]).norms == [5 << 64, 0, math.isqrt(2 << 128)]


# What is proven of a list of claims


def test_every_claim_is_proven_in_its_turn():
    layer = layer_of([[1, 0], [0, 1], [-1, -1]])
    good = Claim(frozenset([0, 1]), 1, (1.0, 1.0), None)
    none = Claim(frozenset([0, 1, 2]), 0, (0, 1, 2), None)
    undecided = Claim(frozenset([2]), -1, (), None)
    prove(layer, [good, none, undecided])
    with pytest.raises(ProofError, match=r"^label set 1 is not proven: label 0 is not inactive at its witness"):
        prove(layer, [good, good._replace(active=frozenset([1])), none])
    with pytest.raises(ProofError, match=r"^label set 2 is not proven: its conflict's rows"):
        prove(layer, [good, undecided, none._replace(evidence=(0, 1))])
    with pytest.raises(ProofError, match=r"^label set 0 is not proven: its conflict"):
        prove(layer, [none._replace(evidence=())])


def test_a_radius_is_proven_beside_its_witness():
    layer = layer_of([[1.0]])
    radius = (Fraction(2), 2 * (1 - 1e-10), 2.0, (2.0,), (0,), (1.0,))
    claim = Claim(frozenset([0]), 1, (1.0,), radius)
    prove(layer, [claim, claim])
    with pytest.raises(ProofError, match=r"^label set 1 is not proven"):
        prove(layer, [claim, claim._replace(evidence=(-1.0,))])
    too_large = (*radius[:1], 2.5, *radius[2:])
    with pytest.raises(ProofError, match=r"^the radius of label set 1 is not proven: its centre does not give"):
        prove(layer, [claim, claim._replace(radius=too_large)])
