"""What the figures of a comparison say, in sentences that hold whatever they are."""

from collections.abc import Sequence

from labelproof.comparison.outcome import Outcome
from labelproof.foundation.wording import percent
from labelproof.proof.result import Verification
from labelproof.report import Difference, agreement

__all__ = ["findings", "gained"]


def findings(outcomes: Sequence[Outcome]) -> list[str]:
    """Return what `four_heads` shows: what the narrow layer loses, what brings it back, and what the scores say.

    Parameters
    ----------
    outcomes
        Of a narrow layer, a DFT head, a narrow layer with its start, and one that is also as wide, in this order; and
        of a code head, if there is one.

    Returns
    -------
    list of str
        First what the narrow layer can never predict; then what the DFT head can; then how much of that start and
        width alone would do; then what is said of the code head.

    Examples
    --------
    >>> from labelproof.comparison import compare, four_heads, recipe
    >>> from labelproof.data import topic_data
    >>> data = topic_data(200, 12, 60, cardinality=2.0)
    >>> outcomes = list(compare(recipe(data, epochs=1), data, four_heads(data.labels, 2)))
    >>> findings(outcomes)[0].partition(".")[0]
    'The narrow output layer has 2 features for 12 labels'
    """
    narrow, dft, started, wide, *codes = outcomes
    return [_of_the_narrow(narrow), _of_the_dft(dft), _of_the_fair(narrow, dft, started, wide)] + [
        _of_a_code(code, dft) for code in codes
    ]


def gained(outcomes: Sequence[Outcome], most: int = 4) -> tuple[Difference, ...]:
    """Return the most frequent label combinations that the first can never predict and the second can.

    Parameters
    ----------
    outcomes
        At least two; the first two are compared.
    most
        How many to return at most.

    Returns
    -------
    tuple of Difference

    Examples
    --------
    >>> from labelproof.comparison import compare, four_heads, recipe
    >>> from labelproof.data import topic_data
    >>> data = topic_data(200, 12, 60, cardinality=2.0)
    >>> outcomes = list(compare(recipe(data, epochs=1), data, four_heads(data.labels, 2)))
    >>> {one.status for one in gained(outcomes, most=2)}
    {(0, 1)}
    """
    first, second = (outcome.audit.document for outcome in outcomes[:2])
    both = agreement([first, second])
    return () if both is None else tuple(one for one in both.differences if one.status == (0, 1))[:most]


def _of_the_narrow(narrow: Outcome) -> str:
    lost, n_sets = narrow.unargmaxable, narrow.n_sets
    layer = f"The narrow output layer has {narrow.n_features} features for {narrow.n_labels:,} labels"
    undecided = f" {narrow.undecided:,} are undecided." if narrow.undecided else ""
    if not lost:
        return f"{layer}. It can predict {_of(narrow.verification)} label combinations of the test data.{undecided}"
    return (
        f"{layer}. {lost:,} of the {n_sets:,} label combinations of the test data ({percent(lost, n_sets)}) can "
        f"never be its prediction, whatever the input.{undecided}"
    )


def _of_the_dft(dft: Outcome) -> str:
    fixed = dft.n_features - (dft.contender.head.slack or 0)
    return (
        f"The guaranteed layer, a DFT head, has {fixed} fixed features more, with which every combination of up to "
        f"{dft.random_size} labels is possible. It can predict {_of(dft.verification)}. Each of these verdicts comes "
        "with a proof that can be checked."
    )


def _of_the_fair(narrow: Outcome, dft: Outcome, started: Outcome, wide: Outcome) -> str:
    times = wide.head_parameters / dft.head_parameters
    return (
        "Is it the guarantee, or only the size? Started like the DFT head, the narrow layer can predict "
        f"{_of(started.verification)} (micro-F1 {_f1(started)} instead of {_f1(narrow)}). Made as wide as the DFT "
        f"head, with {times:.1f} times its weights and no guarantee, it can predict {_of(wide.verification)} (micro-F1 "
        f"{_f1(wide)}; DFT head: {_f1(dft)}). Of combinations that were never seen, "
        f"{len(dft.at_random):,} random ones of {dft.random_size} labels, the wide layer can predict "
        f"{_count(wide.at_random)}, the DFT head {_count(dft.at_random)}{_in_stored_numbers(dft)}."
    )


def _of_a_code(code: Outcome, dft: Outcome) -> str:
    times = code.head_parameters / dft.head_parameters
    return (
        f"The code head can predict {_count(code.at_random)} of these random ones. Its guarantee is proven for the "
        f"numbers as they are stored, rounding included, and takes {code.n_features} features. With {times:.1f} times "
        f"the DFT head's weights it reaches micro-F1 {_f1(code)}, which is due to its width as well."
    )


def _f1(outcome: Outcome) -> str:
    return f"{outcome.scores['micro-f1']:.3f}"


def _of(verification: Verification) -> str:
    count, whole = int((verification.status == 1).sum()), len(verification)
    return f"all {whole:,}" if count == whole else f"{count:,} of {whole:,}"


def _count(verification: Verification) -> str:
    count = int((verification.status == 1).sum())
    return "all" if count == len(verification) else f"{count:,}" if count else "none"


def _in_stored_numbers(dft: Outcome) -> str:
    lost = int((dft.at_random.status == 0).sum())
    return f" (the theorem promises all, but its {dft.audit.layer.dtype} numbers are rounded)" if lost else ""
