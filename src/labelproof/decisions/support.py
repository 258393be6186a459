"""The support of sparsemax as a rule, with a temperature that is tuned exactly.

Label j of an example with scores z is in the support of sparsemax(t·z) iff t · Σ_l max(z_l − z_j, 0) < 1. The sum is
the label's *depth* in the example. So the support is a global threshold of the negated depths at −1/t, and the best t
is found as the best global threshold is.
"""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from labelproof.decisions import cut_kernels
from labelproof.decisions.geometry import Geometry
from labelproof.decisions.inputs import Floats, Labels, by_blocks, row_blocks
from labelproof.decisions.options import require_number
from labelproof.decisions.rules import Bools, Rule
from labelproof.decisions.tuning import global_threshold, set_metric

__all__ = ["SparsemaxSupport", "depths"]


@dataclass(eq=False)
class SparsemaxSupport(Rule):
    """The labels to which sparsemax(t·z) gives a positive probability: at least one for each example.

    Parameters
    ----------
    t
        Inverse temperature: the larger, the fewer labels. None: ``fit`` finds it.
    metric
        What ``fit`` maximises, as in `Threshold`.

    Attributes
    ----------
    t_ : float
        The tuned t.
    geometry : Geometry
        "sparsemax" with the temperature t, on logits.

    Examples
    --------
    >>> SparsemaxSupport(1.0).decide([[2.0, 1.5, 0.0]]).tolist()
    [[True, True, False]]
    >>> SparsemaxSupport(3.0).decide([[2.0, 1.5, 0.0]]).tolist()
    [[True, False, False]]
    """

    t: float | None = None
    metric: str = "micro-f1"
    LEARNED: ClassVar[dict[str, int]] = {"t_": 0}

    def check_options(self) -> None:
        """Raise ValueError where an option makes no sense."""
        if self.t is not None:
            require_number("t", self.t, low=0, above=True)
        set_metric(self.metric)

    def check(self) -> None:
        """Raise ValueError where options, or what was learned, make no sense."""
        super().check()
        if hasattr(self, "t_"):
            require_number("t_", self.t_, low=0, above=True)

    def __sklearn_is_fitted__(self) -> bool:
        return self.t is not None or hasattr(self, "t_")

    @property
    def geometry(self) -> Geometry | None:
        """Return "sparsemax" with the temperature; None before it is known."""
        if not self.__sklearn_is_fitted__():
            return None
        return Geometry("sparsemax", scores="logits", temperature=self._temperature)

    @property
    def _temperature(self) -> float:
        return float(self.t_ if self.t is None else self.t)

    def _fit(self, labels: Labels, scores: Floats) -> None:
        self.t_ = _tuned(labels, scores, self.metric) if self.t is None else float(self.t)

    def _decide(self, scores: Floats) -> Bools:
        ordered = np.sort(scores, axis=1)[:, ::-1].astype(np.float64)
        ranks = np.arange(1, scores.shape[1])
        depth = np.cumsum(ranks * (ordered[:, :-1] - ordered[:, 1:]), axis=1)
        lowest = (self._temperature * depth < 1).sum(axis=1, keepdims=True)  # rank of the last label that is in
        return scores >= np.take_along_axis(ordered, lowest, axis=1)


def depths(scores: Floats) -> npt.NDArray[np.float64]:
    """Return Σ_l max(z_l − z_j, 0) for each label j of each example, (n_examples, n_labels).

    Examples
    --------
    >>> depths(np.array([[2.0, 1.5, 0.0]]))
    array([[0. , 0.5, 3.5]])
    """
    result = np.empty(scores.shape)

    def work(block: slice) -> None:
        cut_kernels.support_depths(scores[block], np.argsort(-scores[block], axis=1), result[block])

    by_blocks(work, row_blocks(scores.shape, most_cells=2**22))
    return result


def _tuned(labels: Labels, scores: Floats, metric: str) -> float:
    deep = depths(scores)
    if not deep.any():
        return 1.0  # all scores of each example are equal: any t gives all labels
    threshold = -global_threshold(labels, -deep, metric, highest=0.0)  # depth < threshold; depth 0 is always in
    deepest = float(deep.max())
    return 1 / (2 * deepest if threshold > deepest else threshold)  # well beyond it where all labels are best
