"""What the trained heads say about the claims of figure 5, and about questions that the paper leaves open."""

import statistics
from collections.abc import Callable
from itertools import pairwise
from typing import Any

from experiments.pages import NOT_RUN, Claim
from experiments.sigmoid_bottleneck.grid import epochs_to, share
from experiments.sigmoid_bottleneck.tasks import HEADS, TASKS
from experiments.verdicts import seen, sign, verdict
from labelproof.training import RunRecord

Heads = dict[str, dict[int, list[RunRecord]]]
Value = Callable[[RunRecord], float]
NARROW = 200  # the paper's claims are about fewer features than these


def claims_of(name: str, heads: Heads) -> list[Claim]:
    """Return the claims about one data set: those of the paper, then those that need heads which the paper lacks."""
    compared = TASKS[name].compared if name in TASKS else HEADS
    start, wide, equal = HEADS[2:5]
    claims = [
        _some_never(f"{name}: the bottleneck can never predict some test sets, for every d < 200", heads),
        _falling(f"{name}: the bottleneck can predict fewer of them as d falls", heads),
        _nearly_all(f"{name}: the DFT head can predict (nearly) all of them", "yes", heads, share),
        _better(f"{name}: the DFT head has a better F1@k for d < 200", "yes", heads, "bottleneck", f1),
        _faster(f"{name}: the DFT head needs fewer epochs to reach the bottleneck's best F1@k", heads),
    ]
    if name not in TASKS or {100, 200} <= set(TASKS[name].widths):
        claims.append(_half(name, heads))
    if equal in compared and _has_budget(name, heads):
        claims.append(_budget(f"{name}: also with as many parameters as the bottleneck, d < 200 (section 5.1)", heads))
    text = f"{name}: with the top k as the rule the DFT head can predict (nearly) all"
    claims.append(_nearly_all(text, "–", heads, of("topk")))
    if start in compared:
        text = f"{name}: better F1@k also compared with a bottleneck with the k/n start (not in the paper)"
        claims.append(_better(text, "–", heads, start, f1))
        text = f"{name}: the rarest third of the labels gains average precision over the k/n start, d < 200"
        claims.append(_better(text, "–", heads, start, rare))
    if wide in compared:
        text = f"{name}: better F1@k also compared with one that has as many features (not in the paper)"
        claims.append(_better(text, "–", heads, wide, f1))
        text = (
            f"{name}: it can predict more sets of k + 1 to 2 k labels than a bottleneck with as many features, d < 200"
        )
        claims.append(_better(text, "–", heads, wide, of("beyond")))
    return claims


def f1(record: RunRecord) -> float:
    """Return F1@k on the test part."""
    return float(record.measured["f1@k"])


def of(kind: str) -> Value:
    """Return the function that gives the share of the sets of a kind that can be predicted, with proof."""
    return lambda record: record.measured["proven"][kind]["argmaxable"] / record.measured["proven"][kind]["sets"]


def rare(record: RunRecord) -> float:
    """Return the mean average precision of the rarest third of the labels."""
    return float(record.measured["average precision"]["rare"])


def _seeds(*runs: list[RunRecord]) -> int:
    return min(len(some) for some in runs)


def _values(runs: list[RunRecord], value: Value) -> list[float]:
    return [value(run) for run in runs]


def _narrow(heads: Heads) -> dict[int, list[RunRecord]]:
    return {width: some for width, some in sorted(heads.get("bottleneck", {}).items()) if width < NARROW}


def _some_never(text: str, heads: Heads) -> Claim:
    runs = _narrow(heads)
    if not runs:
        return Claim(text, "yes", "–", NOT_RUN)
    never = {width: [run.measured["unargmaxable"] for run in some] for width, some in runs.items()}
    said = ", ".join(f"d = {width}: {statistics.fmean(counts):.0f}" for width, counts in never.items())
    holds = all(min(counts) > 0 for counts in never.values())
    n_sets = next(iter(runs.values()))[0].measured["sets"]
    return Claim(text, "yes", f"of {n_sets:,}: {said}", seen(holds, _seeds(*runs.values())), _seeds(*runs.values()))


