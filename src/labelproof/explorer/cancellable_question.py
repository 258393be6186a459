"""A question that can be taken back while the answer is being searched."""

from collections.abc import Iterable
from concurrent.futures import CancelledError
from dataclasses import dataclass
from functools import cached_property
from threading import Event

import numpy as np
import numpy.typing as npt

from labelproof.explaining.question import Question
from labelproof.proof.margins import UnitWeights
from labelproof.search.findings import Finding

__all__ = ["CancellableQuestion"]


@dataclass(frozen=True, eq=False)
class CancellableQuestion(Question):
    """A `Question` whose next decision raises `CancelledError` once ``cancelled`` is set; it shares its ``weights``."""

    weights: UnitWeights
    cancelled: Event

    @cached_property
    def unit_weights(self) -> UnitWeights:
        """The weights in the form that margins are computed from."""
        return self.weights

    def decide(self, sets: Iterable[Iterable[int]], time_limit: float | None) -> list[Finding]:
        """Return evidence on label sets."""
        self._stop_if_cancelled()
        return super().decide(sets, time_limit)

    def decide_among(self, labels: npt.NDArray[np.int64], time_limit: float) -> Finding:
        """Decide the label set with all but these labels left open."""
        self._stop_if_cancelled()
        return super().decide_among(labels, time_limit)

    def _stop_if_cancelled(self) -> None:
        if self.cancelled.is_set():
            raise CancelledError("a newer question took the place of this one")
