"""The results page of the sigmoidF1 paper, from stored rows."""

import statistics
from dataclasses import replace
from pathlib import Path

from experiments.pages import NOT_RUN, Claim, claim_table, digest, provenance, table, write_page
from experiments.rows import Row
from experiments.sentence_features import ENCODER, TOKENS
from experiments.sigmoid_f1 import faults
from experiments.sigmoid_f1.grid import BATCHES, BETAS, EMPTY, ETAS, LOSSES, MAP, MAPPED, PUBLISHED, RATES, SEEDS
from experiments.sigmoid_f1.tasks import TASKS
from experiments.verdicts import RULE, sign, verdict
from labelproof.training import RunRecord

COMMAND = "python -m experiments.sigmoid_f1"
RULES = ("at .5", "at 0.05", "tuned", "tuned for each label", "averaged")
THRESHOLDS = {
    "at .5": "threshold 0.5",
    "at 0.05": "threshold 0.05",
    "tuned": "one tuned threshold",
    "tuned for each label": "one tuned threshold per label",
}
Runs = dict[str, dict[str, list[RunRecord]]]


def write(
    path: Path,
    runs: Runs,
    heat: list[RunRecord],
    batches: list[RunRecord],
    rows: list[Row],
    faulty: list[Row],
    times: list[Row],
    repeated: list[Row],
) -> None:
    """Write the page."""
    stored = [record for losses in runs.values() for some in losses.values() for record in some]
    claims = _claims(runs, rows, times)
    parts = {
        "digest": digest(claims),
        "claims": claim_table(claims),
        "rule": RULE,
        "encoder": ENCODER,
        "tokens": str(TOKENS),
        "shares": _shares(),
        "rates": " and ".join(map(str, RATES)),
        "losses": "\n".join(_losses(name, losses) for name, losses in runs.items()) or "No run is stored yet.",
        "heat": _heat(heat),
        "mapped": MAPPED,
        "batches": _batches(batches),
        "times": _times(times),
        "published": _published(rows),
        "faults": faults.section(faulty),
        "missing": "\n".join(f"- {line}" for line in _missing(runs, heat, batches, rows, faulty)),
        "provenance": provenance([*stored, *heat, *batches, *rows, *faulty, *times], COMMAND, repeated),
    }
    write_page(path, Path(__file__).with_name("page.md"), parts)


def _shares() -> str:
    """Say of which data sets only a share is used."""
    names = [name for name, task in TASKS.items() if task.most and task.texts == "words"]
    most = {TASKS[name].most for name in names}
    return f"For time, {' and '.join(names)} have at most {max(most):,} random examples in each part."


def _mean(runs: list[RunRecord], rule: str, metric: str) -> float:
    return statistics.fmean(run.measured[rule][metric] for run in runs)


def _values(runs: list[RunRecord], rule: str) -> list[float]:
    return [run.measured[rule]["weighted-f1"] for run in runs]


def _seeds(losses: dict[str, list[RunRecord]]) -> int:
    """Return how many seeds all losses of the paper have."""
    return min(len(losses[loss]) for loss in PUBLISHED)


def _claims(runs: Runs, rows: list[Row], times: list[Row]) -> list[Claim]:
    claims = []
    for name in TASKS:
        losses, text = runs.get(name, {}), "of five losses sigmoidF1 has the best weighted F1"
        found = [_best_is(f"{text}, {words}", losses, rule) for rule, words in THRESHOLDS.items()]
        claims += [replace(claim, data=name) for claim in [*found, _averaging(losses)]]
    return [*claims, _time(times), *_published_claims(rows)]


