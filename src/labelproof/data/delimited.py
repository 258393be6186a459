"""CSV and TSV files with a header line."""

import csv
from collections import Counter
from collections.abc import Iterator
from itertools import chain, islice
from pathlib import Path
from typing import Any

from labelproof.data.textfile import LIMITS, Limits, at, bare_name, read_lines
from labelproof.errors import DataFormatError

__all__ = ["iter_table"]


def iter_table(
    path: Path, limits: Limits = LIMITS, *, quoted: bool | None = None, encoding: str = "utf-8"
) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield where each row stands, and its cells by the names of the header line.

    Parameters
    ----------
    path
        The file: fields are separated by tabs if its name ends in .tsv or .txt, else by commas, or by semicolons or
        tabs where the first line has these and no comma. Empty lines are passed over.
    limits
        How much is read.
    quoted
        Whether fields may stand in double quotes and then run over several lines; by default with commas only.
    encoding
        How the text is written.
    """
    tabs = bare_name(path).endswith((".tsv", ".txt"))
    quoted = not tabs if quoted is None else quoted
    csv.field_size_limit(max(csv.field_size_limit(), limits.line_bytes))  # the default refuses long texts
    lines = (f"{line}\n" for _, line in read_lines(path, limits, encoding=encoding))
    begin = list(islice(lines, 1))
    reader = csv.reader(
        chain(begin, lines),
        delimiter="\t" if tabs else _delimiter("".join(begin)),
        quoting=csv.QUOTE_MINIMAL if quoted else csv.QUOTE_NONE,
        strict=True,
    )
    header: list[str] | None = None
    try:
        for cells in reader:
            where = at(path, reader.line_num)
            if not cells:
                continue
            if header is None:
                header = _header(cells, where)
                continue
            if len(cells) != len(header):
                raise DataFormatError(f"{where}: expected {len(header)} fields, got {len(cells)}")
            yield where, dict(zip(header, cells, strict=True))
    except csv.Error as error:
        raise DataFormatError(f"{at(path, reader.line_num)}: {error}") from error


def _delimiter(first: str) -> str:
    """Return what separates the fields of a first line: spreadsheets of many languages write semicolons."""
    return next((mark for mark in ",;\t" if mark in first), ",")


def _header(cells: list[str], where: str) -> list[str]:
    names = [cell.strip() for cell in cells]
    name, uses = Counter(names).most_common(1)[0]
    if uses > 1:
        raise DataFormatError(f"{where}: expected different column names, got {name!r} twice")
    return names
