"""Run the proof tests against every mutant of the trusted code: ``make mutants``.

All tests are collected and run, which loads everything and tells which lines each test reaches. Then every mutant
gets a forked process, which changes the live code and runs the tests that reach it until one fails. A mutant is
*killed* if a test fails, the process dies or its time is over; it is *equivalent* if ``equivalent.toml`` gives the
reason why it changes no verdict. Any other is a survivor, and the exit status is 1.
Results are appended to results.txt as they come, and are used again while the mutated code and the test that killed it
are the same; a survivor is tried again after any change of the tests.
"""

import argparse
import ast
import gc
import hashlib
import importlib
import json
import os
import resource
import sys
import threading
import time
import tomllib
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from types import FrameType
from typing import Any

os.environ |= dict.fromkeys(("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "NUMBA_NUM_THREADS"), "1")
HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
sys.path[:0] = [str(HERE)]

import pytest  # noqa: E402
from _pytest.runner import runtestprotocol  # noqa: E402
from _pytest.warnings import catch_warnings_for_item  # noqa: E402
from hypothesis import Phase, settings  # noqa: E402
from mutants import Mutant, mutants_of  # noqa: E402

TESTS = ["tests/proof", "tests/stretching", "tests/search/test_verify_refuses.py", "tests/search/test_radius.py"]
# These are about commands that are killed and threads: they take long, and no guard is for them alone.
PARTS = ["tests/stretching/test_stretch_in_parts.py"]
# A standalone checker shares no code with the rest, so its own tests are enough for it. Agreement with the first one on
# thousands of files takes a minute, and is left to `make test`.
ALONE = {
    "standalone": "tests/proof/test_standalone_*.py",
    "standalone_stretch": "tests/stretching/test_standalone_stretch_*.py",
}
AGREEMENT = ["tests/proof/test_standalone.py", "tests/stretching/test_stretch_agreement.py"]
Reached = dict[tuple[str, int], set[int]]  # tests by file and line


class Campaign:
    """A pytest plugin that runs the collected tests against mutants in place of once."""

    def __init__(self, mutants: list[Mutant], store: Path, jobs: int) -> None:
        self.mutants, self.store, self.jobs = mutants, store, jobs
        self.results: dict[str, str] = {}
        self.killers: dict[str, list[int]] = defaultdict(list)

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        """Run the tests once, then against each mutant that has no valid result yet."""
        self.items = session.items
        self.durations, self.reached = _baseline(self.items)
        self.digests, all_tests = _digests(self.items)
        known, valid = _read(self.store), {*self.digests.values(), all_tests}
        self.results = {m.name: known[m.key][0] for m in self.mutants if m.key in known and known[m.key][1] in valid}
        todo = [m for m in self.mutants if m.name not in self.results]
        print(f"{len(self.items)} tests, {sum(self.durations):.0f} s; {len(todo)} mutants to run", flush=True)
        with open(self.store, "a") as stream:
            for i, (mutant, outcome, by) in enumerate(_in_processes(todo, self.run, self.limit, self.jobs), 1):
                test = all_tests
                if by is not None:
                    test = self.digests[self.items[by].nodeid]
                    killers = self.killers[_function(mutant)]
                    killers[:] = [by, *(k for k in killers if k != by)][:8]
                self.results[mutant.name] = outcome
                print(mutant.key, outcome, test, file=stream, flush=True)
                print(f"{i}/{len(todo)} {outcome:8} {mutant.name}", flush=True)
        return True

    def order(self, mutant: Mutant) -> list[int]:
        """Return the tests that reach a mutant: those that killed its neighbours first, then the fastest."""
        chosen: Iterable[int] = range(len(self.items))
        if mutant.lines is not None:
            path = importlib.import_module(mutant.module).__file__ or ""
            chosen = set().union(*(self.reached.get((path, line), set()) for line in mutant.lines))
        first = [i for i in self.killers[_function(mutant)] if i in chosen]
        rest = sorted((i for i in chosen if i not in first), key=lambda i: (round(self.durations[i], 2), i))
        return first + rest

    def limit(self, mutant: Mutant) -> float:
        """Return how many seconds of processor time a mutant may use."""
        return 20 + 5 * sum(self.durations[i] for i in self.order(mutant))

    def run(self, mutant: Mutant) -> int | None:
        """Return the first test that fails, or None."""
        order = self.order(mutant)
        mutant.apply()
        for i in order:
            if any(report.failed for report in _reports(self.items[i])):
                return i
        return None


def _reports(item: pytest.Item) -> list[pytest.TestReport]:
    """Run a test under its own filters of warnings, which pytest sets around the hook that is passed by here."""
    with catch_warnings_for_item(config=item.config, ihook=item.ihook, when="runtest", item=item):
        return runtestprotocol(item, log=False, nextitem=None)


def _function(mutant: Mutant) -> str:
    return f"{mutant.module}.{'.'.join(mutant.path)}"


def _baseline(items: list[pytest.Item]) -> tuple[list[float], Reached]:
    """Run every test and return how long it took and which lines of the trusted code it reached."""
    reached: Reached = defaultdict(set)
    folder = f"{os.sep}proof{os.sep}"
    durations, current = [], 0

    def local(frame: FrameType, event: str, _: Any) -> Any:
        reached[frame.f_code.co_filename, frame.f_lineno].add(current)
        return local

    def trace(frame: FrameType, event: str, argument: Any) -> Any:
        name = frame.f_code.co_filename
        return local(frame, event, argument) if folder in name and "tests" not in name else None

    for current, item in enumerate(items):  # noqa: B007 - `local` reads it
        start = time.process_time()
        threading.settrace(trace)
        sys.settrace(trace)
        reports = _reports(item)
        sys.settrace(None)
        threading.settrace(None)  # type: ignore[arg-type]
        wrong = [report.longreprtext for report in reports if report.failed]
        if wrong:
            raise pytest.UsageError(f"{item.nodeid} fails without any mutant:\n{wrong[0]}")
        durations.append(time.process_time() - start)
    return durations, reached


def _digests(items: list[pytest.Item]) -> tuple[dict[str, str], str]:
    """Hash each test by name with all that it uses of the files of tests, and all of them together."""
    files = {path: _definitions(path) for path in {item.path for item in items}}
    used = {item.nodeid: _used(files[item.path], item.obj.__name__) for item in items}  # type: ignore[attr-defined]
    return {name: _digest(f"{name}\n{text}".encode()) for name, text in used.items()}, _digest(str(used).encode())


def _definitions(path: Path) -> dict[str, list[ast.stmt | Path]]:
    """Return what each name at the top of a file stands for: code, or the file of tests that it is imported from."""
    found: dict[str, list[ast.stmt | Path]] = defaultdict(list)
    for node in ast.parse(path.read_bytes()).body:
        match node:
            case ast.FunctionDef(name=name) | ast.ClassDef(name=name):
                found[name].append(node)
            case ast.Assign() | ast.AugAssign() | ast.AnnAssign():
                for part in ast.walk(node):
                    if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Store):
                        found[part.id].append(node)
            case ast.ImportFrom(module=str(module), names=names):
                places = [folder / f"{module}.py" for folder in (path.parent, ROOT / "tests")]
                for alias in names:
                    found[alias.asname or alias.name] += [place for place in places if place.exists()]
    return found


def _used(known: dict[str, list[ast.stmt | Path]], name: str) -> str:
    """Return the code of a test, with the helpers, fixtures and constants that it names, and so on."""
    todo, seen = [name], dict[str, str]()
    while todo:
        one = todo.pop()
        if one in seen or one not in known:
            continue
        parts = known[one]
        seen[one] = "\n".join(part.read_text() if isinstance(part, Path) else ast.unparse(part) for part in parts)
        inside = [node for part in parts if isinstance(part, ast.stmt) for node in ast.walk(part)]
        todo += [node.id for node in inside if isinstance(node, ast.Name)]
        todo += [node.arg for node in inside if isinstance(node, ast.arg)]
    return "\n".join(seen[one] for one in sorted(seen))


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()[:16]


def _read(store: Path) -> dict[str, tuple[str, str]]:
    """Return for each mutant's key the outcome and the hash of the tests that it rests on; the last line counts."""
    lines = store.read_text().splitlines() if store.exists() else []
    return {key: (outcome, test) for key, outcome, test in map(str.split, lines)}


def _in_processes(
    mutants: list[Mutant], run: Callable[[Mutant], int | None], limit: Callable[[Mutant], float], jobs: int
) -> Iterator[tuple[Mutant, str, int | None]]:
    """Yield what happens to each mutant in a process of its own, some at a time, and the test that killed it."""
    waiting, running = iter(mutants), {}
    gc.collect()
    gc.freeze()  # so that the children share the memory of all that is loaded
    while True:
        while len(running) < jobs and (mutant := next(waiting, None)) is not None:
            reader, writer = os.pipe()
            seconds = limit(mutant)
            pid = os.fork()
            if pid == 0:
                os.close(reader)
                _child(mutant, run, writer, int(seconds))
            os.close(writer)
            running[pid] = mutant, reader, time.monotonic() + 8 * seconds
        if not running:
            return
        pid = _wait(running)
        mutant, reader, _ = running.pop(pid)
        with os.fdopen(reader) as stream:
            answer = stream.read()
        by = json.loads(answer) if answer else None
        yield mutant, ("died" if not answer else "survived" if by is None else "killed"), by


def _wait(running: dict[int, Any]) -> int:
    """Wait for a child, and return its number; end those that sleep too long."""
    while True:
        for pid, (_, _, deadline) in running.items():
            if os.waitpid(pid, os.WNOHANG)[0]:
                return pid
            if time.monotonic() > deadline:
                os.kill(pid, 9)
        time.sleep(0.005)


def _child(mutant: Mutant, run: Callable[[Mutant], int | None], writer: int, seconds: int) -> None:
    null = os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, 1)
    os.dup2(null, 2)
    used = resource.getrusage(resource.RUSAGE_SELF)
    most = int(used.ru_utime + used.ru_stime) + seconds
    resource.setrlimit(resource.RLIMIT_CPU, (most, most))
    resource.setrlimit(resource.RLIMIT_DATA, (8 * 2**30, 8 * 2**30))
    try:
        os.write(writer, json.dumps(run(mutant)).encode())
    finally:
        os._exit(0)


