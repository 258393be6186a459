"""Bars that fill the space they are given; the numbers that they show stand beside them."""

from collections.abc import Sequence

from labelproof.report.svg import Svg, element

__all__ = ["interval_bar", "share_bar", "verdict_bar"]

WIDTH = 100.0
VERDICTS = ("can", "cannot", "undecided")  # what the parts of a bar of verdicts are called, in the style sheet too


def verdict_bar(argmaxable: int, unargmaxable: int, undecided: int) -> Svg:
    """Draw how verdicts share a whole.

    Examples
    --------
    >>> verdict_bar(3, 1, 0).count("<rect")
    3
    """
    return share_bar(list(zip(VERDICTS, (argmaxable, unargmaxable, undecided), strict=True)))


def share_bar(parts: Sequence[tuple[str, float]], whole: float | None = None) -> Svg:
    """Draw parts side by side, each as (class, size); what is missing to the whole stays empty."""
    whole = whole or sum(size for _, size in parts) or 1.0
    drawn, x = [_track()], 0.0
    for kind, size in parts:
        width = WIDTH * size / whole
        if width > 0:
            drawn.append(element("rect", class_=kind, x=x, width=width, height=10))
        x += width
    return _bar(drawn)


def interval_bar(value: float, low: float, high: float) -> Svg:
    """Draw a share of a population, between 0 and 1, with the interval in which it lies."""
    left, right = WIDTH * low, WIDTH * high
    return _bar(
        [
            _track(),
            element("rect", class_="interval", x=left, width=max(right - left, 0.5), height=10),
            element("rect", class_="can", x=max(WIDTH * value - 0.6, 0.0), width=1.2, height=10),
        ]
    )


def _track() -> Svg:
    return element("rect", class_="track", width=WIDTH, height=10)


def _bar(drawn: Sequence[Svg]) -> Svg:
    return element(
        "svg", *drawn, class_="bar", viewBox=f"0 0 {WIDTH:g} 10", preserveAspectRatio="none", aria_hidden="true"
    )
