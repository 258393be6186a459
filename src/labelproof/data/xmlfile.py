"""XML files read element by element; documents that declare entities are refused, so none can expand."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from xml.parsers import expat

from labelproof.data.textfile import LIMITS, Limits, at, open_bytes
from labelproof.errors import DataFormatError

__all__ = ["Element", "iter_elements"]

CHUNK = 1 << 16
MAX_DEPTH = 200
ELEMENT_SIZE = 256
"""What an element counts beside its characters, as it takes memory though it be empty."""


@dataclass
class Element:
    """An element with its attributes, and the text and elements within it in their order."""

    name: str
    attributes: dict[str, str]
    line: int
    content: list["str | Element"] = field(default_factory=list)

    @property
    def text(self) -> str:
        """The text of the element and of all within it, in order, without the space around it."""
        return "".join(self._pieces()).strip()

    def _pieces(self) -> Iterator[str]:
        for piece in self.content:
            if isinstance(piece, str):
                yield piece
            else:
                yield from piece._pieces()

    def find(self, path: str) -> "Element | None":
        """Return the first element below this one along names such as ``Article/Abstract``, or None."""
        return next(self.find_all(path), None)

    def find_all(self, path: str) -> Iterator["Element"]:
        """Yield the elements below this one along names such as ``MeshHeadingList/MeshHeading``."""
        first, _, rest = path.partition("/")
        for child in self.content:
            if isinstance(child, Element) and child.name == first:
                if rest:
                    yield from child.find_all(rest)
                else:
                    yield child


def iter_elements(path: Path, names: set[str], limits: Limits = LIMITS) -> Iterator[Element]:
    """Yield every outermost element with one of these names, which is forgotten afterwards."""
    builder = _Builder(names, path, limits)
    parser = expat.ParserCreate()
    parser.SetParamEntityParsing(expat.XML_PARAM_ENTITY_PARSING_NEVER)
    parser.buffer_text = True
    parser.StartElementHandler = builder.start(parser)
    parser.EndElementHandler = builder.end
    parser.CharacterDataHandler = builder.characters
    parser.EntityDeclHandler = builder.refuse(parser, "expected no entity declarations, which are not expanded")
    parser.SkippedEntityHandler = builder.refuse(parser, "expected no entities that XML does not define")
    with open_bytes(path, limits) as stream:
        while True:
            chunk = stream.read(CHUNK)
            try:
                parser.Parse(chunk, not chunk)
            except expat.ExpatError as error:
                what = expat.errors.messages.get(error.code, "damaged")
                raise DataFormatError(f"{at(path, error.lineno)}: expected well-formed XML ({what})") from error
            except (LookupError, ValueError) as error:
                raise DataFormatError(f"{path.name}: expected XML in UTF-8 or another encoding ({error})") from error
            yield from builder.take()
            if not chunk:
                return


class _Builder:
    """Builds the elements of the wanted names from the events of a parser."""

    def __init__(self, names: set[str], path: Path, limits: Limits) -> None:
        self._names, self._path, self._limits = names, path, limits
        self._open: list[Element] = []
        self._done: list[Element] = []
        self._depth = self._size = 0

    def start(self, parser: expat.XMLParserType) -> Callable[[str, dict[str, str]], None]:
        def handle(name: str, attributes: dict[str, str]) -> None:
            self._depth += 1
            if self._depth > MAX_DEPTH:
                raise DataFormatError(
                    f"{at(self._path, parser.CurrentLineNumber)}: expected at most {MAX_DEPTH} levels"
                )
            if self._open or name in self._names:
                element = Element(name, attributes, parser.CurrentLineNumber)
                if self._open:
                    self._open[-1].content.append(element)
                self._open.append(element)
                self._grow(ELEMENT_SIZE + sum(map(len, attributes.values())))

        return handle

    def end(self, name: str) -> None:  # noqa: ARG002 - the parser has checked that it closes the one that is open
        self._depth -= 1
        if self._open:
            closed = self._open.pop()
            if not self._open:
                self._done.append(closed)
                self._size = 0

    def characters(self, text: str) -> None:
        self._grow(len(text))
        if self._open:
            self._open[-1].content.append(text)

    def refuse(self, parser: expat.XMLParserType, what: str) -> Callable[..., None]:
        def handle(name: str, *_: object) -> None:
            raise DataFormatError(f"{at(self._path, parser.CurrentLineNumber)}: {what}, got {name!r}")

        return handle

    def take(self) -> list[Element]:
        done, self._done = self._done, []
        return done

    def _grow(self, size: int) -> None:
        if self._open:
            self._size += size
            if self._size > self._limits.line_bytes:
                where = at(self._path, self._open[0].line)
                raise DataFormatError(f"{where}: expected an element of at most {self._limits.line_bytes} characters")
