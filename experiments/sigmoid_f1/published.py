"""The published loss as its code has it, beside what the text defines, trained in the same plain loop.

The code applies its sigmoid to sigmoid(z), and its S is −β of equation 6, a β that our own loss refuses. So both are
written out here.
"""

from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn

from experiments.rows import Row, compute_missing
from experiments.sigmoid_f1.tasks import SMOKE, TASKS
from labelproof.data import Dataset
from labelproof.losses import BinaryCrossEntropyLoss, SigmoidF1Loss
from labelproof.metrics import by_name


class PublishedSigmoidF1(nn.Module):
    """1 − F1 of smooth counts of 1 / (1 + exp(S (sigmoid(z) + E))), each label by itself, as the public code has it."""

    def __init__(self, S: float, E: float) -> None:
        super().__init__()
        self.S, self.E = S, E

    def forward(self, logits: Tensor, targets: Tensor) -> Tensor:
        """Return the loss."""
        score = torch.sigmoid(-self.S * (torch.sigmoid(logits) + self.E))
        tp = (score * targets).sum(0)
        fp = (score * (1 - targets)).sum(0)
        fn = ((1 - score) * targets).sum(0)
        return (1 - 2 * tp / (2 * tp + fn + fp + 1e-16)).mean()


LOSSES = {
    "BCE": lambda: BinaryCrossEntropyLoss(),
    "sigmoidF1 as defined, β = 1, η = 0": lambda: SigmoidF1Loss(1.0, 0.0),
    "sigmoidF1 as defined, β = 1, η = 9": lambda: SigmoidF1Loss(1.0, 9.0),
    "public code, its defaults S = −1, E = 0": lambda: PublishedSigmoidF1(-1.0, 0.0),
    "public code, S = −1, E = 9": lambda: PublishedSigmoidF1(-1.0, 9.0),
    "public code, S = 1, E = 9 (β, η as printed)": lambda: PublishedSigmoidF1(1.0, 9.0),
}
EPOCHS, BATCH, RATE = 100, 256, 0.01


def run(path: Path, *, smoke: bool) -> list[Row]:
    """Train what is missing."""
    task = SMOKE if smoke else TASKS["hallmarks_of_cancer"]
    dataset = task.dataset()
    seeds, epochs = ((0,), 2) if smoke else ((0, 1, 2), EPOCHS)
    settings = [{"task": task.name, "loss": loss, "seed": seed} for loss in LOSSES for seed in seeds]

    def compute(*, task: str, loss: str, seed: int) -> Row:
        return {"on": task, **trained(dataset, loss, seed, epochs)}

    return compute_missing(path, settings, compute)


def trained(dataset: Dataset, loss: str, seed: int, epochs: int) -> dict[str, Any]:
    """Train a linear head with Adam; return F1 of the test part at two thresholds, and the loss before and after."""
    test = dataset.part("test")
    scores, first, last = fitted_scores(dataset, LOSSES[loss](), seed, epochs, [test])
    found = {
        f"{metric} at {cut:g}": float(by_name(metric)(test.labels, scores[0] > cut))
        for metric in ("weighted-f1", "micro-f1", "macro-f1")
        for cut in (0.05, 0.5)
    }
    return {
        **found,
        "first loss": first,
        "last loss": last,
        "mAP": float(by_name("macro-average-precision")(test.labels, scores[0])),
    }


def fitted_scores(
    dataset: Dataset, objective: nn.Module, seed: int, epochs: int, parts: list[Dataset]
) -> tuple[list[npt.NDArray[np.float32]], float, float]:
    """Train a linear head in a plain loop; return its sigmoids on some parts, and the loss before and after."""
    generator = torch.Generator().manual_seed(seed)
    train = dataset.part("train")
    mean, scale = train.features.mean(0), train.features.std(0) + 1e-6
    inputs, *new = (torch.from_numpy((part.features - mean) / scale) for part in (train, *parts))
    targets = torch.from_numpy(train.labels.toarray()).float()
    head = nn.Linear(inputs.shape[1], targets.shape[1])
    with torch.no_grad():
        head.weight.normal_(0, inputs.shape[1] ** -0.5, generator=generator)
        head.bias.zero_()
    optimizer = torch.optim.Adam(head.parameters(), lr=RATE)
    first = float(objective(head(inputs), targets).detach())
    for _ in range(epochs):
        for rows in torch.randperm(len(inputs), generator=generator).split(BATCH):
            optimizer.zero_grad()
            objective(head(inputs[rows]), targets[rows]).backward()
            optimizer.step()
    with torch.no_grad():
        last = float(objective(head(inputs), targets))
        return [torch.sigmoid(head(part)).numpy() for part in new], first, last
