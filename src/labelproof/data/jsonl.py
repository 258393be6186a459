"""JSON lines: files with one object per line."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from labelproof.data.textfile import LIMITS, Limits, at, read_lines
from labelproof.errors import DataFormatError

__all__ = ["iter_objects", "string_list"]


def iter_objects(path: Path, limits: Limits = LIMITS) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield where each object stands, and the object; empty lines are passed over."""
    for number, line in read_lines(path, limits):
        if not line.strip():
            continue
        try:
            value = json.loads(line)
        except (ValueError, RecursionError) as error:
            what = error.msg if isinstance(error, json.JSONDecodeError) else str(error)
            raise DataFormatError(f"{at(path, number)}: expected a JSON object ({what})") from error
        if not isinstance(value, dict):
            raise DataFormatError(f"{at(path, number)}: expected a JSON object, got {type(value).__name__}")
        yield at(path, number), value


def string_list(row: dict[str, Any], name: str, where: str) -> list[str]:
    """Return a member of an object that must be a list of strings.

    >>> string_list({"tags": ["a"]}, "tags", "here")
    ['a']
    """
    value = row.get(name)
    if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
        raise DataFormatError(f"{where}: expected {name!r}, a list of strings, got {str(value)[:40]}")
    return value
