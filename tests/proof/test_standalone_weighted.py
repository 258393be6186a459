"""The standalone checker takes conflicts with multipliers exactly where the domain leaves their sum negative."""

from fractions import Fraction

import numpy as np
import pytest
from standalone_cases import layer_of, paths_in, read_changed, refuse

from labelproof.proof.standalone import Claim, ProofError, main, prove, weighted_fault, witness_fault

NOT_NEGATIVE = "its conflict's sum is not negative on the domain"
UNBOUNDED = "its conflict's sum has no bound on the domain"
TAU = "its conflict's multipliers leave the threshold in the sum"
FORM = "its conflict is not an ascending list of labels, or of sums"
COUNT = "its conflict has not one positive multiplier for each row"
CENTRED = ((0, 2, Fraction(1), (Fraction(0), Fraction(0))),)
MOVED = ((0, 2, Fraction(1), (Fraction(1), Fraction(2))),)


def layer_in(balls, *given, **options):
    layer = layer_of(*given, **options)
    object.__setattr__(layer, "balls", balls)
    return layer


def fault(layer, active, rows, weights=None):
    return weighted_fault(layer, frozenset(active), rows, [Fraction(w) for w in weights or [1] * len(rows)])


def test_one_label_within_a_ball():
    for active, bias, ties, expected in [
        ([0], "-11/2", "open", None),
        ([0], "-5", "open", None),
        ([0], "-9/2", "open", NOT_NEGATIVE),
        ([], "5", "open", None),
        ([], "5", "inactive", NOT_NEGATIVE),
        ([], "11/2", "inactive", None),
        ([], "9/2", "open", NOT_NEGATIVE),
    ]:
        assert fault(layer_in(CENTRED, [[3, 4]], [bias], ties=ties), active, [0]) == expected


def test_a_centre_moves_the_ball():
    for active, bias, expected in [([0], -16, None), ([0], -15, NOT_NEGATIVE), ([], -6, None), ([], -7, NOT_NEGATIVE)]:
        assert fault(layer_in(MOVED, [[3, 4]], [bias]), active, [0]) == expected


def test_a_root_that_is_no_fraction_is_rounded_up():
    for bias, expected in [(Fraction(-14142135624, 10**10), None), (Fraction(-14142135623, 10**10), NOT_NEGATIVE)]:
        assert fault(layer_in(CENTRED, [[1, 1]], [bias]), [0], [0]) == expected


def test_a_root_is_rounded_up_however_close_it_is():
    """p/q is below the root of 2 by less than 2**-258: p² = 2 q² − 1."""
    p, q = 1, 1
    while q < 2**128:
        p, q = 3 * p + 4 * q, 2 * p + 3 * q
    assert p * p == 2 * q * q - 1
    assert fault(layer_in(CENTRED, [[1, 1]], [Fraction(-p, q)]), [0], [0]) == NOT_NEGATIVE
    p, q = p + 2 * q, p + q
    assert fault(layer_in(CENTRED, [[1, 1]], [Fraction(-p, q)]), [0], [0]) is None


def test_a_sum_that_is_zero_is_a_conflict_only_with_a_strict_row():
    assert fault(layer_in(CENTRED, [[3, 4]], [-5], ties="inactive"), [0], [0]) is None
    both = layer_in(CENTRED, [[1, 0], [0, 1]], rule="sparsemax")
    assert fault(both, [0], [3, 4]) == NOT_NEGATIVE  # the two sums are one equation


def test_features_that_cancel_need_no_bound():
    balls = ((0, 1, Fraction(1), (Fraction(0),)),)
    assert fault(layer_in(balls, [[1, 0]], [-2]), [0], [0]) is None


def test_weights_below_zero_add_nothing_to_nonnegative_features():
    for low, bias, expected in [([0, 0], -3, None), ([0, 0], "-5/2", NOT_NEGATIVE), ([-1, -1], -3, NOT_NEGATIVE)]:
        assert fault(layer_in(CENTRED, [[3, -4]], [bias], low=low), [0], [0]) == expected
        assert fault(layer_in(CENTRED, [[3, -1]], [bias], low=low), [0], [0]) == expected


