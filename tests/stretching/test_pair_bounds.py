"""The bounds of pairs hold for every logit within the stated errors, in fractions, and are not much looser."""

import math
from fractions import Fraction

import numpy as np
import pytest

from labelproof.proof import pair_bounds
from labelproof.proof.examples import read_examples
from labelproof.proof.pair_bounds import MOST_LOGITS, LogitTable, _largest, _quotient, logit_table
from labelproof.proof.regions import exact_offset, make_layer

PAIR = np.array([[0, 1]])
LOOSER = Fraction(1011, 1000)  # than the errors, by a little more than all reserves


def table_of(beyond, centre, beyond_error=0.0, centre_error=0.0):
    beyond, centre = np.array(beyond, np.float32), np.array(centre, float)
    errors = (np.array(np.broadcast_to(error, centre.shape), float) for error in (beyond_error, centre_error))
    return LogitTable(beyond, centre, *errors)


# The table


def exact_table(layer, examples, labels):
    """The logits at the centre, and beyond it by label and example, in fractions."""
    centre = [Fraction(c) for c in examples.centre.tolist()]
    rows = [[Fraction(w) for w in layer.weight[i].tolist()] for i in labels]
    at = [sum(w * c for w, c in zip(row, centre, strict=True)) for row in rows]
    features = [[Fraction(f) for f in row] for row in examples.take(np.arange(len(examples))).tolist()]
    beyond = [
        [sum(w * f for w, f in zip(row, one, strict=True)) - a for one in features]
        for row, a in zip(rows, at, strict=True)
    ]
    return [a + exact_offset(layer, i) for a, i in zip(at, labels, strict=True)], beyond


def check_table(weight, features, centre=None, labels=(0, 1), **options):
    layer = make_layer(np.array(weight, float), **options)
    examples = read_examples(np.array(features, float), layer.d, centre=centre)
    table = logit_table(layer, examples, np.array(labels))
    centres, beyond = exact_table(layer, examples, list(labels))
    for i, z in enumerate(centres):
        assert abs(Fraction(float(table.centre[i])) - z) <= Fraction(float(table.centre_error[i]))
        for j, gain in enumerate(beyond[i]):
            assert abs(Fraction(float(table.beyond[i, j])) - gain) <= Fraction(float(table.beyond_error[i]))
    return table


def test_a_table_is_off_by_no_more_than_it_says_and_says_little():
    rng = np.random.default_rng(0)
    for _ in range(10):
        weight, bias = rng.normal(size=(4, 5)), rng.normal(size=4)
        features = rng.normal(size=(6, 5)) + 3
        table = check_table(weight, features, labels=(3, 0, 1), bias=bias)
        assert (table.beyond_error < 2e-6).all()
        assert (table.centre_error < 1e-13).all()
        np.testing.assert_allclose(table.highest, np.abs(table.beyond).max(axis=1), rtol=0)
        np.testing.assert_allclose(
            table.centre, (weight @ features.mean(axis=0) + bias)[[3, 0, 1]], rtol=1e-10, atol=1e-10
        )


def test_sums_that_cancel_are_off_by_more():
    """Weights that are orthogonal to features a million times as large."""
    rng = np.random.default_rng(1)
    for scale in (1e6, 1e12, 1e15):
        weight, large = rng.normal(size=(2, 8)), rng.normal(size=(7, 8)) * scale
        weight -= weight @ np.linalg.pinv(large) @ large
        check_table(weight, np.vstack([large, rng.normal(size=(2, 8))]))
        check_table(weight, rng.normal(size=(3, 8)), centre=large[0])  # only the centre is large
        check_table(weight, large, centre=np.zeros(8))  # only the features are


def test_numbers_that_underflow_are_off_by_that():
    tiny = 2.0**-538
    table = check_table([[tiny, tiny], [tiny, 1.0]], [[tiny, tiny], [3 * tiny, tiny]])
    assert table.centre_error[0] > 0
    check_table([[2.0**-150, 0.0], [1.25 * 2.0**-149, 0.0]], [[1.0, 0.0], [-1.0, 0.0]])
    for width in (1, 3, 40):
        check_table(np.full((2, width), 2.0**-540), np.full((2, width), 1.75 * 2.0**-536))


def test_gains_that_are_all_negative_are_rounded_too():
    check_table([[1.0], [1.0]], [[-1 / 3], [-2 / 3]], centre=np.zeros(1))


