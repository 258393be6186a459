"""Among how many best documents can a query return all its relevant ones?

Relevant documents R that no query returns as its best |R| may all be among the best k > |R|, beside k − |R| others. A
conflict of R names documents J of which at least one is ranked above some of R; so every list of the best k that has
all of R has one of J. Adding each of J in turn, and so on, decides every k: R and one more of each J along a branch are
either possible, which settles k, or give the next conflict. Every set on the way is proven like all others.
"""

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from labelproof.proof.labels import LabelSets, read_label_sets
from labelproof.proof.result import Verification

__all__ = ["Depths", "measure_depths"]

Indices = npt.NDArray[np.int64]
Verify = Callable[[LabelSets], Verification]
MOST_SETS = 5000  # to verify in all, of few documents; fewer of many
WORK = 2e9  # documents × width × sets


@dataclass(frozen=True, eq=False)
class Depths:
    """For each set R the least k such that some query has all of R among its best k: proven bounds.

    ``most`` is -1 where no k was shown to do. ``proofs`` are the verdicts, beside those of the sets themselves.
    """

    least: Indices
    most: Indices
    proofs: list[Verification] = field(repr=False)


def measure_depths(
    v: Verification, largest: int, verify: Verify, guess: Callable[[LabelSets], list[Indices]]
) -> Depths:
    """Measure the depths of all sets of a verification, up to the largest of interest.

    Parameters
    ----------
    v
        Verdicts on the sets as the best |R|.
    largest
        Bounds above this are not narrowed.
    verify
        Decides further sets of the same index.
    guess
        For each set, documents that some query ranks above all others, with the set among them.
    """
    sizes = np.diff(v.label_sets.indptr)
    least, most = sizes.copy(), np.where(v.status == 1, sizes, -1)
    impossible = np.flatnonzero((v.status == 0) & (sizes < largest)).tolist()
    least[v.status == 0] += 1
    if not impossible:
        return Depths(least, most, [])
    proofs = [_try_guesses(v, impossible, most, largest, verify, guess)]
    budget = int(np.clip(WORK / v.layer.weight.size, 200, MOST_SETS))
    frontier = {i: {frozenset(v.label_sets[i].tolist()): _rivals(v, i)} for i in impossible}
    while frontier:
        frontier = {i: nodes for i, nodes in frontier.items() if least[i] <= largest and least[i] != most[i]}
        chosen = _within(budget, {i: _children(nodes) for i, nodes in frontier.items()})
        if not chosen:
            break
        flat = sorted({child for children in chosen.values() for child in children}, key=sorted)
        budget -= len(flat)
        found = verify(read_label_sets([sorted(child) for child in flat], v.layer.n_labels))
        proofs.append(found)
        frontier = _advance(found, {child: place for place, child in enumerate(flat)}, chosen, least, most)
    return Depths(least, most, [proof for proof in proofs if len(proof)])


def _try_guesses(
    v: Verification,
    which: list[int],
    most: Indices,
    largest: int,
    verify: Verify,
    guess: Callable[[LabelSets], list[Indices]],
) -> Verification:
    """Prove what guesses say about how many documents suffice."""
    guessed = guess(v.label_sets.take(which))
    useful = [(i, rows) for i, rows in zip(which, guessed, strict=True) if len(rows) <= largest]
    found = verify(read_label_sets([rows for _, rows in useful], v.layer.n_labels))
    for (i, rows), status in zip(useful, found.status.tolist(), strict=True):
        if status == 1:
            most[i] = len(rows)
    return found


def _rivals(v: Verification, i: int) -> list[int]:
    """Return the documents of a conflict that are outside the set."""
    rows = v.conflict_rows[v.conflict_ptr[i] : v.conflict_ptr[i + 1]]
    return np.setdiff1d(rows[rows < v.layer.n_labels], v.label_sets[i]).tolist()


def _children(nodes: dict[frozenset[int], list[int]]) -> set[frozenset[int]]:
    return {node | {rival} for node, rivals in nodes.items() for rival in rivals}


def _within(budget: int, children: dict[int, set[frozenset[int]]]) -> dict[int, set[frozenset[int]]]:
    """Keep the sets with the fewest children, as many as the budget allows."""
    chosen: dict[int, set[frozenset[int]]] = {}
    for i in sorted(children, key=lambda i: (len(children[i]), i)):
        budget -= len(children[i])
        if budget < 0:
            break
        chosen[i] = children[i]
    return chosen


def _advance(
    found: Verification,
    places: dict[frozenset[int], int],
    chosen: dict[int, set[frozenset[int]]],
    least: Indices,
    most: Indices,
) -> dict[int, dict[frozenset[int], list[int]]]:
    """Move the bounds by what was found one document deeper, and return the branches that go on."""
    frontier = {}
    for i, children in chosen.items():
        verdicts = {child: int(found.status[places[child]]) for child in children}
        if 1 in verdicts.values():
            most[i] = least[i]
        elif -1 not in verdicts.values():
            least[i] += 1
            frontier[i] = {child: _rivals(found, places[child]) for child in children}
    return frontier
