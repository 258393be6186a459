"""Which label set each decision rule gives at a point of a plane, and what bounds a set's region there.

Label sets are written as bool arrays over the labels of the sheet.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from labelproof.explorer.drawing.plane import Sheet

__all__ = ["Arrangement", "Cut", "arrangement"]

Floats = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]
CONSTANT = 1e-14  # a row whose slope is below this share of its height has the same sign everywhere


@dataclass(frozen=True, eq=False)
class Cut:
    """A half-plane row·(u, v, 1) ≥ 0 whose value is a distance, and the place of the label whose boundary it is."""

    row: Floats
    label: int


class Arrangement:
    """The regions of the rule sigmoid: each label's line, by the sign of its logit."""

    def __init__(self, sheet: Sheet) -> None:
        self.sheet = sheet
        self._table = np.column_stack([sheet.slopes, sheet.heights])  # (n_labels, 3)
        self._distances = _as_distances(self._table)

    def active_at(self, point: Floats) -> Bools:
        """Return the active labels at a point."""
        return self.sheet.logits(point[None])[:, 0] > 0

    def violated(self, active: Bools, points: Floats, slack: float) -> list[Cut]:
        """Return half-planes of the set's region that leave out, by more than ``slack``, some of these points."""
        return _most_violated(_signed(self._distances, active), points, slack)


class SupportArrangement(Arrangement):
    """The regions of the rule sparsemax: given the set, its threshold is linear in the input."""

    def active_at(self, point: Floats) -> Bools:
        """Return the support of sparsemax at a point."""
        z = self.sheet.logits(point[None])[:, 0] * self.sheet.layer.temperature
        ranked = -np.sort(-z)
        size = int(np.flatnonzero(ranked * np.arange(1, len(z) + 1) > np.cumsum(ranked) - 1)[-1]) + 1
        return z > (ranked[:size].sum() - 1) / size

    def violated(self, active: Bools, points: Floats, slack: float) -> list[Cut]:
        """Return half-planes of the set's region that leave out some of these points."""
        threshold = self._table[active].mean(axis=0)
        threshold[2] -= 1 / (self.sheet.layer.temperature * active.sum())
        return _most_violated(_signed(_as_distances(self._table - threshold), active), points, slack)


class RankedArrangement(Arrangement):
    """The regions of the rule topk for one number of active labels."""

    def __init__(self, sheet: Sheet, size: int) -> None:
        super().__init__(sheet)
        self.size = size

    def active_at(self, point: Floats) -> Bools:
        """Return the labels with the largest logits at a point."""
        active = np.zeros(len(self._table), dtype=np.bool_)
        active[np.argsort(-self.sheet.logits(point[None])[:, 0], kind="stable")[: self.size]] = True
        return active

    def violated(self, active: Bools, points: Floats, slack: float) -> list[Cut]:
        """Return half-planes in which a label of the set is above one that is not in it."""
        if active.all() or not active.any():
            return []
        z, (on, off) = self.sheet.logits(points), (np.flatnonzero(side) for side in (active, ~active))
        lowest, highest = on[z[on].argmin(axis=0)], off[z[off].argmax(axis=0)]
        rows = _as_distances(self._table[lowest] - self._table[highest])
        outside = (rows[:, :2] * points).sum(axis=1) + rows[:, 2] < -slack
        return [Cut(row, int(i)) for row, i in zip(rows[outside], lowest[outside], strict=True)]


def arrangement(sheet: Sheet, size: int) -> Arrangement:
    """Return the regions on a sheet; for the rule topk those of sets of this size."""
    if sheet.layer.rule == "topk":
        return RankedArrangement(sheet, size)
    return SupportArrangement(sheet) if sheet.layer.rule == "sparsemax" else Arrangement(sheet)


def _signed(rows: Floats, active: Bools) -> Floats:
    return np.where(active, 1.0, -1.0)[:, None] * rows


def _most_violated(rows: Floats, points: Floats, slack: float) -> list[Cut]:
    if not len(rows):
        return []
    values = rows[:, :2] @ points.T + rows[:, 2:]  # (n_labels, m)
    worst = np.unique(values.argmin(axis=0)[values.min(axis=0) < -slack])
    return [Cut(rows[i], int(i)) for i in worst]


def _as_distances(rows: Floats) -> Floats:
    """Scale rows (a, b, c) so that a·u + b·v + c is a distance; where a and b are nothing, an endless one."""
    lengths = np.linalg.norm(rows[:, :2], axis=1)
    constant = lengths <= CONSTANT * np.abs(rows[:, 2])  # zero rows, too
    scaled = rows / np.where(constant, 1.0, lengths)[:, None]
    scaled[constant] = np.column_stack([np.zeros((constant.sum(), 2)), 1e300 * np.sign(rows[constant, 2])])
    return scaled
