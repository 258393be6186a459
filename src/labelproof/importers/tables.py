"""Read one array of numbers from a file, or a sparse matrix from the arrays that scipy saves."""

from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse

from labelproof.errors import DataFormatError
from labelproof.foundation.array_files import read_array, read_arrays
from labelproof.importers.archives import refuse_bombs
from labelproof.importers.exact_numbers import refuse_size

__all__ = ["SEPARATORS", "arrays_of_weight", "checked_arrays", "read_table", "sparse_of", "with_whole_weight"]

Array = npt.NDArray[Any]
SEPARATORS = {".csv": ",", ".tsv": "\t", ".txt": None}
PARTS = ("data", "indices", "indptr", "shape")  # of a CSR array
MAX_TEXT = 2 * 2**30


def read_table(path: Path) -> Array:
    """Read one array of numbers from a .npy, .npz (of one array), .csv, .tsv or .txt file."""
    if not path.is_file():
        raise DataFormatError(f"{path}: {'not a file' if path.exists() else 'no such file'}")
    if path.suffix == ".npy":
        with open(path, "rb") as stream:
            return read_array(stream, path.stat().st_size, path.name)
    if path.suffix == ".npz":
        arrays = checked_arrays(path)
        if len(arrays) != 1:
            raise DataFormatError(f"{path.name}: expected one array, got {', '.join(sorted(arrays)) or 'none'}")
        return next(iter(arrays.values()))
    if path.suffix in SEPARATORS:
        return _numbers_of_text(path, SEPARATORS[path.suffix])
    raise DataFormatError(f"{path.name}: expected a file .npy, .npz, .csv, .tsv or .txt, got {path.suffix!r}")


def checked_arrays(path: Path) -> dict[str, Array]:
    """Read the arrays of an .npz file, unless it would unpack to far more than it is."""
    try:
        refuse_bombs(path)
    except ValueError as error:
        raise DataFormatError(f"{path.name}: {error}") from error
    return read_arrays(path)


def sparse_of(arrays: dict[str, Array]) -> Any:
    """Return the sparse matrix that scipy saved as these arrays, after checks that scipy's compiled code relies on."""
    shape = tuple(int(length) for length in np.ravel(arrays["shape"])[:3])
    name = arrays["format"].item()
    words = name.decode("ascii", "replace") if isinstance(name, bytes) else str(name)
    if words not in ("csr", "csc", "coo") or len(shape) != 2 or min(shape) < 1:
        raise ValueError(f"expected a sparse matrix in the form csr, csc or coo, got {words!r} of shape {shape}")
    refuse_size("the weight", shape)
    if "data" not in arrays or arrays["data"].dtype.kind not in "fiub":
        raise ValueError("expected a sparse matrix as scipy saves it, with numbers in 'data'")
    try:
        if words == "coo":
            matrix = scipy.sparse.coo_array((arrays["data"], (arrays["row"], arrays["col"])), shape)
        else:
            build = scipy.sparse.csr_array if words == "csr" else scipy.sparse.csc_array
            matrix = build((arrays["data"], arrays["indices"], arrays["indptr"]), shape)
            matrix.check_format(full_check=True)
        if words == "coo" and len(np.unique(np.ravel_multi_index(matrix.coords, shape))) < matrix.nnz:
            raise ValueError("expected each entry once, got duplicates")
        return matrix.tocsr()
    except (ValueError, KeyError, IndexError, TypeError) as error:
        raise ValueError(f"expected a sparse matrix as scipy saves it ({error})") from error


def arrays_of_weight(weight: Any) -> dict[str, Array]:
    """Return the arrays by which an .npz file keeps a weight: ``weight``, or the parts of a CSR array.

    Examples
    --------
    >>> sorted(arrays_of_weight(scipy.sparse.csr_array(np.eye(2))))
    ['weight_data', 'weight_indices', 'weight_indptr', 'weight_shape']
    """
    if not scipy.sparse.issparse(weight):
        return {"weight": weight}
    return {f"weight_{part}": np.asarray(getattr(weight, part)) for part in PARTS}


def with_whole_weight(arrays: dict[str, Array]) -> dict[str, Any]:
    """Return arrays with a ``weight`` in place of the parts of a CSR array, where these are among them."""
    parts = {part: arrays[f"weight_{part}"] for part in PARTS if f"weight_{part}" in arrays}
    if len(parts) < len(PARTS) or "weight" in arrays:
        return arrays
    others = {name: array for name, array in arrays.items() if name.removeprefix("weight_") not in parts}
    return {**others, "weight": sparse_of({**parts, "format": np.array("csr")})}


def _numbers_of_text(path: Path, separator: str | None) -> Array:
    if path.stat().st_size > MAX_TEXT:
        raise DataFormatError(f"{path.name}: expected at most {MAX_TEXT} bytes of text, got {path.stat().st_size}")
    try:
        lines = path.read_text(encoding="utf-8-sig").splitlines()
    except UnicodeDecodeError as error:
        raise DataFormatError(
            f"{path.name}: expected text in UTF-8, got byte {error.object[error.start]:#x}"
        ) from error
    if not any(line.strip() for line in lines):
        raise DataFormatError(f"{path.name}: expected rows of numbers, got an empty file")
    try:
        return np.loadtxt(lines, delimiter=separator, ndmin=2)
    except ValueError as error:
        what = str(error).splitlines()[0].split(";")[0].rstrip(".")
        hint = " (is that a header line? it must be removed)" if "row 0" in what else ""
        raise DataFormatError(f"{path.name}: expected rows of numbers: {what}{hint}") from error