def _equivalent() -> dict[str, str]:
    """Return the reason for each mutant that was reviewed and found to change no verdict."""
    groups = tomllib.loads((HERE / "equivalent.toml").read_text())["equivalent"]
    return {name: group["reason"] for group in groups for name in group["mutants"]}


def report(names: set[str], results: dict[str, str], reasons: dict[str, str], every_module: bool) -> int:
    """Print the figures, the reasons and the survivors; return the exit status."""
    survived = {name for name, outcome in results.items() if outcome == "survived"}
    listed, survivors = survived & set(reasons), sorted(survived - set(reasons))
    wrong = sorted(name for name in set(reasons) & names if name in results and name not in survived)
    stale = sorted(set(reasons) - names) if every_module else []
    counts = Counter(reasons[name] for name in listed)
    print(f"\n{len(results)} mutants: {len(results) - len(survived)} killed, {len(listed)} equivalent,", end=" ")
    print(f"{len(survivors)} survivors")
    died = sum(outcome == "died" for outcome in results.values())
    print(f"  {died:4} of the killed ended without a failing test: by a crash, or after their time")
    for reason, count in counts.most_common():
        print(f"  {count:4} equivalent: {reason}")
    for title, found in [("survivor", survivors), ("listed, but killed here", wrong), ("listed, but gone", stale)]:
        for name in found:
            print(f"  {title}: {name}")
    return int(bool(survivors or stale))


