"""What a head's fixed columns are worth in training: scores, cost and label sets that can be predicted, with seeds.

    LABELPROOF_DATA=... python benchmarks/head_training.py --data mesh_pubmed delicious --seeds 3

For each data set a bag-of-words model of 512 features with: a code head, whose k is the 99th percentile of the training
sets (or the widest that fits); learnable bottlenecks of its width and of its parameters, with its start; the DFT head
as published and with scaled columns; and a harmonic head. With the first seed also code, DFT and harmonic heads of
other scales. Each run is a line of benchmarks/results/head_training.jsonl, and one that is there is not repeated;
head_training.md and its pictures are made of these lines by benchmarks/head_training_report.py.
"""

import argparse
import json
import math
import time
from collections.abc import Callable
from functools import partial
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
WIDTH, SLACK, SETS, MARGINS, RAREST_WORD = 512, 25, 1000, 15, 20
Makers = dict[str, Callable[[], nn.Module]]


def contenders(Y: Any) -> tuple[Makers, Makers]:
    """Return the heads by name for the labels of the training data: those to compare, and those of other scales."""
    n, sizes = Y.shape[1], np.diff(Y.indptr)
    most, usual = int(sizes.max()), int(np.quantile(sizes, 0.99))
    choice = choose(n, usual, None, WIDTH, slack=SLACK, least="ideal arithmetic")
    if choice.code is None:  # the encoder is too narrow for the 99th percentile
        usual = lp.heads.choosing.widest(n, WIDTH - SLACK, "exact")
        choice = choose(n, usual, None, WIDTH, slack=SLACK)
    width = choice.columns + SLACK
    narrow = round(choice.parameters(WIDTH, SLACK) / (WIDTH + 1 + n))
    louder = 2.0 ** round(math.log2(math.sqrt(n / (3 * SLACK))))  # entries as large as the slack's in nn.Linear

    def code(scale: float | None = None) -> nn.Module:
        return lp.CodeHead(WIDTH, n, usual, SLACK, code=choice.code, scale=scale)

    def dft(scale: float) -> nn.Module:
        return lp.DFTHead(WIDTH, n, most, SLACK, scale=scale)

    def harmonic(scale: float) -> nn.Module:
        return lp.HarmonicHead(WIDTH, n, most, SLACK, scale=scale)

    heads: Makers = {
        f"code, k = {usual}": code,
        f"bottleneck {width}, same width": lambda: lp.BottleneckHead(WIDTH, n, width, start=usual),
        f"bottleneck {narrow}, same parameters": lambda: lp.BottleneckHead(WIDTH, n, narrow, start=usual),
        f"DFT, k = {most}": lambda: dft(1.0),
        f"DFT ×{louder:g}": lambda: dft(louder),
        f"harmonic ×{louder:g}": lambda: harmonic(louder),
    }
    usually = code().scale
    others: Makers = {}
    for factor in (0.25, 0.5, 2.0, 4.0):
        others[f"code ×{factor * usually:g}"] = partial(code, factor * usually)
        others[f"DFT ×{factor * louder:g}"] = partial(dft, factor * louder)
        others[f"harmonic ×{factor * louder:g}"] = partial(harmonic, factor * louder)
    return heads, others


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
    f1 = 2 * precision * recall / (precision + recall) / X.shape[0]
    return {"f1@10": float(f1), "micro-f1": _f1(*counts)}


def _f1(tp: float, fp: float, fn: float) -> float:
    return float(2 * tp / max(1, 2 * tp + fp + fn))


def run(make: Callable[[], nn.Module], data: Any, epochs: int, seed: int, *, verified: bool) -> dict[str, Any]:
    """Train a head and return what it scores and costs, and where asked which label sets it can predict."""
    X, Y, X_test, Y_test = data
    torch.manual_seed(seed)
    head = make()
    start = time.thread_time()
    model = train(X, Y, head, epochs, seed)
    seconds = (time.thread_time() - start) / epochs
    found = {
        "labels": Y.shape[1],
        "features": head.weight.shape[1],
        "parameters": sum(p.numel() for p in head.parameters()),
        "seconds an epoch": seconds,
        **scores(model, X_test, Y_test),
    }
    return found | (reach(head, Y_test, seed) if verified else {})


def reach(head: nn.Module, Y: Any, seed: int) -> dict[str, Any]:
    """Verify some label sets of the test data, and measure the margins of a few."""
    random = np.random.default_rng(seed)
    sets = [Y[i].nonzero()[-1].tolist() for i in random.choice(Y.shape[0], SETS, replace=False)]
    weight = head.weight.detach().double().numpy()
    status = lp.verify(weight, sets, certify=False, time_limit=5.0, n_jobs=1).status
    return {
        "covered": float((np.diff(Y.indptr) <= getattr(head, "k", 0)).mean()),
        "argmaxable": float((status == 1).mean()),
        "unargmaxable": float((status == 0).mean()),
        "margins": [largest_margin(weight, active)[0] for active in sets[:MARGINS]],
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", nargs="+", default=["mesh_pubmed", "delicious"])
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--epochs", type=int, default=8)
    parser.add_argument("--results", type=Path, default=RESULTS / "head_training.jsonl")
    options = parser.parse_args()
    torch.set_num_threads(1)
    kept = options.results.read_text().splitlines() if options.results.exists() else []
    done = {(row["data"], row["head"], row["seed"], row["epochs"]) for row in map(json.loads, kept)}
    every = {name: read(name, RAREST_WORD) for name in options.data}
    for seed, others in [(0, False), (1, False), (0, True), *((seed, False) for seed in range(2, options.seeds))]:
        for name, data in every.items():
            for head, make in contenders(data[1])[others].items():
                if (name, head, seed, options.epochs) not in done:
                    row = {"data": name, "head": head, "seed": seed, "epochs": options.epochs}
                    row |= run(make, data, options.epochs, seed, verified=not others)
                    with options.results.open("a") as file:
                        file.write(json.dumps(row) + "\n")
                    print(row, flush=True)


if __name__ == "__main__":
    main()
