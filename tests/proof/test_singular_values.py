"""The cheap proof of positive multipliers rests on a lower bound of the least singular value, which must be one."""

from fractions import Fraction

import flint
import numpy as np
import pytest

from labelproof.proof import conflicts
from labelproof.proof.conflicts import _factor, _least_square, _positive_dependence, _surely_positive
from labelproof.proof.rounding import relative_error

UNIT = Fraction(1, 2**53)


def random_matrix(rng, n):
    return rng.normal(size=(n, n)) / np.sqrt(n)


def nearly_singular(rng, n):
    K = random_matrix(rng, n)
    K[:, -1] = K[:, :-1].sum(axis=1) + rng.normal(size=n) * 2.0 ** -rng.integers(10, 50)
    return K


def singular(rng, n):
    K = rng.integers(-2, 3, size=(n, n)) / 4
    K[:, -1] = K[:, 0]
    return K


FAMILIES = [random_matrix, nearly_singular, singular]


def stack(family, n, count=40):
    rng = np.random.default_rng([FAMILIES.index(family), n])
    return np.array([np.vstack([family(rng, n)[:-1], np.full(n, 0.5)]) for _ in range(count)])


def exact(K, rng=None):
    """Return the entries as Fractions, each moved by a unit if there are random numbers to choose which way."""
    signs = np.zeros(K.shape, int) if rng is None else rng.choice([-1, 1], size=K.shape)
    pairs = zip(K.ravel().tolist(), signs.ravel().tolist(), strict=True)
    return np.array([Fraction(value) * (1 + sign * UNIT) for value, sign in pairs], object).reshape(K.shape)


def is_lower_bound(bound, K):
    """Return whether K Kᵀ − bound·I has no negative eigenvalue, so that its principal minors are not negative."""
    n = len(K)
    gram = K @ K.T - Fraction(bound) * np.eye(n, dtype=int).astype(object)
    # a little is added, so that the leading minors alone tell
    gram = gram + Fraction(1, 10**40) * np.eye(n, dtype=int).astype(object)
    rational = [[flint.fmpq(Fraction(c).numerator, Fraction(c).denominator) for c in row] for row in gram.tolist()]
    return all(flint.fmpq_mat([row[:k] for row in rational[:k]]).det() > 0 for k in range(1, n + 1))


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("n", [2, 3, 5])
def test_the_bound_is_below_the_least_singular_value_of_every_matrix_within_a_unit(family, n):
    K = stack(family, n)
    rng = np.random.default_rng(n)
    with np.errstate(all="ignore"):
        bounds, _ = _least_square(K)
    for matrix, bound in zip(K, bounds.tolist(), strict=True):
        if np.isfinite(bound):
            assert is_lower_bound(bound, exact(matrix))
            assert is_lower_bound(bound, exact(matrix, rng))


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("off", [0.0, -1.0, 0.5, 1e-3, 1e-7])
def test_the_bound_holds_whatever_is_taken_for_the_factor(family, off, monkeypatch):
    K = stack(family, 3)
    grams = K @ K.transpose(0, 2, 1)
    L = np.linalg.cholesky(grams + 1e-12 * np.eye(3)) * (1 + off)
    monkeypatch.setattr(conflicts, "_factor", lambda _: L)
    for matrix, bound in zip(K, _least_square(K)[0].tolist(), strict=True):
        assert is_lower_bound(bound, exact(matrix))


@pytest.mark.parametrize("panel", [1, 2, 3, 64])
def test_all_that_a_wrong_factor_leaves_is_counted_in_panels_of_any_width(panel, monkeypatch):
    K = stack(random_matrix, 7, 5)
    L = np.tril(stack(random_matrix, 7, 5)[::-1])
    monkeypatch.setattr(conflicts, "_factor", lambda _: L)
    monkeypatch.setattr(conflicts, "PANEL", panel)
    left = np.linalg.norm(K @ K.transpose(0, 2, 1) - L @ L.transpose(0, 2, 1), axis=(1, 2))
    assert _least_square(K)[0] == pytest.approx(-1.01 * left, rel=1e-9)


@pytest.mark.parametrize(("n", "panel"), [(2, 64), (9, 64), (60, 64), (60, 7), (130, 64)])
def test_the_bound_allows_for_the_rounding_of_both_products(n, panel, monkeypatch):
    monkeypatch.setattr(conflicts, "PANEL", panel)
    K = stack(random_matrix, n, 5)
    bounds, L = _least_square(K)
    s = 8 * relative_error(n) * (K**2).sum(axis=(1, 2))
    share = relative_error(n) * ((K**2).sum(axis=(1, 2)) + (L**2).sum(axis=(1, 2)))
    assert (bounds <= s - 2 * share).all()
    assert (bounds >= s - 3 * share).all()
    assert (bounds > 0).all()


def test_matrices_that_have_no_factor_disturb_no_others():
    good = np.array([[4.0, 0.0], [0.0, 9.0]])
    found = _factor(np.array([good, -good, good, np.zeros((2, 2))]))
    assert np.isnan(found).all(axis=(1, 2)).tolist() == [False, True, False, True]
    assert found[2].tolist() == [[2.0, 0.0], [0.0, 3.0]]


