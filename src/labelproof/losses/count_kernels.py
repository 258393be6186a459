# mypy: disallow-untyped-decorators=False, disallow-untyped-defs=False, disallow-untyped-calls=False
"""Compiled loops over float32 logits: smooth counts of labels or of examples, and their gradients.

Arrays are those of `kernels`. An unknown label is counted nowhere: in the counts of labels its logit is -∞ and its
target 0, in those of examples its weight is 0. Arrays are copied number by number: to copy or to multiply them whole,
the compiler would have to make the sentence, too, that says that their shapes differ, which takes it seconds.
"""

import numpy as np

from labelproof.losses.by_address import matrices
from labelproof.losses.sigmoids import (
    TILE,
    ZERO,
    clear_row,
    fill_unknown,
    kernel,
    loop,
    sigmoid_and_slope,
    target_row,
    total,
)
from labelproof.parallel.team_loops import spread

__all__ = [
    "count_examples",
    "count_labels",
    "example_gradient",
    "examples_gradient_loop",
    "examples_loop",
    "label_gradient",
    "labels_gradient_loop",
    "labels_loop",
]

_COLUMNS = 4096  # labels that are counted at once
_ROWS = 256  # sums over more rows than this are not left to float32
_HITS, _PREDICTED, _POSITIVES, _TOTAL, _BETA, _ETA = (part * _COLUMNS for part in range(6))  # what is kept for labels
_SCORE, _HIT, _POSITIVE, _WEIGHT = (part * TILE for part in range(4))  # what is kept for a tile of an example
_NEVER = np.float32(-np.inf)  # the logit of a label that is not predicted at all


@kernel
def count_labels(places, ends, columns, weight, beta, eta, sums, team, start, stop):  # pragma: no cover - compiled
    """Write Σ_i w_i s_ij y_ij, Σ_i w_i s_ij, Σ_i w_i y_ij and Σ_i w_i of the columns start to stop to rows of sums.

    The scores are s_ij = sigmoid(beta_j (z_ij + eta_j)); w_i times their derivatives go to the gradient's place, unless
    there is none.
    """
    Z, Y, known, slopes = matrices(places)
    spread(labels_loop, (Z, Y, ends, columns, known, weight, beta, eta, sums, slopes), team, start, stop)


@kernel
def count_examples(places, ends, columns, weight, beta, eta, sums, team, start, stop):  # pragma: no cover - compiled
    """Write the same of the rows start to stop: sums over j, with a weight w_j for each label."""
    Z, Y, known, slopes = matrices(places)
    spread(examples_loop, (Z, Y, ends, columns, known, weight, beta, eta, sums, slopes), team, start, stop)


@kernel
def label_gradient(places, ends, columns, by_hits, by_predicted, team, start, stop):  # pragma: no cover - compiled
    """Make of the slopes in rows start to stop of G the ∂/∂z of Σ_j (by_hits_j hits_j + by_predicted_j predicted_j)."""
    _, Y, _, G = matrices(places)
    spread(labels_gradient_loop, (Y, ends, columns, by_hits, by_predicted, G), team, start, stop)


@kernel
def example_gradient(places, ends, columns, by_hits, by_predicted, team, start, stop):  # pragma: no cover - compiled
    """Make of the slopes in rows start to stop of G the ∂/∂z of Σ_i (by_hits_i hits_i + by_predicted_i predicted_i)."""
    _, Y, _, G = matrices(places)
    spread(examples_gradient_loop, (Y, ends, columns, by_hits, by_predicted, G), team, start, stop)


@loop
def labels_loop(
    Z, Y, ends, columns, known, weight, beta, eta, sums, slopes, start, stop
):  # pragma: no cover - compiled
    """Count the labels start to stop; see `count_labels`."""
    masked, width = known.shape[0] > 0, min(_COLUMNS, stop - start)
    work, unwanted = np.empty(6 * _COLUMNS, np.float32), np.empty(width, np.float32)
    filled_z, filled_y = np.empty(width if masked else 0, np.float32), np.empty(width if masked else 0, np.float32)
    everything = ZERO if masked else total(weight)
    for a in range(start, stop, _COLUMNS):
        b = min(a + _COLUMNS, stop)
        for j in range(a, b):
            work[_BETA + j - a], work[_ETA + j - a] = beta[j], eta[j]
            sums[0, j], sums[1, j], sums[2, j], sums[3, j] = ZERO, ZERO, ZERO, everything
        for first in range(0, Z.shape[0], _ROWS):
            for part in range(4):
                for j in range(b - a):
                    work[part * _COLUMNS + j] = ZERO
            for i in range(first, min(first + _ROWS, Z.shape[0])):
                z, w = Z[i, a:b], weight[i]
                out = slopes[i, a:b] if slopes.shape[0] > 0 else unwanted[: b - a]
                if masked:
                    fill_unknown(z, known[i, a:b], _NEVER, filled_z)
                    z = filled_z[: b - a]
                    _count_known(known[i, a:b], w, work)
                if Y.shape[0] > 0:
                    y = Y[i, a:b]
                    if masked:
                        fill_unknown(y, known[i, a:b], ZERO, filled_y)
                        y = filled_y[: b - a]
                    _count_dense(z, y, w, work, out)
                else:
                    _count_all(z, w, work, out)
                    _count_listed(z, columns[ends[i] : ends[i + 1]], a, known, i, w, work)
            for part in range(4 if masked else 3):
                for j in range(b - a):
                    sums[part, a + j] += work[part * _COLUMNS + j]


