"""One large JSON object, read piece by piece: its lists element by element, so that it need not fit in memory."""

import codecs
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NoReturn

from labelproof.data.textfile import LIMITS, ByteSource, Limits, open_bytes
from labelproof.errors import DataFormatError

__all__ = ["iter_list", "iter_members"]

CHUNK = 1 << 20
_DECODE = json.JSONDecoder().raw_decode


def iter_members(path: Path, limits: Limits = LIMITS, *, encoding: str = "utf-8") -> Iterator[tuple[str, Any]]:
    """Yield the members of a JSON object: name and value, and for a list name and element, one after the other.

    A single element must not be longer than ``limits.line_bytes`` characters.
    """
    with open_bytes(path, limits) as stream:
        text = _Text(stream, path, limits, encoding)
        text.expect("{")
        while text.peek() != "}":
            name = text.value()
            text.expect(":")
            if text.peek() == "[":
                text.expect("[")
                while text.peek() != "]":
                    yield name, text.value()
                    text.comma("]")
                text.expect("]")
            else:
                yield name, text.value()
            text.comma("}")


def iter_list(path: Path, limits: Limits = LIMITS) -> Iterator[tuple[str, Any]]:
    """Yield where each element of a JSON list of objects stands, and the element."""
    with open_bytes(path, limits) as stream:
        text = _Text(stream, path, limits, "utf-8")
        text.expect("[")
        number = 0
        while text.peek() != "]":
            number += 1
            where, value = f"{path.name}, element {number}", text.value()
            if not isinstance(value, dict):
                raise DataFormatError(f"{where}: expected a JSON object, got {type(value).__name__}")
            yield where, value
            text.comma("]")


class _Text:
    """The text of a file from the place that has been reached."""

    def __init__(self, stream: ByteSource, path: Path, limits: Limits, encoding: str) -> None:
        self._stream, self._path, self._limits = stream, path, limits
        self._decoder = codecs.getincrementaldecoder(encoding)()
        self._buffer, self._place, self._line = "", 0, 1

    def peek(self) -> str:
        """Return the next character that is no space, "" at the end."""
        while True:
            while self._place < len(self._buffer) and self._buffer[self._place] in " \t\r\n\ufeff":
                self._place += 1
            if self._place < len(self._buffer):
                return self._buffer[self._place]
            if not self._more():
                return ""

    def expect(self, character: str) -> None:
        """Pass over this character."""
        found = self.peek()
        if found != character:
            self._fail(f"expected {character}, got {found or 'the end of the file'}")
        self._place += 1

    def comma(self, end: str) -> None:
        """Pass over a comma, which only the end may take the place of."""
        if self.peek() != end:
            self.expect(",")

    def value(self) -> Any:
        """Return the next value."""
        while True:
            self.peek()
            try:
                value, end = _DECODE(self._buffer, self._place)
            except ValueError as error:
                if len(self._buffer) - self._place > self._limits.line_bytes:
                    self._fail(f"expected values of at most {self._limits.line_bytes} characters")
                if not self._more():
                    self._fail(f"expected a JSON value ({getattr(error, 'msg', error)})")
                continue
            except RecursionError:
                self._fail("expected values that are not nested so deeply")
            if self._buffer[end:].strip("+-.eE0123456789") or not self._more():  # a number may go on in the next piece
                self._place = end
                return value

    def _more(self) -> bool:
        raw = self._stream.read(CHUNK)
        try:
            text = self._decoder.decode(raw, final=not raw)
        except UnicodeDecodeError as error:
            self._fail(f"expected text in UTF-8, got byte {error.object[error.start]:#04x}")
        self._line += self._buffer.count("\n", 0, self._place)
        self._buffer, self._place = self._buffer[self._place :] + text, 0
        return bool(raw)

    def _fail(self, what: str) -> NoReturn:
        line = self._line + self._buffer.count("\n", 0, self._place)
        raise DataFormatError(f"{self._path.name}, line {line}: {what}")
