"""What a head's fixed columns are worth in training: scores, cost and label sets that can be predicted, with seeds.

    LABELPROOF_DATA=... python benchmarks/head_training.py --data debtags mesh_pubmed --seeds 3

For each data set a bag-of-words model of 512 features with: a code head, whose k is the 99th percentile of the training
sets (or the widest that fits); learnable bottlenecks of its width and of its parameters, with its start; the DFT head
as published and with scaled columns; a harmonic head; and code heads of other scales. Each run is a line of
benchmarks/results/head_training.jsonl, and one that is there is not repeated; head_training.md is written at the end.
"""

import argparse
import json
import math
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import nn

import labelproof as lp
from label_order import read, train
from labelproof.heads import choose
from labelproof.heads.adversary import largest_margin

RESULTS = Path(__file__).parent / "results"
WIDTH, SLACK, SETS, MARGINS = 512, 25, 200, 10


def contenders(Y: Any) -> dict[str, Callable[[], nn.Module]]:
    """Return the heads by name, for the labels of the training data."""
    n, sizes = Y.shape[1], np.diff(Y.indptr)
    most, usual = int(sizes.max()), int(np.quantile(sizes, 0.99))
    choice = choose(n, usual, None, WIDTH, slack=SLACK, least="ideal arithmetic")
    if choice.code is None:  # the encoder is too narrow for the 99th percentile
        usual = lp.heads.choosing.widest(n, WIDTH - SLACK, "exact")
        choice = choose(n, usual, None, WIDTH, slack=SLACK)
    code, width = choice.code, choice.columns + SLACK
    narrow = round(choice.parameters(WIDTH, SLACK) / (WIDTH + 1 + n))
    louder = 2.0 ** round(
        math.log2(math.sqrt(n / (3 * SLACK)))
    )  # entries as large as the slack's of nn.Linear(slack, n)
    scale = lp.CodeHead(WIDTH, n, usual, SLACK, code=code).scale
    found: dict[str, Callable[[], nn.Module]] = {
        f"code, k = {usual}": lambda: lp.CodeHead(WIDTH, n, usual, SLACK, code=code),
        f"bottleneck {width}, same width": lambda: lp.BottleneckHead(WIDTH, n, width, start=usual),
        f"bottleneck {narrow}, same parameters": lambda: lp.BottleneckHead(WIDTH, n, narrow, start=usual),
        f"DFT, k = {most}": lambda: lp.DFTHead(WIDTH, n, most, SLACK),
        f"DFT ×{louder:g}": lambda: lp.DFTHead(WIDTH, n, most, SLACK, scale=louder),
        f"harmonic ×{louder:g}": lambda: lp.HarmonicHead(WIDTH, n, most, SLACK, random=2 * most, scale=louder),
    }
    for factor in (0.25, 0.5, 2.0):
        found[f"code, scale {factor * scale:g}"] = lambda s=factor * scale: lp.CodeHead(  # type: ignore[misc]
            WIDTH, n, usual, SLACK, code=code, scale=s
        )
    return found


def scores(model: nn.Module, X: Any, Y: Any) -> dict[str, float]:
    """Return F1 of the ten highest logits, averaged over examples, and micro-F1 of the positive ones."""
    model.eval()
    precision, recall, counts = 0.0, 0.0, np.zeros(3)
    with torch.no_grad():
        for start in range(0, X.shape[0], 512):
            z, truth = model(X[start : start + 512]).numpy(), Y[start : start + 512].toarray() > 0
            top = np.argpartition(-z, 10, axis=1)[:, :10]
            hits = np.take_along_axis(truth, top, axis=1).sum(1)
            precision, recall = precision + (hits / 10).sum(), recall + (hits / np.maximum(1, truth.sum(1))).sum()
            counts += ((z > 0) & truth).sum(), ((z > 0) & ~truth).sum(), (~(z > 0) & truth).sum()
    return {"f1@10": 2 * precision * recall / (precision + recall) / X.shape[0], "micro-f1": _f1(*counts)}


def _f1(tp: float, fp: float, fn: float) -> float:
    return float(2 * tp / max(1, 2 * tp + fp + fn))


def run(name: str, head_name: str, make: Callable[[], nn.Module], data: Any, epochs: int, seed: int) -> dict[str, Any]:
    X, Y, X_test, Y_test = data
    torch.manual_seed(seed)
    head = make()
    start = time.thread_time()
    model = train(X, Y, head, epochs, seed)
    seconds = (time.thread_time() - start) / epochs
    random = np.random.default_rng(seed)
    sets = [Y_test[i].nonzero()[-1].tolist() for i in random.choice(Y_test.shape[0], SETS, replace=False)]
    weight = head.weight.detach().double().numpy()
    verified = lp.verify(weight, sets, certify=False, time_limit=5.0)
    margins = [largest_margin(weight, active)[0] for active in sets[:MARGINS]]
    return {
        "data": name,
        "head": head_name,
        "seed": seed,
        "epochs": epochs,
        **scores(model, X_test, Y_test),
        "argmaxable": int((verified.status == 1).sum()) / SETS,
        "unargmaxable": int((verified.status == 0).sum()) / SETS,
        "median margin": float(np.median(margins)),
        "parameters": sum(p.numel() for p in head.parameters()),
        "seconds an epoch": seconds,
    }


def table(rows: list[dict[str, Any]]) -> str:
    lines = [
        "# Heads with a guarantee in training\n",
        f"A bag of words of {WIDTH} features, {SLACK} learnable columns, means over seeds "
        "(`python benchmarks/head_training.py`).\n",
        "| data | head | seeds | F1@10 | micro-F1 | argmaxable | proven not | median margin | weights | s an epoch |",
        "|---|---|---|---|---|---|---|---|---|---|",
    ]
    for key in dict.fromkeys((row["data"], row["head"]) for row in rows):
        some = [row for row in rows if (row["data"], row["head"]) == key]
        mean = {name: float(np.mean([row[name] for row in some])) for name in some[0] if name not in ("data", "head")}
        spread = float(np.std([row["f1@10"] for row in some]))
        lines.append(
            f"| {key[0]} | {key[1]} | {len(some)} | {mean['f1@10']:.3f} ± {spread:.3f} | {mean['micro-f1']:.3f} "
            f"| {mean['argmaxable']:.1%} | {mean['unargmaxable']:.1%} | {mean['median margin']:.1e} "
            f"| {mean['parameters']:,.0f} | {mean['seconds an epoch']:.1f} |"
        )
    return "\n".join(lines) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--data", nargs="+", default=["debtags", "mesh_pubmed"])
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--epochs", type=int, default=12)
    parser.add_argument("--results", type=Path, default=RESULTS / "head_training.jsonl")
    options = parser.parse_args()
    torch.set_num_threads(1)
    kept = options.results.read_text().splitlines() if options.results.exists() else []
    rows = [json.loads(line) for line in kept]
    for seed in range(options.seeds):
        for name in options.data:
            data = read(name)
            for head_name, make in contenders(data[1]).items():
                wanted = (name, head_name, seed, options.epochs)
                if wanted not in {(row["data"], row["head"], row["seed"], row["epochs"]) for row in rows}:
                    rows.append(run(name, head_name, make, data, options.epochs, seed))
                    with options.results.open("a") as file:
                        file.write(json.dumps(rows[-1]) + "\n")
                    print(rows[-1], flush=True)
    options.results.with_suffix(".md").write_text(table(rows))


if __name__ == "__main__":
    main()
