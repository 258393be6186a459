"""What the terminal shows of an audit."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.table import Table
from rich.text import Text

from labelproof.cli.audit_findings import print_findings, print_not_tested, some_names
from labelproof.cli.console import console, printable, table
from labelproof.foundation.wording import percent, plural

if TYPE_CHECKING:
    from labelproof.auditing import Audit, AuditDocument
    from labelproof.auditing.document import BySize, Group

__all__ = ["print_audit", "summary_of"]

MOST_SETS = 10


def summary_of(found: "Audit", output: Path | None) -> dict[str, Any]:
    """Return what ``--json`` prints: all but the lists of label sets, which the folder has."""
    document = found.document
    return {
        "headline": document["headline"],
        "layer": document["layer"],
        "data": document["data"],
        "groups": [_without_sets(group) for group in document["groups"]],
        "explained": document["explained"][:MOST_SETS],
        "stretch": document["stretch"],
        "outside": document["outside"],
        "not_tested": document["not_tested"],
        "reach": document["reach"],
        "serving": document["serving"],
        "advice": document["advice"],
        "requirements": document["requirements"],
        "passed": found.passed,
        "saved": None if output is None else str(output),
        "seconds": document["seconds"],
    }


def _without_sets(group: "Group") -> dict[str, Any]:
    keys = {"name", "title", "population", "low", "high", "by_size", "argmaxable", "unargmaxable", "undecided"}
    return {key: value for key, value in group.items() if key in keys | {"examples", "argmaxable_examples"}}


def print_audit(found: "Audit", *, model: str, source: str) -> None:
    """Print what a person wants to know first; model and source (the data) are as they were given."""
    document = found.document
    out, layer, data = console(), document["layer"], document["groups"][0]
    bad = data["unargmaxable"] or document["outside"] or (document["stretch"] or {"beyond_sets": 0})["beyond_sets"]
    out.print(Text(printable(document["headline"]), style="bold red" if bad else "bold green"))
    print_findings(document)
    for one in document["advice"]:
        out.print(f"• {one['title']}. {one['text']}")
    print_not_tested(found, model=model, source=source)
    rank = f"{layer['rank']}" if layer["rank"] is not None else f"at least {layer['rank_at_least']}"
    size = f"{layer['n_labels']:,} labels × {layer['n_features']:,} features, {layer['dtype']}, rank {rank}"
    out.print(f"{layer['model']} ({layer['kind']}): {layer['source']}, {size}.")
    rule = f"rule {layer['rule']}, thresholds {layer['thresholds']}"
    out.print(f"Assumed: {layer['domain']}; {rule}. {layer['domain_reason']}\n")
    for which, label_list in (("always", layer["always_active"]), ("never", layer["never_active"])):
        if label_list:
            out.print(f"Labels that are {which} predicted, whatever the input: {some_names(document, label_list)}.")
    for note in layer["notes"]:
        out.print(f"Note: {note}")
    out.print(_size_table(data))
    for group in document["groups"][1:]:
        out.print(_group_sentence(group))
    if data["unargmaxable"]:
        out.print("\nMost frequent label sets that can never be predicted:")
        out.print(_set_table(document))
    _print_measurements(document)
    _print_requirements(document)
    proven = "every verdict with a proof" if not data["undecided"] else f"all but {data['undecided']:,} with a proof"
    out.print(f"\nAudited in {document['seconds']:.1f} s, {proven}.")


def _size_table(group: "Group") -> Table:
    beyond = group["beyond"]
    within = () if beyond is None else ("within the bar",)
    rows = table("active labels", "distinct sets", "predictable", "share", *within, "examples")

    def add(name: str, part: "Sequence[BySize]") -> None:
        sets, good, examples = (sum(one[key] for one in part) for key in ("sets", "argmaxable", "examples"))
        inside = () if beyond is None else (percent(_within(group, {one["size"] for one in part}), sets),)
        rows.add_row(name, f"{sets:,}", f"{good:,}", percent(good, sets), *inside, f"{examples:,}")

    for one in group["by_size"][:12]:
        add(f"{one['size']}", [one])
    if rest := group["by_size"][12:]:
        add(f"{rest[0]['size']} or more", rest)
    add("all", group["by_size"])
    return rows


def _within(group: "Group", sizes: set[int]) -> int:
    """Return how many sets of these sizes are not beyond the bar."""
    placed = zip(group["labels"], group["beyond"] or (), strict=True)
    return sum(len(labels) in sizes and not is_beyond for labels, is_beyond in placed)


def _group_sentence(group: "Group") -> str:
    n_sets = len(group["status"])
    text = f"{group['title']}: {group['argmaxable']:,} of {n_sets:,} can be predicted"
    if group["low"] is not None and group["high"] is not None:
        text += f"; of all {group['population']:,}, {100 * group['low']:.1f} % to {100 * group['high']:.1f} % (95 %)"
    return text + (f"; {group['undecided']:,} undecided." if group["undecided"] else ".")


def _set_table(document: "AuditDocument") -> Table:
    rows = table("examples", "labels", "contradiction", words=True)
    rows.columns[0].justify = "right"
    data = document["groups"][0]
    explained = {one["index"]: one for one in document["explained"] if one["group"] == "data"}
    impossible = [i for i, status in enumerate(data["status"]) if status == 0]
    for i in sorted(impossible, key=lambda i: -data["counts"][i])[:MOST_SETS]:
        parts = []
        if i in explained:
            parts += [f"on: {some_names(document, explained[i]['on'])}"] if explained[i]["on"] else []
            parts += [f"off: {some_names(document, explained[i]['off'])}"] if explained[i]["off"] else []
        rows.add_row(f"{data['counts'][i]:,}", some_names(document, data["labels"][i]) or "(none)", "; ".join(parts))
    return rows


def _print_measurements(document: "AuditDocument") -> None:
    out, serving, reach = console(), document["serving"], document["reach"]
    if serving is not None and serving["not_shown"]:
        out.print(
            f"\nServed in {serving['dtype']}, {plural(serving['not_shown'], 'set')} of {serving['checked']:,} may be "
            "lost to rounding: no input was found that gives them for sure.",
        )
    if reach is not None:
        out.print(
            f"\nReach: {reach['within']:,} predictable sets begin within the distances that occur in "
            f"{plural(reach['examples'], 'example')}, {reach['beyond']:,} only beyond.",
        )
        if reach["bar"] is not None and reach["bar"]["value"] is not None:
            out.print(f"Beyond the bar of the reach, {reach['bar']['value']:.2f}: {reach['beyond_bar'] or 0:,} sets.")


def _print_requirements(document: "AuditDocument") -> None:
    out, required = console(), document["requirements"]
    if required is None:
        return
    group = next((group for group in document["groups"] if group["name"] == "required"), None)
    if group is not None and group["names"] is not None:
        for i in required["failed"]:
            verdict = "undecided" if group["status"][i] else "can never be predicted"
            out.print(f"Not met: {group['names'][i]} ({some_names(document, group['labels'][i])}): {verdict}.")
    if required["fail_under"] is not None:
        out.print(f"{required['share']:.4f} of the label sets can be predicted, {required['fail_under']} required.")
    out.print("Requirements met." if required["passed"] else "Requirements NOT met.")
