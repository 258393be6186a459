"""The results page of the sigmoid-bottleneck paper, from stored rows."""

import statistics
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

from experiments.pages import NOT_RUN, Claim, as_facts, claim_table, digest, facts_line, provenance, table, write_page
from experiments.rows import Row
from experiments.sigmoid_bottleneck import arrangements, facts, radii, speed, variants, widths
from experiments.sigmoid_bottleneck.grid import BANDS, BEYOND, PATIENCE, TOPK, share
from experiments.sigmoid_bottleneck.grid_claims import claims_of, f1, of
from experiments.sigmoid_bottleneck.tasks import CNN, HEADS, MOST_SETS, TASKS, TERMS, TITLES, WIDTHS, Task
from experiments.verdicts import RULE, seen, spread_text
from labelproof.training import RunRecord

COMMAND = "python -m experiments.sigmoid_bottleneck"
Results = dict[str, dict[str, dict[int, list[RunRecord]]]]
OPEN = ("MIMIC-III, BioASQ and OpenImages, which were not available.",)


def write(
    path: Path,
    rows: list[Row],
    found: Results,
    needed: list[widths.Needed],
    width_runs: list[RunRecord],
    variant_runs: dict[str, list[RunRecord]],
    stored: list[Row],
    timed: list[Row],
    repeated: list[Row],
    parts_of_run: tuple[str, ...],
) -> None:
    """Write the page."""
    plain = found.get(variants.TASK, {}).get("dft", {}).get(variants.WIDTH, [])
    records = [
        record for heads in found.values() for widths in heads.values() for some in widths.values() for record in some
    ]
    varied = [run for runs in variant_runs.values() for run in runs]
    missing = [f"Figure 5 on {TASKS[name].title}: {text}" for name, text in _coverage(found).items() if text] + list(
        OPEN
    )
    grid_claims = [claim for name in TASKS for claim in claims_of(name, found.get(name, {}))]
    claims = [*grid_claims, *_radius_claims(rows), *variants.claims(variant_runs, plain, stored)]
    small = as_facts(_theory())
    parts = {
        "digest": digest(claims),
        "facts": facts_line(small, "that the paper proves, or that its code's tests assert,"),
        "claims": claim_table([*claims, *small]),
        "widths": widths.section(needed, "pictures/sigmoid_bottleneck_widths.png"),
        "variants": variants.section(variant_runs, plain),
        "stored": variants.stored_section(stored),
        "rule": RULE,
        "counts": table(
            ["features d", "log₁₀ of the share"], [(d, f"{value:.4g}") for d, value in arrangements.count_table()]
        ),
        "radius_protocol": _radius_protocol(rows),
        "radii": _radii(rows),
        "patience": str(PATIENCE),
        "terms": f"{TERMS:,}",
        "most_sets": f"{MOST_SETS:,}",
        "most_topk": f"{TOPK * MOST_SETS:.0f}",
        "beyond": f"{BEYOND * MOST_SETS:.0f}",
        "figure5": _figure5(found),
        "verification": _verification(found),
        "missing": "\n".join(f"- {line}" for line in missing),
        "speed": speed.section(timed, found),
        "provenance": provenance(
            [*rows, *stored, *timed, *records, *width_runs, *varied], COMMAND, repeated, parts_of_run
        ),
    }
    write_page(path, Path(__file__).with_name("page.md"), parts)


def _theory() -> list[Claim]:
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
    for (name, count), paper in zip(arrangements.small_counts().items(), (6, 7, 8), strict=True):
        text = "Cover's count of the label sets that a small layer can predict"
        claims.append(replace(Claim.judged(text, str(paper), str(count), count == paper), data=name))
    can, whole = arrangements.few_active()
    text = "with d = 2k + 1 DFT columns every set of up to k labels can be predicted (n = 12, k = 2, as stored)"
    return [*claims, Claim.judged(text, "all", f"{can} of {whole}", can == whole), *facts.claims()]


def _radius_claims(rows: list[Row]) -> list[Claim]:
    claims = []
    sizes = sorted({row["setting"]["n"] for row in rows})
    for k in sorted({row["setting"]["k"] for row in rows}):
        alone = [radii.mean_log(rows, "first percentile", layer="dft", k=k, n=n) for n in sizes]
        slack = [radii.mean_log(rows, "first percentile", layer="slack", k=k, n=n) for n in sizes]
        if None in alone or None in slack:
            continue
        said = f"{alone[0]:.1e} → {alone[-1]:.1e}; with learnable columns {slack[-1]:.1e}"
        shrinks = all(b <= a for a, b in pairwise(alone))
        grows = all(b > a for a, b in zip(alone, slack, strict=True))
        text = f"radii shrink from n = {sizes[0]} to {sizes[-1]}, and 16 learnable columns make them larger"
        n_seeds = len({row["setting"]["seed"] for row in rows})
        claims.append(Claim(text, "yes", said, seen(shrinks and grows, n_seeds), n_seeds, f"k = {k}"))
    return [*claims, _parametrisation(rows)]


