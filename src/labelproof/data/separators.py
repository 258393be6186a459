"""What stands between labels in a string, where nobody says: a guess is made on clear evidence only, and is told.

Strings are split at semicolons and bars. Where no row has two labels by that, and names contain commas, slashes or
blanks, each name may be several labels in truth, or one whose name is so. The labels of other rows tell.
"""

import re
import warnings
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import scipy.sparse

from labelproof.data.dataset import Dataset

__all__ = ["USUAL", "SeparatorGuess", "split_if_clear"]

USUAL = ";|"
"""As ``separator``: semicolons or bars, and no guess."""
CANDIDATES = (",", "/", " ")


class SeparatorGuess(UserWarning):
    """Says at what labels were split without having been told."""


@dataclass(frozen=True)
class _Evidence:
    """What the parts of names tell: how many there are, which recur, and which stand alone."""

    n_names: int
    n_parts: int
    n_composed: int
    all_recur: bool
    some_recur: bool
    share_alone: float

    @property
    def is_clear(self) -> bool:
        """Whether names are several labels each: parts are fewer, all of them recur, and most are labels elsewhere."""
        return self.all_recur and self.n_parts < self.n_names and self.share_alone >= 0.5

    def is_doubtful(self, separator: str) -> bool:
        """Whether nobody could tell; blanks within names are usual, commas and slashes less so."""
        if separator == " ":
            return self.all_recur and self.n_parts < self.n_names and self.n_composed > 2
        return self.some_recur and self.n_composed > 1


def split_if_clear(data: Dataset) -> Dataset:
    """Return a data set whose names of several labels are split, where that is clear; refuse it where it is doubtful.

    Examples
    --------
    >>> labels = scipy.sparse.csr_array(np.eye(4, dtype=bool))
    >>> data = Dataset(labels, ("bird", "cat", "cat, bird", "bird, cat"))
    >>> with warnings.catch_warnings(action="ignore"):
    ...     split_if_clear(data).label_names
    ('bird', 'cat')
    """
    if data.n_labels < 2 or np.diff(data.labels.indptr).max(initial=0) > 1:
        return data
    names = data.label_names
    for separator in CANDIDATES:
        evidence = _evidence(names, separator)
        if evidence is None:
            continue
        if evidence.is_clear:
            found = _split(data, separator)
            warnings.warn(
                f"labels are split at {separator!r}, which gives {found.n_labels} of them in place of {len(names)}; "
                f"separator= names another separator, {USUAL!r} keeps names whole",
                SeparatorGuess,
                stacklevel=2,
            )
            return found
        if evidence.is_doubtful(separator):
            example = next(name for name in names if separator in name)
            raise ValueError(
                f"every row has one label, and {evidence.n_composed} of {len(names)} names contain {separator!r}, as "
                f"{example[:60]!r}: separator= is needed, {separator!r} to split them or {USUAL!r} to keep them whole"
            )
    return data


def _evidence(names: Sequence[str], separator: str) -> _Evidence | None:
    split = {name: _parts(name, separator) for name in names}
    composed = [name for name, parts in split.items() if len(parts) > 1]
    if not composed:
        return None
    uses = Counter(part for parts in split.values() for part in set(parts))
    inner = {part for name in composed for part in split[name]}
    alone = {parts[0] for parts in split.values() if len(parts) == 1}
    return _Evidence(
        len(names),
        len(uses),
        len(composed),
        all(uses[part] > 1 for part in inner),
        any(uses[part] > 1 for part in inner),
        len(inner & alone) / len(inner),
    )


def _parts(name: str, separator: str) -> list[str]:
    cut = name.split() if separator == " " else re.split(rf"\s*{re.escape(separator)}\s*", name)
    return [part for part in dict.fromkeys(cut) if part] or [name]


def _split(data: Dataset, separator: str) -> Dataset:
    """Return the data set over the parts of its names."""
    split = [_parts(name, separator) for name in data.label_names]
    names = sorted({part for parts in split for part in parts})
    place = {name: j for j, name in enumerate(names)}
    pairs = [(i, place[part]) for i, parts in enumerate(split) for part in parts]
    rows, columns = np.array(pairs).T
    chosen = scipy.sparse.csr_array((np.ones(len(pairs), np.bool_), (rows, columns)), (len(split), len(names)))
    return replace(data, labels=data.labels @ chosen, label_names=tuple(names), separator=separator)
