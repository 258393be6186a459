"""Read label sets from whatever file, folder or data set holds them: the one reader of all verbs.

Every problem is a DataFormatError of one sentence that begins with the file's name.
"""

import csv
import json
import os
import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, islice
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse

from labelproof.data.columns import MissingColumnError
from labelproof.data.label_columns import BITS, MAX_SHOWN, as_label, cell_labels, read_label_rows
from labelproof.data.label_matching import (
    Apart,
    LabelLists,
    LabelTable,
    MatchedSets,
    Number,
    match_dataset,
    match_lists,
    match_table,
)
from labelproof.data.textfile import LIMITS, at, bare_name, read_lines, require_file
from labelproof.errors import DataFormatError
from labelproof.proof.store import load_label_names

__all__ = ["iter_json_rows", "kind_of", "read_label_file", "read_label_names", "read_text_lines"]

Array = npt.NDArray[Any]
_NUMBERS = re.compile(r"[-\d\s,]*")


def read_label_file(
    source: str | os.PathLike[str],
    *,
    label_names: Sequence[str] | None = None,
    n_labels: int | None = None,
    part: str | None = None,
    columns: Sequence[str] = (),
    apart: Apart = False,
) -> MatchedSets:
    r"""Read label sets, in the numbering of a model's labels.

    ============================  ================================================================================
    source                        holds
    ============================  ================================================================================
    .npy, .npz                    a matrix of 0 and 1, one row for each set; in .npz also a sparse one as scipy
                                  saves it, ``indptr`` and ``indices``, a result of `labelproof.verify`, and what
                                  ``labelproof data convert`` wrote, with ``label_names``
    .csv, .tsv, .parquet          a matrix of 0 and 1, with or without a header of label names; a column ``labels``
                                  (names or indices, separated by semicolons); columns of 0 and 1 called as the labels
    .jsonl                        one set per line: a list of indices or names, or an object with such ``labels``
    .txt                          one set per line: indices separated by spaces or commas, or label names separated
                                  by semicolons or tabs; an empty line is the empty set
    others, folders, names        a data set, as for `labelproof.load_dataset`
    ============================  ================================================================================

    Labels are matched by name where both sides have names, else by index or by the order of columns.

    Parameters
    ----------
    source
        The file, the folder, or the name of a data set.
    label_names
        Names of the model's labels in order, where it has any.
    n_labels
        How many labels the model has. Without that and without names, the data tell both.
    part
        Only the examples of this part of the data's split, such as ``test``.
    columns
        Of a table: the column of labels, or several columns of 0 and 1.
    apart
        Whether sets with labels that the model does not know are put apart; None: if the data have all its labels.

    Returns
    -------
    MatchedSets

    Raises
    ------
    DataFormatError
        If the file is not what it should be, or does not fit the model's labels; in one sentence.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "sets.csv")
    ...     _ = path.write_text("dog,cat\n1,0\n1,1\n")
    ...     found = read_label_file(path, label_names=["cat", "dog"])
    >>> [active.tolist() for active in found.sets]
    [[1], [0, 1]]
    """
    path = Path(source)
    if label_names is not None and n_labels is None:
        n_labels = len(label_names)
    try:
        if path.is_dir() or not path.exists() or kind_of(path) is None:
            return match_dataset(_data_set(source, part, columns), label_names, n_labels, apart=apart)
        raw = _read(path, label_names, part, columns)
        if isinstance(raw, LabelTable):
            return match_table(raw, label_names, n_labels, apart=apart)
        return match_lists(raw, label_names, n_labels, source=path.name, apart=apart)
    except DataFormatError:
        raise
    except ValueError as error:
        raise DataFormatError(f"{path.name or path}: {error}") from error


def read_label_names(path: Path, n_labels: int | None = None) -> list[str]:
    r"""Read one label name per line; they must differ, and be as many as there are labels where that is known.

    Parameters
    ----------
    path
        A text file.
    n_labels
        How many there must be, where that is known.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "names.txt")
    ...     _ = path.write_text("cat\ndog\n")
    ...     read_label_names(path, 2)
    ['cat', 'dog']
    """
    names = [line.strip() for _, line in read_lines(path)]
    seen: set[str] = set()
    for number, name in enumerate(names, 1):
        if not name or name in seen:
            what = f"{name!r} again" if name else "an empty line"
            raise DataFormatError(f"{path.name}: expected a new label name in line {number}, got {what}")
        seen.add(name)
    if n_labels is not None and len(names) != n_labels:
        raise DataFormatError(f"{path.name}: expected {n_labels} label names, one per line, got {len(names)}")
    return names