def test_errors_allow_for_sums_in_any_order():
    rng = np.random.default_rng(10)
    weight, features = rng.normal(size=(2, 1000)), rng.normal(size=(3, 1000))
    table = logit_table(make_layer(weight), read_examples(features, 1000), np.arange(2))
    at_centre, largest = (np.abs(weight) @ np.abs(x) for x in (features.mean(axis=0), np.abs(features).max(axis=0)))
    assert (table.centre_error > 1000 * 2.0**-53 * at_centre).all()
    rounded = 2.0**-23 * np.abs(table.beyond).max(axis=1)
    assert (table.beyond_error - rounded > 1000 * 2.0**-53 * (largest + at_centre)).all()


def test_offsets_are_taken_with_their_error():
    rng = np.random.default_rng(2)
    for scale in (1.0, 1e8, 1e-8):
        bias, thresholds = rng.normal(size=2) * scale, rng.uniform(0.1, 0.9, 2)
        table = check_table(rng.normal(size=(2, 3)), rng.normal(size=(4, 3)), bias=bias, thresholds=thresholds)
        assert (table.centre_error <= 1e-14 * max(1.0, scale)).all()
    table = check_table(np.zeros((2, 1)), [[1.0], [2.0]], bias=[0.1, -1e17], thresholds=[0.7, 0.3])
    assert (table.centre_error > 0).all()


def test_errors_are_multiplied_by_the_slacks():
    layer, examples = make_layer(np.eye(2), bias=[0.1, 0.2]), read_examples(np.eye(2), 2)
    one, three = (logit_table(layer, examples, np.arange(2), slacks=slacks) for slacks in (1.0, 3.0))
    assert (one.beyond_error > 0).all()
    np.testing.assert_allclose(three.beyond_error, 3 * one.beyond_error)
    np.testing.assert_allclose(three.centre_error, 3 * one.centre_error)
    np.testing.assert_array_equal(logit_table(layer, examples, np.arange(2)).beyond_error, one.beyond_error)


def test_a_table_goes_with_sigmoid_and_fits_into_memory(monkeypatch):
    examples = read_examples(np.ones((5, 2)), 2)
    with pytest.raises(ValueError, match=r"^pairs of labels go with rule='sigmoid' only, got rule='topk'$"):
        logit_table(make_layer(np.eye(2), rule="topk"), examples, np.arange(2))
    monkeypatch.setattr(pair_bounds, "MOST_LOGITS", 10)
    assert logit_table(make_layer(np.eye(2)), examples, np.arange(2)).beyond.shape == (2, 5)
    monkeypatch.setattr(pair_bounds, "MOST_LOGITS", 9)
    with pytest.raises(ValueError, match="at most 9 to fit into memory, got 2 × 5"):
        logit_table(make_layer(np.eye(2)), examples, np.arange(2))
    assert MOST_LOGITS == 300_000_000


def test_blocks_of_examples_stand_side_by_side(monkeypatch):
    from labelproof.proof import examples as module

    monkeypatch.setattr(module, "BLOCK_NUMBERS", 6)
    table = check_table([[1.0, 2.0], [3.0, -1.0]], np.arange(16.0).reshape(8, 2) ** 2)
    assert table.beyond.shape == (2, 8)


# From below


def least(table, pair, theta, times=1):
    """The bound that multipliers prove whatever the errors, or some times them: a fraction, infinity, or 0."""
    theta = [Fraction(float(np.float32(t))) for t in theta]
    z, z_error = ([Fraction(float(part[i])) for i in pair] for part in (table.centre, table.centre_error))
    gain_error = [Fraction(float(table.beyond_error[i])) for i in pair]
    top = -sum(t * (c + times * e) for t, c, e in zip(theta, z, z_error, strict=True))
    gains = zip(*(map(Fraction, table.beyond[i].tolist()) for i in pair), strict=True)
    bottom = max(sum(t * (g + times * e) for t, g, e in zip(theta, both, gain_error, strict=True)) for both in gains)
    if top <= 0:
        return 0
    return top / bottom if bottom > 0 else math.inf


def random_table(rng, n_labels=3, n=4):
    beyond = rng.normal(size=(n_labels, n)).astype(np.float32)
    centre = -rng.uniform(0.1, 2, n_labels)
    return table_of(beyond, centre, rng.choice([0, 1e-3, 0.3], n_labels), rng.choice([0, 1e-3, 0.3], n_labels))


