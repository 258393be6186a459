"""Label hierarchies: a label implies all labels above it."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache

from labelproof.errors import DataFormatError

__all__ = ["Hierarchy", "prefixes", "read_hierarchy"]


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
    names = dict.fromkeys(prefix for entry in entries for prefix in prefixes(entry))
    return Hierarchy(tuple(names), {name: frozenset(prefixes(name)) for name in names})


def prefixes(path: str, separator: str = "/") -> list[str]:
    """Return a path and all its beginnings.

    >>> prefixes("a > b > c", " > ")
    ['a', 'a > b', 'a > b > c']
    """
    steps = path.split(separator)
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

    @cache
    def above(label: str) -> frozenset[str]:
        if label in opened:
            raise DataFormatError(f"{where}: expected a hierarchy without cycles, got one through {label!r}")
        opened.add(label)
        found = frozenset({label}.union(*(above(parent) for parent in parents[label] if parent != "root")))
        opened.remove(label)
        return found

    return Hierarchy(tuple(parents), {label: above(label) for label in parents})
