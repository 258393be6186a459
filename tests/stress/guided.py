"""Inputs made by atheris, which sees which lines of a reader run: ``python tests/stress/guided.py a.csv --runs 5000``.

Only readers whose code is Python can be followed so; compiled loops are left as they are. Where atheris is not
installed the campaign is left out, and says so.
"""

import argparse
import re
import signal
import subprocess
import sys
import tempfile
import time
from importlib.util import find_spec
from pathlib import Path

from rows import Row

__all__ = ["FOLLOWED", "campaign"]

HERE = Path(__file__).resolve().parent
FOLLOWED = (
    "a.csv",
    "a.jsonl",
    "a.json",
    "a.svm",
    "a.txt",
    "dense.arff",
    "sparse.arff",
    "config.yaml",
    "rule.json",
    "run.json",
    "w.csv",
)
SECONDS_A_RUN = 10


def campaign(runs: int) -> list[Row]:
    """Run the fuzzer on each reader, in a process of its own."""
    if find_spec("atheris") is None:
        return [Row("guided: left out, since atheris is not installed")]
    return [_one(name, runs) for name in FOLLOWED]


def _one(name: str, runs: int) -> Row:
    row = Row(f"guided: {name}")
    begin = time.monotonic()
    command = [sys.executable, str(HERE / "guided.py"), name, "--runs", str(runs)]
    ended = subprocess.run(command, capture_output=True, text=True, errors="replace", check=False)  # noqa: S603
    done = re.findall(r"#(\d+)\s.*?cov: (\d+).*?corp: (\d+).*?rss: (\d+)Mb", ended.stderr)
    row.tried = row.passed = int(done[-1][0]) if done else 0
    row.memory = int(done[-1][3]) * 2**20 if done else 0
    row.note = f"{done[-1][1]} branches, corpus of {done[-1][2]}" if done else ""
    row.worst = (time.monotonic() - begin) / max(row.tried, 1)
    if ended.returncode != 0 or not done:
        row.add(f"{name}: {ended.stderr[-600:]}")
    return row


def compiled_modules() -> list[str]:
    """Return the modules whose code numba compiles, which it cannot once it was changed to be followed."""
    root = Path(find_spec("labelproof").origin).parent
    paths = (path.relative_to(root.parent) for path in root.rglob("*.py") if "@compiled" in path.read_text())
    return [".".join(path.with_suffix("").parts) for path in paths]


def main() -> None:
    """Fuzz one reader; libFuzzer leaves the process with an exit code of its own if an input is lost."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("name", choices=FOLLOWED)
    parser.add_argument("--runs", type=int, default=5000)
    asked = parser.parse_args()
    import atheris

    sys.path[:0] = [str(HERE), str(HERE.parent)]
    with atheris.instrument_imports(include=["labelproof"], exclude=compiled_modules()):
        from fuzzing import _too_long, end_of
        from readers import readers
    reader = next(one for one in readers() if one.name == asked.name)
    with tempfile.TemporaryDirectory() as folder:
        corpus, path = Path(folder) / "corpus", Path(folder) / asked.name
        corpus.mkdir()
        reader.write(path)
        (corpus / "sound").write_bytes(path.read_bytes())

        def try_one(data: bytes) -> None:
            signal.signal(signal.SIGALRM, _too_long)
            path.write_bytes(data)
            end, what = end_of(reader, path)
            if end == "lost":
                raise RuntimeError(f"lost: {what}")

        options = [f"-runs={asked.runs}", "-max_len=4096", f"-timeout={2 * SECONDS_A_RUN}", "-rss_limit_mb=3000"]
        atheris.Setup([sys.argv[0], *options, "-seed=1", f"-artifact_prefix={folder}/", str(corpus)], try_one)
        atheris.Fuzz()


if __name__ == "__main__":
    main()
