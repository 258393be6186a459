"""What all decision rules share: label sets from scores, and the geometry that a verifier needs."""

import os
from abc import abstractmethod
from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
import scipy.sparse

from labelproof.decisions.calibration import Calibration
from labelproof.decisions.geometry import Geometry
from labelproof.decisions.inputs import Floats, by_blocks, read_finite, row_blocks
from labelproof.decisions.learning import Learner

__all__ = ["Bools", "Rule", "load_rule"]

Bools = npt.NDArray[np.bool_]
SPARSE_BLOCK = 2**22  # scores that are decided at a time when the answer is sparse


class Rule(Learner):
    """A decision rule: scores (n_examples, n_labels) to label sets.

    Examples
    --------
    >>> from labelproof.decisions import Threshold
    >>> rule = Threshold(metric="micro-f1").fit([[1, 0], [0, 1]], [[0.4, 0.1], [0.2, 0.3]])
    >>> rule.decide([[0.9, 0.0]])
    array([[ True, False]])
    """

    FORMAT: ClassVar[str] = "labelproof decision rule"

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

    def __str__(self) -> str:
        learned = [name for name, n_axes in self.LEARNED.items() if n_axes == 0 and hasattr(self, name)]
        return "; ".join([repr(self), *(f"{name} = {getattr(self, name):.6g}" for name in learned)])

    @classmethod
    def _storable(cls) -> Sequence[type[Any]]:
        return [*Rule.__subclasses__(), *Calibration.__subclasses__()]

    def _check_width(self, n_labels: int) -> None:  # most rules take any number
        """Refuse scores of another number of labels than the rule was fitted to, where that matters."""

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
