"""Do more rows than a conflict needs have a positive dependence? Of the many that they have, one is singled out.

Trusted code. Rows of `regions`, each times the power of two that brings its largest number to between ½ and 1, are the
rows of a matrix X. Of all λ with Xᵀ λ = 0 the *nearest dependence* is the one nearest to (1, …, 1), which is
1 − X (Xᵀ X)⁻¹ Xᵀ 1. A conflict of more rows than the system has columns and one is proven where it is positive. Floats
tell that from the least singular value σ of X: each λ̃ = 1 − X z is within ‖Xᵀ λ̃‖/σ of it. Where floats do not tell,
integers do.
"""

from fractions import Fraction
from typing import Any

import flint
import numpy as np
import numpy.typing as npt
from scipy.linalg.blas import dsyrk, ssyrk
from scipy.linalg.lapack import dpotrf, dpotrs, spotrf, spotrs

from labelproof.proof.rounding import relative_error

__all__ = ["is_surely_positive", "nearest_dependence"]

Floats = npt.NDArray[np.float64]
Reals = npt.NDArray[np.float32] | Floats
CHUNK = 256  # products that are summed at a time: the sum of many has a larger bound on its error
PANEL = 64  # columns of a triangle that are multiplied at a time, without the zeros beside it
MOST_STEPS = 30  # of conjugate gradients
BLAS = {np.float32: (ssyrk, spotrf, spotrs), np.float64: (dsyrk, dpotrf, dpotrs)}


def is_surely_positive(X: Floats) -> bool:
    """Return whether floats prove that the nearest dependence of these rows is positive.

    Single precision is tried first where it would do for random rows, whose σ² is about (√n − √width)² parts of the
    n·width that are Σ X²: it takes half the time.
    """
    n, width = X.shape
    if not width:
        return False
    single = 3 * _share(n, width, np.float32) * n < ((n / width) ** 0.5 - 1) ** 2
    return (single and _is_proven(X, np.float32)) or _is_proven(X, np.float64)


def _is_proven(X: Floats, dtype: type[np.floating[Any]]) -> bool:
    """Return whether a bound of σ in numbers of this type proves it.

    With λ̃ = 1 − X z + ε the nearest dependence differs from λ̃ by at most ‖Xᵀ λ̃‖/σ + ‖ε‖.
    """
    unit = relative_error(max(X.shape))
    with np.errstate(all="ignore"):
        square, total, L = _least_square(X, dtype)
        if not square > 0:
            return False
        z = _solution(X, L)
        guess = 1 - X @ z
        size = float(np.sqrt(total))  # of X; bounds the rounding of products with it
        epsilon = unit * (np.sqrt(len(X)) + size * np.linalg.norm(z))
        residual = np.linalg.norm(guess @ X) + unit * size * np.linalg.norm(guess)
        return bool(1.01 * residual < np.sqrt(square) * (guess.min() - 1.01 * epsilon))


def _least_square(X: Floats, dtype: type[np.floating[Any]]) -> tuple[float, float, Reals]:
    """Return a lower bound of σ², Σ X² (within a thousandth), and L; NaN where there is no bound.

    For any L and s, σ² ≥ s − ‖Xᵀ X − s I − L Lᵀ‖. Each number of Xᵀ X and of L Lᵀ is a sum of products, whose rounding
    is a share of the sum of their absolute values; over all numbers that is at most a share of Σ X² and of Σ L².
    The difference is symmetric, so what is below its diagonal counts twice.
    """
    syrk, factor, _ = BLAS[dtype]
    n, width = X.shape
    share = _share(n, width, dtype)
    gram, product = np.zeros((2, width, width), dtype).transpose(0, 2, 1)  # nothing above the diagonal is read
    for start in range(0, n, CHUNK):
        gram += syrk(1.0, X[start : start + CHUNK].astype(dtype).T, c=product, lower=1, overwrite_c=1)
    total = float(gram.trace(dtype=np.float64))
    s = float(dtype(3 * share * total))
    gram[np.diag_indices(width)] -= s
    L, failed = factor(gram, lower=1)
    if failed:
        return np.nan, total, L
    rest = 0.0
    for start in range(0, width, PANEL):
        stop = start + PANEL
        panel = gram[start:, start:stop].copy()
        for first in range(0, stop, CHUNK):
            last = min(first + CHUNK, stop)
            panel -= L[start:, first:last] @ L[start:stop, first:last].T
        panel[:PANEL] = np.tril(panel[:PANEL])
        rest += 2 * _sum_of_squares(panel)
    return s - 1.01 * (np.sqrt(rest) + share * (total + _sum_of_squares(L))), total, L


def _share(n: int, width: int, dtype: type[np.floating[Any]]) -> float:
    """Return a bound on the rounding of Xᵀ X and of L Lᵀ, summed in chunks, as a share of absolute values."""
    chunks = -(-max(n, width) // CHUNK)
    return relative_error(CHUNK + 2 * chunks) * float(np.finfo(dtype).eps / np.finfo(np.float64).eps)


def _sum_of_squares(numbers: Reals) -> float:
    return float(np.einsum("ij,ij->", numbers, numbers, dtype=np.float64))


def _solution(X: Floats, L: Reals) -> Floats:
    """Return z with Xᵀ X z ≈ Xᵀ 1, by conjugate gradients, given L Lᵀ ≈ Xᵀ X; what it is changes no verdict."""
    *_, solve = BLAS[L.dtype.type]
    rest = X.sum(axis=0)
    enough = (1e-10 if L.dtype == np.float32 else 1e-24) * (rest @ rest)  # of double precision σ may be small
    z, direction, before = np.zeros_like(rest), np.zeros_like(rest), np.inf
    for _ in range(MOST_STEPS):
        if rest @ rest <= enough:
            break
        nearly = solve(L, rest.astype(L.dtype), lower=1)[0].astype(np.float64)
        left = rest @ nearly
        direction = nearly + left / before * direction
        image = (X @ direction) @ X
        length = left / (direction @ image)
        z, rest, before = z + length * direction, rest - length * image, left
    return z


def nearest_dependence(rows: list[list[int]]) -> list[Fraction] | None:
    """Return the nearest dependence of rows of integers, or None if there is none, for a number is not positive.

    A number for each row, such that the rows times these add up to 0. There is also none if some columns that are not 0
    are dependent.
    """
    lengths = [max(map(abs, row)).bit_length() for row in rows]
    longest = max(lengths)
    scaled = ([c << longest - length for c in row] for row, length in zip(rows, lengths, strict=True))
    lines = [list(line) for line in zip(*scaled, strict=True) if any(line)]
    if not lines:
        return [Fraction(1)] * len(rows)
    columns = flint.fmpz_mat(lines)
    ones = flint.fmpz_mat(len(rows), 1, [1] * len(rows))
    try:
        z: Any = (columns * columns.transpose()).solve(columns * ones)
    except ZeroDivisionError:
        return None
    numerators, q = z.numer_denom()
    left = int(q) * ones - columns.transpose() * numerators
    nearest = [Fraction(int(left[i, 0]), int(q)) for i in range(len(rows))]
    if not min(nearest) > 0:
        return None
    return [number / 2**length for number, length in zip(nearest, lengths, strict=True)]
