"""Which members make the best mean: greedily, by the out-of-fold log loss."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from labelproof.training.recipe.calibrating import log_loss
from labelproof.training.recipe.members import Candidate

__all__ = ["Blend", "blend"]

MOST_STEPS = 8
LEAST_GAIN = 1e-4  # share of the log loss that a further member must save


class Blend:
    """Members with their weights, which add up to 1, and the mean of their logits."""

    def __init__(self, members: Sequence[tuple[Candidate, float]], labels: Any) -> None:
        self.members = tuple(members)
        mean = sum((weight * member.logits for member, weight in self.members), np.float32(0))
        self.logits: npt.NDArray[np.float32] = np.asarray(mean, np.float32)
        self.loss = log_loss(self.logits, labels)

    @property
    def name(self) -> str:
        """What is blended, for people."""
        return " + ".join(f"{weight:.0%} {member.name}" for member, weight in self.members)


def blend(candidates: Sequence[Candidate], labels: Any) -> Blend:
    """Return the mean of the members that has the least log loss, found greedily.

    The best of each view and family is a candidate; a member may be taken several times, which gives it more weight.
    Members then give way to others of their view and family that suit the rest better, such as those of another cost.
    """
    finalists = _best_of_each(candidates)
    chosen = [min(finalists, key=lambda candidate: candidate.loss)]
    loss = chosen[0].loss
    while len(chosen) < MOST_STEPS and len(finalists) > 1:
        losses = [_loss([*chosen, candidate], labels) for candidate in finalists]
        place = int(np.argmin(losses))
        if losses[place] > loss * (1 - LEAST_GAIN):
            break
        chosen.append(finalists[place])
        loss = losses[place]
    chosen = _exchanged(chosen, loss, candidates, labels)
    unique = list(dict.fromkeys(chosen))
    return Blend([(member, chosen.count(member) / len(chosen)) for member in unique], labels)


def _loss(members: Sequence[Candidate], labels: Any) -> float:
    total = members[0].logits.copy()
    for member in members[1:]:
        total += member.logits
    return log_loss(total / len(members), labels)


def _exchanged(chosen: list[Candidate], loss: float, candidates: Sequence[Candidate], labels: Any) -> list[Candidate]:
    """Return the members, each in turn exchanged for the one of its view and family with which the mean is best."""
    for member in dict.fromkeys(chosen) if len(set(chosen)) > 1 else ():
        rivals = [rival for rival in candidates if rival not in chosen and _kind(rival) == _kind(member)]
        others = [[rival if one is member else one for one in chosen] for rival in rivals]
        losses = [_loss(other, labels) for other in others]
        if losses and min(losses) <= loss * (1 - LEAST_GAIN):
            place = int(np.argmin(losses))
            chosen, loss = others[place], losses[place]
    return chosen


def _best_of_each(candidates: Sequence[Candidate]) -> list[Candidate]:
    best: dict[tuple[str, str], Candidate] = {}
    for candidate in candidates:
        if _kind(candidate) not in best or candidate.loss < best[_kind(candidate)].loss:
            best[_kind(candidate)] = candidate
    return list(best.values())


def _kind(candidate: Candidate) -> tuple[str, str]:
    return candidate.plan.name, candidate.family
