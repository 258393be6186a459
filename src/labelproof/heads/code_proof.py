"""What is proven of a head of code columns from its stored numbers, for torch's head and Keras's alike."""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from labelproof.errors import CertificateError
from labelproof.heads.guarantee import Guarantee
from labelproof.heads.precisions import Precision
from labelproof.proof.labels import read_label_set, read_label_sets
from labelproof.theory.code_checks import covered_ones
from labelproof.theory.codes import Code, witness_norm

__all__ = ["CodeProof"]

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class CodeProof:
    """The stored numbers of a head of code columns.

    Attributes
    ----------
    symbols
        int (n_labels, length): which of the q columns of each point has the one.
    code, k, scale
        What the symbols should be, the most labels of a set, and the number in the columns.
    slack_weight
        The learnable columns, float64 (n_labels, slack), or None.
    """

    symbols: npt.NDArray[np.integer[Any]]
    code: Code
    k: int
    scale: float
    slack_weight: Floats | None

    @property
    def n_labels(self) -> int:
        """Number of labels."""
        return len(self.symbols)

    @property
    def n_features(self) -> int:
        """Number of columns: the constant one, those of the code, and the learnable ones."""
        return 1 + self.code.columns + (0 if self.slack_weight is None else self.slack_weight.shape[1])

    def witness(self, label_set: Any) -> Floats:
        """Return features (n_features,) that predict a label set; see `CodeHead.witness`."""
        active = read_label_set(label_set, self.n_labels)
        x, gap = self._witness(active)
        if gap < 1:
            raise ValueError(
                f"label_set must leave every other label a one of its own, as any {self.k} labels do, got "
                f"{len(active)} labels that leave one none: labelproof.verify decides"
            )
        return x

    def guarantee(self, label_sets: Any, *, in_features: int, path: str, dtype: Any, precision: Precision) -> Guarantee:
        """Prove that every set of at most k labels can be predicted, and with what margin.

        Parameters
        ----------
        label_sets
            Further sets to check, or None.
        in_features, path
            Width of the encoder's output, and how the logits are computed.
        dtype, precision
            The type of the features, as the record shall name it, and the same in numbers.

        Raises
        ------
        CertificateError
            If the symbols or the learnable columns are not what the proof needs.
        """
        gap = self.code.length - covered_ones(self.symbols, self.code, min(self.k, self.n_labels - 1))
        if gap < 1:
            raise CertificateError(
                f"symbols: expected that no {self.k} labels cover all {self.code.length} ones of another, got some"
            )
        if self.slack_weight is not None and not np.isfinite(self.slack_weight).all():
            raise CertificateError("slack_weight: expected finite numbers, got others")
        holds = self._is_exact_in(precision)
        return Guarantee(
            level="exact",
            k=self.k,
            n_labels=self.n_labels,
            n_features=self.n_features,
            reaches_all_features=in_features >= self.n_features,
            path=path,
            dtype=dtype,
            is_safe=None if label_sets is None else self._safe(label_sets, holds),
            margin=gap * self.scale / (self._largest_row_norm() * math.sqrt(witness_norm(self.code, gap))),
            holds_in_dtype=holds,
        )

    def _witness(self, active: npt.NDArray[np.int64]) -> tuple[Floats, int]:
        """Return the features for a set, and the least absolute logit in units of the scale."""
        ones = self.symbols.astype(np.int64) + np.arange(0, self.code.columns, self.code.q)
        covered = np.zeros(self.code.columns, np.int64)
        covered[ones[active]] = 1
        left = np.delete(self.code.length - covered[ones].sum(1), active)
        gap = int(left.min(initial=self.code.length))
        x = np.zeros(self.n_features)
        x[0] = gap - self.code.length
        x[1 : 1 + self.code.columns] = 2 * covered - 1
        return x, gap

    def _safe(self, label_sets: Any, holds: bool) -> npt.NDArray[np.bool_]:
        sets = read_label_sets(label_sets, self.n_labels)
        return np.array([holds and self._witness(active)[1] >= 1 for active in sets], dtype=np.bool_)

    def _is_exact_in(self, precision: Precision) -> bool:
        """Whether a witness is representable, and its logits are neither inexact while summed nor lost when rounded."""
        most = 2 * self.code.length
        representable = self.code.length <= 2 / precision.eps
        return representable and most <= 2**24 and precision.tiny <= self.scale and most * self.scale <= precision.max

    def _largest_row_norm(self) -> float:
        """Return an upper bound of the norms of all rows."""
        square = self.scale**2 * (self.code.length + 1)
        if self.slack_weight is not None:
            square += float(np.square(self.slack_weight).sum(1).max()) * (1 + 1e-9)
        return math.sqrt(square) * (1 + 1e-15)
