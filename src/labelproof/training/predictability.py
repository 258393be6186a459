"""Which label sets a trained model can predict at all, given the features that its encoder can give.

Verdicts are proven by `labelproof.verify`. Thresholds are moved by what conflicts say: if the decisions of a set,
weighted by a conflict's multipliers λ, add up to at most −g on the domain, then lowering the thresholds of its active
labels by g / Σ λ_i removes just this contradiction. The cheapest sets come first, and only as many as are asked for.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from labelproof.decisions import PerLabelThreshold, Rule
from labelproof.encoders import Encoder
from labelproof.foundation.wording import percent
from labelproof.proof.certificates import Unargmaxable
from labelproof.proof.domains import Bounds, Domain, read_domain
from labelproof.proof.labels import LabelSets, read_label_sets
from labelproof.proof.result import Verification
from labelproof.search.verifier import verify

__all__ = ["Predictable", "TrainingSets", "entering_domain", "lower_thresholds", "measure_predictable", "training_sets"]

Floats = npt.NDArray[np.float64]
MOST_SETS = 1000  # that are looked at, evenly spread over all
SECONDS_A_SET = 2.0
MOST_ROUNDS = 25
BEYOND = 1.05  # by how much more than a conflict asks for thresholds move


@dataclass(frozen=True, eq=False)
class TrainingSets:
    """Some of the distinct label sets of the training part, and how many there are in all."""

    sets: LabelSets
    total: int

    def __repr__(self) -> str:
        n = len(self.sets)
        whole = f"the {self.total:,} label sets of the training part"
        return whole if n == self.total else f"{n:,} of {whole}, evenly spread"


@dataclass(frozen=True)
class Predictable:
    """How many of some label sets a model can predict: proven, proven not, and not decided."""

    possible: int
    impossible: int
    undecided: int

    @property
    def share(self) -> float:
        """Share that is proven possible."""
        return self.possible / self.total if self.total else 1.0

    @property
    def total(self) -> int:
        """How many were looked at."""
        return self.possible + self.impossible + self.undecided

    @property
    def in_percent(self) -> str:
        """The share as people read it."""
        return percent(self.possible, self.total)

    def sentence(self, which: TrainingSets) -> str:
        """Say it in words."""
        open_ones = f"; {self.undecided:,} undecided" if self.undecided else ""
        return (
            f"Proven for {which}: {self.possible:,} ({self.in_percent}) can be predicted, {self.impossible:,} never, "
            f"whatever the input{open_ones}."
        )


def entering_domain(encoder: Encoder | None, head: Any) -> Domain:
    """Return which features reach a head's output layer: after its ReLU, else what the encoder gives."""
    if hasattr(head, "projection"):
        return None
    if getattr(head, "relu", False):
        return "nonnegative"
    return None if encoder is None else encoder.domain()


