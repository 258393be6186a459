"""The pictures: their bars have the sizes of what they show."""

import re
from itertools import pairwise

import pytest

from labelproof.report.bars import interval_bar, share_bar, verdict_bar
from labelproof.report.histogram import Mark, level_lines, log_histogram
from labelproof.report.summary import size_rows


def numbers(svg, kind, attribute):
    rects = re.findall(rf'<rect class="{kind}"[^>]*>', svg)
    return [float(re.search(rf' {attribute}="([^"]+)"', rect)[1]) for rect in rects]


def test_the_parts_of_a_bar_have_the_sizes_of_the_counts():
    svg = verdict_bar(60, 30, 10)
    assert [numbers(svg, kind, "width") for kind in ("can", "cannot", "undecided")] == [[60], [30], [10]]
    assert [numbers(svg, kind, "x") for kind in ("can", "cannot", "undecided")] == [[0], [60], [90]]


def test_a_bar_of_nothing_is_an_empty_track():
    assert "can" not in verdict_bar(0, 0, 0)
    assert numbers(share_bar([("on", 0.0)], whole=1.0), "on", "width") == []


def test_an_interval_reaches_from_its_low_to_its_high_end():
    svg = interval_bar(0.5, 0.25, 0.75)
    assert numbers(svg, "interval", "x") == [25]
    assert numbers(svg, "interval", "width") == [50]


def test_bars_of_a_histogram_are_as_high_as_the_counts():
    svg = log_histogram([0.001] * 4 + [0.01] * 2 + [0.1], "h")
    heights = numbers(svg, "can", "height")
    assert [height / heights[0] for height in heights] == pytest.approx([1, 0.5, 0.25], rel=1e-3)


def test_decades_are_equally_far_apart():
    left = numbers(log_histogram([0.001, 0.01, 0.1, 1.0], "h"), "can", "x")
    assert [b - a for a, b in pairwise(left)] == pytest.approx([left[1] - left[0]] * 3, abs=0.05)


def test_what_lies_beyond_the_limit_looks_different():
    svg = log_histogram([1.0, 2.0, 50.0, 80.0], "h", marks=[Mark(10.0, "farthest")], limit=10.0)
    assert len(numbers(svg, "can", "x")) == 2
    assert len(numbers(svg, "cannot", "x")) == 2
    assert ">farthest</text>" in svg


@pytest.mark.parametrize("values", [[5e-324, 1.7e308], [3.0], [2.0, 2.0000001], [1e-9, 1e9], [1.0, 10.0]])
def test_any_positive_numbers_have_a_histogram_inside_its_frame(values):
    svg = log_histogram(values, "h", marks=[Mark(values[0], "here")])
    for x, width in zip(numbers(svg, "can", "x"), numbers(svg, "can", "width"), strict=True):
        assert 39 <= x <= x + width <= 409
    assert "nan" not in svg
    assert "inf" not in svg
    ticks = [float(x) for x in re.findall(r'class="axis" x1="([^"]+)"', svg)]
    assert all(39 <= x <= 409 for x in ticks)


def test_many_numbers_of_labels_are_put_together_without_losing_a_set():
    by_size = [
        {
            "size": k, "sets": k + 1, "examples": 2 * k, "argmaxable": k, "unargmaxable": 1, "undecided": 0,
            "argmaxable_examples": k,
        }
        for k in range(40)
    ]  # fmt: skip
    rows = size_rows({"by_size": by_size, "beyond": None})
    assert [row.size for row in rows] == ["0", "1", "2–3", "4–7", "8–15", "16–31", "32–39"]
    assert sum(row.sets for row in rows) == sum(range(1, 41))
    assert [row.size for row in size_rows({"by_size": by_size[:16], "beyond": None})] == [str(k) for k in range(16)]


@pytest.mark.parametrize(
    ("highest", "levels"), [(1, "0 1"), (3, "0 1 2 3"), (9, "0 2 4 6 8"), (450, "0 200 400"), (1000, "0 500 1,000")]
)
def test_lines_across_a_histogram_reach_near_its_highest_bar(highest, levels):
    svg = "".join(level_lines(highest))
    assert " ".join(re.findall(r">([\d,]+)</text>", svg)) == levels
