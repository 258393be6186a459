"""Metrics against torchmetrics and scikit-learn in the same run, and a full evaluation of 10,000×8921 scores.

    python benchmarks/metrics.py

Writes benchmarks/results/metrics.md. CPU time of one thread; calls of ours and of the peer alternate,
and their minima are compared.
"""

import resource
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import sklearn.metrics as sk
import torch
import torchmetrics.functional.classification as tm

from labelproof import metrics

RESULTS = Path(__file__).parent / "results"
N, L, CARDINALITY = 10_000, 8921, 16


def make_data(n: int) -> tuple[np.ndarray, np.ndarray]:
    """Labels of Zipf's frequencies, 16 per example, and probabilities that find most of them."""
    rng = np.random.default_rng(0)
    share = 1 / np.arange(1, L + 1)
    share = np.minimum(0.5, share * CARDINALITY / share.sum()).astype(np.float32)
    y_true = np.empty((n, L), bool)
    y_prob = np.empty((n, L), np.float32)
    for start in range(0, n, 500):  # blocks, so that making the data does not set the peak of memory
        rows = slice(start, min(start + 500, n))
        y_true[rows] = rng.random((rows.stop - rows.start, L), dtype=np.float32) < share
        logits = rng.standard_normal((rows.stop - rows.start, L), dtype=np.float32) - 3 + 4 * y_true[rows]
        y_prob[rows] = 1 / (1 + np.exp(-logits))
    return y_true, y_prob


def compare(ours: Callable[[], Any], peer: Callable[[], Any], repeats: int) -> tuple[float, float, float]:
    """Seconds of ours, seconds of the peer, and the difference of their values."""
    times: dict[str, list[float]] = {"ours": [], "peer": []}
    values = {}
    ours()
    while len(times["peer"]) < repeats and sum(times["peer"]) < 1:
        for name, call in (("ours", ours), ("peer", peer)):
            start = time.process_time()
            values[name] = float(call())
            times[name].append(time.process_time() - start)
    return min(times["ours"]), min(times["peer"]), abs(values["ours"] - values["peer"])


def row(name: str, size: str, result: tuple[float, float, float]) -> str:
    ours, peer, difference = result
    line = f"| {name} | {size} | {1e3 * ours:.3g} | {1e3 * peer:.4g} | **{peer / ours:.0f}×** | {difference:.0e} |"
    print(line, flush=True)
    return line


def full_evaluation(y_true: np.ndarray, y_prob: np.ndarray) -> list[str]:
    metrics.evaluate(y_true[:20], y_prob[:20], scores="probabilities")  # compiled code is loaded
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
    propensity = metrics.propensities(y_true)
    start = time.process_time()
    values = metrics.evaluate(y_true, y_prob, scores="probabilities", propensity=propensity)
    seconds = time.process_time() - start
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
    text = (
        f"All metrics at once: `evaluate` on {N:,} examples and {L:,} labels takes {seconds:.1f} s for {len(values)} "
        f"values, with a peak memory of {peak:.2f} GB ({before:.2f} GB before, torch and the data "
        "included; target: at most 3 GB)."
    )
    print(text, flush=True)
    return [text]


def against_torchmetrics(y_true: np.ndarray, y_prob: np.ndarray) -> list[str]:
    y_true, y_prob = y_true[:256], y_prob[:256]
    target, preds = torch.tensor(y_true.astype(np.int64)), torch.tensor(y_prob)
    options = {"num_labels": L, "average": "macro"}
    lines = []
    for label, checks in (("", {}), (", input checks off", {"validate_args": False})):
        result = compare(
            lambda: metrics.f1_score(y_true, y_prob > 0.5, average="macro"),
            lambda c=checks: tm.multilabel_f1_score(preds, target, **options, **c),
            repeats=30,
        )
        lines.append(row(f"macro F1{label}", f"256×{L}", result))
    result = compare(
        lambda: metrics.average_precision_score(y_true, y_prob, average="macro", zero_division=0.0),
        lambda: tm.multilabel_average_precision(preds, target, **options, validate_args=False),
        repeats=3,
    )
    lines.append(row("macro average precision, input checks off", f"256×{L}", result))
    return lines


