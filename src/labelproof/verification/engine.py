"""Verify label sets in blocks over threads: search, then prove, then settle exactly what is left."""

import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from importlib import import_module
from typing import TypeVar

import numpy as np
import numpy.typing as npt
from threadpoolctl import ThreadpoolController

from labelproof.parallel.threads import usable_cores
from labelproof.verification.compilation import announcing_compilation
from labelproof.verification.evidence import Evidence
from labelproof.verification.exact import float_witness, point_witness, settle
from labelproof.verification.extended import ExtendedRows, search_extended
from labelproof.verification.labels import LabelSets
from labelproof.verification.proofs import FloatRows, Witness, conflict_faults, float_rows, witness_faults
from labelproof.verification.propose import (
    Guesses,
    OutOfTimeError,
    SearchSystem,
    hot_rows,
    search,
    search_one,
    search_system,
)
from labelproof.verification.regions import OutputLayer
from labelproof.verification.wide import has_features_to_spare, search_few_features

__all__ = ["Evidence", "Prepared", "blocks", "decide", "in_threads", "one_blas_thread", "prepare"]

Indices = npt.NDArray[np.int64]
T = TypeVar("T")
R = TypeVar("R")
FIRST = 48  # label sets that show which rows matter
SMALL = 16  # up to this width exact arithmetic is as fast as any
MOST_EXTENDED = 4_000_000  # rows × width that are worth converting to extended precision


def in_threads(work: Callable[[T], R], items: Iterable[T], n_jobs: int | None) -> Iterator[R]:
    """Yield work(item) for every item, in order, from n_jobs threads (default: the cores this process may use)."""
    with one_blas_thread(), ThreadPoolExecutor(n_jobs or usable_cores()) as pool:
        yield from pool.map(work, items)


def one_blas_thread() -> AbstractContextManager[object]:
    """Keep BLAS to one thread, since our own threads share the cores; also the BLAS that compiled code calls."""
    return _blas().limit(limits=1, user_api="blas")


@cache
def _blas() -> ThreadpoolController:
    import_module("scipy.linalg.cython_blas")  # the controller knows only libraries that are loaded
    return ThreadpoolController()


def blocks(sets: LabelSets, size: int) -> list[LabelSets]:
    """Cut label sets into blocks of at most this size."""
    return [sets.slice(start, min(start + size, len(sets))) for start in range(0, len(sets), size)]


@dataclass(frozen=True, eq=False)
class Prepared:
    """A layer in the forms that searching and proving need, for any number of calls of `decide`."""

    layer: OutputLayer
    system: SearchSystem
    floats: FloatRows
    extended: ExtendedRows


def prepare(layer: OutputLayer) -> Prepared:
    """Scale a layer's rows for search and proof."""
    system = search_system(layer)
    return Prepared(layer, system, float_rows(layer), ExtendedRows(layer, system))


def decide(
    layer: OutputLayer,
    sets: LabelSets,
    *,
    n_jobs: int | None = None,
    time_limit: float | None = None,
    advance: Callable[[int], None] = lambda _: None,
    prepared: Prepared | None = None,
) -> list[Evidence]:
    """Return proven evidence for every label set; ``advance`` is told how many sets each block has completed.

    The first block also finds the rows that matter most often, from which all others start; so the result does not
    depend on the number of threads.
    """
    if not len(sets):
        return []
    if prepared is None and has_features_to_spare(layer):
        return _decide_wide(layer, sets, n_jobs, time_limit, advance)
    with announcing_compilation(), one_blas_thread():
        prepared = prepared or prepare(layer)
        first = sets.slice(0, min(FIRST, len(sets)))
        others = blocks(sets.slice(len(first), len(sets)), _block_size(prepared.system.width))
        evidence, tight = _decide_block(prepared, first, np.empty(0, np.int64), time_limit)
        advance(len(first))
        hot = hot_rows(tight)

        def work(block: LabelSets) -> list[Evidence]:
            return _decide_block(prepared, block, hot, time_limit)[0]

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
) -> list[Evidence]:
    """Search with few features at a time, and prove what is found for all of them."""
    floats = float_rows(layer)

    def decide_narrow(narrow: OutputLayer, some: LabelSets) -> list[Evidence]:
        return decide(narrow, some, n_jobs=n_jobs, time_limit=time_limit, prepared=prepare(narrow))

    evidence = search_few_features(layer, sets, decide_narrow)
    for i, found in enumerate(evidence):
        fault = None
        if found.witness is not None:
            fault = witness_faults(layer, floats, sets.slice(i, i + 1), [found.witness])[0]
        elif found.conflict is not None:
            fault = conflict_faults(layer, sets.slice(i, i + 1), [found.conflict])[0]
        if fault is not None:
            evidence[i] = Evidence(reason=f"no proof: {fault}")
        advance(1)
    return evidence


