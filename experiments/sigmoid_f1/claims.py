"""What the stored runs say about the claims of the sigmoidF1 paper, with its own figures where it has them."""

import statistics
from collections.abc import Iterable
from dataclasses import replace

from experiments.pages import NOT_RUN, Claim
from experiments.rows import Row
from experiments.sigmoid_f1.grid import MAP, MAPPED, PUBLISHED
from experiments.sigmoid_f1.tasks import TASKS
from experiments.verdicts import little, sign, verdict
from labelproof.training import RunRecord

THRESHOLDS = {
    "at .5": "threshold 0.5",
    "at 0.05": "threshold 0.05",
    "tuned": "one tuned threshold",
    "tuned for each label": "one tuned threshold per label",
}
OTHERS = (  # the other F1s, at the paper's threshold and with tuned ones
    ("micro-f1", "at 0.05"),
    ("macro-f1", "at 0.05"),
    ("micro-f1", "tuned"),
    ("macro-f1", "tuned for each label"),
)
WORDS = {
    "weighted-f1": "weighted F1",
    "micro-f1": "micro-F1",
    "macro-f1": "macro-F1",
    "macro-precision": "precision",
}
SMALL = ("hallmarks_of_cancer", "chemical_exposure")  # of which the paper has single runs
# BCE, focal, ASL, unboundedF1 and sigmoidF1: Tables 3 and 4, and the single runs of appendix F; metrics by our names
PAPER: dict[tuple[str, str, str], tuple[float | None, ...]] = {
    ("arxiv", "weighted-f1", "at 0.05"): (20.59, 18.85, 19.15, 15.23, 20.60),
    ("arxiv", "macro-f1", "at 0.05"): (18.19, 16.59, 16.90, 13.74, 18.20),
    ("arxiv", "micro-f1", "at 0.05"): (18.42, 18.01, 18.16, 14.50, 18.43),
    ("arxiv", "macro-precision", "at 0.05"): (10.15, 10.10, 10.32, 10.27, 10.15),
    ("arxiv", "weighted-f1", "averaged"): (15.89, 16.40, 17.49, 16.52, 15.11),
    ("hallmarks_of_cancer", "weighted-f1", "at 0.05"): (0.0, 10.8, None, 17.0, 20.2),
    ("hallmarks_of_cancer", "macro-f1", "at 0.05"): (0.0, 19.0, None, 17.6, 31.3),
    ("hallmarks_of_cancer", "micro-f1", "at 0.05"): (0.0, 4.4, None, 9.8, 9.5),
    ("chemical_exposure", "weighted-f1", "at 0.05"): (5.1, 26.8, None, 21.8, 31.9),
    ("chemical_exposure", "macro-f1", "at 0.05"): (5.8, 34.8, None, 19.4, 43.2),
    ("chemical_exposure", "micro-f1", "at 0.05"): (1.2, 9.3, None, 13.3, 11.3),
}
PAPER_MAP = {"arxiv": (10.50, 10.43, 10.53, 10.49, 10.50)}
Losses = dict[str, list[RunRecord]]
Runs = dict[str, Losses]


def claims_of(runs: Runs, heat: list[RunRecord], rows: list[Row], times: list[Row]) -> list[Claim]:
    """Return the claims about every data set, then those about the offset, time and the published code."""
    claims = []
    for name in TASKS:
        losses = runs.get(name, {})
        found = [_best_is(name, losses, "sigmoidF1", "weighted-f1", rule) for rule in THRESHOLDS]
        found += [_best_is(name, losses, "sigmoidF1", *pair) for pair in OTHERS]
        found += [_top_two(losses), _averaging(name, losses), _ranking(name, losses)]
        found += [_best_is(name, losses, "ASL", "macro-precision", "at 0.05")]
        found += [_unbounded(name, losses)] if name in SMALL else []
        claims += [replace(claim, data=name) for claim in [*found, _pooled(losses)]]
    return [*claims, _offset(heat), _time(times), *_published_claims(rows)]


def _values(runs: list[RunRecord], rule: str, metric: str = "weighted-f1") -> list[float]:
    return [run.measured[rule][metric] for run in runs]


def _precision(runs: list[RunRecord]) -> list[float]:
    return [run.measured[MAP] for run in runs]


def _seeds(losses: Losses) -> int:
    """Return how many seeds all losses of the paper have."""
    return min(len(losses[loss]) for loss in PUBLISHED)


def _said(values: Iterable[float | None]) -> str:
    """Write the values of the paper's losses, without those that it does not have."""
    pairs = zip(PUBLISHED, values, strict=True)
    return ", ".join(f"{loss} {value:.1f}" for loss, value in pairs if value is not None)


