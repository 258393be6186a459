"""What `explain` returns."""

import math
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from typing import Any

from labelproof.explaining.boundary import Boundary
from labelproof.explaining.explanation_words import Wording
from labelproof.explaining.nearest import Neighbour
from labelproof.explaining.small_conflicts import shares
from labelproof.proof.certificates import Argmaxable, Certificate, Unargmaxable, Undecided
from labelproof.proof.regions import OutputLayer

__all__ = ["Explanation"]


@dataclass(frozen=True, eq=False)
class Explanation:
    """Why a label set can, or cannot, be predicted; ``str`` puts it into words.

    Attributes
    ----------
    label_set
        The active labels, ascending.
    certificate
        `Argmaxable` with the most central witness found, `Unargmaxable` with the conflict of the fewest labels found,
        or `Undecided`.
    irreducible
        Whether it is proven that, with the decision on any one label of the conflict left open, those on the others
        can hold in the domain (for sparsemax: leaving aside what the scores of the support sum to). Without a bias
        and a domain every conflict is so: its rows have one linear dependence, in which none has the multiplier
        zero, so that without any one row the others are linearly independent, and some input gives each of them any
        value that one likes. Otherwise a witness was found for each label that is left out.
    least_distance
        Every argmaxable label set differs from this one in at least so many labels; this is proven. None if it is
        proven that no label set at all is argmaxable.
    nearest
        For an unargmaxable set: argmaxable ones, nearest first. The changes of none include those of another.
    same_size
        For the rule topk and an unargmaxable set: argmaxable ones with as many active labels.
    boundary
        For an argmaxable set: the labels closest to their boundaries at the witness, closest first.
    label_names
        As given to `explain`.

    Examples
    --------
    >>> import labelproof as lp
    >>> found = lp.explain([[1.0, 0.0], [0.0, 1.0], [-1.0, -1.0]], [0, 1, 2])
    >>> found.label_set, found.certificate.conflict
    ((0, 1, 2), (0, 1, 2))
    """

    label_set: tuple[int, ...]
    certificate: Certificate
    _layer: OutputLayer = field(repr=False)
    irreducible: bool = False
    least_distance: int | None = 0
    nearest: tuple[Neighbour, ...] = ()
    same_size: tuple[Neighbour, ...] = ()
    boundary: tuple[Boundary, ...] = ()
    label_names: tuple[str, ...] | None = field(default=None, repr=False)

    def __str__(self) -> str:
        return "\n".join(self._lines(Wording(self._layer, self.label_set, self.label_names)))

    def _lines(self, wording: Wording) -> Iterator[str]:
        certificate = self.certificate
        if isinstance(certificate, Undecided):
            yield f"Undecided whether any input gives {wording.the_set()}: {certificate.reason}."
        elif isinstance(certificate, Argmaxable):
            yield f"Some input gives {wording.the_set()}; the one found has the margin {certificate.margin:.3g}."
            yield from wording.boundary(self.boundary)
        else:
            yield f"No input gives {wording.the_set()}."
            yield from wording.conflict(certificate, irreducible=self.irreducible)
            if not any(one.is_minimal for one in self.nearest):
                yield wording.distance(self.least_distance)
            yield from wording.neighbours("Nearest label sets that can be predicted:", self.nearest)
            yield from wording.neighbours("Nearest label sets of the same size that can be predicted:", self.same_size)

    def to_dict(self) -> dict[str, Any]:
        """Return the explanation in what JSON has: numbers, strings, lists and dicts.

        Witnesses that are no floats are lists of strings such as "1/3". The conflict has, instead of its exact
        multipliers, which may have hundreds of digits, the share of each label: multiplier times norm of the weights.
        """
        contents: dict[str, Any] = {
            "verdict": type(self.certificate).__name__.lower(),
            "label_set": list(self.label_set),
        }
        contents |= self._evidence_as_dict()
        if self.label_names is not None:
            contents["label_names"] = {str(i): self.label_names[i] for i in sorted(self._mentioned())}
        return contents

    def _evidence_as_dict(self) -> dict[str, Any]:
        certificate = self.certificate
        if isinstance(certificate, Undecided):
            return {"reason": certificate.reason}
        if isinstance(certificate, Argmaxable):
            boundary = [asdict(one) | {"margin": _finite(one.margin)} for one in self.boundary]
            return _witness_as_dict(certificate) | {"boundary": boundary}
        conflict = {
            "labels": list(certificate.conflict),
            "extra": list(certificate.extra),
            "shares": shares(certificate),
            "irreducible": self.irreducible,
        }
        near = {name: [_neighbour_as_dict(one) for one in getattr(self, name)] for name in ("nearest", "same_size")}
        return {"conflict": conflict, "least_distance": self.least_distance} | near

    def _mentioned(self) -> set[int]:
        near = (one.label_set for one in self.nearest + self.same_size)
        conflict = self.certificate.conflict if isinstance(self.certificate, Unargmaxable) else ()
        return set(self.label_set).union(conflict, (one.label for one in self.boundary), *near)


def _witness_as_dict(certificate: Argmaxable) -> dict[str, Any]:
    x = certificate.witness
    return {
        "witness": [str(c) for c in x] if isinstance(x, tuple) else x.tolist(),
        "margin": _finite(certificate.margin),
    }


def _neighbour_as_dict(one: Neighbour) -> dict[str, Any]:
    lists = {"label_set": list(one.label_set), "added": list(one.added), "removed": list(one.removed)}
    return lists | {"distance": one.distance, "is_minimal": one.is_minimal} | _witness_as_dict(one.certificate)


def _finite(number: float) -> float | None:
    return number if math.isfinite(number) else None
