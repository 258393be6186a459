"""Other faults of the published code, each beside what was meant: what does it do to the numbers of a paper?"""

from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from experiments.pages import table
from experiments.rows import Row, compute_missing
from experiments.sigmoid_f1.grid import MAP, MAPPED
from experiments.sigmoid_f1.published import BATCH, PublishedSigmoidF1, fitted_scores
from experiments.sigmoid_f1.tasks import SMOKE, TASKS
from experiments.verdicts import spread_text
from labelproof.data import Dataset
from labelproof.decisions import ThresholdAveraging
from labelproof.losses import BinaryCrossEntropyLoss, FocalLoss, SigmoidF1Loss
from labelproof.metrics import by_name

SEEDS, EPOCHS = (0, 1, 2), 60


class SwappedFocal(nn.Module):
    """The focal loss with logits in the place of targets, and the other way round."""

    def forward(self, logits: Tensor, targets: Tensor) -> Tensor:
        """Return the loss."""
        probability = torch.sigmoid(targets)
        entropy = nn.functional.binary_cross_entropy_with_logits(targets, logits, reduction="none")
        missed = logits * (1 - probability) + (1 - logits) * probability
        return (entropy * missed**2 * (0.25 * logits + 0.75 * (1 - logits))).mean()


LOSSES = {
    "BCE": BinaryCrossEntropyLoss,
    "focal": lambda: FocalLoss(0.25, 2.0),
    "focal, logits and targets swapped": SwappedFocal,
    "sigmoidF1": lambda: SigmoidF1Loss(2.0, 0.0),
}


def run(path: Path, *, smoke: bool) -> list[Row]:
    """Train and compute what is missing."""
    task = SMOKE if smoke else TASKS[MAPPED]
    dataset = task.dataset()
    trained = [
        {"task": task.name, "loss": loss, "seed": seed} for loss in LOSSES for seed in SEEDS[: 1 if smoke else None]
    ]

    def compute(*, task: str, loss: str, seed: int) -> Row:
        return _formulas(dataset) if loss == "formulas" else {"on": task, **_trained(dataset, loss, seed, smoke)}

    return compute_missing(path, [{"task": task.name, "loss": "formulas", "seed": 0}, *trained], compute)


def _trained(dataset: Dataset, loss: str, seed: int, smoke: bool) -> dict[str, Any]:
    """Return mAP and F1 of the test part, as defined and as the published code computes them."""
    valid, test = dataset.part("valid"), dataset.part("test")
    scores, _, last = fitted_scores(dataset, LOSSES[loss](), seed, 2 if smoke else EPOCHS, [valid, test])
    if not np.isfinite(last) or not all(np.isfinite(some).all() for some in scores):
        return {"diverged": True}
    held, new = scores
    average = by_name(MAP)
    averaged = ThresholdAveraging().fit(valid.labels, held).decide(new)
    of_one = ThresholdAveraging().fit(valid.labels[:1], held[:1]).decide(new)
    weighted = by_name("weighted-f1")
    return {
        "weighted-f1 at 0.05": float(weighted(test.labels, new > 0.05)),
        "weighted-f1 at 0.5": float(weighted(test.labels, new > 0.5)),
        "mAP": float(average(test.labels, new)),
        "mAP of decisions": float(average(test.labels, (new > 0.5).astype(np.float32))),
        "averaged": float(weighted(test.labels, averaged)),
        "threshold of one example": float(weighted(test.labels, of_one)),
    }


def _formulas(dataset: Dataset) -> Row:
    """Return what the published formula says of right and wrong predictions, of empty labels and of large logits."""
    generator = torch.Generator().manual_seed(0)
    targets = (torch.rand(200, 10, generator=generator, dtype=torch.float64) < 0.1).double()
    right = 10 * (2 * targets - 1)
    found: dict[str, Any] = {}
    forms = {"defined": SigmoidF1Loss(1.0, 0.0), "published": PublishedSigmoidF1(-1.0, 0.0)}
    for name, loss in {**forms, "printed": PublishedSigmoidF1(1.0, 9.0)}.items():
        found[f"right, {name}"], found[f"wrong, {name}"] = float(loss(right, targets)), float(loss(-right, targets))
    empty = torch.zeros(4, 1, requires_grad=True)
    for name, loss in forms.items():
        found[f"gradient of an empty label, {name}"] = float(
            torch.autograd.grad(loss(empty, torch.zeros(4, 1)), empty)[0].abs().max()
        )
    large = torch.full((4, 1), -200.0, requires_grad=True)
    values = {"published": (1 / (1 + torch.exp(-large))).sum(), "defined": forms["defined"](large, torch.ones(4, 1))}
    for name, value in values.items():
        found[f"gradients that are no numbers, {name}"] = int(torch.autograd.grad(value, large)[0].isnan().sum())
    share = np.asarray(dataset.part("train").labels.mean(axis=0)).ravel()
    found["share of labels without a positive"] = float(((1 - share) ** BATCH).mean())
    return found


def section(rows: list[Row]) -> str:
    """Return the faults one by one, and the table of the trained heads."""
    if not rows:
        return "Not run yet."
    formulas = next(row["result"] for row in rows if row["setting"]["loss"] == "formulas")
    lines = [
        [
            "a sigmoid of the sigmoid, defaults: loss of right → wrong predictions",
            *(
                f"{formulas[f'right, {name}']:.3f} → {formulas[f'wrong, {name}']:.3f}"
                for name in ("published", "defined")
            ),
        ],
        [
            "β = 1, η = 9 as printed, with the code's sign: the same",
            f"{formulas['right, printed']:.5f} → {formulas['wrong, printed']:.5f}",
            f"{formulas['right, defined']:.3f} → {formulas['wrong, defined']:.3f}",
        ],
        [
            "gradient of a label without a positive in the batch, all its predictions at ½",
            *(f"{formulas[f'gradient of an empty label, {name}']:.2g}" for name in ("published", "defined")),
        ],
        [
            "1 / (1 + exp(−z)) at z = −200 in float32: gradients of four that are no numbers",
            *(formulas[f"gradients that are no numbers, {name}"] for name in ("published", "defined")),
        ],
    ]
    share = formulas["share of labels without a positive"]
    return "\n".join(
        [
            table(["fault", "published", "as defined"], lines),
            f"In a batch of {BATCH}, {share:.0%} of the labels of {rows[0]['setting']['task']} have no positive.",
            "",
            _trained_table(rows),
        ]
    )


def _trained_table(rows: list[Row]) -> str:
    names = ("mAP", "mAP of decisions", "weighted-f1 at 0.05", "averaged", "threshold of one example")
    lines = []
    for loss in LOSSES:
        some = [row["result"] for row in rows if row["setting"]["loss"] == loss]
        good = [one for one in some if "diverged" not in one]
        if some:
            cells = [spread_text([100 * one[name] for one in good], 1) for name in names] if good else ["diverged"] * 5
            lines.append([f"{loss}, {len(some)} seeds" if len(good) == len(some) else f"{loss}", *cells])
    heads = ["mAP", "mAP of decisions", "weighted F1 at 0.05", "with averaged thresholds", "with that of one example"]
    return table(["loss", *heads], lines)
