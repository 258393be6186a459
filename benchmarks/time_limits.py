"""How far a label set goes over its `time_limit`, in each regime of the search, and which step takes it there.

    OMP_NUM_THREADS=1 python benchmarks/time_limits.py [--only REGIME] [--limits 0.05 0.2 1] [--out page.md]

A label set is timed by itself, in CPU time of one thread, which is also what the clock of the search shows here, from
the first look at the clock: what prepares the layer comes before. Sets are chosen to be hard, so that most are
undecided. The longest step is the longest time between two looks, told by where the second one is.
"""

import argparse
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import labelproof as lp
from labelproof.search import time_limits
from labelproof.theory.dft import dft_matrix

Regime = tuple[np.ndarray, list[list[int]], dict[str, Any]]
PACKAGE = Path(lp.__file__).parent


def gaussian(*shape: int) -> np.ndarray:
    return np.random.default_rng(list(shape)).standard_normal(shape)


def random_sets(n_labels: int, k: int, n_sets: int = 3) -> list[list[int]]:
    rng = np.random.default_rng(k)
    return [np.sort(rng.choice(n_labels, k, replace=False)).tolist() for _ in range(n_sets)]


def terms(n_labels: int, n_features: int) -> np.ndarray:
    """Weights like those of one-vs-rest machines on TF-IDF, a third of them not 0."""
    rng = np.random.default_rng(n_labels)
    weight = rng.standard_normal((n_labels, n_features)) * rng.gamma(0.3, size=n_features)
    return weight * (rng.random(weight.shape) < 0.35)


def narrow() -> Regime:
    return np.round(gaussian(4000, 14) * 3), random_sets(4000, 30), {"ties": "inactive"}


def rows() -> Regime:
    return gaussian(6000, 300), random_sets(6000, 200), {}


def unargmaxable() -> Regime:
    return np.abs(gaussian(8921, 768)) - 0.4, random_sets(8921, 2000), {}


def exact() -> Regime:
    return np.round(gaussian(500, 60)), random_sets(500, 40), {"ties": "inactive"}


def extended() -> Regime:
    return dft_matrix(8921, 80), random_sets(8921, 80), {}


def extended_short() -> Regime:
    return dft_matrix(2000, 40), random_sets(2000, 40), {}


def wide() -> Regime:
    return gaussian(900, 6000), random_sets(900, 450), {}


def columns() -> Regime:
    weight = terms(1000, 20_000)
    return weight, random_sets(1000, 300), {"domain": "nonnegative", "bias": np.full(1000, -1.0)}


def boxed() -> Regime:
    return terms(600, 10_000), random_sets(600, 200), {"domain": (0.0, 1.0), "bias": np.full(600, -1.0)}


def unit() -> Regime:
    return terms(1000, 20_000), random_sets(1000, 60), {"domain": "unit", "bias": np.full(1000, -1.0)}


def topk() -> Regime:
    return gaussian(30_000, 256), random_sets(30_000, 200), {"rule": "topk"}


def sparsemax() -> Regime:
    return gaussian(3000, 100), random_sets(3000, 80), {"rule": "sparsemax", "bias": gaussian(3000)}


def radius() -> Regime:
    return gaussian(8921, 100), random_sets(8921, 4), {"radius": True, "bias": np.full(8921, -2.0)}


REGIMES: dict[str, Callable[[], Regime]] = {
    f.__name__: f
    for f in (narrow, rows, unargmaxable, exact, extended, extended_short, wide, columns, boxed, unit, topk, sparsemax)
}
REGIMES["radius"] = radius


class Looks:
    """A clock of CPU time that remembers the longest time between two looks at it."""

    def __init__(self) -> None:
        self.first, self.last, self.longest, self.where = 0.0, 0.0, 0.0, ""

    def perf_counter(self) -> float:
        """Return the seconds that this process has used."""
        seconds = time.process_time()
        if not self.first:
            self.first = self.last = seconds
        if seconds - self.last > self.longest:
            self.longest, self.where = seconds - self.last, _place()
        self.last = seconds
        return seconds


def _place() -> str:
    """Say where the clock was looked at: the first line of labelproof outside the module of the clock."""
    frame = sys._getframe(2)
    while frame is not None and frame.f_code.co_filename == time_limits.__file__:
        frame = frame.f_back
    if frame is None:
        return ""
    name = Path(frame.f_code.co_filename)
    return f"{name.stem}.{frame.f_code.co_name}:{frame.f_lineno}"


def timed(weight: np.ndarray, active: list[int], options: dict[str, Any], limit: float) -> tuple[float, int, Looks]:
    clock = Looks()
    time_limits.time = clock
    start = time.process_time()
    try:
        v = lp.verify(weight, [active], time_limit=limit, n_jobs=1, **options)
    finally:
        time_limits.time = time
    end = time.process_time()
    if end - clock.last > clock.longest:
        clock.longest, clock.where = end - clock.last, "the end"
    return end - (clock.first or start), int(v.status[0]), clock


def measure(name: str, limits: list[float]) -> list[str]:
    weight, sets, options = REGIMES[name]()
    lp.verify(weight, sets[:1], time_limit=limits[0], n_jobs=1, **options)  # so that all is compiled
    lines = []
    for active in sets:
        cells = []
        for limit in limits:
            seconds, status, clock = timed(weight, active, options, limit)
            word = {1: "can", 0: "never", -1: "open"}[status]
            cells.append(f"{seconds / limit - 1:+.0%} {word}, {1e3 * clock.longest:.0f} ms to {clock.where}")
        lines.append(f"| {name} {'×'.join(map(str, weight.shape))} | " + " | ".join(cells) + " |")
        print(lines[-1], flush=True)
    return lines


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", nargs="*", default=list(REGIMES), choices=list(REGIMES))
    parser.add_argument("--limits", nargs="*", type=float, default=[0.05, 0.2, 1.0])
    parser.add_argument("--out", type=Path)
    given = parser.parse_args()
    head = ["| layer | " + " | ".join(f"{limit} s" for limit in given.limits) + " |"]
    head.append("|---" * (1 + len(given.limits)) + "|")
    print("\n".join(head), flush=True)
    lines = head + [line for name in given.only for line in measure(name, given.limits)]
    if given.out:
        given.out.write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
