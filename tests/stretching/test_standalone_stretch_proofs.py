"""The standalone checker of a stretch proves what the definition gives, and nothing else."""

import math
from fractions import Fraction
from itertools import combinations, pairwise, product

import flint
import numpy as np
import pytest
from standalone_stretch_cases import claim_of, problem_of

from labelproof.proof.standalone_stretch import (
    ProofError,
    bar_fault,
    conflict_fault,
    lower_fault,
    only_dependence,
    prove,
    upper_fault,
)

RULES = [("sigmoid", "open"), ("sigmoid", "inactive"), ("topk", "open"), ("topk", "inactive")]
every_rule = pytest.mark.parametrize(("rule", "ties"), RULES)
NOT_PREDICTED = "it is not predicted at its mixture"
NO_MIXTURE = "its mixture is not an ascending list of examples with weights ≥ 0"
NO_LABELS = "its weighted labels are not an ascending list with multipliers ≥ 0"
NO_ROWS = "its conflict is not an ascending list of rows of its system, one of them strict"
NO_DEPENDENCE = "its conflict's rows have not one linear dependence, of positive multipliers"


def small(rng, n_labels=3, d=2, n=4):
    """Small rational numbers, which tie often."""
    weight, features = rng.integers(-2, 3, (n_labels, d)).tolist(), rng.integers(-2, 3, (n, d)).tolist()
    offset = [Fraction(int(c), 2) for c in rng.integers(-3, 4, n_labels)]
    centre = [Fraction(sum(column), n) for column in zip(*features, strict=True)]
    return weight, offset, features, centre


def logits(weight, offset, x):
    return [sum(w * c for w, c in zip(row, x, strict=True)) + o for row, o in zip(weight, offset, strict=True)]


def is_predicted(z, active, rule, ties):
    on, off = [z[i] for i in active], [v for i, v in enumerate(z) if i not in active]
    if rule == "topk":
        return all(a > b for a in on for b in off)
    return all(v > 0 for v in on) and all(v < 0 or (v == 0 and ties == "inactive") for v in off)


@every_rule
def test_a_mixture_proves_exactly_what_is_predicted_at_it(rule, ties):
    rng = np.random.default_rng(0)
    seen = set()
    for _ in range(150):
        weight, offset, features, centre = small(rng)
        problem = problem_of(weight, features, offset=offset, rule=rule, ties=ties)
        which = np.flatnonzero(rng.random(4) < 0.6).tolist()
        weights = (rng.integers(0, 4, len(which)) / 4).tolist()
        x = [
            c + sum(Fraction(m) * (features[j][k] - c) for j, m in zip(which, weights, strict=True))
            for k, c in enumerate(centre)
        ]
        z = logits(weight, offset, x)
        likely = [i for i in range(3) if z[i] > (0 if rule == "sigmoid" else sorted(z)[1])]
        for active in (likely, np.flatnonzero(rng.random(3) < 0.5).tolist()):
            expected = None if is_predicted(z, active, rule, ties) else NOT_PREDICTED
            found = upper_fault(problem, claim_of(active, upper=sum(weights), mixture=(which, weights)))
            assert found == expected
            seen.add(found)
    assert seen == {None, NOT_PREDICTED}


def test_an_upper_bound_is_at_least_the_sum_of_the_weights():
    problem = problem_of([[1.0]], [[1.0], [-1.0]])
    for upper, is_proven in [(0.75, True), (0.5, True), (math.nextafter(0.5, 0), False), (0.0, False)]:
        fault = upper_fault(problem, claim_of([0], upper=upper, mixture=([0], [0.5])))
        assert fault == (None if is_proven else f"its mixture's weights exceed the upper bound {upper}")
    two = claim_of([0], upper=0.75, mixture=([0, 1], [0.5, 0.25]))
    assert upper_fault(problem, two) is None
    assert "exceed" in upper_fault(problem, two._replace(upper=math.nextafter(0.75, 0)))
    assert upper_fault(problem, claim_of([0], upper=math.inf, mixture=([0], [-1.0]))) is None  # nothing is claimed


