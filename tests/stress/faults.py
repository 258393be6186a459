"""Let commands fail at chosen moments, go on, and compare with a run that nothing disturbed.

A command runs in a forked process. Its *moments* are the calls that open a file for writing, rename, link or remove:
the process is killed (SIGKILL), interrupted (Ctrl-C) or out of memory just before the one that was chosen, or killed
after a time; or no file may grow beyond a size, as on a full disk. Then what is left must be sound, and the command
given again must end as it would have.
"""

import hashlib
import json
import os
import re
import resource
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from threading import Timer
from typing import Any

import numpy as np
from rows import Row

from labelproof.foundation.writing import recover

__all__ = ["WAYS", "Job", "Undisturbed", "campaign", "moments", "trial", "undisturbed"]

AT_A_MOMENT = ("kill", "interrupt", "out of memory")
WAYS = (*AT_A_MOMENT, "full disk", "kill after a time")
CHANGES = ("os.rename", "os.remove", "os.mkdir", "os.rmdir", "os.link", "os.truncate")
PATIENCE = 300.0
SECONDS = re.compile(r"[\d.,]+ (s|seconds|ms)\b")
State = dict[str, str]


@dataclass(frozen=True)
class Job:
    """A command, its inputs, and where its results are; paths are relative to the folder that it runs in."""

    name: str
    prepare: Callable[[], Any]
    words: tuple[str, ...]
    output: str
    begun: tuple[str, ...] = ()  # if any of these is there, the command goes on with --resume
    may_lack: tuple[str, ...] = ()  # files that may be absent from what is left, beside the others
    may_go: tuple[str, ...] = ()  # files of before that may be gone, beside the others
    in_parts: bool = False  # finished files of the results may be there before the others
    trains: bool = False  # or runs a trained model

    def again(self) -> list[str]:
        """Return what a user would type after a failure, in the folder of the run."""
        return [*self.words, *(["--resume"] if any(Path(path).exists() for path in self.begun) else [])]


@dataclass(frozen=True)
class Undisturbed:
    """What a command does by itself: results before and after, number of moments, seconds, size of the largest file."""

    start: Path
    before: State
    after: State
    moments: int
    seconds: float
    largest: int


@dataclass
class Outcome:
    """How a trial ended; ``fault`` is empty if all was well."""

    fault: str = ""
    seconds: float = 0.0
    memory: int = 0
    said: str = field(default="", repr=False)


def campaign(jobs: list[Job], number: int, ways: tuple[str, ...] = WAYS, seed: int = 0) -> list[Row]:
    """Disturb each job in each way at a number of moments, at random where there are more."""
    preload()
    rows = []
    for place, job in enumerate(jobs):
        row = Row(f"faults: {job.name}")
        with tempfile.TemporaryDirectory() as folder:
            run = undisturbed(job, Path(folder))
            for kind, way in enumerate(ways):
                for moment in moments(way, run, number, np.random.default_rng([seed, place, kind])):
                    ended = trial(job, run, way, moment, Path(folder))
                    fault = f"{job.name}, {way} at {moment}: {ended.fault}" if ended.fault else ""
                    row.add(fault, ended.seconds, ended.memory)
        row.note = f"{run.moments} moments"
        rows.append(row)
    return rows


def preload() -> None:
    """Compile or load what most commands need, so that the forked processes have it; nothing here starts a thread."""
    import labelproof as lp

    weight, features = (np.random.default_rng(0).normal(size=(n, 3)) for n in (5, 40))
    lp.audit(weight, [[0], [0, 1]], features=features, n_explained=1, n_jobs=1)


def undisturbed(job: Job, folder: Path) -> Undisturbed:
    """Prepare the inputs of a job, run it, and run it again on its own results, which must not change."""
    start, done = folder / "start", folder / "undisturbed" / "work"  # an audit names the folder that its model is in
    start.mkdir(parents=True)
    done.parent.mkdir()
    _in_child(start, job.prepare)
    shutil.copytree(start, done)
    begin = time.monotonic()
    code, _, told, said = _run(done, list(job.words), None, 0)
    seconds = time.monotonic() - begin
    if code != 0:
        raise RuntimeError(f"{job.name} failed by itself: {said}")
    for module in told["modules"]:  # so that the processes to come have what this one had to import
        with suppress(Exception):
            import_module(module)
    sizes = [path.stat().st_size for path in _files(done / job.output)]
    state = state_of(done / job.output)
    return Undisturbed(start, state_of(start / job.output), state, told["moments"], seconds, max(sizes))


