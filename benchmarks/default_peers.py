"""What users would have fitted instead: scikit-learn's classifiers, each with the grid that one would try.

A `Family` has plans for a kind of features. One fit of a plan gives the scores of all its steps, such as numbers of
neighbours or of epochs. All run on one thread.
"""

import time
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import numpy as np
import scipy.sparse
from sklearn.decomposition import TruncatedSVD
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
SINGULAR, COMPONENTS = "singular", 300  # vectors, for what does not take many sparse columns well
TREES, TREES_AT_ONCE = 300, 5  # so many are kept at once: leaves hold a number for each label
CLIP = 5.0  # standard deviations: without it one outlier costs the linear models of birds ten points
EPOCHS = (5, 10, 20, 40, 80)
LARGE = 10_000  # examples, from which on networks take larger batches and half the epochs
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
    """A fit would take longer than what is left: so many seconds more."""

    def __init__(self, seconds: float, left: float) -> None:
        super().__init__(f"would take {seconds:,.0f} s more, {max(left, 0):,.0f} s are left")
        self.seconds = seconds


class Clock:
    """CPU seconds that a peer may take, and what its fits have taken of them."""

    def __init__(self, seconds: float, *, fits: float = 1.0) -> None:
        self.seconds, self._fits, self._begin = seconds, fits, time.process_time()

    def left(self) -> float:
        """Return the seconds that are left."""
        return self.seconds - self._taken()

    def of(self, fits: float) -> "Clock":
        """Return a clock for the next of so many fits that the time must suffice for."""
        return Clock(self.left(), fits=fits)

    def done(self, share: float) -> None:
        """Raise `OutOfTime` if such a share of a fit is done and all fits together will take longer than there is."""
        self.need(self._taken() / share * self._fits - self._taken())

    def need(self, seconds: float) -> None:
        """Raise `OutOfTime` unless so much is left."""
        if seconds > self.left():
            raise OutOfTime(seconds, self.left())

    def _taken(self) -> float:
        return time.process_time() - self._begin


@dataclass(frozen=True, eq=False)
class View:
    """Features of the training and test examples, made when they are first asked for."""

    make: Callable[[], tuple[Any, Any]]

    @cached_property
    def _made(self) -> tuple[Any, Any, float]:
        begin = time.process_time()
        training, test = self.make()
        return training, test, time.process_time() - begin

    @property
    def training(self) -> Any:
        """Features of the training examples."""
        return self._made[0]

    @property
    def test(self) -> Any:
        """Features of the test examples."""
        return self._made[1]

    @property
    def seconds(self) -> float:
        """What they took, of CPU."""
        return self._made[2]


def views_of(training: Dataset, test: Dataset) -> dict[str, View]:
    """Return the features that users would try: dense ones as one view, texts as two, sparse features as three."""
    if training.texts is not None:
        words = TfidfVectorizer(sublinear_tf=True, ngram_range=(1, 2), min_df=2, max_features=50_000)
        views = {"words": _view(words, training.texts, test.texts)}
        return views | {SINGULAR: _singular(views["words"])}
    if not scipy.sparse.issparse(training.features):
        clipped = make_pipeline(StandardScaler(), FunctionTransformer(np.clip, kw_args={"a_min": -CLIP, "a_max": CLIP}))
        return {"standardised": _view(clipped, training.features, test.features)}
    rows = tuple(scipy.sparse.csr_matrix(part.features).astype(np.float64) for part in (training, test))
    views = {"raw": View(lambda: rows), "idf": _view(TfidfTransformer(), *rows)}
    return views | {SINGULAR: _singular(views["idf"])}


def _view(maker: Any, training: Any, test: Any) -> View:
    return View(lambda: (maker.fit_transform(training), maker.transform(test)))


def _singular(view: View) -> View:
    """Return the first singular vectors of a view, scaled by one number."""

    def make() -> tuple[Any, Any]:
        n_vectors = min(COMPONENTS, min(view.training.shape) - 1)
        vectors = TruncatedSVD(n_vectors, random_state=0).fit(view.training)
        parts = [vectors.transform(part).astype(np.float32) for part in (view.training, view.test)]
        return parts[0] / parts[0].std(), parts[1] / parts[0].std()

    return View(make)


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

    plans: Callable[[Sequence[str], int], list[Plan]]  # of the views' names and the number of examples
    fit: Fit
    by_label: bool = False  # labels do not depend on each other, so that some of them can stand for all


# One model a label


def _linear_plans(kind: str, views: Sequence[str], _: int) -> list[Plan]:
    """Return the costs of every view, views in turn."""
    grids = [[Plan(view, (("C", cost),)) for cost in COSTS[kind][view]] for view in views if view != SINGULAR]
    longest = max(map(len, grids))
    return [grid[place] for place in range(longest) for grid in grids if place < len(grid)]


def _fit_linear(kind: str, plan: Plan, X: Any, Y: Any, evaluated: Sequence[Any], _: Clock) -> list[list[Scores]]:
    features = {"training": X} | {str(place): matrix for place, matrix in enumerate(evaluated)}
    return [[np.asarray(s, np.float32) for s in linear(kind, features, Y, dict(plan.options)["C"])]]


