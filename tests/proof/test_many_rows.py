"""Conflicts of more rows than they need: the nearest dependence of the rows must be positive, for certain."""

from fractions import Fraction
from operator import mul

import flint
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from standalone_cases import layer_of

from labelproof.proof import conflicts, many_rows
from labelproof.proof.conflicts import _float_systems, conflict_faults, exact_multipliers
from labelproof.proof.labels import read_label_sets
from labelproof.proof.many_rows import _is_proven, _least_square, is_surely_positive, nearest_dependence
from labelproof.proof.regions import make_layer
from labelproof.proof.rounding import relative_error
from labelproof.proof.standalone import conflict_fault
from labelproof.proof.standalone import nearest_dependence as nearest_in_integers

SINGLE, DOUBLE = np.float32, np.float64
NO_NEAREST = "expected rows with a nearest dependence, of positive multipliers, got none"


def scaled(rows):
    """Rows over the power of two just above their largest number, by the definition."""
    exponents = np.frexp(np.abs(rows).max(axis=1))[1]
    return rows / np.ldexp(1.0, exponents)[:, None]


def nearest(rows):
    """The nearest dependence of rows as they are, in fractions, by Gauss and Jordan; None if columns depend."""
    X = [[Fraction(float(c)) for c in row] for row in rows]
    columns = [column for column in zip(*X, strict=True) if any(column)]
    lines = [[sum(a * b for a, b in zip(one, other, strict=True)) for other in columns] for one in columns]
    lines = [[*line, sum(column)] for line, column in zip(lines, columns, strict=True)]
    for j in range(len(lines)):
        place = next((i for i in range(j, len(lines)) if lines[i][j]), None)
        if place is None:
            return None
        lines[j], lines[place] = lines[place], lines[j]
        lines[j] = [c / lines[j][j] for c in lines[j]]
        for i in range(len(lines)):
            if i != j:
                lines[i] = [a - lines[i][j] * b for a, b in zip(lines[i], lines[j], strict=True)]
    z = [line[-1] for line in lines]
    return [1 - sum(c[i] * factor for c, factor in zip(columns, z, strict=True)) for i in range(len(X))]


def is_lower_bound(bound, X):
    """Whether Xᵀ X − bound·I has no negative eigenvalue, so that its leading minors are not negative."""
    exact = np.array([[Fraction(float(c)) for c in row] for row in X], object)
    gram = exact.T @ exact - (Fraction(bound) - Fraction(1, 10**40)) * np.eye(X.shape[1], dtype=int).astype(object)
    rational = [[flint.fmpq(c.numerator, c.denominator) for c in row] for row in gram.tolist()]
    return all(flint.fmpq_mat([row[:k] for row in rational[:k]]).det() > 0 for k in range(1, len(rational) + 1))


def rows_around_zero(rng, n, d):
    """Rows with a positive dependence: those on one side are opposed by those on the other."""
    rows = rng.normal(size=(n, d))
    rows[0] -= 0.9 * rows.sum(axis=0)
    return rows


# --- the definition -----------------------------------------------------------------------------------------

entries = st.integers(-3, 3) | st.sampled_from([2**-30, 2.0**40, 0.1, 1e-3, -7.5, 1 / 3])


