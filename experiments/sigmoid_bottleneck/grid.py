"""Figure 5: the bottleneck against the DFT head by width, with the baselines that the paper lacks."""

import math
import time
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse
from sklearn.feature_extraction.text import TfidfVectorizer

import labelproof as lp
from labelproof.data import Dataset, iterative_stratification, topic_data
from labelproof.metrics import by_name
from labelproof.models import Model
from labelproof.training import Fitted, RunRecord, TrainConfig, read_records, sweep

WIDTHS = (25, 50, 100, 200, 400)
SEEDS = (0, 1, 2)
METRICS = ("micro-f1", "macro-f1", "precision@1", "precision@5", "ndcg@5")
HEADS = (
    "bottleneck",
    "dft",
    "bottleneck, k/n start",
    "bottleneck, as many features",
    "dft, as many parameters",
    "guaranteed",
)
STAGES = (  # what the claims need comes first; the last completes the figure
    (HEADS[:4], WIDTHS[:3]),
    (HEADS[:2], WIDTHS[3:4]),
    (HEADS[4:5], WIDTHS[:3]),
    (HEADS, WIDTHS),
)
PATIENCE = 4  # epochs without a lower validation loss
MOST_SETS, MOST_TOPK = 1000, 300  # distinct test sets that are verified
BEYOND = 200  # sets of more than k labels, where the guarantee ends
BANDS = ("rare", "middle", "frequent")  # thirds of the labels, by their training examples


@dataclass(frozen=True)
class Task:
    """A data set, the most active labels of an example, the k of F1@k, and the widths to compare.

    ``least`` examples must have a label, ``hidden`` features enter the head, and of the examples ``most`` are taken, at
    random, for time; None is all.
    """

    name: str
    k: int
    at: int
    least: int = 1
    widths: tuple[int, ...] = WIDTHS
    seeds: tuple[int, ...] = SEEDS
    epochs: int = 60
    hidden: int = 512
    most: int | None = None

    def dataset(self) -> Dataset:
        """Return the examples; labels that few have are left out, and every label is in the training and test part."""
        if self.name == "generated":
            data = topic_data(240, 24, 60, cardinality=2.0, seed=1)
            return in_both_parts(data.with_split(np.repeat(["train", "valid", "test"], [160, 30, 50])))
        data = lp.load_dataset(self.name)
        if self.most is not None:
            data = data.select(np.sort(np.random.default_rng(0).permutation(len(data))[: self.most]))
        return with_parts(data, least=self.least)

    def heads(self, width: int, n_labels: int) -> dict[str, dict[str, Any]]:
        """Return the heads that are compared at a width d, as changes of a configuration."""
        k, start = self.k, float(self.k)
        projection = self.hidden * (2 * k + 1)  # section 5.1: what the DFT's projection costs
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


TERMS = 5000  # the most frequent words of texts
TASKS = {
    "mesh_pubmed": Task("mesh_pubmed", 25, 10, least=10),
    "delicious": Task("delicious", 25, 10),
    "debtags": Task("debtags", 39, 5, least=20, most=8000),
}
SMOKE = Task("generated", 3, 2, widths=(4,), seeds=(0,), epochs=1, hidden=128)


def with_parts(data: Dataset, *, least: int) -> Dataset:
    """Return a data set in parts, a tenth held out for each where there are none, with texts as features."""
    if data.split is None:
        data = data.drop_rare_labels(least)
        shares = {"train": 0.8, "valid": 0.1, "test": 0.1}
        data = data.with_split(iterative_stratification(data.labels, shares, groups=data.groups, seed=0))
    data = in_both_parts(data)
    if data.texts is None:
        return data
    return Dataset(data.labels, data.label_names, features=word_weights(data), split=data.split)


def word_weights(data: Dataset) -> Any:
    """Return the texts as TF-IDF of the words that most training texts have, computed once for all runs."""
    texts = np.asarray(data.texts, dtype=object)
    words = TfidfVectorizer(max_features=TERMS, min_df=3, sublinear_tf=True, dtype=np.float32)
    words.fit(texts[np.asarray(data.split) == "train"])
    return scipy.sparse.csr_array(words.transform(texts))


def in_both_parts(data: Dataset) -> Dataset:
    """Leave out the labels that the training or the test part does not have."""
    counts = [data.part(name).label_counts() for name in ("train", "test")]
    kept = [name for name, *some in zip(data.label_names, *counts, strict=True) if min(some) > 0]
    return data.restrict_to(kept, unknown="drop")


def run(path: Path, names: tuple[str, ...], *, smoke: bool) -> None:
    """Train and verify what is missing of each task, stage by stage with all seeds."""
    for task in [SMOKE] if smoke else [TASKS[name] for name in names]:
        dataset = task.dataset()
        measure = partial(measured, data=dataset, task=task)
        for heads, widths in STAGES:
            some = [width for width in task.widths if smoke or width in widths]
            variants = [
                head for width in some for name, head in task.heads(width, dataset.n_labels).items() if name in heads
            ]
            options = {"variants": variants, "seeds": task.seeds, "out": path, "metrics": METRICS, "measure": measure}
            sweep(configuration(task), dataset, **options)


def configuration(task: Task) -> TrainConfig:
    """Return what all runs share: BCE, AdamW, early stopping on the validation loss with patience."""
    trainer = {"epochs": task.epochs, "batch_size": 256, "lr": 0.003, "patience": PATIENCE, "accelerator": "cpu"}
    return TrainConfig.from_dict(
        {
            "data": {"path": task.name},
            "encoder": {"kind": "features", "hidden": task.hidden},
            "loss": {"kind": "bce"},
            "decision": {"kind": "fixed"},
            "trainer": {**trainer, "metrics": [f"f1@{task.at}"]},
        }
    )


def measured(fitted: Fitted, *, data: Dataset, task: Task) -> dict[str, Any]:
    """Prove which distinct label sets of the test part the head can predict; return shares, F1@k, and their cost."""
    model, at = Model.of(fitted), task.at
    test = data.part("test").restrict_to(model.label_names, unknown="drop")
    sets = distinct_sets(test.labels)
    begin = time.process_time()
    counts = {
        "sigmoid": proven(model, sets),
        "topk": proven(model, [one for one in sets if one][:MOST_TOPK], rule="topk"),
        "beyond": proven(model, larger_sets(sets, task.k, n_sets=BEYOND)),
    }
    seconds = time.process_time() - begin
    logits = model.logits(test.features)
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
    bias = None if model.bias is None else model.bias.detach()
    found = lp.verify(model.weight.detach(), sets, bias=bias, n_jobs=1, time_limit=120.0, **rule)
    status = np.asarray(found.status)
    return {"sets": len(sets), "argmaxable": int((status == 1).sum()), "unargmaxable": int((status == 0).sum())}


def distinct_sets(labels: Any) -> list[list[int]]:
    """Return the distinct label sets in random order, at most `MOST_SETS`; the same ones for every head."""
    rows = [labels.indices[a:b].tolist() for a, b in zip(labels.indptr[:-1], labels.indptr[1:], strict=True)]
    sets = sorted({tuple(sorted(row)) for row in rows})
    chosen = np.random.default_rng(0).permutation(len(sets))[:MOST_SETS]
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
