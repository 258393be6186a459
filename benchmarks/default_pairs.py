"""The difference of two methods on the same test examples, with its interval by the paired bootstrap.

Examples of the whole data set are drawn with replacement; where there are several seeds, an example that several test
parts have is drawn for all of them, and the difference is the mean over seeds.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse

from default_outcomes import Truth

__all__ = ["Difference", "Pair", "difference"]

RESAMPLES = 1000


@dataclass(frozen=True)
class Difference:
    """The first method's value minus the second's, and the middle 95 % of what resamples give."""

    value: float
    low: float
    high: float

    @property
    def verdict(self) -> int:
        """1 or -1 where the interval lies on one side of 0, else 0."""
        return int(self.low > 0) - int(self.high < 0)


@dataclass(frozen=True)
class Pair:
    """Files of the right labels and of two methods' outcomes."""

    truth: Path
    first: Path
    second: Path


def difference(pairs: Iterable[Pair], metric: str, *, seed: int = 0) -> Difference:
    """Compare two methods in a metric, over the pairs of all seeds."""
    cases = [(Truth.load(pair.truth), pair) for pair in pairs]
    everyone = np.unique(np.concatenate([truth.places for truth, _ in cases]))
    drawn = np.random.default_rng(seed).multinomial(len(everyone), np.full(len(everyone), 1 / len(everyone)), RESAMPLES)
    weights = np.vstack([np.ones((1, len(everyone)), np.float32), drawn.astype(np.float32)])  # the first row: as it is
    gaps = [
        np.subtract(*(_values(truth, path, metric, some) for path in (pair.first, pair.second)))
        for truth, pair in cases
        for some in [weights[:, np.searchsorted(everyone, truth.places)]]
    ]
    gap = np.mean(gaps, axis=0)
    low, high = np.quantile(gap[1:], (0.025, 0.975))
    return Difference(float(gap[0]), float(low), float(high))


def _values(truth: Truth, path: Path, metric: str, weights: Any) -> Any:
    """Return a metric under each row of weights, (n_resamples, n_examples)."""
    with np.load(path) as file:
        if metric.startswith("precision"):
            return weights @ file[metric] / weights.sum(axis=1)
        shape = tuple(file["shape"])
        decided = np.unpackbits(file[metric.removesuffix("-f1")], count=shape[0] * shape[1]).reshape(shape)
    decided = scipy.sparse.csr_array(decided.astype(np.float32))
    right = truth.labels.astype(np.float32)
    hits, both = decided.multiply(right).tocsr(), decided + right
    if metric == "micro-f1":
        hits, both = (_column(part.sum(axis=1)) for part in (hits, both))
    counts = weights @ hits, weights @ both  # (n_resamples, L or 1)
    f1 = np.divide(2 * counts[0], counts[1], out=np.zeros_like(counts[0]), where=counts[1] > 0)
    return f1.mean(axis=1)


def _column(sums: Any) -> Any:
    return np.asarray(sums, np.float32).reshape(-1, 1)
