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
LEAST_STEPS = 20  # on the same rows, before all are looked at: the missing ones matter more than the last steps


@compiled_part(_nrt=False, fastmath=True)
def extend_working_set(scores, slot, part, n_parts, is_in, most, share, limit, found, peaks):  # pragma: no cover
    """Collect the rows of a part with the worst scores (satisfied iff negative) that are not yet in.

    Rows over ``share`` of the worst violation of score ≤ −1 count, and of these at most ``most``, nearly the worst
    ones. Returns the worst score and how many were found; none are sought when the worst is below ``limit``. Scores are
    (n_tiles, n_slots, tile), and ``peaks`` (tile,) is for the worst ones at each place of a tile: all loops but the
    last compile to vector instructions, unlike one for a maximum.
    """
    n_tiles, tile = scores.shape[0], scores.shape[2]
    some = scores[0, slot]
    for i in range(tile):
        peaks[i] = some[i]
    for t in range(1, n_tiles):
        some = scores[t, slot]
        for i in range(tile):
            peaks[i] = some[i] if some[i] > peaks[i] else peaks[i]
    worst = peaks[0]
    for i in range(tile):
        worst = max(worst, peaks[i])
    if worst < limit or most <= 0:
        return worst, 0
    cut = np.float32(-1.0 + (worst + 1.0) * share)
    for _ in range(20):
        over = np.int64(0)
        for t in range(n_tiles):
            over += _n_over(scores[t, slot], cut)
        if over <= most:
            break
        cut = np.float32(0.5) * (cut + worst)
    count = np.int64(0)
    for t in range(n_tiles):
        some = scores[t, slot]
        if _n_over(some, cut) == 0:
            continue
        for i in range(tile):
            if some[i] >= cut:
                place = (t * tile + i) * n_parts + part
                if count < most and not is_in[place]:
                    found[count] = place
                    count += 1
    return worst, count


@compiled_part(_nrt=False, fastmath=True)
def _n_over(scores, cut):  # pragma: no cover - compiled
    """Count the scores that reach a cut."""
    over = np.int32(0)
    for i in range(scores.shape[0]):
        over += np.int32(scores[i] >= cut)
    return over


