"""What the report of a comparison says first: the finding, what each head is, and what else the figures say."""

from collections.abc import Sequence

from labelproof.comparison.findings import findings
from labelproof.comparison.outcome import Outcome
from labelproof.report import Opening

__all__ = ["open_heads"]


def open_heads(outcomes: Sequence[Outcome]) -> Opening:
    """Say what the plain bottleneck, the first, can never predict, and what the DFT head, the second, can.

    Parameters
    ----------
    outcomes
        As for `findings`.
    """
    _, *others = findings(outcomes)
    return Opening(_headline(outcomes[0], outcomes[1]), tuple(_caption(one) for one in outcomes), tuple(others))


def _headline(narrow: Outcome, dft: Outcome) -> str:
    lost, n_sets = narrow.unargmaxable, narrow.n_sets
    fixed = dft.n_features - (dft.contender.head.slack or 0)
    plain = f"A layer of {narrow.n_features} features"
    if not lost:
        return f"{plain} can predict every one of the {n_sets:,} label sets of the test data." + (
            f" {narrow.undecided:,} are undecided." if narrow.undecided else ""
        )
    what = f"{lost:,} of {n_sets:,} label sets of the test data ({100 * lost / n_sets:.1f} %)"
    then = "can predict all of them" if dft.argmaxable == dft.n_sets else f"can predict {dft.argmaxable:,}"
    return f"{plain} can never predict {what}, whatever the input; with {fixed} fixed columns more, it {then}."


def _caption(outcome: Outcome) -> str:
    head = outcome.contender.head
    free = head.slack if head.kind in ("dft", "code") else head.d
    fixed = outcome.n_features - (free or 0)
    parts = [f"{free} learnable features"] if free else []
    if head.kind in ("dft", "code"):
        parts.append(f"{fixed} fixed columns{' of a code' if head.kind == 'code' else ''}")
    start = ", with the DFT head’s start" if head.options.get("start") else ""
    return f"{' and '.join(parts)}{start}; F1@{outcome.k} {outcome.scores[f'f1@{outcome.k}']:.3f}"
