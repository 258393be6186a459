"""Encoders: raw inputs (features, texts, images) → features for a head, trained or frozen."""

from labelproof.encoders.encoder import Encoder
from labelproof.encoders.kinds import KINDS, build, load
from labelproof.encoders.rows import Prepared

__all__ = ["KINDS", "Encoder", "Prepared", "build", "load"]
