"""Rules that cut scores: a label is active iff its score exceeds a threshold.

They work on scores of any kind. The option ``scores`` says what kind it is, which only `labelproof.verify` needs.
"""

from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np
import numpy.typing as npt

from labelproof.decisions import cut_kernels
from labelproof.decisions.cuts import thresholds_at
from labelproof.decisions.geometry import Geometry
from labelproof.decisions.inputs import Floats, Labels, ScoreKind
from labelproof.decisions.options import require_number, require_score_kind
from labelproof.decisions.rules import Bools, Rule
from labelproof.decisions.tuning import global_threshold, per_label_cuts, require_separable, set_metric
from labelproof.foundation.arguments import check_choice, whole_number

__all__ = ["PerLabelThreshold", "Threshold", "ThresholdAveraging", "require_width"]


@dataclass(eq=False)
class Threshold(Rule):
    """One threshold for all labels: given, or tuned for a metric.

    Parameters
    ----------
    threshold
        A label is active iff its score is larger. None: ``fit`` finds it.
    metric
        What ``fit`` maximises (minimises, for a loss): any metric of label sets. Exact for micro averages and the
        Hamming loss; for others the best of up to 2,048 candidates (128 for averages over examples), which are all
        that matter where positives have no more distinct scores than that.
    scores
        "logits" or "probabilities", for `geometry`; None if neither.

    Attributes
    ----------
    threshold_ : float
        Half way between the lowest score that is predicted and the next lower one.
    geometry : Geometry
        "sigmoid" with this one threshold.

    Examples
    --------
    >>> y_true, y_score = [[1, 0], [1, 1]], [[0.7, 0.2], [0.6, 0.4]]
    >>> rule = Threshold(metric="micro-f1").fit(y_true, y_score)
    >>> round(rule.threshold_, 3), rule.decide(y_score).tolist()
    (0.3, [[True, False], [True, True]])
    >>> Threshold(0.5).decide(y_score).tolist()
    [[True, False], [True, False]]
    """

    threshold: float | None = None
    metric: str = "micro-f1"
    scores: ScoreKind | None = None
    LEARNED: ClassVar[dict[str, int]] = {"threshold_": 0}

    def check_options(self) -> None:
        """Raise ValueError where an option makes no sense."""
        if self.threshold is not None:
            require_number("threshold", self.threshold)
        set_metric(self.metric)
        require_score_kind(self.scores, needed=False)

    def __sklearn_is_fitted__(self) -> bool:
        return self.threshold is not None or hasattr(self, "threshold_")

    @property
    def geometry(self) -> Geometry | None:
        """Return "sigmoid" with one threshold; None before it is known."""
        if not self.__sklearn_is_fitted__():
            return None
        return Geometry("sigmoid", np.array(self._cut, np.float64), self.scores)

    @property
    def _cut(self) -> float:
        return float(self.threshold_ if self.threshold is None else self.threshold)

    def _fit(self, labels: Labels, scores: Floats) -> None:
        found = global_threshold(labels, scores, self.metric) if self.threshold is None else self.threshold
        self.threshold_ = float(found)

    def _decide(self, scores: Floats) -> Bools:
        return scores > np.array([self._cut])  # an array, so that float32 scores are compared as float64