def moments(way: str, run: Undisturbed, number: int, rng: np.random.Generator) -> Iterator[int]:
    """Yield moments of a run, all of them if there are no more than a number."""
    last = run.moments if way in AT_A_MOMENT else 1000
    if last <= number:
        yield from range(1, last + 1)
    else:
        yield from sorted(rng.choice(np.arange(1, last + 1), number, replace=False).tolist())


def trial(job: Job, run: Undisturbed, way: str, moment: int, folder: Path) -> Outcome:
    """Disturb a run at a moment, look at what is left, go on, and compare."""
    work = folder / "work"
    shutil.rmtree(work, ignore_errors=True)
    shutil.copytree(run.start, work)
    code, memory, _, said = _run(work, list(job.words), (way, moment, run), moment)
    outcome = Outcome(memory=memory, said=said)
    outcome.fault = _fault_of_end(way, code, said) or _fault_of_rest(job, run, work)
    begin = time.monotonic()
    if not outcome.fault:
        words = _in_folder(work, job.again)
        code, more, _, said = _run(work, words, None, 0)
        outcome.memory = max(memory, more)
        if code != 0:
            outcome.fault = f"the command given again ended with {code}: {said[-300:]}"
        else:
            outcome.fault = _difference(state_of(work / job.output), run.after)
    outcome.seconds = time.monotonic() - begin
    return outcome


def _fault_of_end(way: str, code: int, said: str) -> str:
    if way.startswith("kill"):
        return "" if code in (-signal.SIGKILL, 0) else f"expected to be killed, ended with {code}: {said[-300:]}"
    if way == "interrupt" and code != 0:
        fine = code == 130 and said.rstrip().splitlines()[-1].startswith("interrupted: ")
        return "" if fine else f"Ctrl-C ended with {code}: {said[-300:]}"
    if way in ("full disk", "out of memory") and code != 0:
        fine = code == 2 and said.rstrip().splitlines()[-1].startswith("error: ") and "Traceback" not in said
        return "" if fine else f"{way} ended with {code}: {said[-300:]}"
    return ""


def _fault_of_rest(job: Job, run: Undisturbed, work: Path) -> str:
    """Look at what a disturbed run left: all as before, all as after, or a sound part of it where it can go on."""
    recover(work / job.output)  # as whoever reads it does
    left = state_of(work / job.output)
    if job.begun:
        wrong = [name for name, value in left.items() if value == "torn"]
        return f"torn: {', '.join(wrong)}" if wrong else ""
    if job.in_parts:
        wrong = [name for name, value in left.items() if value != run.after.get(name)]
        return f"neither absent nor as after: {', '.join(wrong)}" if wrong else ""
    if left == run.before or not _difference(left, run.after):
        return ""
    lacking = [{name: value for name, value in run.after.items() if name not in job.may_lack}]
    lacking += [{name: value for name, value in run.before.items() if name not in job.may_go}] * bool(job.may_go)
    return "" if left in lacking else f"neither as before nor as after: {_difference(left, run.after)}"


def _difference(found: State, expected: State) -> str:
    wrong = sorted(name for name in found.keys() | expected.keys() if found.get(name) != expected.get(name))
    return f"differs: {', '.join(wrong)}" if wrong else ""


def state_of(place: Path) -> State:
    """Return what each file holds, without what changes from run to run; "torn" where it cannot be read."""
    return {path.relative_to(place.parent).as_posix(): _content(path) for path in _files(place)}


def _files(place: Path) -> list[Path]:
    if place.is_file():
        return [place]
    inner = (path for path in place.rglob("*") if path.is_file()) if place.is_dir() else ()
    return sorted(path for path in inner if not any(part.startswith(".") for part in path.relative_to(place).parts))


def _content(path: Path) -> str:
    try:
        if path.suffix == ".json":
            return json.dumps(_timeless(json.loads(path.read_text())))
        if path.name == "runs.jsonl":
            return json.dumps([_timeless(json.loads(line)) for line in path.read_text().splitlines()])
        if path.name == "history.csv":
            return "\n".join(line.rpartition(",")[0] for line in path.read_text().splitlines())
        if path.suffix == ".html":
            return _digest(SECONDS.sub("", path.read_text()).encode())
        if path.suffix == ".ckpt":
            from labelproof.training.callbacks import read_checkpoint

            return f"epoch {read_checkpoint(path)['epoch']}"
        if path.suffix == ".npz":
            with path.open("rb") as stream, np.load(stream) as arrays:
                known = [name for name in arrays.files if name != "facts"]  # among which are seconds
                return _digest(b"".join(name.encode() + arrays[name].tobytes() for name in known))
    except Exception:
        return "torn"
    return _digest(path.read_bytes())


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()[:16]


