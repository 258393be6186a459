"""Nearly orthogonal rows, and normal numbers, prove what they are said to prove, with rounding counted."""

import itertools
import math

import numpy as np
import pytest

import labelproof as lp
from labelproof.theory.codes import Code, choose_code, codewords
from labelproof.theory.gaussian import columns_needed, gaussian_distance, width_bound
from labelproof.theory.incoherence import check_incoherence


def code_columns(n, code):
    columns = np.zeros((n, code.columns))
    columns[np.arange(n)[:, None], codewords(n, code).astype(int) + code.q * np.arange(code.length)] = 1
    return columns


def test_for_a_code_it_is_the_integer_check():
    code = choose_code(374, 5)
    columns = code_columns(374, code)
    found = check_incoherence(columns, 5)
    assert found.proven
    assert (found.low, found.high) == (pytest.approx(11), pytest.approx(10))
    assert not check_incoherence(columns, 6).proven
    columns[3, :] = columns[4, :]
    assert not check_incoherence(columns, 5).proven


@pytest.mark.parametrize("shift", [0.0, -0.05, 0.02])
def test_every_set_is_predicted_by_the_sum_of_its_rows(shift):
    random = np.random.default_rng(0)
    columns = random.choice([-1.0, 1.0], (12, 400)) / 20
    k = 3
    found = check_incoherence(columns, k, constant=0.5, shift=shift)
    assert found.proven
    for size in range(k + 1):
        for active in itertools.combinations(range(12), size):
            scores = columns @ columns[list(active)].sum(0) - shift * size
            inside = np.isin(np.arange(12), active)
            assert (scores[inside] >= found.low).all()
            assert (scores[~inside] <= found.high).all()
            x = np.concatenate([[-((found.low + found.high) / 2 + shift * size) / 0.5], columns[list(active)].sum(0)])
            rows = np.concatenate([np.full((12, 1), 0.5), columns], axis=1)
            relative = np.where(inside, 1, -1) * (rows @ x) / np.linalg.norm(rows, axis=1) / np.linalg.norm(x)
            assert relative.min() >= found.margin > 0


def test_a_block_of_rows_at_a_time_gives_the_same(monkeypatch):
    columns = np.random.default_rng(0).normal(size=(50, 30))
    whole = check_incoherence(columns, 4)
    monkeypatch.setattr("labelproof.theory.incoherence.BLOCK", 7)
    parts = check_incoherence(columns, 4)
    assert (whole.low, whole.high) == (pytest.approx(parts.low), pytest.approx(parts.high))


def test_a_gap_that_rounding_could_make_is_no_proof():
    columns = np.eye(4)
    columns[0, 1] = columns[1, 0] = 1 - 2.0**-52  # lo exceeds hi by less than the bound on rounding
    assert not check_incoherence(columns, 1).proven


@pytest.mark.parametrize(
    ("columns", "options", "message"),
    [
        (np.ones(3), {}, "columns must be a matrix of finite numbers"),
        (np.full((2, 2), np.nan), {}, "columns must be a matrix of finite numbers"),
        (np.eye(3), {"constant": 0.0}, "constant must be a number other than 0"),
    ],
)
def test_a_wrong_argument_of_the_check_is_named(columns, options, message):
    with pytest.raises(ValueError, match=message):
        check_incoherence(columns, 1, **options)


@pytest.mark.parametrize(("n", "k"), [(100, 3), (374, 5), (1000, 20)])
def test_the_width_bound_exceeds_and_nearly_meets_what_is_sampled(n, k):
    random, found = np.random.default_rng(0), []
    for _ in range(200):
        g = np.sort(random.standard_normal(n))[::-1]
        squares = [(np.maximum(g[:k] + t, 0) ** 2).sum() + (np.maximum(-g[k:] - t, 0) ** 2).sum() for t in SHIFTS]
        found.append(math.sqrt(min(squares)))  # at least the width of this g, which has no closed form
    error = np.std(found) / math.sqrt(len(found))
    assert width_bound(n, k) > np.mean(found) - 4 * error
    assert width_bound(n, k) < 1.05 * np.mean(found)


SHIFTS = np.linspace(0, 4, 81)


def test_the_bound_is_enclosed_whatever_point_the_search_ends_at():
    assert width_bound(2689, 25) == pytest.approx(22.352, abs=1e-3)
    assert [columns_needed(n, k) for n, k in ((2689, 10), (8921, 20))] == [454, 859]


def test_more_columns_and_a_larger_failure_bring_more_distance():
    base = gaussian_distance(374, 5, 300, 1e-6)
    assert gaussian_distance(374, 5, 400, 1e-6) > base > 0
    assert gaussian_distance(374, 5, 300, 1e-3) > base > gaussian_distance(374, 6, 300, 1e-6)


@pytest.mark.parametrize("failure", [0.0, 1.0, -1.0])
def test_a_failure_that_is_no_probability_is_refused(failure):
    with pytest.raises(ValueError, match="failure must be a probability between 0 and 1"):
        gaussian_distance(100, 3, 50, failure)


def test_hulls_of_drawn_rows_are_as_far_apart_as_proven():
    n, k, m = 60, 2, 200
    rows = np.random.default_rng(0).standard_normal((n, m))
    weight = np.concatenate([np.full((n, 1), math.sqrt(m)), rows], axis=1)
    assert (lp.verify(weight, [[i, i + 7] for i in range(50)]).status == 1).all()
    assert gaussian_distance(n, k, m, 1e-6) > 0
    assert Code(7, 2, 3).k == 2