@settings(max_examples=150, deadline=None)
@given(st.data())
def test_floats_accept_only_rows_whose_nearest_dependence_is_positive(data):
    d = data.draw(st.integers(1, 3))
    n = data.draw(st.integers(d + 2, 4 * d + 3))
    rows = np.array(data.draw(st.lists(st.lists(entries, min_size=d, max_size=d), min_size=n, max_size=n)), float)
    expected = nearest(scaled(rows))
    is_positive = expected is not None and min(expected) > 0
    used = rows.any(axis=0)
    assert is_positive or not is_surely_positive(scaled(rows)[:, used])
    layer = make_layer(rows)
    sets = read_label_sets([list(range(n))], n)
    assert (conflict_faults(layer, sets, [np.arange(n)]) == [None]) == is_positive
    multipliers = exact_multipliers(layer, sets[0], np.arange(n))
    assert (multipliers is not None) == is_positive
    exact = [[Fraction(float(c)) for c in row] for row in rows]
    if multipliers is not None and is_positive:
        powers = [2 ** Fraction(int(e)) for e in np.frexp(np.abs(rows).max(axis=1))[1]]
        wanted = [value / power for value, power in zip(expected, powers, strict=True)]
        assert len({a / b for a, b in zip(multipliers, wanted, strict=True)}) == 1
        assert not any(sum(map(mul, multipliers, column)) for column in zip(*exact, strict=True))
    unit = max(c.denominator for row in exact for c in row)
    alone = layer_of([[int(c * unit) for c in row] for row in exact])
    assert (conflict_fault(alone, frozenset(range(n)), list(range(n))) is None) == is_positive


def test_the_two_exact_solutions_agree_and_cancel_the_rows():
    rng = np.random.default_rng(5)
    for n, d in [(4, 1), (7, 3), (12, 4)]:
        rows = rng.integers(-9, 10, size=(n, d)).tolist()
        rows[0] = [-sum(column) for column in zip(*rows[1:], strict=True)]
        one, other = nearest_dependence(rows), nearest_in_integers(rows)
        assert one is not None
        assert len({a / b for a, b in zip(one, other, strict=True)}) == 1
        assert all(sum(m * c for m, c in zip(other, column, strict=True)) == 0 for column in zip(*rows, strict=True))


def test_rows_of_zeros_have_the_dependence_of_equal_numbers():
    assert nearest_dependence([[0, 0]] * 4) == [1] * 4
    assert nearest_in_integers([[0, 0]] * 4) == [1] * 4
    assert not is_surely_positive(np.empty((4, 0)))
    layer = make_layer(np.zeros((4, 2)))
    assert conflict_faults(layer, read_label_sets([[0]], 4), [np.arange(4)]) == [None]


def test_columns_that_depend_on_each_other_have_no_nearest_dependence():
    rows = [[1, 2], [-1, -2], [1, 2], [-1, -2]]
    assert nearest_dependence(rows) is None
    assert nearest_in_integers(rows) is None
    assert not is_surely_positive(np.array(rows) / 4)
    fault = conflict_faults(make_layer(np.array(rows, float)), read_label_sets([[0, 1, 2, 3]], 4), [np.arange(4)])
    assert fault == [NO_NEAREST]
    fault = conflict_fault(layer_of(rows), frozenset(range(4)), [0, 1, 2, 3])
    assert fault == "its conflict's rows have no nearest dependence, of positive multipliers"


def test_a_nearest_dependence_with_a_number_that_is_not_positive_proves_nothing():
    for rows in ([[1.0], [1.0], [1.0]], [[8.0], [8.0], [0.0]], [[4.0], [0.0], [4.0]]):
        assert nearest_dependence([[int(c * 2**40) for c in row] for row in rows]) is None
        fault = conflict_faults(make_layer(np.array(rows)), read_label_sets([[0, 1, 2]], 3), [np.arange(3)])
        assert fault == [NO_NEAREST]


def test_the_power_of_two_of_a_row_decides_what_is_nearest():
    first, twice = nearest_dependence([[3], [-4], [1]]), nearest_dependence([[3], [-8], [1]])
    assert [a / b for a, b in zip(first, twice, strict=True)] == [1, 2, 1]
    for rows in ([[3], [-4], [1]], [[5, 1], [-3, 2], [1, -8], [-2, 4]]):
        expected = nearest(scaled(np.array(rows, float)))
        lengths = [max(map(abs, row)).bit_length() for row in rows]
        found = nearest_dependence(rows)
        if min(expected) > 0:
            assert found == [value / 2**length for value, length in zip(expected, lengths, strict=True)]


# --- the bound of the least singular value ------------------------------------------------------------------


