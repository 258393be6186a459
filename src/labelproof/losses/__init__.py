"""Losses for multi-label classification. All act on logits; targets are dense, index lists, or sparse matrices."""

from labelproof.losses.comparing_modules import SoftTopKLoss, TwoWayLoss, ZLPRLoss
from labelproof.losses.confusion_modules import ConfusionLoss, SigmoidF1Loss, UnboundedF1Loss
from labelproof.losses.curve_modules import AsymmetricPolynomialLoss, HillLoss, SPLCLoss
from labelproof.losses.fenchel_young import EntmaxLoss, PickAllLabelsLoss, SparsemaxLoss
from labelproof.losses.pointwise_modules import AsymmetricLoss, BinaryCrossEntropyLoss, FocalLoss
from labelproof.losses.trainer import TrainerLoss

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
