"""Features that hardly vary in real inputs, held within their range: elsewhere *possible* would be hollow.

An encoder may have a feature of 1e-33 for every input. A layer with that feature can give any label set, at inputs
where it is 1e33.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse

from labelproof.auditing.real_inputs import RealInputs
from labelproof.foundation.wording import some_of
from labelproof.importers.assumptions import Assumptions
from labelproof.proof.domains import read_domain
from labelproof.proof.examples import read_examples

__all__ = ["hold_steady", "in_the_middle"]

Floats = npt.NDArray[np.float64]
HARDLY = 1e-6  # of the range of a usual feature
LEAST = 100  # inputs, from which a range is taken to be known
MOST_NAMED = 8


def hold_steady(assumed: Assumptions, real: RealInputs, d: int) -> tuple[Assumptions, list[int]]:
    """Return assumptions under which features that hardly vary in real inputs stay in their range, and which."""
    which, low, high = _steady_features(real, d)
    domain = _within_range(assumed.domain, which, low, high) if len(which) else assumed.domain
    if domain is assumed.domain:
        return assumed, []
    n = real.examples.shape[0] + (0 if real.held_out is None else real.held_out.shape[0])
    reason = f"{assumed.domain_reason} {_said_of(which.tolist(), n)}"
    return replace(assumed, domain=domain, domain_reason=reason), which.tolist()


def _steady_features(real: RealInputs, d: int) -> tuple[npt.NDArray[np.int64], Floats, Floats]:
    """Return the features that hardly vary, and the least and largest number of every feature.

    Sparse features, such as weights of words, are left as they are: that a word does not occur says little.
    """
    low, high = np.full(d, np.inf), np.full(d, -np.inf)
    named = {"features": real.examples, "calibration": real.held_out}
    parts = {name: part for name, part in named.items() if part is not None}
    if any(map(scipy.sparse.issparse, parts.values())) or sum(part.shape[0] for part in parts.values()) < LEAST:
        return np.empty(0, np.int64), low, high
    for name, part in parts.items():
        for block in read_examples(part, d, name=name).blocks():
            np.minimum(low, block.min(axis=0), out=low)
            np.maximum(high, block.max(axis=0), out=high)
    ranges = high - low
    return np.flatnonzero(ranges <= HARDLY * _usual_range(ranges)), low, high


def _usual_range(ranges: Floats) -> float:
    """Return the median of the ranges of features that vary at all; 0 if none does."""
    return float(np.median(ranges[ranges > 0])) if (ranges > 0).any() else 0.0


def _within_range(domain: Any, which: npt.NDArray[np.int64], low: Floats, high: Floats) -> Any:
    """Return a domain in which some features lie within their range; one of balls is left as it is.

    Examples
    --------
    >>> low, high = _within_range(None, np.array([1]), np.array([-1.0, 0.0]), np.array([1.0, 0.0]))
    >>> low.tolist(), high.tolist()
    ([-inf, 0.0], [inf, 0.0])
    """
    bounds = read_domain(domain, len(low))
    if bounds.balls:
        return domain
    lowest = np.full(len(low), -np.inf) if bounds.low is None else bounds.low.copy()
    highest = np.full(len(low), np.inf) if bounds.high is None else bounds.high.copy()
    lowest[which] = np.maximum(lowest[which], low[which])
    highest[which] = np.minimum(highest[which], high[which])
    inside = lowest <= highest
    return (lowest, highest) if inside.all() else domain


def in_the_middle(domain: tuple[Floats, Floats], which: Sequence[int]) -> tuple[Floats, Floats]:
    """Return bounds between which some features have no room but the middle.

    Examples
    --------
    >>> low, high = in_the_middle((np.array([-1.0, 0.0]), np.array([1.0, 2.0])), [1])
    >>> low.tolist(), high.tolist()
    ([-1.0, 1.0], [1.0, 1.0])
    """
    low, high = domain[0].copy(), domain[1].copy()
    middle = np.clip(low[which] + 0.5 * (high[which] - low[which]), low[which], high[which])
    low[which] = high[which] = middle
    return low, high


def _said_of(which: Sequence[int], n: int) -> str:
    """Say in a sentence which features were held within their range."""
    shown = some_of([str(feature) for feature in which], MOST_NAMED)
    features = "Feature" if len(which) == 1 else "Features"
    verb = "hardly varies" if len(which) == 1 else "hardly vary"
    held = "is held within its range" if len(which) == 1 else "are held within their range"
    return f"{features} {shown} {verb} in {n:,} real inputs and {held} there."
