"""Compiled loops over scores: what each cut counts, the largest scores of an example, expected F, coordinate ascent.

All work on (n_examples, n_labels) arrays of float32 or float64 and release the interpreter, so that threads can share
the rows.
"""

import numpy as np

from labelproof.foundation.compilation import compiled, compiled_part

__all__ = [
    "ascend",
    "best_example_cuts",
    "best_f_cuts",
    "best_linear_cuts",
    "count_at_least",
    "count_at_shared",
    "expected_f_sizes",
    "fill_buckets",
    "largest_below",
    "support_depths",
    "top_indices",
]

_BLOCK = 256  # labels at a time, so that their sorted positives stay in the cache
_NARROW = 32  # the same where each label has a count for every shared value
F_BETA, RECALL, PRECISION, COVERAGE = 0, 1, 2, 3


# Cuts: labels as columns. A label's positives have the scores values[ptr[j]:ptr[j + 1]], ascending.


@compiled_part()
def _last_at_most(values, base, length, s):  # pragma: no cover - compiled
    """Return the last place of the ascending values[base:base + length] whose value is ≤ s; the first one is."""
    while length > 1:
        half = length >> 1
        base += half if values[base + half] <= s else 0
        length -= half
    return base


@compiled()
def count_at_least(scores, ptr, values, counts):  # pragma: no cover - compiled
    """Add to counts[r], for each value r of each label, how many of the label's scores lie in [value r, value r+1)."""
    n, n_labels = scores.shape
    for first in range(0, n_labels, _BLOCK):
        last = min(first + _BLOCK, n_labels)
        for i in range(n):
            for j in range(first, last):
                base, length = ptr[j], ptr[j + 1] - ptr[j]
                s = scores[i, j]
                if length == 0 or s < values[base]:
                    continue
                counts[_last_at_most(values, base, length, s)] += 1


@compiled()
def largest_below(scores, cuts, largest):  # pragma: no cover - compiled
    """Raise largest[j] to the largest score of label j that is below cuts[j]."""
    n, n_labels = scores.shape
    for i in range(n):
        for j in range(n_labels):
            s = scores[i, j]
            if largest[j] < s < cuts[j]:
                largest[j] = s


@compiled_part()
def _bucket(s, low, scale, n_buckets):  # pragma: no cover - compiled
    """Return which of equally wide buckets a score ≥ low falls into: a non-decreasing function of the score."""
    place = (float(s) - low) * scale
    return int(place) if place < n_buckets - 1 else n_buckets - 1


@compiled()
def fill_buckets(values, low, scale, table):  # pragma: no cover - compiled
    """Write to table[b] the number of the ascending values that lie in buckets before b."""
    n_buckets, r = table.shape[0] - 1, 0
    for b in range(n_buckets):
        while r < values.shape[0] and _bucket(values[r], low, scale, n_buckets) < b:
            r += 1
        table[b] = r
    table[n_buckets] = values.shape[0]


@compiled()
def count_at_shared(scores, values, low, scale, table, counts):  # pragma: no cover - compiled
    """Add to counts[j, r] how many scores of label j lie in [value r, value r+1); all labels share the values."""
    n, n_labels = scores.shape
    n_buckets = table.shape[0] - 1
    for first in range(0, n_labels, _NARROW):
        for i in range(n):
            for j in range(first, min(first + _NARROW, n_labels)):
                s = scores[i, j]
                if s < low:
                    continue
                b = _bucket(s, low, scale, n_buckets)
                start, stop = table[b], table[b + 1]
                while start < stop:
                    middle = (start + stop) >> 1
                    if values[middle] <= s:
                        start = middle + 1
                    else:
                        stop = middle
                counts[j, start - 1] += 1


@compiled()
def best_f_cuts(ptr, predicted, beta2):  # pragma: no cover - compiled
    """Return for each label the place of the cut with the largest Fβ (the highest of equals; −1 without positives)."""
    n_labels = ptr.shape[0] - 1
    places, best = np.full(n_labels, -1), np.zeros(n_labels)
    for j in range(n_labels):
        positives = ptr[j + 1] - ptr[j]
        for r in range(ptr[j + 1] - 1, ptr[j] - 1, -1):
            f = (1 + beta2) * (ptr[j + 1] - r) / (predicted[r] + beta2 * positives)
            if f > best[j]:
                best[j] = f
                places[j] = r
    return places, best


