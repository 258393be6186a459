"""A row of an ARFF file: where its values go, and the example that it is."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from labelproof.data.arff_header import Attribute, Header, split_cells, unquote
from labelproof.data.examples import Example, SparseRow, float32_values

__all__ = ["Layout", "read_row"]


@dataclass(frozen=True)
class Layout:
    """Where the values of a row go: `place[i]` is the first feature of attribute i, or -1 - its label."""

    place: tuple[int, ...]
    feature_names: tuple[str, ...]
    label_names: tuple[str, ...]
    text: int | None
    first_values: Mapping[int, int]  # where a sparse row that omits an attribute, which means its first value, has 1


def read_row(line: str, header: Header, layout: Layout, where: str) -> Example:
    """Read a row, sparse if it stands in braces; what is wrong with it is a ValueError."""
    if line.startswith("{"):
        return _sparse_example(line, header, layout, where)
    cells = split_cells(line, where)
    n_attributes = len(header.attributes) + (header.hierarchy is not None)
    if len(cells) != n_attributes:
        raise ValueError(f"expected {n_attributes} values, got {len(cells)}")
    return _dense_example(cells, header, layout)


def _dense_example(cells: list[str], header: Header, layout: Layout) -> Example:
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


def _sparse_example(line: str, header: Header, layout: Layout, where: str) -> Example:
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
