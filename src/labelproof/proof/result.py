"""What `verify` returns: a verdict with its evidence for every label set, packed in arrays."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from os import PathLike
from typing import overload

import numpy as np
import numpy.typing as npt

from labelproof.errors import CertificateError
from labelproof.foundation.progress import progress_bar
from labelproof.foundation.threads import in_threads
from labelproof.proof.certificates import Argmaxable, Certificate, Unargmaxable, Undecided
from labelproof.proof.conflicts import conflict_faults
from labelproof.proof.labels import LabelSets
from labelproof.proof.margins import UnitWeights, margin, margins
from labelproof.proof.radius_bounds import Radii, RadiusBounds
from labelproof.proof.regions import OutputLayer, require_subnormals
from labelproof.proof.rounding import FloatRows, Witness, float_rows
from labelproof.proof.samples import Sample
from labelproof.proof.weighted_conflicts import weighted_conflict_fault
from labelproof.proof.witnesses import witness_faults

__all__ = ["Verification"]

Floats = npt.NDArray[np.float64]
Indices = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Verification(Sequence[Certificate]):
    """Verdicts on label sets in the order of the input; ``v[i]`` is the certificate of set i.

    Attributes
    ----------
    layer, label_sets
        What was verified.
    status
        int8 (n_sets,): 1 argmaxable, 0 unargmaxable, -1 undecided.
    points, point_of
        Float witnesses (n_points, d), and for each set its row there or -1.
    conflict_ptr, conflict_rows
        Set i has the conflict ``conflict_rows[conflict_ptr[i]:conflict_ptr[i + 1]]``, in the numbering of `regions`.
    fractions, reasons
        Witnesses that are no floats, and why sets are undecided, by set.
    multipliers
        By set, the multipliers of those conflicts that bring them (see `weighted_conflicts`), one for each row.
    certified
        Whether the evidence was kept.
    radii, eps
        Bounds of the Chebyshev radii, if asked for, and what `eps_argmaxable` compares them with.
    sample
        Of how many label sets these were chosen at random, if they were, and with which seed.

    Examples
    --------
    >>> import labelproof as lp
    >>> v = lp.verify([[1.0, 0.0], [0.0, 1.0], [-1.0, -1.0]], [[0], [0, 1, 2]])
    >>> v.status, len(v), v[1].conflict
    (array([1, 0], dtype=int8), 2, (0, 1, 2))
    >>> v.check()  # raises CertificateError where a proof does not hold
    """

    layer: OutputLayer = field(repr=False)
    label_sets: LabelSets = field(repr=False)
    status: npt.NDArray[np.int8]
    points: Floats = field(repr=False)
    point_of: Indices = field(repr=False)
    conflict_ptr: Indices = field(repr=False)
    conflict_rows: Indices = field(repr=False)
    fractions: dict[int, tuple[Fraction, ...]] = field(repr=False)
    reasons: dict[int, str] = field(repr=False)
    certified: bool = True
    radii: Radii | None = field(default=None, repr=False)
    eps: float = 1e-8
    multipliers: dict[int, tuple[Fraction, ...]] = field(default_factory=dict, repr=False)
    sample: Sample | None = None

    def __len__(self) -> int:
        return len(self.status)

    @overload
    def __getitem__(self, i: int) -> Certificate: ...
    @overload
    def __getitem__(self, i: slice) -> list[Certificate]: ...
    def __getitem__(self, i: int | slice) -> Certificate | list[Certificate]:
        if isinstance(i, slice):
            return [self[j] for j in range(*i.indices(len(self)))]
        i = range(len(self))[i]
        self._require_evidence()
        if self.status[i] == 1:
            inside = margin(self._unit_weights, self.label_sets[i], self._witness(i))
            return Argmaxable(self._witness(i), inside, float(self.radius[i]))
        if self.status[i] == 0:
            rows = self._conflict(i)
            labels, extra = rows[rows < self.layer.n_labels], rows[rows >= self.layer.n_labels]
            names = tuple(self.layer.row_name(row) for row in extra.tolist())
            weights = self.multipliers.get(i)
            names += ("domain",) if weights is not None else ()
            return Unargmaxable(tuple(labels.tolist()), names, self.layer, self.label_sets[i], rows, weights)
        return Undecided(self.reasons[i])

    def _require_evidence(self) -> None:
        if not self.certified:
            raise CertificateError("no evidence was kept: verify with certify=True")

    def _witness(self, i: int) -> Witness:
        return self.points[self.point_of[i]] if self.point_of[i] >= 0 else self.fractions[i]

    def _conflict(self, i: int) -> Indices:
        return self.conflict_rows[self.conflict_ptr[i] : self.conflict_ptr[i + 1]]

    @cached_property
    def margin(self) -> Floats:
        """float64 (n_sets,): margin of each witness (see `Argmaxable`), NaN where there is none."""
        self._require_evidence()
        found = np.full(len(self), np.nan)
        which = np.flatnonzero(self.status == 1).tolist()
        sets, points = [self.label_sets[i] for i in which], [self._witness(i) for i in which]
        found[which] = margins(self._unit_weights, sets, points)
        return found

    @cached_property
    def radius(self) -> Floats:
        """float64 (n_sets,): proven lower bound of the Chebyshev radius; NaN where not asked for or not argmaxable."""
        return self._spread(None if self.radii is None else self.radii.lower)

    @cached_property
    def radius_upper(self) -> Floats:
        """float64 (n_sets,): proven upper bound of the same, nearly always within 1e-6 of it."""
        return self._spread(None if self.radii is None else self.radii.upper)

    @property
    def eps_argmaxable(self) -> npt.NDArray[np.bool_]:
        """Bool (n_sets,): whether some input keeps its label set under every change of norm up to eps."""
        return self.radius >= self.eps

    def _spread(self, values: Floats | None) -> Floats:
        spread = np.full(len(self), np.nan)
        if self.radii is not None and values is not None:
            spread[self.radii.sets] = values
        return spread

    @cached_property
    def _unit_weights(self) -> UnitWeights:
        return UnitWeights(self.layer)

    def check(self, *, n_jobs: int | None = None, progress: bool = False) -> None:
        """Prove every verdict again, exactly, from weights, rule and certificates alone.

        Parameters
        ----------
        n_jobs, progress
            As for `verify`.

        Raises
        ------
        CertificateError
            If a certificate does not prove its verdict; the message names the label set and what is wrong.
        """
        self._require_evidence()
        require_subnormals()
        fault = self._frame_fault()
        if fault is not None:
            raise CertificateError(fault)
        floats = float_rows(self.layer)

        def faults(start: int) -> list[tuple[int, str]]:
            which = np.arange(start, min(start + 64, len(self)))
            yes, no = which[self.status[which] == 1].tolist(), which[self.status[which] == 0].tolist()
            found = witness_faults(
                self.layer, floats, self.label_sets.take(yes), [self._witness(i) for i in yes]
            ) + self._conflict_faults(no, floats)
            return [(i, fault) for i, fault in zip(yes + no, found, strict=True) if fault is not None]

        starts = range(0, len(self), 64)
        with progress_bar("checking", len(self), show=progress) as advance:
            for start, wrong in zip(starts, in_threads(faults, starts, n_jobs), strict=True):
                if wrong:
                    i, fault = min(wrong)
                    raise CertificateError(f"label set {i} is not proven: {fault}")
                advance(min(64, len(self) - start))
        if self.radii is not None:
            self._check_radii(self.radii, floats, n_jobs)

    def _conflict_faults(self, which: list[int], floats: FloatRows) -> list[str | None]:
        plain = [i for i in which if i not in self.multipliers]
        conflicts = [self._conflict(i) for i in plain]
        found = conflict_faults(self.layer, self.label_sets.take(plain), conflicts, floats=floats)
        faults = dict(zip(plain, found, strict=True))
        for i in which:
            if i in self.multipliers:
                given = self._conflict(i), self.multipliers[i]
                faults[i] = weighted_conflict_fault(self.layer, self.label_sets[i], *given)
        return [faults[i] for i in which]

    def _check_radii(self, radii: Radii, floats: FloatRows, n_jobs: int | None) -> None:
        one, nine = (RadiusBounds(self.layer, floats, radii.box, slacks=slacks) for slacks in (1.0, 9.0))

        def fault(i: int) -> str | None:
            return radii.fault(one, nine, self.label_sets[int(radii.sets[i])], i)

        places = range(len(radii.sets))
        for i, wrong in zip(places, in_threads(fault, places, n_jobs), strict=True):
            if wrong is not None:
                raise CertificateError(f"the radius of label set {radii.sets[i]} is not proven: {wrong}")

    def _frame_fault(self) -> str | None:
        """Return what is wrong with the arrays that hold the evidence, or None."""
        n_sets, sets = len(self.status), self.label_sets
        if not set(np.unique(self.status).tolist()) <= {-1, 0, 1}:
            return f"expected a status of 1, 0 or -1, got {np.unique(self.status).tolist()}"
        if len(sets) != n_sets or len(self.point_of) != n_sets or len(self.conflict_ptr) != n_sets + 1:
            return f"expected arrays for {len(sets)} label sets, got {n_sets} statuses"
        if sets.n_labels != self.layer.n_labels or not sets.is_sound():
            return f"expected label sets of ascending labels below {self.layer.n_labels}, got others"
        if self.points.ndim != 2 or self.points.shape[1] != self.layer.d or self.points.dtype != np.float64:
            return f"expected witnesses of shape (…, {self.layer.d}), got {self.points.shape}"
        if self.conflict_rows.dtype.kind != "i" or self.conflict_rows.ndim != 1 or self.point_of.dtype.kind != "i":
            return f"expected row numbers as integers, got {self.conflict_rows.dtype} and {self.point_of.dtype}"
        ends = self.conflict_ptr
        if ends[0] != 0 or ends[-1] != len(self.conflict_rows) or (np.diff(ends) < 0).any():
            return f"expected ends of conflicts that ascend from 0 to {len(self.conflict_rows)}, got others"
        for i in range(n_sets):
            has_point = 0 <= self.point_of[i] < len(self.points)
            if self.status[i] == 1 and not (has_point or (self.point_of[i] == -1 and i in self.fractions)):
                return f"label set {i} is not proven: expected a witness, got none"
            if self.status[i] == -1 and i not in self.reasons:
                return f"label set {i}: expected a reason why it is undecided, got none"
        for i, weights in self.multipliers.items():
            if not isinstance(weights, tuple):
                return f"label set {i} is not proven: expected a tuple of multipliers, got {type(weights).__name__}"
        for i, x in self.fractions.items():
            if not isinstance(x, tuple) or not all(isinstance(c, (Fraction, int)) for c in x):
                return f"label set {i} is not proven: expected a witness of fractions, got others"
        if self.radii is None:
            return None
        if not np.array_equal(self.radii.sets, np.flatnonzero(self.status == 1)):
            return "expected a radius for each argmaxable label set, got others"
        return self.radii.frame_fault(self.layer)

    def save(self, path: str | PathLike[str], *, label_names: Sequence[str] | None = None) -> None:
        """Write everything but the weights to one file, by custom ``*.npz``; `load_verification` reads it."""
        from labelproof.proof.store import save_verification  # which builds on this module

        save_verification(self, path, label_names=label_names)
