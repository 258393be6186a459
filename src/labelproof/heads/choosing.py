"""Choose the head with the strongest guarantee that there is room for."""

from dataclasses import dataclass
from typing import Literal

from torch import nn

from labelproof.foundation.arguments import check_choice, whole_number
from labelproof.heads.code import CodeHead
from labelproof.heads.dft import DFTHead
from labelproof.heads.gaussian import GaussianHead
from labelproof.heads.guarantee import Level
from labelproof.heads.harmonic import RANDOM, HarmonicHead
from labelproof.theory.ceilings import margin_ceiling
from labelproof.theory.codes import Code, choose_code, widest_k
from labelproof.theory.gaussian import spare_columns

__all__ = ["Choice", "choose", "widest"]

LEVELS: tuple[Level, ...] = ("exact", "probabilistic", "ideal arithmetic")
Kind = Literal["code", "gaussian", "harmonic", "dft"]


@dataclass(frozen=True)
class Choice:
    """A head that can be built.

    Attributes
    ----------
    kind, level
        Its name in configurations, and what its guarantee is worth: see `Guarantee`.
    n_labels, k
        Every set of at most k of the n labels can be predicted.
    columns
        Number of fixed columns, the constant one included.
    code
        That of a code head.

    Examples
    --------
    >>> choice = choose(2689, k=10, in_features=768, slack=50)
    >>> choice.kind, choice.level, choice.k
    ('code', 'exact', 10)
    """

    kind: Kind
    level: Level
    n_labels: int
    k: int
    columns: int
    code: Code | None = None

    @property
    def margin(self) -> float | None:
        """The proven margin of a code head without slack; None for the others, whose heads know it once drawn."""
        return None if self.code is None else self.code.margin(self.k)

    @property
    def share_of_ceiling(self) -> float | None:
        """The margin as a share of the largest that any head could have."""
        hardest = min(self.k, (self.n_labels - 1) // 2)
        return None if self.margin is None or not hardest else self.margin / margin_ceiling(self.n_labels, hardest)

    @property
    def cost(self) -> float:
        """Additions for each logit, as a share of those of a linear layer with one feature for each fixed column."""
        return 1.0 if self.code is None else (self.code.length + 1) / self.columns

    def parameters(self, in_features: int, slack: int = 0) -> int:
        """Return the number of trained parameters: the projection, and the learnable columns."""
        return (in_features + 1) * (self.columns + slack) + self.n_labels * slack

    def build(self, in_features: int, slack: int = 0) -> nn.Module:
        """Return the head, with weights from torch's generator."""
        if self.kind == "code":
            return CodeHead(in_features, self.n_labels, self.k, slack, code=self.code)
        if self.kind == "gaussian":
            return GaussianHead(in_features, self.n_labels, self.k, slack, columns=self.columns - 1)
        if self.kind == "harmonic":
            random = (self.columns - 2 * self.k - 1) // 2
            return HarmonicHead(in_features, self.n_labels, self.k, slack, random=random)
        return DFTHead(in_features, self.n_labels, self.k, slack)


def choose(
    n_labels: int,
    k: int,
    budget: int | None = None,
    in_features: int | None = None,
    *,
    slack: int = 0,
    least: Level = "probabilistic",
) -> Choice:
    """Choose a head under which every set of at most k labels can be predicted.

    A code, whose guarantee is exact, if one fits; else normal columns, which need fewer; else, where ``least`` allows
    it, cosines and sines, whose guarantee is about ideal numbers.

    Parameters
    ----------
    n_labels, k : int
        Number of labels, and the most active ones.
    budget : int, optional
        The most fixed columns, the constant one included. A code then uses them for the largest proven margin; without
        a budget it has as few as possible.
    in_features : int, optional
        Width of the encoder. A head with more features than that cannot keep its guarantee, and is not chosen.
    slack : int
        Learnable columns that the head will have besides.
    least : {"exact", "probabilistic", "ideal arithmetic"}
        The weakest guarantee that will do.

    Raises
    ------
    ValueError
        If there is no such head; the message says which k fits.

    Examples
    --------
    >>> choose(2689, 10).code
    Code(q=23, coefficients=3, length=21)
    >>> choose(2689, 25, in_features=1024).kind, choose(2689, 25, in_features=512, least="ideal arithmetic").kind
    ('gaussian', 'harmonic')
    >>> choose(2689, 25, in_features=512)
    Traceback (most recent call last):
    ValueError: k must be at most 10 for a head of 2689 labels in 512 features, got 25
    """
    check_choice("least", least, LEVELS)
    n_labels, k = whole_number("n_labels", n_labels, minimum=1), whole_number("k", k, minimum=1)
    slack = whole_number("slack", slack, minimum=0)
    room = _room(n_labels, budget, in_features, slack)
    for choice in _candidates(n_labels, k, budget, room, least):
        if choice.columns <= room:
            return choice
    fits = widest(n_labels, room, least)
    limit = f"k must be at most {fits}" if fits else "there must be more features: no k fits"
    got = k if fits else room + slack
    raise ValueError(f"{limit} for a head of {n_labels} labels in {room + slack} features, got {got}")


def widest(n_labels: int, room: int, least: Level = "probabilistic") -> int:
    """Return the largest k for which a head has at most ``room`` fixed columns, the constant one included; 0 if none.

    >>> widest(2689, 512), widest(2689, 512, "exact"), widest(2689, 512, "ideal arithmetic")
    (10, 10, 255)
    """
    best = widest_k(n_labels, room - 1) if room > 1 else 0
    if least != "exact":
        while best + 1 < n_labels and spare_columns(n_labels, best + 1) < room:
            best += 1
    if least == "ideal arithmetic":
        best = max(best, (min(room, n_labels) - 1) // 2)
    return best


def _room(n_labels: int, budget: int | None, in_features: int | None, slack: int) -> int:
    rooms = [n_labels + 1]  # a column for each label always does
    if budget is not None:
        rooms.append(whole_number("budget", budget, minimum=1))
    if in_features is not None:
        rooms.append(whole_number("in_features", in_features, minimum=1) - slack)
    return min(rooms)


def _candidates(n_labels: int, k: int, budget: int | None, room: int, least: Level) -> list[Choice]:
    """Return the heads for k, from the strongest guarantee to the weakest that will do."""
    code = choose_code(n_labels, k)
    if budget is not None and code.columns < room:
        code = choose_code(n_labels, k, room - 1)
    found = [Choice("code", "exact", n_labels, k, code.columns + 1, code)]
    if least != "exact" and k < n_labels:
        columns = spare_columns(n_labels, k) + 1
        found.append(Choice("gaussian", "probabilistic", n_labels, k, columns))
    if least == "ideal arithmetic" and 2 * k + 1 <= n_labels:
        random = min((room - 2 * k - 1) // 2, RANDOM * k, (n_labels - 1) // 2 - k)
        if random > 0:
            found.append(Choice("harmonic", "ideal arithmetic", n_labels, k, 2 * (k + random) + 1))
        found.append(Choice("dft", "ideal arithmetic", n_labels, k, 2 * k + 1))
    return found
