"""A classifier with two features: the lines of its labels, the regions between them, and the largest ball of each.

Regions are computed in floats, and one of less than 10⁻¹² of the box is lost: a picture is no proof. The
balls are those of `labelproof.verify`, with proven radii.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from labelproof.foundation.arguments import check_choice
from labelproof.foundation.figures import new_figure, save_figure
from labelproof.proof.exact_arrays import finite_array
from labelproof.search.verifier import verify

__all__ = ["Region", "draw_arrangement", "draw_on", "regions"]

Floats = npt.NDArray[np.float64]
THIN = 1e-12  # of the box's area
MOST_LABELS = 40
FRAME = 1.16  # what is drawn, by the box: the names of the lines are outside of it
CENTRED: dict[str, Any] = {"ha": "center", "va": "center", "fontsize": 9, "parse_math": False}
COLOURS = ("#cfe0f3", "#fbe3c8", "#d3ecd5", "#f6d5d5", "#e2d8f0", "#e9e2d4", "#d5eef0", "#f3e9b9")


@dataclass(frozen=True, eq=False)
class Region:
    """Where a label set is predicted within the box.

    Attributes
    ----------
    labels
        The active labels, ascending.
    corners
        float64 (m, 2), counterclockwise.

    Examples
    --------
    >>> first = regions([[1.0, 0.0], [0.0, 1.0]])[0]
    >>> first.labels, first.corners.shape
    ((0, 1), (4, 2))
    """

    labels: tuple[int, ...]
    corners: Floats

    @property
    def centroid(self) -> Floats:
        """The centre of gravity."""
        after = np.roll(self.corners, -1, axis=0)
        crossed = self.corners[:, 0] * after[:, 1] - after[:, 0] * self.corners[:, 1]  # twice the triangles to 0
        found: Floats = crossed @ (self.corners + after) / (3 * crossed.sum())
        return found


def regions(weight: Any, *, bias: Any = None, box: float = 1.0) -> list[Region]:
    """Return the regions of all label sets in the square |x_j| ≤ box of a classifier with two features.

    Parameters
    ----------
    weight
        (n_labels, 2).
    bias
        (n_labels,), or None.
    box
        Half the side of the square.

    Examples
    --------
    >>> found = regions([[1.0, 0.0], [0.0, 1.0], [-1.0, -1.0]])
    >>> len(found), (0, 1, 2) in [region.labels for region in found]
    (6, False)
    """
    lines = _lines(weight, bias)
    if not 0 < box < np.inf:
        raise ValueError(f"box must be a positive number, got {box}")
    square = box * np.array([[-1.0, -1.0], [1.0, -1.0], [1.0, 1.0], [-1.0, 1.0]])
    found: list[tuple[tuple[int, ...], Floats]] = [((), square)]
    for label, line in enumerate(lines):
        parts = [
            (labels if side < 0 else (*labels, label), _clip(corners, side * line))
            for labels, corners in found
            for side in (1.0, -1.0)
        ]
        found = [(labels, corners) for labels, corners in parts if _area(corners) > THIN * 4 * box**2]
    return [Region(labels, corners) for labels, corners in found]


def draw_arrangement(
    weight: Any,
    path: str | Path,
    *,
    bias: Any = None,
    box: float = 1.0,
    label_names: Sequence[str] | None = None,
    balls: bool = True,
    inside: str = "signs",
    title: str = "",
) -> None:
    """Draw the regions of a classifier with two features, each with its label set and its largest ball.

    Parameters
    ----------
    weight
        (n_labels, 2), of at most 40 labels.
    path
        Of the picture; its ending tells the format, such as .png or .svg.
    bias
        (n_labels,), or None.
    box
        The inputs are within ±box.
    label_names
        Written at the lines; by default 1, 2, ….
    balls
        Draw the Chebyshev ball of each region: the largest that stays on the region's side of every line, its centre
        within the box.
    inside
        How a region's label set is written: ``signs``, + and − for each label, or ``names`` of the active ones.
    title
        What stands above.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "picture.svg")
    ...     draw_arrangement([[1.0, 0.0], [0.0, 1.0], [-1.0, -1.0]], path)
    ...     path.stat().st_size > 1000
    True
    """
    figure = new_figure(4.6, 4.8)
    draw_on(figure.subplots(), weight, bias=bias, box=box, label_names=label_names, balls=balls, inside=inside)
    if title:
        figure.suptitle(title, fontsize=11, parse_math=False)
    save_figure(figure, path)


def draw_on(
    axes: Any,
    weight: Any,
    *,
    bias: Any = None,
    box: float = 1.0,
    label_names: Sequence[str] | None = None,
    balls: bool = True,
    inside: str = "signs",
) -> None:
    """Draw an arrangement on axes of matplotlib; see `draw_arrangement`."""
    from matplotlib.patches import Circle, Polygon

    lines = _lines(weight, bias)
    names = [str(i + 1) for i in range(len(lines))] if label_names is None else list(label_names)
    if len(names) != len(lines):
        raise ValueError(f"label_names must hold {len(lines)} names, one per label, got {len(names)}")
    check_choice("inside", inside, ("signs", "names"))
    found = regions(weight, bias=bias, box=box)
    for i, region in enumerate(found):
        axes.add_patch(Polygon(region.corners, facecolor=COLOURS[i % len(COLOURS)], edgecolor="none"))
    if balls:
        for center, radius in _balls(weight, bias, box, [region.labels for region in found]):
            axes.add_patch(
                Circle(
                    (center[0], center[1]), radius, facecolor="none", edgecolor="0.35", linestyle="--", linewidth=0.9
                )
            )
            axes.plot(*center, ".", color="0.35", markersize=3)
    _draw_lines(axes, lines, names, box)
    for i, region in enumerate(found):
        behind = {"boxstyle": "square,pad=0.1", "facecolor": COLOURS[i % len(COLOURS)], "edgecolor": "none"}
        axes.text(*region.centroid, _written(region.labels, names, inside), bbox=behind, **CENTRED)
    axes.set(xlim=(-FRAME * box, FRAME * box), ylim=(-FRAME * box, FRAME * box), aspect="equal")
    axes.add_patch(Polygon(box * np.array([[-1, -1], [1, -1], [1, 1], [-1, 1]]), facecolor="none", edgecolor="0.6"))
    axes.spines[["top", "right", "bottom", "left"]].set_visible(False)
    axes.tick_params(length=0)  # a dash before the name of a line would look like a minus
    axes.set_xticks([-box, 0, box])
    axes.set_yticks([-box, 0, box])


def _draw_lines(axes: Any, lines: Floats, names: Sequence[str], box: float) -> None:
    """Draw the boundary of each label, its name and an arrow to the side on which it is active."""
    for (a, b, c), name in zip(lines.tolist(), names, strict=True):
        length = float(np.hypot(a, b))
        if length == 0:
            continue  # a label without weights has no line
        normal, along = np.array([a, b]) / length, np.array([-b, a]) / length
        foot = -c / length * normal
        reach = _reach(foot, along, box)
        if reach is None:
            continue
        start, end = foot + reach[0] * along, foot + reach[1] * along
        axes.plot(*zip(start, end, strict=True), color="0.15", linewidth=1.3)
        axes.annotate("", end + 0.11 * box * normal, end, arrowprops={"arrowstyle": "->", "color": "0.15"})
        behind = {"boxstyle": "round,pad=0.15", "facecolor": "white", "edgecolor": "none"}  # balls may pass there
        axes.text(*(end + 0.09 * box * along - 0.03 * box * normal), name, bbox=behind, zorder=4, **CENTRED)


def _reach(foot: Floats, along: Floats, box: float) -> tuple[float, float] | None:
    """Return between which multiples of ``along`` a line stays in the box."""
    low, high = -np.inf, np.inf
    for place, step in zip(foot.tolist(), along.tolist(), strict=True):
        if abs(step) > 1e-12:
            ends = sorted([(-box - place) / step, (box - place) / step])
            low, high = max(low, ends[0]), min(high, ends[1])
        elif abs(place) > box:
            return None
    return (low, high) if low < high else None


def _balls(weight: Any, bias: Any, box: float, sets: list[tuple[int, ...]]) -> list[tuple[Floats, float]]:
    """Return centre and proven radius of the balls of label sets, without those that are none."""
    found = verify(weight, [list(labels) for labels in sets], bias=bias, radius=True, box=box)
    radii = found.radii
    if radii is None:
        return []
    return [(center, float(radius)) for center, radius in zip(radii.centers, radii.lower, strict=True) if radius > 0]


def _lines(weight: Any, bias: Any) -> Floats:
    """Return rows (a, b, c): label i is active where a·x + b·y + c > 0."""
    table = finite_array("weight", weight)
    if table.ndim != 2 or table.shape[1] != 2 or not 1 <= len(table) <= MOST_LABELS:
        raise ValueError(f"weight must have shape (n_labels, 2) with at most {MOST_LABELS} labels, got {table.shape}")
    offset = np.zeros(len(table)) if bias is None else finite_array("bias", bias)
    if offset.shape != (len(table),):
        raise ValueError(f"bias must have shape ({len(table)},) to match weight {table.shape}, got {offset.shape}")
    found: Floats = np.column_stack([table, offset]).astype(np.float64)
    return found


def _clip(corners: Floats, line: Floats) -> Floats:
    """Cut off what is not on the positive side of a line."""
    values, points = corners @ line[:2] + line[2], []
    for k, value in enumerate(values.tolist()):
        after = (k + 1) % len(corners)
        if value >= 0:
            points.append(corners[k])
        if (value >= 0) != (values[after] >= 0):
            points.append(corners[k] + (corners[after] - corners[k]) * (value / (value - values[after])))
    return np.array(points).reshape(-1, 2)


def _area(corners: Floats) -> float:
    x, y = corners.T
    return abs(float(x @ np.roll(y, -1) - y @ np.roll(x, -1))) / 2 if len(corners) > 2 else 0.0


def _written(labels: tuple[int, ...], names: Sequence[str], inside: str) -> str:
    """Write a label set within its region."""
    if inside == "names":
        return "\n".join(names[label] for label in labels) or "none"
    return "".join("+" if label in labels else "−" for label in range(len(names)))
