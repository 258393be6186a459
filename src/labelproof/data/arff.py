"""ARFF files of Mulan and MEKA, dense and sparse, and of hierarchical classification.

Which attributes are labels is said by Mulan's XML file, by MEKA's ``-C`` in the name of the relation (the first n
attributes, or the last n if it is negative), or by one attribute ``class hierarchical``, whose values are labels joined
by ``@`` that imply all labels above them. A nominal attribute other than {0,1} becomes one feature for each of its
values; ``?`` is a missing value, NaN.
"""

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from labelproof.data.arff_header import Attribute, Header, read_header, read_mulan_labels, split_cells, unquote
from labelproof.data.dataset import Dataset
from labelproof.data.examples import Example, SparseRow, collect, float32_values
from labelproof.data.textfile import LIMITS, Limits, at, read_lines
from labelproof.errors import DataFormatError

__all__ = ["iter_arff", "read_arff"]

_LABELS_OPTION = re.compile(r"(?:^|\s)-[cC]\s+(-?\d+)(?:\s|$)")


def read_arff(path: Path, xml: Path | None = None, limits: Limits = LIMITS) -> Dataset:
    """Read an ARFF file.

    Parameters
    ----------
    path
        The file, plain or compressed.
    xml
        Mulan's XML file with the names of the labels, if it needs one.
    limits
        How much is read.
    """
    header = read_header(path, limits)
    layout = _layout(header, path, xml)
    return collect(
        _examples(path, header, layout, limits),
        label_names=layout.label_names,
        n_features=len(layout.feature_names),
        feature_names=None if layout.text is not None else layout.feature_names,
    )


def iter_arff(path: Path, xml: Path | None = None, limits: Limits = LIMITS) -> Iterator[Example]:
    """Yield the examples of an ARFF file."""
    header = read_header(path, limits)
    return _examples(path, header, _layout(header, path, xml), limits)


@dataclass(frozen=True)
class _Layout:
    """Where the values of a row go: `place[i]` is the first feature of attribute i, or -1 - its label."""

    place: tuple[int, ...]
    feature_names: tuple[str, ...]
    label_names: tuple[str, ...]
    text: int | None
    first_values: Mapping[int, int]  # where a sparse row that omits an attribute, which means its first value, has 1


def _layout(header: Header, path: Path, xml: Path | None) -> _Layout:
    attributes = header.attributes
    labels = _label_attributes(header, path, xml)
    place: list[int] = []
    features: list[str] = []
    for i, attribute in enumerate(attributes):
        one_hot = attribute.kind == "nominal" and not attribute.is_binary
        if i in labels:
            if one_hot:
                raise DataFormatError(
                    f"{path.name}: expected the label {attribute.name!r} to be {{0,1}}, got {attribute.values}"
                )
            place.append(-1 - labels[i])
            continue
        place.append(len(features))
        if one_hot:
            features.extend(f"{attribute.name}={value}" for value in attribute.values)
        elif attribute.kind != "string":
            features.append(attribute.name)
    label_names = header.hierarchy.names if header.hierarchy else tuple(attributes[i].name for i in labels)
    text = _text_attribute(header, path, alone=not features)
    first_values = {
        i: place[i]
        for i, attribute in enumerate(attributes)
        if attribute.kind == "nominal" and not (attribute.is_binary and attribute.values[0] == "0")
    }
    return _Layout(tuple(place), tuple(features), label_names, text, first_values)


def _text_attribute(header: Header, path: Path, *, alone: bool) -> int | None:
    texts = [i for i, attribute in enumerate(header.attributes) if attribute.kind == "string"]
    if len(texts) > 1 or (texts and not alone):
        name = header.attributes[texts[0]].name
        raise DataFormatError(f"{path.name}: expected one string attribute alone, or none, got {name!r} among others")
    return texts[0] if texts else None


def _label_attributes(header: Header, path: Path, xml: Path | None) -> dict[int, int]:
    """Return the numbers of the attributes that are labels, in the order of the labels, with the labels' numbers."""
    if header.hierarchy is not None:
        return {}
    names = [attribute.name for attribute in header.attributes]
    if xml is not None:
        labels, uses = read_mulan_labels(xml), Counter(names)
        for name in labels:
            if uses[name] != 1:
                raise DataFormatError(
                    f"{path.name}: expected one attribute {name!r}, which {xml.name} names as a label, got {uses[name]}"
                )
        places = {name: place for place, name in enumerate(names)}
        return {places[name]: number for number, name in enumerate(labels)}
    option = _LABELS_OPTION.search(header.relation)
    if option is None:
        raise DataFormatError(
            f"{path.name}: expected -C in the relation's name, an XML file of labels, or a hierarchical attribute"
        )
    count = int(option[1])
    if not 0 < abs(count) <= len(names):
        raise DataFormatError(f"{path.name}: expected -C of 1 to {len(names)}, the number of attributes, got {count}")
    chosen = range(count) if count > 0 else range(len(names) + count, len(names))
    return {attribute: number for number, attribute in enumerate(chosen)}


