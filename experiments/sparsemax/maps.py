"""Figures 1 and 2: softmax and sparsemax of two and three scores, and the sparsemax loss beside those it resembles."""

from pathlib import Path

import numpy as np
import torch

from labelproof.activations import sparsemax
from labelproof.losses import EntmaxLoss, SparsemaxLoss
from labelproof.pictures.canvas import new_figure, save_figure


def draw_maps(path: Path) -> None:
    """Draw figure 1."""
    figure = new_figure(10, 3.4)
    line = torch.linspace(-3, 3, 241)
    first = figure.add_subplot(1, 3, 1)
    pairs = torch.stack([line, torch.zeros_like(line)], dim=1)
    first.plot(line, torch.softmax(pairs, 1)[:, 0], label="softmax", color="#b5651d")
    first.plot(line, sparsemax(pairs)[:, 0], label="sparsemax", color="#1f5fa8")
    first.set(xlabel="t", title="p₁ of (t, 0)")
    first.legend(loc="upper left", frameon=False, fontsize=8)
    first.grid(alpha=0.25)
    side = torch.linspace(-3, 3, 61)
    z1, z2 = torch.meshgrid(side, side, indexing="ij")
    triples = torch.stack([z1, z2, torch.zeros_like(z1)], dim=-1)
    for place, (name, weigh) in enumerate({"softmax": lambda z: torch.softmax(z, -1), "sparsemax": sparsemax}.items()):
        axes = figure.add_subplot(1, 3, 2 + place, projection="3d")
        axes.plot_surface(z1.numpy(), z2.numpy(), weigh(triples)[..., 0].numpy(), cmap="Blues", linewidth=0)
        axes.set(xlabel="t₁", ylabel="t₂", zlim=(0, 1), title=f"{name}₁ of (t₁, t₂, 0)")
        axes.view_init(30, -120)
    save_figure(figure, path)


def draw_losses(path: Path) -> None:
    """Draw figure 2."""
    figure = new_figure(5, 3.6)
    axes = figure.subplots()
    margins = np.linspace(-3, 3, 301)
    for name, values in binary_losses(margins).items():
        axes.plot(margins, values, label=name, linewidth=2 if name == "sparsemax" else 1.2)
    axes.set(xlabel="margin t of the right class: z = (t, 0)", ylabel="loss", ylim=(-0.1, 3.2))
    axes.legend(loc="upper right", frameon=False, fontsize=8)
    axes.grid(alpha=0.25)
    save_figure(figure, path)


def binary_losses(margins: np.ndarray) -> dict[str, np.ndarray]:
    """Return the losses of scores (t, 0) where the first class is right, by name."""
    scores = torch.from_numpy(np.stack([margins, np.zeros_like(margins)], axis=1))
    right = torch.zeros(len(margins), dtype=torch.long)
    return {
        "0/1": (margins < 0).astype(float),
        "hinge": np.maximum(0, 1 - margins),
        "logistic": EntmaxLoss(1.0, reduction="none")(scores, right).numpy(),
        "sparsemax": SparsemaxLoss(reduction="none")(scores, right).numpy(),
    }


def distance_from_huber() -> float:
    """Return how far the binary sparsemax loss is from the modified Huber loss, at most, on a fine line."""
    t = np.linspace(-4, 4, 8001)
    huber = np.where(t >= 1, 0.0, np.where(t <= -1, -t, (1 - t) ** 2 / 4))
    return float(np.abs(binary_losses(t)["sparsemax"] - huber).max())