@dataclass(eq=False)
class PerLabelThreshold(Rule):
    """One threshold for each label, tuned exactly; bare, it maximises the F1 of each label.

    Parameters
    ----------
    metric
        "macro-f1" and other macro or weighted averages: each label by itself. "micro-f1" (any β), "micro-jaccard",
        "micro-accuracy" and "hamming-loss": all labels together. The optimum on the data of ``fit`` is exact.
    min_positives
        Labels with fewer positives get the fallback.
    min_value
        Labels whose own best value (F1, for micro-f1 and macro-f1) is below this get the fallback too, as in SCutFBR.
    fallback
        "highest": the label's highest score in the data of ``fit``, so that only a higher one is predicted. "global":
        the one threshold that is best for all labels.
    shrinkage
        The threshold of a label with m positives is pulled towards the global one, (m t + shrinkage t_global) /
        (m + shrinkage): the number of positives at which both weigh the same. 0: not at all.
    scores
        "logits" or "probabilities", for `geometry`; None if neither.

    Attributes
    ----------
    thresholds_ : float64 array (n_labels,)
        Half way between the lowest score that is predicted and the next lower one of the label. A label without
        positives has its highest score.
    geometry : Geometry
        "sigmoid" with these thresholds.

    Examples
    --------
    >>> y_true, y_score = [[1, 0], [1, 1], [0, 0]], [[3.0, -2.0], [1.0, -1.0], [0.0, -4.0]]
    >>> PerLabelThreshold().fit(y_true, y_score).thresholds_
    array([ 0.5, -1.5])
    """

    metric: str = "macro-f1"
    min_positives: int = 0
    min_value: float = 0.0
    fallback: Literal["highest", "global"] = "highest"
    shrinkage: float = 0.0
    scores: ScoreKind | None = None
    LEARNED: ClassVar[dict[str, int]] = {"thresholds_": 1}

    def check_options(self) -> None:
        """Raise ValueError where an option makes no sense."""
        require_separable(self.metric)
        whole_number("min_positives", self.min_positives, minimum=0)
        require_number("min_value", self.min_value, low=0, high=1)
        check_choice("fallback", self.fallback, ("highest", "global"))
        require_number("shrinkage", self.shrinkage, low=0)
        require_score_kind(self.scores, needed=False)

    @property
    def geometry(self) -> Geometry | None:
        """Return "sigmoid" with one threshold for each label; None before ``fit``."""
        return Geometry("sigmoid", self.thresholds_, self.scores) if hasattr(self, "thresholds_") else None

    def _fit(self, labels: Labels, scores: Floats) -> None:
        lowest, values = per_label_cuts(labels, scores, self.metric)
        positives = np.bincount(labels.indices, minlength=scores.shape[1])
        unsafe = (positives < self.min_positives) | (values < self.min_value)
        thresholds = thresholds_at(scores, np.where(unsafe, np.inf, lowest))  # ∞: the highest score
        if self.shrinkage > 0 or (self.fallback == "global" and unsafe.any()):
            shared = global_threshold(labels, scores, self.metric)
            weight = positives / np.maximum(positives + self.shrinkage, 1)  # no positives: all weight on the shared one
            own = thresholds if self.fallback == "highest" else np.full(len(thresholds), shared)
            thresholds = np.where(unsafe, own, weight * thresholds + (1 - weight) * shared)
        self.thresholds_: npt.NDArray[np.float64] = thresholds

    def _decide(self, scores: Floats) -> Bools:
        return scores > self.thresholds_

    def _check_width(self, n_labels: int) -> None:
        require_width(n_labels, len(self.thresholds_))


@dataclass(eq=False)
class ThresholdAveraging(Rule):
    """The mean, over the examples of ``fit``, of the threshold that maximises the example's own F1.

    As the paper defines it: the candidates of an example are its scores, a label is active iff its score is at least
    the threshold, and one mean serves all examples to come. Of equally good candidates the highest counts. Examples
    without labels have no best threshold and are left out.

    Parameters
    ----------
    scores
        "logits" or "probabilities", for `geometry`; None if neither. The mean depends on it: the mean of
        probabilities is not that of logits.

    Attributes
    ----------
    threshold_ : float
        A score is at least the mean iff it is larger than this, the float just below the mean.
    geometry : Geometry
        "sigmoid" with this one threshold.

    Examples
    --------
    >>> rule = ThresholdAveraging().fit([[1, 0, 0], [1, 1, 0]], [[0.7, 0.5, 0.1], [0.9, 0.5, 0.4]])
    >>> round(rule.threshold_, 6)
    0.6
    """

    scores: ScoreKind | None = None
    LEARNED: ClassVar[dict[str, int]] = {"threshold_": 0}

    def check_options(self) -> None:
        """Raise ValueError where an option makes no sense."""
        require_score_kind(self.scores, needed=False)

    @property
    def geometry(self) -> Geometry | None:
        """Return "sigmoid" with one threshold; None before ``fit``."""
        return Geometry("sigmoid", np.array(self.threshold_), self.scores) if hasattr(self, "threshold_") else None

    def _fit(self, labels: Labels, scores: Floats) -> None:
        values = scores[labels.rows, labels.indices]
        cuts = cut_kernels.best_example_cuts(scores, labels.indptr, values[np.lexsort((values, labels.rows))])
        if np.isnan(cuts).all():
            raise ValueError("y_true must have an example with a label, got only empty label sets")
        self.threshold_ = float(np.nextafter(np.nanmean(cuts), -np.inf))

    def _decide(self, scores: Floats) -> Bools:
        return scores > np.array([self.threshold_])


def require_width(n_labels: int, fitted: int) -> None:
    """Refuse scores of another number of labels than the rule was fitted to."""
    if n_labels != fitted:
        raise ValueError(f"y_score must have {fitted} labels, as the rule was fitted to, got {n_labels}")
