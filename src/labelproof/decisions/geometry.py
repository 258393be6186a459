"""How the label sets of a rule look to `labelproof.verify`."""

from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt
from scipy.special import logit

from labelproof.decisions.inputs import ScoreKind

__all__ = ["Geometry"]


@dataclass(frozen=True, eq=False)
class Geometry:
    """The system of inequalities that a rule's label sets satisfy, as `labelproof.verify` names it.

    Attributes
    ----------
    rule
        "sigmoid": label j is active iff its score exceeds ``thresholds[j]``. "topk": the active labels have larger
        scores than the others. "sparsemax": they are the support of sparsemax(temperature · z).
    thresholds
        float64 (n_labels,), or of shape () for one that all labels share; None for the other two.
    scores
        "logits": thresholds are cuts θ on logits. "probabilities": they are t in (0, 1), cuts on the sigmoid of
        logits. None: the rule was not told, and cuts scores as they come.
    temperature
        The t of "sparsemax", else None.
    size
        The number of active labels where it is the same for all examples, else None.
    exact
        Whether scores that satisfy the system give the label set. False: the system is necessary only, so that what
        it excludes is never predicted, but what it allows need not be.

    Examples
    --------
    >>> from labelproof.decisions import TopK
    >>> found = TopK(3).geometry
    >>> found.rule, found.size, found.exact
    ('topk', 3, True)
    """

    rule: Literal["sigmoid", "topk", "sparsemax"]
    thresholds: npt.NDArray[np.float64] | None = None
    scores: ScoreKind | None = None
    temperature: float | None = None
    size: int | None = None
    exact: bool = True

    def logit_cuts(self, n_labels: int) -> npt.NDArray[np.float64]:
        """Return the cuts θ on logits, (n_labels,): cuts on logits as they are, the logit of cuts on probabilities.

        Examples
        --------
        >>> Geometry("sigmoid", np.array(0.5), "probabilities").logit_cuts(2)
        array([0., 0.])
        """
        if self.thresholds is None or self.scores is None:
            lacking = "thresholds" if self.thresholds is None else "scores='logits' or scores='probabilities'"
            raise ValueError(f"the rule must have {lacking} to cut logits, got None")
        theta = self.thresholds
        if theta.shape not in ((), (n_labels,)):
            raise ValueError(f"thresholds must be one, or one for each of {n_labels} labels, got shape {theta.shape}")
        if self.scores == "probabilities":
            wrong = theta[(theta <= 0) | (theta >= 1)]
            if wrong.size:
                raise ValueError(f"thresholds on probabilities must be between 0 and 1, got {wrong.flat[0]}")
            theta = logit(theta)
        return np.array(np.broadcast_to(theta, (n_labels,)))
