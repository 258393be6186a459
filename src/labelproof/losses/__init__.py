"""Losses for multi-label classification. All act on logits; targets are dense, index lists, or sparse matrices.

Names are imported when first used: the definitions need no torch, and serve Keras's losses as well.
"""

from typing import TYPE_CHECKING

from labelproof.foundation.late_names import late_names

if TYPE_CHECKING:
    from labelproof.losses.comparing_modules import SoftTopKLoss, TwoWayLoss, ZLPRLoss
    from labelproof.losses.confusion_modules import ConfusionLoss, SigmoidF1Loss, UnboundedF1Loss
    from labelproof.losses.curve_modules import AsymmetricPolynomialLoss, HillLoss, SPLCLoss
    from labelproof.losses.fenchel_young import EntmaxLoss, PickAllLabelsLoss, SparsemaxLoss
    from labelproof.losses.pointwise_modules import AsymmetricLoss, BinaryCrossEntropyLoss, FocalLoss
    from labelproof.losses.trainer import TrainerLoss

_HOMES = {
    "AsymmetricLoss": "pointwise_modules",
    "AsymmetricPolynomialLoss": "curve_modules",
    "BinaryCrossEntropyLoss": "pointwise_modules",
    "ConfusionLoss": "confusion_modules",
    "EntmaxLoss": "fenchel_young",
    "FocalLoss": "pointwise_modules",
    "HillLoss": "curve_modules",
    "PickAllLabelsLoss": "fenchel_young",
    "SPLCLoss": "curve_modules",
    "SigmoidF1Loss": "confusion_modules",
    "SoftTopKLoss": "comparing_modules",
    "SparsemaxLoss": "fenchel_young",
    "TrainerLoss": "trainer",
    "TwoWayLoss": "comparing_modules",
    "UnboundedF1Loss": "confusion_modules",
    "ZLPRLoss": "comparing_modules",
}

__all__ = [
    "AsymmetricLoss",
    "AsymmetricPolynomialLoss",
    "BinaryCrossEntropyLoss",
    "ConfusionLoss",
    "EntmaxLoss",
    "FocalLoss",
    "HillLoss",
    "PickAllLabelsLoss",
    "SPLCLoss",
    "SigmoidF1Loss",
    "SoftTopKLoss",
    "SparsemaxLoss",
    "TrainerLoss",
    "TwoWayLoss",
    "UnboundedF1Loss",
    "ZLPRLoss",
]

__getattr__ = late_names(__name__, {name: f"labelproof.losses.{home}" for name, home in _HOMES.items()})


def __dir__() -> list[str]:
    return __all__
