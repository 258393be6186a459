"""The report of the largest audit that it is made for: its size, and how long Chromium takes to open and to search it.

    python benchmarks/report.py

Writes benchmarks/results/report.md. The audit is made up: 9,000 labels, 10,000 distinct label sets of 16 labels on
average, names of realistic length, 40 explained conflicts. Every run opens the file in a new window; times are wall
clock, so other work on the machine makes them longer.
"""

import shutil
import statistics
import sys
import tempfile
import time
from pathlib import Path

from playwright.sync_api import sync_playwright

from labelproof.report import write_report

sys.path.append(str(Path(__file__).parents[1] / "tests" / "report"))
from audit_documents import big_document

RESULTS = Path(__file__).parent / "results"
RUNS = 9
OPEN = "opening, until the table responds, s"
LIMITS = {"size, MB": 5.0, OPEN: 2.0}
WRITE, SEARCH, SORT = "writing the report, s", "searching while typing, ms", "sorting by margin, ms"
OPENED = "performance.getEntriesByType('navigation')[0].loadEventEnd / 1000"
TIMED = """([selector, type, value]) => {
    const node = document.querySelector(selector);
    if (value) node.value = value;
    const start = performance.now();
    node.dispatchEvent(new Event(type, { bubbles: true }));
    document.body.offsetHeight;  // the layout belongs to it
    return performance.now() - start;
}"""


def main() -> None:
    document = big_document()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "report.html"
        measured = {name: [] for name in (*LIMITS, WRITE, SEARCH, SORT)}
        for _ in range(3):
            start = time.perf_counter()
            write_report(path, [document])
            measured[WRITE].append(time.perf_counter() - start)
        measured["size, MB"].append(path.stat().st_size / 1e6)
        with sync_playwright() as playwright:
            browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
            for _ in range(RUNS):
                _visit(browser, path, measured)
            browser.close()
    lines = [
        "# Size and speed of a large report\n",
        "Is the HTML report still usable when an audit is large? This one has 9,000 labels and 10,000 label sets "
        f"in a single file, opened from disk {RUNS} times in Chromium (`python benchmarks/report.py`).\n",
        "| | median | slowest | limit | median as share of limit |",
        "|---|---|---|---|---|",
        *(_line(name, values) for name, values in measured.items()),
    ]
    print("\n".join(lines))
    RESULTS.mkdir(exist_ok=True)
    (RESULTS / "report.md").write_text("\n".join(lines) + "\n")


def _visit(browser, path, measured) -> None:
    context = browser.new_context(viewport={"width": 1280, "height": 900})
    page = context.new_page()
    page.goto(path.as_uri())
    page.wait_for_selector("th[data-key=margin] button")
    measured[OPEN].append(page.evaluate(OPENED))
    measured[SEARCH].append(page.evaluate(TIMED, ["[name=search]", "input", "kidney ulcer"]))
    measured[SORT].append(page.evaluate(TIMED, ["th[data-key=margin] button", "click", ""]))
    context.close()


def _line(name, values) -> str:
    middle, limit = statistics.median(values), LIMITS.get(name)
    share = "–" if limit is None else f"**{100 * middle / limit:.0f} %**"
    return f"| {name} | {middle:.3g} | {max(values):.3g} | {'–' if limit is None else f'{limit:g}'} | {share} |"


if __name__ == "__main__":
    main()
