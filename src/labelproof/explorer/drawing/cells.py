"""Convex polygons of label sets on a plane, found one from the other across their edges.

All numbers here are floats, and a picture is no proof: regions thinner than about a millionth of the frame are lost.
"""

import heapq
import time
from dataclasses import dataclass
from itertools import count

import numpy as np
import numpy.typing as npt
from scipy.optimize import linprog

from labelproof.explorer.drawing.rule_regions import Arrangement, Cut

__all__ = ["Cell", "Frame", "cell_of", "largest_disc", "trace"]

Floats = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]
THIN = 1e-7  # of the frame's size
MOST_CUTS = 60  # rounds for one polygon


@dataclass(frozen=True, eq=False)
class Frame:
    """The square of the plane that is drawn."""

    center: Floats
    half: float

    def corners(self) -> Floats:
        """Return the corners, counterclockwise, (4, 2)."""
        return self.center + self.half * np.array([[-1.0, -1.0], [1.0, -1.0], [1.0, 1.0], [-1.0, 1.0]])


@dataclass(frozen=True, eq=False)
class Cell:
    """The region of a label set within the frame.

    Attributes
    ----------
    active
        bool (n_labels,), over the labels of the sheet.
    corners
        float64 (m, 2), counterclockwise.
    edges
        The place of the label whose boundary runs from corner k to the next; -1 for the frame's and the domain's.
    """

    active: Bools
    corners: Floats
    edges: tuple[int, ...]


def cell_of(arrangement: Arrangement, active: Bools, frame: Frame) -> Cell | None:
    """Cut the region of a label set out of the frame; None if nothing of it is there."""
    corners = frame.corners()
    edges: tuple[int, ...] = (-1,) * len(corners)
    for row in arrangement.sheet.bounds:
        corners, edges = _clip(corners, edges, Cut(row, -1))
    for _ in range(MOST_CUTS):
        if _is_thin(corners, frame):
            return None
        cuts = arrangement.violated(active, corners, THIN * frame.half)
        if not cuts:
            return Cell(active, corners, edges)
        for cut in cuts:
            corners, edges = _clip(corners, edges, cut)
    return None


def trace(arrangement: Arrangement, start: Cell, frame: Frame, most: int, seconds: float) -> tuple[list[Cell], bool]:
    """Return the cells that are reached from one across edges, nearest to the frame's middle first.

    The second value says whether that is all; otherwise ``most`` cells, or the time, were not enough.
    """
    deadline = time.perf_counter() + seconds
    seen, order, cells = {start.active.tobytes()}, count(), [start]
    waiting: list[tuple[float, int, Floats]] = []

    def look_beyond(cell: Cell) -> None:
        for point in _points_beyond(cell, frame):
            heapq.heappush(waiting, (float(np.linalg.norm(point - frame.center)), next(order), point))

    look_beyond(start)
    while waiting:
        point = heapq.heappop(waiting)[2]
        active = arrangement.active_at(point)
        if active.tobytes() in seen:
            continue
        if len(cells) == most or time.perf_counter() > deadline:
            return cells, False
        seen.add(active.tobytes())
        cell = cell_of(arrangement, active, frame)
        if cell is not None:
            cells.append(cell)
            look_beyond(cell)
    return cells, True


def largest_disc(cell: Cell) -> tuple[Floats, float]:
    """Return the centre and the radius of the largest disc in a cell."""
    ahead = np.roll(cell.corners, -1, axis=0) - cell.corners
    lengths = np.linalg.norm(ahead, axis=1)
    inward = np.column_stack([-ahead[:, 1], ahead[:, 0]])[lengths > 0] / lengths[lengths > 0, None]
    reach = (inward * cell.corners[lengths > 0]).sum(axis=1)
    middle, size = cell.corners.mean(axis=0), np.ptp(cell.corners, axis=0).max()
    answer = linprog(  # in units of the cell
        [0.0, 0.0, -1.0],
        A_ub=np.column_stack([-inward, np.ones(len(inward))]),
        b_ub=(inward @ middle - reach) / size,
        bounds=[(None, None), (None, None), (0, None)],
    )
    if answer.status != 0:
        return middle, 0.0
    return middle + size * answer.x[:2], float(size * answer.x[2])


def _points_beyond(cell: Cell, frame: Frame) -> list[Floats]:
    """Return a point just across each edge that is a label's boundary."""
    ahead = np.roll(cell.corners, -1, axis=0) - cell.corners
    points = []
    for corner, along, label in zip(cell.corners, ahead, cell.edges, strict=True):
        length = float(np.linalg.norm(along))
        if label >= 0 and length > 2 * THIN * frame.half:
            outward = np.array([along[1], -along[0]]) / length
            points.append(corner + along / 2 + 4 * THIN * frame.half * outward)
    return points


def _clip(corners: Floats, edges: tuple[int, ...], cut: Cut) -> tuple[Floats, tuple[int, ...]]:
    """Cut off what is outside a half-plane; the new edge gets the cut's label."""
    inside = corners @ cut.row[:2] + cut.row[2]
    points: list[Floats] = []
    labels: list[int] = []
    for k, value in enumerate(inside.tolist()):
        after = (k + 1) % len(corners)
        if value >= 0:
            points.append(corners[k])
            labels.append(edges[k])
        if (value >= 0) != (inside[after] >= 0):
            points.append(corners[k] + (corners[after] - corners[k]) * (value / (value - inside[after])))
            labels.append(cut.label if value >= 0 else edges[k])
    return np.array(points).reshape(-1, 2), tuple(labels)


def _is_thin(corners: Floats, frame: Frame) -> bool:
    """Return whether a polygon is narrower than what is lost."""
    if len(corners) < 3:
        return True
    x, y = (corners - frame.center).T
    area = abs(float(x @ np.roll(y, -1) - y @ np.roll(x, -1))) / 2
    return area <= THIN * frame.half * float(np.ptp(corners, axis=0).max())
