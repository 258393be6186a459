"""The code head's sums against the dense product with the same columns, forwards and backwards.

    python benchmarks/code_head.py

Writes benchmarks/results/code_head.md: interleaved repeats in float32, after two calls each. With one thread the median
CPU time of the calling thread, which other processes disturb least; with two the least wall time.
"""

import os
import random
import time
import warnings
from pathlib import Path

import numpy as np
import torch
from torch.nn import functional as F  # noqa: N812 - its usual name

from labelproof import CodeHead
from labelproof.theory.codes import Code

RESULTS = Path(__file__).parent / "results"
SIZES = [
    (20000, Code(149, 2, 13), 128),
    (20000, Code(149, 2, 13), 32),
    (8921, Code(41, 3, 41), 128),
    (2689, Code(23, 3, 21), 128),
    (374, Code(11, 3, 11), 64),
]


def milliseconds(n: int, code: Code, rows: int, repeats: int = 7) -> dict[str, float]:
    """Return the milliseconds of each way for one batch, forwards and backwards."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the projection is not what is measured, and has one input
        head = CodeHead(1, n, code.k, 0, code=code)
    columns = head.weight.detach()
    x = torch.randn(rows, head.features, requires_grad=True)
    upstream = torch.randn(rows, n)
    ways = {"gather": head.logits, "dense": lambda x: F.linear(x, columns)}
    times: dict[str, list[float]] = {name: [] for name in ways}
    alone = torch.get_num_threads() == 1
    clock, typical = (time.thread_time, np.median) if alone else (time.perf_counter, np.min)
    for name, way in ways.items():
        for _ in range(2):
            torch.autograd.grad(way(x), x, upstream)
        times[name].clear()
    for _ in range(repeats):
        for name, way in random.sample(list(ways.items()), len(ways)):  # nobody always follows the slower
            time.sleep(0.0 if alone else 0.01)  # the last one's threads stop spinning
            start = clock()
            torch.autograd.grad(way(x), x, upstream)
            times[name].append(1e3 * (clock() - start))
    return {name: float(typical(t)) for name, t in times.items()}


def main() -> None:
    lines = [
        "# Speed of the code head\n",
        "The code head's fixed columns are mostly zeros, so its logits are sums of a few features instead of a "
        "dense matrix product. How much faster is that? Logits of a batch and their gradient, no learnable "
        f"columns, float32, on {os.cpu_count()} cores with a load average of {os.getloadavg()[0]:.1f} at the start "
        "(`python benchmarks/code_head.py`); median CPU time for one thread, minimum wall-clock time for two. "
        "*Gather* is the code head, *dense* the same product with a dense matrix; (q, κ, L) are the parameters of "
        "the code. Target at 20,000 labels, about 2,000 columns and 128 rows: at least three times as fast as the "
        "dense product.\n",
        "| threads | labels | (q, κ, L) | columns | rows | gather, ms | dense, ms | dense / gather |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for threads in (1, 2):
        torch.set_num_threads(threads)
        for n, code, rows in SIZES:
            ms = milliseconds(n, code, rows)
            size = f"({code.q}, {code.coefficients}, {code.length})"
            lines.append(
                f"| {threads} | {n} | {size} | {code.columns} | {rows} | {ms['gather']:.2f} | {ms['dense']:.1f} "
                f"| **{ms['dense'] / ms['gather']:.1f}×** |"
            )
            print(lines[-1], flush=True)
    RESULTS.mkdir(exist_ok=True)
    (RESULTS / "code_head.md").write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
