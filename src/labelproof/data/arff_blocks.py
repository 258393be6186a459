"""ARFF files of numbers and of attributes {0,1} alone, as most are, read many rows at a time.

A block that holds anything else (quotes, a damaged cell, a label that is neither 0 nor 1) is read row by row by
`arff_rows`, which understands it or says what is wrong.
"""

import warnings
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import scipy.sparse

from labelproof.data.arff_header import Header
from labelproof.data.arff_rows import Layout, read_row
from labelproof.data.dataset import Dataset
from labelproof.data.examples import Example, SparseRow
from labelproof.data.pair_blocks import in_blocks, read_pairs
from labelproof.data.textfile import at
from labelproof.errors import DataFormatError

__all__ = ["is_plain", "read_plain", "row_at"]

Row = tuple[int, str]


class _Block(NamedTuple):
    """Features, dense or CSR, and labels (n_rows, n_labels) of bool."""

    features: Any
    labels: Any


def is_plain(header: Header, layout: Layout) -> bool:
    """Return whether every attribute is a number, or 0 and 1, so that rows can be read many at a time."""
    numbers = all(one.kind == "numeric" or one.is_binary for one in header.attributes)
    return numbers and header.hierarchy is None and layout.text is None and not layout.first_values


def row_at(path: Path, number: int, line: str, header: Header, layout: Layout) -> Example:
    """Read one row; an error names its file and line."""
    where = at(path, number)
    try:
        return read_row(line, header, layout, where)
    except ValueError as error:
        raise DataFormatError(f"{where}: {error}") from error


def read_plain(rows: Iterable[Row], header: Header, layout: Layout, path: Path) -> Dataset | None:
    """Read rows that are all dense or all sparse; None if they are not."""
    blocks: list[_Block] = []
    kinds: set[bool] = set()
    for block in in_blocks(rows):
        kinds |= {line.startswith("{") for _, line in block}
        if len(kinds) > 1:
            return None
        found = _sparse(block, layout) if True in kinds else _dense(block, layout)
        blocks.append(_one_by_one(block, header, layout, path) if found is None else found)
    sparse = scipy.sparse.issparse(blocks[0].features)
    features = [block.features for block in blocks]
    return Dataset(
        labels=scipy.sparse.vstack([scipy.sparse.csr_array(block.labels) for block in blocks], format="csr"),
        label_names=layout.label_names,
        features=scipy.sparse.vstack(features, format="csr") if sparse else np.concatenate(features),
        feature_names=layout.feature_names,
    )


def _columns(layout: Layout) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Return the attributes that are features, and those that are labels, each in their order."""
    place = np.array(layout.place)
    return np.flatnonzero(place >= 0), np.flatnonzero(place < 0)[np.argsort(-place[place < 0])]


def _dense(block: list[Row], layout: Layout) -> _Block | None:
    lines = [line.replace("?", "nan") if "?" in line else line for _, line in block]
    try:
        values = np.loadtxt(lines, delimiter=",", comments=None, ndmin=2)
    except ValueError:
        return None
    if values.shape != (len(block), len(layout.place)):
        return None
    features, labels = _columns(layout)
    kept, active = _as_float32(values[:, features]), values[:, labels]
    if kept is None or not ((active == 0) | (active == 1)).all():
        return None
    return _Block(kept, active == 1)


def _sparse(block: list[Row], layout: Layout) -> _Block | None:
    if not all(line.endswith("}") for _, line in block):
        return None
    found = read_pairs([_with_single_blanks(line[1:-1]) for _, line in block], " ", ",", most=len(layout.place))
    if found is None:
        return None
    place, rows = np.array(layout.place)[found.indices], np.repeat(np.arange(len(block)), found.sizes)
    is_label = place < 0
    active, kept = found.values[is_label], _as_float32(found.values[~is_label])
    if kept is None or not ((active == 0) | (active == 1)).all():
        return None
    ones = np.flatnonzero(is_label)[active == 1]
    shape, n_labels = (len(block), len(layout.feature_names)), len(layout.label_names)
    return _Block(
        _csr(kept, rows[~is_label], place[~is_label], shape),
        _csr(np.ones(len(ones), np.bool_), rows[ones], -1 - place[ones], (len(block), n_labels)),
    )


def _with_single_blanks(text: str) -> str:
    text = " ".join(text.split()).replace(" ,", ",").replace(", ", ",")
    return text.replace("?", "nan") if "?" in text else text


def _csr(values: Any, rows: Any, columns: Any, shape: tuple[int, int]) -> Any:
    ends = np.concatenate([[0], np.cumsum(np.bincount(rows, minlength=shape[0]))])
    matrix = scipy.sparse.csr_array((values, columns.astype(np.int32), ends.astype(np.int32)), shape=shape)
    matrix.sort_indices()
    return matrix


def _as_float32(values: npt.NDArray[np.float64]) -> npt.NDArray[np.float32] | None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # of what is too large, which is then ∞
        kept = values.astype(np.float32)
    return None if np.isinf(kept).any() else kept


def _one_by_one(block: list[Row], header: Header, layout: Layout, path: Path) -> _Block:
    examples = [row_at(path, number, line, header, layout) for number, line in block]
    places = {name: i for i, name in enumerate(layout.label_names)}
    labels = np.zeros((len(examples), len(places)), np.bool_)
    for i, example in enumerate(examples):
        labels[i, [places[name] for name in example.labels]] = True
    return _Block(_stacked([example.features for example in examples], len(layout.feature_names)), labels)


def _stacked(rows: list[Any], width: int) -> Any:
    if not isinstance(rows[0], SparseRow):
        return np.stack(rows)
    owner = np.repeat(np.arange(len(rows)), [len(row.indices) for row in rows])
    values, columns = (np.concatenate([row[part] for row in rows]) for part in (1, 0))
    return _csr(values, owner, columns, (len(rows), width))
