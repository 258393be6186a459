"""Say in words why a label set can, or cannot, be predicted, and which sets near it can.

All that is claimed rests on proofs of `proofs`: a conflict, or a witness. Only the search for *good* ones is here:
for a conflict of few labels, and for label sets that differ in few labels.

A conflict of a label set refutes every set that decides the labels of the conflict in the same way. So an argmaxable
set differs from the given one in at least one label of each of its conflicts. That bounds the distance from below, and
tells which changes are worth a try: see `_Nearest`.
"""

import math
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from itertools import accumulate, islice
from operator import and_, index
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.optimize import linprog, nnls

from labelproof.verification.certificates import Argmaxable, Certificate, Unargmaxable, Undecided
from labelproof.verification.engine import Evidence, decide
from labelproof.verification.exact import float_witness
from labelproof.verification.labels import LabelSets, read_label_sets
from labelproof.verification.proofs import Witness, conflict_faults, float_rows, witness_faults
from labelproof.verification.propose import SearchSystem, search_system
from labelproof.verification.regions import Domain, OutputLayer, Rule, Ties, make_layer
from labelproof.verification.result import pack

__all__ = ["Boundary", "Explanation", "Neighbour", "explain"]

Floats = npt.NDArray[np.float64]
Indices = npt.NDArray[np.int64]
SECONDS = 2.0  # for each search, unless told otherwise
MOST_BOUNDARIES = 20
MOST_SHARES = 300  # exact multipliers of more rows take seconds


@dataclass(frozen=True, eq=False)
class Neighbour:
    """An argmaxable label set near the explained one.

    Attributes
    ----------
    label_set
        Its active labels, ascending.
    added, removed
        Labels that it has and the explained set has not, and the other way round.
    is_minimal
        Whether it is proven that no argmaxable label set (in ``Explanation.same_size``: of this size) is nearer.
    certificate
        The witness.
    """

    label_set: tuple[int, ...]
    added: tuple[int, ...]
    removed: tuple[int, ...]
    is_minimal: bool
    certificate: Argmaxable

    @property
    def distance(self) -> int:
        """Number of labels in which the two sets differ."""
        return len(self.added) + len(self.removed)


@dataclass(frozen=True)
class Boundary:
    """A label close to its boundary at the witness.

    Attributes
    ----------
    label
        Its index.
    margin
        Its signed logit at the witness, relative to the norms of its weights and of the witness.
    can_flip
        Whether the set with only this label changed is argmaxable too; None if undecided. If so, and the rule is
        sigmoid or topk, then on the straight line from the witness to one of that set (with topk's threshold moving
        along) this label changes and no other: it bounds the region of the set. If not, it never changes alone.
    """

    label: int
    margin: float
    can_flip: bool | None


@dataclass(frozen=True, eq=False)
class Explanation:
    """Why a label set can, or cannot, be predicted; ``str`` puts it into words.

    Attributes
    ----------
    label_set
        The active labels, ascending.
    certificate
        `Argmaxable` with the most central witness found, `Unargmaxable` with the conflict of the fewest labels found,
        or `Undecided`.
    irreducible
        Whether it is proven that, with the decision on any one label of the conflict left open, those on the others
        can hold in the domain (for sparsemax: leaving aside what the scores of the support sum to). Without a bias
        and a domain every conflict is so: its rows have one linear dependence, in which none has the multiplier
        zero, so that without any one row the others are linearly independent, and some input gives each of them any
        value that one likes. Otherwise a witness was found for each label that is left out.
    least_distance
        Every argmaxable label set differs from this one in at least so many labels; this is proven. None if it is
        proven that no label set at all is argmaxable.
    nearest
        For an unargmaxable set: argmaxable ones, nearest first. The changes of none include those of another.
    same_size
        For the rule topk and an unargmaxable set: argmaxable ones with as many active labels.
    boundary
        For an argmaxable set: the labels closest to their boundaries at the witness, closest first.
    label_names
        As given to `explain`.
    """

    label_set: tuple[int, ...]
    certificate: Certificate
    _layer: OutputLayer = field(repr=False)
    irreducible: bool = False
    least_distance: int | None = 0
    nearest: tuple[Neighbour, ...] = ()
    same_size: tuple[Neighbour, ...] = ()
    boundary: tuple[Boundary, ...] = ()
    label_names: tuple[str, ...] | None = field(default=None, repr=False)

    def __str__(self) -> str:
        return "\n".join(_Words(self, self._layer).lines())

    def to_dict(self) -> dict[str, Any]:
        """Return the explanation in what JSON has: numbers, strings, lists and dicts.

        Witnesses that are no floats are lists of strings such as "1/3". The conflict has, instead of its exact
        multipliers, which may have hundreds of digits, the share of each label: multiplier times norm of the weights.
        """
        return _as_dict(self)


