"""Deciding a label set, compared with HiGHS and lazy rows

    OMP_NUM_THREADS=1 python benchmarks/fair.py [--keep-peer] [ROW ...]

Writes benchmarks/results/fair.md and .json, a row at a time. CPU time of one thread for one label set, both in one run;
ours includes preparing the layer and proving each verdict. The peer is `lazy_peer.py`. With `--keep-peer` its time is
that of an earlier run on the same label sets, which the table marks: at 768 features it takes minutes.

Layers named by their shape are trained ones (`weights.py`), asked about label sets of unseen examples ("true") or
random sets of the same sizes ("random"). The others are generated, with 8,921 labels: `gauss` has normally
distributed weights, and random sets of 8 labels. `tilted` layers also share a direction that switches all labels off,
as trained layers do; their sets are predictions at some input ("can"), or 2 d random labels, which is too many
("never").
"""

import json
import os
import sys
import time
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np

import labelproof as lp
from lazy_peer import LazyHighs
from weights import load

RESULTS = Path(__file__).parent / "results"
N_LABELS = 8921
RUNS, SECONDS = 5, 5.0  # of ours, of which the median counts; no more are begun after so many seconds
# row: label sets for us, for the peer, and for the peer with its certificate
ROWS = {
    "2000x50 true": (600, 24, 6),
    "2000x50 random": (600, 24, 6),
    "8921x50 true": (600, 24, 4),
    "8921x50 random": (600, 24, 4),
    "8921x100 true": (300, 12, 2),
    "8921x100 random": (300, 12, 2),
    "gauss 384": (100, 2, 0),
    "gauss 768": (50, 1, 0),
    "tilted 16 can": (200, 12, 0),
    "tilted 64 can": (200, 8, 0),
    "tilted 256 can": (64, 2, 0),
    "tilted 384 can": (32, 1, 0),
    "tilted 768 can": (32, 1, 0),
    "tilted 2432 can": (8, 0, 0),
    "tilted 16 never": (200, 12, 0),
    "tilted 64 never": (200, 8, 0),
    "tilted 256 never": (16, 2, 0),
    "tilted 384 never": (16, 1, 0),
    "tilted 768 never": (16, 1, 0),
    "tilted 2432 never": (4, 0, 0),
}


def make(name: str, n_sets: int) -> tuple[np.ndarray, list[list[int]]]:
    rng = np.random.default_rng(0)
    kind, *rest = name.split()
    if kind not in ("gauss", "tilted"):
        weight, labels = load(kind)
        sets = [labels.indices[labels.indptr[i] : labels.indptr[i + 1]].tolist() for i in range(n_sets)]
        return weight, sets if rest == ["true"] else [_random(rng, len(weight), len(one)) for one in sets]
    d = int(rest[0])
    weight = rng.normal(size=(N_LABELS, d))
    if kind == "gauss":
        return weight.astype(np.float32), [_random(rng, N_LABELS, 8) for _ in range(n_sets)]
    weight[:, 0] = -1.0
    weight = weight.astype(np.float32)
    if rest[1] == "never":
        return weight, [_random(rng, N_LABELS, 2 * d) for _ in range(n_sets)]
    inputs = rng.normal(size=(n_sets, d)) / np.sqrt(d - 1)
    inputs[:, 0] = 3.0  # logits about −3 with a spread of 1: a dozen labels are active
    return weight, [np.flatnonzero(row > 0).tolist() for row in inputs @ weight.T.astype(np.float64)]


def _random(rng: np.random.Generator, n_labels: int, size: int) -> list[int]:
    return sorted(rng.choice(n_labels, size, replace=False).tolist())


PEER_FIGURES = ("peer_sets", "peer_ms", "agree", "certified", "certify_ms", "certify_sets")


def measure(name: str, kept: dict[str, object] | None = None) -> dict[str, object]:
    n_ours, n_peer, n_certified = ROWS[name]
    weight, sets = make(name, n_ours)
    times: list[float] = []
    while len(times) < RUNS and sum(times) < SECONDS:
        start = time.process_time()
        v = lp.verify(weight, sets, n_jobs=1)
        times.append(time.process_time() - start)
    ours = float(np.median(times)) / n_ours
    start = time.process_time()
    v.check(n_jobs=1)
    check = (time.process_time() - start) / n_ours
    result = {"name": name, "shape": list(weight.shape), "n_sets": n_ours, "ms": 1e3 * ours, "check_ms": 1e3 * check}
    result |= {"can": float((v.status == 1).mean()), "proven": float((v.status >= 0).mean()), "peer_sets": n_peer}
    if not n_peer:
        return result
    if kept is not None:
        result |= {key: kept[key] for key in PEER_FIGURES if key in kept} | {"peer_is_kept": True}
        return result | {"ratio": kept["peer_ms"] / result["ms"]}
    peer = LazyHighs(weight)
    start = time.process_time()
    answers = [peer.decide(np.array(one, np.int64)) for one in sets[:n_peer]]
    theirs = (time.process_time() - start) / n_peer
    agree = sum(bool(answer.can == (s == 1)) for answer, s in zip(answers, v.status.tolist(), strict=False))
    result |= {"peer_ms": 1e3 * theirs, "ratio": theirs / ours, "agree": agree}
    if n_certified:
        proofs = [(np.array(one, np.int64), answer) for one, answer in zip(sets, answers[:n_certified], strict=False)]
        peer.certify(*proofs[0])
        start = time.process_time()
        result["certified"] = sum(peer.certify(*proof) for proof in proofs)
        result["certify_ms"] = 1e3 * (time.process_time() - start) / n_certified
        result["certify_sets"] = n_certified
    return result


