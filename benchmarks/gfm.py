"""Does the dependence of labels help the expected F1? The general F-measure maximiser against `ExpectedF`.

    LABELPROOF_DATA=../shared/data python benchmarks/gfm.py

Writes benchmarks/results/gfm.md. The maximiser (GFM, Waegeman and others, 2014) needs P(y_i = 1, |y| = s | x) for every
label i and size s: from one multinomial regression for each label (its classes are "not there" and the sizes), or from
the label sets of nearest neighbours. `ExpectedF` takes the labels as independent and needs P(y_i = 1 | x): from one
logistic regression for each label, and from the sums over s of both. All regressions are linear, trained with Adam for
the number of epochs that is best on a fifth of the training part; mean of three seeds.
"""

import sys
import time
from pathlib import Path

import numpy as np
import scipy.sparse
import torch
from sklearn.preprocessing import normalize
from torch import Tensor, nn

import labelproof as lp
from labelproof.decisions import ExpectedF, dependent_f_sets
from sparse_parts import Part, load

RESULTS = Path(__file__).parent / "results"
SETS = ("emotions", "scene", "corel5k", "bibtex", "reuters21578")
SEEDS, CHECKS, BATCH, RATE = (0, 1, 2), (4, 8, 16), 512, 0.03
MOST = 8  # sizes beyond it count as it
NEIGHBOURS = (20, 50, 100)


class Linear(nn.Module):
    """Sparse features to outputs, which start at 0."""

    def __init__(self, n_features: int, n_outputs: int) -> None:
        super().__init__()
        self.weight = nn.EmbeddingBag(n_features, n_outputs, mode="sum")
        self.bias = nn.Parameter(torch.zeros(n_outputs))
        nn.init.zeros_(self.weight.weight)

    def forward(self, X: scipy.sparse.csr_array) -> Tensor:
        """Return outputs (n, n_outputs)."""
        parts = torch.from_numpy(X.indices.astype(np.int64)), torch.from_numpy(X.indptr[:-1].astype(np.int64))
        return self.weight(*parts, per_sample_weights=torch.from_numpy(X.data)) + self.bias


def train(X: object, targets: Tensor, n_outputs: int, loss: object, seed: int, look: object) -> dict[str, float]:
    """Return the test value of each method that ``look(network)`` names, after the epochs that were best held out."""
    torch.manual_seed(seed)
    network, found = Linear(X.shape[1], n_outputs), []
    optimiser = torch.optim.Adam(network.parameters(), lr=RATE)
    for epoch in range(1, CHECKS[-1] + 1):
        order = np.random.default_rng([seed, epoch]).permutation(X.shape[0])
        for start in range(0, len(order), BATCH):
            batch = np.sort(order[start : start + BATCH])
            optimiser.zero_grad()
            loss(network(X[batch]), targets[batch]).backward()
            optimiser.step()
        if epoch in CHECKS:
            with torch.no_grad():
                found.append(look(network))
    return {method: max(one[method] for one in found)[1] for method in found[0]}


def f1(y_true: np.ndarray, y_pred: np.ndarray) -> float:
    return float(lp.metrics.by_name("samples-f1")(y_true, y_pred))


def independent(p: np.ndarray) -> np.ndarray:
    return ExpectedF(1.0, scores="probabilities").decide(np.clip(p, 0, 1))


def joint(logits: Tensor, n_labels: int) -> tuple[np.ndarray, np.ndarray]:
    """Return P(y_i = 1, |y| = s | x) and P(|y| = 0 | x) of a regression with 1 + n_sizes outputs for each label."""
    P = torch.softmax(logits.reshape(len(logits), n_labels, -1), 2).double().numpy()[:, :, 1:]
    return P, np.clip(1 - (P / np.arange(1, P.shape[2] + 1)).sum((1, 2)), 0, 1)


def sizes_of(P: np.ndarray) -> np.ndarray:
    """Return P(|y| = s), which regressions that know nothing of each other may make more than 1 in sum."""
    return P.sum(1) / np.arange(1, P.shape[2] + 1)


