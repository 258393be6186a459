"""Random small output layers whose every verdict is compared with the exact oracle, and proven again by check().

    python tests/campaign.py --cases 100000 [--seed 0] [--start 0] [--seconds 600] [--record FILE]

A case is one label set; eight in a row share a layer. Cases are numbered, and each depends on the seed and its number
only: --start takes a campaign up again, or repeats a case. Verdicts on balls
that the oracle leaves open are "only proven". With --record the counts of all runs of a seed are kept in a
file, and each run goes on after the last. Exits with 1 if any verdict is wrong. To add a domain, a kind of weights or
of biases, add a line to DOMAINS, WEIGHTS or BIASES.
"""

import argparse
import itertools
import json
import math
import sys
import time
from collections import Counter
from contextlib import contextmanager
from pathlib import Path

import numpy as np

import labelproof as lp
from exact_oracle import is_argmaxable, logit
from labelproof.foundation.writing import replacing
from labelproof.search import column_engine, columns, dependences, engine, few_features, propose, scaled_points

__all__ = ["DOMAINS", "ROUND", "Case", "Record", "judge", "main", "run"]

SETS_A_LAYER = 8
RULES = ("sigmoid", "topk", "sparsemax")
TIES = ("open", "inactive")
OUTCOMES = ("argmaxable", "unargmaxable", "only proven", "undecided", "wrong")
A_WHILE = 10.0  # seconds between two lines that say how far it came


def whole(rng, *shape, most=2):
    return rng.integers(-most, most + 1, shape).astype(float)


def dependent(rng, n, d):
    """Rows of which many are zero, or equal, opposite or the sum of those above them."""
    rows = whole(rng, n, d)
    for i in range(1, n):
        one, other = rows[rng.integers(i, size=2)]
        kinds = [rows[i], rows[i], 0 * one, one, -one, one + other, one - 2 * other]
        rows[i] = kinds[rng.integers(len(kinds))]
    return rows


def nearly_dependent(rng, n, d):
    """Rows that repeat others but for the last bits."""
    return dependent(rng, n, d) + rng.integers(-1, 2, (n, d)) * 2.0**-52


def of_all_sizes(rng, n, d):
    """Rows and columns times powers of two far apart, some subnormal."""
    exponents = rng.integers(-500, 500, (n, 1)) + rng.integers(-500, 500, (1, d))
    return np.ldexp(dependent(rng, n, d), exponents)


WEIGHTS = [
    whole,
    dependent,
    nearly_dependent,
    of_all_sizes,
    lambda rng, n, d: rng.normal(size=(n, d)),
    lambda rng, n, d: rng.normal(size=(n, 1)) @ rng.normal(size=(1, d)),  # of rank 1 but for rounding
    lambda rng, n, d: rng.normal(size=(n, d)).astype(np.float32),
    lambda rng, n, d: -np.abs(rng.normal(size=(n, d))),
    lambda rng, n, d: dependent(rng, n, d) * 1e-310,
    lambda rng, n, d: dependent(rng, n, d) * 1e300,
    lambda rng, _n, d: whole(rng, 1 + rng.integers(2), 9 + d),  # more features than labels need
    lambda rng, n, _d: whole(rng, n, rng.integers(17, 41)),  # as wide as the search in many bits takes
]
BIASES = [
    lambda _rng, _n: None,
    whole,
    lambda rng, n: rng.normal(size=n),
    lambda rng, n: whole(rng, n) * 1e-310,
    lambda rng, n: np.ldexp(whole(rng, n), rng.integers(-500, 500, n)),
]


def box(rng, _d):
    low = float(rng.integers(-2, 2))
    return low, low + float(rng.integers(0, 3))


def mixed(rng, d):
    """Infinite, fixed and proper sides."""
    low = whole(rng, d)
    high = low + rng.integers(0, 3, d)
    low[rng.random(d) < 0.3] = -np.inf
    high[rng.random(d) < 0.3] = np.inf
    return low, high


DOMAINS = {
    "free": lambda _rng, _d: None,
    "nonnegative": lambda _rng, _d: "nonnegative",
    "box": box,
    "mixed": mixed,
    "fractional box": lambda rng, d: tuple(np.sort(rng.normal(size=(2, d)), axis=0)),
}


def _centre(rng, d):
    return rng.normal(size=d) if rng.random() < 0.5 else whole(rng, d)


