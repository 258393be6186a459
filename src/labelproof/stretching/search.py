"""Find evidence for the stretch of many label sets, and keep what `proof.stretch_bounds` proves of it.

Every set is searched in single precision over a pool of examples; where that leaves a gap, the pool takes in the
examples that would close it, then the set is searched in double precision among its best examples. A set that no
mixture reaches is handed to the verifier, whose conflict proves the stretch infinite.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from threading import local
from typing import Any

import numpy as np
import numpy.typing as npt

from labelproof.foundation.compilation import announcing_compilation
from labelproof.foundation.threads import as_threads_are_free, in_threads, one_blas_thread
from labelproof.proof.labels import LabelSets
from labelproof.proof.stretch_bounds import Mixture, StretchBounds, Weighted, exact_lower
from labelproof.search.engine import decide
from labelproof.stretching.covering_kernels import cover, scratch
from labelproof.stretching.pool import Pool, centre_logits, make_pool, most_examples

__all__ = ["SLACKS", "Asked", "Evidence", "find_evidence"]

Floats = npt.NDArray[np.float64]
Indices = npt.NDArray[np.int64]
NOTHING: Indices = np.empty(0, np.int64)
NO_WEIGHTS: Floats = np.empty(0)
BLOCK = 64  # sets that are proven together
FEWEST_BLOCKS = 8  # of sets, where there are so many: for the threads, however many there are
MOST_ROUNDS = 80  # of the programme of one set
POOLS = 12  # how often the pool may change
VIOLATORS = 32  # examples that join for each set
A_SET = 1024  # examples of a pool for each set: for a few sets the logits of all would take the longest
PRICED = 64  # sets whose examples are ranked together
CANDIDATES = 400  # examples that are looked at in double precision
FAR, VERY_FAR = 1e3, 1e7  # how far the two searches look
SLACKS = 4.0  # times the rounding error that kept bounds leave, so that they hold again elsewhere
HUGE = 1e9  # from here on a bound is likely to be infinite


@dataclass(frozen=True, eq=False)
class Evidence:
    """What is proven of one set's stretch, and by what."""

    lower: float = 0.0
    upper: float = np.inf
    mixture: Mixture = (NOTHING, NO_WEIGHTS)
    weighted: Weighted = (NOTHING, NO_WEIGHTS)
    conflict: Indices = field(default_factory=lambda: NOTHING)

    def is_near(self, tolerance: float) -> bool:
        """Whether the bounds are as close as was asked."""
        return self.lower >= self.upper * (1 - tolerance)

    def or_better(self, other: "Evidence") -> "Evidence":
        """Return the better bound of the two on each side."""
        below = other if other.lower > self.lower else self
        above = other if other.upper < self.upper else self
        return Evidence(below.lower, above.upper, above.mixture, below.weighted, below.conflict)


@dataclass(frozen=True)
class _Effort:
    """How one search is made: how far, and which margins strict and weak inequalities keep, in their scale."""

    far: float
    strict: float
    weak: float


_QUICK = _Effort(FAR, 2e-5, 2e-5)
_CAREFUL = (_Effort(VERY_FAR, 1e-9, 1e-9), _Effort(VERY_FAR, 1e-9, 0.0))


@dataclass(frozen=True, eq=False)
class Asked:
    """What is asked of every set: its bounds, as close as ``tolerance`` says."""

    bounds: StretchBounds
    tolerance: float
    pools: list[Pool] = field(default_factory=list)  # that of all examples, once some block of sets needs it

    def every_example(self, n_jobs: int | None) -> Pool:
        """Return the pool of all examples, which is made once."""
        if not self.pools:
            examples = self.bounds.examples
            self.pools.append(make_pool(self.bounds.layer, examples, np.arange(len(examples)), n_jobs=n_jobs))
        return self.pools[0]


def find_evidence(
    asked: Asked,
    sets: LabelSets,
    n_jobs: int | None = None,
    advance: Callable[[int], None] = lambda _: None,
) -> list[Evidence]:
    """Return proven bounds of the stretch of every set, the same with any number of threads.

    ``advance`` is told how many sets are done.
    """
    with announcing_compilation(), one_blas_thread():
        searcher = _Searcher(asked, sets, n_jobs)
        searcher.search_pools(advance)
        left = len(searcher.far_from_done())
        searcher.prove_infinite()
        searcher.search_carefully()
        advance(left)
    return searcher.evidence


