"""Fitting one threshold for each label, against a loop over scikit-learn's precision_recall_curve in the same run.

    python benchmarks/decisions.py

Writes benchmarks/results/decisions.md. Scores are float32 of 10,000 examples and 8,921 labels whose frequencies fall as
1/rank, about 13 labels an example. The loop runs on every 60th label, in turns with ours, and is scaled to all labels;
it computes what it needs for the best F1 and no more. Ours uses as many threads as there are cores; the ratio of CPU
times leaves that advantage out.
"""

import time
from pathlib import Path

import numpy as np
from sklearn.metrics import precision_recall_curve

from labelproof.decisions import BatchMacroTopK, ExpectedF, PerLabelThreshold, SparsemaxSupport, Threshold, TopK

RESULTS = Path(__file__).parent / "results"
N, LABELS, EVERY, TURNS, WANTED = 10_000, 8921, 60, 5, 20


def problem() -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    y_score = np.float32(2.5) * rng.standard_normal((N, LABELS), dtype=np.float32) - 10
    y_true = np.zeros((N, LABELS), bool)
    for j, share in enumerate(np.minimum(0.5, 1.55 / (1 + np.arange(LABELS)))):
        y_true[rng.choice(N, max(1, int(share * N)), replace=False), j] = True
    y_score[y_true] += 7.5
    return y_true, y_score


def loop(y_true: np.ndarray, y_score: np.ndarray) -> np.ndarray:
    """Return the threshold of the best F1 of each label, as scikit-learn's users find it."""
    thresholds = np.empty(y_true.shape[1])
    for j in range(y_true.shape[1]):
        precision, recall, cuts = precision_recall_curve(y_true[:, j], y_score[:, j])
        f1 = 2 * precision * recall / np.maximum(precision + recall, 1e-12)
        thresholds[j] = cuts[np.argmax(f1[:-1])]
    return thresholds


def seconds(work) -> tuple[float, float]:
    """Return wall time and CPU time of all threads."""
    wall, cpu = time.perf_counter(), time.process_time()
    work()
    return time.perf_counter() - wall, time.process_time() - cpu


def main() -> None:
    y_true, y_score = problem()
    some = np.arange(0, LABELS, EVERY)
    part_true, part_score = np.ascontiguousarray(y_true[:, some]), np.ascontiguousarray(y_score[:, some])
    rule = PerLabelThreshold()
    rule.fit(y_true[:50], y_score[:50])  # compiled code is loaded
    ours, theirs = [], []
    for _ in range(TURNS):
        ours.append(seconds(lambda: rule.fit(y_true, y_score)))
        theirs.append(tuple(s * LABELS / len(some) for s in seconds(lambda: loop(part_true, part_score))))
        print(f"ours {ours[-1][0]:.2f} s, loop {theirs[-1][0]:.1f} s", flush=True)
    same = (part_score >= loop(part_true, part_score)) == rule.decide(y_score)[:, some]
    lines = [
        "# Speed of threshold tuning\n",
        "How long does it take to tune one threshold per label, for 10,000 examples and 8,921 labels? The alternative",
        f"is a loop over scikit-learn's `precision_recall_curve`, label by label. Each was timed {TURNS} times",
        f"(`python benchmarks/decisions.py`); the loop ran on {len(some)} labels and is scaled to {LABELS:,}.\n",
        "| | `PerLabelThreshold().fit`, s | loop over scikit-learn, s | ratio of minima | of medians | target |",
        "|---|---|---|---|---|---|",
    ]
    for clock, name in enumerate(("wall", "CPU, all threads")):
        mine, peer = ([turn[clock] for turn in turns] for turns in (ours, theirs))
        ratios = f"**{min(peer) / min(mine):.1f}×** | {np.median(peer) / np.median(mine):.1f}×"
        cells = [", ".join(f"{s:.{digits}f}" for s in turns) for turns, digits in ((mine, 2), (peer, 1))]
        lines.append(f"| {name} | {cells[0]} | {cells[1]} | {ratios} | {WANTED}× |")
    lines += [
        f"\nShare of decisions on these labels that are identical: {same.mean():.6f} (where several thresholds have",
        "the same F1, the two may choose different ones).\n",
        "## All decision rules on the same scores\n",
        "Wall-clock seconds of one run: `fit` on all examples, `decide` (sparse output) on the first 1,000.\n",
        "| rule | fit | decide |",
        "|---|---|---|",
    ]
    rules = {
        'Threshold(metric="micro-f1")': Threshold(metric="micro-f1"),
        'Threshold(metric="macro-f1")': Threshold(metric="macro-f1"),
        "PerLabelThreshold()": PerLabelThreshold(),
        'PerLabelThreshold(metric="micro-f1")': PerLabelThreshold(metric="micro-f1"),
        "TopK(8)": TopK(8),
        "SparsemaxSupport(1.0)": SparsemaxSupport(1.0),
        'ExpectedF(1.0, scores="logits")': ExpectedF(1.0, scores="logits"),
        'BatchMacroTopK(8, scores="logits", max_sweeps=2)': BatchMacroTopK(8, scores="logits", max_sweeps=2),
    }
    for name, each in rules.items():
        each.fit(y_true[:50], y_score[:50]).decide(y_score[:50])
        fit, _ = seconds(lambda each=each: each.fit(y_true, y_score))
        decide, _ = seconds(lambda each=each: each.decide(y_score[:1000], sparse=True))
        lines.append(f"| `{name}` | {fit:.2f} | {decide:.2f} |")
        print(lines[-1], flush=True)
    RESULTS.mkdir(exist_ok=True)
    (RESULTS / "decisions.md").write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
