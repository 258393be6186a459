"""One large JSON object, read piece by piece: its lists element by element, so that it need not fit in memory."""

import codecs
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NoReturn

from labelproof.data.textfile import LIMITS, ByteSource, Limits, open_bytes
from labelproof.errors import DataFormatError

__all__ = ["first_character", "iter_list", "iter_members"]

CHUNK = 1 << 20
_DECODE = json.JSONDecoder().raw_decode


def first_character(path: Path, limits: Limits = LIMITS) -> str:
    """Return the first character that is no space, which tells a list from an object; "" in an empty file."""
    with open_bytes(path, limits) as stream:
        return _Text(stream, path, limits, "utf-8").peek()


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
        text.expect("}")
        text.expect("")


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
        text.expect("]")
        text.expect("")


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
        """Pass over this character, where "" is the end of the file."""
        found = self.peek()
        if found != character:
            self._fail(f"expected {character or 'the end of the file'}, got {found or 'the end of the file'}")
        self._place += len(character)

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
                what = getattr(error, "msg", error)
                if len(self._buffer) - self._place > self._limits.line_bytes:
                    self._fail(f"expected a JSON value of at most {self._limits.line_bytes} characters ({what})")
                if not self._more():
                    self._fail(f"expected a JSON value ({what})")
                continue
            except RecursionError:
                self._fail("expected values that are not nested so deeply")
            length = end - self._place
            if len(self._buffer) - end > len("e+") or not self._more():  # a number may go on in the next piece
                self._place += length  # from where it stands now: reading more forgets what is behind
                return value

    def _more(self) -> bool:
        raw = self._stream.read(max(CHUNK, len(self._buffer) - self._place))  # a long value is not parsed over and over
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
