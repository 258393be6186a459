"""The comparison of rules as a picture: for each rule the in-sample and the held-out value, and every fold."""

import os
from typing import TYPE_CHECKING

import numpy as np

from labelproof.foundation.figures import new_figure, save_figure

if TYPE_CHECKING:
    from labelproof.decisions.rule_comparison import Comparison

__all__ = ["plot_comparison"]

INK, FADED, HELD_OUT = "#222222", "#9aa5b1", "#0b6e99"


def plot_comparison(comparison: "Comparison", path: str | os.PathLike[str]) -> None:
    """Write the picture to a file; the form follows from the ending of its name."""
    rows = comparison.rows[::-1]
    figure = new_figure(7.5, 1.3 + 0.36 * len(rows))
    axes = figure.add_subplot()
    for place, row in enumerate(rows):
        axes.plot([row.in_sample, row.held_out], [place, place], color=FADED, linewidth=1.2, zorder=1)
        axes.plot(
            row.held_out_folds, np.full(len(row.held_out_folds), place), "|", color=HELD_OUT, markersize=9, alpha=0.6
        )
    y = np.arange(len(rows))
    axes.plot(
        [r.in_sample for r in rows],
        y,
        "o",
        markersize=9,
        markerfacecolor="white",
        color=FADED,
        label="on the data of fit",
    )
    axes.plot([r.held_out for r in rows], y, "o", markersize=6, color=HELD_OUT, label="held out (bars: single folds)")
    axes.set_yticks(y, [row.name for row in rows])
    axes.set_xlabel(f"{comparison.metric}, mean of {comparison.cv} folds", color=INK)
    axes.grid(axis="x", color="#e6e9ec", linewidth=0.8)
    axes.set_axisbelow(True)
    axes.spines[["top", "right", "left"]].set_visible(False)
    axes.tick_params(axis="y", length=0)
    figure.legend(loc="outside upper left", ncols=2, frameon=False)
    save_figure(figure, path, dpi=160)
