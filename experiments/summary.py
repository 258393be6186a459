"""The summary of all results pages, from their lists of claims."""

from collections import Counter
from pathlib import Path

from experiments.pages import NOT_RUN, table, write_page

PAPERS = {
    "sigmoid_bottleneck": "narrow output layers can never predict most label combinations; Fourier columns help",
    "sparsemax": "probabilities of exactly 0 estimate label proportions better, and need fewer words of a text",
    "sigmoid_f1": "training on a smooth F1 gives a better F1 than cross entropy",
}
VERDICTS = ("holds", "does not hold", "undecided", NOT_RUN)


def write_summary(folder: Path) -> None:
    """Write the summary of the pages that are in a folder."""
    lines = []
    for name, text in PAPERS.items():
        page = folder / f"{name}.md"
        counts = verdicts(page) if page.exists() else Counter()
        link = f"[{name}]({name}.md)" if page.exists() else name
        lines.append([f"{link}: {text}", *(counts[verdict] for verdict in VERDICTS)])
    parts = {"papers": table(["paper and its claim", *VERDICTS], lines)}
    write_page(folder / "README.md", Path(__file__).with_name("summary.md"), parts)


def verdicts(page: Path) -> Counter[str]:
    """Count the verdicts of a page's list of claims, which is its first table."""
    rows = page.read_text(encoding="utf-8").split("## Claims", 1)[1].split("\n## ", 1)[0].splitlines()
    cells = [row.rstrip(" |").rsplit("|", 1)[-1].strip(" *") for row in rows if row.startswith("| ")]
    return Counter(cells[1:])
