"""The stretch of the data's label sets as the document holds it: the bar, who lies beyond, pairs apart, dead labels."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from labelproof.auditing.document import CHECK_PAIRS, CHECK_STRETCH, Dead, Instructive, PairApart, StretchFacts
from labelproof.auditing.groups import rounded_down, told_bar
from labelproof.auditing.real_inputs import RealInputs
from labelproof.auditing.request import Work
from labelproof.foundation.wording import at_least, some_of
from labelproof.proof.examples import Examples, read_examples
from labelproof.proof.labels import LabelSets
from labelproof.proof.pair_result import PairStretch
from labelproof.proof.regions import OutputLayer
from labelproof.proof.stretch_bar import predicted_sets
from labelproof.proof.stretch_result import SetStretch, Stretch
from labelproof.stretching.measuring import measure, require_variety
from labelproof.stretching.pairs import find_dead, measure_pairs

__all__ = ["Judged", "Stretched", "first_words", "stretch_of_data"]

Counts = npt.NDArray[np.int64]
MOST_LISTED = 200  # pairs and labels in the document
MOST_INSTRUCTIVE = 3
MOST_IN_SENTENCE = 6
FIRST_WORDS = 160  # characters of an input


@dataclass(frozen=True, eq=False)
class Judged:
    """The label sets that are judged: each once, how many examples have it, those of all rows, and label names."""

    distinct: LabelSets
    counts: Counts
    of_rows: LabelSets
    rows: Counts  # of the data, where each of ``of_rows`` stands
    names: Sequence[str]


@dataclass(frozen=True, eq=False)
class Stretched:
    """The proven stretch of the distinct sets and of pairs of labels, what the document says of them, and remarks."""

    stretch: Stretch
    pairs: PairStretch | None
    facts: StretchFacts
    notes: tuple[str, ...] = ()


def stretch_of_data(
    layer: OutputLayer,
    judged: Judged,
    inputs: RealInputs,
    *,
    k: int | None = None,
    alpha: float = 0.01,
    steady: Sequence[int] = (),
    work: Work,
) -> Stretched:
    """Measure how far beyond mixtures of real inputs the data's label sets lie.

    Parameters
    ----------
    layer
        With the rule sigmoid or topk; its domain is left aside, since the examples say which features occur.
    judged
        The data's label sets.
    inputs
        Features of real inputs, and of held-out ones for the bar.
    k
        Number of labels of every prediction, for the rule topk.
    alpha
        Share of the predictions that may lie beyond the bar.
    steady
        Features that were held within their range, for the document.
    work
        How the work is done, as for `labelproof.stretch`.
    """
    plain = replace(layer, low=None, high=None, balls=())
    examples = read_examples(inputs.examples, layer.d)
    how: dict[str, Any] = {"n_jobs": work.n_jobs, "progress": work.progress}
    held_out = None if plain.rule == "topk" and k is None else inputs.held_out
    where: dict[str, Any] = {"engine": work.engine, "keep": work.keep}
    s = measure(plain, judged.distinct, examples, calibration=held_out, k=k, alpha=alpha, **where, **how)
    require_variety(examples)
    predictions = _Predictions(plain, examples, inputs, k)
    beyond = s.lower > 1 if s.bar is None else s.beyond
    is_exact = predictions.exact(judged)
    measured, note = _measured_pairs(plain, judged, examples, how)
    facts: Any = {  # which `reading` checks to be of this form
        "examples": len(examples),
        "source": inputs.source,
        "sha256": examples.sha256,
        "held_out": inputs.held_out_source,
        "bar": None if s.bar is None else told_bar(s.bar),
        "beyond_sets": int(beyond.sum()),
        "beyond_examples": int(judged.counts[beyond].sum()),
        "all_examples": int(judged.counts.sum()),
        "exact_beyond": None if is_exact is None else sum(is_exact[row] for row in _rows_of(judged, beyond, is_exact)),
        "exact": None if is_exact is None else sum(is_exact.values()),
        "predicted": None if is_exact is None else len(is_exact),
        "instructive": list(_instructive(s, beyond, judged, predictions, inputs)),
        **_pairs(measured),
        **_dead(plain, judged, examples, predictions),
        "inputs": len(predictions.sets) if predictions.sets is not None else 0,
        "narrow": list(steady),
        "check_command": inputs.proven_by(CHECK_STRETCH),
        "check_pairs": None if measured is None else inputs.proven_by(CHECK_PAIRS),
    }
    return Stretched(s, measured, facts, (note,) if note else ())


class _Predictions:
    """What the layer predicts for the examples and the held-out inputs, and the rows of the data that they are."""

    def __init__(self, layer: OutputLayer, examples: Examples, inputs: RealInputs, k: int | None) -> None:
        self.sets, self.places = None, {}
        self.training = set() if inputs.training is None else set(inputs.training.tolist())
        if layer.rule == "topk" and k is None:
            return
        parts = [predicted_sets(layer, examples, k=k)]
        if inputs.held_out is not None:
            parts.append(predicted_sets(layer, read_examples(inputs.held_out, layer.d, name="calibration"), k=k))
        self.sets = _joined(parts)
        if inputs.rows is not None:
            rows = [inputs.rows, *([] if inputs.held_out_rows is None else [inputs.held_out_rows])]
            self.places = {row: place for place, row in enumerate(np.concatenate(rows).tolist())}

    def of_row(self, row: int) -> list[int] | None:
        """Return what is predicted for a row of the data, where that is known."""
        place = self.places.get(row)
        return None if place is None or self.sets is None else self.sets[place].tolist()

    def exact(self, judged: Judged) -> dict[int, bool] | None:
        """Return for each row with a prediction whether that is its label set; rows of the training are left out.

        What the bar says is about new inputs, and a model may know by heart what it was trained on.
        """
        rows = self.places.keys() - self.training
        of_rows = zip(judged.rows.tolist(), judged.of_rows, strict=True)
        return {row: self.of_row(row) == active.tolist() for row, active in of_rows if row in rows} or None


def _rows_of(judged: Judged, chosen: npt.NDArray[np.bool_], known: dict[int, bool]) -> Iterator[int]:
    """Yield the rows, among the known, whose label sets are chosen."""
    keys = {active.tobytes() for active, ok in zip(judged.distinct, chosen.tolist(), strict=True) if ok}
    for row, active in zip(judged.rows.tolist(), judged.of_rows, strict=True):
        if row in known and active.tobytes() in keys:
            yield row


def _instructive(
    s: Stretch, beyond: npt.NDArray[np.bool_], judged: Judged, predictions: _Predictions, inputs: RealInputs
) -> Iterator[Instructive]:
    """Yield frequent sets beyond the bar with short reasons, no two of which are about the same labels."""
    weights = np.linalg.norm(s.layer.weight, axis=1)
    sizes = np.diff(s.label_sets.indptr)
    reasons = np.diff(s.weighted_ptr) + np.diff(s.conflict_ptr)
    candidates = np.flatnonzero(beyond & (sizes > 0))
    inside = s.lower[candidates] <= 1  # of which less can be said
    order = candidates[np.lexsort((candidates, (sizes + reasons)[candidates], -judged.counts[candidates], inside))]
    told: set[int] = set()
    found = 0
    rows = _first_rows(judged, predictions)
    for i in order.tolist():
        one = s[i]
        pulls = _pulls(one, weights)
        if not pulls or told.intersection(list(pulls)[:2]):
            continue
        told.update(pulls)
        yield _told(i, one, pulls, judged, rows, predictions, inputs)
        found += 1
        if found == MOST_INSTRUCTIVE:
            return


def _pulls(one: SetStretch, weights: npt.NDArray[np.float64]) -> dict[int, float]:
    """Return how hard each label of a contradiction pulls, the hardest first; the same for all of a conflict."""
    strength = {label: theta * weights[label] for label, theta in one.weighted.items()} or dict.fromkeys(
        one.conflict, 1.0
    )
    whole = sum(strength.values())
    order = sorted(strength, key=lambda label: -strength[label])
    return {label: round(float(strength[label] / whole), 4) for label in order if strength[label] > 0}


def _told(
    i: int,
    one: SetStretch,
    pulls: dict[int, float],
    judged: Judged,
    rows: dict[bytes, int],
    predictions: _Predictions,
    inputs: RealInputs,
) -> Instructive:
    labels = judged.distinct[i]
    active = set(labels.tolist())
    on, off = ([label for label in pulls if (label in active) == side] for side in (True, False))
    row = rows.get(labels.tobytes())
    predicted = None if row is None else predictions.of_row(row)
    lower = rounded_down(one.lower)
    return {
        "index": i,
        "labels": labels.tolist(),
        "examples": int(judged.counts[i]),
        "lower": lower,
        "on": on,
        "off": off,
        "shares": [pulls[label] for label in on + off],
        "row": row,
        "text": None if row is None or inputs.texts is None else first_words(inputs.texts[row]),
        "predicted": predicted,
        "sentence": _sentence(lower, on, off, predicted, judged.names),
    }


def _sentence(
    lower: float | None, on: list[int], off: list[int], predicted: list[int] | None, names: Sequence[str]
) -> str:
    """Say how far a set lies and why; labels contradict each other at every example only where that is proven."""
    parts = [f"{_list(on, names)} on"] if on else []
    parts += [f"{_list(off, names)} off"] if off else []
    decisions, alone = " and ".join(parts), len(on) + len(off) == 1
    only = f"{_list(on or off, names)} is {'off' if on else 'on'}"  # where one label alone is in the way
    if lower is None:
        why = f"{only} at all of them" if alone else f"{decisions} contradict each other"
        text = f"No inflation of the examples ever gives this set: {why}."
    elif lower > 1:
        why = f"{only} at all of these" if alone else f"{decisions} contradict each other at every example"
        text = (
            f"To predict this set the model would have to go at least {at_least(lower)} times as far as any mixture "
            f"of its examples: {why}."
        )
    else:
        why = f"{only} before" if alone else f"{decisions} pull against each other"
        text = (
            f"Mixtures of the examples give this set only from {at_least(lower)} of the way to their edge, beyond the "
            f"bar: {why}."
        )
    if predicted is None:
        return text
    return f"{text} It predicts {_list(predicted, names) if predicted else 'no label'} for such an example."


def _list(labels: Sequence[int], names: Sequence[str]) -> str:
    return some_of([names[label] for label in labels], MOST_IN_SENTENCE)


def first_words(text: str) -> str:
    r"""Return the beginning of a text on one line.

    Examples
    --------
    >>> first_words("  A title.\n\nAn abstract.  ")
    'A title. An abstract.'
    """
    words = " ".join(text.split())
    return words if len(words) <= FIRST_WORDS else words[: FIRST_WORDS - 1].rsplit(" ", 1)[0] + "…"


def _first_rows(judged: Judged, predictions: _Predictions) -> dict[bytes, int]:
    """Return a row of the data for each label set, one with a prediction where there is one."""
    found: dict[bytes, int] = {}
    for row, active in zip(judged.rows.tolist(), judged.of_rows, strict=True):
        key = active.tobytes()
        if key not in found or (row in predictions.places and found[key] not in predictions.places):
            found[key] = row
    return found


def _measured_pairs(
    layer: OutputLayer, judged: Judged, examples: Examples, how: dict[str, Any]
) -> tuple[PairStretch | None, str | None]:
    """Return the stretch of the pairs of labels that occur, and a remark where they are too many."""
    if layer.rule != "sigmoid":
        return None, None
    try:
        return measure_pairs(layer, judged.of_rows, examples, **how), None
    except ValueError as error:
        return None, f"Pairs of labels were not measured: {error}."


def _pairs(found: PairStretch | None) -> dict[str, Any]:
    """Return the part of the document on pairs of labels."""
    if found is None:
        return {"n_pairs": None, "n_apart": None, "pairs": []}
    some: list[PairApart] = [
        {
            "labels": found.pairs[i].tolist(),
            "examples": int(found.counts[i]),
            "lower": rounded_down(float(found.lower[i])),
        }
        for i in found.apart[:MOST_LISTED].tolist()
    ]
    return {"n_pairs": len(found), "n_apart": len(found.apart), "pairs": some}


def _dead(layer: OutputLayer, judged: Judged, examples: Examples, predictions: _Predictions) -> Any:
    """Return the part of the document on labels that are never predicted."""
    if layer.rule != "sigmoid":
        return {"n_dead": None, "n_dead_true": None, "dead": []}
    found = find_dead(layer, judged.of_rows, examples, predictions.sets)
    some: list[Dead] = [{"label": one.label, "examples": one.true, "reason": one.reason} for one in found[:MOST_LISTED]]
    return {"n_dead": len(found), "n_dead_true": sum(one.true > 0 for one in found), "dead": some}


def _joined(parts: list[LabelSets]) -> LabelSets:
    ends = [np.zeros(1, np.int64)]
    for part in parts:
        ends.append(part.indptr[1:] + ends[-1][-1])
    return LabelSets(parts[0].n_labels, np.concatenate(ends), np.concatenate([part.indices for part in parts]))
