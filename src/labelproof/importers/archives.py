"""Zip files of unknown origin: what they say that they hold, before anything is unpacked."""

import os
import struct
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from labelproof.errors import DataFormatError
from labelproof.foundation.array_files import MAX_BYTES, read_form

__all__ = ["open_zip", "refuse_bombs", "refuse_false_arrays"]

_DAMAGE = (zipfile.BadZipFile, NotImplementedError, EOFError, RuntimeError, zlib.error, struct.error)
MAX_MEMBERS = 100_000
LARGE = 512 * 2**20
MAX_RATIO = 100
"""How many times its size a zip file may hold, if that is a large amount; weights hardly compress."""


@contextmanager
def open_zip(file: str | os.PathLike[str] | IO[bytes]) -> Iterator[zipfile.ZipFile]:
    """Open a zip file, and turn whatever its damage does to the reader into one sentence."""
    if isinstance(file, str | os.PathLike) and os.path.isfile(file) and not os.path.getsize(file):
        raise ValueError("expected a zip file, got an empty file")
    try:
        with zipfile.ZipFile(file) as archive:
            yield archive
    except (*_DAMAGE, OSError) as error:
        raise ValueError(f"expected a zip file, got a damaged one or another format ({error})") from error


def refuse_bombs(file: str | os.PathLike[str] | IO[bytes], size: int | None = None) -> None:
    """Refuse a zip file that is damaged, or would unpack to far more than it is.

    Parameters
    ----------
    file
        Path or stream.
    size
        Of the stream, in bytes.

    Raises
    ------
    ValueError
        In one sentence.
    """
    if isinstance(file, str | os.PathLike):
        size = Path(file).stat().st_size
    with open_zip(file) as archive:
        members = archive.infolist()
    total = sum(member.file_size for member in members)
    if len(members) > MAX_MEMBERS or total > MAX_BYTES or total > max(LARGE, MAX_RATIO * (size or 0)):
        raise ValueError(f"expected a zip file of weights, got one of {size} bytes that unpacks to {total}")


def refuse_false_arrays(path: Path) -> None:
    """Refuse a zip file with an .npy array that holds Python objects, or whose header tells another size than its own.

    Zip files inside are looked into as well.
    """
    with open_zip(path) as archive:
        for member in archive.infolist():
            with archive.open(member) as stream:
                if member.filename.endswith(".npy"):
                    _check_header(stream, member.file_size, member.filename)
                elif member.filename.endswith(".npz"):
                    refuse_bombs(stream, member.file_size)
                    _check_inner(stream)


def _check_inner(stream: IO[bytes]) -> None:
    with open_zip(stream) as archive:
        for member in archive.infolist():
            with archive.open(member) as inner:
                _check_header(inner, member.file_size, member.filename)


def _check_header(stream: IO[bytes], size: int, name: str) -> None:
    try:
        read_form(stream, size, name)
    except DataFormatError as error:
        raise ValueError(str(error)) from error
