"""What the place of each label on the DFT head's circle does to radii and to scores, on real data.

    LABELPROOF_DATA=... python benchmarks/label_order.py

For mesh_pubmed, delicious and debtags, each with the labels in the given order, in a random one and spread by
`heads.spread_order` of the training labels: the radius of test label sets under the fixed columns alone, and scores of
a bag-of-words model with 25 learnable columns. Writes benchmarks/results/label_order.jsonl as it goes (a run that is
there is not repeated) and label_order.md at the end.
"""

import argparse
import gzip
import json
import lzma
import os
import time
import xml.etree.ElementTree as ET
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
import torch
from sklearn.feature_extraction.text import TfidfVectorizer
from torch import nn

import labelproof as lp
from labelproof.heads import spread_order

DATA = Path(os.environ.get("LABELPROOF_DATA", "../shared/data"))
RESULTS = Path(__file__).parent / "results"
ORDERS = ("given", "random", "spread")
SETS = 60  # label sets whose radius is measured


def labels_and_texts(name: str) -> tuple[list[str], list[set[str]], list[str]]:
    """Return texts, label names and the group of each example, which is kept on one side of the split."""
    if name == "mesh_pubmed":
        with gzip.open(next((DATA / name).glob("*.jsonl.gz")), "rt") as lines:
            rows = [row for row in map(json.loads, lines) if row.get("abstract")]
        return (
            [f"{r['title']} {r['abstract']}" for r in rows],
            [set(r["mesh"]) for r in rows],
            [r["pmid"] for r in rows],
        )
    with lzma.open(next((DATA / name).glob("*.jsonl.xz")), "rt") as lines:
        rows = list(map(json.loads, lines))
    kept = [{t for t in r["tags"] if not t.endswith("::TODO") and not t.startswith("special::")} for r in rows]
    texts = [f"{r['package']} {r['summary']} {r['description']}" for r in rows]
    return texts, kept, [r["source"] for r in rows]


def read_text_data(name: str, fewest: int, rarest: int) -> tuple[Any, Any, Any, Any]:
    """Return X_train, Y_train, X_test, Y_test as CSR, with labels and words of so many documents at least."""
    texts, names, groups = labels_and_texts(name)
    counts = Counter(label for some in names for label in some)
    places = {label: i for i, label in enumerate(sorted(label for label, count in counts.items() if count >= fewest))}
    rows, columns = zip(*[(i, places[t]) for i, some in enumerate(names) for t in some if t in places], strict=True)
    Y = sp.csr_array((np.ones(len(rows), np.float32), (rows, columns)), (len(names), len(places)))
    unique, group = np.unique(groups, return_inverse=True)
    is_test = (np.random.default_rng(0).random(len(unique)) < 0.2)[group]
    train, test = np.flatnonzero(~is_test), np.flatnonzero(is_test)
    how = {"sublinear_tf": True, "stop_words": "english", "dtype": np.float32}
    words = TfidfVectorizer(min_df=rarest, max_features=40000, **how)
    X = words.fit_transform([texts[i] for i in train])
    return sp.csr_array(X), Y[train], sp.csr_array(words.transform([texts[i] for i in test])), Y[test]


def read_delicious() -> tuple[Any, Any, Any, Any]:
    """Return the given split of delicious; its ARFF is sparse, features first."""
    labels = {label.get("name") for label in ET.parse(DATA / "delicious/delicious.xml").getroot()}  # noqa: S314
    parts: list[Any] = []
    for part in ("train", "test"):
        with gzip.open(DATA / f"delicious/delicious-{part}.arff.gz", "rt") as lines:
            names, triples = [], []
            for line in lines:
                if line.lower().startswith("@attribute"):
                    names.append(line.split()[1].strip("'\""))
                elif line.startswith("{"):
                    row = len(triples)
                    triples.append([(row, int(pair.split()[0])) for pair in line.strip()[1:-1].split(",") if pair])
        at = np.array([pair for row in triples for pair in row])
        table = sp.csc_array((np.ones(len(at), np.float32), (at[:, 0], at[:, 1])), (len(triples), len(names)))
        is_label = np.array([name in labels for name in names])
        parts += [sp.csr_array(table[:, ~is_label]), sp.csr_array(table[:, is_label])]
    return tuple(parts)


