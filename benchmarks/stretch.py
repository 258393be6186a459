"""The stretch of label sets with proven bounds, against column generation on HiGHS in the same run.

    LABELPROOF_DATA=… LABELPROOF_ENCODER=… python benchmarks/stretch.py

Writes benchmarks/results/stretch.md: a head of 2,689 labels on 384 features of a sentence encoder, 10,000 examples,
label sets of 3,000 test documents. CPU time of one thread for one set, proof included; the time for all sets is by the
clock with two threads, in the quietest of a few runs: that with the most CPU time for its wall-clock time. HiGHS proves
nothing.
"""

import os
import time
from pathlib import Path

import numpy as np

import labelproof as lp
from stretch_models import load_wide
from stretch_peer import Peer

RESULTS = Path(__file__).parent / "results"
TURNS, AT_ONCE, N_PEER = 3, 1000, 15
RUNS, THREADS = 5, 2  # of all sets
FREQUENT = 1414  # labels of which every pair is measured: 998,991


def main() -> None:
    model = load_wide("mesh_pubmed")
    labels = model.test_labels
    sets = [np.sort(labels[i].indices).tolist() for i in range(labels.shape[0])]
    sets = [active for active in sets if active]
    layer = {"bias": model.bias, "ties": "inactive"}
    lp.stretch(model.weight, sets[:4], model.features, **layer, n_jobs=1)  # compiled code is loaded
    peer, peers = Peer(model.weight, model.bias, model.features), []
    s, ours, preparing = None, [], []
    for turn in range(TURNS):  # taking turns, so that both meet the same noise
        for active in sets[turn * N_PEER : (turn + 1) * N_PEER]:
            start = time.process_time()
            peers.append((*peer.stretch(np.array(active)), time.process_time() - start))
        start = time.process_time()
        lp.stretch(model.weight, [], model.features, **layer, n_jobs=1)
        preparing.append(time.process_time() - start)
        start = time.process_time()
        s = lp.stretch(model.weight, sets[:AT_ONCE], model.features, **layer, n_jobs=1)
        ours.append((time.process_time() - start) / AT_ONCE)
    for k, (lower, upper, _) in enumerate(peers):
        assert s.lower[k] <= upper * 1.001
        assert lower <= s.upper[k] * 1.001
    all_runs = []
    for _ in range(RUNS):
        start, used = time.perf_counter(), time.process_time()
        s = lp.stretch(model.weight, sets, model.features, **layer, n_jobs=THREADS)
        all_runs.append((time.perf_counter() - start, time.process_time() - used))
    all_seconds, all_cpu = max(all_runs, key=lambda run: run[1] / run[0])
    start = time.process_time()
    s.check()
    check_seconds = time.process_time() - start
    start = time.process_time()
    pairs = lp.stretch_pairs(model.weight, sets, model.features, bias=model.bias, n_jobs=1)
    pair_ms = 1e3 * (time.process_time() - start) / len(pairs)
    frequent = np.argsort(-np.asarray((model.train_labels > 0).sum(axis=0)).ravel(), kind="stable")[:FREQUENT]
    start = time.process_time()
    every = lp.stretch_pairs(
        model.weight[frequent], [], model.features, bias=model.bias[frequent], every=True, n_jobs=1
    )
    every_ms = 1e3 * (time.process_time() - start) / len(every)
    start = time.process_time()
    every.check()
    every_check = 1e3 * (time.process_time() - start) / len(every)
    gap = (s.lower / s.upper)[(s.upper > 0) & np.isfinite(s.upper)]
    mean, once = 1e3 * float(np.median(ours)), float(np.median(preparing))
    alone = mean - 1e3 * once / AT_ONCE
    of_peer = 1e3 * np.array([seconds for _, _, seconds in peers])
    n_labels, d = model.weight.shape
    text = f"""# Measuring the stretch, compared with HiGHS

The *stretch* of a label set is how far beyond mixtures of real inputs a model would have to go to predict it. How long
does it take to bound it with proof? The alternative is column generation on HiGHS, without a proof. The model has
{n_labels:,} labels and {d} features (mesh_pubmed, mean-pooled MiniLM features of 64 tokens, a linear head), with
{len(model.features):,} real inputs (`python benchmarks/stretch.py`, on {os.cpu_count()} cores shared with other work).

| | labelproof, both bounds proven | HiGHS, nothing proven |
|---|---|---|
| ms per set: CPU time of one thread, mean | {mean:.2f} with preparation, {alone:.2f} without | {of_peer.mean():.1f} |
| median | at most {2 * alone:.2f}, twice the mean | {np.median(of_peer):.1f} |
| ratio of means | {of_peer.mean() / mean:.1f} | |

labelproof: the median of {TURNS} runs on {AT_ONCE:,} sets each; HiGHS: {len(peers)} of these sets, between the runs.

- Preparation, once for a model and its inputs: {once:.2f} s of CPU time.
- All {len(sets):,} test sets on {THREADS} threads: {all_seconds:.1f} s of wall-clock time, {all_cpu:.1f} s of CPU time,
  {1e3 * all_cpu / len(sets):.2f} ms per set with preparation. This is the quietest of {RUNS} runs: it had
  {all_cpu / all_seconds:.1f} cores. All runs: {", ".join(f"{wall:.1f}" for wall, _ in all_runs)} s.
- Lower bound divided by upper bound: minimum {gap.min():.4f}, median {np.median(gap):.4f}. Sets with an infinite
  stretch: {int(np.isinf(s.lower).sum())}; without an upper bound:
  {int((np.isinf(s.upper) & np.isfinite(s.lower)).sum())}.
- `check()` of all of them: {check_seconds:.1f} s of CPU time.
- Pairs of labels that occur together: {len(pairs):,}, {pair_ms:.3f} ms of CPU time each, proven.
  No mixture of the inputs combines {len(pairs.apart):,} of them ({100 * len(pairs.apart) / len(pairs):.1f} %).
- Every pair of the {FREQUENT:,} most frequent labels: {len(every):,}, {every_ms:.3f} ms of CPU time each, proven;
  `check()` takes {every_check:.3f} ms per pair.
"""
    (RESULTS / "stretch.md").write_text(text)
    print(text)


if __name__ == "__main__":
    main()
