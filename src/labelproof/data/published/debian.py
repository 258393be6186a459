"""Descriptions of Debian packages with their tags, such as ``use::gameplaying``.

From a Packages file of an archive, from what ``apt-cache dumpavail`` prints, or from one JSON object per line with
``package``, ``source``, ``description`` and ``tags``. Packages of one source are near duplicates: it is their group.
"""

import shutil
import subprocess
from collections.abc import Iterable, Iterator
from pathlib import Path

from labelproof.data.dataset import Dataset
from labelproof.data.examples import Example, collect
from labelproof.data.jsonl import iter_objects, string_list
from labelproof.data.textfile import LIMITS, Limits, bare_name, read_lines
from labelproof.errors import DataFormatError

__all__ = ["iter_debian", "iter_installed", "read_debian"]


def read_debian(path: Path, limits: Limits = LIMITS) -> Dataset:
    """Read packages that have tags from a file, or from the one file of a folder; ``*::TODO`` and ``special::*`` go."""
    if path.is_dir():
        files = [file for file in sorted(path.iterdir()) if "Packages" in file.name or ".jsonl" in file.name]
        if len(files) != 1:
            raise DataFormatError(f"{path.name}: expected one Packages or .jsonl file in this folder, got {len(files)}")
        path = files[0]
    return collect(iter_debian(path, limits))


def iter_debian(path: Path, limits: Limits = LIMITS) -> Iterator[Example]:
    """Yield the packages of a file that have tags."""
    if bare_name(path).endswith(".jsonl"):
        for where, row in iter_objects(path, limits):
            if "description" not in row:
                raise DataFormatError(f"{where}: expected 'description' and 'tags', got {', '.join(row) or 'nothing'}")
            source = str(row.get("source") or row.get("package", ""))
            yield from _example(string_list(row, "tags", where), str(row["description"]), source)
    else:
        yield from _packages((line for _, line in read_lines(path, limits)), path.name)


def iter_installed() -> Iterator[Example]:
    """Yield the packages with tags that the package lists of this machine know, by ``apt-cache dumpavail``."""
    program = shutil.which("apt-cache")
    if program is None:
        raise DataFormatError("apt-cache: no such program; package lists are there on Debian and its kin only")
    command = [program, "dumpavail"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, encoding="utf-8") as process:  # noqa: S603
        try:
            yield from _packages((line.rstrip("\n") for line in process.stdout or ()), "apt-cache dumpavail")
        finally:
            process.terminate()


def _packages(lines: Iterable[str], source: str) -> Iterator[Example]:
    fields: dict[str, str] = {}
    last, found = "", False
    for line in _with_end(lines):
        if not line.strip():
            if fields:
                found = True
                tags = [tag.strip() for tag in fields.get("tag", "").split(",") if tag.strip()]
                name = fields.get("source", fields.get("package", "")).partition(" ")[0]
                yield from _example(tags, fields.get("description", ""), name)
            fields, last = {}, ""
        elif line[0] in " \t" and last:
            fields[last] += f"\n{line.strip()}"
        else:
            last, colon, value = line.partition(":")
            last = last.lower()
            if not colon:
                raise DataFormatError(f"{source}: expected lines NAME: VALUE, got {line[:40]!r}")
            fields[last] = value.strip()
    if not found:
        raise DataFormatError(f"{source}: expected packages, got none")


def _with_end(lines: Iterable[str]) -> Iterator[str]:
    yield from lines
    yield ""  # the last package need not be followed by an empty line


def _example(tags: list[str], description: str, source: str) -> Iterator[Example]:
    kept = tuple(tag for tag in tags if not tag.endswith("::TODO") and not tag.startswith("special::"))
    if kept:
        yield Example(kept, text=description, group=source)
