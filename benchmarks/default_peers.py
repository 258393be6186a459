"""What users would have fitted instead: scikit-learn's classifiers, each with the grid that one would try.

A `Family` has plans for a kind of features. One fit of a plan gives the scores of all its steps, such as numbers of
neighbours or of epochs. All run on one thread.
"""

import time
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import scipy.sparse
from sklearn.ensemble import ExtraTreesClassifier, HistGradientBoostingClassifier
from sklearn.feature_extraction.text import TfidfTransformer, TfidfVectorizer
from sklearn.neighbors import NearestNeighbors
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler

from labelproof.data import Dataset
from real_data import linear

__all__ = ["FAMILIES", "LINEAR", "Clock", "Family", "OutOfTime", "Plan", "View", "views_of"]

ALL = "all"
TREES, TREES_AT_ONCE = 300, 25  # so many are kept at once: leaves hold a number for each label
CLIP = 5.0  # standard deviations: without it one outlier costs the linear models of birds ten points
EPOCHS = (5, 10, 20, 40, 80)
NEIGHBOURS = (5, 10, 20, 40)
COSTS = {  # the likeliest first, since the grid is cut where time ends
    "linear SVM": {
        "words": (1.0, 0.3, 3.0, 0.1),
        "idf": (0.3, 0.1, 1.0, 0.03, 3.0),
        "raw": (0.01, 0.03, 0.003, 0.1, 1.0),
        "standardised": (0.01, 0.003, 0.001, 0.03, 0.1, 1.0),
    },
    "logistic regression": {
        "words": (10.0, 30.0, 3.0, 100.0, 1.0),
        "idf": (3.0, 1.0, 10.0, 0.3),
        "raw": (0.1, 0.3, 0.03, 1.0),
        "standardised": (0.03, 0.01, 0.1, 0.003, 0.3, 1.0),
    },
}


class OutOfTime(Exception):  # noqa: N818 - no error: a peer is left out
    """A fit would take longer than what is left."""


class Clock:
    """CPU seconds that a peer may take."""

    def __init__(self, seconds: float) -> None:
        self._end = time.process_time() + seconds

    def left(self) -> float:
        """Return the seconds that are left."""
        return self._end - time.process_time()

    def need(self, seconds: float) -> None:
        """Raise `OutOfTime` unless so much is left."""
        if seconds > self.left():
            raise OutOfTime(f"would take {seconds:,.0f} s more, {max(self.left(), 0):,.0f} s are left")


@dataclass(frozen=True, eq=False)
class View:
    """Features of the training and test examples, and the CPU seconds that they took."""

    training: Any
    test: Any
    seconds: float


def views_of(training: Dataset, test: Dataset) -> dict[str, View]:
    """Return the features that users would try: one view of texts or dense features, two of sparse ones."""
    if training.texts is not None:
        words = TfidfVectorizer(sublinear_tf=True, ngram_range=(1, 2), min_df=2, max_features=50_000)
        return {"words": _view(words, training.texts, test.texts)}
    if not scipy.sparse.issparse(training.features):
        clipped = make_pipeline(StandardScaler(), FunctionTransformer(np.clip, kw_args={"a_min": -CLIP, "a_max": CLIP}))
        return {"standardised": _view(clipped, training.features, test.features)}
    rows = [scipy.sparse.csr_matrix(part.features).astype(np.float64) for part in (training, test)]
    return {"raw": View(*rows, 0.0), "idf": _view(TfidfTransformer(), *rows)}


def _view(maker: Any, training: Any, test: Any) -> View:
    begin = time.process_time()
    return View(maker.fit_transform(training), maker.transform(test), time.process_time() - begin)


@dataclass(frozen=True)
class Plan:
    """A fit: the view, the options, and the steps whose scores it gives."""

    view: str
    options: tuple[tuple[str, Any], ...] = ()
    steps: tuple[Any, ...] = (ALL,)

    def name(self, step: Any) -> str:
        """Say what was chosen."""
        words = [self.view, *(f"{key} = {value}" for key, value in self.options)]
        return ", ".join(words if step == ALL else [*words, str(step)])


Scores = Any  # (n, L)
Fit = Callable[[Plan, Any, Any, Sequence[Any], Clock], list[list[Scores]]]  # steps × evaluated matrices


@dataclass(frozen=True)
class Family:
    """A classifier: its plans for some views, and how a plan is fitted to X and Y and scores other matrices."""

    plans: Callable[[Sequence[str]], list[Plan]]
    fit: Fit
    by_label: bool = False  # labels do not depend on each other, so that some of them can stand for all
    most_examples: int = 10_000


# One model a label


def _linear_plans(kind: str, views: Sequence[str]) -> list[Plan]:
    """Return the costs of every view, views in turn."""
    grids = [[Plan(view, (("C", cost),)) for cost in COSTS[kind][view]] for view in views]
    longest = max(map(len, grids))
    return [grid[place] for place in range(longest) for grid in grids if place < len(grid)]


def _fit_linear(kind: str, plan: Plan, X: Any, Y: Any, evaluated: Sequence[Any], _: Clock) -> list[list[Scores]]:
    features = {"training": X} | {str(place): matrix for place, matrix in enumerate(evaluated)}
    return [[np.asarray(s, np.float32) for s in linear(kind, features, Y, dict(plan.options)["C"])]]


