"""Try one member after the other, in the order of gain per second, until the budget ends."""

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial

import numpy as np
import scipy.sparse

from labelproof.training.recipe.budget import Budget
from labelproof.training.recipe.ledger import Ledger
from labelproof.training.recipe.members import Candidate, Folds, edges, network_candidate, svm_candidate
from labelproof.training.recipe.menu import ViewPlan, add_letters, plans_for

__all__ = ["Search", "search"]

MOST_BEYOND = 3  # costs that are tried beyond the edge of a grid
WIDEST_NETWORK = 10_000  # inputs of a network: beyond, it hardly pays
Say = Callable[[str], None]


@dataclass(eq=False)
class Search:
    """What was tried, and what was not for want of time."""

    candidates: list[Candidate] = field(default_factory=list)
    skipped: list[str] = field(default_factory=list)


def search(folds: Folds, budget: Budget, ledger: Ledger, *, seed: int = 0, say: Say = lambda _: None) -> Search:
    """Try the plans for the data: support vector machines on each view, then networks.

    A stage whose predicted time exceeds what is left is skipped, and named.
    """
    found, per_number = Search(), 0.0
    plans = plans_for(folds.material)
    for place, plan in enumerate(plans):
        if place:
            predicted = _predicted(folds, plan, per_number)
            if predicted > budget.left():
                found.skipped.append(f"{plan.name} (about {predicted:.0f} s)")
                continue
        if plan.name == "words and letters":
            add_letters(folds.material)
        begin = time.perf_counter()
        numbers = _grid(folds, plan, budget, ledger, found, say)
        seconds = time.perf_counter() - begin
        per_number = max(per_number, seconds / max(numbers, 1))
        if not place:
            budget.first_stage_took(seconds)
    _networks(folds, plans, budget, ledger, found, seed, say)
    return found


def _grid(folds: Folds, plan: ViewPlan, budget: Budget, ledger: Ledger, found: Search, say: Say) -> int:
    """Try the costs of a plan, and beyond them while the best is at the edge; return how many numbers a view has."""
    parts = folds.views(plan)
    losses: dict[float, float] = {}

    def attempt(cost: float) -> None:
        member = ledger.tried(plan, f"svm {cost!r}", lambda: svm_candidate(folds, plan, parts, cost))
        losses[cost] = member.loss
        _note(member, found, say)

    for cost in plan.costs:
        attempt(cost)
    for _ in range(MOST_BEYOND):
        if budget.left() <= 0:
            break
        further = [cost for cost in edges(losses) if cost not in losses]
        if not further:
            break
        attempt(further[0])
    first = parts[0].features
    return int(first.nnz if scipy.sparse.issparse(first) else first.size)


def _note(candidate: Candidate, found: Search, say: Say) -> None:
    found.candidates.append(candidate)
    say(f"{candidate.name}: log loss {candidate.loss:.5f}, {candidate.seconds:.1f} s")


def _predicted(folds: Folds, plan: ViewPlan, per_number: float) -> float:
    """Return the seconds that the grid of a plan will take, from what a number of the first one took."""
    n = len(folds.numbers)
    if plan.name == "words and letters":
        texts = folds.material.texts or ()
        sample = texts[:: max(1, len(texts) // 200)]
        letters = sum(map(len, sample)) / max(len(sample), 1)
        numbers = n * (letters * 1.2) + folds.material.matrices[0].nnz
        return per_number * numbers + 6e-6 * letters * n
    if plan.name.startswith("kernel"):
        return per_number * n * min(800, n) * 1.5
    matrix = folds.material.matrices[0]
    return per_number * float(matrix.nnz if scipy.sparse.issparse(matrix) else matrix.size)


def _networks(
    folds: Folds, plans: list[ViewPlan], budget: Budget, ledger: Ledger, found: Search, seed: int, say: Say
) -> None:
    """Try networks on the views that are narrow enough, the better ones first."""
    tried = [plan for plan in plans if any(c.plan is plan for c in found.candidates) and "kernel" not in plan.name]
    tried.sort(key=lambda plan: min(c.loss for c in found.candidates if c.plan is plan))
    for plan in tried:
        width = plan.learned(folds.material.matrices).width(folds.material.bases)
        n, n_labels = folds.labels.shape
        steps = 30 * len(np.unique(folds.numbers)) * n / 64
        predicted = steps * (2e-3 + 3e-9 * 512 * (width + n_labels) * 3)
        if width > WIDEST_NETWORK:
            found.skipped.append(f"{plan.name}: network ({width:,} inputs)")
        elif predicted > budget.left():
            found.skipped.append(f"{plan.name}: network (about {predicted:.0f} s)")
        else:
            make = partial(network_candidate, folds, plan, folds.views(plan), seed=seed)
            _note(ledger.tried(plan, f"network {seed}", make), found, say)
