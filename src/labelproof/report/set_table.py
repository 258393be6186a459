"""The table of label sets: its first rows as text, and all of it as compact data for the page's script."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from labelproof.auditing.document import AuditDocument, Group
from labelproof.pages.names import label_name, visible
from labelproof.report.shown_numbers import number, times

__all__ = ["KINDS", "MOST_SETS", "SetTable", "set_table"]

FIRST_ROWS = 100  # shown without a script, and printed
MOST_SETS = 50_000  # of a group: a page of more is slow to open
ORDER = {0: 0, -1: 1, 1: 2}  # what cannot be predicted comes first
KINDS = {1: "can", 0: "cannot", -1: "undecided"}  # verdicts, in words and in the style sheet
Kind = Literal["text", "verdict", "labels", "count", "number", "stretch", "holds"]
HOLDS = {True: "holds", False: "not shown", None: "–"}
Explanations = Mapping[tuple[str, int], tuple[str, int]]


@dataclass(frozen=True)
class Column:
    """A column of the table; ``values`` has one entry for each label set."""

    key: str
    title: str
    kind: Kind
    values: Sequence[Any]

    def cell(self, i: int) -> str:
        """Write the entry of one label set, where that is one text."""
        value = self.values[i]
        if self.kind == "count":
            return "–" if value is None else f"{value:,}"
        if self.kind == "stretch":
            return times(value)
        if self.kind == "number":
            return number(value)
        return HOLDS[value] if self.kind == "holds" else str(value)


@dataclass(frozen=True)
class SetTable:
    """All label sets of an audit's groups.

    Attributes
    ----------
    names
        Of the labels that occur; label sets refer to their places.
    groups
        Title and columns of each group that has label sets.
    data
        The same for the script: JSON.
    is_cut
        Whether a group has more label sets than are listed.
    """

    names: tuple[str, ...]
    groups: tuple[tuple[str, tuple[Column, ...]], ...]
    data: str
    is_cut: bool

    @property
    def columns(self) -> tuple[Column, ...]:
        """The columns of the first group."""
        return self.groups[0][1]

    @property
    def rows(self) -> range:
        """The label sets that are shown without a script."""
        return range(min(FIRST_ROWS, self.n_sets))

    @property
    def is_by_count(self) -> bool:
        """Whether the order among sets of one verdict tells which are more frequent."""
        return any(column.key == "examples" and len(set(column.values)) > 1 for column in self.columns)

    @property
    def n_sets(self) -> int:
        """How many label sets the first group has."""
        return len(self.columns[0].values)


def set_table(document: AuditDocument, explanations: Explanations, serving: str) -> SetTable:
    """Lay out the label sets of all groups.

    Parameters
    ----------
    document
        The audit.
    explanations
        By group and index of a set that is explained: where on the page, and by how many labels.
    serving
        The head of the column about the arithmetic of serving.
    """
    groups = [group for group in document["groups"] if group["labels"]] or document["groups"][:1]
    used = sorted({label for group in groups for labels in group["labels"] for label in labels})
    place = {label: i for i, label in enumerate(used)}
    names = tuple(label_name(document["label_names"], label) for label in used)
    laid_out = tuple((group["title"], tuple(_columns(group, place, explanations, serving))) for group in groups)
    is_cut = any(len(group["labels"]) > MOST_SETS for group in groups)
    return SetTable(names, laid_out, _data(names, laid_out), is_cut)


def _as_script_data(data: Any) -> str:
    r"""Write JSON that can stand inside a script element: nothing in it can end the element or open a comment.

    Examples
    --------
    >>> _as_script_data(["</script>", "a\u2028b"])
    '["\\u003c/script\\u003e","a\\u2028b"]'
    """
    text = json.dumps(data, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    for character in "<>&\u2028\u2029":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return text


def _columns(group: Group, place: Mapping[int, int], explanations: Explanations, serving: str) -> list[Column]:
    order = sorted(range(len(group["labels"])), key=lambda i: (ORDER[group["status"][i]], -group["counts"][i], i))
    order = order[:MOST_SETS]

    def ordered(values: Sequence[Any], change: Callable[[Any], Any] = lambda value: value) -> list[Any]:
        return [change(values[i]) for i in order]

    found = [explanations.get((group["name"], i), ("", size)) for i, size in enumerate(group["conflict_size"])]
    why = [anchor for anchor, _ in found]
    columns = [
        Column("verdict", "Verdict", "verdict", ordered(list(zip(group["status"], why, strict=True)))),
        Column("labels", "Label set", "labels", ordered(group["labels"], lambda labels: [place[i] for i in labels])),
        Column("size", "Labels", "count", ordered(group["labels"], len)),
    ]
    if group["names"] is not None:
        columns.insert(1, Column("name", "Requirement", "text", ordered(group["names"], visible)))
    if any(group["counts"]):
        columns.append(Column("examples", "Examples", "count", ordered(group["counts"])))
    for key, title in (("margin", "Margin"), ("radius", "Radius"), ("reach", "Reach")):
        values: Sequence[float | None] = group[key] or []  # type: ignore[literal-required]
        if any(value is not None for value in values):
            columns.append(Column(key, title, "number", ordered(values, _rounded)))
    if group["stretch_lower"] is not None:
        columns.append(Column("stretch", "Stretch", "stretch", ordered(group["stretch_lower"])))
    if group["survives"] is not None:
        columns.append(Column("survives", serving, "holds", ordered(group["survives"])))
    if len({size for _, size in found} - {None}) > 1:  # often all are alike: one more than there are features
        columns.append(Column("conflict", "Conflict", "count", ordered([size for _, size in found])))
    return columns


def _rounded(value: float | None) -> float | None:
    """Leave three digits, so that the script, which rounds ties the other way, writes the same."""
    return None if value is None else float(f"{value:.3g}")


def _data(names: Sequence[str], groups: Sequence[tuple[str, Sequence[Column]]]) -> str:
    laid_out = [
        {
            "title": visible(title),
            "columns": [{"key": c.key, "title": visible(c.title), "kind": c.kind} for c in columns],
            "values": [_values(c) for c in columns],
        }
        for title, columns in groups
    ]
    return _as_script_data({"names": names, "groups": laid_out})


def _values(column: Column) -> Sequence[Any]:
    """Leave out what the script can see by itself: the sizes of the label sets."""
    return [] if column.key == "size" else column.values
