"""The Chebyshev radius of each argmaxable label set's region within a box, between proven bounds."""

from collections.abc import Callable
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from labelproof.foundation.threads import in_threads
from labelproof.proof.labels import LabelSets
from labelproof.proof.radius_bounds import Radii, RadiusBounds
from labelproof.proof.regions import OutputLayer
from labelproof.proof.rounding import Witness, float_rows

__all__ = ["as_floats", "measure_radii"]

Floats = npt.NDArray[np.float64]
Indices = npt.NDArray[np.int64]
Scores = npt.NDArray[np.float32]
MOST = Fraction(10) ** 300
LOOSE = 1e-12  # bounds are kept looser by this share, and by some slack, so that they hold again elsewhere


def as_floats(witness: Witness) -> Floats:
    """Return a point near the witness; one beyond the floats is cut off."""
    return np.array([float(min(max(c, -MOST), MOST)) for c in witness]) if isinstance(witness, tuple) else witness


def measure_radii(
    layer: OutputLayer,
    label_sets: LabelSets,
    witnesses: dict[int, Floats],
    box: float,
    n_jobs: int | None,
    advance: Callable[[int], None] = lambda _: None,
) -> Radii:
    """Measure the radius of the given label sets, each from a point of its region or near it."""
    bounds = RadiusBounds(layer, float_rows(layer), box, slacks=3.0)
    problem = _Problem(bounds)

    def work(some: list[int]) -> list[tuple[float, float, Floats, Indices, Floats]]:
        return _measure(problem, [label_sets[i] for i in some], [witnesses[i] for i in some])

    which, found = list(witnesses), []
    for some in in_threads(work, [which[start : start + 16] for start in range(0, len(which), 16)], n_jobs):
        found += some
        advance(len(some))
    return Radii(
        box,
        np.array(which, np.int64),
        np.array([lower for lower, *_ in found], np.float64),
        np.array([upper for _, upper, *_ in found], np.float64),
        np.array([center for _, _, center, *_ in found], np.float64).reshape(-1, layer.d),
        np.concatenate([[0], np.cumsum([len(rows) for *_, rows, _ in found])]).astype(np.int64),
        np.concatenate([np.empty(0, np.int64), *(rows for *_, rows, _ in found)]),
        np.concatenate([np.empty(0), *(multipliers for *_, multipliers in found)]),
    )


class _Problem:
    """The linear programme in units of the box, over unit rows; labels without weights are left out."""

    def __init__(self, bounds: RadiusBounds) -> None:
        layer, box = bounds.layer, bounds.box
        self.layer, self.bounds = layer, bounds
        largest = np.frexp(np.abs(layer.weight).max(axis=1))[1]
        scaled = np.ldexp(layer.weight, -largest[:, None])
        norms = np.linalg.norm(scaled, axis=1)
        self.labels = np.flatnonzero(norms)
        self.rows = np.ascontiguousarray(scaled[self.labels] / norms[self.labels, None])
        offset = np.zeros(layer.n_labels) if layer.offset is None else layer.offset
        with np.errstate(over="ignore"):
            shifted = np.ldexp(offset, -largest)[self.labels] / norms[self.labels] / box
        self.offset = np.clip(shifted, -1e30, 1e30)
        self.rows32, self.offset32 = self.rows.astype(np.float32), self.offset.astype(np.float32)
        self.low, self.high = bounds.low / box, bounds.high / box

    def signs(self, active: Indices) -> Scores:
        """Return 1 for the rows of active labels, -1 for the others."""
        signs = np.full(self.layer.n_labels, -1.0, np.float32)
        signs[active] = 1.0
        return signs if len(self.labels) == len(signs) else signs[self.labels]

    def scores(self, x: Floats) -> Scores:
        """Return float32 (n_points, n_rows): each row's value at each point. They pick rows and prove nothing."""
        scores: Scores = x.astype(np.float32) @ self.rows32.T
        if self.layer.offset is not None:
            scores += self.offset32
        return scores


