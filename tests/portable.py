"""Run tests under other instruction sets and numbers of threads: ``python tests/portable.py [PATH ...] [--only NAME]``.

Each setting is one run of pytest in an environment of its own, with its own folder for numba's compiled code. Results
are printed as they come, and in a table at the end; the exit code is 1 if a run failed. Settings that this machine does
not have are left out, with a word.
"""

import argparse
import os
import platform
import subprocess
import sys
import tempfile
import time
from pathlib import Path

THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
ON_X86 = {"x86_64", "AMD64"}


def settings() -> dict[str, dict[str, str]]:
    """Return environments by name: those for the processor first, then those for threads."""
    found = {"numba generic": {"NUMBA_CPU_NAME": "generic", "NUMBA_CPU_FEATURES": ""}}
    if platform.machine() in ON_X86:
        found |= {f"torch {name}": {"ATEN_CPU_CAPABILITY": name} for name in ("default", "avx2")}
        found |= {f"openblas {name}": {"OPENBLAS_CORETYPE": name} for name in ("Haswell", "Prescott")}
    else:
        print(f"left out: torch and OpenBLAS for older x86 processors; this is {platform.machine()}")
    features = removable_features()
    if features:
        found["numpy baseline"] = {"NPY_DISABLE_CPU_FEATURES": " ".join(features)}
    else:
        print("left out: numpy without its faster loops; it has none that can be switched off")
    return found | {f"{n} threads": dict.fromkeys(THREADS, str(n)) for n in (1, 2, 4)}


def at_once(every: dict[str, dict[str, str]], names: list[str]) -> dict[str, dict[str, str]]:
    """Return one environment with all these settings, which must not contradict each other."""
    joint: dict[str, str] = {}
    for name in names:
        for variable, value in every[name].items():
            if joint.setdefault(variable, value) != value:
                sys.exit(f"--together: {name} needs {variable}={value}, but it is {joint[variable]} already")
    return {", ".join(names): joint}


def removable_features() -> list[str]:
    """Return the features of this processor that numpy uses where they exist, but can do without."""
    from numpy._core._multiarray_umath import __cpu_dispatch__, __cpu_features__

    known = [name for name in __cpu_dispatch__ if name in __cpu_features__]
    absent = [name for name in __cpu_dispatch__ if not __cpu_features__.get(name)]
    if absent:
        print(
            f"left out: {', '.join(absent)}, which numpy knows but this processor or numpy's table of features does not"
        )
    return [name for name in known if __cpu_features__[name]]


def run(name: str, changes: dict[str, str], arguments: list[str], cache: Path) -> tuple[int, float, str]:
    """Run pytest under a setting; return its exit code, seconds and last line."""
    folder = cache / ("default" if name.endswith("threads") else name.replace(" ", "-"))  # threads share compiled code
    environment = os.environ | {"NUMBA_CACHE_DIR": str(folder)} | changes
    start = time.perf_counter()
    done = subprocess.run(  # noqa: S603
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *arguments],
        env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False,
    )  # fmt: skip
    lines = done.stdout.strip().splitlines() or ["no output"]
    if done.returncode:
        print("\n".join(lines[-60:]), flush=True)
    return done.returncode, time.perf_counter() - start, lines[-1]


def main() -> int:
    """Run the settings asked for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("paths", nargs="*", default=["tests"])
    parser.add_argument("--only", action="append", default=[], help="settings whose name contains this")
    parser.add_argument("--together", action="store_true", help="one run with all these settings, instead of one each")
    parser.add_argument("--cache", type=Path, help="folder for compiled code; by default one that is thrown away")
    chosen, pytest_options = parser.parse_known_args()
    every = settings()
    wanted = [name for name in every if not chosen.only or any(part in name for part in chosen.only)]
    if not wanted:
        parser.error(f"--only must match one of {', '.join(every)}, got {chosen.only}")
    if chosen.together:
        every, wanted = at_once(every, wanted), [", ".join(wanted)]
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        for name in wanted:
            code, seconds, last = run(name, every[name], [*chosen.paths, *pytest_options], chosen.cache or Path(folder))
            rows.append((name, "passed" if code == 0 else f"failed ({code})", f"{seconds:.0f} s", last))
            print("  ".join(rows[-1]), flush=True)
    widths = [max(len(row[i]) for row in rows) for i in range(3)]
    print(
        "\n"
        + "\n".join("  ".join([*(cell.ljust(w) for cell, w in zip(row, widths, strict=False)), row[3]]) for row in rows)
    )
    return int(any(row[1] != "passed" for row in rows))


if __name__ == "__main__":
    sys.exit(main())
