"""Text and JSON among the files of a model: whatever is wrong with one is a sentence that names it."""

from pathlib import Path
from typing import Any

from labelproof.errors import ModelFormatError
from labelproof.foundation.json_files import parse_json

__all__ = ["read_json", "read_object", "read_text"]


def read_text(path: Path) -> str:
    """Read a text in UTF-8."""
    try:
        return path.read_text(encoding="utf-8")
    except FileNotFoundError as error:
        raise ModelFormatError(f"{path}: no such file") from error
    except (OSError, ValueError) as error:
        raise ModelFormatError(f"{path}: expected text in UTF-8, got {error}") from error


def read_json(path: Path) -> Any:
    """Read a value in JSON."""
    try:
        return parse_json(read_text(path))
    except ValueError as error:
        raise ModelFormatError(f"{path}: expected JSON, got {error}") from error


def read_object(path: Path) -> dict[str, Any]:
    """Read an object in JSON."""
    content = read_json(path)
    if not isinstance(content, dict):
        raise ModelFormatError(f"{path}: expected an object, got {type(content).__name__}")
    return content
