"""What a head's fixed columns are worth in training: scores, cost and label sets that can be predicted, with seeds.

    LABELPROOF_DATA=... python benchmarks/head_training.py --data mesh_pubmed delicious --seeds 3

For each data set a bag-of-words model of 512 features with: a code head, whose k is the 99th percentile of the training
sets (or the widest that fits); learnable bottlenecks of its width and of its parameters, with its start; the DFT head;
and a harmonic head. A tenth of the training examples is for validation: each run stops at the epoch with the best F1@10
there, and each head, the bottlenecks too, gets seven scales of its output columns, and more while the best one there is
the smallest or the largest; that one is then run with the other seeds. The test part is only reported. The DFT head as
published (scale 1) is compared as well. The scales of the heads with a guarantee were also tried on a third data set:
--data debtags --heads code harmonic "DFT, k" --seeds 0. Each run is a line of
benchmarks/results/head_training.jsonl, and one that is there is not repeated;
head_training.md and its pictures are made of these lines by benchmarks/head_training_report.py.
"""

import argparse
import json
import time
from collections.abc import Callable
from copy import deepcopy
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import nn

import labelproof as lp
from label_order import Model, epochs_of_training, read
from labelproof.heads import choose
from labelproof.heads.adversary import largest_margin

RESULTS = Path(__file__).parent / "results"
WIDTH, SLACK, SETS, MARGINS, RAREST_WORD = 512, 25, 1000, 15, 20
EPOCHS, PATIENCE = 30, 2
FACTORS = (0.125, 0.25, 0.5, 1.0, 2.0, 4.0, 8.0)  # of the default scale
FARTHEST = 64.0  # neither larger factors nor smaller than its inverse are tried
Makers = dict[str, Callable[[float], nn.Module]]
Data = tuple[Any, Any, Any, Any]
PUBLISHED = "DFT as published"


def contenders(Y: Any) -> Makers:
    """Return the heads by name for the labels of the training data; each is made with a factor on its default scale."""
    n, sizes = Y.shape[1], np.diff(Y.indptr)
    most, usual = int(sizes.max()), int(np.quantile(sizes, 0.99))
    choice = choose(n, usual, None, WIDTH, slack=SLACK, least="ideal arithmetic")
    if choice.code is None:  # the encoder is too narrow for the 99th percentile
        usual = lp.heads.choosing.widest(n, WIDTH - SLACK, "exact")
        choice = choose(n, usual, None, WIDTH, slack=SLACK)
    width = choice.columns + SLACK
    narrow = round(choice.parameters(WIDTH, SLACK) / (WIDTH + 1 + n))

    def bottleneck(d: int, factor: float) -> nn.Module:
        head = lp.BottleneckHead(WIDTH, n, d, start=usual)
        with torch.no_grad():
            head.output.weight[:, 1:] *= factor  # the first column is the start's
        return head

    def fixed(make: Callable[..., nn.Module], factor: float) -> nn.Module:
        return make(scale=factor * make().scale)

    return {
        f"code, k = {usual}": partial(fixed, partial(lp.CodeHead, WIDTH, n, usual, SLACK, code=choice.code)),
        f"bottleneck {width}, same width": partial(bottleneck, width),
        f"bottleneck {narrow}, same parameters": partial(bottleneck, narrow),
        f"DFT, k = {most}": partial(fixed, partial(lp.DFTHead, WIDTH, n, most, SLACK)),
        f"harmonic, k = {most}": partial(fixed, partial(lp.HarmonicHead, WIDTH, n, most, SLACK)),
        PUBLISHED: lambda _: lp.DFTHead(WIDTH, n, most, SLACK, scale=1.0),
    }


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


