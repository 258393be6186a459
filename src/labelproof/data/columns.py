"""Which column of a table holds what, and how a row with named columns becomes an example.

Tables come from CSV, JSONL, Parquet and Hugging Face data sets; a row is a mapping from column names to values.
"""

import ast
import datetime
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from numbers import Number
from typing import Any

import numpy as np
import numpy.typing as npt

from labelproof.data.dataset import Dataset
from labelproof.data.examples import Example, SparseRow, collect, float32_values
from labelproof.data.separators import USUAL, split_if_clear
from labelproof.errors import DataFormatError

__all__ = [
    "IMAGE",
    "LABELS",
    "TEXT",
    "Columns",
    "MissingColumnError",
    "Rows",
    "is_active",
    "read_rows",
    "read_table",
    "refuse_indicators",
    "split_labels",
]

Rows = Iterable[tuple[str, Mapping[str, Any]]]
"""Pairs of where a row stands, for errors ("train.csv, line 7"), and the row."""

TEXT = ("text", "texts", "sentence")
TEXT_PAIR = "text_pair"
LABELS = ("labels", "label")
IMAGE = ("image_path", "image", "path", "file_name", "filename")
FEATURES = ("features",)
MISSING = ("", "?", "na", "n/a", "nan", "null", "none")  # how tables write that a number is not there
_NESTED = (Mapping, list, np.ndarray)
_QUOTED = re.compile(r"""'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*\"""")