def system(multipliers, seed=0):
    """Return rows, about as long as 1, whose only dependence has these multipliers but for rounding."""
    lam = np.array(multipliers)
    rows = np.random.default_rng(seed).normal(size=(len(lam), len(lam) - 1)) / (2 * len(lam))
    rows[-1] = -(lam[:-1] @ rows[:-1]) / lam[-1]
    return rows


def matrix(rows):
    return np.vstack([rows.T, np.full(len(rows), 0.5)])[None]


@pytest.mark.parametrize("n", [2, 4, 12, 50])
def test_well_conditioned_conflicts_need_no_inverse(n, monkeypatch):
    def refuse(K):
        assert not len(K), "an inverse was asked for"
        return np.empty((0, n)), np.empty((0, n)), np.empty(0)

    monkeypatch.setattr(conflicts, "_bounded_multipliers", refuse)
    systems = np.array([system(np.random.default_rng(i).uniform(0.5, 1, n), i) for i in range(20)])
    assert _positive_dependence(systems).all()


@pytest.mark.parametrize("least", [-1e-3, -1e-12, 0.0])
def test_a_multiplier_that_is_not_positive_is_never_taken_for_one(least, monkeypatch):
    rows = system([1.0, least, 0.7, 0.9])
    K = matrix(rows)
    assert not _surely_positive(K)[0]
    assert not _positive_dependence(rows[None])[0]
    for wrong in (np.ones((4, 1)), np.full((4, 1), 1e-300), np.full((4, 1), 1e300), np.full((4, 1), np.nan)):
        monkeypatch.setattr(conflicts, "_solutions", lambda *_, wrong=wrong: wrong[None])
        assert not _surely_positive(K)[0]


def test_a_guess_is_believed_only_as_far_as_its_residual_allows(monkeypatch):
    K = matrix(system([0.5, 0.6, 0.7, 0.9]))
    truth = np.linalg.solve(K[0], np.eye(4)[:, -1:])
    square = float(_least_square(K)[0][0])
    away = np.array([1.0, -1.0, 1.0, -1.0])[:, None] / 2
    for share, expected in ((0.1, True), (0.7, True), (1.5, False)):
        step = np.linalg.solve(K[0], away) * share * truth.min() * np.sqrt(square)  # changes the residual by so much
        monkeypatch.setattr(conflicts, "_solutions", lambda *_, step=step: (truth + step)[None])
        least = float((truth + step).min())
        assert least > 0.9 * truth.min()
        assert bool(_surely_positive(K)[0]) == expected


def test_rounding_of_the_residual_is_part_of_it(monkeypatch):
    K = matrix(system([0.5, 0.6, 0.7, 0.9]))
    truth = np.linalg.solve(K[0], np.eye(4)[:, -1:])
    monkeypatch.setattr(conflicts, "_solutions", lambda *_: truth[None])
    unit = relative_error(4) * np.linalg.norm(np.abs(K[0]) @ np.abs(truth) + np.eye(4)[:, -1:])
    for share, expected in ((0.5, False), (3.0, True)):
        square = np.array([(share * unit / truth.min()) ** 2])
        monkeypatch.setattr(conflicts, "_least_square", lambda K, square=square: (square, K))
        assert bool(_surely_positive(K)[0]) == expected
    K[:, :-1] *= 1000  # now the products are that much larger than their sum
    unit = relative_error(4) * np.linalg.norm(np.abs(K[0]) @ np.abs(truth) + np.eye(4)[:, -1:])
    square = np.array([(0.5 * unit / truth.min()) ** 2])
    monkeypatch.setattr(conflicts, "_least_square", lambda K, square=square: (square, K))
    assert not _surely_positive(K)[0]
    for nothing in (0.0, -1.0, np.nan):
        monkeypatch.setattr(conflicts, "_least_square", lambda K, nothing=nothing: (np.array([nothing]), K))
        assert not _surely_positive(K)[0]


@pytest.mark.parametrize("sign", [-1, 1])
def test_rounding_adds_to_a_residual_of_either_sign(sign, monkeypatch):
    monkeypatch.setattr(conflicts, "relative_error", lambda _: 1e-6)
    K, e = matrix(system([0.5, 0.6, 0.7, 0.9])), np.eye(4)[:, -1:]
    truth = np.linalg.solve(K[0], e)
    share = 1e-6 * (np.abs(K[0]) @ np.abs(truth) + e)
    guess = np.linalg.solve(K[0], e - sign * share)  # whose residual is as large as the share
    monkeypatch.setattr(conflicts, "_solutions", lambda *_: guess[None])
    for times, expected in ((1.5, False), (2.5, True)):
        square = np.array([(times * np.linalg.norm(share) / guess.min()) ** 2])
        monkeypatch.setattr(conflicts, "_least_square", lambda K, square=square: (square, K))
        assert bool(_surely_positive(K)[0]) == expected
