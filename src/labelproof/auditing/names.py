"""Label sets in the numbering of a model: matched by name where both sides have names."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any

import numpy as np

from labelproof.data import Dataset
from labelproof.importers import ImportedLayer
from labelproof.verification.labels import LabelSets, read_label_sets

__all__ = ["Aligned", "Required", "align", "read_requirements"]


@dataclass(frozen=True, eq=False)
class Aligned:
    """The data's label sets, and what the model's labels are called."""

    sets: LabelSets
    names: tuple[str, ...]


@dataclass(frozen=True, eq=False)
class Required:
    """Label sets that must be predictable, and what they are called."""

    sets: LabelSets
    names: tuple[str, ...]


def align(layer: ImportedLayer, labels: Any, label_names: Sequence[str] | None = None) -> Aligned:
    """Bring the data's label sets into the order of the model's labels.

    Parameters
    ----------
    layer
        The model's layer, with or without names.
    labels
        A data set, matched by name; or label sets whose columns are the model's labels in order.
    label_names
        The names of the model's labels, where the model has none or other ones.
    """
    names = layer.label_names if label_names is None else tuple(label_names)
    if names is not None and len(names) != layer.n_labels:
        raise ValueError(f"label_names must hold {layer.n_labels} names to match the layer, got {len(names)}")
    if not isinstance(labels, Dataset):
        plain = tuple(f"label {i}" for i in range(layer.n_labels))
        return Aligned(read_label_sets(labels, layer.n_labels), plain if names is None else names)
    if names is None:
        if labels.n_labels != layer.n_labels:
            raise ValueError(
                f"labels must be the {layer.n_labels} labels of the model, which names none of them, "
                f"got {labels.n_labels}: give label_names in the order of the model"
            )
        return Aligned(_sets_of(labels), labels.label_names)
    if not set(names) & set(labels.label_names):
        raise ValueError(
            f"labels must have names that the model knows, such as {names[0]!r}, got only others, "
            f"such as {labels.label_names[0]!r}"
        )
    return Aligned(_sets_of(labels.restrict_to(names)), names)


def _sets_of(data: Dataset) -> LabelSets:
    matrix = data.labels
    return LabelSets(data.n_labels, matrix.indptr.astype(np.int64), matrix.indices.astype(np.int64))


def read_requirements(required: Any, names: Sequence[str]) -> Required:
    """Read label sets that must be predictable.

    Parameters
    ----------
    required
        A mapping from names to lists of label names or indices, or label sets as for `labelproof.verify`.
    names
        Of the model's labels.

    Examples
    --------
    >>> found = read_requirements({"zoo": ["dog", "cat"]}, ["cat", "dog", "fish"])
    >>> found.names, found.sets[0].tolist()
    (('zoo',), [0, 1])
    """
    if not isinstance(required, Mapping):
        sets = read_label_sets(required, len(names))
        return Required(sets, tuple(f"requirement {i + 1}" for i in range(len(sets))))
    places = {name: i for i, name in enumerate(names)}
    lists = [sorted(_place(label, places, str(what)) for label in labels) for what, labels in required.items()]
    return Required(read_label_sets(lists, len(names)), tuple(str(what) for what in required))


def _place(label: Any, places: dict[str, int], what: str) -> int:
    if isinstance(label, str):
        if label in places:
            return places[label]
        nearest = get_close_matches(label, places, n=1, cutoff=0.0)
        hint = f"; the nearest is {nearest[0]!r}" if nearest else ""
        raise ValueError(f"required must name labels of the model, got {label!r} in {what!r}{hint}")
    if isinstance(label, int | np.integer) and not isinstance(label, bool) and 0 <= label < len(places):
        return int(label)
    raise ValueError(f"required must hold names or indices of the {len(places)} labels, got {label!r} in {what!r}")