def _best_is(name: str, losses: Losses, best: str, metric: str, rule: str) -> Claim:
    text = f"of five losses {best} has the best {WORDS[metric]}, {THRESHOLDS[rule]}"
    theirs = PAPER.get((name, metric, rule))
    paper = "–" if not rule.startswith("at") else "yes" if theirs is None else _said_by_paper(theirs, best)
    if not all(loss in losses for loss in PUBLISHED):
        return Claim(text, paper, "–", NOT_RUN)
    values = {loss: _values(losses[loss], rule, metric) for loss in PUBLISHED}
    said = _said(100 * statistics.fmean(some) for some in values.values())
    signs = [sign(values[best], some) for loss, some in values.items() if loss != best]
    return Claim(text, paper, said, verdict(signs), _seeds(losses))


def _said_by_paper(values: tuple[float | None, ...], best: str) -> str:
    """Say whether a loss is best in the paper, with all of its figures."""
    known = {loss: value for loss, value in zip(PUBLISHED, values, strict=True) if value is not None}
    return f"{'yes' if max(known, key=lambda loss: known[loss]) == best else 'no'}: {_said(values)}"


def _top_two(losses: Losses) -> Claim:
    text = "sigmoidF1 and BCE are the two best losses in weighted F1, threshold 0.05"
    if not all(loss in losses for loss in PUBLISHED):
        return Claim(text, "yes", "–", NOT_RUN)
    values = {loss: _values(losses[loss], "at 0.05") for loss in PUBLISHED}
    top = ("sigmoidF1", "BCE")
    signs = [sign(values[one], values[other]) for one in top for other in PUBLISHED if other not in top]
    said = _said(100 * statistics.fmean(some) for some in values.values())
    return Claim(text, "yes", said, verdict(signs), _seeds(losses))


def _unbounded(name: str, losses: Losses) -> Claim:
    text = "unboundedF1 has a better micro-F1 than sigmoidF1, threshold 0.05 (appendix F)"
    theirs = PAPER[name, "micro-f1", "at 0.05"]
    paper = f"yes: {theirs[3]} and {theirs[4]}"
    if not {"unboundedF1", "sigmoidF1"} <= losses.keys():
        return Claim(text, paper, "–", NOT_RUN)
    pair = [_values(losses[loss], "at 0.05", "micro-f1") for loss in ("unboundedF1", "sigmoidF1")]
    said = " and ".join(f"{100 * statistics.fmean(some):.1f}" for some in pair)
    return Claim(text, paper, said, verdict([sign(*pair)]), min(map(len, pair)))


def _offset(heat: list[RunRecord]) -> Claim:
    """Compare the best positive offset with the best other one, each with its best slope."""
    text = "the best offset η of sigmoidF1 is positive (figure 3; weighted F1, threshold 0.5)"
    scores: dict[tuple[float, float], list[float]] = {}
    for run in heat:
        if run.failure is None:
            pair = run.changes["loss.beta"], run.changes["loss.eta"]
            scores.setdefault(pair, []).append(run.measured["at .5"]["weighted-f1"])
    sides = [[pair for pair in scores if (pair[1] > 0) == positive] for positive in (True, False)]
    if not all(sides):
        return Claim(text, "yes", "–", NOT_RUN, data=MAPPED)
    best = [max(some, key=lambda pair: statistics.fmean(scores[pair])) for some in sides]
    said = " and ".join(f"β = {b:g}, η = {e:g}: {100 * statistics.fmean(scores[b, e]):.1f}" for b, e in best)
    values = [scores[pair] for pair in best]
    return Claim(text, "yes", said, verdict([sign(*values)]), min(map(len, values)), MAPPED)


def _averaging(name: str, losses: Losses) -> Claim:
    text = "averaging thresholds is worse than a fixed one of 0.05, for every loss (Table 4)"
    fixed, averaged = (PAPER.get((name, "weighted-f1", rule)) for rule in ("at 0.05", "averaged"))
    paper = f"yes: {_changes(fixed, averaged)}" if fixed and averaged else "yes"
    if not all(loss in losses for loss in PUBLISHED):
        return Claim(text, paper, "–", NOT_RUN)
    pairs = [[_values(losses[loss], rule) for rule in ("at 0.05", "averaged")] for loss in PUBLISHED]
    said = _changes(*([100 * statistics.fmean(pair[i]) for pair in pairs] for i in (0, 1)))
    return Claim(text, paper, said, verdict(sign(*pair) for pair in pairs), _seeds(losses))


