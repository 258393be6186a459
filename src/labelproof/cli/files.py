"""Read weights, label sets and label names from the files that users have; nothing is unpickled.

Every problem is a DataFormatError of one sentence that begins with the file's name.
"""

import json
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy.typing as npt
import scipy.sparse

from labelproof.errors import DataFormatError
from labelproof.foundation.array_files import read_arrays

__all__ = [
    "Classifier",
    "existing",
    "parse_domain",
    "parse_indices",
    "parse_names",
    "read_classifier",
    "read_label_names",
    "read_labels",
    "read_numbers",
    "read_thresholds",
]

Array = npt.NDArray[Any]


@dataclass(frozen=True, eq=False)
class Classifier:
    """The numbers of an output layer, and the file that its bias came from."""

    weight: Array  # (n_labels, d)
    bias: Array | None  # (n_labels,)
    bias_from: str | None


def read_classifier(weights: Path, bias: Path | None = None) -> Classifier:
    """Read a weight and its bias: that of the file ``bias``, else one that the .npz file of weights holds itself."""
    weight, own_bias = _weight_and_bias(weights)
    if bias is not None:
        return Classifier(weight, _vector(bias), bias.name)
    return Classifier(weight, own_bias, None if own_bias is None else weights.name)


def _weight_and_bias(path: Path) -> tuple[Array, Array | None]:
    if path.suffix != ".npz":
        return read_numbers(path), None
    arrays = read_arrays(existing(path))
    bias = next((arrays[key] for key in ("bias", "b") if key in arrays), None)
    for key in ("weight", "W"):
        if key in arrays:
            return arrays[key], bias
    tables = [array for array in arrays.values() if array.ndim == 2 and array.dtype.kind == "f"]
    if len(tables) != 1:
        raise DataFormatError(f"{path.name}: expected an array 'weight' or 'W', got {', '.join(sorted(arrays))}")
    return tables[0], bias


def read_numbers(path: Path) -> Array:
    """Read one array of numbers from a .npy, .npz (of one array), .csv, .tsv or .txt file."""
    from labelproof.importers.tables import read_table

    return read_table(path)


def _vector(path: Path) -> Array:
    """Read numbers that may also stand in one row or one column."""
    array = read_numbers(path)
    return array.ravel() if array.ndim == 2 and 1 in array.shape else array


def read_thresholds(text: str) -> float | Array:
    """Read one threshold, or a file of one for each label."""
    try:
        return float(text)
    except ValueError:
        return _vector(Path(text))


def parse_domain(text: str | None) -> Any:
    """Read ``nonnegative`` or two bounds for all features, as in ``-1,1`` or ``0,inf``."""
    if text is None or text == "nonnegative":
        return text
    try:
        low, high = (float(end) for end in text.split(","))
    except ValueError as error:
        raise ValueError(f"domain must be nonnegative or LOW,HIGH, as in -1,1, got {text!r}") from error
    return low, high


# Label names and label sets


def read_label_names(path: Path | None, n_labels: int | None = None) -> list[str] | None:
    """Read one label name a line; they must differ, and be as many as there are labels where that is known."""
    if path is None:
        return None
    names = [line.strip() for line in _lines(path)]
    seen: set[str] = set()
    for number, name in enumerate(names, 1):
        if not name or name in seen:
            what = f"{name!r} again" if name else "an empty line"
            raise DataFormatError(f"{path.name}: expected a new label name in line {number}, got {what}")
        seen.add(name)
    if n_labels is not None and len(names) != n_labels:
        raise DataFormatError(f"{path.name}: expected {n_labels} label names, one a line, got {len(names)}")
    return names


def read_labels(path: Path, names: Sequence[str] | None = None) -> Any:
    """Read label sets in a form that `verify` takes.

    ============================  ================================================================================
    file                          holds
    ============================  ================================================================================
    .npy, .csv, .tsv              a matrix of 0 and 1, one row for each set
    .npz                          the same in its only array (or in ``labels`` or ``Y``), a sparse matrix as scipy
                                  saves it, or ``indptr`` and ``indices``
    .txt                          one set a line: indices separated by spaces or commas, or label names separated
                                  by semicolons or tabs; an empty line is the empty set
    .jsonl                        one set a line: a list of indices or names, or an object with such ``labels``
    ============================  ================================================================================
    """
    existing(path)
    if path.suffix == ".npz":
        return _labels_of_npz(path)
    if path.suffix not in (".txt", ".jsonl"):
        return read_numbers(path)
    read_line = _text_line(names) if path.suffix == ".txt" else _json_line(names)
    return list(_sets(path, read_line, skip_empty=path.suffix == ".jsonl"))


