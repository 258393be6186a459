"""Label hierarchies: a label implies all labels above it."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache

from labelproof.errors import DataFormatError

__all__ = ["Hierarchy", "prefixes", "read_hierarchy"]

MAX_DEPTH = 200
"""The most levels of a hierarchy; every label of a path stands for all its beginnings, which add up."""


@dataclass(frozen=True)
class Hierarchy:
    """The labels, and for each all labels above it, itself included."""

    names: tuple[str, ...]
    above: Mapping[str, frozenset[str]]

    def closure(self, labels: Iterable[str]) -> list[str]:
        """Return the labels and all above them, sorted.

        >>> read_hierarchy("root/a,a/b,root/c").closure(["b"])
        ['a', 'b']
        """
        closed: set[str] = set()
        for label in labels:
            if label not in self.above:
                raise ValueError(f"expected a label of the hierarchy, got {label!r}")
            closed |= self.above[label]
        return sorted(closed)


def read_hierarchy(text: str, where: str = "hierarchy") -> Hierarchy:
    """Read a hierarchy: edges ``parent/child`` that begin at ``root``, or paths such as ``01/01/03``.

    Examples
    --------
    >>> read_hierarchy("01,01/02,01/02/03").closure(["01/02"])
    ['01', '01/02']
    """
    entries = [entry.strip() for entry in text.split(",") if entry.strip()]
    if any(entry.startswith("root/") for entry in entries):
        return _of_edges(entries, where)
    try:
        names = dict.fromkeys(prefix for entry in entries for prefix in prefixes(entry))
    except ValueError as error:
        raise DataFormatError(f"{where}: {error}") from error
    return Hierarchy(tuple(names), {name: frozenset(prefixes(name)) for name in names})


def prefixes(path: str, separator: str = "/") -> list[str]:
    """Return a path and all its beginnings.

    >>> prefixes("a > b > c", " > ")
    ['a', 'a > b', 'a > b > c']
    """
    steps = path.split(separator)
    if len(steps) > MAX_DEPTH:
        raise ValueError(f"expected labels of at most {MAX_DEPTH} levels, got {len(steps)}")
    return [separator.join(steps[: i + 1]) for i in range(len(steps))]


def _of_edges(entries: list[str], where: str) -> Hierarchy:
    parents: dict[str, set[str]] = {}
    for entry in entries:
        parent, slash, child = entry.partition("/")
        if not slash or "/" in child:
            raise DataFormatError(f"{where}: expected edges parent/child, got {entry!r}")
        parents.setdefault(child, set()).add(parent)
        if parent != "root":
            parents.setdefault(parent, set())
    opened: set[str] = set()
    levels = {"root": 0}

    @cache
    def above(label: str) -> frozenset[str]:
        if label in opened:
            raise DataFormatError(f"{where}: expected a hierarchy without cycles, got one through {label!r}")
        opened.add(label)
        if len(opened) <= MAX_DEPTH:
            found = frozenset({label}.union(*(above(parent) for parent in parents[label] if parent != "root")))
            levels[label] = 1 + max((levels[parent] for parent in parents[label]), default=0)
        if levels.get(label, MAX_DEPTH + 1) > MAX_DEPTH:
            raise DataFormatError(f"{where}: expected a hierarchy of at most {MAX_DEPTH} levels, got more")
        opened.remove(label)
        return found

    return Hierarchy(tuple(parents), {label: above(label) for label in parents})
