"""Data sets in .npz and .npy files: dense arrays, sparse matrices as scipy saves them, and labelproof's own layout.

Nothing is unpickled. An .npz file holds ``labels`` (or ``Y``) and, where there are any, ``features`` (or ``X``),
``label_names``, ``texts``, ``split``, ``groups`` and ``times``, of which the last two may be numbers. A sparse matrix
takes the place of an array under the names ``labels_data``, ``labels_indices``, ``labels_indptr`` and ``labels_shape``;
strings that of an array of strings as ``texts_bytes`` (UTF-8, one after the other) and ``texts_ends``.
"""

from collections.abc import Mapping
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse

from labelproof.data.dataset import Dataset
from labelproof.data.examples import MAX_LABELS
from labelproof.data.textfile import LIMITS, Limits, require_file
from labelproof.errors import DataFormatError
from labelproof.foundation import array_files

__all__ = ["arrays_of", "read_arrays", "read_matrix", "read_member", "read_npz", "read_pair", "read_strings"]

Array = npt.NDArray[Any]
_STRINGS = ("label_names", "texts", "text_pairs", "feature_names", "image_paths", "split", "groups", "times")
_MAY_BE_NUMBERS, _NUMBERS = ("groups", "times"), "biufM"
_OTHER_NAMES = {"labels": ("Y", "y"), "features": ("X",)}


def read_npz(path: Path, limits: Limits = LIMITS) -> Dataset:
    """Read a data set from one .npz or .npy file; one that holds a single matrix is taken as labels."""
    if path.suffix == ".npy":
        return _with_labels(read_matrix(path, limits), {}, path.name)
    arrays = read_arrays(path, limits)
    if "indptr" in arrays and "shape" in arrays:  # a sparse matrix alone, as scipy saves it
        return _with_labels(_sparse(arrays, "", path.name), {}, path.name)
    labels = read_member(arrays, "labels", path.name)
    if labels is None and len(arrays) == 1:
        labels = next(iter(arrays.values()))
    if labels is None:
        raise DataFormatError(
            f"{path.name}: expected an array 'labels' or 'Y', got {', '.join(sorted(arrays)) or 'none'}"
        )
    rest: dict[str, Any] = {name: read_strings(arrays, name, path.name) for name in _STRINGS}
    rest["features"] = read_member(arrays, "features", path.name)
    return _with_labels(labels, rest, path.name)


def read_pair(features: Path, labels: Path, limits: Limits = LIMITS) -> Dataset:
    """Read features and labels from a file each, such as X.trn.npz and Y.trn.npz."""
    return _with_labels(read_matrix(labels, limits), {"features": read_matrix(features, limits)}, labels.name)


def read_matrix(path: Path, limits: Limits = LIMITS) -> Any:
    """Read the one matrix of a .npy file, or of an .npz file: an array, or a CSR array."""
    if path.suffix == ".npy":
        require_file(path)
        with open(path, "rb") as stream:
            return array_files.read_array(stream, path.stat().st_size, path.name)
    arrays = read_arrays(path, limits)
    if "indptr" in arrays:
        return _sparse(arrays, "", path.name)
    if len(arrays) != 1:
        raise DataFormatError(f"{path.name}: expected one matrix, got {', '.join(sorted(arrays)) or 'none'}")
    return next(iter(arrays.values()))


def read_arrays(path: Path, limits: Limits = LIMITS) -> dict[str, Array]:
    """Read the arrays of an .npz file, within limits and without pickles."""
    require_file(path)
    most = max(limits.free_bytes, limits.expansion * path.stat().st_size)
    return array_files.read_arrays(path, most_bytes=most)


