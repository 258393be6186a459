"""Label sets that a model has no output for: with labels that it does not know, or of another size than it gives."""

from collections import Counter
from dataclasses import replace

import numpy as np

from labelproof.auditing.alignment import Aligned
from labelproof.auditing.document import Outside
from labelproof.foundation.wording import some_of

__all__ = ["put_outside"]

MOST_UNKNOWN, MOST_FREQUENT, MOST_NAMED = 100, 5, 3


def put_outside(aligned: Aligned, size: int | None) -> tuple[Aligned, Outside | None]:
    """Return the label sets that some output of the model could be, and what is known of the others.

    Parameters
    ----------
    aligned
        The data's label sets.
    size
        Number of labels of every output, where that is fixed.
    """
    sizes = np.diff(aligned.sets.indptr)
    fits = np.ones(len(sizes), np.bool_) if size is None else sizes == size
    names = aligned.names
    other = [tuple(names[i] for i in aligned.sets[int(row)].tolist()) for row in np.flatnonzero(~fits)]
    if not other and not aligned.apart:
        return aligned, None
    kept = replace(aligned, sets=aligned.sets.take(np.flatnonzero(fits).tolist()), rows=aligned.rows[fits], apart=())
    known = set(names)
    distinct = Counter(frozenset(one) for one in (*aligned.apart, *other))
    unknown = Counter(name for one in aligned.apart for name in one if name not in known)
    n_other = len({frozenset(one) for one in other})
    return kept, {
        "sets": len(distinct),
        "examples": sum(distinct.values()),
        "reason": _reason(size, n_other, len(distinct) - n_other, unknown),
        "unknown": [{"name": name, "examples": count} for name, count in unknown.most_common(MOST_UNKNOWN)],
        "sizes": n_other,
        "frequent": [sorted(labels) for labels, _ in distinct.most_common(MOST_FREQUENT)],
    }


def _reason(size: int | None, n_other: int, n_apart: int, unknown: Counter[str]) -> str:
    """Say in a sentence or two why the model has no output for these sets."""
    reasons = []
    if n_other:
        outputs = "one label" if size == 1 else f"{size} labels"
        reasons.append(f"The model gives exactly {outputs} to every input, and {n_other:,} sets have another number.")
    if n_apart:
        shown = some_of([name for name, _ in unknown.most_common()], MOST_NAMED)
        have = "set has a label" if n_apart == 1 else "sets have labels"
        reasons.append(f"{n_apart:,} {have} that the model does not know: {shown}.")
    return " ".join(reasons)
