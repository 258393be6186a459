"""Say in words why a label set can, or cannot, be predicted, and which sets near it can.

All that is claimed is proven by `labelproof.proof`: a conflict, or a witness. Here is only the search for *good* ones:
for a conflict of few labels, and for label sets that differ in few labels.
"""

import time
from collections.abc import Iterable, Sequence
from dataclasses import replace
from difflib import get_close_matches
from operator import index
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse

from labelproof.explaining.boundary import closest_labels, most_central
from labelproof.explaining.explanation import Explanation
from labelproof.explaining.nearest import Neighbour, NeighbourSearch
from labelproof.explaining.question import Question, ask
from labelproof.explaining.small_conflicts import small_conflicts
from labelproof.foundation.engines import Engine, require_engine
from labelproof.proof.certificates import Argmaxable, Unargmaxable
from labelproof.proof.labels import LabelSets
from labelproof.proof.regions import Domain, OutputLayer, Rule, Ties, make_layer
from labelproof.proof.sparse_weights import SparseWeight
from labelproof.search.engine import decide
from labelproof.search.few_features import as_searched, has_features_to_spare
from labelproof.search.findings import Finding, pack

__all__ = ["Explanation", "explain", "explain_label_set"]

Indices = npt.NDArray[np.int64]
SECONDS = 2.0  # for the search, unless told otherwise


def explain(
    weight: Any,
    label_set: Sequence[int] | Sequence[str] | npt.NDArray[Any],
    *,
    label_names: Sequence[str] | None = None,
    bias: Any = None,
    thresholds: Any = None,
    rule: Rule = "sigmoid",
    ties: Ties = "open",
    domain: Domain = None,
    n_nearest: int = 3,
    time_limit: float | None = None,
    engine: Engine = "local",
) -> Explanation:
    """Explain why the classifier can, or cannot, predict one label set.

    Parameters
    ----------
    weight, bias, thresholds, rule, ties, domain
        The classifier, as in `verify`.
    label_set
        Indices of the active labels, or their names.
    label_names
        One name for each label; default: "label 0", "label 1", ...
    n_nearest
        How many near argmaxable label sets to look for.
    time_limit
        Seconds for the verdict, and again for the search for what explains it, kept roughly. None: no limit for the
        verdict, about two seconds for the search. With more time the answers may get better, never less true.
    engine
        Where to run, as for `verify`.

    Returns
    -------
    Explanation
        Of an unargmaxable set: decisions that contradict each other, as few as were found, and the nearest
        argmaxable sets. Of an argmaxable set: a witness, and the labels that change first around it.

    Examples
    --------
    >>> import numpy as np
    >>> weight = np.array([[1.0, 0.0], [0.0, 1.0], [-1.0, -1.0]])
    >>> explanation = explain(weight, ["cat", "dog", "fish"], label_names=["cat", "dog", "fish"], n_nearest=2)
    >>> print(explanation)
    No input gives the label set {cat, dog, fish}.
    No input can switch on cat, dog and fish: these 3 decisions contradict each other.
    For every input 1·cat + 1·dog + 1·fish = 0 (a name stands for the logit), but these decisions make it positive.
    If any one of these decisions is dropped, the others are possible.
    There are 3 of them: with weights in general position no contradiction has fewer.
    Nearest label sets that can be predicted:
      without fish (1 change, the fewest possible)
      without dog (1 change, the fewest possible)
    >>> explanation.certificate.conflict, explanation.irreducible, explanation.least_distance
    ((0, 1, 2), True, 1)
    """
    kept = SparseWeight(weight) if scipy.sparse.issparse(weight) else weight
    layer = as_searched(make_layer(kept, bias=bias, thresholds=thresholds, rule=rule, ties=ties, domain=domain))
    names = _checked_names(label_names, layer.n_labels)
    active = _active_labels(label_set, names, layer.n_labels)
    if index(n_nearest) < 0:
        raise ValueError(f"n_nearest must be a number of label sets, got {n_nearest}")
    if time_limit is not None and not time_limit >= 0:
        raise ValueError(f"time_limit must be a number of seconds, got {time_limit}")
    how: dict[str, Any] = {"label_names": names, "n_nearest": n_nearest, "time_limit": time_limit}
    require_engine(engine)
    if engine == "local":
        return explain_label_set(layer, active, **how)
    from labelproof.explaining.several import explain_several  # which builds on this module

    (explanation,) = explain_several(layer, [active], engine=engine, **how)
    return explanation