def kind_of(path: Path) -> str | None:
    """Return the ending of files that are read here, None for those that only `load_dataset` knows."""
    ending = Path(bare_name(path)).suffix
    if ending == ".txt" and _is_xmc(path):
        return None
    return ending if ending in (".npy", ".npz", ".csv", ".tsv", ".txt", ".jsonl", ".ndjson", ".parquet") else None


def _is_xmc(path: Path) -> bool:
    """Return whether a text begins as those of the XMC repository: three sizes, then pairs of features."""
    first = [line for _, line in islice(read_lines(path), 2)]
    return len(first) == 2 and re.fullmatch(r"\d+ \d+ \d+", first[0].strip()) is not None and ":" in first[1]


def _data_set(source: Any, part: str | None, columns: Sequence[str]) -> Any:
    from labelproof.data.loading import OR_NAMED, load_dataset

    path = Path(source)
    if not path.exists() and (path.suffix or path.parent != Path()):
        raise DataFormatError(f"{source}: no such file")
    labels = columns[0] if len(columns) == 1 else list(columns)
    try:
        data = load_dataset(path if path.exists() else str(source), **({"labels": labels} if columns else {}))  # type: ignore[arg-type]
    except MissingColumnError as error:
        raise error.with_remedy("another named by columns=") from error  # as the column of labels is asked for here
    except DataFormatError as error:
        raise DataFormatError(str(error).removesuffix(OR_NAMED)) from error  # there is no such argument here
    if part is None:
        return data
    _require_part(part, data.parts, path.name)
    return data.part(part)


def _require_part(part: str, parts: Iterable[str], name: str) -> None:
    if part not in parts:
        have = ", ".join(parts) or "no parts"
        raise DataFormatError(f"{name}: expected the part {part!r} of a split, got {have}")


def _read(path: Path, names: Sequence[str] | None, part: str | None, columns: Sequence[str]) -> LabelTable | LabelLists:
    require_file(path)
    kind = kind_of(path)
    if kind in (".npy", ".npz"):
        return _read_arrays(path, part)
    if kind == ".txt":
        _require_part(part, (), path.name) if part is not None else None
        return _read_text(path)
    if kind in (".jsonl", ".ndjson"):
        return read_label_rows(iter_json_rows(path), path.name, names, columns, part)
    if kind == ".parquet":
        from labelproof.data.parquet import iter_parquet_rows

        return read_label_rows(iter_parquet_rows(path), path.name, names, columns, part)
    separator = "," if kind == ".csv" else "\t"
    if not columns and part is None and not _has_header(path, separator, names):
        return LabelTable(_bare_matrix(path, separator))
    from labelproof.data.delimited import iter_table

    return read_label_rows(iter_table(path), path.name, names, columns, part)


# Text


def _read_text(path: Path) -> LabelLists:
    lines = list(read_text_lines(path))
    return LabelLists([active for active, _ in lines], [place for _, place in lines])


def read_text_lines(path: Path) -> Iterator[tuple[list[str], str]]:
    """Yield the labels of each line, and where it stands."""
    return ((_text_line(line), at(path, number)) for number, line in read_lines(path))


def _text_line(line: str) -> list[str]:
    separators = r"[\s,]+" if _NUMBERS.fullmatch(line) else r"[;\t]"
    return [as_label(token.strip()) for token in re.split(separators, line) if token.strip()]


def iter_json_rows(path: Path) -> Iterator[tuple[str, Any]]:
    """Yield where each line stands, and its object or its labels."""
    for number, line in read_lines(path):
        if not line.strip():
            continue
        where = at(path, number)
        try:
            value = json.loads(line)
            if isinstance(value, list):
                value = cell_labels(value)
        except (ValueError, RecursionError) as error:
            if isinstance(error, json.JSONDecodeError):
                raise DataFormatError(f"{where}: expected JSON ({error.msg} at character {error.colno})") from error
            what = "nested too deeply" if isinstance(error, RecursionError) else error
            raise DataFormatError(f"{where}: {what}") from error
        if not isinstance(value, dict | list):
            raise DataFormatError(
                f"{where}: expected a list, or an object with a list of 'labels', got {line.strip()[:MAX_SHOWN]}"
            )
        yield where, value


