"""Memory of a training run with many labels: 100,000 examples, 20,000 labels, sparse features.

    python benchmarks/memory.py [auto|DFT|bottleneck] [BATCHES] [--budget 10m]

Writes benchmarks/results/memory.md, or memory_HEAD.md. "auto" is the recipe, which has to fall back on what fits: a
network alone, which by default looks for twenty minutes how many epochs are best; --budget names another time. With
BATCHES an epoch ends after so many of them, and the budget is a minute unless it is named: that saves most of the time,
and what is kept in memory is the same. The others train one epoch with its validation.

Thresholds are tuned and the test part is evaluated; the largest resident size is that of the whole process, data and
libraries included. Labels stay sparse: dense ones of all examples would take 8 GB as float32.
"""

import argparse
import resource
import time
from pathlib import Path
from typing import Any

import torch

from labelproof.data import topic_data
from labelproof.training import TrainConfig, fit
from labelproof.training.recipe import network

RESULTS = Path(__file__).parent / "results"
HEADS = {
    "auto": {"kind": "auto"},
    "DFT": {"kind": "dft", "slack": 50},
    "bottleneck": {"kind": "bottleneck", "d": 81},
}
MINUTE = "1m"
EXAMPLES, LABELS, FEATURES = 100_000, 20_000, 50_000


def peak() -> float:
    """Return the largest resident size so far, in GB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6


def end_epochs_after(batches: int) -> None:
    """Let an epoch of the recipe's networks take so many batches of those that come first in its order."""
    whole = network._epoch

    def first_batches(*given: Any) -> None:
        *others, order, size = given
        whole(*others, order[: batches * size], size)

    network._epoch = first_batches


def _cut_short(budget: str | None, batches: int | None) -> list[str]:
    """Say what makes time and micro-F1 other than those of the default."""
    found = []
    if budget:
        found.append(f"- The budget was {budget}; by default a network that stands alone has twenty minutes.")
    if batches:
        found.append(f"- Epochs ended after {batches} batches: time and micro-F1 are not those of a training.")
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("head", nargs="?", choices=HEADS, default="DFT")
    parser.add_argument("batches", nargs="?", type=int, help="of an epoch of the recipe's networks")
    parser.add_argument("--budget", help="of the recipe")
    given = parser.parse_args()
    budget = given.budget or (MINUTE if given.batches else None)
    head = given.head
    torch.set_num_threads(1)
    if given.batches:
        end_epochs_after(given.batches)
    dataset = topic_data(EXAMPLES, LABELS, FEATURES)
    before = peak()
    chosen = {
        "encoder": {"kind": "features", "hidden": 128},
        "decision": {"kind": "global"},
        "trainer": {"epochs": 1, "batch_size": 256, "accelerator": "cpu"},
    }
    data = {"validation": 0.05, "test": 0.05}
    options = HEADS[head] | ({"budget": budget} if budget else {})
    config = TrainConfig.from_dict({"data": data, "head": options, **({} if head == "auto" else chosen)})
    words = [head, *([str(given.batches)] if given.batches else [])]
    command = " ".join([*words, *([f"--budget {given.budget}"] if given.budget else [])])
    start = time.process_time()
    fitted = fit(config, dataset, progress=False)
    lines = [
        "# Memory of training with many labels\n",
        "How much memory does training need when there are too many labels for a dense label matrix? This run has "
        f"{EXAMPLES:,} examples, {LABELS:,} labels and {FEATURES:,} sparse features, with "
        f"{fitted.head.weight.shape[1]} features in the {head} head (`python benchmarks/memory.py {command}`). Target: "
        "at most 8 GB.\n",
        "| | |",
        "|---|---|",
        f"| peak memory (resident size) | **{peak():.1f} GB** |",
        f"| of this, before training started | {before:.1f} GB |",
        f"| CPU time of training, threshold tuning and evaluation | {time.process_time() - start:.0f} s |",
        f"| micro-F1 on the test part | {fitted.metrics['test']['micro-f1']:.3f} |",
        "",
        *_cut_short(budget, given.batches),
        *(f"- {note}" for note in fitted.notes),
    ]
    print("\n".join(lines), flush=True)
    (RESULTS / ("memory.md" if head == "DFT" else f"memory_{head}.md")).write_text(
        "\n".join(lines) + "\n", encoding="utf-8"
    )


if __name__ == "__main__":
    main()
