"""Count the verdicts of a verification, and tell its conflicts in label names."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from rich.table import Table
from rich.text import Text

from labelproof.cli.console import table
from labelproof.foundation.wording import percent, some_of
from labelproof.proof.certificates import Unargmaxable
from labelproof.proof.regions import OutputLayer
from labelproof.proof.result import Verification
from labelproof.proof.samples import Sample, share_interval
from labelproof.proof.sparse_weights import largest_of_rows

__all__ = [
    "assumptions",
    "by_active_labels",
    "conflict_parts",
    "conflict_table",
    "constant_labels",
    "counts",
    "n_distinct",
    "named",
    "radii",
    "radius_sentence",
    "sample_sentence",
    "smallest_conflicts",
    "verdict_table",
    "where",
]


def counts(status: npt.NDArray[np.int8]) -> dict[str, int]:
    """Count the verdicts."""
    return {
        "sets": len(status),
        "argmaxable": int((status == 1).sum()),
        "unargmaxable": int((status == 0).sum()),
        "undecided": int((status == -1).sum()),
    }


def assumptions(layer: OutputLayer) -> dict[str, str]:
    """Say which classifier the verdicts are about, beside its weights: what a result file states by itself."""
    free = layer.low is None and layer.high is None and not layer.balls
    nonnegative = layer.low is not None and layer.high is None and not layer.low.any() and not layer.balls
    return {
        "rule": layer.rule,
        "thresholds": "½" if layer.theta is None else "those of the file",
        "ties": layer.ties,
        "domain": "all features"
        if free
        else "features ≥ 0"
        if nonnegative
        else "features within the file's bounds" + (" and balls" if layer.balls else ""),
    }


def n_distinct(v: Verification) -> int:
    """Count the different label sets."""
    return len({active.tobytes() for active in v.label_sets})


def by_active_labels(status: npt.NDArray[np.int8], sizes: npt.NDArray[np.int64]) -> list[dict[str, Any]]:
    """Count the verdicts for 0, 1, 2–3, 4–7, 8–15, … active labels, leaving out what does not occur."""
    bins = np.frexp(sizes.astype(np.float64))[1]  # 0 for 0, 1 for 1, 2 for 2 and 3, ...
    rows = []
    for bin_ in np.unique(bins).tolist():
        low, high = (0, 0) if bin_ == 0 else (2 ** (bin_ - 1), 2**bin_ - 1)
        rows.append({"from": low, "to": high, **counts(status[bins == bin_])})
    return rows


def verdict_table(rows: Sequence[dict[str, Any]], total: dict[str, Any]) -> Table:
    """Lay out the counts, one row for each range of active labels, and that of all."""
    lines = table("active labels", "label sets", "possible", "never", "undecided", "share possible")
    for row in rows:
        name = f"{row['from']}" if row["from"] == row["to"] else f"{row['from']}–{row['to']}"
        lines.add_row(name, *_cells(row))
    lines.add_row("all", *_cells(total), style="bold")
    return lines


def _cells(row: dict[str, Any]) -> list[Text]:
    styles = {"sets": "", "argmaxable": "green", "unargmaxable": "red", "undecided": "yellow"}
    numbers = [Text(f"{row[key]:,}", style) if row[key] else Text("·", "dim") for key, style in styles.items()]
    return [*numbers, Text(percent(row["argmaxable"], row["sets"]))]


def radii(v: Verification) -> dict[str, Any]:
    """Return the proven bounds of each radius, null where there is none or it is infinite."""

    def numbers(values: npt.NDArray[np.float64]) -> list[float | None]:
        return [float(value) if np.isfinite(value) else None for value in values]

    return {
        "box": v.radii.box if v.radii is not None else None,
        "eps": v.eps,
        "eps_argmaxable": int(v.eps_argmaxable.sum()),
        "radius": numbers(v.radius),
        "radius_upper": numbers(v.radius_upper),
    }


def radius_sentence(v: Verification) -> str:
    """Tell the radii in words: how many reach eps, and what is usual."""
    known = v.radius[v.status == 1]
    low, middle = np.quantile(known, [0.1, 0.5])
    box = v.radii.box if v.radii is not None else float("nan")
    return (
        f"Radius within a box of ±{box:g}: median {middle:.3g}, a tenth below {low:.3g}, smallest {known.min():.3g}; "
        f"{int(v.eps_argmaxable.sum()):,} of {len(known):,} possible sets reach eps = {v.eps:g}."
    )


def smallest_conflicts(v: Verification, most: int = 3) -> list[int]:
    """Return label sets with the smallest conflicts, no two of them with the same one."""
    sizes = np.diff(v.conflict_ptr)
    chosen: dict[tuple[bytes, bytes], int] = {}
    for i in np.argsort(sizes, kind="stable").tolist():
        if v.status[i] == 0 and len(chosen) < most:
            rows = v.conflict_rows[v.conflict_ptr[i] : v.conflict_ptr[i + 1]]
            chosen.setdefault((rows.tobytes(), np.isin(rows, v.label_sets[i]).tobytes()), i)
    return list(chosen.values())


def conflict_parts(v: Verification, i: int) -> dict[str, list[Any]]:
    """Return the labels of a conflict that the set wants on and off, and the other rows that take part."""
    certificate = v[i]
    if not isinstance(certificate, Unargmaxable):
        raise ValueError(f"label set {i} must be unargmaxable to have a conflict, got {type(certificate).__name__}")
    active = set(v.label_sets[i].tolist())
    return {
        "on": [label for label in certificate.conflict if label in active],
        "off": [label for label in certificate.conflict if label not in active],
        "extra": list(certificate.extra),
    }


def where(layer: OutputLayer) -> str:
    """Say of "whatever the input" what a domain leaves of it."""
    return " in the domain" if layer.low is not None or layer.high is not None or layer.balls else ""


def sample_sentence(sample: Sample, status: npt.NDArray[np.int8]) -> str:
    """Say what verdicts on a random sample tell of all label sets."""
    low, high = share_interval(status)
    return (
        f"These are {len(status):,} of {sample.of:,} label sets, chosen at random (seed {sample.seed}): "
        f"with 95 % confidence, {100 * low:.2f} to {100 * high:.2f} % of all can be predicted."
    )


def conflict_table(conflicts: Sequence[tuple[int, dict[str, list[Any]]]], names: Sequence[str] | None) -> Table:
    """Lay out the conflicts of some label sets: labels that cannot be on and off like that at the same time."""
    lines = table("label set", "on", "off", words=True)
    for i, parts in conflicts:
        bounds = [name for name in parts["extra"] if name != "scale"]
        also = f"; within {', '.join(bounds[:2])}{' …' if len(bounds) > 2 else ''}" if bounds else ""
        lines.add_row(f"{i}", _some(parts["on"], names), _some(parts["off"], names) + also)
    return lines


def _some(labels: list[int], names: Sequence[str] | None, most: int = 3) -> str:
    return some_of([str(label) for label in named(labels, names)], most) or "–"


def named(labels: list[int], names: Sequence[str] | None) -> list[Any]:
    """Return the labels' names where there are names, else the labels."""
    return labels if names is None else [names[label] for label in labels]


def constant_labels(layer: OutputLayer) -> list[int]:
    """Return the labels whose logit is 0 whatever the input: with open ties no label set can be predicted."""
    if layer.ties != "open" or layer.rule != "sigmoid":
        return []
    constant = largest_of_rows(layer.stored) == 0
    if layer.offset is not None:
        constant &= layer.offset == 0
    return np.flatnonzero(constant).tolist()
