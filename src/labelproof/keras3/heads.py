"""Output layers with fixed columns as Keras layers: the DFT head, the code head, and the bottleneck for comparison.

They have the parameters of the torch heads: a projection, kernel (in_features, features) and bias, and the learnable
columns (n_labels, slack), in this order in ``get_weights()``. The fixed columns are constants, which are not saved:
they are made again from the configuration.
"""

import math
from collections.abc import Sequence
from typing import Any, Literal

import keras
import numpy as np
import numpy.typing as npt
from keras import ops

from labelproof.foundation.arguments import check_choice, whole_number
from labelproof.heads.code_proof import CodeProof
from labelproof.heads.guarantee import Guarantee
from labelproof.heads.precisions import precision_of
from labelproof.heads.safety import guarantee_of
from labelproof.keras3.fixed_heads import FixedHead, ProjectedHead, numbers_of
from labelproof.proof.labels import read_label_set
from labelproof.theory.codes import Code, choose_code, codewords
from labelproof.theory.fixed_columns import (
    CODE_ROW_NORM,
    checked_order,
    code_columns,
    dft_columns,
    dft_features,
    dft_scale,
    grid_length,
    power_of_two,
    start_logit,
)

__all__ = ["BottleneckHead", "CodeHead", "DFTHead"]

Floats = npt.NDArray[np.float64]


@keras.saving.register_keras_serializable(package="labelproof")
class DFTHead(FixedHead):
    """A head that can predict every set of at most k labels: 2k + 1 fixed DFT columns beside ``slack`` learnable ones.

    The twin of `labelproof.DFTHead`, whose dense path it takes.

    Parameters
    ----------
    n_labels : int
        Number of labels n.
    k : int
        Most active labels that must be predictable together; 2k + 1 ≤ n.
    slack : int
        Number of learnable columns; may be 0.
    order : array_like of int (n_labels,), optional
        The place of each label on the circle, each from 0 to n - 1 once; by default label i has place i.
    nodes : {"fast", "paper"}
        Place i has the angle 2πi/N, with N ≥ n of many small factors, or N = n as published.
    scale : float, optional
        Factor on the fixed columns; by default the power of two for which a row of them has a norm of about 1/2, but at
        least 1.
    start : float, optional
        Every label begins near the probability start/n; k by default.
    name, dtype
        As for every Keras layer. The fixed part is computed in float32, or in float64 where the layer is.

    Examples
    --------
    >>> head = DFTHead(n_labels=100, k=5, slack=10)
    >>> tuple(head(np.zeros((3, 64), "float32")).shape), head.weight.shape
    ((3, 100), (100, 21))
    >>> np.flatnonzero(head.weight @ head.witness([3, 14, 15]) > 0)
    array([ 3, 14, 15])
    """

    def __init__(
        self,
        n_labels: int,
        k: int,
        slack: int,
        *,
        order: npt.ArrayLike | None = None,
        nodes: Literal["fast", "paper"] = "fast",
        scale: float | None = None,
        start: float | None = None,
        name: str | None = None,
        dtype: Any = None,
    ) -> None:
        check_choice("nodes", nodes, ("fast", "paper"))
        n_labels, k = whole_number("n_labels", n_labels, minimum=1), whole_number("k", k, minimum=1)
        if scale is not None and not (math.isfinite(scale) and scale > 0):
            raise ValueError(f"scale must be a positive number, got {scale}")
        if 2 * k + 1 > n_labels:
            raise ValueError(f"k must be at most (n_labels - 1) / 2 for n_labels = {n_labels}, got {k}")
        n_nodes = grid_length(n_labels) if nodes == "fast" else n_labels
        scale = dft_scale(n_nodes, 2 * k + 1) if scale is None else float(scale)
        places = checked_order(order, n_labels)
        columns = dft_columns(places, n_nodes, k, scale)
        super().__init__(n_labels, k, slack, columns, k if start is None else start, name, dtype)
        self.nodes, self.n_nodes, self.scale, self._places = nodes, n_nodes, scale, places
        self._has_order = order is not None

    def witness(self, label_set: Any) -> Floats:
        """Return features (features,) that predict a label set over the real numbers; the slack's are 0.

        Parameters
        ----------
        label_set : collection of int
            Active labels: any k of them, or more if they have few sign changes along the circle.
        """
        x = np.zeros(self.features)
        x[: self.n_fixed] = dft_features(read_label_set(label_set, self.n_labels), self._places, self.n_nodes, self.k)
        return x

    def guarantee(self, label_sets: Any = None) -> Guarantee:
        """Say what holds for the ideal matrix, and what was checked for the numbers in use; see `labelproof.DFTHead`.

        Parameters
        ----------
        label_sets : array or sparse matrix (n_sets, n_labels) of 0 and 1, or list of lists of labels, optional
            Sets to check.
        """
        kind, weight = self.compute_dtype, self.weight.astype(np.float64)
        return guarantee_of(self, weight, label_sets, "dense", kind, precision_of(kind))

    def get_config(self) -> dict[str, Any]:
        """Return the options, for saving."""
        order = self._places.tolist() if self._has_order else None
        return {**super().get_config(), "order": order, "nodes": self.nodes, "scale": self.scale}