def _block_size(width: int) -> int:
    return int(np.clip(12800 // width, 8, 256))


def _decide_block(
    job: Prepared, sets: LabelSets, hot: Indices, time_limit: float | None
) -> tuple[list[Evidence], npt.NDArray[np.int64]]:
    guesses = search(job.layer, job.system, sets, hot, time_limit)
    evidence = _prove(job, sets, guesses)
    for i, known in enumerate(evidence):
        if known.reason:
            evidence[i] = _escalate(job, sets.slice(i, i + 1), guesses.rows[i], time_limit)
    return evidence, guesses.tight


def _prove(job: Prepared, sets: LabelSets, guesses: Guesses) -> list[Evidence]:
    """Turn guesses into proven evidence; the reason says where that fails."""
    evidence = [Evidence(reason="the search ended without a result")] * len(sets)
    points = np.flatnonzero(guesses.outcome == 1).tolist()
    witnesses = [float_witness(job.layer, job.system, sets[i], guesses.points[i]) for i in points]
    faults = witness_faults(job.layer, job.floats, sets.take(points), witnesses)
    for i, x, fault in zip(points, witnesses, faults, strict=True):
        evidence[i] = Evidence(witness=x) if fault is None else Evidence(reason=fault)
    clashes = np.flatnonzero(guesses.outcome == 0).tolist()
    conflicts = [np.sort(guesses.rows[i]) for i in clashes]
    faults = conflict_faults(job.layer, sets.take(clashes), conflicts)
    for i, rows, fault in zip(clashes, conflicts, faults, strict=True):
        evidence[i] = Evidence(conflict=rows) if fault is None else Evidence(reason=fault)
    return evidence


def _escalate(job: Prepared, one: LabelSets, start: Indices, time_limit: float | None) -> Evidence:
    """Decide one label set with ever more digits, at last exactly."""
    deadline = np.inf if time_limit is None else time.perf_counter() + time_limit
    try:
        for evidence, rows in _finer_searches(job, one, start, deadline):
            if not evidence.reason:
                return evidence
            start = rows
        found = settle(job.layer, job.system, one[0], start, deadline)
    except OutOfTimeError:
        return Evidence(reason=f"no proof within the time limit of {time_limit} s")
    return _prove_witness(job, one, found) if isinstance(found, tuple) else _prove_conflict(job, one, found)


def _finer_searches(
    job: Prepared, one: LabelSets, start: Indices, deadline: float
) -> Iterator[tuple[Evidence, Indices]]:
    """Yield what each finer search can prove, and the rows that it ended with."""
    if job.system.width <= SMALL:
        return
    guesses = search_one(job.layer, job.system, one, start, deadline)
    yield _prove(job, one, guesses)[0], guesses.rows[0]
    if job.system.rows.size > MOST_EXTENDED or len(job.system.fixed):
        return
    rows = guesses.rows[0]
    for bits in (384, 768, 1536):
        outcome, point, rows = search_extended(job.extended, one[0], rows, bits, deadline)
        if outcome == 1:
            yield _prove_witness(job, one, point_witness(job.layer, job.system, one[0], point)), rows
        elif outcome == 0:
            yield _prove_conflict(job, one, rows), rows


def _prove_witness(job: Prepared, one: LabelSets, x: tuple[Fraction, ...]) -> Evidence:
    """Prove with the nearest floats if they will do, else with the fractions."""
    fault: str | None = None
    for candidate in (_rounded(x), x):
        fault = witness_faults(job.layer, job.floats, one, [candidate])[0]
        if fault is None:
            return Evidence(witness=candidate)
    return Evidence(reason=f"no proof: {fault}")


def _prove_conflict(job: Prepared, one: LabelSets, rows: Indices) -> Evidence:
    fault = conflict_faults(job.layer, one, [np.sort(rows)])[0]
    return Evidence(conflict=np.sort(rows)) if fault is None else Evidence(reason=f"no proof: {fault}")


def _rounded(x: tuple[Fraction, ...]) -> Witness:
    try:
        return np.array([float(c) for c in x])
    except OverflowError:
        return x
