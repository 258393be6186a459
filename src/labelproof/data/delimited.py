"""CSV and TSV files with a header line."""

import csv
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from labelproof.data.columns import Columns, read_rows
from labelproof.data.examples import Example
from labelproof.data.textfile import LIMITS, Limits, at, bare_name, read_lines
from labelproof.errors import DataFormatError

__all__ = ["iter_delimited", "iter_table"]


def iter_delimited(path: Path, columns: Columns, limits: Limits = LIMITS) -> Iterator[Example]:
    """Yield the examples of a CSV file, or of a TSV file, in which quotes are plain characters."""
    return read_rows(iter_table(path, limits), columns, source=path.name)


def iter_table(
    path: Path, limits: Limits = LIMITS, *, quoted: bool | None = None, encoding: str = "utf-8"
) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield where each row stands, and its cells by the names of the header line.

    Parameters
    ----------
    path
        The file: fields are separated by tabs if its name ends in .tsv or .txt, else by commas.
    limits
        How much is read.
    quoted
        Whether fields may stand in double quotes and then run over several lines; by default with commas only.
    encoding
        How the text is written.
    """
    tabs = bare_name(path).endswith((".tsv", ".txt"))
    quoted = not tabs if quoted is None else quoted
    csv.field_size_limit(max(csv.field_size_limit(), limits.line_bytes))  # the module's own would refuse long texts
    lines = (f"{line}\n" for _, line in read_lines(path, limits, encoding=encoding))
    reader = csv.reader(
        lines, delimiter="\t" if tabs else ",", quoting=csv.QUOTE_MINIMAL if quoted else csv.QUOTE_NONE, strict=True
    )
    header: list[str] | None = None
    try:
        for cells in reader:
            if header is None:
                header = _header(cells, path)
            elif cells:
                where = at(path, reader.line_num)
                if len(cells) != len(header):
                    raise DataFormatError(f"{where}: expected {len(header)} fields, got {len(cells)}")
                yield where, dict(zip(header, cells, strict=True))
    except csv.Error as error:
        raise DataFormatError(f"{at(path, reader.line_num)}: {error}") from error


def _header(cells: list[str], path: Path) -> list[str]:
    names = [cell.strip() for cell in cells]
    for place, name in enumerate(names):
        if name in names[:place]:
            raise DataFormatError(f"{at(path, 1)}: expected different column names, got {name!r} twice")
    return names
