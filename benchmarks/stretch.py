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
TURNS, AT_ONCE, N_PEER = 3, 200, 15


def main() -> None:
    model = load_wide("mesh_pubmed")
    labels = model.test_labels
    sets = [np.sort(labels[i].indices).tolist() for i in range(labels.shape[0])]
    sets = [active for active in sets if active]
    layer = {"bias": model.bias, "ties": "inactive"}
    lp.stretch(model.weight, sets[:4], model.features, **layer, n_jobs=1)  # compiled code is loaded
    start = time.process_time()
    lp.stretch(model.weight, [], model.features, **layer, n_jobs=1)
    preparing = time.process_time() - start
    peer, ours, peers = Peer(model.weight, model.bias, model.features), [], []
    for i in range(0, TURNS * AT_ONCE, AT_ONCE):  # taking turns, so that both meet the same noise
        some = sets[i : i + AT_ONCE]
        start = time.process_time()
        s = lp.stretch(model.weight, some, model.features, **layer, n_jobs=1)
        ours.append(1e3 * (time.process_time() - start - preparing) / len(some))
        for k, active in enumerate(some[:N_PEER]):
            start = time.process_time()
            lower, upper = peer.stretch(np.array(active))
            peers.append(1e3 * (time.process_time() - start))
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
    gap = (s.lower / s.upper)[(s.upper > 0) & np.isfinite(s.upper)]
    mean, peer_mean = float(np.median(ours)), float(np.mean(peers))
    n_labels, d = model.weight.shape
    text = f"""# The stretch, against column generation on HiGHS

{n_labels:,} labels × {d} features, {len(model.features):,} examples: mesh_pubmed, mean-pooled MiniLM features of
64 tokens, a linear head. `python benchmarks/stretch.py`, on {os.cpu_count()} cores that others used at the same time.

| | ours, both bounds proven | HiGHS, nothing proven |
|---|---|---|
| ms a set: CPU time of one thread, mean | {mean:.2f} | {peer_mean:.1f} |
| median | | {np.median(peers):.1f} |
| ratio of means | {peer_mean / mean:.1f} | |

Ours are {TURNS} turns of {AT_ONCE} sets (the median turn), HiGHS {len(peers)} sets of the same turns.

- Preparing, once for a model and its examples: {preparing:.2f} s of CPU time.
- All {len(sets):,} test sets: {all_cpu:.1f} s of CPU time, {1e3 * all_cpu / len(sets):.2f} ms a set with preparing; by
  the clock {all_seconds:.1f} s, of which the process had {all_cpu / all_seconds:.1f} cores.
- Lower over upper bound: at least {gap.min():.4f}, in the median {np.median(gap):.4f}. Infinitely far:
  {int(np.isinf(s.lower).sum())} sets; without an upper bound: {int((np.isinf(s.upper) & np.isfinite(s.lower)).sum())}.
- `check()` of all of them: {check_seconds:.1f} s of CPU time.
- Pairs of labels that occur together: {len(pairs):,}, {pair_ms:.3f} ms of CPU time each, proven.
  {len(pairs.apart):,} of them ({100 * len(pairs.apart) / len(pairs):.1f} %) are combined by no mixture of the examples.
"""
    (RESULTS / "stretch.md").write_text(text)
    print(text)


if __name__ == "__main__":
    main()
