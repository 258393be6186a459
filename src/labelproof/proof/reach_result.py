"""The reach of label sets with what proves it: bounds, and the share of inputs that can be predicted as each set."""

from dataclasses import dataclass, field
from os import PathLike
from typing import Any

import numpy as np
import numpy.typing as npt

from labelproof.errors import CertificateError
from labelproof.proof.examples import Examples
from labelproof.proof.labels import LabelSets
from labelproof.proof.reach_bounds import reach_lowers, reach_uppers, share_bounds, spread_fault
from labelproof.proof.regions import OutputLayer, require_subnormals
from labelproof.proof.stretch_bar import Bar
from labelproof.proof.stretch_bounds import Weighted

__all__ = ["Reach"]

Floats = npt.NDArray[np.float64]
Indices = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Reach:
    """How far from the mean of examples, in units of their spread, label sets begin; in the order of the input.

    Attributes
    ----------
    layer, label_sets, examples
        What was measured, and among which examples; the rule is sigmoid, and a domain is left aside.
    spread
        float64 (r, d): an input is x = centre + u · spread, and its distance is |u|; the examples have unit covariance
        in these units.
    lower, upper
        float64 (n_sets,): proven bounds of the least distance at which a set is predicted.
    share
        float64 (n_sets,): proven: at most this share of inputs with the examples' mean and covariance, whatever their
        distribution, is predicted as the set (Marshall and Olkin).
    weighted_ptr, weighted_labels, multipliers
        Set i has the labels ``weighted_labels[weighted_ptr[i]:weighted_ptr[i + 1]]`` with these multipliers, which
        prove all three.
    bar
        From held-out inputs, if they were given.
    """

    layer: OutputLayer = field(repr=False)
    label_sets: LabelSets = field(repr=False)
    examples: Examples = field(repr=False)
    spread: Floats = field(repr=False)
    lower: Floats
    upper: Floats
    share: Floats
    weighted_ptr: Indices = field(repr=False)
    weighted_labels: Indices = field(repr=False)
    multipliers: Floats = field(repr=False)
    bar: "Bar[Reach] | None" = None

    def __len__(self) -> int:
        return len(self.lower)

    @property
    def beyond(self) -> npt.NDArray[np.bool_]:
        """Bool (n_sets,): whether a set lies beyond the bar for certain."""
        if self.bar is None:
            raise ValueError("a bar needs held-out inputs: measure the reach with calibration=…")
        return self.lower > self.bar.value

    @property
    def weighted(self) -> list[Weighted]:
        """The labels of each set with their multipliers."""
        parts = [slice(a, b) for a, b in zip(self.weighted_ptr[:-1], self.weighted_ptr[1:], strict=True)]
        return [(self.weighted_labels[part], self.multipliers[part]) for part in parts]

    def check(self, *, calibration: Any = None) -> None:
        """Prove every bound again from weights, features, spread and weighted labels alone.

        Parameters
        ----------
        calibration
            Features of the held-out inputs of the bar, if their predictions are to be made again.

        Raises
        ------
        CertificateError
            If a bound is not proven; the message names the label set and what is wrong.
        """
        require_subnormals()
        fault = self.frame_fault() or self.examples.centre_fault() or spread_fault(self.examples, self.spread)
        if fault is not None:
            raise CertificateError(fault)
        self._check_bounds()
        if self.bar is not None:
            theirs = self.bar.predicted
            if (
                theirs.layer is not self.layer
                or theirs.examples is not self.examples
                or theirs.spread is not self.spread
            ):
                raise CertificateError(
                    "the bar is not proven: expected predictions of this layer, among these examples"
                )
            theirs.check()
            self.bar.check(calibration)

    def _check_bounds(self) -> None:
        weighted, centre = self.weighted, self.examples.centre
        proven = {
            "lower bound": self.lower <= reach_lowers(self.layer, centre, self.spread, self.label_sets, weighted),
            "upper bound": self.upper >= reach_uppers(self.layer, centre, self.spread, self.label_sets, weighted),
            "share": self.share >= share_bounds(self.layer, self.examples, self.label_sets, weighted),
        }
        for name, holds in proven.items():
            wrong = np.flatnonzero(~holds)
            if len(wrong):
                raise CertificateError(
                    f"the reach of label set {wrong[0]} is not proven: expected weighted labels that prove its {name}, "
                    "got others"
                )

    def frame_fault(self) -> str | None:
        """Return what is wrong with the arrays that hold the evidence, or None."""
        n, sets, layer = len(self.lower), self.label_sets, self.layer
        if layer.rule != "sigmoid" or layer.low is not None or layer.high is not None or layer.balls:
            return "expected the rule sigmoid and no domain for a reach, got others"
        if not len(sets) == n == len(self.upper) == len(self.share) or sets.n_labels != layer.n_labels:
            return f"expected bounds of {len(sets)} label sets, got {n} lower, {len(self.upper)} upper ones and shares"
        if not sets.is_sound():
            return f"expected label sets of ascending labels below {layer.n_labels}, got others"
        if self.spread.ndim != 2 or self.spread.shape[1] != layer.d or len(self.examples) < 2:
            return f"expected a spread of {layer.d} features of at least two examples, got {self.spread.shape}"
        ends, labels = self.weighted_ptr, self.weighted_labels
        if labels.ndim != 1 or labels.shape != self.multipliers.shape or labels.dtype.kind != "i":
            return f"expected labels with a multiplier each, got {labels.shape} and {self.multipliers.shape}"
        if len(ends) != n + 1 or ends[0] != 0 or ends[-1] != len(labels) or (np.diff(ends) < 0).any():
            return f"expected ends of weighted labels that ascend from 0 to {len(labels)}, got others"
        return None

    def save(self, path: str | PathLike[str]) -> None:
        """Write everything but weights and features to one file; `load_reach` reads it."""
        from labelproof.proof.reach_store import save_reach  # which builds on this module

        save_reach(self, path)
