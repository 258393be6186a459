"""The float proof that rows depend on each other with positive multipliers accepts nothing that exact numbers deny."""

from fractions import Fraction

import flint
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from labelproof.proof import conflicts
from labelproof.proof.conflicts import _bounded_multipliers, _inverse, _positive_dependence, conflict_faults
from labelproof.proof.labels import read_label_sets
from labelproof.proof.regions import integers, make_layer
from labelproof.proof.rounding import relative_error

few = settings(derandomize=True, database=None, deadline=None, max_examples=60)
UNIT = Fraction(1, 2**53)


def minors(rows):
    """Return the multipliers of n + 1 rows of width n by Cramer's rule: signed minors, in Fractions."""
    whole, denominators = zip(*(integers(row) for row in rows), strict=True)
    kept = [[row for k, row in enumerate(whole) if k != i] for i in range(len(rows))]
    return [(-1) ** i * int(flint.fmpz_mat(rest).det()) * denominators[i] for i, rest in enumerate(kept)]


def has_one_positive_dependence(rows):
    found = minors(rows)
    return min(found) > 0 or max(found) < 0


def exact(system):
    return [[Fraction(entry) for entry in row] for row in system.tolist()]


def worst_neighbour(system, i):
    """Return the exact rows within a unit of the floats that make multiplier i as small as they can, to first order."""
    size = len(system)
    K = np.vstack([system.T, np.ones(size)])
    try:
        R = np.linalg.inv(K)
    except np.linalg.LinAlgError:
        return exact(system)
    pull = np.sign(R[i, :-1])[None, :] * np.sign(system)  # λ changes by −R dK λ, and λ > 0
    rows = exact(system)
    return [
        [entry * (1 + int(sign) * UNIT) for entry, sign in zip(row, signs, strict=True)]
        for row, signs in zip(rows, pull.tolist(), strict=True)
    ]


def scaled(system):
    """Bring each row below 1 by a power of two, as the proof's caller does."""
    return np.ldexp(system, -np.frexp(np.abs(system).max(axis=1, keepdims=True))[1])


def random_system(rng, n):
    return rng.normal(size=(n + 1, n))


def with_a_multiplier_near_zero(rng, n):
    system = rng.normal(size=(n + 1, n)) * 2.0 ** rng.integers(-3, 4, size=(n + 1, 1))
    multipliers = rng.uniform(0.5, 1.0, size=n)
    multipliers[rng.integers(n)] = rng.choice([-1.0, 0.0, 1.0]) * 2.0 ** -rng.integers(42, 58)
    system[-1] = -(multipliers @ system[:-1])
    return system


def nearly_without_rank(rng, n):
    rank = rng.integers(1, n) if n > 1 else 1
    system = rng.integers(-3, 4, size=(n + 1, rank)) @ rng.integers(-3, 4, size=(rank, n)) + 0.0
    return system + rng.integers(-2, 3, size=system.shape) * 2.0 ** -rng.integers(40, 56)


def nearly_parallel(rng, n):
    system = np.ones((n + 1, 1)) * rng.normal(size=(1, n)) * rng.choice([-1.0, 1.0], size=(n + 1, 1))
    return system * (1 + rng.normal(size=system.shape) * 2.0 ** -rng.integers(8, 50))


def badly_scaled(rng, n):
    system = with_a_multiplier_near_zero(rng, n)
    return system * 2.0 ** rng.integers(-25, 1, size=(1, n))


FAMILIES = [random_system, with_a_multiplier_near_zero, nearly_without_rank, nearly_parallel, badly_scaled]


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("n", [1, 2, 3, 6])
def test_what_floats_accept_has_one_positive_dependence_within_a_unit_of_each_entry(family, n):
    rng = np.random.default_rng([FAMILIES.index(family), n])
    systems = np.array([scaled(family(rng, n)) for _ in range(100)])
    for system in systems[_positive_dependence(systems)]:
        assert has_one_positive_dependence(exact(system))
        smallest = int(np.argmin(np.abs(np.array(minors(exact(system)), dtype=object).astype(np.float64))))
        assert has_one_positive_dependence(worst_neighbour(system, smallest))


@few
@given(st.integers(1, 4).flatmap(lambda n: st.lists(st.integers(-3, 3), min_size=n * (n + 1), max_size=n * (n + 1))))
def test_floats_accept_the_dependences_of_small_integers_and_no_others(entries):
    n = int(len(entries) ** 0.5)
    system = np.array(entries, np.float64).reshape(n + 1, n)
    assert bool(_positive_dependence(system[None])[0]) == has_one_positive_dependence(exact(system))


