"""What a page shows of the stretch: the picture with the bar, examples by name, pairs apart, dead labels."""

from collections.abc import Sequence
from dataclasses import dataclass

from labelproof.auditing.document import AuditDocument, Group, Instructive, StretchFacts
from labelproof.foundation.wording import percent, plural
from labelproof.pages.names import label_name, label_names
from labelproof.report.conflict_pictures import Pull, pulls
from labelproof.report.shown_numbers import number, times
from labelproof.report.stretch_picture import stretch_histogram
from labelproof.report.summary import Figure
from labelproof.report.svg import Svg

__all__ = ["StretchView", "stretch_figures", "view_stretch"]


@dataclass(frozen=True)
class Card:
    """An example whose label set lies far out, and the labels that contradict each other there."""

    labels: tuple[str, ...]
    examples: int
    how_far: str
    text: str | None
    predicted: tuple[str, ...] | None
    why: str
    on: tuple[Pull, ...]
    off: tuple[Pull, ...]


@dataclass(frozen=True)
class PairRow:
    """Two labels that no mixture of the examples switches on together, and those of them that are never predicted."""

    labels: tuple[str, ...]
    dead: tuple[str, ...]
    examples: int
    stretch: str


@dataclass(frozen=True)
class DeadRow:
    """A label that is predicted for none of the inputs."""

    name: str
    examples: int
    reason: str


@dataclass(frozen=True)
class StretchView:
    """All that is shown; ``facts`` gives the counts as they are."""

    facts: StretchFacts
    picture: Svg
    caption: str
    cards: tuple[Card, ...]
    pairs: tuple[PairRow, ...]
    dead: tuple[DeadRow, ...]


def view_stretch(document: AuditDocument) -> StretchView | None:
    """Lay out the stretch of an audit; None where it was not measured."""
    facts, data, names = document["stretch"], document["groups"][0], document["label_names"]
    lower = data["stretch_lower"]
    if facts is None or not lower:
        return None
    edge, word = _edge(facts)
    inputs, dead = plural(facts["examples"], "real input"), {one["label"] for one in facts["dead"]}
    caption = (
        f"How far beyond all mixtures of {inputs} the model would have to go to predict your examples’ label sets. "
        f"Up to 1, some mixture is predicted so; ∞, none however far.{_beyond(facts)}"
    )
    return StretchView(
        facts=facts,
        picture=stretch_histogram(lower, data["counts"], edge, word, caption),
        caption=caption,
        cards=tuple(_card(one, facts, names) for one in facts["instructive"]),
        pairs=tuple(
            PairRow(
                label_names(names, pair["labels"]),
                label_names(names, [label for label in pair["labels"] if label in dead]),
                pair["examples"],
                times(pair["lower"]),
            )
            for pair in facts["pairs"]
        ),
        dead=tuple(DeadRow(label_name(names, one["label"]), one["examples"], one["reason"]) for one in facts["dead"]),
    )


def stretch_figures(facts: StretchFacts, data: Group) -> tuple[Figure, ...]:
    """Return what the page says first of a model whose stretch was measured."""
    n_sets = len(data["labels"])
    bar, beyond = facts["bar"], facts["beyond_examples"]
    where = "beyond the bar" if bar else "beyond all mixtures of real inputs"
    figures = [
        Figure(
            percent(beyond, facts["all_examples"]),
            f"of your examples have label sets {where}",
            "cannot" if beyond else "",
        )
    ]
    if bar:
        text = f"of its predictions are such sets, all together ({100 * bar['confidence']:g} % confidence)"
        figures.append(Figure(f"≤ {100 * bar['alpha']:g} %", text))
    if facts["exact_beyond"] is not None and beyond:
        text = f"of them were predicted exactly, among {facts['predicted']:,} inputs not marked as training data"
        figures.append(Figure(f"{facts['exact_beyond']:,}", text))
    if facts["n_apart"] is not None:
        text = f"of {facts['n_pairs']:,} label pairs of the data are combined by no mixture of inputs"
        figures.append(Figure(f"{facts['n_apart']:,}", text))
    if facts["n_dead"] is not None:
        what = "label is" if facts["n_dead"] == 1 else "labels are"
        figures.append(Figure(f"{facts['n_dead']:,}", f"{what} predicted for none of {facts['inputs']:,} inputs"))
    text = f"of {n_sets:,} distinct label sets can be predicted for some features, real or not"
    return (*figures, Figure(percent(data["argmaxable"], n_sets), text))


def _edge(facts: StretchFacts) -> tuple[float | None, str]:
    bar = facts["bar"]
    if bar is None:
        return 1.0, "all mixtures"
    return bar["value"], "" if bar["value"] is None else f"bar {number(bar['value'])}"


def _beyond(facts: StretchFacts) -> str:
    """Say what is orange, and where the bar is from."""
    bar, count = facts["bar"], facts["beyond_examples"]
    if bar is None:
        return f" Orange: {plural(count, 'example')} beyond all mixtures." if count else ""
    orange = f" Orange: {plural(count, 'example')} beyond it." if count else ""
    origin = f" The bar is from what the model predicts for {plural(bar['n'], 'held-out input')}."
    return f"{origin}{orange}"


def _card(one: Instructive, facts: StretchFacts, names: Sequence[str]) -> Card:
    shares = one["shares"]
    on, off = shares[: len(one["on"])], shares[len(one["on"]) :]
    largest = max(shares, default=0.0)

    bar = facts["bar"]
    beside = f"; the bar is {number(bar['value'])}" if bar and bar["value"] is not None else ""
    return Card(
        labels=label_names(names, one["labels"]),
        examples=one["examples"],
        how_far=f"stretch {times(one['lower'])} at least{beside}" if one["lower"] is not None else "stretch ∞",
        text=one["text"],
        predicted=None if one["predicted"] is None else label_names(names, one["predicted"]),
        why=_why(one),
        on=pulls(label_names(names, one["on"]), on, "on", largest),
        off=pulls(label_names(names, one["off"]), off, "off", largest),
    )


def _why(one: Instructive) -> str:
    where = "at every real input" if one["lower"] is None or one["lower"] > 1 else "at every mixture that is nearer"
    if len(one["on"]) + len(one["off"]) == 1:
        return f"This label is {'off' if one['on'] else 'on'} {where}:"
    return f"These labels, so weighted, contradict each other {where}:"