def read(name: str, rarest: int = 3) -> tuple[Any, Any, Any, Any]:
    if name == "delicious":
        return read_delicious()
    return read_text_data(name, {"mesh_pubmed": 10, "debtags": 20}[name], rarest)


class Model(nn.Module):
    """A bag of words, and the head."""

    def __init__(self, n_words: int, head: nn.Module) -> None:
        super().__init__()
        self.words, self.head = nn.EmbeddingBag(n_words, 512, mode="sum"), head
        nn.init.normal_(self.words.weight, std=0.1)

    def forward(self, X: Any) -> torch.Tensor:
        """Return the logits of some rows of word weights."""
        flat, starts = torch.from_numpy(X.indices.astype(np.int64)), torch.from_numpy(X.indptr[:-1].astype(np.int64))
        bag = torch.relu(self.words(flat, starts, per_sample_weights=torch.from_numpy(X.data)))
        return self.head(nn.functional.dropout(bag, 0.2, self.training))


def batches(n: int, size: int, random: np.random.Generator) -> Iterator[np.ndarray]:
    order = random.permutation(n)
    yield from (order[start : start + size] for start in range(0, n, size))


def train(X: Any, Y: Any, head: nn.Module, epochs: int, seed: int) -> Model:
    model = Model(X.shape[1], head)
    for _ in epochs_of_training(model, X, Y, epochs, seed):
        pass
    return model.eval()


def epochs_of_training(model: nn.Module, X: Any, Y: Any, epochs: int, seed: int) -> Iterator[None]:
    """Train a model, with a pause after each epoch."""
    optimiser, random = torch.optim.Adam(model.parameters(), lr=1e-3, fused=True), np.random.default_rng(seed)
    for _ in range(epochs):
        model.train()
        for some in batches(X.shape[0], 128, random):
            targets = torch.from_numpy(Y[some].toarray())
            loss = nn.functional.binary_cross_entropy_with_logits(model(X[some]), targets, reduction="sum") / len(some)
            optimiser.zero_grad()
            loss.backward()
            optimiser.step()
        yield


def scores(model: Model, X: Any, Y: Any) -> dict[str, float]:
    with torch.no_grad():
        z = np.concatenate([model(X[s : s + 512]).numpy() for s in range(0, X.shape[0], 512)])
    k = 10
    top = np.argpartition(-z, k, axis=1)[:, :k]
    truth = Y.toarray() > 0
    hits = np.take_along_axis(truth, top, axis=1).sum(axis=1)
    precision, recall = hits.mean() / k, (hits / np.maximum(truth.sum(axis=1), 1)).mean()
    return {
        "f1_at_10": float(2 * precision * recall / (precision + recall)),
        "micro_f1": lp.metrics.f1_score(truth, z > 0, average="micro"),
    }


def some_sets(Y: Any) -> list[list[int]]:
    """Return some of the distinct label sets, the same in every run."""
    distinct = sorted({tuple(sorted(active.tolist())) for active in np.split(Y.indices, Y.indptr[1:-1])})
    return [list(distinct[i]) for i in np.random.default_rng(0).permutation(len(distinct))[:SETS]]


