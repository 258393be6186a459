"""How long do ARFF and svmlight files take, beside a loader in plain Python that an engineer writes in ten minutes?

Both read the same file in the same process, in turn, and must give the same numbers; the ratio is of CPU time.

    python benchmarks/reading.py [--out benchmarks/results/reading.md]
"""

import argparse
import tempfile
import time
from pathlib import Path

import numpy as np
import scipy.sparse

import labelproof as lp

N_LABELS = 20


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path)
    parser.add_argument("--scale", type=float, default=1.0, help="share of the examples")
    parser.add_argument("--rounds", type=int, default=3)
    arguments = parser.parse_args()
    lines = ["| file | size | labelproof, s | plain Python, s | ratio |", "|---|---|---|---|---|"]
    with tempfile.TemporaryDirectory() as folder:
        for name, write, plain in CASES:
            path = write(Path(folder), arguments.scale)
            ours, theirs = compare(path, plain, arguments.rounds)
            size = f"{path.stat().st_size / 1e6:.0f} MB"
            lines.append(f"| {name} | {size} | {ours:.2f} | {theirs:.2f} | {ours / theirs:.2f} |")
            print(lines[-1], flush=True)
    if arguments.out is not None:
        head = (
            "How fast `lp.load_dataset` reads large files, compared with the short loader in plain Python that one "
            "would write by hand (both are in `benchmarks/reading.py`). CPU seconds, the fastest of three runs; a "
            "ratio below 1 means that labelproof is faster.\n"
        )
        arguments.out.write_text(f"# Reading data files\n\n{head}\n" + "\n".join(lines) + "\n")


def compare(path, plain, rounds):
    """Return the least CPU seconds of both loaders, which must agree."""
    ours, theirs = [], []
    for _ in range(rounds):
        begin = time.process_time()
        data = lp.load_dataset(path)
        ours.append(time.process_time() - begin)
        begin = time.process_time()
        X, Y = plain(path)
        theirs.append(time.process_time() - begin)
    assert abs(data.features - X).max() < 1e-6
    assert (data.labels != Y).nnz == 0
    return min(ours), min(theirs)


def plain_dense_arff(path):
    features, labels = [], []
    with open(path) as stream:
        for line in stream:
            if line.strip().lower() == "@data":
                break
        for line in stream:
            cells = line.split(",")
            labels.append([int(cell) for cell in cells[:N_LABELS]])
            features.append([float(cell) for cell in cells[N_LABELS:]])
    return np.array(features, np.float32), scipy.sparse.csr_array(np.array(labels, bool))


def plain_sparse_arff(path):
    rows, columns, values, pairs, n, width = [], [], [], [], 0, 0
    with open(path) as stream:
        for line in stream:
            width += line.startswith("@attribute")
            if line.strip().lower() == "@data":
                break
        for line in stream:
            for cell in line.strip()[1:-1].split(","):
                index, value = cell.split()
                if int(index) < N_LABELS:
                    pairs.append((n, int(index)))
                else:
                    rows.append(n)
                    columns.append(int(index) - N_LABELS)
                    values.append(float(value))
            n += 1
    X = scipy.sparse.csr_array((np.array(values, np.float32), (rows, columns)), (n, width - N_LABELS))
    r, c = np.array(pairs).T
    return X, scipy.sparse.csr_array((np.ones(len(r), bool), (r, c)), (n, N_LABELS))


def plain_svmlight(path):
    columns, values, ends, pairs = [], [], [0], []
    with open(path) as stream:
        for n, line in enumerate(stream):
            head, *tokens = line.split()
            pairs += [(n, int(label)) for label in head.split(",")]
            for token in tokens:
                index, value = token.split(":")
                columns.append(int(index))
                values.append(float(value))
            ends.append(len(columns))
    X = scipy.sparse.csr_array((np.array(values, np.float32), columns, ends), (len(ends) - 1, max(columns) + 1))
    r, c = np.array(pairs).T
    return X, scipy.sparse.csr_array((np.ones(len(r), bool), (r, c)), (len(ends) - 1, N_LABELS))


def write_dense_arff(folder, scale):
    rng, n = np.random.default_rng(0), int(28_000 * scale)
    X, Y = rng.normal(size=(n, 500)).round(4), (rng.random((n, N_LABELS)) < 0.1).astype(int)
    rows = (",".join(map(str, (*y, *x))) for x, y in zip(X.tolist(), Y.tolist(), strict=True))
    return write(folder / "dense.arff", 500, rows)


def write_sparse_arff(folder, scale):
    rng = np.random.default_rng(0)
    return write(folder / "sparse.arff", 5_000, (sparse_row(rng) for _ in range(int(20_000 * scale))))


def sparse_row(rng):
    labels, columns = np.flatnonzero(rng.random(N_LABELS) < 0.1), np.sort(rng.choice(5_000, 60, replace=False))
    cells = [f"{i} 1" for i in labels] + [
        f"{i + N_LABELS} {v:.4f}" for i, v in zip(columns, rng.random(60), strict=True)
    ]
    return "{" + ",".join(cells) + "}"


def write(path, width, rows):
    labels = "".join(f"@attribute l{i} {{0,1}}\n" for i in range(N_LABELS))
    features = "".join(f"@attribute f{i} numeric\n" for i in range(width))
    with open(path, "w") as stream:
        stream.write(f"@relation 'made: -C {N_LABELS}'\n{labels}{features}@data\n")
        stream.writelines(f"{row}\n" for row in rows)
    return path


def write_svmlight(folder, scale):
    rng, path = np.random.default_rng(0), folder / "a.svm"
    with open(path, "w") as stream:
        for _ in range(int(30_000 * scale)):
            labels, columns = rng.choice(N_LABELS, 2, replace=False), np.sort(rng.choice(5_000, 80, replace=False))
            tokens = (f"{i}:{v:.4f}" for i, v in zip(columns, rng.random(80), strict=True))
            stream.write(f"{','.join(map(str, labels))} {' '.join(tokens)}\n")
    return path


CASES = (
    ("ARFF, 28,000 × 500, dense", write_dense_arff, plain_dense_arff),
    ("ARFF, 20,000 × 5,000, sparse", write_sparse_arff, plain_sparse_arff),
    ("svmlight, 30,000 × 5,000", write_svmlight, plain_svmlight),
)

if __name__ == "__main__":
    main()
