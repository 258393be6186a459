"""Memory of a training run with many labels: 100,000 examples, 20,000 labels, sparse features.

    python benchmarks/memory.py [auto|DFT|bottleneck] [SECONDS]

Writes benchmarks/results/memory.md, or memory_HEAD.md. "auto" is the recipe, which has to fall back on what fits, in
its default budget or in so many seconds before the last training on all examples; the others train one epoch with its
validation. Thresholds are tuned and the test part is evaluated; the largest resident size is that of the whole process,
data and libraries included. Labels stay sparse: dense ones of all examples would take 8 GB as float32.
"""

import resource
import sys
import time
from pathlib import Path

import torch

from labelproof.data import topic_data
from labelproof.training import TrainConfig, fit

RESULTS = Path(__file__).parent / "results"
HEADS = {
    "auto": {"kind": "auto"},
    "DFT": {"kind": "dft", "slack": 50},
    "bottleneck": {"kind": "bottleneck", "d": 81},
}
EXAMPLES, LABELS, FEATURES = 100_000, 20_000, 50_000


def peak() -> float:
    """Return the largest resident size so far, in GB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6


def main() -> None:
    torch.set_num_threads(1)
    head, *budget = sys.argv[1:] or ["DFT"]
    dataset = topic_data(EXAMPLES, LABELS, FEATURES)
    before = peak()
    chosen = {
        "encoder": {"kind": "features", "hidden": 128},
        "decision": {"kind": "global"},
        "trainer": {"epochs": 1, "batch_size": 256, "accelerator": "cpu"},
    }
    data = {"validation": 0.05, "test": 0.05}
    options = HEADS[head] | ({"budget": budget[0]} if budget else {})
    config = TrainConfig.from_dict({"data": data, "head": options, **({} if head == "auto" else chosen)})
    command, start = " ".join([head, *budget]), time.process_time()
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
        *fitted.notes,
    ]
    print("\n".join(lines), flush=True)
    (RESULTS / ("memory.md" if head == "DFT" else f"memory_{head}.md")).write_text(
        "\n".join(lines) + "\n", encoding="utf-8"
    )


if __name__ == "__main__":
    main()
