"""A report in parts that any audit can fill: figures, one bar of verdicts, sections of tables and pictures, facts."""

from dataclasses import dataclass

from labelproof.report.summary import Figure
from labelproof.report.svg import Svg

__all__ = ["Findings", "Listing", "Proof", "Topic"]


@dataclass(frozen=True)
class Listing:
    """A table of words, numbers and bars.

    ``columns`` are pairs of a title and a kind: "figure" for numbers, "wide" for bars, "labels" for words of any
    length, "" for others. The first cell of a row heads it.
    """

    columns: tuple[tuple[str, str], ...]
    rows: tuple[tuple[str | Svg, ...], ...]


@dataclass(frozen=True)
class Topic:
    """A section: sentences, a picture, a table and a note below it, as far as there are any."""

    key: str
    title: str
    lead: tuple[str, ...] = ()
    picture: Svg | None = None
    table: Listing | None = None
    note: str = ""


@dataclass(frozen=True)
class Proof:
    """What stands behind one kind of verdict; ``status`` is 1, 0 or -1."""

    status: int
    words: str
    text: str


@dataclass(frozen=True)
class Findings:
    """All that such a page shows."""

    title: str
    headline: str
    figures: tuple[Figure, ...]
    bars: tuple[tuple[str, Svg], ...]
    legend: tuple[tuple[int, str], ...]
    topics: tuple[Topic, ...]
    facts: tuple[tuple[str, str], ...]
    proofs: tuple[Proof, ...]
    commands: tuple[str, ...]
    foot: str
