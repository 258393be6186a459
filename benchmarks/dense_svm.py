"""Linear support vector machines on standardised dense features: ours, all labels together, beside liblinear's.

liblinear solves one label at a time (scikit-learn's LinearSVC with its defaults), so that its time for many labels is
that of some of them, scaled. CPU time of one thread. The objective is the mean over the same labels of
½‖w‖² + C Σ max(0, 1 − y w·x)², the bias being one of the weights; "excess" is by how much ours is above liblinear's.

    OMP_NUM_THREADS=1 python benchmarks/dense_svm.py [--out benchmarks/results/dense_svm.md]
"""

import argparse
import time
import warnings
from pathlib import Path

import numpy as np
import scipy.sparse
from sklearn.svm import LinearSVC

from labelproof.training.dense_svm import dense_svms

SMALL, MIDDLE, LARGE, LONG = (300, 70), (2_000, 300), (5_000, 500), (30_000, 500)
CASES = ((*SMALL, 6), (*SMALL, 374), (*MIDDLE, 6), (*MIDDLE, 374), (*LARGE, 6), (*LARGE, 101), (*LONG, 6))
COSTS = (0.001, 0.03, 1.0)
TIMED = 6  # labels of liblinear


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path)
    parser.add_argument("--most", type=int, default=30_000, help="examples of the largest case")
    arguments = parser.parse_args()
    lines = [
        "| examples × features × labels | C | labelproof, s | liblinear, s | ratio | excess |",
        "|---|---|---|---|---|---|",
    ]
    for n, d, n_labels in CASES:
        if n > arguments.most:
            continue
        X, Y = problem(n, d, n_labels)
        for cost in COSTS:
            lines.append(row(X, Y, cost))
            print(lines[-1], flush=True)
    if arguments.out is not None:
        head = (
            "How fast are linear support vector machines with many labels on dense features? labelproof trains all "
            "labels together, liblinear (scikit-learn's `LinearSVC`) one label at a time. CPU seconds of one thread; a "
            "ratio below 1 means that labelproof is faster. *Excess* is by how much our objective is above "
            "liblinear's, relative to it; near 0 both find the same optimum (`benchmarks/dense_svm.py`).\n"
        )
        title = "# Speed of support vector machines on dense features"
        arguments.out.write_text(f"{title}\n\n{head}\n" + "\n".join(lines) + "\n")


def problem(n, d, n_labels):
    """Features with correlations, standardised; labels from frequent to rare that a linear layer can partly tell."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, d)) @ (rng.normal(size=(d, d)) * (np.arange(1, d + 1) ** -0.7)) + 0.3 * rng.normal(
        size=(n, d)
    )
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    scores = X @ rng.normal(size=(d, n_labels)) / np.sqrt(d) + 0.7 * rng.normal(size=(n, n_labels))
    share = np.geomspace(0.4, max(0.01, 8 / n), n_labels)
    return X, scores > np.array([np.quantile(scores[:, j], 1 - share[j]) for j in range(n_labels)])


def row(X, Y, cost):
    begin = time.process_time()
    weight, bias = dense_svms(X, scipy.sparse.csr_array(Y), cost)
    ours = time.process_time() - begin
    some = np.linspace(0, Y.shape[1] - 1, TIMED).astype(int)
    begin, theirs_w = time.process_time(), []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for j in some:
            one = LinearSVC(C=cost, random_state=0).fit(X, Y[:, j])
            theirs_w.append((one.coef_[0], one.intercept_[0]))
    theirs = (time.process_time() - begin) * Y.shape[1] / TIMED
    found = np.array([objective(X, Y[:, j], weight[j], bias[j], cost) for j in some])
    best = np.array([objective(X, Y[:, j], w, b, cost) for j, (w, b) in zip(some, theirs_w, strict=True)])
    excess = (found / best - 1).max()
    n, d = X.shape
    return f"| {n:,} × {d} × {Y.shape[1]} | {cost:g} | {ours:.2f} | {theirs:.2f} | {ours / theirs:.2f} | {excess:.0e} |"


def objective(X, y, w, b, cost):
    hinge = np.maximum(1 - np.where(y, 1, -1) * (X @ w + b), 0)
    return (w @ w + b * b) / 2 + cost * (hinge @ hinge)


if __name__ == "__main__":
    main()
