"""Compiled parts of the search in columns: a few numbers, and sums of a few rows or columns, read in one pass."""

from labelproof.foundation.compilation import compiled

__all__ = ["add_rows", "add_up", "pick", "pick_dense"]


@compiled(_nrt=False, error_model="numpy")
def pick(indptr, indices, data, minors, majors, found):  # pragma: no cover - compiled
    """Write to found[a, b] what the sparse line majors[b] holds at minors[a]; found is 0 before.

    The lines are columns if the matrix is stored by columns; the indices of each line ascend.
    """
    for b in range(majors.shape[0]):
        start, stop = indptr[majors[b]], indptr[majors[b] + 1]
        for a in range(minors.shape[0]):
            low, high = start, stop
            while low < high:
                middle = (low + high) // 2
                if indices[middle] < minors[a]:
                    low = middle + 1
                else:
                    high = middle
            if low < stop and indices[low] == minors[a]:
                found[a, b] = data[low]


@compiled(_nrt=False, error_model="numpy")
def pick_dense(table, minors, majors, found):  # pragma: no cover - compiled
    """Write to found[a, b] what the line majors[b] of a table holds at minors[a]."""
    for b in range(majors.shape[0]):
        line = table[majors[b]]
        for a in range(minors.shape[0]):
            found[a, b] = line[minors[a]]


@compiled(_nrt=False, error_model="numpy")
def add_up(indptr, indices, data, shares, majors, total, sizes):  # pragma: no cover - compiled
    """Add shares[b] times the sparse line majors[b] to total, and the absolute values of the terms to sizes."""
    for b in range(majors.shape[0]):
        share = shares[b]
        if share == 0.0:
            continue
        for place in range(indptr[majors[b]], indptr[majors[b] + 1]):
            term = share * data[place]
            total[indices[place]] += term
            sizes[indices[place]] += abs(term)


@compiled(_nrt=False, error_model="numpy")
def add_rows(table, shares, rows, total, sizes):  # pragma: no cover - compiled
    """Add shares[b] times the row rows[b] of a table to total, and absolute values to sizes unless that is empty."""
    for b in range(rows.shape[0]):
        share, row = shares[b], table[rows[b]]
        if share == 0.0:
            continue
        if sizes.shape[0] == 0:
            for k in range(row.shape[0]):
                total[k] += share * row[k]
        else:
            for k in range(row.shape[0]):
                term = share * row[k]
                total[k] += term
                sizes[k] += abs(term)
