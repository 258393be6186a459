"""What `labelproof verify` says of a result, in one file or in parts: as JSON, and in words."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from labelproof.cli import verdict_counts
from labelproof.cli.console import console
from labelproof.foundation.wording import percent, plural, some_of
from labelproof.proof.parts import VerificationParts
from labelproof.proof.result import Verification
from labelproof.proof.samples import share_interval

__all__ = ["print_head", "print_verdicts", "report"]

Conflicts = list[tuple[int, dict[str, list[Any]]]]
MOST_SHOWN = 3


def _counts_of(v: Verification | VerificationParts) -> list[dict[str, Any]]:
    """Count the verdicts for 0, 1, 2–3, 4–7, … active labels."""
    if isinstance(v, Verification):
        return verdict_counts.by_active_labels(v.status, np.diff(v.label_sets.indptr))
    rows: dict[int, dict[str, Any]] = {}
    for part in range(v.run.n_parts):
        arrays = v.glance(part, {"status", "indptr"})
        for row in verdict_counts.by_active_labels(arrays["status"], np.diff(arrays["indptr"])):
            total = rows.setdefault(row["from"], dict.fromkeys(row, 0) | {"from": row["from"], "to": row["to"]})
            for name in ("sets", "argmaxable", "unargmaxable", "undecided"):
                total[name] += row[name]
    return [rows[start] for start in sorted(rows)]


def _conflicts_of(v: Verification | VerificationParts) -> Conflicts:
    """Return a few label sets with the smallest conflicts, and what takes part in these."""
    if isinstance(v, Verification):
        return [(i, verdict_counts.conflict_parts(v, i)) for i in verdict_counts.smallest_conflicts(v)]
    smallest: list[tuple[int, int]] = []  # size and label set
    for part in range(v.run.n_parts):
        arrays = v.glance(part, {"status", "conflict_ptr"})
        never = np.flatnonzero(arrays["status"] == 0)
        sizes = np.diff(arrays["conflict_ptr"])[never]
        first = np.argsort(sizes, kind="stable")[:MOST_SHOWN]
        own = zip(sizes[first].tolist(), (v.run.ends(part)[0] + never[first]).tolist(), strict=True)
        smallest = sorted([*smallest, *own])[:MOST_SHOWN]
    places = [divmod(i, v.run.part_size) for _, i in smallest]
    return [
        (i, verdict_counts.conflict_parts(v.part(part), place))
        for (_, i), (part, place) in zip(smallest, places, strict=True)
    ]


def report(v: Verification | VerificationParts, names: Sequence[str] | None) -> dict[str, Any]:
    """Return what ``--json`` prints of a result; the verdicts of parts one by one are on disk."""
    layer, found = v.layer, verdict_counts.counts(v.status)
    sample = v.sample if isinstance(v, Verification) else v.run.sample
    in_words: dict[str, Any] = {
        "n_labels": layer.n_labels,
        "d": layer.d,
        "rule": layer.rule,
        "ties": layer.ties,
        **found,
        **({"distinct_sets": verdict_counts.n_distinct(v)} if isinstance(v, Verification) else {}),
        "share_argmaxable": float((v.status == 1).mean()),
        "by_active_labels": _counts_of(v),
        "constant_labels": verdict_counts.named(verdict_counts.constant_labels(layer), names),
        "smallest_conflicts": [
            {"set": i} | parts | {side: verdict_counts.named(parts[side], names) for side in ("on", "off")}
            for i, parts in _conflicts_of(v)
        ],
    }
    if sample is not None:
        in_words["sample"] = {"of": sample.of, "seed": sample.seed, "share_interval": share_interval(v.status)}
    if isinstance(v, VerificationParts):
        return in_words | {"parts": v.run.n_parts, "labels_sha256": v.run.labels_sha256}
    return in_words | {"status": v.status.tolist(), **(verdict_counts.radii(v) if v.radii is not None else {})}


def print_head(
    v: Verification | VerificationParts, weights: str, labels: str, bias_from: str | None, notes: list[str]
) -> None:
    """Say what was verified."""
    layer, out = v.layer, console()
    with_bias = "no bias" if bias_from is None else f"bias from {bias_from}"
    shape = f"{plural(layer.n_labels, 'label')} × {plural(layer.d, 'feature')}"
    out.print(f"{weights}: {shape}, {with_bias}; rule {layer.rule}, ties {layer.ties}")
    distinct = f", {verdict_counts.n_distinct(v):,} of them distinct" if isinstance(v, Verification) else ""
    out.print(f"{labels}: {plural(len(v), 'label set')}{distinct}")
    if notes:
        out.print(" ".join(notes), soft_wrap=True)
    out.print()


def print_verdicts(v: Verification | VerificationParts, names: Sequence[str] | None, seconds: float) -> None:
    """Say what was found."""
    out, found = console(), verdict_counts.counts(v.status)
    out.print(verdict_counts.verdict_table(_counts_of(v), found))
    out.print()
    sample = v.sample if isinstance(v, Verification) else v.run.sample
    if sample is not None:
        out.print(verdict_counts.sample_sentence(sample, v.status))
    if constant := verdict_counts.named(verdict_counts.constant_labels(v.layer), names):
        which = some_of([str(label) for label in constant], 1)
        out.print(f"The logit of label {which} is always 0, so nothing can be predicted; consider --ties inactive.")
    if found["unargmaxable"]:
        never = f"{plural(found['unargmaxable'], 'label set')} ({percent(found['unargmaxable'], found['sets'])})"
        out.print(
            f"{never} cannot be predicted, whatever the input{verdict_counts.where(v.layer)}. Smallest conflicts:"
        )
        out.print(verdict_counts.conflict_table(_conflicts_of(v), names))
        out.print()
    if isinstance(v, Verification) and v.radii is not None and found["argmaxable"]:
        out.print(verdict_counts.radius_sentence(v))
    undecided = found["undecided"]
    proven = f"all but {undecided:,} with a proof" if undecided else "every verdict with a proof"
    out.print(f"Verified in {seconds:.1f} s, {proven}.")
