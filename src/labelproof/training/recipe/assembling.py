"""A blend of members as one encoder and one linear head, the calibration folded into its weights."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import torch

from labelproof.encoders.layers import Bag
from labelproof.encoders.views.view import View
from labelproof.encoders.views.view_encoder import Part, ViewsEncoder
from labelproof.training.heads import LinearHead
from labelproof.training.recipe.blending import Blend
from labelproof.training.recipe.members import Refitted
from labelproof.training.recipe.menu import Material

__all__ = ["assemble"]


def assemble(blended: Blend, refitted: Sequence[Refitted], material: Material) -> tuple[ViewsEncoder, LinearHead]:
    """Return the encoder of all members' features side by side, and the head that gives the mean of their logits.

    Members on the same view share its columns.
    """
    views: list[View] = []
    names: dict[str, int] = {}
    columns: dict[Part | tuple[Part, int], npt.NDArray[Any]] = {}
    layers: list[Bag] = []
    bias: Any = 0.0
    for place, ((member, share), fitted) in enumerate(zip(blended.members, refitted, strict=True)):
        if member.plan.name not in names:
            names[member.plan.name] = len(views)
            views.append(fitted.view)
        slopes, offsets = member.calibration.slopes, member.calibration.offsets
        weight = (share * slopes)[:, None].astype(np.float32) * fitted.weight.astype(np.float32)
        bias = bias + share * (slopes * fitted.bias + offsets)
        view = names[member.plan.name]
        key: Part | tuple[Part, int] = Part(view)
        if fitted.network is not None:
            layers.append(fitted.network.hidden)
            key = (Part(view, fitted.network.hidden.weight.shape[1]), place)
        columns[key] = columns[key] + weight if key in columns else weight
    parts = [key if isinstance(key, Part) else key[0] for key in columns]
    encoder = ViewsEncoder(material.bases, views, parts)
    head = LinearHead(encoder.width, len(bias))
    with torch.no_grad():
        for own, trained in zip(encoder.hidden, layers, strict=True):
            own.load_state_dict(trained.state_dict())
        head.output.weight.copy_(torch.from_numpy(np.concatenate(list(columns.values()), axis=1)))
        head.output.bias.copy_(torch.from_numpy(np.asarray(bias)))
    return encoder.eval(), head.eval()
