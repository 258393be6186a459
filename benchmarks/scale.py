"""100,000 label sets in one call: peak memory, and how much two threads help.

    python benchmarks/scale.py

Writes benchmarks/results/scale.md. Peak memory is that of a process of its own; the speed-up is the median of five
pairs of runs (wall time) on 10,000 sets, and the machine's load before each pair is stated.
"""

import os
import resource
import statistics
import subprocess
import sys
import time
from pathlib import Path

import labelproof as lp
from weights import load, load_many_sets

RESULTS = Path(__file__).parent / "results"


def seconds(weight: object, label_sets: object, n_jobs: int) -> float:
    start = time.perf_counter()
    lp.verify(weight, label_sets, n_jobs=n_jobs)
    return time.perf_counter() - start


def peak() -> None:
    """Verify all sets on two threads, and print seconds and peak memory."""
    weight, _ = load("8921x50")
    many = load_many_sets()
    lp.verify(weight, many[:2])
    spent = seconds(weight, many, 2)
    print(spent, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20)


def main() -> None:
    answer = subprocess.run([sys.executable, __file__, "peak"], capture_output=True, text=True, check=True)  # noqa: S603
    spent, gigabytes = (float(part) for part in answer.stdout.split())
    weight, _ = load("8921x50")
    some = load_many_sets()[:10_000]
    lp.verify(weight, some[:2])
    pairs, loads = [], []
    for _ in range(5):
        loads.append(os.getloadavg()[0])
        pairs.append(seconds(weight, some, 1) / seconds(weight, some, 2))
    text = (
        "# Verifying 100,000 label sets in one call\n\n"
        "How long does `verify` take on a large batch of label sets, how much memory does it need, and how much does a "
        "second thread help? The layer has 8,921 labels and 50 features (`python benchmarks/scale.py`).\n\n"
        f"- All 100,000 label sets, two threads: {spent:.0f} s, peak memory {gigabytes:.2f} GB.\n"
        f"- Speed-up of two threads over one, on 10,000 label sets: {statistics.median(pairs):.2f}× (median of five "
        f"runs: {', '.join(f'{p:.2f}' for p in pairs)}; load average before each: "
        f"{', '.join(f'{x:.1f}' for x in loads)}).\n"
    )
    RESULTS.mkdir(exist_ok=True)
    (RESULTS / "scale.md").write_text(text)
    print(text)


if __name__ == "__main__":
    peak() if sys.argv[1:] == ["peak"] else main()
