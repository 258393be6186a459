"""Scores to logits of probabilities: one slope and offset for all labels, then each label's own, near the common one.

For label j, a_j z + b_j maximises the likelihood times a Gaussian prior around the common (a, b). It stays a linear map
of the score, so a linear model remains one when it is calibrated.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse

__all__ = ["Calibration", "calibrate", "cross_fitted", "log_loss"]

Floats = npt.NDArray[np.float64]
SLOPE_PRIOR, OFFSET_PRIOR = 5.0, 1.0  # how firmly a label's slope and offset are held by the common ones
STEPS, LEAST_SLOPE = 60, 1e-3  # a score never counts against its label
AT_ONCE = 4_000_000  # scores whose loss is computed at a time
ENOUGH = 1_000_000  # scores from which slope and offset of all labels are found
IN_CACHE = 50_000  # scores of labels that are calibrated together: with all that is computed from them, a few megabytes


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
    >>> from scipy.special import expit
    >>> rng = np.random.default_rng(0)
    >>> z = rng.normal(size=(5000, 3))
    >>> found = calibrate(z / 2, scipy.sparse.csr_array(rng.random(z.shape) < expit(z - 1)))
    >>> found.slopes.round(0), found.offsets.round(0)
    (array([2., 2., 2.]), array([-1., -1., -1.]))
    """
    slope, offset = _pooled(scores, labels)
    columns = scipy.sparse.csc_array(labels)
    size = max(1, IN_CACHE // max(len(scores), 1))
    parts = []
    for first in range(0, scores.shape[1], size):
        block = slice(first, first + size)
        truth = columns[:, block].toarray().T.astype(np.bool_)
        parts.append(_own(np.ascontiguousarray(scores[:, block].T), truth, slope, offset))
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
    some = np.sort(np.random.default_rng(0).permutation(n)[: max(1, ENOUGH // max(n_labels, 1))])
    z, y = scores[some].ravel(), labels[some].toarray().astype(np.bool_).ravel()
    spread = float(z.std()) or 1.0
    slopes, offsets = _newton(z[None] / spread, y[None], (1e-3, 1e-3))
    return float(slopes[0]) / spread, float(offsets[0])


def _own(scores: npt.NDArray[Any], truth: npt.NDArray[np.bool_], slope: float, offset: float) -> tuple[Floats, Floats]:
    scaled = scores.astype(np.float64) * slope + offset  # the prior is around slope 1 and offset 0 of these
    a, b = _newton(scaled, truth, (SLOPE_PRIOR, OFFSET_PRIOR))
    return a * slope, a * offset + b


def _newton(z: npt.NDArray[Any], y: npt.NDArray[np.bool_], firmness: tuple[float, float]) -> tuple[Floats, Floats]:
    """Maximise the posterior for every row of scores (n_labels, n), around slope 1 and offset 0.

    A step that makes a row worse is halved: without that, the scores of rare labels send the first steps to and fro.
    """
    n_labels = len(z)
    a, b, least = np.ones(n_labels), np.zeros(n_labels), np.full(n_labels, np.inf)
    da, db = np.zeros(n_labels), np.zeros(n_labels)
    for _ in range(STEPS):
        slopes, offsets = np.maximum(a + da, LEAST_SLOPE), b + db
        loss, steps = _loss_and_steps(z, y, slopes, offsets, firmness)
        better = loss <= least
        least, a, b = np.where(better, loss, least), np.where(better, slopes, a), np.where(better, offsets, b)
        da, db = np.where(better, steps[0], da / 2), np.where(better, steps[1], db / 2)
        if max(np.abs(da).max(), np.abs(db).max()) < 1e-4:
            break
    return a, b


def _loss_and_steps(
    z: npt.NDArray[Any], y: npt.NDArray[np.bool_], a: Floats, b: Floats, firmness: tuple[float, float]
) -> tuple[Floats, tuple[Floats, Floats]]:
    """Return what is minimised, for each row, and Newton's steps from a and b."""
    width = max(1, IN_CACHE // len(z))
    blocks = (slice(first, first + width) for first in range(0, z.shape[1], width))
    sums = sum((_sums(z[:, block], y[:, block], a[:, None], b[:, None]) for block in blocks), np.zeros((6, len(z))))
    loss = sums[0] + (firmness[0] * (a - 1) ** 2 + firmness[1] * b**2) / 2
    ga, gb = sums[1] + firmness[0] * (a - 1), sums[2] + firmness[1] * b
    haa, hab, hbb = sums[3] + firmness[0], sums[4], sums[5] + firmness[1]
    determinant = haa * hbb - hab**2
    return loss, ((hab * gb - hbb * ga) / determinant, (hab * ga - haa * gb) / determinant)


def _sums(z: npt.NDArray[Any], y: npt.NDArray[np.bool_], a: Floats, b: Floats) -> Floats:
    """Return (6, n_labels): the loss of each row, its derivatives by a and b, and those by aa, ab and bb."""
    logits = z * a + b
    small = np.exp(-np.abs(logits))
    p = np.where(logits >= 0, 1.0, small) / (1 + small)
    loss = np.log1p(small) + np.maximum(logits, 0) - logits * y
    gap, curve = p - y, p * (1 - p)
    cz = curve * z
    parts = (loss, gap * z, gap, cz * z, cz, curve)
    return np.stack([part.sum(axis=1) for part in parts])
