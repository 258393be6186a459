"""What the report of a comparison says first: the finding, examples by name, what each head is, and what else holds."""

from collections.abc import Sequence

from labelproof.comparison.outcome import Outcome
from labelproof.comparison.sentences import findings, gained
from labelproof.report import Opening

__all__ = ["open_heads"]


def open_heads(outcomes: Sequence[Outcome]) -> Opening:
    """Say what the narrow layer, the first, can never predict, and what the DFT head, the second, can.

    Parameters
    ----------
    outcomes
        As for `findings`.
    """
    _, *others = findings(outcomes)
    captions = tuple(_caption(one) for one in outcomes)
    return Opening(_headline(outcomes[0], outcomes[1]), captions, tuple(others), gained(outcomes))


def _headline(narrow: Outcome, dft: Outcome) -> str:
    lost, n_sets = narrow.unargmaxable, narrow.n_sets
    plain = f"With {narrow.n_features} features for {narrow.n_labels:,} labels, a model can"
    if not lost:
        whole = f"{narrow.argmaxable:,} of the" if narrow.undecided else "every one of the"
        rest = f" The other {narrow.undecided:,} are undecided." if narrow.undecided else ""
        return f"{plain} predict {whole} {n_sets:,} label combinations of the test data.{rest}"
    what = f"{lost:,} of the {n_sets:,} label combinations of the test data"
    then = "every one of them" if dft.argmaxable == dft.n_sets else f"{dft.argmaxable:,}"
    return f"{plain} never predict {what}. With a guaranteed layer (DFT head) it can predict {then}."


def _caption(outcome: Outcome) -> str:
    head = outcome.contender.head
    free = head.slack if head.kind in ("dft", "code") else head.d
    fixed = outcome.n_features - (free or 0)
    parts = [f"{free} trained features"] if free else []
    if head.kind in ("dft", "code"):
        parts.append(f"{fixed} fixed ones{' of a code' if head.kind == 'code' else ''}")
    start = ", started like the DFT head" if head.options.get("start") else ""
    return f"{' and '.join(parts)}{start}; micro-F1 {outcome.scores['micro-f1']:.3f}"
