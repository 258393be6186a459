"""Verify label sets in blocks over threads: search, then prove, then settle exactly what is left."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, partial
from itertools import pairwise
from math import inf

import numpy as np
import numpy.typing as npt

from labelproof.foundation.compilation import announcing_compilation
from labelproof.foundation.threads import in_threads, one_blas_thread
from labelproof.proof.conflicts import conflict_faults
from labelproof.proof.labels import LabelSets
from labelproof.proof.regions import OutputLayer
from labelproof.proof.rounding import FloatRows, Witness, float_rows
from labelproof.proof.witnesses import witness_faults
from labelproof.search.column_engine import decide_by_columns
from labelproof.search.doubled import DoubledRows, search_doubled
from labelproof.search.exact import float_witnesses, point_witness, settle
from labelproof.search.few_features import (
    first_features,
    has_features_to_spare,
    search_few_features,
    searches_in_columns,
)
from labelproof.search.findings import Finding
from labelproof.search.many_bits import ExtendedRows, search_extended
from labelproof.search.propose import Guesses, hot_rows, search, search_one
from labelproof.search.shared_conflicts import settle_together
from labelproof.search.systems import SearchSystem, search_system
from labelproof.search.time_limits import OutOfTimeError, deadline_after, now, out_of_time, time_left

__all__ = ["Prepared", "blocks", "decide", "prepare"]

Indices = npt.NDArray[np.int64]
FIRST = 48  # label sets that show which rows matter
SMALL = 16  # up to this width exact arithmetic is as fast as any
SECONDS_A_NUMBER = 4e-8  # to prove a conflict, for each number in its rows
SECONDS_OF_A_SOLUTION = 5e-8  # to prove a conflict of one row exactly; n³ as many for n rows
Finer = Callable[[Indices, Indices, float], tuple[int, list[Fraction], Indices]]
MOST_EXTENDED = 4_000_000  # rows × width that are worth converting to extended precision


def blocks(sets: LabelSets, size: int) -> list[LabelSets]:
    """Cut label sets into as few blocks of at most this size as possible, none much smaller than the others."""
    n_blocks = -(-len(sets) // size)
    ends = [len(sets) * i // n_blocks for i in range(n_blocks + 1)] if n_blocks else []
    return [sets.slice(start, stop) for start, stop in pairwise(ends)]


@dataclass(frozen=True, eq=False)
class Prepared:
    """A layer in the forms that searching and proving need, for any number of calls of `decide`."""

    layer: OutputLayer
    system: SearchSystem
    doubled: DoubledRows
    extended: ExtendedRows
    many_rows: bool = False  # whether conflicts may have more rows than they need

    @cached_property
    def floats(self) -> FloatRows:
        """The rows for proofs of witnesses."""
        return float_rows(self.layer)


def prepare(layer: OutputLayer, deadline: float = inf, *, many_rows: bool = False) -> Prepared:
    """Scale a layer's rows for search and proof; of sparse weights this makes dense copies."""
    layer = layer.dense()
    system = search_system(layer, deadline)
    many_rows = many_rows and (layer.offset_error is None or not layer.offset_error.any())
    return Prepared(layer, system, DoubledRows(layer, system), ExtendedRows(layer, system), many_rows)


def decide(
    layer: OutputLayer,
    sets: LabelSets,
    *,
    n_jobs: int | None = None,
    time_limit: float | None = None,
    advance: Callable[[int], None] = lambda _: None,
    prepared: Prepared | None = None,
    many_rows: bool = False,
) -> list[Finding]:
    """Return proven evidence for every label set; ``advance`` is told how many sets each block has completed.

    With ``many_rows`` conflicts of wide layers may have more rows than they need, which takes less time.

    The first block also finds the rows that matter most often, from which all others start; so the result does not
    depend on the number of threads.
    """
    if not len(sets):
        return []
    is_wide = prepared is None and has_features_to_spare(layer)
    if layer.balls or (prepared is None and searches_in_columns(layer)):

        def by_rows(one: OutputLayer, some: LabelSets, seconds: float | None) -> list[Finding]:
            if layer.balls:
                return decide(one, some, n_jobs=n_jobs, time_limit=seconds)
            if is_wide:
                return _decide_wide(one, some, n_jobs, seconds, lambda _: None)
            return [Finding(reason="the search in columns ended without a result")] * len(some)

        return decide_by_columns(layer, sets, by_rows, n_jobs=n_jobs, time_limit=time_limit, advance=advance)
    if is_wide:
        return _decide_wide(layer, sets, n_jobs, time_limit, advance)
    with announcing_compilation(), one_blas_thread():
        prepared = prepared or prepare(layer, many_rows=many_rows)
        settled = settle_together(prepared.layer, prepared.system, sets, time_limit)
        advance(len(settled))
        left = [i for i in range(len(sets)) if i not in settled]
        found = iter(_decide_each(prepared, sets.take(left) if settled else sets, n_jobs, time_limit, advance))
        return [Finding(conflict=settled[i]) if i in settled else next(found) for i in range(len(sets))]


