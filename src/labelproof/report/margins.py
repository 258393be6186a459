"""How much room the label sets have that can be predicted: margins, radii, and how far from the data they begin."""

import math
import statistics
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from labelproof.auditing.document import AuditDocument, Reach
from labelproof.foundation.wording import plural
from labelproof.report.histogram import Mark, log_histogram
from labelproof.report.shown_numbers import number
from labelproof.report.svg import Svg

__all__ = ["Distribution", "distributions", "positive"]

MARKED = {0.5: "median", 0.99: "99 %", 1.0: "farthest"}  # quantiles of the data's distances


@dataclass(frozen=True)
class Distribution:
    """A histogram with its title and a sentence for each thing to see in it."""

    title: str
    picture: Svg
    sentences: tuple[str, ...]


def distributions(document: AuditDocument) -> tuple[Distribution, ...]:
    """Draw what is known of the data's label sets that can be predicted."""
    data, reach = document["groups"][0], document["reach"]
    found = [
        *_spread(
            "Margins",
            data["margin"],
            "Of an input that gives the set, to the nearest label’s boundary, relative to its length.",
        ),
        *_spread("Radii", data["radius"] or (), "Of the largest ball of inputs that all give the label set."),
    ]
    distances = positive(data["reach"] or ())
    if reach is not None and distances:
        found.append(_reach(reach, distances))
    return tuple(found)


def positive(values: Sequence[float | None]) -> list[float]:
    """Return the known numbers that a logarithmic scale can show."""
    return [value for value in values if value is not None and 0 < value < math.inf]


def _spread(title: str, values: Sequence[float | None], what: str) -> Iterator[Distribution]:
    known = sorted(positive(values))
    if known:
        middle, tenth = number(statistics.median(known)), number(known[len(known) // 10])
        numbers = f"Median {middle}; a tenth is below {tenth}; the smallest is {number(known[0])}."
        yield Distribution(title, log_histogram(known, f"{title}. {numbers}"), (what, numbers))


def _reach(reach: Reach, distances: Sequence[float]) -> Distribution:
    marks = [Mark(value, MARKED[q]) for q, value in reach["quantiles"] if q in MARKED and value > 0]
    limit = next((mark.value for mark in marks if mark.text == MARKED[1.0]), math.inf)
    what = (
        "How far from the mean of the data’s features (in whitened units) an input must be to give a label set, beside "
        f"the distances of {plural(reach['examples'], 'example')} (lines)."
    )
    numbers = (
        f"{plural(reach['within'], 'label set')} of those that can be predicted {_are(reach['within'])} within the "
        f"largest distance that occurs; {reach['beyond']:,} {_are(reach['beyond'])} beyond it (orange), possible on "
        "paper only."
    )
    return Distribution(
        "Reach", log_histogram(distances, f"Reach. {numbers}", marks=marks, limit=limit), (what, numbers)
    )


def _are(count: int) -> str:
    return "is" if count == 1 else "are"
