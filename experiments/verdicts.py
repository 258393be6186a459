"""When a difference between runs with several seeds counts, and what several differences say about a claim."""

import math
import statistics
from collections.abc import Iterable, Sequence

from scipy.stats import t as student

HOLDS, FAILS, UNDECIDED = "holds", "**does not hold**", "undecided"
LEVEL = 0.95
LITTLE = 0.02  # a difference of so much of the value is little
RULE = (
    f"A difference of means over seeds counts if its {LEVEL:.0%} interval (Welch's t) does not contain 0. A claim\n"
    "holds if all differences that it names count; it does not hold if one of them counts the other way; else it is\n"
    "*undecided*, as it always is with a single seed. What a claim says of all runs must be seen in each of them.\n"
    f"*Little difference*: the interval is within ± {LITTLE:.0%} of the value. Seeds vary weights and batches, not\n"
    "the test examples; and of many comparisons, which are not corrected for, some count by chance."
)


def interval(ours: Sequence[float], theirs: Sequence[float]) -> tuple[float, float]:
    """Return the interval of the difference of two means, by Welch's t; without end where one has a single value.

    >>> low, high = interval([2.0, 3.0, 4.0], [1.0, 1.0, 1.0])
    >>> round(low, 2), round(high, 2)
    (-0.48, 4.48)
    """
    if min(len(ours), len(theirs)) < 2:
        return -math.inf, math.inf
    difference = statistics.fmean(ours) - statistics.fmean(theirs)
    errors = [(statistics.variance(some) / len(some), len(some) - 1) for some in (ours, theirs)]
    error = sum(value for value, _ in errors)
    if error == 0:
        return difference, difference
    freedom = error**2 / sum(value**2 / n for value, n in errors)
    half = float(student.ppf((1 + LEVEL) / 2, freedom)) * math.sqrt(error)
    return difference - half, difference + half


def sign(ours: Sequence[float], theirs: Sequence[float]) -> int:
    """Return 1 if our values are larger, -1 if they are smaller, and 0 if the seeds cannot tell.

    >>> sign([0.5, 0.6], [0.1, 0.2]), sign([0.1, 0.3], [0.2, 0.2]), sign([0.9], [0.1])
    (1, 0, 0)
    """
    low, high = interval(ours, theirs)
    return 1 if low > 0 else -1 if high < 0 else 0


def verdict(signs: Iterable[int]) -> str:
    """Return what some differences, each 1 where it speaks for a claim, say about it.

    >>> verdict([1, 1]), verdict([1, 0]), verdict([1, 0, -1])
    ('holds', 'undecided', '**does not hold**')
    """
    found = set(signs)
    return FAILS if -1 in found else HOLDS if found == {1} else UNDECIDED


def little(ours: Sequence[float], theirs: Sequence[float]) -> str:
    """Return whether two means differ little: by at most a share of the second.

    >>> little([1.0, 1.001], [1.0, 1.001]), little([1.0, 1.5], [1.0, 1.1]), little([2.0, 2.01], [1.0, 1.01])
    ('holds', 'undecided', '**does not hold**')
    """
    low, high = interval(ours, theirs)
    most = LITTLE * abs(statistics.fmean(theirs))
    return HOLDS if -most <= low and high <= most else FAILS if low > most or high < -most else UNDECIDED


def not_worse(ours: Sequence[float], theirs: Sequence[float], by: float) -> str:
    """Return whether our mean is at least theirs but for so much.

    >>> not_worse([0.80, 0.81], [0.79, 0.80], 0.1), not_worse([0.5, 0.51], [0.8, 0.81], 0.01)
    ('holds', '**does not hold**')
    """
    low, high = interval(ours, theirs)
    return HOLDS if low >= -by else FAILS if high < -by else UNDECIDED


def seen(holds: bool, n_seeds: int) -> str:
    """Return the verdict on what every one of some runs shows, or does not."""
    return UNDECIDED if n_seeds < 2 else HOLDS if holds else FAILS


def spread_text(values: Sequence[float], digits: int) -> str:
    """Return mean and standard deviation in words.

    >>> spread_text([1.0, 2.0], 1), spread_text([1.0], 1)
    ('1.5 ± 0.7', '1.0')
    """
    text = f"{statistics.fmean(values):.{digits}f}"
    return text if len(values) < 2 else f"{text} ± {statistics.stdev(values):.{digits}f}"