def _decide_each(
    job: Prepared, sets: LabelSets, n_jobs: int | None, time_limit: float | None, advance: Callable[[int], None]
) -> list[Finding]:
    """Search and prove for every label set by itself, the first block before all others."""
    if not len(sets):
        return []
    first = sets.slice(0, min(FIRST, len(sets)))
    others = blocks(sets.slice(len(first), len(sets)), _block_size(job.system.width))
    evidence, tight = _decide_block(job, first, np.empty(0, np.int64), time_limit)
    advance(len(first))
    hot = hot_rows(tight)

    def work(block: LabelSets) -> list[Finding]:
        return _decide_block(job, block, hot, time_limit)[0]

    for block, found in zip(others, in_threads(work, others, n_jobs), strict=True):
        evidence += found
        advance(len(block))
    return evidence


def _decide_wide(
    layer: OutputLayer,
    sets: LabelSets,
    n_jobs: int | None,
    time_limit: float | None,
    advance: Callable[[int], None],
) -> list[Finding]:
    """Search with few features at a time, and prove what is found for all of them."""
    floats, kept = float_rows(layer), first_features(layer)
    begin = now()  # what prepares the layer is no label set's time

    def decide_restricted(restricted: OutputLayer, some: LabelSets, seconds: float | None) -> list[Finding]:
        start = now()
        try:
            prepared = prepare(restricted, deadline_after(None if seconds is None else seconds * len(some)))
        except OutOfTimeError:
            return [Finding(reason=out_of_time(time_limit))] * len(some)
        return decide(
            restricted, some, n_jobs=n_jobs, time_limit=time_left(seconds, start, len(some)), prepared=prepared
        )

    evidence = search_few_features(layer, kept, sets, decide_restricted, time_limit)
    for i, found in enumerate(evidence):
        seconds = time_left(time_limit, begin, len(sets))
        if seconds is not None and seconds < _seconds_of_a_proof(layer, found):
            evidence[i] = Finding(reason=out_of_time(time_limit))
        else:
            evidence[i] = _proven(layer, floats, sets.slice(i, i + 1), found)
        advance(1)
    return evidence


def _seconds_of_a_proof(layer: OutputLayer, found: Finding) -> float:
    return 0.0 if found.conflict is None else SECONDS_A_NUMBER * len(found.conflict) * layer.d


def _proven(layer: OutputLayer, floats: FloatRows, one: LabelSets, found: Finding) -> Finding:
    """Return what was found for one label set if it is a proof."""
    fault = None
    if found.witness is not None:
        fault = witness_faults(layer, floats, one, [found.witness])[0]
    elif found.conflict is not None:
        fault = conflict_faults(layer, one, [found.conflict])[0]
    return found if fault is None else Finding(reason=f"no proof: {fault}")


