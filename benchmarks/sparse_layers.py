"""Verifying sparse output layers

    OMP_NUM_THREADS=1 python benchmarks/sparse_layers.py [N_LABELS N_FEATURES PER_LABEL] [--sets 64] [--out page.md]

Can a layer be verified when its dense copy would not fit into memory? The layers resemble pruned one-vs-rest
classifiers on TF-IDF features: each label has a fixed number of nonzero weights, normally distributed, at terms drawn
by Zipf's law, and a negative bias. Each label set has three labels; inputs are nonnegative and of length at most 1.
CPU time of one thread, preparation included. Memory is the largest resident size of the process, and what it was
before verification.
"""

import argparse
import resource
import time
from pathlib import Path

import numpy as np
import scipy.sparse

import labelproof as lp

SHAPES = [(5_000, 100_000, 200), (30_000, 100_000, 200), (100_000, 300_000, 100)]


def make(n_labels: int, n_features: int, per_label: int) -> tuple[scipy.sparse.csr_array, np.ndarray]:
    rng = np.random.default_rng(0)
    chances = 1 / np.arange(10, n_features + 10)
    columns = rng.choice(n_features, (n_labels, per_label), p=chances / chances.sum())
    matrix = scipy.sparse.coo_array(
        (rng.standard_normal(columns.size), (np.repeat(np.arange(n_labels), per_label), columns.ravel())),
        (n_labels, n_features),
    ).tocsr()
    matrix.sum_duplicates()
    return matrix, np.full(n_labels, -0.5)


def gigabytes() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20


def measure(shape: tuple[int, int, int], n_sets: int) -> str:
    weight, bias = make(*shape)
    sets = np.random.default_rng(1).integers(0, shape[0], (n_sets, 3))
    asked = [sorted(set(one)) for one in sets.tolist()]
    before, start = gigabytes(), time.process_time()
    v = lp.verify(weight, asked, bias=bias, domain="unit", n_jobs=1, time_limit=1.0)
    ours, start = time.process_time() - start, time.process_time()
    v.check(n_jobs=1)
    check = time.process_time() - start
    counts = " / ".join(f"{int((v.status == s).sum()):,}" for s in (1, 0, -1))
    dense = shape[0] * shape[1] * 8 / 2**30
    return (
        f"| {shape[0]:,}×{shape[1]:,} | {weight.nnz:,} | {len(asked)} | {counts} | {ours:.1f} | {check:.1f} "
        f"| {before:.2f} | {gigabytes():.2f} | {dense:.1f} |"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("shape", nargs="*", type=int)
    parser.add_argument("--sets", type=int, default=64)
    parser.add_argument("--out", type=Path)
    asked = parser.parse_args()
    lines = [
        "| layer | nonzero weights | sets | can / never / undecided | verify, CPU s | check, CPU s "
        "| GB before | GB peak | GB of a dense copy |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    lp.verify(scipy.sparse.csr_array(np.eye(2, 2100)), [[0]], domain="unit", n_jobs=1)  # compiled code is loaded
    for shape in [tuple(asked.shape)] if asked.shape else SHAPES:
        lines.append(measure(shape, asked.sets))
        print(lines[-1], flush=True)
    if asked.out is not None:
        title, _, how = __doc__.strip().split("\n\n")
        asked.out.write_text(f"# {title}\n\n{how}\n\n" + "\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
