"""Fenchel–Young losses of softmax, sparsemax and α-entmax: one family, with the gradient p(z) − q.

The loss of logits z for a target distribution q is Ω(q) + Ω*(z) − q·z, where −Ω is Tsallis' entropy of order α and
p(z) is the α-entmax of z: softmax for α = 1, sparsemax for α = 2. It is convex and smooth, never negative, and 0 if
and only if p(z) = q. For α > 1 this happens at finite logits: with one label, as soon as its logit leads all others by
1/(α − 1).

A row of targets y becomes the distribution q = y / Σy. A row without a label has no q: its loss and gradient are 0, and
it does not count in a mean.
"""

from labelproof.losses.fenchel_young.functional import entmax_loss, pick_all_labels_loss, sparsemax_loss
from labelproof.losses.fenchel_young.modules import EntmaxLoss, PickAllLabelsLoss, SparsemaxLoss

__all__ = [
    "EntmaxLoss",
    "PickAllLabelsLoss",
    "SparsemaxLoss",
    "entmax_loss",
    "pick_all_labels_loss",
    "sparsemax_loss",
]
