"""Run the campaigns of `make stress` and print one table: ``python tests/stress/run.py [--size 1] [CAMPAIGN]...``

Each campaign runs in a process of its own, and its rows go to standard error when it ends. Exit code 1 if anything was
lost; what it was is printed below the table. The sizes are those of CAMPAIGNS times ``--size``.
"""

import argparse
import io
import math
import multiprocessing
import os
import sys
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent)]

from rows import Row, peak_memory, table  # noqa: E402 - found by the path above

__all__ = ["CAMPAIGNS", "main"]

RECORD, SEED = HERE / "campaign.json", 18


def killed(size: float) -> list[Row]:
    """Disturb commands that write files: six moments each way at size 1; two each below a tenth of it."""
    from faults import WAYS, campaign
    from jobs import jobs

    if size >= 0.1:
        return campaign(jobs(), math.ceil(6 * size))
    light = [job for job in jobs() if not job.trains]
    return [row for i, job in enumerate(light) for row in campaign([job], 1, (WAYS[0], WAYS[1 + i % 3]))]


def soaked(size: float) -> list[Row]:
    """Verify in a loop for five minutes at size 1, and with 1, 2 and 4 threads."""
    from soak import soak, threads

    return [soak(300 * size, 20), threads(repeats=math.ceil(20 * size))]


def misled(size: float) -> list[Row]:
    """Judge 200 layers of each adversarial family at size 1."""
    from geometry import campaign

    return campaign(math.ceil(200 * size))


def random_layers(size: float) -> list[Row]:
    """Go on with the random campaign against the exact oracle: 5,000 cases at size 1, added to those on record."""
    from campaign import Record, run

    record, out, row = Record(RECORD if size >= 1 else None), io.StringIO(), Row("random layers against the oracle")
    start = record.cases(SEED)
    counts, end = run(math.ceil(5000 * size), SEED, start, math.inf, out, record)
    row.tried = end - start
    row.faults = [line for line in out.getvalue().splitlines() if line.startswith("case ")]
    row.passed = row.tried - sum(n for (*_, outcome), n in counts.items() if outcome == "wrong")
    known = (record if size >= 1 else Record(RECORD)).seeds.values()
    row.memory, row.note = peak_memory(), f"{sum(counts['cases'] for counts in known):,} cases on record"
    return [row]


def damaged(size: float) -> list[Row]:
    """Read 20,000 damaged files at size 1."""
    from fuzzing import as_row, campaign
    from readers import readers

    names = [one.name for one in readers()]
    return [as_row(name, campaign(name, 0, 0, math.ceil(20_000 * size / len(names)))) for name in names]


def guided(size: float) -> list[Row]:
    """Let a fuzzer that sees which lines run make the inputs, where atheris is installed: 10,000 a reader at size 1."""
    from guided import campaign

    return campaign(math.ceil(10_000 * size))


def loaded(size: float) -> list[Row]:
    """Send requests of 200 clients to one explorer for a minute at size 1, and 20 half-sent ones."""
    from load import campaign

    return campaign(math.ceil(200 * min(size, 1)), 60 * size, math.ceil(20 * min(size, 1)))


CAMPAIGNS: dict[str, Callable[[float], list[Row]]] = {
    "faults": killed,
    "soak": soaked,
    "geometry": misled,
    "random": random_layers,
    "readers": damaged,
    "guided": guided,
    "explorer": loaded,
}


def main() -> int:
    """Run the campaigns that the options ask for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("campaigns", nargs="*", metavar="CAMPAIGN", help=f"of {', '.join(CAMPAIGNS)}; default: all")
    parser.add_argument("--size", type=float, default=1.0)
    asked = parser.parse_args()
    unknown = set(asked.campaigns) - set(CAMPAIGNS)
    if unknown:
        parser.error(f"expected campaigns of {', '.join(CAMPAIGNS)}, got {', '.join(sorted(unknown))}")
    for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
        os.environ.setdefault(name, "1")
    rows: list[Row] = []
    for name in asked.campaigns or CAMPAIGNS:
        print(f"{name}: {CAMPAIGNS[name].__doc__}", file=sys.stderr, flush=True)
        with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as pool:
            rows += (found := pool.submit(CAMPAIGNS[name], asked.size).result())
        print(table(found), file=sys.stderr, flush=True)
    print(f"size {asked.size:g}\n{table(rows)}")
    for fault in (fault for row in rows for fault in row.faults):
        print(f"lost: {fault}")
    return int(any(row.lost for row in rows))


if __name__ == "__main__":
    sys.exit(main())
