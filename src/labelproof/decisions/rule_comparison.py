"""Rules compared on held-out examples: how much of what tuning gains is there on data that it has not seen?"""

import os
from collections.abc import Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse

from labelproof.decisions.calibrated import Calibrated
from labelproof.decisions.calibration import PlattScaling
from labelproof.decisions.expected_f import ExpectedF
from labelproof.decisions.inputs import Floats, Labels, ScoreKind, csr, read_pair
from labelproof.decisions.options import require_score_kind
from labelproof.decisions.ranking import LabelCount, TopK
from labelproof.decisions.rule_plot import plot_comparison
from labelproof.decisions.rules import Rule
from labelproof.decisions.support import SparsemaxSupport
from labelproof.decisions.thresholds import PerLabelThreshold, Threshold, ThresholdAveraging
from labelproof.decisions.tuning import is_separable, set_metric
from labelproof.foundation.arguments import whole_number
from labelproof.foundation.progress import progress_bar
from labelproof.metrics import Metric

__all__ = ["Comparison", "default_rules", "evaluate_rules"]

CHOSEN = "chosen in inner folds"


@dataclass(frozen=True, eq=False)
class RuleRow:
    """One rule's values: of each fold's fitted rule on the examples that it was fitted to, and on those held out."""

    name: str
    in_sample_folds: npt.NDArray[np.float64] = field(repr=False)
    held_out_folds: npt.NDArray[np.float64] = field(repr=False)

    @property
    def in_sample(self) -> float:
        """Mean over the folds on the examples of ``fit``."""
        return float(self.in_sample_folds.mean())

    @property
    def held_out(self) -> float:
        """Mean over the folds on the examples held out."""
        return float(self.held_out_folds.mean())

    @property
    def spread(self) -> float:
        """Standard deviation of the held-out value over the folds."""
        return float(self.held_out_folds.std(ddof=1))

    @property
    def optimism(self) -> float:
        """By how much the in-sample value exceeds the held-out one."""
        return self.in_sample - self.held_out


@dataclass(frozen=True, eq=False)
class Comparison:
    """What `evaluate_rules` found: one row for each rule, the best held-out value first.

    Attributes
    ----------
    metric, cv
        What was measured, on how many folds.
    rows
        For each rule its name, the value on the examples that it was fitted to (``in_sample``), on the others
        (``held_out``) with the standard deviation over folds (``spread``), and the difference (``optimism``).

    Examples
    --------
    >>> import numpy as np
    >>> from labelproof.decisions import Threshold, evaluate_rules
    >>> y = np.tile([[1, 0], [0, 1]], (10, 1))
    >>> found = evaluate_rules(y, y - 0.5, {"cut": Threshold(0.0)})
    >>> [(row.name, row.held_out) for row in found.rows if row.name == "cut"]
    [('cut', 1.0)]
    """

    metric: str
    cv: int
    rows: tuple[RuleRow, ...]

    def to_dict(self) -> dict[str, Any]:
        """Return the table as plain values."""
        names = ("name", "in_sample", "held_out", "spread", "optimism")
        rows = [{name: getattr(row, name) for name in names} for row in self.rows]
        return {"metric": self.metric, "cv": self.cv, "rows": rows}

    def __str__(self) -> str:
        width = max(len("rule"), *(len(row.name) for row in self.rows))
        lines = [f"{self.metric}, {self.cv} folds", f"{'rule':{width}}  in-sample  held-out  spread  optimism"]
        for row in self.rows:
            numbers = f"{row.in_sample:9.4f}  {row.held_out:8.4f}  {row.spread:6.4f}  {row.optimism:+8.4f}"
            lines.append(f"{row.name:{width}}  {numbers}")
        return "\n".join(lines)

    def plot(self, path: str | os.PathLike[str]) -> None:
        """Draw the table as a picture (.png, .svg, .pdf); needs matplotlib."""
        plot_comparison(self, path)


def evaluate_rules(
    y_true: Any,
    y_score: Any,
    rules: Mapping[str, Rule] | Sequence[Rule] | None = None,
    *,
    metric: str = "micro-f1",
    cv: int = 5,
    inner_cv: int = 3,
    scores: ScoreKind | None = None,
    random_state: int = 0,
    progress: bool = False,
) -> Comparison:
    """Compare rules by cross-validation: each is fitted to all folds but one, and evaluated on both sides.

    Parameters
    ----------
    y_true
        Bool or 0/1 array, or scipy sparse matrix, (n_examples, n_labels).
    y_score
        Scores of that shape, of examples that the model was not trained on.
    rules
        Rules, or a dictionary of them by name; they are copied, not changed. Default: `default_rules`.
    metric
        Any metric of label sets.
    cv
        Number of folds, drawn at random.
    inner_cv
        With at least 2, one more row is the rule that does best in that many folds of the fitted part alone: what
        choosing among the rules yields. 0 leaves it out.
    scores
        "logits" or "probabilities", for default rules that need to know.
    random_state
        Seed of the folds.
    progress
        Show a progress bar on standard error.

    Returns
    -------
    Comparison
        ``rows`` of in-sample and held-out values; ``print`` shows a table, ``plot(path)`` draws it.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> y_true = rng.random((200, 5)) < 0.3
    >>> y_score = y_true + rng.standard_normal((200, 5))
    >>> result = evaluate_rules(y_true, y_score, [TopK(1), Threshold()], inner_cv=0)
    >>> [row.name for row in result.rows]
    ['Threshold()', 'TopK(k=1)']
    """
    labels, values = read_pair(y_true, y_score)
    measure = set_metric(metric)
    whole_number("cv", cv, minimum=2)
    whole_number("inner_cv", inner_cv, minimum=0)
    if len(values) < 2 * max(cv, 2):
        raise ValueError(f"y_true must have at least {2 * cv} examples for {cv} folds, got {len(values)}")
    named = _named(default_rules(labels, metric=metric, scores=scores) if rules is None else rules)
    rng = np.random.default_rng(random_state)
    truth = csr(labels)
    results: dict[str, list[tuple[float, float]]] = {name: [] for name in named}
    with progress_bar("comparing rules", cv, show=progress) as advance:
        for fitted, held in _folds(rng, len(values), cv):
            inside, outside = (truth[fitted], values[fitted]), (truth[held], values[held])
            pairs = {name: _both_values(rule, inside, outside, measure) for name, rule in named.items()}
            if inner_cv >= 2:
                pairs[CHOSEN] = pairs[_best_inside(named, inside, measure, inner_cv, rng)]
            for name, pair in pairs.items():
                results.setdefault(name, []).append(pair)
            advance(1)
    rows = [RuleRow(name, *np.array(pairs).T) for name, pairs in results.items()]
    sign = -1 if measure.greater_is_better else 1
    return Comparison(metric, int(cv), tuple(sorted(rows, key=lambda row: sign * row.held_out)))


