"""arXiv metadata, one JSON object per line: title and abstract, labelled with categories such as ``cs.LG``.

Both the snapshot that arXiv publishes (``categories`` a string separated by spaces, ``update_date``, ``versions``) and
lists of categories with a day ``published`` are read.
"""

from collections.abc import Iterator
from email.utils import parsedate_to_datetime
from pathlib import Path
from typing import Any

from labelproof.data.dataset import Dataset
from labelproof.data.examples import Example, collect
from labelproof.data.jsonl import iter_objects, string_list
from labelproof.data.part_files import read_parts
from labelproof.data.textfile import LIMITS, Limits
from labelproof.errors import DataFormatError

__all__ = ["iter_arxiv", "read_arxiv"]


def read_arxiv(path: Path, limits: Limits = LIMITS) -> Dataset:
    """Read a file of metadata, or the parts in a folder."""
    if path.is_dir():
        return read_parts(path, lambda files: collect(iter_arxiv(files[0], limits)))
    return collect(iter_arxiv(path, limits))


def iter_arxiv(path: Path, limits: Limits = LIMITS) -> Iterator[Example]:
    """Yield the papers of a file."""
    for where, row in iter_objects(path, limits):
        if not {"title", "abstract", "categories"} <= row.keys():
            raise DataFormatError(f"{where}: expected 'title', 'abstract' and 'categories', got {', '.join(row)}")
        given = row["categories"]
        categories = given.split() if isinstance(given, str) else string_list(row, "categories", where)
        yield Example(
            tuple(categories), text=f"{_line(row['title'])}\n\n{_line(row['abstract'])}", time=_day(row, where)
        )


def _line(text: Any) -> str:
    return " ".join(str(text or "").split())


def _day(row: dict[str, Any], where: str) -> str:
    """Return the day of the first version."""
    if "published" in row:
        return str(row["published"] or "")[:10]
    versions = row.get("versions")
    if versions:
        try:
            return parsedate_to_datetime(versions[0]["created"]).date().isoformat()
        except (ValueError, TypeError, KeyError, IndexError, AttributeError) as error:
            raise DataFormatError(f"{where}: expected versions with a day 'created' ({error})") from error
    return str(row.get("update_date") or "")
