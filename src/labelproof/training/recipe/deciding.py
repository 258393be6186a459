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
OTHER_SHRINKAGES = (
    1.0,
    20.0,
)  # tried beside it: how far to trust a label alone depends on the data
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
    all; of equal ones the first is taken.
    """
    rules = _rules(metric)
    if len(rules) == 1:
        return rules[0]
    values = [float(by_name(metric)(labels, decided_out_of_fold(rule, logits, labels, parts))) for rule in rules]
    return rules[int(np.argmax(values))]


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
