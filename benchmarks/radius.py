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
        "# Computing the radius, compared with HiGHS\n",
        "The *radius* of a label set is how far the features can move in any direction before the prediction changes; "
        "it shows how robustly a set can be predicted. labelproof decides, proves and brackets the radius to a "
        "relative width below 1e-6; HiGHS solves the full linear programme. CPU time of one thread for one label set "
        "(`python benchmarks/radius.py`). *Widest bracket* is the largest relative gap between our proven bounds, "
        "*largest difference* the largest relative difference from the radius that HiGHS gives.\n",
        "| layer | sets | labelproof, ms | HiGHS, ms | ratio | target | widest bracket | largest difference |",
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
