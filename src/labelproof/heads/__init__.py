"""Output layers: features of an encoder → logits, with what each can be proven to predict."""

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
