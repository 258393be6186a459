"""Verify label sets in blocks over threads: search, then prove, then settle exactly what is left."""

import os
import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager
from dataclasses import dataclass
from importlib import import_module
from typing import TypeVar

import numpy as np
import numpy.typing as npt
from threadpoolctl import threadpool_limits

from labelproof.verification.exact import OutOfTimeError, float_witness, settle
from labelproof.verification.labels import LabelSets
from labelproof.verification.proofs import FloatRows, Witness, conflict_faults, float_rows, witness_faults
from labelproof.verification.propose import SearchSystem, hot_rows, search, search_system
from labelproof.verification.regions import OutputLayer

__all__ = ["Evidence", "decide", "in_threads"]

Indices = npt.NDArray[np.int64]
T = TypeVar("T")
R = TypeVar("R")


@dataclass(frozen=True, eq=False)
class Evidence:
    """One label set's verdict: a witness, or the rows of a conflict, or the reason why there is neither."""

    witness: Witness | None = None
    conflict: Indices | None = None
    reason: str = ""


def in_threads(work: Callable[[T], R], items: Iterable[T], n_jobs: int | None) -> Iterator[R]:
    """Yield work(item) for every item, in order, from n_jobs threads (default: the cores this process may use)."""
    with one_blas_thread(), ThreadPoolExecutor(n_jobs or _usable_cores()) as pool:
        yield from pool.map(work, items)


def one_blas_thread() -> AbstractContextManager[object]:
    """Keep BLAS to one thread, since our own threads share the cores; also the BLAS that compiled code calls."""
    import_module("scipy.linalg.cython_blas")  # limits reach only libraries that are loaded
    return threadpool_limits(1, user_api="blas")


def _usable_cores() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def blocks(sets: LabelSets, size: int) -> list[LabelSets]:
    """Cut label sets into blocks of at most this size."""
    return [sets.slice(start, min(start + size, len(sets))) for start in range(0, len(sets), size)]


def decide(
    layer: OutputLayer,
    sets: LabelSets,
    *,
    n_jobs: int | None = None,
    time_limit: float | None = None,
    advance: Callable[[int], None] = lambda _: None,
) -> list[Evidence]:
    """Return proven evidence for every label set; ``advance`` is told how many sets each block has completed.

    The first block also finds the rows that matter most often, from which all others start; so the result does not
    depend on the number of threads.
    """
    if not len(sets):
        return []
    with one_blas_thread():
        return _decide(layer, sets, n_jobs, time_limit, advance)


def _decide(
    layer: OutputLayer,
    sets: LabelSets,
    n_jobs: int | None,
    time_limit: float | None,
    advance: Callable[[int], None],
) -> list[Evidence]:
    system, floats = search_system(layer), float_rows(layer)
    first, *others = blocks(sets, _block_size(system.width))
    hot = np.empty(0, np.int64)

    def work(block: LabelSets) -> list[Evidence]:
        return _decide_block(layer, system, floats, block, hot, time_limit)[0]

    evidence, tight = _decide_block(layer, system, floats, first, hot, time_limit)
    advance(len(first))
    hot = hot_rows(tight)
    for block, found in zip(others, in_threads(work, others, n_jobs), strict=True):
        evidence += found
        advance(len(block))
    return evidence


def _block_size(width: int) -> int:
    return int(np.clip(12800 // width, 8, 256))


def _decide_block(
    layer: OutputLayer,
    system: SearchSystem,
    floats: FloatRows,
    sets: LabelSets,
    hot: Indices,
    time_limit: float | None,
) -> tuple[list[Evidence], npt.NDArray[np.int64]]:
    guesses = search(layer, system, sets, hot, time_limit)
    found: list[Evidence | None] = [None] * len(sets)
    points = np.flatnonzero(guesses.outcome == 1).tolist()
    witnesses = [float_witness(layer, system, sets[i], guesses.points[i]) for i in points]
    for i, x, fault in zip(points, witnesses, witness_faults(layer, floats, sets.take(points), witnesses), strict=True):
        if fault is None:
            found[i] = Evidence(witness=x)
    clashes = np.flatnonzero(guesses.outcome == 0).tolist()
    conflicts = [np.sort(guesses.rows[i]) for i in clashes]
    for i, rows, fault in zip(clashes, conflicts, conflict_faults(layer, sets.take(clashes), conflicts), strict=True):
        if fault is None:
            found[i] = Evidence(conflict=rows)
    evidence = [
        known or _settle(layer, system, floats, sets.slice(i, i + 1), guesses.rows[i], time_limit)
        for i, known in enumerate(found)
    ]
    return evidence, guesses.tight


def _settle(
    layer: OutputLayer,
    system: SearchSystem,
    floats: FloatRows,
    one: LabelSets,
    start: Indices,
    time_limit: float | None,
) -> Evidence:
    """Decide one label set in exact arithmetic, and prove it."""
    deadline = np.inf if time_limit is None else time.perf_counter() + time_limit
    try:
        witness, conflict = settle(layer, system, one[0], start, deadline)
    except OutOfTimeError:
        return Evidence(reason=f"no proof within the time limit of {time_limit} s")
    if conflict is not None:
        conflict = np.sort(conflict)
        fault = conflict_faults(layer, one, [conflict])[0]
        return Evidence(conflict=conflict) if fault is None else Evidence(reason=f"no proof: {fault}")
    assert witness is not None  # noqa: S101 - settle returns one or the other
    for x in (_rounded(witness), witness):
        fault = witness_faults(layer, floats, one, [x])[0]
        if fault is None:
            return Evidence(witness=x)
    return Evidence(reason=f"no proof: {fault}")


def _rounded(x: Witness) -> Witness:
    try:
        return np.array([float(c) for c in x])
    except OverflowError:
        return x
