"""A view: blocks of features side by side, each a weighting of a base."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse

from labelproof.encoders.views.bases import Base
from labelproof.encoders.views.weightings import Weighting
from labelproof.proof.domains import Domain

__all__ = ["Block", "View"]


@dataclass(frozen=True, eq=False)
class Block:
    """Features of one weighting: of the base with this number, times a scale."""

    base: int
    weighting: Weighting
    scale: float = 1.0


@dataclass(frozen=True, eq=False)
class View:
    """Blocks of features side by side, all sparse or all dense."""

    blocks: tuple[Block, ...]
    is_sparse: bool

    def width(self, bases: Sequence[Base]) -> int:
        """Return the number of features."""
        return sum(block.weighting.width(bases[block.base].width) for block in self.blocks)

    def features(self, matrices: Sequence[Any]) -> Any:
        """Return the features (n, width) of rows of the bases: CSR or dense, float64."""
        parts = [block.weighting.features(matrices[block.base]) * block.scale for block in self.blocks]
        if self.is_sparse:
            return parts[0] if len(parts) == 1 else scipy.sparse.hstack(parts, format="csr")
        return np.column_stack([part.toarray() if scipy.sparse.issparse(part) else part for part in parts])

    def domains(self, bases: Sequence[Base]) -> list[tuple[int, Domain]]:
        """Return the number of features of each block, and which there can be."""
        return [
            (block.weighting.width(bases[block.base].width), block.weighting.domain(block.scale))
            for block in self.blocks
        ]
