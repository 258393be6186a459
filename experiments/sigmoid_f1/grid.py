"""Every loss with every seed on the same frozen features, and what each way to decide makes of the logits."""

from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from scipy.special import expit

from experiments.rows import read_runs
from experiments.sigmoid_f1.tasks import SMOKE, TASKS, Task
from labelproof.data import Dataset
from labelproof.decisions import PerLabelThreshold, Threshold, ThresholdAveraging
from labelproof.metrics import by_name
from labelproof.models import Model
from labelproof.training import Fitted, RunRecord, TrainConfig, sweep

SEEDS = (0, 1, 2, 3, 4)
RATES = (0.003, 0.03)  # the better one on validation data counts
METRICS = ("weighted-f1", "micro-f1", "macro-f1", "macro-precision")
MAP = "macro-interpolated-average-precision"
LOSSES: dict[str, dict[str, Any]] = {
    "BCE": {"loss.kind": "bce"},
    "focal": {"loss.kind": "focal", "loss.alpha": 0.25, "loss.gamma": 2.0},
    "ASL": {"loss.kind": "asl"},
    "unboundedF1": {"loss.kind": "unbounded-f1"},
    "unboundedF1 of sigmoids": {"loss.kind": "unbounded-f1", "loss.scores": "sigmoid"},
    "sigmoidF1": {"loss.kind": "sigmoid-f1", "loss.beta": 2.0, "loss.eta": 0.0},
    "sigmoidF1, pooled": {"loss.kind": "sigmoid-f1", "loss.beta": 2.0, "loss.eta": 0.0, "loss.average": "micro"},
    "Jaccard": {"loss.kind": "confusion", "loss.metric": "jaccard"},
    "MCC": {"loss.kind": "confusion", "loss.metric": "mcc"},
}
PUBLISHED = ("BCE", "focal", "ASL", "unboundedF1", "sigmoidF1")  # the losses of the paper's tables
BETAS, ETAS = (0.5, 1.0, 2.0, 5.0, 10.0, 30.0), (-1.0, 0.0, 1.0, 2.0, 9.0)
MAPPED, MAP_SEEDS = "reuters21578", SEEDS[:3]  # the data of the map and of the batches
BATCHES, EMPTY = (64, 256, 1024), ("skip", "smooth", "memory")


def run(path: Path, names: tuple[str, ...], *, smoke: bool) -> None:
    """Train what is missing of the comparison of losses; what the paper's claims need comes first."""
    tasks = [SMOKE] if smoke else [TASKS[name] for name in names]
    data = [task.dataset() for task in tasks]
    rates = RATES[:1] if smoke else RATES
    stages = [(LOSSES, SEEDS[:1])] if smoke else [(PUBLISHED, SEEDS[:3]), (LOSSES, SEEDS[:3]), (LOSSES, SEEDS)]
    for losses, seeds in stages:
        variants = [{**LOSSES[loss], "trainer.lr": rate} for loss in losses for rate in rates]
        for task, dataset in zip(tasks, data, strict=True):
            _sweep(task, dataset, variants, seeds[: task.seeds], path)


def run_heat(path: Path, *, smoke: bool) -> None:
    """Train what is missing of the map over beta and eta."""
    pairs = [(beta, eta) for beta in BETAS for eta in ETAS]
    variants = [{"loss.kind": "sigmoid-f1", "loss.beta": beta, "loss.eta": eta} for beta, eta in pairs]
    task = SMOKE if smoke else TASKS[MAPPED]
    _sweep(task, task.dataset(), variants[:2] if smoke else variants, MAP_SEEDS[: 1 if smoke else None], path)


def run_batches(path: Path, *, smoke: bool) -> None:
    """Train what is missing of batch size against the policy for labels without a positive in the batch."""
    pairs = [(size, empty) for size in BATCHES for empty in EMPTY]
    variants = [
        {"loss.kind": "sigmoid-f1", "loss.beta": 2.0, "loss.empty": empty, "trainer.batch_size": size}
        for size, empty in pairs
    ]
    task = SMOKE if smoke else TASKS[MAPPED]
    _sweep(task, task.dataset(), variants[:2] if smoke else variants, SEEDS[: 1 if smoke else 3], path)


def _sweep(task: Task, dataset: Dataset, variants: list[dict[str, Any]], seeds: tuple[int, ...], path: Path) -> None:
    measure = partial(decided, valid=dataset.part("valid"), test=dataset.part("test"), fixed=task.fixed)
    sweep(
        configuration(task), dataset, variants=variants, seeds=seeds, out=path, metrics=("micro-f1",), measure=measure
    )


def configuration(task: Task) -> TrainConfig:
    """Return what all runs share: a linear head on the task's features, AdamW, batches of 256, no early stopping."""
    return TrainConfig.from_dict(
        {
            "data": {"path": task.name, "min_count": 0},
            "encoder": {"kind": "features", "standardise": True, **task.encoder},
            "head": {"kind": "linear"},
            "decision": {"kind": "global"},
            "trainer": {"epochs": task.epochs, "batch_size": 256, "lr": 0.003, "patience": None, "accelerator": "cpu"},
        }
    )


def decided(fitted: Fitted, *, valid: Dataset, test: Dataset, fixed: float) -> dict[str, Any]:
    """Return all metrics of the test part by each way to decide; thresholds are tuned on the validation part."""
    model = Model.of(fitted)
    held, new = (expit(model.logits(part.features).astype(np.float64)) for part in (valid, test))
    rules = {
        "at .5": Threshold(0.5),
        f"at {fixed:g}": Threshold(fixed),
        "tuned": Threshold(metric="micro-f1").fit(valid.labels, held),
        "tuned for each label": PerLabelThreshold(metric="macro-f1", shrinkage=5.0).fit(valid.labels, held),
        "averaged": ThresholdAveraging().fit(valid.labels, held),
    }
    found: dict[str, Any] = {MAP: round(float(by_name(MAP)(test.labels, new)), 5)}
    for name, rule in rules.items():
        active = rule.decide(new)
        found[name] = {metric: round(float(by_name(metric)(test.labels, active)), 5) for metric in METRICS}
    found["epoch seconds"] = round(sum(row["seconds"] for row in fitted.history) / len(fitted.history), 4)
    return found


def best_rates(path: Path) -> dict[str, dict[str, list[RunRecord]]]:
    """Return the runs of each task and loss, of the two learning rates for each seed the better on validation data."""
    found: dict[tuple[str, str, int], RunRecord] = {}
    for record in read_runs(path):
        loss = next((name for name, changes in LOSSES.items() if _is(record, changes)), None)
        if loss is None or record.failure is not None:
            continue
        key = record.config["data"]["path"], loss, record.seed
        if key not in found or _score(record) > _score(found[key]):
            found[key] = record
    tasks: dict[str, dict[str, list[RunRecord]]] = {}
    for (task, loss, _), record in sorted(found.items(), key=lambda item: list(LOSSES).index(item[0][1])):
        tasks.setdefault(task, {}).setdefault(loss, []).append(record)
    return tasks


def _is(record: RunRecord, changes: dict[str, Any]) -> bool:
    return {key: value for key, value in record.changes.items() if key != "trainer.lr"} == changes


def _score(record: RunRecord) -> float:
    return record.value("validation/micro-f1") or 0.0