def _tests(modules: list[str]) -> list[str]:
    """Return what pytest collects for these modules."""
    if set(modules) <= set(ALONE):
        return sorted(str(path.relative_to(ROOT)) for module in modules for path in ROOT.glob(ALONE[module]))
    return [*TESTS, *(f"--ignore={path}" for path in (*AGREEMENT, *PARTS))]


def main() -> int:
    """Run the campaign for all modules of the trusted code, or for those that are named."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("modules", nargs="*", help="such as regions; default: all of proof")
    parser.add_argument("--jobs", type=int, default=2, help="processes at a time")
    parser.add_argument("--only", nargs="*", default=[""], help="only mutants whose name holds one of these texts")
    parser.add_argument("--store", type=Path, default=HERE / "results.txt")
    parser.add_argument("--tests", nargs="*", help="files and folders of tests")
    parser.add_argument("--skip-listed", action="store_true", help="take the word of equivalent.toml")
    options = parser.parse_args()
    folder = ROOT / "src" / "labelproof" / "proof"
    modules = options.modules or sorted({path.stem for path in folder.glob("*.py")} - {"__init__"})
    tests = options.tests or _tests(modules)
    every = [m for name in modules for m in mutants_of(f"labelproof.proof.{name}")]
    mutants = [m for m in every if any(text in m.name for text in options.only)]
    reasons = _equivalent()
    run = [m for m in mutants if not (options.skip_listed and m.name in reasons)]
    settings.register_profile(
        "mutants", derandomize=True, database=None, deadline=None, phases=[Phase.explicit, Phase.generate]
    )
    settings.load_profile("mutants")
    campaign = Campaign(run, options.store, options.jobs)
    os.chdir(ROOT)
    quiet = [
        "-q",
        "-s",
        "--assert=plain",
        "--tb=native",
        "--no-header",
        "--no-summary",
        "-p",
        "no:cacheprovider",
        "-p",
        "no:xdist",
    ]
    status = pytest.main([*quiet, *tests], plugins=[campaign])
    if status:
        return int(status)
    taken = {m.name: "survived" for m in mutants if m not in run}
    return report(
        {m.name for m in mutants}, campaign.results | taken, reasons, len(every) == len(mutants) and not options.modules
    )


if __name__ == "__main__":
    sys.exit(main())
