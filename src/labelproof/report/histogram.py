"""Histograms over a logarithmic scale, with marks at values to compare with."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from labelproof.report.shown_numbers import SUPERSCRIPTS
from labelproof.report.svg import Svg, element

__all__ = [
    "BOTTOM",
    "HEIGHT",
    "LEFT",
    "RIGHT",
    "TOP",
    "WIDTH",
    "Mark",
    "level_lines",
    "log_histogram",
    "marked_line",
    "tick",
]

WIDTH, HEIGHT = 420.0, 224.0
LEFT, RIGHT, TOP, BOTTOM = 40.0, 18.0, 48.0, 28.0
MOST_BINS = 36
MOST_TICKS = 9
BINS_PER_DECADE = (40, 20, 10, 5, 4, 2, 1, 0.5, 0.2, 0.1, 0.05)
EDGE = 1e-9  # a value that should be on an edge may be rounded to just below it


@dataclass(frozen=True)
class Mark:
    """A line across the histogram at a value, with a word at its head."""

    value: float
    text: str


def log_histogram(
    values: Sequence[float], description: str, *, marks: Sequence[Mark] = (), limit: float = math.inf
) -> Svg:
    """Draw how many values lie in each part of a logarithmic scale.

    Parameters
    ----------
    values
        Positive numbers, at least one.
    description
        What the picture shows, in words, for those who do not see it.
    marks
        Values to draw a line at.
    limit
        Bars that begin at it or above are drawn like what cannot be predicted.

    Examples
    --------
    >>> log_histogram([0.1, 0.2, 0.2], "Margins").count('class="can"')
    2
    """
    scale = _scale([*values, *(mark.value for mark in marks)], limit)
    counts = [0] * scale.n_bins
    for value in values:
        counts[min(scale.n_bins - 1, math.floor(scale.bins(math.log10(value)) + EDGE))] += 1
    highest = max(counts)
    bars = [_bar(scale, i, count / highest, limit) for i, count in enumerate(counts) if count]
    drawn = [*level_lines(highest), *bars, *_ticks(scale), *_marks(scale, marks)]
    top = 0.0 if marks else TOP - 6
    frame = f"0 {top:g} {WIDTH:g} {HEIGHT - top:g}"
    return element("svg", *drawn, class_="histogram", viewBox=frame, role="img", aria_label=description)


@dataclass(frozen=True)
class _Scale:
    """Bins of equal width in log10."""

    start: float
    per_decade: float
    n_bins: int

    def bins(self, log: float) -> float:
        return (log - self.start) * self.per_decade

    def x(self, bins: float) -> float:
        return LEFT + (WIDTH - LEFT - RIGHT) * bins / self.n_bins


def _scale(values: Sequence[float], limit: float) -> _Scale:
    """Choose the bins; one of them begins at the limit."""
    low, high = math.log10(min(values)), math.log10(max(values))
    per_decade = next(n for n in BINS_PER_DECADE if (high - low) * n < MOST_BINS - 2)
    edge = math.log10(limit) if math.isfinite(limit) else 0.0
    first = math.floor((low - edge) * per_decade + EDGE)
    last = math.floor((high - edge) * per_decade + EDGE)
    return _Scale(edge + first / per_decade, per_decade, last - first + 1)


def _bar(scale: _Scale, i: int, height: float, limit: float) -> Svg:
    left, right = scale.x(i), scale.x(i + 1)
    tall = max((HEIGHT - TOP - BOTTOM) * height, 1.0)
    is_beyond = math.isfinite(limit) and i + EDGE >= scale.bins(math.log10(limit))
    gap = min(1.0, (right - left) / 8)
    return element(
        "rect",
        class_="cannot" if is_beyond else "can",
        x=left + gap / 2,
        y=HEIGHT - BOTTOM - tall,
        width=right - left - gap,
        height=tall,
    )


def level_lines(highest: int) -> list[Svg]:
    """Draw lines at zero and at two to four round counts that bars reach, or at 1 alone."""
    power = 10 ** math.floor(math.log10(highest))
    steps = (n * power // 10 for n in (5, 2, 1, 10, 20, 50))
    step = max((s for s in steps if s and 2 * s <= highest), default=1)
    drawn = []
    for count in range(0, highest + 1, step):
        y = HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * count / highest
        drawn.append(element("line", class_="level", x1=LEFT, x2=WIDTH - RIGHT, y1=y, y2=y))
        drawn.append(element("text", f"{count:,}", class_="tick", x=LEFT - 6, y=y + 4, text_anchor="end"))
    return drawn


def tick(x: float, text: str) -> list[Svg]:
    """Draw a place on the axis with its number."""
    return [
        element("line", class_="axis", x1=x, x2=x, y1=HEIGHT - BOTTOM, y2=HEIGHT - BOTTOM + 4),
        element("text", text, class_="tick", x=x, y=HEIGHT - BOTTOM + 18, text_anchor="middle"),
    ]


def marked_line(x: float, y: float, word: str) -> list[Svg]:
    """Draw a line from below a word, which stands at y, to the axis."""
    anchor = "start" if x < LEFT + 60 else "end" if x > WIDTH - RIGHT - 60 else "middle"
    return [
        element("line", class_="mark", x1=x, x2=x, y1=y + 4, y2=HEIGHT - BOTTOM),
        element("text", word, class_="mark", x=x, y=y, text_anchor=anchor),
    ]


def _ticks(scale: _Scale) -> list[Svg]:
    end = scale.start + scale.n_bins / scale.per_decade
    decades = range(math.floor(scale.start + EDGE), math.ceil(end) + 1)
    digits = (1, 2, 5) if len(decades) <= 4 else (1,)
    places = [(scale.bins(exponent + math.log10(digit)), digit, exponent) for exponent in decades for digit in digits]
    inside = [place for place in places if -EDGE <= place[0] <= scale.n_bins + EDGE]
    drawn = []
    for bins, digit, exponent in inside[:: 1 + len(inside) // MOST_TICKS]:
        drawn += tick(scale.x(bins), _power(digit, exponent))
    return drawn


def _power(digit: int, exponent: int) -> str:
    if -3 <= exponent < 5:
        return f"{digit * 10**exponent:,}" if exponent >= 0 else f"{digit * 10.0**exponent:.{-exponent}f}"
    power = f"10{str(exponent).translate(SUPERSCRIPTS)}"
    return power if digit == 1 else f"{digit}·{power}"


def _marks(scale: _Scale, marks: Sequence[Mark]) -> list[Svg]:
    """Draw the lines; words take turns on three heights, the last one highest, so that no line crosses a word."""
    drawn = []
    for i, mark in enumerate(sorted(marks, key=lambda mark: -mark.value)):
        drawn += marked_line(scale.x(scale.bins(math.log10(mark.value))), 12.0 + 14.0 * (i % 3), mark.text)
    return drawn
