"""Shares as lines over widths, on a scale on which each doubling takes the same space."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from labelproof.report.svg import Svg, element

__all__ = ["KINDS", "Line", "share_lines"]

WIDTH, HEIGHT = 640.0, 280.0
LEFT, RIGHT, TOP, BOTTOM = 52.0, 140.0, 14.0, 42.0
KINDS = 4  # of lines, in the style sheet
APART = 15.0  # between the names at the lines' ends


@dataclass(frozen=True)
class Line:
    """Shares between 0 and 1, one for each width; None where there is none."""

    name: str
    shares: tuple[float | None, ...]


def share_lines(widths: Sequence[int], lines: Sequence[Line], description: str, axis: str) -> Svg:
    """Draw how shares change with a width.

    Parameters
    ----------
    widths
        Positive and ascending.
    lines
        At most four.
    description
        What the picture shows, in words, for those who do not see it.
    axis
        What the widths are.

    Examples
    --------
    >>> share_lines([4, 8], [Line("as many", (0.5, 1.0))], "Shares", "width").count("<circle")
    2
    """
    places = [_x(width, widths) for width in widths]
    drawn = [*_levels(), *_ticks(widths, places)]
    ends: list[tuple[float, int, str]] = []
    for kind, line in enumerate(lines[:KINDS]):
        points = [(x, _y(share)) for x, share in zip(places, line.shares, strict=True) if share is not None]
        if points:
            drawn.append(
                element("polyline", class_=f"line{kind}", points=" ".join(f"{x:.1f},{y:.1f}" for x, y in points))
            )
            drawn += [element("circle", class_=f"line{kind}", cx=x, cy=y, r=3.5) for x, y in points]
            ends.append((points[-1][1], kind, line.name))
    drawn += _names(ends)
    drawn.append(element("text", axis, x=(LEFT + WIDTH - RIGHT) / 2, y=HEIGHT - 4, text_anchor="middle"))
    frame = f"0 0 {WIDTH:g} {HEIGHT:g}"
    return element("svg", *drawn, class_="lines", viewBox=frame, role="img", aria_label=description)


def _x(width: int, widths: Sequence[int]) -> float:
    low, high = math.log2(widths[0]), math.log2(widths[-1])
    part = (math.log2(width) - low) / (high - low) if high > low else 0.5
    return LEFT + 10 + (WIDTH - LEFT - RIGHT - 20) * part


def _y(share: float) -> float:
    return TOP + (HEIGHT - TOP - BOTTOM) * (1 - share)


def _levels() -> list[Svg]:
    drawn = []
    for per_cent in (0, 25, 50, 75, 100):
        y = _y(per_cent / 100)
        drawn.append(element("line", class_="level", x1=LEFT, x2=WIDTH - RIGHT, y1=y, y2=y))
        drawn.append(element("text", f"{per_cent} %", x=LEFT - 8, y=y + 4, text_anchor="end"))
    return drawn


def _ticks(widths: Sequence[int], places: Sequence[float]) -> list[Svg]:
    drawn, last = [], -math.inf
    for width, x in zip(widths, places, strict=True):
        drawn.append(element("line", class_="axis", x1=x, x2=x, y1=HEIGHT - BOTTOM, y2=HEIGHT - BOTTOM + 4))
        if x - last > 26:
            drawn.append(element("text", f"{width}", x=x, y=HEIGHT - BOTTOM + 18, text_anchor="middle"))
            last = x
    return drawn


def _names(ends: Sequence[tuple[float, int, str]]) -> list[Svg]:
    """Write the names at the ends of the lines, one below the other where they would meet."""
    drawn, last = [], -math.inf
    for y, kind, name in sorted(ends, key=lambda end: (end[0], end[1])):
        last = max(y, last + APART)
        drawn.append(
            element("line", class_=f"line{kind}", x1=WIDTH - RIGHT + 8, x2=WIDTH - RIGHT + 30, y1=last, y2=last)
        )
        drawn.append(element("text", name, class_="name", x=WIDTH - RIGHT + 36, y=last + 4))
    return drawn
