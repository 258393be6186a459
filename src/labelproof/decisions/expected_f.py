"""The label set with the largest expected Fβ when labels are independent given the example.

Among sets of k labels the k most probable are best, so that only k is to be found: `cut_kernels.expected_f_sizes` has
the programme, which costs O(n_labels · s) for the distribution of the number of labels and O(s) for each k, where s is
the number of labels that an example can have but for a chance of 10⁻¹².
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from labelproof.decisions import cut_kernels
from labelproof.decisions.geometry import Geometry
from labelproof.decisions.inputs import Floats, Labels, ScoreKind, require_probabilities, to_probabilities
from labelproof.decisions.options import require_number, require_score_kind
from labelproof.decisions.ranking import largest
from labelproof.decisions.rules import Bools, Rule

__all__ = ["ExpectedF", "best_sizes"]

TAIL = 1e-12


@dataclass(eq=False)
class ExpectedF(Rule):
    """The label set whose expected Fβ with the example's true set is largest, the empty set included.

    Exact under independence of the labels given the scores, up to 2·10⁻¹² in the expectation: the chance that an
    example has more labels than the programme follows. ``fit`` learns nothing; calibrate the scores first if they are
    no probabilities.

    Parameters
    ----------
    beta
        Weight of recall against precision.
    scores
        "logits" (the sigmoid is taken) or "probabilities"; there is no default, since a wrong guess cannot be seen.
    both_empty
        What Fβ is where neither the prediction nor the truth has a label: 1, or 0 as scikit-learn counts it. The
        larger, the more often the empty set is chosen.

    Attributes
    ----------
    geometry : Geometry
        "topk", not exact: the active labels have the largest scores, but how many they are depends on all scores in a
        way that is no linear system.

    Examples
    --------
    >>> ExpectedF(1.0, scores="probabilities").decide([[0.9, 0.2, 0.1], [0.1, 0.1, 0.1]]).tolist()
    [[True, False, False], [False, False, False]]
    """

    beta: float
    scores: ScoreKind
    both_empty: float = 1.0

    def check_options(self) -> None:
        """Raise ValueError where an option makes no sense."""
        require_number("beta", self.beta, low=0, above=True)
        require_score_kind(self.scores, needed=True)
        require_number("both_empty", self.both_empty, low=0, high=1)

    @property
    def geometry(self) -> Geometry:
        """Return "topk", which is necessary only."""
        return Geometry("topk", exact=False)

    def _fit(self, _labels: Labels, scores: Floats) -> None:
        require_probabilities(scores, self.scores)

    def _decide(self, scores: Floats) -> Bools:
        p = to_probabilities(scores, self.scores)
        return largest(p, best_sizes(p, self.beta, both_empty=self.both_empty)[0])


def best_sizes(
    p: npt.NDArray[np.float64], beta: float, *, both_empty: float = 1.0
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.float64]]:
    """Return how many of the most probable labels to predict for each example, and the expected Fβ of that.

    Parameters
    ----------
    p
        Probabilities of the labels, (n_examples, n_labels).
    beta
        Weight of recall against precision.
    both_empty
        What Fβ is where neither the prediction nor the truth has a label.

    Returns
    -------
    sizes, values
        int64 and float64 (n_examples,). Of equal values the smallest size.

    Examples
    --------
    >>> sizes, values = best_sizes(np.array([[0.5, 0.5]]), 1.0)
    >>> sizes, values.round(4)
    (array([2]), array([0.5833]))
    """
    descending = np.ascontiguousarray(np.sort(p, axis=1)[:, ::-1])
    sizes, values = np.zeros(len(p), np.int64), np.zeros(len(p))
    cut_kernels.expected_f_sizes(descending, float(beta) ** 2, float(both_empty), TAIL, sizes, values)
    return sizes, values
