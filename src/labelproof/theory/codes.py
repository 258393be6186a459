"""Kautz–Singleton codes: 0/1 columns under which every set of up to k labels can be predicted, in floating point too.

Label i is a polynomial f_i of degree below κ over a field of q elements, and its row has a one at (l, f_i(l)) for each
of L points l. Two polynomials agree at κ - 1 points at most, so k labels cover at most k(κ - 1) of the L ones of
another. If g = L - k(κ - 1) is positive, let U be the union of the ones of the active labels, x = +1 on U and -1
elsewhere, and g - L the coefficient of a constant column of ones: active logits are L + (g - L) = g, and that of an
inactive label with u ones in U is 2u - L + (g - L) ≤ -g. All numbers are integers of at most 2L, which floating point
adds exactly in any order.
"""

import math
from collections import Counter
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from labelproof.foundation.arguments import whole_number
from labelproof.theory.fields import field_of, is_prime_power, prime_power_from

__all__ = ["Code", "choose_code", "codewords", "switching_set", "widest_k", "witness_norm"]

MOST_LABELS = 2**31 - 1  # indices of ones have 32 bits
MOST_COEFFICIENTS = 16  # more never pay: 2^16 symbols and more would be cheaper with fewer


@dataclass(frozen=True)
class Code:
    """The size of a code.

    Attributes
    ----------
    q
        Number of symbols at each point: a power of a prime, or any number for one coefficient.
    coefficients
        Number κ of coefficients of a label's polynomial.
    length
        Number L of points, the ones of a row; at most q + 1, the last of these being the point at infinity.
    """

    q: int
    coefficients: int
    length: int

    @property
    def columns(self) -> int:
        """Number of columns, without the constant one."""
        return self.q * self.length

    @property
    def capacity(self) -> int:
        """Number of labels that there are polynomials for."""
        return self.q**self.coefficients

    @property
    def k(self) -> int:
        """The most labels of which every set is argmaxable."""
        return self.capacity if self.coefficients == 1 else (self.length - 1) // (self.coefficients - 1)

    def gap(self, k: int) -> int:
        """Return the least absolute logit of the witness of a set of at most k labels."""
        return self.length - k * (self.coefficients - 1)

    def margin(self, k: int) -> float:
        """Return a lower bound of the relative margin of every set of at most k labels.

        >>> Code(q=53, coefficients=2, length=26).margin(25).__round__(4)
        0.0043
        """
        gap = self.gap(k)
        return gap / math.sqrt((self.length + 1) * witness_norm(self, gap))


def witness_norm(code: Code, gap: int) -> int:
    """Return the squared norm of a witness whose least absolute logit is ``gap``."""
    return code.columns + (code.length - gap) ** 2


def choose_code(n_labels: int, k: int, budget: int | None = None) -> Code:
    """Choose a code under which every set of at most k of n labels can be predicted.

    Parameters
    ----------
    n_labels, k : int
        Number of labels, and the most active ones.
    budget : int, optional
        The most columns, without the constant one. Of all codes within it that with the largest proven margin is
        chosen; without a budget, that with the fewest columns. One column for each label always does.

    Raises
    ------
    ValueError
        If no code within the budget exists; the message says which k would fit.

    Examples
    --------
    >>> choose_code(2689, 10)
    Code(q=23, coefficients=3, length=21)
    >>> choose_code(2689, 10, budget=640).margin(10) > 2 * choose_code(2689, 10).margin(10)
    True
    >>> choose_code(2689, 25, budget=640)
    Traceback (most recent call last):
    ValueError: k must be at most 12 for a code of 2689 labels in 640 columns, got 25, which takes 1378
    """
    n_labels, k = _checked(n_labels, k)
    if budget is None:
        return min(_shortest(n_labels, k), key=lambda code: (code.columns, code.coefficients))
    budget = whole_number("budget", budget, minimum=1)
    codes = [code for shortest in _shortest(n_labels, k) for code in _within(shortest, budget)]
    if codes:
        return max(codes, key=lambda code: (code.margin(k), -code.columns))
    least = choose_code(n_labels, k).columns
    fits = widest_k(n_labels, budget)
    which = f"k must be at most {fits}" if fits else "budget must be larger"
    raise ValueError(
        f"{which} for a code of {n_labels} labels in {budget} columns, got {k if fits else budget}"
        f"{f', which takes {least}' if fits else f': k = {k} takes {least}'}"
    )


def widest_k(n_labels: int, budget: int) -> int:
    """Return the largest k for which a code of n labels has at most ``budget`` columns; 0 where there is none.

    >>> widest_k(2689, 640), widest_k(2689, 20), widest_k(100, 100)
    (12, 0, 100)
    """
    low, high = 0, n_labels
    while low < high:
        k = (low + high + 1) // 2
        fits = min(code.columns for code in _shortest(n_labels, k)) <= budget
        low, high = (k, high) if fits else (low, k - 1)
    return low