def _block_size(width: int) -> int:
    return int(np.clip(16000 // width, 8, 320))


def _decide_block(
    job: Prepared, sets: LabelSets, hot: Indices, time_limit: float | None
) -> tuple[list[Finding], npt.NDArray[np.int64]]:
    start = now()
    guesses = search(job.layer, job.system, sets, hot, time_limit, many_rows=job.many_rows)
    evidence = _prove(job, sets, guesses, time_left(time_limit, start, len(sets)))
    seconds = time_left(time_limit, start, len(sets))
    for i, known in enumerate(evidence):
        if known.reason:
            weakly = guesses.outcome[i] == 0 and not _any_strict(job.layer, guesses.rows[i], sets[i])
            found = _escalate(job, sets.slice(i, i + 1), guesses.rows[i], deadline_after(seconds), weakly)
            evidence[i] = found or Finding(reason=out_of_time(time_limit))
    return evidence, guesses.tight


def _prove(job: Prepared, sets: LabelSets, guesses: Guesses, seconds: float | None) -> list[Finding]:
    """Turn guesses into proven evidence; the reason says where that fails, or would take more seconds for a set."""
    evidence = [Finding(reason="the search ended without a result")] * len(sets)
    points = np.flatnonzero(guesses.outcome == 1).tolist()
    if points:
        some = sets.take(points)
        witnesses = list(float_witnesses(job.layer, job.system, some, guesses.points[points]))
        for i, x, fault in zip(points, witnesses, witness_faults(job.layer, job.floats, some, witnesses), strict=True):
            evidence[i] = Finding(point=x) if fault is None else Finding(reason=fault)
    clashes = np.flatnonzero(guesses.outcome == 0).tolist()
    conflicts = [np.sort(guesses.rows[i]) for i in clashes]
    faults = conflict_faults(job.layer, sets.take(clashes), conflicts, partial(_may_solve, seconds), job.floats)
    for i, rows, fault in zip(clashes, conflicts, faults, strict=True):
        evidence[i] = Finding(conflict=rows) if fault is None else Finding(reason=fault)
    return evidence


def _escalate(
    job: Prepared, one: LabelSets, start: Indices, deadline: float, conflicts_weakly: bool = False
) -> Finding | None:
    """Decide one label set with ever more digits, at last exactly; None if the deadline passes before."""
    try:
        if len(start) > job.system.width + 1:
            fewer = _prove_few_rows(job, one, deadline)
            if not fewer.reason:
                return fewer
            start = start[: job.system.width]
        if conflicts_weakly:
            boundary = _on_the_boundary(job, one, start, deadline)
            if not boundary.reason:
                return boundary
        for evidence, rows in _finer_searches(job, one, start, deadline):
            if not evidence.reason:
                return evidence
            start = rows
        found = settle(job.layer, job.system, one[0], start, deadline)
    except OutOfTimeError:
        return None
    return _proven_exactly(job, one, found)


def _proven_exactly(job: Prepared, one: LabelSets, found: tuple[Fraction, ...] | Indices) -> Finding:
    """Prove what `settle` has found, which has taken far longer."""
    return _prove_witness(job, one, found) if isinstance(found, tuple) else _prove_conflict(job, one, found, inf)


def _prove_few_rows(job: Prepared, one: LabelSets, deadline: float) -> Finding:
    """Look for a conflict of as few rows as it needs, where one of many rows was not proven."""
    places = job.system.sample.conflict(job.layer.n_labels, one[0])
    if places is None:
        return Finding(reason="no conflict of few rows was found")
    return _prove_conflict(job, one, job.system.numbers[places], deadline)


def _may_solve(seconds: float | None, n_rows: int) -> bool:
    """Return whether there is time to prove a conflict of so many rows exactly."""
    return seconds is None or SECONDS_OF_A_SOLUTION * n_rows**3 < seconds


def _any_strict(layer: OutputLayer, rows: Indices, active: Indices) -> bool:
    return any(layer.is_strict(row, active) for row in rows.tolist())


def _on_the_boundary(job: Prepared, one: LabelSets, start: Indices, deadline: float) -> Finding:
    """Decide a label set whose weak rows leave no inside: they are to be 0 at least, and those that are exactly 0.

    A conflict of weak rows alone makes each of them an equality wherever all of them hold. The rows that are tight at
    the point found are what `settle` needs to find it in exact numbers, mostly in one solution.
    """
    layer, active = job.layer, one[0]
    wanted = np.array([float(layer.is_strict(row, active)) for row in job.system.numbers.tolist()])
    guesses = search_one(layer, job.system, one, start, deadline, wanted)
    if guesses.outcome[0] == 0:
        return _prove_conflict(job, one, guesses.rows[0], deadline)
    return _proven_exactly(job, one, settle(layer, job.system, active, guesses.rows[0], deadline))


def _finer_searches(
    job: Prepared, one: LabelSets, start: Indices, deadline: float
) -> Iterator[tuple[Finding, Indices]]:
    """Yield what each finer search can prove, and the rows that it ended with."""
    if job.system.width <= SMALL:
        return
    guesses = search_one(job.layer, job.system, one, start, deadline)
    yield _prove(job, one, guesses, deadline - now())[0], guesses.rows[0]
    finer: list[Finer] = [partial(search_doubled, job.doubled)]
    if job.system.rows.size <= MOST_EXTENDED and not len(job.system.fixed):
        finer += [partial(search_extended, job.extended, bits) for bits in (384, 768, 1536)]
    rows = guesses.rows[0]
    for search_again in finer:
        outcome, point, rows = search_again(one[0], rows, deadline)
        if outcome == 1:
            yield _prove_witness(job, one, point_witness(job.layer, job.system, one[0], point)), rows
        elif outcome == 0:
            yield _prove_conflict(job, one, rows, deadline), rows


def _prove_witness(job: Prepared, one: LabelSets, x: tuple[Fraction, ...]) -> Finding:
    """Prove with the nearest floats if they will do, else with the fractions."""
    fault: str | None = None
    for candidate in (_rounded(x), x):
        fault = witness_faults(job.layer, job.floats, one, [candidate])[0]
        if fault is None:
            return Finding(point=candidate)
    return Finding(reason=f"no proof: {fault}")


def _prove_conflict(job: Prepared, one: LabelSets, rows: Indices, deadline: float) -> Finding:
    fault = conflict_faults(job.layer, one, [np.sort(rows)], partial(_may_solve, deadline - now()))[0]
    return Finding(conflict=np.sort(rows)) if fault is None else Finding(reason=f"no proof: {fault}")


def _rounded(x: tuple[Fraction, ...]) -> Witness:
    try:
        return np.array([float(c) for c in x])
    except OverflowError:
        return x
