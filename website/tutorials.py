"""Run the tutorials as a reader would: Python blocks in one session, commands in the same folder.

``python -m website.tutorials`` runs them all and writes what they printed into their pages; a test compares instead.
A block called ``text`` that follows a block of code is what it prints; after ``<!-- varies -->`` an example of that.
"""

import contextlib
import io
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path
from typing import Any

from typer.testing import CliRunner

from labelproof.cli import app

__all__ = ["FOLDER", "Step", "differences", "mismatches", "run", "steps"]

FOLDER = Path(__file__).parents[1] / "docs" / "tutorials"
FENCE = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
VARIES = "<!-- varies -->"
NUMBER = re.compile(r"\d[\d,]*\.?\d*(?:e[-+]?\d+)?")
SECONDS = re.compile(r"\b\d+\.\d\b(?!%)|\b\d+(?= s\b)")


@dataclass(frozen=True)
class Step:
    """A block of code and the output that the page shows for it, None where it shows none.

    ``place`` is where on the page that output stands, from character to character. ``varies`` says that the output
    depends on the outcome of a training in its words, too, so that only the words of its last line are compared.
    """

    language: str
    code: str
    shown: str | None
    line: int
    place: tuple[int, int] = (0, 0)
    varies: bool = False


def steps(page: str) -> Iterator[Step]:
    """Yield the blocks of a page that are run, in order."""
    fences = list(FENCE.finditer(page))
    for fence, after in zip_longest(fences, fences[1:]):
        language, code = fence.groups()
        if language in {"python", "console"}:
            between = "" if after is None or after[1] != "text" else page[fence.end() : after.start()].strip()
            line = page.count("\n", 0, fence.start()) + 1
            if after is not None and after[1] == "text" and between in {"", VARIES}:
                yield Step(language, code, after[2], line, after.span(2), between == VARIES)
            else:
                yield Step(language, code, None, line)


def run(page: str, folder: Path) -> Iterator[tuple[Step, str]]:
    """Yield every step of a page with what it prints when run in a folder."""
    shutil.copy(FOLDER / "characters.py", folder)
    names: dict[str, Any] = {"__name__": "__main__"}
    with contextlib.chdir(folder), _importable(folder):
        for step in steps(page):
            printed = _commands(step.code) if step.language == "console" else _python(step, names)
            yield step, "".join(f"{line.rstrip()}\n" for line in printed.strip("\n").splitlines())


@contextlib.contextmanager
def _importable(folder: Path) -> Iterator[None]:
    """Let Python find the modules of a folder, as it does where it is started there."""
    sys.path.insert(0, str(folder))
    try:
        yield
    finally:
        sys.path.remove(str(folder))


def differences(shown: str, printed: str, *, words_of_last_line: bool = False) -> str | None:
    """Say how an output differs from the one shown: words must be the same, numbers about the same.

    Training gives slightly other numbers on other processors: a tenth, or 0.05, is allowed. Numbers with one decimal
    and those before "s" are not compared: they are seconds. Of an output that varies only the last line is compared.
    """
    if words_of_last_line:
        shown, printed = (NUMBER.sub("#", text.splitlines()[-1]) for text in (shown, printed or "\n"))
    if NUMBER.sub("#", shown).split() != NUMBER.sub("#", printed).split():
        return f"expected\n{shown}\ngot\n{printed}"
    shown, printed = (SECONDS.sub("", text) for text in (shown, printed))
    for old, new in zip(NUMBER.findall(shown), NUMBER.findall(printed), strict=True):
        before, now = (float(text.replace(",", "")) for text in (old, new))
        if abs(before - now) > max(0.05, 0.1 * abs(before)):
            return f"expected about {old}, got {new}, in\n{printed}"
    return None


def mismatches(page: str, folder: Path) -> Iterator[str]:
    """Yield what a page shows otherwise than it is printed when run in a folder, with the line of the code."""
    for step, printed in run(page, folder):
        if step.shown is None:
            wrong = f"printed {printed}" if printed else None
        elif step.varies:
            wrong = differences(step.shown.splitlines()[-1], (printed.splitlines() or [""])[-1])
        else:
            wrong = differences(step.shown, printed)
        if wrong is not None:
            yield f"line {step.line}: {wrong}"


def _python(step: Step, names: dict[str, Any]) -> str:
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(step.code, f"line {step.line}", "exec"), names)  # noqa: S102 - the code is that of our own page
    return printed.getvalue()


def _commands(code: str) -> str:
    """Run the lines after a dollar sign: ours in this process, which has been imported already, others in a shell."""
    printed, status = [], 0
    for line in re.findall(r"^\$ ((?:.*\\\n)*.*)$", code, re.MULTILINE):
        words = shlex.split(line.replace("\\\n", " "))
        if words[0] == "labelproof":
            done = CliRunner(env={"COLUMNS": "80"}).invoke(app, words[1:])
            printed.append(done.stdout)
            status = done.exit_code
            if status and not done.stdout:
                raise RuntimeError(f"{line}\nended with {status}: {done.stderr}")
        else:
            shell = ["bash", "-c", f"(exit {status}); {line}"]
            environment = {**os.environ, "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}
            printed.append(subprocess.run(shell, capture_output=True, text=True, env=environment, check=True).stdout)  # noqa: S603
    return "".join(printed)


def main() -> None:
    """Run all tutorials, or those that are named, and write their outputs."""
    wanted = sys.argv[1:] or [path.stem for path in sorted(FOLDER.glob("*.md"))]
    for name in wanted:
        path = FOLDER / f"{name}.md"
        page = path.read_text(encoding="utf-8")
        with tempfile.TemporaryDirectory() as folder:
            done = [(step.place, printed) for step, printed in run(page, Path(folder)) if step.shown is not None]
        for (start, end), printed in reversed(done):
            page = page[:start] + printed + page[end:]
        path.write_text(page, encoding="utf-8")
        print(path)


if __name__ == "__main__":
    main()
