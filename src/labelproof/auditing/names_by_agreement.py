"""Whether a model that names no labels has those of a data set, in their order: its predictions tell."""

import numpy as np

from labelproof.auditing.real_inputs import raw_inputs, take_rows
from labelproof.data.dataset import Dataset
from labelproof.importers import ImportedLayer
from labelproof.proof.examples import read_examples
from labelproof.proof.regions import make_layer
from labelproof.proof.stretch_bar import predicted_sets

__all__ = ["names_by_agreement"]

MOST_INPUTS = 500
SHUFFLED = 20
CLEARLY = 2.0  # times as many hits as with shuffled labels


def names_by_agreement(layer: ImportedLayer, data: Dataset, *, seed: int = 0) -> tuple[tuple[str, ...], str] | None:
    """Return the data's label names with a remark, if the model's predictions agree with them in this order.

    None where the model has another number of labels, cannot be run, or agrees no better than with shuffled labels.
    """
    inputs = raw_inputs(layer, data)
    if layer.label_names is not None or inputs is None or data.n_labels != layer.n_labels or layer.features is None:
        return None
    rng = np.random.default_rng(seed)
    rows = np.sort(rng.choice(len(data), min(MOST_INPUTS, len(data)), replace=False))
    features = read_examples(layer.features(take_rows(inputs, rows)), layer.n_features)
    rule = "topk" if layer.rule == "topk" else "sigmoid"
    predicted = predicted_sets(make_layer(layer.weight, bias=layer.bias, rule=rule), features, k=layer.size or 1)
    on = np.zeros((len(rows), layer.n_labels), np.bool_)
    for row, active in zip(on, predicted, strict=True):
        row[active] = True
    true = np.asarray(data.labels[rows].toarray()) > 0
    hits = int((on & true).sum())
    shuffled = max(int((on[:, rng.permutation(layer.n_labels)] & true).sum()) for _ in range(SHUFFLED))
    if hits <= CLEARLY * shuffled:
        return None
    note = (
        f"The model names no labels: the data's are taken to be its own in their order, with which its predictions for "
        f"{len(rows):,} inputs agree ({hits:,} labels in common, at most {shuffled:,} with shuffled labels)."
    )
    return data.label_names, note