def explain(
    weight: Any,
    label_set: Sequence[int] | Sequence[str] | npt.NDArray[Any],
    *,
    label_names: Sequence[str] | None = None,
    bias: Any = None,
    thresholds: Any = None,
    rule: Rule = "sigmoid",
    ties: Ties = "open",
    domain: Domain = None,
    n_nearest: int = 3,
    time_limit: float | None = None,
) -> Explanation:
    """Explain why the classifier can, or cannot, predict one label set.

    Parameters
    ----------
    weight, bias, thresholds, rule, ties, domain
        The classifier, as in `verify`.
    label_set
        Indices of the active labels, or their names.
    label_names
        One name for each label; default: "label 0", "label 1", ...
    n_nearest
        How many near argmaxable label sets to look for.
    time_limit
        Seconds for the verdict, and again for the search for what explains it, kept roughly. None: no limit for the
        verdict, about two seconds for the search. With more time the answers may get better, never less true.

    Returns
    -------
    Explanation
        Of an unargmaxable set: decisions that contradict each other, as few as were found, and the nearest
        argmaxable sets. Of an argmaxable set: a witness, and the labels that change first around it.

    Examples
    --------
    >>> import numpy as np
    >>> weight = np.array([[1.0, 0.0], [0.0, 1.0], [-1.0, -1.0]])
    >>> explanation = explain(weight, ["cat", "dog", "fish"], label_names=["cat", "dog", "fish"], n_nearest=2)
    >>> print(explanation)
    No input gives the label set {cat, dog, fish}.
    No input can switch on cat, dog and fish: these 3 decisions contradict each other.
    For every input 1·cat + 1·dog + 1·fish = 0 (a name stands for the logit), but by these decisions it is positive.
    With any one of these labels left open, the others can be as asked.
    They are 3: with weights in general position no contradiction has fewer.
    Nearest label sets that some input gives:
      without fish (1 change, the fewest possible)
      without dog (1 change, the fewest possible)
    >>> explanation.certificate.conflict, explanation.irreducible, explanation.least_distance
    ((0, 1, 2), True, 1)
    """
    layer = make_layer(weight, bias=bias, thresholds=thresholds, rule=rule, ties=ties, domain=domain)
    names = _checked_names(label_names, layer.n_labels)
    active = _active_labels(label_set, names, layer.n_labels)
    if index(n_nearest) < 0:
        raise ValueError(f"n_nearest must be a number of label sets, got {n_nearest}")
    if time_limit is not None and not time_limit >= 0:
        raise ValueError(f"time_limit must be a number of seconds, got {time_limit}")
    sets = _label_sets(layer, [active])
    evidence = decide(layer, sets, time_limit=time_limit)
    certificate = pack(layer, sets, evidence)[0]
    seconds = SECONDS if time_limit is None else time_limit
    found = Explanation(tuple(active.tolist()), certificate, layer, label_names=names)
    if isinstance(certificate, Argmaxable):
        return _explain_argmaxable(found, layer, active, certificate, seconds)
    if evidence[0].conflict is not None:
        return _explain_unargmaxable(found, layer, active, evidence[0].conflict, n_nearest, seconds)
    return found


def _checked_names(names: Sequence[str] | None, n_labels: int) -> tuple[str, ...] | None:
    if names is None:
        return None
    if isinstance(names, str) or len(names) != n_labels:
        raise ValueError(f"label_names must hold {n_labels} names to match the weight's rows, got {len(names)}")
    for i, name in enumerate(names):
        if not isinstance(name, str):
            raise ValueError(f"label_names must hold strings, got {name!r} at index {i}")
    return tuple(str(name) for name in names)


def _active_labels(label_set: Any, names: tuple[str, ...] | None, n_labels: int) -> Indices:
    """Return the active labels as ascending indices."""
    if isinstance(label_set, str):
        raise ValueError(f"label_set must be a list of labels, got the one string {label_set!r}")
    if not isinstance(label_set, Iterable):
        raise ValueError(f"label_set must be a list of labels, got {label_set!r}")
    labels = list(label_set)
    if labels and all(isinstance(label, str) for label in labels):
        labels = [_label_of_name(name, names) for name in labels]
    hint = "(of a 0/1 row np.flatnonzero(row) gives them)"
    try:
        indices = [index(label) for label in labels if not isinstance(label, bool | np.bool_)]
    except TypeError:
        indices = []
    if len(indices) != len(labels):
        raise ValueError(f"label_set must hold label indices, or names only {hint}, got {labels[:5]}")
    wrong = [i for i in indices if not 0 <= i < n_labels]
    if wrong:
        raise ValueError(f"label_set must hold indices from 0 to {n_labels - 1}, got {wrong[0]}")
    if len(set(indices)) != len(indices):
        twice = next(i for i in indices if indices.count(i) > 1)
        raise ValueError(f"label_set must name each label once {hint}, got {twice} more than once")
    return np.array(sorted(indices), np.int64)


def _label_of_name(name: str, names: tuple[str, ...] | None) -> int:
    if names is None:
        raise ValueError(f"label_set must hold indices when no label_names are given, got {name!r}")
    places = [i for i, known in enumerate(names) if known == name]
    if not places:
        nearest = get_close_matches(name, names, n=1, cutoff=0.0)[0]
        raise ValueError(f"label_set must hold names of label_names, got {name!r}; the nearest is {nearest!r}")
    if len(places) > 1:
        raise ValueError(f"label_set must be unambiguous, got {name!r}, the name of the labels {places}: pass indices")
    return places[0]


def _label_sets(layer: OutputLayer, sets: Iterable[Iterable[int] | Indices]) -> LabelSets:
    return read_label_sets([np.array(sorted(active), np.int64) for active in sets], layer.n_labels)


# --- an unargmaxable set ------------------------------------------------------------------------------------


def _explain_unargmaxable(
    found: Explanation, layer: OutputLayer, active: Indices, rows: Indices, n_nearest: int, seconds: float
) -> Explanation:
    conflicts, irreducible = _small_conflicts(layer, active, rows, time.perf_counter() + seconds / 2)
    one = _label_sets(layer, [active])
    certificate = pack(layer, one, [Evidence(conflict=conflicts[0])])[0]
    search = _Nearest(layer, active, n_nearest, time.perf_counter() + seconds)
    for conflict in conflicts:
        search.learn(0, conflict)
    search.run()
    return replace(
        found,
        certificate=certificate,
        irreducible=irreducible,
        least_distance=search.least_distance,
        nearest=search.neighbours(),
        same_size=search.neighbours_of_same_size(),
    )


def _without_sum(layer: OutputLayer) -> OutputLayer:
    """Return the layer less what sparsemax says of the sum of the support: its sets are argmaxable here, too."""
    return replace(layer, rule="topk") if layer.rule == "sparsemax" else layer


def _has_sum(layer: OutputLayer, rows: Indices) -> bool:
    return bool(np.isin([layer.n_labels + 1, layer.n_labels + 2], rows).any())


def _labels_of(layer: OutputLayer, rows: Indices) -> Indices:
    return rows[rows < layer.n_labels]


