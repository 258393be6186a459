"""The results page of the sparsemax paper, from stored rows."""

import statistics
from pathlib import Path

from experiments.pages import NOT_RUN, Claim, as_facts, claim_table, digest, facts_line, provenance, table, write_page
from experiments.rows import Row
from experiments.sparsemax import facts, inference, proportions
from experiments.sparsemax.benchmark import HARMONIC, LOSSES, MOST_TEXTS, REMEMBERED, SEEDS, SETS, STANDS_FOR, Tuned
from experiments.verdicts import RULE, UNDECIDED, not_worse, seen, sign, verdict
from labelproof.training.run_records import RunRecord
from labelproof.training.run_summaries import Spread, spread

COMMAND = "python -m experiments.sparsemax"
Attention = dict[str, dict[str, list[RunRecord]]]


def write(
    path: Path,
    rows: list[Row],
    tuned: dict[str, list[Tuned]],
    attention: Attention,
    frequent: dict[str, float],
    records: list[RunRecord],
    repeated: list[Row],
    parts_of_run: tuple[str, ...],
) -> None:
    """Write the page."""
    claims = [*_claims(rows, tuned), *_attention_claims(attention, frequent)]
    small = as_facts(facts.claims())
    parts = {
        "digest": digest(claims),
        "facts": facts_line(small, "that the paper proves"),
        "claims": claim_table([*claims, *small]),
        "rule": RULE,
        "protocol": _protocol(),
        "proportions": _errors(rows),
        "shares": f"Of {SETS[-1]} (R90),\n{MOST_TEXTS:,} random training texts are used, for time, and all test texts.",
        "benchmark": _benchmark(tuned),
        "attention": "\n".join(_attention(name, runs, frequent.get(name)) for name, runs in attention.items())
        or "Not run yet.",
        "missing": "\n".join(f"- {line}" for line in _missing(rows, tuned, attention)),
        "provenance": provenance([*rows, *records], COMMAND, repeated, parts_of_run),
    }
    write_page(path, Path(__file__).with_name("page.md"), parts)


def _missing(rows: list[Row], tuned: dict[str, list[Tuned]], attention: Attention) -> list[str]:
    """Return what is planned and not stored."""
    planned, kinds = len(proportions.settings(smoke=False)), len(inference.ATTENTIONS) * len(inference.SEEDS)
    lines = [f"Figure 3: {len(rows)} of {planned} runs done."] if len(rows) < planned else []
    for name in SETS:
        done = min(sum(one.loss == loss for one in tuned.get(name, [])) for loss in LOSSES)
        if done < len(SEEDS):
            lines.append(f"The multi-label table on {name}: {done} of {len(SEEDS)} seeds done.")
    for name in inference.SETS:
        done = sum(map(len, attention.get(name, {}).values()))
        if done < kinds:
            lines.append(f"Attention on {name}: {done} of {kinds} runs (kinds and seeds) done.")
    other = "The paper's figures beside it are of RCV1."
    return [*lines, f"RCV1, which was not available; reuters21578 (R90) is used instead. {other}"]


def _claims(rows: list[Row], tuned: dict[str, list[Tuned]]) -> list[Claim]:
    return [
        *(_proportion_claim(rows, mixture, value) for value in ("mse", "jsd") for mixture in ("uniform", "random")),
        *_benchmark_claims(tuned),
    ]


def _proportion_claim(rows: list[Row], mixture: str, value: str) -> Claim:
    """Judge the figure at its longest documents, for every number of labels; a seed gives both the same documents."""
    text, data = f"long documents: sparsemax has a smaller {value.upper()} than softmax", f"{mixture} mixtures"
    if not rows:
        return Claim(text, "yes", "–", NOT_RUN, data=data)
    length = max(row["setting"]["length"] for row in rows)
    said, signs, seeds = [], [], []
    for size in sorted({row["setting"]["n_labels"] for row in rows}):
        at = {"mixture": mixture, "length": length, "n_labels": size}
        soft, sparse = (proportions.by_seed(rows, value, activation=name, **at) for name in proportions.ALPHAS)
        both = sorted(soft.keys() & sparse.keys())
        if both:
            means = [statistics.fmean(some[seed] for seed in both) for some in (soft, sparse)]
            said.append(f"K = {size}: {means[0]:.5f} → {means[1]:.5f}")
            signs.append(sign([soft[seed] - sparse[seed] for seed in both], [0.0] * len(both)))
            seeds.append(len(both))
    if not seeds:
        return Claim(text, "yes", "–", NOT_RUN, data=data)
    return Claim(text, "yes", "; ".join(said), verdict(signs), min(seeds), data)


def _benchmark_claims(tuned: dict[str, list[Tuned]]) -> list[Claim]:
    """Judge whether the loss that is best in the paper is better than each of the others."""
    found = []
    for name, values in REMEMBERED.items():
        for place, (metric, words) in enumerate({"micro-f1": "micro-F1", HARMONIC: "harmonic macro-F1"}.items()):
            best = max(LOSSES, key=lambda loss: values[list(LOSSES).index(loss)][place])
            paper = f"{best}: " + " / ".join(f"{some[place]:.2f}" for some in values) + _of_other_data(name)
            ours = {loss: _value(tuned, name, loss, metric) for loss in LOSSES}
            text = f"the loss that is best in the paper has the best {words}"
            means = {loss: one for loss, one in ours.items() if one is not None}
            if len(means) < len(LOSSES):
                found.append(Claim(text, paper, "–", NOT_RUN, data=name))
                continue
            runs = {loss: _values(tuned, name, loss, metric) for loss in LOSSES}
            signs = [sign(runs[best], runs[loss]) for loss in LOSSES if loss != best]
            said = " / ".join(_per_cent(one) for one in means.values())
            found.append(Claim(text, paper, said, verdict(signs), min(one.n for one in means.values()), name))
    return found


