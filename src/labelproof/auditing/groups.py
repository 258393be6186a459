"""Verdicts on label sets that belong together, as the document holds them."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from labelproof.auditing.document import Bar, BySize, ConflictLabel, Group
from labelproof.proof import stretch_bar
from labelproof.proof.result import Verification
from labelproof.proof.stretch_result import Stretch
from labelproof.theory.plan import wilson_interval

__all__ = ["conflict_labels", "group_of", "rounded_down", "told_bar"]

Counts = npt.NDArray[np.int64]
MOST_CONFLICT_LABELS = 50


def group_of(
    name: str,
    title: str,
    v: Verification,
    counts: Counts,
    *,
    population: int | None = None,
    stretch: Stretch | None = None,
    reach: Any = None,
    survives: npt.NDArray[np.bool_] | None = None,
    names: Sequence[str] | None = None,
) -> Group:
    """Put verdicts, and what else was measured, into lists.

    Parameters
    ----------
    counts
        int64 (n_sets,): how many examples have each set.
    population
        Of how many sets these are a random sample; None if they are all.
    stretch, reach, survives, names
        One entry for each set, or None.
    """
    possible = v.status == 1
    low, high = (None, None) if population is None else _interval(v)
    return {
        "name": name,
        "title": title,
        "population": population,
        "low": low,
        "high": high,
        "labels": [active.tolist() for active in v.label_sets],
        "counts": counts.tolist(),
        "status": v.status.tolist(),
        "margin": _numbers(v.margin),
        "radius": None if v.radii is None else _numbers(v.radius),
        "stretch_lower": None if stretch is None else [rounded_down(x) for x in stretch.lower.tolist()],
        "stretch_upper": None if stretch is None else [_rounded_up(x) for x in stretch.upper.tolist()],
        "beyond": None if stretch is None or stretch.bar is None else stretch.beyond.tolist(),
        "reach": None if reach is None else [_rounded_up(x) for x in reach.distances.tolist()],
        "reach_lower": None if reach is None else [rounded_down(x) for x in reach.lower.tolist()],
        "reach_share": None if reach is None else [_rounded_up(x) for x in reach.share.tolist()],
        "survives": None if survives is None else _answers(survives, possible),
        "conflict_size": [size or None for size in _conflict_sizes(v).tolist()],
        "names": None if names is None else list(names),
        "by_size": _by_size(v, counts),
        "argmaxable": int(possible.sum()),
        "unargmaxable": int((v.status == 0).sum()),
        "undecided": int((v.status == -1).sum()),
        "examples": int(counts.sum()),
        "argmaxable_examples": int(counts[possible].sum()),
    }


def rounded_down(value: float) -> float | None:
    """Return at most the value, with 6 digits; None if it is infinite.

    Examples
    --------
    >>> rounded_down(1.23456789), _rounded_up(1.23456789), _rounded_up(float("inf"))
    (1.23456, 1.23457, None)
    """
    if not np.isfinite(value):
        return None
    near = float(f"{value:.6g}")
    return near if near <= value else float(f"{value - 1e-5 * abs(value):.6g}")


def _rounded_up(value: float) -> float | None:
    """Return at least the value, with 6 digits; None if it is infinite."""
    down = rounded_down(-value)
    return None if down is None else -down + 0.0


def told_bar(bar: stretch_bar.Bar[Any]) -> Bar:
    """Return a bar as the document holds it."""
    return {
        "value": _rounded_up(bar.value),
        "alpha": bar.alpha,
        "confidence": stretch_bar.CONFIDENCE,
        "n": bar.n,
        "rank": bar.rank,
        "sha256": bar.sha256,
        "statement": bar.statement,
        "assumption": bar.assumption,
    }


def _interval(v: Verification) -> tuple[float, float]:
    """Return a 95% interval for the argmaxable share, whatever the undecided sets turn out to be."""
    possible, undecided = int((v.status == 1).sum()), int((v.status == -1).sum())
    return wilson_interval(possible, len(v))[0], wilson_interval(possible + undecided, len(v))[1]


def _numbers(values: npt.NDArray[np.float64]) -> list[float | None]:
    """Return floats of 6 digits, None where they are not finite."""
    return [float(f"{value:.6g}") if np.isfinite(value) else None for value in values.tolist()]


def _answers(values: npt.NDArray[np.bool_], asked: npt.NDArray[np.bool_]) -> list[bool | None]:
    return [value if ok else None for value, ok in zip(values.tolist(), asked.tolist(), strict=True)]


def _by_size(v: Verification, counts: Counts) -> list[BySize]:
    sizes = np.diff(v.label_sets.indptr)
    table: list[BySize] = []
    for size in np.unique(sizes).tolist():
        here = sizes == size
        status, examples = v.status[here], counts[here]
        table.append(
            {
                "size": size,
                "sets": len(status),
                "examples": int(examples.sum()),
                "argmaxable": int((status == 1).sum()),
                "unargmaxable": int((status == 0).sum()),
                "undecided": int((status == -1).sum()),
                "argmaxable_examples": int(examples[status == 1].sum()),
            }
        )
    return table


def _conflict_sizes(v: Verification) -> Counts:
    """Return the number of labels in each set's conflict, 0 where it has none."""
    is_label = np.append(0, np.cumsum(v.conflict_rows < v.layer.n_labels))
    sizes = np.diff(is_label[v.conflict_ptr])
    return np.where(v.status == 0, sizes, 0)


def conflict_labels(v: Verification, counts: Counts) -> list[ConflictLabel]:
    """Return the labels that take part in conflicts, those of most examples first."""
    lengths = np.diff(v.conflict_ptr)
    owners = np.repeat(np.arange(len(v)), lengths)
    of_label = (v.conflict_rows < v.layer.n_labels) & (v.status[owners] == 0)
    labels, owners = v.conflict_rows[of_label], owners[of_label]
    sets = np.bincount(labels, minlength=v.layer.n_labels)
    examples = np.bincount(labels, weights=counts[owners], minlength=v.layer.n_labels).astype(np.int64)
    order: list[Any] = sorted(np.flatnonzero(sets).tolist(), key=lambda i: (-examples[i], -sets[i], i))
    return [{"label": i, "sets": int(sets[i]), "examples": int(examples[i])} for i in order[:MOST_CONFLICT_LABELS]]
