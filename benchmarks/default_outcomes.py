"""What a method answered for the test examples of a data set: its values, there and in resamples of the examples.

Resamples are those of the paired bootstrap, the same for all methods: every example of the data set has a number of
Poisson's law with mean 1 in each, so that they do not depend on which of the examples are the test part. All that is
kept of an answer is its values in them, to a hundredth of a point; a file of a few kilobytes a data set and method.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse

from labelproof.metrics import by_name

__all__ = ["METRICS", "RESAMPLES", "Outcome", "load_resampled", "precisions", "resampled", "save_resampled"]

METRICS = ("micro-f1", "macro-f1", "precision@1", "precision@5")
RESAMPLES, FINENESS = 1000, 10_000


@dataclass(frozen=True, eq=False)
class Outcome:
    """For each metric what serves it: label sets for the F1s, rankings for the precisions."""

    micro: Any  # bool (n, L)
    macro: Any  # bool (n, L)
    first: Any  # scores (n, L), for precision@1
    fifth: Any  # scores (n, L), for precision@5

    def values(self, labels: Any) -> dict[str, float]:
        """Return the four metrics."""
        outputs = (self.micro, self.macro, self.first, self.fifth)
        return {name: float(by_name(name)(labels, output)) for name, output in zip(METRICS, outputs, strict=True)}


def resampled(outcome: Outcome, labels: Any, places: Any, n_all: int) -> Any:
    """Return float32 (4, RESAMPLES): the metrics in the resamples; places are those of the test examples among all."""
    weights = np.random.default_rng(0).poisson(1.0, (RESAMPLES, n_all)).astype(np.uint8)[:, places].astype(np.float32)
    right = scipy.sparse.csr_array(labels).astype(np.float32)
    found = []
    for decided, each in ((outcome.micro, False), (outcome.macro, True)):
        given = scipy.sparse.csr_array(np.asarray(decided, np.float32))
        hits, both = given.multiply(right).tocsr(), given + right
        if not each:
            hits, both = (np.asarray(part.sum(axis=1), np.float32).reshape(-1, 1) for part in (hits, both))
        counts = weights @ hits, weights @ both  # (RESAMPLES, L or 1)
        f1 = np.divide(2 * counts[0], counts[1], out=np.zeros_like(counts[0]), where=counts[1] > 0)
        found.append(f1.mean(axis=1))
    for k, scores in ((1, outcome.first), (5, outcome.fifth)):
        found.append(weights @ precisions(labels, scores, k).astype(np.float32) / weights.sum(axis=1))
    return np.stack(found)


def save_resampled(path: Path, name: str, values: Any) -> None:
    """Put a method's values into the file of a data set, in the place of earlier ones."""
    there = dict(np.load(path)) if path.exists() else {}
    there[name] = np.round(values * FINENESS).astype(np.int16)
    np.savez_compressed(path, **there)


def load_resampled(path: Path, name: str) -> Any:
    """Return what `save_resampled` put there."""
    with np.load(path) as file:
        return file[name].astype(np.float64) / FINENESS


def precisions(labels: Any, scores: Any, k: int) -> Any:
    """Return the precision at k of each example, the mean over the orders of equal scores, as the metric has it.

    >>> precisions(scipy.sparse.csr_array([[1, 0, 0, 1]]), np.array([[0.9, 0.8, 0.1, 0.1]]), 3).round(6).tolist()
    [0.5]
    """
    truth = labels.toarray().astype(bool)
    scores = np.asarray(scores)
    border = -np.partition(-scores, k - 1, axis=1)[:, k - 1 : k]  # (n, 1)
    above, tied = scores > border, scores == border
    left = k - above.sum(axis=1)
    return ((truth & above).sum(axis=1) + left * (truth & tied).sum(axis=1) / tied.sum(axis=1)) / k
