"""Scores to probabilities before deciding: temperature, Platt's sigmoid, isotonic regression.

Each is fitted for every label (``pooled=False``) or once for all (``pooled=True``), on data that the model was not
trained on, and is saved as JSON like a rule.
"""

import os
from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
from scipy.special import expit

from labelproof.decisions.calibration_kernels import isotonic_means, logistic_fits
from labelproof.decisions.inputs import (
    Floats,
    Labels,
    ScoreKind,
    by_blocks,
    dense,
    read_finite,
    row_blocks,
    to_logits,
)
from labelproof.decisions.learning import Learner
from labelproof.decisions.options import require_score_kind

__all__ = ["Calibration", "IsotonicCalibration", "PlattScaling", "TemperatureScaling", "load_calibration"]

Doubles = npt.NDArray[np.float64]
SLOPES = 1e-3, 1e3  # inverse temperatures are kept within these


class Calibration(Learner):
    """A map from scores to probabilities, increasing in the score of each label.

    Examples
    --------
    >>> from labelproof.decisions import PlattScaling
    >>> fitted = PlattScaling().fit([[1], [0], [1], [0]], [[2.0], [-1.0], [1.0], [0.5]])
    >>> fitted.transform([[-3.0], [3.0]]).shape
    (2, 1)
    """

    FORMAT: ClassVar[str] = "labelproof calibration"

    def transform(self, y_score: Any) -> Doubles:
        """Return probabilities, float64 (n_examples, n_labels)."""
        self.check()
        if not self.__sklearn_is_fitted__():
            raise ValueError(f"{type(self).__name__} must be fitted before it transforms: call fit(y_true, y_score)")
        scores = read_finite(y_score)
        if self._width not in (1, scores.shape[1]):
            raise ValueError(f"y_score must have {self._width} labels, as in fit, got {scores.shape[1]}")
        return self._transform(scores)

    @classmethod
    def _storable(cls) -> Sequence[type[Any]]:
        return Calibration.__subclasses__()

    @property
    @abstractmethod
    def _width(self) -> int: ...

    @abstractmethod
    def _transform(self, scores: Floats) -> Doubles: ...


@dataclass(eq=False)
class TemperatureScaling(Calibration):
    """sigmoid(logit / temperature), the temperature of the largest likelihood.

    Parameters
    ----------
    scores
        "logits" or "probabilities" (whose logits are taken).
    pooled
        One temperature for all labels. If not, labels that are on everywhere or nowhere take that one too.

    Attributes
    ----------
    temperatures_ : float64 array (1,) or (n_labels,)
        From 10⁻³ to 10³.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> z = rng.standard_normal((20000, 1))
    >>> y = rng.random(z.shape) < expit(z)
    >>> TemperatureScaling(scores="logits").fit(y, 3 * z).temperatures_.round(1)
    array([3.])
    """

    scores: ScoreKind
    pooled: bool = True
    LEARNED: ClassVar[dict[str, int]] = {"temperatures_": 1}

    def check_options(self) -> None:
        """Raise ValueError where an option makes no sense."""
        require_score_kind(self.scores, needed=True)

    def check(self) -> None:
        """Raise ValueError where options, or what was learned, make no sense."""
        super().check()
        if self.__sklearn_is_fitted__() and (self.temperatures_ <= 0).any():
            raise ValueError(f"temperatures_ must be positive, got {self.temperatures_.min()}")

    @property
    def _width(self) -> int:
        return len(self.temperatures_)

    def _fit(self, labels: Labels, scores: Floats) -> None:
        logits, truth = to_logits(scores, self.scores), dense(labels)
        slopes = np.clip(_logistic(logits.reshape(1, -1), truth.reshape(1, -1), with_offset=False)[0], *SLOPES)
        if not self.pooled:
            both = truth.any(axis=0) & ~truth.all(axis=0)
            own, _ = _logistic(logits.T[both], truth.T[both], with_offset=False)
            slopes = np.full(truth.shape[1], slopes[0])
            slopes[both] = np.clip(own, *SLOPES)
        self.temperatures_ = 1 / slopes

    def _transform(self, scores: Floats) -> Doubles:
        return expit(to_logits(scores, self.scores) / self.temperatures_)


@dataclass(eq=False)
class PlattScaling(Calibration):
    """sigmoid(slope · score + offset), fitted with Platt's targets, so that labels without positives have a fit too.

    The targets are (m + 1) / (m + 2) for the m positives and 1 / (n − m + 2) for the others. Scores may be of any kind.

    Parameters
    ----------
    pooled
        One slope and offset for all labels.

    Attributes
    ----------
    slopes_, offsets_ : float64 arrays (1,) or (n_labels,)
        What was learned.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> z = rng.standard_normal((20000, 1))
    >>> y = rng.random(z.shape) < expit(2 * z - 1)
    >>> fitted = PlattScaling().fit(y, z)
    >>> fitted.slopes_.round(1), fitted.offsets_.round(1)
    (array([2.]), array([-1.]))
    """

    pooled: bool = False
    LEARNED: ClassVar[dict[str, int]] = {"slopes_": 1, "offsets_": 1}

    def check_options(self) -> None:
        """Raise ValueError where an option makes no sense."""

    def check(self) -> None:
        """Raise ValueError where options, or what was learned, make no sense."""
        super().check()
        if self.__sklearn_is_fitted__() and len(self.slopes_) != len(self.offsets_):
            raise ValueError(f"offsets_ must be as many as slopes_, {len(self.slopes_)}, got {len(self.offsets_)}")

    @property
    def _width(self) -> int:
        return len(self.slopes_)

    def _fit(self, labels: Labels, scores: Floats) -> None:
        z, truth = (x.reshape(1, -1) if self.pooled else x.T for x in (scores, dense(labels)))
        m, n = truth.sum(axis=1, keepdims=True), truth.shape[1]
        targets = np.where(truth, (m + 1) / (m + 2), 1 / (n - m + 2))
        centre, spread = z.mean(axis=1, dtype=np.float64), z.std(axis=1, dtype=np.float64)
        spread = np.where(spread > 0, spread, 1.0)
        slopes, offsets = _logistic((z - centre[:, None]) / spread[:, None], targets, with_offset=True)
        self.slopes_ = slopes / spread
        self.offsets_ = offsets - self.slopes_ * centre

    def _transform(self, scores: Floats) -> Doubles:
        return expit(self.slopes_ * scores.astype(np.float64) + self.offsets_)


