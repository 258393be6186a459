"""Which column of a table holds what, and how a row with named columns becomes an example.

Tables come from CSV, JSONL, Parquet and Hugging Face data sets; a row is a mapping from column names to values.
"""

import ast
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from labelproof.data.examples import Example, SparseRow, float32_values
from labelproof.errors import DataFormatError

__all__ = ["Columns", "read_rows"]

TEXT = ("text", "texts", "sentence")
TEXT_PAIR = "text_pair"
LABELS = ("labels", "label")
IMAGE = ("image_path", "image", "path", "file_name", "filename")
FEATURES = ("features",)


@dataclass(frozen=True)
class Columns:
    """The columns of a table; those that are None are looked for by their usual names.

    Parameters
    ----------
    text
        Column of the text; several are joined by a blank line. By default ``text``, ``texts`` or ``sentence``. A column
        ``text_pair`` beside it is the second text of a pair.
    labels
        Column of the labels (a list, or a string of several); or several columns of 0 and 1, one for each label. By
        default ``labels`` or ``label``.
    features
        Columns of numbers, or one column of lists of numbers. By default ``features``, else, in a CSV file without a
        text, all columns that are nothing else.
    image
        Column of the images' files. By default ``image_path``, ``image``, ``path``, ``file_name`` or ``filename``.
    split, group, time
        As in `Dataset`; by default the columns of these names, where there are any.
    separator
        What stands between labels in a string. By default semicolons or bars: commas occur within names.
    """

    text: str | Sequence[str] | None = None
    labels: str | Sequence[str] | None = None
    features: str | Sequence[str] | None = None
    image: str | None = None
    split: str | None = None
    group: str | None = None
    time: str | None = None
    separator: str | None = None


def read_rows(rows: Iterable[tuple[str, Mapping[str, Any]]], columns: Columns, *, source: str) -> Iterator[Example]:
    """Yield the example of every row.

    Parameters
    ----------
    rows
        Pairs of where a row stands, for errors ("train.csv, line 7"), and the row.
    columns
        Which column holds what.
    source
        The file's name, for errors about the whole of it.
    """
    roles: _Roles | None = None
    kind: type | None = None
    for where, row in rows:
        if roles is None:
            roles = _roles(columns, list(row), source)
        try:
            labels, found = _labels(row, roles, columns.separator)
            if kind is not None and found is not None and found is not kind:
                raise ValueError(
                    f"expected labels of one type, which is {kind.__name__} in the lines before, got {found.__name__}"
                )
            kind = kind or found
            yield _example(row, roles, labels)
        except KeyError as error:
            raise DataFormatError(f"{where}: expected a column {error.args[0]!r}, got {', '.join(row)}") from error
        except (ValueError, TypeError, RecursionError) as error:
            raise DataFormatError(f"{where}: {error}") from error
    if roles is None:
        raise DataFormatError(f"{source}: expected examples, got an empty file")


@dataclass(frozen=True)
class _Roles:
    """The columns that a table really has."""

    text: tuple[str, ...]
    text_pair: str | None
    labels: tuple[str, ...]
    features: tuple[str, ...]
    image: str | None
    split: str | None
    group: str | None
    time: str | None


def _roles(columns: Columns, present: list[str], source: str) -> _Roles:
    labels = _named(columns.labels) or _usual(LABELS, present)
    text = _named(columns.text) or (() if columns.features else _usual(TEXT, present))
    text_pair = TEXT_PAIR if text and TEXT_PAIR in present else None
    image = columns.image or next(iter(_usual(IMAGE, present)), None)
    split, group, time = (
        getattr(columns, role) or (role if role in present else None) for role in ("split", "group", "time")
    )
    others = {*labels, *text, image, split, group, time}
    features = _named(columns.features) or _usual(FEATURES, present)
    if not features and not text and image is None:
        features = tuple(name for name in present if name not in others)
    asked = [*labels, *text, *features, image, split, group, time]
    missing = [name for name in asked if name is not None and name not in present]
    listing = ", ".join(present[:12]) + (", …" if len(present) > 12 else "")
    if missing:
        raise DataFormatError(f"{source}: expected a column {missing[0]!r}, got {listing}")
    if not labels:
        raise DataFormatError(f"{source}: expected a column 'labels', or another named by labels=, got {listing}")
    if not (text or features or image):
        raise DataFormatError(
            f"{source}: expected a column 'text', or others named by text= or features=, got {listing}"
        )
    return _Roles(text, text_pair, labels, features, image, split, group, time)


def _named(names: str | Sequence[str] | None) -> tuple[str, ...]:
    return () if names is None else (names,) if isinstance(names, str) else tuple(names)


