"""Compiled parts of a round of the search in columns: rows that join, and the labels that are on the wrong side."""

import numpy as np

from labelproof.foundation.compilation import compiled

__all__ = ["append_rows", "worst_labels"]


@compiled(_nrt=False, error_model="numpy")
def append_rows(block, offset, steep, labels, signs, norms, rows, first, sizes):  # pragma: no cover - compiled
    """Write rows of length 1 from a place on: label i's is signs[i]/norms[i] times its numbers; sizes are the lengths.

    A row has the columns of the block, then the offset if that is not empty, then −steep if that is not 0.
    """
    for a in range(labels.shape[0]):
        i, row = labels[a], rows[first + a]
        scale = signs[i] / norms[i]
        square, j = 0.0, block.shape[1]
        for b in range(j):
            row[b] = scale * block[a, b]
        if offset.shape[0] > 0:
            row[j] = scale * offset[i]
            j += 1
        if steep != 0.0:
            row[j] = -scale * steep
            j += 1
        for b in range(j):
            square += row[b] * row[b]
        size = np.sqrt(square)
        if size < 1e-300:
            size = 1.0
        for b in range(j):
            row[b] /= size
        sizes[a] = size


@compiled(_nrt=False, error_model="numpy")
def worst_labels(z, offset, scale, shift, signs, norms, rows, least, share, found):  # pragma: no cover - compiled
    """Write to found, in ascending order, the labels with the least margins below a limit; return how many there are.

    The logits z become the margins signs·(z + scale·offset − shift)/norms. Labels in rows do not count. The limit is
    ``least``, or a share of the least margin of the rows if that is more.
    """
    n, count, largest = z.shape[0], 0, 0.0
    for i in range(n):
        z[i] = signs[i] * (z[i] + scale * offset[i] - shift) / norms[i]
        if abs(z[i]) > largest:
            largest = abs(z[i])
    if share != 0.0:
        limit = largest
        for a in range(rows.shape[0]):
            if z[rows[a]] < limit:
                limit = z[rows[a]]
        if share * limit > least:
            least = share * limit
    for a in range(rows.shape[0]):
        z[rows[a]] = np.inf
    for i in range(n):
        if z[i] < least and (count < found.shape[0] or z[i] < z[found[count - 1]]):
            if count < found.shape[0]:
                count += 1
            place = count - 1
            while place > 0 and z[found[place - 1]] > z[i]:
                found[place] = found[place - 1]
                place -= 1
            found[place] = i
    return count