def test_lower_bounds_are_what_multipliers_prove_and_a_little_less():
    rng = np.random.default_rng(3)
    seen = set()
    for _ in range(200):
        table = random_table(rng)
        pairs = np.array([[0, 1], [2, 0]])
        theta = rng.uniform(0, 2, (2, 2)) * rng.integers(0, 2, (2, 2))
        for bound, pair, t in zip(table.lowers(pairs, theta).tolist(), pairs.tolist(), theta, strict=True):
            assert bound <= least(table, pair, t)
            assert bound >= 0.9999 * float(least(table, pair, t, LOOSER))
            seen.add((bound > 0, bound == math.inf))
    assert len(seen) == 3


def test_a_lower_bound_is_infinite_only_where_no_example_gains():
    assert table_of([[-1, -2], [-1, -1]], [-1, -1]).lowers(PAIR, np.ones((1, 2))).tolist() == [math.inf]
    assert table_of([[-1, -2], [-1, -1]], [-1, -1], 0.9).lowers(PAIR, np.ones((1, 2))).tolist() == [math.inf]
    assert table_of([[-1, -2], [-1, -1]], [-1, -1], 1.1).lowers(PAIR, np.ones((1, 2)))[0] < 11
    assert table_of([[0, 0], [0, 0]], [-1, -1]).lowers(PAIR, np.ones((1, 2)))[0] < math.inf


def test_sums_in_single_precision_are_not_believed_to_the_last_bit():
    """θ·gains of ⅓ and ⅔ that cancel but for their rounding: what is left is all error."""
    rng = np.random.default_rng(4)
    for scale in (1.0, 2.0**-20, 2.0**20):
        for _ in range(200):
            theta = rng.uniform(0.5, 1, (1, 2)).astype(np.float32).astype(float)
            gain = scale * rng.uniform(0.5, 1, (1, 3))
            table = table_of(np.vstack([gain, -gain * theta[0, 0] / theta[0, 1]]), [-1.0, -1.0])
            (bound,) = table.lowers(PAIR, theta).tolist()
            assert bound <= least(table, [0, 1], theta[0])


def test_products_and_their_sum_may_all_be_rounded_down():
    """Each of the three by almost as much as it can: two products by ε/2, and their sum by ε, of 2."""
    table = table_of([[1 + 2047 * 2.0**-23], [1 + 1778 * 2.0**-23]], [-1.0, -1.0])
    theta = np.array([[1 + 2049 * 2.0**-23, 1 + 2359 * 2.0**-23]])
    lost = sum(Fraction(t) * Fraction(float(g[0])) for t, g in zip(theta[0].tolist(), table.beyond, strict=True))
    lost -= Fraction(float(_largest(table.beyond, 0, 1, *theta[0].astype(np.float32))))
    assert lost > Fraction(1.9 * 2.0**-23)
    assert table.lowers(PAIR, theta)[0] <= least(table, [0, 1], theta[0])


def test_gains_that_underflow_in_single_precision_are_not_lost():
    tiny = float(np.float32(2.0**-149))
    table = table_of([[tiny], [tiny]], [-1.0, -1.0])
    for t in (0.25, 0.5, 2.0**-100):
        theta = np.array([[t, t]])
        assert table.lowers(PAIR, theta)[0] <= least(table, [0, 1], theta[0])


def test_logits_at_the_centre_that_cancel_prove_nothing():
    rng = np.random.default_rng(5)
    for _ in range(200):
        z = rng.uniform(0.5, 1, 2) * [1, -1]
        theta = np.array([[1.0, float(np.float32(-z[0] / z[1]))]])
        for units in (-2, -1, 0, 1, 2):
            table = table_of([[1.0], [1.0]], [z[0] + units * 2.0**-53, z[1]])
            assert table.lowers(PAIR, theta)[0] <= least(table, [0, 1], theta[0])
    for scale in (2.0**-20, 1.0, 2.0**20):
        for _ in range(100):
            theta = rng.uniform(0.5, 1, (1, 2)).astype(np.float32).astype(float) / scale**2
            z = scale * rng.uniform(0.5, 1)
            for units in (-1, 0, 1):
                table = table_of([[1.0], [1.0]], [z, -z * theta[0, 0] / theta[0, 1] + units * scale * 2.0**-53])
                assert table.lowers(PAIR, theta)[0] <= least(table, [0, 1], theta[0])


