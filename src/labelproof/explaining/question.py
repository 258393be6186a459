"""One label set to explain, and the decisions on others that it takes: fewer labels, or labels changed."""

import time
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from labelproof.proof.labels import LabelSets, read_label_sets
from labelproof.proof.margins import UnitWeights
from labelproof.proof.regions import OutputLayer
from labelproof.search.engine import Prepared, decide, prepare
from labelproof.search.findings import Finding

__all__ = ["Question", "ask", "remaining"]

Floats = npt.NDArray[np.float64]
Indices = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Question:
    """A label set of a classifier.

    ``plain`` leaves out what sparsemax says of the sum of its support. A conflict there is one of the classifier, too,
    and the better one: a conflict with the sum has all active labels in it, and refutes no other set.
    """

    prepared: Prepared
    plain: Prepared
    active: Indices
    n_jobs: int | None = field(default=None, kw_only=True)

    @property
    def layer(self) -> OutputLayer:
        """The classifier."""
        return self.prepared.layer

    @property
    def signs(self) -> Floats:
        """float64 (n_labels,): 1 for active labels, -1 for the others."""
        signs = np.full(self.layer.n_labels, -1.0)
        signs[self.active] = 1.0
        return signs

    @cached_property
    def unit_weights(self) -> UnitWeights:
        """The weights in the form that margins are computed from."""
        return UnitWeights(self.layer)

    def has_sum(self, rows: Indices) -> bool:
        """Return whether a conflict needs the sum of the support."""
        return bool(np.isin([self.layer.n_labels + 1, self.layer.n_labels + 2], rows).any())

    def labels_of(self, rows: Indices) -> Indices:
        """Return the labels of a conflict."""
        return rows[rows < self.layer.n_labels]

    def label_sets(self, sets: Iterable[Iterable[int]]) -> LabelSets:
        """Return label sets of the classifier."""
        return read_label_sets([np.array(sorted(active), np.int64) for active in sets], self.layer.n_labels)

    def decide(self, sets: Iterable[Iterable[int]], time_limit: float | None) -> list[Finding]:
        """Return evidence on label sets, and conflicts without the sum of the support where there are any."""
        asked = self.label_sets(sets)
        how: dict[str, Any] = {"n_jobs": self.n_jobs, "time_limit": time_limit}
        evidence = decide(self.layer, asked, prepared=self.prepared, **how)
        again = [k for k, e in enumerate(evidence) if e.conflict is not None and self.has_sum(e.conflict)]
        plainly = decide(self.plain.layer, asked.take(again), prepared=self.plain, **how)
        for k, e in zip(again, plainly, strict=True):
            evidence[k] = evidence[k] if e.conflict is None else e
        return evidence

    def decide_among(self, labels: Indices, time_limit: float) -> Finding:
        """Decide the label set with all but these labels left open, and without the sum of the support."""
        layer, n = self.plain.layer, len(labels)
        if not n:
            return Finding(point=())
        offset = None if layer.offset is None else layer.offset[labels]
        error = None if layer.offset_error is None else layer.offset_error[labels]
        some = replace(layer, weight=layer.weight[labels], offset=offset, offset_error=error)
        sets = read_label_sets([np.flatnonzero(np.isin(labels, self.active))], n)
        how: dict[str, Any] = {"n_jobs": self.n_jobs, "time_limit": time_limit}
        evidence = decide(some, sets, prepared=prepare(some), **how)[0]  # by rows alone
        if evidence.conflict is None:
            return evidence
        rows = evidence.conflict
        numbers = np.where(rows < n, labels[np.minimum(rows, n - 1)], rows - n + layer.n_labels)
        return Finding(conflict=np.sort(numbers))


def ask(layer: OutputLayer, active: Indices, n_jobs: int | None = None) -> Question:
    """Prepare the question if some input gives this label set, to be answered on so many threads."""
    prepared = prepare(layer)
    plain = prepare(replace(layer, rule="topk")) if layer.rule == "sparsemax" else prepared
    return Question(prepared, plain, active, n_jobs=n_jobs)


def remaining(deadline: float) -> float:
    """Return the seconds until a deadline, and at least a few milliseconds."""
    return max(deadline - time.perf_counter(), 0.01)
