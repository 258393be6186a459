# mypy: disallow-untyped-decorators=False, disallow-untyped-defs=False, disallow-untyped-calls=False
"""Compiled: how many ones of each row of a code other rows can cover."""

import numpy as np

from labelproof.foundation.compilation import compiled

__all__ = ["most_covered"]


@compiled()
def most_covered(ones, labels, ends, most):  # pragma: no cover - compiled
    """Return for 0 to ``most`` other rows how many ones of a row they share with it at most, counted one by one.

    Row i has its ones in the columns ``ones[i]``, and column c in the rows ``labels[ends[c]:ends[c + 1]]``.
    """
    n, length = ones.shape
    worst = np.zeros(most + 1, np.int64)
    shared = np.zeros(n, np.int32)
    rows_sharing = np.zeros(length + 1, np.int64)
    for i in range(n):
        rows_sharing[:] = 0
        for a in range(length):
            for p in range(ends[ones[i, a]], ends[ones[i, a] + 1]):
                j = labels[p]
                rows_sharing[shared[j]] -= 1
                shared[j] += 1
                rows_sharing[shared[j]] += 1
        rows_sharing[min(shared[i], length)] -= 1  # the row itself
        for a in range(length):
            for p in range(ends[ones[i, a]], ends[ones[i, a] + 1]):
                shared[labels[p]] = 0
        total, taken = 0, 0
        for count in range(length, 0, -1):
            for _ in range(rows_sharing[count]):
                if taken == most:
                    break
                taken += 1
                total += count
                worst[taken] = max(worst[taken], total)
        for t in range(taken + 1, most + 1):
            worst[t] = max(worst[t], total)
    return worst
