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
    """
    finalists = _best_of_each(candidates)
    chosen = [min(finalists, key=lambda candidate: candidate.loss)]
    total, loss = chosen[0].logits.copy(), chosen[0].loss
    while len(chosen) < MOST_STEPS and len(finalists) > 1:
        losses = [log_loss((total + candidate.logits) / (len(chosen) + 1), labels) for candidate in finalists]
        place = int(np.argmin(losses))
        if losses[place] > loss * (1 - LEAST_GAIN):
            break
        chosen.append(finalists[place])
        total, loss = total + finalists[place].logits, losses[place]
    unique = list(dict.fromkeys(chosen))
    return Blend([(member, chosen.count(member) / len(chosen)) for member in unique], labels)


def _best_of_each(candidates: Sequence[Candidate]) -> list[Candidate]:
    best: dict[tuple[str, str], Candidate] = {}
    for candidate in candidates:
        key = candidate.plan.name, candidate.family
        if key not in best or candidate.loss < best[key].loss:
            best[key] = candidate
    return list(best.values())
