"""Pure DFT layers at full load, k random active labels of capacity k: every verdict proven, in how many seconds?

    python benchmarks/full_load.py

Writes benchmarks/results/full_load.md. Floats do not have the digits for these sets: the verdicts are found in twice
their digits, or in hundreds of bits, and proven exactly. The theorem that all of them are argmaxable is about the ideal
matrix.
"""

import time
from pathlib import Path

import numpy as np

import labelproof as lp
from labelproof.theory.dft import dft_matrix

RESULTS = Path(__file__).parent / "results"
ROWS = [(8921, 10, 5), (8921, 20, 5), (8921, 40, 5), (8921, 80, 5)]


def main() -> None:
    lines = [
        "# DFT layers with as many active labels as they allow\n",
        "In theory a DFT layer built for k labels can predict every set of up to k labels. The theorem is about "
        "ideal numbers; does it survive rounding to float64 or float32? Here the layer has no learnable columns "
        "and each label set has k random labels, the hardest case. *Can* counts the sets that are proven possible "
        "for the stored numbers, *never* those proven impossible. CPU seconds for one label set (`python "
        "benchmarks/full_load.py`).\n",
        "| labels | k | stored as | sets | can | never | undecided | seconds per set |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for n_labels, k, n_sets in ROWS:
        for dtype in (np.float64, np.float32):
            rng = np.random.default_rng(0)
            sets = [np.sort(rng.choice(n_labels, k, replace=False)).tolist() for _ in range(n_sets)]
            weight = dft_matrix(n_labels, k).astype(dtype)
            start = time.process_time()
            v = lp.verify(weight, sets, n_jobs=1)
            seconds = (time.process_time() - start) / n_sets
            v.check()
            counts = [int((v.status == status).sum()) for status in (1, 0, -1)]
            cells = [n_labels, k, np.dtype(dtype), n_sets, *counts, f"{seconds:.2g}"]
            lines.append("| " + " | ".join(str(cell) for cell in cells) + " |")
            print(lines[-1], flush=True)
    RESULTS.mkdir(exist_ok=True)
    (RESULTS / "full_load.md").write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
