"""The pictures: three ways to count, box plots of the losses, and the map over beta and eta."""

import statistics
from pathlib import Path

import numpy as np
from scipy.special import expit

from experiments.sigmoid_f1.grid import BETAS, ETAS, MAPPED
from labelproof.pictures.canvas import new_figure, save_figure
from labelproof.training import RunRecord

THRESHOLDS = {"at 0.05": "threshold 0.05", "at .5": "threshold 0.5", "tuned": "tuned threshold"}


def draw_surrogates(path: Path) -> None:
    """Draw figure 2: how a step, a line and sigmoids count a logit."""
    figure = new_figure(5, 3.2)
    axes, z = figure.subplots(), np.linspace(-3, 3, 601)
    axes.plot(z, z > 0, label="step: what is counted in the end", color="0.4")
    axes.plot(z, z, label="line: unboundedF1", color="#b5651d")
    for beta, eta in ((1, 0), (5, 0), (5, 1)):
        axes.plot(z, expit(beta * (z + eta)), label=f"sigmoid, β = {beta}, η = {eta}")
    axes.set(xlabel="logit z", ylabel="count", ylim=(-0.6, 1.6))
    axes.legend(loc="upper left", frameon=False, fontsize=7)
    axes.grid(alpha=0.25)
    save_figure(figure, path)


def draw_boxes(losses: dict[str, list[RunRecord]], path: Path, title: str) -> None:
    """Draw a box and the points of each loss, one panel for each way to decide."""
    rules = list(THRESHOLDS)
    figure = new_figure(2.4 + 2.6 * len(rules), 1.2 + 0.32 * len(losses))
    panels = figure.subplots(1, len(rules), sharex=True, sharey=True, squeeze=False)[0]
    for axes, rule in zip(panels, rules, strict=True):
        values = [[run.measured[rule]["weighted-f1"] for run in runs] for runs in losses.values()]
        axes.boxplot(values, orientation="horizontal", widths=0.6, showfliers=False, medianprops={"color": "#1f5fa8"})
        for place, some in enumerate(values, 1):
            axes.plot(some, [place] * len(some), ".", color="#1f5fa8", alpha=0.6)
        axes.set_yticks(range(1, len(losses) + 1), list(losses), fontsize=8)
        axes.set_title(f"weighted F1, {THRESHOLDS[rule]}", fontsize=9)
        axes.grid(axis="x", alpha=0.25)
    panels[0].invert_yaxis()
    figure.suptitle(title, fontsize=10)
    save_figure(figure, path)


def heat_scores(records: list[RunRecord]) -> dict[tuple[float, float], float]:
    """Return the weighted F1 at the threshold ½ by beta and eta, mean over the seeds that did not diverge."""
    found: dict[tuple[float, float], list[float]] = {}
    for record in records:
        if record.failure is None:
            pair = record.changes["loss.beta"], record.changes["loss.eta"]
            found.setdefault(pair, []).append(record.measured["at .5"]["weighted-f1"])
    return {pair: statistics.fmean(some) for pair, some in found.items()}


def draw_heat(records: list[RunRecord], path: Path) -> None:
    """Draw the weighted F1 at the threshold ½ over beta and eta."""
    table = np.full((len(ETAS), len(BETAS)), np.nan)
    for (beta, eta), score in heat_scores(records).items():
        table[ETAS.index(eta), BETAS.index(beta)] = score
    figure = new_figure(5.4, 3.6)
    axes = figure.subplots()
    image = axes.imshow(table, cmap="Blues", aspect="auto")
    for (row, column), value in np.ndenumerate(table):
        if np.isfinite(value):
            dark = value > (np.nanmin(table) + np.nanmax(table)) / 2
            colour = "white" if dark else "black"
            axes.text(column, row, f"{value:.3f}", ha="center", va="center", fontsize=8, color=colour)
    axes.set_xticks(range(len(BETAS)), [f"{beta:g}" for beta in BETAS])
    axes.set_yticks(range(len(ETAS)), [f"{eta:g}" for eta in ETAS])
    axes.set(xlabel="β", ylabel="η", title=f"weighted F1 at the threshold ½, {MAPPED}")
    figure.colorbar(image)
    save_figure(figure, path)