def _examples(path: Path, header: Header, layout: _Layout, limits: Limits) -> Iterator[Example]:
    n_attributes = len(header.attributes) + (header.hierarchy is not None)
    empty = True
    for number, raw in read_lines(path, limits):
        line = raw.strip()
        if number <= header.data_line or not line or line.startswith("%"):
            continue
        where, empty = at(path, number), False
        try:
            if line.startswith("{"):
                yield _sparse_example(line, header, layout, where)
            else:
                cells = split_cells(line, where)
                if len(cells) != n_attributes:
                    raise ValueError(f"expected {n_attributes} values, got {len(cells)}")
                yield _dense_example(cells, header, layout)
        except ValueError as error:
            raise DataFormatError(f"{where}: {error}") from error
    if empty:
        raise DataFormatError(f"{path.name}: expected rows after @data, got none")


def _dense_example(cells: list[str], header: Header, layout: _Layout) -> Example:
    features = [0.0] * len(layout.feature_names)
    labels = []
    for i, (attribute, place) in enumerate(zip(header.attributes, layout.place, strict=True)):
        if place < 0:
            if _is_one(cells[i], attribute):
                labels.append(layout.label_names[-1 - place])
        elif attribute.kind != "string":
            column, value = _feature(cells[i], attribute, place)
            features[column] = value
    if header.hierarchy is not None:
        labels = header.hierarchy.closure(cells[-1].strip().split("@"))
    if layout.text is not None:
        return Example(tuple(labels), text=unquote(cells[layout.text]))
    return Example(tuple(labels), features=float32_values(features))


def _sparse_example(line: str, header: Header, layout: _Layout, where: str) -> Example:
    if not line.endswith("}"):
        raise ValueError("expected a row that ends in }, got one cut short")
    if header.hierarchy is not None:
        raise ValueError("expected plain rows with a hierarchical attribute, got a sparse one")
    omitted, seen = dict(layout.first_values), set()
    labels, columns, values, text = [], [], [], ""
    for cell in split_cells(line[1:-1], where):
        index, _, raw = cell.strip().partition(" ")
        if not index.isdecimal() or int(index) >= len(layout.place):
            raise ValueError(f"expected an attribute's number from 0 to {len(layout.place) - 1}, got {index!r}")
        if int(index) in seen:
            raise ValueError(f"expected each attribute once in a sparse row, got {index} twice")
        seen.add(int(index))
        attribute, place = header.attributes[int(index)], layout.place[int(index)]
        omitted.pop(int(index), None)
        if place < 0:
            if _is_one(raw, attribute):
                labels.append(layout.label_names[-1 - place])
        elif attribute.kind == "string":
            text = unquote(raw)
        else:
            column, value = _feature(raw, attribute, place)
            columns.append(column)
            values.append(value)
    for column in omitted.values():
        if column < 0:
            raise ValueError(f"expected the label {layout.label_names[-1 - column]!r} to be {{0,1}} in a sparse row")
        columns.append(column)
        values.append(1.0)
    if layout.text is not None:
        return Example(tuple(labels), text=text)
    return Example(tuple(labels), features=SparseRow(np.array(columns, np.int64), float32_values(values)))


def _is_one(cell: str, attribute: Attribute) -> bool:
    cell = cell.strip().strip("'\"")
    if cell in ("0", "0.0"):
        return False
    if cell in ("1", "1.0"):
        return True
    raise ValueError(f"expected 0 or 1 for the label {attribute.name!r}, got {cell!r}")


def _feature(cell: str, attribute: Attribute, place: int) -> tuple[int, float]:
    """Return the column of a value and what stands in it."""
    cell = cell.strip()
    if cell == "?":
        return place, float("nan")
    if attribute.kind == "nominal" and not attribute.is_binary:
        value = unquote(cell)
        if value not in attribute.places:
            raise ValueError(f"expected one of {', '.join(attribute.values[:8])} for {attribute.name!r}, got {value!r}")
        return place + attribute.places[value], 1.0
    try:
        return place, float(cell.strip("'\""))
    except ValueError as error:
        raise ValueError(f"expected a number for {attribute.name!r}, got {cell[:40]!r}") from error
