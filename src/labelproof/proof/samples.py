"""Verdicts on some label sets chosen at random, and what they tell of all: for people, no proof rests on it."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.special import betaincinv

from labelproof.foundation.arguments import whole_number

__all__ = ["Sample", "choose_sets", "read_sample", "share_interval"]


@dataclass(frozen=True)
class Sample:
    """That label sets were chosen at random, each as likely as any other: of how many, and with which seed."""

    of: int
    seed: int


def choose_sets(n_sets: int, size: int, seed: int) -> npt.NDArray[np.int64]:
    """Return the places of ``size`` different ones of ``n_sets`` label sets, in ascending order.

    >>> choose_sets(1000, 3, seed=0).tolist()
    [511, 636, 848]
    """
    whole_number("sample", size, minimum=1)
    whole_number("seed", seed, minimum=0)
    if size > n_sets:
        raise ValueError(f"sample must be at most the number of label sets, {n_sets}, got {size}")
    chosen = np.random.default_rng(seed).choice(n_sets, size, replace=False, shuffle=False)
    return np.sort(chosen.astype(np.int64))


def read_sample(raw: Any) -> Sample | None:
    """Return what a file says of a sample; a ValueError says what is wrong with it."""
    if raw is None:
        return None
    of, seed = (raw.get("of"), raw.get("seed")) if isinstance(raw, Mapping) else (None, None)
    if type(of) is not int or type(seed) is not int or of < 1 or seed < 0:
        raise ValueError("sample: expected how many label sets it is of, and a seed")
    return Sample(of, seed)


def share_interval(status: npt.NDArray[np.int8], *, confidence: float = 0.95) -> tuple[float, float]:
    """Return bounds of the share of all label sets that can be predicted, from verdicts on a random sample of them.

    The exact interval of Clopper and Pearson: whatever the share is, it lies within with at least this probability over
    the choice of the sample. Undecided sets count as unpredictable in the lower bound, as predictable in the upper one.

    Parameters
    ----------
    status
        int8 (n_sets,): the verdicts, 1, 0 or -1.
    confidence
        The probability.

    Examples
    --------
    >>> low, high = share_interval(np.array([1] * 9 + [0], np.int8))
    >>> round(low, 4), round(high, 4)
    (0.555, 0.9975)
    """
    if not 0 < confidence < 1:
        raise ValueError(f"confidence must be a probability between 0 and 1, got {confidence}")
    if not len(status):
        raise ValueError("status must hold at least one verdict, got none")
    n, tail = len(status), (1 - confidence) / 2
    least, most = int((status == 1).sum()), int((status != 0).sum())
    low = 0.0 if least == 0 else float(betaincinv(least, n - least + 1, tail))
    high = 1.0 if most == n else float(betaincinv(most + 1, n - most, 1 - tail))
    return low, high
