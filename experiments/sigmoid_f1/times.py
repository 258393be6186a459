"""Table 6: how long a training step takes with each loss, in CPU time, to which other work adds nothing."""

import time
from pathlib import Path

import torch
from torch import nn

from experiments.rows import Row, compute_missing
from experiments.sigmoid_f1.grid import LOSSES, PUBLISHED
from labelproof.training.choices import build_loss

SIZES, FEATURES, BATCH = (10, 37, 64, 152), 384, 256
REPEATS, STEPS = 7, 40


def run(path: Path, *, smoke: bool) -> list[Row]:
    """Measure what is missing, all losses of one number of labels after each other."""
    settings = [{"labels": size, "loss": loss} for size in (SIZES[:1] if smoke else SIZES) for loss in PUBLISHED]
    return compute_missing(path, settings, measure)


def measure(*, labels: int, loss: str) -> Row:
    """Return the milliseconds of a step of a linear head, of some repeats the fastest."""
    generator = torch.Generator().manual_seed(0)
    inputs = torch.randn(BATCH, FEATURES, generator=generator)
    targets = (torch.rand(BATCH, labels, generator=generator) < 0.1).float()
    options = {key.removeprefix("loss."): value for key, value in LOSSES[loss].items()}
    objective = build_loss(options.pop("kind"), options, n_labels=labels)
    head = nn.Linear(FEATURES, labels)
    optimizer = torch.optim.AdamW(head.parameters(), lr=0.001, fused=True)
    found = []
    for _ in range(REPEATS):
        begin = time.process_time()
        for _ in range(STEPS):
            optimizer.zero_grad()
            objective(head(inputs), targets).backward()
            optimizer.step()
        found.append(1000 * (time.process_time() - begin) / STEPS)
    return {"milliseconds": round(min(found), 4)}
