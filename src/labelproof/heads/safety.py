"""Which label sets a head of cosines and sines predicts with the numbers in use, where its theorem is about ideal ones.

A label set is *safe* if some features, representable in the head's precision, have logits of the right signs even
after the largest rounding error of the path that computes them.
"""

import math
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import torch

from labelproof.heads.guarantee import Guarantee
from labelproof.heads.transform import split_groups
from labelproof.proof.labels import LabelSets, read_label_sets
from labelproof.search.verifier import verify

if TYPE_CHECKING:
    from labelproof.heads.dft import DFTHead

__all__ = ["guarantee_of"]

Floats = npt.NDArray[np.float64]


def guarantee_of(head: "DFTHead", label_sets: Any, dtype: torch.dtype) -> Guarantee:
    """Check the label sets, by closed-form witnesses and, where these are too tight, by the verifier's."""
    path = head._path_for(torch.zeros(32, head.n_fixed, device=head.places.device, dtype=dtype))
    is_safe = None if label_sets is None else _safe(head, read_label_sets(label_sets, head.n_labels), path, dtype)
    reaches = head.in_features >= head.features
    return Guarantee("ideal arithmetic", head.k, head.n_labels, head.features, reaches, path, dtype, is_safe)


def _safe(head: "DFTHead", sets: LabelSets, path: str, dtype: torch.dtype) -> npt.NDArray[np.bool_]:
    weight = head.weight.detach().double().cpu().numpy()
    safe = np.zeros(len(sets), dtype=np.bool_)
    if head.nodes != "learned":
        for i, active in enumerate(sets):
            if len(active) <= head.k:
                safe[i] = _survives(head, weight, active, head.witness(active).numpy(), path, dtype)
    unsure = np.flatnonzero(~safe)
    verified = verify(weight, sets.take(unsure.tolist()))
    for place in np.flatnonzero(verified.status == 1).tolist():
        witness = getattr(verified[place], "witness", None)
        if isinstance(witness, np.ndarray):
            i = int(unsure[place])
            safe[i] = _survives(head, weight, sets[i], witness, path, dtype)
    return safe


def _survives(
    head: "DFTHead", weight: Floats, active: npt.NDArray[np.int64], x: Floats, path: str, dtype: torch.dtype
) -> bool:
    """Whether x, rounded to the dtype, has logits that exceed the error bound, with the right signs."""
    scaled = np.ldexp(x, -int(np.frexp(np.abs(x).max())[1]))  # below 1
    rounded = torch.from_numpy(scaled).to(dtype).double().numpy()
    signed = -(weight @ rounded)
    signed[active] *= -1
    exact_enough = (len(rounded) + 2) * 2.0**-53 * (np.abs(weight) @ np.abs(rounded))
    return bool((signed - exact_enough > _error_bound(head, weight, rounded, path, dtype)).all())


def _error_bound(head: "DFTHead", weight: Floats, x: Floats, path: str, dtype: torch.dtype) -> Floats:
    """Bound the rounding errors of each logit at x.

    Dense: a sum of m products is off by at most m units of Σ|w_ij x_j|, in any order. FFT: the standard bound (Higham,
    *Accuracy and Stability of Numerical Algorithms*, section 24.1), 8 units for each of log2(N) stages relative to the
    norm of all N values; no library proves it of its own kernels. Split: two sums of 2·steps and 2·groups products,
    whose absolute values add up to at most |x_j| times the amplitude of the wave, since |cos a cos b| + |sin a sin b|
    is 1 at most; eight units more for the rounding of both tables, of the weight and of x times the scale.
    """
    fixed = head.n_fixed
    unit = 0.5 * torch.finfo(torch.float64 if dtype == torch.float64 else torch.float32).eps
    own_unit = 0.5 * torch.finfo(dtype).eps
    sizes = np.abs(weight) @ np.abs(x)
    bound = 1.01 * (len(x) + 4) * unit * sizes
    if path == "fft":
        norm = float(np.linalg.norm(x[:fixed])) * head.scale  # the columns are orthonormal on the whole grid
        bound = bound + 8 * np.log2(head.n_nodes) * unit * norm
    if path == "split":
        groups = split_groups(fixed, head.n_nodes) or 1
        terms = 2 * groups + 2 * math.ceil((fixed + 1) / 2 / groups) + 8
        waves = head.scale * math.sqrt(2 / head.n_nodes) * float(np.abs(x[:fixed]).sum())
        bound = bound + 1.01 * terms * unit * waves
    slack = np.abs(weight[:, fixed:]) @ np.abs(x[fixed:])
    return bound + 1.01 * (len(x) - fixed + 2) * own_unit * slack + torch.finfo(dtype).tiny