def blocks(rng, d):
    """Each feature by itself, or all but one together, in domains of any kind."""
    widths = [1] * d if rng.random() < 0.5 else [n for n in (d - 1, 1) if n]
    kinds = [None, "nonnegative", "unit", (-1.0, 2.0), ("unit", 0.75), ("ball", 1.5)]
    return "blocks", [(n, kinds[rng.integers(len(kinds))]) for n in widths]


ROUND = {  # these may leave sets undecided whose region only touches the ball
    "unit": lambda _rng, _d: "unit",
    "ball": lambda rng, _d: ("ball", float(rng.choice([1.0, 0.3, 2.5]))),
    "ball with centre": lambda rng, d: ("ball", float(rng.choice([1.0, 0.5])), _centre(rng, d)),
    "blocks": blocks,
}
DOMAINS |= ROUND
COMBINATIONS = list(itertools.product(RULES, TIES, DOMAINS))


class Case:
    """The layer of a case, its options and its label sets; ``name`` is rule, ties and domain."""

    def __init__(self, seed, number):
        layer = number // SETS_A_LAYER
        rng = np.random.default_rng([seed, layer])
        self.first = layer * SETS_A_LAYER
        self.name = rule, ties, domain = COMBINATIONS[layer % len(COMBINATIONS)]
        n, d = int(rng.integers(1, 7)), int(rng.integers(1, 5))
        self.weight = WEIGHTS[rng.integers(len(WEIGHTS))](rng, n, d)
        n, d = self.weight.shape
        self.options = {
            "rule": rule,
            "ties": ties,
            "domain": DOMAINS[domain](rng, d),
            "bias": BIASES[rng.integers(len(BIASES))](rng, n),
        }
        if rule == "sigmoid" and rng.random() < 0.3:
            self.options["thresholds"] = rng.choice([0.5, 0.25, 0.9, 1e-9, rng.random()], n)
        self.sets = [np.flatnonzero(y).tolist() for y in rng.random((SETS_A_LAYER, n)) < rng.random()]
        self.takes_every_precision = bool(rng.random() < 0.5)
        self.goes_by_columns = bool(rng.random() < 0.5)
        self.takes_many_rows = bool(rng.random() < 0.5)


@contextmanager
def unusual_paths(case):
    """Send small layers through the code for large ones: many bits before fractions, a few features at a time.

    Half of those with balls go by columns at once, as wide ones do; and half of all that go by columns begin with one
    column of each label, take few labels in a round and have little memory at first. Half look for conflicts of many
    rows first, as layers of hundreds of features do.
    """
    changes = [(few_features, "WIDE", 8)]
    if case.takes_many_rows:
        changes += [(propose, "LEAST_WIDTH", 1), (dependences, "MANY_ROWS_A_COLUMN", 4)]
    if case.takes_every_precision:
        changes.append((engine, "SMALL", 0))
    if case.goes_by_columns:
        changes += [(column_engine, "MOST_WITHOUT_BALLS", 0), (column_engine, "NUMBERS_AT_ONCE", 1)]
        changes += [(columns, "FEW", 0), (columns, "PER_LABEL", {True: 1, False: 1}), (columns, "NEW_ROWS", 2)]
        changes.append((scaled_points, "ROOM", 1))
    before = [(module, name, getattr(module, name)) for module, name, _ in changes]
    for module, name, value in changes:
        setattr(module, name, value)
    try:
        yield
    finally:
        for module, name, value in before:
            setattr(module, name, value)


def judge(case):
    """Return the outcome of each label set of a layer, and what is wrong with it, if anything."""
    try:
        with unusual_paths(case):
            found = lp.verify(case.weight, case.sets, n_jobs=1, **case.options)
        found.check(n_jobs=1)
        cuts = cuts_of(found.layer, case.options.get("thresholds"))
    except Exception as error:
        return [("wrong", f"{type(error).__name__}: {error}")] * len(case.sets)
    return [_judge_one(case, cuts, active, int(status)) for active, status in zip(case.sets, found.status, strict=True)]


def cuts_of(layer, thresholds):
    """Return the logits of thresholds as the layer has them, each within some last bits of the true one."""
    if thresholds is None:
        return None
    for cut, p in zip(layer.theta.tolist(), thresholds.tolist(), strict=True):
        if abs(cut - logit(p)) > 4 * math.ulp(max(abs(cut), 1.0)):
            raise ValueError(f"the threshold {p} was taken as the score {cut}")
    return layer.theta