def test_features_out_of_the_ball_have_their_bounds():
    balls = ((1, 2, Fraction(2), (Fraction(0),)),)
    for bias, expected in [(-13, None), (-12, NOT_NEGATIVE)]:
        layer = layer_in(balls, [[3, 5, -1]], [bias], low=[None, None, 0], high=[1, None, None])
        assert fault(layer, [0], [0]) == expected
    assert fault(layer_in(balls, [[3, 5, 1]], [-99], low=[None, None, 0], high=[1, None, None]), [0], [0]) == UNBOUNDED
    assert (
        fault(layer_in(balls, [[-3, 5, -1]], [-99], low=[None, None, 0], high=[1, None, None]), [0], [0]) == UNBOUNDED
    )


def test_multipliers_of_topk_must_cancel_the_threshold():
    layer = layer_in(CENTRED, [[3, 4], [0, 0]], [0, "11/2"], rule="topk")
    assert fault(layer, [0], [0, 1]) is None
    assert fault(layer, [0], [0, 1], [1, 2]) == TAU
    assert fault(layer, [0], [0]) == TAU
    assert fault(layer_in(CENTRED, [[3, 4], [0, 0]], [0, "9/2"], rule="topk"), [0], [0, 1]) == NOT_NEGATIVE


@pytest.mark.parametrize("temperature", [1, "1/2", "3/2"])
def test_the_sum_of_sparsemax_goes_either_way(temperature):
    """One active label: z_0 − τ = 1/t, so that z_1 < z_0 − 1/t, and z_0 is at most 5."""
    t = Fraction(temperature)
    for slack, expected in [(0, None), (1, None), (-1, NOT_NEGATIVE)]:
        bias = 5 - 1 / t + Fraction(slack, 8)
        layer = layer_in(CENTRED, [[3, 4], [0, 0]], [0, bias], rule="sparsemax", temperature=t)
        assert fault(layer, [0], [1, 4], [t, 1]) == expected
        assert fault(layer, [0], [1, 3], [t, 1]) == TAU
        both = layer_in(
            CENTRED, [[-3, -4], [0, 0]], [0, -6 + 1 - 1 / t - Fraction(slack, 8)], rule="sparsemax", temperature=t
        )
        assert fault(both, [0, 1], [1, 3], [2 * t, 1]) == expected


@pytest.mark.parametrize("rows", [[], [1, 0], [0, 0], [2], [3], [4]])
def test_rows_that_are_no_labels_are_refused(rows):
    assert fault(layer_in(CENTRED, [[-1, 0], [-1, 0]], [-9, -9]), [0, 1], rows) == FORM


def test_only_sums_of_sparsemax_are_rows_besides_labels():
    layer = layer_in(CENTRED, [[-1, 0], [-1, 0]], [-9, -9], rule="sparsemax")
    assert [fault(layer, [0, 1], [row]) == FORM for row in (2, 3, 4, 5)] == [True, False, False, True]


@pytest.mark.parametrize("weights", [[1, 1], [0], [-1]])
def test_each_row_has_one_positive_multiplier(weights):
    assert fault(layer_in(CENTRED, [[-1, 0]], [-9]), [0], [0], weights) == COUNT
    assert fault(layer_in(CENTRED, [[-1, 0]], [-9]), [0], [0]) is None
    two = layer_in(CENTRED, [[-1, 0], [-1, 0]], [-9, -9])
    assert [fault(two, [0, 1], [0, 1], [2, last]) for last in (1, 0, -1)] == [None, COUNT, COUNT]


def test_the_scale_is_a_row_where_there_is_a_ball():
    claim = Claim(frozenset(), 0, (0, 1), None)
    with pytest.raises(ProofError, match="not one linear dependence"):
        prove(layer_in(CENTRED, [[1, 0]]), [claim])