def test_a_system_that_is_not_finite_is_not_accepted_and_disturbs_no_other():
    good = np.array([[1.0, 0.0], [0.0, 1.0], [-1.0, -1.0]])
    for value in (np.nan, np.inf, -np.inf):
        bad = good.copy()
        bad[0, 1] = value
        assert _positive_dependence(np.array([good, bad, good])).tolist() == [True, False, True]
        assert _positive_dependence(bad[None]).tolist() == [False]


def test_a_dependence_without_a_regular_matrix_is_not_accepted():
    line = np.array([[0.5, 0.5], [0.25, 0.25], [-0.75, -0.75]])
    for power in range(44, 60):
        for i in range(3):
            nearly = line.copy()
            nearly[i, 1] += 2.0**-power
            expected = has_one_positive_dependence(exact(nearly))
            assert expected or not _positive_dependence(nearly[None])[0]


# --- the bound itself, also for an inverse that is none ---------------------------------------------------


def solution(columns):
    """Return K⁻¹ e in Fractions."""
    found = minors([column[:-1] for column in columns])
    return [Fraction(m) / sum(found) for m in found]


def transposed(K):
    return [list(column) for column in zip(*[[Fraction(entry) for entry in row] for row in K.tolist()], strict=True)]


def exact_alpha(R, columns):
    """Return ‖I − R K‖, the largest sum of a row, in Fractions."""
    sums = [
        sum(abs((i == j) - sum(a * b for a, b in zip(row, column, strict=True))) for j, column in enumerate(columns))
        for i, row in enumerate(exact(R))
    ]
    return max(sums)


def matrices(rng, n, count, family=random_system):
    systems = np.array([scaled(family(rng, n)) for _ in range(count)])
    return np.concatenate([systems.transpose(0, 2, 1), np.ones((count, 1, n + 1))], axis=1)


def assert_bounds(columns, R, guess, error, alpha):
    """Compare with the exact numbers for one matrix, given by its exact columns."""
    assert alpha >= exact_alpha(R, columns)
    if alpha < 1:
        for value, bound, truth in zip(guess.tolist(), error.tolist(), solution(columns), strict=True):
            assert abs(Fraction(value) - truth) <= Fraction(bound)


def moved(columns, rng):
    """Move each entry but the ones of the last row by a unit."""
    signs = rng.choice([-1, 1], size=(len(columns), len(columns) - 1)).tolist()
    return [
        [entry * (1 + sign * UNIT) for entry, sign in zip(column, some, strict=False)] + [Fraction(1)]
        for column, some in zip(columns, signs, strict=True)
    ]


@pytest.mark.parametrize("n", [1, 3])
@pytest.mark.parametrize("power", [-1, -2, -20])
def test_the_bound_holds_for_every_matrix_that_is_taken_for_the_inverse(n, power, monkeypatch):
    rng = np.random.default_rng([n, -power])
    K = matrices(rng, n, 30)
    true = np.linalg.inv(K)
    for R in (true * (1 + np.ldexp(rng.uniform(-1, 1, K.shape), power)), true * (1 - np.ldexp(0.8, power))):
        monkeypatch.setattr(conflicts, "_inverse", lambda _, R=R: R)
        for matrix, *found in zip(K, R, *_bounded_multipliers(K), strict=True):
            assert_bounds(transposed(matrix), *found)


@pytest.mark.parametrize("family", FAMILIES)
def test_the_bound_holds_for_all_matrices_within_a_unit(family):
    rng = np.random.default_rng([9, FAMILIES.index(family)])
    K = matrices(rng, 3, 40, family)
    R = _inverse(K)
    for matrix, *found in zip(K, R, *_bounded_multipliers(K), strict=True):
        if np.isfinite(found[0]).all():
            assert_bounds(transposed(matrix), *found)
            assert_bounds(moved(transposed(matrix), rng), *found)


@pytest.mark.parametrize("family", FAMILIES)
def test_the_bound_allows_for_the_rounding_of_every_product_in_it(family):
    K = matrices(np.random.default_rng([5, FAMILIES.index(family)]), 3, 40, family)
    R, (guess, error, alpha) = np.abs(_inverse(K)), _bounded_multipliers(K)
    products = relative_error(4) * np.abs(K) @ np.abs(guess)[..., None]
    sound = alpha < 0.5
    assert sound.any() or family is nearly_parallel
    assert (error >= (R @ products)[..., 0])[sound].all()
    assert (alpha >= relative_error(4) * (R @ np.abs(K)).sum(axis=2).max(axis=1))[sound].all()


