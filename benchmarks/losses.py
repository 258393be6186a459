"""Losses, forward and backward, against torch's binary cross entropy in the same run.

    python benchmarks/losses.py

Writes benchmarks/results/losses.md. All losses take turns within each repeat, with two calls each, of which the second
is timed. One thread is measured by its CPU time, which other users of the machine disturb less; two threads by the
clock on the wall. The public formulas of sigmoidF1 and of the asymmetric loss are written out in plain torch for
comparison.
"""

import copy
import os
import statistics
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import torch
from torch import Tensor
from torch.nn.functional import binary_cross_entropy_with_logits

from labelproof.losses import (
    AsymmetricLoss,
    AsymmetricPolynomialLoss,
    BinaryCrossEntropyLoss,
    FocalLoss,
    HillLoss,
    SigmoidF1Loss,
    SoftTopKLoss,
    SPLCLoss,
    TwoWayLoss,
    ZLPRLoss,
)
from labelproof.losses.targets import read_targets

RESULTS = Path(__file__).parent / "results"
SHAPES = [(256, 8921), (32, 8921), (256, 1000), (8, 100)]
ON_TWO_THREADS = [(256, 8921), (8, 100)]
WANTED_OF_SMALL = 2.0  # of the older losses at the last shape, where all is overhead
KNOWN = 0.8  # share of the labels that a mask leaves
REPEATS = {1: 30, 2: 100}  # on one thread and on two, whose shortest times need both cores to be free
ACTIVE = 16  # labels of an example, as in medical coding
OURS = {
    "SigmoidF1Loss": (SigmoidF1Loss(), 1.0, 0.5),
    "SigmoidF1Loss(beta=2, eta=1)": (SigmoidF1Loss(2.0, 1.0), None, None),
    "FocalLoss": (FocalLoss(), 1.3, 1.3),
    "AsymmetricLoss": (AsymmetricLoss(), 1.3, 1.3),
    "BinaryCrossEntropyLoss": (BinaryCrossEntropyLoss(), None, None),
    'SigmoidF1Loss(average="samples")': (SigmoidF1Loss(average="samples"), 1.3, 1.3),
    'SigmoidF1Loss(empty="memory")': (SigmoidF1Loss(empty="memory"), 1.3, 1.3),
    "HillLoss": (HillLoss(), 1.0, 1.0),
    "SPLCLoss": (SPLCLoss(), 1.0, 1.0),
    "AsymmetricPolynomialLoss": (AsymmetricPolynomialLoss(), 1.0, 1.0),
    "ZLPRLoss": (ZLPRLoss(), 1.0, 1.0),
    "TwoWayLoss": (TwoWayLoss(), 1.0, 1.0),
    "SoftTopKLoss": (SoftTopKLoss(), None, None),
}
TORCH = "torch BCE with logits"
BUSY = (
    "The machine was busy with other work: on two threads, medians of large batches are mostly waiting for a core, and"
    " even their minima contain some.\n"
)
NEWER = {"HillLoss", "SPLCLoss", "AsymmetricPolynomialLoss", "ZLPRLoss", "TwoWayLoss", "SoftTopKLoss"}
MASKED = [name for name in OURS if "beta" not in name and name != "SoftTopKLoss"]


def plain_sigmoid_f1(logits: Tensor, targets: Tensor) -> Tensor:
    s = torch.sigmoid(logits)
    tp, fp, fn = (s * targets).sum(0), (s * (1 - targets)).sum(0), ((1 - s) * targets).sum(0)
    return (1 - 2 * tp / (2 * tp + fn + fp + 1e-16)).mean()


def plain_asymmetric(logits: Tensor, targets: Tensor) -> Tensor:
    p = torch.sigmoid(logits)
    q = (1 - p + 0.05).clamp(max=1)
    loss = targets * p.clamp(min=1e-8).log() + (1 - targets) * q.clamp(min=1e-8).log()
    share = p * targets + q * (1 - targets)
    return -(loss * (1 - share) ** (1 * targets + 4 * (1 - targets))).mean()


def torch_from_lists(logits: Tensor, lists: list[list[int]], *, n_labels: int, weight: Tensor | None = None) -> Tensor:
    """Return torch's loss for targets that come as index lists, which it cannot take: they are made dense first."""
    dense = torch.zeros(len(lists), n_labels)
    rows = torch.repeat_interleave(torch.tensor([len(labels) for labels in lists]))
    dense[rows, torch.tensor([label for labels in lists for label in labels])] = 1.0
    return binary_cross_entropy_with_logits(logits, dense, weight=weight)


