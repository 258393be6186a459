"""Everything the page shows about one classifier, without the web."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from labelproof.auditing.facts import constant_labels, describe_domain
from labelproof.explorer.answers import (
    drawing_answer,
    explanation_answer,
    label_names,
    similar_answer,
    verdict_answer,
)
from labelproof.explorer.completion import LabelSearch
from labelproof.explorer.drawing import Anchor, draw
from labelproof.explorer.newest_question import NewestWins
from labelproof.explorer.prover import Prover
from labelproof.explorer.requests import MOST_LABELS
from labelproof.explorer.shown_inputs import InputAnswers
from labelproof.explorer.similar import SetIndex
from labelproof.explorer.stretches import Known, Stretches
from labelproof.importers import ImportedLayer
from labelproof.pages.names import visible
from labelproof.proof.certificates import Argmaxable
from labelproof.proof.labels import LabelSets
from labelproof.search.radius import as_floats

__all__ = ["Explorer"]

Answer = dict[str, Any]


class Explorer:
    """A classifier, its label names and the label sets of data, in the forms that answer questions quickly.

    Parameters
    ----------
    source
        The layer and where it came from.
    prover
        The same layer, prepared.
    names
        One for each label, or None.
    label_sets
        Those of the examples of a data set, or None.
    known
        Real inputs by which the stretch is measured, or None.
    """

    def __init__(
        self,
        source: ImportedLayer,
        prover: Prover,
        names: Sequence[str] | None,
        label_sets: LabelSets | None,
        known: Known | None = None,
    ) -> None:
        n_labels = prover.layer.n_labels
        if names is not None and len(names) != n_labels:
            raise ValueError(f"label_names must hold {n_labels} names to match the weight's rows, got {len(names)}")
        if label_sets is not None and label_sets.n_labels != n_labels:
            raise ValueError(f"label_sets must be sets of {n_labels} labels, got {label_sets.n_labels}")
        self._source, self._prover = source, prover
        self._is_named = names is not None
        given = [f"label {i}" for i in range(n_labels)] if names is None else list(names)
        self._names = [visible(name) if name.strip() else f"label {i} (no name)" for i, name in enumerate(given)]
        self._data = SetIndex(label_sets if label_sets is not None else LabelSets(n_labels, *_no_sets()))
        self._counts = self._data.label_counts
        self._search = LabelSearch(given, self._counts)
        self._inputs = None if known is None else InputAnswers(source, Stretches(prover.layer, known, prover.size))
        self.searches = NewestWins()

    def warm_up(self) -> None:
        """Answer a question of each kind once, so that compiled code is loaded."""
        self._prover.verdict(())
        some = tuple(range(min(self._prover.layer.n_labels, 12)))
        self.explanation(some, 0.2, "first")
        if self._inputs is not None:
            self._inputs.warm_up(some)

    def model(self) -> Answer:
        """Say what is explored."""
        source, layer = self._source, self._prover.layer
        always, never = constant_labels(layer)
        return {
            "model": visible(source.model),
            "kind": source.kind,
            "source": visible(source.source),
            "dtype": source.dtype,
            "n_labels": layer.n_labels,
            "n_features": layer.d,
            "bias": source.bias is not None,
            "rule": layer.rule,
            "ties": layer.ties,
            "thresholds": layer.theta is not None,
            "domain": describe_domain(layer, steady=self._prover.n_steady),
            "size": self._prover.size,
            "n_always": len(always),
            "n_never": len(never),
            "is_named": self._is_named,
            "examples": self._data.n_examples,
            "distinct": self._data.n_distinct,
            "most_labels": MOST_LABELS,
            **({"inputs": 0} if self._inputs is None else self._inputs.facts()),
        }

    def labels(self, query: str, limit: int) -> list[Answer]:
        """Complete what was typed."""
        found = self._search.find(query, limit)
        return [{"label": i, "name": self._names[i], "count": int(self._counts[i])} for i in found]

    def verdict(self, labels: Sequence[int], others: Sequence[int] = ()) -> Answer:
        """Decide a label set, and name others."""
        active = self._prover.active_labels(labels)
        known = self._prover.active_labels(others)
        answer: Answer = {"labels": list(active), "others": {"labels": list(known)}, "count": self._data.count(active)}
        if self._prover.fits(active):
            verdict = self._prover.verdict(active)
            answer |= verdict_answer(verdict, self._prover.pulls(verdict))
        else:
            answer |= {"status": "size", "size": self._prover.size}
        return self._with_names(answer)

    def explanation(self, labels: Sequence[int], seconds: float, page: str) -> Answer:
        """Explain a verdict, unless a newer question comes."""
        active = self._prover.active_labels(labels)
        if not self._prover.fits(active):
            return {"labels": list(active), "status": "size", "names": {}}
        explained = self.searches.run(page, lambda event: self._prover.explain(active, seconds, event))
        if explained is None:
            return {"is_cancelled": True}
        answer = explanation_answer(explained, self._prover.pulls(explained.verdict))
        return self._with_names({"labels": list(active)} | answer)

    def stretch(self, labels: Sequence[int]) -> Answer:
        """Say how far from real inputs a label set lies."""
        active = self._prover.active_labels(labels)
        return self._with_names({"labels": list(active)} | self._known().stretch(active))

    def trial(self, labels: Sequence[int]) -> Answer:
        """Write a text for a label set, and say what the model predicts for it."""
        active = self._prover.active_labels(labels)
        return self._with_names({"labels": list(active)} | self._known().trial(active))

    def _known(self) -> InputAnswers:
        if self._inputs is None:
            raise ValueError("the stretch needs features of real inputs, which this explorer was started without")
        return self._inputs

    def similar(self, labels: Sequence[int], limit: int) -> Answer:
        """Find similar label sets in the data."""
        active = self._prover.active_labels(labels)
        found = [one for one in self._data.similar(active, limit) if len(one.labels) <= MOST_LABELS]
        return self._with_names({"sets": similar_answer(found)})

    def statuses(self, sets: Sequence[Sequence[int]]) -> Answer:
        """Decide several label sets, without evidence."""
        return {"status": self._prover.statuses([self._prover.active_labels(labels) for labels in sets])}

    def drawing(self, labels: Sequence[int], anchors: Sequence[Sequence[int]]) -> Answer:
        """Draw the regions around a label set, on a plane through it and other predictable sets."""
        active = self._prover.active_labels(labels)
        through = [self._prover.active_labels(anchor) for anchor in anchors]
        found = [anchor for one in through if (anchor := self._anchor(one)) is not None]
        picture = draw(self._prover.layer, self._prover.weights, active, found)
        base = found[0].labels if found else ()
        sets = [tuple(sorted((set(base) | set(r.added)) - set(r.removed))) for r in picture.regions]
        answer = drawing_answer(picture, [self._data.count(one) for one in sets])
        return self._with_names(answer | {"labels": list(active), "base": {"labels": list(base)}})

    def _anchor(self, labels: tuple[int, ...]) -> Anchor | None:
        certificate = self._prover.verdict(labels).certificate
        return Anchor(labels, as_floats(certificate.witness)) if isinstance(certificate, Argmaxable) else None

    def _with_names(self, answer: Answer) -> Answer:
        return answer | {"names": label_names(answer, self._names)}


def _no_sets() -> tuple[Any, Any]:
    return np.zeros(1, np.int64), np.empty(0, np.int64)