def run(name: str, data: tuple[Any, Any, Any, Any], order: str, seed: int, epochs: int) -> dict[str, Any]:
    X, Y, X_test, Y_test = data
    n, k = Y.shape[1], int(max(np.diff(Y.indptr).max(), np.diff(Y_test.indptr).max()))
    torch.manual_seed(seed)
    places = {
        "given": lambda: np.arange(n),
        "random": lambda: np.random.default_rng(seed).permutation(n),
        "spread": lambda: spread_order(sp.csr_array(Y.astype(np.int64)), random_state=seed),
    }[order]()
    start = time.perf_counter()
    head = lp.DFTHead(512, n, k, 25, order=places)
    sets = some_sets(Y_test)
    fixed = lp.DFTHead(2 * k + 1, n, k, 0, order=places, dtype=torch.float64).weight.numpy()
    v = lp.verify(fixed, sets, radius=True, time_limit=20.0)
    radii = np.nan_to_num(v.radius / 1e4)
    model = train(X, Y, head, epochs, seed)
    trained = lp.verify(head.weight.detach().numpy(), sets, time_limit=20.0)
    return {
        "data": name, "order": order, "seed": seed, "labels": n, "k": k, "epochs": epochs,
        "fixed_argmaxable": float((v.status == 1).mean()), "fixed_undecided": int((v.status == -1).sum()),
        "radius_p10": float(np.quantile(radii, 0.1)), "radius_median": float(np.median(radii)),
        "trained_argmaxable": float((trained.status == 1).mean()),
        "margin_median": float(np.nanmedian(trained.margin)),
        **scores(model, X_test, Y_test), "seconds": time.perf_counter() - start,
    }  # fmt: skip


def table(rows: list[dict[str, Any]]) -> str:
    lines = [
        "# Order of labels in the DFT head\n",
        "The DFT head places the labels on a circle, and labels that lie close together are harder to combine. "
        "Does their order matter, for the geometry of the fixed columns and for the accuracy of a trained model? "
        "*Given* is the order of the data set; *spread* is `heads.spread_order`, which moves labels that occur "
        "together apart (`python benchmarks/label_order.py`; means over seeds, ± half the range).\n",
        f"*Radius*: how robustly {SETS} test label sets can be predicted with the fixed columns alone (float64, "
        "features within ±1). F1, *can be predicted* and *margin* are those of a trained bag-of-words model with "
        "25 learnable columns: the share of the same label sets that its output layer can predict, and how clearly "
        "(the median margin).\n",
        "| data | order | seeds | radius, 10th percentile | radius, median | F1@10 | micro-F1 "
        "| can be predicted | margin |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for name in dict.fromkeys(row["data"] for row in rows):
        for order in ORDERS:
            some = [row for row in rows if row["data"] == name and row["order"] == order]
            if some:
                mean = {key: np.mean([row[key] for row in some]) for key in some[0] if key not in ("data", "order")}
                spread = {key: np.ptp([row[key] for row in some]) / 2 for key in ("f1_at_10", "micro_f1")}
                lines.append(
                    f"| {name} ({some[0]['labels']}, k = {some[0]['k']}) | {order} | {len(some)} "
                    f"| {mean['radius_p10']:.2g} | {mean['radius_median']:.2g} "
                    f"| {mean['f1_at_10']:.3f} ± {spread['f1_at_10']:.3f} "
                    f"| {mean['micro_f1']:.3f} ± {spread['micro_f1']:.3f} "
                    f"| {mean['trained_argmaxable']:.0%} | {mean['margin_median']:.2g} |"
                )
    return "\n".join(lines) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--epochs", type=int, default=10)
    parser.add_argument("--seeds", type=int, default=2)
    parser.add_argument("--data", nargs="*", default=["delicious", "debtags", "mesh_pubmed"])
    options = parser.parse_args()
    store = RESULTS / "label_order.jsonl"
    rows = [json.loads(line) for line in store.read_text().splitlines()] if store.exists() else []
    known = {(row["data"], row["order"], row["seed"], row["epochs"]) for row in rows}
    torch.set_num_threads(1)
    for name in options.data:
        data = None
        for seed in range(options.seeds):
            for order in ORDERS:
                if (name, order, seed, options.epochs) in known:
                    continue
                data = data or read(name)
                rows.append(run(name, data, order, seed, options.epochs))
                with store.open("a") as file:
                    file.write(json.dumps(rows[-1]) + "\n")
                print(rows[-1], flush=True)
                (RESULTS / "label_order.md").write_text(table(rows))


if __name__ == "__main__":
    main()
