"""What `stretch` returns: proven bounds with their evidence for every label set, packed in arrays."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from os import PathLike
from typing import Any, overload

import numpy as np
import numpy.typing as npt

from labelproof.errors import CertificateError
from labelproof.foundation.progress import progress_bar
from labelproof.foundation.threads import in_threads
from labelproof.proof.examples import Examples
from labelproof.proof.labels import LabelSets
from labelproof.proof.regions import OutputLayer, require_subnormals
from labelproof.proof.stretch_bar import Bar
from labelproof.proof.stretch_bounds import StretchBounds, exact_lower, total

__all__ = ["SetStretch", "Stretch"]

Floats = npt.NDArray[np.float64]
Indices = npt.NDArray[np.int64]
AT_ONCE = 64


@dataclass(frozen=True)
class SetStretch:
    """One set's stretch, and what proves it.

    Attributes
    ----------
    lower, upper
        The stretch lies between them; both infinite if no mixture, however inflated, is predicted as the set.
    mixture
        Weight of each example that takes part, by its number: with the features f and their centre c, the set is
        predicted at c + Σ weight · (f − c). Empty without an upper bound, and where the set is predicted at c itself.
    weighted
        Multiplier of each label that takes part in the lower bound: the weighted sum of these labels' signed logits,
        which the set needs to be positive, is so at no mixture that is stretched less than the bound.
    conflict
        Labels that contradict each other for every input like the examples; where the stretch is infinite.
    """

    lower: float
    upper: float
    mixture: dict[int, float]
    weighted: dict[int, float]
    conflict: tuple[int, ...]


@dataclass(frozen=True, eq=False)
class Stretch(Sequence[SetStretch]):
    """The stretch of label sets in the order of the input; ``s[i]`` is that of set i with its evidence.

    Attributes
    ----------
    layer, label_sets, examples
        What was measured, and among which examples.
    lower, upper
        float64 (n_sets,): proven bounds.
    mixture_ptr, mixture_examples, mixture_weights
        Set i has the mixture ``mixture_examples[mixture_ptr[i]:mixture_ptr[i + 1]]`` with these weights.
    weighted_ptr, weighted_labels, multipliers
        The same for the weighted labels that prove the lower bound.
    conflict_ptr, conflict_rows
        The same for conflicts, in the numbering of `regions`.
    bar
        From held-out inputs, if they were given.

    Examples
    --------
    >>> import labelproof as lp
    >>> s = lp.stretch([[1.0, 0.0], [0.0, 1.0]], [[0], [0, 1]], [[2.0, -1.0], [-1.0, 2.0]])
    >>> s.upper.shape, bool((s.lower <= s.upper).all())
    ((2,), True)
    """

    layer: OutputLayer = field(repr=False)
    label_sets: LabelSets = field(repr=False)
    examples: Examples = field(repr=False)
    lower: Floats
    upper: Floats
    mixture_ptr: Indices = field(repr=False)
    mixture_examples: Indices = field(repr=False)
    mixture_weights: Floats = field(repr=False)
    weighted_ptr: Indices = field(repr=False)
    weighted_labels: Indices = field(repr=False)
    multipliers: Floats = field(repr=False)
    conflict_ptr: Indices = field(repr=False)
    conflict_rows: Indices = field(repr=False)
    bar: "Bar[Stretch] | None" = None

    def __len__(self) -> int:
        return len(self.lower)

    @overload
    def __getitem__(self, i: int) -> SetStretch: ...
    @overload
    def __getitem__(self, i: slice) -> list[SetStretch]: ...
    def __getitem__(self, i: int | slice) -> SetStretch | list[SetStretch]:
        if isinstance(i, slice):
            return [self[j] for j in range(*i.indices(len(self)))]
        i = range(len(self))[i]
        examples, weights = self._mixture(i)
        labels, multipliers = self._weighted(i)
        conflict = self._conflict(i)
        return SetStretch(
            float(self.lower[i]),
            float(self.upper[i]),
            dict(zip(examples.tolist(), weights.tolist(), strict=True)),
            dict(zip(labels.tolist(), multipliers.tolist(), strict=True)),
            tuple(conflict[conflict < self.layer.n_labels].tolist()),
        )

    def _mixture(self, i: int) -> tuple[Indices, Floats]:
        part = slice(self.mixture_ptr[i], self.mixture_ptr[i + 1])
        return self.mixture_examples[part], self.mixture_weights[part]

    def _weighted(self, i: int) -> tuple[Indices, Floats]:
        part = slice(self.weighted_ptr[i], self.weighted_ptr[i + 1])
        return self.weighted_labels[part], self.multipliers[part]

    def _conflict(self, i: int) -> Indices:
        return self.conflict_rows[self.conflict_ptr[i] : self.conflict_ptr[i + 1]]

    @property
    def beyond(self) -> npt.NDArray[np.bool_]:
        """Bool (n_sets,): whether a set lies beyond the bar for certain."""
        if self.bar is None:
            raise ValueError("a bar needs held-out inputs: measure the stretch with calibration=…")
        return self.lower > self.bar.value

    def check(
        self,
        *,
        calibration: Any = None,
        exact: bool = False,
        n_jobs: int | None = None,
        progress: bool = False,
    ) -> None:
        """Prove every bound again from weights, rule, features and evidence alone.

        Parameters
        ----------
        calibration
            Features of the held-out inputs of the bar, if their predictions are to be made again; without them the bar
            is proven for the predictions that the result names.
        exact
            Prove lower bounds in fractions, without any rounding: about a second for each set and ten thousand
            examples. Signs at mixtures are proven in floating point, and in integers where its error leaves them open;
            `standalone_stretch.py` has integers throughout.
        n_jobs, progress
            As for `stretch`.

        Raises
        ------
        CertificateError
            If a bound is not proven by its evidence; the message names the label set and what is wrong.
        """
        require_subnormals()
        fault = self.frame_fault() or self.examples.centre_fault()
        if fault is not None:
            raise CertificateError(fault)
        bounds = StretchBounds(self.layer, self.examples)

        def first_fault(start: int) -> str | None:
            some = list(range(start, min(start + AT_ONCE, len(self))))
            faults = zip(some, self._faults(bounds, some, exact), strict=True)
            return next((f"the stretch of label set {i} is not proven: {f}" for i, f in faults if f is not None), None)

        starts = range(0, len(self), AT_ONCE)
        with progress_bar("checking", len(self), show=progress) as advance:
            for start, wrong in zip(starts, in_threads(first_fault, starts, n_jobs), strict=True):
                if wrong is not None:
                    raise CertificateError(wrong)
                advance(min(AT_ONCE, len(self) - start))
        if self.bar is not None:
            if self.bar.predicted.layer is not self.layer or self.bar.predicted.examples is not self.examples:
                raise CertificateError(
                    "the bar is not proven: expected predictions of this layer, among these examples"
                )
            self.bar.predicted.check(exact=exact, n_jobs=n_jobs)
            self.bar.check(calibration)

    def _faults(self, bounds: StretchBounds, some: list[int], exact: bool) -> list[str | None]:
        """Return what is wrong with the bounds of some sets, or None for each."""
        sets = self.label_sets.take(some)
        mixtures = bounds.mixture_faults(sets, [self._mixture(i) for i in some])
        lowers = np.zeros(len(some)) if exact else bounds.lowers(sets, [self._weighted(i) for i in some])
        faults: list[str | None] = []
        for i, mixture_fault, proven in zip(some, mixtures, lowers.tolist(), strict=True):
            amount = total(self._mixture(i)[1])
            if self.upper[i] < np.inf and (mixture_fault is not None or not self.upper[i] >= amount):
                faults.append(mixture_fault or f"expected an upper bound of at least {amount}, got {self.upper[i]}")
            elif self.lower[i] > proven and (below := self._lower_fault(bounds, i, exact)) is not None:
                faults.append(below)
            else:
                faults.append(None)
        return faults

    def _lower_fault(self, bounds: StretchBounds, i: int, exact: bool) -> str | None:
        """Return what is wrong with a lower bound that weighted labels do not prove in floating point, or None."""
        conflict = self._conflict(i)
        if self.lower[i] == np.inf and len(conflict):
            return bounds.conflict_faults(self.label_sets.take([i]), [conflict])[0]
        labels, multipliers = self._weighted(i)
        if exact or self.lower[i] == np.inf:
            proven = exact_lower(self.layer, self.examples, self.label_sets[i], labels, multipliers)
            if self.lower[i] <= proven:
                return None
        return f"expected weighted labels that prove the lower bound {self.lower[i]}, got others"

    def frame_fault(self) -> str | None:
        """Return what is wrong with the arrays that hold the evidence, or None."""
        n_sets, sets = len(self.lower), self.label_sets
        if len(sets) != n_sets or self.upper.shape != (n_sets,) or sets.n_labels != self.layer.n_labels:
            return f"expected bounds of {len(sets)} label sets, got {n_sets} lower and {len(self.upper)} upper ones"
        if not sets.is_sound():
            return f"expected label sets of ascending labels below {self.layer.n_labels}, got others"
        if np.isnan(self.lower).any() or np.isnan(self.upper).any() or (self.lower < 0).any():
            return "expected bounds of at least 0, got others"
        parts = {
            "mixture": (self.mixture_ptr, self.mixture_examples, self.mixture_weights),
            "weighted labels": (self.weighted_ptr, self.weighted_labels, self.multipliers),
            "conflict": (self.conflict_ptr, self.conflict_rows, self.conflict_rows),
        }
        for name, (ends, numbers, weights) in parts.items():
            if numbers.ndim != 1 or numbers.shape != weights.shape or numbers.dtype.kind != "i":
                return f"expected integers with a weight each as {name}, got shapes {numbers.shape} and {weights.shape}"
            if len(ends) != n_sets + 1 or ends[0] != 0 or ends[-1] != len(numbers) or (np.diff(ends) < 0).any():
                return f"expected ends of each {name} that ascend from 0 to {len(numbers)}, got others"
        return None

    def save(self, path: str | PathLike[str]) -> None:
        """Write everything but weights and features to one file, by custom ``*.npz``; `load_stretch` reads it."""
        from labelproof.proof.stretch_store import save_stretch  # which builds on this module

        save_stretch(self, path)
