"""Conflicts of inactive labels alone: each settles every label set that has none of its labels.

Where no input leads to the empty set there are such conflicts, and k + 1 of them without a label in common settle every
set of at most k labels: with random weights a few searches settle all sets there are. Where the empty set can be
predicted, as with most trained layers, that is found in one search. Nothing returned here is trusted.
"""

from dataclasses import replace

import numpy as np
import numpy.typing as npt

from labelproof.proof.conflicts import conflict_faults
from labelproof.proof.labels import LabelSets, read_label_sets
from labelproof.proof.regions import OutputLayer
from labelproof.search.propose import is_wide, search
from labelproof.search.systems import SearchSystem

__all__ = ["settle_together"]

Indices = npt.NDArray[np.int64]
WORTH = 8  # label sets from which the search for the empty one pays
LABELS_A_FEATURE = 5  # so many labels are enough for a conflict where there is one


def settle_together(
    layer: OutputLayer, system: SearchSystem, sets: LabelSets, time_limit: float | None
) -> dict[int, Indices]:
    """Return the rows of a conflict for each label set that one of inactive labels settles.

    Another is sought while the last one has settled more than one set, and some are left.
    """
    settled: dict[int, Indices] = {}
    tells = layer.rule == "sigmoid" and layer.ties == "open" and not system.is_smooth and not len(system.fixed)
    if len(sets) < WORTH or not tells:
        return settled
    unused, left = np.arange(layer.n_labels), np.arange(len(sets))
    while len(left):
        rows = _conflict_of(layer, system, unused, time_limit)
        if rows is None:
            break
        avoids = ~_has_any(sets, rows)[left]
        settled |= dict.fromkeys(left[avoids].tolist(), rows)
        if avoids.sum() <= 1:
            break
        left, unused = left[~avoids], np.setdiff1d(unused, rows)
    return settled


def _conflict_of(layer: OutputLayer, system: SearchSystem, labels: Indices, time_limit: float | None) -> Indices | None:
    """Return a proven conflict of some of these labels, all inactive, and perhaps of rows that are no label."""
    limit = np.inf if time_limit is None else time_limit
    if is_wide(layer, system, limit):
        among = np.concatenate([labels, np.arange(layer.n_labels, len(system.rows))])
        places = system.sample.conflict(layer.n_labels, np.empty(0, np.int64), among)
        return None if places is None else _proven(layer, np.sort(system.numbers[places]))
    labels = labels[:: max(1, len(labels) // (LABELS_A_FEATURE * system.width))]
    if not len(labels):
        return None
    places = np.concatenate([labels, np.arange(layer.n_labels, len(system.rows))])
    table = replace(
        system,
        rows=system.rows[places],
        numbers=system.numbers[places],
        norms=system.norms[places],
        row_exponents=system.row_exponents[places],
        lengths=system.lengths[places],
        n_labels=len(labels),
    )
    offset, error = (None if part is None else part[labels] for part in (layer.offset, layer.offset_error))
    few = replace(layer, weight=layer.weight[labels], offset=offset, offset_error=error, theta=None)
    found = search(few, table, read_label_sets([[]], len(labels)), np.empty(0, np.int64), time_limit)
    if found.outcome[0] != 0:
        return None
    return _proven(layer, np.sort(found.rows[0]))


def _proven(layer: OutputLayer, rows: Indices) -> Indices | None:
    return rows if conflict_faults(layer, read_label_sets([[]], layer.n_labels), [rows]) == [None] else None


def _has_any(sets: LabelSets, rows: Indices) -> npt.NDArray[np.bool_]:
    """Return for each label set whether one of its labels is among these rows."""
    is_in = np.zeros(sets.n_labels, np.bool_)
    is_in[rows[rows < sets.n_labels]] = True
    of = np.repeat(np.arange(len(sets)), np.diff(sets.indptr))
    return np.bincount(of, weights=is_in[sets.indices], minlength=len(sets)) > 0
