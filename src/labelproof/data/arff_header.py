"""The header of an ARFF file: its attributes, their kinds, and the hierarchy of its labels if it has one."""

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from labelproof.data.hierarchy import Hierarchy, read_hierarchy
from labelproof.data.textfile import LIMITS, Limits, at, read_lines
from labelproof.data.xmlfile import Element, iter_elements
from labelproof.errors import DataFormatError

__all__ = ["Attribute", "Header", "read_header", "read_mulan_labels", "split_cells", "unquote"]

_ATTRIBUTE = re.compile(r"@attribute\s+('(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\"|\S+)\s+(.*)", re.IGNORECASE | re.DOTALL)
_NUMERIC = {"numeric", "real", "integer"}
_ESCAPED = {"n": "\n", "r": "\r", "t": "\t"}


@dataclass(frozen=True)
class Attribute:
    """One attribute: its name, and its kind, which is ``numeric``, ``string`` or ``nominal`` with its values."""

    name: str
    kind: str
    values: tuple[str, ...] = ()

    @cached_property
    def is_binary(self) -> bool:
        """Whether its values are 0 and 1."""
        return sorted(self.values) == ["0", "1"]

    @cached_property
    def places(self) -> dict[str, int]:
        """The place of each value."""
        return {value: place for place, value in enumerate(self.values)}


@dataclass(frozen=True)
class Header:
    """What a file says before its data: attributes in order, the relation's name, the line in which data begins."""

    relation: str
    attributes: tuple[Attribute, ...]
    hierarchy: Hierarchy | None
    data_line: int


def read_mulan_labels(path: Path, limits: Limits = LIMITS) -> tuple[str, ...]:
    """Read the names of the labels from Mulan's XML file, those within other labels included."""
    names = tuple(name for element in iter_elements(path, {"label"}, limits) for name in _label_names(element))
    if not names or not all(names):
        raise DataFormatError(
            f'{path.name}: expected elements <label name="…">, got {"none" if not names else "one without a name"}'
        )
    for name, count in Counter(names).most_common(1):
        if count > 1:
            raise DataFormatError(f"{path.name}: expected each label once, got {name!r} twice")
    return names


def read_header(path: Path, limits: Limits = LIMITS) -> Header:
    """Read the part of an ARFF file before its data."""
    relation, attributes, hierarchy = "", [], None
    for number, raw in read_lines(path, limits):
        line = raw.strip()
        keyword = line.split(maxsplit=1)[0].lower() if line else ""
        if not line or line.startswith("%"):
            continue
        if keyword == "@relation":
            relation = line[len("@relation") :].strip().strip("'\"")
        elif keyword == "@attribute":
            attribute, edges = _read_attribute(line, at(path, number))
            if hierarchy is not None:
                raise DataFormatError(f"{at(path, number)}: expected the hierarchical attribute to be the last one")
            hierarchy = edges
            if edges is None:
                attributes.append(attribute)
        elif keyword == "@data":
            if not attributes:
                raise DataFormatError(f"{at(path, number)}: expected @attribute lines before @data, got none")
            return Header(relation, tuple(attributes), hierarchy, number)
        else:
            raise DataFormatError(
                f"{at(path, number)}: expected @relation, @attribute or @data in the header, got {line[:40]!r}"
            )
    raise DataFormatError(f"{path.name}: expected a line @data, got the end of the file")


def split_cells(line: str, where: str) -> list[str]:
    """Split a line at the commas that stand outside quotes.

    >>> split_cells("1,'a, b'", "here")
    ['1', "'a, b'"]
    """
    if "'" not in line and '"' not in line:
        return line.split(",") if line.strip() else []
    cells, start, quote, escaped = [], 0, "", False
    for place, character in enumerate(line):
        if escaped:
            escaped = False
        elif character == "\\":
            escaped = True
        elif quote:
            quote = "" if character == quote else quote
        elif character in "'\"":
            quote = character
        elif character == ",":
            cells.append(line[start:place])
            start = place + 1
    if quote:
        raise DataFormatError(f"{where}: expected a closing {quote}, got the end of the line")
    return [*cells, line[start:]]


def unquote(text: str) -> str:
    r"""Take a value out of its quotes.

    >>> unquote(r"'Steller\'s Jay'")
    "Steller's Jay"
    """
    text = text.strip()
    if len(text) >= 2 and text[0] in "'\"" and text[-1] == text[0]:
        return re.sub(r"\\(.)", lambda match: _ESCAPED.get(match[1], match[1]), text[1:-1])
    return text


def _label_names(label: Element) -> Iterator[str]:
    yield label.attributes.get("name", "")
    for inner in label.find_all("label"):
        yield from _label_names(inner)


def _read_attribute(line: str, where: str) -> tuple[Attribute, Hierarchy | None]:
    match = _ATTRIBUTE.fullmatch(line)
    if match is None:
        raise DataFormatError(f"{where}: expected @attribute NAME TYPE, got {line[:60]!r}")
    name, kind = unquote(match[1]), match[2].strip()
    word = kind.split(maxsplit=1)[0].lower()
    if word in _NUMERIC:
        return Attribute(name, "numeric"), None
    if word == "string":
        return Attribute(name, "string"), None
    if word == "hierarchical":
        return Attribute(name, "hierarchical"), read_hierarchy(kind.split(maxsplit=1)[-1], where)
    if kind.startswith("{") and kind.endswith("}") and kind[1:-1].strip():
        return Attribute(name, "nominal", tuple(unquote(value) for value in split_cells(kind[1:-1], where))), None
    raise DataFormatError(
        f"{where}: expected an attribute that is numeric, string, hierarchical or {{a,b,…}}, got {kind[:40]!r}"
    )
