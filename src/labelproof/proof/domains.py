"""Which features an output layer can get: bounds for each, and balls around some of them together.

Trusted code: every proof that speaks of a domain speaks of the bounds and balls that this module reads.
"""

from dataclasses import dataclass, replace
from numbers import Integral
from typing import Any, Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from labelproof.proof.exact_arrays import finite_array, real_array

__all__ = ["Ball", "Bounds", "Domain", "arrays_of_balls", "balls_of_arrays", "read_domain"]

Floats = npt.NDArray[np.float64]
Domain = Literal["nonnegative", "unit"] | tuple[Any, ...] | None
FORMS = (
    "None, 'nonnegative', 'unit', (low, high), ('unit', radius), ('ball', radius), ('ball', radius, centre) "
    "or ('blocks', [(n_features, domain), ...])"
)


@dataclass(frozen=True, eq=False)
class Ball:
    """The features from ``start`` up to ``stop`` are within ``radius`` of ``centre``, float64 (stop − start,)."""

    start: int
    stop: int
    radius: float
    centre: Floats


class Bounds(NamedTuple):
    """A domain: float64 (d,) or None for the lowest and the highest features, and balls that do not overlap."""

    low: Floats | None
    high: Floats | None
    balls: tuple[Ball, ...] = ()


def read_domain(domain: Domain, d: int) -> Bounds:
    """Read a domain of d features in any of the forms that `verify` takes.

    Examples
    --------
    >>> low, high, (ball,) = read_domain(("blocks", [(1, "nonnegative"), (2, ("ball", 3.0))]), 3)
    >>> low, high, (ball.start, ball.stop, ball.radius)
    (array([  0., -inf, -inf]), array([inf, inf, inf]), (1, 3, 3.0))
    """
    if domain is None:
        return Bounds(None, None)
    if isinstance(domain, str) and domain in ("nonnegative", "unit"):
        return Bounds(np.zeros(d), None, _balls(d, 1.0) if domain == "unit" else ())
    if not isinstance(domain, (tuple, list)) or len(domain) not in (2, 3):
        raise ValueError(f"domain must be {FORMS}, got {domain!r}")
    kind, *rest = domain
    if isinstance(kind, str) and (kind == "ball" or (kind in ("unit", "blocks") and len(rest) == 1)):
        if kind == "blocks":
            return _blocks(rest[0], d)
        return Bounds(np.zeros(d) if kind == "unit" else None, None, _balls(d, *rest))
    if isinstance(kind, str) or len(domain) != 2:
        raise ValueError(f"domain must be {FORMS}, got {domain!r}")
    return _box(kind, rest[0], d)


def _box(lowest: Any, highest: Any, d: int) -> Bounds:
    low, high = _bound("low", lowest, d), _bound("high", highest, d)
    wrong = np.flatnonzero((low > high) | (low == np.inf) | (high == -np.inf))
    if len(wrong):
        j = wrong[0]
        raise ValueError(f"domain must have low ≤ high, got low={low[j]} and high={high[j]} for feature {j}")
    return Bounds(low, high)


def _bound(name: str, bound: Any, d: int) -> Floats:
    array = real_array(f"domain's {name}", bound)
    if array.shape not in ((), (d,)):
        raise ValueError(f"domain's {name} must be one number or have shape ({d},), got {array.shape}")
    if np.isnan(array).any():
        raise ValueError(f"domain's {name} must not be NaN")
    return np.array(np.broadcast_to(array, (d,)))


def _balls(d: int, radius: Any, centre: Any = 0.0) -> tuple[Ball, ...]:
    size, middle = finite_array("domain's radius", radius), finite_array("domain's centre", centre)
    if size.shape != () or not size > 0:
        raise ValueError(f"domain's radius must be one positive number, got {radius!r}")
    if middle.shape not in ((), (d,)):
        raise ValueError(f"domain's centre must be one number or have shape ({d},), got {middle.shape}")
    return (Ball(0, d, float(size), np.array(np.broadcast_to(middle, (d,)))),)


def _blocks(blocks: Any, d: int) -> Bounds:
    """Put the domains of neighbouring parts of the features together."""
    try:
        pairs = [(n, domain) for n, domain in blocks]
    except (TypeError, ValueError) as error:
        raise ValueError(f"domain's blocks must be pairs (n_features, domain), got {blocks!r}") from error
    sizes = [n for n, _ in pairs]
    if not all(isinstance(n, Integral) and int(n) > 0 for n in sizes) or sum(sizes) != d:
        raise ValueError(f"domain's blocks must have {d} features in all, got {sizes}")
    low, high, balls, start = np.full(d, -np.inf), np.full(d, np.inf), [], 0
    for n, domain in pairs:
        part = read_domain(domain, n)
        end = start + int(n)
        low[start:end] = -np.inf if part.low is None else part.low
        high[start:end] = np.inf if part.high is None else part.high
        balls += [replace(ball, start=start + ball.start, stop=start + ball.stop) for ball in part.balls]
        start = end
    return Bounds(low, high, tuple(balls))


def arrays_of_balls(balls: tuple[Ball, ...], d: int) -> dict[str, npt.NDArray[Any]]:
    """Return the arrays by which a file of results keeps balls; none if there are none."""
    if not balls:
        return {}
    centre = np.zeros(d)
    for ball in balls:
        centre[ball.start : ball.stop] = ball.centre
    ends = np.array([(ball.start, ball.stop) for ball in balls], np.int64)
    return {"ball_ends": ends, "ball_radius": np.array([ball.radius for ball in balls]), "ball_centre": centre}


def balls_of_arrays(arrays: dict[str, npt.NDArray[Any]], d: int) -> tuple[Ball, ...]:
    """Return the balls that the arrays of a file tell of; a ValueError says what is wrong with them."""
    if not {"ball_ends", "ball_radius", "ball_centre"} & set(arrays):
        return ()
    ends, radius, centre = (arrays.get(f"ball_{part}", np.empty(0)) for part in ("ends", "radius", "centre"))
    if radius.dtype != np.float64 or radius.ndim != 1 or not (np.isfinite(radius) & (radius > 0)).all():
        raise ValueError("ball_radius: expected positive numbers")
    if ends.dtype != np.int64 or ends.shape != (len(radius), 2):
        raise ValueError("ball_ends: expected two integers for each ball")
    if (ends < 0).any() or (ends > d).any() or (ends[:, 0] >= ends[:, 1]).any():
        raise ValueError(f"ball_ends: expected parts of the {d} features")
    if (ends[1:, 0] < ends[:-1, 1]).any():
        raise ValueError("ball_ends: expected parts that do not overlap, in ascending order")
    if centre.dtype != np.float64 or centre.shape != (d,) or not np.isfinite(centre).all():
        raise ValueError(f"ball_centre: expected {d} finite numbers")
    parts = zip(ends.tolist(), radius.tolist(), strict=True)
    return tuple(Ball(start, stop, size, centre[start:stop]) for (start, stop), size in parts)
