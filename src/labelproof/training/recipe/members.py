"""What a blend is made of: support vector machines and networks on views, each with its out-of-fold logits."""

import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import scipy.sparse

from labelproof.encoders.views.view import View
from labelproof.foundation.threads import one_blas_thread
from labelproof.training.dense_svm import dense_svms
from labelproof.training.recipe.calibrating import Calibration, calibrate, cross_fitted, log_loss
from labelproof.training.recipe.menu import Material, ViewPlan
from labelproof.training.recipe.network import Network, train_network
from labelproof.training.svm import linear_svms

__all__ = ["Candidate", "Folds", "Refitted", "network_candidate", "refit", "svm_candidate"]

Logits = npt.NDArray[np.float32]


@dataclass(frozen=True, eq=False)
class Candidate:
    """A member that was tried.

    Attributes
    ----------
    plan, family
        The view, and what stands on it: "svm" with its cost, or "network" with its epochs.
    logits
        float32 (n_examples, n_labels): calibrated, each by models that have not seen the example.
    calibration
        Of all out-of-fold scores, for the model that is trained on all examples.
    loss
        Mean log loss of the logits.
    seconds
        That it took.
    """

    plan: ViewPlan
    family: Literal["svm", "network"]
    logits: Logits
    calibration: Calibration
    loss: float
    seconds: float
    cost: float | None = None
    epochs: int | None = None

    @property
    def name(self) -> str:
        """What it is, for people."""
        how = f"SVM, C = {self.cost:g}" if self.family == "svm" else f"network, {self.epochs} epochs"
        return f"{self.plan.name}: {how}"


@dataclass(frozen=True, eq=False)
class Folds:
    """The training examples, and which of them are held out together."""

    material: Material
    labels: Any
    numbers: npt.NDArray[np.int64]

    def views(self, plan: ViewPlan) -> list["_Fold"]:
        """Return the features of each fold, by a view that has learned from the others."""
        found = []
        for fold in np.unique(self.numbers):
            held = self.numbers == fold
            kept_rows, held_rows = self.material.rows(~held), self.material.rows(held)
            view = plan.learned(kept_rows)
            labels = self.labels
            found.append(_Fold(held, view.features(kept_rows), labels[~held], view.features(held_rows), labels[held]))
        return found


@dataclass(frozen=True, eq=False)
class _Fold:
    held: npt.NDArray[np.bool_]
    features: Any
    labels: Any
    held_features: Any
    held_labels: Any


def svm_candidate(folds: Folds, plan: ViewPlan, parts: list[_Fold], cost: float) -> Candidate:
    """Try support vector machines of one cost."""
    begin = time.perf_counter()
    scores = np.empty(folds.labels.shape, np.float32)
    for part in parts:
        weight, bias = solve_svms(part.features, part.labels, cost)
        scores[part.held] = part.held_features @ weight.T + bias
    return _candidate(folds, plan, "svm", scores, begin, cost=cost)


def network_candidate(folds: Folds, plan: ViewPlan, parts: list[_Fold], *, seed: int) -> Candidate:
    """Try a network, as long as the loss of each fold falls; all examples then get the mean number of epochs."""
    begin = time.perf_counter()
    scores, epochs = np.empty(folds.labels.shape, np.float32), []
    for part in parts:
        held_out = part.held_features, part.held_labels
        trained = train_network(part.features, part.labels, held_out=held_out, seed=seed)
        scores[part.held] = trained.network.logits(part.held_features)
        epochs.append(trained.epochs)
    return _candidate(folds, plan, "network", scores, begin, epochs=max(1, round(float(np.mean(epochs)))))


def _candidate(
    folds: Folds, plan: ViewPlan, family: Literal["svm", "network"], scores: Logits, begin: float, **found: Any
) -> Candidate:
    logits = cross_fitted(scores, folds.labels, folds.numbers)
    calibration = calibrate(scores, folds.labels)
    seconds = time.perf_counter() - begin
    return Candidate(plan, family, logits, calibration, log_loss(logits, folds.labels), seconds, **found)


def solve_svms(features: Any, labels: Any, cost: float) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
    """Return weights and biases, by the method that suits sparse or dense features."""
    if scipy.sparse.issparse(features):
        return linear_svms(features, labels, cost)
    with one_blas_thread():
        return dense_svms(features, labels, cost)


@dataclass(frozen=True, eq=False)
class Refitted:
    """A member trained on all examples: its view, and weights and biases, or a network."""

    view: View
    weight: npt.NDArray[Any]
    bias: npt.NDArray[Any]
    network: Network | None = None


def refit(candidate: Candidate, material: Material, labels: Any, *, seed: int) -> Refitted:
    """Train a candidate on all training examples."""
    view = candidate.plan.learned(material.matrices)
    features = view.features(material.matrices)
    if candidate.family == "svm":
        return Refitted(view, *solve_svms(features, labels, float(candidate.cost or 1.0)))
    network = train_network(features, labels, epochs=int(candidate.epochs or 1), seed=seed).network
    weight, bias = (p.detach().double().numpy() for p in (network.output.weight, network.output.bias))
    return Refitted(view, weight, bias, network)


def edges(costs: dict[float, float]) -> Iterator[float]:
    """Yield the cost beyond the edge at which the best of some costs lies, by the losses of each."""
    best, ordered = min(costs, key=lambda cost: costs[cost]), sorted(costs)
    if best == ordered[0]:
        yield best**2 / ordered[1] if len(ordered) > 1 else best / 3
    elif best == ordered[-1]:
        yield best**2 / ordered[-2]
