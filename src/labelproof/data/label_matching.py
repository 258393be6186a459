"""Label sets of data in the numbering of a model: by name where both sides have names, else by place.

Data come in three forms: a table whose columns stand in an order, lists of names or numbers, and data sets.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches
from typing import Any

import numpy as np
import numpy.typing as npt

from labelproof.data.dataset import Dataset
from labelproof.data.examples import in_natural_order
from labelproof.errors import DataFormatError
from labelproof.proof.labels import LabelSets, read_label_sets

__all__ = ["Apart", "LabelLists", "LabelTable", "MatchedSets", "Number", "match_dataset", "match_lists", "match_table"]


class Number(str):
    """A whole number in the place of a label: its index, or its name where labels are named by numbers."""

    __slots__ = ()


@dataclass(frozen=True, eq=False)
class LabelTable:
    """Columns of 0 and 1 in an order: an array or sparse matrix (n_sets, n_labels), and their names if there are."""

    matrix: Any
    names: tuple[str, ...] | None = None


@dataclass(frozen=True, eq=False)
class LabelLists:
    """The labels of each set, `Number` or the name, and where each set stands, for errors."""

    sets: list[list[str]]
    places: list[str]


@dataclass(frozen=True, eq=False)
class MatchedSets:
    """Label sets in the numbering of a model.

    Attributes
    ----------
    sets
        The label sets.
    names
        What the labels are called: the model's names, else those of the data, else None.
    note
        A sentence where names of the data could not be compared with the model's, which has none.
    apart
        The sets, by names, that were put apart because they have a label that the model does not know.
    rows
        int64 (n_sets,): the place of each of ``sets`` among all of the data, where some were put apart.

    Examples
    --------
    >>> from labelproof.proof.labels import read_label_sets
    >>> MatchedSets(read_label_sets([[0, 2]], 3), names=("bird", "cat", "dog")).names
    ('bird', 'cat', 'dog')
    """

    sets: LabelSets
    names: tuple[str, ...] | None
    note: str | None = None
    apart: tuple[tuple[str, ...], ...] = ()
    rows: npt.NDArray[np.int64] | None = None


Apart = bool | None
"""Whether sets with labels that the model does not know are put apart, not an error; None: if the data have all labels
of the model, so that the others are ones that it was not taught."""


def match_table(
    table: LabelTable, names: Sequence[str] | None, n_labels: int | None, *, apart: Apart = False
) -> MatchedSets:
    """Match columns with a model's labels.

    Parameters
    ----------
    table
        The columns.
    names
        Of the model's labels, in order, or None.
    n_labels
        How many labels the model has; None where there is no model yet.
    apart
        See `Apart`.

    Examples
    --------
    >>> table = LabelTable(np.array([[1, 0], [1, 1]]), ("dog", "cat"))
    >>> matched = match_table(table, ["cat", "dog", "fish"], 3)
    >>> [active.tolist() for active in matched.sets]
    [[1], [0, 1]]
    """
    own = None if table.names is None or _only_count(table.names) else table.names
    if own is not None and names is not None:
        return match_dataset(Dataset(table.matrix, own), names, n_labels, apart=apart)
    width = table.matrix.shape[1] if table.matrix.ndim == 2 else 0
    given = len(names) if names is not None else n_labels
    if given is not None and table.matrix.ndim == 2 and width != given:
        raise ValueError(f"expected {given} columns of 0 and 1, one for each label of the model or scores, got {width}")
    sets = read_label_sets(table.matrix, width if given is None else given)
    if own is None:
        return MatchedSets(sets, None if names is None else tuple(names))
    note = "The model names no labels: the data's columns are taken to be its labels in order, and to name them."
    return MatchedSets(sets, own, note if given is not None else None)


def match_dataset(
    data: Dataset, names: Sequence[str] | None, n_labels: int | None, *, apart: Apart = False
) -> MatchedSets:
    """Match the labels of a data set with a model's: by name, or by index where the data's labels are numbers.

    Parameters
    ----------
    data, names, n_labels, apart
        The data set; the rest as for `match_table`.
    """
    if names is None and n_labels is None:
        return MatchedSets(_sets_of(data), data.label_names)
    if names is None:
        return MatchedSets(_sets_of(data.restrict_to(_numbers(data, n_labels or 0))), None)
    _refuse_repeated(names)
    used = [name for name, count in zip(data.label_names, data.label_counts().tolist(), strict=True) if count]
    if all(name.isdecimal() for name in used) and not _numbers_are_names(used, names, "the data"):
        kept = data.restrict_to([str(i) for i in range(len(names))])
        return MatchedSets(_sets_of(kept), tuple(names))
    known = set(names)
    unknown = [name for name in used if name not in known]
    if unknown and not _are_apart(apart, names, data.label_names):
        raise ValueError(
            f"labels must be ones that the model knows, got {unknown[0]!r}; {_nearest(unknown[0], names)}{_hint(apart)}"
        )
    if unknown:
        return _without_unknown(data, names, set(unknown))
    return MatchedSets(_sets_of(data.restrict_to(names)), tuple(names))


def match_lists(
    lists: LabelLists,
    names: Sequence[str] | None,
    n_labels: int | None,
    *,
    source: str = "labels",
    apart: Apart = False,
) -> MatchedSets:
    """Match lists of names or numbers with a model's labels.

    Without a model, named labels are put into their natural order.

    Parameters
    ----------
    lists, names, n_labels
        The lists; the rest as for `match_table`.
    source
        What to call the data in errors.
    apart
        See `Apart`.
    """
    tokens = {token for active in lists.sets for token in active}
    named = [token for token in tokens if not isinstance(token, Number)]
    if names is None and n_labels is None:
        if not lists.sets:
            raise ValueError("expected at least one label set, got none")
        if not named:
            raise ValueError("expected to know how many labels there are, since these are indices: n_labels= says it")
        names = in_natural_order({str(token) for token in tokens})
        numbers = True
    elif names is not None:
        _refuse_repeated(names)
        numbers = _numbers_are_names([token for token in tokens if isinstance(token, Number)], names, source)
    else:
        numbers = False
    places = {name: i for i, name in enumerate(names or ())}
    unknown = {token for token in tokens if token not in places and (numbers or not isinstance(token, Number))}
    is_apart = bool(names and unknown) and _are_apart(apart, names or (), tokens)
    lost = [is_apart and not unknown.isdisjoint(active) for active in lists.sets]
    kept = [i for i, one in enumerate(lost) if not one]
    hint = "" if is_apart else _hint(apart)
    sets = [
        [_place(token, places, names, numbers, lists.places[i], n_labels, hint) for token in lists.sets[i]]
        for i in kept
    ]
    total = len(names) if names is not None else int(n_labels or 0)
    found = MatchedSets(read_label_sets(sets, total), None if names is None else tuple(names))
    if not is_apart:
        return found
    put_apart = tuple(tuple(map(str, active)) for active, one in zip(lists.sets, lost, strict=True) if one)
    return replace(found, apart=put_apart, rows=np.array(kept, np.int64))


def _are_apart(apart: Apart, names: Sequence[str], of_data: Iterable[str]) -> bool:
    """Return whether labels that the model does not know may be put apart."""
    return set(names) <= set(of_data) if apart is None else apart


def _hint(apart: Apart) -> str:
    return " (drop_unknown= counts sets with such labels as never predicted)" if apart is None else ""


def _without_unknown(data: Dataset, names: Sequence[str], unknown: set[str]) -> MatchedSets:
    """Return the sets of labels that are known, and the others by name."""
    is_unknown = np.array([name in unknown for name in data.label_names])
    lost = np.asarray(data.labels @ is_unknown.astype(np.int64)) > 0
    kept = data.select(np.flatnonzero(~lost)).restrict_to(names, unknown="drop")
    apart = tuple(data.select(np.flatnonzero(lost)).label_sets())
    return MatchedSets(_sets_of(kept), tuple(names), None, apart, np.flatnonzero(~lost))


def _place(
    token: str,
    places: dict[str, int],
    names: Sequence[str] | None,
    numbers_are_names: bool,
    where: str,
    n_labels: int | None,
    hint: str = "",
) -> int:
    if isinstance(token, Number) and not numbers_are_names:
        total = len(names) if names is not None else int(n_labels or 0)
        if not 0 <= int(token) < total:
            raise DataFormatError(
                f"{where}: expected label indices from 0 to {total - 1}, since there are {total} labels, got {token}"
            )
        return int(token)
    if token in places:
        return places[token]
    if names is None:
        raise DataFormatError(
            f"{where}: expected label indices (names need label_names=, in the order of the model's {n_labels} "
            f"rows), got {str(token)!r}"
        )
    nearest = _nearest(token, names)
    raise DataFormatError(f"{where}: expected a label's name or index, got {str(token)!r}; {nearest}{hint}")


def _numbers_are_names(numbers: Iterable[str], names: Sequence[str], source: str) -> bool:
    """Return whether numbers are names of labels rather than indices; ValueError where they could be both."""
    places = {name: i for i, name in enumerate(names)}
    if not any(name.isdecimal() for name in names):
        return False
    numbers = list(numbers)
    if all(number in places and int(number) < len(names) for number in numbers):
        for number in sorted(numbers):
            if places[number] != int(number):
                raise ValueError(
                    f"labels must be unambiguous, got the number {number} in {source}: it is the name of label "
                    f"{places[number]} and the index of {names[int(number)]!r} (a 0/1 matrix leaves no doubt)"
                )
    return True


def _refuse_repeated(names: Sequence[str]) -> None:
    if len(set(names)) < len(names):
        seen: set[str] = set()
        twice = next(name for name in names if name in seen or seen.add(name))  # type: ignore[func-returns-value]
        raise ValueError(f"labels are matched by name, so the model's must differ, got {twice!r} more than once")


def _numbers(data: Dataset, n_labels: int) -> list[str]:
    """Return the names 0, 1, …, which are all that data may use for a model that names none of its labels."""
    numbers = [str(i) for i in range(n_labels)]
    known = set(numbers)
    other = next((name for name in data.label_names if name not in known), None)
    if other is not None:
        raise ValueError(
            f"label_names must be given, in the order of the model's {n_labels} rows: the model names none of its "
            f"labels, and the data have names, such as {other!r}"
        )
    return numbers


def _only_count(names: Sequence[str]) -> bool:
    return list(names) == [str(i) for i in range(len(names))]


def _nearest(name: str, names: Sequence[str]) -> str:
    return f"the nearest is {get_close_matches(str(name), names, n=1, cutoff=0.0)[0]!r}"


def _sets_of(data: Dataset) -> LabelSets:
    matrix = data.labels
    return LabelSets(data.n_labels, matrix.indptr.astype(np.int64), matrix.indices.astype(np.int64))
