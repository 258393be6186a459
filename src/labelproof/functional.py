"""Losses and activations as functions of tensors: the twins of the modules of the same names."""

from labelproof.activations import attention_weights, entmax, sparsemax
from labelproof.losses.confusion import confusion_counts, confusion_loss, sigmoid_f1_loss, unbounded_f1_loss
from labelproof.losses.curves import asymmetric_polynomial_loss, hill_loss, splc_loss
from labelproof.losses.fenchel_young import entmax_loss, pick_all_labels_loss, sparsemax_loss
from labelproof.losses.pointwise import asymmetric_loss, binary_cross_entropy_loss, focal_loss
from labelproof.losses.soft_top_k import soft_top_k, soft_top_k_loss
from labelproof.losses.two_way import two_way_loss
from labelproof.losses.zlpr import zlpr_loss

__all__ = [
    "asymmetric_loss",
    "asymmetric_polynomial_loss",
    "attention_weights",
    "binary_cross_entropy_loss",
    "confusion_counts",
    "confusion_loss",
    "entmax",
    "entmax_loss",
    "focal_loss",
    "hill_loss",
    "pick_all_labels_loss",
    "sigmoid_f1_loss",
    "soft_top_k",
    "soft_top_k_loss",
    "sparsemax",
    "sparsemax_loss",
    "splc_loss",
    "two_way_loss",
    "unbounded_f1_loss",
    "zlpr_loss",
]
