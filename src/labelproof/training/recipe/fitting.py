"""The recipe from end to end: folds, members, blend, thresholds, and one model of all training data."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.special import expit

from labelproof.data import Dataset
from labelproof.decisions import Rule
from labelproof.encoders.views.view_encoder import ViewsEncoder
from labelproof.metrics import by_name, evaluate, expected_calibration_error
from labelproof.training.heads import LinearHead
from labelproof.training.recipe.assembling import assemble
from labelproof.training.recipe.blending import Blend, blend
from labelproof.training.recipe.budget import Budget
from labelproof.training.recipe.deciding import chosen_rule, decided_out_of_fold, rule_for
from labelproof.training.recipe.folds import Folds, fold_numbers
from labelproof.training.recipe.ledger import Ledger
from labelproof.training.recipe.members import refit
from labelproof.training.recipe.menu import material_of
from labelproof.training.recipe.searching import search

__all__ = ["METRICS", "RecipeResult", "Row", "fit_recipe"]

METRICS = ("micro-f1", "macro-f1")  # whose rules every model keeps
Row = dict[str, Any]


@dataclass(frozen=True, eq=False)
class RecipeResult:
    """What the recipe found.

    Attributes
    ----------
    encoder, head
        The model of all training examples.
    rules
        For each metric the rule that serves it best, fitted to the out-of-fold logits.
    metrics
        Of the out-of-fold logits, each decided by thresholds that the example had no part in.
    table
        One row for each member that was tried, and one for the blend.
    skipped
        Stages for which there was no time or no room.
    notes
        Sentences for people: why the winner won, how well its probabilities are calibrated, what was left out.
    """

    encoder: ViewsEncoder
    head: LinearHead
    rules: dict[str, Rule]
    metrics: dict[str, float]
    table: list[Row]
    skipped: list[str]
    notes: list[str]


def fit_recipe(
    training: Dataset,
    *,
    metric: str = "micro-f1",
    budget: float | None = None,
    seed: int = 0,
    times: Any = None,
    folder: Path | None = None,
    say: Callable[[str], None] = lambda _: None,
) -> RecipeResult:
    """Choose and train the best model for examples with texts or features.

    Parameters
    ----------
    training
        All examples to learn from, with their labels.
    metric
        That thresholds serve; rules for micro-F1 and macro-F1 are kept in any case.
    budget
        Seconds; None for about ten times a plain grid of support vector machines, 0 for such a grid alone.
    seed
        Of folds and networks.
    times
        Of the examples, (n_examples,), where a fold is to be a stretch of time.
    folder
        Where finished members are kept, so that an interrupted run goes on after them.
    say
        Told what was tried.
    """
    folds = Folds(material_of(training), training.labels, fold_numbers(training, seed=seed, times=times))
    found = search(folds, Budget(budget), Ledger(folder, folds), seed=seed, say=say)
    blended = blend(found.candidates, folds.truth)
    say(f"training on all {len(training):,} examples: {blended.name}")
    members = [refit(member, folds.material, folds.labels, seed=seed) for member, _ in blended.members]
    encoder, head = assemble(blended, members, folds.material)
    out_of_fold = blended.logits, folds.truth, folds.parts
    unfitted = {name: chosen_rule(name, *out_of_fold) for name in dict.fromkeys((metric, *METRICS))}
    singles = [
        {"member": c.name, "seconds": c.seconds, "log loss": c.loss, **_scores(c.logits, folds, _usual())}
        for c in found.candidates
    ]
    total = {"member": "blend", "seconds": 0.0, "log loss": blended.loss, **_scores(blended.logits, folds, unfitted)}
    return RecipeResult(
        encoder,
        head,
        {name: rule.fit(folds.truth, blended.logits) for name, rule in unfitted.items()},
        _honest_metrics(blended.logits, folds, unfitted[metric]),
        [*singles, total],
        found.skipped,
        [
            _why(blended),
            _calibration(blended, folds),
            *([f"Left out: {', '.join(found.skipped)}."] if found.skipped else []),
        ],
    )


def _usual() -> dict[str, Rule]:
    return {name: rule_for(name) for name in METRICS}


def _scores(logits: npt.NDArray[np.float32], folds: Folds, rules: dict[str, Rule]) -> dict[str, float]:
    found = {}
    for name in METRICS:
        decided = decided_out_of_fold(rules[name], logits, folds.truth, folds.parts)
        found[name] = float(by_name(name)(folds.truth, decided))
    return {**found, "precision@1": float(by_name("precision@1")(folds.truth, logits))}


def _honest_metrics(logits: npt.NDArray[np.float32], folds: Folds, rule: Rule) -> dict[str, float]:
    decided = decided_out_of_fold(rule, logits, folds.truth, folds.parts)
    ks = tuple(k for k in (1, 3, 5) if k <= logits.shape[1])
    values = evaluate(folds.truth, logits, decided, scores="logits", ks=ks)
    return {name: float(value) for name, value in values.items()}


def _calibration(blended: Blend, folds: Folds) -> str:
    """Say how far probabilities are from frequencies, each by a calibration that had not seen the example."""
    probabilities = expit(blended.logits)
    pooled, own = (expected_calibration_error(folds.truth, probabilities, average=a) for a in ("micro", "macro"))
    return f"Probabilities are calibrated: their out-of-fold error (ECE) is {pooled:.4f} pooled, {own:.4f} per label."


def _why(blended: Blend) -> str:
    if len(blended.members) == 1:
        return (
            f"{blended.members[0][0].name} has the lowest out-of-fold log loss; averaging it with others does not help."
        )
    best = min(blended.members, key=lambda pair: pair[0].loss)[0]
    saved = 1 - blended.loss / best.loss
    return f"The mean of {len(blended.members)} members saves {saved:.1%} of the log loss of the best, {best.name}."
