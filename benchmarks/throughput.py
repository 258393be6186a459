"""Training throughput of a head and its loss, against a linear layer of as many features and torch's own BCE.

    python benchmarks/throughput.py

Writes benchmarks/results/throughput.md. A step is forward, backward and AdamW on features of an encoder that are
given: zero_grad, projection to the layer's features, logits, loss, gradients, update. Both sides have the same
projection; the peer's output layer is torch.nn.Linear without a bias on as many features, with
BCEWithLogitsLoss and dense 0/1 targets that are ready before the step; ours takes targets as indices, as the trainer
gives them. All parties take turns in one process, in an order that changes; medians of the CPU time of the one thread.
"""

import random
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import torch
from torch import Tensor, nn

from labelproof.heads import BottleneckHead, DFTHead
from labelproof.losses import BinaryCrossEntropyLoss
from labelproof.losses.targets import SparseTargets
from labelproof.training.heads import dft_path

RESULTS = Path(__file__).parent / "results"
SIZES = [(1000, 17, 50, 64), (1000, 17, 50, 256), (8921, 80, 50, 32), (8921, 80, 50, 256), (8921, 20, 50, 64)]
ENCODER = 512
REPEATS = 41


class Peer(nn.Module):
    """What users have: a projection and a linear layer."""

    def __init__(self, n_labels: int, features: int) -> None:
        super().__init__()
        self.projection = nn.Linear(ENCODER, features)
        self.output = nn.Linear(features, n_labels, bias=False)

    def forward(self, given: Tensor) -> Tensor:
        """Return the logits."""
        return self.output(self.projection(given))


def parties(n: int, k: int, slack: int, rows: int) -> dict[str, Callable[[], None]]:
    """Return one training step of each party on the same batch."""
    features = 2 * k + 1 + slack
    given = torch.randn(rows, ENCODER)
    dense = torch.zeros(rows, n)
    for row in range(rows):
        dense[row, torch.randperm(n)[: max(1, k // 2)]] = 1
    places = dense.nonzero().T.contiguous()
    indptr = torch.cat([torch.zeros(1, dtype=torch.int64), dense.sum(dim=1).long().cumsum(0)])
    active = SparseTargets(indptr, places[0], places[1], rows, n)
    ours, theirs = BinaryCrossEntropyLoss(), nn.BCEWithLogitsLoss()
    dft = DFTHead(ENCODER, n, k, slack, path=dft_path(k, n, None))
    return {
        "Linear + BCE": step(Peer(n, features), theirs, given, dense),
        "Linear + our BCE": step(Peer(n, features), ours, given, active),
        "DFT + BCE": step(dft, ours, given, active),
        "DFT + torch BCE": step(DFTHead(ENCODER, n, k, slack, path=dft_path(k, n, None)), theirs, given, dense),
        "bottleneck + BCE": step(BottleneckHead(ENCODER, n, features), ours, given, active),
    }


def step(head: nn.Module, loss: nn.Module, given: Tensor, targets: object) -> Callable[[], None]:
    optimizer = torch.optim.AdamW(head.parameters(), lr=1e-4)

    def run() -> None:
        optimizer.zero_grad()
        loss(head(given), targets).backward()
        optimizer.step()

    return run


def medians(n: int, k: int, slack: int, rows: int) -> dict[str, float]:
    """Return the milliseconds of a step of each party."""
    steps = parties(n, k, slack, rows)
    times: dict[str, list[float]] = {name: [] for name in steps}
    for run in steps.values():
        run()
        run()
    for _ in range(REPEATS):
        for name, run in random.sample(list(steps.items()), len(steps)):
            run()
            start = time.thread_time()
            run()
            times[name].append(1e3 * (time.thread_time() - start))
    return {name: float(np.median(t)) for name, t in times.items()}


def main() -> None:
    torch.manual_seed(0)
    torch.set_num_threads(1)
    lines = [
        "# Training throughput\n",
        "Does a head with a guarantee slow training down? The table compares one training step (forward, backward, "
        f"AdamW) on precomputed features of width {ENCODER}, float32, one thread (`python "
        f"benchmarks/throughput.py`; median CPU time of {REPEATS} steps, all variants in turn).\n",
        "*Linear + BCE* is the baseline: a projection and `torch.nn.Linear` with as many features as the DFT head, "
        "`BCEWithLogitsLoss` and dense targets. The last four columns are speeds relative to it; above 1 is "
        "faster. *k* is the number of labels that the DFT head guarantees, *slack* the number of its learnable "
        "columns. Target: the DFT head with our loss is not slower.\n",
        "| labels | k | slack | features | batch | Linear + BCE, examples/s | DFT + our BCE | DFT + torch's BCE "
        "| Linear + our BCE | bottleneck + our BCE |",
        "|---|---|---|---|---|---|---|---|---|---|",
    ]
    for n, k, slack, rows in SIZES:
        ms = medians(n, k, slack, rows)
        base = ms["Linear + BCE"]
        lines.append(
            f"| {n} | {k} | {slack} | {2 * k + 1 + slack} | {rows} | {1e3 * rows / base:,.0f} "
            f"| **{base / ms['DFT + BCE']:.2f}×** | {base / ms['DFT + torch BCE']:.2f}× "
            f"| {base / ms['Linear + our BCE']:.2f}× | {base / ms['bottleneck + BCE']:.2f}× |"
        )
        print(lines[-1], flush=True)
    RESULTS.mkdir(exist_ok=True)
    (RESULTS / "throughput.md").write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
