"""What all decision rules share: fit, decide, save, load, and the geometry that a verifier needs.

A rule is an estimator in scikit-learn's sense: the constructor stores its options, ``fit`` returns the rule itself, and
what was learned has a name that ends in ``_``.
"""

import os
from abc import ABC, abstractmethod
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt
import scipy.sparse

from labelproof.decisions.calibration import Calibration
from labelproof.decisions.geometry import Geometry
from labelproof.decisions.inputs import Floats, Labels, by_blocks, read_finite, read_pair, row_blocks
from labelproof.decisions.storage import read_record, write_record
from labelproof.errors import DataFormatError

__all__ = ["Bools", "Rule", "load_rule"]

Bools = npt.NDArray[np.bool_]
SPARSE_BLOCK = 2**22  # scores that are decided at a time when the answer is sparse


class Rule(ABC):
    """A decision rule: scores (n_examples, n_labels) to label sets.

    Subclasses are dataclasses whose fields are the options; ``LEARNED`` names what ``fit`` sets, with the number of
    axes of each.

    Examples
    --------
    >>> from labelproof.decisions import Threshold
    >>> rule = Threshold(metric="micro-f1").fit([[1, 0], [0, 1]], [[0.4, 0.1], [0.2, 0.3]])
    >>> rule.decide([[0.9, 0.0]])
    array([[ True, False]])
    """

    FORMAT: ClassVar[str] = "labelproof decision rule"
    LEARNED: ClassVar[dict[str, int]] = {}
    __dataclass_fields__: ClassVar[dict[str, Any]]

    def fit(self, y_true: Any, y_score: Any) -> Self:
        """Learn what the rule has to learn from labels and scores; a rule that learns nothing only checks them.

        Parameters
        ----------
        y_true
            Bool or 0/1 array, or scipy sparse matrix, (n_examples, n_labels).
        y_score
            Scores of that shape. They should come from data that the model was not trained on.

        Returns
        -------
        the rule itself
        """
        self.check_options()
        self._fit(*read_pair(y_true, y_score))
        return self

    def decide(self, y_score: Any, *, sparse: bool = False) -> Any:
        """Return the label sets of examples.

        Parameters
        ----------
        y_score
            Scores, (n_examples, n_labels).
        sparse
            Return a CSR array, decided block by block: for many labels.

        Returns
        -------
        bool array, or scipy CSR array of bool, (n_examples, n_labels)
        """
        self.check()
        if not self.__sklearn_is_fitted__():
            raise ValueError(f"{type(self).__name__} must be fitted before it decides: call fit(y_true, y_score)")
        scores = read_finite(y_score)
        self._check_width(scores.shape[1])
        return self._decide_blocks(scores, sparse=sparse)

    @property
    def geometry(self) -> Geometry | None:
        """How the rule's label sets look to `labelproof.verify`; None where its systems do not describe them."""
        return None

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the rule to a JSON file, in one step: it is there complete, or as it was before."""
        write_record(self, path)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """Read a rule of this class (of any class, as ``Rule.load``) from a file that ``save`` wrote."""
        rule = read_record(path, Rule.FORMAT, [*Rule.__subclasses__(), *Calibration.__subclasses__()])
        if not isinstance(rule, cls):
            raise DataFormatError(f"{os.path.basename(path)}: expected {cls.__name__}, got {type(rule).__name__}")
        return rule

    def __str__(self) -> str:
        learned = [name for name, n_axes in self.LEARNED.items() if n_axes == 0 and hasattr(self, name)]
        return "; ".join([repr(self), *(f"{name} = {getattr(self, name):.6g}" for name in learned)])

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

    def _check_width(self, n_labels: int) -> None:  # noqa: B027 # most rules take any number
        """Refuse scores of another number of labels than the rule was fitted to, where that matters."""

    @abstractmethod
    def _fit(self, labels: Labels, scores: Floats) -> None: ...

    @abstractmethod
    def _decide(self, scores: Floats) -> Bools: ...

    def _decide_blocks(self, scores: Floats, *, sparse: bool) -> Any:
        """Decide examples block by block, in threads."""
        if sparse:
            blocks = row_blocks(scores.shape, most_cells=SPARSE_BLOCK)
            parts = by_blocks(lambda block: scipy.sparse.csr_array(self._decide(scores[block])), blocks)
            return scipy.sparse.vstack(parts, format="csr")
        active = np.empty(scores.shape, np.bool_)

        def work(block: slice) -> None:
            active[block] = self._decide(scores[block])

        by_blocks(work, row_blocks(scores.shape))
        return active


def load_rule(path: str | os.PathLike[str]) -> Rule:
    """Read any rule from a file that ``save`` wrote.

    Parameters
    ----------
    path
        Of the JSON file.

    Examples
    --------
    >>> import tempfile
    >>> from labelproof.decisions import TopK
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     TopK(3).save(f"{folder}/rule.json")
    ...     load_rule(f"{folder}/rule.json")
    TopK(k=3)
    """
    return Rule.load(path)
