"""What a blend is made of: support vector machines, networks and trees on views, each with its out-of-fold logits."""

import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import scipy.sparse
from scipy.special import logit

from labelproof.encoders.views.view import View
from labelproof.foundation.threads import one_blas_thread
from labelproof.training.dense_svm import dense_svms
from labelproof.training.recipe.calibrating import Calibration, calibrate, cross_fitted, log_loss
from labelproof.training.recipe.folds import Fold, Folds
from labelproof.training.recipe.menu import Material, ViewPlan
from labelproof.training.recipe.network import Network, train_network
from labelproof.training.svm import TOLERANCE, linear_svms

__all__ = ["Candidate", "Refitted", "network_candidate", "refit", "svm_candidate", "trees_candidate"]

Family = Literal["svm", "network", "trees"]
Logits = npt.NDArray[np.float32]
LABELS_AT_ONCE = 1024
LEAF_PRIOR = 0.3  # examples of the usual rate that every leaf is given


@dataclass(frozen=True, eq=False)
class Candidate:
    """A member that was tried.

    Attributes
    ----------
    plan, family
        The view, and what stands on it: "svm" with its cost, "network" with its epochs, or "trees".
    logits
        float32 (n_held, n_labels): calibrated, each by models that have not seen the example.
    calibration
        Of all out-of-fold scores, for the model that is trained on all examples.
    loss
        Mean log loss of the logits.
    seconds
        That it took.
    """

    plan: ViewPlan
    family: Family
    logits: Logits
    calibration: Calibration
    loss: float
    seconds: float
    cost: float | None = None
    epochs: int | None = None

    @property
    def name(self) -> str:
        """What it is, for people."""
        if self.family == "trees":
            return self.plan.name
        how = f"SVM, C = {self.cost:.2g}" if self.family == "svm" else f"network, {self.epochs} epochs"
        return f"{self.plan.name}: {how}"


def svm_candidate(
    folds: Folds, plan: ViewPlan, parts: list[Fold], cost: float, *, tolerance: float = TOLERANCE
) -> Candidate:
    """Try support vector machines of one cost."""
    begin = time.perf_counter()
    scores = np.empty(folds.truth.shape, np.float32)
    for part in parts:
        solved = solve_svms(part.features, part.labels, cost, tolerance=tolerance)
        scores[part.held] = _products(part.held_features, *solved)
    return _candidate(folds, plan, "svm", scores, begin, cost=cost)


def trees_candidate(folds: Folds, plan: ViewPlan) -> Candidate:
    """Try a forest: the score is the mean over trees of the logit of a label's share in the leaf."""
    begin = time.perf_counter()
    scores = np.empty(folds.truth.shape, np.float32)
    for part in folds.views(plan):
        scores[part.held] = _products(part.held_features, *leaf_logits(part.features, part.labels))
    return _candidate(folds, plan, "trees", scores, begin)


def network_candidate(
    folds: Folds, plan: ViewPlan, parts: list[Fold], *, seed: int, seconds: float = np.inf
) -> Candidate:
    """Try a network, as long as the loss of each fold falls; all examples then get the mean number of epochs."""
    begin = time.perf_counter()
    scores, epochs = np.empty(folds.truth.shape, np.float32), []
    for part in parts:
        held_out = part.held_features, part.held_labels
        limit = seconds / len(parts)
        trained = train_network(part.features, part.labels, held_out=held_out, seed=seed, seconds=limit)
        scores[part.held] = trained.network.logits(part.held_features)
        epochs.append(trained.epochs)
    return _candidate(folds, plan, "network", scores, begin, epochs=max(1, round(float(np.mean(epochs)))))


def _candidate(folds: Folds, plan: ViewPlan, family: Family, scores: Logits, begin: float, **found: Any) -> Candidate:
    logits = cross_fitted(scores, folds.truth, folds.parts)
    calibration = calibrate(scores, folds.truth)
    seconds = time.perf_counter() - begin
    return Candidate(plan, family, logits, calibration, log_loss(logits, folds.truth), seconds, **found)


def solve_svms(
    features: Any, labels: Any, cost: float, *, tolerance: float = TOLERANCE
) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
    """Return weights and biases, by the method that suits sparse or dense features."""
    if scipy.sparse.issparse(features):
        return linear_svms(features, labels, cost, tolerance=tolerance)
    with one_blas_thread():
        return dense_svms(features, labels, cost)


def leaf_logits(features: Any, labels: Any) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
    """Return weights (n_labels, n_leaves) whose sum over an example's leaves is the mean of their logits, and biases 0.

    A leaf's share of a label counts some examples of the label's usual rate besides its own.
    """
    n, n_labels = labels.shape
    rates = (np.asarray(labels.sum(axis=0)).ravel() + 0.5) / (n + 1)
    counts = (features.T @ labels.astype(np.float64)).toarray()
    sizes = np.asarray(features.sum(axis=0)).ravel()
    shares = (counts + LEAF_PRIOR * rates) / (sizes + LEAF_PRIOR)[:, None]
    n_trees = features.nnz / max(n, 1)
    return (logit(shares) / n_trees).T, np.zeros(n_labels)


def _products(features: Any, weight: npt.NDArray[Any], bias: npt.NDArray[Any]) -> Logits:
    """Return scores, for some labels at a time: the product of a sparse matrix copies its other factor."""
    scores = np.empty((features.shape[0], len(weight)), np.float32)
    for first in range(0, len(weight), LABELS_AT_ONCE):
        block = slice(first, first + LABELS_AT_ONCE)
        scores[:, block] = features @ weight[block].T + bias[block]
    return scores


@dataclass(frozen=True, eq=False)
class Refitted:
    """A member trained on all examples: its view, and weights and biases, or a network."""

    view: View
    weight: npt.NDArray[Any]
    bias: npt.NDArray[Any]
    network: Network | None = None


def refit(candidate: Candidate, material: Material, labels: Any, *, seed: int) -> Refitted:
    """Train a candidate on all training examples."""
    view = candidate.plan.learned(material.matrices, labels)
    features = view.features(material.matrices)
    if candidate.family == "svm":
        return Refitted(view, *solve_svms(features, labels, float(candidate.cost or 1.0)))
    if candidate.family == "trees":
        return Refitted(view, *leaf_logits(features, labels))
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
