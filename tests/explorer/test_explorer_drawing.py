"""The drawing, against closed forms, counts of regions, and the verifier."""

import numpy as np
import pytest
from small_explorers import PETS, TRIANGLE, app_of, ask, client_of

import labelproof as lp
from labelproof.explorer.drawing.cells import Cell, Frame, largest_disc
from labelproof.explorer.drawing.plane import plane_through
from labelproof.proof.labels import read_label_sets


@pytest.fixture(autouse=True)
def _enough_time(monkeypatch):
    """Let no slow machine end a drawing early."""
    monkeypatch.setattr("labelproof.explorer.drawing.region_drawing.SECONDS", 60.0)


def area(corners):
    x, y = np.array(corners).T
    return abs(x @ np.roll(y, -1) - y @ np.roll(x, -1)) / 2


def sets_of(answer):
    base = set(answer["base"]["labels"])
    return [tuple(sorted((base | set(r["added"])) - set(r["removed"]))) for r in answer["regions"]]


def test_three_lines_through_the_origin_make_the_six_regions_of_the_papers_first_figure(pets):
    answer = ask(pets, "drawing", labels=[0, 1], anchors=[[0, 1]])
    assert answer["is_whole"]
    assert answer["is_complete"]
    assert set(sets_of(answer)) == {(0,), (1,), (2,), (0, 1), (0, 2), (1, 2)}
    assert sum(area(region["corners"]) for region in answer["regions"]) == pytest.approx(4)
    assert sets_of(answer)[0] == (0, 1)
    assert area(answer["regions"][0]["corners"]) == pytest.approx(1)  # a quarter of the frame


def test_the_largest_disc_of_a_quarter_of_the_frame_fills_it(pets):
    disc = ask(pets, "drawing", labels=[0, 1], anchors=[[0, 1]])["disc"]
    assert disc["center"] == pytest.approx([0.5, 0.5], abs=1e-5)
    assert disc["radius"] == pytest.approx(0.5, abs=1e-5)


def test_lines_have_their_label_on_to_the_left(pets):
    lines = {one["label"]: one for one in ask(pets, "drawing", labels=[0], anchors=[[0]])["lines"]}
    assert set(lines) == {0, 1, 2}
    for label, line in lines.items():
        (x0, y0), (x1, y1) = line["start"], line["end"]
        left = np.array([(x0 + x1) / 2 - (y1 - y0), (y0 + y1) / 2 + (x1 - x0)])
        assert TRIANGLE[label] @ left > 0


def test_a_set_without_a_region_gets_none_in_the_plane(pets):
    answer = ask(pets, "drawing", labels=[0, 1, 2], anchors=[])
    assert len(answer["regions"]) == 6
    assert answer["disc"] is None
    assert (0, 1, 2) not in sets_of(answer)


def test_regions_that_occur_in_the_data_say_how_often(pets):
    answer = ask(pets, "drawing", labels=[0], anchors=[[0]])
    assert dict(zip(sets_of(answer), [r["count"] for r in answer["regions"]], strict=True)) == {
        (0,): 1, (0, 1): 1, (2,): 1, (1,): 0, (0, 2): 0, (1, 2): 0
    }  # fmt: skip


def test_lines_in_general_position_make_as_many_regions_as_counted():
    rng = np.random.default_rng(1)
    weight, bias = rng.standard_normal((6, 2)), rng.standard_normal(6)
    answer = ask(client_of(app_of(weight, bias=bias)), "drawing", labels=[], anchors=[])
    inside = set(sets_of(answer))
    assert len(inside) == len(answer["regions"]) <= lp.count_argmaxable(6, 2, bias=True)
    assert (lp.verify(weight, [list(s) for s in inside], bias=bias).status == 1).all()
    assert sum(area(region["corners"]) for region in answer["regions"]) == pytest.approx(4, rel=1e-3)