def _parametrisation(rows: list[Row]) -> Claim:
    """Compare the two parametrisations in Gr⁺ at every n and k, by the mean logarithm of the radius over seeds."""
    text = (
        "open question of the paper: of two layers in Gr⁺, DFT columns have larger radii than orthonormal polynomials"
    )
    ratios = []
    for n, k in sorted({(row["setting"]["n"], row["setting"]["k"]) for row in rows}):
        pair = [radii.mean_log(rows, "first percentile", layer=name, n=n, k=k) for name in ("dft", "vandermonde")]
        if pair[0] and pair[1]:
            ratios.append(pair[0] / pair[1])
    if not ratios:
        return Claim(text, "–", "–", NOT_RUN)
    n_seeds = len({row["setting"]["seed"] for row in rows})
    said = f"{min(ratios):.2g} to {max(ratios):.2g} times as large, {len(ratios)} pairs of n and k"
    return Claim(text, "–", said, seen(min(ratios) > 1, n_seeds), n_seeds)


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
    """Return what is missing of each task's grid; how many runs there are depends on the number of labels."""
    texts = {}
    for name, task in TASKS.items():
        heads = found.get(name, {})
        if not heads:
            texts[name] = "nothing done."
            continue
        n_labels = _some_run(heads).data["labels"]
        planned = {(head, width) for width in task.widths for head in task.heads(width, n_labels)}
        missing = {pair: len(task.seeds) - len(heads.get(pair[0], {}).get(pair[1], [])) for pair in planned}
        lacking = {pair: n for pair, n in missing.items() if n > 0}
        named = [f"{head} ({_numbers(lacking, head)})" for head in HEADS if any(pair[0] == head for pair in lacking)]
        n_runs = len(planned) * len(task.seeds)
        done = f"{n_runs - sum(lacking.values())} of {n_runs} runs done; missing are {'; '.join(named)}."
        texts[name] = done if lacking else ""
    return texts


def _numbers(lacking: dict[tuple[str, int], int], head: str) -> str:
    return ", ".join(f"d = {width}: {n}" for (name, width), n in sorted(lacking.items()) if name == head)


def _some_run(heads: dict[str, dict[int, list[RunRecord]]]) -> RunRecord:
    return next(iter(next(iter(heads.values())).values()))[0]


def _figure5(found: Results) -> str:
    parts = []
    for name in [*TASKS, *(other for other in found if other not in TASKS)]:
        if name not in found:
            continue
        heads = found[name]
        some = _some_run(heads)
        about = f"{some.data['examples']:,} examples{_about(TASKS.get(name))}, {some.data['labels']:,} labels."
        if name in TASKS:
            about += f" The DFT head has k = {TASKS[name].k}, and F1@k is F1@{TASKS[name].at}."
        about += _verified(name, heads)
        columns = ["head", "seeds", "% can be predicted", "% top k", "% beyond k", "F1@k"]
        columns += [f"AP, {band}" for band in BANDS] + ["parameters", "epochs", "verification, CPU s"]
        lines = [
            _line(f"{head}, d = {width}", runs) for head in HEADS for width, runs in sorted(heads.get(head, {}).items())
        ]
        picture = f"![{name}](pictures/sigmoid_bottleneck_{name}.png)"
        parts += [f"### {TITLES.get(name, name)}", "", about, "", picture, "", table(columns, lines)]
    return "\n".join(parts) or "No run is stored yet."


def _verification(found: Results) -> str:
    """Return the CPU time of a proof, by data set and width of the bottleneck and of the DFT head."""
    lines = []
    for name in TASKS:
        for head in HEADS[:2]:
            runs = found.get(name, {}).get(head, {})
            if runs:
                cells = [f"{statistics.fmean(map(_milliseconds, runs[d])):.2f}" if d in runs else "–" for d in WIDTHS]
                lines.append([f"{TASKS[name].title}, {head}", _some_run(found[name]).data["labels"], *cells])
    return table(["data, head", "labels n", *(f"d = {d}" for d in WIDTHS)], lines) if lines else "Not run yet."


def _milliseconds(run: RunRecord) -> float:
    n_sets = sum(kind["sets"] for kind in run.measured["proven"].values())
    return 1000 * run.measured["verification seconds"] / n_sets


def _about(task: Task | None) -> str:
    """Say what is special about a task."""
    if task is None:
        return ""
    texts = {
        "sentences": "texts as 384 features of a frozen sentence encoder",
        "cnn": f"the first {CNN['max_tokens']} words through a learned convolution with {CNN['maps']} maps",
    }
    said = [" chosen at random, for time"] if task.most else []
    said += [f" with {texts[task.texts]}"] if task.texts in texts else []
    said += [" with all labels, also those that the training or the test part lacks"] if task.every else []
    return ",".join(said)


def _verified(name: str, heads: dict[str, dict[int, list[RunRecord]]]) -> str:
    """Say of a task how many sets were verified, where they are fewer, and how many verdicts are open."""
    kinds = [
        kind
        for widths in heads.values()
        for runs in widths.values()
        for run in runs
        for kind in run.measured["proven"].values()
    ]
    left = sum(kind["sets"] - kind["argmaxable"] - kind["unargmaxable"] for kind in kinds)
    said = f" Verified are {TASKS[name].sets} sets, for time." if name in TASKS and TASKS[name].sets < MOST_SETS else ""
    n_sets = sum(kind["sets"] for kind in kinds)
    return said + (
        f" {left:,} of {n_sets:,} verdicts were not reached in time, and count as impossible." if left else ""
    )


def _line(title: str, runs: list[RunRecord]) -> list[Any]:
    """Return the row of one head and width."""
    return [
        title,
        len(runs),
        *(spread_text([100 * value(one) for one in runs], 2) for value in (share, of("topk"), of("beyond"))),
        spread_text([f1(one) for one in runs], 4),
        *(f"{statistics.fmean(one.measured['average precision'][band] for one in runs):.4f}" for band in BANDS),
        f"{runs[0].parameters:,}",
        f"{statistics.fmean(one.epochs for one in runs):.0f}",
        f"{statistics.fmean(one.measured['verification seconds'] for one in runs):.1f}",
    ]
