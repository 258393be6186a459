"""From a base to features: what a weighting learns from training rows is applied to all.

Each weighting knows which features it can give, so that the layer after it can be verified on just these.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt
import scipy.sparse
from scipy.special import ndtri

from labelproof.proof.domains import Domain

__all__ = ["MOST_CENTRES", "WEIGHTINGS", "Idf", "Nystroem", "Plain", "Quantiles", "Standard", "Weighting"]

Floats = npt.NDArray[np.float64]
CLIP = 5.0  # standardised features are kept within ±5
MOST_CENTRES = 800  # of a kernel: training rows that all others are compared with
FARTHEST = 3.0  # standard deviations of a normal law, beyond which quantiles do not go
UNIT = 1 + 2.0**-20  # beyond which rounding to float32 brings no number of size 1, nor a row of length 1


class Weighting(ABC):
    """A map from the rows of a base to features; its fields are arrays, which a file can hold."""

    kind: ClassVar[str]

    @staticmethod
    @abstractmethod
    def domain(scale: float) -> Domain:
        """Return which features there can be, times a scale, as `labelproof.verify` takes it."""

    @abstractmethod
    def width(self, n_columns: int) -> int:
        """Return the number of features of a base with so many columns."""

    @abstractmethod
    def features(self, rows: Any) -> Any:
        """Return the features of rows of the base: CSR or dense, float64."""

    def arrays(self) -> dict[str, Floats]:
        """Return what was learned."""
        return {field.name: np.asarray(getattr(self, field.name), np.float64) for field in fields(self)}  # type: ignore[arg-type]

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, Floats]) -> Self:
        """Return the weighting of what `arrays` gave."""
        names = [field.name for field in fields(cls)]  # type: ignore[arg-type]
        for name in names:
            if name not in arrays or arrays[name].dtype != np.float64 or not np.isfinite(arrays[name]).all():
                raise ValueError(f"expected finite numbers {name} of the weighting {cls.kind}, got others")
        return cls(**{name: arrays[name] for name in names})


@dataclass(frozen=True, eq=False)
class Plain(Weighting):
    """The rows as they are."""

    kind: ClassVar[str] = "plain"

    @staticmethod
    def domain(scale: float) -> Domain:  # noqa: ARG004 - as of all weightings
        """Return that nothing is known."""
        return None

    def width(self, n_columns: int) -> int:
        """Return the number of columns."""
        return n_columns

    def features(self, rows: Any) -> Any:
        """Return the rows."""
        return rows

    @classmethod
    def learned(cls, _rows: Any) -> Self:
        """Return the weighting."""
        return cls()


@dataclass(frozen=True, eq=False)
class Idf(Weighting):
    """Counts c as 1 + ln c (or as they are), times the inverse document frequency, in rows of length 1.

    Parameters
    ----------
    idf
        float64 (n_columns,): ln((1 + n) / (1 + f)) + 1 for a column that f of n rows have; 0 where f is below 2.
    sublinear
        1.0 or 0.0: whether counts are dampened by the logarithm.
    """

    idf: Floats
    sublinear: Any = 0.0
    kind: ClassVar[str] = "idf"

    @staticmethod
    def domain(scale: float) -> Domain:
        """Return nonnegative features of a length of at most 1, but for rounding."""
        return "unit", scale * UNIT

    @classmethod
    def learned(cls, rows: Any, *, sublinear: bool = False, least: int = 2) -> Self:
        """Return the weighting of training rows, a CSR array of nonnegative numbers."""
        frequency = np.bincount(rows.indices, minlength=rows.shape[1])
        idf = np.log((1 + rows.shape[0]) / (1 + frequency)) + 1
        return cls(np.where(frequency >= min(least, rows.shape[0]), idf, 0.0), float(sublinear))

    def width(self, n_columns: int) -> int:
        """Return the number of columns."""
        return n_columns

    def features(self, rows: Any) -> Any:
        """Return weighted rows of length 1; a row without any weight stays 0."""
        sparse = scipy.sparse.csr_array(rows)
        damped = 1 + np.log(np.maximum(sparse.data, 1e-300)) if self.sublinear else sparse.data
        values = np.maximum(damped, 0.0) * self.idf[sparse.indices]
        squares = scipy.sparse.csr_array((values**2, sparse.indices, sparse.indptr), sparse.shape).sum(axis=1)
        norms = np.sqrt(np.asarray(squares).ravel())
        values /= np.repeat(np.where(norms > 0, norms, 1.0), np.diff(sparse.indptr))
        return scipy.sparse.csr_array((values, sparse.indices, sparse.indptr), sparse.shape)


@dataclass(frozen=True, eq=False)
class Standard(Weighting):
    """Columns of mean 0 and variance 1, kept within ±5."""

    mean: Floats
    scale: Floats
    kind: ClassVar[str] = "standard"

    @staticmethod
    def domain(scale: float) -> Domain:
        """Return the bounds that features are kept within."""
        return -CLIP * scale * UNIT, CLIP * scale * UNIT

    @classmethod
    def learned(cls, rows: Any) -> Self:
        """Return the weighting of training rows; a constant column has scale 1."""
        dense = _dense(rows)
        deviation = dense.std(axis=0)
        return cls(dense.mean(axis=0), np.where(deviation > 1e-12 * np.abs(dense).max(axis=0, initial=0), deviation, 1))

    def width(self, n_columns: int) -> int:
        """Return the number of columns."""
        return n_columns

    def features(self, rows: Any) -> Any:
        """Return the standardised rows."""
        return np.clip((_dense(rows) - self.mean) / self.scale, -CLIP, CLIP)


@dataclass(frozen=True, eq=False)
class Quantiles(Weighting):
    """Columns by the ranks of their values, as deviates of a normal law within ±3: skewed ones count as any other.

    Parameters
    ----------
    landmarks
        float64 (n_landmarks, n_columns): quantiles of each column at even shares from 0 to 1.
    """

    landmarks: Floats
    kind: ClassVar[str] = "quantiles"

    @staticmethod
    def domain(scale: float) -> Domain:
        """Return the bounds of the deviates."""
        return -FARTHEST * scale * UNIT, FARTHEST * scale * UNIT

    @classmethod
    def learned(cls, rows: Any, *, most: int = 200) -> Self:
        """Return the weighting of training rows."""
        dense = _dense(rows)
        return cls(np.quantile(dense, np.linspace(0, 1, max(2, min(most, len(dense)))), axis=0))

    def width(self, n_columns: int) -> int:
        """Return the number of columns."""
        return n_columns

    def features(self, rows: Any) -> Any:
        """Return the deviates; a value that many rows have is in the middle of its ranks."""
        shares = np.linspace(0, 1, len(self.landmarks))
        ranks = np.empty(rows.shape, np.float64)
        for column, (values, marks) in enumerate(zip(_dense(rows).T, self.landmarks.T, strict=True)):
            upper = np.interp(values, marks, shares)
            lower = 1 - np.interp(-values, -marks[::-1], shares)
            ranks[:, column] = (upper + lower) / 2
        return np.clip(ndtri(ranks), -FARTHEST, FARTHEST)


@dataclass(frozen=True, eq=False)
class Nystroem(Weighting):
    """Standardised columns through a Gaussian kernel with some training rows, so that products approximate the kernel.

    Parameters
    ----------
    landmarks
        As of `Quantiles`, whose deviates are then standardised; none, (0, n_columns), for columns as they are.
    mean, scale
        As of `Standard`.
    centres
        float64 (n_centres, n_columns): standardised training rows.
    whitening
        float64 (n_centres, n_features): features are kernel values times this.
    gamma
        The kernel of two rows at distance r is exp(−γ r²).
    """

    landmarks: Floats
    mean: Floats
    scale: Floats
    centres: Floats
    whitening: Floats
    gamma: Any
    kind: ClassVar[str] = "nystroem"

    @staticmethod
    def domain(scale: float) -> Domain:
        """Return features of a length of at most 1, which approximate a kernel of at most 1, but for rounding."""
        return "ball", 1.001 * scale

    @classmethod
    def learned(
        cls, rows: Any, *, sharpness: float, of_quantiles: bool = False, most: int = MOST_CENTRES, seed: int = 0
    ) -> Self:
        """Return the weighting of training rows; γ is the sharpness over their median squared distance."""
        landmarks = Quantiles.learned(rows).landmarks if of_quantiles else np.empty((0, rows.shape[1]))
        ranked = _ranked(rows, landmarks)
        standard = Standard.learned(ranked)
        chosen = np.sort(np.random.default_rng(seed).permutation(len(ranked))[:most])
        centres = standard.features(ranked[chosen])
        distances = _squared_distances(centres, centres)
        median = np.median(distances[np.triu_indices(len(centres), 1)]) if len(centres) > 1 else 1.0
        gamma = sharpness / max(float(median), 1e-12)
        values, vectors = np.linalg.eigh(np.exp(-gamma * distances))
        kept = values > 1e-6 * values[-1]
        whitening = vectors[:, kept] / np.sqrt(values[kept])
        return cls(landmarks, standard.mean, standard.scale, centres, whitening, gamma)

    def width(self, n_columns: int) -> int:  # noqa: ARG002 - as of all weightings
        """Return the number of features."""
        return int(self.whitening.shape[1])

    def features(self, rows: Any) -> Any:
        """Return the features (n_rows, width)."""
        scaled = Standard(self.mean, self.scale).features(_ranked(rows, self.landmarks))
        return np.exp(-float(self.gamma) * _squared_distances(scaled, self.centres)) @ self.whitening


def _ranked(rows: Any, landmarks: Floats) -> Floats:
    """Return deviates by landmarks, or dense rows where there are none."""
    return Quantiles(landmarks).features(rows) if len(landmarks) else _dense(rows)


def _squared_distances(A: Floats, B: Floats) -> Floats:
    squares = (A**2).sum(axis=1)[:, None] + (B**2).sum(axis=1) - 2 * A @ B.T
    return np.maximum(squares, 0.0)


def _dense(rows: Any) -> Floats:
    return rows.toarray() if scipy.sparse.issparse(rows) else rows


WEIGHTINGS: dict[str, type[Weighting]] = {
    weighting.kind: weighting for weighting in (Plain, Idf, Standard, Quantiles, Nystroem)
}