@pytest.mark.parametrize("d", [3, 5])
@pytest.mark.parametrize("rule", ["sigmoid", "topk", "sparsemax"])
@pytest.mark.parametrize("with_bias", [False, True])
def test_every_region_of_a_slice_is_argmaxable_and_they_fill_the_frame(d, rule, with_bias):
    rng = np.random.default_rng(d)
    weight, bias = rng.standard_normal((12, d)), 0.3 * rng.standard_normal(12) if with_bias else None
    client = client_of(app_of(weight, bias=bias, rule=rule))
    candidates = [[i, j] for i in range(12) for j in range(i)]
    status = lp.verify(weight, candidates, bias=bias, rule=rule, ties="inactive").status
    labels = sorted(candidates[int(np.argmax(status == 1))])
    answer = ask(client, "drawing", labels=labels, anchors=[labels])
    assert not answer["is_whole"]
    assert sets_of(answer)[0] == tuple(labels)
    drawn = sets_of(answer)
    assert len(set(drawn)) == len(drawn) > 1
    verified = lp.verify(weight, [list(one) for one in drawn], bias=bias, rule=rule, ties="inactive").status
    assert (verified == 1).all()
    assert rule != "topk" or {len(one) for one in drawn} == {2}
    assert answer["is_complete"]
    assert sum(area(region["corners"]) for region in answer["regions"]) == pytest.approx(4, rel=1e-3)


def test_the_slice_goes_through_all_anchors():
    rng = np.random.default_rng(5)
    weight = rng.standard_normal((9, 4))
    given = (rng.standard_normal((40, 4)) @ weight.T > 0).astype(int)
    anchors = [np.flatnonzero(row).tolist() for row in np.unique(given, axis=0)[:3]]
    answer = ask(client_of(app_of(weight)), "drawing", labels=anchors[0], anchors=anchors)
    assert len(answer["points"]) == 3
    assert np.abs(answer["points"]).max() <= 1
    assert answer["is_complete"]
    assert {tuple(anchor) for anchor in anchors} <= set(sets_of(answer))


def test_the_frame_is_the_domain_where_that_is_bounded():
    weight, bias = np.array([[1.0, 0.2], [0.1, 1.0], [1.0, -1.0]]), [5.0, -0.6, 0.1]
    answer = ask(client_of(app_of(weight, bias=bias, domain=(0.0, 1.0))), "drawing", labels=[0], anchors=[])
    total = sum(area(region["corners"]) for region in answer["regions"])
    assert total == pytest.approx(1 / answer["unit"] ** 2, rel=1e-3)  # the whole domain, of area 1
    assert answer["unit"] == pytest.approx(0.52)


def test_nothing_outside_the_domain_is_drawn():
    client = client_of(app_of(np.eye(2), names=["a", "b"], bias=[-0.5, -0.5], domain=(0.0, 1.0)))
    answer = ask(client, "drawing", labels=[0], anchors=[[0]])
    assert set(sets_of(answer)) == {(), (0,), (1,), (0, 1)}
    assert all(
        area(region["corners"]) == pytest.approx(1 / (4 * answer["unit"] ** 2), rel=1e-3)
        for region in answer["regions"]
    )


def test_duplicate_labels_share_a_line_and_no_region_splits_them():
    weight = np.array([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0], [0.0, 0.0]])
    answer = ask(client_of(app_of(weight)), "drawing", labels=[0, 1], anchors=[[0, 1]])
    assert set(sets_of(answer)) == {(), (0, 1), (2,), (0, 1, 2)}


def test_of_many_regions_those_next_to_the_middle_are_drawn():
    rng = np.random.default_rng(0)
    answer = ask(client_of(app_of(rng.standard_normal((400, 2)))), "drawing", labels=[], anchors=[])
    assert not answer["is_complete"]
    assert len(answer["regions"]) <= 180
    assert len(answer["lines"]) <= 24


def test_when_the_time_is_over_what_was_found_is_drawn(pets, monkeypatch):
    monkeypatch.setattr("labelproof.explorer.drawing.region_drawing.SECONDS", 0.0)
    answer = ask(pets, "drawing", labels=[0, 1], anchors=[[0, 1]])
    assert not answer["is_complete"]
    assert sets_of(answer) == [(0, 1)]


