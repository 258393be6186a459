"""Try one member after the other, in the order of gain per second, until the budget ends."""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial

import numpy as np
import numpy.typing as npt

from labelproof.training.recipe.budget import Budget
from labelproof.training.recipe.folds import Fold, Folds
from labelproof.training.recipe.ledger import Ledger
from labelproof.training.recipe.members import Candidate, edges, network_candidate, svm_candidate, trees_candidate
from labelproof.training.recipe.menu import ViewPlan, add_letters, kernel_plans, plans_for, trees_plan
from labelproof.training.recipe.predicting import (
    Speed,
    grid_size,
    has_few_leaves,
    network_seconds,
    trees_seconds,
    warm_up,
)
from labelproof.training.svm import ROUGH

__all__ = ["Search", "search"]

MOST_BEYOND = 3  # costs that are tried beyond the edge of a grid
MANY_LABELS, SOME_LABELS = 400, 128  # of more labels than the first, costs are chosen on so many
WIDEST_NETWORK = 10_000  # inputs of a network: beyond, it hardly pays
MOST_WEIGHTS = 300_000_000  # of support vector machines: 1.2 GB, three times while they are put together
ALONE = 1200.0  # seconds of networks that stand alone because everything else is too large
Say = Callable[[str], None]


@dataclass(eq=False)
class Search:
    """What was tried, and what was not for want of time or memory."""

    candidates: list[Candidate] = field(default_factory=list)
    skipped: list[str] = field(default_factory=list)


def search(folds: Folds, budget: Budget, ledger: Ledger, *, seed: int = 0, say: Say = lambda _: None) -> Search:
    """Try the plans for the data: support vector machines on each view, then trees, then networks.

    A stage whose predicted time exceeds what is left is skipped, and named.
    """
    return _Desk(folds, budget, ledger, seed, say).search()


