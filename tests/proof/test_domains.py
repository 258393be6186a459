"""Domains of bounds, balls and blocks are read as they are meant, and refused where they mean nothing."""

import numpy as np
import pytest

import labelproof as lp
from labelproof.proof.domains import FORMS, arrays_of_balls, balls_of_arrays, read_domain
from labelproof.proof.regions import make_layer


def test_a_unit_domain_is_nonnegative_and_in_the_ball_of_radius_one():
    low, high, (ball,) = read_domain("unit", 3)
    assert low.tolist() == [0, 0, 0]
    assert high is None
    assert (ball.start, ball.stop, ball.radius, ball.centre.tolist()) == (0, 3, 1.0, [0, 0, 0])
    assert read_domain(("unit", 2.5), 3).balls[0].radius == 2.5
    assert read_domain(["unit", 2.5], 3).low.tolist() == [0, 0, 0]


def test_a_ball_has_a_radius_and_perhaps_a_centre_and_no_bounds():
    low, high, (ball,) = read_domain(("ball", 2), 2)
    assert low is high is None
    assert (ball.radius, ball.centre.tolist()) == (2.0, [0, 0])
    assert read_domain(("ball", 2.0, 0.5), 2).balls[0].centre.tolist() == [0.5, 0.5]
    assert read_domain(("ball", 2.0, [1, -1]), 2).balls[0].centre.tolist() == [1, -1]


def test_blocks_put_their_domains_side_by_side():
    blocks = [(1, None), (2, "unit"), (1, (-1, 2.0)), (2, ("ball", 3.0, [4.0, 5.0])), (1, "nonnegative")]
    low, high, balls = read_domain(("blocks", blocks), 7)
    assert low.tolist() == [-np.inf, 0, 0, -1, -np.inf, -np.inf, 0]
    assert high.tolist() == [np.inf, np.inf, np.inf, 2, np.inf, np.inf, np.inf]
    assert [(ball.start, ball.stop, ball.radius) for ball in balls] == [(1, 3, 1.0), (4, 6, 3.0)]
    assert balls[1].centre.tolist() == [4, 5]
    again = read_domain(("blocks", zip([1, 2, 1, 2, 1], [part for _, part in blocks], strict=True)), 7)
    assert again.low.tolist() == low.tolist()
    assert len(again.balls) == 2
    nested = read_domain(("blocks", [(1, None), (3, ("blocks", [(1, None), (2, "unit")]))]), 4)
    assert [(ball.start, ball.stop) for ball in nested.balls] == [(2, 4)]


@pytest.mark.parametrize(
    ("domain", "message"),
    [
        (("ball", -1.0), "domain's radius must be one positive number, got -1.0"),
        (("ball", 0.0), "domain's radius must be one positive number, got 0.0"),
        (("unit", -2), "domain's radius must be one positive number, got -2"),
        (("ball", [1.0, 2.0]), "domain's radius must be one positive number, got [1.0, 2.0]"),
        (("ball", np.nan), "domain's radius must be finite, got nan at index ()"),
        (("ball", np.inf), "domain's radius must be finite, got inf at index ()"),
        (("ball", 1.0, [1.0, 2.0, 3.0]), "domain's centre must be one number or have shape (2,), got (3,)"),
        (("ball", 1.0, [1.0, np.nan]), "domain's centre must be finite, got nan at index (1,)"),
        (("blocks", [(1, None), (2, None)]), "domain's blocks must have 2 features in all, got [1, 2]"),
        (("blocks", [(0, None), (2, None)]), "domain's blocks must have 2 features in all, got [0, 2]"),
        (("blocks", [(1.0, None), (1, None)]), "domain's blocks must have 2 features in all, got [1.0, 1]"),
        (("blocks", 3), "domain's blocks must be pairs (n_features, domain), got 3"),
        (("blocks", [1, 1]), "domain's blocks must be pairs (n_features, domain), got [1, 1]"),
        (("blocks", [(2, "sphere")]), f"domain must be {FORMS}, got 'sphere'"),
        (("unit", 1.0, 0.0), f"domain must be {FORMS}, got ('unit', 1.0, 0.0)"),
        (("blocks", [], []), f"domain must be {FORMS}, got ('blocks', [], [])"),
        (("sphere", 1.0), f"domain must be {FORMS}, got ('sphere', 1.0)"),
        (("ball",), f"domain must be {FORMS}, got ('ball',)"),
        ((1.0, 2.0, 3.0), f"domain must be {FORMS}, got (1.0, 2.0, 3.0)"),
    ],
    ids=repr,
)
def test_a_domain_that_means_nothing_is_refused(domain, message):
    with pytest.raises(ValueError, match=r".") as caught:
        lp.verify(np.eye(2), [[0]], domain=domain)
    assert str(caught.value) == message


def test_a_layer_in_a_ball_is_no_cone():
    assert make_layer(np.eye(2), domain="nonnegative").is_cone
    assert not make_layer(np.eye(2), domain="unit").is_cone
    assert make_layer(np.eye(2), domain=("ball", 1.0)).has_scale


def test_radii_do_not_go_with_balls():
    with pytest.raises(ValueError, match=r"^radius goes with domains of bounds only, got features in a ball$"):
        lp.verify(np.eye(2), [[0]], domain="unit", radius=True)


def test_balls_are_the_same_after_they_were_kept_as_arrays():
    balls = read_domain(("blocks", [(1, None), (2, "unit"), (2, ("ball", 3.0, [4.0, 5.0]))]), 5).balls
    again = balls_of_arrays(arrays_of_balls(balls, 5), 5)
    assert [(b.start, b.stop, b.radius, b.centre.tolist()) for b in again] == [
        (1, 3, 1.0, [0, 0]),
        (3, 5, 3.0, [4, 5]),
    ]
    assert arrays_of_balls((), 5) == {}
    assert balls_of_arrays({}, 5) == ()


