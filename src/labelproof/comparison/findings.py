"""What the figures of a comparison say, in sentences that hold whatever they are."""

from collections.abc import Sequence

from labelproof.comparison.outcome import Outcome
from labelproof.proof.result import Verification

__all__ = ["findings"]


def findings(outcomes: Sequence[Outcome]) -> list[str]:
    """Return what `four_heads` shows: which sets are out of reach, and how far start and width make up for it.

    Parameters
    ----------
    outcomes
        Of a bottleneck, a DFT head, a bottleneck with its start, and one that is also as wide, in this order; and of a
        code head, if there is one.
    """
    narrow, dft, started, wide, *codes = outcomes
    k = dft.k
    f1 = [f"{outcome.scores[f'f1@{k}']:.3f}" for outcome in outcomes]
    times = wide.head_parameters / dft.head_parameters
    size, drawn = dft.random_size, len(dft.at_random)
    return [
        f"Of the {narrow.n_sets:,} distinct label sets of the test data, whatever the input, the bottleneck "
        f"{_verdict(narrow)}; the DFT head {_verdict(dft)}. Every verdict has a proof, for the threshold that the "
        "model was tuned to.",
        f"Fair baselines: with the DFT head's start the bottleneck goes from F1@{k} {f1[0]} to {f1[2]}, and "
        f"{_verdict(started)}; as wide as the DFT head, with {times:.1f} times as many weights, it reaches {f1[3]} "
        f"where the DFT head has {f1[1]}, and {_verdict(wide)}.",
        f"Of {drawn:,} random sets of {size} labels the wide bottleneck can predict {_count(wide.at_random)}, the DFT "
        f"head {_count(dft.at_random)}: over the real numbers its columns allow every set of up to {size} labels"
        f"{_in_stored_numbers(dft)}.",
        *(_of_a_code(code, dft) for code in codes),
    ]


def _of_a_code(code: Outcome, dft: Outcome) -> str:
    times = code.head_parameters / dft.head_parameters
    return (
        f"The code head can predict {_count(code.at_random)} of these random sets: its columns allow every set of up "
        f"to {code.random_size} labels by proof for the stored numbers, and take "
        f"{code.n_features} features for it. With {times:.1f} times the DFT head's weights it reaches F1@{code.k} "
        f"{code.scores[f'f1@{code.k}']:.3f}, which is due to its width as well."
    )


def _verdict(outcome: Outcome) -> str:
    """Count the sets that can never be predicted, and those that nothing was proven of."""
    lost = outcome.unargmaxable
    undecided = f", with {outcome.undecided:,} undecided" if outcome.undecided else ""
    if lost:
        return f"can never predict {lost:,} ({100 * lost / outcome.n_sets:.1f} %){undecided}"
    return f"can predict all{f' others{undecided}' if undecided else ''}"


def _count(verification: Verification) -> str:
    count = int((verification.status == 1).sum())
    return "all" if count == len(verification) else f"{count:,}" if count else "none"


def _in_stored_numbers(dft: Outcome) -> str:
    lost = int((dft.at_random.status == 0).sum())
    return f", but its {dft.audit.layer.dtype} numbers do not" if lost else ""
