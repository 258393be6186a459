"""Output layers: features of an encoder → logits, with what each can be proven to predict.

Names are imported when first used: what is proven needs no torch, and serves Keras's heads as well.
"""

from typing import TYPE_CHECKING

from labelproof.foundation.late_names import late_names

if TYPE_CHECKING:
    from labelproof.heads.bottleneck import BottleneckHead
    from labelproof.heads.choosing import Choice, choose
    from labelproof.heads.code import CodeHead
    from labelproof.heads.cyclic import VandermondeHead
    from labelproof.heads.dft import DFTHead
    from labelproof.heads.gaussian import GaussianHead
    from labelproof.heads.guarantee import Guarantee
    from labelproof.heads.harmonic import HarmonicHead
    from labelproof.heads.order import spread_order
    from labelproof.heads.replace import replace_head
    from labelproof.heads.start import start_at

_HOMES = {
    "BottleneckHead": "bottleneck",
    "Choice": "choosing",
    "CodeHead": "code",
    "DFTHead": "dft",
    "GaussianHead": "gaussian",
    "Guarantee": "guarantee",
    "HarmonicHead": "harmonic",
    "VandermondeHead": "cyclic",
    "choose": "choosing",
    "replace_head": "replace",
    "spread_order": "order",
    "start_at": "start",
}

__all__ = [
    "BottleneckHead",
    "Choice",
    "CodeHead",
    "DFTHead",
    "GaussianHead",
    "Guarantee",
    "HarmonicHead",
    "VandermondeHead",
    "choose",
    "replace_head",
    "spread_order",
    "start_at",
]

__getattr__ = late_names(__name__, {name: f"labelproof.heads.{home}" for name, home in _HOMES.items()})


def __dir__() -> list[str]:
    return __all__
