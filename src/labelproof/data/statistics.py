"""The figures that describe a multi-label data set."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse

from labelproof.data.dataset import Dataset

__all__ = ["Statistics", "describe"]


@dataclass(frozen=True)
class Statistics:
    """What `describe` measures.

    Parameters
    ----------
    n_examples, n_labels, n_features
        Their numbers; 0 features where there are none.
    cardinality
        Mean number of labels of an example.
    density
        Share of active entries, cardinality / n_labels.
    k
        The most labels of one example.
    n_distinct
        Number of distinct label sets, the empty one included if it occurs.
    n_single
        Number of label sets that only one example has.
    n_empty
        Number of examples without labels.
    n_unused
        Number of labels that no example has.
    frequency
        Examples of a label: least, lower quartile, median, upper quartile, most.
    most_frequent
        The ten labels with most examples, and their numbers.
    parts
        Number of examples in each part of the split.
    n_missing, n_gappy
        How many features of examples are missing (NaN), and how many columns have any.

    Examples
    --------
    >>> describe(Dataset([[1, 0], [1, 1]], ("bird", "cat"))).most_frequent
    {'bird': 2, 'cat': 1}
    """

    n_examples: int
    n_labels: int
    n_features: int
    cardinality: float
    density: float
    k: int
    n_distinct: int
    n_single: int
    n_empty: int
    n_unused: int
    frequency: tuple[int, int, int, int, int]
    most_frequent: Mapping[str, int]
    parts: Mapping[str, int]
    n_missing: int = 0
    n_gappy: int = 0

    def to_dict(self) -> dict[str, Any]:
        """Return the figures as plain Python values."""
        return asdict(self)


def describe(data: Dataset) -> Statistics:
    """Measure a data set.

    Parameters
    ----------
    data
        With labels (n_examples, n_labels).

    Examples
    --------
    >>> data = Dataset([[1, 0, 0], [1, 1, 0], [0, 0, 0], [1, 1, 0]], ("bird", "cat", "dog"))
    >>> figures = describe(data)
    >>> figures.cardinality, figures.k, figures.n_distinct, figures.n_empty, figures.n_unused
    (1.25, 2, 3, 1, 1)
    """
    sizes, counts, sets = np.diff(data.labels.indptr), data.label_counts(), _distinct_label_sets(data)
    mean = float(sizes.mean()) if len(data) else 0.0
    quartiles = np.percentile(counts, [0, 25, 50, 75, 100], method="lower") if data.n_labels else np.zeros(5)
    most = np.argsort(-counts, kind="stable")[:10].tolist()
    gaps = _missing_by_column(data.features)
    return Statistics(
        n_examples=len(data),
        n_labels=data.n_labels,
        n_features=data.n_features,
        cardinality=mean,
        density=mean / data.n_labels if data.n_labels else 0.0,
        k=int(sizes.max(initial=0)),
        n_distinct=len(sets),
        n_single=sum(count == 1 for count in sets.values()),
        n_empty=int((sizes == 0).sum()),
        n_unused=int((counts == 0).sum()),
        frequency=tuple(int(value) for value in quartiles),  # type: ignore[arg-type]
        most_frequent={data.label_names[i]: int(counts[i]) for i in most},
        parts={} if data.split is None else dict(Counter(data.split.tolist())),
        n_missing=int(gaps.sum()),
        n_gappy=int((gaps > 0).sum()),
    )


def _missing_by_column(features: Any) -> npt.NDArray[np.int64]:
    """Return how many values of each column are NaN."""
    if features is None or features.dtype.kind != "f":
        return np.zeros(0, np.int64)
    if scipy.sparse.issparse(features):
        return np.bincount(features.indices[np.isnan(features.data)], minlength=features.shape[1])
    return np.isnan(features).sum(axis=0)


def _distinct_label_sets(data: Dataset) -> Counter[bytes]:
    """Return how many examples have each label set, which is given as the bytes of its label numbers (int32)."""
    flat = np.ascontiguousarray(data.labels.indices, np.int32).tobytes()
    return Counter(flat[4 * a : 4 * b] for a, b in pairwise(data.labels.indptr.tolist()))
