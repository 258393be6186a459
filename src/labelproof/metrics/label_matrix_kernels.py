"""Compiled loops: packing label matrices, counting, and where the true labels stand among the scores."""

import numpy as np

from labelproof.foundation.compilation import compiled, compiled_part

__all__ = [
    "add_counts",
    "add_ranks",
    "add_reliability",
    "build_guide",
    "fill_indices",
    "running_maximum",
    "sum_from_above",
]


@compiled()
def fill_indices(flat, words, n_columns, ends, indices):  # pragma: no cover - compiled
    """Write the column of every 1 of a 0/1 matrix, row by row, and where each row ends; indices has room for one more.

    The matrix comes as its bytes in order, and as words of eight of them (without the last few), so that eight zeros
    are passed by at once. Columns of other words are written without a branch: each to the next place, which moves on
    only past a 1.
    """
    row, row_end, at = 0, n_columns, 0
    for w in range(len(words)):
        if words[w] == 0:
            continue
        p = 8 * w
        while p >= row_end:
            row += 1
            ends[row] = at
            row_end += n_columns
        if p + 8 <= row_end:
            for c in range(p, p + 8):
                indices[at] = c - row_end + n_columns
                at += flat[c]
        else:
            row, row_end, at = _fill_slowly(flat, p, p + 8, n_columns, ends, indices, row, row_end, at)
    row, row_end, at = _fill_slowly(flat, 8 * len(words), len(flat), n_columns, ends, indices, row, row_end, at)
    for r in range(row + 1, len(ends)):
        ends[r] = at


@compiled_part()
def _fill_slowly(flat, p, stop, n_columns, ends, indices, row, row_end, at):  # pragma: no cover - compiled
    """Do the same byte by byte, where a row may end."""
    for c in range(p, stop):
        while c >= row_end:
            row += 1
            ends[row] = at
            row_end += n_columns
        indices[at] = c - row_end + n_columns
        at += flat[c]
    return row, row_end, at


@compiled()
def add_counts(true_ends, true, pred_ends, pred, weight, tp, fp, fn, hits):  # pragma: no cover - compiled
    """Add the weight of each example to the counts of its labels, and count its hits, by merging sorted lists."""
    for i in range(len(true_ends) - 1):
        a, a_end = true_ends[i], true_ends[i + 1]
        b, b_end = pred_ends[i], pred_ends[i + 1]
        w = weight[i]
        found = 0
        while a < a_end and b < b_end:
            if true[a] == pred[b]:
                tp[true[a]] += w
                found += 1
                a += 1
                b += 1
            elif true[a] < pred[b]:
                fn[true[a]] += w
                a += 1
            else:
                fp[pred[b]] += w
                b += 1
        while a < a_end:
            fn[true[a]] += w
            a += 1
        while b < b_end:
            fp[pred[b]] += w
            b += 1
        hits[i] = found


@compiled()
def build_guide(ends, values, scale, guide):  # pragma: no cover - compiled
    """Divide the range of each group's values into as many equal cells as it has values; store where each starts.

    A cell only narrows the search: cells are computed by the same monotone arithmetic for values and for scores, so
    a value of a lower cell is a smaller value, exactly. A scale of 0 says that the group has no usable cells.
    """
    for g in range(len(ends) - 1):
        low, high = ends[g], ends[g + 1]
        n = high - low
        if n < 64:  # a short list is searched as fast without
            continue
        span = values[high - 1] - values[low]
        if not (0 < span < np.inf) or not np.isfinite((n - 1) / span):
            continue
        scale[g] = (n - 1) / span
        at = 0
        for m in range(n):
            cell = min(int((values[low + m] - values[low]) * scale[g]), n - 1)
            while at <= cell:
                guide[low + at] = low + m
                at += 1
        while at < n:
            guide[low + at] = high
            at += 1


@compiled()
def add_ranks(
    scores, weight, row_group, label_group, ends, values, scale, guide, higher, same
):  # pragma: no cover - compiled
    """Place every score among the sorted values of its group, and add the example's weight to the place.

    The group of score (i, j) is row_group[i] + label_group[j]; its values, ascending, are values[ends[g]:ends[g + 1]].
    A score equal to some values counts in `same` at the first of them, any other in `higher` at the last value below.
    """
    for i in range(scores.shape[0]):
        w = weight[i]
        for j in range(scores.shape[1]):
            g = row_group[i] + label_group[j]
            start, stop = ends[g], ends[g + 1]
            s = scores[i, j]
            if start == stop or s < values[start]:
                continue
            if s > values[stop - 1]:
                higher[stop - 1] += w
                continue
            low, high = start, stop
            if scale[g] > 0:
                cell = start + min(int((s - values[start]) * scale[g]), stop - start - 1)
                low = guide[cell]
                if cell + 1 < stop:
                    high = guide[cell + 1]
            while low < high:
                middle = (low + high) >> 1
                if values[middle] < s:
                    low = middle + 1
                else:
                    high = middle
            if values[low] == s:
                same[low] += w
            else:
                higher[low - 1] += w


@compiled()
def sum_from_above(ends, values, higher, same, above, tied):  # pragma: no cover - compiled
    """For each of a group's ascending values, sum what lies above it and what equals it (all of `same` in a tie)."""
    for g in range(len(ends) - 1):
        total = 0.0
        last = ends[g + 1] - 1
        while last >= ends[g]:
            first = last
            while first > ends[g] and values[first - 1] == values[last]:
                first -= 1
            total += higher[last]
            equal = 0.0
            for m in range(first, last + 1):
                equal += same[m]
            for m in range(first, last + 1):
                above[m] = total
                tied[m] = equal
            total += equal
            last = first - 1


@compiled()
def running_maximum(group, values):  # pragma: no cover - compiled
    """Replace each value by the largest so far of its group; entries of a group stand together."""
    for m in range(1, len(values)):
        if group[m] == group[m - 1] and values[m - 1] > values[m]:
            values[m] = values[m - 1]


@compiled()
def add_reliability(ends, true, probability, weight, sums):  # pragma: no cover - compiled
    """Add to sums[label, bin] of every probability p with truth y and weight w: w, w p, w y and w (p - y)²."""
    n_bins = sums.shape[1]
    for i in range(probability.shape[0]):
        w = weight[i]
        a, a_end = ends[i], ends[i + 1]
        for j in range(probability.shape[1]):
            p = np.float64(probability[i, j])
            y = 0.0
            if a < a_end and true[a] == j:
                y = 1.0
                a += 1
            b = min(int(p * n_bins), n_bins - 1)
            sums[j, b, 0] += w
            sums[j, b, 1] += w * p
            sums[j, b, 2] += w * y
            sums[j, b, 3] += w * (p - y) ** 2
