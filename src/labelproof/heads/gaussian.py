"""The Gaussian head: every combination of up to k labels can be predicted for nearly all seeds, with fewer columns."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch import Tensor

from labelproof.errors import CertificateError
from labelproof.foundation.arguments import whole_number
from labelproof.heads.fixed import FixedHead
from labelproof.heads.guarantee import Guarantee
from labelproof.heads.start import start_logit
from labelproof.proof.labels import read_label_sets
from labelproof.search.verifier import verify
from labelproof.theory.gaussian import columns_needed, gaussian_distance, spare_columns

__all__ = ["GaussianHead"]


class GaussianHead(FixedHead):
    """A head whose fixed columns are random normal numbers: every set of at most k labels can be predicted, with proof.

    The proof is about the seed: at most a share ``failure`` of all seeds has a set of k labels that is not argmaxable,
    if the generator's numbers are taken for independent normal ones. See `labelproof.theory.gaussian`.

    Parameters
    ----------
    in_features, n_labels, k, slack
        As for `CodeHead`.
    columns : int, optional
        Number of normal columns; by default a tenth more than the proof needs.
    failure : float
        The share of seeds.
    seed : int
        Of the columns; they are drawn again when a head is loaded.
    scale : float, optional
        Factor on the columns, a power of two; by default that for which a row has a norm of about 2.
    start, device, dtype
        As for `CodeHead`; the columns are never below float32.

    Examples
    --------
    >>> head = GaussianHead(in_features=300, n_labels=374, k=5, slack=10)
    >>> head.n_fixed, head.guarantee().level
    (241, 'probabilistic')
    """

    columns: Tensor  # (n_labels, n_fixed)
    drawn: Tensor  # (4,): seed, columns, k, exponent of the scale

    def __init__(
        self,
        in_features: int,
        n_labels: int,
        k: int,
        slack: int,
        *,
        columns: int | None = None,
        failure: float = 1e-6,
        seed: int = 0,
        scale: float | None = None,
        start: float | None = None,
        device: Any = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        in_features = whole_number("in_features", in_features, minimum=1)
        needed = columns_needed(n_labels, k, failure)
        count = spare_columns(n_labels, k, failure) if columns is None else whole_number("columns", columns, minimum=1)
        if count < needed:
            raise ValueError(f"columns must be at least {needed} for k = {k} of {n_labels} labels, got {count}")
        self.k, self.failure, self.seed = int(k), failure, whole_number("seed", seed, minimum=0)
        exponent = round(math.log2(2.0 / math.sqrt(count))) if scale is None else math.frexp(scale)[1] - 1
        if scale is not None and not (scale > 0 and math.frexp(scale)[0] == 0.5):
            raise ValueError(f"scale must be a power of two, got {scale}")
        self.scale = 2.0**exponent
        super().__init__(in_features, int(n_labels), count + 1, slack, device=device, dtype=dtype)
        self.register_buffer("drawn", torch.tensor([self.seed, count, self.k, exponent], device=device))
        self.register_buffer("columns", None, persistent=False)
        self._draw()
        self._start(start_logit(self.k if start is None else start, self.n_labels), float(self.columns[0, 0]))

    def widest_k(self) -> int:
        """Return the largest k whose columns and slack the encoder is wide enough for; 0 if none."""
        room, low, high = self.in_features - 1 - self.slack, 0, self.n_labels - 1
        while low < high:
            k = (low + high + 1) // 2
            fits = spare_columns(self.n_labels, k, self.failure) <= room
            low, high = (k, high) if fits else (low, k - 1)
        return low

    def _draw(self) -> None:
        """Draw the columns: a stream that numpy promises never to change, rounded to float32."""
        weight, count = self.projection.weight, self.n_fixed - 1
        normal = np.random.RandomState(self.seed).standard_normal((self.n_labels, count))
        constant = np.full((self.n_labels, 1), 2.0 ** round(math.log2(math.sqrt(count))))
        columns = self.scale * np.concatenate([constant, normal], axis=1).astype(np.float32)
        precision = torch.float64 if weight.dtype == torch.float64 else torch.float32
        self.columns = torch.from_numpy(columns).to(device=weight.device, dtype=precision)

    def _apply(self, fn: Callable[[Tensor], Tensor], recurse: bool = True) -> "GaussianHead":
        """Move or convert the parameters, but the columns never below float32."""
        super()._apply(fn, recurse)  # type: ignore[no-untyped-call]
        self._draw()
        return self

    def _load_from_state_dict(
        self, state_dict: dict[str, Tensor], prefix: str, local_metadata: Any, strict: bool, *lists: list[str]
    ) -> None:
        ours = self.drawn.clone()
        super()._load_from_state_dict(state_dict, prefix, local_metadata, strict, *lists)
        if not torch.equal(self.drawn, ours):
            own, got = (f"seed, columns, k, exponent {one.tolist()}" for one in (ours, self.drawn))
            lists[-1].append(f"{prefix}drawn: expected a Gaussian head of {own}, got one of {got}")
            self.drawn = ours

    def _fixed_columns(self) -> Tensor:
        return self.columns

    def guarantee(self, label_sets: Any = None, *, dtype: torch.dtype | None = None) -> Guarantee:
        """Say what is proven of the seed, with the rounding to float32 taken into account.

        Parameters
        ----------
        label_sets : array or sparse matrix (n_sets, n_labels) of 0 and 1, or list of lists of labels, optional
            Sets that are verified, for which the level is beside the point.
        dtype : torch.dtype, optional
            Of the features; by default the parameters'.
        """
        dtype = dtype or self.projection.weight.dtype
        if self.slack_weight is not None and not self.slack_weight.isfinite().all():
            raise CertificateError("slack_weight: expected finite numbers, got others")
        margin = self._margin()
        unit, own = torch.finfo(self.columns.dtype).eps, torch.finfo(dtype).eps
        rounding = (self.features + 4) * unit + 2 * own  # of x, of the sum and of the result
        is_safe = None
        if label_sets is not None:
            sets = read_label_sets(label_sets, self.n_labels)
            verified = verify(self.weight.detach().double().cpu().numpy(), sets)
            is_safe = (verified.status == 1) & (verified.margin > rounding)
        reaches = self.in_features >= self.features
        return Guarantee(
            level="probabilistic" if margin > 0 else "measured",
            k=self.k,
            n_labels=self.n_labels,
            n_features=self.features,
            reaches_all_features=reaches,
            path="dense",
            dtype=dtype,
            is_safe=is_safe,
            margin=max(margin, 0.0),
            holds_in_dtype=margin > rounding,
            failure=self.failure,
        )

    def _margin(self) -> float:
        """Return the proven relative margin: half the distance of the hulls over the norms of rows and features."""
        columns = self.columns.double() / self.scale
        constant, largest = float(columns[0, 0]), float(columns[:, 1:].square().sum(1).max().sqrt()) * (1 + 1e-9)
        rounding = 2.0**-24 * float(columns[:, 1:].square().sum().sqrt())  # what Aᵀz can change by, over ‖z‖
        distance = gaussian_distance(self.n_labels, self.k, self.n_fixed - 1, self.failure)
        distance -= rounding / math.sqrt(self.k)
        slack = 0.0
        if self.slack_weight is not None:
            slack = float(self.slack_weight.detach().double().square().sum(1).max()) / self.scale**2
        return distance / 2 / math.sqrt((constant**2 + largest**2 + slack) * (1 + (largest / constant) ** 2))

    def extra_repr(self) -> str:
        """Describe the head in one line."""
        sizes = f"in_features={self.in_features}, n_labels={self.n_labels}, k={self.k}, slack={self.slack}"
        return f"{sizes}, columns={self.n_fixed - 1}, seed={self.seed}, scale={self.scale:g}"