def neighbours(train: Part, X: scipy.sparse.csr_array, k: int, n_sizes: int) -> tuple[np.ndarray, np.ndarray]:
    likeness = (normalize(X) @ normalize(train[0]).T).toarray()
    near = np.argpartition(-likeness, k, axis=1)[:, :k]
    weight = np.maximum(np.take_along_axis(likeness, near, 1), 1e-6)
    weight /= weight.sum(1, keepdims=True)
    sizes = np.minimum(train[1].sum(1), n_sizes)
    P = np.zeros((X.shape[0], train[1].shape[1], n_sizes))
    for s in range(1, n_sizes + 1):
        here = weight * (sizes[near] == s)
        P[:, :, s - 1] = np.einsum("nk,nkl->nl", here, train[1][near], optimize=True)
    return P, (weight * (sizes[near] == 0)).sum(1)


def experiment(name: str, seed: int) -> dict[str, float]:
    whole, test = load(name, most_words=4000)
    order = np.random.default_rng(seed).permutation(len(whole[1]))
    cut = len(order) // 5
    (X, Y), held = ((whole[0][part], whole[1][part]) for part in (np.sort(order[cut:]), np.sort(order[:cut])))
    n_labels, n_sizes = Y.shape[1], int(min(Y.sum(1).max(), MOST))
    deciders = {
        "ExpectedF": lambda P, _: independent(P.sum(2)),
        "GFM": lambda P, _: dependent_f_sets(P / np.maximum(sizes_of(P).sum(1), 1)[:, None, None]),
    }

    def look_logistic(network: Linear) -> dict[str, tuple[float, float]]:
        sets = [independent(torch.sigmoid(network(part[0])).double().numpy()) for part in (held, test)]
        return {"ExpectedF, logistic": (f1(held[1], sets[0]), f1(test[1], sets[1]))}

    def look_multinomial(network: Linear) -> dict[str, tuple[float, float]]:
        found = [joint(network(part[0]), n_labels) for part in (held, test)]
        return {
            f"{what}, multinomial": (f1(held[1], decide(*found[0])), f1(test[1], decide(*found[1])))
            for what, decide in deciders.items()
        }

    def multinomial(logits: Tensor, targets: Tensor) -> Tensor:
        return nn.functional.cross_entropy(logits.reshape(-1, 1 + n_sizes), targets.reshape(-1))

    results = train(X, torch.from_numpy(Y).float(), n_labels, nn.BCEWithLogitsLoss(), seed, look_logistic)
    classes = torch.from_numpy(Y * np.minimum(Y.sum(1), n_sizes)[:, None]).long()
    results |= train(X, classes, n_labels * (1 + n_sizes), multinomial, seed, look_multinomial)
    near = {k: [neighbours((X, Y), part[0], k, n_sizes) for part in (held, test)] for k in NEIGHBOURS}
    for what, decide in deciders.items():
        found = [(f1(held[1], decide(*one[0])), f1(test[1], decide(*one[1]))) for one in near.values()]
        results[f"{what}, neighbours"] = max(found)[1]
    return results


def main() -> None:
    torch.set_num_threads(1)
    lines, start = [], time.process_time()
    for name in SETS:
        found = [experiment(name, seed) for seed in SEEDS]
        means = {method: np.mean([one[method] for one in found]) for method in found[0]}
        rivals = {
            kind: max((m for m in means if m.startswith(kind)), key=lambda m: means[m]) for kind in ("GFM", "Exp")
        }
        gains = [one[rivals["GFM"]] - one[rivals["Exp"]] for one in found]
        if not lines:
            lines = [
                f"| set | {' | '.join(means)} | best GFM − best ExpectedF |",
                "|---|" + "---|" * (len(means) + 1),
            ]
        gain = f"{np.mean(gains):+.4f} ± {np.std(gains, ddof=1):.4f}"
        lines.append(f"| {name} | {' | '.join(f'{value:.4f}' for value in means.values())} | {gain} |")
        print(lines[-1], file=sys.stderr, flush=True)
        head = [
            "# Decisions that use the dependence between labels\n",
            "Does it help to model how labels occur together when one chooses the label set with the highest "
            "expected F1? `ExpectedF` treats labels as independent; the general F-measure maximiser (GFM) uses the "
            "joint distribution of each label and the number of labels. The column names say which model gives the "
            "probabilities; F1 is averaged over test examples, mean of three seeds (`python benchmarks/gfm.py`). "
            "The last column is the gain of GFM, ± its standard deviation over seeds.\n",
        ]
        minutes = f"\n{(time.process_time() - start) / 60:.0f} minutes of CPU time on one thread."
        (RESULTS / "gfm.md").write_text("\n".join([*head, *lines, minutes]) + "\n")


if __name__ == "__main__":
    main()
