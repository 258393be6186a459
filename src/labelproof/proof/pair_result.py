"""The stretch of pairs of labels, both on and all others free, with what proves it."""

from dataclasses import dataclass, field
from functools import cached_property
from os import PathLike

import numpy as np
import numpy.typing as npt

from labelproof.errors import CertificateError
from labelproof.proof.examples import Examples
from labelproof.proof.pair_bounds import logit_table
from labelproof.proof.regions import OutputLayer, require_subnormals

__all__ = ["PairStretch"]

Floats = npt.NDArray[np.float64]
Indices = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class PairStretch:
    """The stretch of pairs of labels: both on, all others free.

    Attributes
    ----------
    layer, examples_of
        What was measured, and among which examples.
    pairs
        int64 (n, 2): two labels each, ascending.
    counts
        int64 (n,): in how many of the label sets given both are.
    lower, upper
        float64 (n,): proven bounds.
    examples, weights
        (n, 2): the two examples whose mixture has both labels on.
    multipliers
        float64 (n, 2): of the two labels, which prove the lower bound.
    """

    layer: OutputLayer = field(repr=False)
    examples_of: Examples = field(repr=False)
    pairs: Indices
    counts: Indices
    lower: Floats
    upper: Floats
    examples: Indices = field(repr=False)
    weights: Floats = field(repr=False)
    multipliers: Floats = field(repr=False)

    def __len__(self) -> int:
        return len(self.pairs)

    @cached_property
    def apart(self) -> Indices:
        """Places of the pairs that no mixture of the examples combines, for certain; the most frequent first."""
        places = np.flatnonzero(self.lower > 1)
        return places[np.lexsort((-self.lower[places], -self.counts[places]))]

    def check(self) -> None:
        """Prove both bounds of every pair again, or raise a CertificateError."""
        require_subnormals()
        fault = self.frame_fault() or self.examples_of.centre_fault()
        if fault is not None:
            raise CertificateError(fault)
        labels, places = np.unique(self.pairs, return_inverse=True)
        table = logit_table(self.layer, self.examples_of, labels)
        places = places.reshape(self.pairs.shape)
        holds = self.lower <= table.lowers(places, self.multipliers)
        holds &= self.upper >= table.uppers(places, self.examples, self.weights)
        wrong = np.flatnonzero(~holds)
        if len(wrong):
            raise CertificateError(f"the stretch of the pair {self.pairs[wrong[0]].tolist()} is not proven")

    def frame_fault(self) -> str | None:
        """Return what is wrong with the arrays that hold the evidence, or None."""
        n = len(self.pairs)
        for name in ("pairs", "examples", "weights", "multipliers"):
            if getattr(self, name).shape != (n, 2):
                return f"expected two {name} for each of {n} pairs, got {getattr(self, name).shape}"
        for name in ("counts", "lower", "upper"):
            if getattr(self, name).shape != (n,):
                return f"expected {name} for each of {n} pairs, got {getattr(self, name).shape}"
        if not ((self.pairs >= 0) & (self.pairs < self.layer.n_labels)).all():
            return f"expected pairs of labels below {self.layer.n_labels}, got others"
        if not (self.pairs[:, 0] < self.pairs[:, 1]).all():
            return "expected pairs of two labels in ascending order, got others"
        if not ((self.examples >= 0) & (self.examples < len(self.examples_of))).all():
            return f"expected examples below {len(self.examples_of)}, got others"
        return None

    def save(self, path: str | PathLike[str]) -> None:
        """Write everything but weights and features to one file; `load_pairs` reads it."""
        from labelproof.proof.pair_store import save_pairs  # which builds on this module

        save_pairs(self, path)
