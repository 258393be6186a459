"""How many label sets there are, and how many of them an output layer with d features can predict.

Counts are exact integers. Fractions fall far below the smallest float, so they come as logarithms.
"""

import math
import operator

from labelproof.foundation.arguments import whole_number

__all__ = [
    "count_alternating",
    "count_argmaxable",
    "count_k_active",
    "log10_argmaxable_fraction",
    "log10_int",
]


def count_argmaxable(n_labels: int, d: int, *, bias: bool = False) -> int:
    """Count the argmaxable label sets of a weight matrix in general position.

    Cover's count: 2 Σ_{i<d} C(n-1, i) of the 2^n sign patterns of W x, and Σ_{i≤d} C(n, i) of those of
    W x + b with b in general position too. A matrix in special position has at most as many.

    Parameters
    ----------
    n_labels : int
        Number of labels n, the rows of W; at least 1.
    d : int
        Number of features, the columns of W; at least 1.
    bias : bool, default False
        Whether every label has a bias.

    Returns
    -------
    int

    Examples
    --------
    >>> count_argmaxable(3, 2), count_argmaxable(3, 2, bias=True)
    (6, 7)
    """
    n_labels = whole_number("n_labels", n_labels, minimum=1)
    d = whole_number("d", d, minimum=1)
    return _binomial_sum(n_labels, d) if bias else 2 * _binomial_sum(n_labels - 1, d - 1)


def log10_argmaxable_fraction(n_labels: int, d: int, *, bias: bool = False) -> float:
    """Logarithm to base 10 of the share of all 2^n label sets that are argmaxable in general position.

    Accurate at both ends: where the share is 1 - p with a tiny p, the result is -p / ln 10, not 0.

    Parameters
    ----------
    n_labels : int
        Number of labels n, the rows of W; at least 1.
    d : int
        Number of features, the columns of W; at least 1.
    bias : bool, default False
        Whether every label has a bias.

    Returns
    -------
    float
        0.0 when every label set is argmaxable, or when p is below the smallest float.

    Examples
    --------
    >>> round(log10_argmaxable_fraction(1000, 25), 2)
    -252.64
    >>> round(log10_argmaxable_fraction(1000, 550), 4)
    -0.0003
    """
    count = count_argmaxable(n_labels, d, bias=bias)
    n_labels = operator.index(n_labels)
    missing = (1 << n_labels) - count
    if missing < count:
        return math.log1p(-(missing / (1 << n_labels))) / math.log(10) + 0.0  # + 0.0: no negative zero
    length = count.bit_length()
    return math.log10(count / (1 << length)) + (length - n_labels) * math.log10(2)


def count_k_active(n_labels: int, k: int) -> int:
    """Count the label sets with at most k active labels: Σ_{i≤k} C(n, i).

    Parameters
    ----------
    n_labels : int
        Number of labels n; at least 1.
    k : int
        Largest number of active labels; at least 0.

    Returns
    -------
    int

    Examples
    --------
    >>> count_k_active(4, 2)
    11
    """
    return _binomial_sum(whole_number("n_labels", n_labels, minimum=1), whole_number("k", k, minimum=0))


def count_alternating(n_labels: int, k: int) -> int:
    """Count the label sets with at most k sign changes along the labels 1, ..., n, read as a line.

    The paper's k-alternating sets (definitions 6 and 7): a change between the last label and the first
    does not count. Exactly j changes have 2 C(n-1, j) sets: the changes are at j of the n-1 gaps, and the
    first label is active or not. So this is Cover's count for d = k + 1, as it must be: the argmaxable sets
    of a matrix in Gr⁺ with d columns are the (d-1)-alternating ones.

    Parameters
    ----------
    n_labels : int
        Number of labels n; at least 1.
    k : int
        Largest number of sign changes; at least 0.

    Returns
    -------
    int

    Examples
    --------
    >>> count_alternating(4, 1)  # ----, +---, ++--, +++- and their negatives
    8
    """
    n_labels = whole_number("n_labels", n_labels, minimum=1)
    return 2 * _binomial_sum(n_labels - 1, whole_number("k", k, minimum=0))


def log10_int(value: int) -> float:
    """Logarithm to base 10 of a positive integer of any size.

    Parameters
    ----------
    value : int
        At least 1; may be far above the largest float.

    Returns
    -------
    float

    Examples
    --------
    >>> round(log10_int(count_k_active(8921, 80)), 1)
    197.0
    """
    return math.log10(whole_number("value", value, minimum=1))


def _binomial_sum(n: int, last: int) -> int:
    """Σ_{i≤last} C(n, i), by the shorter of the sum and its complement."""
    if last >= n:
        return 1 << n
    if 2 * last >= n:
        return (1 << n) - _binomial_sum(n, n - 1 - last)
    total = term = 1
    for i in range(last):
        term = term * (n - i) // (i + 1)
        total += term
    return total
