"""Rules and calibrations on disk: one JSON object with a format, a version, the options and what was learned.

Nothing is unpickled. A file that is truncated, foreign or inconsistent is a DataFormatError of one sentence.
"""

import json
import math
import os
from collections.abc import Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any, ClassVar, Protocol

import numpy as np

from labelproof.errors import DataFormatError
from labelproof.foundation.json_files import read_json
from labelproof.foundation.writing import write_text

__all__ = ["read_record", "write_record"]

VERSION = 1


class Storable(Protocol):
    """A dataclass of options that learns numbers and vectors.

    ``FORMAT`` is what the file says that it holds; ``LEARNED`` gives the number of axes of each learned value.
    """

    FORMAT: ClassVar[str]
    LEARNED: ClassVar[dict[str, int]]
    __dataclass_fields__: ClassVar[dict[str, Any]]

    def check(self) -> None:
        """Raise ValueError where options, or what was learned, make no sense."""


def write_record(item: Storable, path: str | os.PathLike[str]) -> None:
    """Write options and learned values to a file that takes the place of ``path`` once it is complete."""
    item.check()
    write_text(path, json.dumps(_record(item), indent=1, allow_nan=False) + "\n")


def read_record(path: str | os.PathLike[str], what: str, classes: Sequence[type[Any]]) -> Any:
    """Read an object of the format ``what`` from a file that `write_record` wrote; it may hold any of the classes."""
    path = Path(path)
    try:
        record = read_json(path, what=f"a {what} in JSON", where="", most_bytes=None, finite=True)
    except ValueError as error:
        raise DataFormatError(f"{path.name}: {error}") from error
    try:
        return _object(record, what, classes)
    except (ValueError, TypeError, OverflowError, RecursionError) as error:
        raise DataFormatError(f"{path.name}: {_first_line(error)}") from error


def _record(item: Storable) -> dict[str, Any]:
    return {
        "format": item.FORMAT,
        "version": VERSION,
        "name": type(item).__name__,
        "options": {field.name: _plain(getattr(item, field.name)) for field in fields(item)},
        "learned": {name: _plain(getattr(item, name)) for name in item.LEARNED if hasattr(item, name)},
    }


def _object(record: Any, what: str | None, classes: Sequence[type[Any]]) -> Any:
    """Return the object of a record of this format, or of any where it is None."""
    found = record.get("format") if isinstance(record, dict) else type(record).__name__
    if not isinstance(record, dict) or (what is not None and found != what):
        raise ValueError(f"expected the format {what!r}, got {found!r}")
    if record.get("version") != VERSION:
        raise ValueError(f"expected version {VERSION} of the format, got {record.get('version')!r}")
    known = {cls.__name__: cls for cls in classes if found == cls.FORMAT}
    if not isinstance(record.get("name"), str) or record["name"] not in known:
        raise ValueError(f"expected one of {', '.join(known)}, got {record.get('name')!r}")
    return _build(known[record["name"]], record.get("options"), record.get("learned"), classes)


def _build(cls: type[Any], options: Any, learned: Any, classes: Sequence[type[Any]]) -> Any:
    names = {field.name for field in fields(cls)}
    for part, found, expected in (("options", options, names), ("learned", learned, cls.LEARNED.keys())):
        if not isinstance(found, dict) or not found.keys() <= expected:
            got = ", ".join(sorted(found)) if isinstance(found, dict) else type(found).__name__
            raise ValueError(f"expected {part} {', '.join(sorted(expected)) or 'without entries'}, got {got}")
    inner = {name: _object(option, None, classes) for name, option in options.items() if isinstance(option, dict)}
    item = cls(**{**options, **inner})
    for name, value in learned.items():
        setattr(item, name, _number_or_array(name, value, cls.LEARNED[name]))
    item.check()
    return item


def _number_or_array(name: str, value: Any, n_axes: int) -> Any:
    if n_axes == 0:
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            raise ValueError(f"expected {name} to be a number, got {value!r}")
        return value
    if not isinstance(value, list):
        raise ValueError(f"expected {name} to be a list of numbers, got {value!r}")
    array = np.asarray(value, np.float64)
    if array.ndim != n_axes:
        raise ValueError(f"expected {name} to be a list of numbers, got {array.ndim} axes")
    return array


def _plain(value: Any) -> Any:
    if hasattr(value, "FORMAT"):
        return _record(value)
    if isinstance(value, (np.ndarray, np.generic)):
        value = value.tolist()
    if isinstance(value, float) and not math.isfinite(value):
        raise ValueError(f"a value to save must be finite, got {value}")
    return value


def _first_line(error: BaseException) -> str:
    return str(error).splitlines()[0].rstrip(".") if str(error) else type(error).__name__
