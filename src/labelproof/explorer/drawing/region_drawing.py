"""A drawing of the regions around a label set: polygons, the lines of labels, and the largest disc."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from labelproof.explorer.drawing.cells import Cell, Frame, cell_of, largest_disc, trace
from labelproof.explorer.drawing.plane import Plane, Sheet, narrowed, plane_through
from labelproof.explorer.drawing.rule_regions import arrangement
from labelproof.proof.margins import UnitWeights, label_margins
from labelproof.proof.regions import OutputLayer

__all__ = ["Anchor", "Picture", "draw"]

Floats = npt.NDArray[np.float64]
MOST_CELLS = 180
MOST_LINES = 24
SECONDS = 0.6  # for finding regions
N_CLOSEST = 6  # labels whose boundaries a slice is laid along
SOMEWHERE = np.array([0.31, 0.42])  # a point of the frame that is unlikely to lie on a line
LARGEST = 1e100  # largest number that can be drawn without overflow
MOST_CROSSING = 200  # lines whose crossings determine the frame


@dataclass(frozen=True, eq=False)
class Anchor:
    """A label set, ascending, and an input that gives it, through which the plane is laid."""

    labels: tuple[int, ...]
    witness: Floats


@dataclass(frozen=True, eq=False)
class Region:
    """A polygon, and the label set as changes of the first anchor's, or of the empty set."""

    corners: Floats  # (m, 2), within [-1, 1]
    added: tuple[int, ...]
    removed: tuple[int, ...]


@dataclass(frozen=True, eq=False)
class Line:
    """The boundary of a label within the frame, from start to end; the label is on to the left of it.

    It is missing if the wanted set and the first anchor differ in it.
    """

    label: int
    start: Floats
    end: Floats
    is_missing: bool


@dataclass(frozen=True, eq=False)
class Picture:
    """What to draw in a square from -1 to 1; if there is a disc, the first region is that of the first anchor.

    Attributes
    ----------
    is_whole
        Whether the plane is the whole space of features, and not a slice of it.
    is_complete
        Whether all regions within the frame are there.
    disc
        Centre and radius of the largest disc in the first anchor's region; None if that is too thin to be drawn.
    points
        Where the witnesses of the anchors are.
    unit
        The length in feature space of one unit of the drawing.
    """

    is_whole: bool
    is_complete: bool
    regions: tuple[Region, ...]
    lines: tuple[Line, ...]
    disc: tuple[Floats, float] | None
    points: tuple[Floats, ...]
    unit: float


def draw(layer: OutputLayer, weights: UnitWeights, wanted: Sequence[int], anchors: Sequence[Anchor]) -> Picture:
    """Draw the regions of label sets on a plane through the anchors, and at right angles to boundaries that matter.

    Those are of the labels in which the first anchor differs from the wanted set, then of the labels that are the
    next to change there. For the rule topk the regions are those of sets as large as the first anchor's.
    ValueError where there is no plane: of fewer than two features, or through nothing in more.
    """
    if layer.d < 2:
        raise ValueError("a drawing needs a layer of at least 2 features, got 1")
    if not anchors and layer.d > 2:
        raise ValueError("a slice must go through a label set that can be predicted, got none")
    numbers = [layer.weight, *(anchor.witness for anchor in anchors)]
    if any(max(array.max(), -array.min()) > LARGEST for array in numbers):
        raise ValueError(f"a drawing needs weights and inputs of at most {LARGEST:g}, got larger ones")
    size = len(anchors[0].labels if anchors else wanted)
    missing = sorted(set(wanted) ^ set(anchors[0].labels)) if anchors else []
    plane = _plane(layer, weights, anchors, missing)
    sheet = Sheet.on(layer, plane)
    places = [plane.coordinates(_scaled(layer, anchor.witness)) for anchor in anchors]
    frame = _whole_frame(sheet, places) if layer.d == 2 else _frame_around(sheet, size, places, missing)
    regions = arrangement(narrowed(sheet, frame.corners(), size), size)
    base = set(anchors[0].labels) if anchors else set[int]()
    own = cell_of(regions, regions.active_at(places[0]), frame) if places else None
    if own is not None and _labels(regions.sheet, own) != base:
        own = None  # its region is too thin for floats
    start = own
    if start is None and layer.d == 2:
        start = cell_of(regions, regions.active_at(frame.center + frame.half * SOMEWHERE), frame)
    cells, is_complete = ([], True) if start is None else trace(regions, start, frame, MOST_CELLS, SECONDS)
    disc = None if own is None else _to_frame_disc(largest_disc(own), frame)
    return Picture(
        layer.d == 2,
        is_complete,
        tuple(_region(regions.sheet, cell, base, frame) for cell in cells),
        _lines(regions.sheet, cells, frame, missing),
        disc,
        tuple((place - frame.center) / frame.half for place in places),
        frame.half,
    )


