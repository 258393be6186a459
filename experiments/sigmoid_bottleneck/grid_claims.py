"""What the trained heads say about the claims of figure 5, and about questions that the paper leaves open."""

import math
import statistics
from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise
from typing import Any

from experiments.pages import NOT_RUN, Claim
from experiments.sigmoid_bottleneck.grid import epochs_to, share
from experiments.sigmoid_bottleneck.tasks import HEADS, TASKS, TITLES, WIDTHS
from experiments.verdicts import FAILS, HOLDS, UNDECIDED, not_worse, seen, sign, verdict
from labelproof.training import RunRecord

Heads = dict[str, dict[int, list[RunRecord]]]
Value = Callable[[RunRecord], float]
NARROW = 200  # the paper's claims are about fewer features than these
NARROWEST = WIDTHS[0]


def claims_of(name: str, heads: Heads) -> list[Claim]:
    """Return the claims about one data set: those of the paper, then those that need heads which the paper lacks."""
    compared = TASKS[name].compared if name in TASKS else HEADS
    start, wide, equal = HEADS[2:5]
    claims = [
        _some_never("the bottleneck can never predict some test sets, for every d < 200", "yes", heads, NARROW),
        _some_never("the bottleneck can never predict some test sets at d = 25", "yes", heads, NARROWEST + 1),
        _falling("the bottleneck can predict fewer of them as d falls", heads),
        _nearly_all("the DFT head can predict (nearly) all test sets", "yes", heads, share),
        _better("the DFT head has a better F1@k than the bottleneck, d < 200", "yes", heads, "bottleneck", f1),
        _faster("the DFT head needs fewer epochs to reach the bottleneck's best F1@k", heads, "dft"),
    ]
    if name not in TASKS or {100, 200} <= set(TASKS[name].widths):
        claims.append(_half(heads))
    if equal in compared and _has_budget(name, heads):
        claims.append(
            _budget(
                "with as many parameters the DFT head has a better F1@k than the bottleneck, d < 200 (section 5.1)",
                heads,
            )
        )
    claims.append(
        _nearly_all(
            "with the top k as the rule the DFT head can predict (nearly) all test sets", "–", heads, of("topk")
        )
    )
    if start in compared:
        claims += [
            _better(
                "the DFT head has a better F1@k than a bottleneck with the k/n start, d < 200", "–", heads, start, f1
            ),
            _faster(
                "a bottleneck with the k/n start, too, needs fewer epochs to reach the bottleneck's best F1@k",
                heads,
                start,
            ),
            _better(
                "with the DFT head rare labels have a better AP than with a bottleneck with the k/n start, d < 200",
                "–",
                heads,
                start,
                rare,
            ),
        ]
    if wide in compared:
        beyond = (
            "the DFT head can predict more sets of k + 1 to 2 k labels than a bottleneck with as many features, d < 200"
        )
        claims += [
            _better(
                "the DFT head has a better F1@k than a bottleneck with as many features, d < 200", "–", heads, wide, f1
            ),
            _better(beyond, "–", heads, wide, of("beyond"), most=1.0),
        ]
    if HEADS[5] in compared:
        claims.append(
            _guaranteed(
                "the head that is guaranteed as stored has an F1@k at most a point below that of the DFT head, d < 200",
                heads,
            )
        )
    return [replace(claim, data=TITLES.get(name, name)) for claim in claims]


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


def _some_never(text: str, paper: str, heads: Heads, below: int) -> Claim:
    runs = {width: some for width, some in _narrow(heads).items() if width < below}
    if not runs:
        return Claim(text, paper, "–", NOT_RUN)
    never = {width: [run.measured["unargmaxable"] for run in some] for width, some in runs.items()}
    said = ", ".join(f"d = {width}: {statistics.fmean(counts):.0f}" for width, counts in never.items())
    holds = all(min(counts) > 0 for counts in never.values())
    n_sets = next(iter(runs.values()))[0].measured["sets"]
    return Claim(text, paper, f"of {n_sets:,}: {said}", seen(holds, _seeds(*runs.values())), _seeds(*runs.values()))


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