def codewords(n_labels: int, code: Code) -> npt.NDArray[np.integer]:
    """Return the symbol of each label at each point, f_i(l): (n_labels, length), as bytes where they suffice.

    The digits of i in base q are the coefficients of label i, the constant one first: every symbol occurs equally
    often at each point, as nearly as n allows, and neighbouring labels share no ones.

    Examples
    --------
    >>> codewords(4, Code(q=3, coefficients=2, length=4))
    array([[0, 0, 0, 0],
           [1, 1, 1, 0],
           [2, 2, 2, 0],
           [0, 1, 2, 1]], dtype=uint8)
    """
    n_labels, q = whole_number("n_labels", n_labels, minimum=1), code.q
    if not n_labels <= min(code.capacity, MOST_LABELS):
        raise ValueError(f"n_labels must be at most {code.capacity}, the number of codewords, got {n_labels}")
    if code.coefficients > 1 and not (is_prime_power(q) and code.length <= q + 1):
        raise ValueError(f"code must have a power of a prime q and a length of at most q + 1, got {code}")
    labels = np.arange(n_labels)
    digits = [labels // q**j % q for j in range(code.coefficients)]
    symbols = np.empty((n_labels, code.length), np.uint8 if q <= 256 else np.int32)
    for point in range(code.length):
        symbols[:, point] = digits[-1] if point == q else _evaluate(q, digits, point)
    return symbols


def switching_set(code: Code) -> tuple[int, ...]:
    """Return labels that the columns of a code can never predict alone: the smaller half of a vanishing combination.

    ∏ (T_l - 1) over all points l, T_l being the shift of a polynomial by x - l, which changes no value at l, sums to
    zero in every column. So do its coefficients: the hulls of the rows with positive and negative ones meet.

    Examples
    --------
    >>> [len(switching_set(Code(q=53, coefficients=2, length=length))) for length in (5, 6, 8)]
    [13, 20, 45]
    """
    if code.coefficients < 2 or code.length >= code.q or not all(code.q % p for p in range(2, code.q)):
        raise ValueError(f"code must have two coefficients, a prime q and fewer than q points, got {code}")
    q = code.q
    terms = Counter({(0, 0): 1})  # (constant, linear) coefficient: weight
    for point in range(code.length):
        shifted: Counter[tuple[int, int]] = Counter()
        for (constant, linear), weight in terms.items():
            shifted[(constant - point) % q, linear + 1] += weight
            shifted[constant, linear] -= weight
        terms = shifted
    plus, minus = (sorted(c + q * b for (c, b), weight in terms.items() if weight * sign > 0) for sign in (1, -1))
    return tuple(plus if len(plus) <= len(minus) else minus)


def _checked(n_labels: int, k: int) -> tuple[int, int]:
    n_labels, k = whole_number("n_labels", n_labels, minimum=1), whole_number("k", k, minimum=1)
    if n_labels > MOST_LABELS:
        raise ValueError(f"n_labels must be at most {MOST_LABELS}, since ones have 32-bit indices, got {n_labels}")
    if k > n_labels:
        raise ValueError(f"k must be at most n_labels = {n_labels}, got {k}")
    return n_labels, k


def _shortest(n_labels: int, k: int) -> list[Code]:
    """Return for each number of coefficients the code with the fewest columns."""
    codes = [Code(n_labels, 1, 1)]
    for coefficients in range(2, MOST_COEFFICIENTS + 1):
        length = k * (coefficients - 1) + 1
        q = max(_root(n_labels, coefficients), length - 1, 2)
        if q * length >= n_labels:  # a column for each label is no more
            continue
        codes.append(Code(prime_power_from(q), coefficients, length))
    return codes


def _within(shortest: Code, budget: int) -> list[Code]:
    """Return codes like this one, of more symbols and as many points as the budget has room for."""
    if shortest.coefficients == 1:
        return [shortest] * (shortest.columns <= budget)
    sizes = (q for q in range(shortest.q, budget // shortest.length + 1) if is_prime_power(q))
    return [Code(q, shortest.coefficients, min(q + 1, budget // q)) for q in sizes]


def _root(n: int, power: int) -> int:
    """Return the smallest integer whose power is at least n."""
    root = max(1, round(n ** (1 / power)))
    while root**power < n:
        root += 1
    while (root - 1) ** power >= n:
        root -= 1
    return root


def _evaluate(q: int, digits: list[npt.NDArray[np.int64]], point: int) -> npt.NDArray[np.int64]:
    """Evaluate polynomials at a point by Horner's rule."""
    if len(digits) == 1:
        return digits[0]
    field, at, value = field_of(q), np.array(point), digits[-1]
    for digit in digits[-2::-1]:
        value = field.add(field.multiply(value, at), digit)
    return value