def explain_label_set(
    layer: OutputLayer,
    active: Indices,
    *,
    label_names: tuple[str, ...] | None = None,
    n_nearest: int = 3,
    time_limit: float | None = None,
    n_jobs: int | None = None,
) -> Explanation:
    """Explain one label set, given by ascending indices, of a layer that is already held exactly; see `explain`."""
    if layer.balls and not has_features_to_spare(replace(layer, balls=())):
        how: dict[str, Any] = {"n_nearest": n_nearest, "time_limit": time_limit, "n_jobs": n_jobs}
        found = explain_label_set(replace(layer, balls=()), active, label_names=label_names, **how)
        if isinstance(found.certificate, Unargmaxable):  # impossible without the balls, so impossible within them
            near, same = (_within(layer, sets, time_limit) for sets in (found.nearest, found.same_size))
            return replace(found, _layer=layer, nearest=near, same_size=same)
    if layer.balls or has_features_to_spare(layer):  # neighbours cannot be searched here: only the verdict is given
        alone = LabelSets(layer.n_labels, np.array([0, len(active)]), active)
        certificate = pack(layer, alone, decide(layer, alone, n_jobs=1, time_limit=time_limit))[0]
        distance = int(isinstance(certificate, Unargmaxable))
        return Explanation(tuple(active.tolist()), certificate, layer, least_distance=distance, label_names=label_names)
    question = ask(layer, active, n_jobs)
    evidence = question.decide([active], time_limit)
    certificate = pack(layer, question.label_sets([active]), evidence)[0]
    found = Explanation(tuple(active.tolist()), certificate, layer, label_names=label_names)
    seconds = SECONDS if time_limit is None else time_limit
    if isinstance(certificate, Argmaxable):
        certificate = most_central(question, certificate)
        boundary = closest_labels(question, certificate, time.perf_counter() + seconds)
        return replace(found, certificate=certificate, boundary=boundary)
    if evidence[0].conflict is not None:
        return _explain_conflict(found, question, evidence[0].conflict, n_nearest, seconds)
    return found


def _within(layer: OutputLayer, sets: tuple[Neighbour, ...], time_limit: float | None) -> tuple[Neighbour, ...]:
    """Return those of the neighbours that some input in the layer's balls gives, with such an input."""
    ends = np.cumsum([0, *(len(one.label_set) for one in sets)])
    indices = np.array([i for one in sets for i in one.label_set], np.int64)
    label_sets = LabelSets(layer.n_labels, ends.astype(np.int64), indices)
    v = pack(layer, label_sets, decide(layer, label_sets, n_jobs=1, time_limit=time_limit))
    found = ((one, v[i]) for i, one in enumerate(sets))
    return tuple(replace(one, certificate=c) for one, c in found if isinstance(c, Argmaxable))


def _explain_conflict(
    found: Explanation, question: Question, rows: Indices, n_nearest: int, seconds: float
) -> Explanation:
    conflicts, irreducible = small_conflicts(question, rows, time.perf_counter() + seconds / 2)
    best = pack(question.layer, question.label_sets([question.active]), [Finding(conflict=conflicts[0])])
    search = NeighbourSearch(question, conflicts, n_nearest, time.perf_counter() + seconds)
    search.run()
    return replace(
        found,
        certificate=best[0],
        irreducible=irreducible,
        least_distance=search.least_distance,
        nearest=search.neighbours(),
        same_size=search.neighbours_of_same_size() if question.layer.rule == "topk" else (),
    )


def _checked_names(names: Sequence[str] | None, n_labels: int) -> tuple[str, ...] | None:
    if names is None:
        return None
    if isinstance(names, str) or len(names) != n_labels:
        raise ValueError(f"label_names must hold {n_labels} names to match the weight's rows, got {len(names)}")
    for i, name in enumerate(names):
        if not isinstance(name, str):
            raise ValueError(f"label_names must hold strings, got {name!r} at index {i}")
    return tuple(str(name) for name in names)


def _active_labels(label_set: Any, names: tuple[str, ...] | None, n_labels: int) -> Indices:
    """Return the active labels as ascending indices."""
    if isinstance(label_set, str):
        raise ValueError(f"label_set must be a list of labels, got the one string {label_set!r}")
    if not isinstance(label_set, Iterable):
        raise ValueError(f"label_set must be a list of labels, got {label_set!r}")
    labels = list(label_set)
    if labels and all(isinstance(label, str) for label in labels):
        labels = [_label_of_name(name, names) for name in labels]
    hint = "(of a 0/1 row np.flatnonzero(row) gives them)"
    try:
        indices = [index(label) for label in labels if not isinstance(label, bool | np.bool_)]
    except TypeError:
        indices = []
    if len(indices) != len(labels):
        raise ValueError(f"label_set must hold label indices, or names only {hint}, got {labels[:5]}")
    wrong = [i for i in indices if not 0 <= i < n_labels]
    if wrong:
        raise ValueError(f"label_set must hold indices from 0 to {n_labels - 1}, got {wrong[0]}")
    if len(set(indices)) != len(indices):
        twice = next(i for i in indices if indices.count(i) > 1)
        raise ValueError(f"label_set must name each label once {hint}, got {twice} more than once")
    return np.array(sorted(indices), np.int64)


def _label_of_name(name: str, names: tuple[str, ...] | None) -> int:
    if names is None:
        raise ValueError(f"label_set must hold indices when no label_names are given, got {name!r}")
    places = [i for i, known in enumerate(names) if known == name]
    if not places:
        nearest = get_close_matches(name, names, n=1, cutoff=0.0)[0]
        raise ValueError(f"label_set must hold names of label_names, got {name!r}; the nearest is {nearest!r}")
    if len(places) > 1:
        raise ValueError(f"label_set must be unambiguous, got {name!r}, the name of the labels {places}: pass indices")
    return places[0]
