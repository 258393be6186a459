"""Read scores, and the labels that belong to them, from the files that users have.

Every problem is a DataFormatError of one sentence that begins with the file's name.
"""

from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse

from labelproof.cli import files
from labelproof.errors import DataFormatError
from labelproof.foundation.array_files import read_arrays
from labelproof.foundation.optional_packages import need
from labelproof.proof.labels import read_label_sets

__all__ = ["read_scores", "read_true_labels", "require_free_output"]

Array = npt.NDArray[Any]


def read_scores(path: Path) -> Array:
    """Read scores (n_examples, n_labels); a first line of names in .csv and .tsv is skipped."""
    if path.suffix == ".parquet":
        scores = _parquet(path)
    elif path.suffix == ".npz":
        scores = _named_array(path, "scores", "y_score")
    elif path.suffix in (".csv", ".tsv"):
        scores = _table(path)
    else:
        scores = files.read_numbers(path)
    if scores.ndim != 2 or scores.dtype.kind not in "biuf":
        raise DataFormatError(
            f"{path.name}: expected numbers of shape (examples, labels), got {scores.dtype} of shape {scores.shape}"
        )
    return scores


def read_true_labels(path: Path, shape: tuple[int, ...], scores: Path) -> Any:
    """Read label sets as a 0/1 array or CSR array of the shape of the scores."""
    if path.suffix == ".parquet":
        labels = _parquet(path)
    elif path.suffix in (".csv", ".tsv"):
        labels = _table(path)
    else:
        labels = files.read_labels(path)
    if isinstance(labels, list):
        labels = _from_lists(labels, shape[1], path)
    if labels.shape != shape:
        raise DataFormatError(f"{path.name}: expected labels of shape {shape}, as {scores.name}, got {labels.shape}")
    return labels


def require_free_output(output: Path | None, inputs: list[Path | None], name: str = "--output") -> None:
    """Refuse to write where there is no folder, or over an input."""
    if output is None:
        return
    if not output.resolve().parent.is_dir() or output.is_dir():
        raise ValueError(f"{name} must be a file in a folder that exists, got {output}")
    if any(path is not None and path.exists() and output.resolve() == path.resolve() for path in inputs):
        raise ValueError(f"{name} must not be one of the inputs, got {output}")


def _from_lists(sets: list[Any], n_labels: int, path: Path) -> scipy.sparse.csr_array:
    try:
        read = read_label_sets(sets, n_labels)
    except ValueError as error:
        raise DataFormatError(f"{path.name}: {error}") from error
    data = np.ones(len(read.indices), np.bool_)
    return scipy.sparse.csr_array((data, read.indices, read.indptr), shape=(len(read), n_labels))


def _named_array(path: Path, *names: str) -> Array:
    arrays = read_arrays(files.existing(path))
    for name in names:
        if name in arrays:
            return arrays[name]
    if len(arrays) != 1:
        raise DataFormatError(f"{path.name}: expected an array {names[0]!r}, got {', '.join(sorted(arrays)) or 'none'}")
    return next(iter(arrays.values()))


def _table(path: Path) -> Array:
    """Read rows of numbers after an optional line of column names."""
    separator = "," if path.suffix == ".csv" else "\t"
    try:
        lines = files.existing(path).read_text(encoding="utf-8-sig").splitlines()
    except UnicodeDecodeError as error:
        raise DataFormatError(
            f"{path.name}: expected text in UTF-8, got byte {error.object[error.start]:#x}"
        ) from error
    if lines and not _are_numbers(lines[0].split(separator)):
        lines = lines[1:]
    if not any(line.strip() for line in lines):
        raise DataFormatError(f"{path.name}: expected rows of numbers, got none")
    try:
        return np.loadtxt(lines, delimiter=separator, ndmin=2)
    except ValueError as error:
        what = str(error).splitlines()[0].split(";")[0].rstrip(".")
        raise DataFormatError(f"{path.name}: expected rows of numbers: {what}") from error


def _are_numbers(tokens: list[str]) -> bool:
    try:
        return bool([float(token) for token in tokens])
    except ValueError:
        return False


def _parquet(path: Path) -> Array:
    """Read a table of one numeric column for each label."""
    files.existing(path)
    need("pyarrow", f"reading {path.name}")
    import pyarrow
    import pyarrow.parquet

    try:
        table = pyarrow.parquet.read_table(path)
        columns = [column.to_numpy(zero_copy_only=False) for column in table.combine_chunks().columns]
    except (pyarrow.ArrowException, OSError, ValueError) as error:
        what = str(error).splitlines()[0].rstrip(".")
        raise DataFormatError(f"{path.name}: expected a Parquet file of numbers ({what})") from error
    for name, column in zip(table.column_names, columns, strict=True):
        if column.dtype.kind not in "biuf":
            raise DataFormatError(f"{path.name}: expected numbers in column {name!r}, got {column.dtype}")
    return np.column_stack(columns) if columns else np.empty((0, 0))
