"""How the time for a label set grows with the number of labels, of features, and of label sets.

    python benchmarks/curves.py

Writes benchmarks/results/curves.png and curves.json. CPU time of one thread, decision and proof.
"""

import json
import time
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
from matplotlib.ticker import NullFormatter

import labelproof as lp
from weights import load, load_many_sets

RESULTS = Path(__file__).parent / "results"
BY_LABELS = ["1000x50", "2000x50", "8921x50", "20000x50"]
BY_FEATURES = ["8921x25", "8921x50", "8921x100", "8921x200", "8921x400", "8921x768", "8921x2432"]
BY_SETS = [100, 1_000, 10_000, 100_000]


def milliseconds(weight: np.ndarray, label_sets: object, n_sets: int) -> float:
    start = time.process_time()
    v = lp.verify(weight, label_sets[:n_sets], n_jobs=1)
    spent = time.process_time() - start
    assert (v.status >= 0).all(), "every set is to be proven"
    return 1e3 * spent / n_sets


def by_layer(names: list[str]) -> dict[str, float]:
    times = {}
    for name in names:
        weight, label_sets = load(name)
        n_sets = 400 if weight.shape[1] <= 200 else 64
        times[name] = milliseconds(weight, label_sets, n_sets)
        print(f"{name}: {times[name]:.3g} ms a set", flush=True)
    return times


def by_sets() -> dict[int, float]:
    weight, _ = load("8921x50")
    many = load_many_sets()
    times = {}
    for n_sets in BY_SETS:
        times[n_sets] = milliseconds(weight, many, n_sets)
        print(f"{n_sets} sets: {times[n_sets]:.3g} ms a set", flush=True)
    return times


def picture(results: dict[str, dict[str, float]]) -> None:
    figure, axes = plt.subplots(1, 3, figsize=(12, 3.6), layout="constrained")
    panels = (
        ("labels", [int(name.split("x")[0]) for name in results["labels"]], "labels (50 features)"),
        ("features", [int(name.split("x")[1]) for name in results["features"]], "features (8921 labels)"),
        ("sets", [int(n) for n in results["sets"]], "label sets in one call (8921×50)"),
    )
    for axis, (key, x, title) in zip(axes, panels, strict=True):
        y = list(results[key].values())
        axis.plot(x, y, "o-", color="#2a5db0")
        axis.set(xscale="log", yscale="log", xlabel=title, ylabel="ms for one label set")
        if key != "sets":
            guide = np.array(x) / x[0] * y[0]
            axis.plot(x, guide, ":", color="grey")
            axis.plot([], [], ":", color="grey", label="proportional")
            axis.legend(loc="upper left", frameon=False)
        else:
            axis.set_ylim(min(y) / 5, max(y) * 5)
        axis.yaxis.set_major_formatter("{x:g}")
        axis.yaxis.set_minor_formatter(NullFormatter())
        axis.margins(0.1, 0.15)
        axis.grid(alpha=0.3)
        for a, b in zip(x, y, strict=True):
            axis.annotate(f"{b:.2g}", (a, b), xytext=(0, 6), textcoords="offset points", ha="center", fontsize=8)
    figure.suptitle("Decide and prove one label set: CPU time of one thread")
    figure.savefig(RESULTS / "curves.png", dpi=130)


def main() -> None:
    RESULTS.mkdir(exist_ok=True)
    weight, label_sets = load("1000x50")
    lp.verify(weight, label_sets[:2], n_jobs=1)  # compiled code is loaded
    results = {"labels": by_layer(BY_LABELS), "features": by_layer(BY_FEATURES), "sets": by_sets()}
    (RESULTS / "curves.json").write_text(json.dumps(results, indent=1) + "\n")
    picture(results)


if __name__ == "__main__":
    main()
