"""labelproof verify: which of these label sets can the output layer predict?"""

import shlex
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from labelproof.cli.console import console, print_json, progress_wanted
from labelproof.cli.engines import connected
from labelproof.cli.kept_parts import kept_beside
from labelproof.cli.options import (
    Address,
    AsJson,
    Bias,
    Domain,
    EngineName,
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
from labelproof.cli.outputs import require_free_place
from labelproof.foundation.arguments import check_share, is_share_reached

if TYPE_CHECKING:
    from labelproof.proof.parts import VerificationParts
    from labelproof.proof.result import Verification

__all__ = ["verify"]


def verify(
    weights: Weights,
    labels: Labels,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            help="Save verdicts and proofs: in a file (*.npz), or part by part in a folder (a name without a suffix). "
            "After an interruption the same command continues.",
            show_default=False,
        ),
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
        bool,
        typer.Option("--radius", help="Also measure how far the features of each possible set can move (the radius)."),
    ] = False,
    box: Annotated[float, typer.Option(help="Bound on the features for the radius.")] = 1e4,
    eps: Annotated[float, typer.Option(help="Count the sets with at least this radius.")] = 1e-8,
    label_names: LabelNames = None,
    time_limit: TimeLimit = None,
    jobs: Jobs = None,
    part_size: Annotated[
        int | None, typer.Option(help="Label sets per part, if the output is a folder.", min=1, show_default=False)
    ] = None,
    sample: Annotated[
        int | None,
        typer.Option(help="Verify a random sample of this size, and bound the share of all sets.", show_default=False),
    ] = None,
    seed: Annotated[int, typer.Option(help="Seed of the sample.", min=0)] = 0,
    engine: EngineName = "local",
    address: Address = None,
    fail_under: Annotated[
        float | None,
        typer.Option(
            metavar="SHARE",
            help="Exit with code 1 if a smaller share of the sets can be predicted.",
            show_default=False,
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Decide for each label set whether the output layer can ever predict it, with a proof."""
    import labelproof
    from labelproof.cli import files, verdicts
    from labelproof.cli.models import differences, read_model
    from labelproof.cli.verify_parts import is_folder, read_sets, verify_to_folder

    layer, names = read_model(weights, weight_key, bias, label_names)
    if fail_under is not None:
        check_share("--fail-under", fail_under)
    require_free_place(output, [weights, Path(labels), bias, label_names])
    if part_size is not None and not is_folder(output):
        raise ValueError("--part-size goes with an --output that is a folder: a name without an ending")
    data = read_sets(labels, layer.n_labels, names, part, label_column or (), output)
    names, bias_from = data.names, bias or (weights if layer.bias is not None else None)
    if not len(data.sets):
        raise ValueError(f"{Path(labels).name}: expected at least one label set, got none")
    used: dict[str, Any] = {
        "rule": rule,
        "thresholds": None if thresholds is None else files.read_thresholds(thresholds),
        "domain": files.parse_domain(domain),
    }
    notes = [*differences(layer, **used), *([data.note] if data.note else [])]
    used |= {"bias": layer.bias, "ties": ties, "radius": radius, "box": box, "eps": eps, "time_limit": time_limit}
    used |= {"n_jobs": jobs, "engine": connected(engine, address), "sample": sample, "seed": seed}
    start = time.perf_counter()
    v: Verification | VerificationParts
    if output is not None and is_folder(output):
        v = verify_to_folder(output, layer.weight, data.sets, label_names=names, part_size=part_size, **used)
    else:
        with kept_beside(output) as parts:
            v = labelproof.verify(layer.weight, data.sets, keep=parts, progress=progress_wanted(), **used)
            if output is not None:
                v.save(output, label_names=names)
    seconds = time.perf_counter() - start
    found = int((v.status == 1).sum())
    passed = fail_under is None or is_share_reached(found, len(v), fail_under)
    if as_json:
        outcome = {"seconds": round(seconds, 3), "saved": None if output is None else str(output), "passed": passed}
        described = {"bias_from": None if bias_from is None else _name(bias_from), "notes": notes}
        print_json({**verdicts.report(v, names), **described, **outcome})
    else:
        source = None if bias_from is None else _name(bias_from)
        verdicts.print_head(v, _name(weights), Path(labels).name, source, notes)
        verdicts.print_verdicts(v, names, seconds)
        if output is not None:
            again = _command_to_check(output, weights, weight_key, bias)
            console().print(f"Saved to {output}. To prove it again:\n  {again}", soft_wrap=True)
        if not passed:
            console().print(
                f"Not passed: {found / len(v):.4f} of the label sets can be predicted, {fail_under} were required."
            )
    if not passed:
        raise typer.Exit(1)


def _command_to_check(output: Path, weights: Path, weight_key: str | None, bias: Path | None) -> str:
    words = ["labelproof", "check", str(output), "--weights", str(weights)]
    words += [] if weight_key is None else ["--weight-key", weight_key]
    return shlex.join(words if bias is None else [*words, "--bias", str(bias)])


def _name(path: Path) -> str:
    return path.resolve().name