@keras.saving.register_keras_serializable(package="labelproof")
class CodeHead(FixedHead):
    """A head that can predict every set of at most k labels, by proof for the stored numbers.

    The twin of `labelproof.CodeHead`: a constant column and those of a Kautz–Singleton code, all 0 or ``scale``, beside
    ``slack`` learnable ones. Here their part of the logits is a dense product, which is as exact.

    Parameters
    ----------
    n_labels, k, slack
        As for `DFTHead`.
    budget : int, optional
        The most code columns; of those codes that fit, the one with the largest proven margin is taken. By default the
        code with the fewest columns is.
    code : Code or (q, coefficients, length), optional
        The code itself, instead of one that is chosen; it must be one for k.
    scale : float, optional
        The number in the fixed columns, a power of two; by default that for which a row has a norm of about 2.
    start, name, dtype
        As for `DFTHead`.

    Examples
    --------
    >>> head = CodeHead(n_labels=374, k=5, slack=10)
    >>> head.build((None, 300))
    >>> head.weight.shape, head.guarantee().level
    ((374, 132), 'exact')
    """

    def __init__(
        self,
        n_labels: int,
        k: int,
        slack: int,
        *,
        budget: int | None = None,
        code: Code | Sequence[int] | None = None,
        scale: float | None = None,
        start: float | None = None,
        name: str | None = None,
        dtype: Any = None,
    ) -> None:
        n_labels, k = whole_number("n_labels", n_labels, minimum=1), whole_number("k", k, minimum=1)
        chosen = choose_code(n_labels, k, budget) if code is None else code if isinstance(code, Code) else Code(*code)
        if chosen.gap(k) < 1:
            raise ValueError(f"k must be at most {chosen.k} for {chosen}, got {k}")
        scale = power_of_two(CODE_ROW_NORM / math.sqrt(chosen.length + 1)) if scale is None else float(scale)
        if not math.isfinite(scale) or math.frexp(scale)[0] != 0.5:
            raise ValueError(f"scale must be a power of two, got {scale}")
        symbols = codewords(n_labels, chosen)
        start = min(k, n_labels / 2) if start is None else start
        super().__init__(n_labels, k, slack, code_columns(symbols, chosen, scale), start, name, dtype)
        self.code, self.scale, self._symbols = chosen, scale, symbols

    def witness(self, label_set: Any) -> Floats:
        """Return features (features,) that predict a label set: 1 and -1, an integer for the constant column."""
        return self._proof().witness(label_set)

    def guarantee(self, label_sets: Any = None) -> Guarantee:
        """Prove from the stored numbers that every set of at most k labels can be predicted; see `labelproof.CodeHead`.

        Parameters
        ----------
        label_sets : array or sparse matrix (n_sets, n_labels) of 0 and 1, or list of lists of labels, optional
            Further sets to check, of any size.
        """
        kind, width = self.compute_dtype, self.in_features
        return self._proof().guarantee(
            label_sets, in_features=width, path="dense", dtype=kind, precision=precision_of(kind)
        )

    def _proof(self) -> CodeProof:
        self.need_built()
        slack = None if self.slack_weight is None else numbers_of(self.slack_weight).astype(np.float64)
        return CodeProof(self._symbols, self.code, self.k, self.scale, slack)

    def get_config(self) -> dict[str, Any]:
        """Return the options, for saving."""
        code = [self.code.q, self.code.coefficients, self.code.length]
        return {**super().get_config(), "code": code, "scale": self.scale}