def against_scikit_learn(y_true: np.ndarray, y_prob: np.ndarray) -> list[str]:
    sets = y_true[:1000], y_prob[:1000] > 0.5
    lines = [
        _pair(name, sets, {"average": average}, {"zero_division": 0.0})
        for name in ("precision_score", "recall_score", "f1_score", "jaccard_score")
        for average in ("micro", "macro", "weighted", "samples")
    ]
    lines.append(_pair("hamming_loss", sets))
    lines.append(_pair("accuracy_score", sets, ours="exact_match_score"))
    seen = np.flatnonzero(y_true.any(0))[::18][:400]  # a slice of the labels: all would take scikit-learn minutes
    labels = np.ascontiguousarray(y_true[:, seen]), np.ascontiguousarray(y_prob[:, seen])
    for name in ("average_precision_score", "roc_auc_score"):
        lines.extend(_pair(name, labels, {"average": average}) for average in ("micro", "macro", "weighted"))
    rows = np.flatnonzero(y_true[:1100].any(1))[:1000]  # a slice of the examples, for the same reason
    examples = y_true[rows], y_prob[rows]
    curves = "average_precision_score", "roc_auc_score"
    lines.extend(_pair(name, examples, {"average": "samples"}) for name in curves)
    rankings = "label_ranking_average_precision_score", "label_ranking_loss", "coverage_error"
    lines.extend(_pair(name, examples) for name in rankings)
    lines.append(_pair("ndcg_score", examples, {"k": 5}, ours="ndcg_at_k"))
    lines.append(_pair("brier_score_loss", (labels[0][:, :1], labels[1][:, :1]), ours="brier_loss"))
    return lines


def _pair(name: str, arguments: Any, options: Any = None, theirs_only: Any = None, ours: str | None = None) -> str:
    options, theirs_only = options or {}, theirs_only or {}
    function, peer = getattr(metrics, ours or name), getattr(sk, name)
    theirs = tuple(x[:, 0] for x in arguments) if name == "brier_score_loss" else arguments
    result = compare(
        lambda: function(*arguments, **options), lambda: peer(*theirs, **options, **theirs_only), repeats=3
    )
    shown = ", ".join(map(str, options.values()))
    return row(f"{name} {shown}".strip(), "×".join(map(str, arguments[0].shape)), result)


def main() -> None:
    torch.set_num_threads(1)
    warnings.simplefilter("ignore")
    y_true, y_prob = make_data(N)
    head = ["| metric | size | labelproof, ms | peer, ms | ratio | difference |", "|---|---|---|---|---|---|"]
    how = (
        "How fast are the metrics compared with scikit-learn and torchmetrics, and do they give the same values? CPU "
        "time of one thread, the fastest of a few alternating calls (`python benchmarks/metrics.py`); *difference* is "
        "the largest absolute difference between the values.\n"
    )
    lines = ["# Speed of metrics\n", how]
    lines += full_evaluation(y_true, y_prob)
    lines += ["", "## Compared with torchmetrics (target: 20×)\n", *head, *against_torchmetrics(y_true, y_prob)]
    lines += [
        "",
        "## Compared with scikit-learn (target: faster for every shared metric)\n",
        "Both were given a part of the data, since all of 10,000×8921 would take scikit-learn about 7 s for each "
        "metric of label sets and half a minute for each curve: 1,000 of the examples or, for curves over labels, 400 "
        "of the labels that occur.\n",
        *head,
        *against_scikit_learn(y_true, y_prob),
    ]
    RESULTS.mkdir(exist_ok=True)
    (RESULTS / "metrics.md").write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
