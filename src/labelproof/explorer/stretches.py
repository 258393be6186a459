"""How far from real inputs a combination lies, by which inputs that is proven, and which labels stand in the way."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from threading import Lock

import numpy as np
import numpy.typing as npt

from labelproof.auditing.real_inputs import RealInputs
from labelproof.proof.examples import read_examples
from labelproof.proof.labels import LabelSets, read_label_sets
from labelproof.proof.regions import OutputLayer
from labelproof.proof.stretch_bar import predicted_sets
from labelproof.proof.stretch_bounds import StretchBounds
from labelproof.stretching.measuring import measure
from labelproof.stretching.search import SLACKS, Asked, find_evidence

__all__ = ["Known", "SetStretch", "Stretches", "know"]

REMEMBERED = 256
TOLERANCE = 0.005


@dataclass(frozen=True, eq=False)
class Known:
    """Real inputs, and the bar that held-out ones gave; None without one, infinity where nothing lies beyond."""

    inputs: RealInputs
    bar: float | None = None
    alpha: float = 0.01


@dataclass(frozen=True, eq=False)
class SetStretch:
    """The proven stretch of one set.

    Attributes
    ----------
    lower, upper
        It lies between them.
    examples, weights
        The mixture that is predicted as the set, the heaviest first; empty where none is known or needed.
    labels, shares
        Labels that contradict each other nearer by, and how hard each pulls, adding up to 1.
    """

    lower: float
    upper: float
    examples: npt.NDArray[np.int64]
    weights: npt.NDArray[np.float64]
    labels: tuple[int, ...]
    shares: tuple[float, ...]


class Stretches:
    """A classifier among real inputs; it may be asked from several threads.

    Parameters
    ----------
    layer
        With the rule sigmoid or topk; its domain is left aside, since the inputs say which features occur.
    known
        The inputs and the bar.
    size
        Number of labels of every prediction, where the rule fixes it.
    """

    def __init__(self, layer: OutputLayer, known: Known, size: int | None = None) -> None:
        if layer.rule == "sparsemax":
            raise ValueError("the stretch is for the rules sigmoid and topk, got sparsemax")
        self.known, self._size = known, size
        self._layer = replace(layer, low=None, high=None, balls=())
        self._examples = read_examples(known.inputs.examples, layer.d)
        self._bounds = StretchBounds(self._layer, self._examples, slacks=SLACKS)
        self._norms = np.linalg.norm(layer.weight, axis=1)
        self._lock = Lock()
        self._remembered = lru_cache(REMEMBERED)(self._measure)

    @property
    def n_examples(self) -> int:
        """Number of real inputs."""
        return len(self._examples)

    def of(self, labels: tuple[int, ...]) -> SetStretch:
        """Measure one set, given as ascending indices."""
        return self._remembered(labels)

    def predicted(self, features: npt.ArrayLike) -> list[tuple[int, ...]]:
        """Return the set that is predicted for each row of features; none for topk without a number of labels."""
        rows = read_examples(features, self._layer.d)
        if self._layer.rule == "topk" and self._size is None:
            return [()] * len(rows)
        return [tuple(active.tolist()) for active in predicted_sets(self._layer, rows, k=self._size)]

    def same(self, labels: tuple[int, ...]) -> list[int]:
        """Return the examples that are predicted as a set."""
        return self._by_prediction.get(labels, [])

    @cached_property
    def _by_prediction(self) -> dict[tuple[int, ...], list[int]]:
        found: dict[tuple[int, ...], list[int]] = {}
        if self._layer.rule == "sigmoid" or self._size is not None:
            for i, active in enumerate(predicted_sets(self._layer, self._examples, k=self._size)):
                found.setdefault(tuple(active.tolist()), []).append(i)
        return found

    def predicted_for(self, examples: Sequence[int]) -> list[tuple[int, ...]]:
        """Return the set that is predicted for each of some examples."""
        return self.predicted(self._examples.take(np.asarray(examples, np.int64))) if len(examples) else []

    def _measure(self, labels: tuple[int, ...]) -> SetStretch:
        sets = read_label_sets([list(labels)], self._layer.n_labels)
        with self._lock:
            (found,) = find_evidence(Asked(self._bounds, TOLERANCE), sets, 1)
        examples, weights = found.mixture
        order = np.argsort(-weights, kind="stable")
        rows, multipliers = found.weighted
        if not len(rows):
            rows = found.conflict[found.conflict < self._layer.n_labels]
            multipliers = np.ones(len(rows)) / np.where(self._norms[rows] > 0, self._norms[rows], 1.0)
        pulls = multipliers * self._norms[rows]
        hardest = np.argsort(-pulls, kind="stable")
        hardest = hardest[pulls[hardest] > 0]
        shares = pulls[hardest] / pulls.sum() if len(hardest) else pulls[hardest]
        return SetStretch(
            float(found.lower),
            float(found.upper),
            examples[order],
            weights[order],
            tuple(rows[hardest].tolist()),
            tuple(shares.tolist()),
        )


def know(layer: OutputLayer, inputs: RealInputs, *, alpha: float, size: int | None, progress: bool = False) -> Known:
    """Measure the bar by the held-out inputs, if there are any."""
    if inputs.held_out is None:
        return Known(inputs, None, alpha)
    plain = replace(layer, low=None, high=None, balls=())
    none = LabelSets(layer.n_labels, np.zeros(1, np.int64), np.empty(0, np.int64))
    examples = read_examples(inputs.examples, layer.d)
    found = measure(plain, none, examples, calibration=inputs.held_out, k=size, alpha=alpha, progress=progress)
    return Known(inputs, None if found.bar is None else found.bar.value, alpha)
