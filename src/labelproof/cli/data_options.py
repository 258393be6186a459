"""The options of verbs that read a data set: where it is, and which columns of a table are what."""

from dataclasses import dataclass
from typing import Annotated, Any

import typer

__all__ = [
    "ColumnOptions",
    "DataFormat",
    "DataPath",
    "LabelColumns",
    "LabelSeparator",
    "TextColumns",
    "TimeColumn",
    "one_or_many",
]

DataPath = Annotated[
    str | None,
    typer.Option(
        "--data", metavar="PATH", help="Your data, in any format that load_dataset reads.", show_default=False
    ),
]
DataFormat = Annotated[
    str | None, typer.Option("--format", help="Format of PATH; by default recognised by its name.", show_default=False)
]
TextColumns = Annotated[
    list[str] | None, typer.Option("--text", metavar="COLUMN", help="Column of the text; several are joined.")
]
LabelColumns = Annotated[
    list[str] | None,
    typer.Option("--labels", metavar="COLUMN", help="Column of the labels, or several columns of 0 and 1."),
]
FeatureColumns = Annotated[
    list[str] | None, typer.Option("--features", metavar="COLUMN", help="Columns of features instead of a text.")
]
SplitColumn = Annotated[
    str | None,
    typer.Option(
        metavar="COLUMN", help="Column with the part of each example: train, valid or test.", show_default=False
    ),
]
GroupColumn = Annotated[
    str | None, typer.Option(metavar="COLUMN", help="Examples of one group stay together.", show_default=False)
]
TimeColumn = Annotated[
    str | None,
    typer.Option(metavar="COLUMN", help="Column of times: later examples are held out.", show_default=False),
]
LabelSeparator = Annotated[
    str | None,
    typer.Option(
        help="Separator of labels in a string; by default ; or |, or what is evident; ';|' turns guessing off.",
        show_default=False,
    ),
]


@dataclass(frozen=True)
class ColumnOptions:
    """The format of a data set, and which of its columns are what."""

    format: DataFormat = None
    text: TextColumns = None
    labels: LabelColumns = None
    features: FeatureColumns = None
    split: SplitColumn = None
    group: GroupColumn = None
    separator: LabelSeparator = None

    def options(self) -> dict[str, Any]:
        """Return them as keywords of `labelproof.load_dataset`."""
        columns = {"text": self.text, "labels": self.labels, "features": self.features}
        told = {"split": self.split, "group": self.group, "separator": self.separator}
        return {"format": self.format, **{name: one_or_many(value) for name, value in columns.items()}, **told}


def one_or_many(values: list[str] | None) -> str | list[str] | None:
    """Return the only value of a repeated option as itself.

    >>> one_or_many(["a"]), one_or_many(["a", "b"]), one_or_many([])
    ('a', ['a', 'b'], None)
    """
    return values[0] if values and len(values) == 1 else values or None