class _Searcher:
    """The state of one search: the best evidence of every set so far."""

    def __init__(self, asked: Asked, sets: LabelSets, n_jobs: int | None) -> None:
        self.asked, self.bounds, self.tolerance = asked, asked.bounds, asked.tolerance
        self.layer, self.examples, self.sets, self.n_jobs = self.bounds.layer, self.bounds.examples, sets, n_jobs
        self.evidence = [Evidence() for _ in range(len(sets))]
        self.centre = centre_logits(self.layer, self.examples)
        self.of_thread = local()

    def far_from_done(self) -> list[int]:
        """Return the sets whose bounds are too far apart."""
        return [i for i, found in enumerate(self.evidence) if not found.is_near(self.tolerance)]

    def search_pools(self, advance: Callable[[int], None]) -> None:
        """Search all sets among a pool, which takes in further examples while that helps."""
        n = len(self.examples)
        capacity = min(most_examples(n, self.layer.n_labels), A_SET * len(self.sets))
        places = np.arange(n) if capacity == n else np.unique(np.linspace(0, n - 1, capacity // 2).astype(np.int64))
        pending = list(range(len(self.sets)))
        if not pending:
            return
        wanted = self._violators(pending, n_jobs=self.n_jobs)[: capacity // 2] if capacity < n else NOTHING
        for _ in range(POOLS if capacity < n else 1):
            chosen = np.union1d(wanted, places[: max(0, capacity - len(wanted))])
            pool = self._pool(chosen)
            work = partial(self._search_block, pool)
            for some in in_threads(work, _parts(pending), self.n_jobs):
                advance(sum(self.evidence[i].is_near(self.tolerance) for i in some))
            pending = [i for i in pending if not self.evidence[i].is_near(self.tolerance)]
            violators = self._violators(pending, n_jobs=self.n_jobs) if len(chosen) < n else NOTHING
            new = violators[~np.isin(violators, chosen)][: capacity // 2]
            if not len(new):
                break
            wanted = np.concatenate([new, wanted[~np.isin(wanted, new)]])[:capacity]

    def _pool(self, chosen: Indices) -> Pool:
        if len(chosen) == len(self.examples):
            return self.asked.every_example(self.n_jobs)
        return make_pool(self.layer, self.examples, chosen, n_jobs=self.n_jobs)

    def prove_infinite(self) -> None:
        """Ask the verifier about the sets that no mixture was found for."""
        far = [i for i in self.far_from_done() if self.evidence[i].upper == np.inf]
        if not far:
            return
        sets = self.sets.take(far)
        findings = decide(self.bounds.pinned, sets, n_jobs=self.n_jobs)
        conflicts = [NOTHING if found.conflict is None else found.conflict for found in findings]
        faults = self.bounds.conflict_faults(sets, conflicts)
        for i, conflict, fault in zip(far, conflicts, faults, strict=True):
            if fault is None:
                self.evidence[i] = Evidence(np.inf, np.inf, conflict=conflict)

    def search_carefully(self) -> None:
        """Search what is left one by one in double precision, among the most promising examples."""
        for effort in _CAREFUL:
            left = self.far_from_done()
            for _ in in_threads(partial(self._search_one, effort), left, self.n_jobs):
                pass

    def _search_one(self, effort: _Effort, i: int) -> None:
        candidates = np.union1d(self.evidence[i].mixture[0], self._violators([i], CANDIDATES))
        for _ in range(POOLS):
            pool = make_pool(self.layer, self.examples, candidates, np.float64, n_jobs=1)
            self._keep([i], [self._cover(pool, effort, i)])
            more = np.union1d(candidates, self._violators([i], CANDIDATES))
            if self.evidence[i].is_near(self.tolerance) or len(more) == len(candidates):
                break
            candidates = more
        found = self.evidence[i]
        if found.lower > HUGE and found.upper == np.inf:
            rows, theta = found.weighted
            short = np.round(theta / theta[theta > 0].min() * 720) / 720  # a guess at the fractions behind
            if exact_lower(self.layer, self.examples, self.sets[i], rows, short) == np.inf:
                self.evidence[i] = Evidence(np.inf, np.inf, weighted=(rows, short))

    def _search_block(self, pool: Pool, some: list[int]) -> list[int]:
        self._keep(some, [self._cover(pool, _QUICK, i) for i in some])
        return some

    def _keep(self, some: Sequence[int], guesses: list[tuple[Mixture, Weighted]]) -> None:
        """Prove guesses and keep what is better than before."""
        sets = self.sets.take(some)
        uppers = self.bounds.uppers(sets, [mixture for mixture, _ in guesses])
        lowers = self.bounds.lowers(sets, [weighted for _, weighted in guesses])
        for i, (mixture, weighted), low, high in zip(some, guesses, lowers.tolist(), uppers.tolist(), strict=True):
            self.evidence[i] = self.evidence[i].or_better(Evidence(low, high, mixture, weighted))

    def _violators(self, which: Sequence[int], most: int = VIOLATORS, n_jobs: int | None = 1) -> Indices:
        """Return the examples that lie farthest on the weighted labels of some sets, those of the most sets first."""
        found, most = [NOTHING], min(most, len(self.examples))
        for start in range(0, len(which), PRICED):
            directions = np.array([self._direction(i) for i in which[start : start + PRICED]]).T  # (d, n_sets)
            products = np.concatenate(self._products(directions, n_jobs))
            found += [np.argpartition(-column, most - 1)[:most] for column in np.ascontiguousarray(products.T)]
        examples, counts = np.unique(np.concatenate(found), return_counts=True)
        return examples[np.argsort(-counts, kind="stable")]

    def _products(self, directions: Floats, n_jobs: int | None) -> list[Floats]:
        def work(block: Any) -> Floats:
            return np.asarray(block @ directions)

        blocks = self.examples.blocks()
        return [work(block) for block in blocks] if n_jobs == 1 else list(as_threads_are_free(work, blocks, n_jobs))

    def _direction(self, i: int) -> Floats:
        """Return the gradient of a set's weighted logits; without weighted labels, of the sum of its active ones."""
        rows, theta = self.evidence[i].weighted
        active = self.sets[i]
        if not len(rows):
            rows = active if len(active) else np.flatnonzero(self.centre > 0)
            theta = np.ones(len(rows))
        direction: Floats = (theta * np.where(np.isin(rows, active), 1.0, -1.0)) @ self.layer.weight[rows]
        return direction

    def _cover(self, pool: Pool, effort: _Effort, i: int) -> tuple[Mixture, Weighted]:
        """Guess a mixture and weighted labels of one set."""
        active, is_topk = self.sets[i], self.layer.rule == "topk"
        on = np.zeros(self.layer.n_labels, np.bool_)
        on[active] = True
        if is_topk and (not len(active) or on.all()):
            return (NOTHING, NO_WEIGHTS), (NOTHING, NO_WEIGHTS)
        signs = np.where(on, 1.0, -1.0)
        is_strict = on if self.layer.ties == "inactive" and not is_topk else np.ones_like(on)
        margin = np.where(is_strict, effort.strict, effort.weak) * pool.scale
        middle = 0.5 * (self.centre[on].min() + self.centre[~on].max()) if is_topk else 0.0
        needed = margin - signs * (self.centre - middle)
        if (needed <= 0).all():
            return (NOTHING, NO_WEIGHTS), (NOTHING, NO_WEIGHTS)
        table, numbers, integers, lam, theta, found = self._scratch(pool)
        known, places = self.evidence[i].mixture[0], pool.places
        first = np.searchsorted(places, known)
        first = first[(first < len(places)) & (places[np.minimum(first, len(places) - 1)] == known)]
        cover(
            *(pool.beyond, pool.transposed, signs, needed, margin, pool.scale, first, is_topk),
            *(effort.far, 0.8 * self.tolerance, MOST_ROUNDS, table, numbers, integers, lam, theta, found),
        )
        mixed, weighted = np.flatnonzero(lam), np.flatnonzero(theta)
        mixture = (places[mixed], lam[mixed].copy()) if np.isfinite(found[1]) else (NOTHING, NO_WEIGHTS)
        return mixture, (weighted, _even(theta[weighted], signs[weighted]) if is_topk else theta[weighted].copy())

    def _scratch(self, pool: Pool) -> tuple[npt.NDArray[Any], ...]:
        """Return this thread's scratch for a pool."""
        kept = getattr(self.of_thread, "scratch", None)
        if kept is None or kept[0] != len(pool.places):
            L, P = self.layer.n_labels, len(pool.places)
            kept = (P, (*scratch(P, L), np.zeros(P), np.zeros(L), np.zeros(2)))
            self.of_thread.scratch = kept
        kept[1][-1][:] = 0.0, np.inf
        return kept[1]


def _even(theta: Floats, signs: Floats) -> Floats:
    """Round multipliers to whole numbers whose sums over active and inactive labels are the same."""
    if not len(theta):
        return theta
    whole = np.round(theta / theta.max() * 2.0**40)
    for _ in range(3):
        excess = float((whole * signs).sum())
        if not excess:
            break
        k = int(np.argmax(np.where(signs * excess > 0, whole, -1.0)))
        whole[k] -= min(abs(excess), whole[k])
    return whole


def _parts(items: list[int]) -> list[list[int]]:
    size = min(BLOCK, max(1, -(-len(items) // FEWEST_BLOCKS)))
    return [items[start : start + size] for start in range(0, len(items), size)]