@pytest.mark.parametrize(
    "mixture",
    [([1, 0], [0.5, 0.5]), ([0, 0], [0.5, 0.5]), ([0, 1], [1.0, -0.25]), ([0], [math.inf]), ([0], [math.nan])],
)
def test_a_mixture_names_each_example_once_with_a_weight_of_at_least_zero(mixture):
    problem = problem_of([[1.0]], [[1.0], [-1.0]])
    assert upper_fault(problem, claim_of([0], upper=9.0, mixture=mixture)) == NO_MIXTURE
    assert upper_fault(problem, claim_of([0], upper=9.0, mixture=([0, 1], [1.0, 0.0]))) is None


@pytest.mark.parametrize(("rule", "ties"), RULES)
def test_sets_of_no_label_and_of_all(rule, ties):
    """At the centre 0 the logits are the offsets."""
    for offset, none, every in [
        ((1, 2), False, True),
        ((-1, -2), True, False),
        ((0, 0), ties == "inactive", False),
        ((1, 1), False, True),
    ]:
        problem = problem_of([[1], [1]], [[1], [-1]], offset=offset, rule=rule, ties=ties)
        is_top = rule == "topk"  # where τ may lie above, or below, all logits
        assert (upper_fault(problem, claim_of([], upper=0.0)) is None) == (none or is_top)
        assert (upper_fault(problem, claim_of([0, 1], upper=0.0)) is None) == (every or is_top)


def lower_by_definition(weight, offset, features, centre, active, labels, t, rule, ties):
    """The largest bound that weighted labels prove: a fraction, infinity, or 0 for none."""
    signed = [Fraction(m) * (1 if i in active else -1) for i, m in zip(labels, t, strict=True)]
    if rule == "topk" and sum(signed) != 0:
        return 0

    def weighted(x):
        z = logits(weight, offset, x)
        return sum(m * z[i] for i, m in zip(labels, signed, strict=True))

    at, gained = weighted(centre), max(map(weighted, features)) - weighted(centre)
    strict = any(m and (rule == "topk" or ties == "open" or i in active) for i, m in zip(labels, t, strict=True))
    if gained <= 0 and (at < 0 or (at == 0 and strict)):
        return math.inf
    return -at / gained if at < 0 else 0


@every_rule
def test_weighted_labels_prove_exactly_the_bound_of_the_definition(rule, ties):
    rng = np.random.default_rng(1)
    seen = set()
    for number in range(250):
        weight, offset, features, centre = small(rng, n=3)
        if number % 3 == 0:
            features = [features[0]] * 3  # so that nothing is gained
            centre = list(map(Fraction, features[0]))
        problem = problem_of(weight, features, offset=offset, rule=rule, ties=ties)
        active = np.flatnonzero(rng.random(3) < 0.5).tolist()
        labels = np.flatnonzero(rng.random(3) < 0.8).tolist()
        t = (rng.integers(0, 4, len(labels)) / 2).tolist()
        best = lower_by_definition(weight, offset, features, centre, active, labels, t, rule, ties)
        claims = {math.inf, 1.0, 1e-9, float(best)}
        claims |= {math.nextafter(float(best), 0), math.nextafter(float(best), math.inf)} if best else set()
        for lower in claims - {0.0}:
            found = lower_fault(problem, claim_of(active, lower=lower, weighted=(labels, t)))
            if rule == "topk" and sum(m if i in active else -m for i, m in zip(labels, t, strict=True)):
                assert found == "its multipliers do not cancel between active and inactive labels"
            else:
                assert found == (None if lower <= best else f"its evidence does not give the lower bound {lower}")
            seen.add((lower == math.inf, found is None))
        assert lower_fault(problem, claim_of(active, weighted=(labels, t))) is None
    assert len(seen) == 4


@pytest.mark.parametrize(
    "weighted",
    [([1, 0], [1.0, 1.0]), ([0, 0], [1.0, 1.0]), ([0, 1], [2.0, -1.0]), ([0], [math.inf]), ([0], [math.nan])],
)
def test_weighted_labels_are_named_once_with_a_multiplier_of_at_least_zero(weighted):
    problem = problem_of([[1], [1]], [[1], [-1]], offset=[-1, -1])
    assert lower_fault(problem, claim_of([0, 1], lower=1.0, weighted=weighted)) == NO_LABELS
    assert lower_fault(problem, claim_of([0, 1], lower=1.0, weighted=([0, 1], [1.0, 0.0]))) is None
    assert lower_fault(problem, claim_of([0, 1], lower=1.0)) == "its evidence does not give the lower bound 1.0"
    assert "lower bound inf" in lower_fault(problem, claim_of([0, 1], lower=math.inf))


