"""Iterative stratification: our compiled code, plain Python, and scikit-multilearn in the same run.

    python benchmarks/splits.py

Writes benchmarks/results/splits.md. CPU time of one thread; ours is the smallest of five runs after compilation, the
others run once. scikit-multilearn 0.2.0 is used where it can be imported (it may lie in a folder of PYTHONPATH).
"""

import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import numpy.typing as npt
import scipy.sparse

from labelproof.data import iterative_stratification, label_deviation, split_at_random, topic_data

RESULTS = Path(__file__).parent / "results"
PARTS = {"train": 0.8, "test": 0.2}
SIZES = ((10_000, 100), (40_000, 100), (100_000, 100), (100_000, 5_000))
DENSE_LIMIT = 20_000_000  # scikit-multilearn needs a dense array

Split = npt.NDArray[np.str_]


def main() -> None:
    lines = [
        "# Stratified splits\n",
        "A random split leaves rare labels unevenly distributed between training and test data; iterative "
        "stratification keeps the share of every label the same. How fast is it, and how even? Data are split into "
        "80 % and 20 %; CPU time of one thread, ours the fastest of five runs after compilation, the others run "
        "once (`python benchmarks/splits.py`). *LD* measures unevenness: the mean difference of label odds between "
        "a part and the whole (Sechidis et al., 2011); smaller is better.\n",
        "| examples × labels | | seconds | relative to labelproof | LD | share of test |",
        "|---|---|---|---|---|---|",
    ]
    ours(topic_data(100, 10, 10).labels)  # compiled code is loaded
    for n, n_labels in SIZES:
        labels = topic_data(n, n_labels, 100).labels
        base, split = min((timed(ours, labels) for _ in range(5)), key=lambda pair: pair[0])
        lines.append(row(f"{n:,} × {n_labels:,}", "labelproof", base, base, labels, split))
        for name, method in (("plain Python", plain_python), ("scikit-multilearn", scikit_multilearn)):
            if name == "scikit-multilearn" and (n * n_labels > DENSE_LIMIT or not has_scikit_multilearn()):
                continue
            seconds, split = timed(method, labels)
            lines.append(row("", name, seconds, base, labels, split))
        random = split_at_random(n, PARTS)
        lines.append(f"| | at random | | | {label_deviation(labels, random):.1e} | {(random == 'test').mean():.3f} |")
        print("\n".join(lines[-4:]), flush=True)
    RESULTS.mkdir(exist_ok=True)
    (RESULTS / "splits.md").write_text("\n".join(lines) + "\n")


def row(size: str, name: str, seconds: float, base: float, labels: scipy.sparse.csr_array, split: Split) -> str:
    ratio = "1" if seconds == base else f"**{seconds / base:.0f}×**"
    share = (split == "test").mean()
    return f"| {size} | {name} | {seconds:.3g} | {ratio} | {label_deviation(labels, split):.1e} | {share:.3f} |"


def timed(method: Callable[[scipy.sparse.csr_array], Split], labels: scipy.sparse.csr_array) -> tuple[float, Split]:
    start = time.process_time()
    split = method(labels)
    return time.process_time() - start, split


def ours(labels: scipy.sparse.csr_array) -> Split:
    return iterative_stratification(labels, PARTS)


def plain_python(labels: scipy.sparse.csr_array) -> Split:
    """Follow the published algorithm with Python's sets; what remains of a label is kept, not counted anew."""
    n, n_labels = labels.shape
    rng = np.random.default_rng(0)
    share = np.array(list(PARTS.values()))
    rows = [labels.indices[labels.indptr[i] : labels.indptr[i + 1]].tolist() for i in range(n)]
    having: list[set[int]] = [set() for _ in range(n_labels)]
    for i, active in enumerate(rows):
        for label in active:
            having[label].add(i)
    wanted = [[len(examples) * part for part in share] for examples in having]
    size = [n * part for part in share]
    part_of = np.full(n, -1)
    while True:
        left = [label for label in range(n_labels) if having[label]]
        if not left:
            break
        rarest = min(left, key=lambda label: len(having[label]))
        for i in list(having[rarest]):
            best = max(range(len(share)), key=lambda part: (wanted[rarest][part], size[part], rng.random()))
            part_of[i] = best
            size[best] -= 1
            for label in rows[i]:
                having[label].discard(i)
                wanted[label][best] -= 1
    for i in np.flatnonzero(part_of < 0):
        part_of[i] = int(np.argmax(size))
        size[part_of[i]] -= 1
    return np.array(list(PARTS))[part_of]


def scikit_multilearn(labels: scipy.sparse.csr_array) -> Split:
    from skmultilearn.model_selection import IterativeStratification

    dense = labels.toarray().astype(int)
    method = IterativeStratification(n_splits=2, order=1, sample_distribution_per_fold=[0.2, 0.8])
    _, test = next(method.split(np.zeros((len(dense), 1)), dense))
    split = np.full(len(dense), "train")
    split[test] = "test"
    return split


def has_scikit_multilearn() -> bool:
    try:
        import skmultilearn.model_selection  # noqa: F401
    except ImportError:
        return False
    return True


if __name__ == "__main__":
    main()
