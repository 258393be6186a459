"""How a peer's options and thresholds are chosen: on a hold-out, or out of fold with a refit on all training examples.

Every metric has its own choice: the option whose held-out value is best, and the thresholds that serve the metric.
Where there are very many scores, options are chosen on some labels: for micro-F1 on the most frequent ones, for
macro-F1 on some at random.
"""

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from default_outcomes import METRICS, Outcome
from default_peers import Clock, Family, OutOfTime, Plan, View
from labelproof.data import Dataset, iterative_stratification
from labelproof.decisions import PerLabelThreshold, Rule, Threshold
from labelproof.metrics import by_name
from labelproof.training.recipe.folds import fold_numbers
from real_data import MOST_LABELS

__all__ = ["Answer", "Material", "Scheme", "chosen_answer", "hold_out", "same_folds"]

MANY = 2_000_000  # scores of training examples from which on options are chosen on some labels
Setting = tuple[Plan, Any]
Rules = dict[str, tuple[Callable[[], Rule], ...]]  # for each F1 the rules to choose from


@dataclass(frozen=True, eq=False)
class Material:
    """What peers learn from and are tested on."""

    views: dict[str, View]
    labels: Any  # csr (n, L) of the training examples


@dataclass(frozen=True, eq=False)
class Scheme:
    """Which examples are held out, and whether the model is fitted again to all."""

    parts: tuple[tuple[Any, Any], ...]  # kept and held examples
    refits: bool
    rules: Rules

    @property
    def rows(self) -> Any:
        """Held-out examples, part by part."""
        return np.concatenate([held for _, held in self.parts])

    @property
    def numbers(self) -> Any:
        """The part of each of them."""
        return np.repeat(np.arange(len(self.parts)), [len(held) for _, held in self.parts])

    @property
    def refit_share(self) -> float:
        """What a refit takes, of the fits of all parts."""
        return 1 / (len(self.parts) - 1) if self.refits else 0.0


@dataclass(frozen=True, eq=False)
class Trial:
    """Scores of held-out examples under a setting; of the test examples too, where nothing is fitted again."""

    setting: Setting
    held: Any
    test: Any
    values: dict[str, float]


@dataclass(frozen=True, eq=False)
class Answer:
    """The outcome on the test examples, the held-out values it was chosen by, and what was chosen."""

    outcome: Outcome
    held_out: dict[str, float]
    chosen: dict[str, str]
    notes: list[str] = field(default_factory=list)


def hold_out(training: Dataset, seed: int) -> Scheme:
    """Hold out a tenth, tune on it, and keep the model of the rest: one threshold, or one for each label."""
    parts = {"kept": 0.9, "held": 0.1}
    held = iterative_stratification(training.labels, parts, groups=training.groups, seed=seed) == "held"
    rules: Rules = {"micro-f1": (_micro,), "macro-f1": (PerLabelThreshold,)}
    return Scheme(((np.flatnonzero(~held), np.flatnonzero(held)),), False, rules)


def same_folds(training: Dataset, seed: int) -> Scheme:
    """Hold out the folds of the recipe; macro-F1 has thresholds for each label or one for all, whichever is better."""
    numbers = fold_numbers(training, seed=seed)
    folds = tuple((np.flatnonzero(numbers != f), np.flatnonzero(numbers == f)) for f in np.unique(numbers))
    return Scheme(folds, True, {"micro-f1": (_micro,), "macro-f1": (PerLabelThreshold, _one_for_macro)})


def _micro() -> Rule:
    return Threshold(metric="micro-f1")


def _one_for_macro() -> Rule:
    return Threshold(metric="macro-f1")


def chosen_answer(family: Family, material: Material, scheme: Scheme, clock: Clock) -> Answer:
    """Choose a family's settings by held-out values, and answer for the test examples.

    Raises `OutOfTime` where not even the first setting can be afforded.
    """
    notes: list[str] = []
    some = _some_labels(material) if family.by_label and np.prod(material.labels.shape) > MANY else None
    trials = _tried(family, material, scheme, some, clock, notes)
    if some is not None:
        trials = _finalists(family, material, scheme, trials, clock, notes)
    best = {metric: max(trials, key=lambda trial, m=metric: trial.values[m]) for metric in METRICS}
    test = _test_scores(family, material, scheme, best)
    labels = material.labels[scheme.rows]
    decided = {}
    for metric, rules in scheme.rules.items():
        trial = best[metric]
        rule = max(rules, key=lambda make, t=trial, m=metric: _value(make, m, labels, t.held, scheme.numbers))
        decided[metric] = rule().fit(labels, trial.held).decide(test[trial.setting])
    rankings = [test[best[metric].setting] for metric in METRICS[2:]]
    return Answer(
        Outcome(decided["micro-f1"], decided["macro-f1"], *rankings),
        {metric: trial.values[metric] for metric, trial in best.items()},
        {metric: trial.setting[0].name(trial.setting[1]) for metric, trial in best.items()},
        notes,
    )


