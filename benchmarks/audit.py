"""The whole audit at scale: 8,921 labels on 50 features, 10,000 distinct label sets, with its report.

    python benchmarks/weights.py && python benchmarks/audit.py

Writes benchmarks/results/audit.md. The limits are 5 minutes on two cores for the command, 5 MB for the report, and 2 s
until Chromium has opened it from disk.
"""

import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from itertools import pairwise
from pathlib import Path

import numpy as np

HERE = Path(__file__).parent
N_SETS = 10_000


def label_sets() -> list[list[int]]:
    with np.load(HERE / "weights" / "label_sets_8921.npz") as arrays:
        ends, indices = arrays["indptr"], arrays["indices"]
    distinct: dict[bytes, list[int]] = {}
    for start, stop in pairwise(ends.tolist()):
        active = np.sort(indices[start:stop])
        distinct.setdefault(active.tobytes(), active.tolist())
        if len(distinct) == N_SETS:
            break
    return list(distinct.values())


def opening_seconds(report: Path) -> float:
    """Return the time until the page has loaded and its table is there, the median of five."""
    from playwright.sync_api import sync_playwright

    times = []
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        for _ in range(5):
            page = browser.new_page()
            start = time.perf_counter()
            page.goto(report.resolve().as_uri(), wait_until="load")
            page.wait_for_selector("table tbody tr")
            times.append(time.perf_counter() - start)
            page.close()
        browser.close()
    return float(np.median(times))


def main() -> None:
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        sets = label_sets()
        (folder / "sets.jsonl").write_text("\n".join(map(json.dumps, sets)) + "\n")
        names = [f"heading {i:04d} of the thesaurus" for i in range(8921)]
        (folder / "names.txt").write_text("\n".join(names) + "\n")
        weights = HERE / "weights" / "8921x50.npz"
        command = [
            sys.executable, "-m", "labelproof", "audit", str(weights), "--labels", str(folder / "sets.jsonl"),
            "--label-names", str(folder / "names.txt"), "-o", str(folder / "audit"), "--json",
        ]  # fmt: skip
        load = os.getloadavg()[0]
        start = time.perf_counter()
        ran = subprocess.run(command, capture_output=True, text=True)  # noqa: S603 - our own words
        seconds = time.perf_counter() - start
        if ran.returncode:
            sys.exit(ran.stderr)
        found = json.loads(ran.stdout)
        report = folder / "audit" / "report.html"
        size, opening = report.stat().st_size / 1e6, opening_seconds(report)
    lines = [
        "# A large audit",
        "",
        "How long does `labelproof audit` take for a large classifier, and how large is its report? The output layer "
        f"has 8,921 labels and 50 features, and {len(sets):,} distinct label sets are audited (`python "
        f"benchmarks/audit.py`; two cores, load average before the run {load:.1f}).",
        "",
        "| | measured | limit |",
        "|---|---|---|",
        f"| `labelproof audit` with report and proofs | {seconds:.0f} s | 300 s |",
        f"| of this, the audit itself | {found['seconds']:.0f} s | |",
        f"| size of the report | {size:.2f} MB | 5 MB |",
        f"| opening the report in Chromium | {opening:.2f} s | 2 s |",
        "",
        found["headline"],
    ]
    (HERE / "results" / "audit.md").write_text("\n".join(lines) + "\n")
    print("\n".join(lines))


if __name__ == "__main__":
    main()
