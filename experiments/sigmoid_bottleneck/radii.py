"""Figure 4: how large the regions of k-active sets are, by the number of labels, with and without slack columns."""

import itertools
import math
from pathlib import Path
from typing import Any

import numpy as np

import labelproof as lp
from experiments.rows import Row, compute_missing
from labelproof.pictures.canvas import new_figure, save_figure
from labelproof.theory.dft import dft_matrix, vandermonde_matrix

SLACK, SETS = 16, 200
LAYERS = {
    "dft": "DFT alone",
    "vandermonde": "orthonormal polynomials alone",
    "slack": f"DFT and {SLACK} slack columns",
    "normal": "normal, as many columns",
}
LEAST = 1e-8  # what the paper's programme can tell from 0


def run(path: Path, *, smoke: bool) -> list[Row]:
    """Compute what is missing; radii are for inputs within ±1."""
    sizes, most = ((16, 64), (1, 3)) if smoke else ((16, 32, 64, 128, 256, 512, 1024), (1, 2, 3, 4, 5))
    grid = itertools.product(LAYERS, most, sizes, (0,) if smoke else (0, 1, 2))
    settings = [{"layer": layer, "k": k, "n": n, "seed": seed} for layer, k, n, seed in grid]
    return compute_missing(path, settings, measure)


def measure(*, layer: str, k: int, n: int, seed: int) -> Row:
    """Verify random sets of k of n labels; return shares of verdicts and proven bounds of the first percentile."""
    rng = np.random.default_rng([seed, n, k])
    columns = rng.normal(size=(n, SLACK)) / math.sqrt(n)  # of norm about 1, as those of the DFT
    weight = dft_matrix(n, k)
    if layer == "vandermonde":
        weight = vandermonde_matrix(n, 2 * k + 1)
    if layer == "slack":
        weight = np.hstack([weight, columns])
    if layer == "normal":
        weight = np.hstack([rng.normal(size=(n, 2 * k + 1)) / math.sqrt(n), columns])
    sets = [sorted(rng.choice(n, k, replace=False).tolist()) for _ in range(SETS)]
    found = lp.verify(weight, sets, radius=True, box=1.0, n_jobs=1)
    status = np.asarray(found.status)
    lower, upper = (np.where(status == 1, values, 0.0) for values in (found.radius, found.radius_upper))
    return {
        "argmaxable": float((status == 1).mean()),
        "unargmaxable": float((status == 0).mean()),
        "first percentile": float(np.percentile(lower, 1)),
        "first percentile, at most": float(np.percentile(upper, 1)),
        "median": float(np.median(lower)),
    }


def mean_log(rows: list[Row], value: str, **setting: Any) -> float | None:
    """Return 10 to the mean logarithm of a value over seeds; 0 where some seed has 0."""
    values = [row["result"][value] for row in rows if setting.items() <= row["setting"].items()]
    if not values:
        return None
    return math.exp(sum(math.log(one) for one in values) / len(values)) if min(values) > 0 else 0.0


def draw(rows: list[Row], path: Path) -> None:
    """Draw one panel for each layer: the radius that 99 of 100 sets exceed, by n, one line for each k."""
    figure = new_figure(2.9 * len(LAYERS), 3.8)
    panels = figure.subplots(1, len(LAYERS), sharex=True, sharey=True)
    for axes, (layer, title) in zip(panels, LAYERS.items(), strict=True):
        for k in sorted({row["setting"]["k"] for row in rows}):
            sizes = sorted({row["setting"]["n"] for row in rows})
            values = [mean_log(rows, "first percentile", layer=layer, k=k, n=n) for n in sizes]
            points = [(n, value) for n, value in zip(sizes, values, strict=True) if value]
            if points:
                axes.loglog(*zip(*points, strict=True), marker="o", markersize=3, label=f"k = {k}")
        axes.axhline(LEAST, color="0.6", linestyle=":")
        axes.set_title(title, fontsize=10)
        axes.set_xlabel("labels n")
        axes.grid(alpha=0.25)
    panels[0].set_ylabel("radius of the smallest 1 %, inputs within ±1")
    panels[-1].legend(loc="lower right", frameon=False, fontsize=8)
    save_figure(figure, path)