def table(results: list[dict[str, object]]) -> str:
    lines = [
        "| layer and sets | sets | can | proven | labelproof, ms | check, ms | HiGHS, lazy rows, ms | ratio | agree "
        "| + FLINT, ms | ratio |",
        "|---|---|---|---|---|---|---|---|---|---|---|",
    ]
    for r in results:
        cells = [f"{r['name']} ({r['shape'][0]}×{r['shape'][1]})", r["n_sets"], f"{r['can']:.0%}"]
        cells += [f"{r['proven']:.0%}", f"{r['ms']:.3g}", f"{r['check_ms']:.2g}"]
        if "ratio" in r:
            cells += [
                f"{r['peer_ms']:.3g}{' †' if 'peer_is_kept' in r else ''}",
                f"**{r['ratio']:.1f}×**",
                f"{r['agree']}/{r['peer_sets']}",
            ]
        else:
            cells += ["–", "–", "–"]
        if "certify_ms" in r:
            both = r["peer_ms"] + r["certify_ms"]
            cells += [f"{both:.3g} ({r['certified']}/{r['certify_sets']} proven)", f"{both / r['ms']:.0f}×"]
        else:
            cells += ["–", "–"]
        lines.append("| " + " | ".join(map(str, cells)) + " |")
    return "\n".join(lines) + "\n"


def page(results: list[dict[str, object]]) -> str:
    title, *_, layers = __doc__.strip().split("\n\n")
    how = (
        "Whether a label set can be predicted is a linear programme with one row for each label. Most rows do not "
        "matter, so an expert gives HiGHS a few and adds those that are violated (*lazy rows*): the strongest "
        "alternative that we know. HiGHS then answers within a tolerance; labelproof proves each verdict. CPU time "
        "of one thread for one label set, both in one run; our times include preparing the layer and the proofs, and "
        "are the median of up to five runs, the first one included.\n\n"
        "*Can* is the share of label sets that can be predicted, *check* the time to check a proof, *agree* the "
        "number of label sets on which both verdicts are the same. *+ FLINT* adds the time to prove HiGHS's answer "
        "afterwards in exact arithmetic."
    )
    picture = "![Milliseconds for one label set by the number of features](fair.png)"
    kept = "† Of an earlier run on the same label sets, with the same verdicts.\n\n"
    marks = kept if any("peer_is_kept" in r for r in results) else ""
    return f"# {title}\n\n{how}\n\n{layers}\n\n{table(results)}\n{marks}{picture}\n"


def picture(results: list[dict[str, object]]) -> None:
    """Draw how the time for one label set of a tilted layer grows with the width."""
    figure, axes = plt.subplots(1, 2, figsize=(9, 3.6), layout="constrained", sharey=True)
    titles = {"can": "label sets that can be predicted", "never": "label sets that never can"}
    for axis, (kind, title) in zip(axes, titles.items(), strict=True):
        rows = [r for r in results if r["name"].startswith("tilted") and r["name"].endswith(kind)]
        axis.plot([r["shape"][1] for r in rows], [r["ms"] for r in rows], "o-", label="labelproof, with proof")
        peer = [r for r in rows if "peer_ms" in r]
        axis.plot([r["shape"][1] for r in peer], [r["peer_ms"] for r in peer], "s--", label="HiGHS, lazy rows")
        axis.set(xscale="log", yscale="log", xlabel=f"features ({N_LABELS:,} labels)", title=title)
        axis.set_xticks([r["shape"][1] for r in rows], [f"{r['shape'][1]:,}" for r in rows])
        axis.set_xticks([], minor=True)
        axis.grid(alpha=0.3)
        axis.legend(frameon=False)
    axes[0].set_ylabel("ms for one label set")
    figure.savefig(RESULTS / "fair.png", dpi=130)


def main(names: list[str]) -> None:
    path = RESULTS / "fair.json"
    known = {r["name"]: r for r in json.loads(path.read_text())} if path.exists() else {}
    lp.verify(np.eye(20)[:, :18], [[0]] * 2, n_jobs=1)  # compiled code is loaded
    keeps = "--keep-peer" in names
    for name in [name for name in names if name != "--keep-peer"] or ROWS:
        known[name] = {**measure(name, known.get(name) if keeps else None), "load": os.getloadavg()[0]}
        ordered = [known[name] for name in ROWS if name in known]
        print(table([known[name]]).splitlines()[-1], flush=True)
        path.write_text(json.dumps(ordered, indent=1) + "\n")
        (RESULTS / "fair.md").write_text(page(ordered))
    picture(ordered)


if __name__ == "__main__":
    main(sys.argv[1:])
