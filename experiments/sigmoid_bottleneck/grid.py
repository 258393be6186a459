"""Figure 5: the bottleneck against the DFT head by width, with the baselines that the paper lacks."""

import math
import time
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

import labelproof as lp
from labelproof.data import Dataset, iterative_stratification, topic_data
from labelproof.metrics import by_name
from labelproof.models import Model
from labelproof.training import Fitted, RunRecord, TrainConfig, read_records, sweep

WIDTHS = (25, 50, 100, 200, 400)
SEEDS = (0, 1, 2)
METRICS = ("micro-f1", "macro-f1", "precision@1", "precision@5", "ndcg@5")
FEATURES = 512  # of the encoder
HEADS = (
    "bottleneck",
    "dft",
    "bottleneck, k/n start",
    "bottleneck, as many features",
    "dft, as many parameters",
    "guaranteed",
)


@dataclass(frozen=True)
class Task:
    """A data set, the most active labels of an example, the k of F1@k, its encoder, and the widths to compare."""

    name: str
    k: int
    at: int
    encoder: dict[str, Any]
    least: int = 1
    widths: tuple[int, ...] = WIDTHS
    seeds: tuple[int, ...] = SEEDS
    epochs: int = 50

    def dataset(self) -> Dataset:
        """Return the examples; labels that few have are left out, and every label is in the training and test part."""
        if self.name == "generated":
            data = topic_data(240, 24, 60, cardinality=2.0, seed=1)
            return in_both_parts(data.with_split(np.repeat(["train", "valid", "test"], [160, 30, 50])))
        data = lp.load_dataset(self.name)
        if data.split is None:
            data = data.drop_rare_labels(self.least)
            shares = {"train": 0.8, "valid": 0.1, "test": 0.1}
            data = data.with_split(iterative_stratification(data.labels, shares, groups=data.groups, seed=0))
        return in_both_parts(data)

    def heads(self, width: int, n_labels: int) -> dict[str, dict[str, Any]]:
        """Return the heads that are compared at a width d, as changes of a configuration."""
        k, start = self.k, float(self.k)
        projection = int(self.encoder["hidden"]) * (2 * k + 1)  # section 5.1: what the DFT's projection costs
        fewer = width - math.ceil(projection / n_labels)
        found = {
            "bottleneck": {"head.kind": "bottleneck", "head.d": width},
            "dft": {"head.kind": "dft", "head.k": k, "head.slack": width},
            "bottleneck, k/n start": {"head.kind": "bottleneck", "head.d": width, "head.start": start},
            "bottleneck, as many features": {
                "head.kind": "bottleneck",
                "head.d": width + 2 * k + 1,
                "head.start": start,
            },
            "guaranteed": {"head.kind": "guaranteed", "head.slack": width},
        }
        if fewer > 0:
            found["dft, as many parameters"] = {"head.kind": "dft", "head.k": k, "head.slack": fewer}
        return found


BAG = {"kind": "tfidf", "hidden": FEATURES, "max_features": 20000, "min_df": 3}
TASKS = {
    "mesh_pubmed": Task("mesh_pubmed", 25, 10, BAG, least=10),
    "delicious": Task("delicious", 25, 10, {"kind": "features", "hidden": FEATURES}),
    "debtags": Task("debtags", 39, 5, BAG, least=20),
}
SMOKE = Task("generated", 3, 2, {"kind": "features", "hidden": 128}, widths=(4,), seeds=(0,), epochs=1)


def in_both_parts(data: Dataset) -> Dataset:
    """Leave out the labels that the training or the test part does not have."""
    counts = [data.part(name).label_counts() for name in ("train", "test")]
    kept = [name for name, *some in zip(data.label_names, *counts, strict=True) if min(some) > 0]
    return data.restrict_to(kept, unknown="drop")


def run(path: Path, names: tuple[str, ...], *, smoke: bool) -> None:
    """Train and verify what is missing, seed by seed all tasks, widths and heads."""
    tasks = [SMOKE] if smoke else [TASKS[name] for name in names]
    data = [task.dataset() for task in tasks]
    for seed in tasks[0].seeds:
        for task, dataset in zip(tasks, data, strict=True):
            variants = [head for width in task.widths for head in task.heads(width, dataset.n_labels).values()]
            measure = partial(verified, test=dataset.part("test"), at=task.at)
            options = {"variants": variants, "seeds": (seed,), "out": path, "metrics": METRICS, "measure": measure}
            sweep(configuration(task), dataset, **options)


def configuration(task: Task) -> TrainConfig:
    """Return what all runs share: BCE, AdamW, early stopping on the validation loss with a patience of ten."""
    trainer = {"epochs": task.epochs, "batch_size": 256, "lr": 0.001, "patience": 10, "accelerator": "cpu"}
    return TrainConfig.from_dict(
        {
            "data": {"path": task.name},
            "encoder": task.encoder,
            "loss": {"kind": "bce"},
            "decision": {"kind": "fixed"},
            "trainer": {**trainer, "metrics": [f"f1@{task.at}"]},
        }
    )


def verified(fitted: Fitted, *, test: Dataset, at: int) -> dict[str, Any]:
    """Prove which distinct label sets of the test part the head can predict; return shares, F1@k and their cost."""
    model = Model.of(fitted)
    known = test.restrict_to(model.label_names, unknown="drop")
    sets = [list(one) for one in {tuple(row) for row in _rows(known.labels)}]
    bias = None if model.bias is None else model.bias.detach()
    begin = time.process_time()
    found = lp.verify(model.weight.detach(), sets, bias=bias, n_jobs=1, time_limit=120.0)
    seconds = time.process_time() - begin
    status = np.asarray(found.status)
    inputs = known.features if known.features is not None else list(known.texts)
    score = by_name(f"f1@{at}")
    return {
        "sets": len(sets),
        "argmaxable": int((status == 1).sum()),
        "unargmaxable": int((status == 0).sum()),
        "f1@k": float(score(known.labels, model.logits(inputs))),
        "verification seconds": round(seconds, 2),
        "epochs": [round(row[f"f1@{at}"], 5) for row in fitted.history],
        "head": {"kind": fitted.config.head.kind, **fitted.config.head.options},
        "epoch seconds": round(sum(row["seconds"] for row in fitted.history) / len(fitted.history), 3),
    }


def results(path: Path) -> dict[str, dict[str, dict[int, list[RunRecord]]]]:
    """Return the runs by task, head and width."""
    found: dict[str, dict[str, dict[int, list[RunRecord]]]] = {}
    tasks = {**TASKS, SMOKE.name: SMOKE}
    for record in read_records(path):
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


def _rows(labels: Any) -> list[list[int]]:
    return [labels.indices[a:b].tolist() for a, b in zip(labels.indptr[:-1], labels.indptr[1:], strict=True)]