def _has_header(path: Path, separator: str, names: Sequence[str] | None) -> bool:
    """Return whether the first line of a table names its columns, rather than being a row of 0 and 1."""
    first = next((line for _, line in read_lines(path) if line.strip()), "")
    try:
        cells = [cell.strip() for cell in next(csv.reader([first], delimiter=separator), [])]
    except csv.Error as error:
        raise DataFormatError(f"{path.name}: expected a table ({str(error).split(' - ')[0]})") from error
    if all(cell in BITS for cell in cells):
        return False
    counts = len(cells) > 1 and cells == [str(i) for i in range(len(cells))]
    return counts or not _are_numbers(cells) or (names is not None and set(cells) <= set(names))


def _are_numbers(cells: Sequence[str]) -> bool:
    try:
        return bool([float(cell) for cell in cells])
    except ValueError:
        return False


def _bare_matrix(path: Path, separator: str) -> Array:
    lines = (line for _, line in read_lines(path, LIMITS))
    first = next((line for line in lines if line.strip()), None)
    if first is None:
        raise DataFormatError(f"{path.name}: expected rows of 0 and 1, got an empty file")
    try:
        return np.loadtxt(chain([first], lines), delimiter=separator, ndmin=2)
    except ValueError as error:
        what = str(error).splitlines()[0].split(";")[0].rstrip(".")
        raise DataFormatError(f"{path.name}: expected rows of 0 and 1: {what}") from error


# Arrays


def _read_arrays(path: Path, part: str | None) -> LabelTable | LabelLists:
    from labelproof.data import arrays as array_reader

    if part is not None:
        data = array_reader.read_npz(path)
        _require_part(part, data.parts, path.name)
        return LabelTable(data.part(part).labels, data.label_names)
    if path.suffix == ".npy":
        return LabelTable(array_reader.read_matrix(path))
    arrays = array_reader.read_arrays(path)
    names = array_reader.read_strings(arrays, "label_names", path.name)
    if "format" in arrays:
        return LabelTable(_scipy_matrix(path), names)
    if {"indptr", "indices"} <= arrays.keys():
        return _index_lists(arrays, path)
    labels = array_reader.read_member(arrays, "labels", path.name)
    if labels is None and len(arrays) == 1:
        labels = next(iter(arrays.values()))
    if labels is None:
        raise DataFormatError(f"{path.name}: expected an array 'labels' or 'Y', got {', '.join(sorted(arrays))}")
    if names is not None and labels.ndim == 2 and len(names) != labels.shape[1]:
        raise DataFormatError(f"{path.name}: expected {labels.shape[1]} label names, one per column, got {len(names)}")
    return LabelTable(labels, names)


def _scipy_matrix(path: Path) -> Any:
    try:
        matrix = scipy.sparse.load_npz(path)
        if hasattr(matrix, "check_format"):
            matrix.check_format(full_check=True)  # scipy's compiled code relies on it
        return scipy.sparse.csr_array(matrix)
    except (ValueError, KeyError, IndexError, TypeError) as error:
        raise DataFormatError(f"{path.name}: expected a sparse matrix as scipy saves it ({error})") from error


def _index_lists(arrays: dict[str, Array], path: Path) -> LabelTable | LabelLists:
    """Return index lists; a result of `verify`, which is such a file, may have names for them."""
    indptr, indices = arrays["indptr"], arrays["indices"]
    ascends = indptr.ndim == 1 and len(indptr) > 0 and indptr.dtype.kind in "iu" and (indptr[1:] >= indptr[:-1]).all()
    if indices.ndim != 1 or indices.dtype.kind not in "iu":
        raise DataFormatError(f"{path.name}: expected a list of integers as indices, got shape {indices.shape}")
    if not ascends or indptr[0] != 0 or indptr[-1] != len(indices):
        raise DataFormatError(f"{path.name}: expected indptr to ascend from 0 to {len(indices)}")
    names = load_label_names(path) if "header" in arrays else None
    if names is not None:
        active = np.ones(len(indices), np.bool_)
        matrix = scipy.sparse.csr_array((active, indices, indptr), (len(indptr) - 1, len(names)))
        matrix.check_format(full_check=True)
        return LabelTable(matrix, tuple(names))
    words = [Number(i) for i in indices.tolist()]
    sets: list[list[str]] = [[*words[a:b]] for a, b in zip(indptr[:-1].tolist(), indptr[1:].tolist(), strict=True)]
    return LabelLists(sets, [f"{path.name}, set {i}" for i in range(len(sets))])
