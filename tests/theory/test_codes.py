"""Codes are what their theorem says, for prime powers too, and the smallest or best of their kind."""

import itertools

import numpy as np
import pytest

from labelproof.theory.ceilings import gap_ceiling, margin_ceiling
from labelproof.theory.code_checks import covered_ones
from labelproof.theory.codes import Code, choose_code, codewords, switching_set, widest_k
from labelproof.theory.fields import field_of, is_prime_power


def shared(symbols):
    counts = (symbols[:, None, :] == symbols[None]).sum(2)
    np.fill_diagonal(counts, 0)
    return counts


@pytest.mark.parametrize("q", [2, 3, 4, 5, 8, 9, 16, 25, 27])
def test_a_field_is_one(q):
    field, x = field_of(q), np.arange(q)
    a, b, c = x[:, None, None], x[None, :, None], x[None, None, :]
    assert np.array_equal(field.multiply(a, field.add(b, c)), field.add(field.multiply(a, b), field.multiply(a, c)))
    assert np.array_equal(field.multiply(field.multiply(a, b), c), field.multiply(a, field.multiply(b, c)))
    table = field.multiply(x[:, None], x[None])
    assert np.array_equal(np.sort(table[1:], axis=1), np.tile(x, (q - 1, 1)))  # every other element has an inverse
    assert np.array_equal(np.sort(field.add(x[:, None], x[None]), axis=1), np.tile(x, (q, 1)))


@pytest.mark.parametrize("q", [0, 1, 6, 12, 100])
def test_no_field_has_a_size_that_is_no_prime_power(q):
    assert not is_prime_power(q)
    with pytest.raises(ValueError, match=f"q must be a power of a prime, got {q}"):
        field_of(q)


@pytest.mark.parametrize(
    "code", [Code(5, 2, 6), Code(7, 3, 8), Code(8, 2, 9), Code(9, 3, 10), Code(4, 4, 5), Code(16, 2, 3)]
)
def test_two_labels_share_fewer_ones_than_they_have_coefficients(code):
    symbols = codewords(min(code.capacity, 500), code)
    assert shared(symbols).max() == code.coefficients - 1
    assert symbols.max() < code.q


def test_every_column_serves_equally_many_labels():
    symbols = codewords(121 * 3, Code(11, 3, 11))
    for point in symbols.T:
        assert (np.bincount(point, minlength=11) == 33).all()


@pytest.mark.parametrize("k", [0, 1, 2, 5, 40])
def test_covered_ones_are_counted_as_by_hand(k):
    symbols = np.random.default_rng(0).integers(0, 4, (30, 6))
    by_hand = np.sort(shared(symbols), axis=1)[:, ::-1][:, :k].sum(1).max() if k else 0
    assert covered_ones(symbols, Code(4, 2, 6), k) == by_hand


@pytest.mark.parametrize(
    ("n", "k", "columns"),
    [(152, 8, 117), (374, 5, 121), (2689, 10, 483), (2689, 25, 1378), (8921, 20, 1681), (670000, 8, 725), (20, 6, 20)],
)
def test_the_shortest_codes_are_those_of_the_tables(n, k, columns):
    code = choose_code(n, k)
    assert code.columns == columns
    assert code.gap(k) >= 1
    assert code.capacity >= n


def test_no_code_of_fewer_columns_exists_by_exhaustion():
    for n, k in itertools.product((30, 100, 374), (1, 2, 3, 5)):
        every = [
            q * (k * (c - 1) + 1)
            for q in range(2, n)
            for c in range(2, 10)
            if is_prime_power(q) and q**c >= n and k * (c - 1) + 1 <= q + 1
        ]
        assert choose_code(n, k).columns == min([n, *every])


def test_within_a_budget_the_margin_is_the_largest_by_exhaustion():
    n, k, budget = 374, 5, 250
    every = [
        Code(q, c, length)
        for q in range(2, budget)
        for c in range(2, 8)
        for length in range(2, q + 2)
        if is_prime_power(q) and q**c >= n and q * length <= budget and length > k * (c - 1)
    ]
    best = max(code.margin(k) for code in every)
    assert choose_code(n, k, budget).margin(k) == pytest.approx(best)


def test_the_widest_k_fits_and_the_next_does_not():
    for n, budget in ((2689, 640), (374, 121), (8921, 900)):
        k = widest_k(n, budget)
        assert choose_code(n, k).columns <= budget < choose_code(n, k + 1).columns


def test_a_switching_set_balances_in_every_column():
    code = Code(13, 2, 5)
    active = list(switching_set(code))
    assert len(active) == 13
    assert covered_ones(codewords(169, code), code, code.k) < code.length


@pytest.mark.parametrize("code", [Code(9, 2, 4), Code(20, 1, 1), Code(5, 2, 5)])
def test_a_switching_set_needs_a_prime_and_points_to_spare(code):
    with pytest.raises(ValueError, match="code must have two coefficients, a prime q and fewer than q points"):
        switching_set(code)


@pytest.mark.parametrize(("n", "k"), [(3, 1), (7, 3), (10, 3), (50, 5)])
def test_rows_with_equal_angles_attain_the_ceiling_and_nothing_exceeds_it(n, k):
    def margin(r):  # of rows whose products are all r: the distance of a mixture of both sides from 0
        a = np.linspace(0, 1, 4001)
        return np.sqrt(((1 - r) * (a**2 / k + (1 - a) ** 2 / (n - k)) + r * (1 - 2 * a) ** 2).min())

    found = max(margin(r) for r in np.linspace(-1 / (n - 1), 1, 4001))
    assert found == pytest.approx(margin_ceiling(n, k), rel=1e-4)


def test_the_simplex_attains_the_ceiling_of_the_gap():
    n, k = 9, 3
    rows = np.eye(n) - 1 / n
    rows /= np.linalg.norm(rows[0])
    x = rows[:k].sum(0)
    scores = rows @ x / np.linalg.norm(x)
    assert scores[:k].min() - scores[k:].max() == pytest.approx(gap_ceiling(n, k))


@pytest.mark.parametrize("ceiling", [margin_ceiling, gap_ceiling])
def test_a_ceiling_needs_more_than_twice_as_many_labels(ceiling):
    with pytest.raises(ValueError, match="n_labels must be an integer of at least 7, got 6"):
        ceiling(6, 3)
