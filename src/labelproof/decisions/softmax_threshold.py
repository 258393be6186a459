"""A threshold on softmax probabilities: the rule of models that are trained to spread one unit over the labels."""

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from scipy.special import log_softmax

from labelproof.decisions.inputs import Floats, Labels
from labelproof.decisions.options import require_number
from labelproof.decisions.rules import Bools, Rule
from labelproof.decisions.tuning import global_threshold, set_metric

__all__ = ["SoftmaxThreshold"]


@dataclass(eq=False)
class SoftmaxThreshold(Rule):
    """The labels whose softmax probability, among all labels of the example, exceeds one threshold.

    The scores must be logits. What a label needs depends on the others' logits, so that this is no threshold of logits,
    and `labelproof.verify` has no system for it.

    Parameters
    ----------
    threshold
        A probability. None: ``fit`` finds it.
    metric
        What ``fit`` maximises, as in `Threshold`.

    Attributes
    ----------
    log_threshold_ : float
        Logarithm of the tuned threshold.

    Examples
    --------
    >>> SoftmaxThreshold(0.3).decide([[2.0, 2.0, 0.0], [4.0, 2.0, 0.0]]).tolist()
    [[True, True, False], [True, False, False]]
    """

    threshold: float | None = None
    metric: str = "micro-f1"
    LEARNED: ClassVar[dict[str, int]] = {"log_threshold_": 0}

    def check_options(self) -> None:
        """Raise ValueError where an option makes no sense."""
        if self.threshold is not None:
            require_number("threshold", self.threshold, low=0, above=True, high=1)
        set_metric(self.metric)

    def __sklearn_is_fitted__(self) -> bool:
        return self.threshold is not None or hasattr(self, "log_threshold_")

    def _fit(self, labels: Labels, scores: Floats) -> None:
        if self.threshold is None:
            self.log_threshold_ = float(global_threshold(labels, _log_probabilities(scores), self.metric))

    def _decide(self, scores: Floats) -> Bools:
        cut = self.log_threshold_ if self.threshold is None else math.log(self.threshold)
        return _log_probabilities(scores) > cut


def _log_probabilities(scores: Floats) -> Floats:
    found: Floats = np.asarray(log_softmax(scores.astype(np.float64), axis=1))
    return found
