"""Rules that take the largest scores of each example: k of them, or as many as the scores suggest."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from labelproof.decisions import cut_kernels
from labelproof.decisions.geometry import Geometry
from labelproof.decisions.inputs import Floats, Labels
from labelproof.decisions.options import require_number
from labelproof.decisions.rules import Bools, Rule
from labelproof.foundation.arguments import whole_number

__all__ = ["LabelCount", "TopK", "largest", "require_enough"]


@dataclass(eq=False)
class TopK(Rule):
    """The k largest scores of each example; of equal scores the lower label index.

    Parameters
    ----------
    k
        Number of labels, at most n_labels.

    Attributes
    ----------
    geometry : Geometry
        "topk" with ``size`` k.

    Examples
    --------
    >>> TopK(2).decide([[0.1, 0.9, 0.9, 0.3], [5.0, 4.0, 3.0, 3.0]]).astype(int)
    array([[0, 1, 1, 0],
           [1, 1, 0, 0]])
    """

    k: int

    def check_options(self) -> None:
        """Raise ValueError where an option makes no sense."""
        whole_number("k", self.k, minimum=1)

    @property
    def geometry(self) -> Geometry:
        """Return "topk" with the number of labels."""
        return Geometry("topk", size=int(self.k))

    def _fit(self, _labels: Labels, scores: Floats) -> None:
        require_enough(self.k, scores.shape[1])

    def _decide(self, scores: Floats) -> Bools:
        return largest(scores, np.full(len(scores), self.k))

    def _check_width(self, n_labels: int) -> None:
        require_enough(self.k, n_labels)


@dataclass(eq=False)
class LabelCount(Rule):
    """As many of the largest scores of each example as a regression predicts from the scores.

    ``fit`` regresses the number of labels of an example on its ``n_features`` largest scores in descending order and
    the mean of all its scores, by ridge regression on standardised features; the penalty of 19 from 10⁻⁶ to 10³ an
    example is the one with the smallest leave-one-out error, which has a closed form. ``decide`` rounds the prediction
    to a whole number from the smallest to the largest count seen in ``fit``.

    Parameters
    ----------
    n_features
        How many of the largest scores enter, at most n_labels.

    Attributes
    ----------
    weights_ : float64 array (n_features + 1,)
        Of the scores in descending order, then of their mean.
    intercept_, least_, most_ : float
        The prediction at 0; the range of counts.
    geometry : Geometry
        "topk", not exact: the number of labels depends on the scores.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> y_true = rng.random((200, 8)) < rng.uniform(0.1, 0.6, (200, 1))
    >>> y_score = y_true + 0.2 * rng.standard_normal((200, 8))
    >>> rule = LabelCount().fit(y_true, y_score)
    >>> float((rule.decide(y_score) == y_true).mean().round(2))
    0.96
    """

    n_features: int = 30
    LEARNED: ClassVar[dict[str, int]] = {"weights_": 1, "intercept_": 0, "least_": 0, "most_": 0}

    def check_options(self) -> None:
        """Raise ValueError where an option makes no sense."""
        whole_number("n_features", self.n_features, minimum=1)

    def check(self) -> None:
        """Raise ValueError where options, or what was learned, make no sense."""
        super().check()
        if self.__sklearn_is_fitted__():
            require_number("least_", self.least_, low=0)
            require_number("most_", self.most_, low=self.least_)

    @property
    def geometry(self) -> Geometry:
        """Return "topk", which is necessary only."""
        return Geometry("topk", exact=False)

    def counts(self, scores: Floats) -> npt.NDArray[np.int64]:
        """Return the predicted number of labels of each example, (n_examples,)."""
        expected = _features(scores, len(self.weights_) - 1) @ self.weights_ + self.intercept_
        return np.clip(np.rint(expected), self.least_, min(self.most_, scores.shape[1])).astype(np.int64)

    def _fit(self, labels: Labels, scores: Floats) -> None:
        features = _features(scores, min(self.n_features, scores.shape[1]))
        self.weights_, self.intercept_ = _ridge(features, labels.sizes.astype(np.float64))
        self.least_, self.most_ = float(labels.sizes.min()), float(labels.sizes.max())

    def _decide(self, scores: Floats) -> Bools:
        return largest(scores, self.counts(scores))

    def _check_width(self, n_labels: int) -> None:
        require_enough(len(self.weights_) - 1, n_labels, "n_features")


def largest(scores: Floats, counts: npt.NDArray[np.int64]) -> Bools:
    """Return bool (n_examples, n_labels): the counts[i] largest scores of example i, the lower index of equals."""
    indptr = np.concatenate([[0], np.cumsum(counts)])
    chosen = np.empty(indptr[-1], np.int64)
    cut_kernels.top_indices(scores, indptr, chosen)
    active = np.zeros(scores.shape, np.bool_)
    active[np.repeat(np.arange(len(scores)), counts), chosen] = True
    return active


def require_enough(k: int, n_labels: int, name: str = "k") -> None:
    """Refuse to take more labels than there are."""
    if k > n_labels:
        raise ValueError(f"{name} must be at most the number of labels, {n_labels}, got {k}")


def _features(scores: Floats, m: int) -> npt.NDArray[np.float64]:
    top = np.partition(scores, scores.shape[1] - m, axis=1)[:, scores.shape[1] - m :]
    top = np.sort(top.astype(np.float64), axis=1)[:, ::-1]
    return np.column_stack([top, scores.mean(axis=1, dtype=np.float64)])


def _ridge(features: npt.NDArray[np.float64], target: npt.NDArray[np.float64]) -> tuple[npt.NDArray[np.float64], float]:
    """Return weights and intercept of the ridge regression with the smallest leave-one-out error."""
    mean, scale = features.mean(axis=0), features.std(axis=0)
    scale[scale == 0] = 1.0
    standard, centred = (features - mean) / scale, target - target.mean()
    squares, axes = np.linalg.eigh(standard.T @ standard)
    along = standard @ axes  # (n, m), orthogonal columns
    projected = along.T @ centred
    best, weights = np.inf, np.zeros(features.shape[1])
    for penalty in len(target) * np.logspace(-6, 3, 19):
        coefficients = projected / (squares + penalty)
        leverage = np.minimum(along**2 @ (1 / (squares + penalty)) + 1 / len(target), 1 - 1e-9)
        error = float(np.mean(((centred - along @ coefficients) / (1 - leverage)) ** 2))
        if error < best:
            best, weights = error, axes @ coefficients / scale
    return weights, float(target.mean() - mean @ weights)
