"""Compiled search for many label sets in turn, whose rows are scored together; `active_set_kernels` has one of them."""

from typing import Any

import numpy as np
import numpy.typing as npt

from labelproof.foundation.compilation import compiled, compiled_part, plain
from labelproof.search.active_set_kernels import (
    CONFLICT,
    SOLVED,
    STOPPED,
    active_set_scratch,
    continue_active_set,
    product,
)

__all__ = ["extend_working_set", "fill_slots", "search_block"]

Array = npt.NDArray[Any]
ROWS_A_PEAK = 64  # that are looked at again only if the worst of them counts
LEAST_STEPS = 40  # on the same rows, before all are looked at: the missing ones matter more than the last steps


@compiled_part(_nrt=False, fastmath=True)
def extend_working_set(scores, is_in, most, share, limit, found, peaks):  # pragma: no cover - compiled
    """Collect the rows with the worst scores (a row is satisfied iff its score is negative) that are not yet in.

    Rows over ``share`` of the worst violation of score ≤ −1 count, and of these at most ``most``, nearly the worst
    ones. Returns the worst score and how many were found; none are sought when the worst is below ``limit``. The worst
    of each few rows goes to ``peaks``, so that most are looked at once.
    """
    n = scores.shape[0]
    n_peaks = (n + ROWS_A_PEAK - 1) // ROWS_A_PEAK
    worst = scores[0]
    for b in range(n_peaks):
        some = scores[b * ROWS_A_PEAK : min((b + 1) * ROWS_A_PEAK, n)]
        peak = some[0]
        for i in range(some.shape[0]):
            peak = max(peak, some[i])
        peaks[b] = peak
        worst = max(worst, peak)
    if worst < limit or most <= 0:
        return worst, 0
    cut = np.float32(-1.0 + (worst + 1.0) * share)
    for _ in range(20):
        over = 0
        for b in range(n_peaks):
            if peaks[b] >= cut:
                some = scores[b * ROWS_A_PEAK : min((b + 1) * ROWS_A_PEAK, n)]
                for i in range(some.shape[0]):
                    over += some[i] >= cut
        if over <= most:
            break
        cut = np.float32(0.5) * (cut + worst)
    count = np.int64(0)
    for b in range(n_peaks):
        if peaks[b] >= cut:
            for i in range(b * ROWS_A_PEAK, min((b + 1) * ROWS_A_PEAK, n)):
                if scores[i] >= cut and count < most and not is_in[i]:
                    found[count] = i
                    count += 1
    return worst, count


@compiled_part(_nrt=False, error_model="numpy")
def _add_row(A, place, sign, slot, G, ids, is_in, count):  # pragma: no cover - compiled
    """Append a row of A, with its sign, to the working set of a slot; return the new count."""
    for j in range(A.shape[1]):
        G[slot, count, j] = sign * A[place, j]
    ids[slot, count] = place
    is_in[slot, place] = True
    return count + 1


@compiled_part(_nrt=False, error_model="numpy")
def _turn_rows(labels, hot_place, G):  # pragma: no cover - compiled
    """Change the signs of those rows of a slot that belong to one of these labels and stay for all label sets."""
    for a in range(labels.shape[0]):
        place = hot_place[labels[a]]
        if place >= 0:
            for j in range(G.shape[1]):
                G[place, j] = -G[place, j]


