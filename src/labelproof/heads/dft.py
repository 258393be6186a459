"""The DFT output layer: every combination of up to k labels can be predicted, over the real numbers."""

import math
from functools import lru_cache
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn

from labelproof.foundation.arguments import check_choice, whole_number
from labelproof.heads.cyclic import CyclicHead
from labelproof.heads.fixed import is_recorded
from labelproof.heads.guarantee import Guarantee
from labelproof.heads.precisions import precision_of
from labelproof.heads.safety import guarantee_of
from labelproof.heads.transform import Path, choose_path, evaluate_series, evaluate_split, split_groups
from labelproof.proof.labels import read_label_set
from labelproof.theory.dft import dft_matrix
from labelproof.theory.fixed_columns import DFT_ROW_NORM, dft_features, dft_scale, grid_length

__all__ = ["DFTHead"]

Nodes = Literal["fast", "paper", "learned"]


class DFTHead(CyclicHead):
    """A head that can predict every set of at most k labels: 2k + 1 fixed DFT columns beside ``slack`` learnable ones.

    ``logits = projection(e) @ weight.T``. The fixed columns are cosines and sines of the frequencies 0 to k at one node
    of the circle for each label, so their part of the logits can be computed by a fast Fourier transform.

    Parameters
    ----------
    in_features : int
        Width of the encoder's output; for the guarantee at least 2k + 1 + slack.
    n_labels : int
        Number of labels n.
    k : int
        Most active labels that must be predictable together; 2k + 1 ≤ n.
    slack : int
        Number of learnable columns; may be 0.
    order : array_like of int (n_labels,), optional
        The place of each label on the circle, each from 0 to n - 1 once; by default label i has place i. See
        `spread_order`.
    nodes : {"fast", "paper", "learned"}
        Place i has the angle 2πi/N: on a grid of FFT-friendly length N ≥ n, or of exactly N = n as published, or at
        angles that are learned and kept increasing (an experiment; always a dense product).
    path : {"auto", "fft", "split", "dense"}
        How the fixed part is computed: by a transform, by two products of small matrices, or by one of the whole.
        "auto" times them once for each size of batch and keeps the fastest; under `torch.use_deterministic_algorithms`
        and in compiled code it counts operations instead, and never splits. Exported models are dense.
    scale : float, optional
        Factor on the fixed columns, which have unit norm, hence entries much smaller than those of the learnable ones.
        By default the power of two for which a row of them has a norm of about 1/2, which trains best, but at least 1,
        which is as published.
    start : float, optional
        Every label begins near the probability start/n; k by default, as published.
    device, dtype
        Of the parameters; the fixed columns are never below float32.

    Examples
    --------
    >>> head = DFTHead(in_features=64, n_labels=100, k=5, slack=10)
    >>> head(torch.randn(3, 64)).shape, head.weight.shape
    (torch.Size([3, 100]), torch.Size([100, 21]))
    >>> (head.logits(head.witness([3, 14, 15]).float()) > 0).nonzero().flatten()
    tensor([ 3, 14, 15])
    """

    grid: Tensor  # (3,): what the fixed columns depend on besides k and the places, as integers
    can_split = True  # the frequencies are 0 to k
    row_norm = DFT_ROW_NORM  # that the default scale aims at

    def __init__(
        self,
        in_features: int,
        n_labels: int,
        k: int,
        slack: int,
        *,
        order: npt.ArrayLike | None = None,
        nodes: Nodes = "fast",
        path: Path | Literal["auto"] = "auto",
        scale: float | None = None,
        start: float | None = None,
        device: Any = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        check_choice("nodes", nodes, ("fast", "paper", "learned"))
        if path not in ("auto", "fft", "split", "dense") or (nodes == "learned" and path in ("fft", "split")):
            raise ValueError(
                f"path must be 'auto', 'dense', or for nodes that are not learned 'fft' or 'split', got {path!r}"
            )
        if scale is not None and not (math.isfinite(scale) and scale > 0):
            raise ValueError(f"scale must be a positive number, got {scale}")
        n_labels, k = whole_number("n_labels", n_labels, minimum=1), whole_number("k", k, minimum=1)
        self.nodes, self.path = nodes, path
        self.n_nodes = self._count_nodes(n_labels)
        usual = dft_scale(self.n_nodes, 2 * k + 1 + self._extra(), self.row_norm)
        self.scale = usual if scale is None else float(scale)
        super().__init__(
            in_features, n_labels, k, slack, order=order, start=start, device=device, dtype=dtype, extra=self._extra()
        )
        if path == "split" and not (self.can_split and split_groups(self.n_fixed, self.n_nodes)):
            raise ValueError(f"path must be another for {self.n_fixed} columns at {self.n_nodes} nodes, got 'split'")
        mantissa, exponent = math.frexp(self.scale)
        self.register_buffer("grid", torch.tensor([self.n_nodes, int(mantissa * 2**53), exponent], device=device))
        steps = self.projection.weight.new_zeros(self.n_labels) if nodes == "learned" else None
        self.node_steps = None if steps is None else nn.Parameter(steps)

    def _load_from_state_dict(
        self, state_dict: dict[str, Tensor], prefix: str, local_metadata: Any, strict: bool, *lists: list[str]
    ) -> None:
        grid = self.grid.clone()
        super()._load_from_state_dict(state_dict, prefix, local_metadata, strict, *lists)
        if not torch.equal(self.grid, grid):
            grids = (g.tolist() for g in (grid, self.grid))
            ours, theirs = (f"{n} nodes, scale {math.ldexp(m / 2**53, e)}" for n, m, e in grids)
            lists[-1].append(f"{prefix}grid: expected a DFT head of {ours}, got one of {theirs}")
            self.grid = grid

    def _count_nodes(self, n_labels: int) -> int:
        return grid_length(n_labels) if self.nodes == "fast" else n_labels

    def _extra(self) -> int:
        """Return the number of fixed columns beside the 2k + 1 low ones."""
        return 0

    def _evaluate(self, x: Tensor) -> Tensor:
        """Multiply by the unit-norm columns at all nodes, by a transform."""
        return evaluate_series(x, self.n_nodes)

    def ideal_columns(self) -> npt.NDArray[np.float64]:
        """Return the DFT columns at the nodes, (n_nodes, 2k + 1)."""
        return self.scale * _dft_matrix(self.n_nodes, self.k)

    def angles(self) -> Tensor:
        """Return the angle of each label, (n_labels,), in float64: increasing by place, and within one turn."""
        if self.node_steps is None:
            return 2 * math.pi / self.n_nodes * self.places.double()
        shares = torch.softmax(self.node_steps.double(), dim=0)
        return (2 * math.pi * (torch.cumsum(shares, dim=0) - shares))[self.places]

    def _fixed_columns(self) -> Tensor:
        if self.node_steps is None:
            return self.columns
        turns = self.angles()[:, None] * torch.arange(1, self.k + 1, device=self.places.device)
        waves = math.sqrt(2) * torch.stack([turns.cos(), turns.sin()], dim=2).flatten(1)  # (n, 2k)
        columns = torch.cat([torch.ones_like(waves[:, :1]), waves], dim=1)
        return (self.scale / math.sqrt(self.n_labels) * columns).to(self.columns.dtype)

    def _fixed_logits(self, features: Tensor) -> Tensor:
        path = self._path_for(features)
        if path == "dense":
            return super()._fixed_logits(features)
        x = self.scale * features.to(self.columns.dtype)
        z = self._evaluate(x) if path == "fft" else evaluate_split(x, self.n_nodes)
        return z[..., : self.n_labels] if self.is_in_place else z.index_select(-1, self.places)

    def _path_for(self, features: Tensor) -> Path:
        if self.nodes == "learned" or is_recorded() or features.numel() == 0:
            return "dense"  # an FFT of an empty batch fails
        if self.path == "split" and torch.compiler.is_compiling():
            return "fft"  # "split" would compute its tables again in every call
        if self.path != "auto":
            return self.path
        return choose_path(features.to(self.columns.dtype), self.n_labels, self.n_nodes, can_split=self.can_split)

    def witness(self, label_set: Any) -> Tensor:
        """Return features that predict a label set over the real numbers, in closed form; the slack's are 0.

        Parameters
        ----------
        label_set : collection of int
            Active labels: any k of them, or more if they have few sign changes along the circle.

        Returns
        -------
        Tensor of float64 (features,), on the CPU
        """
        if self.nodes == "learned":
            raise ValueError("witness needs nodes on a grid, got learned ones: use labelproof.verify")
        active = read_label_set(label_set, self.n_labels)
        x = torch.zeros(self.features, dtype=torch.float64)
        x[: 2 * self.k + 1] = torch.from_numpy(dft_features(active, self.places.cpu().numpy(), self.n_nodes, self.k))
        return x

    def guarantee(self, label_sets: Any = None, *, dtype: torch.dtype | None = None) -> Guarantee:
        """Say what holds for the ideal matrix, and what was checked for the numbers in use.

        Parameters
        ----------
        label_sets : array or sparse matrix (n_sets, n_labels) of 0 and 1, or list of lists of labels, optional
            Sets to check: for each, whether some features predict it with a margin that exceeds what rounding can do
            on the path that this head takes.
        dtype : torch.dtype, optional
            Of the features; by default the parameters'.
        """
        dtype = dtype or self.projection.weight.dtype
        path = self._path_for(torch.zeros(32, self.n_fixed, device=self.places.device, dtype=dtype))
        weight = self.weight.detach().double().cpu().numpy()
        return guarantee_of(self, weight, label_sets, path, dtype, precision_of(dtype))


@lru_cache(maxsize=4)
def _dft_matrix(n_nodes: int, k: int) -> npt.NDArray[np.float64]:
    return dft_matrix(n_nodes, k)
