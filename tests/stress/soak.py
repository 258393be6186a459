"""Verify in a loop: memory stays flat, and every round finds the same, with any number of threads."""

import gc
import os
import time
from pathlib import Path

import numpy as np
from rows import Row, peak_memory

import labelproof as lp

__all__ = ["MOST_GROWTH", "a_layer", "soak", "threads"]

MOST_GROWTH = 24 * 2**20  # bytes that the process may grow by after the first rounds
FIRST_ROUNDS = 4


def a_layer(n_labels: int = 120, d: int = 8, n_sets: int = 64) -> tuple[np.ndarray, np.ndarray]:
    """Return a random layer, and label sets of which about half can be predicted."""
    rng = np.random.default_rng(7)
    weight = rng.normal(size=(n_labels, d))
    sets = rng.normal(size=(n_sets, d)) @ weight.T > 0
    sets[::2] ^= rng.random((len(sets[::2]), n_labels)) < 0.02
    return weight, sets


def outcome(weight: np.ndarray, sets: np.ndarray, n_jobs: int) -> bytes:
    """Return verdicts and proofs, bit for bit."""
    found = lp.verify(weight, sets, n_jobs=n_jobs)
    found.check(n_jobs=n_jobs)
    parts = (found.status, found.points, found.point_of, found.conflict_ptr, found.conflict_rows)
    return b"".join(part.tobytes() for part in parts) + repr(sorted(found.fractions.items())).encode()


def soak(seconds: float, least_rounds: int) -> Row:
    """Verify for some time."""
    row, (weight, sets) = Row("soak: verify in a loop"), a_layer()
    expected = outcome(weight, sets, 1)
    for _ in range(FIRST_ROUNDS):
        outcome(weight, sets, 1)
    gc.collect()
    start, end = resident(), time.monotonic() + seconds
    while time.monotonic() < end or row.tried < least_rounds:
        begin = time.perf_counter()
        same = outcome(weight, sets, 1) == expected
        row.add("" if same else "another result than in the first round", time.perf_counter() - begin)
    gc.collect()
    growth = resident() - start
    row.memory, row.note = peak_memory(), f"grew by {growth / 2**20:.1f} MB"
    if growth > MOST_GROWTH:
        row.add(f"memory grew by {growth:,} bytes")
    return row


def threads(numbers: tuple[int, ...] = (1, 2, 4), repeats: int = 1) -> Row:
    """Verify with several numbers of threads."""
    row, (weight, sets) = Row("soak: numbers of threads"), a_layer()
    expected = outcome(weight, sets, 1)
    for n_jobs in numbers * repeats:
        begin = time.perf_counter()
        same = outcome(weight, sets, n_jobs) == expected
        row.add("" if same else f"another result with {n_jobs} threads", time.perf_counter() - begin)
    row.memory = peak_memory()
    return row


def resident() -> int:
    """Return the bytes that this process has in memory."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
