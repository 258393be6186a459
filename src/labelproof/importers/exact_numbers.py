"""Numbers of a layer, exact in float64 and checked, before they become an `ImportedLayer`."""

from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse

from labelproof.foundation.array_files import MAX_BYTES
from labelproof.importers.layer import ImportedLayer

__all__ = ["exact", "exact_sparse", "finite_layer", "refuse_size"]

Floats = npt.NDArray[np.float64]


def exact(name: str, values: Any) -> Floats:
    """Return numbers as float64, which must hold them exactly.

    Examples
    --------
    >>> exact("weight", np.array([[0.5, -2.0]], dtype=np.float16))
    array([[ 0.5, -2. ]])
    """
    try:
        array = np.asarray(values)
    except ValueError as error:
        raise ValueError(f"{name} must be an array, got rows of different lengths") from error
    if array.dtype.kind not in "biuf" or array.dtype.itemsize > 8:
        raise ValueError(f"{name} must hold real numbers of at most 64 bits, got dtype {array.dtype}")
    refuse_size(name, array.shape)
    if array.dtype.kind in "iu" and array.size and max(abs(int(array.max())), abs(int(array.min()))) > 2**53:
        raise ValueError(f"{name} must hold integers of at most 2**53, so that float64 holds them exactly")
    return array.astype(np.float64)


def exact_sparse(name: str, matrix: Any) -> Any:
    """Return a sparse matrix as scipy's CSR array of float64, which must hold its numbers exactly, each entry once.

    Examples
    --------
    >>> exact_sparse("weight", scipy.sparse.csc_array(np.eye(2, dtype=np.float32))).toarray()
    array([[1., 0.],
           [0., 1.]])
    """
    refuse_size(name, matrix.shape)
    rows = scipy.sparse.csr_array(matrix, copy=True)
    try:
        rows.check_format(full_check=True)  # scipy's compiled code relies on it
    except ValueError as error:
        raise ValueError(f"{name} must be a sound sparse matrix, got one with a fault: {error}") from None
    rows.sum_duplicates()  # which also sorts the columns of each row
    if rows.nnz != matrix.nnz:
        raise ValueError(f"{name} must hold each entry once, got a sparse matrix with duplicate entries")
    return scipy.sparse.csr_array((exact(name, rows.data), rows.indices, rows.indptr), rows.shape)


def refuse_size(name: str, shape: tuple[int, ...]) -> None:
    """Refuse an array that would take up too much memory as float64, before it is made."""
    size = 8
    for length in shape:
        size *= length
    if size > MAX_BYTES:
        raise ValueError(f"{name} must take up at most {MAX_BYTES} bytes as float64, got shape {shape}")


def finite_layer(layer: ImportedLayer) -> ImportedLayer:
    """Return a layer whose numbers have the shapes of one, and are finite; its bias becomes a vector.

    Raises
    ------
    ValueError
        In one sentence, if they do not.
    """
    weight = layer.weight
    if weight.ndim != 2 or 0 in weight.shape:
        raise ValueError(f"the weight must have shape (n_labels, n_features), got {weight.shape} ({layer.source})")
    bias = None if layer.bias is None else _vector(layer.bias, layer.n_labels)
    _require_finite("weight", weight, layer.source)
    if bias is not None:
        _require_finite("bias", bias, layer.source)
    kept: Any = weight if scipy.sparse.issparse(weight) else np.ascontiguousarray(weight)
    return replace(layer, weight=kept, bias=bias)


def _vector(bias: Floats, n_labels: int) -> Floats:
    flat = bias.ravel() if bias.ndim == 2 and 1 in bias.shape else bias
    if flat.shape != (n_labels,):
        raise ValueError(f"the bias must have shape ({n_labels},) to match the weight's rows, got {bias.shape}")
    return np.ascontiguousarray(flat)


def _require_finite(name: str, values: Any, source: str) -> None:
    is_sparse = scipy.sparse.issparse(values)
    wrong = ~np.isfinite(values.data if is_sparse else values)
    if wrong.any():
        places = np.transpose([axis[wrong] for axis in values.tocoo().coords]) if is_sparse else np.argwhere(wrong)
        place = tuple(places[0].tolist())
        words = f"label {place[0]}" + (f", feature {place[1]}" if len(place) > 1 else "")
        raise ValueError(f"the {name} must be finite, got {values[place]} at {words} ({source})")