def _scaled(layer: OutputLayer, x: Floats) -> Floats:
    """On a cone, take the multiple of length 1 (in the plane: within the frame)."""
    length = float(np.linalg.norm(x))
    if layer.has_scale or length == 0:
        return x
    return x * ((0.6 if layer.d == 2 else 1.0) / length)


def _plane(layer: OutputLayer, weights: UnitWeights, anchors: Sequence[Anchor], missing: list[int]) -> Plane:
    points = [anchor.witness for anchor in anchors[:3]]
    directions = np.eye(layer.d)[:2]
    if anchors and layer.d > 2:
        first = anchors[0]
        margins = label_margins(weights, np.array(first.labels, np.int64), first.witness)
        closest = np.argsort(margins, kind="stable")[:N_CLOSEST].tolist()
        directions = weights.rows[[*missing[:N_CLOSEST], *closest]]
    return plane_through(points, directions, is_cone=not layer.has_scale)


def _whole_frame(sheet: Sheet, places: Sequence[Floats]) -> Frame:
    """Choose the frame in two dimensions: around the origin for a cone, else around the crossings of lines.

    Of the domain's outside a narrow margin is left.
    """
    frame = _frame_of_crossings(sheet, places) if sheet.layer.has_scale else Frame(np.zeros(2), 1.0)
    low, high = frame.center - frame.half, frame.center + frame.half
    low = low if sheet.layer.low is None else np.minimum(np.maximum(low, sheet.layer.low), high)
    high = high if sheet.layer.high is None else np.maximum(np.minimum(high, sheet.layer.high), low)
    if (high - low).max() < 2 * frame.half and (high > low).all():
        frame = Frame((low + high) / 2, 0.52 * float((high - low).max()))
    return frame


def _frame_of_crossings(sheet: Sheet, places: Sequence[Floats]) -> Frame:
    rows = np.column_stack([sheet.slopes, sheet.heights])[:MOST_CROSSING]
    i, j = np.triu_indices(len(rows), 1)
    crossings = np.cross(rows[i], rows[j])
    crossings = crossings[np.abs(crossings[:, 2]) > 1e-9 * np.linalg.norm(crossings, axis=1)]
    points = crossings[:, :2] / crossings[:, 2:]
    center = np.median(points, axis=0) if len(points) else np.zeros(2)
    distances = np.abs(points - center).max(axis=1, initial=0.0) if len(points) else np.zeros(0)
    half = 1.25 * float(np.quantile(distances, 0.9)) if len(distances) else 0.0
    for place in places[:1]:
        half = max(half, min(1.15 * float(np.abs(place - center).max()), 8 * half or np.inf))
    return Frame(center, half or 1.0)