def _boosting_plans(views: Sequence[str]) -> list[Plan]:
    if views[0] == "words":
        return []
    slow = (("learning_rate", 0.05), ("max_leaf_nodes", 15))
    return [Plan(views[0], (("learning_rate", 0.1),)), Plan(views[0], slow)]


def _fit_boosting(plan: Plan, X: Any, Y: Any, evaluated: Sequence[Any], clock: Clock) -> list[list[Scores]]:
    dense = [part.toarray() if scipy.sparse.issparse(part) else part for part in (X, *evaluated)]
    labels = Y.toarray().astype(bool)
    found = [np.zeros((len(part), labels.shape[1]), np.float32) for part in dense[1:]]
    begin = time.process_time()
    for label, y in enumerate(labels.T):
        if y.all() or not y.any():
            for scores in found:
                scores[:, label] = y.all()
            continue
        model = HistGradientBoostingClassifier(random_state=0, **dict(plan.options)).fit(dense[0], y)
        for scores, part in zip(found, dense[1:], strict=True):
            scores[:, label] = model.predict_proba(part)[:, 1]
        if label == 2:
            clock.need((time.process_time() - begin) / 3 * (labels.shape[1] - 3))
    return [found]


# All labels at once


def _tree_plans(views: Sequence[str]) -> list[Plan]:
    options = ("sqrt", 1), (0.3, 1), ("sqrt", 4)
    return [Plan(views[0], (("max_features", share), ("min_samples_leaf", leaf))) for share, leaf in options]


def _fit_trees(plan: Plan, X: Any, Y: Any, evaluated: Sequence[Any], clock: Clock) -> list[list[Scores]]:
    labels = Y.toarray().astype(bool)
    found = [np.zeros((part.shape[0], labels.shape[1])) for part in evaluated]
    begin = time.process_time()
    for some in range(TREES // TREES_AT_ONCE):
        forest = ExtraTreesClassifier(TREES_AT_ONCE, random_state=some, n_jobs=1, **dict(plan.options)).fit(X, labels)
        for scores, part in zip(found, evaluated, strict=True):
            for label, (share, classes) in enumerate(zip(forest.predict_proba(part), forest.classes_, strict=True)):
                scores[:, label] += share[:, 1] if len(classes) == 2 else float(classes[0])
        clock.need((time.process_time() - begin) / (some + 1) * (TREES // TREES_AT_ONCE - some - 1))
    return [[(scores * TREES_AT_ONCE / TREES).astype(np.float32) for scores in found]]


def _neighbour_plans(views: Sequence[str]) -> list[Plan]:
    metric = "euclidean" if views[0] == "standardised" else "cosine"
    return [Plan(view, (("metric", metric),), NEIGHBOURS) for view in views]


def _fit_neighbours(plan: Plan, X: Any, Y: Any, evaluated: Sequence[Any], _: Clock) -> list[list[Scores]]:
    model = NearestNeighbors(n_neighbors=max(plan.steps), n_jobs=1, **dict(plan.options)).fit(X)
    labels = scipy.sparse.csr_array(Y).astype(np.float32)
    near = [model.kneighbors(part, return_distance=False) for part in evaluated]
    return [[_votes(places[:, :k], labels) for places in near] for k in plan.steps]


def _votes(places: Any, labels: Any) -> Scores:
    n, k = places.shape
    chosen = (np.full(n * k, 1 / k, np.float32), places.ravel(), np.arange(0, n * k + 1, k))
    return (scipy.sparse.csr_array(chosen, shape=(n, labels.shape[0])) @ labels).toarray()


def _network_plans(views: Sequence[str]) -> list[Plan]:
    return [Plan(view, (("alpha", alpha),), EPOCHS) for alpha in (1e-4, 1e-1) for view in views]


def _fit_network(plan: Plan, X: Any, Y: Any, evaluated: Sequence[Any], clock: Clock) -> list[list[Scores]]:
    labels = Y.toarray().astype(int)
    model = MLPClassifier((256,), batch_size=min(64, X.shape[0]), random_state=0, **dict(plan.options))
    found, begin = [], time.process_time()
    for epoch in range(1, max(plan.steps) + 1):
        model.partial_fit(X, labels, classes=np.arange(labels.shape[1]))
        if epoch in plan.steps:
            found.append([np.asarray(model.predict_proba(part), np.float32) for part in evaluated])
        clock.need((time.process_time() - begin) / epoch * (max(plan.steps) - epoch))
    return found


def _quiet(fit: Fit) -> Fit:
    """Silence warnings of labels without examples and of iterations that end early."""

    def quiet(*arguments: Any) -> list[list[Scores]]:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return fit(*arguments)

    return quiet


LINEAR = tuple(COSTS)
FAMILIES = {
    **{
        kind: Family(partial(_linear_plans, kind), partial(_fit_linear, kind), by_label=True, most_examples=10**9)
        for kind in LINEAR
    },
    "nearest neighbours": Family(_neighbour_plans, _quiet(_fit_neighbours), most_examples=50_000),
    "extra trees": Family(_tree_plans, _quiet(_fit_trees)),
    "network": Family(_network_plans, _quiet(_fit_network)),
    "gradient boosting": Family(_boosting_plans, _quiet(_fit_boosting)),
}
