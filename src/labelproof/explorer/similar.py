"""The label sets of the data by what they have in common with a given one."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import scipy.sparse

from labelproof.auditing.label_sets import distinct_sets
from labelproof.proof.labels import LabelSets

__all__ = ["SetIndex", "Similar"]

Indices = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Similar:
    """A label set of the data.

    Attributes
    ----------
    labels
        Ascending.
    similarity
        Jaccard's: labels in both sets over labels in either.
    count
        How many examples have the set.
    """

    labels: tuple[int, ...]
    similarity: float
    count: int


class SetIndex:
    """An inverted index of the distinct label sets of a data set.

    Examples
    --------
    >>> from labelproof.proof.labels import read_label_sets
    >>> index = SetIndex(read_label_sets([[0, 1], [0, 1], [1, 2], [3]], n_labels=4))
    >>> index.similar((0, 1), 2)
    [Similar(labels=(0, 1), similarity=1.0, count=2), Similar(labels=(1, 2), similarity=0.3333333333333333, count=1)]
    >>> index.count((0, 1)), index.count((0, 3)), index.label_counts
    (2, 0, array([2, 3, 1, 1]))
    """

    def __init__(self, sets: LabelSets) -> None:
        self.n_examples = len(sets)
        self._sets, self._counts = distinct_sets(sets)  # the most frequent first
        self._numbers = {active.tobytes(): i for i, active in enumerate(self._sets)}
        self._sizes = np.diff(self._sets.indptr)
        shape = (len(self._sets), sets.n_labels)
        ones = np.ones(len(self._sets.indices), np.int8)
        self._holders = scipy.sparse.csr_array((ones, self._sets.indices, self._sets.indptr), shape=shape).tocsc()

    @property
    def n_distinct(self) -> int:
        """Number of different label sets."""
        return len(self._sets)

    @property
    def label_counts(self) -> Indices:
        """int64 (n_labels,): how many examples have each label."""
        each = np.repeat(self._counts, self._sizes)
        return np.bincount(self._sets.indices, weights=each, minlength=self._sets.n_labels).astype(np.int64)

    def count(self, labels: tuple[int, ...]) -> int:
        """Return how many examples have this label set, given in ascending order."""
        number = self._numbers.get(np.array(labels, np.int64).tobytes())
        return 0 if number is None else int(self._counts[number])

    def similar(self, labels: tuple[int, ...], limit: int) -> list[Similar]:
        """Return the most similar sets, frequent ones first among equals; for the empty set the most frequent ones."""
        if not labels:
            return [self._similar(i, float(self._sizes[i] == 0)) for i in range(min(limit, len(self._sets)))]
        holders = [self._holders.indices[self._holders.indptr[j] : self._holders.indptr[j + 1]] for j in labels]
        who, shared = np.unique(np.concatenate(holders), return_counts=True)
        similarity = shared / (len(labels) + self._sizes[who] - shared)
        best = np.lexsort((who, -similarity))[:limit]
        return [self._similar(int(who[k]), float(similarity[k])) for k in best]

    def _similar(self, i: int, similarity: float) -> Similar:
        return Similar(tuple(self._sets[i].tolist()), similarity, int(self._counts[i]))
