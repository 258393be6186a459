"""Decide label sets with proof, on one thread, against HiGHS on the full linear programme in the same run.

    python benchmarks/run.py             the table and its figures, about ten minutes
    python benchmarks/run.py 8921x50     some of the rows

Writes benchmarks/results/decide.md and .json. All times are CPU seconds of this process for one label set; ours
include preparing the matrix and proving every verdict. The layers are trained ones (see weights.py).
"""

import json
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import scipy.sparse

import labelproof as lp
from peers import HAS_GUROBI, solve_by_gurobi, solve_by_highs
from weights import load

RESULTS = Path(__file__).parent / "results"
# name: label sets for us, for HiGHS, its method, and the ratio that we want at least
ROWS: dict[str, tuple[int, int, str, float]] = {
    "2000x50": (1000, 6, "simplex", 0),
    "1900x50": (1000, 6, "simplex", 0),
    "8921x25": (1000, 6, "simplex", 0),
    "8921x50": (1000, 6, "simplex", 500),
    "20000x50": (600, 4, "simplex", 800),
    "8921x100": (400, 4, "simplex", 500),
    "dft_slack": (128, 2, "simplex", 200),
    "8921x400": (128, 2, "simplex", 0),
    "8921x768": (128, 2, "simplex", 1000),  # where simplex is faster than the interior point method
    "8921x2432": (64, 1, "simplex", 0),
    "dft": (32, 2, "ipm", 50),  # where it is the other way round
}


def cpu_seconds(work: Callable[[], object]) -> tuple[float, object]:
    start = time.process_time()
    result = work()
    return time.process_time() - start, result


def measure(name: str) -> dict[str, object]:
    n_ours, n_peer, method, wanted = ROWS[name]
    weight, label_sets = load(name)
    some = label_sets[:n_ours]
    lp.verify(weight, some[:2], n_jobs=1)  # compiled code is loaded
    ours, v = cpu_seconds(lambda: lp.verify(weight, some, n_jobs=1))
    check, _ = cpu_seconds(lambda: v.check(n_jobs=1))
    peer = [solve_by_highs(weight, row(label_sets, i), solver=method, time_limit=300) for i in range(n_peer)]
    seconds = float(np.mean([p.solve_seconds for p in peer])) if peer else float("nan")
    verdict = [p.status == "Optimal" and p.eps > 1e-4 for p in peer]
    result = {
        "name": name,
        "n_labels": weight.shape[0],
        "d": weight.shape[1],
        "n_sets": n_ours,
        "argmaxable": float((v.status == 1).mean()),
        "proven": float((v.status >= 0).mean()),
        "ms": 1e3 * ours / n_ours,
        "check_share": check / ours,
        "peer": f"HiGHS {method}",
        "peer_sets": n_peer,
        "peer_ms": 1e3 * seconds,
        "ratio": seconds / (ours / n_ours),
        "wanted": wanted,
        "agree": int(sum(a == (s == 1) for a, s in zip(verdict, v.status[:n_peer], strict=True))),
        "called_optimal": int(sum(p.status == "Optimal" for p, s in zip(peer, v.status, strict=False) if s == 0)),
        "unargmaxable_seen": int((v.status[:n_peer] == 0).sum()),
    }
    if HAS_GUROBI and weight.shape[0] <= 1900:
        gurobi = [solve_by_gurobi(weight, row(label_sets, i)).solve_seconds for i in range(n_peer)]
        result["gurobi_ms"] = 1e3 * float(np.mean(gurobi))
    return result


def row(label_sets: scipy.sparse.csr_array, i: int) -> np.ndarray:
    return label_sets.indices[label_sets.indptr[i] : label_sets.indptr[i + 1]]


def table(results: list[dict[str, object]]) -> str:
    head = (
        "| layer | sets | can | proven | labelproof, ms | check | peer, ms | ratio | target | agree |\n"
        "|---|---|---|---|---|---|---|---|---|---|\n"
    )
    lines = []
    for r in results:
        ratio = "–" if not r["peer_sets"] else f"**{r['ratio']:.0f}×**"
        peer = "–" if not r["peer_sets"] else f"{r['peer_ms']:.0f} ({r['peer']})"
        if "gurobi_ms" in r:
            peer += f", {r['gurobi_ms']:.0f} (Gurobi)"
        wanted = f"{r['wanted']:.0f}×" if r["wanted"] else ""
        lines.append(
            f"| {r['name']} ({r['n_labels']}×{r['d']}) | {r['n_sets']} | {100 * r['argmaxable']:.1f}% "
            f"| {100 * r['proven']:.0f}% | {r['ms']:.3g} | {r['check_share']:.2f} | {peer} | {ratio} | {wanted} "
            f"| {r['agree']}/{r['peer_sets']} |"
        )
    return head + "\n".join(lines) + "\n"


def main(names: list[str]) -> None:
    RESULTS.mkdir(exist_ok=True)
    path = RESULTS / "decide.json"
    known = {r["name"]: r for r in json.loads(path.read_text())} if path.exists() else {}
    for name in names or ROWS:
        result = measure(name)
        result["load"] = os.getloadavg()[0]
        known[name] = result
        print(table([result]).splitlines()[-1], f"load {result['load']:.1f}", flush=True)
        ordered = [known[name] for name in ROWS if name in known]
        path.write_text(json.dumps(ordered, indent=1) + "\n")
        (RESULTS / "decide.md").write_text(
            "# Deciding a label set, compared with a full linear programme\n\n"
            "How long does it take to decide, with a proof, whether a label set can be predicted? The alternative "
            "is to write the question as one linear programme and give all of it to HiGHS, a good free solver, as "
            "in the paper that discovered the problem. CPU time of one thread for one label set, both in one run "
            "(`python benchmarks/run.py`). An expert would add the rows of the programme only as they are needed; "
            "[this comparison](fair.md) is the fairer one.\n\n"
            "*Can* is the share of label sets that can be predicted, *proven* the share of verdicts with a proof; "
            "*check* is the time to check the proofs, relative to finding them; *agree* counts on how many of the "
            "label sets given to HiGHS both verdicts are the same.\n\n" + table(ordered)
        )


if __name__ == "__main__":
    main(sys.argv[1:])
