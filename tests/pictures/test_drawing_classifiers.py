"""Regions, balls and lattices of small classifiers."""

import numpy as np
import pytest

from labelproof.pictures import draw_arrangement, draw_hasse, regions
from labelproof.pictures.arrangement import _balls
from labelproof.theory.counting import count_argmaxable
from labelproof.theory.dft import gale_matrix


@pytest.mark.parametrize("with_bias", [False, True])
def test_there_are_as_many_regions_as_cover_counts(with_bias):
    rng = np.random.default_rng(0)
    weight, bias = rng.normal(size=(6, 2)), rng.normal(size=6) if with_bias else None
    found = regions(weight, bias=bias, box=100.0)
    assert len({region.labels for region in found}) == len(found) == count_argmaxable(6, 2, bias=with_bias)
    for region in found:
        inside = region.centroid @ weight.T + (0 if bias is None else bias) > 0
        assert tuple(np.flatnonzero(inside)) == region.labels


def test_regions_cover_the_box():
    found = regions(np.random.default_rng(1).normal(size=(5, 2)), box=2.0)
    areas = []
    for x, y in (region.corners.T for region in found):
        areas.append(abs(x @ np.roll(y, -1) - y @ np.roll(x, -1)) / 2)
    assert sum(areas) == pytest.approx(16.0)


def test_a_ball_touches_lines_and_crosses_none():
    weight = gale_matrix(4, 2)
    sets = [region.labels for region in regions(weight)]
    balls = _balls(weight, None, 1.0, sets)
    assert len(balls) == 8
    unit = weight / np.linalg.norm(weight, axis=1, keepdims=True)
    for center, radius in balls:
        assert np.abs(unit @ center).min() == pytest.approx(radius, rel=1e-6)
        assert np.abs(center).max() <= 1.0


def test_pictures_are_the_same_for_the_same_weights(tmp_path):
    weight = [[1.0, 0.2], [-0.4, 1.0], [0.0, 0.0]]
    for name in ("a.svg", "b.svg"):
        draw_arrangement(weight, tmp_path / name, bias=[0.1, 0.2, 1.0], label_names=["$x$", "<b>", "c"], title="three")
    assert (tmp_path / "a.svg").read_bytes() == (tmp_path / "b.svg").read_bytes()
    draw_arrangement(weight, tmp_path / "c.png", balls=False)
    assert (tmp_path / "c.png").read_bytes().startswith(b"\x89PNG")


def test_the_lattice_counts_what_is_proven(tmp_path):
    counts = draw_hasse(gale_matrix(4, 2), tmp_path / "hasse.svg", title="n = 4")
    assert counts == {"argmaxable": 8, "unargmaxable": 8, "undecided": 0}
    assert (tmp_path / "hasse.svg").exists()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([[1.0, 0.0, 0.0]], {}), r"weight must have shape \(n_labels, 2\) with at most 40 labels, got \(1, 3\)"),
        (([[1.0, 0.0]], {"bias": [1.0, 2.0]}), r"bias must have shape \(1,\)"),
        (([[1.0, np.nan]], {}), "weight"),
        (([[1.0, 0.0]], {"box": 0.0}), "box must be a positive number, got 0"),
    ],
)
def test_what_cannot_be_drawn_is_refused(arguments, message):
    weight, options = arguments
    with pytest.raises(ValueError, match=message):
        regions(weight, **options)


def test_names_and_labels_must_fit(tmp_path):
    with pytest.raises(ValueError, match="label_names must hold 1 names, one per label, got 2"):
        draw_arrangement([[1.0, 0.0]], tmp_path / "a.png", label_names=["a", "b"])
    with pytest.raises(ValueError, match="inside must be 'signs' or 'names', got 'words'"):
        draw_arrangement([[1.0, 0.0]], tmp_path / "a.png", inside="words")
    with pytest.raises(ValueError, match="at most 7 labels for a Hasse diagram, got 8"):
        draw_hasse(np.ones((8, 2)), tmp_path / "a.png")
    assert not list(tmp_path.iterdir())


def test_regions_can_be_named_by_their_labels(tmp_path):
    draw_arrangement([[1.0, 0.0], [0.0, 1.0]], tmp_path / "a.svg", label_names=["cat", "$dog"], inside="names")
    text = (tmp_path / "a.svg").read_text()
    assert [text.count(f"<!-- {word} -->") for word in ("cat", "$dog", "none")] == [3, 3, 1]  # lines, regions


def test_the_centroid_is_the_centre_of_gravity():
    cut = regions([[1.0, 0.5]], bias=[-0.5])[0]  # a square without one corner: more corners than a triangle
    grid = np.stack(np.meshgrid(*2 * [np.linspace(-1, 1, 801)]), axis=-1).reshape(-1, 2)
    inside = (grid @ [1.0, 0.5] - 0.5 > 0) == bool(cut.labels)
    assert cut.centroid == pytest.approx(grid[inside].mean(axis=0), abs=0.01)