def _frame_around(sheet: Sheet, size: int, places: Sequence[Floats], missing: list[int]) -> Frame:
    """Choose the frame of a slice: a few times the first anchor's region, with all anchors and lines that matter."""
    far = 50 * max(1.0, float(np.linalg.norm(places, axis=1).max()))
    regions = arrangement(sheet, size)
    cell = cell_of(regions, regions.active_at(places[0]), Frame(places[0], far))
    if cell is None:
        return Frame(places[0], 1e-3 * far)
    center, radius = largest_disc(cell)
    extent = float(np.linalg.norm(cell.corners - center, axis=1).max())
    half = min(max(1.5 * extent, 3 * radius), 8 * radius)
    slopes, heights = sheet.slopes[missing[:2]], sheet.heights[missing[:2]]
    lengths = np.maximum(np.linalg.norm(slopes, axis=1), 1e-300)  # a label without weights is infinitely far away
    wanted = np.abs(slopes @ center + heights) / lengths
    least = max([2 * radius, *(1.2 * wanted[wanted < 10 * radius])])
    half = max(half, least)
    if len(places) > 1:
        spread = np.array([center, *places[1:]])
        center = (spread.min(axis=0) + spread.max(axis=0)) / 2
        half = max(half / 2, 1.4 * float(np.abs(spread - center).max()) + radius)
    while half > least and len(places) == 1 and _n_regions(sheet, Frame(center, half)) > MOST_CELLS:
        half = max(0.85 * half, least)
    return Frame(center, half or far)


def _n_regions(sheet: Sheet, frame: Frame) -> int:
    """Return how many regions the lines cut the frame into; of other rules than sigmoid, 0."""
    if sheet.layer.rule != "sigmoid":
        return 0
    few = narrowed(sheet, frame.corners(), 0)
    rows = np.column_stack([few.slopes, few.heights + few.slopes @ frame.center])
    if len(rows) > MOST_CELLS:
        return len(rows)
    i, j = np.triu_indices(len(rows), 1)
    crossings = np.cross(rows[i], rows[j])
    inside = np.abs(crossings[:, :2]).max(axis=1, initial=0.0) < frame.half * np.abs(crossings[:, 2])
    return 1 + len(rows) + int(inside.sum())


def _labels(sheet: Sheet, cell: Cell) -> set[int]:
    return set(sheet.labels[cell.active].tolist()) | set(sheet.always.tolist())


def _region(sheet: Sheet, cell: Cell, base: set[int], frame: Frame) -> Region:
    active = _labels(sheet, cell)
    corners = (cell.corners - frame.center) / frame.half
    return Region(corners, tuple(sorted(active - base)), tuple(sorted(base - active)))


def _to_frame_disc(disc: tuple[Floats, float], frame: Frame) -> tuple[Floats, float]:
    return (disc[0] - frame.center) / frame.half, disc[1] / frame.half


def _lines(sheet: Sheet, cells: Sequence[Cell], frame: Frame, missing: list[int]) -> tuple[Line, ...]:
    """Return the lines of labels: those that are missing, those that bound the first region, then the next ones'."""
    if sheet.layer.rule != "sigmoid":
        return ()  # there a label's boundary is no straight line
    first = np.flatnonzero(np.isin(sheet.labels, missing)).tolist()
    places = dict.fromkeys([*first, *(place for cell in cells for place in cell.edges if place >= 0)])
    lines = []
    for place in list(places)[:MOST_LINES]:
        ends = _ends(sheet.slopes[place], float(sheet.heights[place]), frame)
        if ends is not None:
            lines.append(Line(int(sheet.labels[place]), *ends, place in first))
    return tuple(lines)


def _ends(slope: Floats, height: float, frame: Frame) -> tuple[Floats, Floats] | None:
    """Return where the line slope·p + height = 0 meets the frame, in its units, the side of larger values left."""
    length = float(np.linalg.norm(slope))
    normal = slope / length
    distance = (normal @ frame.center + height / length) / frame.half
    along = np.array([normal[1], -normal[0]])
    foot = -distance * normal
    low, high = -np.inf, np.inf
    for k in range(2):
        if abs(along[k]) > 1e-12:
            a, b = sorted([(-1 - foot[k]) / along[k], (1 - foot[k]) / along[k]])
            low, high = max(low, a), min(high, b)
        elif abs(foot[k]) > 1:
            return None
    return (foot + low * along, foot + high * along) if low < high else None
