"""Weights in files of plain numbers: .npy, .npz (dense, or sparse as scipy saves it), .csv, .tsv, .txt."""

import os
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse

from labelproof.importers.exact_numbers import exact, exact_sparse, finite_layer
from labelproof.importers.layer import ImportedLayer
from labelproof.importers.tables import checked_arrays, read_table, sparse_of, with_whole_weight

__all__ = ["read_arrays_layer", "read_bias", "read_table_layer"]

Array = npt.NDArray[Any]
WEIGHTS, BIASES = ("weight", "W", "coef_", "coef"), ("bias", "b", "intercept_", "intercept")
NAMES = ("label_names", "labels", "classes")


def read_table_layer(path: Path, bias: Array | None, n_labels: int | None) -> ImportedLayer:
    """Return the layer of one matrix (n_labels, n_features) in a .npy, .csv, .tsv or .txt file."""
    values = read_table(path)
    _refuse_transposed(values, n_labels)
    return finite_layer(
        ImportedLayer(exact("the weight", values), bias, str(values.dtype), path.name, "matrix", path.name)
    )


def read_arrays_layer(path: Path, *, weight_key: str | None, bias: Any, n_labels: int | None) -> ImportedLayer:
    """Return the layer of an .npz file: arrays ``weight`` and ``bias`` (or W and b, or coef_ and intercept_), and what
    it has of ``label_names`` and ``thresholds``; or one sparse matrix. A sparse weight beside others is in the arrays
    ``weight_data``, ``weight_indices``, ``weight_indptr`` and ``weight_shape`` of its CSR form.
    """
    arrays: dict[str, Any] = checked_arrays(path)
    if "weights" in arrays or "format" in arrays:
        from labelproof.importers.linear_files import is_flat_linear, layer_of_flat_linear, layer_of_sparse

        if "format" in arrays and "shape" in arrays:
            return layer_of_sparse(sparse_of(arrays), path.name, bias=bias, n_labels=n_labels)
        if is_flat_linear(arrays) and weight_key is None:
            return layer_of_flat_linear(arrays, path.name)
    arrays = with_whole_weight(arrays)
    key = _weight_key(arrays, weight_key)
    n = arrays[key].shape[0] if arrays[key].ndim else 0
    read = exact_sparse if scipy.sparse.issparse(arrays[key]) else exact
    _refuse_transposed(arrays[key], n_labels)
    own = next((arrays[name] for name in BIASES if name in arrays and name != key), None)
    return finite_layer(
        ImportedLayer(
            weight=read(key, arrays[key]),
            bias=bias if bias is not None or own is None else exact("bias", own),
            dtype=str(arrays[key].dtype),
            model=path.name,
            kind="arrays",
            source=f"{key} of {path.name}",
            label_names=_names(arrays, n),
            thresholds=_thresholds(arrays, n),
        )
    )


def read_bias(bias: Any) -> npt.NDArray[np.float64] | None:
    """Return the bias that a user gave: the path of a file of numbers, or the numbers; None stays None."""
    if bias is None:
        return None
    values = read_table(Path(bias)) if isinstance(bias, str | os.PathLike) else bias
    return exact("bias", values)


def _refuse_transposed(values: Any, n_labels: int | None) -> None:
    if n_labels is not None and values.ndim == 2 and values.shape[0] != n_labels == values.shape[1]:
        raise ValueError(
            f"expected {n_labels} rows, one for each label, got shape {values.shape}: transpose it, or correct names"
        )


def _weight_key(arrays: dict[str, Any], weight_key: str | None) -> str:
    listed = ", ".join(f"{key} {'×'.join(map(str, array.shape))}" for key, array in sorted(arrays.items())[:8])
    if weight_key is not None:
        if weight_key not in arrays:
            raise ValueError(f"expected the array {weight_key!r}, got {listed or 'none'}")
        return weight_key
    usual = [key for key in WEIGHTS if key in arrays]
    matrices = [key for key, array in arrays.items() if array.ndim > 1 and array.dtype.kind == "f"]
    if len(matrices) > 1 and (len(usual) != 1 or arrays[usual[0]].ndim != 2):
        raise ValueError(f"expected one matrix, got {listed}: say which with weight_key=")
    if not usual and not matrices:
        raise ValueError(f"expected an array 'weight' or 'W' of shape (n_labels, n_features), got {listed or 'none'}")
    return (usual or matrices)[0]


def _names(arrays: dict[str, Array], n_labels: int) -> tuple[str, ...] | None:
    found = next((arrays[name] for name in NAMES if name in arrays and arrays[name].dtype.kind == "U"), None)
    if found is None or found.ndim != 1:
        return None
    if len(found) != n_labels:
        raise ValueError(f"expected {n_labels} label names to match the weight's rows, got {len(found)}")
    return tuple(found.tolist())


def _thresholds(arrays: dict[str, Array], n_labels: int) -> npt.NDArray[np.float64] | None:
    if "thresholds" not in arrays:
        return None
    values = exact("thresholds", arrays["thresholds"]).ravel()
    if values.size not in (1, n_labels):
        raise ValueError(f"expected one threshold, or one for each of {n_labels} labels, got {values.size}")
    return np.broadcast_to(values, (n_labels,)).copy()
