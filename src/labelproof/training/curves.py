"""The learning curve: loss on training and validation data, and the metrics of each epoch."""

import math
from pathlib import Path
from typing import Any

from labelproof.foundation.figures import new_figure, save_figure
from labelproof.training.callbacks import Row

__all__ = ["plot_history"]

NOT_PLOTTED = ("epoch", "seconds", "train loss", "loss")


def plot_history(history: list[Row], path: str | Path, *, monitor: str = "loss") -> None:
    """Draw a picture of a training run.

    Parameters
    ----------
    history
        The values of every epoch, as `fit` returns them.
    path
        Of the picture; its ending says the format.
    monitor
        The value whose best epoch is marked.
    """
    from labelproof.metrics import by_name

    if not history:
        raise ValueError("history must have at least one epoch, got none")
    metrics = [name for name in history[0] if name not in NOT_PLOTTED]
    figure = new_figure(4.8 * (2 if metrics else 1), 3.4)
    panels = figure.subplots(1, 2 if metrics else 1, squeeze=False)[0]
    _draw(panels[0], history, {"train loss": "training", "loss": "validation"}, "loss")
    if metrics:
        _draw(panels[1], history, {name: name for name in metrics}, "validation metrics")
    numbers = [row for row in history if math.isfinite(row.get(monitor, math.nan))]
    if numbers:
        greater = monitor != "loss" and by_name(monitor).greater_is_better
        best = (max if greater else min)(numbers, key=lambda row: row[monitor])
        panel = panels[0] if monitor == "loss" else panels[1]
        left = 2 * best["epoch"] > len(history)  # the word stays inside the panel
        panel.axvline(best["epoch"], color="0.6", linewidth=1, linestyle=":")
        panel.annotate(
            f"best: {best[monitor]:.4g}",
            (best["epoch"], 0),
            xycoords=("data", "axes fraction"),
            xytext=(-3 if left else 3, 4),
            ha="right" if left else "left",
            textcoords="offset points",
            fontsize=8,
            color="0.4",
        )
    save_figure(figure, path)


def _draw(panel: Any, history: list[Row], names: dict[str, str], title: str) -> None:
    epochs = [row["epoch"] for row in history]
    for name, label in names.items():
        if name in history[0]:
            marker = "o" if len(epochs) < 30 else None
            panel.plot(epochs, [row[name] for row in history], label=label, marker=marker, markersize=3)
    panel.set_title(title, fontsize=10)
    panel.set_xlabel("epoch")
    panel.xaxis.get_major_locator().set_params(integer=True)
    panel.spines[["top", "right"]].set_visible(False)
    panel.grid(axis="y", alpha=0.25)
    panel.legend(frameon=False, fontsize=8)
