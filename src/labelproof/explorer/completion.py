"""Find labels by what a person types: the very name first, its start before its middle, names with a slip last."""

import unicodedata
from collections import defaultdict
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from labelproof.pages.names import visible

__all__ = ["LabelSearch"]

Indices = npt.NDArray[np.int64]
ALIKE = 0.5  # share of pairs of letters that a name with a slip has in common with the query


class LabelSearch:
    """An index of label names.

    Parameters
    ----------
    names
        One for each label.
    counts
        int64 (n_labels,): how often each label occurs; more frequent ones come first.

    Examples
    --------
    >>> search = LabelSearch(["Fever", "Yellow fever", "Feverfew", "Type 2 diabetes"], np.array([5, 9, 1, 2]))
    >>> search.find("fever", 3), search.find("diabtes", 3), search.find("#2", 3)
    ([0, 2, 1], [3], [2])
    >>> LabelSearch(["c", "C", "C++", "#0"], np.array([9, 8, 1, 0])).find("C++", 3)
    [2, 0, 1]
    """

    def __init__(self, names: Sequence[str], counts: Indices) -> None:
        self._plain = [_plain(name) for name in names]
        self._called: defaultdict[str, list[tuple[str, int]]] = defaultdict(list)
        for i, name in enumerate(names):
            for typed in {_trimmed(name), visible(_trimmed(name))}:
                self._called[typed.casefold()].append((typed, i))
        lengths = np.array([len(name) for name in self._plain], np.int64)
        by_count = np.lexsort((lengths, -counts))
        self._place = np.empty(len(names), np.int64)
        self._place[by_count] = np.arange(len(names))
        self._sizes, self._holders = _by_pair(self._plain)

    def find(self, query: str, limit: int) -> list[int]:
        """Return at most so many labels, the best first; of an empty query, the most frequent ones."""
        typed, words = _trimmed(query), _plain(query)
        same = sorted(self._called.get(typed.casefold(), []), key=lambda called: (called[0] != typed, called[1]))
        exact = list(dict.fromkeys(i for _, i in same)) if typed else []
        if not exact and words.startswith("#") and words[1:].isdecimal():
            return [int(words[1:])] if len(words) < 12 and int(words[1:]) < len(self._plain) else []
        return [*exact, *(i for i in self._matching(words, limit) if i not in exact)][:limit]

    def _matching(self, words: str, limit: int) -> list[int]:
        ranks = {i: rank for i, name in enumerate(self._plain) if (rank := _rank(name, words)) is not None}
        found = sorted(ranks, key=lambda i: (ranks[i], self._place[i]))[:limit]
        if len(found) < limit and len(words) > 2:
            found += [i for i in self._alike(words) if i not in ranks][: limit - len(found)]
        return found

    def _alike(self, words: str) -> list[int]:
        """Return labels that have most pairs of letters in common with the query (Dice's coefficient)."""
        pairs = _pairs(words)
        shared = np.zeros(len(self._plain))
        for pair in pairs:
            shared[self._holders.get(pair, [])] += 1
        alike = 2 * shared / (len(pairs) + np.minimum(self._sizes, 2 * len(pairs)))
        close = np.flatnonzero(alike >= ALIKE)
        return close[np.lexsort((self._place[close], -alike[close]))].tolist()


def _trimmed(name: str) -> str:
    """Leave out what cannot be typed: space at the ends, and how accents are put together."""
    return unicodedata.normalize("NFC", name).strip()


def _rank(name: str, words: str) -> int | None:
    """Return 0 for the whole name, 1 for its start, 2 for the start of a word in it, 3 for any place; else None."""
    place = name.find(words)
    if place < 0:
        return None
    if place == 0:
        return 0 if name == words else 1
    return 2 if name.find(" " + words) >= 0 else 3


def _plain(text: str) -> str:
    """Leave out case and accents, and make one space of all that is neither letter nor digit nor #."""
    letters = unicodedata.normalize("NFKD", text).casefold()
    kept = (c if c.isalnum() or c == "#" else " " for c in letters if not unicodedata.combining(c))
    return " ".join("".join(kept).split())


def _pairs(name: str) -> set[str]:
    padded = f" {name} "
    return {padded[k : k + 2] for k in range(len(padded) - 1)}


def _by_pair(names: list[str]) -> tuple[Indices, dict[str, Indices]]:
    """Return the number of different pairs of letters of each name, and who has each pair."""
    holders: defaultdict[str, list[int]] = defaultdict(list)
    sizes = np.zeros(len(names), np.int64)
    for i, name in enumerate(names):
        pairs = _pairs(name)
        sizes[i] = len(pairs)
        for pair in pairs:
            holders[pair].append(i)
    return sizes, {pair: np.array(who, np.int64) for pair, who in holders.items()}
