"""Scores to logits of probabilities: one slope and offset for all labels, then each label's own, near the common one.

For label j, a_j z + b_j maximises the likelihood times a Gaussian prior around the common (a, b). It stays a linear map
of the score, so a linear model remains one when it is calibrated.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse
from scipy.special import expit

__all__ = ["Calibration", "calibrate", "cross_fitted", "log_loss"]

Floats = npt.NDArray[np.float64]
SLOPE_PRIOR, OFFSET_PRIOR = 5.0, 1.0  # how firmly a label's slope and offset are held by the common ones
STEPS = 30
AT_ONCE = 4_000_000  # scores: a few hundred megabytes with all that is computed from them


@dataclass(frozen=True, eq=False)
class Calibration:
    """float64 (n_labels,) each: the logit of label j is ``slopes[j] * score + offsets[j]``."""

    slopes: Floats
    offsets: Floats

    def logits(self, scores: npt.NDArray[Any]) -> npt.NDArray[np.float32]:
        """Return calibrated logits (n, n_labels)."""
        return (scores * self.slopes + self.offsets).astype(np.float32)


def calibrate(scores: npt.NDArray[Any], labels: Any) -> Calibration:
    """Fit a calibration to scores (n, n_labels) that the model's training did not see.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> z = rng.normal(size=(5000, 3))
    >>> found = calibrate(z / 2, scipy.sparse.csr_array(rng.random(z.shape) < expit(z - 1)))
    >>> found.slopes.round(0), found.offsets.round(0)
    (array([2., 2., 2.]), array([-1., -1., -1.]))
    """
    slope, offset = _pooled(scores, labels)
    columns = scipy.sparse.csc_array(labels)
    size = max(1, AT_ONCE // max(len(scores), 1))
    parts = []
    for first in range(0, scores.shape[1], size):
        block = slice(first, first + size)
        parts.append(_own(scores[:, block], columns[:, block].toarray().astype(np.bool_), slope, offset))
    return Calibration(*(np.concatenate(part) for part in zip(*parts, strict=True)))


def cross_fitted(scores: npt.NDArray[Any], labels: Any, folds: npt.NDArray[np.int64]) -> npt.NDArray[np.float32]:
    """Return logits of all examples, those of each fold by the calibration of the others."""
    logits = np.empty(scores.shape, np.float32)
    for fold in np.unique(folds):
        held = folds == fold
        logits[held] = calibrate(scores[~held], labels[~held]).logits(scores[held])
    return logits


def log_loss(logits: npt.NDArray[Any], labels: Any) -> float:
    """Return the mean of −ln p over examples and labels; p is the probability given to what is true."""
    size = max(1, AT_ONCE // max(logits.shape[1], 1))
    blocks = (logits[first : first + size] for first in range(0, len(logits), size))
    total = sum(float(np.logaddexp(0.0, block).sum(dtype=np.float64)) for block in blocks)
    rows, columns = labels.nonzero()
    return (total - float(logits[rows, columns].sum(dtype=np.float64))) / logits.size


def _pooled(scores: npt.NDArray[Any], labels: Any) -> tuple[float, float]:
    """Return slope and offset of the largest likelihood over all labels; of some examples where there are very many."""
    n, n_labels = scores.shape
    some = np.sort(np.random.default_rng(0).permutation(n)[: max(1, AT_ONCE // max(n_labels, 1))])
    z, y = scores[some].ravel(), labels[some].toarray().astype(np.bool_).ravel()
    spread = float(z.std()) or 1.0
    slopes, offsets = _newton(
        z[:, None] / spread, y[:, None], np.array([1.0]), np.array([0.0]), (1e-3, 1e-3), (1.0, 0.0)
    )
    return float(slopes[0]) / spread, float(offsets[0])


def _own(scores: npt.NDArray[Any], truth: npt.NDArray[np.bool_], slope: float, offset: float) -> tuple[Floats, Floats]:
    scaled = scores * slope + offset  # the prior is around slope 1 and offset 0 of these
    n_labels = scores.shape[1]
    a, b = _newton(scaled, truth, np.ones(n_labels), np.zeros(n_labels), (SLOPE_PRIOR, OFFSET_PRIOR), (1.0, 0.0))
    return a * slope, a * offset + b


def _newton(
    z: npt.NDArray[Any],
    y: npt.NDArray[np.bool_],
    a: Floats,
    b: Floats,
    firmness: tuple[float, float],
    centre: tuple[float, float],
) -> tuple[Floats, Floats]:
    """Maximise the posterior for every column, by Newton steps of at most 1 in each number."""
    for _ in range(STEPS):
        p = expit(z * a + b)
        gap, curve = p - y, p * (1 - p)
        ga = (gap * z).sum(axis=0) + firmness[0] * (a - centre[0])
        gb = gap.sum(axis=0) + firmness[1] * (b - centre[1])
        cz = curve * z
        haa = (cz * z).sum(axis=0) + firmness[0]
        hab, hbb = cz.sum(axis=0), curve.sum(axis=0) + firmness[1]
        determinant = haa * hbb - hab**2
        da, db = (hbb * ga - hab * gb) / determinant, (haa * gb - hab * ga) / determinant
        a = np.maximum(a - np.clip(da, -1, 1), 1e-3)  # a score never counts against its label
        b = b - np.clip(db, -1, 1)
        if max(np.abs(da).max(), np.abs(db).max()) < 1e-4:
            break
    return a, b
