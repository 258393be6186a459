# mypy: disallow-untyped-decorators=False, disallow-untyped-defs=False, disallow-untyped-calls=False
"""Compiled: what `smooth_metrics` and `averaging` make of counts, with the gradient, in double precision."""

import numpy as np

from labelproof.foundation.compilation import compiled_part
from labelproof.losses.by_address import floats, matrices
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
def few_labels(places, ends, columns, weight, beta, eta, share, ratios, how, keeping):  # pragma: no cover - compiled
    """Return the loss of a batch and whether its dense targets lie between 0 and 1; write its gradient to its place."""
    Z, Y, known, slopes = matrices(places)
    counts, by_counts = np.empty((4, Z.shape[1]), np.float32), np.empty((2, Z.shape[1]), np.float32)
    labels_loop(Z, Y, ends, columns, known, weight, beta, eta, counts, slopes, 0, Z.shape[1])
    loss = _average(counts, share, ratios, how, keeping, by_counts)
    labels_gradient_loop(Y, ends, columns, by_counts[0], by_counts[1], slopes, 0, slopes.shape[0])
    return loss, _are_in_range(Y)


@kernel
def few_examples(places, ends, columns, weight, beta, eta, share, ratios, how, keeping):  # pragma: no cover - compiled
    """Do the same where each example has a metric."""
    Z, Y, known, slopes = matrices(places)
    counts, by_counts = np.empty((4, Z.shape[0]), np.float32), np.empty((2, Z.shape[0]), np.float32)
    examples_loop(Z, Y, ends, columns, known, weight, beta, eta, counts, slopes, 0, Z.shape[0])
    loss = _average(counts, share, ratios, how, keeping, by_counts)
    examples_gradient_loop(Y, ends, columns, by_counts[0], by_counts[1], slopes, 0, slopes.shape[0])
    return loss, _are_in_range(Y)


@kernel
def average_of_counts(counts, share, ratios, how, keeping, by_counts):  # pragma: no cover - compiled
    """Return the loss of counts (4, m), and write its derivatives by hits and by predicted to the rows of by_counts.

    share has m weights of losses, or of counts that are pooled; ratios (n_ratios, 2, 4) are those of a `Metric`; how is
    what `averaging.Aim.how` says; keeping says where the memory is, where the new one is to be written, 0 for nowhere,
    and by what the old one is multiplied.
    """
    return _average(counts, share, ratios, how, keeping, by_counts)


@loop
def _are_in_range(Y):  # pragma: no cover - compiled
    faults = 0
    for i in range(Y.shape[0]):
        faults += count_out_of_range(Y[i])
    return faults == 0


@loop
def _average(counts, share, ratios, how, keeping, by_counts):  # pragma: no cover - compiled
    pooled, by_support, sums, smoothing, needs_positives, needs_negatives = how
    m, first = 1 if pooled else counts.shape[1], _factors(ratios, 0)
    memory, after, above, below = floats(keeping[0], 4, m), floats(keeping[1], 4, m), 0.0, 0.0
    for j in range(m):
        c = _sum_of_columns(counts, share) if pooled else _column(counts, j)
        if after.shape[0] > 0:
            _remember(c, memory, j, keeping[2], after)
        kept, c = _treat_empty(c, memory, j, smoothing, needs_positives, needs_negatives)
        by_counts[0, j] = by_counts[1, j] = 0
        if kept:
            value, of_hits, of_predicted = _metric(ratios, first, c)
            w = 1.0 if pooled else share[j] * (c[2] if by_support else 1.0)
            above, below = above + w * (1 - value), below + w
            by_counts[0, j], by_counts[1, j] = -w * of_hits, -w * of_predicted
    scale = 1.0 if sums or below == 0 else 1 / below
    for j in range(counts.shape[1] - 1, -1, -1):  # what is pooled stands in the first column, which is the last here
        own, factor = (0, share[j]) if pooled else (j, scale)
        by_counts[0, j], by_counts[1, j] = factor * by_counts[0, own], factor * by_counts[1, own]
    return above * scale


@loop
def _remember(c, memory, j, decay, after):  # pragma: no cover - compiled
    for k in range(4):
        after[k, j] = c[k] + decay * memory[k, j] if memory.shape[0] > 0 else c[k]


@compiled_part(inline="always")
def _column(counts, j):  # pragma: no cover - compiled
    return np.float64(counts[0, j]), np.float64(counts[1, j]), np.float64(counts[2, j]), np.float64(counts[3, j])


@loop
def _sum_of_columns(counts, share):  # pragma: no cover - compiled
    h, p, y, n = 0.0, 0.0, 0.0, 0.0
    for j in range(counts.shape[1]):
        w = np.float64(share[j])
        h, p, y, n = h + w * counts[0, j], p + w * counts[1, j], y + w * counts[2, j], n + w * counts[3, j]
    return h, p, y, n


@compiled_part(inline="always")
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


@compiled_part(inline="always")
def _metric(ratios, first, c):  # pragma: no cover - compiled
    """Return the metric of counts and its derivatives by the first two; all are 0 where it is 0/0.

    first has the factors of the first ratio, which is the only one of most metrics, where the compiler finds them.
    """
    if ratios.shape[0] == 0:
        return _correlation(c)
    value, of_hits, of_predicted = _ratio(first, c)
    for r in range(1, ratios.shape[0]):
        more = _ratio(_factors(ratios, r), c)
        value, of_hits, of_predicted = value + more[0], of_hits + more[1], of_predicted + more[2]
    part = 1 / ratios.shape[0]
    return value * part, of_hits * part, of_predicted * part


@loop
def _factors(ratios, r):  # pragma: no cover - compiled
    if ratios.shape[0] <= r:
        return 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    a, b = ratios[r, 0], ratios[r, 1]
    return a[0], a[1], a[2], a[3], b[0], b[1], b[2], b[3]


@compiled_part(inline="always")
def _ratio(factors, c):  # pragma: no cover - compiled
    a, b = factors[:4], factors[4:]
    below = b[0] * c[0] + b[1] * c[1] + b[2] * c[2] + b[3] * c[3]
    scale = 1 / below if below != 0 else 0.0
    ratio = (a[0] * c[0] + a[1] * c[1] + a[2] * c[2] + a[3] * c[3]) * scale
    return ratio, (a[0] - ratio * b[0]) * scale, (a[1] - ratio * b[1]) * scale


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
