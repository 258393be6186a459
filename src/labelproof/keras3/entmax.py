"""Sparsemax and α-entmax for Keras: functions, layers, and their Fenchel–Young losses, for 1 < α ≤ 2.

The root τ of Σ u_j^r = 1 with u_j = max((α−1)(z_j − max z) − τ, 0) and r = 1/(α−1) is found by Newton's method in a
fixed number of steps, so that a compiled graph holds no loop. No gradient goes through the steps: that of τ is known
in closed form, and is added as a term whose value is 0.
"""

from typing import Any

import keras
from keras import ops
from keras.src.backend import set_keras_mask  # by which Keras's own losses leave rows out; it has no public name

from labelproof.keras3.label_numbers import LabelNumbers, as_option, check_shapes, like

__all__ = ["Entmax", "EntmaxLoss", "Sparsemax", "SparsemaxLoss", "entmax", "sparsemax"]

STEPS = 16  # of Newton's method, as for torch
BEYOND = -2.0  # every score that is 1 or more below the largest has the probability 0


@keras.saving.register_keras_serializable(package="labelproof")
def sparsemax(x: Any, axis: int = -1) -> Any:
    """Return the Euclidean projection of the scores onto the probability simplex, which is often sparse.

    Parameters
    ----------
    x
        Tensor (..., n_labels, ...). A score of −inf gives an exact 0 with gradient 0.
    axis
        The axis that sums to 1 in the result.

    Examples
    --------
    >>> keras.ops.convert_to_numpy(sparsemax([[1.0, 0.75, 0.0], [3.0, 0.0, 0.0]])).tolist()
    [[0.625, 0.375, 0.0], [1.0, 0.0, 0.0]]
    """
    return entmax(x, 2.0, axis)


@keras.saving.register_keras_serializable(package="labelproof")
def entmax(x: Any, alpha: float = 1.5, axis: int = -1) -> Any:
    """Return α-entmax of the scores: the larger α, the sparser; α = 2 is `sparsemax`.

    Parameters
    ----------
    x
        As in `sparsemax`.
    alpha
        Above 1, at most 2.
    axis
        The axis that sums to 1 in the result.

    Examples
    --------
    >>> keras.ops.convert_to_numpy(entmax([0.0, 0.0, -3.0])).tolist()
    [0.5, 0.5, 0.0]
    """
    _check_alpha(alpha)
    x = ops.convert_to_tensor(x)
    kind = keras.backend.standardize_dtype(x.dtype)
    if "float" not in kind:
        raise ValueError(f"x must hold floating-point numbers, got {kind}")
    z = ops.cast(x, "float32") if kind in ("float16", "bfloat16") else x
    x_scaled = (alpha - 1) * (z - ops.stop_gradient(ops.max(z, axis=axis, keepdims=True)))
    x_scaled = ops.maximum(x_scaled, BEYOND)  # what is −inf has no part in sums, nor a gradient
    power, fixed = 1 / (alpha - 1), ops.stop_gradient(x_scaled)
    tau = _root(fixed, alpha, axis)
    slopes = _power(fixed - tau, power - 1)
    moved = ops.sum(slopes * (x_scaled - fixed), axis=axis, keepdims=True)  # 0, with the gradient of τ
    p = _power(x_scaled - tau - moved / ops.sum(slopes, axis=axis, keepdims=True), power)
    return ops.cast(p / ops.stop_gradient(ops.sum(p, axis=axis, keepdims=True)), kind)


@keras.saving.register_keras_serializable(package="labelproof")
class Entmax(keras.layers.Layer):
    """`entmax` as a layer; where a mask is given, labels that it leaves out have the probability 0.

    Parameters
    ----------
    alpha
        Above 1, at most 2.
    axis
        The axis that sums to 1 in the result.
    name, dtype
        As for every Keras layer.

    Examples
    --------
    >>> import numpy as np
    >>> keras.ops.convert_to_numpy(Entmax()(np.array([[2.0, 0.0, -1.0]]))).tolist()
    [[1.0, 0.0, 0.0]]
    """

    def __init__(self, alpha: float = 1.5, axis: int = -1, *, name: str | None = None, dtype: Any = None) -> None:
        super().__init__(name=name, dtype=dtype)
        _check_alpha(alpha)
        self.alpha, self.axis, self.supports_masking = alpha, axis, True

    def call(self, inputs: Any, mask: Any = None) -> Any:
        """Return the probabilities of scores; the mask is bool and of their shape, as in `keras.layers.Softmax`."""
        if mask is not None and len(mask.shape) == len(inputs.shape):
            inputs = ops.where(mask, inputs, ops.cast(-float("inf"), inputs.dtype))
        return entmax(inputs, self.alpha, self.axis)

    def compute_output_shape(self, input_shape: Any) -> Any:
        """Return the shape of the scores."""
        return input_shape

    def get_config(self) -> dict[str, Any]:
        """Return the options, for saving."""
        return {**_named(super().get_config()), "alpha": self.alpha, "axis": self.axis}


@keras.saving.register_keras_serializable(package="labelproof")
class Sparsemax(Entmax):
    """`sparsemax` as a layer; see `Entmax` for the parameters.

    Examples
    --------
    >>> import numpy as np
    >>> keras.ops.convert_to_numpy(Sparsemax()(np.array([[1.0, 0.5, -1.0]]))).tolist()
    [[0.75, 0.25, 0.0]]
    """

    def __init__(self, axis: int = -1, *, name: str | None = None, dtype: Any = None) -> None:
        super().__init__(2.0, axis, name=name, dtype=dtype)

    def get_config(self) -> dict[str, Any]:
        """Return the options, for saving."""
        return {name: value for name, value in super().get_config().items() if name != "alpha"}


