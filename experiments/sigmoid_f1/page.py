"""The results page of the sigmoidF1 paper, from stored rows."""

import statistics
from pathlib import Path

from experiments.pages import claim_table, digest, provenance, table, write_page
from experiments.rows import Row
from experiments.sentence_features import ENCODER, TOKENS
from experiments.sigmoid_f1 import faults, pictures
from experiments.sigmoid_f1.claims import Runs, claims_of, names_of, relative_times
from experiments.sigmoid_f1.grid import BATCHES, BETAS, EMPTY, ETAS, LOSSES, MAP, MAP_SEEDS, MAPPED, PUBLISHED, RATES
from experiments.sigmoid_f1.tasks import TASKS
from experiments.verdicts import RULE
from labelproof.training import RunRecord

COMMAND = "python -m experiments.sigmoid_f1"
RULES = {
    "at .5": "at 0.5",
    "at 0.05": "at 0.05",
    "tuned": "tuned",
    "tuned for each label": "tuned for each label",
    "averaged": "averaged",
}
MAIN_RULES = tuple(RULES)[:4]
OTHERS = {"micro-f1": "micro-F1", "macro-f1": "macro-F1", "macro-precision": "precision"}
THEIRS = {  # texts, whose rare labels are left out, and what the paper has of them
    "hallmarks_of_cancer": "33 labels, 1,582 examples",
    "chemical_exposure": "38 labels, 3,661 examples",
    "arxiv": "145 labels that at least 1,000 of 26,558 examples have",
    "reuters21578": "",
}


def write(
    path: Path,
    stored: list[RunRecord],
    runs: Runs,
    heat: list[RunRecord],
    batches: list[RunRecord],
    rows: list[Row],
    faulty: list[Row],
    times: list[Row],
    repeated: list[Row],
    parts_of_run: tuple[str, ...],
) -> None:
    """Write the page; of all that is ``stored`` about losses, ``runs`` have the better learning rate."""
    claims = claims_of(runs, heat, rows, times)
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
        "provenance": provenance([*stored, *heat, *batches, *rows, *faulty, *times], COMMAND, repeated, parts_of_run),
    }
    write_page(path, Path(__file__).with_name("page.md"), parts)


def _shares() -> str:
    """Say of which data sets only a share is used."""
    names = [name for name, task in TASKS.items() if task.most and task.texts == "words"]
    most = {TASKS[name].most for name in names}
    return f"For time, {' and '.join(names)} have at most {max(most):,} random examples in each part."


def _times(times: list[Row]) -> str:
    if not times:
        return "Not run yet."
    lines = [
        [f"{size} labels", *(f"{relative_times(times, size)[loss]:.2f}" for loss in PUBLISHED)]
        for size in sorted({row["setting"]["labels"] for row in times})
    ]
    return table(["a step, relative to BCE", *PUBLISHED], lines)


def _losses(name: str, losses: dict[str, list[RunRecord]]) -> str:
    lines, others = [], []
    for loss, runs in losses.items():
        values = [_spread([run.measured[rule]["weighted-f1"] for run in runs]) for rule in RULES]
        lines.append([loss, len(runs), *values, _spread([run.measured[MAP] for run in runs])])
        means = [
            statistics.fmean(run.measured[rule][metric] for run in runs) for rule in MAIN_RULES for metric in OTHERS
        ]
        others.append([loss, *(f"{100 * mean:.1f}" for mean in means)])
    head = ["loss", "seeds", *(f"weighted F1, {word}" for word in RULES.values()), "mAP"]
    second = ["loss (means)", *(f"{metric}, {RULES[rule]}" for rule in MAIN_RULES for metric in OTHERS.values())]
    size = next(iter(losses.values()))[0]
    about = f"{size.data['examples']:,} examples, {size.data['labels']} labels{_reduced(name)}."
    picture = f"![{name}](pictures/sigmoid_f1_{name}.png)"
    return "\n".join(
        [f"### {name}", "", about, "", picture, "", table(head, lines), "", table(second, others)],
    )


def _reduced(name: str) -> str:
    """Say which labels are left out, and which the paper has."""
    least = TASKS[name].least if name in TASKS else 1
    said = f" that at least {least} of them have" if name in THEIRS else ""
    return said + (f" (paper: {THEIRS[name]})" if THEIRS.get(name) else "")


def _heat(records: list[RunRecord]) -> str:
    if not records:
        return "Not run yet."
    scores = pictures.heat_scores(records)
    ends = [(pick(scores, key=lambda pair: scores[pair]), word) for pick, word in ((max, "best"), (min, "worst"))]
    said = " and ".join(
        f"{word} at β = {beta:g}, η = {eta:g} ({100 * scores[beta, eta]:.1f})" for (beta, eta), word in ends
    )
    n_seeds = len({record.seed for record in records})
    seeds = "One seed" if n_seeds == 1 else f"Mean over {n_seeds} seeds"
    return f"{seeds}: {said}.\n\n![weighted F1 over β and η](pictures/sigmoid_f1_heat.png)"


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
    for loss in names_of(rows):
        some = [row["result"] for row in rows if row["setting"]["loss"] == loss]
        cells = [_spread([one[name] for one in some]) for name in names]
        first, last = (statistics.fmean(one[f"{end} loss"] for one in some) for end in ("first", "last"))
        lines.append([loss, *cells, f"{first:.4f} → {last:.4f}"])
    return table(["loss", *names, "loss, first → last"], lines)


def _missing(
    runs: Runs, heat: list[RunRecord], batches: list[RunRecord], rows: list[Row], faulty: list[Row]
) -> list[str]:
    lines = []
    for name, task in TASKS.items():
        done, whole = sum(len(some) for some in runs.get(name, {}).values()), task.seeds * len(LOSSES)
        if done < whole:
            lines.append(f"The losses on {name}: {done} of {whole} runs (losses and seeds) done.")
    mapped = len(BETAS) * len(ETAS) * len(MAP_SEEDS)
    if len(heat) < mapped:
        lines.append(f"The map over β and η: {len(heat)} of {mapped} runs done.")
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
        "reuters21578 and arxiv with the sentence encoder, for time.",
        "MS-COCO, Pascal VOC and movie posters, which were not available.",
        "The paper's tuning of β and η for each data set, and of the options of focal loss and ASL.",
    ]


def _spread(values: list[float]) -> str:
    text = f"{100 * statistics.fmean(values):.1f}"
    return text if len(values) < 2 else f"{text} ± {100 * statistics.stdev(values):.1f}"