def arrays_of(data: Dataset) -> dict[str, Array]:
    """Return the arrays that stand for a data set in an .npz file.

    >>> data = Dataset(scipy.sparse.csr_array([[1, 0]]), ("bird", "cat"), texts=("a robin",))
    >>> sorted(arrays_of(data))[:3]
    ['label_names_bytes', 'label_names_ends', 'labels_data']
    """
    arrays = _sparse_arrays(data.labels, "labels_")
    if scipy.sparse.issparse(data.features):
        arrays |= _sparse_arrays(data.features, "features_")
    elif data.features is not None:
        arrays["features"] = data.features
    for name in _STRINGS:
        values = getattr(data, name)
        if name in _MAY_BE_NUMBERS and values is not None and values.dtype.kind in _NUMBERS:
            arrays[name] = values
        elif values is not None:
            encoded = [str(value).encode() for value in values]
            arrays[f"{name}_bytes"] = np.frombuffer(b"".join(encoded), np.uint8)
            arrays[f"{name}_ends"] = np.cumsum([len(value) for value in encoded], dtype=np.int64)
    return arrays


def _sparse_arrays(matrix: Any, prefix: str) -> dict[str, Array]:
    parts = {"data": matrix.data, "indices": matrix.indices, "indptr": matrix.indptr, "shape": np.array(matrix.shape)}
    return {f"{prefix}{name}": value for name, value in parts.items()}


def _with_labels(labels: Any, rest: Mapping[str, Any], name: str) -> Dataset:
    if labels.ndim != 2:
        raise DataFormatError(f"{name}: expected labels of shape (n_examples, n_labels), got {labels.shape}")
    if labels.shape[1] > MAX_LABELS:
        raise DataFormatError(f"{name}: expected at most {MAX_LABELS} labels, got {labels.shape[1]}")
    names = rest.get("label_names")
    given = {key: value for key, value in rest.items() if key != "label_names"}
    features = given.get("features")
    if features is not None and _has_infinity(features):
        raise DataFormatError(f"{name}: expected features that are finite, or NaN where one is missing, got inf")
    try:
        return Dataset(labels, names or tuple(str(i) for i in range(labels.shape[1])), **given)
    except (ValueError, TypeError) as error:
        raise DataFormatError(f"{name}: {error}") from error


def _has_infinity(matrix: Any) -> bool:
    values = matrix.data if scipy.sparse.issparse(matrix) else matrix
    return values.dtype.kind == "f" and bool(np.isinf(values).any())


def read_member(arrays: Mapping[str, Array], name: str, source: str) -> Any:
    """Return the matrix of this name, dense or sparse, or None."""
    if f"{name}_indptr" in arrays:
        return _sparse(arrays, f"{name}_", source)
    return next((arrays[key] for key in (name, *_OTHER_NAMES[name]) if key in arrays), None)


def _sparse(arrays: Mapping[str, Array], prefix: str, source: str) -> Any:
    with array_files.told_in_one_sentence(source):
        if arrays.get("format", np.array(b"csr")).item() not in (b"csr", "csr"):
            raise DataFormatError(f"{source}: expected a sparse matrix in CSR form, got {arrays['format'].item()!r}")
        data, indices, indptr, shape = (arrays[f"{prefix}{part}"] for part in ("data", "indices", "indptr", "shape"))
        matrix = scipy.sparse.csr_array((data, indices, indptr), shape=tuple(shape.tolist()))
        matrix.check_format(full_check=True)  # scipy's compiled code relies on it
        return matrix


def read_strings(arrays: Mapping[str, Array], name: str, source: str) -> Any:
    """Return an array of strings, or one of numbers where it may be."""
    if f"{name}_ends" in arrays:
        with array_files.told_in_one_sentence(source):
            flat, ends = arrays[f"{name}_bytes"].tobytes(), [0, *arrays[f"{name}_ends"].tolist()]
            if sorted(ends) != ends or ends[-1] != len(flat):
                raise ValueError(f"{name}_ends must ascend to {len(flat)}")
            return tuple(flat[a:b].decode() for a, b in pairwise(ends))
    if name not in arrays:
        return None
    if arrays[name].ndim != 1:
        raise DataFormatError(f"{source}: expected {name} of one dimension, got shape {arrays[name].shape}")
    is_kept = name in _MAY_BE_NUMBERS and arrays[name].dtype.kind in _NUMBERS
    return arrays[name] if is_kept else tuple(arrays[name].astype(str).tolist())
