"""How long the first call takes on a new installation, where nothing has been compiled yet.

    python benchmarks/first_calls.py [--before FOLDER]

Each call runs in a process of its own with an empty cache, on one thread; CPU time without the imports of numpy and
torch, smallest of three. FOLDER is the `src` of an earlier checkout, measured in turn with this one. Writes
benchmarks/results/first_calls.md.
"""

import argparse
import os
import subprocess
import sys
import tempfile
from pathlib import Path

RESULTS = Path(__file__).parent / "results"
REPEATS = 3
SPARSEMAX = "import torch; x = torch.randn(4, {n}, requires_grad={gradient}); import labelproof as lp"
CALLS = {
    "`verify`, 200 labels × 20": (
        "import numpy as np; W = np.random.default_rng(0).normal(size=(200, 20)); import labelproof as lp",
        "lp.verify(W, [[0, 1], [3]], n_jobs=1)",
    ),
    "`sparsemax`, 100 columns": (SPARSEMAX.format(n=100, gradient=False), "lp.sparsemax(x)"),
    "`sparsemax`, 1,000 columns": (SPARSEMAX.format(n=1000, gradient=False), "lp.sparsemax(x)"),
    "the same with its gradient": (SPARSEMAX.format(n=1000, gradient=True), "lp.sparsemax(x)[0, :9].sum().backward()"),
    "`SigmoidF1Loss` with its gradient": (
        "import torch; x = torch.randn(300, 200, requires_grad=True); y = torch.eye(300, 200); import labelproof as lp",
        "lp.SigmoidF1Loss()(x, y).backward()",
    ),
    "`metrics.f1_score`": (
        "import numpy as np; Y = np.eye(9, dtype=bool); import labelproof as lp",
        "lp.metrics.f1_score(Y, Y, average='macro')",
    ),
}
TIMED = "{before}\nimport time\nstart = time.process_time()\n{call}\nprint(time.process_time() - start)"


def seconds(source: Path, before: str, call: str) -> float:
    """Return the CPU seconds of a call in a new process that finds nothing compiled."""
    with tempfile.TemporaryDirectory() as cache:
        threads = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMBA_NUM_THREADS"), "1")
        environment = os.environ | threads | {"NUMBA_CACHE_DIR": cache, "PYTHONPATH": str(source)}
        script = TIMED.format(before=before, call=call)
        done = subprocess.run(  # noqa: S603
            [sys.executable, "-c", script], env=environment, capture_output=True, text=True, check=True
        )
    return float(done.stdout)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--before", type=Path, help="src folder of an earlier checkout")
    earlier: Path | None = parser.parse_args().before
    sources = [Path(__file__).parents[1] / "src", *([earlier] if earlier else [])]
    lines = [
        "# First calls\n",
        "How long does the very first call wait? It compiles what it uses, once for an installation;",
        "`labelproof compile` does so ahead. CPU seconds of one thread with nothing",
        f"compiled yet, smallest of {REPEATS} (`python benchmarks/first_calls.py [--before SRC]`).\n",
        "| first call | CPU seconds |" + (" before | ratio |" if earlier else ""),
        "|---|---|" + ("---|---|" if earlier else ""),
    ]
    for name, (before, call) in CALLS.items():
        found = [[seconds(source, before, call) for source in sources] for _ in range(REPEATS)]
        now, *then = (min(times) for times in zip(*found, strict=True))
        lines.append(f"| {name} | {now:.1f} |" + "".join(f" {one:.1f} | {now / one:.2f} |" for one in then))
        print(lines[-1], flush=True)
    (RESULTS / "first_calls.md").write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
