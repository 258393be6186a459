"""What the search found for one label set, once it is proven; and many of them packed into one result."""

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from labelproof.proof.labels import LabelSets
from labelproof.proof.regions import OutputLayer
from labelproof.proof.result import Verification
from labelproof.proof.rounding import Witness

__all__ = ["Finding", "pack"]

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Finding:
    """One label set's verdict: a witness, or the rows of a conflict, or the reason why there is neither."""

    witness: Witness | None = None
    conflict: npt.NDArray[np.int64] | None = None
    reason: str = ""
    multipliers: tuple[Fraction, ...] | None = None  # of a conflict that brings them


def pack(layer: OutputLayer, label_sets: LabelSets, findings: list[Finding], *, keep: bool = True) -> Verification:
    """Pack what was found for each label set into arrays; without ``keep``, only the verdicts."""
    status = np.array(
        [1 if found.witness is not None else 0 if found.conflict is not None else -1 for found in findings], np.int8
    )
    if not keep:
        findings = [Finding(reason=found.reason) for found in findings]
    point_of = np.full(len(findings), -1, np.int64)
    fractions: dict[int, tuple[Fraction, ...]] = {}
    points: list[Floats] = []
    for i, found in enumerate(findings):
        if isinstance(found.witness, tuple):
            fractions[i] = found.witness
        elif found.witness is not None:
            point_of[i] = len(points)
            points.append(found.witness)
    conflicts = [np.empty(0, np.int64) if found.conflict is None else found.conflict for found in findings]
    return Verification(
        layer,
        label_sets,
        status,
        np.array(points).reshape(-1, layer.d),
        point_of,
        np.concatenate([[0], np.cumsum([len(rows) for rows in conflicts])]).astype(np.int64),
        np.concatenate([np.empty(0, np.int64), *conflicts]),
        fractions,
        {i: found.reason for i, found in enumerate(findings) if found.reason},
        keep,
        multipliers={i: found.multipliers for i, found in enumerate(findings) if found.multipliers is not None},
    )
