"""The Chebyshev radius with proven bounds, decision and proof included, against HiGHS in the same run.

    python benchmarks/radius.py

Writes benchmarks/results/radius.md. CPU time of one thread for one label set; HiGHS solves the full programme. Ours is
the median of as many runs over all sets as HiGHS gets sets; HiGHS's is the mean, since its sets differ.
"""

import time
from pathlib import Path

import numpy as np

import labelproof as lp
from peers import solve_by_highs
from weights import load

RESULTS = Path(__file__).parent / "results"
ROWS = {"8921x50": (600, 8, 300), "8921x100": (128, 4, 100), "dft_slack": (24, 3, 30)}


def main() -> None:
    lines = [
        "# The radius to 1e-6, against HiGHS\n",
        "Decision, proof and radius of one label set; CPU time of one thread (`python benchmarks/radius.py`).\n",
        "| layer | sets | ours, ms | HiGHS, ms | ratio | wanted | widest bracket | largest difference |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for name, (n_sets, n_peer, wanted) in ROWS.items():
        weight, label_sets = load(name)
        lp.verify(weight, label_sets[:20], n_jobs=1, radius=True)  # compiled code is loaded
        runs, peers, differences = [], [], [0.0]
        for i in range(n_peer):  # taking turns, so that both meet the same noise
            start = time.process_time()
            v = lp.verify(weight, label_sets[:n_sets], n_jobs=1, radius=True)
            runs.append(1e3 * (time.process_time() - start) / n_sets)
            active = label_sets.indices[label_sets.indptr[i] : label_sets.indptr[i + 1]]
            peer = solve_by_highs(weight, active)
            peers.append(1e3 * peer.solve_seconds)
            if v.status[i] == 1:
                differences.append(abs(peer.eps / v.radius[i] - 1))
        known = v.status == 1
        widest = float(np.max(1 - v.radius[known] / v.radius_upper[known]))
        ours, theirs = float(np.median(runs)), float(np.mean(peers))
        lines.append(
            f"| {name} | {n_sets} | {ours:.3g} | {theirs:.0f} | **{theirs / ours:.0f}×** | {wanted}× "
            f"| {widest:.1e} | {max(differences):.1e} |"
        )
        print(lines[-1], flush=True)
    RESULTS.mkdir(exist_ok=True)
    (RESULTS / "radius.md").write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