def default_rules(labels: Labels, *, metric: str = "micro-f1", scores: ScoreKind | None = None) -> dict[str, Rule]:
    """Return what `evaluate_rules` compares by default: rules for any scores, and more for logits or probabilities.

    Parameters
    ----------
    labels
        True labels (n_examples, n_labels), whose mean number for an example some of the rules need.
    metric
        What the rules are tuned for.
    scores
        "logits" or "probabilities", where that is known: rules that need it are left out otherwise.

    Examples
    --------
    >>> from labelproof.metrics.arguments import read_labels
    >>> rules = default_rules(read_labels([[1, 0], [0, 1]], "y_true"))
    >>> "global threshold" in rules, "expected F1" in rules
    (True, False)
    """
    require_score_kind(scores, needed=False)
    own = metric if is_separable(metric) else "macro-f1"
    rules: dict[str, Rule] = {
        "global threshold": Threshold(metric=metric, scores=scores),
        "per-label thresholds": PerLabelThreshold(metric=own, scores=scores),
        "per-label, shrunken": PerLabelThreshold(metric=own, shrinkage=10.0, scores=scores),
        "per-label, rare fall back": PerLabelThreshold(metric=own, min_positives=10, fallback="global", scores=scores),
        "threshold averaging": ThresholdAveraging(scores=scores),
        "top k": TopK(max(1, min(labels.n_labels, round(labels.sizes.mean())))),
        "predicted label count": LabelCount(),
        "sparsemax support": SparsemaxSupport(metric=metric),
    }
    if scores is not None:
        rules["fixed at ½"] = Threshold(0.5 if scores == "probabilities" else 0.0, scores=scores)
        rules["expected F1"] = ExpectedF(1.0, scores=scores)
        rules["expected F1, calibrated"] = Calibrated(PlattScaling(), ExpectedF(1.0, scores="probabilities"))
    return rules


def _named(rules: Mapping[str, Rule] | Sequence[Rule]) -> dict[str, Rule]:
    named = dict(rules) if isinstance(rules, Mapping) else {_short_name(rule): rule for rule in rules}
    if not named or len(named) != len(rules):
        raise ValueError("rules must be at least one, no two with the same options; name them in a dictionary")
    for name, rule in named.items():
        if not isinstance(rule, Rule):
            raise ValueError(f"rules must be decision rules, got {rule!r} for {name!r}")
        rule.check_options()
    return named


def _short_name(rule: Any) -> str:
    """Return the rule with those options that are not the default."""
    fields = getattr(type(rule), "__dataclass_fields__", {})
    options = {name: getattr(rule, name) for name in fields}
    told = [f"{name}={value!r}" for name, value in options.items() if value != fields[name].default]
    return f"{type(rule).__name__}({', '.join(told)})"


def _folds(rng: np.random.Generator, n: int, cv: int) -> list[tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]]:
    parts = np.array_split(rng.permutation(n), cv)
    return [(np.sort(np.concatenate(parts[:i] + parts[i + 1 :])), np.sort(part)) for i, part in enumerate(parts)]


Part = tuple[scipy.sparse.csr_array, Floats]


def _both_values(rule: Rule, inside: Part, outside: Part, metric: Metric) -> tuple[float, float]:
    fitted = deepcopy(rule).fit(*inside)
    first, second = (metric(truth, fitted.decide(values, sparse=True)) for truth, values in (inside, outside))
    return first, second


def _best_inside(
    named: Mapping[str, Rule], inside: Part, metric: Metric, inner_cv: int, rng: np.random.Generator
) -> str:
    truth, values = inside
    totals = dict.fromkeys(named, 0.0)
    for fitted, held in _folds(rng, len(values), inner_cv):
        for name, rule in named.items():
            pair = _both_values(rule, (truth[fitted], values[fitted]), (truth[held], values[held]), metric)
            totals[name] += pair[1] if metric.greater_is_better else -pair[1]
    return max(totals, key=lambda name: totals[name])