def rows_of(weight, offset, centre, constant, active, rule, ties):
    """The rows over (x, s, τ) that a conflict can name, by number, and whether each is strict."""
    d, n = len(centre), len(weight)
    rows = {}
    for i in range(n):
        sign = 1 if i in active else -1
        row = [sign * Fraction(c) for c in (*weight[i], offset[i], -1 if rule == "topk" else 0)]
        rows[i] = row, rule == "topk" or ties == "open" or i in active
    unit = [[Fraction(int(j == k)) for k in range(d + 2)] for j in range(d + 2)]
    rows[n] = unit[d], True
    for j in np.flatnonzero(constant).tolist():
        low = [a - centre[j] * b for a, b in zip(unit[j], unit[d], strict=True)]
        rows[n + 3 + j], rows[n + 3 + d + j] = (low, False), ([-c for c in low], False)
    return rows


def is_conflict(rows, numbers):
    if any(a >= b for a, b in pairwise(numbers)) or not {*numbers} <= set(rows):
        return NO_ROWS
    if not any(rows[r][1] for r in numbers):
        return NO_ROWS
    table, _ = zip(*(rows[r] for r in numbers), strict=True)
    unit = math.lcm(*(c.denominator for row in table for c in row))
    columns = flint.fmpz_mat([[int(c * unit) for c in column] for column in zip(*table, strict=True)])
    space, nullity = columns.nullspace()
    m = [int(space[i, 0]) for i in range(len(numbers))]
    return None if nullity == 1 and (min(m) > 0 or max(m) < 0) else NO_DEPENDENCE


@every_rule
def test_a_conflict_is_one_where_its_rows_have_one_dependence_and_that_is_positive(rule, ties):
    """For every list of up to three rows of layers of two labels and two features, one of which is constant."""
    rng = np.random.default_rng(2)
    seen = set()
    for number in range(8):
        weight, offset, features, _ = small(rng, n_labels=2, n=3)
        features = [[a, Fraction(1, 2)] for a, _ in features]
        if number % 4 == 0:
            weight[1] = [-c for c in weight[0]]
        centre = [Fraction(sum(column), 3) for column in zip(*features, strict=True)]
        constant = [len({f[j] for f in features}) == 1 for j in range(2)]
        problem = problem_of(weight, features, offset=offset, rule=rule, ties=ties)
        for active in ([], [0], [1], [0, 1]):
            rows = rows_of(weight, offset, centre, constant, active, rule, ties)
            for size in (1, 2, 3):
                for numbers in combinations(range(2 + 3 + 2 * 2 + 1), size):
                    expected = is_conflict(rows, numbers)
                    claim = claim_of(active, lower=math.inf, conflict=numbers)
                    assert conflict_fault(problem, claim) == expected
                    assert (lower_fault(problem, claim) is None) == (expected is None)
                    seen.add(expected)
    assert seen == {None, NO_ROWS, NO_DEPENDENCE}


def test_rows_of_a_conflict_ascend():
    problem = problem_of([[1], [-1]], [[1], [-1]])
    assert conflict_fault(problem, claim_of([0, 1], conflict=(0, 1))) is None
    for numbers in ((1, 0), (0, 0, 1)):
        assert conflict_fault(problem, claim_of([0, 1], conflict=numbers)) == NO_ROWS


def test_a_conflict_proves_nothing_of_a_finite_bound():
    problem = problem_of([[1], [-1]], [[1], [-1]])
    claim = claim_of([0, 1], lower=math.inf, conflict=(0, 1))
    assert lower_fault(problem, claim) is None
    assert "lower bound 5.0" in lower_fault(problem, claim._replace(lower=5.0))


def test_a_feature_is_constant_only_if_it_is_the_centre_s_in_every_example():
    features, weight, offset = [[Fraction(1, 3)], [Fraction(1, 3)]], [[1]], [-1]
    claim = claim_of([0], lower=math.inf, conflict=(0, 1, 5))  # x − s > 0, s > 0, s/3 − x ≥ 0
    assert conflict_fault(problem_of(weight, features, offset=offset), claim) is None
    assert conflict_fault(problem_of(weight, features, offset=offset, centre=[Fraction(1, 4)]), claim) == NO_ROWS
    assert conflict_fault(problem_of(weight, [[0], [Fraction(1, 3)]], offset=offset), claim) == NO_ROWS


