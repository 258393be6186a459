"""How far the label sets of the examples lie from mixtures of real inputs, as a histogram with the bar in it."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from labelproof.report.histogram import BOTTOM, HEIGHT, LEFT, RIGHT, TOP, WIDTH, level_lines, marked_line, tick
from labelproof.report.svg import Svg, element

__all__ = ["stretch_histogram"]

WITHIN = 12  # bins below the edge
MOST_BINS = 36
APART = 3.5  # bins from the bar of what is far to that of what is infinite, so that their words stand apart
STEPS = (0.05, 0.1, 0.2, 0.25, 0.5)
MOST_TICKS = 8


@dataclass(frozen=True)
class _Scale:
    """Bins of equal width from 0, one of them beginning at the edge; ``far`` and ``infinite`` have one each after."""

    width: float
    n_bins: int
    has_far: bool
    has_infinite: bool

    @property
    def n_places(self) -> float:
        return self.n_bins + APART * self.has_far + 2.0 * self.has_infinite

    def x(self, place: float) -> float:
        return LEFT + (WIDTH - LEFT - RIGHT) * place / self.n_places


def stretch_histogram(
    values: Sequence[float | None], counts: Sequence[int], edge: float | None, word: str, description: str
) -> Svg:
    """Draw how many examples have label sets of which stretch.

    Parameters
    ----------
    values
        The stretch of each set, at least one; None is infinite.
    counts
        How many examples have it.
    edge
        From where on bars are drawn like what cannot be predicted: the bar, or 1; None where nothing is beyond.
    word
        What stands at the edge.
    description
        What the picture shows, in words, for those who do not see it.

    Examples
    --------
    >>> picture = stretch_histogram([0.4, 0.9, 2.0, None], [5, 1, 1, 2], 1.6, "bar 1.6", "Stretch")
    >>> picture.count('class="can"'), picture.count('class="cannot"'), "∞" in picture
    (2, 2, True)
    """
    finite = [value for value in values if value is not None]
    scale = _scale(finite, edge, has_infinite=len(finite) < len(values))
    bins: dict[int, int] = {}
    for value, count in zip(values, counts, strict=True):
        place = _place(scale, value)
        bins[place] = bins.get(place, 0) + count
    highest = max(1, max(bins.values(), default=1))
    first_beyond = math.inf if edge is None else round(edge / scale.width)
    drawn = [*level_lines(highest), element("text", "examples", class_="tick", x=0, y=TOP - 12)]
    drawn += [_bar(scale, place, count / highest, place >= first_beyond) for place, count in sorted(bins.items())]
    drawn += _ticks(scale)
    if edge is not None:
        drawn += marked_line(scale.x(edge / scale.width), TOP - 22, word)
    frame = f"0 0 {WIDTH:g} {HEIGHT:g}"
    return element("svg", *drawn, class_="histogram", viewBox=frame, role="img", aria_label=description)


def _scale(finite: Sequence[float], edge: float | None, *, has_infinite: bool) -> _Scale:
    largest = max(finite, default=1.0) or 1.0
    whole = edge if edge else largest
    width = whole / WITHIN
    needed = math.floor(largest / width + 1e-9) + 1
    return _Scale(width, min(max(needed, WITHIN + 1), MOST_BINS), needed > MOST_BINS, has_infinite)


def _place(scale: _Scale, value: float | None) -> int:
    """Return the bin of a value; those for what is far and what is infinite follow all others."""
    if value is None:
        return scale.n_bins + scale.has_far
    return min(math.floor(value / scale.width + 1e-9), scale.n_bins if scale.has_far else scale.n_bins - 1)


def _span(scale: _Scale, place: int) -> tuple[float, float]:
    if place < scale.n_bins:
        return scale.x(place), scale.x(place + 1)
    start = scale.n_bins + APART * (place - scale.n_bins)
    return scale.x(start + 0.6), scale.x(start + 1.8)


def _bar(scale: _Scale, place: int, height: float, is_beyond: bool) -> Svg:
    left, right = _span(scale, place)
    tall = max((HEIGHT - TOP - BOTTOM) * height, 1.0)
    kind = "cannot" if is_beyond else "can"
    return element("rect", class_=kind, x=left + 0.5, y=HEIGHT - BOTTOM - tall, width=right - left - 1, height=tall)


def _ticks(scale: _Scale) -> list[Svg]:
    end = scale.width * scale.n_bins
    power = 10.0 ** math.floor(math.log10(end))
    step = next(s * power * k for k in (1, 10) for s in STEPS if end / (s * power * k) <= MOST_TICKS)
    drawn = []
    for i in range(int(end / step) + 1):
        place = i * step / scale.width
        if not scale.has_far or place <= scale.n_bins - APART:
            drawn += tick(scale.x(place), f"{i * step:g}")
    for place, text in [(scale.n_bins, f"> {end:.3g}")] * scale.has_far + [
        (scale.n_bins + scale.has_far, "∞")
    ] * scale.has_infinite:
        left, right = _span(scale, place)
        drawn += tick((left + right) / 2, text)
    return drawn
