"""Appendix G: epochs and CPU time until the bottleneck's best F1@k; the time of an epoch is measured apart."""

import statistics
import time
from pathlib import Path

from experiments.pages import table
from experiments.rows import Row, compute_missing
from experiments.sigmoid_bottleneck.grid import configuration, epochs_to
from experiments.sigmoid_bottleneck.tasks import HEADS, SMOKE, TASKS, Task
from labelproof.data import Dataset
from labelproof.training import RunRecord, fit
from labelproof.training.sweeping import planned_runs

NAMES = ("mesh_pubmed", "delicious", "debtags")
COMPARED = HEADS[:3]
FEW, MORE = 1, 3  # epochs; the difference of two trainings is free of what comes before and after
Heads = dict[str, dict[int, list[RunRecord]]]


def run(path: Path, *, smoke: bool) -> list[Row]:
    """Measure what is missing."""
    tasks = [SMOKE] if smoke else [TASKS[name] for name in NAMES]
    data = {task.name: task.dataset() for task in tasks}
    known = {task.name: task for task in tasks}
    settings = [
        {"data": task.name, "width": width, "head": head}
        for task in tasks
        for width in task.widths
        for head in COMPARED
    ]
    return compute_missing(path, settings, lambda **one: measure(known[one.pop("data")], data, **one))


def measure(task: Task, data: dict[str, Dataset], *, width: int, head: str) -> Row:
    """Return the CPU seconds of an epoch, validation included, on one thread."""
    dataset = data[task.name]
    changes = task.heads(width, dataset.n_labels)[head]
    seconds = []
    for epochs in (FEW, MORE):
        planned = planned_runs(configuration(task), [{**changes, "trainer.epochs": epochs}], (0,))[0]
        begin = time.process_time()
        fit(planned.config, dataset, progress=False)
        seconds.append(time.process_time() - begin)
    return {"epoch seconds": round((seconds[1] - seconds[0]) / (MORE - FEW), 4)}


def section(rows: list[Row], found: dict[str, Heads]) -> str:
    """Return the table of epochs and seconds by data set and width, mean over seeds."""
    if not rows:
        return "Not run yet."
    cost = {
        (one["setting"]["data"], one["setting"]["width"], one["setting"]["head"]): one["result"]["epoch seconds"]
        for one in rows
    }
    lines = []
    for name, width in dict.fromkeys((data, width) for data, width, _ in cost):
        runs = {head: found.get(name, {}).get(head, {}).get(width, []) for head in COMPARED}
        reached = {head: _epochs(runs["bottleneck"], some) for head, some in runs.items()}
        if not all(runs.values()):
            continue
        epochs = [_said(some, 1) for some in reached.values()]
        seconds = [
            _said([None if one is None else one * cost[name, width, head] for one in some], 1)
            for head, some in reached.items()
            if (name, width, head) in cost
        ]
        lines.append([f"{name}, d = {width}", *epochs, *seconds])
    names = ("bottleneck", "dft", "k/n start")
    head = [*(f"epochs, {one}" for one in names), *(f"seconds, {one}" for one in names)]
    return table(["data", *head], lines)


def _epochs(bottlenecks: list[RunRecord], others: list[RunRecord]) -> list[int | None]:
    """Return after how many epochs each run has the best validation F1@k of the bottleneck with its seed."""
    best = {run.seed: max(run.measured["epochs"]) for run in bottlenecks}
    return [epochs_to(run, best[run.seed]) for run in others if run.seed in best]


def _said(values: list[float | None], digits: int) -> str:
    """Return the mean, and how many never get there."""
    known = [value for value in values if value is not None]
    never = f" ({len(values) - len(known)} of {len(values)} never)" if len(known) < len(values) else ""
    return f"{statistics.fmean(known):.{digits}f}{never}" if known else "never"
