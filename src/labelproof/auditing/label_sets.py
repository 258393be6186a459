"""The label sets that an audit asks about: the distinct ones of the data, pairs and triples of labels."""

from itertools import combinations
from math import comb

import numpy as np
import numpy.typing as npt

from labelproof.proof.labels import LabelSets

__all__ = ["combinations_of_labels", "distinct_sets", "from_lists"]

Counts = npt.NDArray[np.int64]


def distinct_sets(sets: LabelSets) -> tuple[LabelSets, Counts]:
    """Return each label set once, the most frequent first, and how often it occurs.

    Examples
    --------
    >>> once, counts = distinct_sets(from_lists([[1], [0, 2], [1], []], n_labels=3))
    >>> [active.tolist() for active in once], counts.tolist()
    ([[1], [0, 2], []], [2, 1, 1])
    """
    first: dict[bytes, int] = {}
    counts: dict[bytes, int] = {}
    for i, active in enumerate(sets):
        key = active.tobytes()
        first.setdefault(key, i)
        counts[key] = counts.get(key, 0) + 1
    keys = sorted(first, key=lambda key: -counts[key])  # a stable sort: ties keep the order of the data
    return sets.take([first[key] for key in keys]), np.array([counts[key] for key in keys], np.int64)


def combinations_of_labels(n_labels: int, size: int, most: int, seed: int = 0) -> tuple[LabelSets, int]:
    """Return all combinations of so many labels, or ``most`` different ones drawn at random, and how many there are.

    Examples
    --------
    >>> pairs, population = combinations_of_labels(4, 2, most=100)
    >>> len(pairs), population
    (6, 6)
    >>> sample, population = combinations_of_labels(1000, 3, most=50)
    >>> len(sample), population
    (50, 166167000)
    """
    population = comb(n_labels, size)
    if population <= most:
        return from_lists(list(combinations(range(n_labels), size)), n_labels), population
    rng = np.random.default_rng(seed)
    drawn: dict[tuple[int, ...], None] = {}  # in the order of drawing
    while len(drawn) < most:
        drawn[tuple(sorted(rng.choice(n_labels, size, replace=False).tolist()))] = None
    return from_lists(list(drawn), n_labels), population


def from_lists(lists: list[tuple[int, ...]] | list[list[int]], n_labels: int) -> LabelSets:
    """Hold ascending lists of labels."""
    ends = np.cumsum([0, *map(len, lists)]).astype(np.int64)
    return LabelSets(n_labels, ends, np.array([i for active in lists for i in active], np.int64))
