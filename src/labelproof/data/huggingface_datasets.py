"""Hugging Face `datasets` objects, known by what they can do rather than by their class."""

from collections.abc import Iterator, Mapping
from typing import Any

from labelproof.data.columns import Columns, read_rows, read_table, refuse_indicators
from labelproof.data.dataset import Dataset
from labelproof.data.examples import Example
from labelproof.errors import DataFormatError

__all__ = ["is_huggingface", "iter_huggingface", "read_huggingface"]


def is_huggingface(source: Any) -> bool:
    """Whether an object is a data set of that library: rows that are mappings, and columns with a type."""
    return hasattr(source, "features") and hasattr(source, "__iter__") and hasattr(source, "column_names")


def read_huggingface(source: Any, columns: Columns) -> Dataset:
    """Read one data set; labels that are class numbers get the names of their classes, in that order."""
    return read_table(_rows(source, columns), columns, source="data set", label_names=_class_names(source, columns))


def iter_huggingface(source: Any, columns: Columns) -> Iterator[Example]:
    """Yield the examples of a data set, or of a stream."""
    return read_rows(_rows(source, columns), columns, source="data set")


def _rows(source: Any, columns: Columns) -> Iterator[tuple[str, Mapping[str, Any]]]:
    names, column = _class_names(source, columns), _label_column(source, columns)
    for i, row in enumerate(source):
        if names is not None and column in row:
            try:
                row = {**row, column: _named(row[column], names)}
            except ValueError as error:
                raise DataFormatError(f"row {i}: {error}") from error
        yield f"row {i}", row


def _named(value: Any, names: list[str]) -> list[str]:
    """Return the names of one class or several; -1 and None mean that there is none."""
    classes = list(value) if hasattr(value, "__iter__") else [value]
    known = [number for number in classes if number is not None and number >= 0]
    refuse_indicators(known)
    if known and max(known) >= len(names):
        raise ValueError(f"expected classes below {len(names)}, got {max(known)}")
    return [names[number] for number in known]


def _label_column(source: Any, columns: Columns) -> str | None:
    if isinstance(columns.labels, str):
        return columns.labels
    if columns.labels is not None:
        return columns.labels[0] if len(columns.labels) == 1 else None
    return next((name for name in ("labels", "label") if name in (source.features or ())), None)


def _class_names(source: Any, columns: Columns) -> list[str] | None:
    column = _label_column(source, columns)
    kind: Any = (source.features or {}).get(column)
    names = getattr(kind, "names", None) or getattr(getattr(kind, "feature", None), "names", None)
    return None if names is None else list(names)  # of a class, or of a list of classes