def _lowest(scores: Scores, most: int) -> Indices:
    """Return the places of the lowest scores, about so many: a sample of long rows tells where to cut."""
    if len(scores) <= most:
        return np.arange(len(scores))
    if len(scores) > 20 * most and most >= 64:
        places = np.flatnonzero(scores <= np.partition(scores[::8], most // 8)[most // 8])
        if most // 2 <= len(places) <= 2 * most:
            return places
    return np.argpartition(scores, most)[:most]


def _measure(
    problem: _Problem, sets: list[Indices], witnesses: list[Floats]
) -> list[tuple[float, float, Floats, Indices, Floats]]:
    """Return lower and upper bound, centre, labels and multipliers for each set."""
    layer, bounds = problem.layer, problem.bounds
    low, high, box = bounds.low, bounds.high, bounds.box
    stretch = [box / np.abs(x).max() if layer.is_cone and x.any() else 1.0 for x in witnesses]
    near = [np.clip(x * factor, low, high) for x, factor in zip(witnesses, stretch, strict=True)]
    if not len(problem.labels) or not (low <= high).all():
        nothing = np.empty(0, np.int64), np.empty(0)
        pairs = [(bounds.lower(a, x), bounds.upper(a, *nothing)) for a, x in zip(sets, near, strict=True)]
        return [(max(low, 0.0), high, x, *nothing) for (low, high), x in zip(pairs, near, strict=True)]
    solved = _solve(problem, sets, np.array(near) / box)
    centers = np.clip(np.array([programme.v[: layer.d] for programme in solved]) * box, low, high)
    lowest = bounds.lower_of_many(sets, centers)
    found = []
    for i, (active, programme) in enumerate(zip(sets, solved, strict=True)):
        rows, weights = programme.multipliers()
        if lowest[i] <= 0:  # the witness at least is inside
            lowest[i], centers[i] = bounds.lower(active, near[i]), near[i]
        norms = np.linalg.norm(bounds.floats.rows[rows, : layer.d], axis=1)
        multipliers = weights / np.where(norms > 0, norms, 1.0)  # a norm may underflow beside a large offset
        upper = bounds.upper(active, rows, multipliers)
        lower, upper = max(lowest[i], 0.0) * (1 - LOOSE), max(upper, 0.0) * (1 + LOOSE)
        found.append((lower, upper, centers[i], rows, multipliers))
    return found


def _solve(problem: _Problem, sets: list[Indices], near: Floats) -> list["_Programme"]:
    """Solve the programmes of some label sets, each on a growing set of rows; all rows are scored for all at once."""
    programmes = [_Programme(problem, active, z) for active, z in zip(sets, problem.scores(near), strict=True)]
    unsolved = programmes
    while unsolved:
        unsolved = [programme for programme in unsolved if programme.solve()]
        if unsolved:
            scores = problem.scores(np.array([programme.v[:-1] for programme in unsolved]))
            unsolved = [programme for programme, z in zip(unsolved, scores, strict=True) if programme.extend(z)]
    return programmes


class _Programme:
    """The programme of one label set on its working rows, and the state of the method."""

    def __init__(self, problem: _Problem, active: Indices, values: Scores) -> None:
        from labelproof.search.radius_kernels import coordinates, first_basis

        self.problem, self.signs = problem, problem.signs(active)
        scores = self.signs * values
        self.inside = self.signs > 0
        self.inside[_lowest(scores, 2 * problem.layer.d)] = True
        places = np.flatnonzero(self.inside)
        self.places = places[np.argsort(scores[places])]  # the method starts from the first
        self.G, self.h = self._rows(self.places)
        self.basis, units, self.v, self.lam = first_basis(self.G, self.h, problem.low, problem.high)
        self.T = coordinates(self.G, units)

    def _rows(self, places: Indices) -> tuple[Floats, Floats]:
        """Return working rows, with their signs, and their right-hand sides."""
        signs = self.signs[places].astype(np.float64)
        return signs[:, None] * self.problem.rows[places], -signs * self.problem.offset[places]

    def solve(self) -> bool:
        """Solve for the working rows; return whether that worked."""
        from labelproof.search.radius_kernels import OPTIMAL, solve_working_set

        bounds = self.problem.low, self.problem.high
        max_steps = 50 * len(self.v) + 2000
        state = self.basis, self.T, self.v, self.lam
        try:
            outcome, _ = solve_working_set(self.G, self.h, *bounds, *state, 1e-10, max_steps)
        except np.linalg.LinAlgError:  # rows so nearly parallel that their basis has no inverse in float64
            return False
        return bool(outcome == OPTIMAL)

    def extend(self, values: Scores) -> bool:
        """Add the worst of the other rows, given all rows' values at x; return whether there were any."""
        from labelproof.search.radius_kernels import coordinates

        scores = self.signs * values
        scores[self.places] = np.inf
        eps, most = self.v[-1], max(30, self.problem.layer.d // 2)
        gap = eps - scores.min()
        if not gap > 3e-7 * abs(eps) + 1e-12:  # float32 sees no more, or NaN; the bounds tell the truth
            return False
        new = np.flatnonzero(scores < eps - 0.3 * gap)
        if len(new) > most:
            new = new[_lowest(scores[new], most)]
        G, h = self._rows(new)
        self.T = coordinates(G, self.T)
        self.G, self.h = np.concatenate([self.G, G]), np.concatenate([self.h, h])
        self.places = np.concatenate([self.places, new])
        return True

    def multipliers(self) -> tuple[Indices, Floats]:
        """Return the labels of the basis, and their multipliers."""
        first = 2 * self.problem.layer.d
        chosen = (self.basis >= first) & (self.lam > 0)
        return self.problem.labels[self.places[self.basis[chosen] - first]], self.lam[chosen]
