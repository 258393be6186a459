"""Weights of linear one-vs-rest programs: sparse matrices, PECOS folders, and LibMultiLabel's flat models as arrays.

These programs keep a matrix (n_features, n_labels), the transpose of ours, whose last row may be the weight of a
constant feature.
"""

from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse

from labelproof.foundation.json_files import read_json
from labelproof.importers.exact_numbers import exact, exact_sparse, finite_layer
from labelproof.importers.layer import ImportedLayer
from labelproof.importers.tables import checked_arrays, sparse_of

__all__ = ["is_flat_linear", "is_pecos", "layer_of_flat_linear", "layer_of_sparse", "read_pecos"]

Array = npt.NDArray[Any]
RANKED = "The program that wrote the model outputs its best labels: it is judged by the rule topk."


def layer_of_sparse(matrix: Any, name: str, *, bias: Array | None, n_labels: int | None) -> ImportedLayer:
    """Return the layer of a sparse matrix, whose labels may be its rows or its columns.

    Parameters
    ----------
    matrix
        scipy CSR array.
    name
        Of the file.
    bias
        (n_labels,), or None; with ``n_labels`` it tells which side the labels are.
    n_labels
        Number of labels, where it is known.
    """
    known = n_labels if n_labels is not None else None if bias is None else int(np.size(bias))
    rows, columns = matrix.shape
    if known is None or rows == columns:
        raise ValueError(
            f"expected to know which side of the sparse {rows}×{columns} matrix is the labels: "
            "give bias= (or n_labels, in Python), or save a dense array of shape (n_labels, n_features)"
        )
    if known not in (rows, columns):
        raise ValueError(f"expected {known} rows or columns, one for each label, got a {rows}×{columns} matrix")
    side = "rows" if rows == known else "columns"
    weight = exact_sparse("the weight", matrix if rows == known else matrix.T)
    source = f"the {side} of {name}"
    return finite_layer(ImportedLayer(weight, bias, str(matrix.dtype), name, "sparse linear weights", source))


def is_flat_linear(arrays: dict[str, Array]) -> bool:
    """Return whether arrays are LibMultiLabel's: ``weights``, the constant ``bias``, and perhaps ``thresholds``."""
    return "weights" in arrays and "bias" in arrays and arrays["weights"].ndim == 2 and arrays["bias"].size == 1


def layer_of_flat_linear(arrays: dict[str, Array], name: str) -> ImportedLayer:
    """Return the layer of LibMultiLabel's ``FlatModel``, saved with ``numpy.savez``."""
    matrix = exact("weights", arrays["weights"])
    weight, bias = _without_constant(matrix, float(arrays["bias"].item()))
    notes: tuple[str, ...] = ()
    if "thresholds" in arrays:
        shift = exact("thresholds", arrays["thresholds"])
        if shift.size not in (1, len(weight)):
            raise ValueError(f"expected one threshold, or one for each of {len(weight)} labels, got {shift.size}")
        bias = (np.zeros(len(weight)) if bias is None else bias) + shift.ravel()
        notes = ("Thresholds were added to the bias, as the program does, in float64.",)
    multiclass = "multiclass" in arrays and bool(arrays["multiclass"].any())
    return finite_layer(
        ImportedLayer(
            weight,
            bias,
            str(arrays["weights"].dtype),
            name,
            "LibMultiLabel linear model",
            f"weights of {name}, transposed",
            rule="topk" if multiclass else "sigmoid",
            notes=notes,
        )
    )


def is_pecos(folder: Path) -> bool:
    """Return whether a folder looks like a linear model of PECOS."""
    return (folder / "param.json").is_file() and not (folder / "config.json").is_file()


def read_pecos(folder: Path) -> ImportedLayer:
    """Return the layer of a folder that PECOS's ``MLModel`` wrote: param.json, W.npz, C.npz."""
    param = read_json(folder / "param.json")
    model = param.get("model") if isinstance(param, dict) else None
    depth = param.get("depth") if isinstance(param, dict) else None
    if model == "HierarchicalMLModel" and depth == 1 and (folder / "0.model").is_dir():
        return read_pecos(folder / "0.model")
    if model != "MLModel" or not (folder / "W.npz").is_file() or param.get("nr_codes", 1) != 1:
        raise ValueError(
            f"expected one linear layer (MLModel with one cluster) in param.json, got {model} of depth {depth}: "
            "the labels of a tree are partitioned, so no verdict on combinations follows from its weights"
        )
    matrix = sparse_of(checked_arrays(folder / "W.npz"))
    constant = param.get("bias", -1.0)
    if not isinstance(constant, int | float):
        raise ValueError(f"expected a number as bias in param.json, got {constant!r}")
    constant = float(np.float32(constant))  # as the program computes
    weight, bias = _without_constant(exact_sparse("W", matrix), constant)
    source = "W of W.npz, transposed"
    return finite_layer(
        ImportedLayer(
            weight, bias, str(matrix.dtype), folder.name, "PECOS linear model", source, rule="topk", notes=(RANKED,)
        )
    )


def _without_constant(matrix: Any, constant: float) -> tuple[Any, Array | None]:
    """Return the weight (n_labels, n_features) and the bias of a matrix whose last row weighs a constant above 0."""
    is_sparse = scipy.sparse.issparse(matrix)
    if not constant > 0:
        return matrix.T.tocsr() if is_sparse else matrix.T, None
    if matrix.shape[0] < 2:
        raise ValueError(f"expected a row for the constant feature {constant} below those of features, got none")
    last = matrix[[-1]].toarray().ravel() if is_sparse else matrix[-1]
    if np.frexp(constant)[0] != 0.5 and not (_is_float32(np.array(constant)) and _is_float32(last)):
        raise ValueError(f"expected a constant feature whose products are exact, such as 1, got {constant}")
    weight = matrix[:-1].T
    return weight.tocsr() if is_sparse else weight, last * constant


def _is_float32(values: Array) -> bool:
    return bool((values.astype(np.float32) == values).all())
