"""The DFT head's product with its fixed columns, by every way that there is, and by BLAS with and without AVX-512.

    python benchmarks/heads.py

Writes benchmarks/results/heads.md: interleaved repeats in float32, the second of two calls each. With one thread the
median CPU time of the calling thread, which other processes disturb least; with two the least wall time. The peers are
torch's dense product and numpy's, of another BLAS, whichever is faster.
"""

import argparse
import os
import random
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import torch

from labelproof import DFTHead

RESULTS = Path(__file__).parent / "results"
SIZES = [(8921, 80, 32), (8921, 80, 256), (20000, 50, 32), (2689, 25, 128), (1000, 10, 32)]
WAYS = {
    "FFT": {"path": "fft"},
    "split": {"path": "split"},
    "dense": {"path": "dense"},
    "FFT of n points": {"path": "fft", "nodes": "paper"},
    "automatic": {"path": "auto"},
}
PROCESSORS = {
    "all instructions": {},
    "no AVX-512": {
        "ATEN_CPU_CAPABILITY": "avx2",
        "MKL_ENABLE_INSTRUCTIONS": "AVX2",
        "ONEDNN_MAX_CPU_ISA": "AVX2",
        "OPENBLAS_CORETYPE": "HASWELL",
    },
}


def milliseconds(n: int, k: int, rows: int, repeats: int = 31) -> dict[str, float]:
    """Return the milliseconds of each way for one batch."""
    x = torch.randn(rows, 2 * k + 1)
    heads = {name: DFTHead(2 * k + 1, n, k, 0, **options) for name, options in WAYS.items()}
    ways = {name: lambda head=head: head.logits(x) for name, head in heads.items()}
    by_column = np.ascontiguousarray(heads["dense"].weight.numpy().T)
    ways["numpy"] = lambda: x.numpy() @ by_column
    times: dict[str, list[float]] = {name: [] for name in ways}
    alone = torch.get_num_threads() == 1
    clock, typical = (time.thread_time, np.median) if alone else (time.perf_counter, np.min)
    with torch.no_grad():
        for way in ways.values():
            way()
        for _ in range(repeats):
            for name, way in random.sample(list(ways.items()), len(ways)):  # nobody always follows the slowest
                time.sleep(0.0 if alone else 0.01)  # the last one's threads stop spinning
                way()
                start = clock()
                way()
                times[name].append(1e3 * (clock() - start))
    return {name: float(typical(t)) for name, t in times.items()}


def measure(processor: str) -> None:
    """Print the rows of the table for this processor, as its environment makes it look."""
    block = torch.empty(1 << 23)
    del block  # from now on the allocator keeps blocks of any size used here, for all parties
    threads = int(os.environ["OMP_NUM_THREADS"])
    torch.set_num_threads(threads)
    for n, k, rows in SIZES:
        ms = milliseconds(n, k, rows)
        best, dense = min(ms["FFT"], ms["split"], ms["dense"]), min(ms["dense"], ms["numpy"])
        print(
            f"| {processor} | {threads} | {n} | {k} | {rows} | {ms['FFT']:.2f} | {ms['split']:.2f} | {ms['dense']:.2f} "
            f"| {ms['numpy']:.2f} | **{dense / min(ms['FFT'], ms['split']):.1f}×** "
            f"| {ms['FFT of n points'] / ms['FFT']:.1f}× | {ms['automatic'] / best:.2f} |",
            flush=True,
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--measure", choices=PROCESSORS, help="print the rows of one processor")
    parser.add_argument("--threads", nargs="+", default=["1", "2"], help="two tell something on idle cores only")
    options = parser.parse_args()
    if options.measure:
        measure(options.measure)
        return
    lines = [
        "# Speed of the DFT head\n",
        "The DFT head's fixed columns are sines and cosines, so its logits can be computed by a fast Fourier "
        "transform instead of a dense matrix product. How much faster is that? Logits of a batch, no learnable "
        f"columns, float32, on {os.cpu_count()} cores with a load average of {os.getloadavg()[0]:.1f} at the start "
        "(`python benchmarks/heads.py`). Times are milliseconds: median CPU time for one thread, minimum "
        "wall-clock time for two.\n",
        "*FFT* and *split* are our two fast ways; *dense* is torch's product and *dense, numpy* that of numpy, "
        "which uses another BLAS. *FFT of n points / FFT* shows the gain from choosing a length that suits the "
        "FFT; *automatic / best* compares the way that the head chooses by itself with the fastest one. Targets at "
        "8,921 labels, k = 80 and 32 rows: one of the two fast ways is at least 1.5 times as fast as the faster "
        "dense product, with and without AVX-512, and the FFT ten times as fast as one of exactly n points.\n",
        "| instructions | threads | labels | k | rows | FFT | split | dense | dense, numpy | dense / FFT or split "
        "| FFT of n points / FFT | automatic / best |",
        "|---|---|---|---|---|---|---|---|---|---|---|---|",
    ]
    for processor, variables in PROCESSORS.items():
        for threads in options.threads:
            counts = dict.fromkeys(("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"), threads)
            command = [sys.executable, __file__, "--measure", processor]
            done = subprocess.run(  # noqa: S603 - ourselves
                command, env={**os.environ, **variables, **counts}, check=True, capture_output=True, text=True
            )
            lines.append(done.stdout.rstrip())
            print(lines[-1], flush=True)
    RESULTS.mkdir(exist_ok=True)
    (RESULTS / "heads.md").write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
