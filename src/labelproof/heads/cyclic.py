"""Heads of fixed columns in Gr⁺ beside learnable ones: what they share, and the polynomials for comparison.

If all maximal minors of a matrix of 2k + 1 columns have one sign, every set of at most k labels can be predicted, and
further columns never take that away. This is a statement about real numbers: see `guarantee`.
"""

from abc import abstractmethod
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from labelproof.foundation.arguments import whole_number
from labelproof.heads.fixed import FixedHead
from labelproof.heads.start import start_logit
from labelproof.theory.dft import vandermonde_matrix
from labelproof.theory.fixed_columns import checked_order

__all__ = ["CyclicHead", "VandermondeHead"]


class CyclicHead(FixedHead):
    """A projection, 2k + 1 fixed columns (or more) and ``slack`` learnable ones: ``logits = projection(e) @ weight.T``.

    Not used by itself: `DFTHead` and `VandermondeHead` say what the fixed columns are. The first is a constant. They
    are kept in float32, or float64 where the parameters are, and rounded once from their ideal values.
    """

    columns: Tensor  # (n_labels, n_fixed)
    places: Tensor  # (n_labels,)

    def __init__(
        self,
        in_features: int,
        n_labels: int,
        k: int,
        slack: int,
        *,
        order: npt.ArrayLike | None,
        start: float | None,
        device: Any,
        dtype: torch.dtype | None,
        extra: int = 0,
    ) -> None:
        in_features = whole_number("in_features", in_features, minimum=1)
        n_labels = whole_number("n_labels", n_labels, minimum=1)
        k = whole_number("k", k, minimum=1)
        if 2 * k + 1 > n_labels:
            raise ValueError(f"k must be at most (n_labels - 1) / 2 for n_labels = {n_labels}, got {k}")
        self.k = k
        super().__init__(in_features, n_labels, 2 * k + 1 + extra, slack, device=device, dtype=dtype)
        places = torch.from_numpy(checked_order(order, self.n_labels))
        self.register_buffer("places", places.to(self.projection.weight.device))
        self.register_buffer("columns", None, persistent=False)
        self._set_columns()
        logit = start_logit(self.k if start is None else start, self.n_labels)
        self._start(logit, float(self.columns[0, 0]))

    def widest_k(self) -> int:
        """Return the largest k whose 2k + 1 columns, with all others, the encoder is wide enough for; 0 if none."""
        others = self.features - (2 * self.k + 1)
        return max(0, min(self.in_features - others, self.n_labels) - 1) // 2

    @abstractmethod
    def ideal_columns(self) -> npt.NDArray[np.float64]:
        """Return the fixed columns by place, (n_places, n_fixed), rounded once."""

    def _set_columns(self) -> None:
        weight = self.projection.weight
        precision = torch.float64 if weight.dtype == torch.float64 else torch.float32
        places = self.places.cpu().numpy()
        self.is_in_place = bool((places == np.arange(self.n_labels)).all())
        self.columns = torch.from_numpy(self.ideal_columns()[places]).to(device=weight.device, dtype=precision)

    def _apply(self, fn: Callable[[Tensor], Tensor], recurse: bool = True) -> "CyclicHead":
        """Move or convert the parameters; the fixed columns are rounded anew, never below float32."""
        super()._apply(fn, recurse)  # type: ignore[no-untyped-call]
        self._set_columns()
        return self

    def _load_from_state_dict(self, *args: Any, **kwargs: Any) -> None:
        super()._load_from_state_dict(*args, **kwargs)
        self._set_columns()  # the loaded order of labels may differ

    def _fixed_columns(self) -> Tensor:
        return self.columns

    def extra_repr(self) -> str:
        """Describe the head in one line."""
        return f"in_features={self.in_features}, n_labels={self.n_labels}, k={self.k}, slack={self.slack}"


class VandermondeHead(CyclicHead):
    """A head whose fixed columns are orthonormal polynomials on an even grid; for comparison with `DFTHead`.

    It has the same guarantee over the real numbers, and a far worse one in floating point.

    Parameters
    ----------
    in_features, n_labels, k, slack, order, start, device, dtype
        As for `DFTHead`.

    Examples
    --------
    >>> import torch
    >>> VandermondeHead(16, 9, k=2, slack=3)(torch.zeros(5, 16)).shape
    torch.Size([5, 9])
    """

    def __init__(
        self,
        in_features: int,
        n_labels: int,
        k: int,
        slack: int,
        *,
        order: npt.ArrayLike | None = None,
        start: float | None = None,
        device: Any = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__(in_features, n_labels, k, slack, order=order, start=start, device=device, dtype=dtype)

    def ideal_columns(self) -> npt.NDArray[np.float64]:
        """Return the polynomials of degree up to 2k at the nodes, (n_labels, 2k + 1)."""
        return vandermonde_matrix(self.n_labels, 2 * self.k + 1)
