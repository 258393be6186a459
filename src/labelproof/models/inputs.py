"""New inputs for a model, read one at a time; they need no labels, and labels that they have are passed over."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse

from labelproof.data import SparseRow, iter_examples
from labelproof.data.columns import FEATURES, IMAGE, LABELS, TEXT
from labelproof.data.delimited import iter_table
from labelproof.data.jsonl import iter_objects
from labelproof.data.textfile import bare_name, read_lines
from labelproof.errors import DataFormatError

__all__ = ["iter_batches", "iter_inputs"]

TABLES = {".csv": iter_table, ".tsv": iter_table, ".jsonl": iter_objects, ".ndjson": iter_objects}
NO_FEATURES = {*LABELS, "split", "group", "time"}


def iter_inputs(path: str | Path, kind: str, *, columns: Sequence[str] = ()) -> Iterator[Any]:
    """Yield what an encoder reads, from a file.

    Parameters
    ----------
    path
        A table (.csv, .tsv, .jsonl, plain or compressed), a text file with one text or image file a line (.txt), a
        matrix of features (.npy, .npz), or any format that `labelproof.data.iter_examples` reads.
    kind
        Of the encoder.
    columns
        Of a table: those of the text, which are joined by a blank line, of the image, or of the features. By default
        the usual names; for features all columns that are nothing else.

    Yields
    ------
    str, array (n_features,), or SparseRow
    """
    path = Path(path)
    field = {"features": "features", "image": "image_path"}.get(kind, "text")
    ending = Path(bare_name(path)).suffix
    if ending in TABLES:
        read = _features_of if field == "features" else _text_of
        for where, row in TABLES[ending](path):
            yield read(where, row, columns or _usual(field, row, where))
    elif ending == ".txt" and field != "features":
        yield from (line for _, line in read_lines(path))
    elif ending in (".npy", ".npz") and field == "features":
        yield from _matrix_rows(path)
    else:
        for number, example in enumerate(iter_examples(path), 1):
            value = getattr(example, field)
            if value is None:
                raise DataFormatError(
                    f"{path.name}: expected a {field.replace('_', ' ')} in example {number}, got none"
                )
            yield value


def iter_batches(inputs: Iterable[Any], size: int, *, n_features: int | None = None) -> Iterator[Any]:
    """Gather inputs into batches that an encoder prepares: lists, arrays, or CSR arrays.

    Parameters
    ----------
    inputs
        As `iter_inputs` yields them.
    size
        Of a batch.
    n_features
        Width of sparse features.

    Examples
    --------
    >>> list(iter_batches("abcde", 2))
    [['a', 'b'], ['c', 'd'], ['e']]
    """
    rest = iter(inputs)
    while batch := list(islice(rest, size)):
        if isinstance(batch[0], SparseRow):
            yield _csr(batch, n_features)
        else:
            yield np.stack(batch) if isinstance(batch[0], np.ndarray) else batch


def _usual(field: str, row: Mapping[str, Any], where: str) -> tuple[str, ...]:
    names = {"text": TEXT, "image_path": IMAGE, "features": FEATURES}[field]
    found = tuple(name for name in names if name in row)[:1]
    if not found and field == "features":
        found = tuple(name for name in row if name not in NO_FEATURES)
    if not found:
        raise DataFormatError(f"{where}: expected a column {names[0]!r}, got {', '.join(row)}")
    return found


def _text_of(where: str, row: Mapping[str, Any], columns: Sequence[str]) -> str:
    for name in columns:
        if name not in row:
            raise DataFormatError(f"{where}: expected a column {name!r}, got {', '.join(row)}")
        if not isinstance(row[name], str):
            raise DataFormatError(f"{where}: expected text in {name!r}, got {type(row[name]).__name__}")
    return "\n\n".join(row[name] for name in columns)


def _features_of(where: str, row: Mapping[str, Any], columns: Sequence[str]) -> Any:
    try:
        values = [row[name] for name in columns]
        return np.asarray(values[0] if len(values) == 1 and isinstance(values[0], list) else values, np.float32)
    except KeyError as error:
        raise DataFormatError(f"{where}: expected a column {error.args[0]!r}, got {', '.join(row)}") from error
    except (ValueError, TypeError) as error:
        raise DataFormatError(f"{where}: expected numbers: {error}") from error


def _matrix_rows(path: Path) -> Iterator[Any]:
    try:
        content = np.load(path, mmap_mode="r", allow_pickle=False)
        if isinstance(content, np.ndarray):
            matrix: Any = content
        else:
            with content:
                names = set(content.files)
                matrix = next((content[name] for name in ("features", "X", "x") if name in names), None)
            if matrix is None:
                matrix = scipy.sparse.csr_array(scipy.sparse.load_npz(path))
    except (ValueError, OSError, EOFError) as error:
        raise DataFormatError(f"{path.name}: expected a matrix of features ({error})") from error
    if matrix.ndim != 2:
        raise DataFormatError(f"{path.name}: expected a matrix of features, got {matrix.ndim} axes")
    if not scipy.sparse.issparse(matrix):
        yield from (np.asarray(row) for row in matrix)
        return
    for a, b in zip(matrix.indptr[:-1], matrix.indptr[1:], strict=True):
        yield SparseRow(matrix.indices[a:b], matrix.data[a:b])


def _csr(rows: list[SparseRow], n_features: int | None) -> Any:
    indptr = np.cumsum([0, *(len(row.indices) for row in rows)])
    indices, values = (np.concatenate([row[part] for row in rows]) for part in (0, 1))
    width = int(indices.max(initial=-1)) + 1 if n_features is None else n_features
    if len(indices) and indices.max() >= width:
        raise DataFormatError(f"expected features from 0 to {width - 1}, got {int(indices.max())}")
    return scipy.sparse.csr_array((values, indices, indptr), (len(rows), width))
