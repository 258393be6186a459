"""The results page of the sigmoid-bottleneck paper, from stored rows."""

import statistics
from itertools import pairwise
from pathlib import Path
from typing import Any

from experiments.pages import NOT_RUN, Claim, claim_table, provenance, table, write_page
from experiments.rows import Row
from experiments.sigmoid_bottleneck import arrangements, radii
from experiments.sigmoid_bottleneck.grid import HEADS, TASKS, WIDTHS, epochs_to, share
from labelproof.training import RunRecord

COMMAND = "python -m experiments.sigmoid_bottleneck"
Results = dict[str, dict[str, dict[int, list[RunRecord]]]]
OPEN = (
    "Figure 5 with the CNN and with a frozen sentence encoder; MeSH with all labels; Gene Ontology of yeast genes.",
    "Label order, learned nodes, float64, top-k as the decision rule, sets of more than k labels, rare labels.",
    "MIMIC-III, BioASQ and OpenImages, which were not available.",
    "A rule for the width that a data set needs, from its number of labels and of active labels.",
)


def write(path: Path, rows: list[Row], found: Results) -> None:
    """Write the page."""
    records = [
        record for heads in found.values() for widths in heads.values() for some in widths.values() for record in some
    ]
    missing = [f"Figure 5 on {name}: {text}" for name, text in _coverage(found).items() if text] + list(OPEN)
    parts = {
        "claims": claim_table([*_small_claims(rows), *_grid_claims(found)]),
        "counts": table(
            ["features d", "log₁₀ of the share"], [(d, f"{value:.4g}") for d, value in arrangements.count_table()]
        ),
        "radius_protocol": _radius_protocol(rows),
        "radii": _radii(rows),
        "figure5": _figure5(found),
        "missing": "\n".join(f"- {line}" for line in missing),
        "provenance": provenance([*rows, *records], COMMAND),
    }
    write_page(path, Path(__file__).with_name("page.md"), parts)


def _small_claims(rows: list[Row]) -> list[Claim]:
    counted, differing = arrangements.alternation_agrees()
    half = dict(arrangements.count_table())[500]
    text = "Cover's count: at d = n/2, half of all label sets can be predicted"
    claims = [
        Claim.judged(text, "½", f"{10**half:.6f}", abs(10**half - 0.5) < 1e-12),
        Claim.judged(
            "in Gr⁺ just the sets with at most d − 1 sign changes can be predicted (all 1024 sets, n = 10, d = 5)",
            "512",
            f"{counted}; {differing} differ",
            counted == 512 and not differing,
        ),
        Claim.judged(
            "the DFT matrix is in Gr⁺ (n = 8, k = 2, as stored)",
            "yes",
            "yes, by exact minors",
            arrangements.dft_is_cyclic(),
        ),
    ]
    sizes = sorted({row["setting"]["n"] for row in rows})
    for k in sorted({row["setting"]["k"] for row in rows}):
        alone = [radii.mean_log(rows, "first percentile", layer="dft", k=k, n=n) for n in sizes]
        slack = [radii.mean_log(rows, "first percentile", layer="slack", k=k, n=n) for n in sizes]
        if None in alone or None in slack:
            continue
        said = f"{alone[0]:.1e} → {alone[-1]:.1e}; with learnable columns {slack[-1]:.1e}"
        shrinks = all(b <= a for a, b in pairwise(alone))
        grows = all(b > a for a, b in zip(alone, slack, strict=True))
        text = f"k = {k}: radii shrink from n = {sizes[0]} to {sizes[-1]}, and 16 learnable columns make them larger"
        claims.append(Claim.judged(text, "yes", said, shrinks and grows))
    return claims


def _grid_claims(found: Results) -> list[Claim]:
    claims = []
    for name in TASKS:
        heads = found.get(name, {})
        claims += [
            _below(
                f"{name}: the bottleneck can never predict some test sets for d < 200, more as d falls",
                heads,
            ),
            _all_argmaxable(f"{name}: the DFT head can predict (nearly) all of them", heads),
            _better(f"{name}: the DFT head has a better F1@k for d < 200", heads, "dft", "bottleneck"),
            _better(
                f"{name}: also compared with a bottleneck with the k/n start (not in the paper)",
                heads,
                "dft",
                "bottleneck, k/n start",
            ),
            _better(
                f"{name}: also compared with one that has as many features (not in the paper)",
                heads,
                "dft",
                "bottleneck, as many features",
            ),
            _faster(f"{name}: the DFT head needs fewer epochs to reach the bottleneck's best F1@k", heads),
        ]
    return claims


def _means(heads: dict[str, dict[int, list[RunRecord]]], head: str, value: Any) -> dict[int, float]:
    return {width: statistics.fmean(map(value, runs)) for width, runs in sorted(heads.get(head, {}).items())}


def _f1(record: RunRecord) -> float:
    return float(record.measured["f1@k"])


def _below(text: str, heads: dict[str, dict[int, list[RunRecord]]]) -> Claim:
    shares = _means(heads, "bottleneck", share)
    few = [value for width, value in shares.items() if width < 200]
    if len(few) < 2:
        return Claim(text, "yes", "–", NOT_RUN)
    said = ", ".join(f"d = {width}: {value:.1%}" for width, value in shares.items())
    return Claim.judged(text, "yes", said, few[0] < 1 and all(a <= b for a, b in pairwise(few)))


