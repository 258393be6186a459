"""One-vs-rest support vector machines on 30,000 terms: proven verdicts beside HiGHS with lazy rows and columns.

    LABELPROOF_DATA=... OMP_NUM_THREADS=1 python benchmarks/columns.py [--sets 200] [--out columns.md]

Distinct label sets of the test part, x ≥ 0 and x ≥ 0 with ‖x‖ ≤ 1. CPU time of one thread, preparation apart. HiGHS
gets the same start (the best columns of each active label) and the same oracles for rows and columns, and gives a bare
verdict.
"""

import argparse
import time
from pathlib import Path

import highspy
import numpy as np

from labelproof.proof.labels import read_label_sets
from labelproof.proof.regions import make_layer
from labelproof.proof.rounding import float_rows
from labelproof.search.column_engine import AT_ONCE, proven
from labelproof.search.columns import ColumnSearch
from labelproof.search.findings import pack
from text_svms import load

PER_LABEL, NEW_COLUMNS, NEW_ROWS = 8, 24, 40


class Peer:
    """HiGHS on one label set at a time: maximise the margin over few columns and rows, and add what is violated."""

    def __init__(self, weight, bias):
        table = np.column_stack([weight, bias])
        self.table = table / np.linalg.norm(table, axis=1)[:, None]
        self.columns = np.ascontiguousarray(self.table.T)
        self.best = np.argpartition(-weight, PER_LABEL, axis=1)[:, :PER_LABEL]

    def verdict(self, active):
        """Return 1 if HiGHS finds an input, 0 if it finds none, -1 if it gives up."""
        n, d = len(self.table), self.table.shape[1] - 1
        y = np.full(n, -1.0)
        y[active] = 1.0
        columns = np.append(np.unique(self.best[active].ravel()), d).astype(np.int64)
        rows = np.array(active, np.int64)
        for _ in range(60):
            answer, rows, multipliers = self._solve(y, columns, rows)
            if answer:
                return 1
            pulls = (multipliers * y[rows]) @ self.table[rows]
            pulls[columns] = 0.0
            new = np.argsort(-pulls)[:NEW_COLUMNS]
            new = new[pulls[new] > 1e-9]
            if not len(new):
                return 0
            columns = np.append(columns, new)
        return -1

    def _solve(self, y, columns, rows):
        part, m = self.columns[columns].T, len(columns)
        solver = highspy.Highs()
        for option, value in (("output_flag", False), ("presolve", "off"), ("threads", 1)):
            solver.setOptionValue(option, value)
        solver.addVars(m, np.zeros(m), np.ones(m))
        solver.addVar(-1.0, 1.0)
        solver.changeColCost(m, -1.0)
        inside = np.zeros(len(y), bool)

        def add(new):
            inside[new] = True
            for i in new.tolist():
                entries = np.append(y[i] * part[i], -1.0)
                solver.addRow(0.0, highspy.kHighsInf, m + 1, np.arange(m + 1, dtype=np.int32), entries)

        add(rows)
        while True:
            solver.run()
            found = solver.getSolution()
            v = np.array(found.col_value)
            if v[-1] <= 1e-9:
                return False, rows, np.abs(np.array(found.row_dual))
            margins = y * (part @ v[:-1])
            margins[inside] = np.inf
            wrong = np.flatnonzero(margins < 0.3 * v[-1])
            if not len(wrong):
                return True, rows, None
            new = wrong[np.argsort(margins[wrong])[:NEW_ROWS]]
            add(new)
            rows = np.append(rows, new)


def _timed(weight, sets, bias, domain):
    """Return the seconds of preparation, and those of searching and proving, as `verify` does both."""
    begin = time.process_time()
    layer = make_layer(weight, bias=bias, domain=domain)
    floats = float_rows(layer)
    search = ColumnSearch(layer, floats)
    asked = read_label_sets(sets, len(weight))
    preparation = time.process_time() - begin
    search.search(asked[0], np.inf)  # which compiles
    begin, found = time.process_time(), []
    for first in range(0, len(sets), AT_ONCE):
        block = asked.slice(first, min(first + AT_ONCE, len(sets)))
        found += proven(layer, floats, block, [search.search(active, np.inf) for active in block])
    seconds = time.process_time() - begin
    return preparation, seconds, pack(layer, asked, found)


def measure(name, domain, n_sets, peer_sets):
    weight, bias, sets = load(name)
    chosen = np.random.default_rng(0).permutation(len(sets))[:n_sets]
    sets = [sets[i] for i in chosen]
    preparation, seconds, v = _timed(weight, sets, bias, domain)
    ours = seconds / len(sets)
    begin = time.process_time()
    v.check(n_jobs=1)
    check = (time.process_time() - begin) / len(sets)
    theirs = ""
    if domain == "nonnegative":
        peer = Peer(weight, bias)
        begin = time.process_time()
        for active in sets[:peer_sets]:
            peer.verdict(active)
        theirs = (time.process_time() - begin) / peer_sets
    counts = [int((v.status == s).sum()) for s in (1, 0, -1)]
    ratio = f"{1e3 * theirs:.1f} | {theirs / ours:.1f}×" if theirs else "– | –"
    shape = f"{weight.shape[0]:,}×{weight.shape[1]:,}"
    return (
        f"| {name} {shape} | {domain} | {len(sets):,} | {counts[0]:,} / {counts[1]:,} / {counts[2]:,} "
        f"| {preparation:.1f} | {1e3 * ours:.1f} | {1e3 * check:.1f} | {ratio} |"
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sets", type=int, default=200)
    parser.add_argument("--peer-sets", type=int, default=40)
    parser.add_argument("--names", nargs="*", default=["debtags", "mesh_pubmed"])
    parser.add_argument("--out", type=Path)
    asked = parser.parse_args()
    lines = [
        "| layer | domain | sets | can / never / undecided | preparation, s | labelproof, ms per set | check, ms "
        "| HiGHS, ms | ratio |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    print("\n".join(lines))
    for name in asked.names:
        for domain in ("nonnegative", "unit"):
            lines.append(measure(name, domain, asked.sets, asked.peer_sets))
            print(lines[-1], flush=True)
    if asked.out is not None:
        text = (
            "Which label sets can a one-vs-rest text classifier predict, and how long does a proof take when there are "
            "30,000 terms but few labels? CPU time of one thread; `benchmarks/columns.py` says what is compared. "
            "Inputs are TF-IDF vectors: *nonnegative* allows any x ≥ 0, *unit* also requires a length of at most 1."
        )
        asked.out.write_text(f"# Verifying text classifiers with 30,000 terms\n\n{text}\n\n" + "\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
