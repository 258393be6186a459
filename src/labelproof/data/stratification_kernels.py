"""Compiled iterative stratification (Sechidis, Tsoumakas and Vlahavas, 2011).

Units are single examples, or groups of them that stay together; a unit's row counts how often it has each label.
"""

import numpy as np

from labelproof.foundation.compilation import compiled, compiled_part

__all__ = ["stratify"]


@compiled()
def stratify(
    indptr, indices, counts, sizes, by_label_ptr, by_label, share, ties
):  # pragma: no cover - compiled  # fmt: skip
    """Assign every unit to a part, the units of the rarest remaining label first.

    Parameters
    ----------
    indptr, indices, counts
        CSR matrix (n_units, n_labels) of how often a unit has each label.
    sizes
        Number of examples in every unit, (n_units,).
    by_label_ptr, by_label
        For every label its units, in the order in which they are to be assigned.
    share
        The share of each part, (n_parts,), of sum 1.
    ties
        One number in [0, 1) for every unit, which decides between parts that want it equally.

    Returns
    -------
    array of int64 (n_units,)
        The part of every unit; -1 for units without labels, which the caller assigns.
    array of float64 (n_parts,)
        How many examples each part still wants.
    """
    n_units, n_labels, n_parts = sizes.shape[0], by_label_ptr.shape[0] - 1, share.shape[0]
    remaining = np.zeros(n_labels, np.int64)
    for entry in range(indices.shape[0]):
        remaining[indices[entry]] += counts[entry]
    wanted = np.empty((n_labels, n_parts))
    for label in range(n_labels):
        for part in range(n_parts):
            wanted[label, part] = remaining[label] * share[part]
    wanted_size = share * sizes.sum()
    assigned = np.full(n_units, -1, np.int64)
    while True:
        rarest = -1
        for label in range(n_labels):
            if remaining[label] > 0 and (rarest < 0 or remaining[label] < remaining[rarest]):
                rarest = label
        if rarest < 0:
            return assigned, wanted_size
        for place in range(by_label_ptr[rarest], by_label_ptr[rarest + 1]):
            unit = by_label[place]
            if assigned[unit] >= 0:
                continue
            part = _neediest(wanted[rarest], wanted_size, ties[unit])
            assigned[unit] = part
            wanted_size[part] -= sizes[unit]
            for entry in range(indptr[unit], indptr[unit + 1]):
                remaining[indices[entry]] -= counts[entry]
                wanted[indices[entry], part] -= counts[entry]


@compiled_part()
def _neediest(of_label, of_size, tie):  # pragma: no cover - compiled
    """Return the part that wants most examples of the label, then most examples at all, then by the tie."""
    best, n_best = 0, 1
    for part in range(1, of_label.shape[0]):
        gain = of_label[part] - of_label[best]
        if gain == 0:
            gain = of_size[part] - of_size[best]
        if gain > 0:
            best, n_best = part, 1
        elif gain == 0:
            n_best += 1
    if n_best == 1:
        return best
    chosen = int(tie * n_best)
    for part in range(best, of_label.shape[0]):
        if of_label[part] == of_label[best] and of_size[part] == of_size[best]:
            if chosen == 0:
                return part
            chosen -= 1
    return best