def _all_argmaxable(text: str, heads: dict[str, dict[int, list[RunRecord]]]) -> Claim:
    shares = _means(heads, "dft", share)
    if not shares:
        return Claim(text, "yes", "–", NOT_RUN)
    return Claim.judged(text, "yes", f"at least {min(shares.values()):.2%}", min(shares.values()) > 0.99)


def _better(text: str, heads: dict[str, dict[int, list[RunRecord]]], one: str, other: str) -> Claim:
    ours, theirs = _means(heads, one, _f1), _means(heads, other, _f1)
    both = [width for width in ours if width in theirs and width < 200]
    if not both:
        return Claim(text, "yes" if other == "bottleneck" else "–", "–", NOT_RUN)
    said = ", ".join(f"d = {width}: {ours[width]:.3f} and {theirs[width]:.3f}" for width in both)
    return Claim.judged(
        text, "yes" if other == "bottleneck" else "–", said, all(ours[width] > theirs[width] for width in both)
    )


def _faster(text: str, heads: dict[str, dict[int, list[RunRecord]]]) -> Claim:
    """Compare epochs until the bottleneck's own best validation F1@k, seed by seed; never is more than all."""
    said, verdicts = [], []
    for width in sorted(set(heads.get("bottleneck", {})) & set(heads.get("dft", {}))):
        pairs = []
        for record in heads["bottleneck"][width]:
            target = max(record.measured["epochs"])
            other = next((one for one in heads["dft"][width] if one.seed == record.seed), None)
            if other is not None:
                pairs.append((epochs_to(record, target), epochs_to(other, target)))
        if pairs:
            said.append(f"d = {width}: " + ", ".join(f"{a} → {b or 'never'}" for a, b in pairs))
            verdicts += [b is not None and a is not None and b < a for a, b in pairs]
    return Claim.judged(text, "yes", "; ".join(said) or "–", all(verdicts) if verdicts else None)


def _radius_protocol(rows: list[Row]) -> str:
    seeds = len({row["setting"]["seed"] for row in rows})
    return (
        f"{radii.SETS} random sets of exactly k labels for each of {seeds} seeds, inputs within ±1. Shown is the\n"
        "radius that 99 of 100 sets reach: a proven lower bound, geometric mean over seeds. Learnable columns are\n"
        "normally distributed with a norm of about 1, like those of the DFT. The dotted line, 10⁻⁸, is the smallest\n"
        "radius that the paper's linear programme can tell from 0."
    )


def _radii(rows: list[Row]) -> str:
    lines = []
    sizes = sorted({row["setting"]["n"] for row in rows})
    for layer, title in radii.LAYERS.items():
        for k in sorted({row["setting"]["k"] for row in rows}):
            at = {"layer": layer, "k": k, "n": sizes[-1]}
            some = [row["result"] for row in rows if at.items() <= row["setting"].items()]
            if some:
                low = radii.mean_log(rows, "first percentile", **at)
                high = radii.mean_log(rows, "first percentile, at most", **at)
                shares = [statistics.fmean(one[name] for one in some) for name in ("argmaxable", "unargmaxable")]
                lines.append(
                    [f"{title}, k = {k}, n = {sizes[-1]}", f"{low:.2e}", f"{high:.2e}", *(f"{s:.1%}" for s in shares)]
                )
    return table(["layer", "radius at least", "at most", "can be predicted", "never"], lines)


def _coverage(found: Results) -> dict[str, str]:
    """Return what is missing of each task's grid."""
    texts = {}
    for name in TASKS:
        n_runs = sum(len(some) for widths in found.get(name, {}).values() for some in widths.values())
        whole = 3 * len(WIDTHS) * len(HEADS)
        texts[name] = "" if n_runs >= whole else f"{n_runs} of up to {whole} runs done."
    return texts


def _figure5(found: Results) -> str:
    parts = []
    for name, heads in found.items():
        lines = []
        for head in HEADS:
            for width, some in sorted(heads.get(head, {}).items()):
                shares, scores = [share(one) for one in some], [_f1(one) for one in some]
                lines.append(
                    [
                        f"{head}, d = {width}",
                        len(some),
                        _spread([100 * value for value in shares], 2),
                        _spread(scores, 4),
                        f"{some[0].parameters:,}",
                        f"{statistics.fmean(one.epochs for one in some):.0f}",
                        f"{statistics.fmean(one.seconds for one in some):.0f}",
                    ]
                )
        head_row = ["head", "seeds", "% can be predicted", "F1@k", "parameters", "epochs", "seconds"]
        parts += [f"### {name}", "", f"![{name}](pictures/sigmoid_bottleneck_{name}.png)", "", table(head_row, lines)]
    return "\n".join(parts) or "No run is stored yet."


def _spread(values: list[float], digits: int) -> str:
    text = f"{statistics.fmean(values):.{digits}f}"
    return text if len(values) < 2 else f"{text} ± {statistics.stdev(values):.{digits}f}"