def _best_is(text: str, losses: dict[str, list[RunRecord]], rule: str) -> Claim:
    paper = "yes" if rule.startswith("at") else "–"
    if not all(loss in losses for loss in PUBLISHED):
        return Claim(text, paper, "–", NOT_RUN)
    means = {loss: _mean(losses[loss], rule, "weighted-f1") for loss in PUBLISHED}
    said = ", ".join(f"{loss} {100 * value:.1f}" for loss, value in means.items())
    ours = _values(losses["sigmoidF1"], rule)
    signs = [sign(ours, _values(losses[loss], rule)) for loss in PUBLISHED if loss != "sigmoidF1"]
    return Claim(text, paper, said, verdict(signs), _seeds(losses))


def _averaging(losses: dict[str, list[RunRecord]]) -> Claim:
    text = "averaging thresholds is worse than a fixed one of 0.05, for every loss (Table 4)"
    if not all(loss in losses for loss in PUBLISHED):
        return Claim(text, "yes", "–", NOT_RUN)
    pairs = {loss: [_mean(losses[loss], rule, "weighted-f1") for rule in ("at 0.05", "averaged")] for loss in PUBLISHED}
    said = ", ".join(f"{loss} {100 * a:.1f} → {100 * b:.1f}" for loss, (a, b) in pairs.items())
    signs = [sign(_values(losses[loss], "at 0.05"), _values(losses[loss], "averaged")) for loss in PUBLISHED]
    return Claim(text, "yes", said, verdict(signs), _seeds(losses))


def _time(times: list[Row]) -> Claim:
    text = "a step takes the same time with every loss, within a quarter (Table 6); here of a linear head alone"
    sizes = sorted({row["setting"]["labels"] for row in times})
    if not sizes:
        return Claim(text, "yes", "–", NOT_RUN)
    ratios = {size: _relative(times, size) for size in sizes}
    worst = {size: max(some, key=lambda loss: some[loss]) for size, some in ratios.items()}
    said = ", ".join(f"{size} labels: {worst[size]} {ratios[size][worst[size]]:.2f}" for size in sizes)
    close = all(0.8 <= value <= 1.25 for some in ratios.values() for value in some.values())
    return Claim.judged(text, "yes", f"slowest, relative to BCE: {said}", close)


def _relative(times: list[Row], size: int) -> dict[str, float]:
    """Return the time of a step with each loss relative to BCE."""
    found = {row["setting"]["loss"]: row["result"]["milliseconds"] for row in times if row["setting"]["labels"] == size}
    return {loss: value / found["BCE"] for loss, value in found.items()}


def _times(times: list[Row]) -> str:
    if not times:
        return "Not run yet."
    lines = [
        [f"{size} labels", *(f"{_relative(times, size)[loss]:.2f}" for loss in PUBLISHED)]
        for size in sorted({row["setting"]["labels"] for row in times})
    ]
    return table(["a step, relative to BCE", *PUBLISHED], lines)


def _published_claims(rows: list[Row]) -> list[Claim]:
    text = "the published code with β = 1, η = 9 as printed learns (weighted F1 at 0.05 above that of BCE)"
    of = {
        loss: [row["result"]["weighted-f1 at 0.05"] for row in rows if row["setting"]["loss"] == loss]
        for loss in _names(rows)
    }
    printed = next((loss for loss in of if "as printed" in loss), None)
    if printed is None:
        return [Claim(text, "yes", "–", NOT_RUN)]
    ours, bce = of[printed], of["BCE"]
    said = f"{100 * statistics.fmean(ours):.1f}, BCE {100 * statistics.fmean(bce):.1f}"
    return [Claim(text, "yes", said, verdict([sign(ours, bce)]), min(len(ours), len(bce)))]


def _names(rows: list[Row]) -> list[str]:
    return list(dict.fromkeys(row["setting"]["loss"] for row in rows))


