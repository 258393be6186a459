"""Read scores with the names of their columns, and the labels that belong to them, from the files that users have.

Every problem is a DataFormatError of one sentence that begins with the file's name.
"""

import csv
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse

from labelproof.cli import files
from labelproof.errors import DataFormatError
from labelproof.foundation.array_files import read_arrays
from labelproof.foundation.optional_packages import need

__all__ = ["read_score_kind", "read_scores", "read_true_labels", "require_one_source"]

Array = npt.NDArray[Any]


def require_one_source(**given: Any) -> None:
    """Refuse all but scores with their labels alone, or a model with its data alone.

    >>> require_one_source(scores=Path("S.npy"), labels=None, model=None, data=None)
    Traceback (most recent call last):
    ValueError: either --scores and --labels, or --model and --data must be given, got --scores alone
    """
    found = [f"--{name}" for name, value in given.items() if value is not None]
    if found not in (["--scores", "--labels"], ["--model", "--data"]):
        got = f"{found[0]} alone" if len(found) == 1 else " and ".join(found) or "neither"
        raise ValueError(f"either --scores and --labels, or --model and --data must be given, got {got}")


def read_scores(path: Path) -> tuple[Array, tuple[str, ...] | None]:
    """Read scores (n_examples, n_labels), and the names of their labels where the file has them."""
    names: Sequence[str] | None = None
    if path.suffix == ".parquet":
        scores, names = _parquet(path)
    elif path.suffix == ".npz":
        scores, names = _named_array(path, "scores", "y_score")
    elif path.suffix in (".csv", ".tsv"):
        scores, names = _table(path)
    else:
        scores = files.read_numbers(path)
    if scores.ndim != 2 or scores.dtype.kind not in "biuf":
        raise DataFormatError(
            f"{path.name}: expected numbers of shape (examples, labels), got {scores.dtype} of shape {scores.shape}"
        )
    return scores, None if names is None else tuple(names)


def read_score_kind(path: Path) -> str | None:
    """Return what the scores of an .npz file say that they are, "logits" or "probabilities"; None without a word."""
    if path.suffix != ".npz" or not path.is_file():
        return None
    kind = read_arrays(path, only={"score_kind"}).get("score_kind")
    word = None if kind is None or kind.ndim or kind.dtype.kind != "U" else str(kind)
    return word if word in ("logits", "probabilities") else None


def read_true_labels(source: str, shape: tuple[int, ...], scores: Path, names: Sequence[str] | None) -> Any:
    """Read label sets as a CSR array of the shape of the scores, whose labels have these names if any."""
    from labelproof.data.label_files import read_label_file

    sets = read_label_file(source, label_names=names, n_labels=shape[1]).sets
    if len(sets) != shape[0]:
        raise DataFormatError(
            f"{Path(source).name}: expected labels of shape {shape}, as {scores.name}, got {(len(sets), shape[1])}"
        )
    active = np.ones(len(sets.indices), np.bool_)
    return scipy.sparse.csr_array((active, sets.indices, sets.indptr), shape=shape)


def _named_array(path: Path, *names: str) -> tuple[Array, list[str] | None]:
    arrays = read_arrays(files.existing(path))
    labels = arrays.get("label_names")
    called = labels.tolist() if labels is not None and labels.dtype.kind == "U" and labels.ndim == 1 else None
    for name in names:
        if name in arrays:
            return arrays[name], called
    if len(arrays) != 1:
        raise DataFormatError(f"{path.name}: expected an array {names[0]!r}, got {', '.join(sorted(arrays)) or 'none'}")
    return next(iter(arrays.values())), None


def _table(path: Path) -> tuple[Array, list[str] | None]:
    """Read rows of numbers after an optional line of column names."""
    names = None
    separator = "," if path.suffix == ".csv" else "\t"
    try:
        lines = files.existing(path).read_text(encoding="utf-8-sig").splitlines()
    except UnicodeDecodeError as error:
        raise DataFormatError(
            f"{path.name}: expected text in UTF-8, got byte {error.object[error.start]:#x}"
        ) from error
    if lines and not _are_numbers(lines[0].split(separator)):
        names = [cell.strip() for cell in next(csv.reader(lines[:1], delimiter=separator))]
        lines = lines[1:]
    if not any(line.strip() for line in lines):
        raise DataFormatError(f"{path.name}: expected rows of numbers, got none")
    try:
        return np.loadtxt(lines, delimiter=separator, ndmin=2), names
    except ValueError as error:
        what = str(error).splitlines()[0].split(";")[0].rstrip(".")
        raise DataFormatError(f"{path.name}: expected rows of numbers: {what}") from error


def _are_numbers(tokens: list[str]) -> bool:
    try:
        return bool([float(token) for token in tokens])
    except ValueError:
        return False


def _parquet(path: Path) -> tuple[Array, list[str]]:
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
    return np.column_stack(columns) if columns else np.empty((0, 0)), table.column_names
