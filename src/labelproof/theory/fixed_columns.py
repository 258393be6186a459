"""What the fixed columns of a head are made of, in numpy: nodes, order, scale, and the logit that labels begin at."""

import math
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.fft

from labelproof.theory.codes import Code
from labelproof.theory.dft import dft_matrix, dft_witness

__all__ = [
    "CODE_ROW_NORM",
    "DFT_ROW_NORM",
    "checked_order",
    "code_columns",
    "dft_columns",
    "dft_features",
    "dft_scale",
    "grid_length",
    "power_of_two",
    "start_logit",
]

CODE_ROW_NORM, DFT_ROW_NORM = 2.0, 0.5
"""The norms of a row of code columns and of DFT columns that their default scales aim at: what trained best."""


def grid_length(n_labels: int) -> int:
    """Return the least number of nodes for n labels that has a fast Fourier transform.

    >>> grid_length(8921)
    9000
    """
    return int(scipy.fft.next_fast_len(n_labels, real=True))


def power_of_two(factor: float) -> float:
    """Return the power of two that is nearest to a factor, by the factor between them.

    >>> power_of_two(3.0)
    4.0
    """
    return 2.0 ** round(math.log2(factor))


def dft_scale(n_nodes: int, n_columns: int, row_norm: float = DFT_ROW_NORM) -> float:
    """Return the power of two that brings rows of so many unit columns closest to a norm; 1, as published, or more.

    >>> dft_scale(2689, 51), dft_scale(21, 21)
    (4.0, 1.0)
    """
    return max(1.0, power_of_two(row_norm / math.sqrt(n_columns / n_nodes)))


def start_logit(k: float, n_labels: int) -> float:
    """Return the logit of k/n, for an expected number k of active labels between 0 and n."""
    if not 0 < k < n_labels:
        raise ValueError(f"start must be a number of labels between 0 and n_labels = {n_labels}, got {k}")
    return math.log(k / (n_labels - k))


def checked_order(order: npt.ArrayLike | None, n_labels: int) -> npt.NDArray[np.int64]:
    """Return the place of each label, (n_labels,), after checking that every place occurs once; None is 0, 1, 2 ...

    >>> checked_order([2, 0, 1], 3)
    array([2, 0, 1])
    """
    places = np.arange(n_labels) if order is None else np.asarray(order)
    if places.shape != (n_labels,) or places.dtype.kind not in "iu":
        raise ValueError(f"order must hold one place for each of {n_labels} labels, got {places.dtype} {places.shape}")
    if not (np.sort(places) == np.arange(n_labels)).all():
        raise ValueError(f"order must hold every place from 0 to {n_labels - 1} once, got others")
    return places.astype(np.int64)


def dft_columns(places: npt.NDArray[np.integer[Any]], n_nodes: int, k: int, scale: float) -> npt.NDArray[np.float64]:
    """Return the DFT columns of the frequencies 0 to k, (n_labels, 2k + 1), given the node of each label.

    >>> dft_columns(np.arange(5), n_nodes=6, k=2, scale=1.0).shape
    (5, 5)
    """
    return scale * dft_matrix(n_nodes, k)[places]


def dft_features(
    active: npt.NDArray[np.integer[Any]], places: npt.NDArray[np.integer[Any]], n_nodes: int, k: int
) -> npt.NDArray[np.float64]:
    """Return features (2k + 1,) for which the DFT columns predict a set of labels, given the node of each label.

    >>> dft_features(np.array([1]), np.arange(5), n_nodes=6, k=1).shape
    (3,)
    """
    on_circle, n_labels = places[active], len(places)
    if {0, n_labels - 1} <= set(on_circle.tolist()):  # the nodes of no label lie between two active ones
        on_circle = np.concatenate([on_circle, np.arange(n_labels, n_nodes)])
    return dft_witness(on_circle, n_nodes, k).coefficients.copy()


def code_columns(symbols: npt.NDArray[np.integer[Any]], code: Code, scale: float) -> npt.NDArray[np.float64]:
    """Return the constant column and those of a code, (n_labels, 1 + q·length), which hold 0 or the scale.

    >>> code_columns(np.array([[0, 1], [1, 1]]), Code(q=2, coefficients=1, length=2), scale=0.5)
    array([[0.5, 0.5, 0. , 0. , 0.5],
           [0.5, 0. , 0.5, 0. , 0.5]])
    """
    columns = np.zeros((len(symbols), 1 + code.columns))
    columns[:, 0] = scale
    ones = symbols.astype(np.int64) + np.arange(0, code.columns, code.q)
    np.put_along_axis(columns, ones + 1, scale, axis=1)
    return columns