@loop
def _count_known(known, w, work):  # pragma: no cover - compiled
    for j in range(known.shape[0]):
        work[_TOTAL + j] += w if known[j] != 0 else ZERO


@loop
def _count_dense(z, y, w, work, slopes):  # pragma: no cover - compiled
    for j in range(z.shape[0]):
        x = work[_BETA + j] * (z[j] + work[_ETA + j])
        s, slope = sigmoid_and_slope(x)
        work[_HITS + j] += w * s * y[j]
        work[_PREDICTED + j] += w * s
        work[_POSITIVES + j] += w * y[j]
        slopes[j] = w * work[_BETA + j] * slope


@loop
def _count_all(z, w, work, slopes):  # pragma: no cover - compiled
    for j in range(z.shape[0]):
        x = work[_BETA + j] * (z[j] + work[_ETA + j])
        s, slope = sigmoid_and_slope(x)
        work[_PREDICTED + j] += w * s
        slopes[j] = w * work[_BETA + j] * slope


@loop
def _count_listed(z, listed, first, known, i, w, work):  # pragma: no cover - compiled
    for column in listed:
        j = column - first
        if 0 <= j < z.shape[0] and (known.shape[0] == 0 or known[i, column] != 0):
            s, _ = sigmoid_and_slope(work[_BETA + j] * (z[j] + work[_ETA + j]))
            work[_HITS + j] += w * s
            work[_POSITIVES + j] += w


@loop
def labels_gradient_loop(Y, ends, columns, by_hits, by_predicted, G, start, stop):  # pragma: no cover - compiled
    """Differentiate counts of labels; see `label_gradient`."""
    for i in range(start, stop):
        g = G[i]
        if Y.shape[0] > 0:
            y = Y[i]
            for j in range(g.shape[0]):
                g[j] *= by_hits[j] * y[j] + by_predicted[j]
            continue
        listed = columns[ends[i] : ends[i + 1]]
        of_hits = np.empty(listed.shape[0], np.float32)
        for p in range(listed.shape[0]):
            of_hits[p] = by_hits[listed[p]] * g[listed[p]]
        for j in range(g.shape[0]):
            g[j] *= by_predicted[j]
        for p in range(listed.shape[0]):
            g[listed[p]] += of_hits[p]


@loop
def examples_loop(
    Z, Y, ends, columns, known, weight, beta, eta, sums, slopes, start, stop
):  # pragma: no cover - compiled
    """Count the examples start to stop; see `count_examples`."""
    n_labels, masked = Z.shape[1], known.shape[0] > 0
    row, work = np.zeros(0 if Y.shape[0] > 0 else n_labels, np.float32), np.empty(4 * TILE, np.float32)
    filled, unwanted = np.empty(TILE, np.float32), np.empty(TILE, np.float32)
    for i in range(start, stop):
        y = target_row(i, Y, ends, columns, row)
        hits, predicted, positives, everything = 0.0, 0.0, 0.0, 0.0
        for a in range(0, n_labels, TILE):
            b = min(a + TILE, n_labels)
            z, u = Z[i, a:b], work[_WEIGHT : _WEIGHT + b - a]
            if masked:
                fill_unknown(z, known[i, a:b], ZERO, filled)
                fill_unknown(weight[a:b], known[i, a:b], ZERO, u)
                z = filled[: b - a]
            else:
                for j in range(b - a):
                    u[j] = weight[a + j]
            out = slopes[i, a:b] if slopes.shape[0] > 0 else unwanted[: b - a]
            _score_tile(z, beta[a:b], eta[a:b], work, out)
            _hit_tile(y[a:b], work)
            hits += total(work[_HIT : _HIT + b - a])
            predicted += total(work[_SCORE : _SCORE + b - a])
            positives += total(work[_POSITIVE : _POSITIVE + b - a])
            everything += total(u)
        sums[0, i], sums[1, i], sums[2, i], sums[3, i] = hits, predicted, positives, everything
        clear_row(i, Y, ends, columns, row)


@loop
def _score_tile(z, beta, eta, work, slopes):  # pragma: no cover - compiled
    for j in range(z.shape[0]):
        s, slope = sigmoid_and_slope(beta[j] * (z[j] + eta[j]))
        work[_SCORE + j] = work[_WEIGHT + j] * s
        slopes[j] = work[_WEIGHT + j] * beta[j] * slope


@loop
def _hit_tile(y, work):  # pragma: no cover - compiled
    for j in range(y.shape[0]):
        work[_HIT + j] = work[_SCORE + j] * y[j]
        work[_POSITIVE + j] = work[_WEIGHT + j] * y[j]


@loop
def examples_gradient_loop(Y, ends, columns, by_hits, by_predicted, G, start, stop):  # pragma: no cover - compiled
    """Differentiate counts of examples; see `example_gradient`."""
    for i in range(start, stop):
        g, of_hit, of_predicted = G[i], by_hits[i], by_predicted[i]
        if Y.shape[0] > 0:
            y = Y[i]
            for j in range(g.shape[0]):
                g[j] *= of_hit * y[j] + of_predicted
            continue
        listed = columns[ends[i] : ends[i + 1]]
        of_hits = np.empty(listed.shape[0], np.float32)
        for p in range(listed.shape[0]):
            of_hits[p] = of_hit * g[listed[p]]
        for j in range(g.shape[0]):
            g[j] *= of_predicted
        for p in range(listed.shape[0]):
            g[listed[p]] += of_hits[p]
