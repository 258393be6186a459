"""Damage files of every kind at random and read them: ``python tests/stress/fuzzing.py --cases 20000``.

Each input must end in a result, or in an error of ours with one sentence, within SECONDS and MEMORY. What ends
otherwise (another error, several lines, no end, a dead process) is *lost*, and is kept in build/fuzzing. The inputs of
a seed are always the same; START takes up where a campaign stopped. Exit code 1 if anything was lost.
"""

import argparse
import multiprocessing
import os
import resource
import signal
import sys
import tempfile
import time
import warnings
from collections import Counter
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from changes import changed
from readers import Reader, readers
from rows import Row

from labelproof.errors import LabelproofError

SECONDS = 10
MEMORY = 2**30  # beyond what the process has taken before the first input
KEPT = Path("build/fuzzing")
IN_A_PROCESS = 200


@dataclass
class Tally:
    """What became of the inputs of one kind."""

    ends: Counter[str] = field(default_factory=Counter)
    slowest: float = 0.0
    memory: int = 0
    lost: list[str] = field(default_factory=list)

    def add(self, end: str, seconds: float, what: str) -> None:
        """Count an input, and remember what was lost."""
        self.ends[end] += 1
        self.slowest = max(self.slowest, seconds)
        if end == "lost":
            self.lost.append(what)


class TooLong(Exception):  # noqa: N818 - raised by the alarm, in whatever code is running
    """An input took longer than it may."""


def end_of(reader: Reader, path: Path) -> tuple[str, str]:
    """Return how reading a file ends, "read", "refused" or "lost", and what was said."""
    signal.alarm(SECONDS)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of numbers in the file
            reader.read(path)
    except (LabelproofError, ValueError) as error:
        if "\n" in str(error) or not (isinstance(error, LabelproofError) or _is_ours(error)):
            return "lost", f"{type(error).__name__}: {error}"
        return "refused", str(error)
    except BaseException as error:
        return "lost", f"{type(error).__name__}: {error}"
    finally:
        signal.alarm(0)
    return "read", ""


def _is_ours(error: BaseException) -> bool:
    """Whether a ValueError was raised by our own code, and not below it."""
    frame = error.__traceback__
    while frame is not None and frame.tb_next is not None:
        frame = frame.tb_next
    return frame is not None and "labelproof" in frame.tb_frame.f_code.co_filename


def attack(name: str, seed: int, numbers: range, found: Any) -> None:
    """Read some damaged files in this process, and report each before the next is begun."""
    signal.signal(signal.SIGALRM, _too_long)
    reader = next(one for one in readers() if one.name == name)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / name
        reader.write(path)
        sound = path.read_bytes()
        end, what = end_of(reader, path)
        if end != "read":
            raise RuntimeError(f"the sound {name} was not read: {what}")
        _limit_memory()
        for number in numbers:
            data = changed(sound, np.random.default_rng([seed, number]))
            path.write_bytes(data)
            found.put(("begun", number, 0.0, "", 0, data))
            begin = time.perf_counter()
            end, what = end_of(reader, path)
            used = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
            found.put((end, number, time.perf_counter() - begin, what, used, b""))
    found.put(("done", 0, 0.0, "", 0, b""))


def _too_long(*_: object) -> None:
    raise TooLong(f"longer than {SECONDS} s")


def _limit_memory() -> None:
    taken = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (taken + MEMORY, taken + MEMORY))


def campaign(name: str, seed: int, start: int, cases: int) -> Tally:
    """Attack one kind of file in processes that are thrown away."""
    tally, number, stop = Tally(), start, start + cases
    context = _processes()
    while number < stop:
        numbers = range(number, min(number + IN_A_PROCESS, stop))
        found = context.Queue()
        process = context.Process(target=attack, args=(name, seed, numbers, found))
        process.start()
        number = _follow(name, seed, numbers, found, process, tally)
        process.join()
    return tally


@cache
def _processes() -> Any:
    """Return what makes processes that have imported the readers already, which takes longer than their inputs."""
    paths = [str(Path(__file__).resolve().parent), os.environ.get("PYTHONPATH", "")]
    os.environ["PYTHONPATH"] = os.pathsep.join(path for path in paths if path)  # all that a new server looks at
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["readers"])
    return context


def _follow(name: str, seed: int, numbers: range, found: Any, process: Any, tally: Tally) -> int:
    """Count what a process reports; return the number of the input after the last that it began."""
    last, data, first = numbers.start, b"", None
    while True:
        patience = 1 if not process.is_alive() else 60 * SECONDS if first is None else 12 * SECONDS
        try:
            end, last_number, seconds, what, used, sent = found.get(timeout=patience)
        except Exception:  # it is dead, or hangs where no alarm reaches it
            process.kill()
            process.join()
            if first is None:
                raise RuntimeError(f"{name}: the process ended before the first input") from None
            _lose(tally, name, seed, last, data, f"the process ended (exit code {process.exitcode})")
            return last + 1
        if end == "done":
            return numbers.stop
        last = last_number
        if end == "begun":
            data = sent
            continue
        first = used if first is None else first
        tally.memory = max(tally.memory, used - first)
        if end == "lost":
            _lose(tally, name, seed, last, data, what, seconds)
        else:
            tally.add(end, seconds, what)


def _lose(tally: Tally, name: str, seed: int, number: int, data: bytes, what: str, seconds: float = 0.0) -> None:
    folder = KEPT / f"{seed}-{number}"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).write_bytes(data)
    tally.add("lost", seconds, f"{folder / name}: {what.splitlines()[0] if what else 'nothing said'}")


def table(tallies: dict[str, Tally]) -> str:
    """Return what happened, a line for each kind of file."""
    lines = [f"{'file':<16} {'tried':>7} {'read':>7} {'refused':>8} {'lost':>5} {'slowest':>9} {'memory':>8}"]
    for name, tally in tallies.items():
        read, refused, lost = (tally.ends[end] for end in ("read", "refused", "lost"))
        slowest, memory = f"{tally.slowest:.2f} s", f"{tally.memory / 2**20:.0f} MB"
        tried = read + refused + lost
        lines.append(f"{name:<16} {tried:>7,} {read:>7,} {refused:>8,} {lost:>5,} {slowest:>9} {memory:>8}")
    return "\n".join(lines)


def as_row(name: str, tally: Tally) -> Row:
    """Return the line of one kind of file in the table of all campaigns."""
    tried, lost = sum(tally.ends.values()), tally.ends["lost"]
    note = f"{tally.ends['read']:,} read, {tally.ends['refused']:,} refused; memory beyond the start"
    return Row(f"readers: {name}", tried, tried - lost, tally.slowest, tally.memory, tally.lost, note)


def main() -> int:
    """Run the campaign that the options ask for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cases", type=int, default=20_000, help="inputs in all, over the kinds of files")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--start", type=int, default=0, help="number of the first input of each kind")
    parser.add_argument("--only", action="append", default=[], help="kinds whose name contains this")
    chosen = parser.parse_args()
    names = [one.name for one in readers() if not chosen.only or any(part in one.name for part in chosen.only)]
    tallies = {}
    for name in names:
        tallies[name] = campaign(name, chosen.seed, chosen.start, -(-chosen.cases // len(names)))
        print(table({name: tallies[name]}).splitlines()[-1], *tallies[name].lost[:5], sep="\n  ", flush=True)
    print(table(tallies))
    return int(any(tally.lost for tally in tallies.values()))


if __name__ == "__main__":
    sys.exit(main())
