"""Questions about the DFT head itself: scale and nodes, the order of the labels, the precision of its numbers."""

import itertools
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

import labelproof as lp
from experiments.pages import NOT_RUN, Claim, table
from experiments.rows import Row, compute_missing, read_runs
from experiments.sigmoid_bottleneck.grid import METRICS, configuration, measured, share
from experiments.sigmoid_bottleneck.grid_claims import f1, of
from experiments.sigmoid_bottleneck.tasks import SMOKE, TASKS
from experiments.verdicts import little, spread_text
from labelproof.theory.dft import dft_matrix
from labelproof.training import RunRecord, sweep

TASK, WIDTH = "delicious", 25
VARIANTS: dict[str, dict[str, Any]] = {
    "as published: columns of norm 1, n nodes": {"head.scale": 1.0, "head.nodes": "paper"},
    "learned nodes": {"head.nodes": "learned"},
    "labels that go together far apart": {"head.order": "spread"},
    "trained in float64": {"trainer.precision": "64"},
}
SIZES, ACTIVE, SETS = (64, 256, 1024, 2677), (1, 2, 5, 10, 25), 100


def run(path: Path, *, smoke: bool) -> None:
    """Train what is missing."""
    task = SMOKE if smoke else TASKS[TASK]
    data = task.dataset()
    width = task.widths[0] if smoke else WIDTH
    dft = task.heads(width, data.n_labels)["dft"]
    variants = [{**dft, **changes} for changes in VARIANTS.values()]
    measure = partial(measured, data=data, task=task)
    options = {"variants": variants, "seeds": task.seeds, "out": path, "metrics": METRICS, "measure": measure}
    sweep(configuration(task), data, **options)


def results(path: Path) -> dict[str, list[RunRecord]]:
    """Return the runs of each variant."""
    found: dict[str, list[RunRecord]] = {}
    for record in read_runs(path):
        for name, changes in VARIANTS.items():
            extra = {key: value for key, value in record.changes.items() if key not in _SHARED}
            if extra == changes:
                found.setdefault(name, []).append(record)
    return found


_SHARED = ("head.kind", "head.k", "head.slack")


def run_stored(path: Path, *, smoke: bool) -> None:
    """Verify what is missing of DFT columns alone, as they are stored."""
    sizes, active = (SIZES[:1], ACTIVE[:2]) if smoke else (SIZES, ACTIVE)
    pairs = [(n, k) for n, k in itertools.product(sizes, active) if 2 * k < n]
    settings = [{"n": n, "k": k, "dtype": dtype} for n, k in pairs for dtype in ("float32", "float64")]
    compute_missing(path, settings, stored)


def stored(*, n: int, k: int, dtype: str) -> Row:
    """Return how many random sets of k labels DFT columns alone can predict in a precision, and how many never."""
    rng = np.random.default_rng([n, k])
    sets = [sorted(rng.choice(n, k, replace=False).tolist()) for _ in range(SETS)]
    found = lp.verify(dft_matrix(n, k).astype(dtype), sets, n_jobs=1, time_limit=60.0)
    status = np.asarray(found.status)
    return {"argmaxable": int((status == 1).sum()), "unargmaxable": int((status == 0).sum()), "sets": SETS}


def claims(found: dict[str, list[RunRecord]], plain: list[RunRecord], rows: list[Row]) -> list[Claim]:
    """Return what the variants say: learned nodes, the order of the labels, float64, and the numbers as stored."""
    texts = {
        "learned nodes": ("learned nodes make little difference to F1@k (footnote 7)", "yes"),
        "labels that go together far apart": ("the order of the labels makes little difference to F1@k", "–"),
        "trained in float64": ("float64 instead of float32 makes little difference to F1@k", "–"),
    }
    return [
        *(_same(text, paper, found.get(name, []), plain) for name, (text, paper) in texts.items()),
        *(_every_set(rows, dtype) for dtype in ("float64", "float32")),
    ]


def _same(text: str, paper: str, ours: list[RunRecord], plain: list[RunRecord]) -> Claim:
    data = f"{TASK}, d = {WIDTH}"
    if not ours or not plain:
        return Claim(text, paper, "–", NOT_RUN, data=data)
    values = [[f1(one) for one in runs] for runs in (plain, ours)]
    n_seeds = min(map(len, values))
    said = " → ".join(spread_text(some, 4) for some in values)
    return Claim(text, paper, said, little(*reversed(values)), n_seeds, data)


def _every_set(rows: list[Row], dtype: str) -> Claim:
    text = f"DFT columns alone can predict every set of k labels, as stored in {dtype}"
    some = [row for row in rows if row["setting"]["dtype"] == dtype]
    if not some:
        return Claim(text, "yes, in real numbers", "–", NOT_RUN)
    never = [row for row in some if row["result"]["unargmaxable"]]
    said = "; ".join(
        f"n = {row['setting']['n']}, k = {row['setting']['k']}: {row['result']['unargmaxable']} of {SETS} never"
        for row in never[-3:]
    )
    return Claim.judged(text, "yes, in real numbers", said or "all of them", not never)


def section(found: dict[str, list[RunRecord]], plain: list[RunRecord]) -> str:
    """Return the table of the trained variants."""
    if not found:
        return "Not run yet."
    columns = ["DFT head", "seeds", "% can be predicted", "% beyond k", "F1@k", "epochs"]
    lines = [
        [
            name,
            len(runs),
            *(spread_text([100 * value(one) for one in runs], 2) for value in (share, of("beyond"))),
            spread_text([f1(one) for one in runs], 4),
            spread_text([float(one.epochs) for one in runs], 0),
        ]
        for name, runs in {"as in figure 5": plain, **found}.items()
        if runs
    ]
    return table(columns, lines)


def stored_section(rows: list[Row]) -> str:
    """Return the table of what columns as stored can predict."""
    if not rows:
        return "Not run yet."
    results = {(row["setting"]["n"], row["setting"]["k"], row["setting"]["dtype"]): row["result"] for row in rows}
    lines = []
    for n, k in dict.fromkeys((n, k) for n, k, _ in results):
        both = [results.get((n, k, dtype)) for dtype in ("float64", "float32")]
        cells = [one and f"{one['argmaxable']} / {one['unargmaxable']}" for one in both]
        lines.append([f"n = {n}, k = {k}", *cells])
    return table(["DFT columns alone", "float64: can / never", "float32: can / never"], lines)