def _attention_claims(attention: Attention, frequent: dict[str, float]) -> list[Claim]:
    return [
        claim for name in inference.SETS for claim in (_accuracy(attention, frequent, name), _words(attention, name))
    ]


def _accuracy(attention: Attention, frequent: dict[str, float], name: str) -> Claim:
    """Judge whether sparsemax is not less accurate than softmax; undecided where neither beats the commonest class."""
    text = "attention with sparsemax is as accurate as with softmax, but for a point at most"
    runs, paper = attention.get(name, {}), "82.08 → 82.20 (SNLI)"
    if not {"softmax", "sparsemax"} <= set(runs) or name not in frequent:
        return Claim(text, paper, "–", NOT_RUN, data=name)
    theirs, ours = ([run.value("test/precision@1") or 0.0 for run in runs[kind]] for kind in ("softmax", "sparsemax"))
    said = " → ".join(_per_cent(spread(runs[kind], "test/precision@1")) for kind in ("softmax", "sparsemax"))
    n_seeds = min(len(ours), len(theirs))
    learned = sign(theirs, [frequent[name]] * 2) > 0
    holds = not_worse(ours, theirs, by=0.01) if learned else UNDECIDED
    return Claim(text, paper, f"{said}; most frequent class {100 * frequent[name]:.2f}", holds, n_seeds, name)


def _words(attention: Attention, name: str) -> Claim:
    text = "attention with sparsemax looks at about a quarter of the words (15 to 35 %)"
    runs = attention.get(name, {}).get("sparsemax", [])
    words = spread(runs, "attended")
    if words is None:
        return Claim(text, "about ¼", "–", NOT_RUN, data=name)
    inside = [0.15 <= (run.value("attended") or 0.0) <= 0.35 for run in runs]
    holds = seen(all(inside), len(runs)) if len(set(inside)) == 1 else UNDECIDED
    return Claim(text, "about ¼", _per_cent(words), holds, len(runs), name)


def _attention(name: str, runs: dict[str, list[RunRecord]], frequent: float | None) -> str:
    lines = []
    for kind, some in runs.items():
        words = spread(some, "attended")
        paper = f"{inference.REMEMBERED[kind]:.2f}" if name == "snli" else "–"
        share = "–" if words is None else f"{words.mean:.1%}"
        lines.append([kind, len(some), paper, _per_cent(spread(some, "test/precision@1")), share])
    head = ["attention", "seeds", "accuracy, paper", "accuracy, ours", "words attended"]
    if frequent is not None:
        lines.append(["most frequent class", "–", "–", f"{100 * frequent:.2f}", "–"])
    picture = f"![attention on our own sentences](pictures/sparsemax_attention_{name}.png)"
    return "\n".join([f"### {name}", "", table(head, lines), "", picture, ""])


def _protocol() -> str:
    decays = ", ".join(f"{decay:g}" for decay in proportions.DECAYS)
    return (
        f"Linear models are trained with L-BFGS on standardised word frequencies of {proportions.TRAINING:,}\n"
        f"documents and tested on 1,000; the penalty, out of {decays}, has the lowest JSD in\n"
        f"{proportions.FOLDS}-fold cross-validation."
    )


def _errors(rows: list[Row]) -> str:
    """Return the figure with its errors, and how many labels sparsemax gives a positive share, at its ends."""
    if not rows:
        return "Not run yet."
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
    head = ["setting", "MSE softmax", "MSE sparsemax", "JSD softmax", "JSD sparsemax", "topics above 0"]
    picture = "![errors by document length](pictures/sparsemax_proportions.png)"
    return f"{picture}\n\n{table(head, lines)}"


def _benchmark(tuned: dict[str, list[Tuned]]) -> str:
    lines = []
    for name in dict.fromkeys([*SETS, *tuned]):
        for place, loss in enumerate(LOSSES):
            found = _value(tuned, name, loss, "micro-f1")
            if found is not None:
                paper = REMEMBERED.get(name)
                cells = [_per_cent(_value(tuned, name, loss, metric)) for metric in ("micro-f1", HARMONIC, "macro-f1")]
                other = _of_other_data(name)
                theirs = ("–", "–") if paper is None else tuple(f"{value:.2f}{other}" for value in paper[place])
                lines.append([f"{name}, {loss}", found.n, theirs[0], cells[0], theirs[1], cells[1], cells[2]])
    head = ["data, loss", "seeds", "micro-F1, paper", "ours", "harmonic macro-F1, paper", "ours", "macro-F1, ours"]
    return table(head, lines)


def _of_other_data(name: str) -> str:
    return f" ({STANDS_FOR[name]})" if name in STANDS_FOR else ""


def _values(tuned: dict[str, list[Tuned]], name: str, loss: str, metric: str) -> list[float]:
    return [one.record.value(f"test/{metric}") or 0.0 for one in tuned.get(name, []) if one.loss == loss]


def _value(tuned: dict[str, list[Tuned]], name: str, loss: str, metric: str) -> Spread | None:
    return spread([one.record for one in tuned.get(name, []) if one.loss == loss], f"test/{metric}")


def _per_cent(value: Spread | None) -> str:
    if value is None:
        return "–"
    return f"{100 * value.mean:.2f}" + ("" if value.deviation is None else f" ± {100 * value.deviation:.2f}")
