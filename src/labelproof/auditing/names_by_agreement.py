"""Whether a model that names no labels has those of a data set, in their order: its predictions tell."""

import numpy as np
import numpy.typing as npt

from labelproof.auditing.real_inputs import raw_inputs, take_rows
from labelproof.data.dataset import Dataset
from labelproof.importers import ImportedLayer
from labelproof.proof.examples import read_examples
from labelproof.proof.regions import Rule, make_layer
from labelproof.proof.stretch_bar import predicted_sets

__all__ = ["names_by_agreement"]

MOST_INPUTS = 500
NOW_AND_THEN = 3  # predictions of a label, from which it is looked at
LEAST_SEEN, ENOUGH = 2, 0.8  # how many such labels there must be, and which share of them must fit


def names_by_agreement(layer: ImportedLayer, data: Dataset, *, seed: int = 0) -> tuple[tuple[str, ...], str] | None:
    """Return the data's label names with a remark, if the model's predictions agree with them in this order.

    None where the model has another number of labels, cannot be run, or fits them no better than others.
    """
    inputs = raw_inputs(layer, data)
    if layer.label_names is not None or inputs is None or data.n_labels != layer.n_labels or layer.features is None:
        return None
    rng = np.random.default_rng(seed)
    rows = np.sort(rng.choice(len(data), min(MOST_INPUTS, len(data)), replace=False))
    features = read_examples(layer.features(take_rows(inputs, rows)), layer.n_features)
    rule: Rule = "topk" if layer.rule == "topk" else "sigmoid"
    predicted = predicted_sets(make_layer(layer.weight, bias=layer.bias, rule=rule), features, k=layer.size or 1)
    on = np.zeros((len(rows), layer.n_labels), np.bool_)
    for row, active in zip(on, predicted, strict=True):
        row[active] = True
    true = np.asarray(data.labels[rows].toarray()) > 0
    fits, seen = _best_fits(on, true)
    if seen < LEAST_SEEN or fits < ENOUGH * seen:
        return None
    note = (
        f"The model names no labels: the data's are taken to be its own in their order. For {fits:,} of {seen:,} "
        f"labels no other label of the data fits its predictions for {len(rows):,} inputs better."
    )
    return data.label_names, note


def _best_fits(on: npt.NDArray[np.bool_], true: npt.NDArray[np.bool_]) -> tuple[int, int]:
    """Return for how many labels, of those predicted now and then, the F-measure with no other label is better."""
    predicted = on.sum(axis=0)
    often = np.flatnonzero(predicted >= NOW_AND_THEN)
    common = on[:, often].T.astype(np.float32) @ true.astype(np.float32)  # (n_often, n_labels)
    measure = 2 * common / (predicted[often, None] + true.sum(axis=0))
    own = measure[np.arange(len(often)), often]
    return int(((own > 0) & (own >= measure.max(axis=1, initial=0.0))).sum()), len(often)