def _small_conflicts(layer: OutputLayer, active: Indices, rows: Indices, deadline: float) -> tuple[list[Indices], bool]:
    """Return conflicts of a label set, the best first, and whether that one is proven irreducible.

    All are proven without sparsemax's sum where that can be done: a conflict of fewer conditions is one of all, too.
    """
    plain = _without_sum(layer)
    if _has_sum(layer, rows) and len(active):
        without = decide(plain, _label_sets(plain, [active]), time_limit=_remaining(deadline))[0].conflict
        rows = rows if without is None else without
    if _has_sum(layer, rows):
        return [rows], False
    conflicts = [rows]  # each better than those before it
    others: list[Indices] = []
    for conflict in _candidates(plain, active, rows, lambda: len(_labels_of(plain, conflicts[-1])), deadline):
        better = _size(plain, active, conflict) < _size(plain, active, conflicts[-1])
        (conflicts if better else others).append(conflict)
    reduced, irreducible = _without_needless_labels(plain, active, conflicts[-1], deadline)
    return [reduced, *conflicts, *others], irreducible


def _size(layer: OutputLayer, active: Indices, rows: Indices) -> tuple[int, int, int]:
    """Return what makes a conflict hard to read: many labels, many other rows, few active labels."""
    return len(_labels_of(layer, rows)), len(rows), -int(np.isin(rows, active).sum())


def _remaining(deadline: float) -> float:
    return max(deadline - time.perf_counter(), 0.01)


def _only(layer: OutputLayer, labels: Indices) -> OutputLayer:
    """Return the layer with these labels alone."""
    offset = None if layer.offset is None else layer.offset[labels]
    error = None if layer.offset_error is None else layer.offset_error[labels]
    return replace(layer, weight=layer.weight[labels], offset=offset, offset_error=error)


def _decide_only(layer: OutputLayer, active: Indices, labels: Indices, deadline: float) -> Evidence:
    """Decide the label set of a layer that has these labels alone; a conflict has the row numbers of the layer."""
    small = _only(layer, labels)
    sets = _label_sets(small, [np.flatnonzero(np.isin(labels, active))])
    evidence = decide(small, sets, time_limit=_remaining(deadline))[0]
    if evidence.conflict is None:
        return evidence
    n, rows = len(labels), evidence.conflict
    numbers = np.where(rows < n, labels[np.minimum(rows, n - 1)], rows - n + layer.n_labels)
    return Evidence(conflict=np.sort(numbers))


def _without_needless_labels(
    layer: OutputLayer, active: Indices, rows: Indices, deadline: float
) -> tuple[Indices, bool]:
    """Leave out, one after the other, labels without which the conflict remains; return if none is left for sure."""
    if not layer.extra_rows():
        return rows, True  # see `Explanation.irreducible`
    needed: set[int] = set()
    sure = True
    while open_labels := [i for i in _labels_of(layer, rows).tolist() if i not in needed]:
        others = _labels_of(layer, rows)
        others = others[others != open_labels[0]]
        if time.perf_counter() > deadline:
            return rows, False
        evidence = _decide_only(layer, active, others, deadline) if len(others) else Evidence(witness=())
        if evidence.conflict is not None:
            rows = evidence.conflict
        else:
            needed.add(open_labels[0])
            sure &= evidence.witness is not None
    return rows, sure


def _candidates(
    layer: OutputLayer, active: Indices, known: Indices, smallest: Callable[[], int], deadline: float
) -> Iterator[Indices]:
    """Yield conflicts that may have fewer labels than the smallest so far."""
    for groups in (_lone_labels, _parallel_pairs, _sparse_groups):
        for labels in groups(layer, active, smallest):
            if time.perf_counter() > deadline:
                return
            conflict = _decide_only(layer, active, labels, deadline).conflict
            if conflict is not None:
                yield conflict
                if groups is not _sparse_groups:
                    break
    if smallest() > 2:
        yield from _vertices(layer, active, known, smallest, deadline)


def _signs(layer: OutputLayer, active: Indices) -> Floats:
    signs = np.full(layer.n_labels, -1.0)
    signs[active] = 1.0
    return signs


def _lone_labels(layer: OutputLayer, active: Indices, smallest: Callable[[], int]) -> list[Indices]:
    """Return labels, each by itself, whose logit hardly takes the sign asked for within the domain."""
    if layer.has_threshold or smallest() <= 1:
        return []
    signed = _signs(layer, active)[:, None] * layer.weight
    low = np.full(layer.d, -np.inf) if layer.low is None else layer.low
    high = np.full(layer.d, np.inf) if layer.high is None else layer.high
    with np.errstate(all="ignore"):
        ends = np.fmax(signed * low, signed * high)
        highest = np.where(signed == 0, 0.0, ends).sum(axis=1)
        if layer.offset is not None:
            highest += _signs(layer, active) * layer.offset
        hopeless = np.flatnonzero(highest <= 1e-12 * np.abs(np.where(np.isfinite(ends), ends, 0.0)).sum(axis=1))
    return [hopeless[k : k + 1] for k in _active_first(hopeless[:, None], active)[:20]]


def _active_first(groups: Indices, active: Indices) -> list[int]:
    return np.argsort(-np.isin(groups, active).sum(axis=1), kind="stable").tolist()


def _parallel_pairs(layer: OutputLayer, active: Indices, smallest: Callable[[], int]) -> list[Indices]:
    """Return pairs of labels of which the decisions ask for opposite directions."""
    if smallest() <= 2:
        return []
    size = np.abs(layer.weight).max(axis=1)
    if layer.has_threshold:
        size[:] = size.max()  # there the whole of two rows must agree, not their directions
    labels = np.flatnonzero(size > 0)
    rows = layer.weight[labels] / (_signs(layer, active) * size)[labels, None]
    line = rows @ np.random.default_rng(0).normal(size=layer.d)
    order = np.argsort(line, kind="stable")
    first = np.searchsorted(line[order], -line - 1e-11)
    last = np.searchsorted(line[order], -line + 1e-11)
    pairs = [
        (int(labels[i]), int(labels[j]))
        for i in np.flatnonzero(last > first).tolist()
        for j in order[first[i] : min(last[i], first[i] + 4)].tolist()
        if i < j and np.abs(rows[i] + rows[j]).max() < 1e-12
    ]
    together = np.array(pairs, np.int64).reshape(-1, 2)
    return [np.sort(together[k]) for k in _active_first(together, active)[:20]]