def _judge_one(case, cuts, active, status):
    truth = is_argmaxable(case.weight, active, cuts=cuts, **case.options)
    if status < 0:
        return "undecided", ""
    if truth is None:
        return "only proven", ""
    if bool(status) != truth:
        return "wrong", f"{active} was said to be {OUTCOMES[1 - status]}"
    return OUTCOMES[1 - status], ""


class Record:
    """A file with the outcomes of all cases of each seed, which always begin at the first; without a path none."""

    def __init__(self, path):
        self.path = path
        self.seeds = json.loads(path.read_text()) if path is not None and path.exists() else {}

    def cases(self, seed):
        return self.seeds.get(str(seed), {}).get("cases", 0)

    def write(self, seed, before, counts):
        """Add counts to what there was before."""
        if self.path is None:
            return
        outcomes = Counter()
        for (*_, outcome), n in counts.items():
            outcomes[outcome] += n
        total = {outcome: before.get(outcome, 0) + outcomes[outcome] for outcome in OUTCOMES}
        self.seeds[str(seed)] = {"cases": sum(total.values()), **total}
        with replacing(self.path) as stream:
            stream.write((json.dumps(self.seeds, indent=1) + "\n").encode())


def run(n_cases, seed, start, seconds, out, record=None):
    """Judge cases from a number on; return the counts of every combination, and the number to go on from."""
    counts, begin, told = Counter(), time.monotonic(), time.monotonic()
    number, record = start, record or Record(None)
    before = dict(record.seeds.get(str(seed), {}))
    try:
        while number < start + n_cases and time.monotonic() < begin + seconds:
            case = Case(seed, number)
            judged = list(enumerate(judge(case), case.first))
            for i, (outcome, fault) in judged:
                if start <= i < start + n_cases:
                    counts[(*case.name, outcome)] += 1
                    if fault:
                        print(f"case {i} (--seed {seed} --start {i} --cases 1): {fault}", file=out, flush=True)
            number = case.first + len(judged)
            if time.monotonic() > told + A_WHILE:
                record.write(seed, before, counts)
                told = time.monotonic()
                rate = (number - start) / (told - begin)
                print(f"{number - start:,} of {n_cases:,} cases, {rate:.0f} a second", file=out, flush=True)
    except KeyboardInterrupt:
        print(f"interrupted; go on with --start {number}", file=out)
    record.write(seed, before, counts)
    return counts, max(start, min(number, start + n_cases))


def table(counts):
    """Return one line for each rule, ties and domain, and one for all of them."""
    head = [["rule", "ties", "domain", *OUTCOMES]]
    lines = [[*name, *(counts[(*name, outcome)] for outcome in OUTCOMES)] for name in COMBINATIONS]
    total = [["all", "", "", *(sum(line[3 + k] for line in lines) for k in range(len(OUTCOMES)))]]
    cells = [[cell if isinstance(cell, str) else f"{cell:,}" for cell in line] for line in head + lines + total]
    widths = [max(len(line[k]) for line in cells) for k in range(len(cells[0]))]
    return "\n".join(
        "  ".join(c.ljust(w) if k < 3 else c.rjust(w) for k, (c, w) in enumerate(zip(line, widths, strict=True)))
        for line in cells
    )


def main(arguments=None, out=None):
    """Run a campaign; return 1 if any verdict is wrong, else 0."""
    out = out or sys.stdout
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--cases", type=int, default=10_000, help="label sets to judge")
    parser.add_argument("--seed", type=int, default=0, help="of all cases")
    parser.add_argument("--start", type=int, default=0, help="number of the first case")
    parser.add_argument("--seconds", type=float, default=float("inf"), help="after which to begin no further case")
    parser.add_argument("--record", type=Path, help="file with the counts of earlier runs, which this one goes on from")
    asked = parser.parse_args(arguments)
    record = Record(asked.record)
    start = asked.start if asked.record is None else record.cases(asked.seed)
    print(f"seed {asked.seed}, cases {start} to {start + asked.cases - 1}", file=out, flush=True)
    counts, end = run(asked.cases, asked.seed, start, asked.seconds, out, record)
    print(f"{table(counts)}\ncases {start} to {end - 1} of seed {asked.seed}", file=out, flush=True)
    return int(any(outcome == "wrong" and n for (*_, outcome), n in counts.items()))


if __name__ == "__main__":
    sys.exit(main())
