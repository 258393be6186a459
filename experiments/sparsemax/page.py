"""The results page of the sparsemax paper, from stored rows."""

from pathlib import Path

from experiments.pages import NOT_RUN, Claim, claim_table, provenance, table, write_page
from experiments.rows import Row
from experiments.sparsemax import proportions
from experiments.sparsemax.benchmark import HARMONIC, LOSSES, REMEMBERED, SETS, Tuned
from experiments.sparsemax.maps import distance_from_huber
from labelproof.training.run_records import RunRecord
from labelproof.training.run_summaries import Spread, spread

COMMAND = "python -m experiments.sparsemax"


def write(path: Path, rows: list[Row], tuned: dict[str, list[Tuned]], records: list[RunRecord]) -> None:
    """Write the page."""
    missing = ["Attention for natural language inference on SICK and SNLI."]
    missing += [f"The multi-label table on {name}." for name in SETS if name not in tuned]
    missing += [f"RCV1, which is not to be had here; {SETS[-1]} (R90) stands in for it."]
    parts = {
        "claims": claim_table(_claims(rows, tuned)),
        "protocol": _protocol(),
        "proportions": _errors(rows),
        "benchmark": _benchmark(tuned),
        "missing": "\n".join(f"- {line}" for line in missing),
        "provenance": provenance([*rows, *records], COMMAND),
    }
    write_page(path, Path(__file__).with_name("page.md"), parts)


def _claims(rows: list[Row], tuned: dict[str, list[Tuned]]) -> list[Claim]:
    near = distance_from_huber() < 1e-12
    return [
        Claim.judged(
            "the binary sparsemax loss is the modified Huber loss",
            "exactly",
            "within 10⁻¹²" if near else "further than 10⁻¹²",
            near,
        ),
        *(_proportion_claim(rows, mixture, value) for mixture in ("uniform", "random") for value in ("mse", "jsd")),
        *_benchmark_claims(tuned),
        Claim(
            "sparsemax attention is as accurate as softmax on NLI, with fewer words attended", "about ¼", "–", NOT_RUN
        ),
    ]


def _proportion_claim(rows: list[Row], mixture: str, value: str) -> Claim:
    """Judge the figure at its longest documents, for every number of labels."""
    text = f"long documents, {mixture} mixtures: sparsemax has the smaller {value.upper()}"
    if not rows:
        return Claim(text, "yes", "–", NOT_RUN)
    length = max(row["setting"]["length"] for row in rows)
    said, verdicts = [], []
    for size in sorted({row["setting"]["n_labels"] for row in rows}):
        pair = [
            proportions.mean_of(rows, value, mixture=mixture, length=length, n_labels=size, activation=name)
            for name in proportions.ALPHAS
        ]
        if None not in pair:
            said.append(f"K = {size}: {pair[0]:.5f} → {pair[1]:.5f}")
            verdicts.append(pair[1] < pair[0])
    return Claim.judged(text, "yes", "; ".join(said) or "–", all(verdicts) if verdicts else None)


def _benchmark_claims(tuned: dict[str, list[Tuned]]) -> list[Claim]:
    """Judge which loss is best: held, undecided within one deviation, or not."""
    found = []
    for name, values in REMEMBERED.items():
        for place, (metric, words) in enumerate({"micro-f1": "micro-F1", HARMONIC: "harmonic macro-F1"}.items()):
            theirs = max(LOSSES, key=lambda loss: values[list(LOSSES).index(loss)][place])
            ours = {loss: _value(tuned, name, loss, metric) for loss in LOSSES}
            text = f"{name}: the best loss by {words}"
            means = {loss: one for loss, one in ours.items() if one is not None}
            if len(means) < len(LOSSES):
                found.append(Claim(text, theirs, "–", NOT_RUN))
                continue
            best = max(means, key=lambda loss: means[loss].mean)
            close = means[best].mean - means[theirs].mean <= max(one.deviation or 0.0 for one in means.values())
            verdict = "holds" if best == theirs else "undecided" if close else "**does not hold**"
            said = "; ".join(f"{loss} {_per_cent(one)}" for loss, one in means.items())
            found.append(Claim(text, theirs, said, verdict))
    return found


def _protocol() -> str:
    decays = ", ".join(f"{decay:g}" for decay in proportions.DECAYS)
    return (
        f"Linear models by L-BFGS on standardised word shares, {proportions.TRAINING:,} documents to train, 1,000 to\n"
        f"test, the penalty out of {decays} by {proportions.FOLDS} folds (least JSD)."
    )


def _errors(rows: list[Row]) -> str:
    """Return errors, and how many labels sparsemax gives a positive share, at the ends of the figure."""
    lengths = sorted({row["setting"]["length"] for row in rows})
    lines = []
    for size in sorted({row["setting"]["n_labels"] for row in rows}):
        for mixture in ("uniform", "random"):
            for length in (lengths[0], lengths[-1]):
                at = {"n_labels": size, "mixture": mixture, "length": length}
                pair = [
                    proportions.mean_of(rows, value, activation=name, **at)
                    for value in ("mse", "jsd")
                    for name in proportions.ALPHAS
                ]
                support = proportions.mean_of(rows, "support", activation="sparsemax", **at)
                cells = ["–" if value is None else f"{value:.5f}" for value in pair]
                lines.append([f"{mixture}, K = {size}, length {length}", *cells, support and f"{support:.2f}"])
    head = ["setting", "MSE softmax", "MSE sparsemax", "JSD softmax", "JSD sparsemax", "labels above 0"]
    return table(head, lines)


def _benchmark(tuned: dict[str, list[Tuned]]) -> str:
    lines = []
    for name in dict.fromkeys([*SETS, *tuned]):
        for place, loss in enumerate(LOSSES):
            if _value(tuned, name, loss, "micro-f1") is not None:
                paper = REMEMBERED.get(name)
                cells = [_per_cent(_value(tuned, name, loss, metric)) for metric in ("micro-f1", HARMONIC, "macro-f1")]
                theirs = ("–", "–") if paper is None else tuple(f"{value:.2f}" for value in paper[place])
                lines.append([f"{name}, {loss}", theirs[0], cells[0], theirs[1], cells[1], cells[2]])
    head = ["data, loss", "micro-F1, paper", "ours", "harmonic macro-F1, paper", "ours", "macro-F1, ours"]
    return table(head, lines)


def _value(tuned: dict[str, list[Tuned]], name: str, loss: str, metric: str) -> Spread | None:
    return spread([one.record for one in tuned.get(name, []) if one.loss == loss], f"test/{metric}")


def _per_cent(value: Spread | None) -> str:
    if value is None:
        return "–"
    return f"{100 * value.mean:.2f}" + ("" if value.deviation is None else f" ± {100 * value.deviation:.2f}")
