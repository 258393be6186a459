"""Which label sets a head of cosines and sines predicts with the numbers in use, where its theorem is about ideal ones.

A label set is *safe* if some features, representable in the head's precision, have logits of the right signs even
after the largest rounding error of the path that computes them.
"""

import math
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from labelproof.heads.guarantee import Guarantee
from labelproof.heads.precisions import Precision
from labelproof.proof.labels import LabelSets, read_label_sets
from labelproof.search.verifier import verify

__all__ = ["guarantee_of"]

Floats = npt.NDArray[np.float64]


class Waves(Protocol):
    """What is read of a head of cosines and sines, whether torch's or Keras's."""

    k: int
    n_labels: int
    n_nodes: int
    n_fixed: int
    features: int
    in_features: int
    scale: float
    nodes: Any

    def witness(self, label_set: Any) -> Any:
        """Return features that predict a label set over the real numbers, as something that numpy reads."""


def guarantee_of(
    head: Waves, weight: Floats, label_sets: Any, path: str, dtype: Any, precision: Precision
) -> Guarantee:
    """Check the label sets, by closed-form witnesses and, where these are too tight, by the verifier's.

    Parameters
    ----------
    head
        A head of cosines and sines.
    weight
        Its weight, float64 (n_labels, features).
    label_sets
        To check, or None.
    path, dtype, precision
        How it computes logits; the type of its features, as the record shall name it; and the same in numbers.
    """
    sets = None if label_sets is None else read_label_sets(label_sets, head.n_labels)
    is_safe = None if sets is None else _safe(head, weight, sets, path, precision)
    reaches = head.in_features >= head.features
    return Guarantee("ideal arithmetic", head.k, head.n_labels, head.features, reaches, path, dtype, is_safe)


def _safe(head: Waves, weight: Floats, sets: LabelSets, path: str, precision: Precision) -> npt.NDArray[np.bool_]:
    safe = np.zeros(len(sets), dtype=np.bool_)
    if head.nodes != "learned":
        for i, active in enumerate(sets):
            if len(active) <= head.k:
                safe[i] = _survives(head, weight, active, np.asarray(head.witness(active)), path, precision)
    unsure = np.flatnonzero(~safe)
    verified = verify(weight, sets.take(unsure.tolist()))
    for place in np.flatnonzero(verified.status == 1).tolist():
        witness = getattr(verified[place], "witness", None)
        if isinstance(witness, np.ndarray):
            i = int(unsure[place])
            safe[i] = _survives(head, weight, sets[i], witness, path, precision)
    return safe


def _survives(
    head: Waves, weight: Floats, active: npt.NDArray[np.int64], x: Floats, path: str, precision: Precision
) -> bool:
    """Whether x, rounded to the precision, has logits that exceed the error bound, with the right signs."""
    scaled = np.ldexp(x, -int(np.frexp(np.abs(x).max())[1]))  # below 1
    rounded = precision.rounded(scaled)
    signed = -(weight @ rounded)
    signed[active] *= -1
    exact_enough = (len(rounded) + 2) * 2.0**-53 * (np.abs(weight) @ np.abs(rounded))
    return bool((signed - exact_enough > _error_bound(head, weight, rounded, path, precision)).all())


def _error_bound(head: Waves, weight: Floats, x: Floats, path: str, precision: Precision) -> Floats:
    """Bound the rounding errors of each logit at x.

    Dense: a sum of m products is off by at most m units of Σ|w_ij x_j|, in any order. FFT: the standard bound (Higham,
    *Accuracy and Stability of Numerical Algorithms*, section 24.1), 8 units for each of log2(N) stages relative to the
    norm of all N values; no library proves it of its own kernels. Split: two sums of 2·steps and 2·groups products,
    whose absolute values add up to at most |x_j| times the amplitude of the wave, since |cos a cos b| + |sin a sin b|
    is 1 at most; eight units more for the rounding of both tables, of the weight and of x times the scale.
    """
    fixed = head.n_fixed
    unit, own_unit = 0.5 * precision.of_fixed_part.eps, 0.5 * precision.eps
    sizes = np.abs(weight) @ np.abs(x)
    bound = 1.01 * (len(x) + 4) * unit * sizes
    if path == "fft":
        norm = float(np.linalg.norm(x[:fixed])) * head.scale  # the columns are orthonormal on the whole grid
        bound = bound + 8 * np.log2(head.n_nodes) * unit * norm
    if path == "split":
        from labelproof.heads.transform import split_groups  # with torch

        groups = split_groups(fixed, head.n_nodes) or 1
        terms = 2 * groups + 2 * math.ceil((fixed + 1) / 2 / groups) + 8
        waves = head.scale * math.sqrt(2 / head.n_nodes) * float(np.abs(x[:fixed]).sum())
        bound = bound + 1.01 * terms * unit * waves
    slack = np.abs(weight[:, fixed:]) @ np.abs(x[fixed:])
    return bound + 1.01 * (len(x) - fixed + 2) * own_unit * slack + precision.tiny
