"""The counts of an audit, laid out with their bars: overall, by number of active labels, by group, by label."""

from collections.abc import Sequence
from dataclasses import dataclass

from labelproof.auditing.document import AuditDocument, BySize, Group
from labelproof.foundation.wording import percent, plural
from labelproof.pages.names import label_name
from labelproof.report.bars import interval_bar, share_bar, verdict_bar
from labelproof.report.svg import Svg

__all__ = [
    "Figure",
    "GroupRow",
    "LabelRow",
    "Requirement",
    "SizeRow",
    "group_rows",
    "key_figures",
    "label_rows",
    "requirement_rows",
    "size_rows",
]

MOST_SIZES = 16
MOST_LABELS = 15


@dataclass(frozen=True)
class Figure:
    """A number that the page shows large, with what it counts."""

    value: str
    text: str
    kind: str = ""  # a verdict's name in the style sheet


@dataclass(frozen=True)
class SizeRow:
    """Verdicts on the sets with so many active labels."""

    size: str
    sets: int
    argmaxable: int
    share: str
    bar: Svg
    examples_share: str


@dataclass(frozen=True)
class GroupRow:
    """Verdicts on label sets that were asked about together."""

    title: str
    sets: int
    population: int | None
    argmaxable: int
    unargmaxable: int
    undecided: int
    share: str
    interval: str
    bar: Svg


@dataclass(frozen=True)
class Requirement:
    """A label set that the model must be able to predict."""

    name: str
    labels: tuple[str, ...]
    status: int


@dataclass(frozen=True)
class LabelRow:
    """A label that takes part in many conflicts."""

    name: str
    sets: int
    examples: int
    bar: Svg


def key_figures(document: AuditDocument) -> tuple[Figure, ...]:
    """Return what the page says first."""
    data, layer = document["groups"][0], document["layer"]
    n_sets, n_cannot, lost = len(data["labels"]), data["unargmaxable"], data["examples"] - data["argmaxable_examples"]
    affected = "of the examples have one of these"
    if data["undecided"]:
        affected = "of the examples have a label set without a proof that it can"
    figures = [
        Figure(f"{n_sets:,}", f"distinct label sets in {plural(data['examples'], 'example')}"),
        Figure(percent(data["argmaxable"], n_sets), f"of them can be predicted ({data['argmaxable']:,})", "can"),
    ]
    if n_cannot:
        figures.append(Figure(f"{n_cannot:,}", "cannot be predicted, whatever the input", "cannot"))
    if data["undecided"]:
        figures.append(Figure(f"{data['undecided']:,}", "undecided: time ran out", "undecided"))
    if lost:
        figures.append(Figure(percent(lost, data["examples"]), affected, "cannot"))
    size = f"{layer['n_labels']:,} × {layer['n_features']:,}"
    return (*figures, Figure(size, "labels × features of the output layer"))


def size_rows(group: Group) -> tuple[SizeRow, ...]:
    """Return the verdicts by number of active labels; many numbers are put together as 4–7, 8–15, …

    Where there is a bar, sets beyond it count like those that cannot be predicted.
    """
    rows = sorted(_within_the_bar(group) or group["by_size"], key=lambda row: row["size"])
    if len(rows) <= MOST_SIZES:
        parts = [[row] for row in rows]
    else:
        by_power: dict[int, list[BySize]] = {}
        for row in rows:
            by_power.setdefault(row["size"].bit_length(), []).append(row)
        parts = list(by_power.values())
    return tuple(_size_row(part) for part in parts)


def group_rows(document: AuditDocument) -> tuple[GroupRow, ...]:
    """Return the verdicts of every group."""
    return tuple(_group_row(group) for group in document["groups"])


def requirement_rows(document: AuditDocument) -> tuple[Requirement, ...]:
    """Return the required label sets, those that fail first."""
    group = next((group for group in document["groups"] if group["name"] == "required"), None)
    if group is None:
        return ()
    names = document["label_names"]
    called = group["names"] or [""] * len(group["labels"])
    rows = [
        Requirement(name, tuple(label_name(names, label) for label in labels), status)
        for name, labels, status in zip(called, group["labels"], group["status"], strict=True)
    ]
    return tuple(sorted(rows, key=lambda row: row.status == 1))


def label_rows(document: AuditDocument) -> tuple[LabelRow, ...]:
    """Return the labels that take part in most conflicts."""
    names, rows = document["label_names"], document["conflict_labels"][:MOST_LABELS]
    sizes = [row["examples"] for row in rows]
    if not any(sizes):
        sizes = [row["sets"] for row in rows]
    return tuple(
        LabelRow(
            label_name(names, row["label"]),
            row["sets"],
            row["examples"],
            share_bar([("cannot", size)], whole=max(sizes)),
        )
        for row, size in zip(rows, sizes, strict=True)
    )


def _within_the_bar(group: Group) -> list[BySize]:
    """Return counts of the sets that can be predicted and are not beyond the bar; nothing without a bar."""
    if group["beyond"] is None:
        return []
    found: dict[int, BySize] = {}
    rows = zip(group["labels"], group["status"], group["counts"], group["beyond"], strict=True)
    for labels, status, count, is_beyond in rows:
        row = found.setdefault(len(labels), _no_sets(len(labels)))
        row["sets"] += 1
        row["examples"] += count
        if is_beyond or status == 0:
            row["unargmaxable"] += 1
        elif status == 1:
            row["argmaxable"] += 1
            row["argmaxable_examples"] += count
        else:
            row["undecided"] += 1
    return list(found.values())


def _no_sets(size: int) -> BySize:
    return {
        "size": size,
        "sets": 0,
        "examples": 0,
        "argmaxable": 0,
        "unargmaxable": 0,
        "undecided": 0,
        "argmaxable_examples": 0,
    }


def _size_row(rows: Sequence[BySize]) -> SizeRow:
    first, last = rows[0]["size"], rows[-1]["size"]
    sets, can = sum(row["sets"] for row in rows), sum(row["argmaxable"] for row in rows)
    examples, can_examples = sum(row["examples"] for row in rows), sum(row["argmaxable_examples"] for row in rows)
    undecided = sum(row["undecided"] for row in rows)
    return SizeRow(
        size=f"{first}" if first == last else f"{first}–{last}",
        sets=sets,
        argmaxable=can,
        share=percent(can, sets),
        bar=verdict_bar(can, sets - can - undecided, undecided),
        examples_share=percent(can_examples, examples),
    )


def _group_row(group: Group) -> GroupRow:
    sets, low, high = len(group["labels"]), group["low"], group["high"]
    interval, bar = "", verdict_bar(group["argmaxable"], group["unargmaxable"], group["undecided"])
    if low is not None and high is not None:
        interval = f"{100 * low:.1f}–{100 * high:.1f} %"
        bar = interval_bar(group["argmaxable"] / max(sets, 1), low, high)
    return GroupRow(
        title=group["title"],
        sets=sets,
        population=group["population"],
        argmaxable=group["argmaxable"],
        unargmaxable=group["unargmaxable"],
        undecided=group["undecided"],
        share=percent(group["argmaxable"], sets),
        interval=interval,
        bar=bar,
    )
