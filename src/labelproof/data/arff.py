"""ARFF files of Mulan and MEKA, dense and sparse, and of hierarchical classification.

Which attributes are labels is said by Mulan's XML file, by MEKA's ``-C`` in the name of the relation (the first n
attributes, or the last n if it is negative), or by one attribute ``class hierarchical``, whose values are labels joined
by ``@`` that imply all labels above them. A nominal attribute other than {0,1} becomes one feature for each of its
values; ``?`` is a missing value, NaN.
"""

import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from labelproof.data.arff_blocks import is_plain, read_plain, row_at
from labelproof.data.arff_header import Header, read_header, read_mulan_labels
from labelproof.data.arff_rows import Layout
from labelproof.data.dataset import Dataset
from labelproof.data.examples import Example, collect
from labelproof.data.textfile import LIMITS, Limits, read_lines
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
    found = read_plain(_rows(path, header, limits), header, layout, path) if is_plain(header, layout) else None
    return found or collect(
        _examples(path, header, layout, limits),
        label_names=layout.label_names,
        n_features=len(layout.feature_names),
        feature_names=None if layout.text is not None else layout.feature_names,
    )


def iter_arff(path: Path, xml: Path | None = None, limits: Limits = LIMITS) -> Iterator[Example]:
    """Yield the examples of an ARFF file."""
    header = read_header(path, limits)
    return _examples(path, header, _layout(header, path, xml), limits)


def _layout(header: Header, path: Path, xml: Path | None) -> Layout:
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
    return Layout(tuple(place), tuple(features), label_names, text, first_values)


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


def _examples(path: Path, header: Header, layout: Layout, limits: Limits) -> Iterator[Example]:
    for number, line in _rows(path, header, limits):
        yield row_at(path, number, line, header, layout)


def _rows(path: Path, header: Header, limits: Limits) -> Iterator[tuple[int, str]]:
    """Yield the number and the text of every line of data."""
    empty = True
    for number, raw in read_lines(path, limits):
        line = raw.strip()
        if number <= header.data_line or not line or line.startswith("%"):
            continue
        empty = False
        yield number, line
    if empty:
        raise DataFormatError(f"{path.name}: expected rows after @data, got none")
