"""Compiled linear support vector machines, one for each label, by coordinate descent on the dual problem.

For a label with y_i = ±1 the weights w (the last one the bias) minimise ½‖w‖² + C Σ max(0, 1 − y_i w·x_i)². The dual
problem has one variable α_i ≥ 0 for each example, w = Σ α_i y_i x_i, and its optimum in one variable is a formula: the
method of Hsieh and others (2008), with examples that stay at 0 left out until the rest has converged.
"""

import numpy as np

from labelproof.foundation.compilation import compiled, compiled_part
from labelproof.parallel.team_loops import spread

__all__ = ["svm_labels"]

_loop = compiled_part(error_model="numpy")


@compiled(error_model="numpy")
def svm_labels(
    indptr, columns, values, label_ends, label_rows, cost, tolerance, most_passes, W, bias, team, start, stop
):  # pragma: no cover - compiled
    """Write weights and bias of the labels start to stop.

    Examples are rows of a CSR matrix; those with label j are label_rows[label_ends[j] : label_ends[j + 1]].
    """
    given = (indptr, columns, values, label_ends, label_rows, cost, tolerance, most_passes, W, bias)
    spread(_svm_labels, given, team, start, stop)


@_loop
def _svm_labels(
    indptr, columns, values, label_ends, label_rows, cost, tolerance, most_passes, W, bias, start, stop
):  # pragma: no cover - compiled
    n = indptr.shape[0] - 1
    diagonal = 0.5 / cost
    curvature = np.empty(n)
    for i in range(n):
        row = values[indptr[i] : indptr[i + 1]]
        curvature[i] = np.dot(row, row) + 1.0 + diagonal
    y, alpha, order, w = np.empty(n), np.empty(n), np.empty(n, np.int64), np.empty(W.shape[1])
    for j in range(start, stop):
        y[:] = -1.0
        for p in range(label_ends[j], label_ends[j + 1]):
            y[label_rows[p]] = 1.0
        for i in range(n):
            order[i] = i
        alpha[:] = 0.0
        w[:] = 0.0
        bias[j] = _descend(indptr, columns, values, curvature, y, diagonal, tolerance, most_passes, alpha, order, w)
        for f in range(W.shape[1]):
            W[j, f] = w[f]


@_loop
def _descend(
    indptr, columns, values, curvature, y, diagonal, tolerance, most_passes, alpha, order, w
):  # pragma: no cover - compiled
    """Find α and w for one label; return the bias."""
    n = y.shape[0]
    bias, active, bound, state = 0.0, n, np.inf, np.uint64(88172645463325252)
    for _ in range(most_passes):
        highest, lowest = -np.inf, np.inf
        for s in range(active - 1, 0, -1):  # in another order each time
            state ^= state << np.uint64(13)
            state ^= state >> np.uint64(7)
            state ^= state << np.uint64(17)
            t = np.int64(state % np.uint64(s + 1))
            order[s], order[t] = order[t], order[s]
        s = 0
        while s < active:
            i = order[s]
            score = bias
            for p in range(indptr[i], indptr[i + 1]):
                score += w[columns[p]] * values[p]
            slope = y[i] * score - 1.0 + diagonal * alpha[i]
            if alpha[i] == 0.0:
                if slope > bound:  # it will stay at 0
                    active -= 1
                    order[s], order[active] = order[active], order[s]
                    continue
                slope = min(slope, 0.0)
            highest, lowest = max(highest, slope), min(lowest, slope)
            if slope != 0.0:
                new = max(alpha[i] - slope / curvature[i], 0.0)
                step = (new - alpha[i]) * y[i]
                alpha[i] = new
                bias += step
                for p in range(indptr[i], indptr[i + 1]):
                    w[columns[p]] += step * values[p]
            s += 1
        if highest - lowest <= tolerance:
            if active == n:
                break
            active, bound = n, np.inf  # look at all examples once more
        else:
            bound = highest if highest > 0.0 else np.inf
    return bias