def test_the_only_dependence_of_all_small_rows():
    for rows in product(product((-1, 0, 2), repeat=2), repeat=3):
        columns = flint.fmpz_mat([list(column) for column in zip(*rows, strict=True)])
        space, nullity = columns.nullspace()
        found = only_dependence(list(map(list, rows)))
        if nullity == 1 and space[2, 0] != 0:
            assert found == [Fraction(int(space[i, 0]), int(space[2, 0])) for i in range(3)]
        else:
            assert found is None


def bar_claims(upper):
    return [claim_of([0], upper=u) for u in upper]


def test_the_bar_is_the_next_after_as_many_as_the_binomial_allows():
    from scipy.stats import binom

    upper = [float(u) for u in range(40)]
    for alpha in (0.1, 0.125, 0.3, 0.5, 0.9):
        allowed = [r for r in range(40) if binom.cdf(r, 40, alpha) <= 0.05]
        for rank in range(-1, 41):
            bar = {"n": 40, "rank": rank, "alpha": alpha, "value": float(39 - rank)}
            found = bar_fault(bar, bar_claims(upper))
            if not 0 <= rank < 40:
                assert found == "its numbers do not fit together"
            elif rank == max(allowed, default=None):
                assert found is None
                assert bar_fault(bar | {"value": 40.0 - rank}, bar_claims(upper)) == (
                    f"expected {39.0 - rank}, got {40.0 - rank}"
                )
                assert bar_fault(bar | {"n": 39}, bar_claims(upper)) == "its numbers do not fit together"
                assert bar_fault(bar, bar_claims(upper[1:])) == "its numbers do not fit together"
            else:
                assert found == f"{rank} is not the largest number of predictions that may lie beyond"


def test_a_bar_allows_five_percent_to_the_last_bit():
    """With α = 1 − 1/20 in a single draw none may lie beyond: P(Bin(1, α) ≤ 0) is 1 − α."""
    alpha = 0.95  # a float just below 19/20, so that 1 − α is just above 1/20
    assert Fraction(alpha) < Fraction(19, 20)
    bar = {"n": 1, "rank": 0, "alpha": alpha, "value": 1.0}
    assert "0 is not the largest" in bar_fault(bar, bar_claims([1.0]))
    assert bar_fault(bar | {"alpha": math.nextafter(alpha, 1)}, bar_claims([1.0])) is None
    for alpha in (0.0, 1.0, -0.5):
        assert bar_fault(bar | {"alpha": alpha}, bar_claims([1.0])) == "its numbers do not fit together"


def test_every_claim_is_proven_and_the_first_wrong_one_named():
    problem = problem_of([[1.0]], [[1.0], [-1.0]], offset=[-1.0])
    good = claim_of([0], lower=0.5, upper=1.5, mixture=([0], [1.5]), weighted=([0], [1.0]))
    assert prove(problem, [good, good]) is None
    with pytest.raises(ProofError, match=r"^the stretch of label set 1 is not proven: it is not predicted"):
        prove(problem, [good, good._replace(mixture=([0], [0.5]))])
    with pytest.raises(ProofError, match=r"^the stretch of prediction 0 is not proven: its evidence does not give"):
        prove(problem, [good._replace(lower=1.25), good], "prediction")


def test_the_rank_is_the_largest_with_five_percent_and_no_other_share():
    """Of two predictions none may lie beyond while P(Bin(2, α) ≤ 1) = 1 − α² exceeds 1/20."""
    for alpha, is_largest in [(0.97465, True), (0.9748, False)]:
        bar = {"n": 2, "rank": 0, "alpha": alpha, "value": 2.0}
        assert (bar_fault(bar, bar_claims([1.0, 2.0])) is None) == is_largest


def test_each_bound_of_four_constant_features_has_its_row():
    features, weight, offset = [[1, 2, 3, 4]] * 2, [[0, 0, 1, 0]], [-4]  # x_2 − 4 s > 0 and s > 0 and 3 s − x_2 ≥ 0
    problem = problem_of(weight, features, offset=offset)
    for j in range(4):
        found = conflict_fault(problem, claim_of([0], conflict=(0, 1, 1 + 3 + 4 + j)))
        assert (found is None) == (j == 2)