def _labels_of_npz(path: Path) -> Any:
    arrays = read_arrays(path)
    if "format" in arrays:
        try:
            matrix = scipy.sparse.load_npz(path)
            if hasattr(matrix, "check_format"):
                matrix.check_format(full_check=True)  # scipy's compiled code relies on it
            return scipy.sparse.csr_array(matrix)
        except (ValueError, KeyError, IndexError, TypeError) as error:
            raise DataFormatError(f"{path.name}: expected a sparse matrix as scipy saves it ({error})") from error
    if {"indptr", "indices"} <= arrays.keys():
        indptr, indices = arrays["indptr"], arrays["indices"]
        if not _are_pointers(indptr, len(indices)):
            raise DataFormatError(f"{path.name}: expected indptr to ascend from 0 to {len(indices)}")
        return [indices[start:stop] for start, stop in zip(indptr[:-1].tolist(), indptr[1:].tolist(), strict=True)]
    for key in ("labels", "Y"):
        if key in arrays:
            return arrays[key]
    if len(arrays) != 1:
        raise DataFormatError(f"{path.name}: expected an array 'labels' or 'Y', got {', '.join(sorted(arrays))}")
    return next(iter(arrays.values()))


def _are_pointers(indptr: Array, length: int) -> bool:
    if indptr.ndim != 1 or not len(indptr) or indptr.dtype.kind not in "iu":
        return False
    return bool(indptr[0] == 0 and indptr[-1] == length and (indptr[1:] >= indptr[:-1]).all())


def _sets(path: Path, read_line: Callable[[str], list[int]], *, skip_empty: bool) -> Iterator[list[int]]:
    for number, line in enumerate(_lines(path), 1):
        if line.strip() or not skip_empty:
            try:
                yield read_line(line)
            except (ValueError, RecursionError) as error:
                raise DataFormatError(f"{path.name}, line {number}: {error}") from error


def _text_line(names: Sequence[str] | None) -> Callable[[str], list[int]]:
    if names is None:
        return parse_indices
    places = {name: i for i, name in enumerate(names)}
    numeric = any(re.fullmatch(r"\d+", name) for name in names)  # then a number in the file is a name

    def read_line(line: str) -> list[int]:
        if not numeric and re.fullmatch(r"[\d\s,]*", line):
            return parse_indices(line)
        return [_place(token.strip(), places) for token in re.split(r"[;\t]", line) if token.strip()]

    return read_line


def _json_line(names: Sequence[str] | None) -> Callable[[str], list[int]]:
    places = {name: i for i, name in enumerate(names or ())}

    def read_line(line: str) -> list[int]:
        value = json.loads(line)
        if isinstance(value, dict):
            value = value.get("labels")
        if not isinstance(value, list):
            raise ValueError(f"expected a list, or an object with a list of 'labels', got {line.strip()[:60]}")
        return [_place(item, places) for item in value]

    return read_line


def _place(item: Any, places: dict[str, int]) -> int:
    if isinstance(item, int) and not isinstance(item, bool):
        return item
    if item in places:
        return places[item]
    hint = "" if places else " (names need --label-names)"
    raise ValueError(f"expected a label's name or index, got {item!r}{hint}")


def parse_indices(text: str) -> list[int]:
    """Read label indices that are separated by commas or spaces.

    >>> parse_indices("3, 17 20")
    [3, 17, 20]
    """
    try:
        return [int(token) for token in re.split(r"[,\s]+", text.strip()) if token]
    except ValueError as error:
        raise ValueError(
            f"expected label indices separated by commas or spaces (names need --label-names), got {text.strip()!r}"
        ) from error


def parse_names(text: str, names: Sequence[str]) -> list[int]:
    """Read label names that are separated by semicolons.

    >>> parse_names("cat; dog", ["bird", "cat", "dog"])
    [1, 2]
    """
    places = {name: i for i, name in enumerate(names)}
    return [_place(token.strip(), places) for token in text.split(";") if token.strip()]


def _lines(path: Path) -> list[str]:
    try:
        lines = existing(path).read_text(encoding="utf-8-sig").split("\n")
    except UnicodeDecodeError as error:
        raise DataFormatError(
            f"{path.name}: expected text in UTF-8, got byte {error.object[error.start]:#x}"
        ) from error
    return lines if lines[-1] else lines[:-1]


def existing(path: Path) -> Path:
    """Return the path of a file, which must be there."""
    if not path.is_file():
        raise DataFormatError(f"{path}: {'not a file' if path.exists() else 'no such file'}")
    return path
