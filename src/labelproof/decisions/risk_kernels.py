# mypy: disallow-untyped-decorators=False, disallow-untyped-defs=False, disallow-untyped-calls=False
"""Compiled loops of `risk_control`: the scores above a cut, and how many of them can be predicted."""

from labelproof.foundation.compilation import compiled

__all__ = ["count_above", "fill_above", "first_too_risky"]


@compiled()
def count_above(scores, cut, counts):  # pragma: no cover - compiled
    """Write how many scores of each row are larger than the cut."""
    for i in range(scores.shape[0]):
        row, count = scores[i], 0
        for j in range(row.shape[0]):
            count += row[j] > cut
        counts[i] = count


@compiled()
def fill_above(scores, cut, indptr, indices, ends, rows, values, hits):  # pragma: no cover - compiled
    """Write row, value and truth of the scores above the cut; those of row i begin at ends[i]."""
    for i in range(scores.shape[0]):
        row, place, label, last = scores[i], ends[i], indptr[i], indptr[i + 1]
        for j in range(row.shape[0]):
            if row[j] > cut:
                while label < last and indices[label] < j:
                    label += 1
                rows[place], values[place] = i, row[j]
                hits[place] = label < last and indices[label] == j
                place += 1


@compiled()
def first_too_risky(rows, values, hits, order, most, predicted, wrong):  # pragma: no cover - compiled
    """Return the first place of the order at which the mean share of wrong predictions exceeds `most`, and that before.

    Equal values are predicted together, and the place is that of the first of them. predicted and wrong are zeros, one
    for each example, and are written to. Without such a place it is the number of places.
    """
    total, before, start, n = 0.0, 0.0, 0, predicted.shape[0]
    for place in range(order.shape[0]):
        p = order[place]
        if place > 0 and values[p] != values[order[place - 1]]:
            start, before = place, total
        i = rows[p]
        if predicted[i] > 0:
            total -= wrong[i] / predicted[i]
        predicted[i] += 1
        wrong[i] += not hits[p]
        total += wrong[i] / predicted[i]
        is_last = place == order.shape[0] - 1 or values[order[place + 1]] != values[p]
        if is_last and total > most * n:
            return start, before / n
    return order.shape[0], total / n
