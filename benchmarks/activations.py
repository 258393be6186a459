"""Sparsemax, 1.5-entmax and the sparsemax loss against torch's softmax and the entmax package, in one run.

    python benchmarks/activations.py

Writes benchmarks/results/activations.md: ratios in float32, all parties taking turns with two calls each.
With one thread the median CPU time of the calling thread, which other processes disturb least; with two the least wall
time.
"""

import os
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from statistics import median

import entmax as peer
import torch
from torch import Tensor
from torch.nn.functional import cross_entropy

from labelproof.activations import entmax, sparsemax
from labelproof.losses.fenchel_young import sparsemax_loss

RESULTS = Path(__file__).parent / "results"
SHAPES = {(256, 10_000): 1.0, (64, 100_000): 1.0, (256, 1000): 2.0, (4096, 64): 3.0}  # wanted forward ratio
LONG = 10_000  # from this length on, forward and backward, and the loss, have their own wanted ratios
REPEATS, FEW = 21, 9
PARTIAL = 100  # largest logits that entmax sorts first, and more only where they are not enough: its fast mode
SCALES = (0.01, 1.0, 10.0)


def main() -> None:
    lines = [
        "# Speed of sparsemax and entmax\n",
        "Sparsemax and entmax are alternatives to softmax that give many labels a probability of exactly 0. Do they",
        "slow a model down? *Ratio* is their time divided by torch's (softmax; cross entropy for the loss), below 1 is",
        "faster; the last columns say how many times faster they are than the entmax package 1.3, by default and with",
        f"`k={PARTIAL}`, its fast mode that sorts only the largest logits and is the fairer comparison. *f+b* is",
        f"forward and backward. float32, standard normal logits, on {os.cpu_count()} cores with a load average of "
        f"{os.getloadavg()[0]:.1f} at the start (`python benchmarks/activations.py`).",
    ]
    block = torch.empty(1 << 23)
    del block  # from now on the allocator keeps blocks of any size used here, for all parties
    for threads in (1, 2):
        torch.set_num_threads(threads)
        name = "1 thread" if threads == 1 else f"{threads} threads"
        lines += [f"\n## {name}\n", *speed_table(), ""]
        lines += [
            f"Larger logits give fewer nonzero probabilities (the *support*). Logits times a scale, {name}: mean size "
            "of the support, and ratios to softmax (cross entropy for the loss).\n"
        ]
        lines += scale_table()
        RESULTS.mkdir(exist_ok=True)
        (RESULTS / "activations.md").write_text("\n".join(lines) + "\n")


def speed_table() -> list[str]:
    lines = [
        "| shape | what | softmax, ms | labelproof, ms | ratio | target | times faster than entmax 1.3 | with k=100 |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for shape, forward_wanted in SHAPES.items():
        z, t = logits(shape), torch.randint(shape[1], shape[:1])
        long = shape[1] >= LONG
        softmax = _along_rows(torch.softmax)
        sparsemaxes = sparsemax, softmax, peer.sparsemax, partial(peer.sparsemax, k=PARTIAL)
        entmaxes = entmax, softmax, peer.entmax15, partial(peer.entmax15, k=PARTIAL)
        rows: list[tuple[str, float | None, list[Callable[[], object]]]] = [
            ("sparsemax forward", forward_wanted, [_forward(f, z) for f in sparsemaxes]),
            ("sparsemax f+b", 1.0 if long else None, [_both(f, z) for f in sparsemaxes]),
            ("1.5-entmax forward", None, [_forward(f, z) for f in entmaxes]),
            ("1.5-entmax f+b", None, [_both(f, z) for f in entmaxes]),
            ("sparsemax loss f+b", 0.6 if long else None, _losses(z, t)),
        ]
        for name, wanted, calls in rows:
            a, b, c, d = times(*calls, repeats=FEW if long else REPEATS)
            goal = "" if wanted is None else f"≤ {wanted}"
            lines.append(
                f"| {shape} | {name} | {b:.2f} | {a:.2f} | **{a / b:.2f}** | {goal} | {c / a:.1f} | **{d / a:.1f}** |"
            )
            print(lines[-1], flush=True)
    return lines


def scale_table() -> list[str]:
    lines = [
        "| shape | scale | support | sparsemax forward | sparsemax f+b | loss f+b | entmax support | entmax forward |",
        "|---|---|---|---|---|---|---|---|",
    ]
    softmax = _along_rows(torch.softmax)
    for shape in SHAPES:
        t = torch.randint(shape[1], shape[:1])
        for scale in SCALES:
            z = scale * logits(shape)
            f, f0, e = times(_forward(sparsemax, z), _forward(softmax, z), _forward(entmax, z), repeats=REPEATS)
            b, b0 = times(_both(sparsemax, z), _both(softmax, z), repeats=REPEATS)
            loss, loss0 = times(*_losses(z, t)[:2], repeats=REPEATS)
            sizes = [(act(z) > 0).sum(-1).float().mean() for act in (sparsemax, entmax)]
            lines.append(
                f"| {shape} | {scale} | {sizes[0]:.0f} | {f / f0:.2f} | {b / b0:.2f} | {loss / loss0:.2f} "
                f"| {sizes[1]:.0f} | {e / f0:.2f} |"
            )
            print(lines[-1], flush=True)
    return lines


def logits(shape: tuple[int, int]) -> Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(0))


def times(*calls: Callable[[], object], repeats: int = REPEATS) -> list[float]:
    """Return the typical milliseconds of each call, the calls taking turns.

    Each is made twice in a row and timed the second time, so that nobody pays for what another left in the caches; with
    two threads there is a pause before, in which the last one's threads stop spinning.
    """
    alone = torch.get_num_threads() == 1
    clock, typical = (time.thread_time, median) if alone else (time.perf_counter, min)
    taken: list[list[float]] = [[] for _ in calls]
    for call in calls:
        call()
    for _ in range(repeats):
        for call, mine in zip(calls, taken, strict=True):
            time.sleep(0.0 if alone else 0.01)
            call()
            start = clock()
            call()
            mine.append(1e3 * (clock() - start))
    return [typical(mine) for mine in taken]


def _along_rows(function: Callable[..., Tensor]) -> Callable[..., Tensor]:
    return lambda z, dim=-1: function(z, dim)


def _forward(function: Callable[..., Tensor], z: Tensor) -> Callable[[], object]:
    return lambda: function(z, dim=-1)


def _both(function: Callable[..., Tensor], z: Tensor) -> Callable[[], object]:
    leaf, upstream = z.clone().requires_grad_(), torch.randn_like(z)
    return lambda: torch.autograd.grad(function(leaf, dim=-1), leaf, upstream)


def _losses(z: Tensor, t: Tensor) -> list[Callable[[], object]]:
    leaf = z.clone().requires_grad_()
    return [
        lambda: torch.autograd.grad(sparsemax_loss(leaf, t), leaf),
        lambda: torch.autograd.grad(cross_entropy(leaf, t), leaf),
        lambda: torch.autograd.grad(peer.sparsemax_loss(leaf, t).mean(), leaf),
        lambda: torch.autograd.grad(peer.sparsemax_loss(leaf, t, k=PARTIAL).mean(), leaf),
    ]


if __name__ == "__main__":
    main()