def test_logits_at_the_centre_that_underflow_prove_nothing():
    for gain, theta in [(1.0, 0.25), (2.0**-100, 0.75)]:
        table = table_of([[gain], [gain]], [-(2.0**-1074), -(2.0**-1074)])
        assert table.lowers(PAIR, np.full((1, 2), theta))[0] <= least(table, [0, 1], [theta, theta])


@pytest.mark.parametrize("theta", [[1.0, -1.0], [-1.0, 1.0], [-1.0, -1.0], [np.nan, 1.0], [0.0, 0.0], [1.0, np.inf]])
def test_multipliers_that_are_none_prove_nothing(theta):
    table = table_of([[-2.0, -1.0], [-1.0, -1.0]], [-3.0, -1.0])
    with np.errstate(all="ignore"):
        assert table.lowers(PAIR, np.array([theta])).tolist() == [0.0]
    assert table.lowers(np.repeat(PAIR, 2, axis=0), np.array([[1.0, 0.0], [0.0, 1.0]])).tolist() == [math.inf] * 2


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_gains_beyond_single_precision_prove_nothing():
    """0 times an infinite gain is no number, and an overflow to −inf no proof that none is positive."""
    for gains, theta in [
        ([[np.inf, -np.inf], [1.0, -1.0]], [0.0, 1.0]),
        ([[np.inf, -np.inf], [1.0, -1.0]], [1.0, 1.0]),
        ([[np.nan, 1.0], [1.0, -1.0]], [1.0, 1.0]),
        ([[-3e38, -3e38], [3e38, 3e38]], [1.5, 1.0]),
    ]:
        table = table_of(gains, [-1.0, -1.0], beyond_error=1e37)
        assert table.lowers(PAIR, np.array([theta])).tolist() == [0.0]
    layer = make_layer(np.array([[1e20], [1.0]]), bias=[-1.0, -1.0])
    table = logit_table(layer, read_examples(np.array([[1e20], [-1e20]]), 1), np.arange(2))
    (bound,) = table.lowers(PAIR, np.array([[0.0, 1.0]]))
    assert bound <= 1e-19
    assert (table.single_lowers() <= 1e-19).all()


# From above


def is_proven(table, pair, which, weights, times=1):
    for i in pair:
        z = Fraction(float(table.centre[i])) - times * Fraction(float(table.centre_error[i]))
        error = times * Fraction(float(table.beyond_error[i]))
        for j, w in zip(which, weights, strict=True):
            z += Fraction(float(w)) * (Fraction(float(table.beyond[i, j])) - error)
        if z <= 0:
            return False
    return True


def test_upper_bounds_are_sums_of_weights_that_switch_both_labels_on():
    rng = np.random.default_rng(6)
    seen = []
    for _ in range(300):
        table = random_table(rng)
        which, weights = rng.integers(0, 4, (1, 2)), rng.uniform(0, 6, (1, 2)) * rng.integers(0, 2, (1, 2))
        (bound,) = table.uppers(PAIR, which, weights).tolist()
        seen.append(bound < math.inf)
        if seen[-1]:
            assert is_proven(table, [0, 1], which[0], weights[0])
            amount = Fraction(float(weights[0, 0])) + Fraction(float(weights[0, 1]))
            assert amount <= bound <= amount * Fraction(1 + 1e-15)
        else:
            assert not is_proven(table, [0, 1], which[0], weights[0], LOOSER)
    assert 10 < sum(seen) < 290


def test_a_pair_that_is_on_at_the_centre_takes_no_weight():
    table = table_of([[1.0], [1.0]], [0.5, 0.5], centre_error=0.25)
    assert table.uppers(PAIR, np.zeros((1, 2), int), np.zeros((1, 2))).tolist() == [0.0]
    table = table_of([[1.0], [1.0]], [0.5, 0.5], centre_error=[0.25, 0.5])
    assert table.uppers(PAIR, np.zeros((1, 2), int), np.zeros((1, 2))).tolist() == [math.inf]
    table = table_of([[1.0], [1.0]], [0.0, 0.5])
    assert table.uppers(PAIR, np.zeros((1, 2), int), np.zeros((1, 2))).tolist() == [math.inf]


@pytest.mark.parametrize("weights", [[1.0, -1.0], [-1.0, 1.0], [np.nan, 1.0], [np.inf, 1.0]])
def test_weights_that_are_none_prove_nothing(weights):
    table = table_of([[1.0, 1.0], [1.0, 1.0]], [0.5, 0.5])
    good = [1.0, 1.0]
    found = table.uppers(np.repeat(PAIR, 2, axis=0), np.array([[0, 1]] * 2), np.array([weights, good]))
    assert found[0] == math.inf
    assert found[1] == np.nextafter(2, 3)