@compiled_part(_nrt=False)
def _give_signs(scores, slot, part, n_parts, labels, n_labels, n_rows, weak_zeros):  # pragma: no cover - compiled
    """Make the products of a part's rows negative where they hold for the label set with these active labels."""
    tile = scores.shape[2]
    for i in range((n_labels - part + n_parts - 1) // n_parts, scores.shape[0] * tile):
        t, j = i // tile, i % tile
        scores[t, slot, j] = -scores[t, slot, j] if i * n_parts + part < n_rows else -1e30
    for label in weak_zeros:
        if label % n_parts == part:
            i = label // n_parts
            scores[i // tile, slot, i % tile] = -1e30
    for label in labels:
        if label % n_parts == part:
            i = label // n_parts
            scores[i // tile, slot, i % tile] = -scores[i // tile, slot, i % tile]


@compiled_part(_nrt=False, error_model="numpy")
def _add_row(place, sign, slot, places, signs, is_in, count):  # pragma: no cover - compiled
    """Append a row of A, with its sign, to the working set of a slot; return the new count."""
    places[slot, count] = place
    signs[slot, count] = sign
    is_in[slot, place] = True
    return count + 1


@compiled_part(_nrt=False, error_model="numpy")
def _turn_rows(labels, hot_place, signs):  # pragma: no cover - compiled
    """Change the signs of those rows of a slot that belong to one of these labels and stay for all label sets."""
    for a in range(labels.shape[0]):
        place = hot_place[labels[a]]
        if place >= 0:
            signs[place] = -signs[place]


def search_block(
    A: Array,
    parts: Array,
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
    hot rows there already. So the product that scores rows is always one of a full batch of points. It scores a part of
    the rows, and the next one the next part; a point is found when all parts in turn have left it alone. A label set
    has ``max_steps`` in all. It begins at its row of ``points``, which is where its point goes, and has its own
    ``floor``.
    See `propose.search` for the arguments.
    """
    n_rows, m = A.shape
    n_sets, n_equal = E.shape[:2]
    n_tiles, tile = parts.shape[1], parts.shape[3]
    rows_and_equalities = np.concatenate([A, E.reshape(-1, m)]) if n_equal else A
    outcome, n_found, tight = np.empty(n_sets, np.int64), np.zeros(n_sets, np.int64), np.zeros(n_rows, np.int64)
    multipliers, rows = np.zeros((n_sets, m + 1)), np.zeros((n_sets, m + 1), np.int64)
    slots = (
        np.full(n_slots, -1),
        np.full(n_slots, -1),
        np.empty((n_slots, capacity), np.int64),
        np.ones((n_slots, capacity)),
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
        np.zeros(n_slots, np.int64),
    )
    targets = np.ones(capacity)
    targets[:n_equal] = 0.0
    scratch = (
        targets,
        np.empty(most, np.int64),
        np.empty(tile, np.float32),
        np.full(n_rows, -1),
        np.empty(n_slots, np.int64),
        np.empty((n_slots, m), np.float32),
        np.empty((n_tiles, n_slots, tile), np.float32),
        active_set_scratch(capacity, m),
    )
    given = (*map(plain, (rows_and_equalities, parts)), n_labels, *map(plain, (indptr, indices, hot, weak_zeros)))
    limits = (most, share, plain(floor), limit, max_steps)
    fill_slots(*given, n_equal, *limits, (outcome, points, rows, n_found, tight, multipliers), slots, scratch)
    return outcome, rows, n_found, tight, multipliers


@compiled(_nrt=False, error_model="numpy")
def fill_slots(
    A,
    parts,
    n_labels,
    indptr,
    indices,
    hot,
    weak_zeros,
    n_equal,
    most,
    share,
    floor,
    limit,
    max_steps,
    results,
    slots,
    scratch,
):  # pragma: no cover - compiled
    """Do what `search_block` says, in arrays that it has made: numba takes seconds to compile each kind of array.

    After its rows A has the equalities of each label set. ``n_held`` counts the parts that hold at a slot's point.
    """
    outcome, points, rows, n_found, tight, multipliers = results
    owner, shown, places, signs, counts, is_in, QT, L, lam, active, q, n_steps, floors, is_open, n_held = slots
    targets, found, peaks, hot_place, solved, points32, scores, of_active_set = scratch
    n_rows, m = tight.shape[0], A.shape[1]
    n_sets, n_parts = outcome.shape[0], parts.shape[0]
    n_slots, capacity = places.shape
    first = n_equal + hot.shape[0]  # place of the first row that is not in every working set
    for a in range(hot.shape[0]):
        hot_place[hot[a]] = n_equal + a
        for k in range(n_slots):
            _add_row(hot[a], -1.0 if hot[a] < n_labels else 1.0, k, places, signs, is_in, n_equal + a)
    for k in range(n_slots):
        counts[k] = first
    waiting = 0
    part = 0
    while True:
        part = (part + 1) % n_parts
        n_solved = 0
        for k in range(n_slots):
            if owner[k] < 0:
                if waiting == n_sets:
                    continue
                i = waiting
                waiting += 1
                for a in range(first, counts[k]):
                    is_in[k, places[k, a]] = False
                if shown[k] >= 0:
                    _turn_rows(indices[indptr[shown[k]] : indptr[shown[k] + 1]], hot_place, signs[k])
                owner[k] = i
                shown[k] = i
                floors[k] = floor[i]
                q[k] = 0
                n_steps[k] = 0
                for e in range(n_equal):
                    places[k, e] = n_rows + i * n_equal + e
                _turn_rows(indices[indptr[i] : indptr[i + 1]], hot_place, signs[k])
                count = first
                for a in range(indptr[i], indptr[i + 1]):
                    if hot_place[indices[a]] < 0:
                        count = _add_row(indices[a], 1.0, k, places, signs, is_in, count)
                counts[k] = count
                n_held[k] = 0
            if n_held[k] > 0:
                solved[n_solved] = k
                n_solved += 1
                continue
            i = owner[k]
            status, q[k], steps, entering = continue_active_set(
                A,
                places[k, : counts[k]],
                signs[k],
                targets,
                n_equal,
                points[i],
                QT[k],
                L[k],
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
                rows[i, a] = places[k, active[k, a]]
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
                rows[i, count] = places[k, entering]
                multipliers[i, count] = 1.0
                n_found[i] = count + 1
            owner[k] = -1
        if n_solved > 0:
            for k in range(n_solved):
                for j in range(m):
                    points32[k, j] = points[owner[solved[k]], j]
            for t in range(parts.shape[1]):
                product(points32[:n_solved], parts[part, t], scores[t, :n_solved])
        for r in range(n_solved):
            k = solved[r]
            i = owner[k]
            _give_signs(scores, r, part, n_parts, indices[indptr[i] : indptr[i + 1]], n_labels, n_rows, weak_zeros)
            free = min(most, capacity - counts[k])
            worst, new = extend_working_set(scores, r, part, n_parts, is_in[k], free, share, limit, found, peaks)
            n_held[k] += 1
            if worst >= limit and (new > 0 or is_open[k] or floors[k] < 1.0):
                n_held[k] = 0
                for a in range(new):
                    p = found[a]
                    counts[k] = _add_row(p, -1.0 if p < n_labels else 1.0, k, places, signs, is_in, counts[k])
                if new == 0 and not is_open[k]:  # float32 sees a violation among the rows that hold: make room
                    floors[k] = 1.0
            if n_held[k] < n_parts:
                continue
            outcome[i] = SOLVED
            for a in range(q[k]):
                rows[i, a] = places[k, active[k, a]]
            n_found[i] = q[k]
            owner[k] = -1
        n_free = 0
        for k in range(n_slots):
            n_free += owner[k] < 0
        if waiting == n_sets and n_free == n_slots:
            break
    for i in range(n_sets):
        for a in range(n_found[i]):
            if rows[i, a] < n_rows:
                tight[rows[i, a]] += 1
            else:
                rows[i, a] = -1 - (rows[i, a] - n_rows) % n_equal
