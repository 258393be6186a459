"""What an audit says of the domain: features of real examples must be in it, and a radius goes with bounds only."""

from dataclasses import replace

import numpy as np
import numpy.typing as npt

from labelproof.auditing.assumptions import Assumptions
from labelproof.proof.domains import Domain, read_domain

__all__ = ["bounds_only", "refuse_outside"]

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


def refuse_outside(domain: Domain, n_features: int, features: npt.ArrayLike) -> None:
    """Refuse features of real examples that the domain says cannot be, but for rounding.

    Examples
    --------
    >>> refuse_outside("unit", 2, [[0.6, 0.8], [3.0, 4.0]])
    Traceback (most recent call last):
    ValueError: features must be in the domain, got example 1 at a distance of 5 from a centre, where 1 is the most; ...
    """
    values = np.asarray(features, np.float64)
    if values.ndim != 2 or values.shape[1] != n_features:
        raise ValueError(f"features must have {n_features} columns to match the weight, got shape {values.shape}")
    low, high, balls = read_domain(domain, n_features)
    for bound, sign, word in ((low, 1.0, "least"), (high, -1.0, "most")):
        if bound is not None:
            wrong = np.argwhere(sign * (values - bound) < -ROUNDING * (1.0 + np.abs(values)))
            if len(wrong):
                i, j = wrong[0]
                what = f"{values[i, j]:.6g} as feature {j} of example {i}, where {bound[j]:.6g} is the {word}"
                raise ValueError(f"features must be in the domain, got {what}; {ALLOW}")
    for ball in balls:
        lengths = np.linalg.norm(values[:, ball.start : ball.stop] - ball.centre, axis=1)
        far = np.flatnonzero(lengths > ball.radius * (1 + ROUNDING))
        if len(far):
            what = f"example {far[0]} at a distance of {lengths[far[0]]:.6g} from a centre"
            raise ValueError(
                f"features must be in the domain, got {what}, where {ball.radius:.6g} is the most; {ALLOW}"
            )