@compiled()
def best_linear_cuts(ptr, predicted, price):  # pragma: no cover - compiled
    """Return for each label the place of the cut with the largest tp − price·predicted; −1 where none is over 0."""
    n_labels = ptr.shape[0] - 1
    places = np.full(n_labels, -1)
    for j in range(n_labels):
        best = 0.0
        for r in range(ptr[j + 1] - 1, ptr[j] - 1, -1):
            value = (ptr[j + 1] - r) - price * predicted[r]
            if value > best:
                best = value
                places[j] = r
    return places


@compiled()
def best_example_cuts(scores, ptr, values):  # pragma: no cover - compiled
    """Return for each example the score at or above which predicting maximises its F1 (NaN without positives).

    Here values[ptr[i]:ptr[i + 1]] are the ascending scores of the positives of example i.
    """
    n, n_labels = scores.shape
    cuts, counts = np.full(n, np.nan), np.zeros(values.shape[0], np.int64)
    for i in range(n):
        first, m = ptr[i], ptr[i + 1] - ptr[i]
        for j in range(n_labels):
            if m > 0 and scores[i, j] >= values[first]:
                counts[_last_at_most(values, first, m, scores[i, j])] += 1
        best, predicted = 0.0, 0
        for r in range(m - 1, -1, -1):
            predicted += counts[first + r]
            f = 2.0 * (m - r) / (predicted + m)
            if f > best:
                best = f
                cuts[i] = values[first + r]
    return cuts


# Orders: labels of one example


@compiled_part()
def _comes_later(scores, a, b):  # pragma: no cover - compiled
    """Return whether label a has the smaller score, or an equal one and the larger index."""
    return scores[a] < scores[b] or (scores[a] == scores[b] and a > b)


@compiled_part()
def _sink(heap, at, scores):  # pragma: no cover - compiled
    """Let an entry of the heap, whose first entry comes last of all in the order, sink to where it belongs."""
    size, entry = heap.shape[0], heap[at]
    while 2 * at + 1 < size:
        child = 2 * at + 1
        if child + 1 < size and _comes_later(scores, heap[child + 1], heap[child]):
            child += 1
        if not _comes_later(scores, heap[child], entry):
            break
        heap[at] = heap[child]
        at = child
    heap[at] = entry