class MissingColumnError(DataFormatError):
    """A table lacks a column that it needs.

    Parameters
    ----------
    source, expected, got
        The file; the column; the columns that are there.
    remedy
        Which others would do, where there are any.
    """

    def __init__(self, source: str, expected: str, got: str, *, remedy: str = "") -> None:
        self.source, self.expected, self.got, self.remedy = source, expected, got, remedy
        super().__init__(f"{source}: expected {expected}{f', or {remedy}' if remedy else ''}, got {got}")

    def with_remedy(self, remedy: str) -> "MissingColumnError":
        """Return the same error with another remedy, where it has one."""
        return MissingColumnError(self.source, self.expected, self.got, remedy=self.remedy and remedy)


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
        Columns of numbers, or one column of lists of numbers. By default ``features``, else, in a table without a text
        or an image, all columns that are nothing else.
    image
        Column of the images' files. By default ``image_path`` and, in a table without a text, ``image``, ``path``,
        ``file_name`` or ``filename``.
    split, group, time
        As in `Dataset`; by default the columns of these names, where there are any.
    separator
        What stands between labels in a string. By default semicolons or bars: commas occur within names. Where no row
        has two labels by that, and the names clearly are several labels each, a comma, slash or blank is guessed
        and a `SeparatorGuess` warns; ``";|"`` is the default without a guess.

    Examples
    --------
    >>> Columns(text="comment", labels=["toxic", "rude"]).labels
    ['toxic', 'rude']
    """

    text: str | Sequence[str] | None = None
    labels: str | Sequence[str] | None = None
    features: str | Sequence[str] | None = None
    image: str | None = None
    split: str | None = None
    group: str | None = None
    time: str | None = None
    separator: str | None = None

    def __post_init__(self) -> None:
        if self.separator == "":
            raise ValueError("separator must be what stands between labels, got an empty string")


def read_table(rows: Rows, columns: Columns, *, source: str, label_names: Sequence[str] | None = None) -> Dataset:
    """Gather the rows of a table; features that have columns of their own keep the names of these.

    Parameters
    ----------
    rows, columns, source
        As for `read_rows`.
    label_names
        As for `collect`.
    """
    roles, first, rows = _begin(rows, columns, source)
    listed = any(isinstance(first[name], _NESTED) for name in roles.features)
    names = None if listed or not roles.features else roles.features
    data = collect(_examples(rows, roles, columns.separator), label_names=label_names, feature_names=names)
    cell = first[roles.labels[0]]
    is_string = len(roles.labels) == 1 and isinstance(cell, str) and not cell.lstrip().startswith("[")
    return split_if_clear(data) if is_string and columns.separator is None and label_names is None else data


def read_rows(rows: Rows, columns: Columns, *, source: str) -> Iterator[Example]:
    """Yield the example of every row.

    Parameters
    ----------
    rows
        The rows with their places.
    columns
        Which column holds what.
    source
        The file's name, for errors about the whole of it.
    """
    roles, _, rows = _begin(rows, columns, source)
    yield from _examples(rows, roles, columns.separator)


def _begin(rows: Rows, columns: Columns, source: str) -> tuple["_Roles", Mapping[str, Any], Rows]:
    """Return what the columns are, which the first row tells, that row, and all rows."""
    rest = iter(rows)
    first = next(rest, None)
    if first is None:
        raise DataFormatError(f"{source}: expected examples, got an empty file")
    return _roles(columns, list(first[1]), source), first[1], chain([first], rest)


def _examples(rows: Rows, roles: "_Roles", separator: str | None) -> Iterator[Example]:
    kind: type | None = None
    absent = [name for name in ("split", "group", "time") if getattr(roles, name) is None]
    for where, row in rows:
        try:
            for name in absent:
                if name in row:
                    raise ValueError(f"expected a column {name!r} in all rows or none, got one after rows without it")
            labels, found = _labels(row, roles, separator)
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
    image = columns.image or next(iter(_usual(IMAGE[:1] if text else IMAGE, present)), None)
    split, group, time = (
        getattr(columns, role) or (role if role in present else None) for role in ("split", "group", "time")
    )
    others = {*labels, *text, image, split, group, time}
    features = _named(columns.features) or _usual(FEATURES, present)
    if not features and not text and image is None:
        features = tuple(name for name in present if name not in others)
    asked = [*labels, *text, *features, image, split, group, time]
    known = {None, *present}
    missing = [name for name in asked if name not in known]
    shown = [name for name in present if not name.startswith("(")]  # others are placeholders, not columns
    listing = ", ".join(shown[:12]) + (", …" if len(shown) > 12 else "")
    if missing:
        joined = {part.strip() for part in str(missing[0]).split(",")}
        several = " (name each column by itself, not with commas)" if len(joined) > 1 and joined <= known else ""
        raise MissingColumnError(source, f"a column {missing[0]!r}", f"{listing}{several}")
    hint = _about_header(present) if _is_delimited(source) else ""
    if not labels:
        raise MissingColumnError(source, "a column 'labels'", f"{listing}{hint}", remedy="another named by labels=")
    if not (text or features or image):
        remedy = "others named by text= or features="
        raise MissingColumnError(source, "a column 'text'", f"{listing}{hint}", remedy=remedy)
    return _Roles(text, text_pair, labels, features, image, split, group, time)


def _is_delimited(source: str) -> bool:
    return bool(re.search(r"\.(csv|tsv)(\.\w+)?$", source.lower()))


def _about_header(present: list[str]) -> str:
    """Say what a first line looks like that is no header."""
    if len(present) == 1 and "|" in present[0]:
        return " (fields are separated by commas, semicolons or tabs)"
    looks_like_data = any(len(name) > 30 or re.fullmatch(r"[-+.\d]*|.*[;|].*", name) for name in present)
    return " (the first line of a table names its columns)" if looks_like_data else ""


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
    if isinstance(value, bytes) or not isinstance(value, (Number, datetime.date, datetime.time, np.generic)):
        raise ValueError(f"expected text in column {name!r}, got {_short(value)}")
    return "" if value != value else str(value)  # NaN is a missing one


def _labels(row: Mapping[str, Any], roles: _Roles, separator: str | None) -> tuple[tuple[str, ...], type | None]:
    """Return the labels of a row as names, and the type in which they were given (None without any)."""
    if len(roles.labels) > 1:
        return tuple(name for name in roles.labels if is_active(row[name], name)), None
    value = row[roles.labels[0]]
    if isinstance(value, str):
        items: Sequence[Any] = split_labels(value, separator)
    elif value is None:
        items = ()
    elif isinstance(value, (Mapping, bytes)):
        raise ValueError(f"expected a list of labels, got {_short(value)}")
    elif hasattr(value, "__iter__"):
        items = list(value)
    else:
        items = (value,)
    kinds = {_kind(item) for item in items}
    if len(kinds) > 1:
        raise ValueError(f"expected labels of one type, got {_short(list(items))}")
    refuse_indicators(items)
    names = tuple(str(item) for item in items)
    if any(not name.strip() for name in names):
        raise ValueError(f"expected label names, got an empty one in {_short(list(items))}")
    return names, next(iter(kinds), None)


def refuse_indicators(items: Sequence[Any]) -> None:
    """Refuse a row of 0 and 1 in the place of label numbers, among which it would be the labels 0 and 1.

    >>> refuse_indicators([0, 1]), refuse_indicators([0, 2, 1])
    (None, None)
    """
    if len(items) > 2 and all(item in (0, 1) for item in items):
        raise ValueError(f"expected the numbers of the labels, got a row of 0 and 1: {_short(list(items))}")


def _kind(item: Any) -> type:
    if isinstance(item, str):
        return str
    if isinstance(item, (int, np.integer)) and not isinstance(item, bool):
        return int
    raise ValueError(f"expected labels as names or whole numbers, got {_short(item)}")


def split_labels(text: str, separator: str | None) -> list[Any]:
    """Split a string of labels; one in brackets is a list as JSON or Python write it."""
    text = text.strip()
    if separator in (None, USUAL) and text.startswith("[") and text.endswith("]"):
        return _listed(text)
    parts = re.split("[;|]", text) if separator in (None, USUAL) else text.split(separator)
    return [part.strip() for part in parts if part.strip()]


def _listed(text: str) -> list[Any]:
    try:
        return list(json.loads(text))
    except ValueError:
        pass
    try:
        items = list(ast.literal_eval(text))
    except (ValueError, SyntaxError, MemoryError) as error:
        raise ValueError(f"expected a list of labels, got {_short(text)}") from error
    if len(_QUOTED.findall(text)) > len(items):  # as numpy prints arrays; Python would make one string of two
        raise ValueError(f"expected commas between labels, got {_short(text)}")
    return items


def is_active(value: Any, name: str) -> bool:
    """Return whether a cell of 0 and 1 says that the label of this column is active."""
    if value in (0, "0", 0.0, "0.0", "", None, False):
        return False
    if value in (1, "1", 1.0, "1.0", True):
        return True
    raise ValueError(f"expected 0 or 1 in the label column {name!r}, got {_short(value)}")


def _features(row: Mapping[str, Any], names: tuple[str, ...]) -> npt.NDArray[np.float32] | SparseRow:
    if len(names) > 1:
        try:
            values = [_number(row[name], name) for name in names]
        except ValueError as error:
            raise ValueError(f"{error} (features= names the columns to take)") from error
        return float32_values(values)
    value = row[names[0]]
    if isinstance(value, Mapping):
        if not {"indices", "values"} <= value.keys() or len(value["indices"]) != len(value["values"]):
            raise ValueError(f"expected 'indices' and 'values' of one length in column {names[0]!r}")
        return _sparse_row(value["indices"], value["values"], names[0])
    return _numbers(value if isinstance(value, _NESTED) else [value], names[0])


def _sparse_row(indices: Sequence[Any], values: Sequence[Any], name: str) -> SparseRow:
    are_whole = set(map(type, indices)) <= {int} and len(set(indices)) == len(indices)
    if not are_whole or not 0 <= min(indices, default=0) <= max(indices, default=0) < 2**31:
        raise ValueError(
            f"expected different whole numbers from 0 as 'indices' in column {name!r}, got {_short(indices)}"
        )
    return SparseRow(np.array(indices, np.int64), _numbers(values, name))


def _numbers(values: Any, name: str) -> npt.NDArray[np.float32]:
    try:
        array = np.array(values, np.float64)
    except (ValueError, TypeError):
        array = np.empty((0, 0))
    if array.ndim != 1:  # one of them is no number, or missing as ""
        array = np.array([_number(value, name) for value in values], np.float64)
    return float32_values(array)


def _number(value: Any, name: str) -> float:
    if value is None or (isinstance(value, str) and value.strip().lower() in MISSING):
        return float("nan")
    try:
        return float(value)
    except (ValueError, TypeError) as error:
        raise ValueError(f"expected a number in column {name!r}, got {_short(value)}") from error


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}…"
