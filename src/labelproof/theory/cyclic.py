"""Weight matrices whose maximal minors all have one sign (Gr⁺): what they can predict, in closed form.

The argmaxable label sets of such a matrix with d columns are those with at most d-1 sign changes along the
labels, so no search is needed. `dft` has matrices of this kind.
"""

import itertools
import math
from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt
from flint import fmpz, fmpz_mat

from labelproof.foundation.arguments import whole_number
from labelproof.proof.labels import LabelSets, read_label_sets

__all__ = [
    "MAX_MINORS",
    "alternations",
    "argmaxable_by_alternation",
    "circular_alternations",
    "in_general_position",
    "minor_signs",
    "read_sets",
]

MAX_MINORS = 200_000
"""The most maximal minors that `minor_signs` and `in_general_position` compute: seconds for d up to 10."""


def alternations(labels: Any, *, n_labels: int | None = None) -> npt.NDArray[np.int64]:
    """Count the sign changes of every label set along the labels 0, ..., n_labels - 1.

    The order is a line, as in the paper's definition 6: a change between the last label and the first does
    not count (`circular_alternations` counts it).

    Parameters
    ----------
    labels : array or sparse matrix (n_sets, n_labels) of 0 and 1, or list of lists of active label indices
        A sparse matrix is not made dense.
    n_labels : int, optional
        Number of labels; needed for lists of indices only.

    Returns
    -------
    ndarray of int64 (n_sets,)

    Examples
    --------
    >>> alternations(np.array([[1, 1, 0, 0, 0], [1, 1, 0, 1, 0]]))
    array([1, 3])
    >>> alternations([[0, 1], [2], []], n_labels=5)
    array([1, 2, 0])
    """
    sets = read_sets(labels, n_labels)
    rows, columns = np.repeat(np.arange(len(sets)), np.diff(sets.indptr)), sets.indices
    starts = np.ones(len(rows), dtype=bool)  # where a run of neighbouring active labels begins
    starts[1:] = (rows[1:] != rows[:-1]) | (columns[1:] != columns[:-1] + 1)

    def count(where: npt.NDArray[np.bool_]) -> npt.NDArray[np.int64]:
        return np.bincount(rows[where], minlength=len(sets)).astype(np.int64)  # (n_sets,)

    return 2 * count(starts) - count(columns == 0) - count(columns == sets.n_labels - 1)


def circular_alternations(labels: Any, *, n_labels: int | None = None) -> npt.NDArray[np.int64]:
    """Count the sign changes of every label set around the circle, where label 0 follows the last one.

    Always even, and at most one more than `alternations`: a line with an odd number of changes ends on
    another sign than it began with.

    Parameters
    ----------
    labels, n_labels
        As for `alternations`.

    Returns
    -------
    ndarray of int64 (n_sets,)

    Examples
    --------
    >>> circular_alternations([[0, 1], [2], []], n_labels=5)
    array([2, 2, 0])
    """
    linear = alternations(labels, n_labels=n_labels)
    return linear + linear % 2


def argmaxable_by_alternation(
    labels: Any,
    d: int,
    *,
    n_labels: int | None = None,
) -> npt.NDArray[np.bool_]:
    """Say which label sets are argmaxable for every weight matrix in Gr⁺ with d columns.

    They are those with at most d-1 sign changes along the labels (Gantmacher and Krein; the paper's
    theorem 3). This holds for matrices whose minors *exactly* have one sign: see `minor_signs`.

    Parameters
    ----------
    labels, n_labels
        As for `alternations`.
    d : int
        Number of columns of the weight matrix; at least 1.

    Returns
    -------
    ndarray of bool (n_sets,)

    Examples
    --------
    >>> argmaxable_by_alternation([[0, 1], [0, 2], [1, 3]], d=3, n_labels=5)
    array([ True, False, False])
    """
    d = whole_number("d", d, minimum=1)
    return alternations(labels, n_labels=n_labels) <= d - 1


def minor_signs(W: npt.ArrayLike) -> int:
    """Return the one sign that all maximal minors of W have, or 0 if there is none.

    Exact: a float is a rational number, and nothing is rounded.

    Parameters
    ----------
    W : array_like (n_labels, d)
        With n_labels ≥ d and at most `MAX_MINORS` maximal minors.

    Returns
    -------
    int
        1 or -1 if all maximal minors are non-zero with that sign (W is in Gr⁺), otherwise 0.

    Examples
    --------
    >>> from labelproof.theory.dft import dft_matrix
    >>> minor_signs(dft_matrix(9, 2))
    1
    >>> minor_signs([[1, 0], [0, 1], [1, 1]])
    0
    """
    common = 0
    for sign in _minor_signs(W):
        if sign == 0 or sign == -common:
            return 0
        common = sign
    return common


def in_general_position(W: npt.ArrayLike) -> bool:
    """Whether any d rows of W are linearly independent: all maximal minors are non-zero, exactly.

    Parameters
    ----------
    W : array_like (n_labels, d)
        With n_labels ≥ d and at most `MAX_MINORS` maximal minors.

    Returns
    -------
    bool

    Examples
    --------
    >>> in_general_position([[1, 0], [0, 1], [1, 1]]), in_general_position([[1, 0], [0, 1], [2, 0]])
    (True, False)
    """
    return all(sign != 0 for sign in _minor_signs(W))


def read_sets(labels: Any, n_labels: int | None) -> LabelSets:
    """Read label sets, of as many labels as their matrix has unless a number is given."""
    if n_labels is None:
        shape = (labels.n_labels,) if isinstance(labels, LabelSets) else getattr(labels, "shape", ())
        if not shape:
            raise ValueError("n_labels must be given when labels is a list of active label indices, got None")
        n_labels = shape[-1]
    return read_label_sets(labels, whole_number("n_labels", n_labels, minimum=1))


def _minor_signs(W: npt.ArrayLike) -> Iterator[int]:
    """Exact signs of all maximal minors; rows are scaled to integers, which changes no sign."""
    array = np.asarray(W)
    if array.ndim != 2 or not 1 <= array.shape[1] <= array.shape[0]:
        raise ValueError(f"W must have shape (n_labels, d) with n_labels >= d >= 1, got {array.shape}")
    if array.dtype.kind not in "iuf":
        raise ValueError(f"W must hold floats or integers, got dtype {array.dtype}")
    if not np.isfinite(array).all():
        raise ValueError(f"W must be finite, got {array[~np.isfinite(array)][0]}")
    n_labels, d = array.shape
    if math.comb(n_labels, d) > MAX_MINORS:
        raise ValueError(f"W must have at most {MAX_MINORS} maximal minors, got {math.comb(n_labels, d)}")
    rows = [_integer_row(row) for row in array.tolist()]
    for chosen in itertools.combinations(rows, d):
        determinant = fmpz_mat(d, d, list(itertools.chain.from_iterable(chosen))).det()
        yield (determinant > 0) - (determinant < 0)


def _integer_row(row: list[float]) -> list[fmpz]:
    ratios = [value.as_integer_ratio() for value in row]
    common = max(denominator for _, denominator in ratios)  # denominators are powers of two
    return [fmpz(numerator * (common // denominator)) for numerator, denominator in ratios]
