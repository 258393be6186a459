"""The DFT head's product with its fixed columns: by FFT on a fast grid, densely, and by FFT of exactly n points.

    python benchmarks/heads.py

Writes benchmarks/results/heads.md: interleaved repeats in float32, the second of two calls each. With one thread the
median CPU time of the calling thread, which other processes disturb least; with two the least wall time.
"""

import os
import random
import time
from pathlib import Path

import numpy as np
import torch

from labelproof import DFTHead

RESULTS = Path(__file__).parent / "results"
SIZES = [(8921, 80, 32), (8921, 80, 256), (20000, 50, 32), (2689, 25, 128), (1000, 10, 32)]
WAYS = {
    "FFT": {"path": "fft"},
    "dense": {"path": "dense"},
    "FFT of n points": {"path": "fft", "nodes": "paper"},
    "automatic": {"path": "auto"},
}


def milliseconds(n: int, k: int, rows: int, repeats: int = 31) -> dict[str, float]:
    """Return the milliseconds of each way for one batch."""
    heads = {name: DFTHead(2 * k + 1, n, k, 0, **options) for name, options in WAYS.items()}
    x = torch.randn(rows, 2 * k + 1)
    times: dict[str, list[float]] = {name: [] for name in heads}
    alone = torch.get_num_threads() == 1
    clock, typical = (time.thread_time, np.median) if alone else (time.perf_counter, np.min)
    with torch.no_grad():
        for head in heads.values():
            head.logits(x)
        for _ in range(repeats):
            for name, head in random.sample(list(heads.items()), len(heads)):  # nobody always follows the slowest
                time.sleep(0.0 if alone else 0.01)  # the last one's threads stop spinning
                head.logits(x)
                start = clock()
                head.logits(x)
                times[name].append(1e3 * (clock() - start))
    return {name: float(typical(t)) for name, t in times.items()}


def main() -> None:
    lines = [
        "# The fixed part of the DFT head\n",
        f"Logits of a batch, no slack, float32, on {os.cpu_count()} cores with a load average of "
        f"{os.getloadavg()[0]:.1f} at the start (`python benchmarks/heads.py`); medians of CPU time for one "
        "thread, least wall times for two. Wanted at 8921 labels, k = 80, 32 rows: "
        "the FFT at least twice as fast as the dense product and ten times as fast as the FFT of exactly n points.\n",
        "| threads | labels | k | rows | FFT, ms | dense / FFT | FFT of n points / FFT | automatic / best |",
        "|---|---|---|---|---|---|---|---|",
    ]
    block = torch.empty(1 << 23)
    del block  # from now on the allocator keeps blocks of any size used here, for all parties
    for threads in (1, 2):
        torch.set_num_threads(threads)
        for n, k, rows in SIZES:
            ms = milliseconds(n, k, rows)
            fft = ms["FFT"]
            lines.append(
                f"| {threads} | {n} | {k} | {rows} | {fft:.2f} | **{ms['dense'] / fft:.1f}×** "
                f"| **{ms['FFT of n points'] / fft:.1f}×** | {ms['automatic'] / min(fft, ms['dense']):.2f} |"
            )
            print(lines[-1], flush=True)
    RESULTS.mkdir(exist_ok=True)
    (RESULTS / "heads.md").write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