def arrays(**changes):
    kept = {
        "ball_ends": np.array([[0, 2], [2, 3]]),
        "ball_radius": np.array([1.0, 2.0]),
        "ball_centre": np.zeros(3),
    }
    return {name: array for name, array in (kept | changes).items() if array is not None}


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"ball_radius": np.array([1.0, -2.0])}, "ball_radius: expected positive numbers"),
        ({"ball_radius": np.array([0.0, 2.0])}, "ball_radius: expected positive numbers"),
        ({"ball_radius": np.array([np.inf, 2.0])}, "ball_radius: expected positive numbers"),
        ({"ball_radius": np.array([1, 2])}, "ball_radius: expected positive numbers"),
        ({"ball_radius": np.ones((2, 1))}, "ball_radius: expected positive numbers"),
        ({"ball_radius": None}, "ball_ends: expected two integers for each ball"),
        ({"ball_ends": None}, "ball_ends: expected two integers for each ball"),
        ({"ball_ends": np.array([[0, 2]])}, "ball_ends: expected two integers for each ball"),
        ({"ball_ends": np.array([[0.0, 2.0], [2.0, 3.0]])}, "ball_ends: expected two integers for each ball"),
        ({"ball_ends": np.array([[-1, 2], [2, 3]])}, "ball_ends: expected parts of the 3 features"),
        ({"ball_ends": np.array([[0, 2], [2, 4]])}, "ball_ends: expected parts of the 3 features"),
        ({"ball_ends": np.array([[0, 2], [2, 2]])}, "ball_ends: expected parts of the 3 features"),
        ({"ball_ends": np.array([[0, 2], [1, 3]])}, "ball_ends: expected parts that do not overlap"),
        ({"ball_ends": np.array([[2, 3], [0, 2]])}, "ball_ends: expected parts that do not overlap"),
        ({"ball_centre": np.zeros(2)}, "ball_centre: expected 3 finite numbers"),
        ({"ball_centre": np.array([0.0, np.nan, 0.0])}, "ball_centre: expected 3 finite numbers"),
        ({"ball_centre": np.zeros(3, np.int64)}, "ball_centre: expected 3 finite numbers"),
        ({"ball_centre": None}, "ball_centre: expected 3 finite numbers"),
    ],
    ids=repr,
)
def test_arrays_that_are_no_balls_are_refused(changes, message):
    with pytest.raises(ValueError, match=message):
        balls_of_arrays(arrays(**changes), 3)
    assert len(balls_of_arrays(arrays(), 3)) == 2


def test_balls_are_kept_with_a_centre_of_0_elsewhere():
    balls = read_domain(("blocks", [(1, None), (2, ("ball", 3.0, [4.0, 5.0])), (1, (0, 1))]), 4).balls
    assert arrays_of_balls(balls, 4)["ball_centre"].tolist() == [0, 4, 5, 0]
    assert balls_of_arrays({"status": np.zeros(1), "low": np.zeros(4)}, 4) == ()


@pytest.mark.parametrize("ends", [[[0, 1], [1, 3], [2, 4]], [[0, 2], [1, 3], [3, 4]], [[1, 2], [2, 4], [0, 1]]])
def test_one_overlap_among_three_balls_is_enough(ends):
    three = {"ball_radius": np.ones(3), "ball_centre": np.zeros(4)}
    with pytest.raises(ValueError, match="do not overlap"):
        balls_of_arrays(three | {"ball_ends": np.array(ends)}, 4)
    good = balls_of_arrays(three | {"ball_ends": np.array([[0, 1], [1, 3], [3, 4]])}, 4)
    assert [(ball.start, ball.stop) for ball in good] == [(0, 1), (1, 3), (3, 4)]


@pytest.mark.parametrize(
    ("domain", "message"),
    [
        (([0, 2, 5], [1, 1, 4]), "domain must have low ≤ high, got low=2.0 and high=1.0 for feature 1"),
        ((np.inf, np.inf), "domain must have low ≤ high, got low=inf and high=inf for feature 0"),
        (([0, -np.inf, 0], [1, -np.inf, 1]), "domain must have low ≤ high, got low=-inf and high=-inf for feature 1"),
        (([0, 0], 1), "domain's low must be one number or have shape (3,), got (2,)"),
        ((0, [[1, 1, 1]]), "domain's high must be one number or have shape (3,), got (1, 3)"),
        (([0, np.nan, 0], 1), "domain's low must not be NaN"),
        ((0, np.nan), "domain's high must not be NaN"),
        (np.zeros(3), f"domain must be {FORMS}, got {np.zeros(3)!r}"),
        ({0.0, 1.0}, f"domain must be {FORMS}, got { ({0.0, 1.0})!r}"),
    ],
    ids=repr,
)
def test_bounds_that_leave_no_feature_are_refused(domain, message):
    with pytest.raises(ValueError, match=r".") as caught:
        read_domain(domain, 3)
    assert str(caught.value) == message


def test_bounds_are_one_number_or_one_for_each():
    low, high, balls = read_domain((-1, [1, 2, np.inf]), 3)
    assert (low.tolist(), high.tolist(), balls) == ([-1, -1, -1], [1, 2, np.inf], ())
    assert read_domain((2.0, 2.0), 1).low.tolist() == [2.0]
    assert read_domain((np.zeros(3), np.ones(3)), 3).high.tolist() == [1, 1, 1]
    low[0] = 5  # a copy of its own
    assert read_domain([-1, 1], 2).low.tolist() == [-1, -1]
