"""Losses that act on each logit alone, for Keras: focal and asymmetric, as one family.

With p = sigmoid(z), and p' = max(p - clip, 0) in the negative part, the loss of a logit z with target y is

    y · a · (1 - p)^gamma_pos · -log(p)  +  (1 - y) · b · p'^gamma_neg · -log(1 - p').
"""

from typing import Any

import keras
from keras import ops

from labelproof.keras3.label_numbers import LabelNumbers, as_option, check_shapes, like
from labelproof.losses.curve_shapes import CurveShape

__all__ = ["AsymmetricLoss", "FocalLoss"]


class _PointwiseLoss(keras.losses.Loss):
    """The loss of each example is the mean over its labels, which Keras weighs, masks and reduces."""

    def __init__(
        self, curve: CurveShape, label_weight: LabelNumbers | None, reduction: str | None, name: str | None, dtype: Any
    ) -> None:
        super().__init__(name=name, reduction=reduction, dtype=dtype)
        self.curve = curve
        self.label_weight = None if label_weight is None else as_option("label_weight", label_weight)

    def call(self, y_true: Any, y_pred: Any) -> Any:
        """Return the loss of each example, (...,), given targets and logits (..., n_labels)."""
        check_shapes(y_true, y_pred)
        alpha = self.curve.alpha
        a, b = (1.0, 1.0) if alpha is None else (alpha, 1 - alpha)
        losses = a * y_true * self._as_positive(y_pred) + b * (1 - y_true) * self._as_negative(y_pred)
        return ops.mean(losses if self.label_weight is None else losses * like(self.label_weight, y_pred), axis=-1)

    def get_config(self) -> dict[str, Any]:
        """Return the options, for saving."""
        return {
            **super().get_config(),
            "grad_through_weights": self.curve.through,
            "label_weight": self.label_weight,
        }

    def _as_positive(self, z: Any) -> Any:
        return -self._factor(self.curve.gamma_pos, ops.log_sigmoid(-z)) * ops.log_sigmoid(z)

    def _as_negative(self, z: Any) -> Any:
        if self.curve.clip == 0:
            return -self._factor(self.curve.gamma_neg, ops.log_sigmoid(z)) * ops.log_sigmoid(-z)
        under = ops.sigmoid(-z) + self.curve.clip  # 1 - p'
        free = under >= 1
        under = ops.where(free, 0.5, under)
        return ops.where(free, 0.0, -self._factor(self.curve.gamma_neg, ops.log1p(-under)) * ops.log(under))

    def _factor(self, gamma: float, log_base: Any) -> Any:
        if gamma == 0:
            return 1.0
        factor = ops.exp(gamma * log_base)
        return factor if self.curve.through else ops.stop_gradient(factor)


@keras.saving.register_keras_serializable(package="labelproof")
class FocalLoss(_PointwiseLoss):
    """Focal loss of logits, y·α·(1-p)^γ·-log(p) + (1-y)·(1-α)·p^γ·-log(1-p); the twin of `labelproof.FocalLoss`.

    Parameters
    ----------
    alpha
        Weight of the positive part, from 0 to 1; the negative part has 1 - alpha. None gives both the weight 1.
    gamma
        Exponent that makes sure predictions count little, at least 0.
    grad_through_weights
        Whether the factors (1-p)^γ and p^γ are differentiated, or taken as constants.
    label_weight
        Weights of the labels, one for each.
    reduction, name, dtype
        As for every Keras loss.

    Examples
    --------
    >>> import numpy as np
    >>> round(float(FocalLoss(alpha=None)(np.array([[1.0, 0.0]]), np.zeros((1, 2)))), 4)  # ¼ of the cross entropy
    0.1733
    """

    def __init__(
        self,
        alpha: float | None = 0.25,
        gamma: float = 2.0,
        *,
        grad_through_weights: bool = True,
        label_weight: LabelNumbers | None = None,
        reduction: str | None = "sum_over_batch_size",
        name: str | None = None,
        dtype: Any = None,
    ) -> None:
        curve = CurveShape(gamma, gamma, through=grad_through_weights, alpha=alpha)
        super().__init__(curve, label_weight, reduction, name, dtype)

    def get_config(self) -> dict[str, Any]:
        """Return the options, for saving."""
        return {**super().get_config(), "alpha": self.curve.alpha, "gamma": self.curve.gamma_pos}


@keras.saving.register_keras_serializable(package="labelproof")
class AsymmetricLoss(_PointwiseLoss):
    """Asymmetric loss of logits; the twin of `labelproof.AsymmetricLoss`.

    It is y·(1-p)^γ₊·-log(p) + (1-y)·p'^γ₋·-log(1-p') with p' = max(p - clip, 0).

    Parameters
    ----------
    gamma_neg, gamma_pos
        Exponents of the factors for negatives and positives, at least 0.
    clip
        Probability, at least 0 and less than 1, below which a negative has no loss.
    grad_through_weights
        Whether the factors (1-p)^γ₊ and p'^γ₋ are differentiated, or taken as constants.
    label_weight
        Weights of the labels, one for each.
    reduction, name, dtype
        As for every Keras loss.

    Examples
    --------
    >>> import numpy as np
    >>> loss = AsymmetricLoss()(np.array([[1.0, 0.0]]), np.array([[-3.0, -3.0]]))
    >>> round(float(loss), 4)  # a sure negative costs nothing
    1.452
    """

    def __init__(
        self,
        gamma_neg: float = 4.0,
        gamma_pos: float = 1.0,
        clip: float = 0.05,
        *,
        grad_through_weights: bool = True,
        label_weight: LabelNumbers | None = None,
        reduction: str | None = "sum_over_batch_size",
        name: str | None = None,
        dtype: Any = None,
    ) -> None:
        curve = CurveShape(gamma_pos, gamma_neg, clip, through=grad_through_weights)
        super().__init__(curve, label_weight, reduction, name, dtype)

    def get_config(self) -> dict[str, Any]:
        """Return the options, for saving."""
        curve = self.curve
        own = {"gamma_neg": curve.gamma_neg, "gamma_pos": curve.gamma_pos, "clip": curve.clip}
        return {**super().get_config(), **own}