def _changes(before: Iterable[float | None], after: Iterable[float | None]) -> str:
    return ", ".join(f"{loss} {a:.1f} → {b:.1f}" for loss, a, b in zip(PUBLISHED, before, after, strict=True))


def _ranking(name: str, losses: Losses) -> Claim:
    text = "of five losses ASL has the best mAP"
    paper = f"yes: {_said(PAPER_MAP[name])}" if name in PAPER_MAP else "on two of four data sets"
    if not all(loss in losses for loss in PUBLISHED):
        return Claim(text, paper, "–", NOT_RUN)
    said = _said(100 * statistics.fmean(_precision(losses[loss])) for loss in PUBLISHED)
    signs = [sign(_precision(losses["ASL"]), _precision(losses[loss])) for loss in PUBLISHED if loss != "ASL"]
    return Claim(text, paper, said, verdict(signs), _seeds(losses))


def _pooled(losses: Losses) -> Claim:
    text = (
        "pooling the counts of all labels (the text) or one by one (the code) makes little difference, tuned threshold"
    )
    if not {"sigmoidF1", "sigmoidF1, pooled"} <= losses.keys():
        return Claim(text, "–", "–", NOT_RUN)
    pair = [_values(losses[loss], "tuned") for loss in ("sigmoidF1", "sigmoidF1, pooled")]
    said = " → ".join(f"{100 * statistics.fmean(some):.1f}" for some in pair)
    return Claim(text, "–", said, little(*pair), min(map(len, pair)))


def _time(times: list[Row]) -> Claim:
    text = "a step takes the same time with every loss, within a quarter (Table 6); here of a linear head alone"
    sizes = sorted({row["setting"]["labels"] for row in times})
    if not sizes:
        return Claim(text, "yes", "–", NOT_RUN)
    ratios = {size: relative_times(times, size) for size in sizes}
    worst = {size: max(some, key=lambda loss: some[loss]) for size, some in ratios.items()}
    said = ", ".join(f"{size} labels: {worst[size]} {ratios[size][worst[size]]:.2f}" for size in sizes)
    close = all(0.8 <= value <= 1.25 for some in ratios.values() for value in some.values())
    return Claim.judged(text, "yes", f"slowest, relative to BCE: {said}", close)


def relative_times(times: list[Row], size: int) -> dict[str, float]:
    """Return the time of a step with each loss relative to BCE."""
    found = {row["setting"]["loss"]: row["result"]["milliseconds"] for row in times if row["setting"]["labels"] == size}
    return {loss: value / found["BCE"] for loss, value in found.items()}


def _published_claims(rows: list[Row]) -> list[Claim]:
    """Judge the printed optimum, by the published code and by the definition."""
    printed = "public code, S = 1, E = 9 (β, η as printed)"
    defined = "sigmoidF1 as defined, β = 1, η = 9"
    return [
        _better(
            rows,
            "the published code with β = 1, η = 9 as printed learns (weighted F1 at 0.05 above that of BCE)",
            (printed, "BCE"),
            "weighted-f1 at 0.05",
        ),
        _better(
            rows,
            "as defined, the printed optimum β = 1, η = 9 is better than η = 0 (weighted F1 at 0.05)",
            (defined, "sigmoidF1 as defined, β = 1, η = 0"),
            "weighted-f1 at 0.05",
        ),
        _better(
            rows,
            "the published code's defaults are better than BCE (weighted F1 at 0.05)",
            ("public code, its defaults S = −1, E = 0", "BCE"),
            "weighted-f1 at 0.05",
        ),
        _better(
            rows,
            "they are still better than BCE at the threshold 0.5 (weighted F1)",
            ("public code, its defaults S = −1, E = 0", "BCE"),
            "weighted-f1 at 0.5",
        ),
    ]


def _better(rows: list[Row], text: str, names: tuple[str, str], metric: str) -> Claim:
    pair = [[row["result"][metric] for row in rows if row["setting"]["loss"] == name] for name in names]
    task = next((row["setting"]["task"] for row in rows), None)
    if not all(pair):
        return Claim(text, "yes", "–", NOT_RUN, data=task)
    said = " and ".join(f"{100 * statistics.fmean(some):.1f}" for some in pair)
    return Claim(text, "yes", said, verdict([sign(*pair)]), min(map(len, pair)), task)


def names_of(rows: list[Row]) -> list[str]:
    """Return the losses of some rows, in their order."""
    return list(dict.fromkeys(row["setting"]["loss"] for row in rows))
