"""Weight matrices whose maximal minors all have one sign (Gr⁺): what they can predict, in closed form.

The argmaxable label sets of such a matrix with d columns are those with at most d-1 sign changes along the
labels, so no search is needed. The truncated DFT matrix is one of them, over the real numbers: a rounded
matrix need not be, so `dft_witness` proves nothing about stored weights.
"""

import itertools
import math
import operator
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, SupportsIndex, TypeAlias

import numpy as np
import numpy.typing as npt
from flint import acb, acb_poly, arb, ctx, fmpq, fmpz, fmpz_mat
from scipy import sparse

__all__ = [
    "MAX_MINORS",
    "DFTWitness",
    "alternations",
    "argmaxable_by_alternation",
    "circular_alternations",
    "dft_matrix",
    "dft_witness",
    "gale_matrix",
    "in_general_position",
    "minor_signs",
    "vandermonde_matrix",
]

MAX_MINORS = 200_000
"""The most maximal minors that `minor_signs` and `in_general_position` compute: seconds for d up to 10."""

Indices: TypeAlias = npt.NDArray[np.integer]
Labels: TypeAlias = npt.NDArray[Any] | sparse.csr_matrix | Sequence[Collection[int]]


def alternations(labels: Labels, *, n_labels: int | None = None) -> npt.NDArray[np.int64]:
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
    if isinstance(labels, np.ndarray):
        _check_shape(labels.shape, n_labels)
        _check_binary(labels)
        return np.asarray(np.count_nonzero(labels[:, 1:] != labels[:, :-1], axis=1), dtype=np.int64)
    rows, columns, n_sets, n_labels = _active(labels, n_labels)
    starts = np.ones(len(rows), dtype=bool)  # where a run of neighbouring active labels begins
    starts[1:] = (rows[1:] != rows[:-1]) | (columns[1:] != columns[:-1] + 1)

    def count(where: npt.NDArray[np.bool_]) -> npt.NDArray[np.int64]:
        return np.bincount(rows[where], minlength=n_sets).astype(np.int64)  # (n_sets,)

    return 2 * count(starts) - count(columns == 0) - count(columns == n_labels - 1)


def circular_alternations(labels: Labels, *, n_labels: int | None = None) -> npt.NDArray[np.int64]:
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
    labels: Labels,
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
    d = _whole_number("d", d, minimum=1)
    return alternations(labels, n_labels=n_labels) <= d - 1


def dft_matrix(n_labels: int, k: int) -> npt.NDArray[np.float64]:
    """Build the paper's truncated DFT matrix; over the reals it makes all k-active sets argmaxable.

    The columns are √(1/n), then √(2/n) cos(jt), √(2/n) sin(jt) for j = 1, ..., k, at t = 2πi/n. Each entry
    is the ideal one, rounded once to float64.

    Parameters
    ----------
    n_labels : int
        Number of labels n; at least 2k + 1.
    k : int
        Highest frequency; at least 0.

    Returns
    -------
    ndarray of float64 (n_labels, 2k + 1)

    Examples
    --------
    >>> dft_matrix(4, 1).round(3)
    array([[ 0.5  ,  0.707,  0.   ],
           [ 0.5  ,  0.   ,  0.707],
           [ 0.5  , -0.707,  0.   ],
           [ 0.5  ,  0.   , -0.707]])
    """
    n_labels, k = _checked_dft(n_labels, k)
    return gale_matrix(n_labels, 2 * k + 1)