def _boosting_plans(views: Sequence[str], _: int) -> list[Plan]:
    slow = (("learning_rate", 0.05), ("max_leaf_nodes", 15))
    return [Plan(views[-1], (("learning_rate", 0.1),)), Plan(views[-1], slow)]


def _fit_boosting(plan: Plan, X: Any, Y: Any, evaluated: Sequence[Any], clock: Clock) -> list[list[Scores]]:
    labels = Y.toarray().astype(bool)
    found = [np.zeros((len(part), labels.shape[1]), np.float32) for part in evaluated]
    for label, y in enumerate(labels.T):
        if y.all() or not y.any():
            for scores in found:
                scores[:, label] = y.all()
            continue
        model = HistGradientBoostingClassifier(random_state=0, **dict(plan.options)).fit(X, y)
        for scores, part in zip(found, evaluated, strict=True):
            scores[:, label] = model.predict_proba(part)[:, 1]
        if label >= 2:
            clock.done((label + 1) / labels.shape[1])
    return [found]


# All labels at once


def _tree_plans(views: Sequence[str], _: int) -> list[Plan]:
    """Return three options for dense features; of sparse ones the columns and their singular vectors, narrow first."""
    options = {"standardised": (("sqrt", 1), (0.3, 1), ("sqrt", 4))}
    order = views[::-1] if views[0] == "words" else (views[0], views[-1])
    return [
        Plan(view, (("max_features", share), ("min_samples_leaf", leaf)))
        for view in dict.fromkeys(order)
        for share, leaf in options.get(view, (("sqrt", 1),))
    ]


def _fit_trees(plan: Plan, X: Any, Y: Any, evaluated: Sequence[Any], clock: Clock) -> list[list[Scores]]:
    labels = Y.toarray().astype(bool)
    found = [np.zeros((part.shape[0], labels.shape[1])) for part in evaluated]
    for some in range(TREES // TREES_AT_ONCE):
        forest = ExtraTreesClassifier(TREES_AT_ONCE, random_state=some, n_jobs=1, **dict(plan.options)).fit(X, labels)
        for scores, part in zip(found, evaluated, strict=True):
            for label, (share, classes) in enumerate(zip(forest.predict_proba(part), forest.classes_, strict=True)):
                scores[:, label] += share[:, 1] if len(classes) == 2 else float(classes[0])
        clock.done((some + 1) * TREES_AT_ONCE / TREES)
    return [[(scores * TREES_AT_ONCE / TREES).astype(np.float32) for scores in found]]


def _neighbour_plans(views: Sequence[str], _: int) -> list[Plan]:
    metric = "euclidean" if views[0] == "standardised" else "cosine"
    return [Plan(view, (("metric", metric),), NEIGHBOURS) for view in views if view != SINGULAR]


def _fit_neighbours(plan: Plan, X: Any, Y: Any, evaluated: Sequence[Any], _: Clock) -> list[list[Scores]]:
    model = NearestNeighbors(n_neighbors=max(plan.steps), n_jobs=1, **dict(plan.options)).fit(X)
    labels = scipy.sparse.csr_array(Y).astype(np.float32)
    near = [model.kneighbors(part, return_distance=False) for part in evaluated]
    return [[_votes(places[:, :k], labels) for places in near] for k in plan.steps]


def _votes(places: Any, labels: Any) -> Scores:
    n, k = places.shape
    chosen = (np.full(n * k, 1 / k, np.float32), places.ravel(), np.arange(0, n * k + 1, k))
    return (scipy.sparse.csr_array(chosen, shape=(n, labels.shape[0])) @ labels).toarray()


def _network_plans(views: Sequence[str], n: int) -> list[Plan]:
    """Return two weight decays; words are too many columns for a network, which has their singular vectors."""
    narrow = [SINGULAR] if "words" in views else [view for view in views if view != SINGULAR]
    epochs = EPOCHS if n < LARGE else EPOCHS[:-1]
    return [Plan(view, (("alpha", alpha),), epochs) for alpha in (1e-4, 1e-1) for view in narrow]


def _fit_network(plan: Plan, X: Any, Y: Any, evaluated: Sequence[Any], clock: Clock) -> list[list[Scores]]:
    labels = Y.toarray().astype(int)
    size = 64 if X.shape[0] < LARGE else 256
    model = MLPClassifier((256,), batch_size=min(size, X.shape[0]), random_state=0, **dict(plan.options))
    found = []
    for epoch in range(1, max(plan.steps) + 1):
        model.partial_fit(X, labels, classes=np.arange(labels.shape[1]))
        if epoch in plan.steps:
            found.append([np.asarray(model.predict_proba(part), np.float32) for part in evaluated])
        clock.done(epoch / max(plan.steps))
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
    **{kind: Family(partial(_linear_plans, kind), partial(_fit_linear, kind), by_label=True) for kind in LINEAR},
    "nearest neighbours": Family(_neighbour_plans, _quiet(_fit_neighbours)),
    "network": Family(_network_plans, _quiet(_fit_network)),
    "extra trees": Family(_tree_plans, _quiet(_fit_trees)),
    "gradient boosting": Family(_boosting_plans, _quiet(_fit_boosting)),
}