def _sparse_groups(layer: OutputLayer, _active: Indices, smallest: Callable[[], int]) -> Iterator[Indices]:
    """Yield the labels that use only the features of some label, fewest features first."""
    used = layer.weight != 0
    counts = used.sum(axis=1)
    sparse = np.flatnonzero(counts + 1 < smallest())
    supports = np.unique(used[sparse[np.argsort(counts[sparse], kind="stable")][:300]], axis=0)
    for support in supports[np.argsort(supports.sum(axis=1), kind="stable")][:60]:
        labels = np.flatnonzero(~used[:, ~support].any(axis=1))
        if support.sum() + 1 < smallest() and len(labels) > 1:
            yield labels


def _vertices(
    layer: OutputLayer, active: Indices, known: Indices, smallest: Callable[[], int], deadline: float
) -> Iterator[Indices]:
    """Yield conflicts that are vertices of {λ ≥ 0: Σ λ_i row_i = 0, Σ_strict λ_i = 1}, for changing costs of the rows.

    A vertex with fewer rows than the others lies where rows are dependent. A vertex's cost is an average of the
    costs of its rows: of few rows it varies more, so that the least one is more often that of a small conflict. Active
    labels cost little, since they say more to people; rows that are no labels cost nothing.
    """
    signed, others, other_numbers = _signed_rows(layer, search_system(layer), active)
    if signed.shape[1] > 128:
        return
    pool = np.union1d(_likely_labels(signed, active), _labels_of(layer, known))
    numbers = np.append(pool, other_numbers)
    labels, wanted = numbers < layer.n_labels, np.isin(numbers, active)
    strict = wanted | (labels & (layer.ties == "open")) | (numbers == layer.scale_row)
    A = np.vstack([np.concatenate([signed[pool], others]).T, strict])  # (width + 1, n_rows)
    b = np.append(np.zeros(signed.shape[1]), 1.0)
    rng = np.random.default_rng(0)
    one = _label_sets(layer, [active])
    idle = 0
    for turn in range(30):
        if time.perf_counter() > deadline or idle >= 8:
            return
        cost = labels * rng.exponential(size=len(numbers)) ** (1 + turn % 4) * np.where(wanted, 0.1, 1.0)
        answer = linprog(cost, A_eq=A, b_eq=b, method="highs-ds", options={"time_limit": _remaining(deadline)})
        if answer.x is None or answer.status != 0:
            return
        before = smallest()
        conflict = np.sort(numbers[answer.x > 1e-9 * answer.x.max()])
        if conflict_faults(layer, one, [conflict]) == [None]:
            yield conflict
        idle = 0 if smallest() < before else idle + 1


def _signed_rows(layer: OutputLayer, system: SearchSystem, active: Indices) -> tuple[Floats, Floats, Indices]:
    """Return the rows of the labels, with their signs, the rows of all else, and the numbers of these."""
    n, fixed = layer.n_labels, system.fixed_features.tolist()
    others = np.concatenate([system.rows[n:], system.fixed, -system.fixed])
    equal = [*(layer.low_row(j) for j in fixed), *(layer.high_row(j) for j in fixed)]
    numbers = np.append(system.numbers[n:], np.array(equal, np.int64))
    return system.rows[:n] * _signs(layer, active)[:, None], others, numbers


def _likely_labels(signed: Floats, active: Indices, most: int = 400) -> Indices:
    """Return the active labels, and those that ask most for the opposite of what they ask for."""
    against = np.argsort(signed @ signed[active].sum(axis=0), kind="stable")
    return np.union1d(active, against[:most])