def _usual(usual: tuple[str, ...], present: list[str]) -> tuple[str, ...]:
    return next(((name,) for name in usual if name in present), ())


def _example(row: Mapping[str, Any], roles: _Roles, labels: tuple[str, ...]) -> Example:
    return Example(
        labels,
        text="\n\n".join(_string(row, name) for name in roles.text) if roles.text else None,
        text_pair=_string(row, roles.text_pair) if roles.text_pair else None,
        features=_features(row, roles.features) if roles.features else None,
        image_path=_string(row, roles.image) if roles.image else None,
        split=_string(row, roles.split) if roles.split else None,
        group=_string(row, roles.group) if roles.group else None,
        time=_string(row, roles.time) if roles.time else None,
    )


def _string(row: Mapping[str, Any], name: str) -> str:
    value = row[name]
    if isinstance(value, str):
        return value
    if value is None:
        return ""
    if isinstance(value, (dict, list)):
        raise ValueError(f"expected text in column {name!r}, got {_short(value)}")
    return str(value)


def _labels(row: Mapping[str, Any], roles: _Roles, separator: str | None) -> tuple[tuple[str, ...], type | None]:
    """Return the labels of a row as names, and the type in which they were given (None without any)."""
    if len(roles.labels) > 1:
        return tuple(name for name in roles.labels if _is_active(row[name], name)), None
    value = row[roles.labels[0]]
    if isinstance(value, str):
        items: Sequence[Any] = _split(value, separator)
    elif value is None:
        items = ()
    elif isinstance(value, Mapping):
        raise ValueError(f"expected a list of labels, got {_short(value)}")
    elif hasattr(value, "__iter__"):
        items = list(value)
    else:
        items = (value,)
    kinds = {_kind(item) for item in items}
    if len(kinds) > 1:
        raise ValueError(f"expected labels of one type, got {_short(list(items))}")
    names = tuple(str(item) for item in items)
    if any(not name.strip() for name in names):
        raise ValueError(f"expected label names, got an empty one in {_short(list(items))}")
    return names, next(iter(kinds), None)


def _kind(item: Any) -> type:
    if isinstance(item, str):
        return str
    if isinstance(item, (int, np.integer)) and not isinstance(item, bool):
        return int
    raise ValueError(f"expected labels as names or whole numbers, got {_short(item)}")


def _split(text: str, separator: str | None) -> list[Any]:
    """Split a string of labels; one in brackets is a list as JSON or Python write it."""
    text = text.strip()
    if separator is None and text.startswith("[") and text.endswith("]"):
        try:
            return list(ast.literal_eval(text))
        except (ValueError, SyntaxError, MemoryError) as error:
            raise ValueError(f"expected a list of labels, got {_short(text)}") from error
    parts = re.split("[;|]", text) if separator is None else text.split(separator)
    return [part.strip() for part in parts if part.strip()]


def _is_active(value: Any, name: str) -> bool:
    if value in (0, "0", 0.0, "0.0", "", None, False):
        return False
    if value in (1, "1", 1.0, "1.0", True):
        return True
    raise ValueError(f"expected 0 or 1 in the label column {name!r}, got {_short(value)}")


def _features(row: Mapping[str, Any], names: tuple[str, ...]) -> npt.NDArray[np.float32] | SparseRow:
    if len(names) > 1:
        return float32_values([_number(row[name], name) for name in names])
    value = row[names[0]]
    if isinstance(value, Mapping):
        if not {"indices", "values"} <= value.keys() or len(value["indices"]) != len(value["values"]):
            raise ValueError(f"expected 'indices' and 'values' of one length in column {names[0]!r}")
        return _sparse_row(value["indices"], value["values"], names[0])
    if isinstance(value, (list, np.ndarray)):
        return float32_values([_number(item, names[0]) for item in value])
    return float32_values([_number(value, names[0])])


def _sparse_row(indices: Sequence[Any], values: Sequence[Any], name: str) -> SparseRow:
    if not all(isinstance(index, int) and 0 <= index < 2**31 for index in indices) or len(set(indices)) != len(indices):
        raise ValueError(
            f"expected different whole numbers from 0 as 'indices' in column {name!r}, got {_short(indices)}"
        )
    return SparseRow(np.array(indices, np.int64), float32_values([_number(value, name) for value in values]))


def _number(value: Any, name: str) -> float:
    if value is None or value == "":
        return float("nan")
    try:
        return float(value)
    except (ValueError, TypeError) as error:
        raise ValueError(f"expected a number in column {name!r}, got {_short(value)}") from error


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}…"
