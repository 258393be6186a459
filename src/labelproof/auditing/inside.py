"""What an audit says of the domain: features of real examples must be in it, and a radius goes with bounds only."""

from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse

from labelproof.importers.assumptions import Assumptions
from labelproof.proof.domains import Bounds, Domain, read_domain
from labelproof.proof.examples import read_examples

__all__ = ["bounds_only", "refuse_outside"]

Floats = npt.NDArray[np.float64]
NUMBERS_AT_ONCE = 2**22
ROUNDING = 1e-4  # by which share features may leave the domain
ALLOW = "domain=None (--domain free) allows every input"


def bounds_only(assumed: Assumptions, n_features: int, *, what: str = "The radius") -> Assumptions:
    """Return assumptions without the balls of the domain, for what goes with bounds only."""
    low, high, balls = read_domain(assumed.domain, n_features)
    if not balls:
        return assumed
    bounds = tuple(end if given is None else given for given, end in ((low, -np.inf), (high, np.inf)))
    reason = f"{assumed.domain_reason} {what} goes with bounds only, so that lengths are not used."
    return replace(assumed, domain=bounds, domain_reason=reason)


def refuse_outside(domain: Domain, n_features: int, features: Any) -> None:
    """Refuse features of real examples that the domain says cannot be, but for rounding.

    Examples
    --------
    >>> refuse_outside("unit", 2, [[0.6, 0.8], [3.0, 4.0]])
    Traceback (most recent call last):
    ValueError: features must be in the domain, got example 1 at a distance of 5 from a centre, where 1 is the most; ...
    """
    rows = read_examples(features, n_features).features
    bounds, step = read_domain(domain, n_features), max(1, NUMBERS_AT_ONCE // n_features)
    for start in range(0, rows.shape[0], step):
        some = rows[start : start + step]
        fault = _outside(bounds, np.asarray(some.toarray() if scipy.sparse.issparse(some) else some, np.float64), start)
        if fault is not None:
            raise ValueError(f"features must be in the domain, got {fault}; {ALLOW}")


def _outside(bounds: Bounds, values: Floats, first: int) -> str | None:
    """Return which of some examples, numbered from the first, is out of the domain and how, or None."""
    for bound, sign, word in ((bounds.low, 1.0, "least"), (bounds.high, -1.0, "most")):
        if bound is not None:
            wrong = np.argwhere(sign * (values - bound) < -ROUNDING * (1.0 + np.abs(values)))
            if len(wrong):
                i, j = wrong[0]
                return f"{values[i, j]:.6g} as feature {j} of example {first + i}, where {bound[j]:.6g} is the {word}"
    for ball in bounds.balls:
        lengths = np.linalg.norm(values[:, ball.start : ball.stop] - ball.centre, axis=1)
        far = np.flatnonzero(lengths > ball.radius * (1 + ROUNDING))
        if len(far):
            place = f"example {first + far[0]} at a distance of {lengths[far[0]]:.6g} from a centre"
            return f"{place}, where {ball.radius:.6g} is the most"
    return None
