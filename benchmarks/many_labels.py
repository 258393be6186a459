"""Verify and check with 10,000 to 1,000,000 labels at 50 features: is there a size at which it breaks down?

    python benchmarks/many_labels.py

Writes benchmarks/results/many_labels.md. Rows are normal, and a bias leaves some 15 labels active at a normal input.
Half of the label sets are what the classifier predicts at such inputs; the other half have two labels of another
prediction besides, and often cannot be. Each size runs in a process of its own on one thread: CPU time (least of three
runs for verify), and the largest resident size.
"""

import resource
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
from scipy.stats import norm

import labelproof as lp

RESULTS = Path(__file__).parent / "results"
SIZES = (10_000, 100_000, 1_000_000)
D, N_SETS, ACTIVE, REPEATS = 50, 200, 15, 3


def made(n_labels: int) -> tuple[np.ndarray, np.ndarray, list[list[int]]]:
    """Return weights, bias and label sets."""
    rng = np.random.default_rng(0)
    weight = rng.standard_normal((n_labels, D), dtype=np.float32)
    bias = np.full(n_labels, -np.sqrt(D) * norm.isf(ACTIVE / n_labels))
    inputs = rng.standard_normal((N_SETS, D))
    inputs *= np.sqrt(D) / np.linalg.norm(inputs, axis=1, keepdims=True)
    sets = [np.flatnonzero(weight @ x.astype(np.float32) + bias > 1e-3) for x in inputs]
    for i in range(1, N_SETS, 2):
        sets[i] = np.union1d(sets[i], sets[i - 1][:2])
    return weight, bias, [active.tolist() for active in sets]


def one(n_labels: int) -> None:
    """Measure one size, and print it."""
    weight, bias, sets = made(n_labels)
    lp.verify(weight[:1000], [[0], [1]], bias=bias[:1000])  # compiles
    seconds = []
    for _ in range(REPEATS):
        start = time.process_time()
        v = lp.verify(weight, sets, bias=bias, n_jobs=1)
        seconds.append(time.process_time() - start)
    start = time.process_time()
    v.check(n_jobs=1)
    check = time.process_time() - start
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
    print(min(seconds), check, peak, *(int((v.status == status).sum()) for status in (1, 0, -1)))


def main() -> None:
    lines = [
        "# Verification with up to a million labels\n",
        "Does verification still work when the output layer has a million labels, and how do time and memory grow? "
        f"{D} features, {N_SETS} label sets of about {ACTIVE} labels each, half of them actual predictions (`python "
        "benchmarks/many_labels.py`); CPU time on one thread, preparation of the layer included. *Can* and *never* "
        "count the label sets that are proven possible and impossible.\n",
        "| labels | verify, ms per set | check, ms per set | verify, ns per set and label | peak memory, GB | can "
        "| never | undecided |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for n_labels in SIZES:
        command = [sys.executable, __file__, str(n_labels)]
        answer = subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()  # noqa: S603
        verify, check, peak = (float(part) for part in answer[:3])
        lines.append(
            f"| {n_labels:,} | {1e3 * verify / N_SETS:.1f} | {1e3 * check / N_SETS:.1f} "
            f"| {1e9 * verify / N_SETS / n_labels:.0f} | {peak:.2f} | {' | '.join(answer[3:])} |"
        )
        print(lines[-1], flush=True)
        (RESULTS / "many_labels.md").write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    one(int(sys.argv[1])) if len(sys.argv) > 1 else main()
