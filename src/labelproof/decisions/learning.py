"""What rules and calibrations share: options, what was learned from labels and scores, and a file that keeps both.

Both are estimators in scikit-learn's sense: the constructor stores its options, ``fit`` returns the object itself, and
what was learned has a name that ends in ``_``.
"""

import os
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, ClassVar, Self

import numpy as np

from labelproof.decisions.inputs import Floats, read_pair
from labelproof.decisions.storage import read_record, write_record
from labelproof.errors import DataFormatError
from labelproof.metrics.arguments import Labels

__all__ = ["Learner"]


class Learner(ABC):
    """A dataclass of options that learns numbers and arrays from the labels and scores of examples.

    ``FORMAT`` is what its file says that it holds; ``LEARNED`` names what ``fit`` sets, with the number of its axes.
    """

    FORMAT: ClassVar[str]
    LEARNED: ClassVar[dict[str, int]] = {}
    __dataclass_fields__: ClassVar[dict[str, Any]]

    def fit(self, y_true: Any, y_score: Any) -> Self:
        """Learn what there is to learn from labels and scores; who learns nothing only checks them.

        Parameters
        ----------
        y_true
            Bool or 0/1 array, or scipy sparse matrix, (n_examples, n_labels).
        y_score
            Scores of that shape. They should come from data that the model was not trained on.

        Returns
        -------
        the object itself
        """
        self.check_options()
        self._fit(*read_pair(y_true, y_score))
        return self

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write options and what was learned to a JSON file, in one step: it is there complete, or as it was before."""
        write_record(self, path)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """Read an object of this class, or of one below it, from a file that ``save`` wrote."""
        found = read_record(path, cls.FORMAT, cls._storable())
        if not isinstance(found, cls):
            raise DataFormatError(f"{os.path.basename(path)}: expected {cls.__name__}, got {type(found).__name__}")
        return found

    def __sklearn_is_fitted__(self) -> bool:
        return all(hasattr(self, name) for name in self.LEARNED)

    def check(self) -> None:
        """Raise ValueError where options, or what was learned, make no sense."""
        self.check_options()
        for name, n_axes in self.LEARNED.items():
            value = np.asarray(getattr(self, name, 0 if n_axes == 0 else np.zeros((1,) * n_axes)))
            if value.ndim != n_axes or not value.size or not np.isfinite(value).all():
                raise ValueError(f"{name} must be finite numbers with {n_axes} axes, got shape {value.shape}")

    @abstractmethod
    def check_options(self) -> None:
        """Raise ValueError where an option makes no sense."""

    @classmethod
    @abstractmethod
    def _storable(cls) -> Sequence[type[Any]]:
        """Return the classes that may stand in a file of this format."""

    @abstractmethod
    def _fit(self, labels: Labels, scores: Floats) -> None: ...
