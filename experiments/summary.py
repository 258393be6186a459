"""The summary of all results pages, from their lists of claims."""

from collections import Counter
from pathlib import Path

from experiments.pages import VERDICTS, digest, read_claims, table, write_page

PAPERS = {
    "sigmoid_bottleneck": "narrow output layers can never predict most label combinations; Fourier columns help",
    "sparsemax": "probabilities of exactly 0 estimate label proportions better, and need fewer words of a text",
    "sigmoid_f1": "training on a smooth F1 gives a better F1 than cross entropy",
}
MAIN = {  # the claims that a newcomer should know, as their pages word them
    "sigmoid_bottleneck": (
        "the bottleneck can never predict some test sets, for every d < 200",
        "the DFT head can predict (nearly) all test sets",
        "the DFT head has a better F1@k than the bottleneck, d < 200",
        "the DFT head has a better F1@k than a bottleneck with the k/n start, d < 200",
    ),
    "sparsemax": (
        "long documents: sparsemax has a smaller MSE than softmax",
        "the loss that is best in the paper has the best micro-F1",
        "attention with sparsemax is as accurate as with softmax, but for a point at most",
        "it attends to about a quarter of the words (15 to 35 %)",
    ),
    "sigmoid_f1": (
        "of five losses sigmoidF1 has the best weighted F1, threshold 0.05",
        "of five losses sigmoidF1 has the best weighted F1, threshold 0.5",
        "of five losses sigmoidF1 has the best weighted F1, one tuned threshold",
    ),
}


def write_summary(folder: Path) -> None:
    """Write the summary of the pages that are in a folder."""
    lines = []
    for name, text in PAPERS.items():
        page = folder / f"{name}.md"
        counts = Counter(one.holds.strip("*") for one in read_claims(page)) if page.exists() else Counter()
        link = f"[{name}]({name}.md)" if page.exists() else name
        lines.append([f"{link}: {text}", *(counts[verdict] for verdict in VERDICTS)])
    parts = {"papers": table(["paper and its claim", *VERDICTS], lines)}
    parts |= {name: main_claims(folder / f"{name}.md", name) for name in PAPERS}
    write_page(folder / "README.md", Path(__file__).with_name("summary.md"), parts)


def main_claims(page: Path, name: str) -> str:
    """Return for which data the main claims of a paper hold."""
    if not page.exists():
        return "Not run yet."
    claims = read_claims(page)
    unknown = set(MAIN[name]) - {one.claim for one in claims}
    if unknown:
        raise ValueError(f"{page.name} must have the main claims among its own, got none of {sorted(unknown)}")
    return digest(one for text in MAIN[name] for one in claims if one.claim == text)