@dataclass(eq=False)
class IsotonicCalibration(Calibration):
    """The non-decreasing function of the score that fits the labels best in squares, linear between its steps.

    Scores may be of any kind. Beyond the scores of ``fit`` the function is constant; a label without positives gets 0.

    Parameters
    ----------
    pooled
        One function for all labels.

    Attributes
    ----------
    knots_, values_ : float64 arrays
        Scores, ascending for each label, and the probabilities there.
    ptr_ : float64 array (n_labels + 1,) or (2,)
        The entries ``ptr_[j]:ptr_[j + 1]`` belong to label j.

    Examples
    --------
    >>> fitted = IsotonicCalibration().fit([[0], [1], [0], [1]], [[0.1], [0.2], [0.3], [0.4]])
    >>> fitted.transform([[0.0], [0.2], [0.25], [0.5]]).ravel()
    array([0. , 0.5, 0.5, 1. ])
    """

    pooled: bool = False
    LEARNED: ClassVar[dict[str, int]] = {"ptr_": 1, "knots_": 1, "values_": 1}

    def check_options(self) -> None:
        """Raise ValueError where an option makes no sense."""

    def check(self) -> None:
        """Raise ValueError where options, or what was learned, make no sense."""
        super().check()
        if not self.__sklearn_is_fitted__():
            return
        ends = self.ptr_
        ascending = len(ends) > 1 and ends[0] == 0 and (np.diff(ends) > 0).all() and (ends == np.rint(ends)).all()
        if not ascending or ends[-1] != len(self.knots_) or len(self.knots_) != len(self.values_):
            raise ValueError(f"ptr_ must ascend from 0 to the number of knots_ and values_, {len(self.knots_)}")

    @property
    def _width(self) -> int:
        return len(self.ptr_) - 1

    def _fit(self, labels: Labels, scores: Floats) -> None:
        z, truth = (x.reshape(1, -1) if self.pooled else x.T for x in (scores, dense(labels)))
        steps = [_isotonic(z[j].astype(np.float64), truth[j]) for j in range(len(z))]
        self.knots_, self.values_ = (np.concatenate(part) for part in zip(*steps, strict=True))
        self.ptr_ = np.concatenate([[0], np.cumsum([len(knots) for knots, _ in steps])]).astype(np.float64)

    def _transform(self, scores: Floats) -> Doubles:
        ends = self.ptr_.astype(np.int64)
        if self._width == 1:
            return np.interp(scores.astype(np.float64), self.knots_, self.values_)
        pieces = [slice(a, b) for a, b in pairwise(ends.tolist())]
        columns = [np.interp(scores[:, j], self.knots_[piece], self.values_[piece]) for j, piece in enumerate(pieces)]
        return np.column_stack(columns)


def load_calibration(path: str | os.PathLike[str]) -> Calibration:
    """Read any calibration from a file that ``save`` wrote.

    Parameters
    ----------
    path
        Of the JSON file.

    Examples
    --------
    >>> import tempfile
    >>> from labelproof.decisions import PlattScaling
    >>> fitted = PlattScaling(pooled=True).fit([[1], [0], [0]], [[2.0], [-1.0], [1.0]])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     fitted.save(f"{folder}/calibration.json")
    ...     type(load_calibration(f"{folder}/calibration.json")).__name__
    'PlattScaling'
    """
    return Calibration.load(path)


def _logistic(z: Floats, targets: npt.NDArray[Any], *, with_offset: bool) -> tuple[Doubles, Doubles]:
    """Return slopes and offsets of one logistic regression for each row of z."""
    slopes, offsets = np.ones(len(z)), np.zeros(len(z))

    def work(rows: slice) -> None:
        part, wanted = (np.ascontiguousarray(x[rows], np.float64) for x in (z, targets))
        logistic_fits(part, wanted, with_offset, slopes[rows], offsets[rows])

    if len(z):
        by_blocks(work, row_blocks(z.shape))
    return slopes, offsets


def _isotonic(z: Doubles, truth: npt.NDArray[np.bool_]) -> tuple[Doubles, Doubles]:
    """Return the scores at the two ends of each step, and the values there."""
    levels, which = np.unique(z, return_inverse=True)
    weights = np.bincount(which).astype(np.float64)
    means = np.empty(len(levels))
    isotonic_means(np.bincount(which, truth) / weights, weights, means)
    ends = np.flatnonzero(np.diff(means, prepend=np.nan, append=np.nan) != 0)  # first places of steps, and the end
    first, last = ends[:-1], ends[1:] - 1
    corners = np.unique(np.concatenate([first, last]))
    return levels[corners], means[corners]
