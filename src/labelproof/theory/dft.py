"""Weight matrices in Gr⁺: the truncated DFT matrix and its relatives, and proofs for the ideal one in closed form.

The argmaxable label sets of such a matrix are known (see `cyclic`), over the real numbers: a rounded matrix need not
be in Gr⁺, so `dft_witness` proves nothing about stored weights.
"""

from collections.abc import Collection, Set
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import numpy.typing as npt
from flint import acb, acb_poly, arb, fmpq

from labelproof.foundation.arguments import whole_number
from labelproof.foundation.flint_precision import working_bits
from labelproof.proof.labels import read_label_set

__all__ = ["dft_matrix", "dft_witness", "gale_matrix", "harmonic_matrix", "vandermonde_matrix"]


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
    if d % 2:
        return harmonic_matrix(n_labels, np.arange(1, d // 2 + 1))
    return _waves(n_labels, np.arange(1, d, 2), 2 * n_labels)


def harmonic_matrix(n_labels: int, frequencies: npt.ArrayLike) -> npt.NDArray[np.float64]:
    """Build a constant column, then √(2/n) cos(ft), √(2/n) sin(ft) for each frequency f, at t = 2πi/n, rounded once.

    Parameters
    ----------
    n_labels : int
        Number of labels n.
    frequencies : array_like of int (m,)
        Different numbers from 1 to (n - 1)/2, for which the columns are orthonormal.

    Returns
    -------
    ndarray of float64 (n_labels, 2m + 1)

    Examples
    --------
    >>> np.array_equal(harmonic_matrix(9, [1, 2]), dft_matrix(9, 2))
    True
    """
    chosen = np.asarray(frequencies)
    if chosen.ndim != 1 or len(np.unique(chosen)) < len(chosen) or not ((chosen >= 1) & (2 * chosen < n_labels)).all():
        raise ValueError(
            f"frequencies must be different numbers from 1 to {(n_labels - 1) // 2}, got {chosen.tolist()}"
        )
    with working_bits(128):
        constant = np.full((n_labels, 1), float((arb(1) / n_labels).sqrt()))
    return np.concatenate([constant, _waves(n_labels, chosen, n_labels)], axis=1)


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
    >>> from labelproof.theory.cyclic import minor_signs
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


def dft_witness(label_set: Collection[int] | npt.NDArray[np.integer], n_labels: int, k: int) -> DFTWitness:
    """Prove that the ideal `dft_matrix` can predict a label set, by a closed form.

    The witness is ± ∏ sin((t - a_j)/2), with one root a_j midway between any two neighbours on the circle
    of which one is active and one is not. A product of 2m ≤ 2k sines is a trigonometric polynomial of degree
    m, so its Fourier coefficients are features. They are rounded, and all logits are enclosed in interval
    arithmetic; the precision is doubled until every sign is certain, which must happen because no logit of
    the ideal polynomial is zero. The margin is not the largest possible one.

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
    active[read_label_set(sorted(label_set) if isinstance(label_set, Set) else label_set, n_labels)] = True
    flips = np.flatnonzero(active != np.roll(active, -1)).tolist()  # sign changes from label i to i + 1
    if len(flips) > 2 * k:
        raise ValueError(f"label_set must have at most 2k = {2 * k} sign changes, got {len(flips)}")
    bits = 53
    while True:
        with working_bits(2 * bits + 64):
            ideal = _fourier_coefficients(flips, n_labels, k, first_active=bool(active[0]))
        with working_bits(bits):
            exact = _scaled_to_one(ideal)
        with working_bits(bits + 64):
            margin = _smallest_margin(exact, active)
        if margin is not None:
            coefficients = np.array([float(x) for x in exact])
            coefficients.setflags(write=False)
            return DFTWitness(exact, coefficients, bits, float(margin))
        bits *= 2


def _checked_tall(n_labels: int, d: int) -> tuple[int, int]:
    n_labels = whole_number("n_labels", n_labels, minimum=1)
    d = whole_number("d", d, minimum=1)
    if d > n_labels:
        raise ValueError(f"d must be at most n_labels = {n_labels}, got {d}")
    return n_labels, d


def _waves(n_labels: int, frequencies: npt.NDArray[np.integer], period: int) -> npt.NDArray[np.float64]:
    """Return the cosine and the sine of each frequency side by side, at 2πi/period."""
    with working_bits(128):
        scale = (arb(2) / n_labels).sqrt()
        sine, cosine = np.array(
            [[float(scale * v) for v in _sin_cos(2 * r, period)] for r in range(period)]
        ).T  # (period,) each
    turns = np.outer(np.arange(n_labels), frequencies) % period  # exact, so the angle is
    return np.stack([cosine[turns], sine[turns]], axis=2).reshape(n_labels, -1)


def _checked_dft(n_labels: int, k: int) -> tuple[int, int]:
    n_labels = whole_number("n_labels", n_labels, minimum=1)
    k = whole_number("k", k, minimum=0)
    if 2 * k + 1 > n_labels:
        raise ValueError(f"k must be at most (n_labels - 1) / 2 for n_labels = {n_labels}, got {k}")
    return n_labels, k


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