def _some_labels(material: Material) -> dict[str, Any]:
    """Return the labels on which options are chosen for each F1: half of MOST_LABELS each."""
    counts = np.asarray(material.labels.sum(axis=0)).ravel()
    half = MOST_LABELS // 2
    shuffled = np.random.default_rng(0).permutation(np.flatnonzero(counts >= 3))
    return {"micro-f1": np.argsort(-counts, kind="stable")[:half], "macro-f1": shuffled[:half]}


def _tried(
    family: Family, material: Material, scheme: Scheme, some: dict[str, Any] | None, clock: Clock, notes: list[str]
) -> list[Trial]:
    """Try the plans in their order while there is time for another one and for what comes after.

    All but the first keep half of the time for other families.
    """
    plans, trials = family.plans(list(material.views), material.labels.shape[0]), []
    for place, plan in enumerate(plans):
        begin = time.process_time()
        after = min(place + 1, len(METRICS)) * scheme.refit_share
        if some is not None:
            after = (1 + scheme.refit_share) * material.labels.shape[1] / sum(map(len, some.values()))
        try:
            trials += _trials(family, plan, material, scheme, clock, some, after=after)
        except OutOfTime as problem:
            if not trials:
                raise
            notes.append(f"{place} of {len(plans)} fits tried: the next {problem}")
            break
        seconds = time.process_time() - begin
        if place + 1 < len(plans) and seconds * (1 + after) > clock.left() - clock.seconds / 2:
            notes.append(f"{place + 1} of {len(plans)} fits tried")
            break
    return trials


def _trials(
    family: Family,
    plan: Plan,
    material: Material,
    scheme: Scheme,
    clock: Clock,
    some: dict[str, Any] | None = None,
    *,
    after: float = 0.0,
) -> Iterator[Trial]:
    """Yield a trial for each step of a plan; `after` is the time needed later, in passes over all parts."""
    view = material.views[plan.view]
    labels = material.labels if some is None else material.labels[:, np.concatenate(list(some.values()))]
    found: list[list[list[Any]]] = []
    for kept, held in scheme.parts:
        evaluated = [view.training[held]] + ([] if scheme.refits else [view.test])
        left = clock.of(len(scheme.parts) * (1 + after) - len(found))
        found.append(family.fit(plan, view.training[kept], labels[kept], evaluated, left))
        left.done(1.0)
    truth = labels[scheme.rows]
    for place, step in enumerate(plan.steps):
        held_scores = np.concatenate([part[place][0] for part in found])
        test = None if scheme.refits else found[0][place][1]
        yield Trial((plan, step), held_scores, test, _values(truth, held_scores, scheme, some))


def _finalists(
    family: Family, material: Material, scheme: Scheme, trials: list[Trial], clock: Clock, notes: list[str]
) -> list[Trial]:
    """Try the settings that are best for the F1s on some labels again, on all."""
    best = [max(trials, key=lambda trial, m=metric: trial.values[m]).setting for metric in METRICS[:2]]
    found: list[Trial] = []
    seconds = 0.0
    for plan, _ in dict.fromkeys(best):
        if seconds * (1 + 2 * scheme.refit_share) > clock.left():
            notes.append("what was best for macro-F1 on some labels had no time")
            break
        begin = time.process_time()
        found += _trials(family, plan, material, scheme, Clock(np.inf))
        seconds = time.process_time() - begin
    return found


def _test_scores(family: Family, material: Material, scheme: Scheme, best: dict[str, Trial]) -> dict[Setting, Any]:
    """Return the test scores of the settings, by models of all training examples if the scheme says so."""
    if not scheme.refits:
        return {trial.setting: trial.test for trial in best.values()}
    found = {}
    chosen = {trial.setting for trial in best.values()}
    for plan in dict.fromkeys(trial.setting[0] for trial in best.values()):
        view = material.views[plan.view]
        steps = tuple(step for step in plan.steps if (plan, step) in chosen)
        scores = family.fit(replace(plan, steps=steps), view.training, material.labels, [view.test], Clock(np.inf))
        found.update({(plan, step): of_step[0] for step, of_step in zip(steps, scores, strict=True)})
    return found


def _values(labels: Any, scores: Any, scheme: Scheme, some: dict[str, Any] | None) -> dict[str, float]:
    """Return the held-out metrics, each F1 with the best of its rules, on its half of the columns if there are some."""
    half, columns = labels.shape[1] // 2, dict.fromkeys(METRICS, slice(None))
    if some is not None:
        columns |= {"micro-f1": slice(0, half), "macro-f1": slice(half, None)}
    found = {}
    for metric, rules in scheme.rules.items():
        right, given = labels[:, columns[metric]], scores[:, columns[metric]]
        found[metric] = max(_value(make, metric, right, given, scheme.numbers) for make in rules)
    return found | {metric: float(by_name(metric)(labels, scores)) for metric in METRICS[2:]}


def _value(make: Callable[[], Rule], metric: str, labels: Any, scores: Any, numbers: Any) -> float:
    """Return a metric of decisions, each part's by thresholds of the others where there are several."""
    decided = np.zeros(scores.shape, bool)
    for part in np.unique(numbers):
        held = numbers == part
        learned = ~held if len(np.unique(numbers)) > 1 else held
        decided[held] = make().fit(labels[learned], scores[learned]).decide(scores[held])
    return float(by_name(metric)(labels, decided))
