"""Does any loss beat cross entropy? The same small network on four sets, each loss with its own tuned thresholds.

    LABELPROOF_DATA=../shared/data python benchmarks/loss_table.py [SET ...]

Appends to benchmarks/results/loss_table.jsonl what is not there yet (stop and start it at will), and writes
benchmarks/results/loss_table.md. For each set, loss and seed a network of one hidden layer is trained with Adam on four
fifths of the training part. Of two learning rates and three numbers of epochs the pair is taken whose four metrics on
the last fifth have the largest sum; there thresholds are tuned too, one for all labels for micro-F1 and one for each
label for macro-F1. All figures are those of the set's test part.
"""

import json
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import scipy.sparse
import torch
from torch import Tensor, nn

import labelproof as lp
from labelproof import losses
from labelproof.decisions import PerLabelThreshold, Threshold
from sparse_parts import Part, load

RESULTS = Path(__file__).parent / "results"
ROWS = RESULTS / "loss_table.jsonl"
SETS = ("emotions", "corel5k", "bibtex", "reuters21578")
SEEDS = (0, 1, 2)
METRICS = ("micro-f1", "macro-f1", "p@1", "p@5")
RATES, CHECKS = (0.005, 0.02), (4, 8, 16)  # epochs after which a network is looked at
BATCH, WIDTH = 512, 64
LOSSES: dict[str, Callable[[int], nn.Module]] = {
    "BCE": lambda _: losses.BinaryCrossEntropyLoss(),
    "focal": lambda _: losses.FocalLoss(),
    "ASL": lambda _: losses.AsymmetricLoss(),
    "APL": lambda _: losses.AsymmetricPolynomialLoss(),
    "Hill": lambda _: losses.HillLoss(),
    "SPLC": lambda n_batches: losses.SPLCLoss(warm_up=n_batches),
    "ZLPR": lambda _: losses.ZLPRLoss(),
    "two-way": lambda _: losses.TwoWayLoss(),
    "sigmoidF1": lambda _: losses.SigmoidF1Loss(),
    "soft recall@5": lambda _: losses.SoftTopKLoss(5),
    "sparsemax": lambda _: losses.SparsemaxLoss(),
    "pick all labels": lambda _: losses.PickAllLabelsLoss(),
}


class Network(nn.Module):
    """Features to logits, by one hidden layer; the output starts at the labels' base rates."""

    def __init__(self, n_features: int, rates: Tensor) -> None:
        super().__init__()
        self.first = nn.EmbeddingBag(n_features, WIDTH, mode="sum")
        nn.init.normal_(self.first.weight, std=WIDTH**-0.5)
        self.shift = nn.Parameter(torch.zeros(WIDTH))
        self.second = nn.Linear(WIDTH, len(rates))
        with torch.no_grad():
            self.second.bias.copy_(torch.logit(rates.clamp(1e-4, 0.5)))

    def forward(self, X: scipy.sparse.csr_array) -> Tensor:
        """Return logits (n, n_labels)."""
        parts = torch.from_numpy(X.indices.astype(np.int64)), torch.from_numpy(X.indptr[:-1].astype(np.int64))
        hidden = self.first(*parts, per_sample_weights=torch.from_numpy(X.data)) + self.shift
        return self.second(torch.relu(hidden))


