"""Fractions near given floats that satisfy linear equations exactly: multipliers that the trusted code can add up."""

from collections.abc import Sequence
from fractions import Fraction

import flint
import numpy as np
import numpy.typing as npt
from scipy.linalg import qr

from labelproof.proof.regions import integers

__all__ = ["exact_weights"]

Floats = npt.NDArray[np.float64]
BITS = 40  # of a multiplier that is free to be rounded


def exact_weights(guess: Floats, equations: Sequence[Sequence[Fraction]]) -> list[Fraction] | None:
    """Return positive fractions λ near a guess with Σ_i a_i λ_i = 0 for every equation a; None if none were found.

    Parameters
    ----------
    guess
        float64 (n,): positive, and nearly a solution.
    equations
        Each with n coefficients. Most λ are rounded to a few bits; as many as there are independent equations are
        solved for.
    """
    rounded = _rounded(guess)
    rows = [integers(equation)[0] for equation in equations if any(equation)]
    if not rows:
        return rounded if all(rounded) else None
    matrix = flint.fmpz_mat(rows)
    rank = matrix.rank()
    if rank >= len(guess):
        return None
    scaled = np.array([[float(c) for c in _near_one(row)] for row in rows]) * guess
    order = qr(scaled, mode="r", pivoting=True)[1]
    basic, others = sorted(order[:rank].tolist()), sorted(order[rank:].tolist())
    table = matrix.tolist()
    kept = _independent(table, basic)
    if kept is None:
        return None
    numerators, denominator = integers([rounded[j] for j in others])
    right = [[-sum(table[i][j] * c for j, c in zip(others, numerators, strict=True))] for i in kept]
    solution = flint.fmpz_mat([[table[i][j] for j in basic] for i in kept]).solve(flint.fmpz_mat(right))
    for place, j in enumerate(basic):
        value = solution[place, 0]
        rounded[j] = Fraction(int(value.p), int(value.q)) / denominator
    return rounded if all(value > 0 for value in rounded) else None


def _rounded(guess: Floats) -> list[Fraction]:
    exponent = int(np.frexp(guess.max(initial=0.0))[1])
    return [Fraction(round(float(g)), 1 << BITS) for g in np.ldexp(guess, BITS - exponent)]


def _near_one(row: list[int]) -> list[Fraction]:
    """Return the row over a power of two that floats can take."""
    bits = max(abs(c) for c in row).bit_length()
    return [Fraction(c, 1 << bits) for c in row]


def _independent(table: list[list[flint.fmpz]], columns: list[int]) -> list[int] | None:
    """Return as many rows, independent in these columns, as there are columns; None if there are fewer."""
    reduced, _, rank = flint.fmpz_mat([[row[j] for row in table] for j in columns]).rref()
    if rank < len(columns):
        return None
    kept: list[int] = []
    for i in range(rank):
        j = kept[-1] + 1 if kept else 0
        while reduced[i, j] == 0:
            j += 1
        kept.append(j)
    return kept
