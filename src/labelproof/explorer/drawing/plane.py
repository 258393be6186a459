"""Planes through the space of features, and what a classifier looks like on one."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from labelproof.proof.regions import OutputLayer

__all__ = ["Plane", "Sheet", "narrowed", "plane_through"]

Floats = npt.NDArray[np.float64]
Indices = npt.NDArray[np.int64]
FLAT = 1e-9  # a projected direction below this share of its original length counts as zero


@dataclass(frozen=True, eq=False)
class Plane:
    """Points origin + u·axes[0] + v·axes[1]; the axes are orthonormal, of shape (2, d)."""

    origin: Floats
    axes: Floats

    def coordinates(self, x: Floats) -> Floats:
        """Return (u, v) of the point of the plane next to x."""
        return self.axes @ (x - self.origin)


@dataclass(frozen=True, eq=False)
class Sheet:
    """A classifier on a plane: the logit of label i at p is slopes[i]·p + heights[i], less the threshold.

    Attributes
    ----------
    slopes, heights
        float64 (n_labels, 2) and (n_labels,).
    bounds
        float64 (m, 3): the domain of the features is where a·u + b·v + c ≥ 0 for each row (a, b, c).
    labels
        int64 (n_labels,): which labels of the classifier these are.
    always
        Labels that are not among them and active everywhere.
    """

    layer: OutputLayer
    slopes: Floats
    heights: Floats
    bounds: Floats
    labels: Indices
    always: Indices

    @classmethod
    def on(cls, layer: OutputLayer, plane: Plane) -> "Sheet":
        """Restrict a classifier to a plane."""
        offset = 0.0 if layer.offset is None else layer.offset
        return cls(
            layer,
            layer.weight @ plane.axes.T,
            layer.weight @ plane.origin + offset,
            _domain_bounds(layer, plane),
            np.arange(layer.n_labels),
            np.empty(0, np.int64),
        )

    def logits(self, points: Floats) -> Floats:
        """Return the logits at points (m, 2), of shape (n_labels, m)."""
        return self.slopes @ points.T + self.heights[:, None]


def narrowed(sheet: Sheet, corners: Floats, size: int) -> Sheet:
    """Leave out the labels that are the same all over a convex polygon (for the rule topk: in the first ``size``)."""
    z, layer = sheet.logits(corners), sheet.layer
    low, high = z.min(axis=1), z.max(axis=1)
    always = np.zeros(len(low), dtype=np.bool_)
    if layer.rule == "sigmoid":
        always = low > 0
        some = (high > 0) & ~always
    elif layer.rule == "sparsemax":
        some = high > low.max() - 1 / layer.temperature
    else:
        some = high >= -np.partition(-low, size - 1)[size - 1] if size else low == low.min()
    return replace(
        sheet,
        slopes=sheet.slopes[some],
        heights=sheet.heights[some],
        labels=sheet.labels[some],
        always=sheet.labels[always],
    )


def plane_through(points: Sequence[Floats], directions: Floats, *, is_cone: bool) -> Plane:
    """Return a plane through up to three points; where they are fewer, along the first directions that do.

    On a cone all multiples of a point are alike, so that points are taken at distance 1 from the origin, and a plane
    through one point is at right angles to it. In two dimensions there is one plane.
    """
    d = directions.shape[1]
    if d == 2:
        return Plane(np.zeros(2), np.eye(2))
    if is_cone:
        points = [x / (np.linalg.norm(x) or 1.0) for x in points]
    origin = points[0] if len(points) else np.zeros(d)
    taken = [origin / np.linalg.norm(origin)] if is_cone and len(points) == 1 and origin.any() else []
    axes: list[Floats] = []
    for direction in [*(x - origin for x in points[1:]), *directions, *np.eye(d)]:
        rest = direction - sum((t * (t @ direction) for t in [*taken, *axes]), np.zeros(d))
        if len(axes) < 2 and np.linalg.norm(rest) > FLAT * np.linalg.norm(direction):
            rest -= sum((t * (t @ rest) for t in [*taken, *axes]), np.zeros(d))  # once more, against rounding
            axes.append(rest / np.linalg.norm(rest))
    return Plane(origin, np.array(axes))


def _domain_bounds(layer: OutputLayer, plane: Plane) -> Floats:
    rows = []
    for sign, bound in ((1.0, layer.low), (-1.0, layer.high)):
        if bound is not None:
            finite = np.isfinite(bound)
            rows.append(sign * np.column_stack([plane.axes.T, plane.origin - np.where(finite, bound, 0.0)])[finite])
    return np.concatenate([np.empty((0, 3)), *rows])
