"""Lines of text files, plain or compressed, read one at a time and within limits.

Every problem is a `DataFormatError` of one sentence that begins with the file's name and the number of the line.
"""

import bz2
import gzip
import lzma
import os
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, Protocol

from labelproof.errors import DataFormatError

__all__ = [
    "COMPRESSED",
    "LIMITS",
    "ByteSource",
    "Limits",
    "at",
    "bare_name",
    "open_bytes",
    "read_lines",
    "refuse_archive",
    "require_file",
]

COMPRESSED = {".gz": gzip.open, ".bz2": bz2.open, ".xz": lzma.open}
ARCHIVES = (".zip", ".tar", ".tgz", ".7z", ".rar", ".zst")
CHUNK = 1 << 18
_DAMAGES = (EOFError, zlib.error, lzma.LZMAError, gzip.BadGzipFile)


@dataclass(frozen=True)
class Limits:
    """How much of a file is read before it is refused.

    Parameters
    ----------
    line_bytes
        The longest line, or the largest single record of a JSON or XML document.
    expansion
        How many times its own size a compressed file may unpack to.
    free_bytes
        What any compressed file may unpack to, however small it is.

    Examples
    --------
    >>> Limits(line_bytes=1000).expansion
    200
    """

    line_bytes: int = 64 * 2**20
    expansion: int = 200
    free_bytes: int = 256 * 2**20


LIMITS = Limits()


def bare_name(path: Path) -> str:
    """Return a file's name in lower case without the ending of its compression.

    >>> bare_name(Path("data/Train.JSONL.gz"))
    'train.jsonl'
    """
    name = path.name.lower()
    return name.removesuffix(path.suffix.lower()) if path.suffix.lower() in COMPRESSED else name


def at(path: Path, line: int | None = None) -> str:
    """Return how an error begins.

    >>> at(Path("data/train.csv"), 7)
    'train.csv, line 7'
    """
    return path.name if line is None else f"{path.name}, line {line}"


def require_file(path: Path) -> None:
    """Refuse a path that is no file."""
    if not path.is_file():
        what = "expected a file, got a folder or a device" if path.exists() else "no such file"
        raise DataFormatError(f"{path}: {what}")
    refuse_archive(path)


def refuse_archive(path: Path) -> None:
    """Refuse a file that must be unpacked before it can be read."""
    if path.suffix.lower() in ARCHIVES:
        raise DataFormatError(
            f"{path.name}: expected a file that is plain or ends in .gz, .bz2 or .xz, got an archive: unpack it first"
        )


class ByteSource(Protocol):
    """What readers ask of an open file."""

    def read(self, size: int = -1, /) -> bytes:
        """Return at most so many bytes, none at the end."""


@contextmanager
def open_bytes(path: Path, limits: Limits = LIMITS) -> Iterator[ByteSource]:
    """Open a file for reading, unpacked if its name ends in .gz, .bz2 or .xz."""
    require_file(path)
    unpack: Any = COMPRESSED.get(path.suffix.lower())
    with (unpack or open)(path, "rb") as stream:
        try:
            yield _Bounded(stream, path, limits) if unpack else stream
        except _DAMAGES as error:
            raise _damaged(error, path) from error
        except OSError as error:
            if unpack is None or error.errno is not None:
                raise
            raise _damaged(error, path) from error  # as bz2 says it


def read_lines(path: Path, limits: Limits = LIMITS, *, encoding: str = "utf-8") -> Iterator[tuple[int, str]]:
    """Yield the number, from 1, and the text of every line, without its end."""
    number, size = 0, 0
    begun: list[bytes] = []  # the pieces of a line, of this size together, whose end is still to come
    with open_bytes(path, limits) as stream:
        while True:
            try:
                chunk = stream.read(CHUNK)
            except _DAMAGES as error:
                raise _damaged(error, path, number + 1) from error
            *lines, rest = chunk.split(b"\n")
            if lines:
                lines[0] = b"".join([*begun, lines[0]])
                begun, size = [], 0
            begun.append(rest)
            size += len(rest)
            if not chunk and size:
                lines.append(b"".join(begun))
            for raw in lines:
                number += 1
                if len(raw) > limits.line_bytes:
                    raise _too_long(path, number, limits)
                yield number, _decode(raw, path, number, encoding)
            if not chunk:
                return
            if size > limits.line_bytes:
                raise _too_long(path, number + 1, limits)


def _decode(raw: bytes, path: Path, number: int, encoding: str) -> str:
    try:
        text = raw.decode("utf-8-sig" if number == 1 and encoding == "utf-8" else encoding)
    except UnicodeDecodeError as error:
        name, wrong = encoding.upper(), error.object[error.start]
        raise DataFormatError(f"{at(path, number)}: expected text in {name}, got byte {wrong:#04x}") from error
    return text.removesuffix("\r")


def _too_long(path: Path, line: int, limits: Limits) -> DataFormatError:
    return DataFormatError(f"{at(path, line)}: expected at most {limits.line_bytes} bytes in one line")


def _damaged(error: Exception, path: Path, line: int | None = None) -> DataFormatError:
    """Say in one sentence what a damaged compressed file did to its reader."""
    if isinstance(error, EOFError):
        return DataFormatError(f"{at(path, line)}: expected a complete compressed file, got one cut short")
    kind = path.suffix.lower()
    return DataFormatError(f"{at(path, line)}: expected {kind} data, got something else ({error})")


class _Bounded:
    """A stream that refuses to unpack to more than the limits allow."""

    def __init__(self, stream: IO[bytes], path: Path, limits: Limits) -> None:
        self._stream, self._path = stream, path
        self._most = max(limits.free_bytes, limits.expansion * os.path.getsize(path))
        self._got = 0

    def read(self, size: int = -1, /) -> bytes:
        return self._count(self._stream.read(self._most + 1 if size < 0 else size))

    def _count(self, data: bytes) -> bytes:
        self._got += len(data)
        if self._got > self._most:
            raise DataFormatError(
                f"{self._path.name}: expected at most {self._most} bytes after unpacking (see Limits), got more"
            )
        return data