@keras.saving.register_keras_serializable(package="labelproof")
class EntmaxLoss(keras.losses.Loss):
    """Fenchel–Young loss of α-entmax, whose gradient is entmax(z, α) − q; the twin of `labelproof.EntmaxLoss`.

    Each row y of the targets, 0/1 or soft, becomes q = y / Σy. A row without a label has no loss and does not count in
    a mean.

    Parameters
    ----------
    alpha
        Above 1, at most 2.
    label_weight
        Weights w of the labels, not negative: q becomes w·y / Σ w·y, and the loss of the row is multiplied by
        Σ w·y / Σ y.
    reduction, name, dtype
        As for every Keras loss.

    Examples
    --------
    >>> import numpy as np
    >>> float(EntmaxLoss()(np.array([[1.0, 0.0, 0.0]]), np.array([[2.0, 0.0, -1.0]])))
    0.0
    """

    def __init__(
        self,
        alpha: float = 1.5,
        *,
        label_weight: LabelNumbers | None = None,
        reduction: str | None = "sum_over_batch_size",
        name: str | None = None,
        dtype: Any = None,
    ) -> None:
        super().__init__(name=name, reduction=reduction, dtype=dtype)
        _check_alpha(alpha)
        self.alpha = alpha
        self.label_weight = None if label_weight is None else as_option("label_weight", label_weight)

    def call(self, y_true: Any, y_pred: Any) -> Any:
        """Return the loss of each row, (...,), given targets and logits (..., n_labels)."""
        check_shapes(y_true, y_pred)
        alpha, y = self.alpha, ops.stop_gradient(y_true)
        weighted = y if self.label_weight is None else y * like(self.label_weight, y_pred)
        total, mass = ops.sum(y, axis=-1), ops.sum(weighted, axis=-1)
        q = weighted / ops.where(mass > 0, mass, 1.0)[..., None]
        p = ops.stop_gradient(entmax(y_pred, alpha))  # p maximises p·z + H(p), so its own gradient has no part
        z = y_pred - ops.stop_gradient(ops.max(y_pred, axis=-1, keepdims=True))
        z = ops.where(ops.logical_or(p != 0, q > 0), z, 0.0)
        entropies = ops.sum(_power(q, alpha) - _power(p, alpha), axis=-1) / (alpha * (alpha - 1))
        has_label = total > 0
        share = mass / ops.where(has_label, total, 1.0)
        losses = ops.where(has_label, share * (ops.sum((p - q) * z, axis=-1) + entropies), 0.0)
        set_keras_mask(losses, has_label)
        return losses

    def get_config(self) -> dict[str, Any]:
        """Return the options, for saving."""
        return {**super().get_config(), "alpha": self.alpha, "label_weight": self.label_weight}


@keras.saving.register_keras_serializable(package="labelproof")
class SparsemaxLoss(EntmaxLoss):
    """Sparsemax loss of logits, whose gradient is sparsemax(z) − q; the twin of `labelproof.SparsemaxLoss`.

    Parameters
    ----------
    reduction, label_weight, name, dtype
        As for `EntmaxLoss`.

    Examples
    --------
    >>> import numpy as np
    >>> float(SparsemaxLoss()(np.array([[1.0, 1.0, 0.0]]), np.array([[2.0, 1.0, -1.0]])))  # q = (½, ½, 0)
    0.25
    """

    def __init__(
        self,
        reduction: str | None = "sum_over_batch_size",
        *,
        label_weight: LabelNumbers | None = None,
        name: str | None = None,
        dtype: Any = None,
    ) -> None:
        super().__init__(2.0, label_weight=label_weight, reduction=reduction, name=name, dtype=dtype)

    def get_config(self) -> dict[str, Any]:
        """Return the options, for saving."""
        return {name: value for name, value in super().get_config().items() if name != "alpha"}


def _root(x: Any, alpha: float, axis: int) -> Any:
    """Return τ, reached from below on the norm (Σ u^r)^(α−1), which is convex in τ."""
    power = 1 / (alpha - 1)
    tau = 0.0 * ops.max(x, axis=axis, keepdims=True) - 1.0
    for _ in range(STEPS):
        total = ops.sum(_power(x - tau, power), axis=axis, keepdims=True)
        slope = ops.sum(_power(x - tau, power - 1), axis=axis, keepdims=True)
        tau = tau + (total - ops.power(total, 2 - alpha)) / slope
    return tau


def _power(u: Any, power: float) -> Any:
    """Return u^power where u is positive, and 0 with gradient 0 elsewhere; NaN stays NaN."""
    outside = u <= 0
    safe = ops.where(outside, 1.0, u)
    return ops.where(outside, 0.0, safe if power == 1 else ops.power(safe, power))


def _check_alpha(alpha: float) -> None:
    if not 1 < alpha <= 2:
        raise ValueError(f"alpha must be above 1 and at most 2, got {alpha!r}")


def _named(config: dict[str, Any]) -> dict[str, Any]:
    """Return of a layer's configuration what our layers take."""
    return {name: config[name] for name in ("name", "dtype") if name in config}