def test_a_drawing_needs_two_features_and_something_to_go_through(random_layer):
    one = client_of(app_of([[1.0], [-1.0]])).post("/api/drawing", json={"labels": [], "anchors": []})
    assert (one.status_code, one.json()["error"]) == (400, "a drawing needs a layer of at least 2 features, got 1")
    none = random_layer[2].post("/api/drawing", json={"labels": [], "anchors": []})
    assert none.status_code == 400
    assert none.json()["error"] == "a slice must go through a label set that can be predicted, got none"


def test_numbers_that_would_overflow_are_not_drawn():
    client = client_of(app_of(np.array([[1e200, 0.0], [0.0, 1.0]])))
    response = client.post("/api/drawing", json={"labels": [0], "anchors": [[0]]})
    assert (response.status_code, response.json()["error"]) == (
        400,
        "a drawing needs weights and inputs of at most 1e+100, got larger ones",
    )


def test_a_region_too_thin_for_floats_is_not_drawn_as_another():
    weight = np.array([[1.0, 0.0], [-1.0, 1e-12], [0.0, 1.0]])  # {0, 1} is a wedge of 1e-12 around the second axis
    client = client_of(app_of(weight))
    assert ask(client, "verdict", labels=[0, 1, 2])["status"] == "argmaxable"
    answer = ask(client, "drawing", labels=[0, 1, 2], anchors=[[0, 1, 2]])
    assert answer["disc"] is None
    assert len(answer["regions"]) >= 4
    assert (0, 1, 2) not in sets_of(answer)


def test_the_boundary_of_a_missing_label_is_marked(pets):
    answer = ask(pets, "drawing", labels=[0, 1, 2], anchors=[[0, 1]])
    assert {line["label"]: line["is_missing"] for line in answer["lines"]} == {0: False, 1: False, 2: True}


def test_a_label_without_weights_is_missing_without_a_line():
    weight = np.vstack([np.zeros(3), np.eye(3)])
    answer = ask(client_of(app_of(weight)), "drawing", labels=[0, 1], anchors=[[1]])
    assert sets_of(answer)[0] == (1,)
    assert 0 not in {line["label"] for line in answer["lines"]}


def test_the_support_of_sparsemax_in_the_plane_has_its_witness_within_the_frame():
    answer = ask(client_of(app_of(TRIANGLE, rule="sparsemax")), "drawing", labels=[0, 1], anchors=[[0, 1]])
    assert sets_of(answer)[0] == (0, 1)
    assert np.abs(answer["points"]).max() <= 1


def test_the_largest_disc_of_a_triangle_touches_its_sides():
    corners = np.array([[0.0, 0.0], [4.0, 0.0], [0.0, 3.0]])  # sides 3, 4, 5: radius 1 about (1, 1)
    center, radius = largest_disc(Cell(np.zeros(0, bool), corners, (-1, -1, -1)))
    assert center.tolist() == pytest.approx([1, 1])
    assert radius == pytest.approx(1)


def test_planes_have_orthonormal_axes_even_along_parallel_directions():
    x, directions = np.array([0.0, 0.0, 2.0]), np.array([[0.0, 0.0, 1.0], [1.0, 0.0, 5.0], [2.0, 0.0, 1.0]])
    plane = plane_through([x], directions, is_cone=True)
    assert plane.axes @ plane.axes.T == pytest.approx(np.eye(2))
    assert plane.axes @ x == pytest.approx([0, 0])  # at right angles to the ray
    assert plane.origin.tolist() == [0, 0, 1]
    assert Frame(np.zeros(2), 1.0).corners().shape == (4, 2)


def test_a_data_set_of_pets_is_found_by_its_names():
    client = client_of(app_of(TRIANGLE, read_label_sets([[0, 1]], 3), names=PETS))
    assert ask(client, "drawing", labels=[0], anchors=[[0]])["names"]["2"] == "bird"
