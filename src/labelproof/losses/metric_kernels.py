# mypy: disallow-untyped-decorators=False, disallow-untyped-defs=False, disallow-untyped-calls=False
"""Compiled: what `smooth_metrics` and `averaging` make of counts, with the gradient, in double precision."""

import numpy as np

from labelproof.losses.count_kernels import (
    examples_gradient_loop,
    examples_loop,
    labels_gradient_loop,
    labels_loop,
)
from labelproof.losses.sigmoids import kernel, loop
from labelproof.losses.target_kernels import count_out_of_range

__all__ = ["average_of_counts", "few_examples", "few_labels"]

_ROUNDING = 4 * np.finfo(np.float32).eps  # of sums of weights, which cancel where a label has no negative


@kernel
def few_labels(
    Z, Y, ends, columns, known, weight, beta, eta, slopes, counts, memory, share, ratios, how, by_counts
):  # pragma: no cover - compiled
    """Return the loss of a batch and whether its dense targets lie between 0 and 1; write its gradient over slopes."""
    labels_loop(Z, Y, ends, columns, known, weight, beta, eta, counts, slopes, 0, Z.shape[1])
    loss = _average(counts, memory, share, ratios, how, by_counts)
    labels_gradient_loop(Y, ends, columns, by_counts[0], by_counts[1], slopes, 0, slopes.shape[0])
    return loss, _are_in_range(Y)


@kernel
def few_examples(
    Z, Y, ends, columns, known, weight, beta, eta, slopes, counts, memory, share, ratios, how, by_counts
):  # pragma: no cover - compiled
    """Do the same where each example has a metric."""
    examples_loop(Z, Y, ends, columns, known, weight, beta, eta, counts, slopes, 0, Z.shape[0])
    loss = _average(counts, memory, share, ratios, how, by_counts)
    examples_gradient_loop(Y, ends, columns, by_counts[0], by_counts[1], slopes, 0, slopes.shape[0])
    return loss, _are_in_range(Y)


@kernel
def average_of_counts(counts, memory, share, ratios, how, by_counts):  # pragma: no cover - compiled
    """Return the loss of counts (4, m), and write its derivatives by hits and by predicted to the rows of by_counts.

    memory has the shape (0, 0) where there is none; share has m weights of losses, or of counts that are pooled;
    ratios (n_ratios, 2, 4) are those of a `Metric`; how is what `averaging.Aim.how` says.
    """
    return _average(counts, memory, share, ratios, how, by_counts)


@loop
def _are_in_range(Y):  # pragma: no cover - compiled
    faults = 0
    for i in range(Y.shape[0]):
        faults += count_out_of_range(Y[i])
    return faults == 0


@loop
def _average(counts, memory, share, ratios, how, by_counts):  # pragma: no cover - compiled
    pooled, by_support, sums, smoothing, needs_positives, needs_negatives = how
    above, below = 0.0, 0.0
    for j in range(1 if pooled else counts.shape[1]):
        c = _sum_of_columns(counts, share) if pooled else _column(counts, j)
        kept, c = _treat_empty(c, memory, j, smoothing, needs_positives, needs_negatives)
        by_counts[0, j] = by_counts[1, j] = 0
        if kept:
            value, of_hits, of_predicted = _metric(ratios, c)
            w = 1.0 if pooled else share[j] * (c[2] if by_support else 1.0)
            above, below = above + w * (1 - value), below + w
            by_counts[0, j], by_counts[1, j] = -w * of_hits, -w * of_predicted
    scale = 1.0 if sums or below == 0 else 1 / below
    for j in range(counts.shape[1] - 1, -1, -1):  # what is pooled stands in the first column, which is the last here
        own, factor = (0, share[j]) if pooled else (j, scale)
        by_counts[0, j], by_counts[1, j] = factor * by_counts[0, own], factor * by_counts[1, own]
    return above * scale


@loop
def _column(counts, j):  # pragma: no cover - compiled
    return np.float64(counts[0, j]), np.float64(counts[1, j]), np.float64(counts[2, j]), np.float64(counts[3, j])


@loop
def _sum_of_columns(counts, share):  # pragma: no cover - compiled
    h, p, y, n = 0.0, 0.0, 0.0, 0.0
    for j in range(counts.shape[1]):
        w = np.float64(share[j])
        h, p, y, n = h + w * counts[0, j], p + w * counts[1, j], y + w * counts[2, j], n + w * counts[3, j]
    return h, p, y, n


@loop
def _treat_empty(c, memory, j, smoothing, needs_positives, needs_negatives):  # pragma: no cover - compiled
    """Return whether the loss counts, and the counts with what is added to those that lack a positive or a negative."""
    h, p, y, n = c
    kept = not n <= 0
    if smoothing > 0:
        if needs_positives and y <= 0:
            h, p, y, n = h + smoothing, p + smoothing, y + smoothing, n + smoothing
        if needs_negatives and n - y <= _ROUNDING * n:
            n += smoothing
        return kept, (h, p, y, n)
    lacks = (needs_positives and y <= 0) or (needs_negatives and n - y <= _ROUNDING * n)
    if lacks and memory.shape[0] > 0:
        h, p, y, n = h + memory[0, j], p + memory[1, j], y + memory[2, j], n + memory[3, j]
        lacks = (needs_positives and y <= 0) or (needs_negatives and n - y <= _ROUNDING * n)
    return kept and not lacks, (h, p, y, n)


@loop
def _metric(ratios, c):  # pragma: no cover - compiled
    """Return the metric of counts and its derivatives by the first two; all are 0 where it is 0/0."""
    value, of_hits, of_predicted = 0.0, 0.0, 0.0
    if ratios.shape[0] == 0:
        return _correlation(c)
    for r in range(ratios.shape[0]):
        above, below = 0.0, 0.0
        for k in range(4):
            above, below = above + ratios[r, 0, k] * c[k], below + ratios[r, 1, k] * c[k]
        if below != 0:
            ratio = above / below
            value += ratio
            of_hits += (ratios[r, 0, 0] - ratio * ratios[r, 1, 0]) / below
            of_predicted += (ratios[r, 0, 1] - ratio * ratios[r, 1, 1]) / below
    n = ratios.shape[0]
    return value / n, of_hits / n, of_predicted / n


@loop
def _correlation(c):  # pragma: no cover - compiled
    """Return Matthews' correlation, from shares of the total, and its derivatives."""
    n = c[3]
    hits, predicted, positives = c[0] / n, c[1] / n, c[2] / n
    spread = predicted * (1 - predicted) * positives * (1 - positives)
    if n == 0 or spread <= 0:
        return 0.0, 0.0, 0.0
    root = np.sqrt(spread)
    value = (hits - predicted * positives) / root
    by_predicted = -positives / root - value * (0.5 - predicted) / (predicted * (1 - predicted))
    return value, 1 / (root * n), by_predicted / n
