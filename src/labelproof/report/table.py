"""A table that a report shows above its audits, such as the metrics of the models that it compares."""

from dataclasses import dataclass

__all__ = ["Cell", "Table"]

Cell = str | int | float | None


@dataclass(frozen=True)
class Table:
    """Rows of words and numbers under one title.

    Attributes
    ----------
    title
        What the table is about.
    columns
        The heads of its columns.
    rows
        One tuple for each row, as long as ``columns``. None stands for what is not known.
    note
        A sentence below the table.

    Examples
    --------
    >>> Table("Scores", ("model", "micro-F1"), (("bottleneck", 0.61), ("DFT", 0.62))).rows[1]
    ('DFT', 0.62)
    """

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]
    note: str = ""

    def __post_init__(self) -> None:
        for row in self.rows:
            if len(row) != len(self.columns):
                raise ValueError(f"rows must have {len(self.columns)} cells to match columns, got {len(row)} in {row}")
