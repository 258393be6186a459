"""The stretch of label sets with proven bounds, against column generation on HiGHS in the same run.

    LABELPROOF_DATA=… LABELPROOF_ENCODER=… python benchmarks/stretch.py

Writes benchmarks/results/stretch.md: a head of 2,689 labels on 384 features of a sentence encoder, 10,000 examples,
label sets of 3,000 test documents. CPU time of one thread for one set, proof included; the time for all sets is by the
clock with as many threads as there are cores. HiGHS proves nothing.
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
FREQUENT = 450  # labels of which every pair is measured


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
    start, used = time.perf_counter(), time.process_time()
    s = lp.stretch(model.weight, sets, model.features, **layer)
    all_seconds, all_cpu = time.perf_counter() - start, time.process_time() - used
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
    text = f"""# The stretch, against column generation on HiGHS

{n_labels:,} labels × {d} features, {len(model.features):,} examples: mesh_pubmed, mean-pooled MiniLM features of
64 tokens, a linear head. `python benchmarks/stretch.py`, on {os.cpu_count()} cores that others used at the same time.

| | ours, both bounds proven | HiGHS, nothing proven |
|---|---|---|
| ms a set: CPU time of one thread, mean | {mean:.2f} with preparing, {alone:.2f} without | {of_peer.mean():.1f} |
| median | at most {2 * alone:.2f}, twice the mean | {np.median(of_peer):.1f} |
| ratio of means | {of_peer.mean() / mean:.1f} | |

Ours are {TURNS} turns of {AT_ONCE:,} sets (the median turn), HiGHS {len(peers)} of these sets between the turns.

- Preparing, once for a model and its examples: {once:.2f} s of CPU time.
- All {len(sets):,} test sets: {all_cpu:.1f} s of CPU time, {1e3 * all_cpu / len(sets):.2f} ms a set with preparing; by
  the clock {all_seconds:.1f} s, of which the process had {all_cpu / all_seconds:.1f} cores.
- Lower over upper bound: at least {gap.min():.4f}, in the median {np.median(gap):.4f}. Infinitely far:
  {int(np.isinf(s.lower).sum())} sets; without an upper bound: {int((np.isinf(s.upper) & np.isfinite(s.lower)).sum())}.
- `check()` of all of them: {check_seconds:.1f} s of CPU time.
- Pairs of labels that occur together: {len(pairs):,}, {pair_ms:.3f} ms of CPU time each, proven.
  {len(pairs.apart):,} of them ({100 * len(pairs.apart) / len(pairs):.1f} %) are combined by no mixture of the examples.
- Every pair of the {FREQUENT} most frequent labels: {len(every):,}, {every_ms:.3f} ms of CPU time each, proven;
  `check()` takes {every_check:.3f} ms a pair.
"""
    (RESULTS / "stretch.md").write_text(text)
    print(text)


if __name__ == "__main__":
    main()
