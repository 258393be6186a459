"""labelproof verify: which of these label sets can the output layer predict?"""

import shlex
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from labelproof.cli.console import console, percent, plural, print_json, progress_wanted
from labelproof.cli.options import (
    AsJson,
    Bias,
    Domain,
    Jobs,
    LabelColumn,
    LabelNames,
    Labels,
    Part,
    Rule,
    Thresholds,
    Ties,
    TimeLimit,
    WeightKey,
    Weights,
)
from labelproof.foundation.arguments import is_share_reached

if TYPE_CHECKING:
    from labelproof.proof.result import Verification

__all__ = ["verify"]


def verify(
    weights: Weights,
    labels: Labels,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Save verdicts and proofs here.", show_default=False)
    ] = None,
    part: Part = None,
    label_column: LabelColumn = None,
    weight_key: WeightKey = None,
    bias: Bias = None,
    thresholds: Thresholds = None,
    rule: Rule = "sigmoid",
    ties: Ties = "open",
    domain: Domain = None,
    radius: Annotated[
        bool, typer.Option("--radius", help="Also measure the Chebyshev radius of each argmaxable set.")
    ] = False,
    box: Annotated[float, typer.Option(help="Bound on the features for the radius.")] = 1e4,
    eps: Annotated[float, typer.Option(help="Count the sets with at least this radius.")] = 1e-8,
    label_names: LabelNames = None,
    time_limit: TimeLimit = None,
    jobs: Jobs = None,
    fail_under: Annotated[
        float | None,
        typer.Option(
            metavar="SHARE", help="Exit with code 1 if a smaller share is proven argmaxable.", show_default=False
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Decide for each label set whether the output layer can ever predict it, with a proof."""
    import labelproof
    from labelproof.cli import files
    from labelproof.cli.models import differences, read_model
    from labelproof.data.label_files import read_label_file

    layer, names = read_model(weights, weight_key, bias, label_names)
    data = read_label_file(labels, label_names=names, n_labels=layer.n_labels, part=part, columns=label_column or ())
    names, bias_from = data.names, bias or (weights if layer.bias is not None else None)
    _require_sound_options(output, [weights, Path(labels), bias, label_names], fail_under)
    if not len(data.sets):
        raise ValueError(f"{Path(labels).name}: expected at least one label set, got none")
    used: dict[str, Any] = {
        "rule": rule,
        "thresholds": None if thresholds is None else files.read_thresholds(thresholds),
        "domain": files.parse_domain(domain),
    }
    notes = [*differences(layer, **used), *([data.note] if data.note else [])]
    start = time.perf_counter()
    v = labelproof.verify(
        layer.weight,
        data.sets,
        bias=layer.bias,
        **used,
        ties=ties,  # type: ignore[arg-type] # verify says which there are
        radius=radius,
        box=box,
        eps=eps,
        n_jobs=jobs,
        time_limit=time_limit,
        progress=progress_wanted(),
    )
    seconds = time.perf_counter() - start
    if output is not None:
        v.save(output, label_names=names)
    found = int((v.status == 1).sum())
    passed = fail_under is None or is_share_reached(found, len(v), fail_under)
    if as_json:
        outcome = {"seconds": round(seconds, 3), "saved": None if output is None else str(output), "passed": passed}
        described = {"bias_from": None if bias_from is None else _name(bias_from), "notes": notes}
        print_json({**_report(v, names), **described, **outcome})
    else:
        _print_head(v, _name(weights), Path(labels).name, None if bias_from is None else _name(bias_from), notes)
        _print_verdicts(v, names, seconds)
        if output is not None:
            again = _command_to_check(output, weights, weight_key, bias)
            console().print(f"Saved to {output}. To prove it again:\n  {again}", soft_wrap=True)
        if not passed:
            console().print(
                f"Not passed: {found / len(v):.4f} of the label sets are argmaxable, {fail_under} were required."
            )
    if not passed:
        raise typer.Exit(1)


def _require_sound_options(output: Path | None, inputs: list[Path | None], fail_under: float | None) -> None:
    """Refuse what could only fail after the work is done."""
    if fail_under is not None and not 0 <= fail_under <= 1:
        raise ValueError(f"--fail-under must be a share from 0 to 1, got {fail_under}")
    if output is None:
        return
    if not output.resolve().parent.is_dir() or output.is_dir():
        raise ValueError(f"--output must be a file in a folder that exists, got {output}")
    if any(path is not None and path.exists() and output.resolve() == path.resolve() for path in inputs):
        raise ValueError(f"--output must not be one of the inputs, got {output}")


def _command_to_check(output: Path, weights: Path, weight_key: str | None, bias: Path | None) -> str:
    words = ["labelproof", "check", str(output), "--weights", str(weights)]
    words += [] if weight_key is None else ["--weight-key", weight_key]
    return shlex.join(words if bias is None else [*words, "--bias", str(bias)])


def _name(path: Path) -> str:
    return path.resolve().name


def _report(v: "Verification", names: Sequence[str] | None) -> dict[str, Any]:
    from labelproof.cli import summary

    return {
        "n_labels": v.layer.n_labels,
        "d": v.layer.d,
        "rule": v.layer.rule,
        "ties": v.layer.ties,
        **summary.counts(v),
        "distinct_sets": summary.n_distinct(v),
        "share_argmaxable": float((v.status == 1).mean()),
        "by_active_labels": summary.by_active_labels(v),
        "constant_labels": summary.named(summary.constant_labels(v), names),
        "smallest_conflicts": [{"set": i, **_conflict(v, i, names)} for i in summary.smallest_conflicts(v)],
        "status": v.status.tolist(),
        **(summary.radii(v) if v.radii is not None else {}),
    }


def _conflict(v: "Verification", i: int, names: Sequence[str] | None) -> dict[str, list[Any]]:
    from labelproof.cli import summary

    parts = summary.conflict_parts(v, i)
    return parts | {side: summary.named(parts[side], names) for side in ("on", "off")}


def _print_head(v: "Verification", weights: str, labels: str, bias_from: str | None, notes: list[str]) -> None:
    from labelproof.cli import summary

    layer, out = v.layer, console()
    with_bias = "no bias" if bias_from is None else f"bias from {bias_from}"
    shape = f"{plural(layer.n_labels, 'label')} × {plural(layer.d, 'feature')}"
    out.print(f"{weights}: {shape}, {with_bias}; rule {layer.rule}, ties {layer.ties}")
    out.print(f"{labels}: {plural(len(v), 'label set')}, {summary.n_distinct(v):,} of them distinct")
    if notes:
        out.print(" ".join(notes), soft_wrap=True)
    out.print()


def _print_verdicts(v: "Verification", names: Sequence[str] | None, seconds: float) -> None:
    from labelproof.cli import summary

    out, found = console(), summary.counts(v)
    out.print(summary.verdict_table(v))
    out.print()
    if constant := summary.named(summary.constant_labels(v), names):
        which = f"label {constant[0]}" + (f" and {len(constant) - 1} more" if len(constant) > 1 else "")
        out.print(f"The logit of {which} is always 0, so nothing can be predicted; consider --ties inactive.")
    if found["unargmaxable"]:
        never = f"{plural(found['unargmaxable'], 'label set')} ({percent(found['unargmaxable'], found['sets'])})"
        where = " in the domain" if v.layer.low is not None or v.layer.high is not None or v.layer.balls else ""
        out.print(f"{never} cannot be predicted, whatever the input{where}. Smallest conflicts:")
        out.print(summary.conflict_table(v, summary.smallest_conflicts(v), names))
        out.print()
    if v.radii is not None and found["argmaxable"]:
        out.print(summary.radius_sentence(v))
    undecided = found["undecided"]
    proven = f"all but {undecided:,} with a proof" if undecided else "every verdict with a proof"
    out.print(f"Verified in {seconds:.1f} s, {proven}.")
