"""Which examples are held out together: by iterative stratification, groups kept together, or in the order of time."""

import numpy as np
import numpy.typing as npt

from labelproof.data import Dataset
from labelproof.data.splits import iterative_stratification, split_by_group

__all__ = ["fold_numbers"]

FEW = 3000  # examples below which there are five folds, not three


def fold_numbers(training: Dataset, *, seed: int) -> npt.NDArray[np.int64]:
    """Return the fold of every training example, counted from 0; there are five, or three of large data sets.

    Examples
    --------
    >>> data = Dataset(np.ones((20, 2), bool), ("a", "b"), features=np.zeros((20, 1)))
    >>> np.bincount(fold_numbers(data, seed=0)).tolist()
    [4, 4, 4, 4, 4]
    """
    n = len(training)
    n_folds = min(5 if n < FEW else 3, n)
    parts = {str(fold): 1.0 for fold in range(n_folds)}
    names = iterative_stratification(training.labels, parts, groups=training.groups, seed=seed)
    if len(set(names.tolist())) < n_folds and training.groups is not None:
        names = split_by_group(training.groups, parts, seed=seed)
    numbers = np.unique(names, return_inverse=True)[1]
    return np.asarray(numbers, np.int64)
