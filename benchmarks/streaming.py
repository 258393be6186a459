"""Label sets from disk to disk: time, peak memory and space for 10,000 up to as many as are asked for.

    python benchmarks/streaming.py [SETS ...]

Each size runs `labelproof verify` to a folder and `labelproof check` of it in processes of their own, on two threads.
What the operating system says of them (CPU time, largest resident size) is kept in benchmarks/results/streaming.jsonl
as it comes, and the page streaming.md is made of it. A run that was interrupted goes on when the same size is asked for
again, and the times of all its attempts are added up. More than 100,000 label sets are the same ones over and over, in
another random order each time: no part of 10,000 sets holds one twice, and nothing is remembered from part to part.
"""

import json
import os
import subprocess
import sys
import time
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import numpy as np
import scipy.sparse as sp

from weights import FOLDER, load, load_many_sets

RESULTS = Path(__file__).parent / "results"
LOG, PAGE = RESULTS / "streaming.jsonl", RESULTS / "streaming.md"
SIZES = (10_000, 100_000)
THREADS = 2


def inputs(n_sets: int) -> tuple[Path, Path]:
    """Return files of weights and of label sets, and write them first if they are missing."""
    weights, labels = FOLDER / "streaming_weight.npz", FOLDER / f"streaming_{n_sets}.npz"
    if not weights.exists():
        np.savez(weights, weight=load("8921x50")[0])
    if not labels.exists():
        known, rng = load_many_sets(), np.random.default_rng(0)
        orders = [rng.permutation(known.shape[0]) for _ in range(-(-n_sets // known.shape[0]))]
        orders[0] = np.arange(known.shape[0])
        chosen = sp.vstack([known[order] for order in orders], format="csr")[:n_sets]
        draft = labels.with_suffix(".draft.npz")
        sp.save_npz(draft, chosen, compressed=False)
        draft.replace(labels)
    return weights, labels


def measured(step: str, n_sets: int, folder: Path, *words: str) -> None:
    """Run a command to its end and keep what it took."""
    before, start = len(list(folder.glob("part-*"))), time.perf_counter()
    load_before = os.getloadavg()[0]
    child = subprocess.Popen([sys.executable, "-m", "labelproof", step, *words, "--jobs", str(THREADS)])  # noqa: S603
    code, used = os.wait4(child.pid, 0)[1:]
    facts = {
        "step": step,
        "sets": n_sets,
        "code": os.waitstatus_to_exitcode(code),
        "wall": time.perf_counter() - start,
        "cpu": used.ru_utime + used.ru_stime,
        "peak": used.ru_maxrss * 1024,
        "parts_before": before,
        "parts": len(list(folder.glob("part-*"))),
        "bytes": sum(path.stat().st_size for path in folder.iterdir()),
        "load": load_before,
    }
    with open(LOG, "a", encoding="utf-8") as log:
        log.write(json.dumps(facts) + "\n")
    print(facts, flush=True)


def main() -> None:
    FOLDER.mkdir(exist_ok=True)
    for n_sets in [int(word) for word in sys.argv[1:]] or SIZES:
        with ProcessPoolExecutor(1) as apart:  # a child's largest size would begin with that of who started it
            weights, labels = apart.submit(inputs, n_sets).result()
        folder = FOLDER / f"streaming_{n_sets}"
        folder.mkdir(exist_ok=True)
        measured("verify", n_sets, folder, str(weights), "--labels", str(labels), "--output", str(folder))
        measured("check", n_sets, folder, str(folder), "--weights", str(weights))
        page()
    page()


def page() -> None:
    """Write the table of all sizes that ran to their end."""
    facts = [json.loads(line) for line in LOG.read_text(encoding="utf-8").splitlines()]
    lines = [
        "# Verifying label sets from disk to disk\n",
        "How long do `labelproof verify` and `labelproof check` take when label sets and proofs do not fit into "
        "memory? The output layer has 8,921 labels and 50 features; label sets are read from a sparse .npz file, "
        f"and verdicts with proofs are written in parts of 10,000, with {THREADS} threads (`python "
        "benchmarks/streaming.py`).\n",
        "CPU time is that of both threads together; peak memory is the largest resident size of the process, "
        "including the pages of its scratch file. The machine was busy with other work (load average at the start "
        "in the last column), and the last check was paused for some minutes, so wall-clock time says little.\n",
        "How the peak of ten million sets was measured: Linux counts for a process that is started by a larger one the "
        "size of that one, here of the script that had just made the label sets. (It now makes them in a process that "
        "ends first.) So the two figures are those of /proc: for `verify` of the same command given once more with 980 "
        "of the 1,000 parts there, which read all label sets and these parts, and decided the other 20; for `check` of "
        "the whole of it.\n",
        "| label sets | step | CPU, s | CPU per set, ms | wall, s | peak memory, GB | on disk, GB | parts | load |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for n_sets in sorted({fact["sets"] for fact in facts}):
        for step in ("verify", "check"):
            runs = [fact for fact in facts if (fact["sets"], fact["step"]) == (n_sets, step)]
            if not runs:
                continue
            done = runs[-1]["parts"] * 10_000 if step == "verify" else min(runs[-1]["parts"] * 10_000, n_sets)
            runs = runs if step == "verify" else runs[-1:]
            cpu, wall = sum(run["cpu"] for run in runs), sum(run["wall"] for run in runs)
            of = "" if runs[-1]["code"] == 0 else f" ({min(done, n_sets):,} of them done)"
            lines.append(
                f"| {n_sets:,}{of} | {step} | {cpu:.0f} | {1e3 * cpu / max(1, min(done, n_sets)):.2f} | {wall:.0f} "
                f"| {max(run['peak'] for run in runs) / 1e9:.2f} | {runs[-1]['bytes'] / 1e9:.2f} | {runs[-1]['parts']} "
                f"| {runs[-1]['load']:.0f} |"
            )
    PAGE.write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