def test_a_stack_with_singular_matrices_is_inverted_but_for_those():
    good = np.array([[2.0, 0.0], [1.0, 1.0]])
    found = _inverse(np.array([good, np.ones((2, 2)), 2 * good, np.zeros((2, 2)), 4 * good]))
    assert np.isnan(found).all(axis=(1, 2)).tolist() == [False, True, False, True, False]
    assert [(found[i] * 2**k).tolist() for k, i in enumerate((0, 2, 4))] == [[[0.5, 0.0], [-0.5, 1.0]]] * 3


@pytest.mark.parametrize("n", [1, 2, 5, 12])
def test_the_bound_is_some_units_wide_where_the_matrix_is_far_from_singular(n):
    K = matrices(np.random.default_rng(n), n, 40)
    size = n + 1
    K[:, :-1] += 4 * np.eye(size)[:-1]
    _, error, alpha = _bounded_multipliers(K)
    assert alpha.max() <= 100 * (size + 8) ** 2 * float(UNIT)
    assert error.max() <= 100 * (size + 8) ** 2 * float(UNIT)


def test_a_product_that_underflows_hides_no_negative_multiplier(monkeypatch):
    s, t = 1e-25, 1e-299
    system = np.array([[0.5, 0.0, 0.0], [-0.5, s, 0.0], [0.0, -0.5, t], [0.0, -0.5, t / 2]])
    K = np.vstack([system.T, np.ones(4)])[None]
    truth = np.array([float(value) for value in solution(transposed(K[0]))])
    assert truth[2] < 0
    R = np.linalg.inv(K)
    R[0, 2:, 3] = s / 2  # two positive multipliers of the right sum: their product with 1e-299 is 0 in floats
    monkeypatch.setattr(conflicts, "_inverse", lambda _: R)
    guess, error, _ = _bounded_multipliers(K)
    assert (guess > 0).all()
    assert (np.abs(guess[0] - truth) <= error[0]).all()
    assert not _positive_dependence(system[None])[0]


def test_no_conflict_that_floats_can_prove_needs_exact_numbers(monkeypatch):
    def refuse(*_):
        raise AssertionError("an exact solve was asked for")

    monkeypatch.setattr(conflicts, "exact_multipliers", refuse)
    weight = np.array([[1.0, 0.0], [-1.0, 0.0], [0.0, 1.0], [0.0, -1.0], [3.0, 1.0], [-1.0, -1.0]])
    by_rule = {
        "sigmoid": [([0, 2, 5], [0, 2, 5]), ([0, 1], [0, 1]), ([], [2, 3])],
        "topk": [([0, 1], [0, 1, 2, 3]), ([2, 3, 4], [0, 1, 2, 3])],
    }
    for rule, cases in by_rule.items():
        for bias in (None, np.zeros(6)):
            sets, rows = zip(*cases, strict=True)
            layer = make_layer(weight, rule=rule, bias=bias)
            found = conflict_faults(layer, read_label_sets(list(sets), 6), [np.array(some) for some in rows])
            assert found == [None] * len(cases)
    box = make_layer(weight, bias=np.full(6, -3.0), domain=(-1.0, 2.0))
    assert (
        conflict_faults(box, read_label_sets([[0], [1]], 6), [np.array(r) for r in ([0, 6, 11], [1, 6, 9])])
        == [None] * 2
    )


@pytest.mark.parametrize(
    ("guess", "error", "alpha", "certain"),
    [
        ([0.5, 0.5], [0.4, 0.4], 0.25, True),
        ([0.5, 0.5], [0.4, 0.4], 0.75, False),
        ([0.5, 0.5], [0.4, 0.6], 0.25, False),
        ([-0.5, 1.0], [2.0, 2.0], 0.25, False),
        ([-0.5, 1.5], [0.1, 0.1], 0.25, False),
    ],
)
def test_a_dependence_is_positive_where_every_multiplier_exceeds_its_error(guess, error, alpha, certain, monkeypatch):
    monkeypatch.setattr(conflicts, "_surely_positive", lambda K: np.zeros(len(K), np.bool_))
    found = np.array([guess]), np.array([error]), np.array([alpha])
    monkeypatch.setattr(conflicts, "_bounded_multipliers", lambda _: found)
    assert _positive_dependence(np.ones((1, 2, 1))).tolist() == [certain]
