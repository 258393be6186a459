"""Small JSON files that come with a model."""

import json
from pathlib import Path
from typing import Any

__all__ = ["MAX_JSON", "read_json"]

MAX_JSON = 64 * 2**20


def read_json(path: Path) -> Any:
    """Read a JSON file of limited size."""
    size = path.stat().st_size
    if size > MAX_JSON:
        raise ValueError(f"expected at most {MAX_JSON} bytes in {path.name}, got {size}")
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (ValueError, RecursionError) as error:
        raise ValueError(f"expected JSON in {path.name} ({str(error).splitlines()[0]})") from error
