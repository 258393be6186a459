"""Layers that were made to mislead: each verdict is proven by check(), and true where that is known, or undecided.

The truth is known from an exact oracle for small layers, and for large ones by the way they were made: features of
whole numbers whose logits are exact, or a conflict that was put in.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from rows import Row, peak_memory

import labelproof as lp
from exact_oracle import is_argmaxable
from labelproof.theory.dft import dft_matrix

__all__ = ["FAMILIES", "Arrangement", "campaign", "judge"]

N_SMALL = 6


@dataclass(frozen=True)
class Arrangement:
    """A layer with label sets; ``truth`` has True, False, or None where it is not known."""

    weight: np.ndarray
    sets: list[list[int]]
    truth: list[bool | None]
    rule: str = "sigmoid"


def _sets(signs: np.ndarray) -> list[list[int]]:
    return [np.flatnonzero(row).tolist() for row in signs]


def _by_oracle(weight: np.ndarray, sets: list[list[int]], rule: str = "sigmoid") -> Arrangement:
    return Arrangement(weight, sets, [is_argmaxable(weight, active, rule=rule) for active in sets], rule)


def _random_sets(rng: np.random.Generator, n: int) -> list[list[int]]:
    return _sets(rng.random((4, n)) < rng.random())


def nearly_degenerate(rng: np.random.Generator) -> Arrangement:
    """Rows in a plane but for 10⁻³ to 10⁻¹⁶ of their length."""
    n, d = N_SMALL, 3
    flat = rng.normal(size=(n, d - 1)) @ rng.normal(size=(d - 1, d))
    return _by_oracle(flat + rng.normal(size=(n, d)) * 10.0 ** -rng.integers(3, 17), _random_sets(rng, n))


def last_bits(rng: np.random.Generator) -> Arrangement:
    """Rows that are one another's neighbours among the floating-point numbers."""
    rows = np.repeat(rng.normal(size=(2, 3)), 3, axis=0)
    for i in (1, 2, 4, 5):
        rows[i] = np.nextafter(rows[i], rng.choice([-np.inf, np.inf], 3))
    return _by_oracle(rows, _random_sets(rng, 6))


def last_bits_of_float32(rng: np.random.Generator) -> Arrangement:
    """The same in float32, by top-k."""
    rows = np.repeat(rng.normal(size=(2, 3)).astype(np.float32), 3, axis=0)
    for i in (1, 2, 4, 5):
        rows[i] = np.nextafter(rows[i], rng.choice(np.array([-np.inf, np.inf], np.float32), 3))
    return _by_oracle(rows, [s for s in _random_sets(rng, 6) if s] or [[0]], "topk")


def int8(rng: np.random.Generator) -> Arrangement:
    """Weights of eight bits with a scale a row, of 300 labels: many rows are equal, or nearly."""
    n, d = 300, 6
    scales = 2.0 ** rng.integers(-12, -4, (n, 1))
    whole = rng.integers(-4, 5, (n, d))
    whole[0] = whole[1] = 1  # one direction twice, so that one of the two labels cannot be active alone
    weight = whole * scales
    logits = rng.integers(-50, 51, (8, d)) @ weight.T  # exact: whole numbers times powers of two
    sets = _sets(logits[(logits != 0).all(axis=1)] > 0)
    conflicts = [sorted(set(active) ^ {0}) for active in sets]
    return Arrangement(weight, [*sets, *conflicts, [0]], [*[True] * len(sets), *[False] * len(sets), False])


def denormals(rng: np.random.Generator) -> Arrangement:
    """Whole multiples of the smallest number there is."""
    weight = rng.integers(-5, 6, (N_SMALL, 3)) * 5e-324
    return _by_oracle(weight, _random_sets(rng, N_SMALL))


def huge_scales(rng: np.random.Generator) -> Arrangement:
    """Rows times 10¹⁵⁰ and 10⁻¹⁵⁰, where products leave the range of floating-point numbers."""
    weight = rng.normal(size=(N_SMALL, 3)) * 10.0 ** (150 * rng.choice([-1.0, 1.0], (N_SMALL, 1)))
    return _by_oracle(weight * 10.0 ** (150 * rng.choice([-1.0, 0.0, 1.0])), _random_sets(rng, N_SMALL))


def duplicates(rng: np.random.Generator) -> Arrangement:
    """Thousands of rows of which only twelve differ: one label against its twins is a conflict of two."""
    distinct = rng.integers(-9, 10, (12, 5)).astype(float)
    which = rng.integers(12, size=3000)
    logits = distinct @ rng.integers(-9, 10, 5)
    active = np.flatnonzero(logits[which] > 0).tolist()
    can = bool((logits != 0).all())
    place = int(rng.integers(3000))
    twin = bool((which == which[place]).sum() > 1)
    return Arrangement(
        distinct[which], [active, sorted(set(active) ^ {place})], [True if can else None, False if twin else None]
    )


def dft_at_full_load(rng: np.random.Generator) -> Arrangement:
    """As many active labels as a DFT layer of float32 has room for."""
    n, k = 120, int(rng.integers(2, 6))
    weight = dft_matrix(n, k).astype(np.float32)
    sets = [sorted(rng.choice(n, k, replace=False).tolist()) for _ in range(2)]
    return Arrangement(weight, sets, [None, None])


FAMILIES: dict[str, Callable[[np.random.Generator], Arrangement]] = {
    "nearly degenerate": nearly_degenerate,
    "last bits": last_bits,
    "last bits of float32": last_bits_of_float32,
    "int8 weights": int8,
    "denormals": denormals,
    "scales 1e±150": huge_scales,
    "thousands of duplicates": duplicates,
    "DFT at full load": dft_at_full_load,
}


def judge(made: Arrangement) -> list[str]:
    """Return for each set "proven", "undecided", or what is wrong."""
    try:
        found = lp.verify(made.weight, made.sets, rule=made.rule, n_jobs=1)
        found.check(n_jobs=1)
    except Exception as error:
        return [f"{type(error).__name__}: {error}"] * len(made.sets)
    said = []
    for status, truth in zip(found.status.tolist(), made.truth, strict=True):
        if status < 0:
            said.append("undecided")
        else:
            said.append("proven" if truth is None or truth == bool(status) else f"said {status}, but it is {truth}")
    return said


def campaign(n_layers: int, seed: int = 0) -> list[Row]:
    """Judge some layers of each family."""
    rows = []
    for place, (name, make) in enumerate(FAMILIES.items()):
        row, undecided = Row(f"geometry: {name}"), 0
        for number in range(n_layers):
            made = make(np.random.default_rng([seed, place, number]))
            begin = time.perf_counter()
            said = judge(made)
            seconds = (time.perf_counter() - begin) / len(said)
            for one in said:
                undecided += one == "undecided"
                row.add("" if one in ("proven", "undecided") else f"{name} {number}: {one}", seconds)
        row.memory, row.note = peak_memory(), f"{undecided} undecided" if undecided else ""
        rows.append(row)
    return rows
