"""One-vs-rest support vector machines on 30,000 terms: proven verdicts beside HiGHS with lazy rows and columns.

    LABELPROOF_DATA=... OMP_NUM_THREADS=1 python benchmarks/columns.py [--sets 400] [--out results/columns.md]

All distinct label sets of the test part, x ≥ 0 and x ≥ 0 with ‖x‖ ≤ 1. CPU time of one thread, preparation apart; both
sides decide the same label sets, by turns. HiGHS gets the same start (the best columns of each active label, as many as
suit it best) and the same oracles for rows and columns, and gives a bare verdict.
"""

import argparse
import time
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import highspy
import numpy as np

from labelproof.proof.labels import read_label_sets
from labelproof.proof.regions import make_layer
from labelproof.proof.rounding import float_rows
from labelproof.search.column_engine import AT_ONCE, proven
from labelproof.search.columns import ColumnSearch
from labelproof.search.findings import pack
from text_svms import COSTS, load, load_svm

PER_LABEL, NEW_COLUMNS, NEW_ROWS = 3, 24, 40  # with 1, 2, 4, 6 or 8 columns of a label HiGHS takes longer


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
            values = np.column_stack([y[new, None] * part[new], np.full(len(new), -1.0)])
            starts, places = np.arange(len(new), dtype=np.int32) * (m + 1), np.arange(m + 1, dtype=np.int32)
            ends = np.zeros(len(new)), np.full(len(new), highspy.kHighsInf)
            solver.addRows(len(new), *ends, values.size, starts, np.tile(places, len(new)), values.ravel())

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


@dataclass
class Seconds:
    """CPU time of each part of the work; ``theirs`` is HiGHS's."""

    preparation: float = 0.0
    search: float = 0.0
    proof: float = 0.0
    keeping: float = 0.0
    check: float = 0.0
    theirs: float = 0.0


@dataclass
class Row:
    """What was found for one layer on one domain."""

    name: str
    shape: tuple[int, int]
    domain: str
    n_sets: int
    counts: tuple[int, int, int]  # can, never, undecided
    peer: Counter  # of pairs (our verdict, HiGHS's)
    seconds: Seconds
    slowest: float  # of the searches

    @property
    def proven(self):
        """Return the seconds for proven verdicts, without keeping the evidence."""
        return self.seconds.search + self.seconds.proof

    def line(self):
        """Return the row of the table."""
        s, n = self.seconds, self.n_sets
        numbers = [f"{1e3 * part / n:.2f}" for part in (s.search, s.proof, self.proven)]
        theirs = [f"{1e3 * s.theirs / n:.2f}", f"{s.theirs / self.proven:.1f}×"] if s.theirs else ["–", "–"]
        last = [f"{1e3 * part / n:.2f}" for part in (s.keeping, s.check)]
        cells = [f"{self.name} {self.shape[0]:,}×{self.shape[1]:,}", self.domain, f"{n:,}"]
        cells += [" / ".join(f"{count:,}" for count in self.counts), f"{s.preparation:.1f}", *numbers, *theirs, *last]
        return f"| {' | '.join(cells)} |"


HEAD = (
    "| layer | domain | sets | can / never / undecided | preparation, s | search, ms | proof, ms | both, ms "
    "| HiGHS, ms | ratio | keeping, ms | check, ms |\n|---|---|---|---|---|---|---|---|---|---|---|---|"
)


def timed(function, *arguments):
    """Return what a call gives, and the CPU time that it takes."""
    begin = time.process_time()
    found = function(*arguments)
    return found, time.process_time() - begin


