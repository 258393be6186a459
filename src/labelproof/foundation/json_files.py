"""Read a JSON file: whatever is wrong with it is a ValueError of one sentence."""

import json
from pathlib import Path
from typing import Any

__all__ = ["MAX_JSON", "parse_json", "read_json"]

MAX_JSON = 64 * 2**20


def read_json(
    path: Path,
    *,
    what: str = "JSON",
    where: str | None = None,
    most_bytes: int | None = MAX_JSON,
    finite: bool = False,
) -> Any:
    """Read the value of a JSON file in UTF-8.

    Parameters
    ----------
    path
        The file; that there is none stays an OSError.
    what
        What was expected, for the sentence that says what is wrong.
    where
        Where, for the same; by default in the file by its name. "" for a caller that puts the name in front.
    most_bytes
        How large the file may be; None for any size.
    finite
        Refuse NaN and infinities, which Python reads and JSON has not.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "config.json"
    ...     _ = path.write_text('{"labels": 3')
    ...     read_json(path)
    Traceback (most recent call last):
    ValueError: expected JSON in config.json (Expecting ',' delimiter: line 1 column 13 (char 12))
    """
    place = f" in {path.name}" if where is None else where
    if most_bytes is not None and (size := path.stat().st_size) > most_bytes:
        raise ValueError(f"expected at most {most_bytes} bytes{place}, got {size}")
    try:
        return parse_json(path.read_bytes(), finite=finite)
    except ValueError as error:
        raise ValueError(f"expected {what}{place} ({error})") from error


def parse_json(text: bytes | str, *, finite: bool = False) -> Any:
    """Return the value of a text in JSON; a ValueError says in a few words what is wrong.

    Examples
    --------
    >>> parse_json(b'[1, "two"]')
    [1, 'two']
    >>> parse_json("[NaN]", finite=True)
    Traceback (most recent call last):
    ValueError: the number NaN
    """
    try:
        decoded = text.decode("utf-8") if isinstance(text, bytes) else text
        return json.loads(decoded, parse_constant=_refuse if finite else None)
    except ValueError as error:
        raise ValueError(" ".join(str(error).split())) from error
    except RecursionError as error:
        raise ValueError("nested too deeply") from error


def _refuse(constant: str) -> Any:
    raise ValueError(f"the number {constant}")
