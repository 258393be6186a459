"""Which width a data set needs: bottlenecks get wider until they can predict 99 of 100 test sets; and a rule for it."""

import math
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.ticker import FixedLocator, NullLocator

from experiments.pages import table
from experiments.rows import read_runs
from experiments.sigmoid_bottleneck.grid import configuration, distinct_sets, proven
from experiments.sigmoid_bottleneck.tasks import Task, loaded, with_parts
from labelproof.data import Dataset, topic_data
from labelproof.models import Model
from labelproof.pictures.canvas import new_figure, save_figure
from labelproof.training import Fitted, RunRecord, sweep

WIDTHS = (4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256, 384, 512)
SHARE = 0.99
SETS, HIDDEN, EPOCHS = 300, 512, 40
NAMES = (
    *("hallmarks_of_cancer", "chemical_exposure", "bibtex", "corel5k", "cal500", "yeast_funcat", "debian_packages"),
    *("delicious", "mesh_pubmed", "yeast_go"),
)


@dataclass(frozen=True)
class Needed:
    """What a data set has, and the width that it needs: of two widths that enclose it the geometric mean."""

    name: str
    n_labels: int
    k: int
    width: float
    seeds: int


def run(path: Path, *, smoke: bool) -> None:
    """Train what is missing, for each data set from narrow to wide until the share is reached."""
    for name in ("generated",) if smoke else NAMES:
        data = dataset(name)
        task = Task(name, k=_k(data.part("test").labels), at=1, hidden=HIDDEN, epochs=1 if smoke else EPOCHS)
        for width in WIDTHS[:2] if smoke else _from_a_narrow_one(data.n_labels, task.k):
            variant = {"head.kind": "bottleneck", "head.d": width, "head.start": float(task.k)}
            variant["encoder.standardise"] = isinstance(data.features, np.ndarray)
            measure = partial(measured, data=data, k=task.k)
            options = {"variants": [variant], "seeds": (0,), "out": path, "metrics": (), "measure": measure}
            records = sweep(configuration(task), data, **options)
            if min(map(_share, records)) >= SHARE:
                break


def _from_a_narrow_one(n_labels: int, k: int) -> list[int]:
    """Return the widths to try; a quarter of the complexity has been too narrow for every data set so far."""
    return [width for width in WIDTHS if width >= min(complexity(n_labels, k) / 4, WIDTHS[-2]) * 0.99] or list(WIDTHS)


def dataset(name: str) -> Dataset:
    """Return a data set in parts; labels that the training or test part lacks are left out."""
    if name == "generated":
        return with_parts(topic_data(240, 24, 60, cardinality=2.0, seed=1), least=1)
    return with_parts(loaded(name), least=1 if name.startswith("yeast") else 10)


def measured(fitted: Fitted, *, data: Dataset, k: int) -> dict[str, Any]:
    """Return how many of some distinct test sets the head can predict."""
    model = Model.of(fitted)
    test = data.part("test").restrict_to(model.label_names, unknown="drop")
    return {"k": k, **proven(model, distinct_sets(test.labels)[:SETS])}


def _k(labels: Any) -> int:
    """Return the number of labels that 99 of 100 sets do not exceed."""
    return int(np.quantile(np.diff(labels.indptr), SHARE, method="higher"))


def _share(record: RunRecord) -> float:
    return record.measured["argmaxable"] / record.measured["sets"]


def needed(path: Path) -> list[Needed]:
    """Return what each data set needs, as far as its widths enclose it."""
    by_name: dict[str, dict[int, RunRecord]] = {}
    for record in read_runs(path):
        by_name.setdefault(record.config["data"]["path"], {})[record.config["head"]["d"]] = record
    found = []
    for name, records in by_name.items():
        enough = [width for width in sorted(records) if _share(records[width]) >= SHARE]
        fewer = [width for width in records if enough and width < enough[0]]
        if fewer:
            one = records[enough[0]]
            width = math.sqrt(enough[0] * max(fewer))
            found.append(Needed(name, one.data["labels"], one.measured["k"], width, 1))
    return found


def fitted_factor(rows: list[Needed]) -> tuple[float, float]:
    """Return c of the rule d = c · k · ln(e n / k), and by what factor it errs on a data set that it was not fitted to.

    The factor is the exponential of the root mean square of the differences of logarithms, one data set left out at a
    time.
    """
    logs = [math.log(one.width / complexity(one.n_labels, one.k)) for one in rows]
    errors = [logs[i] - sum(logs[:i] + logs[i + 1 :]) / (len(logs) - 1) for i in range(len(logs))]
    return math.exp(sum(logs) / len(logs)), math.exp(math.sqrt(sum(error**2 for error in errors) / len(errors)))


def complexity(n_labels: int, k: int) -> float:
    """Return k · ln(e n / k), the order of the logarithm of the number of sets of up to k of n labels."""
    return k * math.log(math.e * n_labels / k)


def section(rows: list[Needed], picture: str) -> str:
    """Return the rule and the table of what was needed."""
    if len(rows) < 3:
        return "Not run yet."
    factor, error = fitted_factor(rows)
    lines = [
        [
            f"{number}. {one.name}",
            one.n_labels,
            one.k,
            f"{one.width:.0f}",
            f"{factor * complexity(one.n_labels, one.k):.0f}",
        ]
        for number, one in enumerate(_in_order(rows), 1)
    ]
    said = (
        f"Fitted to {len(rows)} data sets, one seed each: **d ≈ {factor:.2f} · k · ln(e n / k)**. On a data set that\n"
        f"it was not fitted to, the rule is off by a factor of {error:.2f} (root mean square, one left out at a time)."
    )
    columns = ["data", "labels n", "k", "features that were needed", "by the rule"]
    return f"{said}\n\n![features that were needed]({picture})\n\n{table(columns, lines)}"


def _in_order(rows: list[Needed]) -> list[Needed]:
    return sorted(rows, key=lambda one: complexity(one.n_labels, one.k))


def draw(rows: list[Needed], path: Path) -> None:
    """Draw the widths that were needed against the rule, with its error."""
    factor, error = fitted_factor(rows)
    figure = new_figure(5.4, 4.4)
    axes = figure.subplots()
    ends = np.array([0.6, 1.6]) * [
        min(complexity(one.n_labels, one.k) for one in rows),
        max(complexity(one.n_labels, one.k) for one in rows),
    ]
    axes.fill_between(ends, factor * ends / error, factor * ends * error, color="#1f5fa8", alpha=0.15)
    axes.plot(ends, factor * ends, color="#1f5fa8", label=f"{factor:.2f} · k ln(e n / k), within a factor {error:.2f}")
    for number, one in enumerate(_in_order(rows), 1):
        place = complexity(one.n_labels, one.k), one.width
        axes.plot(*place, "o", color="#b23b3b", markersize=4)
        up = 5 if number % 2 else -12
        axes.annotate(str(number), place, textcoords="offset points", xytext=(0, up), ha="center", fontsize=8)
    axes.set(xscale="log", yscale="log", xlabel="k ln(e n / k)", ylabel="features that were needed")
    axes.set_xlim(ends[0] / 1.6, ends[1])
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_minor_locator(NullLocator())
        axis.set_major_locator(FixedLocator([5, 10, 20, 50, 100, 200, 500]))
        axis.set_major_formatter("{x:g}")
    axes.legend(loc="upper left", frameon=False, fontsize=8)
    axes.grid(alpha=0.25)
    save_figure(figure, path)
