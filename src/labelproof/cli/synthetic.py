"""A made-up multi-label problem with a fitted bottleneck output layer, for the demonstration.

Documents have topics and aspects, and each label is one aspect of one topic, so labels occur together as they do in
real collections: a few often, most rarely. The output layer is fitted by gradient descent on the labels of training
documents; the label sets to verify belong to other documents.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.special import expit
from threadpoolctl import threadpool_limits

__all__ = ["Problem", "fitted_problem"]

Floats = npt.NDArray[np.float32]

TOPICS = (
    "astronomy", "baking", "beekeeping", "botany", "bridges", "carpentry", "ceramics", "chemistry", "chess", "climate",
    "cycling", "dance", "farming", "film", "fishing", "forestry", "genetics", "glass", "harbours", "horses",
    "insects", "jazz", "maps", "medicine", "mining", "opera", "optics", "orchards", "paper", "poetry",
    "printing", "railways", "rivers", "robotics", "sailing", "schools", "textiles", "theatre", "volcanoes", "wine",
)  # fmt: skip
ASPECTS = (
    "history", "safety", "cost", "tools", "training", "law", "design", "repair", "trade", "energy",
    "statistics", "ethics", "software", "transport", "storage", "tourism", "insurance", "standards", "museums",
    "awards", "noise", "waste", "water", "lighting", "taxes", "archives", "journals", "exams", "children", "prizes",
    "festivals", "patents", "colour", "weather", "sensors", "unions", "charity", "fashion", "folklore", "health",
    "markets", "careers", "radio", "letters", "soil", "stamps", "toys", "metals", "night", "winter",
)  # fmt: skip


@dataclass(frozen=True, eq=False)
class Problem:
    """Label names, a fitted weight (n_labels, d), and the label sets of documents that it was not fitted to."""

    label_names: list[str]
    weight: Floats
    label_sets: list[list[int]]
    n_train: int


def fitted_problem(*, d: int = 50, n_train: int = 4000, n_test: int = 1000, steps: int = 240, seed: int = 0) -> Problem:
    """Make the problem and fit its output layer."""
    rng = np.random.default_rng(seed)
    features, labels = _documents(rng, n_train + n_test)
    with threadpool_limits(1, user_api="blas"):  # the products are small: more threads wait for each other
        weight = _fit(rng, features[:n_train], labels[:n_train], d, steps)
    names = [f"{topic}: {aspect}" for topic in TOPICS for aspect in ASPECTS]
    return Problem(names, weight, [np.flatnonzero(row).tolist() for row in labels[n_train:]], n_train)


def _documents(rng: np.random.Generator, n: int) -> tuple[Floats, Floats]:
    """Draw what an encoder says about n documents (n, 200), and their labels (n, n_labels)."""
    n_topics, n_aspects = len(TOPICS), len(ASPECTS)
    topic_odds = 1 / (5 + np.arange(n_topics))
    aspect_odds = 1 / (3 + np.arange(n_aspects))
    topics, aspects = np.zeros((n, n_topics)), np.zeros((n, n_aspects))
    labels = np.zeros((n, n_topics * n_aspects), np.float32)
    for i in range(n):
        chosen = rng.choice(n_topics, rng.integers(1, 4), replace=False, p=topic_odds / topic_odds.sum())
        topics[i, chosen] = rng.uniform(0.5, 1, len(chosen))
        aspects[i] = aspect_odds * rng.gamma(0.5, size=n_aspects)
        odds = np.outer(topics[i], aspects[i]).ravel()
        count = 1 + rng.poisson(rng.gamma(2.0, 3.0))
        labels[i, rng.choice(len(odds), min(count, 18), replace=False, p=odds / odds.sum())] = 1
    content = np.hstack([topics, 5 * aspects])
    encoded = content @ rng.standard_normal((content.shape[1], 200)) + 0.3 * rng.standard_normal((n, 200))
    return encoded.astype(np.float32), labels


def _fit(rng: np.random.Generator, features: Floats, labels: Floats, d: int, steps: int, batch: int = 250) -> Floats:
    """Fit logits = (features P + p) Wᵀ by Adam on the binary cross-entropy; return W."""
    parameters: list[Floats] = [
        (rng.standard_normal((features.shape[1] + 1, d)) / 16).astype(np.float32),
        (rng.standard_normal((labels.shape[1], d)) / 8).astype(np.float32),
    ]
    features = np.hstack([features, np.ones((len(features), 1), np.float32)])
    first, second = ([np.zeros_like(p) for p in parameters] for _ in range(2))
    for step in range(1, steps + 1):
        which = rng.integers(len(features), size=batch)
        E, Y = features[which], labels[which]
        P, W = parameters
        X = E @ P  # (batch, d)
        error = (expit(X @ W.T) - Y) / batch  # (batch, n_labels)
        gradients = [E.T @ (error @ W), error.T @ X]
        for p, g, m, s in zip(parameters, gradients, first, second, strict=True):
            m += 0.1 * (g - m)
            s += 0.01 * (g * g - s)
            p -= 0.02 * (m / (1 - 0.9**step)) / (np.sqrt(s / (1 - 0.99**step)) + 1e-8)
    return parameters[1]
