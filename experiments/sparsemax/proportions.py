"""Figure 3: estimating label proportions of synthetic documents, softmax against sparsemax, by document length."""

import itertools
import statistics
from pathlib import Path
from typing import Any

import numpy as np
import torch

from experiments.rows import Row, compute_missing
from labelproof.activations import entmax
from labelproof.data import label_proportions
from labelproof.losses import EntmaxLoss
from labelproof.metrics import jensen_shannon_divergence, mean_squared_distribution_error
from labelproof.pictures.canvas import new_figure, save_figure
from labelproof.training import fit_linear

ALPHAS = {"softmax": 1.0, "sparsemax": 2.0}
DECAYS = (1e-8, 1e-6, 1e-4, 1e-3, 1e-2, 1e-1)
TRAINING, FOLDS, ITERATIONS = 1200, 5, 100
COLOURS = {"softmax": "#b5651d", "sparsemax": "#1f5fa8"}


def settings(*, smoke: bool) -> list[Row]:
    """Return the grid of the figure: labels, mixture, length, activation and seed."""
    grid = itertools.product(
        (0,) if smoke else (0, 1, 2),
        (10,) if smoke else (10, 50),
        ("uniform", "random"),
        (2000,) if smoke else range(200, 2001, 200),
        ALPHAS,
    )
    names = ("seed", "n_labels", "mixture", "length", "activation")
    return [dict(zip(names, values, strict=True)) for values in grid]


def run(path: Path, *, smoke: bool) -> list[Row]:
    """Compute what is missing."""
    n_train, n_test, decays = (150, 50, DECAYS[3:4]) if smoke else (TRAINING, 1000, DECAYS)

    def compute(**setting: Any) -> Row:
        return estimate(**setting, n_train=n_train, n_test=n_test, decays=decays)

    return compute_missing(path, settings(smoke=smoke), compute)


def estimate(
    *,
    seed: int,
    n_labels: int,
    mixture: str,
    length: int,
    activation: str,
    n_train: int,
    n_test: int,
    decays: tuple[float, ...],
) -> Row:
    """Tune the penalty by five folds, train on all, and return the errors on the test documents."""
    counts, proportions = label_proportions(n_train + n_test, n_labels, length, mixture=mixture, seed=seed)
    words = counts / counts.sum(axis=1, keepdims=True)
    alpha, train, test = ALPHAS[activation], slice(n_train), slice(n_train, None)
    scaled = (words - words[train].mean(axis=0)) / np.maximum(words[train].std(axis=0), 1e-12)
    fold = np.random.default_rng(seed).permutation(n_train) % FOLDS
    scores = {}
    for decay in decays:
        guessed = np.zeros((n_train, n_labels))
        for held in range(FOLDS):
            rows = np.flatnonzero(fold != held)
            guessed[fold == held] = _predict(scaled[rows], proportions[rows], scaled[train][fold == held], alpha, decay)
        scores[decay] = jensen_shannon_divergence(proportions[train], guessed)
    best = min(scores, key=lambda decay: scores[decay])
    found = _predict(scaled[train], proportions[train], scaled[test], alpha, best)
    return {
        "mse": mean_squared_distribution_error(proportions[test], found),
        "jsd": jensen_shannon_divergence(proportions[test], found),
        "support": float((found > 0).sum(axis=1).mean()),
        "decay": best,
    }


def _predict(features: np.ndarray, targets: np.ndarray, new: np.ndarray, alpha: float, decay: float) -> np.ndarray:
    loss = EntmaxLoss(alpha)
    found = fit_linear(features, torch.from_numpy(targets), loss, targets.shape[1], decay=decay, iterations=ITERATIONS)
    return entmax(torch.from_numpy(new @ found.weight.T + found.bias), alpha).numpy()


def mean_of(rows: list[Row], value: str, **setting: Any) -> float | None:
    """Return the mean over seeds of a value, for some settings."""
    values = by_seed(rows, value, **setting)
    return statistics.fmean(values.values()) if values else None


def by_seed(rows: list[Row], value: str, **setting: Any) -> dict[int, float]:
    """Return a value of every seed, for settings that leave nothing else open."""
    some = [row for row in rows if setting.items() <= row["setting"].items()]
    return {row["setting"]["seed"]: row["result"][value] for row in some}


def draw(rows: list[Row], path: Path) -> None:
    """Draw the figure: errors by length, one panel for each mixture and number of labels, points of all seeds."""
    sizes = sorted({row["setting"]["n_labels"] for row in rows})
    panels = [(value, mixture, size) for mixture in ("uniform", "random") for size in sizes for value in ("mse", "jsd")]
    figure = new_figure(3.1 * len(panels) / 2, 5.4)
    for axes, (value, mixture, size) in zip(figure.subplots(2, len(panels) // 2).flat, panels, strict=True):
        for activation, colour in COLOURS.items():
            some = [row for row in rows if _is(row, mixture, size, activation)]
            lengths = sorted({row["setting"]["length"] for row in some})
            means = [mean_of(some, value, length=length) for length in lengths]
            axes.plot(lengths, means, label=activation, color=colour)
            axes.plot(
                [row["setting"]["length"] for row in some],
                [row["result"][value] for row in some],
                ".",
                color=colour,
                alpha=0.5,
            )
        axes.set_title(f"{value.upper()}, {mixture}, K = {size}", fontsize=9)
        axes.set_ylim(bottom=0)
        axes.grid(alpha=0.25)
        axes.tick_params(labelsize=7)
    figure.axes[0].legend(loc="upper right", frameon=False, fontsize=8)
    figure.supxlabel("document length", fontsize=9)
    save_figure(figure, path)


def _is(row: Row, mixture: str, size: int, activation: str) -> bool:
    setting = row["setting"]
    return (setting["mixture"], setting["n_labels"], setting["activation"]) == (mixture, size, activation)
