"""New inputs for a model, read one at a time; they need no labels, and labels that they have are passed over."""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain, islice
from pathlib import Path
from typing import Any
from zipfile import ZipFile, is_zipfile

import numpy as np
import scipy.sparse

from labelproof.data import Dataset, SparseRow, iter_examples
from labelproof.data.arrays import read_arrays, read_matrix, read_npz
from labelproof.data.columns import IMAGE, LABELS, TEXT, Columns, Rows, read_rows
from labelproof.data.delimited import iter_table
from labelproof.data.examples import Example
from labelproof.data.jsondocument import first_character, iter_list
from labelproof.data.jsonl import iter_objects
from labelproof.data.model_inputs import joined
from labelproof.data.parquet import iter_parquet_rows
from labelproof.data.textfile import bare_name, read_lines, require_file
from labelproof.errors import DataFormatError
from labelproof.foundation.array_files import told_in_one_sentence
from labelproof.training.config import DataConfig, TrainConfig
from labelproof.training.data_parts import inputs_of

__all__ = ["columns_for", "iter_batches", "iter_inputs", "with_feature_columns"]

TABLES: dict[str, Callable[[Path], Rows]] = {
    ".csv": iter_table,
    ".tsv": iter_table,
    ".jsonl": iter_objects,
    ".ndjson": iter_objects,
    ".parquet": iter_parquet_rows,
}
ROLES = {"features": "features", "image": "image"}  # other kinds of encoders read the text
NO_LABELS = "(labels are not read)"  # name of a column that no file has


def with_feature_columns(config: TrainConfig, dataset: Dataset) -> TrainConfig:
    """Return a configuration that says what the data told: the names of features, so that new tables may have them in
    any order, and what stands between labels.
    """
    names, data = dataset.feature_names, config.data
    if dataset.separator is not None and data.separator is None:
        data = data.model_copy(update={"separator": dataset.separator})
        config = config.model_copy(update={"data": data})
    if names is None or data.features is not None or not any(map(_is_table, _files(data.path))):
        return config
    return config.model_copy(update={"data": data.model_copy(update={"features": names})})


def columns_for(kind: str, trained: DataConfig, named: Sequence[str] = ()) -> Columns:
    """Return the columns of a table that an encoder of this kind reads: those named, or else those of training."""
    roles = ("text", "labels", "features", "image", "split", "group", "time")
    columns = Columns(**{role: getattr(trained, role) for role in roles})
    role = ROLES.get(kind, "text")
    if role == "image" and len(named) > 1:
        raise ValueError(f"one column must name the images, got {len(named)}")
    given: dict[str, Any] = {role: named[0] if role == "image" else tuple(named)} if named else {}
    return replace(columns, **given)


def iter_inputs(
    path: str | Path,
    kind: str,
    *,
    columns: Columns | None = None,
    n_features: int | None = None,
    missing: bool = False,
) -> Iterator[Any]:
    """Yield what an encoder reads, from a file, in the form in which `load_dataset` gives it for training.

    Parameters
    ----------
    path
        A table (.csv, .tsv, .jsonl, .json, plain or compressed, or .parquet), a text file with one text or image file
        per line (.txt), a matrix of features (.npy, .npz), a data set (.npz), or any format that
        `labelproof.data.iter_examples` reads.
    kind
        Of the encoder.
    columns
        Of a table, as for training; for features by default all columns that are nothing else, in their order.
    n_features
        Number of features that is expected; None for any.
    missing
        Whether features may be missing (NaN), as models of the recipe take them.

    Yields
    ------
    str, array (n_features,), or SparseRow
    """
    path = Path(path)
    role = ROLES.get(kind, "text")
    _require_readable(path, role)
    if Path(bare_name(path)).suffix == ".txt" and role != "features":
        values: Iterator[Any] = (line for _, line in read_lines(path))
    elif path.suffix.lower() in (".npy", ".npz") and role == "features":
        values = _matrix_rows(path, n_features)
    elif path.suffix.lower() == ".npz":
        values = iter(inputs_of(read_npz(path), kind))
    else:
        values = (_value(example, role) for example in _examples(path, role, columns or Columns()))
    for number, value in enumerate(values, 1):
        fault = (
            f"{role}, got none"
            if value is None
            else _fault(value, n_features, missing=missing)
            if role == "features"
            else None
        )
        if fault:
            raise DataFormatError(f"{path.name}, example {number}: expected {fault}")
        yield value


def _require_readable(path: Path, role: str) -> None:
    """Refuse a folder, an archive, and numbers where a model reads texts or images."""
    require_file(path)
    if role != "features" and _holds_only_numbers(path, "texts" if role == "text" else "image_paths"):
        what = "texts" if role == "text" else "images"
        raise DataFormatError(
            f"{path.name}: the model reads {what}, got an array of numbers: expected a table (.csv, .jsonl, .parquet), "
            "or a .txt file with one per line"
        )


def _holds_only_numbers(path: Path, wanted: str) -> bool:
    """Return whether a file of arrays has no texts, or images, of a data set; what cannot be read is told elsewhere."""
    if path.suffix.lower() != ".npz" or not is_zipfile(path):
        return path.suffix.lower() == ".npy"
    with ZipFile(path) as archive:
        return not any(name.startswith(wanted) for name in archive.namelist())


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


