"""The summary of all results pages, from their lists of claims."""

from collections import Counter
from pathlib import Path

from experiments.pages import VERDICTS, Claim, digest, is_fact, read_claims, table, write_page

PAPERS = {
    "sigmoid_bottleneck": "narrow output layers can never predict most label combinations; Fourier columns help",
    "sparsemax": "probabilities of exactly 0 estimate label proportions better, and need fewer words of a text",
    "sigmoid_f1": "training on a smooth F1 gives a better F1 than cross entropy",
}
MAIN = {  # the claims that a newcomer should know, as their pages word them
    "sigmoid_bottleneck": (
        "the bottleneck can never predict some test sets at d = 25",
        "the bottleneck can never predict some test sets, for every d < 200",
        "the DFT head can predict (nearly) all test sets",
        "the DFT head has a better F1@k than the bottleneck, d < 200",
        "the DFT head has a better F1@k than a bottleneck with the k/n start, d < 200",
        "the DFT head has a better F1@k than a bottleneck with as many features, d < 200",
    ),
    "sparsemax": (
        "long documents: sparsemax has a smaller MSE than softmax",
        "the loss that is best in the paper has the best micro-F1",
        "attention with sparsemax is as accurate as with softmax, but for a point at most",
        "attention with sparsemax looks at about a quarter of the words (15 to 35 %)",
    ),
    "sigmoid_f1": (
        "of five losses sigmoidF1 has the best weighted F1, threshold 0.05",
        "of five losses sigmoidF1 has the best weighted F1, threshold 0.5",
        "of five losses sigmoidF1 has the best weighted F1, one tuned threshold",
    ),
}
ANSWERS = {  # numbers in braces stand for how often the main claims hold, in their order
    "sigmoid_bottleneck": (
        "With 25 features a plain layer can never predict some of the label sets of the test data on {0} data sets,\n"
        "with every number below 200 on {1}; the DFT head can predict (nearly) all of them on {2}. It has a better\n"
        "F1@k than the plain layer on {3}, than a plain layer that starts the training as the DFT head does on {4},\n"
        "and than one that has as many features besides on {5}."
    ),
    "sparsemax": (
        "Sparsemax estimates the label proportions of long documents better for {0} kinds of mixtures. The loss that\n"
        "is best in the paper is clearly the best here, too, on {1} data sets. As attention sparsemax keeps the\n"
        "accuracy of softmax on {2} data sets, and looks at about a quarter of the words on {3}."
    ),
    "sigmoid_f1": (
        "At the paper's threshold of 0.05 sigmoidF1 is the best of five losses on {0} data sets, at 0.5 on {1}. With\n"
        "a threshold that is tuned for each loss it is the best on {2}."
    ),
}


def write_summary(folder: Path, written: str | None = None) -> None:
    """Write the summary of the pages that are in a folder; one of them was just written, others may be older."""
    lines = []
    for name, text in PAPERS.items():
        page = folder / f"{name}.md"
        claims = read_claims(page) if page.exists() else []
        facts = [one for one in claims if is_fact(one)]
        counts = Counter(one.holds.strip("*") for one in claims if not is_fact(one))
        link = f"[{name}]({name}.md)" if page.exists() else name
        confirmed = f"{sum(one.holds == 'holds' for one in facts)} of {len(facts)}" if facts else "–"
        lines.append([f"{link}: {text}", *(counts[verdict] for verdict in VERDICTS), confirmed])
    parts = {"papers": table(["paper and its claim", *VERDICTS, "proven facts confirmed"], lines)}
    for name in PAPERS:
        page = folder / f"{name}.md"
        if name != written and page.exists() and unknown_claims(page, name):
            texts = [f"Its page is older than this summary: run `python -m experiments.{name} --only`.", ""]
        else:
            texts = [answer(page, name), main_claims(page, name)]
        parts |= dict(zip((f"{name}_answer", name), texts, strict=True))
    write_page(folder / "README.md", Path(__file__).with_name("summary.md"), parts)


def main_claims(page: Path, name: str) -> str:
    """Return for which data the main claims of a paper hold."""
    if not page.exists():
        return "Not run yet."
    claims, unknown = read_claims(page), unknown_claims(page, name)
    if unknown:
        raise ValueError(f"{page.name} must have the main claims among its own, got none of {sorted(unknown)}")
    return digest(one for text in MAIN[name] for one in claims if one.claim == text)


def unknown_claims(page: Path, name: str) -> set[str]:
    """Return the main claims of a paper that its page does not have."""
    return set(MAIN[name]) - {one.claim for one in read_claims(page)}


def answer(page: Path, name: str) -> str:
    """Return in words how often the main claims of a paper hold."""
    if not page.exists():
        return "Not run yet."
    claims = read_claims(page)
    return ANSWERS[name].format(*(_holding([one for one in claims if one.claim == text]) for text in MAIN[name]))


def _holding(claims: list[Claim]) -> str:
    """Say for how many of the data that were tried a claim holds."""
    tried = [one for one in claims if one.holds != VERDICTS[-1]]
    return f"{sum(one.holds == VERDICTS[0] for one in tried)} of {len(tried)}"
