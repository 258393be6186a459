"""Arithmetic in the finite field of q elements, q a power of a prime, on arrays of the numbers 0 to q - 1."""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import numpy.typing as npt

__all__ = ["field_of", "is_prime_power", "prime_power_from"]

Elements = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Field:
    """A field of q = p^m elements: a number stands for the polynomial whose coefficients are its digits in base p.

    Attributes
    ----------
    p, m
        The prime and its power.
    powers, logarithms
        Powers of one element that generates all others but 0, and their exponents; None where q is prime.
    """

    p: int
    m: int
    powers: Elements | None = None
    logarithms: Elements | None = None

    @property
    def q(self) -> int:
        """Number of elements."""
        return self.p**self.m

    def add(self, a: Elements, b: Elements) -> Elements:
        """Return a + b."""
        if self.m == 1:
            return (a + b) % self.p
        total = np.zeros(np.broadcast_shapes(a.shape, b.shape), np.int64)
        for place in (self.p**i for i in range(self.m)):
            total += (a // place + b // place) % self.p * place
        return total

    def multiply(self, a: Elements, b: Elements) -> Elements:
        """Return a · b."""
        if self.powers is None or self.logarithms is None:
            return a * b % self.p
        product = self.powers[(self.logarithms[a] + self.logarithms[b]) % (self.q - 1)]
        return np.where((a == 0) | (b == 0), 0, product)


@lru_cache(maxsize=8)
def field_of(q: int) -> Field:
    """Return the field of q elements.

    Examples
    --------
    >>> nine = field_of(9)
    >>> sorted(set(nine.multiply(np.arange(1, 9), np.int64(5)).tolist()))
    [1, 2, 3, 4, 5, 6, 7, 8]
    """
    p = _smallest_divisor(q) if q > 1 else 0
    m = 0
    while p and p**m < q:
        m += 1
    if not p or p**m != q:
        raise ValueError(f"q must be a power of a prime, got {q}")
    if m == 1:
        return Field(p, 1)
    for tail in range(1, q):  # x^m = tail: some of these make x a generator
        powers = _powers_of_x(p, m, tail)
        if powers is not None:
            logarithms = np.zeros(q, np.int64)
            logarithms[powers] = np.arange(q - 1)
            return Field(p, m, powers, logarithms)
    raise AssertionError("every finite field has a generator")  # pragma: no cover - a theorem


def is_prime_power(q: int) -> bool:
    """Return whether a field of q elements exists.

    >>> [q for q in range(20) if is_prime_power(q)]
    [2, 3, 4, 5, 7, 8, 9, 11, 13, 16, 17, 19]
    """
    if q < 2:
        return False
    p = _smallest_divisor(q)
    while q % p == 0:
        q //= p
    return q == 1


def prime_power_from(q: int) -> int:
    """Return the smallest power of a prime that is at least q.

    >>> prime_power_from(24), prime_power_from(90)
    (25, 97)
    """
    while not is_prime_power(q):
        q += 1
    return q


def _smallest_divisor(q: int) -> int:
    return next((p for p in range(2, int(q**0.5) + 1) if q % p == 0), q)


def _powers_of_x(p: int, m: int, tail: int) -> Elements | None:
    """Return 1, x, x², ... where x^m = tail, as numbers; None unless they are all elements but 0."""
    q, powers, value = p**m, [1], p
    while value != 1 and len(powers) < q - 1:
        powers.append(value)
        lead, rest = divmod(value * p, q)  # x · value, before x^m is replaced
        value = sum((rest // p**i + lead * (tail // p**i)) % p * p**i for i in range(m))
        if value == 0:
            return None
    return np.array(powers, np.int64) if len(powers) == q - 1 and value == 1 else None