def _examples(path: Path, role: str, columns: Columns) -> Iterator[Example]:
    """Return the examples; those of a table need no columns but that of the role."""
    rows = _table_rows(path)
    if rows is None:
        return iter_examples(path)
    rest = iter(rows)
    first = list(islice(rest, 1))
    named = getattr(columns, role) or _usual(role, first, path)
    others = {columns.split, columns.group, columns.time, *_names(columns.labels or LABELS)} - {*_names(named)}
    bare = ((where, _without(row, others)) for where, row in chain(first, rest))
    return read_rows(bare, Columns(**{role: named}, labels=NO_LABELS), source=path.name)


def _table_rows(path: Path) -> Rows | None:
    """Return where each row of a table stands, and its cells by name; None if the file is no table."""
    if _is_table(path):
        return TABLES[Path(bare_name(path)).suffix](path)
    is_list = Path(bare_name(path)).suffix == ".json" and first_character(path) == "["
    return iter_list(path) if is_list else None


def _is_table(path: Path) -> bool:
    return Path(bare_name(path)).suffix in TABLES


def _files(paths: Any) -> Iterator[Path]:
    """Yield the files of a data set: one, several, those of its parts, or those in a folder."""
    if isinstance(paths, Mapping | tuple):
        for each in paths.values() if isinstance(paths, Mapping) else paths:
            yield from _files(each)
    elif paths is not None:
        yield from sorted(Path(paths).iterdir()) if Path(paths).is_dir() else [Path(paths)]


def _usual(role: str, first: list[tuple[str, Mapping[str, Any]]], path: Path) -> str | None:
    """Return the column of texts or images that the first row has by its usual name."""
    if role == "features" or not first:
        return None
    usual, present = TEXT if role == "text" else IMAGE, first[0][1]
    found = next((name for name in usual if name in present), None)
    if found is None:
        raise DataFormatError(f"{path.name}: expected a column {usual[0]!r}, got {', '.join(present)}")
    return found


def _names(columns: str | Sequence[str] | None) -> Sequence[str]:
    return () if columns is None else (columns,) if isinstance(columns, str) else columns


def _without(row: Mapping[str, Any], names: Collection[str | None]) -> dict[str, Any]:
    return {**{name: value for name, value in row.items() if name not in names}, NO_LABELS: None}


def _value(example: Example, role: str) -> Any:
    if role == "text" and example.text is not None and example.text_pair is not None:
        return joined(example.text, example.text_pair)
    return example.image_path if role == "image" else getattr(example, role)


def _fault(value: Any, n_features: int | None, *, missing: bool) -> str | None:
    """Return what the features of an example should be and are not."""
    sparse = isinstance(value, SparseRow)
    numbers = value.values if sparse else value
    if not sparse and n_features is not None and len(value) != n_features:
        return f"{n_features} features, got {len(value)}"
    if sparse and n_features is not None and len(value.indices) and value.indices.max() >= n_features:
        return f"features from 0 to {n_features - 1}, got {int(value.indices.max())}"
    if numbers.dtype.kind not in "biuf":
        return f"numbers, got an array of {numbers.dtype}"
    wrong = np.isinf(numbers) if missing else ~np.isfinite(numbers)
    if wrong.any():
        return f"finite numbers, got {numbers[wrong][0]}"
    return None


def _matrix_rows(path: Path, n_features: int | None) -> Iterator[Any]:
    matrix = _matrix(path)
    if matrix.ndim != 2:
        raise DataFormatError(f"{path.name}: expected a matrix of features, got {matrix.ndim} axes")
    if n_features is not None and matrix.shape[1] != n_features:
        raise DataFormatError(f"{path.name}: expected {n_features} features, got {matrix.shape[1]}")
    if not scipy.sparse.issparse(matrix):
        yield from (np.asarray(row) for row in matrix)
        return
    for a, b in zip(matrix.indptr[:-1], matrix.indptr[1:], strict=True):
        yield SparseRow(matrix.indices[a:b], matrix.data[a:b])


def _matrix(path: Path) -> Any:
    """Return the features of a file; those of a .npy file stay on the disk until they are used."""
    if not path.is_file():
        raise DataFormatError(f"{path}: no such file")
    if path.suffix.lower() == ".npy":
        with told_in_one_sentence(path.name):
            return np.load(path, mmap_mode="r", allow_pickle=False)
    arrays = read_arrays(path)
    if "features_indptr" in arrays:
        return read_npz(path).features
    given = next((arrays[name] for name in ("features", "X", "x") if name in arrays), None)
    return read_matrix(path) if given is None else given


def _csr(rows: list[SparseRow], n_features: int | None) -> Any:
    indptr = np.cumsum([0, *(len(row.indices) for row in rows)])
    indices, values = (np.concatenate([row[part] for row in rows]) for part in (0, 1))
    width = int(indices.max(initial=-1)) + 1 if n_features is None else n_features
    if len(indices) and indices.max() >= width:
        raise DataFormatError(f"expected features from 0 to {width - 1}, got {int(indices.max())}")
    return scipy.sparse.csr_array((values, indices, indptr), (len(rows), width))
