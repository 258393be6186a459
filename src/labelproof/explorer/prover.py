"""A classifier made ready once, so that questions about its label sets are answered while a person waits."""

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from threading import Event
from typing import Any

import numpy as np
import numpy.typing as npt

from labelproof.auditing.inside import bounds_only
from labelproof.auditing.real_inputs import RealInputs
from labelproof.auditing.steady_features import hold_steady, in_the_middle
from labelproof.explaining.boundary import Boundary, closest_labels, most_central
from labelproof.explaining.nearest import Neighbour, NeighbourSearch
from labelproof.explaining.small_conflicts import small_conflicts
from labelproof.explorer.cancellable_question import CancellableQuestion
from labelproof.explorer.conflict_shares import pulls
from labelproof.explorer.near import some_near_set
from labelproof.importers import ImportedLayer
from labelproof.importers.assumptions import Reading, assume
from labelproof.proof.certificates import Argmaxable, Certificate, Unargmaxable
from labelproof.proof.domains import read_domain
from labelproof.proof.labels import read_label_set
from labelproof.proof.margins import UnitWeights, margin
from labelproof.proof.regions import OutputLayer
from labelproof.search.engine import prepare
from labelproof.search.few_features import has_features_to_spare
from labelproof.search.findings import Finding, pack
from labelproof.search.questions import layer_with_rule

__all__ = ["Explained", "Prover", "Verdict", "make_prover"]

Indices = npt.NDArray[np.int64]
N_NEAREST = 4
REMEMBERED = 512  # verdicts
VERDICT_SECONDS = 20.0
STATUS_SECONDS = 1.0  # for each of several sets


@dataclass(frozen=True, eq=False)
class Verdict:
    """What is proven about a label set: a most central witness, or the conflict that was found first."""

    labels: tuple[int, ...]
    certificate: Certificate
    conflict: Indices | None  # rows, in the numbering of `regions`


@dataclass(frozen=True, eq=False)
class Explained:
    """What a longer search adds to a verdict; the other attributes are those of `labelproof.Explanation`."""

    verdict: Verdict
    irreducible: bool = False
    least_distance: int | None = 0
    nearest: tuple[Neighbour, ...] = ()
    boundary: tuple[Boundary, ...] = ()


