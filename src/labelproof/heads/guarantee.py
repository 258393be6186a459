"""What a head is sure to be able to predict, in one record for all heads."""

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from labelproof.theory.ceilings import margin_ceiling

__all__ = ["Guarantee", "Level"]

Level = Literal["exact", "probabilistic", "ideal arithmetic", "measured"]


@dataclass(frozen=True, eq=False)
class Guarantee:
    """What holds for a head; ``str()`` says it in words.

    Attributes
    ----------
    level
        "exact": every set of at most k labels can be predicted for the stored numbers, by proof. "probabilistic": the
        same but for a share ``failure`` of all seeds. "ideal arithmetic": it holds for the real numbers that the stored
        ones are rounded from. "measured": only a search for counter-examples was made.
    k, n_labels, n_features
        Sets of at most k of the n labels; the features of the head, learnable ones included.
    reaches_all_features
        Whether the encoder is at least as wide as the head, without which not all features can occur.
    path, dtype
        How the logits are computed, and the precision of the features: a torch dtype, or its name for Keras.
    margin
        Least relative margin min y_i (w_i·x) / (‖w_i‖ ‖x‖) that is proven, or the least that was found where the level
        says so; None where there is none.
    holds_in_dtype
        Whether features of that dtype exist whose logits, as the head computes them, have the right signs for every
        such set; None where that is not known for all sets.
    failure
        Probability over the seed that the statement is wrong; 0 unless the level is "probabilistic".
    is_safe
        bool (n_sets,): which of the given label sets are predicted by some features in spite of all rounding errors.
        None if none were given.
    share_safe
        The mean of ``is_safe``; None if no label sets were given.
    share_of_ceiling
        The margin as a share of the largest that any layer could have for all sets of k labels.

    Examples
    --------
    >>> import labelproof as lp
    >>> found = lp.CodeHead(64, 24, k=3, slack=4).guarantee()
    >>> found.level, found.k, found.n_labels, found.holds_in_dtype
    ('exact', 3, 24, True)
    """

    level: Level
    k: int
    n_labels: int
    n_features: int
    reaches_all_features: bool
    path: str
    dtype: Any
    is_safe: npt.NDArray[np.bool_] | None = None
    margin: float | None = None
    holds_in_dtype: bool | None = None
    failure: float = 0.0

    @property
    def share_safe(self) -> float | None:
        """Share of the given label sets that are safe."""
        return None if self.is_safe is None else float(np.mean(self.is_safe)) if len(self.is_safe) else 1.0

    @property
    def share_of_ceiling(self) -> float | None:
        """The margin as a share of `labelproof.theory.ceilings.margin_ceiling`."""
        hardest = min(self.k, (self.n_labels - 1) // 2)
        return None if self.margin is None or not hardest else self.margin / margin_ceiling(self.n_labels, hardest)

    def __str__(self) -> str:
        return "\n".join(line for line in (self._claim(), self._margin(), self._in_use(), self._reach()) if line)

    def _claim(self) -> str:
        sets = f"every set of at most {self.k} of {self.n_labels} labels can be predicted"
        return {
            "exact": f"For the numbers as stored, {sets}.",
            "probabilistic": f"For the numbers as stored, {sets}, except for at most a share of "
            f"{self.failure:.0e} of all seeds.",
            "ideal arithmetic": f"Over the real numbers, {sets}.",
            "measured": f"No counter-example was found to the claim that {sets}.",
        }[self.level]

    def _margin(self) -> str:
        if self.margin is None:
            return ""
        proven = "is at least" if self.level in ("exact", "probabilistic") else "found was"
        share = "" if self.share_of_ceiling is None else f", {self.share_of_ceiling:.1%} of the largest possible"
        return f"The smallest margin {proven} {self.margin:.2g}{share}."

    def _in_use(self) -> str:
        start = f"Numbers in use ({str(self.dtype).removeprefix('torch.')}, {self.path} path): "
        if self.holds_in_dtype is not None and self.is_safe is None:
            return start + ("it holds for the computed logits." if self.holds_in_dtype else "rounding may break it.")
        if self.is_safe is None:
            return start + "nothing was checked; give label sets to check."
        return (
            f"{start}{int(self.is_safe.sum())} of {len(self.is_safe)} label sets are predicted by some features "
            "whatever the rounding errors; for the others, ask labelproof.verify."
        )

    def _reach(self) -> str:
        if self.reaches_all_features:
            return ""
        return f"The encoder is narrower than the head's {self.n_features} features: not all can occur."