def test_logits_near_zero_are_not_called_positive():
    rng = np.random.default_rng(7)
    decided = 0
    for _ in range(200):
        gain, weights = rng.uniform(0.5, 1, 2).astype(np.float32).astype(float), rng.uniform(0.5, 1, (1, 2))
        for units in (-3, -1, 0, 1, 3, 2**12):
            centre = -float(weights[0] @ gain) * (1 - units * 2.0**-53)
            table = table_of([gain, [1, 1]], [centre, 1.0])
            (bound,) = table.uppers(PAIR, np.array([[0, 1]]), weights).tolist()
            assert bound == math.inf or is_proven(table, [0, 1], [0, 1], weights[0])
            decided += bound < math.inf
    assert decided >= 200
    for scale in (2.0**-20, 1.0, 2.0**20):
        for _ in range(100):
            first, weights = float(np.float32(rng.uniform(0.5, 1) * scale**2)), rng.uniform(0.5, 1, (1, 2)) / scale
            gain = [first, -float(np.float32(first * weights[0, 0] / weights[0, 1]))]  # they almost cancel
            rest = sum(Fraction(w) * Fraction(g) for w, g in zip(weights[0].tolist(), gain, strict=True))
            for units in (-1, 0, 1):
                table = table_of([gain, [1, 1]], [-float(rest) + units * scale * 2.0**-55, 1.0])
                (bound,) = table.uppers(PAIR, np.array([[0, 1]]), weights).tolist()
                assert bound == math.inf or is_proven(table, [0, 1], [0, 1], weights[0])
    table = table_of([[1.5, 1.5], [1.0, 1.0]], [-3 * 2.0**-1074, 1.0])  # 1.5 + 1.5, not 2 + 2
    assert table.uppers(PAIR, np.array([[0, 1]]), np.full((1, 2), 2.0**-1074))[0] == math.inf
    tiny = table_of([[1.0], [1.0]], [2.0**-1074, 1.0], centre_error=[2.0**-1074, 0.0])
    assert tiny.uppers(PAIR, np.zeros((1, 2), int), np.zeros((1, 2)))[0] == math.inf


# One label


def test_a_label_by_itself():
    rng = np.random.default_rng(8)
    for _ in range(100):
        table = random_table(rng)
        for i, bound in enumerate(table.single_lowers().tolist()):
            assert bound <= least(table, [i], [1.0])
            assert bound >= 0.9999 * float(least(table, [i], [1.0], LOOSER))
    table = table_of([[1.0], [-1.0], [1.0], [1.0]], [-2.0, -2.0, 2.0, 0.0])
    found = table.single_lowers()
    assert found[0] == pytest.approx(2)
    assert found[0] <= 2
    assert found[1:].tolist() == [math.inf, 0.0, 0.0]


@pytest.mark.parametrize(
    ("top", "bottom", "expected"),
    [
        (1.0, -1.0, math.inf),
        (1.0, 0.0, math.inf),
        (-1.0, -1.0, 0.0),
        (0.0, -1.0, 0.0),
        (0.0, 1.0, 0.0),
        (np.nan, 1.0, 0.0),
        (1.0, np.nan, 0.0),
        (1.0, np.inf, 0.0),
        (1.0, -np.inf, 0.0),
        (np.inf, 1.0, 0.0),
        (np.inf, -1.0, 0.0),
        (1e300, 1e-300, np.finfo(float).max),
        (2.0**-1074, 1.5, 0.0),
        (2.0**-1074, 2.0**1000, 0.0),
    ],
)
def test_quotients_are_rounded_down_and_no_number_proves_nothing(top, bottom, expected):
    assert _quotient(np.array([top]), np.array([bottom])).tolist() == [expected]


def test_quotients_are_below_the_true_one_and_close():
    rng = np.random.default_rng(9)
    top, bottom = rng.uniform(0, 2, 200), rng.uniform(0, 2, 200)
    for a, b, found in zip(top.tolist(), bottom.tolist(), _quotient(top, bottom).tolist(), strict=True):
        assert Fraction(a) * Fraction(1 - 1e-14) <= Fraction(found) * Fraction(b)
        assert Fraction(found) * Fraction(b) < Fraction(a) * Fraction(1 - 5e-16)
