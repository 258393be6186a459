# mypy: disallow-untyped-decorators=False, disallow-untyped-defs=False, disallow-untyped-calls=False
"""Compiled: the checks of targets that every call makes, which for small batches take longer than the loss itself."""

import numpy as np

from labelproof.foundation.compilation import compiled, compiled_part
from labelproof.parallel.team_loops import spread

__all__ = ["count_out_of_range", "find_out_of_range", "inspect_rows"]

_BLOCK = 4096  # numbers that are looked at before the result is


@compiled()
def find_out_of_range(values, faults, team, start, stop):  # pragma: no cover - compiled
    """Write 1 to the first of faults if a number from start to stop is not between 0 and 1; NaN is none that is."""
    spread(_find_out_of_range, (values, faults), team, start, stop)


@compiled_part()
def _find_out_of_range(values, faults, start, stop):  # pragma: no cover - compiled
    for a in range(start, stop, _BLOCK):
        if count_out_of_range(values[a : min(a + _BLOCK, stop)]) > 0:
            faults[0] = 1
            return


@compiled_part()
def count_out_of_range(values):  # pragma: no cover - compiled
    """Return how many numbers are not between 0 and 1; NaN is one of them."""
    count = np.int32(0)
    for j in range(values.shape[0]):
        count += np.int32(1) - np.int32((values[j] >= 0) & (values[j] <= 1))
    return count


@compiled()
def inspect_rows(ends, columns, n_labels):  # pragma: no cover - compiled
    """Return whether all columns are labels, and whether each row's are ascending."""
    are_labels, ascending = True, True
    for i in range(ends.shape[0] - 1):
        last = -1
        for p in range(ends[i], ends[i + 1]):
            are_labels &= 0 <= columns[p] < n_labels
            ascending &= columns[p] > last
            last = columns[p]
    return are_labels, ascending