@dataclass(eq=False)
class _Nearest:
    """Search for argmaxable sets that differ from an unargmaxable one in few labels.

    Sets of changed labels are bit masks. A *clause* (C, F) stands for a conflict on the labels C, found after the
    changes F: it refutes all changes D with D & C == F & C. If a clause refutes D, then any argmaxable set that has all
    the changes D changes a further label of C; so trying those labels, level by level, misses no set. That the sets
    of a level are all refuted mostly follows from clauses of a few of them.
    """

    layer: OutputLayer
    active: Indices
    n_nearest: int
    deadline: float
    clauses: list[tuple[int, int]] = field(default_factory=list)
    found: dict[int, Witness] = field(default_factory=dict)
    undecided: set[int] = field(default_factory=set)
    least_distance: int | None = 1
    _level: int = 1  # how many changes are searched; all sets with fewer have been
    _grows: bool = False  # whether more changes than that can still matter
    _batch: int = 8

    def learn(self, changes: int, rows: Indices) -> None:
        """Take note of a proven conflict of the set with these changes."""
        if _has_sum(self.layer, rows):  # it has the sum over all active labels, and refutes this set alone
            labels = (1 << self.layer.n_labels) - 1
        else:
            labels = _mask(_labels_of(self.layer, rows).tolist())
        self.clauses.append((labels, changes & labels))

    def run(self) -> None:
        """Search level by level, which misses nothing; when that gets slow, by soft margins; then go on."""
        if self.n_nearest == 0:
            return
        start = time.perf_counter()
        seconds = self.deadline - start
        sizes = self._disjoint_conflicts(start + 0.2 * seconds)
        self.least_distance = len(sizes)
        self._level = len(sizes) if math.prod(sizes) < 1e6 else self.layer.n_labels + 1  # else it would not end
        self._search_levels(start + 0.4 * seconds)
        rng = np.random.default_rng(0)
        turns = 0 if self.found or self.least_distance is None else self.n_nearest
        while turns and len(self._minimal()) < self.n_nearest and not self._is_late():
            turns -= 1
            if changes := self._soft_margin_changes(rng):
                self._shrink(changes)
        self._search_levels(self.deadline)

    def _disjoint_conflicts(self, until: float) -> list[int]:
        """Return the sizes of conflicts of which no two share a label: an argmaxable set changes a label of each."""
        layer = _without_sum(self.layer)
        left = np.setdiff1d(np.arange(layer.n_labels), list(_bits(self.clauses[0][0])))
        sizes = [self.clauses[0][0].bit_count()]
        while len(left) and time.perf_counter() < until:
            conflict = _decide_only(layer, self.active, left, until).conflict
            if conflict is None:
                break
            self.learn(0, conflict)
            left = np.setdiff1d(left, conflict)
            sizes.append(len(_labels_of(layer, conflict)))
        return sizes

    def _search_levels(self, until: float) -> None:
        """Search the levels up to the first at which there are argmaxable sets, and one more if they are few."""
        while self._level <= self.layer.n_labels and not self.undecided:
            nearest = min((D.bit_count() for D in self.found), default=self.layer.n_labels)
            if nearest < self._level - (len(self._minimal()) < self.n_nearest):
                return
            if not self._search_level(until) or self.undecided:
                return
            if not any(D.bit_count() <= self._level for D in self.found):
                self.least_distance = self._level + 1
                if not self._grows or self._level == self.layer.n_labels:
                    self.least_distance = None
                    return
            self._level += 1

    def _search_level(self, until: float) -> bool:
        """Decide the sets with as many changes as the level says; return whether none was left out."""
        while True:
            self._grows = False
            untried = (D for D in self._extensions(0, self._level, 0, until) if D not in self.undecided)
            batch = list(islice(untried, self._batch))
            if time.perf_counter() > until:
                return False
            if not batch:
                return True
            self._decide(batch)
            if self._level > 1 and sum(D.bit_count() <= self._level for D in self.found) >= self.n_nearest:
                return False

    def _is_late(self) -> bool:
        return time.perf_counter() > self.deadline

    def _extensions(self, D: int, more: int, never: int, until: float) -> Iterator[int]:
        """Yield D with ``more`` changes, none in ``never``, if no clause refutes that and it includes no set found."""
        if time.perf_counter() > until or any(D & E == E for E in self.found):
            return
        refuting = [C & ~D & ~never for C, F in self.clauses if D & C == F]
        if not more and not refuting:
            yield D
        if not more or not refuting:
            return
        labels = min(refuting, key=int.bit_count)
        if more == 1:
            self._grows |= labels != 0
            for C in refuting:
                labels &= C
        for i in _bits(labels):
            yield from self._extensions(D | 1 << i, more - 1, never, until)
            never |= 1 << i

    def _decide(self, batch: list[int]) -> None:
        if not batch:
            return
        start = time.perf_counter()
        for D, evidence in zip(batch, self._evidence([self._changed(D) for D in batch]), strict=True):
            if evidence.witness is not None:
                self.found[D] = evidence.witness
            elif evidence.conflict is not None:
                self.learn(D, evidence.conflict)
            else:
                self.undecided.add(D)
        now = time.perf_counter()
        self._batch = int(np.clip(len(batch) * (self.deadline - now) / (now - start) / 8, 1, 128))

    def _evidence(self, sets: list[set[int]]) -> list[Evidence]:
        limit = _remaining(self.deadline)
        evidence = decide(self.layer, _label_sets(self.layer, sets), time_limit=limit)
        plain = _without_sum(self.layer)
        with_sum = [k for k, e in enumerate(evidence) if e.conflict is not None and _has_sum(self.layer, e.conflict)]
        again = decide(plain, _label_sets(plain, [sets[k] for k in with_sum]), time_limit=limit)
        for k, e in zip(with_sum, again, strict=True):
            if e.conflict is not None:
                evidence[k] = e
        return evidence

    def _changed(self, D: int) -> set[int]:
        return set(self.active.tolist()) ^ set(_bits(D))

    def _soft_margin_changes(self, rng: np.random.Generator) -> int:
        """Return the changes at a point that violates few rows: drop the most violated one until no other is."""
        layer = _without_sum(self.layer)
        signed, others, numbers = _signed_rows(layer, search_system(layer), self.active)
        costs = rng.uniform(0.8, 1.0, len(signed))
        pool = _likely_labels(signed, self.active, 200)
        changes = 0
        until = 0.2 * time.perf_counter() + 0.8 * self.deadline
        while time.perf_counter() < until:
            values = _least_violation(signed, others, numbers == layer.scale_row, costs, pool, until)
            if values is None:
                break
            changes = _mask(np.flatnonzero(values <= 0).tolist())
            violated = np.flatnonzero((values <= 0) & (costs > 0))
            if not len(violated):
                break
            costs[violated[np.argsort(values[violated], kind="stable")[: 1 + len(violated) // 20]]] = 0.0
            pool = np.flatnonzero((values < 1.5) & (costs > 0))
        return changes

    def _shrink(self, D: int) -> None:
        """Take back changes as long as the set remains argmaxable."""
        self._decide([D])
        while D in self.found and not self._is_late():
            fewer = (D ^ 1 << i for i in _bits(D))
            batch = [E for E in fewer if E not in self.found and not any(E & C == F for C, F in self.clauses)]
            self._decide(batch)
            good = [E for E in batch if E in self.found]
            if not good:
                return
            good.sort(key=dict(zip(good, self._margins(good), strict=True)).__getitem__, reverse=True)
            together = list(accumulate(good, and_))
            several = [together[k] for k in (1, 3, 7, 15, 31, 63) if k < len(together)]
            self._decide(several)
            D = next(E for E in [*reversed(several), good[0]] if E in self.found)
            self.found = {E: witness for E, witness in self.found.items() if D == E or D & E != D}

    def _minimal(self) -> list[int]:
        return [D for D in self.found if not any(E != D and D & E == E for E in self.found)]

    def _margins(self, changes: list[int]) -> list[float]:
        sets = _label_sets(self.layer, [self._changed(D) for D in changes])
        return pack(self.layer, sets, [Evidence(witness=self.found[D]) for D in changes]).margin.tolist()

    def neighbours(self) -> tuple[Neighbour, ...]:
        """Return the nearest sets found, those with the largest margins first among equally near ones."""
        near = self._nearest({D: self.found[D] for D in self._minimal()})
        return tuple(replace(one, is_minimal=one.distance == self.least_distance) for one in near)

    def neighbours_of_same_size(self) -> tuple[Neighbour, ...]:
        """Return argmaxable sets with as many active labels: those with the largest logits at the witnesses found.

        Such sets have an even distance. Two is always the least.
        """
        if self.layer.rule != "topk" or not self.found:
            return ()
        before = set(self.active.tolist())
        order = [np.argsort(-_logits(self.layer, witness), kind="stable") for witness in self.found.values()]
        changes = sorted({_mask(before ^ set(ranked[: len(before)].tolist())) for ranked in order} - {0})
        evidence = self._evidence([self._changed(D) for D in changes])
        near = self._nearest({D: e.witness for D, e in zip(changes, evidence, strict=True) if e.witness is not None})
        bound = self.least_distance or 1
        return tuple(replace(one, is_minimal=one.distance - 2 < bound) for one in near)

    def _nearest(self, found: dict[int, Witness]) -> list[Neighbour]:
        sets = [self._changed(D) for D in found]
        evidence = [Evidence(witness=witness) for witness in found.values()]
        before = set(self.active.tolist())
        near = []
        for after, certificate in zip(sets, pack(self.layer, _label_sets(self.layer, sets), evidence), strict=True):
            assert isinstance(certificate, Argmaxable)  # noqa: S101 - an invariant, not a check of input
            now, added, removed = (tuple(sorted(s)) for s in (after, after - before, before - after))
            near.append(Neighbour(now, added, removed, False, certificate))
        near.sort(key=lambda one: (one.distance, -float(f"{one.certificate.margin:.6g}"), one.label_set))
        return near[: self.n_nearest]


def _least_violation(
    rows: Floats, others: Floats, least: npt.NDArray[np.bool_], costs: Floats, pool: Indices, deadline: float
) -> Floats | None:
    """Return rows·v for the v that minimises Σ cost_i max(0, 1 − row_i·v) under others·v ≥ least.

    Solved by its dual, on the rows of the pool, to which violated ones are added.
    """
    while True:
        limits = np.append(costs[pool], np.full(len(others), np.inf))
        answer = linprog(
            np.append(np.full(len(pool), -1.0), -1.0 * least),
            A_eq=np.concatenate([rows[pool], others]).T,
            b_eq=np.zeros(rows.shape[1]),
            bounds=np.column_stack([np.zeros(len(limits)), limits]),
            method="highs-ds",
            options={"time_limit": _remaining(deadline)},
        )
        if answer.status != 0:
            return None
        v: Floats = np.asarray(answer.eqlin.marginals, np.float64)
        values = -(rows @ v)
        worst = np.setdiff1d(np.argsort(values, kind="stable")[:200], pool)
        more = worst[(values[worst] < 1 - 1e-9) & (costs[worst] > 0)]
        if not len(more):
            return values
        pool = np.union1d(pool, more)


def _mask(labels: Iterable[int]) -> int:
    mask = 0
    for i in labels:
        mask |= 1 << i
    return mask


def _bits(mask: int) -> Iterator[int]:
    while mask:
        low = mask & -mask
        yield low.bit_length() - 1
        mask ^= low


def _logits(layer: OutputLayer, witness: Witness) -> Floats:
    x = np.array([float(c) for c in witness])
    with np.errstate(all="ignore"):
        return layer.weight @ x + (0.0 if layer.offset is None else layer.offset)


# --- an argmaxable set --------------------------------------------------------------------------------------


def _explain_argmaxable(
    found: Explanation, layer: OutputLayer, active: Indices, certificate: Argmaxable, seconds: float
) -> Explanation:
    deadline = time.perf_counter() + seconds
    one = _label_sets(layer, [active])
    central = _central_point(layer, active, certificate)
    if central is not None and witness_faults(layer, float_rows(layer), one, [central]) == [None]:
        other = pack(layer, one, [Evidence(witness=central)])[0]
        if isinstance(other, Argmaxable) and other.margin > certificate.margin:
            certificate = other
    lengths, margins = _distances(layer, active, certificate)
    closest = np.argsort(lengths.astype(np.float32), kind="stable")[:MOST_BOUNDARIES].tolist()
    flipped = [set(active.tolist()) ^ {i} for i in closest]
    can_flip: list[bool | None] = []
    while len(can_flip) < len(flipped):
        some = flipped[len(can_flip) : 2 * len(can_flip) + 2]
        if time.perf_counter() > deadline:
            evidence = [Evidence()] * len(some)
        else:
            evidence = decide(layer, _label_sets(layer, some), time_limit=_remaining(deadline))
        can_flip += [
            e.witness is not None if e.witness is not None or e.conflict is not None else None for e in evidence
        ]
    boundary = tuple(Boundary(i, float(margins[i]), can) for i, can in zip(closest, can_flip, strict=True))
    return replace(found, certificate=certificate, boundary=boundary)


def _distances(layer: OutputLayer, active: Indices, certificate: Argmaxable) -> tuple[Floats, Floats]:
    """Return for each label the distance of the witness from its boundary, and that relative to the witness's norm."""
    z = _logits(layer, certificate.witness)
    signs = _signs(layer, active)
    if layer.has_threshold and 0 < len(active) < layer.n_labels:
        z = z - (z[signs > 0].min() + z[signs < 0].max()) / 2
    with np.errstate(all="ignore"):
        lengths = signs * z / _norms(layer.weight)
        lengths[np.isnan(lengths)] = np.inf  # a label of no weights, on its boundary everywhere
        return lengths, lengths / _norms(np.array([[float(c) for c in certificate.witness]]))


def _norms(rows: Floats) -> Floats:
    """Return the norm of each row, also where its square is no float."""
    largest = np.abs(rows).max(axis=1)
    return largest * np.linalg.norm(rows / np.where(largest == 0, 1.0, largest)[:, None], axis=1)


def _central_point(layer: OutputLayer, active: Indices, certificate: Argmaxable) -> Floats | None:
    """Return about the input with the largest margin; None if it is not easily had.

    It is the shortest v = (x, s, τ) with ±(w_i·x + offset_i·s − τ) ≥ |w_i| for every label, and s ≥ 1, in the domain:
    sought on the labels closest to their boundaries, to which violated ones are added.
    """
    if layer.width > 256 or (layer.rule == "sparsemax" and not layer.is_cone):
        return None
    system = search_system(layer)
    signed, others, numbers = _signed_rows(layer, system, active)
    sizes = _norms(layer.weight)
    labels = np.argsort(_distances(layer, active, certificate)[0], kind="stable")
    labels = labels[sizes[labels] > 0]
    with np.errstate(all="ignore"):
        rows = (system.norms[: layer.n_labels] / sizes)[labels, None] * signed[labels]
        rows, others = (np.ldexp(unscaled, system.column_exponents) for unscaled in (rows, others))
        if not (np.isfinite(rows).all() and np.isfinite(others).all()):
            return None
        v = _shortest_solution(rows, others, (numbers == layer.scale_row) * 1.0)
        return None if v is None else float_witness(layer, system, active, np.ldexp(v, system.column_exponents))


def _shortest_solution(rows: Floats, others: Floats, least: Floats) -> Floats | None:
    """Return about the shortest v with rows·v ≥ 1 and others·v ≥ least."""
    chosen = np.arange(min(len(rows), 4 * rows.shape[1] + 100))
    for _ in range(10):
        v = _least_distance(np.concatenate([rows[chosen], others]), np.append(np.ones(len(chosen)), least))
        if v is None:
            return None
        values = rows @ v
        if values.min(initial=np.inf) > 1 - 1e-6:
            break
        chosen = np.union1d(chosen, np.argsort(values, kind="stable")[:200])
    return v


def _least_distance(G: Floats, h: Floats) -> Floats | None:
    """Return the shortest v with G v ≥ h, by non-negative least squares (Lawson and Hanson, chapter 23)."""
    E = np.vstack([G.T, h])
    f = np.append(np.zeros(G.shape[1]), 1.0)
    try:
        u, _ = nnls(E, f)
    except RuntimeError:  # too many steps
        return None
    r = E @ u - f
    return -r[:-1] / r[-1] if r[-1] < -1e-12 else None


# --- in words -----------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class _Words:
    """An explanation as lines of plain text; names of labels are shown as they are, but for control characters."""

    told: Explanation
    layer: OutputLayer

    def lines(self) -> Iterator[str]:
        """Yield the lines."""
        certificate = self.told.certificate
        if isinstance(certificate, Undecided):
            yield f"Undecided whether some input gives {self._the_set()}: {certificate.reason}."
        elif isinstance(certificate, Argmaxable):
            yield f"Some input gives {self._the_set()}; the one found has the margin {certificate.margin:.3g}."
            yield from self._boundary()
        else:
            yield f"No input gives {self._the_set()}."
            yield from self._conflict(certificate)
            yield from self._nearest()

    def name(self, i: int) -> str:
        """Return how a label is called."""
        name = f"label {i}" if self.told.label_names is None else self.told.label_names[i]
        plain = "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in name)
        return plain if len(plain) <= 60 else plain[:59] + "…"

    def _listed(self, labels: Sequence[int], most: int = 8) -> str:
        names = [self.name(i) for i in labels]
        if len(names) > most:
            names = [*names[: most - 1], f"{len(names) - most + 1} others"]
        return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)

    def _the_set(self) -> str:
        labels = self.told.label_set
        if not labels:
            return "the empty label set"
        names = [self.name(i) for i in labels[:8]] + [f"{len(labels) - 8} more"] * (len(labels) > 8)
        return f"the label set {{{', '.join(names)}}}"

    def _boundary(self) -> Iterator[str]:
        if self.told.boundary:
            yield "The labels closest to changing there:"
        for one in self.told.boundary[:8]:
            state = "on" if one.label in self.told.label_set else "off"
            alone = {True: "can change alone", False: "never changes alone", None: "undecided if it can change alone"}
            yield f"  {self.name(one.label)} ({state}, margin {one.margin:.3g}): {alone[one.can_flip]}"

    def _conflict(self, certificate: Unargmaxable) -> Iterator[str]:
        labels = certificate.conflict
        if not labels:
            yield "The support of sparsemax is never empty."
            return
        shares = _shares(certificate, self.layer)
        order = list(range(len(labels)))
        if shares and len(labels) > 8:
            order.sort(key=lambda k: -shares[k])
        yield self._decisions([labels[k] for k in order], certificate.extra)
        if shares and len(labels) > 1:
            yield self._evidence(certificate, order)
        if self.told.irreducible and len(labels) > 1:
            yield "With any one of these labels left open, the others can be as asked."
        unbounded = set(self.layer.extra_rows()) <= {self.layer.scale_row}
        if unbounded and len(labels) == self.layer.width + 1 - self.layer.has_scale:
            yield f"They are {len(labels)}: with weights in general position no contradiction has fewer."

    def _decisions(self, labels: list[int], extra: tuple[str, ...]) -> str:
        on = [i for i in labels if i in self.told.label_set]
        off = [i for i in labels if i not in self.told.label_set]
        start = "Given its biases, no" if "scale" in extra and self.layer.offset is not None else "No"
        who = f"{start} input{self._within(extra)} can"
        if len(labels) == 1 and not self.layer.has_threshold:
            return (
                f"{who} switch {'on' if on else 'off'} {self.name(labels[0])}: {self._logit_is(labels[0], bool(on))}."
            )
        if _sums(extra):
            return f"{who} give just this support: its scores' sum contradicts the places of {self._listed(labels)}."
        how = f"these {len(labels)} decisions contradict each other"
        if self.layer.has_threshold:
            return f"{who} rank {self._listed(on)} above {self._listed(off)}: {how}."
        sides = [f"{word} {self._listed(side)}" for word, side in (("on", on), ("off", off)) if side]
        return f"{who} switch {' and '.join(sides)}: {how}."

    def _logit_is(self, label: int, on: bool) -> str:
        if self.layer.offset is None and not self.layer.weight[label].any():
            return "its logit is always 0"
        if on:
            return "its logit is never positive"
        return "its logit is never negative" if self.layer.ties == "open" else "its logit is always positive"

    def _within(self, extra: tuple[str, ...]) -> str:
        sides = [name for name in extra if name.startswith(("low", "high"))]
        if not sides:
            return ""
        if self.layer.high is None and self.layer.low is not None and not self.layer.low.any():
            return " with features ≥ 0"
        features = sorted({int(name[name.index("[") + 1 : -1]) for name in sides})
        some = ", ".join(str(j) for j in features[:5]) + (
            f" and {len(features) - 5} others" if len(features) > 5 else ""
        )
        return f" within the bounds of feature{'s' if len(features) > 1 else ''} {some}"

    def _evidence(self, certificate: Unargmaxable, order: list[int]) -> str:
        multipliers = [certificate.multipliers[k] for k in order]
        largest = max(multipliers)
        terms = []
        for k, m in zip(order[:6], multipliers, strict=False):
            label = certificate.conflict[k]
            number = str(m) if largest < 10_000 else f"{m / largest:.3g}"
            terms.append(f"{'+' if label in self.told.label_set else '−'} {number}·{self.name(label)}")
        if len(order) > 6:
            terms.append(f"+ … ({len(order) - 6} more terms)")
        total = " ".join(terms).removeprefix("+ ")
        total = "−" + total.removeprefix("− ") if total.startswith("−") else total
        relation = "< 0" if "scale" in certificate.extra else "≤ 0" if certificate.extra else "= 0"
        made = "not negative" if "scale" in certificate.extra else "positive"
        logit = "logit less the threshold" if _sums(certificate.extra) else "logit"
        every = "such input" if certificate.extra else "input"
        told = f"{total} {relation} (a name stands for the {logit})"
        return f"For every {every} {told}, but by these decisions it is {made}."

    def _nearest(self) -> Iterator[str]:
        told = self.told
        if told.least_distance is None:
            yield "No label set at all is given by some input."
            return
        if not any(one.is_minimal for one in told.nearest):
            labels = "1 label" if told.least_distance == 1 else f"{told.least_distance} labels"
            yield f"Every label set that some input gives differs in at least {labels}."
        for title, sets in (("that", told.nearest), ("of the same size that", told.same_size)):
            if sets:
                yield f"Nearest label sets {title} some input gives:"
            for one in sets:
                changes = [
                    f"{word} {self._listed(side)}"
                    for word, side in (("with", one.added), ("without", one.removed))
                    if side
                ]
                count = f"{one.distance} change{'s' if one.distance > 1 else ''}"
                yield f"  {', '.join(changes)} ({count}{', the fewest possible' if one.is_minimal else ''})"


def _sums(extra: tuple[str, ...]) -> bool:
    return "sum_le" in extra or "sum_ge" in extra


def _shares(certificate: Unargmaxable, layer: OutputLayer) -> list[float]:
    """Return how hard each label pulls: multiplier times norm of the weights, as shares; empty if it takes too long."""
    labels = certificate.conflict
    if not labels or len(labels) + len(certificate.extra) > MOST_SHARES:
        return []
    sizes, largest = _norms(layer.weight[list(labels)]), max(certificate.multipliers)
    pulls = sizes / (sizes.max() or 1.0) * [m / largest for m in certificate.multipliers]
    return (pulls / (pulls.sum() or 1.0)).tolist()


def _as_dict(told: Explanation) -> dict[str, Any]:
    certificate = told.certificate
    contents: dict[str, Any] = {"verdict": type(certificate).__name__.lower(), "label_set": list(told.label_set)}
    mentioned = set(told.label_set)
    if isinstance(certificate, Undecided):
        contents["reason"] = certificate.reason
    elif isinstance(certificate, Argmaxable):
        contents |= _witness_as_dict(certificate)
        contents["boundary"] = [
            {"label": one.label, "margin": _finite(one.margin), "can_flip": one.can_flip} for one in told.boundary
        ]
        mentioned |= {one.label for one in told.boundary}
    else:
        contents["conflict"] = {
            "labels": list(certificate.conflict),
            "extra": list(certificate.extra),
            "shares": _shares(certificate, told._layer),
            "irreducible": told.irreducible,
        }
        contents["least_distance"] = told.least_distance
        contents["nearest"] = [_neighbour_as_dict(one) for one in told.nearest]
        contents["same_size"] = [_neighbour_as_dict(one) for one in told.same_size]
        mentioned.update(certificate.conflict, *(one.label_set for one in told.nearest + told.same_size))
    if told.label_names is not None:
        contents["label_names"] = {str(i): told.label_names[i] for i in sorted(mentioned)}
    return contents


def _witness_as_dict(certificate: Argmaxable) -> dict[str, Any]:
    x = certificate.witness
    exact = [str(c) for c in x] if isinstance(x, tuple) else x.tolist()
    return {"witness": exact, "margin": _finite(certificate.margin)}


def _neighbour_as_dict(one: Neighbour) -> dict[str, Any]:
    lists = {"label_set": list(one.label_set), "added": list(one.added), "removed": list(one.removed)}
    return lists | {"distance": one.distance, "is_minimal": one.is_minimal} | _witness_as_dict(one.certificate)


def _finite(number: float) -> float | None:
    return number if math.isfinite(number) else None