@pytest.mark.parametrize("dtype", [SINGLE, DOUBLE])
@pytest.mark.parametrize("chunk", [1, 3, 256])
@pytest.mark.parametrize("kind", ["random", "nearly dependent", "dependent", "of single precision", "cancelling"])
def test_the_bound_is_below_the_least_singular_value(dtype, chunk, kind, monkeypatch):
    monkeypatch.setattr(many_rows, "CHUNK", chunk)
    rng = np.random.default_rng(chunk)
    proven = 0
    for _ in range(12):
        X = rng.normal(size=(9, 4)) / 4
        if kind == "nearly dependent":
            X[:, -1] = X[:, :-1].sum(axis=1) + rng.normal(size=9) * 2.0 ** -rng.integers(5, 50)
        elif kind == "dependent":
            X[:, -1] = X[:, 0]
        elif kind == "of single precision":
            X = X.astype(np.float32).astype(float)
        elif kind == "cancelling":
            X[1::2] = -X[::2][: len(X[1::2])] * (1 + 2.0**-20)
        with np.errstate(all="ignore"):
            square, total, _ = _least_square(X, dtype)
        assert total == pytest.approx((X**2).sum(), rel=1e-3)
        if square > 0:
            proven += 1
            assert is_lower_bound(square, X)
    assert proven == {"random": 12, "of single precision": 12, "dependent": 0, "cancelling": 12}.get(kind, proven)


@pytest.mark.parametrize("dtype", [SINGLE, DOUBLE])
@pytest.mark.parametrize("off", [-1.0, -0.5, -1e-3, 1e-3, 0.5])
def test_the_bound_holds_whatever_is_taken_for_the_factor(dtype, off, monkeypatch):
    rng = np.random.default_rng(3)
    syrk, factor, solve = many_rows.BLAS[dtype]
    wrong = lambda gram, lower: (factor(gram, lower=lower)[0] * dtype(1 + off), 0)  # noqa: E731
    monkeypatch.setitem(many_rows.BLAS, dtype, (syrk, wrong, solve))
    for _ in range(10):
        X = rng.normal(size=(8, 3)) / 4
        square, _, _ = _least_square(X, dtype)
        assert square < 0 or is_lower_bound(square, X)
        gram = X.T @ X
        assert square == pytest.approx(-np.linalg.norm(gram * (2 * off + off * off)), rel=0.7)


SIZES = [(40, 9, 256, 64), (40, 9, 4, 2), (700, 130, 256, 64), (300, 70, 64, 32)]