def _better(text: str, paper: str, heads: Heads, other: str, value: Value, *, most: float = math.inf) -> Claim:
    """Compare the DFT head with another head at each width below 200; where both have the most, none is better."""
    ours, theirs = heads.get("dft", {}), heads.get(other, {})
    both = [width for width in sorted(ours) if width in theirs and width < NARROW]
    return _compared(text, paper, {f"d = {width}": (ours[width], theirs[width]) for width in both}, value, most)


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


def _half(heads: Heads) -> Claim:
    text = (
        "with 100 learnable features the DFT head has a better F1@k than the bottleneck with 200, with fewer parameters"
    )
    ours, theirs = heads.get("dft", {}).get(100, []), heads.get("bottleneck", {}).get(200, [])
    if not ours or not theirs:
        return Claim(text, "yes; 48 % fewer in BioASQ's head", "–", NOT_RUN)
    found = _compared(text, "yes; 48 % fewer in BioASQ's head", {"F1@k": (ours, theirs)}, f1)
    if ours[0].parameters >= theirs[0].parameters:
        found = replace(found, holds=FAILS)
    return replace(found, ours=f"{found.ours}; {_fewer(ours[0], theirs[0])}")


def _fewer(ours: RunRecord, theirs: RunRecord) -> str:
    """Say by how much one model has fewer trainable parameters than another."""
    share = ours.parameters / theirs.parameters - 1
    return f"{abs(share):.0%} {'fewer' if share < 0 else 'more'} parameters in the whole model"


def _compared(
    text: str,
    paper: str,
    pairs: dict[str, tuple[list[RunRecord], list[RunRecord]]],
    value: Value,
    most: float = math.inf,
) -> Claim:
    if not pairs:
        return Claim(text, paper, "–", NOT_RUN)
    values = {name: [_values(runs, value) for runs in pair] for name, pair in pairs.items()}
    said = ", ".join(
        f"{name}: {statistics.fmean(ours):.3f} and {statistics.fmean(theirs):.3f}"
        for name, (ours, theirs) in values.items()
    )
    holds = verdict(sign(*pair) for pair in values.values() if min(map(min, pair)) < most)
    return Claim(text, paper, said, holds, _seeds(*(runs for pair in pairs.values() for runs in pair)))


def _guaranteed(text: str, heads: Heads) -> Claim:
    """Compare the guaranteed head with the DFT head at each width below 200."""
    ours, theirs = heads.get("guaranteed", {}), heads.get("dft", {})
    both = [width for width in sorted(ours) if width in theirs and width < NARROW]
    if not both:
        return Claim(text, "–", "–", NOT_RUN)
    pairs = {width: (_values(ours[width], f1), _values(theirs[width], f1)) for width in both}
    said = ", ".join(f"d = {d}: {statistics.fmean(a):.3f} and {statistics.fmean(b):.3f}" for d, (a, b) in pairs.items())
    found = {not_worse(*pair, by=0.01) for pair in pairs.values()}
    holds = FAILS if FAILS in found else HOLDS if found == {HOLDS} else UNDECIDED
    return Claim(text, "–", said, holds, _seeds(*(ours[width] for width in both)))


def _faster(text: str, heads: Heads, other: str) -> Claim:
    """Compare epochs until the bottleneck's own best validation F1@k, seed by seed; never is more than all."""
    said, found, seeds = [], [], []
    for width in sorted(set(heads.get("bottleneck", {})) & set(heads.get(other, {}))):
        by_seed = {run.seed: run for run in heads[other][width]}
        pairs = [_epochs(run, by_seed[run.seed]) for run in heads["bottleneck"][width] if run.seed in by_seed]
        if pairs:
            said.append(f"d = {width}: " + ", ".join(f"{a} → {b or 'never'}" for a, b in pairs))
            found += [b is not None and b < a for a, b in pairs]
            seeds.append(len(pairs))
    if not seeds:
        return Claim(text, "yes", "–", NOT_RUN)
    return Claim(text, "yes", "; ".join(said), seen(all(found), min(seeds)), min(seeds))


def _epochs(bottleneck: RunRecord, other: RunRecord) -> tuple[Any, int | None]:
    target = max(bottleneck.measured["epochs"])
    return epochs_to(bottleneck, target), epochs_to(other, target)