def _losses(name: str, losses: dict[str, list[RunRecord]]) -> str:
    lines = []
    for loss, runs in losses.items():
        values = [
            _spread([run.measured[rule][metric] for run in runs]) for rule in RULES for metric in ("weighted-f1",)
        ]
        others = [_spread([run.measured["tuned"]["micro-f1"] for run in runs])]
        others += [_spread([run.measured["tuned for each label"]["macro-f1"] for run in runs])]
        lines.append([loss, len(runs), *values, *others, _spread([run.measured[MAP] for run in runs])])
    head = ["loss", "seeds", *(f"weighted F1, {rule}" for rule in RULES), "micro-F1, tuned", "macro-F1, tuned", "mAP"]
    size = next(iter(losses.values()))[0]
    about = f"{size.data['examples']:,} examples, {size.data['labels']} labels."
    return "\n".join(
        [f"### {name}", "", about, "", f"![{name}](pictures/sigmoid_f1_{name}.png)", "", table(head, lines)]
    )


def _heat(records: list[RunRecord]) -> str:
    if not records:
        return "Not run yet."
    scores = {(r.changes["loss.beta"], r.changes["loss.eta"]): r.measured["at .5"]["weighted-f1"] for r in records}
    ends = [(pick(scores, key=lambda pair: scores[pair]), word) for pick, word in ((max, "best"), (min, "worst"))]
    said = " and ".join(
        f"{word} at β = {beta:g}, η = {eta:g} ({100 * scores[beta, eta]:.1f})" for (beta, eta), word in ends
    )
    return f"One seed; {said}.\n\n![weighted F1 over β and η](pictures/sigmoid_f1_heat.png)"


def _batches(records: list[RunRecord]) -> str:
    if not records:
        return "Not run yet."
    lines = []
    for size in BATCHES:
        cells = []
        for empty in EMPTY:
            key = {"loss.empty": empty, "trainer.batch_size": size}
            some = [r.measured["tuned for each label"]["macro-f1"] for r in records if key.items() <= r.changes.items()]
            cells.append(_spread(some) if some else "–")
        lines.append([f"{size} examples", *cells])
    return "Macro-F1 of sigmoidF1 with one tuned threshold per label.\n\n" + table(["batch", *EMPTY], lines)


def _published(rows: list[Row]) -> str:
    if not rows:
        return "Not run yet."
    names = ("weighted-f1 at 0.05", "weighted-f1 at 0.5", "macro-f1 at 0.5", "mAP")
    lines = []
    for loss in _names(rows):
        some = [row["result"] for row in rows if row["setting"]["loss"] == loss]
        cells = [_spread([one[name] for one in some]) for name in names]
        first, last = (statistics.fmean(one[f"{end} loss"] for one in some) for end in ("first", "last"))
        lines.append([loss, *cells, f"{first:.4f} → {last:.4f}"])
    return table(["loss", *names, "loss, first → last"], lines)


def _missing(
    runs: Runs, heat: list[RunRecord], batches: list[RunRecord], rows: list[Row], faulty: list[Row]
) -> list[str]:
    lines = []
    for name in TASKS:
        done, whole = sum(len(some) for some in runs.get(name, {}).values()), len(SEEDS) * len(LOSSES)
        if done < whole:
            lines.append(f"The losses on {name}: {done} of {whole} runs (losses and seeds) done.")
    if len(heat) < len(BETAS) * len(ETAS):
        lines.append(f"The map over β and η: {len(heat)} of {len(BETAS) * len(ETAS)} runs done.")
    if len(batches) < 3 * len(BATCHES) * len(EMPTY):
        lines.append(
            f"Batch size and labels without a positive: {len(batches)} of {3 * len(BATCHES) * len(EMPTY)} runs done."
        )
    if not rows:
        lines.append("The published code and the definition.")
    if not faulty:
        lines.append("The published code's other faults.")
    return [
        *lines,
        "MS-COCO, Pascal VOC and movie posters, which were not available.",
        "The paper's tuning of β and η for each data set, and of the options of focal loss and ASL.",
    ]


def _spread(values: list[float]) -> str:
    text = f"{100 * statistics.fmean(values):.1f}"
    return text if len(values) < 2 else f"{text} ± {100 * statistics.stdev(values):.1f}"
