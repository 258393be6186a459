"""Search for label sets that a matrix predicts with the smallest margin, or not at all: an attack, never a proof.

Sets with a pattern come first (differences of differences, runs, even steps, blocks), then random ones; from the worst
so far, labels are swapped one by one: out goes one that its witness scores high, in comes one that it scores low, which
has the farthest to move.
"""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from labelproof.foundation.arguments import whole_number
from labelproof.search.verifier import verify

__all__ = ["Worst", "find_worst_set", "largest_margin", "vanishing_sets"]

NEIGHBOURS = 12
MOST_SHIFTS = 12  # repeated differences of rows: the number of rows in one doubles with each shift
MOST_ROWS = 2048  # rows among which shifts are looked for
ALIKE = 0.3  # a column counts as unchanged below this share of the usual squared difference
SUSPICIOUS = 1e-6  # below this margin the verifier decides whether the set can be predicted at all


@dataclass(frozen=True)
class Worst:
    """The worst set that was found.

    Attributes
    ----------
    labels
        Its active labels.
    margin
        Its largest relative margin, in floating point; 0 if it is proven unargmaxable.
    is_proven
        Whether it is proven unargmaxable.
    n_tried
        How many sets were tried.
    """

    labels: tuple[int, ...]
    margin: float
    is_proven: bool
    n_tried: int


def find_worst_set(
    weight: npt.NDArray[np.float64],
    k: int,
    *,
    candidates: Iterable[Iterable[int]] = (),
    rounds: int = 10,
    seed: int = 0,
) -> Worst:
    """Search for a set of at most k labels with a margin as small as possible.

    Parameters
    ----------
    weight : ndarray (n_labels, d)
        The matrix.
    k : int
        Most active labels.
    candidates : iterable of label sets
        Sets to begin with, beside those with a pattern; larger ones are tried as they are.
    rounds : int
        Rounds of swaps, a dozen sets each; the search ends when a set is proven unargmaxable.
    seed : int
        Of random sets and swaps.

    Examples
    --------
    >>> from labelproof.theory.dft import dft_matrix
    >>> worst = find_worst_set(dft_matrix(40, 3), 3, rounds=2)
    >>> 0 < worst.margin < 0.01
    True
    """
    n = len(weight)
    k = min(whole_number("k", k, minimum=1), n - 1)
    rng = np.random.default_rng(seed)
    sets = [sorted({int(i) for i in one}) for one in candidates] + vanishing_sets(weight, k) + _patterns(n, k)
    sets += [np.sort(rng.choice(n, k, replace=False)).tolist() for _ in range(NEIGHBOURS)]
    tried, best, scores, margin = 0, sets[0], np.zeros(n), np.inf
    for _ in range(rounds + 1):
        for active in sets:
            found, x = largest_margin(weight, active)
            tried += 1
            if found < SUSPICIOUS and verify(weight, [active]).status[0] == 0:
                return Worst(tuple(active), 0.0, True, tried)
            if found < margin:
                best, margin, scores = active, found, weight @ x
        sets = [_swapped(best, scores, k, rng) for _ in range(NEIGHBOURS)]
    return Worst(tuple(best), margin, False, tried)


