"""Whether other thresholds would bring dead labels back: chosen on the examples, judged on the held-out inputs."""

from typing import Any

import numpy as np
import numpy.typing as npt

from labelproof.auditing.document import Recommendation
from labelproof.auditing.real_inputs import RealInputs
from labelproof.auditing.stretched import Judged
from labelproof.proof.examples import read_examples
from labelproof.proof.labels import LabelSets
from labelproof.proof.regions import OutputLayer
from labelproof.proof.stretch_bar import predicted_sets

__all__ = ["advise_thresholds"]

Floats = npt.NDArray[np.float64]
LEAST_TRUE = 3  # examples that a dead label must have for a threshold to be chosen


def advise_thresholds(layer: OutputLayer, judged: Judged, real: RealInputs) -> list[Recommendation]:
    """Return advice to lower the thresholds of labels that are never predicted, if that was measured to help.

    The threshold of each such label is chosen on the examples: there the label becomes predicted as often as it is
    true. What that does is measured on the held-out inputs.
    """
    if layer.rule != "sigmoid" or real.held_out is None or real.rows is None or real.held_out_rows is None:
        return []
    if not np.isin(real.held_out_rows, judged.rows).all():
        return []
    true, true_held = _truth(judged, real.rows), _truth(judged, real.held_out_rows)
    examples, held_out = read_examples(real.examples, layer.d), read_examples(real.held_out, layer.d)
    predicted, predicted_held = predicted_sets(layer, examples), predicted_sets(layer, held_out)
    count = np.bincount(true.indices, minlength=layer.n_labels)
    dead = np.bincount(predicted.indices, minlength=layer.n_labels) == 0
    chosen = np.flatnonzero(dead & (count >= LEAST_TRUE))
    if not len(chosen):
        return []
    cuts = np.array(
        [np.partition(z, -n)[-n] for z, n in zip(_logits(layer, examples, chosen).T, count[chosen], strict=True)]
    )
    on = _logits(layer, held_out, chosen) >= cuts
    on &= ~_matrix(predicted_held, chosen)
    is_true = _matrix(true_held, chosen)
    right, wrong = int((on & is_true).sum()), int((on & ~is_true).sum())
    before, after = _micro_f1(predicted_held, true_held, 0, 0), _micro_f1(predicted_held, true_held, right, wrong)
    if after <= before:
        return []
    return [
        {
            "title": f"Lower thresholds for {len(chosen):,} of the labels that are never predicted for the examples",
            "text": "With a threshold at which each of them is predicted as often as it is true among the examples, "
            f"they would be predicted rightly {right:,} times and wrongly {wrong:,} times for {len(held_out):,} "
            f"held-out inputs; micro-F1 goes from {before:.3f} to {after:.3f}. labelproof tune finds thresholds; no "
            "training is needed.",
        }
    ]


def _truth(judged: Judged, rows: npt.NDArray[np.int64]) -> LabelSets:
    """Return the label sets of rows of the data; those that are not judged have none."""
    places = {row: i for i, row in enumerate(judged.rows.tolist())}
    sets = [judged.of_rows[places[row]] if row in places else np.empty(0, np.int64) for row in rows.tolist()]
    ends = np.cumsum([0, *map(len, sets)]).astype(np.int64)
    return LabelSets(judged.of_rows.n_labels, ends, np.concatenate([np.empty(0, np.int64), *sets]))


def _logits(layer: OutputLayer, inputs: Any, labels: npt.NDArray[np.int64]) -> Floats:
    """Return the logits of some labels, (n_inputs, n), beyond their thresholds."""
    products = np.concatenate([np.asarray(block @ layer.weight[labels].T) for block in inputs.blocks()])
    return products if layer.offset is None else products + layer.offset[labels]


def _matrix(sets: LabelSets, labels: npt.NDArray[np.int64]) -> npt.NDArray[np.bool_]:
    on = np.zeros((len(sets), sets.n_labels), np.bool_)
    on[np.repeat(np.arange(len(sets)), np.diff(sets.indptr)), sets.indices] = True
    return on[:, labels]


def _micro_f1(predicted: LabelSets, true: LabelSets, right: int, wrong: int) -> float:
    """Return micro-F1 with so many more predictions."""
    pairs = zip(predicted, true, strict=True)
    hits = right + sum(len(np.intersect1d(one, other, assume_unique=True)) for one, other in pairs)
    whole = len(predicted.indices) + right + wrong + len(true.indices)
    return 2 * hits / whole if whole else 0.0