def rows(n: int, n_labels: int, threads: int) -> list[str]:
    torch.set_num_threads(threads)
    torch.manual_seed(0)
    logits = (3 * torch.randn(n, n_labels) - 4).requires_grad_()
    lists = [torch.randperm(n_labels)[:ACTIVE].sort().values.tolist() for _ in range(n)]
    sparse = read_targets(logits, lists)
    dense = torch.zeros(n, n_labels)
    dense[sparse.rows, sparse.columns] = 1
    tasks: dict[tuple[str, str], tuple[Callable[..., Tensor], object, float | None]] = {
        (TORCH, "dense"): (binary_cross_entropy_with_logits, dense, None),
        ("sigmoidF1, plain formula", "dense"): (plain_sigmoid_f1, dense, None),
        ("asymmetric, plain formula", "dense"): (plain_asymmetric, dense, None),
    }
    ours = copy.deepcopy(OURS)  # without what another shape has left in a memory
    for name, (loss, wanted_dense, wanted_lists) in ours.items():
        tasks[name, "dense"] = loss, dense, wanted_dense
        tasks[name, "index lists"] = loss, lists, wanted_lists
        tasks[name, "indices, read before"] = loss, sparse, wanted_lists
    mask = torch.rand(n, n_labels) < KNOWN
    alike = partial(torch_from_lists, n_labels=n_labels)
    masked_torch = partial(binary_cross_entropy_with_logits, weight=mask.float())
    tasks[TORCH, "index lists"] = alike, lists, None
    tasks[TORCH, "dense, masked"] = masked_torch, dense, None
    tasks[TORCH, "index lists, masked"] = partial(alike, weight=mask.float()), lists, None
    for name in MASKED:
        masked = partial(ours[name][0], mask=mask)
        tasks[name, "dense, masked"] = masked, dense, 1.3
        tasks[name, "index lists, masked"] = masked, lists, 1.3
    seconds = measure(logits, tasks)
    base = seconds[TORCH, "dense"]
    lines = []
    for key, (_, _, wanted) in tasks.items():
        median, low = statistics.median(seconds[key]), min(seconds[key])
        same = min(seconds.get((TORCH, key[1]), base))
        if (n, n_labels) == SHAPES[-1] and key[0] in OURS:
            wanted = None if key[0] in NEWER else WANTED_OF_SMALL
        goal = f"≤ {wanted}" if wanted and (n, n_labels) in ON_TWO_THREADS else ""
        lines.append(
            f"| {n}×{n_labels} | {threads} | {key[0]} | {key[1]} | {1e3 * median:.2f} | {1e3 * low:.2f} "
            f"| {median / statistics.median(base):.2f} | **{low / min(base):.2f}** | {low / same:.2f} | {goal} |"
        )
        print(lines[-1], flush=True)
    return lines


def measure(
    logits: Tensor, tasks: dict[tuple[str, str], tuple[Callable[..., Tensor], object, float | None]]
) -> dict[tuple[str, str], list[float]]:
    """Return the seconds of each task's repeats, the tasks taking turns.

    Each is done twice in a row and timed the second time (of small batches twenty more times), so that nobody pays for
    what another left in the caches; with two threads there is a pause before, in which the last one's threads stop
    spinning.
    """
    calls = 1 if logits.numel() > 10_000 else 20
    alone = torch.get_num_threads() == 1
    clock = time.process_time if alone else time.perf_counter
    seconds: dict[tuple[str, str], list[float]] = {key: [] for key in tasks}
    for repeat in range(REPEATS[torch.get_num_threads()] + 1):  # the first loads compiled code
        for key, (loss, targets, _) in tasks.items():
            time.sleep(0.0 if alone else 0.01)
            torch.autograd.grad(loss(logits, targets), logits)
            start = clock()
            for _ in range(calls):
                torch.autograd.grad(loss(logits, targets), logits)
            if repeat:
                seconds[key].append((clock() - start) / calls)
    return seconds


def main() -> None:
    lines = [
        "# Speed of losses\n",
        "How long does a training step spend in the loss? Forward and backward pass of each loss, relative to torch's",
        "`binary_cross_entropy_with_logits`; a ratio below 1 is faster. "
        f"float32, {ACTIVE} labels per example, {REPEATS[1]} repeats in turn ({REPEATS[2]} on two threads) on "
        f"{os.cpu_count()} cores with a load average of {os.getloadavg()[0]:.1f} at the start "
        "(`python benchmarks/losses.py`).\n",
        "Ratios of medians and of minima are taken to torch's loss of dense targets without a mask, with the same",
        "shape and number of threads; CPU time for one thread, wall-clock time for two. *Index lists* are Python lists",
        "of label numbers, converted in each call; *read before* are the same as `SparseTargets`, converted once. With",
        f"a mask, {KNOWN:.0%} of the labels are known. *Same input* is the ratio of minima to torch's loss given the",
        "same lists, which it needs made dense in each call, and the mask as its weight. Targets are for the ratio of",
        "minima to dense torch, also at 8×100, where all is overhead.\n",
        *([BUSY] if os.getloadavg()[0] > (os.cpu_count() or 1) else []),
        "| shape | threads | loss | targets | median, ms | minimum, ms | ratio of medians | of minima | same input "
        "| target |",
        "|---|---|---|---|---|---|---|---|---|---|",
    ]
    block = torch.empty(1 << 23)
    del block  # from now on the allocator keeps blocks of any size used here, for all parties
    for threads in (1, 2):
        for n, n_labels in SHAPES if threads == 1 else ON_TWO_THREADS:
            lines += rows(n, n_labels, threads)
            RESULTS.mkdir(exist_ok=True)
            (RESULTS / "losses.md").write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