def _falling(text: str, heads: Heads) -> Claim:
    """Compare neighbouring widths; where both can predict everything there is nothing to lose."""
    runs = _narrow(heads)
    if len(runs) < 2:
        return Claim(text, "yes", "–", NOT_RUN)
    values = {width: _values(some, share) for width, some in runs.items()}
    said = ", ".join(f"d = {width}: {statistics.fmean(some):.1%}" for width, some in values.items())
    pairs = [(few, more) for few, more in pairwise(values.values()) if min(few) < 1]
    return Claim(text, "yes", said, verdict(sign(more, few) for few, more in pairs), _seeds(*runs.values()))


def _nearly_all(text: str, paper: str, heads: Heads, value: Value) -> Claim:
    runs = list(heads.get("dft", {}).values())
    if not runs:
        return Claim(text, paper, "–", NOT_RUN)
    least = min(value(run) for some in runs for run in some)
    return Claim(text, paper, f"at least {least:.2%} in every run", seen(least > 0.99, _seeds(*runs)), _seeds(*runs))


def _better(text: str, paper: str, heads: Heads, other: str, value: Value) -> Claim:
    """Compare the DFT head with another head at each width below 200."""
    ours, theirs = heads.get("dft", {}), heads.get(other, {})
    both = [width for width in sorted(ours) if width in theirs and width < NARROW]
    return _compared(text, paper, {f"d = {width}": (ours[width], theirs[width]) for width in both}, value)


def _budget(text: str, heads: Heads) -> Claim:
    ours, theirs = heads.get("dft, as many parameters", {}), heads.get("bottleneck", {})
    both = [width for width in sorted(ours) if width in theirs and width < NARROW]
    return _compared(text, "yes", {f"d = {width}": (ours[width], theirs[width]) for width in both}, f1)


def _has_budget(name: str, heads: Heads) -> bool:
    """Return whether the DFT's projection costs fewer parameters than the slack that could be saved, at some width."""
    known = next((runs[0] for widths in heads.values() for runs in widths.values()), None)
    if known is None or name not in TASKS:
        return True
    task, n_labels = TASKS[name], known.data["labels"]
    return any("dft, as many parameters" in task.heads(d, n_labels) for d in task.widths if d < NARROW)


def _half(name: str, heads: Heads) -> Claim:
    text = f"{name}: with 100 learnable features the DFT head has a better F1@k than the bottleneck with 200"
    ours, theirs = heads.get("dft", {}).get(100, []), heads.get("bottleneck", {}).get(200, [])
    if not ours or not theirs:
        return Claim(text, "yes", "–", NOT_RUN)
    text += f", with {1 - ours[0].parameters / theirs[0].parameters:.0%} fewer parameters in all"
    return _compared(text, "yes", {"F1@k": (ours, theirs)}, f1)


def _compared(text: str, paper: str, pairs: dict[str, tuple[list[RunRecord], list[RunRecord]]], value: Value) -> Claim:
    if not pairs:
        return Claim(text, paper, "–", NOT_RUN)
    values = {name: [_values(runs, value) for runs in pair] for name, pair in pairs.items()}
    said = ", ".join(
        f"{name}: {statistics.fmean(ours):.3f} and {statistics.fmean(theirs):.3f}"
        for name, (ours, theirs) in values.items()
    )
    holds = verdict(sign(*pair) for pair in values.values())
    return Claim(text, paper, said, holds, _seeds(*(runs for pair in pairs.values() for runs in pair)))


def _faster(text: str, heads: Heads) -> Claim:
    """Compare epochs until the bottleneck's own best validation F1@k, seed by seed; never is more than all."""
    said, found, seeds = [], [], []
    for width in sorted(set(heads.get("bottleneck", {})) & set(heads.get("dft", {}))):
        by_seed = {run.seed: run for run in heads["dft"][width]}
        pairs = [_epochs(run, by_seed[run.seed]) for run in heads["bottleneck"][width] if run.seed in by_seed]
        if pairs:
            said.append(f"d = {width}: " + ", ".join(f"{a} → {b or 'never'}" for a, b in pairs))
            found += [b is not None and b < a for a, b in pairs]
            seeds.append(len(pairs))
    if not seeds:
        return Claim(text, "yes", "–", NOT_RUN)
    return Claim(text, "yes", "; ".join(said), seen(all(found), min(seeds)), min(seeds))


def _epochs(bottleneck: RunRecord, dft: RunRecord) -> tuple[Any, int | None]:
    target = max(bottleneck.measured["epochs"])
    return epochs_to(bottleneck, target), epochs_to(dft, target)