def largest_margin(weight: npt.NDArray[np.float64], active: Iterable[int]) -> tuple[float, npt.NDArray[np.float64]]:
    """Return the largest margin min y_i (w_i·x) / (‖w_i‖ ‖x‖) over all x, and such an x, in floating point.

    It is 1/‖x‖ for the shortest x with a product of at least 1 with every row y_i w_i / ‖w_i‖: the search's active-set
    method, on the rows that lack most at a time. 0 where it finds rows that contradict each other.

    Examples
    --------
    >>> margin, x = largest_margin(np.eye(4), [0])
    >>> round(margin, 6), np.round(x / np.abs(x).max(), 6)
    (0.5, array([ 1., -1., -1., -1.]))
    """
    from labelproof.search.active_set_kernels import SOLVED, dual_active_set

    signs = np.full(len(weight), -1.0)
    signs[list(active)] = 1.0
    rows = weight * (signs / np.linalg.norm(weight, axis=1))[:, None]
    m, inside = rows.shape[1], signs > 0
    inside[np.argsort(rows @ rows[inside].sum(0))[: 2 * m]] = True
    places = np.flatnonzero(inside)
    x, QT, L, lam, multipliers = np.zeros(m), np.zeros((m, m)), np.zeros((m, m)), np.zeros(m + 1), np.zeros(m + 1)
    tight, q = np.zeros(m + 1, np.int64), 0
    while True:
        outcome, q, *_ = dual_active_set(
            rows[places], np.ones(len(places)), 0, x, QT, L, lam, tight, q, 1.0, 1e-9, 100 * m + 2000, multipliers
        )
        lacks = np.where(inside, 0.0, 1 - rows @ x)
        if outcome != SOLVED or lacks.max() < 1e-7:
            return (float(1 / np.linalg.norm(x)) if outcome == SOLVED else 0.0), x
        more = np.argsort(-lacks)[: max(60, m // 2)]
        more = more[lacks[more] > 0.3 * lacks.max()]
        inside[more] = True
        places = np.concatenate([places, more])


def vanishing_sets(weight: npt.NDArray[np.float64], k: int) -> list[list[int]]:
    """Return sets of at most k labels that combinations of rows suggest which are nearly zero.

    Where labels are numbered by some rule, as by the digits of a code or along a circle, rows that lie s apart agree in
    some columns, whatever the first of them. Differences of differences, ∏ (T_s - 1) for shifts T_s that between them
    serve all columns, are then small. Labels with positive coefficients, and those with negative ones, are hard to
    tell from the rest: of a combination that is exactly zero neither side is argmaxable.

    Examples
    --------
    >>> from labelproof.theory.codes import Code, codewords, switching_set
    >>> code, columns = Code(q=13, coefficients=2, length=3), np.zeros((160, 39))
    >>> columns[np.arange(160)[:, None], codewords(160, code) + 13 * np.arange(3)] = 1
    >>> [len(one) for one in vanishing_sets(columns, 4)], len(switching_set(code))
    ([2, 2, 4, 4], 4)
    """
    rows, sets = weight, list[list[int]]()
    terms = {0: 1}  # label after the first one: coefficient
    for shift in _shifts(weight[:MOST_ROWS]):
        if len(rows) <= shift:
            break
        rows = rows[shift:] - rows[:-shift]
        both = {at: terms.get(at - shift, 0) - terms.get(at, 0) for one in terms for at in (one, one + shift)}
        terms = {at: coefficient for at, coefficient in both.items() if coefficient}
        sides = [[at for at, coefficient in terms.items() if coefficient * sign > 0] for sign in (1, -1)]
        if min(map(len, sides)) > k:
            break
        first = int(np.argmin(np.square(rows).sum(1)))  # where least is left
        sets += [sorted(first + at for at in side) for side in sides if 1 < len(side) <= k]
    return sets


def _shifts(rows: npt.NDArray[np.float64]) -> list[int]:
    """Return shifts that between them leave all columns nearly as they are, each serving the most that are left."""
    n = len(rows)
    most = np.arange(1, n // 4 + 1)
    spectrum = np.fft.rfft(rows, 2 * n, axis=0)
    products = np.fft.irfft(np.abs(spectrum) ** 2, 2 * n, axis=0)[most]  # Σ_i w_ij w_{i+s,j}, (shifts, columns)
    upto = np.cumsum(np.square(rows), axis=0)
    change = (upto[n - most - 1] + upto[-1] - upto[most - 1] - 2 * products) / (n - most)[:, None]
    usual = 2 * rows.var(axis=0)
    serves = change <= ALIKE * usual + 1e-12 * upto[-1] / n
    left, shifts = usual > 0, list[int]()
    while left.any() and len(shifts) < MOST_SHIFTS:
        counts = serves[:, left].sum(1)
        best = np.flatnonzero(counts == counts.max(initial=0))
        if not len(best) or not counts[best[0]]:
            break
        changes = np.where(serves[best] & left, change[best], 0).sum(1)
        smallest = best[np.flatnonzero(changes <= changes.min() + 1e-6 * usual.sum())[0]]
        shifts.append(int(most[smallest]))
        left &= ~serves[smallest]
    return shifts


def _patterns(n: int, k: int) -> list[list[int]]:
    """Return runs, even steps and blocks of k labels."""
    steps = sorted({1, 2, 3, 7, max(1, n // k), max(1, int(n * 0.381966))})
    sets = {tuple(sorted({(start + step * i) % n for i in range(k)})) for step in steps for start in (0, n // 3)}
    half = k - k // 2
    sets.add(tuple(sorted({*range(half), *(n // 2 + i for i in range(k - half))})))
    return [list(one) for one in sorted(sets)]


def _swapped(active: list[int], scores: npt.NDArray[np.float64], k: int, rng: np.random.Generator) -> list[int]:
    """Replace a label with a high score by one with a low score, or add the latter while there is room."""
    inside = np.zeros(len(scores), bool)
    inside[active] = True
    low = np.flatnonzero(~inside)[np.argsort(scores[~inside])[: 4 * NEIGHBOURS]]
    new = {*active, int(rng.choice(low))}
    if len(new) > k and active:
        high = sorted(active, key=lambda i: -scores[i])[: max(2, len(active) // 2)]
        new.discard(int(rng.choice(high if rng.random() < 0.8 else active)))
    return sorted(new)
