"""Compiled linear support vector machines, a group of labels at a time, by coordinate descent on the dual problem.

For a label with y_i = ±1 the weights w (the last one the bias) minimise ½‖w‖² + C Σ max(0, 1 − y_i w·x_i)². The dual
problem has one variable α_i ≥ 0 for each example, w = Σ α_i y_i x_i, and its optimum in one variable is a formula: the
method of Hsieh and others (2008), with examples that stay at 0 left out until the rest has converged.

The labels of a group share the passes over the examples. Their weights for a feature lie side by side, each label in
its lane, so that one look at an example serves them all: reading it takes most of the time. An example is left out once
it stays at 0 for every label of the group.
"""

import numpy as np

from labelproof.foundation.compilation import compiled, compiled_part
from labelproof.parallel.team_loops import spread

__all__ = ["LANES", "svm_groups"]

LANES = 32  # labels of a group
_loop = compiled_part(error_model="numpy")


@compiled(error_model="numpy")
def svm_groups(
    indptr, columns, values, label_ends, label_rows, cost, tolerance, most_passes, W, bias, team, start, stop
):  # pragma: no cover - compiled
    """Write weights and biases of the labels of the groups start to stop, which are LANES labels each.

    Examples are rows of a CSR matrix, its columns unsigned numbers; those with label j are
    label_rows[label_ends[j] : label_ends[j + 1]].
    """
    given = (indptr, columns, values, label_ends, label_rows, cost, tolerance, most_passes, W, bias)
    spread(_svm_groups, given, team, start, stop)


@_loop
def _svm_groups(
    indptr, columns, values, label_ends, label_rows, cost, tolerance, most_passes, W, bias, start, stop
):  # pragma: no cover - compiled
    n, kind = indptr.shape[0] - 1, values.dtype
    diagonal = 0.5 / cost
    pace = np.empty(n, kind)  # one over the curvature
    for i in range(n):
        row = values[indptr[i] : indptr[i + 1]]
        pace[i] = 1.0 / (np.dot(row, row) + 1.0 + diagonal)
    for group in range(start, stop):
        first, last = group * LANES, min(group * LANES + LANES, W.shape[0])
        n_labels = last - first
        lanes = n_labels if n_labels <= 2 else -(-n_labels // 16) * 16  # of more than two, whole vectors
        y, w, b = np.full((n, lanes), -1.0, kind), np.zeros((W.shape[1], lanes), kind), np.zeros(lanes, kind)
        for lane in range(n_labels):
            for p in range(label_ends[first + lane], label_ends[first + lane + 1]):
                y[label_rows[p], lane] = 1.0
        _descend(indptr, columns, values, pace, y, n_labels, diagonal, tolerance, most_passes, w, b)
        for lane in range(n_labels):
            bias[first + lane] = b[lane]
            for f in range(W.shape[1]):
                W[first + lane, f] = w[f, lane]


@_loop
def _descend(
    indptr, columns, values, pace, y, n_labels, diagonal, tolerance, most_passes, w, bias
):  # pragma: no cover - compiled
    """Find weights and biases of a group, both 0 when it begins."""
    n, lanes = y.shape
    kind = y.dtype
    alpha, score, step = np.zeros((n, lanes), kind), np.empty(lanes, kind), np.empty(lanes, kind)
    bound, highest, lowest = np.empty(lanes, kind), np.empty(lanes, kind), np.empty(lanes, kind)
    order, active, state = np.arange(n), n, np.uint64(88172645463325252)
    is_open = np.zeros(lanes, kind)  # 1 for a label that has not converged, else 0
    is_open[:n_labels] = 1.0
    bound[:] = np.inf
    for _ in range(most_passes):
        state = _shuffle(order, active, state)
        highest[:] = -np.inf
        lowest[:] = np.inf
        saw_all, s = active == n, 0
        while s < active:
            i = order[s]
            begin, end = indptr[i], indptr[i + 1]
            _scores(columns, values, begin, end, w, bias, score)
            stays, moves = True, False
            for lane in range(lanes):
                a = alpha[i, lane]
                slope = y[i, lane] * score[lane] - 1.0 + diagonal * a
                stays &= (a == 0.0 and slope > bound[lane]) or is_open[lane] == 0.0
                slope = is_open[lane] * (min(slope, 0.0) if a == 0.0 else slope)
                highest[lane], lowest[lane] = max(highest[lane], slope), min(lowest[lane], slope)
                new = max(a - slope * pace[i], 0.0)
                step[lane] = (new - a) * y[i, lane]
                alpha[i, lane] = new
                moves |= new != a
            if moves:
                _move(columns, values, begin, end, step, w, bias)
            if stays:
                active -= 1
                order[s], order[active] = order[active], order[s]
            else:
                s += 1
        n_open, n_far = 0, 0
        for lane in range(n_labels):
            is_far = highest[lane] - lowest[lane] > tolerance
            if saw_all and not is_far:
                is_open[lane] = 0.0
            n_open += is_open[lane] > 0.0
            n_far += is_open[lane] > 0.0 and is_far
            bound[lane] = highest[lane] if highest[lane] > 0.0 else np.inf
        if n_open == 0:
            break
        if n_far == 0:
            active = n  # look at all examples once more
            bound[:] = np.inf


@_loop
def _shuffle(order, active, state):  # pragma: no cover - compiled
    """Put the examples into another order; return what the next one comes from."""
    for s in range(active - 1, 0, -1):
        state ^= state << np.uint64(13)
        state ^= state >> np.uint64(7)
        state ^= state << np.uint64(17)
        t = np.int64(state % np.uint64(s + 1))
        order[s], order[t] = order[t], order[s]
    return state


@_loop
def _scores(columns, values, begin, end, w, bias, score):  # pragma: no cover - compiled
    """Write the scores of an example for all lanes; four features at a time, so that sums wait less for each other."""
    lanes, p = score.shape[0], begin
    for lane in range(lanes):
        score[lane] = bias[lane]
    while p + 4 <= end:
        f, g, h, k = columns[p], columns[p + 1], columns[p + 2], columns[p + 3]
        x, y, z, v = values[p], values[p + 1], values[p + 2], values[p + 3]
        for lane in range(lanes):
            score[lane] += (x * w[f, lane] + y * w[g, lane]) + (z * w[h, lane] + v * w[k, lane])
        p += 4
    while p < end:
        f, x = columns[p], values[p]
        for lane in range(lanes):
            score[lane] += x * w[f, lane]
        p += 1


@_loop
def _move(columns, values, begin, end, step, w, bias):  # pragma: no cover - compiled
    """Add an example to the weights, each lane by its step."""
    lanes = step.shape[0]
    for lane in range(lanes):
        bias[lane] += step[lane]
    for p in range(begin, end):
        f, x = columns[p], values[p]
        for lane in range(lanes):
            w[f, lane] += x * step[lane]
