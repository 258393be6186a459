"""Which examples are held out together: by iterative stratification, groups kept together, or by time.

Every choice is made on scores of examples that the models have not seen. Where the scores of all examples would not fit
into memory, some examples are held out once, and the others are never scored.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from labelproof.data import Dataset
from labelproof.data.splits import iterative_stratification, split_by_group, split_by_time
from labelproof.training.recipe.menu import Material, ViewPlan

__all__ = ["Fold", "Folds", "fold_numbers"]

FEW = 3000  # examples below which there are five folds, not three
MOST_SCORES = 100_000_000  # of all examples and labels: 400 MB for each member that is tried
HELD_SCORES = 50_000_000  # of the examples that are held out once, where there are more


@dataclass(frozen=True, eq=False)
class Fold:
    """Features and labels to train on, and those held out; ``held`` are their places among all that are ever held."""

    features: Any
    labels: Any
    held: npt.NDArray[np.bool_]
    held_features: Any
    held_labels: Any


@dataclass(frozen=True, eq=False)
class Folds:
    """The training examples, and which of them are held out together.

    Attributes
    ----------
    material
        What views are made from.
    labels
        CSR array (n_examples, n_labels) of bool.
    numbers
        (n_examples,): the fold in which an example is held out, −1 for never.
    """

    material: Material
    labels: Any
    numbers: npt.NDArray[np.int64]

    @cached_property
    def truth(self) -> Any:
        """The labels of the examples that are ever held out, in the order of all scores."""
        return self.labels[self.numbers >= 0]

    @cached_property
    def parts(self) -> npt.NDArray[np.int64]:
        """Of the examples ever held out, which decide on which: the folds; of one fold every second example."""
        held = self.numbers[self.numbers >= 0]
        return held if held.max(initial=0) > 0 else np.arange(len(held)) % 2

    @property
    def n_folds(self) -> int:
        """How often a member is trained before it is trained on all examples."""
        return int(self.numbers.max()) + 1

    def views(self, plan: ViewPlan) -> list[Fold]:
        """Return the features of each fold, by a view that has learned from the others."""
        found, ever = [], self.numbers[self.numbers >= 0]
        for number in range(self.n_folds):
            held = self.numbers == number
            kept_rows, held_rows, labels = self.material.rows(~held), self.material.rows(held), self.labels[~held]
            view = plan.learned(kept_rows, labels)
            features = view.features(kept_rows), labels
            found.append(Fold(*features, ever == number, view.features(held_rows), self.labels[held]))
        return found

    def of_labels(self, some: npt.NDArray[np.int64]) -> Self:
        """Return the same folds with some of the labels."""
        return type(self)(self.material, self.labels[:, some], self.numbers)


def fold_numbers(training: Dataset, *, seed: int, times: Any = None) -> npt.NDArray[np.int64]:
    """Return the fold of every training example, counted from 0; there are five, or three of large data sets.

    Of very large ones some examples are in fold 0, and the others in none, −1. With times a fold is a stretch of time,
    and the examples that are held out once are the latest.

    Examples
    --------
    >>> data = Dataset(np.ones((20, 2), bool), ("a", "b"), features=np.zeros((20, 1)))
    >>> np.bincount(fold_numbers(data, seed=0)).tolist()
    [4, 4, 4, 4, 4]
    """
    n, n_labels = training.labels.shape
    if n * n_labels > MOST_SCORES:
        share = min(0.1, HELD_SCORES / (n * n_labels))
        return np.where(_divided(training, {"kept": 1 - share, "held": share}, seed, times) == "held", 0, -1)
    n_folds = min(5 if n < FEW else 3, n)
    names = _divided(training, {str(fold): 1.0 for fold in range(n_folds)}, seed, times)
    numbers = np.unique(names, return_inverse=True)[1]
    return np.asarray(numbers, np.int64)


def _divided(training: Dataset, parts: dict[str, float], seed: int, times: Any) -> npt.NDArray[np.str_]:
    if times is not None:
        names = split_by_time(times, parts)
        if len(set(names.tolist())) == len(parts):  # else there are too few times
            return names
    names = iterative_stratification(training.labels, parts, groups=training.groups, seed=seed)
    if len(set(names.tolist())) < len(parts) and training.groups is not None:
        names = split_by_group(training.groups, parts, seed=seed)
    return names
