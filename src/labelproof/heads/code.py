"""The code head: every combination of up to k labels can be predicted, for the numbers as they are stored."""

import math
from typing import Any, Literal

import numpy as np
import torch
from torch import Tensor
from torch._C import _are_functorch_transforms_active

from labelproof.foundation.arguments import whole_number
from labelproof.heads.bags import sum_rows
from labelproof.heads.code_proof import CodeProof
from labelproof.heads.fixed import FixedHead, is_recorded
from labelproof.heads.guarantee import Guarantee
from labelproof.heads.precisions import precision_of
from labelproof.heads.start import start_logit
from labelproof.theory.code_checks import list_columns
from labelproof.theory.codes import Code, choose_code, codewords, widest_k
from labelproof.theory.fixed_columns import CODE_ROW_NORM, power_of_two

__all__ = ["CodeHead"]


class CodeHead(FixedHead):
    """A head that can predict every set of at most k labels, by proof for the stored numbers.

    ``logits = projection(e) @ weight.T``. The fixed columns are a constant one and those of a Kautz–Singleton code (see
    `labelproof.theory.codes`), all 0 or ``scale``, a power of two: their part of the logits is a sum of a few features
    for each label, and the proof needs nothing but integers that floating point adds without error.

    Parameters
    ----------
    in_features : int
        Width of the encoder's output; for the guarantee at least ``features``.
    n_labels : int
        Number of labels.
    k : int
        Most active labels that must be predictable together.
    slack : int
        Number of learnable columns; may be 0.
    budget : int, optional
        The most code columns; of those codes that fit, the one with the largest proven margin is taken. By default the
        code with the fewest columns is.
    code : Code, optional
        The code itself, instead of one that is chosen; it must be one for k.
    scale : float, optional
        The number in the fixed columns, a power of two; by default that for which a row has a norm of about 2.
    start : float, optional
        Every label begins near the probability start/n; k by default.
    device, dtype
        Of the parameters. The fixed part is computed in float32, or in float64 where the parameters are.

    Examples
    --------
    >>> head = CodeHead(in_features=300, n_labels=374, k=5, slack=10)
    >>> head.code, head.weight.shape
    (Code(q=11, coefficients=3, length=11), torch.Size([374, 132]))
    >>> (head.bfloat16().logits(head.witness([3, 14, 15]).bfloat16()) > 0).nonzero().flatten()
    tensor([ 3, 14, 15])
    >>> head.guarantee().level, head.guarantee().holds_in_dtype
    ('exact', True)
    """

    symbols: Tensor  # (n_labels, length): which of the q columns of each point has the one, uint8 or int32
    shape: Tensor  # (5,): q, coefficients, length, k, exponent of the scale
    ones: Tensor  # (n_labels * length,): the columns of all ones, label by label, and from here on int32
    starts: Tensor  # (n_labels,): where the ones of each label start
    labels: Tensor  # (n_labels * length,): the labels of all ones, column by column
    column_starts: Tensor  # (columns,): where those of each column start

    def __init__(
        self,
        in_features: int,
        n_labels: int,
        k: int,
        slack: int,
        *,
        budget: int | None = None,
        code: Code | None = None,
        scale: float | None = None,
        start: float | None = None,
        device: Any = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        in_features = whole_number("in_features", in_features, minimum=1)
        chosen = choose_code(n_labels, k, budget) if code is None else code
        if code is not None and chosen.gap(whole_number("k", k, minimum=1)) < 1:
            raise ValueError(f"k must be at most {chosen.k} for {chosen}, got {k}")
        self.k, self.code = int(k), chosen
        n_labels = whole_number("n_labels", n_labels, minimum=1)
        super().__init__(in_features, n_labels, chosen.columns + 1, slack, device=device, dtype=dtype)
        exponent = _exponent(power_of_two(CODE_ROW_NORM / math.sqrt(chosen.length + 1)) if scale is None else scale)
        self.scale = 2.0**exponent
        place = self.projection.weight.device
        self.register_buffer("symbols", torch.from_numpy(codewords(n_labels, chosen)).to(place))
        shape = [chosen.q, chosen.coefficients, chosen.length, self.k, exponent]
        self.register_buffer("shape", torch.tensor(shape, device=place))
        for name in ("ones", "starts", "labels", "column_starts"):
            self.register_buffer(name, None, persistent=False)
        self._list_ones()
        self._start(start_logit(min(self.k, n_labels / 2) if start is None else start, n_labels), self.scale)

    def widest_k(self) -> int:
        """Return the largest k of a code whose columns and slack the encoder is wide enough for; 0 if none."""
        return widest_k(self.n_labels, self.in_features - 1 - self.slack)

    def _list_ones(self) -> None:
        """Derive from the symbols where to gather from."""
        ones, labels, ends = list_columns(self.symbols.cpu().numpy(), self.code.q)
        starts = np.arange(0, ones.size, self.code.length, dtype=np.int32)
        for name, array in zip(
            ("ones", "starts", "labels", "column_starts"), (ones.ravel(), starts, labels, ends[:-1]), strict=True
        ):
            setattr(self, name, torch.from_numpy(array).to(self.symbols.device))

    def _load_from_state_dict(
        self, state_dict: dict[str, Tensor], prefix: str, local_metadata: Any, strict: bool, *lists: list[str]
    ) -> None:
        shape, symbols = self.shape.clone(), self.symbols.clone()
        super()._load_from_state_dict(state_dict, prefix, local_metadata, strict, *lists)
        if not torch.equal(self.shape, shape):
            ours, theirs = (_described(one.tolist()) for one in (shape, self.shape))
            lists[-1].append(f"{prefix}shape: expected a code head of {ours}, got one of {theirs}")
            self.shape, self.symbols = shape, symbols
        elif int(self.symbols.min()) < 0 or int(self.symbols.max()) >= self.code.q:
            most = self.code.q - 1
            lists[-1].append(f"{prefix}symbols: expected numbers from 0 to {most}, got {int(self.symbols.max())}")
            self.symbols = symbols
        self._list_ones()

    def _fixed_columns(self) -> Tensor:
        columns = torch.zeros(self.n_labels, self.n_fixed, dtype=self._precision(), device=self.symbols.device)
        columns.scatter_(1, self.ones.view(self.n_labels, -1).long() + 1, self.scale)
        columns[:, 0] = self.scale
        return columns

    def _precision(self) -> torch.dtype:
        return torch.float64 if self.projection.weight.dtype == torch.float64 else torch.float32

    def _path_for(self, features: Tensor) -> Literal["gather", "dense"]:
        if is_recorded() or _are_functorch_transforms_active() or features.numel() == 0:
            return "dense"
        return "gather"

    def _fixed_logits(self, features: Tensor) -> Tensor:
        if self._path_for(features) == "dense":
            return super()._fixed_logits(features)
        x = (self.scale * features.to(self._precision())).reshape(-1, self.n_fixed).T.contiguous()  # (n_fixed, rows)
        summed = sum_rows(x[1:], (self.ones, self.starts), (self.labels, self.column_starts)) + x[0]  # (n_labels, rows)
        return summed.T.reshape(*features.shape[:-1], self.n_labels).contiguous()

    def witness(self, label_set: Any) -> Tensor:
        """Return features that predict a label set, in closed form: 1 and -1, an integer for the constant column.

        The logits are ``scale`` times integers, which are exact in any order of summation. The slack's features are 0.

        Parameters
        ----------
        label_set : collection of int
            Active labels: any k of them, or more as long as they do not cover all ones of another label.

        Returns
        -------
        Tensor of float64 (features,), on the CPU
        """
        return torch.from_numpy(self._proof().witness(label_set))

    def _proof(self) -> CodeProof:
        slack = None if self.slack_weight is None else self.slack_weight.detach().double().cpu().numpy()
        return CodeProof(self.symbols.cpu().numpy(), self.code, self.k, self.scale, slack)

    def guarantee(self, label_sets: Any = None, *, dtype: torch.dtype | None = None) -> Guarantee:
        """Prove from the stored numbers that every set of at most k labels can be predicted, and with what margin.

        Parameters
        ----------
        label_sets : array or sparse matrix (n_sets, n_labels) of 0 and 1, or list of lists of labels, optional
            Further sets to check, of any size.
        dtype : torch.dtype, optional
            Of the features; by default the parameters'.

        Raises
        ------
        CertificateError
            If the stored indices or the learnable columns are not what the proof needs.
        """
        dtype = dtype or self.projection.weight.dtype
        return self._proof().guarantee(
            label_sets, in_features=self.in_features, path="gather", dtype=dtype, precision=precision_of(dtype)
        )

    def extra_repr(self) -> str:
        """Describe the head in one line."""
        sizes = f"in_features={self.in_features}, n_labels={self.n_labels}, k={self.k}, slack={self.slack}"
        return f"{sizes}, code=({self.code.q}, {self.code.coefficients}, {self.code.length}), scale={self.scale:g}"


def _exponent(scale: float) -> int:
    mantissa, exponent = math.frexp(scale) if math.isfinite(scale) else (0.0, 0)
    if mantissa != 0.5:
        raise ValueError(f"scale must be a power of two, got {scale}")
    return exponent - 1


def _described(shape: list[int]) -> str:
    q, coefficients, length, k, exponent = shape
    return f"q = {q}, {coefficients} coefficients, length {length}, k = {k}, scale {2.0**exponent:g}"