class Prover:
    """A prepared classifier, which may be asked from several threads.

    Parameters
    ----------
    layer
        The classifier.
    size
        How many labels its rule gives to every example, where that is fixed.
    n_steady
        How many features are held where they are, since they hardly vary in real inputs.

    Attributes
    ----------
    weights
        In the form that margins are computed from.
    """

    def __init__(self, layer: OutputLayer, size: int | None = None, n_steady: int = 0) -> None:
        if has_features_to_spare(layer):
            raise ValueError(
                f"the explorer needs a layer of fewer features for its {layer.n_labels} labels, got {layer.d}: "
                "labelproof audit takes it"
            )
        self.layer, self.size, self.n_steady = layer, size, n_steady
        self._prepared = prepare(layer)
        # see `Question.plain`: conflicts without the sum of the support say more
        self._plain = prepare(replace(layer, rule="topk")) if layer.rule == "sparsemax" else self._prepared
        self.weights = UnitWeights(layer)
        self._remembered = lru_cache(REMEMBERED)(self._decide)

    def active_labels(self, labels: Sequence[int]) -> tuple[int, ...]:
        """Return a label set as ascending indices; ValueError if it is none of this classifier."""
        return tuple(read_label_set(list(labels), self.layer.n_labels, name="labels").tolist())

    def fits(self, labels: Sequence[int]) -> bool:
        """Return whether the set has as many labels as the rule gives."""
        return self.size is None or len(labels) == self.size

    def verdict(self, labels: tuple[int, ...]) -> Verdict:
        """Decide one label set, given as ascending indices, with proof."""
        return self._remembered(labels)

    def statuses(self, sets: Sequence[tuple[int, ...]]) -> list[int]:
        """Return 1 for each argmaxable set, 0 for each unargmaxable one, -1 for each undecided one."""
        evidence = self._question((), Event()).decide(sets, STATUS_SECONDS)
        return [_status(e) if self.fits(labels) else 0 for e, labels in zip(evidence, sets, strict=True)]

    def explain(self, labels: tuple[int, ...], seconds: float, cancelled: Event) -> Explained:
        """Search for what explains a verdict; raises `CancelledError` soon after ``cancelled`` is set."""
        verdict, end = self.verdict(labels), time.perf_counter() + seconds
        question = self._question(labels, cancelled)
        if isinstance(verdict.certificate, Argmaxable):
            closest = closest_labels(question, verdict.certificate, end)
            return Explained(verdict, boundary=closest if self.size is None else _never_alone(closest))
        if verdict.conflict is None:
            return Explained(verdict)
        search = NeighbourSearch(question, [verdict.conflict], N_NEAREST, end - 0.6 * seconds)
        search.run()
        found = search.found or _by_mask(some_near_set(question, end - 0.3 * seconds))
        conflicts, irreducible = small_conflicts(question, verdict.conflict, end - 0.2 * seconds)
        if not any(one.is_minimal for one in search.neighbours()):
            search = NeighbourSearch(question, conflicts, N_NEAREST, end, found=found)
            search.run()
        smaller = self._proven(question, Finding(conflict=conflicts[0]))
        nearest = search.neighbours() if self.size is None else search.neighbours_of_same_size()
        return Explained(smaller, irreducible, search.least_distance, nearest)

    def pulls(self, verdict: Verdict) -> list[float]:
        """Return how hard each label of a verdict's conflict pulls, as shares; see `pulls`."""
        if not isinstance(verdict.certificate, Unargmaxable) or verdict.conflict is None:
            return []
        return pulls(verdict.certificate, self.weights, np.array(verdict.labels, np.int64), verdict.conflict)

    def _question(self, labels: tuple[int, ...], cancelled: Event) -> CancellableQuestion:
        return CancellableQuestion(self._prepared, self._plain, np.array(labels, np.int64), self.weights, cancelled)

    def _decide(self, labels: tuple[int, ...]) -> Verdict:
        question = self._question(labels, Event())
        return self._proven(question, question.decide([labels], VERDICT_SECONDS)[0])

    def _proven(self, question: CancellableQuestion, evidence: Finding) -> Verdict:
        labels = tuple(question.active.tolist())
        if evidence.witness is None:
            certificate = pack(self.layer, question.label_sets([labels]), [evidence])[0]
            return Verdict(labels, certificate, evidence.conflict)
        found = Argmaxable(evidence.witness, margin(self.weights, question.active, evidence.witness))
        return Verdict(labels, most_central(question, found), None)


def make_prover(source: ImportedLayer, reading: Reading, *, inputs: RealInputs | None = None) -> Prover:
    """Prepare an imported layer; rule, thresholds and domain are the model's own unless others are asked for.

    Features that hardly vary in real inputs are held in the middle of their range: what is possible there is so in an
    audit, which gives them all of it.
    """
    assumed = assume(source, reading)
    if reading.is_domain_found:
        assumed = bounds_only(assumed, source.n_features, what="The explorer")
    elif read_domain(reading.domain, source.n_features).balls:
        raise ValueError(
            f"the explorer takes domains of bounds only, got {reading.domain!r}: labelproof audit takes it"
        )
    steady: list[int] = []
    if inputs is not None and reading.is_domain_found:
        assumed, steady = hold_steady(assumed, inputs, source.n_features)
        assumed = replace(assumed, domain=in_the_middle(assumed.domain, steady)) if steady else assumed
    layer = layer_with_rule(
        source.weight,
        assumed.rule,
        bias=source.bias,
        thresholds=assumed.thresholds,
        ties=reading.ties,
        domain=assumed.domain,
    )
    return Prover(layer, assumed.size, len(steady))


def _never_alone(closest: tuple[Boundary, ...]) -> tuple[Boundary, ...]:
    """Say of labels under a rule of fixed size that none of them changes without another."""
    return tuple(replace(one, can_flip=False) for one in closest)


def _by_mask(found: dict[frozenset[int], Any]) -> dict[int, Any]:
    """Write changes as the bit masks of `NeighbourSearch`."""
    return {sum(1 << i for i in changes): witness for changes, witness in found.items()}


def _status(evidence: Finding) -> int:
    return 1 if evidence.witness is not None else 0 if evidence.conflict is not None else -1
