"""Figure 5: the bottleneck against the DFT head by width, with the baselines that the paper lacks."""

import time
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

import labelproof as lp
from experiments.rows import read_runs
from experiments.sigmoid_bottleneck.tasks import HEADS, MOST_SETS, SMOKE, TASKS, WIDTHS, Task
from labelproof.data import Dataset
from labelproof.metrics import by_name
from labelproof.models import Model
from labelproof.training import Fitted, RunRecord, TrainConfig, sweep

METRICS = ("micro-f1", "macro-f1", "precision@1", "precision@5", "ndcg@5")
STAGES = (  # what the claims need comes first; the last completes the figure
    (HEADS[:4], WIDTHS[:3]),
    (HEADS[:2], WIDTHS[3:]),
    (HEADS[4:], WIDTHS[:3]),
    (HEADS, WIDTHS),
)
PATIENCE = 4  # epochs without a lower validation loss
TOPK = 0.3  # share of them that is verified with the top k as the rule
BEYOND = 0.2  # as many sets of more than k labels, where the guarantee ends
PATIENT = 0.2  # seconds for each set, at most two minutes for all; what is not decided then counts as impossible
BANDS = ("rare", "middle", "frequent")  # thirds of the labels, by their training examples


def run(path: Path, names: tuple[str, ...], *, smoke: bool) -> None:
    """Train and verify what is missing, stage by stage on all tasks with all seeds."""
    tasks = [SMOKE] if smoke else [TASKS[name] for name in names]
    data = {task.name: task.dataset() for task in tasks}
    for heads, widths in STAGES:
        for task in tasks:
            dataset = data[task.name]
            variants = [
                head
                for width in task.widths
                if smoke or width in widths
                for name, head in task.heads(width, dataset.n_labels).items()
                if name in heads
            ]
            measure = partial(measured, data=dataset, task=task)
            options = {"variants": variants, "seeds": task.seeds, "out": path, "metrics": METRICS, "measure": measure}
            sweep(configuration(task), dataset, **options)


def configuration(task: Task) -> TrainConfig:
    """Return what all runs share: BCE, AdamW, early stopping on the validation loss with patience."""
    trainer = {"epochs": task.epochs, "batch_size": 256, "lr": 0.003, "patience": PATIENCE, "accelerator": "cpu"}
    encoder = task.encoder if task.texts == "cnn" else {"kind": "features", "hidden": task.hidden, **task.encoder}
    return TrainConfig.from_dict(
        {
            "data": {"path": task.name, **({"min_count": 0} if task.every else {})},
            "encoder": encoder,
            "loss": {"kind": "bce"},
            "decision": {"kind": "fixed"},
            "trainer": {**trainer, "metrics": [f"f1@{task.at}"]},
        }
    )


def measured(fitted: Fitted, *, data: Dataset, task: Task) -> dict[str, Any]:
    """Prove which distinct label sets of the test part the head can predict; return shares, F1@k, and their cost."""
    model, at = Model.of(fitted), task.at
    test = data.part("test").restrict_to(model.label_names, unknown="drop")
    sets = distinct_sets(test.labels, task.sets)
    begin = time.process_time()
    counts = {
        "sigmoid": proven(model, sets),
        "topk": proven(model, [one for one in sets if one][: round(TOPK * task.sets)], rule="topk"),
        "beyond": proven(model, larger_sets(sets, task.k, n_sets=round(BEYOND * task.sets))),
    }
    seconds = time.process_time() - begin
    logits = model.logits(test.features if test.texts is None else test.texts)
    return {
        "sets": len(sets),
        "argmaxable": counts["sigmoid"]["argmaxable"],
        "unargmaxable": counts["sigmoid"]["unargmaxable"],
        "proven": counts,
        "f1@k": float(by_name(f"f1@{at}")(test.labels, logits)),
        "average precision": by_frequency(data.part("train").label_counts(), test.labels, logits),
        "verification seconds": round(seconds, 2),
        "epochs": [round(row[f"f1@{at}"], 5) for row in fitted.history],
        "head": {"kind": fitted.config.head.kind, **fitted.config.head.options},
        "epoch seconds": round(sum(row["seconds"] for row in fitted.history) / len(fitted.history), 3),
    }


def proven(model: Model, sets: list[list[int]], **rule: Any) -> dict[str, int]:
    """Return how many of some label sets the model's output layer can predict, and how many it never can."""
    bias, limit = None if model.bias is None else model.bias.detach(), max(1.0, min(120.0, PATIENT * len(sets)))
    found = lp.verify(model.weight.detach(), sets, bias=bias, n_jobs=1, time_limit=limit, **rule)
    status = np.asarray(found.status)
    return {"sets": len(sets), "argmaxable": int((status == 1).sum()), "unargmaxable": int((status == 0).sum())}


def distinct_sets(labels: Any, most: int = MOST_SETS) -> list[list[int]]:
    """Return the distinct label sets in random order, at most so many; the same ones for every head."""
    rows = [labels.indices[a:b].tolist() for a, b in zip(labels.indptr[:-1], labels.indptr[1:], strict=True)]
    sets = sorted({tuple(sorted(row)) for row in rows})
    chosen = np.random.default_rng(0).permutation(len(sets))[:most]
    return [list(sets[i]) for i in chosen]


def larger_sets(sets: list[list[int]], k: int, *, n_sets: int) -> list[list[int]]:
    """Return sets of k + 1 to 2 k labels that go together: unions of known sets, the same ones for every head."""
    rng, known = np.random.default_rng(0), sorted(sets)
    found: list[list[int]] = []
    while len(found) < n_sets:
        union: set[int] = set()
        while len(union) <= k:
            union |= set(known[int(rng.integers(len(known)))])
        if len(union) <= 2 * k:
            found.append(sorted(union))
    return found


def by_frequency(counts: Any, truth: Any, scores: Any) -> dict[str, float]:
    """Return the mean average precision of the third of the labels with the fewest training examples, and so on."""
    order, score = np.argsort(counts, kind="stable"), by_name("macro-average-precision")
    thirds = zip(BANDS, np.array_split(order, len(BANDS)), strict=True)
    return {band: round(float(score(truth[:, some], scores[:, some])), 5) for band, some in thirds}


def results(path: Path) -> dict[str, dict[str, dict[int, list[RunRecord]]]]:
    """Return the runs by task, head and width."""
    found: dict[str, dict[str, dict[int, list[RunRecord]]]] = {}
    tasks = {**TASKS, SMOKE.name: SMOKE}
    for record in read_runs(path):
        task = tasks[record.config["data"]["path"]]
        for width in task.widths:
            for head, changes in task.heads(width, record.data["labels"]).items():
                if changes == record.changes:
                    found.setdefault(task.name, {}).setdefault(head, {}).setdefault(width, []).append(record)
    return found


def share(record: RunRecord) -> float:
    """Return the share of the distinct test sets that are argmaxable, with proof."""
    return record.measured["argmaxable"] / record.measured["sets"]


def epochs_to(record: RunRecord, value: float) -> int | None:
    """Return after how many epochs the validation F1@k reaches a value."""
    return next((i for i, one in enumerate(record.measured["epochs"], 1) if one >= value), None)