def gale_matrix(n_labels: int, d: int) -> npt.NDArray[np.float64]:
    """Build the trigonometric cyclic polytope's vertices at n evenly spaced nodes: Gr⁺ for any d.

    The orthonormal columns are cosines and sines of the whole frequencies 0, 1, 2, ... for odd d (this is
    `dft_matrix`), and of the half frequencies 1/2, 3/2, ... for even d, rounded once to float64.

    Parameters
    ----------
    n_labels : int
        Number of labels n; at least d.
    d : int
        Number of columns; at least 1.

    Returns
    -------
    ndarray of float64 (n_labels, d)

    Examples
    --------
    >>> gale_matrix(4, 2).round(2)
    array([[ 0.71,  0.  ],
           [ 0.5 ,  0.5 ],
           [ 0.  ,  0.71],
           [-0.5 ,  0.5 ]])
    """
    n_labels, d = _checked_tall(n_labels, d)
    odd = d % 2
    period = n_labels if odd else 2 * n_labels
    with ctx.workprec(128):
        constant, scale = float((arb(1) / n_labels).sqrt()), (arb(2) / n_labels).sqrt()
        sine, cosine = np.array(
            [[float(scale * v) for v in _sin_cos(2 * r, period)] for r in range(period)]
        ).T  # (period,) each
    frequencies = np.arange(1, d // 2 + 1) if odd else np.arange(1, d, 2)
    turns = np.outer(np.arange(n_labels), frequencies) % period  # exact, so the angle is
    weight = np.full((n_labels, d), constant)
    weight[:, odd::2] = cosine[turns]
    weight[:, odd + 1 :: 2] = sine[turns]
    return weight


def vandermonde_matrix(n_labels: int, d: int) -> npt.NDArray[np.float64]:
    """Build orthonormal polynomials of degree below d at n evenly spaced nodes: Gr⁺, for comparison.

    The QR decomposition of the Vandermonde matrix, taken in the basis of Legendre's polynomials, where it
    loses less accuracy. It still is no match for `dft_matrix`: for large d rounding breaks the signs.

    Parameters
    ----------
    n_labels : int
        Number of labels n; at least d.
    d : int
        Number of columns; at least 1.

    Returns
    -------
    ndarray of float64 (n_labels, d)

    Examples
    --------
    >>> minor_signs(vandermonde_matrix(10, 5))
    1
    """
    n_labels, d = _checked_tall(n_labels, d)
    polynomials = np.polynomial.legendre.legvander(np.linspace(-1, 1, n_labels), d - 1)  # (n, d)
    q, r = np.linalg.qr(polynomials)
    return np.asarray(q * np.sign(np.diag(r)), dtype=np.float64)


@dataclass(frozen=True, eq=False)
class DFTWitness:
    """Features that predict a label set through the ideal truncated DFT matrix, with proof.

    Attributes
    ----------
    exact : tuple of Fraction (2k + 1,)
        The features, proven: with the real-number matrix every logit has the sign that the label set asks
        for. The largest is 1 in absolute value.
    coefficients : ndarray of float64 (2k + 1,)
        The same rounded to float64; no proof by itself unless `bits` is 53.
    bits : int
        Precision of `exact` in bits.
    margin : float
        Smallest y_i (w_i·x) / (‖w_i‖ ‖x‖) over the labels, rounded to float64; this may underflow to 0.
    """

    exact: tuple[Fraction, ...]
    coefficients: npt.NDArray[np.float64]
    bits: int
    margin: float


def dft_witness(label_set: Collection[int] | Indices, n_labels: int, k: int) -> DFTWitness:
    """Prove that the ideal `dft_matrix` can predict a label set, by a closed form.

    The witness is ± ∏ sin((t - a_j)/2), with one root a_j midway between any two neighbours on the circle
    of which one is active and one is not. A product of 2m ≤ 2k sines is a trigonometric polynomial of degree
    m, so its Fourier coefficients are features. They are rounded, and all logits are enclosed in interval
    arithmetic; the precision is doubled until every sign is certain, which must happen because no logit of
    the ideal polynomial is zero. The margin is not the largest possible one.

    Flint's precision is global. It is restored, but calls from several threads at once may leave it changed;
    proofs are sound at whatever precision.

    Parameters
    ----------
    label_set : collection of int
        The active labels, in any order.
    n_labels : int
        Number of labels n; at least 2k + 1.
    k : int
        Highest frequency of the DFT matrix; at least 0. Any k active labels will do, and more if they have
        at most 2k sign changes.

    Returns
    -------
    DFTWitness

    Raises
    ------
    ValueError
        If the label set has more than 2k sign changes, which makes it unargmaxable.

    Examples
    --------
    >>> witness = dft_witness([1, 2], n_labels=5, k=1)
    >>> dft_matrix(5, 1) @ witness.coefficients > 0
    array([False,  True,  True, False, False])
    """
    n_labels, k = _checked_dft(n_labels, k)
    active = np.zeros(n_labels, dtype=bool)
    active[_active_of_lists("label_set", [label_set], n_labels)[1]] = True
    flips = np.flatnonzero(active != np.roll(active, -1)).tolist()  # sign changes from label i to i + 1
    if len(flips) > 2 * k:
        raise ValueError(f"label_set must have at most 2k = {2 * k} sign changes, got {len(flips)}")
    bits = 53
    while True:
        with ctx.workprec(2 * bits + 64):
            ideal = _fourier_coefficients(flips, n_labels, k, first_active=bool(active[0]))
        with ctx.workprec(bits):
            exact = _scaled_to_one(ideal)
        with ctx.workprec(bits + 64):
            margin = _smallest_margin(exact, active)
        if margin is not None:
            coefficients = np.array([float(x) for x in exact])
            coefficients.setflags(write=False)
            return DFTWitness(exact, coefficients, bits, float(margin))
        bits *= 2


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


def _whole_number(name: str, value: SupportsIndex, *, minimum: int) -> int:
    try:
        number = minimum - 1 if isinstance(value, bool) else operator.index(value)
    except TypeError:
        number = minimum - 1
    if number < minimum:
        raise ValueError(f"{name} must be an integer of at least {minimum}, got {value!r}")
    return number


def _checked_tall(n_labels: int, d: int) -> tuple[int, int]:
    n_labels = _whole_number("n_labels", n_labels, minimum=1)
    d = _whole_number("d", d, minimum=1)
    if d > n_labels:
        raise ValueError(f"d must be at most n_labels = {n_labels}, got {d}")
    return n_labels, d


def _checked_dft(n_labels: int, k: int) -> tuple[int, int]:
    n_labels = _whole_number("n_labels", n_labels, minimum=1)
    k = _whole_number("k", k, minimum=0)
    if 2 * k + 1 > n_labels:
        raise ValueError(f"k must be at most (n_labels - 1) / 2 for n_labels = {n_labels}, got {k}")
    return n_labels, k


def _check_shape(shape: tuple[int, ...], n_labels: int | None) -> None:
    expected = "n_labels" if n_labels is None else _whole_number("n_labels", n_labels, minimum=1)
    if len(shape) != 2 or n_labels not in (None, shape[1]):
        raise ValueError(f"labels must have shape (n_sets, {expected}), got {shape}")


def _check_binary(values: npt.NDArray[Any]) -> None:
    if values.dtype.kind not in "biuf":
        raise ValueError(f"labels must be bool or numbers, got dtype {values.dtype}")
    wrong = values[(values != 0) & (values != 1)] if values.dtype.kind != "b" else values[:0]
    if wrong.size:
        raise ValueError(f"labels must hold 0 and 1 only, got {wrong[0]}")


def _active(labels: Any, n_labels: int | None) -> tuple[Indices, Indices, int, int]:
    """Set and label of every active entry, ordered by both, with the numbers of sets and of labels."""
    if sparse.issparse(labels):
        _check_shape(labels.shape, n_labels)
        return *_active_of_csr(labels.tocsr()), *labels.shape
    if not isinstance(labels, Sequence):
        raise ValueError(f"labels must be an array, a sparse matrix or lists, got {type(labels).__name__}")
    if n_labels is None:
        raise ValueError("n_labels must be given when labels is a list of active label indices, got None")
    n_labels = _whole_number("n_labels", n_labels, minimum=1)
    return *_active_of_lists("labels", labels, n_labels), len(labels), n_labels


def _active_of_csr(csr: Any) -> tuple[Indices, Indices]:
    csr.check_format(full_check=True)
    rows = np.repeat(np.arange(csr.shape[0]), np.diff(csr.indptr))
    columns, values = csr.indices, csr.data
    if not np.all((rows[1:] != rows[:-1]) | (columns[1:] > columns[:-1])):  # flags of csr may be stale
        fresh = sparse.csr_array((csr.data, csr.indices, csr.indptr), shape=csr.shape, copy=True)
        fresh.sum_duplicates()
        return _active_of_csr(fresh)
    _check_binary(values)
    return (rows, columns) if np.all(values) else (rows[values != 0], columns[values != 0])


def _active_of_lists(name: str, sets: Sequence[Collection[int]], n_labels: int) -> tuple[Indices, Indices]:
    for label_set in sets:
        if not isinstance(label_set, Collection):
            raise ValueError(f"{name} must list active label indices, got {type(label_set).__name__}")
    lengths = np.fromiter(map(len, sets), dtype=np.int64, count=len(sets))
    rows = np.repeat(np.arange(len(sets)), lengths)
    columns = np.array(list(itertools.chain.from_iterable(sets)) or np.empty(0, dtype=np.int64))
    if columns.dtype.kind not in "iu" or columns.ndim != 1:
        raise ValueError(f"{name} must list active labels as integers, got {columns.dtype} {columns.ndim}-D")
    if np.any((columns < 0) | (columns >= n_labels)):
        wrong = columns[(columns < 0) | (columns >= n_labels)][0]
        raise ValueError(f"{name} must list indices from 0 to {n_labels - 1}, got {wrong}")
    if np.any((rows[1:] == rows[:-1]) & (columns[1:] < columns[:-1])):
        columns = columns[np.lexsort((columns, rows))]
    twice = np.flatnonzero((rows[1:] == rows[:-1]) & (columns[1:] == columns[:-1]))
    if twice.size:
        raise ValueError(f"{name} must list each active label once, got label {columns[twice[0]]} twice")
    return rows, columns.astype(np.int64)


def _sin_cos(numerator: int, denominator: int) -> tuple[arb, arb]:
    """Sine and cosine of π · numerator / denominator."""
    return arb.sin_cos_pi_fmpq(fmpq(numerator, denominator))


def _fourier_coefficients(flips: list[int], n_labels: int, k: int, *, first_active: bool) -> list[arb]:
    """Coefficients of ± ∏ sin((t - a_j)/2) in the columns of the DFT matrix, up to a positive factor.

    With z = exp(it) the product is z^-m ∏ (z - exp(i a_j)) · exp(-i Σ a_j / 2) / (2i)^2m.
    """
    m = len(flips) // 2
    halves = [2 * flip + 1 for flip in flips]  # a_j = half · π / n
    roots = [acb(cosine, sine) for sine, cosine in (_sin_cos(half, n_labels) for half in halves)]
    sine, cosine = _sin_cos(-sum(halves), 2 * n_labels)
    phase = acb(cosine, sine) * (-1) ** (m + (not first_active))  # the product is positive at label 0
    terms = [coefficient * phase for coefficient in acb_poly.from_roots(roots).coeffs()[m:]]  # (m + 1,)
    pairs = [part * arb(2).sqrt() for term in terms[1:] for part in (term.real, -term.imag)]
    return [terms[0].real, *pairs, *[arb(0)] * (2 * (k - m))]


def _scaled_to_one(features: list[arb]) -> tuple[Fraction, ...]:
    """Midpoints at the current precision, the largest of them 1 in absolute value."""
    middles = [feature.mid() for feature in features]
    largest = max(abs(middle) for middle in middles)
    scaled = ((middle / largest).mid().man_exp() for middle in middles)
    return tuple(Fraction(int(mantissa)) * Fraction(2) ** int(exponent) for mantissa, exponent in scaled)


def _smallest_margin(exact: tuple[Fraction, ...], active: npt.NDArray[np.bool_]) -> arb | None:
    """Smallest y_i (w_i·x) / (‖w_i‖ ‖x‖) over the rows of the ideal matrix, None unless surely positive."""
    x = [arb(fmpq(feature.numerator, feature.denominator)) for feature in exact]
    scale = arb(2).sqrt() * len(active)  # acb.dft divides by n; ‖w_i‖² = (2k + 1) / n
    spectrum = [acb(x[0] * len(active))]
    spectrum += [acb(a, -b) * scale for a, b in zip(x[1::2], x[2::2], strict=True)]
    logits = acb.dft(spectrum + [acb(0)] * (len(active) - len(spectrum)), inverse=True)  # (n,), times √n
    signed = [z.real if positive else -z.real for z, positive in zip(logits, active.tolist(), strict=True)]
    if not all(value > 0 for value in signed):  # true of a ball only if it is of all its points
        return None
    norm = (sum((feature**2 for feature in x), arb(0)) * len(x)).sqrt()
    return min(value.lower() for value in signed) / norm


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
