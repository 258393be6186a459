"""The picture of figure 5: share of test sets that can be predicted and F1@k by the width of the head."""

import statistics
from pathlib import Path

from experiments.sigmoid_bottleneck.grid import share
from experiments.sigmoid_bottleneck.tasks import HEADS
from labelproof.pictures.canvas import new_figure, save_figure
from labelproof.training import RunRecord

LEAST_SPAN = 0.03  # of the axis of F1@k
COLOURS = dict(zip(HEADS, ("#b23b3b", "#1f5fa8", "#e08a3c", "#8a5a2b", "#5ba3d0", "#3a8f4a"), strict=True))

STYLES = dict(zip(HEADS, ("-", "-", "--", ":", "-.", (0, (1, 3))), strict=True))  # so that lines on each other are seen


def draw(heads: dict[str, dict[int, list[RunRecord]]], path: Path, title: str) -> None:
    """Draw one line for each head through the means over seeds, and the points of all runs."""
    figure = new_figure(9.4, 4.4)
    panels = figure.subplots(1, 2)
    for head, widths in heads.items():
        xs = sorted(widths)
        for axes, value in zip(panels, (share, lambda one: one.measured["f1@k"]), strict=True):
            look = {"color": COLOURS[head], "linestyle": STYLES[head], "linewidth": 2, "label": head}
            axes.plot(xs, [statistics.fmean(map(value, widths[x])) for x in xs], **look)
            points = [(x, value(one)) for x in xs for one in widths[x]]
            axes.plot(*zip(*points, strict=True), ".", color=COLOURS[head], alpha=0.5)
    for axes, name in zip(panels, ("share of test sets that can be predicted", "F1@k"), strict=True):
        axes.set_xscale("log")
        axes.minorticks_off()
        axes.set_xticks(sorted({x for widths in heads.values() for x in widths}))
        axes.xaxis.set_major_formatter("{x:g}")
        axes.set(xlabel="width d", title=name)
        axes.grid(alpha=0.25)
    low, high = panels[1].get_ylim()
    if high - low < LEAST_SPAN:  # a difference of nothing should look like it
        panels[1].set_ylim((low + high - LEAST_SPAN) / 2, (low + high + LEAST_SPAN) / 2)
    figure.legend(
        *panels[0].get_legend_handles_labels(), loc="outside lower center", ncols=3, frameon=False, fontsize=8
    )
    figure.suptitle(title, fontsize=11)
    save_figure(figure, path)