@keras.saving.register_keras_serializable(package="labelproof")
class BottleneckHead(ProjectedHead):
    """Project to d features, then a linear layer; the twin of `labelproof.BottleneckHead`.

    With d far below n_labels most label combinations cannot be predicted, whatever the input: `labelproof.verify` says
    which.

    Parameters
    ----------
    n_labels : int
        Number of labels.
    d : int
        Number of features that the labels share.
    bias : bool, default False
        Whether the output layer has a bias; the projection always has.
    start : float, optional
        Expected number of active labels k: every label begins near the probability k/n.
    name, dtype
        As for every Keras layer.

    Examples
    --------
    >>> head = BottleneckHead(n_labels=100, d=10, start=3)
    >>> tuple(head(np.zeros((4, 32), "float32")).shape), head.weight.shape
    ((4, 100), (100, 10))
    """

    def __init__(
        self,
        n_labels: int,
        d: int,
        *,
        bias: bool = False,
        start: float | None = None,
        name: str | None = None,
        dtype: Any = None,
    ) -> None:
        d = whole_number("d", d, minimum=1)
        super().__init__(whole_number("n_labels", n_labels, minimum=1), d, start, name, dtype)
        self.use_bias, self.output_bias = bias, None

    def build(self, input_shape: Any) -> None:
        """Make the parameters for an encoder's output of this shape; the output layer's are transposed, as Dense's."""
        n, logit = self.n_labels, 0.0 if self.start is None else start_logit(self.start, self.n_labels)
        takes_feature = self.start is not None and not self.use_bias
        self.add_projection(int(input_shape[-1]), math.sqrt(n) * logit if takes_feature else 0.0)
        self.output_kernel = self.add_weight(
            shape=(self.features, n), initializer="glorot_uniform", name="output_kernel"
        )
        if takes_feature:
            kernel = numbers_of(self.output_kernel).copy()
            kernel[0] = 1 / math.sqrt(n)
            self.output_kernel.assign(kernel)
        if self.use_bias:
            self.output_bias = self.add_weight(
                shape=(n,), initializer=keras.initializers.Constant(logit), name="output_bias"
            )
        self.built = True

    @property
    def weight(self) -> npt.NDArray[Any]:
        """The matrix to verify, (n_labels, d), as numpy."""
        self.need_built()
        return np.ascontiguousarray(numbers_of(self.output_kernel).T)

    @property
    def bias(self) -> npt.NDArray[Any] | None:
        """The bias to verify, (n_labels,), or None."""
        return None if self.output_bias is None else numbers_of(self.output_bias)

    def logits(self, features: Any) -> Any:
        """Return the logits (..., n_labels) of features (..., d)."""
        z = ops.matmul(features, self.output_kernel)
        return z if self.output_bias is None else z + self.output_bias

    def get_config(self) -> dict[str, Any]:
        """Return the options, for saving."""
        return {**super().get_config(), "d": self.features, "bias": self.use_bias}
