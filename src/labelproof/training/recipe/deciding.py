"""Which rule turns a model's logits into label sets, for each metric: chosen and fitted on out-of-fold logits."""

from copy import copy
from typing import Any

import numpy as np
import numpy.typing as npt

from labelproof.decisions import PerLabelThreshold, Rule, Threshold
from labelproof.decisions.tuning import is_separable
from labelproof.metrics import by_name

__all__ = ["chosen_rule", "decided_out_of_fold", "rule_for"]

SHRINKAGE = 5.0
OTHER_SHRINKAGES = (1.0, 20.0)  # tried beside it: how far to trust a label alone depends on the data
Logits = npt.NDArray[np.float32]


def rule_for(metric: str) -> Rule:
    """Return the unfitted rule for a metric: one threshold per label for macro averages, else one for all labels.

    >>> type(rule_for("micro-f1")).__name__, type(rule_for("macro-f1")).__name__
    ('Threshold', 'PerLabelThreshold')
    """
    return _rules(metric)[0]


def chosen_rule(metric: str, logits: Logits, labels: Any, parts: npt.NDArray[np.int64]) -> Rule:
    """Return the unfitted rule that serves a metric best out of fold.

    For macro averages thresholds of labels that are pulled more or less towards each other are compared, and one for
    all. Another one than the first must be better in every part: of few examples, the best of several is often chance.
    """
    rules = _rules(metric)
    if len(rules) == 1:
        return rules[0]
    values = np.array([_values(metric, rule, logits, labels, parts) for rule in rules])  # (n_rules, 1 + n_parts)
    eligible = (values > values[0]).all(axis=1)
    eligible[0] = True
    return rules[int(np.argmax(np.where(eligible, values[:, 0], -np.inf)))]


def _values(metric: str, rule: Rule, logits: Logits, labels: Any, parts: npt.NDArray[np.int64]) -> list[float]:
    """Return the metric of out-of-fold decisions, of all examples and of those of each part."""
    decided, value = decided_out_of_fold(rule, logits, labels, parts), by_name(metric)
    every = (parts == part for part in np.unique(parts))
    return [float(value(labels, decided)), *(float(value(labels[held], decided[held])) for held in every)]


def decided_out_of_fold(rule: Rule, logits: Logits, labels: Any, parts: npt.NDArray[np.int64]) -> npt.NDArray[np.bool_]:
    """Return label sets, those of each part by thresholds of the others."""
    decided = np.zeros(logits.shape, np.bool_)
    for part in np.unique(parts):
        held = parts == part
        decided[held] = copy(rule).fit(labels[~held], logits[~held]).decide(logits[held])
    return decided


def _rules(metric: str) -> list[Rule]:
    one = Threshold(metric=metric, scores="logits")
    if not metric.startswith(("macro-", "weighted-")) or not is_separable(metric):
        return [one]
    shrinkages = (SHRINKAGE, *OTHER_SHRINKAGES)
    return [*(PerLabelThreshold(metric=metric, shrinkage=s, scores="logits") for s in shrinkages), one]