def search_block(
    A: Array,
    A32T: Array,
    n_labels: int,
    indptr: Array,
    indices: Array,
    hot: Array,
    weak_zeros: Array,
    E: Array,
    n_slots: int,
    capacity: int,
    most: int,
    share: float,
    floor: Array,
    limit: float,
    max_steps: int,
    points: Array,
) -> tuple[Array, ...]:
    """Search for every label set of a block, ``n_slots`` of them at a time.

    A slot holds one label set's working rows and state until it is decided, and then takes the next, which finds the
    hot rows there already. So the product that scores all rows is always one of a full batch of points. A label set has
    ``max_steps`` in all. It begins at its row of ``points``, which is where its point goes, and has its own ``floor``.
    See `propose.search` for the arguments.
    """
    n_rows, m = A.shape
    n_sets = len(E)
    outcome, n_found, tight = np.empty(n_sets, np.int64), np.zeros(n_sets, np.int64), np.zeros(n_rows, np.int64)
    multipliers, rows = np.zeros((n_sets, m + 1)), np.zeros((n_sets, m + 1), np.int64)
    slots = (
        np.full(n_slots, -1),
        np.full(n_slots, -1),
        np.empty((n_slots, capacity, m)),
        np.empty((n_slots, capacity), np.int64),
        np.zeros(n_slots, np.int64),
        np.zeros((n_slots, n_rows), np.bool_),
        np.zeros((n_slots, m, m)),
        np.zeros((n_slots, m, m)),
        np.zeros((n_slots, m + 1)),
        np.zeros((n_slots, m + 1), np.int64),
        np.zeros(n_slots, np.int64),
        np.zeros(n_slots, np.int64),
        np.empty(n_slots),
        np.zeros(n_slots, np.bool_),
    )
    targets = np.ones(capacity)
    targets[: E.shape[1]] = 0.0
    scratch = (
        targets,
        np.empty(most, np.int64),
        np.empty(n_rows // ROWS_A_PEAK + 1, np.float32),
        np.full(n_rows, -1),
        np.empty(n_slots, np.int64),
        np.empty((n_slots, m), np.float32),
        np.empty((n_slots, n_rows), np.float32),
        active_set_scratch(capacity, m),
    )
    given = (*map(plain, (A, A32T)), n_labels, *map(plain, (indptr, indices, hot, weak_zeros, E)))
    limits = (most, share, plain(floor), limit, max_steps)
    fill_slots(*given, *limits, (outcome, points, rows, n_found, tight, multipliers), slots, scratch)
    return outcome, rows, n_found, tight, multipliers


@compiled(_nrt=False, error_model="numpy")
def fill_slots(
    A,
    A32T,
    n_labels,
    indptr,
    indices,
    hot,
    weak_zeros,
    E,
    most,
    share,
    floor,
    limit,
    max_steps,
    results,
    slots,
    scratch,
):  # pragma: no cover - compiled
    """Do what `search_block` says, in arrays that it has made: numba takes seconds to compile each kind of array."""
    outcome, points, rows, n_found, tight, multipliers = results
    owner, shown, G, ids, counts, is_in, QT, R, lam, active, q, n_steps, floors, is_open = slots
    targets, found, peaks, hot_place, solved, points32, scores, of_active_set = scratch
    n_rows, m = A.shape
    n_sets, n_equal = E.shape[0], E.shape[1]
    n_slots, capacity = ids.shape
    first = n_equal + hot.shape[0]  # place of the first row that is not in every working set
    for a in range(hot.shape[0]):
        hot_place[hot[a]] = n_equal + a
        for k in range(n_slots):
            _add_row(A, hot[a], -1.0 if hot[a] < n_labels else 1.0, k, G, ids, is_in, n_equal + a)
    for k in range(n_slots):
        counts[k] = first
    waiting = 0
    while True:
        n_solved = 0
        for k in range(n_slots):
            if owner[k] < 0:
                if waiting == n_sets:
                    continue
                i = waiting
                waiting += 1
                for a in range(first, counts[k]):
                    is_in[k, ids[k, a]] = False
                if shown[k] >= 0:
                    _turn_rows(indices[indptr[shown[k]] : indptr[shown[k] + 1]], hot_place, G[k])
                owner[k] = i
                shown[k] = i
                floors[k] = floor[i]
                q[k] = 0
                n_steps[k] = 0
                for e in range(n_equal):
                    for j in range(m):
                        G[k, e, j] = E[i, e, j]
                    ids[k, e] = -1 - e
                _turn_rows(indices[indptr[i] : indptr[i + 1]], hot_place, G[k])
                count = first
                for a in range(indptr[i], indptr[i + 1]):
                    if hot_place[indices[a]] < 0:
                        count = _add_row(A, indices[a], 1.0, k, G, ids, is_in, count)
                counts[k] = count
            i = owner[k]
            status, q[k], steps, entering = continue_active_set(
                G[k],
                targets[: counts[k]],
                n_equal,
                points[i],
                QT[k],
                R[k],
                lam[k],
                active[k],
                q[k],
                floors[k],
                1e-9,
                min(max_steps - n_steps[k], max(LEAST_STEPS, m // 4)),
                multipliers[i],
                of_active_set,
            )
            n_steps[k] += steps
            is_open[k] = status == STOPPED and n_steps[k] < max_steps
            if status == SOLVED or is_open[k]:
                solved[n_solved] = k
                n_solved += 1
                continue
            outcome[i] = status
            for a in range(q[k]):
                rows[i, a] = ids[k, active[k, a]]
            n_found[i] = q[k]
            if status == CONFLICT:
                largest = 1.0
                for a in range(q[k]):
                    if abs(multipliers[i, a]) > largest:
                        largest = abs(multipliers[i, a])
                count = np.int64(0)
                for a in range(q[k]):
                    if abs(multipliers[i, a]) > 1e-13 * largest:
                        rows[i, count] = rows[i, a]
                        multipliers[i, count] = multipliers[i, a]
                        count += 1
                rows[i, count] = ids[k, entering]
                multipliers[i, count] = 1.0
                n_found[i] = count + 1
            owner[k] = -1
        if n_solved > 0:
            for k in range(n_solved):
                for j in range(m):
                    points32[k, j] = points[owner[solved[k]], j]
            product(points32[:n_solved], A32T, scores[:n_solved])
        for r in range(n_solved):
            k = solved[r]
            i = owner[k]
            S = scores[r]
            for p in range(n_labels, n_rows):
                S[p] = -S[p]
            for a in range(weak_zeros.shape[0]):
                S[weak_zeros[a]] = -1e30
            for a in range(indptr[i], indptr[i + 1]):
                S[indices[a]] = -S[indices[a]]
            free = capacity - counts[k]
            worst, new = extend_working_set(S, is_in[k], most if most < free else free, share, limit, found, peaks)
            if worst >= limit and new > 0:
                for a in range(new):
                    p = found[a]
                    counts[k] = _add_row(A, p, -1.0 if p < n_labels else 1.0, k, G, ids, is_in, counts[k])
                continue
            if worst >= limit and is_open[k]:  # the rows that it has are not done with
                continue
            if worst >= limit and floors[k] < 1.0:  # float32 sees a violation among the rows that hold: make room
                floors[k] = 1.0
                continue
            outcome[i] = SOLVED
            for a in range(q[k]):
                rows[i, a] = ids[k, active[k, a]]
            n_found[i] = q[k]
            owner[k] = -1
        n_free = 0
        for k in range(n_slots):
            n_free += owner[k] < 0
        if waiting == n_sets and n_free == n_slots:
            break
    for i in range(n_sets):
        for a in range(n_found[i]):
            if rows[i, a] >= 0:
                tight[rows[i, a]] += 1
