"""When a difference between runs with several seeds counts, and what several differences say about a claim."""

import statistics
from collections.abc import Iterable, Sequence

HOLDS, FAILS, UNDECIDED = "holds", "**does not hold**", "undecided"
RULE = (
    "A difference of means over seeds counts if it is larger than both standard deviations. A claim holds if all\n"
    "differences that it names count; it does not hold if one of them counts the other way; else it is *undecided*,\n"
    "as it always is with a single seed."
)


def sign(ours: Sequence[float], theirs: Sequence[float]) -> int:
    """Return 1 if our values are larger, -1 if they are smaller, and 0 if the seeds cannot tell.

    >>> sign([0.5, 0.6], [0.1, 0.2]), sign([0.1, 0.3], [0.2, 0.2]), sign([0.9], [0.1])
    (1, 0, 0)
    """
    if min(len(ours), len(theirs)) < 2:
        return 0
    difference = statistics.fmean(ours) - statistics.fmean(theirs)
    if abs(difference) <= max(statistics.stdev(ours), statistics.stdev(theirs)):
        return 0
    return 1 if difference > 0 else -1


def verdict(signs: Iterable[int]) -> str:
    """Return what some differences, each 1 where it speaks for a claim, say about it.

    >>> verdict([1, 1]), verdict([1, 0]), verdict([1, 0, -1])
    ('holds', 'undecided', '**does not hold**')
    """
    found = set(signs)
    return FAILS if -1 in found else HOLDS if found == {1} else UNDECIDED


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