@pytest.mark.parametrize("dtype", [SINGLE, DOUBLE])
@pytest.mark.parametrize(("n", "d", "chunk", "panel"), SIZES)
def test_the_bound_allows_for_the_rounding_of_both_products(n, d, chunk, panel, dtype, monkeypatch):
    monkeypatch.setattr(many_rows, "CHUNK", chunk)
    monkeypatch.setattr(many_rows, "PANEL", panel)
    X = np.random.default_rng(n).normal(size=(n, d)) / np.sqrt(d)
    square, total, L = _least_square(X, dtype)
    chunks = -(-n // chunk)
    share = relative_error(chunk + 2 * chunks) * (2.0**29 if dtype is SINGLE else 1.0)
    both = share * (total + (L.astype(float) ** 2).sum())
    s = 3 * share * total
    assert s - 1.05 * both < square < s - 1.009 * both
    assert square > 0
    assert square <= np.linalg.svd(X, compute_uv=False)[-1] ** 2
    np.testing.assert_allclose(L @ L.T, X.T @ X - s * np.eye(d), atol=1e-4 * n)


@pytest.mark.parametrize("panel", [1, 2, 3, 64])
def test_all_that_a_wrong_factor_leaves_is_counted(panel, monkeypatch):
    monkeypatch.setattr(many_rows, "PANEL", panel)
    rng = np.random.default_rng(8)
    X, L = rng.normal(size=(30, 7)) / 3, np.asfortranarray(np.tril(rng.normal(size=(7, 7))))
    syrk, _, solve = many_rows.BLAS[DOUBLE]
    monkeypatch.setitem(many_rows.BLAS, DOUBLE, (syrk, lambda *_, **__: (L, 0), solve))
    left = X.T @ X - L @ L.T
    least, most = np.linalg.norm(left), np.sqrt(2) * np.linalg.norm(left)  # the diagonal may count twice
    assert -1.011 * most <= _least_square(X, DOUBLE)[0] <= -1.009 * least


def test_a_factor_that_fails_gives_no_bound():
    X = np.ones((5, 2))
    square, total, _ = _least_square(X, DOUBLE)
    assert not square > 0
    assert total == 10
    assert not _is_proven(X, DOUBLE)
    assert not is_surely_positive(np.full((5, 2), np.nan))


# --- what is proven with it ---------------------------------------------------------------------------------


def test_single_precision_is_enough_for_most_and_double_for_more():
    rng = np.random.default_rng(1)
    half = rng.normal(size=(30, 20))
    X = scaled(np.concatenate([half, -half + 0.05 * rng.normal(size=half.shape)])) / 8
    assert _is_proven(X, SINGLE)
    near = X.copy()
    near[:, 1] = near[:, 0] + 1e-4 * near[:, 1]
    assert not _is_proven(near, SINGLE)
    assert _is_proven(near, DOUBLE)
    assert is_surely_positive(near)
    near[:, 1] = near[:, 0]
    assert not is_surely_positive(near)


@pytest.mark.parametrize(("n", "d", "single"), [(60, 20, True), (4390, 2432, False), (1503, 768, True), (5, 1, True)])
def test_single_precision_is_tried_where_it_would_do_for_random_rows(n, d, single, monkeypatch):
    tried = []
    monkeypatch.setattr(many_rows, "_is_proven", lambda _, dtype: tried.append(dtype))
    assert not is_surely_positive(np.empty((n, d)))
    assert tried == ([SINGLE, DOUBLE] if single else [DOUBLE])


def test_what_single_precision_proves_is_not_proven_again(monkeypatch):
    tried = []
    monkeypatch.setattr(many_rows, "_is_proven", lambda _, dtype: tried.append(dtype) or True)
    assert is_surely_positive(np.empty((60, 20)))
    assert tried == [SINGLE]


def test_double_precision_proves_rows_whose_columns_are_nearly_dependent():
    rng = np.random.default_rng(9)
    half = rng.normal(size=(400, 200))
    X = scaled(np.concatenate([half, -half + 0.05 * rng.normal(size=half.shape)])) / 32
    X[:, 1] = X[:, 0] + 1e-3 * X[:, 1]
    assert _is_proven(X, DOUBLE)


@pytest.mark.parametrize("by", [0.9999, 1.0001])
@pytest.mark.parametrize(("z", "size"), [((0.3, 0.1), 8.0), ((0.01, 0.0), 1.0), ((0.0, 0.0), 0.1)])
def test_what_is_left_must_stay_below_the_least_number_times_sigma(z, size, by, monkeypatch):
    """With numbers given for σ, Σ X², z and rounding the comparison is the one of the docstring, close to equality."""
    X = np.array([[0.5, 0.0], [-0.5, 0.0], [0.0, 0.5], [0.0, -0.5], [0.25, 0.25]])
    monkeypatch.setattr(many_rows, "relative_error", lambda terms: 0.002 * terms)
    guess, unit = 1 - X @ z, 0.01
    residual = np.linalg.norm(guess @ X) + unit * size * np.linalg.norm(guess)
    epsilon = unit * (np.sqrt(5) + size * np.linalg.norm(z))
    sigma = 1.01 * residual / (guess.min() - 1.01 * epsilon) * by
    monkeypatch.setattr(many_rows, "_least_square", lambda *_: (sigma**2, size**2, np.eye(2)))
    monkeypatch.setattr(many_rows, "_solution", lambda *_: np.array(z))
    assert _is_proven(X, DOUBLE) == (by > 1)


def test_the_rounding_of_the_guess_counts(monkeypatch):
    X = np.array([[0.5], [-0.5], [0.5], [-0.5]])
    z = np.array([2 - 2.0**-40])  # the guess is 2⁻⁴¹ at two rows
    for size, expected in ((1.0, True), (2.0**12, False)):
        monkeypatch.setattr(many_rows, "_least_square", lambda *_, size=size: (1e40, size**2, np.eye(1)))
        monkeypatch.setattr(many_rows, "_solution", lambda *_: z)
        assert _is_proven(X, DOUBLE) == expected


@pytest.mark.parametrize("square", [0.0, -1.0, np.nan])
def test_without_a_bound_nothing_is_proven(square, monkeypatch):
    X = np.array([[0.5], [-0.5], [0.5], [-0.5]])
    assert _is_proven(X, DOUBLE)
    assert is_surely_positive(X)
    monkeypatch.setattr(many_rows, "_least_square", lambda *_: (square, 1.0, np.eye(1)))
    assert not _is_proven(X, DOUBLE)


def test_a_guess_that_is_not_finite_proves_nothing(monkeypatch):
    X = np.array([[0.5], [-0.5], [0.5], [-0.5]])
    for z in (np.nan, np.inf, 1e308):
        monkeypatch.setattr(many_rows, "_solution", lambda *_, z=z: np.array([z]))
        assert not is_surely_positive(X)


# --- attacks ------------------------------------------------------------------------------------------------


def test_rows_nearly_on_one_side_are_judged_as_exact_numbers_judge_them():
    """One row opposes all others, less and less: at some point the nearest dependence has a negative number."""
    rng = np.random.default_rng(2)
    seen = set()
    for power in range(0, 60, 3):
        rows = np.abs(rng.normal(size=(9, 2))) + 0.1
        rows[0] = -rows[1:].sum(axis=0) * 2.0**-power
        expected = nearest(scaled(rows))
        is_positive = expected is not None and min(expected) > 0
        seen.add(is_positive)
        assert is_positive or not is_surely_positive(scaled(rows))
        fault = conflict_faults(make_layer(rows), read_label_sets([list(range(9))], 9), [np.arange(9)])
        assert (fault == [None]) == is_positive
    assert seen == {True, False}


def test_the_signs_and_the_rows_of_a_conflict_are_what_it_proves():
    rng = np.random.default_rng(4)
    rows = rows_around_zero(rng, 14, 4)
    layer, everyone = make_layer(rows), list(range(14))

    def faults(active, numbers):
        return conflict_faults(layer, read_label_sets([active], 14), [np.array(numbers)])[0]

    assert faults(everyone, everyone) is None
    assert faults([], everyone) is None  # the same rows with all signs turned
    assert faults(everyone[1:], everyone) == NO_NEAREST
    assert faults(everyone, everyone[1:]) == NO_NEAREST
    assert faults(everyone, [0, *everyone]) is not None
    assert faults(everyone, everyone[::-1]) is not None


def test_as_many_rows_as_columns_and_one_must_have_one_dependence_also_where_columns_are_zero():
    rows = np.array([[1.0, 0.0], [-1.0, 0.0], [1.0, 0.0], [-1.0, 0.0]])
    layer, sets = make_layer(rows), read_label_sets([[0, 1, 2, 3]], 4)
    assert conflict_faults(layer, sets, [np.arange(2)]) == [None]
    fault = "expected rows with one linear dependence, of positive multipliers, got none"
    assert conflict_faults(layer, sets, [np.arange(3)]) == [fault]
    assert exact_multipliers(layer, sets[0], np.arange(3)) is None
    assert conflict_faults(layer, sets, [np.arange(4)]) == [None]
    assert len(set(exact_multipliers(layer, sets[0], np.arange(4)))) == 1
    alone = layer_of(rows.astype(int).tolist())
    assert conflict_fault(alone, frozenset(range(4)), [0, 1, 2]) is not None
    assert conflict_fault(alone, frozenset(range(4)), [0, 1, 2, 3]) is None


def test_rows_are_scaled_in_parts_of_any_size(monkeypatch):
    rng = np.random.default_rng(10)
    layer = make_layer(rng.normal(size=(60, 12)), bias=rng.normal(size=60))
    sets, rows = read_label_sets([[3, 5], [7]], 60), np.array([np.arange(50), np.arange(10, 60)])
    whole = np.array(_float_systems(layer, sets, rows))
    _float_systems(make_layer(3 - layer.weight, bias=layer.offset), sets, rows)  # leaves other numbers in memory
    monkeypatch.setattr(conflicts, "NUMBERS_AT_ONCE", 1)
    np.testing.assert_array_equal(np.array(_float_systems(layer, sets, rows)), whole)
    assert np.isfinite(whole).all()


def test_four_rows_a_column_and_a_few_are_the_most():
    rows = np.ones((17, 1))
    rows[::2] = -1.0
    layer = make_layer(rows)
    sets = read_label_sets([list(range(17))], 17)
    assert conflict_faults(layer, sets, [np.arange(16)]) == [None]
    assert conflict_faults(layer, sets, [np.arange(17)]) == ["expected a conflict of 1 to 16 rows, got 17"]
    alone = layer_of(rows.astype(int).tolist())
    assert conflict_fault(alone, frozenset(range(17)), list(range(16))) is None
    assert "ascending list of 1 to 16 rows" in conflict_fault(alone, frozenset(range(17)), list(range(17)))


def test_offsets_that_are_no_floats_are_left_to_integers():
    rng = np.random.default_rng(6)
    half = rng.normal(size=(8, 3))
    rows = np.concatenate([half, -half + 0.05 * rng.normal(size=half.shape)])
    bias = np.concatenate([np.full(8, 1.0), np.full(8, -1.0)])
    bias[0] = 0.0  # whose offset is a float
    sets, numbers, asked = read_label_sets([list(range(16))], 16), [np.arange(16)], []

    def may_solve(n_rows):
        asked.append(n_rows)
        return False

    assert conflict_faults(make_layer(rows, bias=bias), sets, numbers, may_solve) == [None]
    assert asked == []
    rounded = make_layer(rows, bias=bias, thresholds=0.501)
    assert rounded.offset_error.any()
    assert not rounded.offset_error.all()
    assert conflict_faults(rounded, sets, numbers, may_solve) != [None]
    assert asked == [16]
    assert conflict_faults(rounded, sets, numbers) == [None]


@pytest.mark.parametrize("rule", ["sigmoid", "topk", "sparsemax"])
def test_rows_that_are_no_labels_take_part_and_both_checkers_agree(rule):
    rng = np.random.default_rng(7)
    seen = set()
    for _ in range(30):
        weight, bias = rng.integers(-4, 5, size=(9, 2)), rng.integers(-3, 4, size=9)
        options = {"rule": rule, "temperature": 2.0} if rule == "sparsemax" else {"rule": rule}
        layer = make_layer(weight.astype(float), bias=bias.astype(float), domain=(-2.0, 3.0), **options)
        extra = [row for row in layer.extra_rows() if rng.random() < 0.5]
        numbers = sorted(rng.choice(9, size=7, replace=False).tolist()) + extra
        active = sorted(rng.choice(9, size=4, replace=False).tolist())
        found = conflict_faults(layer, read_label_sets([active], 9), [np.array(numbers)])[0]
        options = options | ({"temperature": Fraction(2)} if rule == "sparsemax" else {})
        alone = layer_of(weight.tolist(), bias.tolist(), low=[-2, -2], high=[3, 3], **options)
        assert (found is None) == (conflict_fault(alone, frozenset(active), numbers) is None)
        seen.add(found is None)
    assert seen == {True, False}
