"""Label sets in the numbering of a model: matched by name where both sides have names."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any

import numpy as np
import numpy.typing as npt

from labelproof.data.dataset import Dataset
from labelproof.data.label_matching import Apart, MatchedSets, match_dataset
from labelproof.importers import ImportedLayer
from labelproof.proof.labels import LabelSets, read_label_sets

__all__ = ["Aligned", "Required", "align", "read_requirements"]


@dataclass(frozen=True, eq=False)
class Aligned:
    """The data's label sets, what the model's labels are called, whether someone named them, and a remark if any.

    ``rows`` are the rows of the data that these sets stand in; ``apart`` are the sets of the others, by names, which
    have labels that the model does not know.
    """

    sets: LabelSets
    names: tuple[str, ...]
    is_named: bool
    note: str | None
    rows: npt.NDArray[np.int64]
    apart: tuple[tuple[str, ...], ...] = ()


@dataclass(frozen=True, eq=False)
class Required:
    """Label sets that must be predictable, and what they are called."""

    sets: LabelSets
    names: tuple[str, ...]


def align(
    layer: ImportedLayer,
    labels: Any,
    label_names: Sequence[str] | None = None,
    *,
    part: str | None = None,
    apart: Apart = None,
) -> Aligned:
    """Bring the data's label sets into the order of the model's labels.

    Parameters
    ----------
    layer
        The model's layer, with or without names.
    labels
        The path of a file or folder, or the name of a data set, as for `labelproof.data.read_label_file`, or what that
        gave; a data set, matched by name; or label sets whose columns are the model's labels in order.
    label_names
        The names of the model's labels, where the model has none or other ones.
    part
        Of a data set, the part that is meant.
    apart
        What happens to labels that the model does not know, as in `labelproof.data.label_matching`.
    """
    names = layer.label_names if label_names is None else _checked(label_names, layer.n_labels)
    if isinstance(labels, str | os.PathLike):
        from labelproof.data.label_files import read_label_file

        labels = read_label_file(labels, label_names=names, n_labels=layer.n_labels, part=part, apart=apart)
    places = None
    if isinstance(labels, Dataset):
        if part is not None:
            labels, places = labels.part(part), np.flatnonzero(np.asarray(labels.split) == part)
        labels = match_dataset(labels, names, layer.n_labels, apart=apart)
    if not isinstance(labels, MatchedSets):
        labels = MatchedSets(read_label_sets(labels, layer.n_labels), names)
    rows = np.arange(len(labels.sets)) if labels.rows is None else labels.rows
    named = labels.names or _plain(layer.n_labels)
    rows = rows if places is None else places[rows]
    return Aligned(labels.sets, named, labels.names is not None, labels.note, rows, labels.apart)


def _checked(names: Sequence[str], n_labels: int) -> tuple[str, ...]:
    if isinstance(names, str) or not all(isinstance(name, str) for name in names):
        raise ValueError(f"label_names must be a list of strings, got {str(names)[:60]!r}")
    if len(names) != n_labels:
        raise ValueError(f"label_names must hold {n_labels} names to match the layer, got {len(names)}")
    return tuple(names)


def _plain(n_labels: int) -> tuple[str, ...]:
    return tuple(f"label {i}" for i in range(n_labels))


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
    if not len(required):
        raise ValueError("required must hold at least one label set, got none")
    if not isinstance(required, Mapping):
        sets = read_label_sets(required, len(names))
        return Required(sets, tuple(f"requirement {i + 1}" for i in range(len(sets))))
    lists = [_places(labels, names, str(what)) for what, labels in required.items()]
    return Required(read_label_sets(lists, len(names)), tuple(str(what) for what in required))


def _places(labels: Any, names: Sequence[str], what: str) -> list[int]:
    if isinstance(labels, str):
        raise ValueError(f"required must hold lists of labels, got the one string {labels!r} in {what!r}")
    return sorted(_place(label, names, what) for label in labels)


def _place(label: Any, names: Sequence[str], what: str) -> int:
    if isinstance(label, str):
        places = [i for i, name in enumerate(names) if name == label]
        if len(places) > 1:
            raise ValueError(f"required must be unambiguous, got {label!r} in {what!r}, the name of labels {places}")
        if places:
            return places[0]
        nearest = get_close_matches(label, names, n=1, cutoff=0.0)[0]
        raise ValueError(
            f"required must name labels of the model, got {label!r} in {what!r}; the nearest is {nearest!r}"
        )
    if isinstance(label, int | np.integer) and not isinstance(label, bool) and 0 <= label < len(names):
        return int(label)
    raise ValueError(f"required must hold names or indices of the {len(names)} labels, got {label!r} in {what!r}")
