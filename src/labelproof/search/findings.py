"""What the search found for one label set, once it is proven; and many of them packed into one result."""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from labelproof.proof.labels import LabelSets
from labelproof.proof.radius_bounds import Radii
from labelproof.proof.regions import OutputLayer
from labelproof.proof.result import Verification
from labelproof.proof.rounding import Witness

__all__ = ["FewNumbers", "Finding", "join", "pack"]

T = TypeVar("T")
Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class FewNumbers:
    """A point that is where another one is but for some columns; of wide layers, the others are not stored."""

    base: Floats  # (d,)
    columns: npt.NDArray[np.int64]
    values: Floats

    def write(self, x: Floats) -> Floats:
        """Write all numbers to an array (d,), and return it."""
        x[:] = self.base
        x[self.columns] = self.values
        return x


@dataclass(frozen=True, eq=False)
class Finding:
    """One label set's verdict: a witness, or the rows of a conflict, or the reason why there is neither."""

    point: Witness | FewNumbers | None = None  # which is the witness
    conflict: npt.NDArray[np.int64] | None = None
    reason: str = ""
    multipliers: tuple[Fraction, ...] | None = None  # of a conflict that brings them

    @property
    def witness(self) -> Witness | None:
        """The point with all its numbers."""
        return self.point.write(np.empty_like(self.point.base)) if isinstance(self.point, FewNumbers) else self.point


def pack(layer: OutputLayer, label_sets: LabelSets, findings: list[Finding], *, keep: bool = True) -> Verification:
    """Pack what was found for each label set into arrays; without ``keep``, only the verdicts."""
    status = np.array(
        [1 if found.point is not None else 0 if found.conflict is not None else -1 for found in findings], np.int8
    )
    if not keep:
        findings = [Finding(reason=found.reason) for found in findings]
    point_of = np.full(len(findings), -1, np.int64)
    fractions: dict[int, tuple[Fraction, ...]] = {}
    points: list[Floats | FewNumbers] = []
    for i, found in enumerate(findings):
        if isinstance(found.point, FewNumbers | np.ndarray):
            point_of[i] = len(points)
            points.append(found.point)
        elif found.point is not None:
            fractions[i] = found.point
    conflicts = [np.empty(0, np.int64) if found.conflict is None else found.conflict for found in findings]
    return Verification(
        layer,
        label_sets,
        status,
        _stacked(points, layer.d),
        point_of,
        np.concatenate([[0], np.cumsum([len(rows) for rows in conflicts])]).astype(np.int64),
        np.concatenate([np.empty(0, np.int64), *conflicts]),
        fractions,
        {i: found.reason for i, found in enumerate(findings) if found.reason},
        keep,
        multipliers={i: found.multipliers for i, found in enumerate(findings) if found.multipliers is not None},
    )


def _stacked(points: Sequence[Floats | FewNumbers], d: int) -> Floats:
    """Return points as the rows of one array."""
    stack = np.empty((len(points), d))
    for row, point in zip(stack, points, strict=True):
        if isinstance(point, FewNumbers):
            point.write(row)
        else:
            row[:] = point
    return stack


def join(layer: OutputLayer, label_sets: LabelSets, parts: Sequence[Verification]) -> Verification:
    """Return the verdicts on consecutive blocks of label sets as one."""
    starts = np.cumsum([0, *map(len, parts)]).tolist()
    first_points = np.cumsum([0, *(len(v.points) for v in parts)])
    return Verification(
        layer,
        label_sets,
        np.concatenate([v.status for v in parts]),
        np.concatenate([v.points for v in parts]),
        np.concatenate(
            [np.where(v.point_of < 0, -1, v.point_of + n) for v, n in zip(parts, first_points, strict=False)]
        ),
        _joined_ends([v.conflict_ptr for v in parts]),
        np.concatenate([v.conflict_rows for v in parts]),
        _joined(starts, [v.fractions for v in parts]),
        _joined(starts, [v.reasons for v in parts]),
        parts[0].certified,
        _joined_radii(starts, [v.radii for v in parts if v.radii is not None]),
        parts[0].eps,
        _joined(starts, [v.multipliers for v in parts]),
    )


def _joined(starts: list[int], parts: Sequence[dict[int, T]]) -> dict[int, T]:
    return {start + i: value for start, part in zip(starts, parts, strict=False) for i, value in part.items()}


def _joined_ends(parts: Sequence[npt.NDArray[np.int64]]) -> npt.NDArray[np.int64]:
    lengths = np.concatenate([np.diff(ends) for ends in parts])
    return np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)


def _joined_radii(starts: list[int], parts: Sequence[Radii]) -> Radii | None:
    if not parts:
        return None
    flat = {
        name: np.concatenate([getattr(radii, name) for radii in parts])
        for name in ("lower", "upper", "centers", "rows", "multipliers")
    }
    places = np.concatenate([radii.sets + start for radii, start in zip(parts, starts, strict=False)])
    return Radii(parts[0].box, sets=places, ptr=_joined_ends([radii.ptr for radii in parts]), **flat)