@compiled_part()
def _select(scores, heap):  # pragma: no cover - compiled
    """Fill heap with the labels of the largest scores, the lower index first of equals; as many as heap holds."""
    k = heap.shape[0]
    if k == 0:
        return
    for j in range(k):
        heap[j] = j
    for at in range(k // 2 - 1, -1, -1):
        _sink(heap, at, scores)
    for j in range(k, scores.shape[0]):
        if scores[j] > scores[heap[0]]:
            heap[0] = j
            _sink(heap, 0, scores)


@compiled()
def top_indices(scores, ptr, chosen):  # pragma: no cover - compiled
    """Write the labels of the ptr[i + 1] − ptr[i] largest scores of example i, in any order, to chosen[ptr[i]:]."""
    for i in range(scores.shape[0]):
        _select(scores[i], chosen[ptr[i] : ptr[i + 1]])


@compiled()
def support_depths(scores, order, depths):  # pragma: no cover - compiled
    """Write Σ_l max(z_l − z_j, 0) over the labels l for each label j; order: the labels by descending score."""
    n, n_labels = scores.shape
    for i in range(n):
        depth = 0.0
        depths[i, order[i, 0]] = depth
        for rank in range(1, n_labels):
            depth += rank * (float(scores[i, order[i, rank - 1]]) - float(scores[i, order[i, rank]]))
            depths[i, order[i, rank]] = depth


# Expected F under independence


@compiled_part()
def _sum_distribution(p, tail):  # pragma: no cover - compiled
    """Return P(Σ = s) for s = 0, 1, … up to a size beyond which less than ``tail`` remains, by Chernoff's bound."""
    mean, size = 0.0, 0
    for j in range(p.shape[0]):
        mean += p[j]
        size += p[j] > 0
    top = min(size, int(mean) + 1)
    while top < size and top - mean + top * np.log(mean / top) > np.log(tail):
        top += 1
    now, then = np.zeros(top + 5), np.zeros(top + 5)  # four zeros before the chance of the sum 0
    now[4] = 1.0
    j = 0
    while j < size:  # four labels at a time: the chances a to e that 0 to 4 of them are on
        a, b, c, d, e = 1.0, 0.0, 0.0, 0.0, 0.0
        for q in p[j : min(j + 4, size)]:
            a, b, c, d, e = a * (1 - q), b * (1 - q) + a * q, c * (1 - q) + b * q, d * (1 - q) + c * q, d * q
        for s in range(4, top + 5):
            then[s] = a * now[s] + b * now[s - 1] + c * now[s - 2] + d * now[s - 3] + e * now[s - 4]
        now, then = then, now
        j += 4
    return now[4:]


@compiled_part()
def _without(chance, p, rest):  # pragma: no cover - compiled
    """Write to rest the distribution of the sum without one label of probability p, in the stable direction."""
    top = chance.shape[0] - 1
    if p <= 0.5:
        rest[0] = chance[0] / (1 - p)
        for s in range(1, top + 1):
            rest[s] = max(0.0, (chance[s] - p * rest[s - 1]) / (1 - p))
    else:
        rest[top] = 0.0
        for s in range(top, 0, -1):
            rest[s - 1] = max(0.0, (chance[s] - (1 - p) * rest[s]) / p)


@compiled()
def expected_f_sizes(descending, beta2, both_empty, tail, sizes, values):  # pragma: no cover - compiled
    """Write for each row of descending probabilities the number of labels to predict, and the expected Fβ of that.

    E F(k) = (1 + β²) Σ_s A_k[s] / (k + β² s) with A_k[s] = Σ_{i ≤ k} P(y_i = 1, Σ y = s), so that one leave-one-out
    distribution for each k is all it takes. With M_k the sum of the first k probabilities, E F(k) is at most
    (1 + β²) M_k / (k + β² M_k) by Jensen's inequality, which does not increase with k: the search stops there.
    """
    for i in range(descending.shape[0]):
        p = descending[i]
        chance = _sum_distribution(p, tail)
        rest, joint = np.zeros_like(chance), np.zeros_like(chance)
        best, size, mass = both_empty * chance[0], 0, 0.0
        for k in range(1, p.shape[0] + 1):
            q = p[k - 1]
            mass += q
            if q == 0 or (1 + beta2) * mass / (k + beta2 * mass) <= best:
                break
            _without(chance, q, rest)
            value = 0.0
            for s in range(1, chance.shape[0]):
                joint[s] += q * rest[s - 1]
                value += joint[s] / (k + beta2 * s)
            value *= 1 + beta2
            if value > best:
                best = value
                size = k
        sizes[i] = size
        values[i] = best


# Macro utilities with exactly k labels an example


@compiled_part()
def _macro_gain(kind, beta2, hits, predicted, positives, eta):  # pragma: no cover - compiled
    """Return by how much one more prediction, of probability eta, raises a label's expected utility."""
    if kind == COVERAGE:
        return np.exp(hits) * eta  # hits: Σ log(1 − eta) of the examples that already have the label
    if kind == RECALL:
        return eta / positives if positives > 0 else 0.0
    weight = beta2 * positives if kind == F_BETA else 0.0
    scale = 1 + beta2 if kind == F_BETA else 1.0
    before = hits / (predicted + weight) if predicted > 0 else 0.0
    return scale * ((hits + eta) / (predicted + 1 + weight) - before)


@compiled_part()
def _add(kind, eta, labels, sign, hits, predicted):  # pragma: no cover - compiled
    """Add one example with these labels to the state of all labels, or with the sign −1 take it away."""
    for j in labels:
        hits[j] += sign * (np.log1p(-min(eta[j], 1 - 1e-12)) if kind == COVERAGE else eta[j])
        predicted[j] += sign


@compiled()
def ascend(eta, kind, beta2, order, chosen, hits, predicted, positives):  # pragma: no cover - compiled
    """Let each example in turn choose its k labels best, given those of all others; return how many sets changed."""
    n_labels, k = eta.shape[1], chosen.shape[1]
    gains, labels = np.empty(n_labels), np.empty(k, np.int64)
    changed = 0
    for i in order:
        _add(kind, eta[i], chosen[i], -1, hits, predicted)
        for j in range(n_labels):
            gains[j] = _macro_gain(kind, beta2, hits[j], predicted[j], positives[j], eta[i, j])
        _select(gains, labels)
        before, after = 0.0, 0.0
        for r in range(k):
            before += gains[chosen[i, r]]
            after += gains[labels[r]]
        if after > before + 1e-12 * (1 + abs(before)):  # no change for rounding's sake
            for r in range(k):
                chosen[i, r] = labels[r]
            changed += 1
        _add(kind, eta[i], chosen[i], 1, hits, predicted)
    return changed