def training_sets(labels: Any, most: int = MOST_SETS) -> TrainingSets:
    """Return the distinct label sets of 0/1 rows (n_examples, n_labels), no more than so many, evenly spread.

    >>> import scipy.sparse
    >>> training_sets(scipy.sparse.csr_array([[1, 0], [0, 1], [1, 0], [0, 0]]), most=2)
    2 of the 3 label sets of the training part, evenly spread
    """
    rows = labels.tocsr()
    distinct = sorted({tuple(sorted(rows.indices[a:b].tolist())) for a, b in pairwise(rows.indptr)})
    kept = min(len(distinct), most)
    chosen = [list(distinct[i * len(distinct) // kept]) for i in range(kept)]
    return TrainingSets(read_label_sets(chosen, rows.shape[1]), len(distinct))


def measure_predictable(
    weight: Any, bias: Any, rule: Rule, domain: Domain, sets: LabelSets, *, n_jobs: int | None = None
) -> Predictable | None:
    """Count which label sets a layer can predict by a rule; None where inequalities do not describe its sets."""
    geometry = rule.geometry
    if geometry is None or geometry.size is not None or not geometry.exact:
        return None
    return _counted(_verified(weight, bias, rule, domain, sets, n_jobs))


def lower_thresholds(
    weight: Any,
    bias: Any,
    rule: Rule,
    domain: Domain,
    sets: LabelSets,
    share: float,
    *,
    n_jobs: int | None = None,
) -> tuple[Rule, Predictable]:
    """Move a rule's thresholds until a share of the label sets can be predicted, as little as conflicts ask for.

    Parameters
    ----------
    weight, bias
        Output layer (n_labels, d), and (n_labels,) or None.
    rule
        A fitted rule that cuts logits.
    domain
        Which features the layer can get, as `labelproof.verify` takes it.
    sets
        Label sets.
    share
        Of the sets, that is to be proven possible.
    n_jobs
        Threads.

    Returns
    -------
    rule, predictable
        The rule itself where nothing was to be done, else one with a threshold for each label; and what it can predict.
        That is less than was asked for where no thresholds were found.

    Examples
    --------
    Two labels that no input of length 1 gives both at 0, but at −0.1:

    >>> from labelproof.decisions import Threshold
    >>> sets = read_label_sets([[0], [1], [0, 1]], 2)
    >>> weight, bias = np.eye(2), np.array([-0.8, -0.8])
    >>> rule, found = lower_thresholds(weight, bias, Threshold(0.0, scores="logits"), "unit", sets, 1.0)
    >>> rule.thresholds_.round(2), found.share
    (array([-0.1, -0.1]), 1.0)
    """
    weight = np.asarray(weight, np.float64)
    offset = np.zeros(len(weight)) if bias is None else np.asarray(bias, np.float64)
    geometry = rule.geometry
    if geometry is None or geometry.rule != "sigmoid":
        raise ValueError(f"thresholds can be moved of a rule that cuts logits, got {type(rule).__name__}")
    theta, bounds = geometry.logit_cuts(len(weight)), read_domain(domain, weight.shape[1])
    allowed = math.floor((1 - share) * len(sets) + 1e-9)
    moved, best = rule, _verified(weight, bias, rule, domain, sets, n_jobs)
    v, chosen = best, rule
    for _ in range(MOST_ROUNDS):
        steps = [_step(v[i], sets[i], weight, offset - theta, bounds) for i in np.flatnonzero(v.status == 0).tolist()]
        surplus = int((v.status != 1).sum()) - allowed
        if surplus <= 0 or not steps:
            break
        theta = theta + _together(sorted(steps, key=lambda step: step.size)[:surplus], len(theta))
        moved = _with_thresholds(theta)
        v = _verified(weight, bias, moved, domain, sets, n_jobs)
        if (v.status == 1).sum() > (best.status == 1).sum():
            best, chosen = v, moved
    return chosen, _counted(best)


@dataclass(frozen=True)
class _Step:
    """What would undo one conflict: labels whose thresholds go down, or up, by a size."""

    labels: tuple[int, ...]
    sign: float
    size: float


def _step(certificate: Any, active: npt.NDArray[np.int64], weight: Floats, offset: Floats, bounds: Bounds) -> _Step:
    """Return the step that undoes the conflict of a certificate."""
    if not isinstance(certificate, Unargmaxable):
        raise TypeError(f"certificate must be of an unargmaxable set, got {type(certificate).__name__}")
    labels, wanted = np.array(certificate.conflict, np.int64), set(active.tolist())
    largest = max(certificate.multipliers)
    shares = np.array([float(m / largest) for m in certificate.multipliers])
    on = np.array([i in wanted for i in labels.tolist()], bool)
    kappa = np.where(on, shares, -shares)
    value = float(kappa @ offset[labels]) + _support(kappa @ weight[labels], bounds)
    going = on if on.any() else ~on
    size = max(-value, 0.0) / shares[going].sum() * BEYOND + 1e-6
    return _Step(tuple(labels[going].tolist()), -1.0 if on.any() else 1.0, size)


def _support(pulls: Floats, bounds: Bounds) -> float:
    """Return the most that p·x can be on the domain; what is infinite but for rounding counts as 0."""
    low = np.full(len(pulls), -np.inf) if bounds.low is None else bounds.low
    high = np.full(len(pulls), np.inf) if bounds.high is None else bounds.high
    total, left = 0.0, np.ones(len(pulls), bool)
    for ball in bounds.balls:
        part = slice(ball.start, ball.stop)
        kept = np.where((low[part] >= 0) & (pulls[part] < 0), 0.0, pulls[part])
        total += float(kept @ ball.centre + ball.radius * np.linalg.norm(kept))
        left[part] = False
    p, ends = pulls[left], np.where(pulls > 0, high, low)[left]
    finite = np.isfinite(ends)
    return total + float(p[finite] @ ends[finite])


def _together(steps: Sequence[_Step], n_labels: int) -> Floats:
    """Return how thresholds move so that every step is made: each label by the largest of its steps."""
    down, up = np.zeros(n_labels), np.zeros(n_labels)
    for step in steps:
        side = down if step.sign < 0 else up
        places = np.array(step.labels, np.int64)
        side[places] = np.maximum(side[places], step.size)
    return up - down


def _with_thresholds(theta: Floats) -> PerLabelThreshold:
    rule = PerLabelThreshold(scores="logits")
    rule.thresholds_ = theta
    return rule


def _verified(weight: Any, bias: Any, rule: Rule, domain: Domain, sets: LabelSets, n_jobs: int | None) -> Verification:
    """Decide label sets; a label on its threshold is off, as rules have it."""
    options: dict[str, Any] = {"ties": "inactive", "time_limit": SECONDS_A_SET, "n_jobs": n_jobs}
    return verify(weight, sets, bias=bias, rule=rule, domain=domain, **options)


def _counted(v: Verification) -> Predictable:
    return Predictable(*(int((v.status == status).sum()) for status in (1, 0, -1)))