def run(make: Callable[[], nn.Module], data: Data, seed: int, most: int) -> tuple[nn.Module, dict[str, Any]]:
    """Train a head until its validation score has fallen for some epochs; return its best state, scores and cost."""
    X, Y, X_test, Y_test = data
    held_out = np.random.default_rng(0).permutation(X.shape[0]) < X.shape[0] // 10
    learn, valid = np.flatnonzero(~held_out), np.flatnonzero(held_out)
    torch.manual_seed(seed)
    head = make()
    model = Model(X.shape[1], head)
    best: tuple[float, int, dict[str, Any], float] = (-1.0, 0, {}, 0.0)
    seconds, begin = 0.0, time.thread_time()
    for epoch, _ in enumerate(epochs_of_training(model, X[learn], Y[learn], most, seed), 1):
        seconds += time.thread_time() - begin
        found = scores(model, X[valid], Y[valid])
        if found["f1@10"] > best[0]:
            best = found["f1@10"], epoch, deepcopy(model.state_dict()), found["micro-f1"]
        if epoch - best[1] >= PATIENCE:
            break
        begin = time.thread_time()
    model.load_state_dict(best[2])
    return head, {
        "labels": Y.shape[1],
        "features": head.weight.shape[1],
        "parameters": sum(p.numel() for p in head.parameters()),
        "row norm": _row_norm(make()),
        "epochs": best[1],
        "valid f1@10": best[0],
        "valid micro-f1": best[3],
        "seconds an epoch": seconds / epoch,
        **scores(model, X_test, Y_test),
    }


def _row_norm(head: nn.Module) -> float:
    """Return the norm of a row of the fixed columns, or of what is learned in their place, before training."""
    weight = head.weight.detach()
    columns = weight[:, 1:] if isinstance(head, lp.BottleneckHead) else weight[:, :-SLACK]
    return float(columns.norm(dim=1).mean())


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


def next_factor(rows: list[dict[str, Any]], name: str, head: str) -> float | None:
    """Return the factor beyond the best one if that is the smallest or the largest tried, otherwise None."""
    tried = {row["factor"] for row in rows if (row["data"], row["head"], row["seed"]) == (name, head, 0)}
    best = best_factor(rows, name, head)
    wider = best / 2 if best == min(tried) else best * 2
    return wider if best in (min(tried), max(tried)) and 1 / FARTHEST <= wider <= FARTHEST else None


def best_factor(rows: list[dict[str, Any]], name: str, head: str) -> float:
    """Return the factor with the best validation score of the first seed."""
    tried = [row for row in rows if (row["data"], row["head"], row["seed"]) == (name, head, 0)]
    return max(tried, key=lambda row: row["valid f1@10"])["factor"]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", nargs="+", default=["mesh_pubmed", "delicious"])
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--heads", nargs="+", default=[""], help="only those whose names begin so; default: all")
    parser.add_argument("--epochs", type=int, default=EPOCHS, help="at most")
    parser.add_argument("--results", type=Path, default=RESULTS / "head_training.jsonl")
    options = parser.parse_args()
    torch.set_num_threads(1)
    rows = [json.loads(line) for line in options.results.read_text().splitlines()] if options.results.exists() else []
    every = {name: read(name, RAREST_WORD) for name in options.data}
    chosen = tuple(options.heads)
    heads = {
        name: {head: make for head, make in contenders(data[1]).items() if head.startswith(chosen)}
        for name, data in every.items()
    }

    def ensure(name: str, head: str, factor: float, seed: int, *, verified: bool) -> None:
        key = {"data": name, "head": head, "factor": factor, "seed": seed, "verified": verified}
        if any(key.items() <= row.items() for row in rows):
            return
        trained, found = run(partial(heads[name][head], factor), every[name], seed, options.epochs)
        rows.append(key | found | (reach(trained, every[name][3], seed) if verified else {}))
        with options.results.open("a") as file:
            file.write(json.dumps(rows[-1]) + "\n")
        print(rows[-1], flush=True)

    places = [(name, head) for name in options.data for head in heads[name]]
    for name, head in places:
        for factor in (1.0,) if head == PUBLISHED else FACTORS:
            ensure(name, head, factor, 0, verified=False)
        while head != PUBLISHED and (factor := next_factor(rows, name, head)) is not None:
            ensure(name, head, factor, 0, verified=False)
    for seed in range(options.seeds):
        for name, head in places:
            ensure(name, head, best_factor(rows, name, head), seed, verified=True)


if __name__ == "__main__":
    main()