def measure(name, domain, n_sets):
    weight, bias, sets = load(name)
    sets = [sets[i] for i in np.random.default_rng(0).permutation(len(sets))[:n_sets]]
    seconds, n = Seconds(), len(sets)

    def prepare():
        layer = make_layer(weight, bias=bias, domain=domain)
        floats = float_rows(layer)
        return layer, floats, ColumnSearch(layer, floats), read_label_sets(sets, len(weight))

    (layer, floats, search, asked), seconds.preparation = timed(prepare)
    peer = Peer(weight, bias) if domain == "nonnegative" else None
    search.search(asked[0], np.inf)  # which compiles
    found, theirs, slowest = [], [], 0.0
    for first in range(0, n, AT_ONCE):
        block = asked.slice(first, min(first + AT_ONCE, n))
        some = []
        for active in block:
            one, took = timed(search.search, active, np.inf)
            some.append(one)
            seconds.search, slowest = seconds.search + took, max(slowest, took)
        some, took = timed(proven, layer, floats, block, some)
        seconds.proof += took
        found += some
        if peer is not None:
            verdicts, took = timed(lambda block=block: [peer.verdict(active) for active in block])
            seconds.theirs += took
            theirs += verdicts
    v, seconds.keeping = timed(pack, layer, asked, found)
    _, seconds.check = timed(lambda: v.check(n_jobs=1))
    counts = tuple(int((v.status == status).sum()) for status in (1, 0, -1))
    pairs = Counter(zip(v.status.tolist(), theirs, strict=False))
    return Row(name, weight.shape, domain, n, counts, pairs, seconds, slowest)


def twins(names):
    """Return a sentence on labels of each layer whose weights and biases are equal."""
    found = []
    for name in names:
        svm, same = load_svm(name), {}
        for i, row in enumerate(np.column_stack([svm.weight, svm.bias])):
            same.setdefault(row.tobytes(), []).append(svm.label_names[i])
        found += [f"{' and '.join(labels)} ({name})" for labels in same.values() if len(labels) > 1]
    if not found:
        return "No two labels of a layer have the same weights."
    return f"Labels with the same weights: {', '.join(found)}. A set with one of them alone can never be predicted."


def page(rows):
    """Return the page of results."""
    names = list(dict.fromkeys(row.name for row in rows))
    shares = ", ".join(f"{np.mean(load(name)[0] != 0):.0%} ({name})".replace("%", " %") for name in names)
    costs = ", ".join(f"C = {COSTS[name]:g} for {name}" for name in names)
    other = sum(n for row in rows for (ours, theirs), n in row.peer.items() if ours != theirs)
    asked = sum(n for row in rows for n in row.peer.values())
    agreement = "ours for all of" if not other else f"another than ours for {other:,} of"
    slowest = max(rows, key=lambda row: row.slowest)
    kept = " and ".join(
        f"{row.seconds.theirs / (row.proven + row.seconds.keeping):.1f}×" for row in rows if row.seconds.theirs
    )
    lines = "\n".join(row.line() for row in rows)
    return f"""# Verifying text classifiers with 30,000 terms

Which label sets can a one-vs-rest text classifier predict, and how long does a proof take when there are 30,000 terms
but few labels? Inputs are TF-IDF vectors: *nonnegative* allows any x ≥ 0, *unit* also requires a length of at most 1.

The classifiers are linear support vector machines ({costs}),
the sets are distinct label sets of their test parts. CPU time of one thread for each set, in one run of
`benchmarks/columns.py`, which writes this page.

{HEAD}
{lines}

- *search* finds an input or a conflict, and *proof* proves it: together what `verify(certify=False)` does. *keeping*
  writes all inputs to one array, of 30,000 numbers each, and *check* proves everything again.
- HiGHS adds rows and columns only as needed, starts from the same columns and decides the same sets by turns with us.
  It gives a verdict without a proof, here {agreement} {asked:,} sets. *ratio* is its time over that of search and
  proof; with what keeping takes it is {kept}.
- *keeping* depends on the machine more than all else: memory that a process gets for the first time is slow where a
  virtual machine must ask its host for it.
- Only the search in columns is timed: `verify` passes what that search leaves undecided to other searches. The slowest
  search took {1e3 * slowest.slowest:.0f} ms ({slowest.name}, {slowest.domain}).
- {twins(names)}

The weights of these classifiers are not sparse; so many are not 0: {shares}.
[Sparse ones](sparse_layers.md) are verified without a dense copy.
"""


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sets", type=int, help="of each layer, chosen at random; default: all")
    parser.add_argument("--names", nargs="*", default=["debtags", "mesh_pubmed"], choices=list(COSTS))
    parser.add_argument("--out", type=Path)
    asked = parser.parse_args()
    print(HEAD)
    rows = []
    for name in asked.names:
        for domain in ("nonnegative", "unit"):
            rows.append(measure(name, domain, asked.sets))
            print(rows[-1].line(), flush=True)
    print(*(dict(row.peer) for row in rows))
    if asked.out is not None:
        asked.out.write_text(page(rows))


if __name__ == "__main__":
    main()
