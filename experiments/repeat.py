"""Train stored runs again and compare: python -m experiments.repeat NAME [--runs 2]; a seed must give the same."""

import argparse
import json
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from experiments.options import Places
from experiments.rows import Row, compute_missing, read_runs
from experiments.sigmoid_bottleneck import grid as bottleneck
from experiments.sigmoid_bottleneck import tasks as bottleneck_tasks
from experiments.sigmoid_f1 import grid as losses
from experiments.sigmoid_f1 import tasks as losses_tasks
from experiments.sparsemax import benchmark, inference
from labelproof.training import RunRecord, sweep

FILES = {"sigmoid_bottleneck": ("grid",), "sigmoid_f1": ("losses",), "sparsemax": ("benchmark", "inference")}


def repeat(name: str, results: Path, n_runs: int, data: str | None = None) -> list[Row]:
    """Train some stored runs again, chosen at random, of one data set or of all; store what differs and return it."""
    records = [record for file in FILES[name] for record in read_runs(results / f"{file}.jsonl")]
    records = [record for record in records if data in (None, record.config["data"]["path"])]
    chosen = [records[i] for i in np.random.default_rng(len(records)).permutation(len(records))[:n_runs]]
    by_key = {record.key: record for record in chosen}

    def compute(*, key: str, data: str, seed: int) -> Row:  # noqa: ARG001
        record = by_key[key]
        return {"changes": record.changes, "differing": differing(record, again(name, record))}

    settings = [{"key": one.key, "data": one.config["data"]["path"], "seed": one.seed} for one in chosen]
    return compute_missing(results / "repeated.jsonl", settings, compute)


def again(name: str, record: RunRecord) -> RunRecord:
    """Train what a record says, on the data that the experiment makes anew."""
    task_name = record.config["data"]["path"]
    options: dict[str, Any]
    if name == "sparsemax" and record.config["encoder"]["kind"] == "pair":
        data, config = inference.dataset(task_name), inference.configuration(task_name)
        options = {"metrics": inference.METRICS, "measure": partial(inference.attended, test=data.part("test"))}
    elif name == "sparsemax":
        data = benchmark.dataset(task_name)
        config = benchmark.configuration(task_name, data, iterations=record.config["trainer"]["epochs"])
        options = {"metrics": benchmark.METRICS}
    elif name == "sigmoid_bottleneck":
        task = {**bottleneck_tasks.TASKS, "generated": bottleneck_tasks.SMOKE}[task_name]
        data, config = task.dataset(), bottleneck.configuration(task)
        options = {"metrics": bottleneck.METRICS, "measure": partial(bottleneck.measured, data=data, task=task)}
    else:
        other = {**losses_tasks.TASKS, "generated": losses_tasks.SMOKE}[task_name]
        data, config = other.dataset(), losses.configuration(other)
        options = {"metrics": ("micro-f1",)}
        parts = {part: data.part(part) for part in ("valid", "test")}
        options["measure"] = partial(losses.decided, fixed=other.fixed, **parts)
    return sweep(config, data, variants=[record.changes], seeds=(record.seed,), **options)[0]


def differing(old: RunRecord, new: RunRecord) -> list[str]:
    """Return what two runs do not share: configuration and data, metrics, or what was measured, but for times."""
    found = [] if old.key == new.key else ["configuration or data"]
    pairs = {"metrics": (old.metrics, new.metrics), "measured": (_timeless(old), _timeless(new))}
    pairs["epochs and parameters"] = ((old.epochs, old.parameters), (new.epochs, new.parameters))
    return found + [name for name, (a, b) in pairs.items() if a != b]


def _timeless(record: RunRecord) -> dict[str, Any]:
    """Return what was measured as a file has it, where a tuple is a list."""
    return json.loads(json.dumps({name: value for name, value in record.measured.items() if "seconds" not in name}))


def main(words: list[str] | None = None) -> None:
    """Repeat runs of one experiment and print what differs."""
    parser = argparse.ArgumentParser(prog="python -m experiments.repeat", description=__doc__)
    parser.add_argument("name", choices=tuple(FILES))
    parser.add_argument("--runs", type=int, default=2)
    parser.add_argument("--data", default=None, help="only runs on this data set")
    parser.add_argument("--out", type=Path, default=None, help="folder of the results, instead of the repository")
    options = parser.parse_args(words)
    for row in repeat(options.name, Places(options.name, options.out).results, options.runs, options.data):
        print(row["setting"], "differ in", row["result"]["differing"] or "nothing")


if __name__ == "__main__":
    main()
