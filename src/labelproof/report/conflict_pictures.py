"""Why a label set cannot be predicted, as a picture: the labels that pull against each other, and how hard."""

from collections.abc import Sequence
from dataclasses import dataclass

from labelproof.auditing.document import AuditDocument, Explained, LayerFacts
from labelproof.pages.names import label_names
from labelproof.report.bars import share_bar
from labelproof.report.svg import Svg

__all__ = ["Conflict", "Pull", "draw_conflict", "pulls"]

MOST_PULLS = 8  # of each side


@dataclass(frozen=True)
class Pull:
    """A label of the conflict, or several small ones together, with its share of the contradiction."""

    name: str
    share: float | None
    bar: Svg | None


@dataclass(frozen=True)
class Change:
    """A label set near by that can be predicted."""

    added: tuple[str, ...]
    removed: tuple[str, ...]
    is_minimal: bool


@dataclass(frozen=True)
class Conflict:
    """The picture of one conflict and what stands around it."""

    anchor: str
    labels: tuple[str, ...]
    examples: int
    n_labels: int  # of the conflict
    on: tuple[Pull, ...]
    off: tuple[Pull, ...]
    strip: Svg | None  # all labels side by side
    reason: str
    irreducible: bool
    sentences: tuple[str, ...]
    nearest: tuple[Change, ...]
    least_distance: int | None


def draw_conflict(document: AuditDocument, explained: Explained, anchor: str) -> Conflict:
    """Draw the conflict of one label set.

    Parameters
    ----------
    document
        The audit, for the labels' names.
    explained
        One of its explanations.
    anchor
        The id of the picture on the page.
    """
    names = document["label_names"]
    on, off = explained["on"], explained["off"]
    shares: Sequence[float | None] = explained["shares"]
    if len(shares) < len(on) + len(off):
        shares = [None] * (len(on) + len(off))
    on_shares, off_shares = shares[: len(on)], shares[len(on) : len(on) + len(off)]
    largest = max((s for s in shares if s is not None), default=0.0)
    parts = [("on", s or 0.0) for s in sorted(on_shares, key=_by_size)]
    parts += [("off", s or 0.0) for s in sorted(off_shares, key=_by_size)]
    return Conflict(
        anchor=anchor,
        labels=label_names(names, explained["labels"]),
        examples=explained["examples"],
        n_labels=len(on) + len(off),
        on=pulls(label_names(names, on), on_shares, "on", largest),
        off=pulls(label_names(names, off), off_shares, "off", largest),
        strip=share_bar(parts, whole=1.0) if largest else None,
        reason=_reason(document["layer"], explained, bool(largest)),
        irreducible=bool(explained["irreducible"]),
        sentences=tuple(line.strip() for line in explained["sentences"]),
        nearest=tuple(
            Change(label_names(names, near["added"]), label_names(names, near["removed"]), near["is_minimal"])
            for near in explained["nearest"]
        ),
        least_distance=explained["least_distance"],
    )


def pulls(names: Sequence[str], shares: Sequence[float | None], kind: str, largest: float) -> tuple[Pull, ...]:
    """Lay out the labels of one side, those that pull hardest first; bars are relative to the largest share."""
    order = sorted(range(len(names)), key=lambda i: _by_size(shares[i]))
    shown = order if len(order) <= MOST_PULLS + 1 else order[:MOST_PULLS]
    found = [_pull(names[i], shares[i], kind, largest) for i in shown]
    rest = [shares[i] for i in order[len(shown) :]]
    if rest:
        together = None if None in rest else sum(s for s in rest if s is not None)
        found.append(Pull(f"{len(rest)} others, together", together, None))
    return tuple(found)


def _by_size(share: float | None) -> float:
    return -(share or 0.0)


def _pull(name: str, share: float | None, kind: str, largest: float) -> Pull:
    return Pull(name, share, share_bar([(kind, share)], whole=largest) if share is not None and largest else None)


def _reason(layer: LayerFacts, explained: Explained, has_shares: bool) -> str:
    """Say why the decisions exclude each other, and what else takes part."""
    rows = explained["extra"]
    parts = list(dict.fromkeys(part for row in rows if (part := _part(row, layer))))
    others = " and others" if len(parts) > MOST_PULLS else ""
    given = f" Also part of it: {', '.join(parts[:MOST_PULLS])}{others}." if parts else ""
    if len(explained["on"]) + len(explained["off"]) == 1:
        return f"Whatever the input, this label cannot be as required.{given}"
    if not has_shares or {"sum_le", "sum_ge"} & set(rows):
        return f"These decisions contradict each other: whatever the input, one of them at least fails.{given}"
    total = "below zero" if "scale" in rows else "zero or less" if rows else "zero"
    return f"The weighted sum is {total} for every input{' within the bounds' if _has_bounds(rows) else ''}.{given}"


def _has_bounds(rows: Sequence[str]) -> bool:
    return any("[" in row for row in rows)


def _part(row: str, layer: LayerFacts) -> str:
    """Say in words which row of the system takes part that is no label; "" where it is not worth a word."""
    side, _, feature = row.partition("[")
    bounds = {"low": "the lower bound of feature", "high": "the upper bound of feature"}
    if feature and side in bounds:
        return f"{bounds[side]} {feature.rstrip(']')}"
    if row == "scale":
        return "the biases" if layer["bias"] else "" if layer["thresholds"] == "½" else "the thresholds"
    return {"sum_le": "the sum of the scores", "sum_ge": "the sum of the scores"}.get(row, row)