def _timeless(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _timeless(one) for key, one in value.items() if "seconds" not in key and key != "created"}
    return [_timeless(one) for one in value] if isinstance(value, list) else value


# Processes


def _run(work: Path, words: list[str], fault: Any, moment: int) -> tuple[int, int, dict[str, Any], str]:
    """Run the command line in a child; return exit code (a signal is negative), memory, and what was said.

    Before that, of a child that nothing disturbed: the number of its moments, and the modules that it imported.
    """
    told, known = work.parent / "told", set(sys.modules)
    told.write_text("{}")

    def command() -> None:
        from labelproof.cli import main

        counted = [0]
        if fault is not None and fault[0] == "full disk":
            limit = max(fault[2].largest * moment // 1000, 1)
            resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
        sys.addaudithook(_hook(str(work.resolve()), counted, fault))
        sys.argv = ["labelproof", *words]
        try:
            main()
        finally:
            if fault is None:  # else files may have a limit
                modules = [name for name in sys.modules if name not in known]
                told.write_text(json.dumps({"moments": counted[0], "modules": modules}))

    delay = fault[2].seconds * moment / 1000 if fault is not None and fault[0] == "kill after a time" else None
    code, memory, said = _in_child(work, command, delay)
    return code, memory, json.loads(told.read_text()), said


def _hook(root: str, counted: list[int], fault: Any) -> Callable[[str, tuple[Any, ...]], None]:
    def hook(event: str, arguments: tuple[Any, ...]) -> None:
        if event == "open":
            path, _, flags = arguments
            changes = isinstance(flags, int) and flags & (os.O_WRONLY | os.O_RDWR | os.O_CREAT)
        else:
            path, changes = (arguments[0] if arguments else None), event in CHANGES
        if not changes or not isinstance(path, str | os.PathLike):
            return
        if not os.path.abspath(os.fspath(path)).startswith(root):
            return
        counted[0] += 1
        if fault is not None and counted[0] == fault[1] and fault[0] in AT_A_MOMENT:
            if fault[0] == "out of memory":
                raise MemoryError
            if fault[0] == "kill":
                os.kill(os.getpid(), signal.SIGKILL)
            signal.raise_signal(signal.SIGINT)

    return hook


def _in_folder(folder: Path, ask: Callable[[], list[str]]) -> list[str]:
    before = os.getcwd()
    os.chdir(folder)
    try:
        return ask()
    finally:
        os.chdir(before)


def _in_child(folder: Path, action: Callable[[], Any], delay: float | None = None) -> tuple[int, int, str]:
    """Do something in a forked process that is in a folder; return exit code, memory, and what it printed."""
    told = folder.parent / "said"
    sys.stdout.flush()
    sys.stderr.flush()
    child = os.fork()
    if not child:
        _be_child(folder, told, action)
    after, end = (PATIENCE, signal.SIGABRT) if delay is None else (delay, signal.SIGKILL)
    guard = Timer(after, os.kill, (child, end))
    guard.start()
    _, status, usage = os.wait4(child, 0)
    guard.cancel()
    guard.join()
    return os.waitstatus_to_exitcode(status), usage.ru_maxrss * 1024, told.read_text(errors="replace")


def _be_child(folder: Path, told: Path, action: Callable[[], Any]) -> None:
    code = 1
    try:
        signal.signal(signal.SIGINT, signal.default_int_handler)
        os.chdir(folder)
        handle = os.open(told, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        os.dup2(handle, 1)
        os.dup2(handle, 2)
        sys.stdout = open(1, "w", closefd=False)  # noqa: SIM115 - ends with the process
        sys.stderr = open(2, "w", closefd=False)  # noqa: SIM115
        action()
        code = 0
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else int(end.code is not None)
    except BaseException:
        import traceback

        traceback.print_exc()
    finally:
        try:
            sys.stdout.flush()
            sys.stderr.flush()
        finally:
            os._exit(code)
