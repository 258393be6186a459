"""Losses, sparse activations and heads for Keras 3, on whichever backend it runs: TensorFlow, JAX or torch.

Each has the name and the definition of its torch twin in `labelproof`, and is tested to give the same values and
gradients. Nothing else of labelproof imports Keras, and nothing here imports torch.
"""

from labelproof.foundation.optional_packages import need

need("keras", "labelproof.keras3")

from labelproof.keras3.confusion_losses import ConfusionLoss, SigmoidF1Loss, UnboundedF1Loss  # noqa: E402 - after need
from labelproof.keras3.entmax import Entmax, EntmaxLoss, Sparsemax, SparsemaxLoss, entmax, sparsemax  # noqa: E402
from labelproof.keras3.heads import BottleneckHead, CodeHead, DFTHead  # noqa: E402
from labelproof.keras3.pointwise_losses import AsymmetricLoss, FocalLoss  # noqa: E402

__all__ = [
    "AsymmetricLoss",
    "BottleneckHead",
    "CodeHead",
    "ConfusionLoss",
    "DFTHead",
    "Entmax",
    "EntmaxLoss",
    "FocalLoss",
    "SigmoidF1Loss",
    "Sparsemax",
    "SparsemaxLoss",
    "UnboundedF1Loss",
    "entmax",
    "sparsemax",
]