def test_a_witness_is_within_every_ball():
    layer = layer_in(MOVED, [[1, 1]])
    for x, expected in [((1.0, 3.0), None), ((1.6, 2.9), "its witness is outside the ball of features 0 to 1")]:
        assert witness_fault(layer, frozenset([0]), x) == expected
    assert witness_fault(layer, frozenset([0]), (Fraction(8, 5), Fraction(14, 5))) is None
    for reach, x, inside in [(2, 1.75, True), (2, 2.25, False), ("1/2", 0.25, True), ("1/2", 0.625, False)]:
        layer = layer_in(((0, 1, Fraction(reach), (Fraction(0),)),), [[1, 1]])
        assert (witness_fault(layer, frozenset([0]), (x, 9.0)) is None) == inside


def test_a_set_that_is_called_argmaxable_needs_a_witness_whatever_multipliers_it_has():
    layer = layer_in(((0, 1, Fraction(1), (Fraction(0),)),), [[1]], [-5])
    prove(layer, [Claim(frozenset([0]), 0, (0,), None, [Fraction(1)])])
    with pytest.raises(ProofError, match="label 0 is not active at its witness"):
        prove(layer, [Claim(frozenset([0]), 1, (0,), None, [Fraction(1)])])


# Files

BALL = {"ball_ends": np.array([[0, 2]]), "ball_radius": np.array([4.0]), "ball_centre": np.zeros(2)}


TWO = BALL | {"ball_ends": np.array([[0, 1], [1, 2]]), "ball_radius": np.array([4.0, 5.0])}


def test_balls_side_by_side_are_read(tmp_path):
    layer, claims = read_changed(tmp_path, **TWO)
    assert layer.balls == [(0, 1, Fraction(4), [0]), (1, 2, Fraction(5), [0])]
    prove(layer, claims)


def test_balls_and_multipliers_are_read_and_proven(tmp_path, capsys):
    fields = {"version": 2, "multipliers": {"1": ["0x1/0x1", "0x1/0x1", "0x1/0x1"]}}
    layer, claims = read_changed(tmp_path, fields, **BALL)
    assert layer.balls == [(0, 2, Fraction(4), [0, 0])]
    assert claims[1].weights == [1, 1, 1]
    assert [claim.weights for claim in claims[::2]] == [None, None]
    prove(layer, claims)
    assert main(paths_in(tmp_path)) == 0
    assert "Domain: all features, those from 0 to 1 within 4 of 0." in capsys.readouterr().out
    fields["multipliers"]["1"][0] = "0x1/0x2"
    with pytest.raises(ProofError, match="label set 1 is not proven: its conflict's sum is not negative on the domain"):
        prove(*read_changed(tmp_path, fields, **BALL))
    near = BALL | {"ball_radius": np.array([1.25])}
    with pytest.raises(ProofError, match="label set 0 is not proven: its witness is outside the ball"):
        prove(*read_changed(tmp_path, fields, **near))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"ball_radius": np.array([0.0])}, "balls of positive radius"),
        ({"ball_radius": np.array([np.inf])}, "balls of positive radius"),
        ({"ball_radius": np.array([1.0, 1.0])}, "balls of positive radius"),
        (TWO | {"ball_radius": np.array([1.0, 0.0])}, "balls of positive radius"),
        (TWO | {"ball_ends": np.array([[0, 1], [2, 2]])}, "balls of some features each"),
        ({"ball_radius": None}, "ball_radius of type f8"),
        ({"ball_ends": None}, "ball_ends of type i8"),
        ({"ball_centre": None}, "ball_centre of type f8"),
        ({"ball_centre": np.array([0.0, np.nan])}, "NaN"),
        ({"ball_ends": np.array([[0, 3]])}, "balls of some features each"),
        ({"ball_ends": np.array([[-1, 2]])}, "balls of some features each"),
        ({"ball_ends": np.array([[1, 1]])}, "balls of some features each"),
        ({"ball_ends": np.array([[0, 2], [1, 2]]), "ball_radius": np.ones(2)}, "balls that do not overlap"),
    ],
    ids=repr,
)
def test_balls_that_are_none_are_refused(tmp_path, changes, message):
    refuse(tmp_path, message, None, **(BALL | changes))


def test_radii_do_not_go_with_balls(tmp_path):
    refuse(tmp_path, "no radii with features in a ball", {"box": 2.0}, **BALL)
