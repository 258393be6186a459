"""Which label sets survive the arithmetic of serving: weights, features and sums in numbers of few bits."""

from typing import Literal

import numpy as np
import numpy.typing as npt

from labelproof.foundation.arguments import check_choice
from labelproof.proof.regions import OutputLayer
from labelproof.proof.result import Verification
from labelproof.search.radius import as_floats

__all__ = ["DTYPES", "rounded", "survives_rounding"]

Floats = npt.NDArray[np.float64]
ServingType = Literal["float64", "float32", "bfloat16", "float16"]
DTYPES: tuple[ServingType, ...] = ("float64", "float32", "bfloat16", "float16")
BLOCK = 256  # label sets at a time
LARGEST = 16.0  # to which witnesses of layers without an offset are scaled, where they may have any length
LARGEST_NUMBER = {"float64": 2.0**1023, "float32": 2.0**127, "bfloat16": 2.0**127, "float16": 2.0**15}


def rounded(values: Floats, dtype: str) -> Floats:
    """Return the nearest numbers of a type, as float64; halves go to even.

    Examples
    --------
    >>> rounded(np.array([1.0, 1.003, 3.14159]), "bfloat16").tolist()
    [1.0, 1.0, 3.140625]
    """
    if dtype == "bfloat16":
        bits = np.ascontiguousarray(values, np.float32).view(np.uint32).astype(np.uint64)
        kept = (bits + 0x7FFF + ((bits >> 16) & 1)) & 0xFFFF0000
        return kept.astype(np.uint32).view(np.float32).astype(np.float64)
    with np.errstate(over="ignore"):
        return values.astype(dtype).astype(np.float64)


def survives_rounding(v: Verification, dtype: str) -> npt.NDArray[np.bool_]:
    """Return for each label set whether its witness, rounded, is shown to give it in a type's arithmetic.

    Weights, biases and features are rounded to the type, thresholds are not. Products are summed in float32 (float64
    for float64), in any order, and the logits are rounded to the type. A set counts if no rounding of these can change
    it. One that fails may still have another witness: False says *not shown*.

    Parameters
    ----------
    v
        With evidence, of the rules sigmoid or topk.
    dtype
        One of `DTYPES`.

    Returns
    -------
    bool (n_sets,)
    """
    check_choice("dtype", dtype, DTYPES)
    if v.layer.rule == "sparsemax":
        raise ValueError("dtype goes with the rules sigmoid and topk, got rule='sparsemax'")
    v._require_evidence()
    shown = np.zeros(len(v), np.bool_)
    served = _Served(v.layer, dtype)
    which = np.flatnonzero(v.status == 1)
    for start in range(0, len(which), BLOCK):
        some = which[start : start + BLOCK]
        points = np.array([as_floats(v._witness(int(i))) for i in some])  # without its margin, which takes longer
        shown[some] = served.gives(points, [v.label_sets[int(i)] for i in some])
    return shown


class _Served:
    """A layer as it is served."""

    def __init__(self, layer: OutputLayer, dtype: str) -> None:
        self.layer, self.dtype = layer, dtype
        self.weight = layer.stored.copy()
        if layer.sparse is None:
            self.weight = rounded(self.weight, dtype)
        else:
            self.weight.data = rounded(self.weight.data, dtype)
        self.theta = np.zeros(layer.n_labels) if layer.theta is None else layer.theta
        bias = np.zeros(layer.n_labels) if layer.offset is None else layer.offset + self.theta
        self.bias = rounded(bias, dtype)
        unit, self.tiny = (2.0**-53, 2.0**-1074) if dtype == "float64" else (2.0**-24, 2.0**-149)
        terms = (layer.d + 4) * unit
        self.relative_error = terms / (1 - terms) + (layer.d + 4) * 2.0**-52  # of the sum, and of our own

    def gives(self, points: Floats, label_sets: list[npt.NDArray[np.int64]]) -> npt.NDArray[np.bool_]:
        """Return whether the rounded points give the label sets for sure."""
        x = rounded(self._scaled(points), self.dtype)
        with np.errstate(over="ignore", invalid="ignore"):
            low, high = self._bounds(x)
        active = np.zeros(low.shape, np.bool_)
        for row, labels in zip(active, label_sets, strict=True):
            row[labels] = True
        if self.layer.rule == "topk":
            lowest = np.where(active, low, np.inf).min(axis=1)
            given = lowest > np.where(active, -np.inf, high).max(axis=1)
        else:
            is_off = high <= self.theta if self.layer.ties == "inactive" else high < self.theta
            given = np.where(active, low > self.theta, is_off).all(axis=1)
        finite = (np.isfinite(low) & np.isfinite(high)).all(axis=1)
        return np.asarray(given & finite & self._is_inside(x))

    def _bounds(self, x: Floats) -> tuple[Floats, Floats]:
        """Return bounds of the logits (n, L) for any order of summation, rounded to the type; NaN if too large."""
        logits, sums = x @ self.weight.T, np.abs(x) @ abs(self.weight).T
        errors = np.where(sums > 0, (sums + np.abs(self.bias)) * self.relative_error + self.layer.d * self.tiny, 0.0)
        logits = logits + self.bias
        most = LARGEST_NUMBER[self.dtype]
        small = sums + np.abs(self.bias) < most / 4
        return (
            np.where(small, rounded(logits - errors, self.dtype), np.nan),
            np.where(small, rounded(logits + errors, self.dtype), np.nan),
        )

    def _scaled(self, points: Floats) -> Floats:
        """Scale witnesses that may have any length."""
        if self.layer.offset is not None or not self.layer.is_cone:
            return points
        largest = np.abs(points).max(axis=1, keepdims=True)
        return points / np.where(largest > 0, largest / LARGEST, 1.0)

    def _is_inside(self, x: Floats) -> npt.NDArray[np.bool_]:
        """Return whether the rounded points are still in the domain."""
        inside = np.full(len(x), True)
        if self.layer.low is not None:
            inside &= (x >= self.layer.low).all(axis=1)
        if self.layer.high is not None:
            inside &= (x <= self.layer.high).all(axis=1)
        for ball in self.layer.balls:
            away = x[:, ball.start : ball.stop] - ball.centre
            inside &= np.linalg.norm(away, axis=1) < ball.radius * (1 - 1e-12)
        return inside