class _Desk:
    """The state of a search."""

    def __init__(self, folds: Folds, budget: Budget, ledger: Ledger, seed: int, say: Say) -> None:
        self.folds, self.budget, self.ledger, self.seed, self.say = folds, budget, ledger, seed, say
        self.found, self.speed = Search(), Speed()
        self.n_labels = folds.labels.shape[1]

    def search(self) -> Search:
        warm_up()
        self.budget.begin()
        plans = plans_for(self.folds.material)
        for plan in plans:
            self._try_grid(plan)
        for plan in self._kernels(plans):
            self._try_grid(plan)
        self._try_trees()
        self._try_networks(plans)
        return self.found

    def _fits(self, name: str, seconds: float) -> bool:
        """Return whether a stage fits into the time that is left; if not, it is named."""
        if seconds <= self.budget.left():
            return True
        self.found.skipped.append(f"{name} (about {max(1, seconds):.0f} s)")
        return False

    def _note(self, candidate: Candidate) -> None:
        self.found.candidates.append(candidate)
        left = self.budget.left()
        rest = f"; {left:.0f} s are left" if 0 < left < np.inf else ""
        self.say(f"{candidate.name}: log loss {candidate.loss:.5f}, {candidate.seconds:.1f} s{rest}")

    def _try_grid(self, plan: ViewPlan) -> None:
        """Try support vector machines on a view, unless that takes too long or too much memory."""
        material = self.folds.material
        size = grid_size(plan, material)
        if size.width * self.n_labels > MOST_WEIGHTS:
            self.found.skipped.append(f"{plan.name}: SVM ({size.width * self.n_labels:,} weights)")
            return
        is_first = not self.found.candidates
        if not is_first and not self._fits(plan.name, self.speed.seconds(size)):
            return
        if plan.name == "words and letters":
            add_letters(material)
        begin = self.budget.spent()
        self._grid(plan)
        seconds = self.budget.spent() - begin
        self.speed.measured(size, seconds)
        if is_first:
            self.budget.first_stage_took(seconds)

    def _grid(self, plan: ViewPlan) -> None:
        """Try the costs of a plan, and beyond them while the best is at the edge; of many labels on some."""
        parts = self.folds.views(plan)
        if self.n_labels <= MANY_LABELS:
            self._costs(plan, lambda cost: self._svm(plan, parts, cost))
            return
        some = _some_labels(self.folds.labels)
        few = self.folds.of_labels(some)
        few_parts = [
            Fold(part.features, part.labels[:, some], part.held, part.held_features, part.held_labels[:, some])
            for part in parts
        ]

        def loss(cost: float) -> float:
            try_it = partial(svm_candidate, few, plan, few_parts, cost, tolerance=ROUGH)
            return self.ledger.loss(plan, f"svm {cost!r} of some", lambda: try_it().loss)

        losses = self._costs(plan, loss)
        best = min(losses, key=lambda cost: losses[cost])
        self.say(f"{plan.name}: C = {best:.2g} is best for {len(some)} of {self.n_labels:,} labels")
        self._svm(plan, parts, best)

    def _svm(self, plan: ViewPlan, parts: list[Fold], cost: float) -> float:
        """Try one cost, and return the loss."""
        member = self.ledger.tried(plan, f"svm {cost!r}", lambda: svm_candidate(self.folds, plan, parts, cost))
        self._note(member)
        return member.loss

    def _costs(self, plan: ViewPlan, attempt: Callable[[float], float]) -> dict[float, float]:
        losses = {cost: attempt(cost) for cost in plan.costs}
        for _ in range(MOST_BEYOND):
            further = [cost for cost in edges(losses) if cost not in losses]
            if not further or self.budget.left() <= 0:
                break
            losses[further[0]] = attempt(further[0])
        return losses

    def _try_trees(self) -> None:
        """Try a forest where it has few enough leaves to stand in a linear model."""
        if has_few_leaves(self.folds) and self._fits("trees", trees_seconds(self.folds)):
            plan = trees_plan(seed=self.seed)
            self._note(self.ledger.tried(plan, f"trees {self.seed}", partial(trees_candidate, self.folds, plan)))

    def _try_networks(self, plans: list[ViewPlan]) -> None:
        """Try networks on views that are narrow enough, the better ones first; on any, if there is no member yet."""
        alone = not self.found.candidates
        last_resort = [plan for plan in plans if plan.name == "idf"] or plans[:1]
        for plan in last_resort if alone else self._best_first(plans):
            width, name = grid_size(plan, self.folds.material).width, f"{plan.name}: network"
            if width > WIDEST_NETWORK and not alone:
                self.found.skipped.append(f"{name} ({width:,} inputs)")
            elif alone or self._fits(name, network_seconds(self.folds, width)):
                seconds = min(self.budget.left(), ALONE) if alone else np.inf
                make = partial(network_candidate, self.folds, plan, self.folds.views(plan))
                self._note(self.ledger.tried(plan, name, partial(make, seed=self.seed, seconds=seconds)))

    def _kernels(self, plans: list[ViewPlan]) -> list[ViewPlan]:
        """Return the kernels of dense features, on the better one of their scalings."""
        scalings = [plan for plan in self._best_first(plans) if not plan.is_sparse]
        return kernel_plans(scalings[0].name) if scalings else []

    def _best_first(self, plans: list[ViewPlan]) -> list[ViewPlan]:
        """Return the plans with machines, by their losses."""
        losses = {c.plan.name: c.loss for c in sorted(self.found.candidates, key=lambda c: -c.loss)}
        return sorted((plan for plan in plans if plan.name in losses), key=lambda plan: losses[plan.name])


def _some_labels(labels: npt.NDArray[np.bool_]) -> npt.NDArray[np.int64]:
    """Return numbers of labels on which costs are chosen: half of them the most frequent, half evenly from the rest.

    Most of the log loss is that of the frequent labels.
    """
    order = np.argsort(-np.asarray(labels.sum(axis=0)).ravel(), kind="stable")
    half = SOME_LABELS // 2
    rest = order[half:]
    return np.sort(np.concatenate([order[:half], rest[:: max(1, len(rest) // half)][:half]]))