def run(name: str, seed: int, train: Part, test: Part) -> dict[str, object]:
    order = np.random.default_rng(seed).permutation(len(train[1]))
    cut = len(order) // 5
    (X, Y), held = ((train[0][part], train[1][part]) for part in (np.sort(order[cut:]), np.sort(order[:cut])))
    best: tuple[float, dict[str, object]] = (-1.0, {})
    start = time.process_time()
    for rate in RATES:
        torch.manual_seed(seed)
        network = Network(X.shape[1], torch.from_numpy(Y.mean(0)).float())
        loss = LOSSES[name](-(-len(Y) // BATCH))
        optimiser = torch.optim.Adam(network.parameters(), lr=rate)
        for epoch in range(1, CHECKS[-1] + 1):
            train_epoch(network, loss, optimiser, X, Y, np.random.default_rng([seed, epoch]))
            if epoch in CHECKS:
                found = evaluate(network, held, test)
                if found[0] > best[0]:
                    best = found[0], {"rate": rate, "epochs": epoch, **found[1]}
    return {**best[1], "seconds": round(time.process_time() - start, 2)}


def train_epoch(network: Network, loss: nn.Module, optimiser: object, X: object, Y: np.ndarray, rng: object) -> None:
    network.train()
    order = rng.permutation(len(Y))
    for start in range(0, len(order), BATCH):
        batch = np.sort(order[start : start + BATCH])
        targets = [row.nonzero()[0].tolist() for row in Y[batch]]
        optimiser.zero_grad()
        loss(network(X[batch]), targets).backward()
        optimiser.step()


def evaluate(network: Network, held: Part, test: Part) -> tuple[float, dict[str, float]]:
    """Return the sum of the metrics on held-out data, and the metrics on test data, with thresholds of the former."""
    network.eval()
    with torch.no_grad():
        z, test_z = (network(part[0]).double().numpy() for part in (held, test))
    one = Threshold(metric="micro-f1").fit(held[1], z)
    each = PerLabelThreshold(metric="macro-f1", shrinkage=5.0).fit(held[1], z)
    inside, outside = (metrics(y, s, one, each) for y, s in ((held[1], z), (test[1], test_z)))
    return sum(inside.values()), outside


def metrics(y: np.ndarray, z: np.ndarray, one: Threshold, each: PerLabelThreshold) -> dict[str, float]:
    values = {
        name: lp.metrics.by_name(name)(y, rule.decide(z)) for name, rule in zip(METRICS, (one, each), strict=False)
    }
    values |= {f"p@{k}": lp.metrics.precision_at_k(y, z, k=k) for k in (1, 5)}
    return {name: round(float(value), 5) for name, value in values.items()}


# The page


def page(done: list[dict[str, object]]) -> str:
    lines = [
        "# Does any loss beat cross entropy?\n",
        "Binary cross entropy (BCE) is the usual loss for multi-label classification. Is there a better one, for",
        "example for class imbalance? Each loss trains the same network, with one hidden layer of 64 and Adam;",
        "learning rate, epochs and thresholds are chosen for each loss on validation data",
        "(`python benchmarks/loss_table.py`).\n",
        f"The tables have test scores, the mean of {len(SEEDS)} seeds, and in brackets the mean difference to BCE with",
        "the same seed. **Bold**: better than BCE with every seed and by more than two standard errors; *italic*:",
        "worse in the same sense. With so many comparisons a few of these are chance. The losses' own options were not",
        "tuned, and training is short: loss_table.jsonl shows how often the largest number of epochs was chosen.\n",
    ]
    for name in SETS:
        n_seeds = min(len(values(done, name, loss, "p@1")) for loss in LOSSES)
        lines.append(
            f"## {name}\n" if n_seeds == len(SEEDS) else f"## {name} (so far {n_seeds} of {len(SEEDS)} seeds)\n"
        )
        lines += [f"| loss | {' | '.join(METRICS)} |", "|---|" + "---|" * len(METRICS)]
        for loss in LOSSES:
            cells = [cell(done, name, loss, metric) for metric in METRICS]
            lines.append(f"| {loss} | {' | '.join(cells)} |")
        lines.append("")
    return "\n".join([*lines, *summary(done)]) + "\n"


def values(done: list[dict[str, object]], name: str, loss: str, metric: str) -> dict[int, float]:
    return {row["seed"]: row[metric] for row in done if (row["set"], row["loss"]) == (name, loss)}


def verdict(done: list[dict[str, object]], name: str, loss: str, metric: str) -> tuple[float, float, int]:
    """Return the mean, the mean difference to BCE, and 1, −1 or 0 for better, worse or neither."""
    ours, base = values(done, name, loss, metric), values(done, name, "BCE", metric)
    pairs = [ours[seed] - base[seed] for seed in ours if seed in base]
    mean = statistics.mean(pairs)
    error = statistics.stdev(pairs) / len(pairs) ** 0.5 if len(pairs) > 1 else float("inf")
    sign = 0 if len(pairs) < len(SEEDS) else 1 if min(pairs) > 0 else -1 if max(pairs) < 0 else 0
    return statistics.mean(ours.values()), mean, sign if abs(mean) > 2 * error else 0


def cell(done: list[dict[str, object]], name: str, loss: str, metric: str) -> str:
    if not values(done, name, loss, metric) or not values(done, name, "BCE", metric):
        return "–"
    mean, difference, sign = verdict(done, name, loss, metric)
    text = f"{mean:.4f}" + ("" if loss == "BCE" else f" ({difference:+.4f})")
    return {1: f"**{text}**", 0: text, -1: f"*{text}*"}[sign]


def summary(done: list[dict[str, object]]) -> list[str]:
    lines = ["## How often is a loss better or worse?\n", "| loss | better than BCE | worse | comparisons |"]
    lines.append("|---|---|---|---|")
    for loss in list(LOSSES)[1:]:
        whole = [name for name in SETS if len(values(done, name, loss, "p@1")) == len(SEEDS)]
        cells = [(name, metric) for name in whole for metric in METRICS]
        signs = [verdict(done, name, loss, metric)[2] for name, metric in cells]
        lines.append(f"| {loss} | {signs.count(1)} | {signs.count(-1)} | {len(signs)} |")
    seconds = sum(row["seconds"] for row in done)
    return [*lines, "", f"{len(done)} training runs, {seconds / 60:.0f} minutes of CPU time on one thread."]


def main(names: list[str]) -> None:
    torch.set_num_threads(1)
    known = {(row["set"], row["loss"], row["seed"]) for row in stored()}
    for name in names or SETS:
        wanted = [(loss, seed) for seed in SEEDS for loss in LOSSES if (name, loss, seed) not in known]
        parts = load(name) if wanted else None
        for loss, seed in wanted:
            row = {"set": name, "loss": loss, "seed": seed, **run(loss, seed, *parts)}
            with ROWS.open("a") as stream:
                stream.write(json.dumps(row) + "\n")
            print(row, file=sys.stderr, flush=True)
        (RESULTS / "loss_table.md").write_text(page(stored()))


def stored() -> list[dict[str, object]]:
    return [json.loads(line) for line in ROWS.read_text().splitlines()] if ROWS.exists() else []


if __name__ == "__main__":
    main(sys.argv[1:])
